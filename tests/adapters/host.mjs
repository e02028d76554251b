// What the tests of clients share: the studio's API, and a proxy that cuts streams in the middle.
import http from "node:http";

export const base = process.env.STUDIO_URL;
// Hosts that ask who it is are told by these; both kinds of clients take the `fetch` of the moment.
const said = JSON.parse(process.env.STUDIO_HEADERS ?? "{}");
const bare = globalThis.fetch;
globalThis.fetch = (url, options = {}) => {
  const headers = new Headers(options.headers);
  for (const [name, value] of Object.entries(said)) headers.set(name, value);
  return bare(url, { ...options, headers });
};

export const adapters = `${base}/api/studio`;

async function make(kind, body) {
  const response = await fetch(`${base}/studio/api/${kind}`, {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
  });
  const made = await response.json();
  if (!response.ok) throw new Error(`${kind}: ${JSON.stringify(made)}`);
  return made.id;
}

const node = (id, type, data = {}) => ({ id, type, position: { x: 0, y: 0 }, data });
const edge = (id, source, target) => ({ id, source, target, sourceHandle: "default", targetHandle: "default" });

export const talker = await make("agents", { name: "Talker", provider: "script", model: "talks" });
export const payer = await make("agents", {
  name: "Payer", provider: "script", model: "pays", tools: [{ ref: "toolkit:demo", require_approval: true }],
});
export const asker = await make("workflows", {
  name: "Asker",
  graph: {
    version: 1, annotations: [],
    nodes: [
      node("start", "start"),
      node("human", "human", { prompt: "Your name?", output_key: "name" }),
      node("set", "set_state", { key: "greeting", value: "Hello {{name}}" }),
      node("stop", "stop", { reply: "{{greeting}}" }),
    ],
    edges: [edge("a", "start", "human"), edge("b", "human", "set"), edge("c", "set", "stop")],
  },
});

export const teller = await make("workflows", {
  name: "Teller",
  graph: {
    version: 1, annotations: [],
    nodes: [
      node("start", "start"),
      node("llm", "llm", { provider: "script", model: "talks", prompt: "{{input}}", output_key: "text", stream: true, publish_reply: true }),
      node("stop", "stop", { reply: "{{text}}" }),
    ],
    edges: [edge("a", "start", "llm"), edge("b", "llm", "stop")],
  },
});

// A proxy that breaks the connection once a text of a POST's answer went through; it has to read it, so it asks for it uncompressed.
export async function cutting(mark) {
  const server = http.createServer((request, response) => {
    const options = { method: request.method, headers: { ...request.headers, host: new URL(base).host, "accept-encoding": "identity" } };
    const forward = http.request(new URL(request.url, base), options, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      let seen = "";
      answer.on("data", (chunk) => {
        seen += chunk;
        response.write(chunk, () => {
          if (request.method === "POST" && seen.includes(mark)) {
            forward.destroy();
            response.destroy();
          }
        });
      });
      answer.on("end", () => response.end());
      answer.on("error", () => response.destroy());
    });
    forward.on("error", () => response.destroy());
    request.pipe(forward);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${server.address().port}/api/studio`, end: () => { server.closeAllConnections(); server.close(); } };
}

export async function until(holds, what, ms = 60000) {
  const end = Date.now() + ms;
  while (!holds()) {
    if (Date.now() > end) throw new Error(`timed out: ${what}`);
    await new Promise((done) => setTimeout(done, 10));
  }
}
