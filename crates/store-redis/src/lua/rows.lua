-- Whether a change was made before, and is sent again because its answer was lost. This writes, so that WAIT has something to
-- wait for.
local function made_before(done, id)
    local known = redis.call('ZSCORE', done, id)
    if known then
        redis.call('ZADD', done, redis.call('TIME')[1], id)
    end
    return known
end

local function note_made(done, id)
    local now = tonumber(redis.call('TIME')[1])
    redis.call('ZADD', done, now, id)
    -- No answer is awaited for longer.
    redis.call('ZREMRANGEBYSCORE', done, '-inf', now - 600)
end

-- Changes rows. For each, ARGV has the index of its table's keys, whether it is put, its key and its value. Notes in `spare` which
-- large values no row refers to any more. Returns what is next in ARGV.
local function change_rows(at, count, spare)
    for _ = 1, count do
        local sorted, rows, key = KEYS[tonumber(ARGV[at])], KEYS[tonumber(ARGV[at]) + 1], ARGV[at + 2]
        local former = spare and redis.call('HGET', rows, key)
        if former and string.byte(former) == 255 then
            redis.call('HSET', spare, string.sub(former, 2), '-' .. redis.call('TIME')[1])
        end
        if ARGV[at + 1] == '1' then
            redis.call('ZADD', sorted, 0, key)
            redis.call('HSET', rows, key, ARGV[at + 3])
        else
            redis.call('ZREM', sorted, key)
            redis.call('HDEL', rows, key)
        end
        at = at + 4
    end
    return at
end

