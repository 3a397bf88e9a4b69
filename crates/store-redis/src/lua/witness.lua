-- Notes what the clocks of shards have said. What is later stays.
-- KEYS: what this witness knows; ARGV: shards and what their clocks said
for i = 1, #ARGV, 2 do
    local known = redis.call('HGET', KEYS[1], ARGV[i])
    -- Written also if it stays, so that WAIT has something to wait for. The numbers have 16 digits, or are exact.
    if not known or #known < #ARGV[i + 1] or #known == #ARGV[i + 1] and known < ARGV[i + 1] then
        known = ARGV[i + 1]
    end
    redis.call('HSET', KEYS[1], ARGV[i], known)
end
return 1
