// The AG-UI client's `HttpAgent`, which checks the order of events, against the adapter `agui`.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { HttpAgent } from "@ag-ui/client";
import { adapters, asker, payer, talker, teller, until } from "./host.mjs";

let number = 0;
const agentOf = (api, more = {}) => {
  const agent = new HttpAgent({ url: `${more.base ?? adapters}/${api}/stream/agui`, threadId: more.threadId ?? `thread ${(number += 1)}` });
  const events = [];
  agent.subscribe({ onEvent: ({ event }) => { events.push(event); } });
  return Object.assign(agent, { events });
};
const say = (agent, content) => agent.addMessage({ id: `m${(number += 1)}`, role: "user", content });
const said = (agent) => agent.messages.filter((message) => message.role === "assistant" && message.content).at(-1)?.content;
const types = (agent) => agent.events.map((event) => event.type);
const named = (name, run) => test(`ag-ui: ${name}`, { timeout: 120000 }, run);

named("messages are streamed and remembered", async () => {
  const agent = agentOf(`agents/${talker}`);
  say(agent, "hi");
  await agent.runAgent();
  assert.equal(said(agent), "You said: hi");
  assert.equal(agent.events.at(-1).outcome.type, "success");
  assert.equal(agent.events.at(-1).usage[0].model, "talks");
  say(agent, "again");
  await agent.runAgent();
  const told = agent.messages.map((message) => `${message.role}: ${message.content}`);
  assert.deepEqual(told, ["user: hi", "assistant: You said: hi", "user: again", "assistant: You said: again"]);
});

named("state is told whole, then as changes; a question is answered", async () => {
  const agent = agentOf(`workflows/${asker}`);
  say(agent, "hi");
  await agent.runAgent();
  assert.equal(agent.state.input, "hi");
  assert.equal(agent.pendingInterrupts.length, 1);
  assert.equal(agent.pendingInterrupts[0].message, "Your name?");
  await agent.runAgent({ resume: [{ interruptId: agent.pendingInterrupts[0].id, status: "resolved", payload: { message: "Ada" } }] });
  assert.equal(agent.state.greeting, "Hello Ada");
  assert.ok(types(agent).includes("STATE_DELTA") && types(agent).includes("STEP_FINISHED"));
  assert.equal(said(agent), "Hello Ada");
  assert.equal(agent.pendingInterrupts.length, 0);
});

for (const approved of [true, false]) {
  named(`an approval is answered with ${approved}`, async () => {
    const agent = agentOf(`agents/${payer}`);
    say(agent, "refund it");
    await agent.runAgent();
    const [interrupt] = agent.pendingInterrupts;
    assert.equal(interrupt.reason, "tool_call");
    const call = agent.messages.flatMap((message) => message.toolCalls ?? []).find((one) => one.id === interrupt.toolCallId);
    assert.deepEqual(JSON.parse(call.function.arguments), { order_id: "A-100", amount: "25.00", reason: "broken" });
    await agent.runAgent({ resume: [{ interruptId: interrupt.id, status: "resolved", payload: { approved, reason: "as agreed" } }] });
    assert.equal(agent.events.filter((event) => event.type === "TOOL_CALL_START").length, 1, "the call is told once");
    assert.equal(agent.messages.filter((message) => message.role === "tool").length, 1);
    assert.ok(agent.messages.some((message) => message.toolCalls?.some((one) => one.id === interrupt.toolCallId)), "the call stays");
    assert.match(said(agent), /^Result: /);
  });
}

for (const api of [`agents/${talker}`, `workflows/${teller}`]) {
  named(`a stream of ${api.split("/")[0]} that a proxy cuts is an error, and the next connection goes on`, async () => {
    const child = fileURLToPath(new URL("./agui-cut.mjs", import.meta.url));
    const seen = JSON.parse((await promisify(execFile)(process.execPath, [child, api])).stdout);
    assert.match(seen.error, /\w/);
    assert.deepEqual([seen.partial.length, seen.first], [2, "TEXT_MESSAGE_CONTENT"]);
    assert.match(seen.partial[1], /^assistant: One two (three )?$/);
    assert.deepEqual(seen.whole, ["user: slow", "assistant: One two three four five six."]);
    assert.equal(seen.last.outcome.type, "success");
    assert.ok(seen.runs[0] && seen.runs[0] === seen.runs[1], "nothing is run twice");
  });
}

named("a client may stop listening", async () => {
  const agent = agentOf(`agents/${talker}`);
  say(agent, "slow");
  const running = agent.runAgent().catch((error) => error);
  await until(() => types(agent).includes("TEXT_MESSAGE_CONTENT"), "text");
  agent.abortRun();
  await running;
  assert.ok(!types(agent).includes("RUN_FINISHED"));
});

named("a failed run is an error", async () => {
  const agent = agentOf(`agents/${talker}`);
  say(agent, "fail");
  await agent.runAgent().catch(() => {});
  const last = agent.events.at(-1);
  assert.equal(last.type, "RUN_ERROR");
  assert.equal(last.code, "provider_auth");
});
