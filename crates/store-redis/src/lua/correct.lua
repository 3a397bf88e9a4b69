-- Corrects the totals, unless somebody else has since they were compared, or this was done before and is repeated.
-- KEYS: totals; ARGV: what to add, as in an entry of an outbox; the last correction then; this one, which is their new version
local last = redis.call('HGET', KEYS[1], 'corrected') or ''
if last ~= ARGV[2] and last ~= ARGV[3] then
    return 0
end
if last ~= ARGV[3] then
    total(KEYS[1], cjson.decode(ARGV[1]), ARGV[3])
end
-- Written also if it was done before, so that WAIT has something to wait for.
redis.call('HSET', KEYS[1], 'corrected', ARGV[3])
return 1
