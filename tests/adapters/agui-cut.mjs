// Tells what `HttpAgent` sees of a stream that a proxy cuts, and of the same run asked for again: agui-cut.mjs PATH.
// A process of its own: of a broken stream the client also leaves a rejection that nobody can handle, which `node:test` takes for a failure.
import { HttpAgent } from "@ag-ui/client";
import { adapters, cutting } from "./host.mjs";

let loose = 0;
process.on("unhandledRejection", () => { loose += 1; });
console.error = () => {};

const proxy = await cutting("two ");
const agent = new HttpAgent({ url: `${proxy.url}/${process.argv[2]}/stream/agui`, threadId: `cut ${process.argv[2]}` });
const told = [];
agent.subscribe({ onEvent: ({ event }) => { told.at(-1).push(event); } });
const texts = () => agent.messages.map((message) => `${message.role}: ${message.content}`);
const runId = "the run that is cut";
agent.addMessage({ id: "m1", role: "user", content: "slow" });

told.push([]);
const error = await agent.runAgent({ runId }).then(() => null, String);
const partial = texts();
proxy.end();
agent.url = `${adapters}/${process.argv[2]}/stream/agui`;
told.push([]);
await agent.runAgent({ runId });
await new Promise((done) => setTimeout(done, 50));

const runs = told.map((events) => events.find((event) => event.name === "studio.trace")?.value.trace_id);
console.log(JSON.stringify({ error, partial, whole: texts(), runs, first: told[0].at(-1).type, last: told[1].at(-1), loose }));
process.exit();
