-- What wrk sends to `memory-fabric serve`: texts that differ; benchmarks/serve.py says how long a
-- connection waits between two. Prints what came of it as one line.

local counts = {}
local number = 0
local thread_number = 0

function setup(thread)
  thread:set("id", thread_number)
  thread_number = thread_number + 1
  table.insert(counts, thread)
end

function init(arguments)
  connections, wait_ms = tonumber(arguments[1]), tonumber(arguments[2])
  begun = 0
  mark = arguments[3]
  fine, refused = 0, 0
  words = { "PostgreSQL", "Redis", "pagination", "webhooks", "tokens", "queues", "Docker", "timeouts" }
end

function delay()
  if begun < connections then
    begun = begun + 1
    return math.floor(begun * wait_ms / connections)
  end
  return wait_ms
end

function request()
  number = number + 1
  local body = string.format(
    '{"session_summary": "Text %d of thread %d of %s: we moved the %s behind the gateway, because '
      .. 'retries of the old client had charged some orders twice.", "key_decisions": '
      .. '["Keep the %s of run %d of %d behind the gateway"], "session_id": "bench-%d"}',
    number, id, mark, words[number % #words + 1], words[number % #words + 1], number, id, number % 50
  )
  return wrk.format("POST", "/v1/memory/ingest", { ["Content-Type"] = "application/json" }, body)
end

function response(status)
  if status == 202 then fine = fine + 1 else refused = refused + 1 end
end

function done(summary, latency)
  local fine_all, refused_all = 0, 0
  for _, thread in ipairs(counts) do
    fine_all = fine_all + thread:get("fine")
    refused_all = refused_all + thread:get("refused")
  end
  local errors = summary.errors
  io.write(string.format(
    '\nRESULT {"seconds": %f, "fine": %d, "refused": %d, "broken": %d, "p50_ms": %f, "p95_ms": %f, "p99_ms": %f, "max_ms": %f}\n',
    summary.duration / 1e6, fine_all, refused_all,
    errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(95) / 1e3, latency:percentile(99) / 1e3,
    latency.max / 1e3
  ))
end
