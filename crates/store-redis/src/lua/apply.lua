-- Changes small records and the recipes, together with their entries in the audit log.
-- KEYS: recipes, audit log, ids of finished changes, leases; for each table its sorted keys and its rows
-- ARGV: id of the change, entries kept, recipes before, recipes after (nothing: unchanged), whether there must be recipes,
--       number of leases, number of rows; for each lease: its name, and the token that it must have;
--       for each row: index of its table's keys, whether it is put, key, value; then the entries
-- Returns 0 if the recipes are others, -1 if there are none, -2 if a lease has another token.
local now = tonumber(redis.call('TIME')[1])
local known = redis.call('ZSCORE', KEYS[3], ARGV[1])
if known then
    -- Sent again, because its answer was lost. This writes, so that WAIT has something to wait for.
    redis.call('ZADD', KEYS[3], now, ARGV[1])
    return 1
end
if ARGV[5] == '1' and redis.call('EXISTS', KEYS[1]) == 0 then
    return -1
end
local at = 8
for _ = 1, tonumber(ARGV[6]) do
    if string.match(redis.call('HGET', KEYS[4], ARGV[at]) or '', ' (%d+) ') ~= ARGV[at + 1] then
        return -2
    end
    at = at + 2
end
if ARGV[4] ~= '' then
    if (redis.call('GET', KEYS[1]) or '') ~= ARGV[3] then
        return 0
    end
    redis.call('SET', KEYS[1], ARGV[4])
end
for _ = 1, tonumber(ARGV[7]) do
    local sorted, rows = KEYS[tonumber(ARGV[at])], KEYS[tonumber(ARGV[at]) + 1]
    if ARGV[at + 1] == '1' then
        redis.call('ZADD', sorted, 0, ARGV[at + 2])
        redis.call('HSET', rows, ARGV[at + 2], ARGV[at + 3])
    else
        redis.call('ZREM', sorted, ARGV[at + 2])
        redis.call('HDEL', rows, ARGV[at + 2])
    end
    at = at + 4
end
local entries = {}
for i = at, #ARGV do
    entries[#entries + 1] = ARGV[i]
end
append(KEYS[2], ARGV[2], entries)
redis.call('ZADD', KEYS[3], now, ARGV[1])
-- No answer is awaited for longer.
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now - 600)
return 1
