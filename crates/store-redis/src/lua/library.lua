-- Numbers a library, in the order of creation.
-- KEYS: libraries by name; ARGV: name
local number = redis.call('HGET', KEYS[1], ARGV[1]) or redis.call('HLEN', KEYS[1])
redis.call('HSET', KEYS[1], ARGV[1], number)
return tonumber(number)
