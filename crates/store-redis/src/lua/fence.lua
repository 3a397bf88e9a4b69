-- Raises the version of the recipes that changes of books must know.
-- KEYS: version; ARGV: version, whether there must be one
-- Returns 0 if there is none.
local known = redis.call('GET', KEYS[1])
if not known and ARGV[2] == '1' then
    return 0
end
redis.call('SET', KEYS[1], math.max(tonumber(known or '0'), tonumber(ARGV[1])))
return 1
