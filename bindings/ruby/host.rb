# Owns the conformance host: the scenario's application on Puma, as a Rack application or (FRAMEWORK=rails, sinatra) inside another.

$LOAD_PATH.unshift(File.join(__dir__, "lib"))
require "puma"
require "puma/configuration"
require "rack"
require "json"
require "securerandom"
require "wfstudio"

JOURNAL = Thread::Queue.new
LOOKUP = { type: "object", properties: { order_id: { type: "string" } }, required: ["order_id"] }.freeze
REFUND = { type: "object", properties: { order_id: { type: "string" }, amount: { type: "integer" } }, required: %w[order_id amount] }.freeze
MARKS = {
  user: ->(env) { env["HTTP_X_USER"] && { id: env["HTTP_X_USER"] } },
  gate: ->(env) { { "open" => true, "shut" => false }[env["HTTP_X_GATE"]] },
  tenant: ->(env) { env["HTTP_X_TENANT"] },
  authorized: ->(env) { env["HTTP_X_AUTHORIZED"] == "yes" }
}.freeze

def noted(call, name)
  JOURNAL << { op: "tool.call", name: name, arguments: call.arguments, tenant: call.tenant, user: call.user }
end

def declare(studio)
  studio.tool(:lookup, description: "Looks an order up", idempotent: true, schema: LOOKUP) do |call, order_id:|
    noted(call, "lookup")
    { note: "Grüße, <b>&</b> 🌍", order_id: order_id, status: "shipped" }
  end
  studio.tool(:refund, description: "Pays an order back", require_approval: true, schema: REFUND) do |call, order_id:, amount:|
    noted(call, "refund")
    { order_id: order_id, refunded: amount }
  end
  studio.tool(:refuse, description: "Always refuses", schema: LOOKUP) do |call|
    noted(call, "refuse")
    raise WfStudio::Failure, "the order is closed"
  end
  studio.tool(:explode, description: "Always throws", schema: LOOKUP) do |call|
    noted(call, "explode")
    raise "boom"
  end
  studio.tool(:slow, description: "Takes its time", timeout_ms: 20_000, schema: LOOKUP) do |call|
    noted(call, "slow")
    JOURNAL << { op: "cancelled", name: "slow" } if call.wait(15)
  end
  studio.answer("gate") do |asked|
    JOURNAL << { op: "gate", method: asked["method"], path: asked["path"], user: asked["user"] }
    { allow: asked["user"].is_a?(Hash) && asked["user"]["id"] == "ada" }
  end
  studio.answer("secret.get") do |asked|
    JOURNAL << { op: "secret.get", name: asked["name"], tenant: asked["tenant"] }
    raise WfStudio::Failure, "no such secret" unless asked["name"] == "PEER_KEY"

    { value: "key-of-the-peer" }
  end
  studio.answer("provider.chat") do |asked, call|
    said = asked["messages"].reverse.find { |message| message["role"] == "user" }["content"]
    JOURNAL << { op: "provider.chat", model: asked["model"], last: said }
    raise WfStudio::Failure, "the model is away" if asked["model"] == "mute"

    ["You ", "said: ", said].each { |part| call.chunk({ delta: part }) }
    { message: { role: "assistant", content: "You said: #{said}" }, usage: { prompt_tokens: 7, completion_tokens: 5 }, finish_reason: "stop" }
  end
end

# The application's own routes.
class Own
  def call(env)
    return [200, { "content-type" => "text/plain" }, ["pong"]] if env["PATH_INFO"] == "/own/ping"
    return json(Array.new(JOURNAL.size) { JOURNAL.pop }) if env["PATH_INFO"] == "/own/journal"

    body = env["rack.input"].read
    asked = env["PATH_INFO"].delete_prefix("/own/")
    send(asked == "call" ? :call_op : asked, body.empty? ? {} : JSON.parse(body))
  end

  private

  def json(value)
    [200, { "content-type" => "application/json" }, [JSON.generate(value)]]
  end

  def refusal(error)
    { error: error.code, problem: error.problem["code"] }
  end

  def run(asked)
    lines = []
    run = asked["run"] ? STUDIO.run(**asked["run"].transform_keys(&:to_sym)) : STUDIO.resume(**asked["resume"].transform_keys(&:to_sym))
    cancel = asked["cancel_after"]
    left = run.each do |event|
      lines << { event: event.name, data: event.data }
      break :left if event.name == asked["leave_after"]

      run.cancel if event.name == cancel
      cancel = nil if event.name == cancel
    end
    ndjson(lines << (left == :left ? { left: true } : { end: true }))
  rescue WfStudio::Error => e
    ndjson(lines << refusal(e))
  end

  def ndjson(lines)
    [200, { "content-type" => "application/x-ndjson" }, lines.map { |line| "#{JSON.generate(line)}\n" }]
  end

  def call_op(asked)
    json({ result: STUDIO.call(asked["op"], **(asked["request"] || {}).transform_keys(&:to_sym)) })
  rescue WfStudio::Error => e
    json(refusal(e))
  end

  def close(_asked)
    STUDIO.close(2)
    json({ closed: true })
  end

  def crash(asked)
    case asked["how"]
    when "now" then exit!(70)
    when "exit" then MAIN.raise(SystemExit)
    else MAIN.raise(RuntimeError, "nobody catches this")
    end
    sleep
  end
end
