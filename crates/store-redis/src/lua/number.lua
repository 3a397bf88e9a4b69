-- Takes the next number of a shard for a book of a library. Numbers belong to libraries in blocks.
-- KEYS: next numbers, owners of blocks; ARGV: library, as text and as four bytes, size of a block, end of numbers
local block = tonumber(ARGV[3])
local number = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '0')
if number % block == 0 then
    number = redis.call('STRLEN', KEYS[2]) / 4 * block
    if number >= tonumber(ARGV[4]) then
        return -1
    end
    redis.call('APPEND', KEYS[2], ARGV[2])
end
redis.call('HSET', KEYS[1], ARGV[1], number + 1)
return number
