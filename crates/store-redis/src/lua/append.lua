-- Appends entries to the audit log, a stream whose ids are consecutive numbers. A long log loses its oldest entries.
local function append(log, kept, entries)
    local last = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
    local number = last and tonumber(string.match(last[1], '^%d+')) or 0
    for _, entry in ipairs(entries) do
        number = number + 1
        redis.call('XADD', log, 'MAXLEN', '~', kept, string.format('%d-0', number), 'e', entry)
    end
end

