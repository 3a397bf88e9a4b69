-- Ends a change.
-- KEYS: intents, next state, former state; ARGV: book, token
local intent = redis.call('HGET', KEYS[1], ARGV[1])
if not intent or string.sub(intent, 1, 32) ~= ARGV[2] then
    return 0
end
redis.call('UNLINK', KEYS[2], KEYS[3])
return redis.call('HDEL', KEYS[1], ARGV[1])
