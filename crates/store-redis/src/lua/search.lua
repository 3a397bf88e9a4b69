-- Finds books that have all terms, in order, from the shortest list. Returns them, and where to go on, or nothing.
-- KEYS: terms; ARGV: how many books, how many to look at; the ranges to search
local shortest, length = 1, math.huge
for i, key in ipairs(KEYS) do
    local count = redis.call('ZCARD', key)
    if count < length then
        shortest, length = i, count
    end
end
local found, limit, left = {}, tonumber(ARGV[1]), tonumber(ARGV[2])
for range = 3, #ARGV, 2 do
    local from, some = ARGV[range], nil
    repeat
        some = redis.call('ZRANGEBYLEX', KEYS[shortest], from, ARGV[range + 1], 'LIMIT', 0, 64)
        for _, book in ipairs(some) do
            local all = true
            for i, key in ipairs(KEYS) do
                all = all and (i == shortest or redis.call('ZSCORE', key, book))
            end
            if left == 0 or (all and #found == limit) then
                return {found, book}
            end
            left = left - 1
            if all then
                found[#found + 1] = book
            end
            from = '(' .. book
        end
    until #some < 64
end
return {found, ''}
