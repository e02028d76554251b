# Loads the raw Ruby module and plays a session: an engine, a workflow, a run whose tool the host answers by fetching, an HTTP request, an error.
# LD_LIBRARY_PATH names the folder of libwfstudio.so. Nothing here waits inside the library: the module holds the interpreter's lock while it does.

require "json"
require "tmpdir"
require_relative "wfstudio"

def check(so, what)
  raise "not so: #{what}" unless so
end

# Reads a stream to its end and answers the calls that it brings.
def told(engine, stream)
  events = +""
  until events.include?("event: trace_completed")
    if (call = stream.next_host_call || engine.next_host_call(0))
      engine.complete_host_call(JSON.parse(call)["call_id"], 1, JSON.generate({ refunded: 25 }))
    elsif (batch = stream.next_batch(0, 0)) && !batch.empty?
      events << batch
    else
      sleep 0.005
    end
  end
  events
end

Dir.mktmpdir do |folder|
  engine = Wfstudio::StudioEngine.open(JSON.generate({ environment: "local", database: { path: "#{folder}/raw.sqlite" } }))
  engine.set_host(JSON.generate({ ops: ["tool.call"], tools: [{ name: "refund" }] }), nil)
  place = { position: { x: 0, y: 0 } }
  nodes = [["a", "start", {}], ["b", "tool", { tool_ref: "host:refund" }], ["c", "stop", { reply: "done" }]].map { |id, type, data| { id:, type:, data:, **place } }
  edges = [%w[a b], %w[b c]].map { |from, to| { id: from + to, source: from, target: to } }
  engine.call("workflow.save", JSON.generate({ slug: "pay", name: "Pay", graph: { version: 1, nodes:, edges: } }))
  events = told(engine, engine.run(JSON.generate({ workflow: "pay", message: "hi" })))
  check(events.include?('"done"'), events)
  answer = engine.http(JSON.generate({ method: "GET", path: "/studio/api/workflows", query: "", headers: [], gate: true }), "")
  check(JSON.parse(answer.head)["status"] == 200, answer.head)
  begin
    engine.run(JSON.generate({ workflow: "none", message: "hi" }))
    check(false, "a run of nothing")
  rescue Wfstudio::StudioError::Failed => e
    check(e.code == -2, e.detail)
  end
  engine.shutdown(2000)
end
puts "uniffi: the raw Ruby module opens, runs, answers and closes"
