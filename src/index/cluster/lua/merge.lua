-- Replaces the lists of a bucket by lists that include some changes, unless the lists or one of the changes differ from
-- what was read.
-- KEYS: bucket; ARGV: SHA-1 of the main list (nothing: none), number of changes; changes and their values;
--       fields and their new values (nothing: to delete)
local main = redis.call('HGET', KEYS[1], 'm')
if (main and redis.sha1hex(main) or '') ~= ARGV[1] then
    return 0
end
local last = 2 + 2 * tonumber(ARGV[2])
for i = 3, last, 2 do
    if redis.call('HGET', KEYS[1], ARGV[i]) ~= ARGV[i + 1] then
        return 0
    end
end
for i = 3, last, 2 do
    redis.call('HDEL', KEYS[1], ARGV[i])
end
for i = last + 1, #ARGV, 2 do
    if ARGV[i + 1] == '' then
        redis.call('HDEL', KEYS[1], ARGV[i])
    else
        redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
    end
end
return 1
