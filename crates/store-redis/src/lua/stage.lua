-- Prepares what a book is going to be.
-- KEYS: intents, next state; ARGV: book, token; fields and values
local intent = redis.call('HGET', KEYS[1], ARGV[1])
if not intent or string.sub(intent, 1, 32) ~= ARGV[2] then
    return 0
end
redis.call('DEL', KEYS[2])
for i = 3, #ARGV, 2 do
    redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1])
end
return 1
