-- Notes that postings of a bucket are added (`+`) or may be gone (`-`, with the time), or forgets added ones (`!`). A
-- change of a book does not overrule a later one.
-- KEYS: bucket; ARGV: sign, generation; fields
local generation = tonumber(ARGV[2])
local value = ARGV[1] .. ARGV[2]
if ARGV[1] == '-' then
    value = value .. ' ' .. redis.call('TIME')[1]
end
for i = 3, #ARGV do
    local known = redis.call('HGET', KEYS[1], ARGV[i])
    local later = known and tonumber(string.match(known, '%d+')) > generation
    if ARGV[1] ~= '!' then
        -- Written also if it stays, so that WAIT has something to wait for.
        redis.call('HSET', KEYS[1], ARGV[i], later and known or value)
    elseif not later then
        redis.call('HDEL', KEYS[1], ARGV[i])
    end
end
return redis.call('HLEN', KEYS[1])
