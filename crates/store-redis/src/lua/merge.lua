-- Replaces the lists of a bucket by lists that include some changes, unless one of the lists or changes differs from what
-- was read, or a posting is doubted for too short a time.
-- KEYS: bucket; ARGV: how long in s, number of changes; changes and their values;
--       fields, the SHA-1 of their values (nothing: none), and their new values (nothing: none)
local now = tonumber(redis.call('TIME')[1])
local last = 2 + 2 * tonumber(ARGV[2])
for i = 3, last, 2 do
    local doubted = string.match(ARGV[i + 1], '^%-%d+ (%d+)')
    if redis.call('HGET', KEYS[1], ARGV[i]) ~= ARGV[i + 1] or doubted and now - doubted < tonumber(ARGV[1]) then
        return 0
    end
end
for i = last + 1, #ARGV, 3 do
    local value = redis.call('HGET', KEYS[1], ARGV[i])
    if (value and redis.sha1hex(value) or '') ~= ARGV[i + 1] then
        return 0
    end
end
for i = 3, last, 2 do
    redis.call('HDEL', KEYS[1], ARGV[i])
end
for i = last + 1, #ARGV, 3 do
    if ARGV[i + 2] == '' then
        redis.call('HDEL', KEYS[1], ARGV[i])
    else
        redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 2])
    end
end
return 1
