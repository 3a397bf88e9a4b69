-- Notes that postings of a bucket are added (`+`) or removed (`-`), or forgets added ones (`!`). A change of a book does
-- not overrule a later one. What removes comes too late after its deadline, when a later change may have been merged.
-- KEYS: bucket; ARGV: deadline in ms or 0, sign, generation; fields
local time = redis.call('TIME')
if ARGV[1] ~= '0' and time[1] * 1000 + math.floor(time[2] / 1000) > tonumber(ARGV[1]) then
    return -1
end
local generation = tonumber(ARGV[3])
for i = 4, #ARGV do
    local known = redis.call('HGET', KEYS[1], ARGV[i])
    if not known or tonumber(string.sub(known, 2)) <= generation then
        if ARGV[2] == '!' then
            redis.call('HDEL', KEYS[1], ARGV[i])
        else
            redis.call('HSET', KEYS[1], ARGV[i], ARGV[2] .. ARGV[3])
        end
    end
end
return redis.call('HLEN', KEYS[1])
