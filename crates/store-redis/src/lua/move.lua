-- Moves an entry of a shard's outbox to the audit log and the totals, exactly once and in order.
-- KEYS: audit log, totals, moved; ARGV: entries kept, shard, number of the entry, entry
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
for _, sum in ipairs(entry.sums) do
    redis.call('HINCRBY', KEYS[2], sum[1], sum[2])
end
for _, most in ipairs(entry.most) do
    if (redis.call('HGET', KEYS[2], most[1]) or '') < most[2] then
        redis.call('HSET', KEYS[2], most[1], most[2])
    end
end
-- Another word each time, also if the catalogue was set back and the same entry is moved again.
local now = redis.call('TIME')
redis.call('HSET', KEYS[2], 'version', table.concat({ now[1], now[2], ARGV[2], ARGV[3] }, '.'))
return 1
