-- Takes over a change that was not ended in time.
-- KEYS: intents; ARGV: book, its intent, new token, how long it may take in ms
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then
    return 0
end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local deadline, rest = string.match(ARGV[2], '^%x+ (%d+) (.*)$')
if now < tonumber(deadline) then
    return 0
end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%s %d %s', ARGV[3], now + ARGV[4], rest))
return now + ARGV[4]
