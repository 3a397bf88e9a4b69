-- Counts what a key uses of its daily quota and of its rate, unless that is used up.
-- KEYS: usage; ARGV: day, quota (0: none), how much of it, rate (0: none), its time in ms, how much of it
-- Returns how much of the quota is used, how much of it was counted now, how long to wait for the rate, in ms, and how long
-- until all of the rate is free again.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local known = redis.call('HMGET', KEYS[1], 'day', 'used', 'busy')
local used = known[1] == ARGV[1] and tonumber(known[2]) or 0
local busy = math.max(tonumber(known[3] or '0'), now)
local quota, wanted, rate = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if quota > 0 then
    wanted = math.min(wanted, math.max(quota - used, 0))
end
local wait = 0
if rate > 0 and (wanted > 0 or ARGV[3] == '0') then
    local next = busy + tonumber(ARGV[5]) / rate * tonumber(ARGV[6])
    wait = math.max(next - now - tonumber(ARGV[5]), 0)
    if wait > 0 then
        wanted = 0
    else
        busy = next
    end
end
used = math.max(used + wanted, 0)
redis.call('HSET', KEYS[1], 'day', ARGV[1], 'used', used, 'busy', string.format('%.3f', busy))
-- Without a quota, nothing need be known once all of the rate is free again.
redis.call('PEXPIRE', KEYS[1], quota > 0 and 259200000 or math.ceil(busy - now) + 1000)
return {used, wanted, math.ceil(wait), math.ceil(busy - now)}
