-- Changes small records that are in a shard, together with an entry for its outbox.
-- KEYS: version of the recipes, outbox, ids of finished changes; the fences of leases; for each table its sorted keys and its rows
-- ARGV: id of the change, whether there must be a version, entry for the outbox (nothing: none), number of leases, number of rows;
--       the tokens of the leases; the rows
-- Returns -1 if the version of the recipes is gone, and so the data of the shard, -2 if a lease has a later token.
if made_before(KEYS[3], ARGV[1]) then
    return 1
end
if ARGV[2] == '1' and redis.call('EXISTS', KEYS[1]) == 0 then
    return -1
end
local leases = tonumber(ARGV[4])
for i = 1, leases do
    if tonumber(redis.call('GET', KEYS[3 + i]) or '0') > tonumber(ARGV[5 + i]) then
        return -2
    end
end
change_rows(6 + leases, tonumber(ARGV[5]))
if ARGV[3] ~= '' then
    redis.call('HSET', KEYS[2], redis.call('HINCRBY', KEYS[2], 'n', 1), ARGV[3])
end
note_made(KEYS[3], ARGV[1])
return 1
