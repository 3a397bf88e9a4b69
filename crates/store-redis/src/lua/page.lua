-- Reads rows of a table in the order of their keys.
-- KEYS: sorted keys, rows; ARGV: the range of keys, how many rows
local keys = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
local page = {}
for _, key in ipairs(keys) do
    page[#page + 1] = key
    page[#page + 1] = redis.call('HGET', KEYS[2], key) or ''
end
return page
