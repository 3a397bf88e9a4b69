-- Notes large values that no row refers to: those that are about to be stored, or else returns those to remove.
-- KEYS: spare values, each with a sign and a time: `+` may be referred to, `-` never again
-- ARGV: how long a value stays that was replaced, and one that is never referred to, in s; the ids of those that are to be stored
local now, due = tonumber(redis.call('TIME')[1]), {}
for i = 3, #ARGV do
    redis.call('HSET', KEYS[1], ARGV[i], '+' .. now)
end
if #ARGV > 2 then
    return due
end
local spare = redis.call('HGETALL', KEYS[1])
for i = 1, #spare, 2 do
    local sign, time = string.match(spare[i + 1], '^(.)(%d+)$')
    if now - time >= tonumber(sign == '+' and ARGV[2] or ARGV[1]) then
        redis.call('HSET', KEYS[1], spare[i], '-' .. time)
        due[#due + 1] = spare[i]
    end
end
return due
