-- Corrects the totals.
-- KEYS: totals; ARGV: what to add, as in an entry of an outbox; their new version
total(KEYS[1], cjson.decode(ARGV[1]), ARGV[2])
return 1
