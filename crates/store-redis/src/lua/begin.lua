-- Begins a change of a book, unless another one is being made.
-- KEYS: intents, ids, book
-- ARGV: book, token, how long it may take in ms, id, its member in the ids (nothing: there is no such book), number;
--       the fields to read
local intent = redis.call('HGET', KEYS[1], ARGV[1])
if intent and string.sub(intent, 1, 32) ~= ARGV[2] then
    return {'busy'}
end
local member = redis.call('ZRANGEBYLEX', KEYS[2], '[' .. ARGV[4] .. '\0', '(' .. ARGV[4] .. '\1')[1]
if (member or '') ~= ARGV[5] then
    return {'moved'}
end
local time = redis.call('TIME')
local deadline = time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[3]
local generation = intent and string.match(intent, '^%x+ %d+ (%d+)') or redis.call('HINCRBY', KEYS[1], '#', 1)
redis.call('HSET', KEYS[1], ARGV[1], string.format('%s %d %d a %s 0', ARGV[2], deadline, generation, ARGV[6]))
local fields = {'g', unpack(ARGV, 7)}
return {'ok', tonumber(generation), redis.call('HMGET', KEYS[3], unpack(fields))}
