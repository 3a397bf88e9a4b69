-- Moves an entry of a shard's outbox to the audit log and the totals, exactly once and in order.
-- KEYS: audit log, totals, moved; ARGV: entries kept, shard, number of the entry, entry, new version of the totals
local number, moved = tonumber(ARGV[3]), tonumber(redis.call('HGET', KEYS[3], ARGV[2]) or '0')
if number > moved + 1 then
    return 0
end
-- Written also if it was moved before, so that WAIT has something to wait for.
redis.call('HSET', KEYS[3], ARGV[2], math.max(number, moved))
if number <= moved then
    return 1
end
local entry = cjson.decode(ARGV[4])
append(KEYS[1], ARGV[1], entry.audit)
total(KEYS[2], entry, ARGV[5])
return 1
