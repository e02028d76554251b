# Owns the tools and answers of the conformance scenario.

JOURNAL = Thread::Queue.new
LOOKUP = { type: "object", properties: { order_id: { type: "string" } }, required: ["order_id"] }.freeze
REFUND = { type: "object", properties: { order_id: { type: "string" }, amount: { type: "integer" } }, required: %w[order_id amount] }.freeze

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
