-- Prepares what a book is going to be, or only gives its change more time.
-- KEYS: intents, next state; ARGV: book, token, how long the rest may take in ms; fields and values (nothing: more time)
local intent = redis.call('HGET', KEYS[1], ARGV[1])
if not intent or string.sub(intent, 1, 32) ~= ARGV[2] then
    return 0
end
local time = redis.call('TIME')
local deadline = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[3]
redis.call('HSET', KEYS[1], ARGV[1], string.format('%s %d %s', ARGV[2], deadline, string.match(intent, '^%x+ %d+ (.*)$')))
if #ARGV > 3 then
    redis.call('DEL', KEYS[2])
end
for i = 4, #ARGV, 2 do
    redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1])
end
return 1
