-- Raises the version of the recipes that changes of books must know.
-- KEYS: version; ARGV: version
local known = tonumber(redis.call('GET', KEYS[1]) or '0')
redis.call('SET', KEYS[1], math.max(known, tonumber(ARGV[1])))
return 1
