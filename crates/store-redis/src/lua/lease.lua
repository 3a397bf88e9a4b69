-- Takes, renews or ends a lease. One that is done is forgotten, so all leases have their tokens from one count. It is never
-- behind the time in ms: shards still know the tokens when the node of the count has lost it.
-- KEYS: leases, and as '#' the last token
-- ARGV: name, holder, for how long in ms (0: it is done, -1: it is abandoned, -2: whoever has it loses it)
-- Returns its token, or 0 if another holder has it, and whether the former holder did not end it. If it is lost, the token is
-- later than that of whoever had it.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local holder, token, till = string.match(redis.call('HGET', KEYS[1], ARGV[1]) or '- 0 0', '^(%S+) (%d+) (%d+)$')
local last = math.max(tonumber(redis.call('HGET', KEYS[1], '#') or '0'), tonumber(token))
local for_ms, abandoned = tonumber(ARGV[3]), 0
if for_ms == -2 then
    last = math.max(last, now) + 1
    holder, token = '-', last
elseif for_ms == 0 and holder == ARGV[2] then
    holder = '-'
elseif holder == ARGV[2] then
    till = for_ms > 0 and now + for_ms or 0
elseif for_ms > 0 and (holder == '-' or tonumber(till) <= now) then
    abandoned = holder == '-' and 0 or 1
    last = math.max(last, now) + 1
    holder, token, till = ARGV[2], last, now + for_ms
end
if holder == '-' then
    redis.call('HDEL', KEYS[1], ARGV[1])
else
    redis.call('HSET', KEYS[1], ARGV[1], string.format('%s %d %d', holder, token, till))
end
-- Written also if nothing changes, so that WAIT has something to wait for.
redis.call('HSET', KEYS[1], '#', string.format('%d', last))
return {(holder == ARGV[2] or for_ms == -2) and tonumber(token) or 0, abandoned}
