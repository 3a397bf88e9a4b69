-- Gives a change more time, or a change that was not ended in time to another server, and prepares what the book is going to be.
-- KEYS: intents, next state; ARGV: book, how its intent begins, the token that it gets, how long the rest may take in ms, whether
--       it must be overdue; fields and values (nothing: only more time)
local intent = redis.call('HGET', KEYS[1], ARGV[1])
if not intent or string.sub(intent, 1, #ARGV[2]) ~= ARGV[2] then
    return 0
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local deadline, rest = string.match(intent, '^%x+ (%d+) (.*)$')
if ARGV[5] == '1' and now < tonumber(deadline) then
    return 0
end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%s %d %s', ARGV[3], now + ARGV[4], rest))
if #ARGV > 5 then
    redis.call('DEL', KEYS[2])
end
for i = 6, #ARGV, 2 do
    redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1])
end
return 1
