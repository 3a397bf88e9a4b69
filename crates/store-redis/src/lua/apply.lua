-- Changes small records and the recipes, together with their entries in the audit log.
-- KEYS: recipes, audit log, ids of finished changes, leases, spare values; for each table its sorted keys and its rows
-- ARGV: id of the change, entries kept, recipes before, recipes after (nothing: unchanged), whether there must be recipes,
--       number of leases, of large values, and of rows; for each lease its name, and the token that it must have; the ids of the
--       large values; the rows; then the entries
-- Returns 0 if the recipes are others, -1 if there are none, -2 if a lease has another token, or a value is gone.
if made_before(KEYS[3], ARGV[1]) then
    return 1
end
if ARGV[5] == '1' and redis.call('EXISTS', KEYS[1]) == 0 then
    return -1
end
local at = 9
for _ = 1, tonumber(ARGV[6]) do
    if string.match(redis.call('HGET', KEYS[4], ARGV[at]) or '', ' (%d+) ') ~= ARGV[at + 1] then
        return -2
    end
    at = at + 2
end
if ARGV[4] ~= '' and (redis.call('GET', KEYS[1]) or '') ~= ARGV[3] then
    return 0
end
local rows = at + tonumber(ARGV[7])
for i = at, rows - 1 do
    if string.sub(redis.call('HGET', KEYS[5], ARGV[i]) or '', 1, 1) ~= '+' then
        return -2
    end
end
for i = at, rows - 1 do
    redis.call('HDEL', KEYS[5], ARGV[i])
end
if ARGV[4] ~= '' then
    redis.call('SET', KEYS[1], ARGV[4])
end
local entries = {}
for i = change_rows(rows, tonumber(ARGV[8]), KEYS[5]), #ARGV do
    entries[#entries + 1] = ARGV[i]
end
append(KEYS[2], ARGV[2], entries)
note_made(KEYS[3], ARGV[1])
return 1
