-- Finds books that have all terms, in order, from the shortest list. Returns them, and where to go on, or nothing.
-- KEYS: the sets of terms; ARGV: how many books, how many to look at; what the members of each term begin with; the ranges to search
local shortest, length = 1, math.huge
for i, key in ipairs(KEYS) do
    local term = '[' .. ARGV[2 + i]
    local count = redis.call('ZLEXCOUNT', key, term, term .. string.rep('\255', 8))
    if count < length then
        shortest, length = i, count
    end
end
local found, limit, left = {}, tonumber(ARGV[1]), tonumber(ARGV[2])
local term = ARGV[2 + shortest]
for range = 3 + #KEYS, #ARGV, 2 do
    local from, to = '[' .. term .. ARGV[range], '[' .. term .. ARGV[range + 1]
    repeat
        local some = redis.call('ZRANGEBYLEX', KEYS[shortest], from, to, 'LIMIT', 0, 64)
        for _, member in ipairs(some) do
            local book, all = string.sub(member, #term + 1), true
            for i, key in ipairs(KEYS) do
                all = all and (i == shortest or redis.call('ZSCORE', key, ARGV[2 + i] .. book))
            end
            if left == 0 or (all and #found == limit) then
                return {found, book}
            end
            left = left - 1
            if all then
                found[#found + 1] = book
            end
            from = '(' .. member
        end
    until #some < 64
end
return {found, ''}
