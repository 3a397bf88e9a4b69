-- Adds to the totals, and gives them another version, so that whoever has read them knows that they changed.
local function total(totals, entry, version)
    for _, sum in ipairs(entry.sums) do
        redis.call('HINCRBY', totals, sum[1], sum[2])
    end
    for _, most in ipairs(entry.most) do
        if (redis.call('HGET', totals, most[1]) or '') < most[2] then
            redis.call('HSET', totals, most[1], most[2])
        end
    end
    redis.call('HSET', totals, 'version', version)
end
