// The AI SDK's `Chat` against the adapter `vercel`, in both major versions.
import assert from "node:assert/strict";
import test from "node:test";
import * as ai6 from "ai-6";
import * as ai7 from "ai-7";
import { Chat as Chat6 } from "react-6";
import { Chat as Chat7 } from "react-7";
import { adapters, asker, cutting, payer, talker, until } from "./host.mjs";

const text = (message) => message.parts.filter((part) => part.type === "text").map((part) => part.text).join("|");
const tool = (message) => message.parts.find((part) => part.type === "dynamic-tool");

for (const [version, ai, Chat] of [[6, ai6, Chat6], [7, ai7, Chat7]]) {
  let number = 0;
  const chatOf = (api, more = {}) => {
    const errors = [];
    const id = more.id ?? `chat-${version}-${(number += 1)}`;
    const transport = new ai.DefaultChatTransport({ api: `${more.base ?? adapters}/${api}/stream/vercel` });
    const chat = new Chat({ id, transport, onError: (error) => errors.push(error), messages: more.messages });
    return Object.assign(chat, { errors });
  };
  const named = (name, run) => test(`ai@${version}: ${name}`, { timeout: 120000 }, run);

  named("text is streamed into one message", async () => {
    const chat = chatOf(`agents/${talker}`);
    await chat.sendMessage({ text: "hi" });
    assert.deepEqual(chat.errors, []);
    assert.equal(chat.status, "ready");
    assert.equal(text(chat.lastMessage), "You said: hi");
    assert.equal(chat.lastMessage.metadata.status, "completed");
    await chat.sendMessage({ text: "again" });
    assert.deepEqual(chat.messages.map((message) => message.role), ["user", "assistant", "user", "assistant"]);
    await chat.regenerate();
    assert.equal(text(chat.lastMessage), "You said: again");
    assert.equal(chat.messages.length, 4);
  });

  for (const approved of [true, false]) {
    named(`an approval is answered with ${approved}`, async () => {
      const chat = chatOf(`agents/${payer}`);
      await chat.sendMessage({ text: "refund it" });
      assert.deepEqual(chat.errors, []);
      const part = tool(chat.lastMessage);
      assert.equal(part.state, "approval-requested");
      assert.equal(part.toolName, "issue_refund");
      assert.deepEqual(part.input, { order_id: "A-100", amount: "25.00", reason: "broken" });
      await chat.addToolApprovalResponse({ id: part.approval.id, approved, reason: "as agreed" });
      await chat.sendMessage();
      assert.deepEqual(chat.errors, []);
      assert.equal(chat.messages.length, 2, "it goes on in the same message");
      assert.equal(tool(chat.lastMessage).state, approved ? "output-available" : "output-denied");
      assert.match(text(chat.lastMessage), /^Result: /);
    });
  }

  named("a question is answered by the next message", async () => {
    const chat = chatOf(`workflows/${asker}`);
    await chat.sendMessage({ text: "hi" });
    assert.equal(text(chat.lastMessage), "Your name?");
    assert.equal(chat.lastMessage.parts.find((part) => part.type === "data-awaiting_input").data.status, "awaiting_input");
    await chat.sendMessage({ text: "Ada" });
    assert.deepEqual(chat.errors, []);
    assert.equal(text(chat.lastMessage), "Hello Ada");
  });

  named("a reloaded page goes on with the turn that is told", async () => {
    const chat = chatOf(`agents/${talker}`);
    const sent = chat.sendMessage({ text: "slow" });
    await until(() => chat.lastMessage?.role === "assistant" && text(chat.lastMessage).includes("two"), "text");
    const reloaded = chatOf(`agents/${talker}`, { id: chat.id, messages: [chat.messages[0]] });
    await reloaded.resumeStream();
    await sent;
    assert.deepEqual(reloaded.errors, []);
    assert.equal(text(reloaded.lastMessage), "One two three four five six.");
    assert.equal(reloaded.lastMessage.id, chat.lastMessage.id);
    await reloaded.resumeStream();
    assert.equal(reloaded.messages.length, 2, "nothing is at work any more");
  });

  named("a stream that a proxy cuts is an error, and the next connection goes on", async () => {
    const proxy = await cutting("two ");
    const chat = chatOf(`agents/${talker}`, { base: proxy.url });
    await chat.sendMessage({ text: "slow" });
    assert.equal(chat.status, "error");
    assert.equal(chat.errors.length, 1);
    await chat.resumeStream();
    assert.equal(chat.errors.length, 1);
    assert.equal(text(chat.lastMessage), "One two three four five six.");
    assert.equal(chat.messages.length, 2);
    proxy.end();
  });

  named("a client may stop listening", async () => {
    const chat = chatOf(`agents/${talker}`);
    const sent = chat.sendMessage({ text: "slow" });
    await until(() => chat.lastMessage?.role === "assistant", "a message");
    await chat.stop();
    await sent;
    assert.equal(chat.status, "ready");
  });

  named("a failed run is an error", async () => {
    const chat = chatOf(`agents/${talker}`);
    await chat.sendMessage({ text: "fail" });
    assert.equal(chat.status, "error");
    assert.match(chat.error.message, /\w/);
    const unknown = chatOf("agents/none");
    await unknown.sendMessage({ text: "hi" });
    assert.match(unknown.error.message, /not_found/);
  });
}
