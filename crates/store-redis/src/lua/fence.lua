-- Raises the version of the recipes that changes of books must know, or the token of a lease that they must have.
-- KEYS: version; ARGV: version, whether there must be one, how long to know it in ms (0: for ever)
-- Returns 0 if there is none.
local known = redis.call('GET', KEYS[1])
if not known and ARGV[2] == '1' then
    return 0
end
redis.call('SET', KEYS[1], math.max(tonumber(known or '0'), tonumber(ARGV[1])))
if ARGV[3] ~= '0' then
    redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return 1
