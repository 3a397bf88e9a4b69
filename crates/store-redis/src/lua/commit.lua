-- Makes a prepared change visible, all of it at once.
-- KEYS: intents, ids, numbers, book, next state, former state, outbox, version of the recipes; the fences of leases;
--       the terms it loses, the terms it gets
-- ARGV: book, token, how long the rest may take in ms, `replace`, `patch` or `remove`, member in the ids, number,
--       how many terms it loses, entry for the outbox, version of the recipes that it was planned with,
--       number of leases, and their tokens; the members in the terms
-- Returns the number of the entry; 0 if another server has taken over; -1 if the recipes have changed, or a lease has;
-- -2 if the version of the recipes is gone, and so the data of the shard.
local intent = redis.call('HGET', KEYS[1], ARGV[1])
if not intent or string.sub(intent, 1, 32) ~= ARGV[2] then
    return 0
end
local generation, phase, number, entry = string.match(intent, '^%x+ %d+ (%d+) (%a) (%d+) (%d+)')
local time, leases = redis.call('TIME'), tonumber(ARGV[10])
local deadline = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[3]
if phase == 'a' then
    local version = redis.call('GET', KEYS[8])
    if not version and tonumber(ARGV[9]) > 0 then
        return -2
    end
    if tonumber(version or '0') > tonumber(ARGV[9]) then
        return -1
    end
    for i = 1, leases do
        if tonumber(redis.call('GET', KEYS[8 + i]) or '0') > tonumber(ARGV[10 + i]) then
            return -1
        end
    end
    if ARGV[4] ~= 'remove' and redis.call('EXISTS', KEYS[5]) == 0 then
        return 0
    end
    if ARGV[4] == 'patch' then
        local fields = redis.call('HGETALL', KEYS[5])
        for i = 1, #fields, 2 do
            -- A name after a minus is a field to delete.
            if string.sub(fields[i], 1, 1) == '-' then
                redis.call('HDEL', KEYS[4], string.sub(fields[i], 2))
            else
                redis.call('HSET', KEYS[4], fields[i], fields[i + 1])
            end
        end
    elseif redis.call('EXISTS', KEYS[4]) == 1 then
        redis.call('RENAME', KEYS[4], KEYS[6])
    end
    if ARGV[4] == 'replace' then
        redis.call('RENAME', KEYS[5], KEYS[4])
        redis.call('ZADD', KEYS[2], 0, ARGV[5])
        redis.call('ZADD', KEYS[3], ARGV[6], ARGV[6])
    elseif ARGV[4] == 'remove' then
        redis.call('ZREM', KEYS[2], ARGV[5])
        redis.call('ZREM', KEYS[3], ARGV[6])
    end
    if ARGV[4] ~= 'remove' then
        redis.call('HSET', KEYS[4], 'g', generation)
    end
    local lost = 8 + leases + tonumber(ARGV[7])
    for i = 9 + leases, #KEYS do
        if i <= lost then
            redis.call('ZREM', KEYS[i], ARGV[i + 2])
        else
            redis.call('ZADD', KEYS[i], 0, ARGV[i + 2])
        end
    end
    entry = redis.call('HINCRBY', KEYS[7], 'n', 1)
    redis.call('HSET', KEYS[7], entry, ARGV[8])
end
-- Also if it was committed before, and only its answer was lost: WAIT needs something to wait for.
redis.call('HSET', KEYS[1], ARGV[1], string.format('%s %d %s c %s %s', ARGV[2], deadline, generation, number, entry))
return tonumber(entry)
