// Owns a server for tests: answers by route, each answer once and the last one for ever; hears every request.
import http from 'node:http';
import { once } from 'node:events';

export async function serve(t, routes) {
  const asked = [];
  const used = new Map();
  const server = http.createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method, url, headers } = request;
    asked.push({ method, url, headers, body: Buffer.concat(chunks).toString() });
    const route = routes.find(([pattern]) =>
      pattern instanceof RegExp ? pattern.test(`${method} ${url}`) : pattern === `${method} ${url}`,
    );
    if (!route) return json(404, { code: 'not_found' })(response);
    const n = used.get(route) ?? 0;
    used.set(route, n + 1);
    return route[Math.min(n + 1, route.length - 1)](response, request);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${server.address().port}/studio/`, asked };
}

export const json =
  (status, body, headers = {}) =>
  (response) => {
    const kind = status < 400 ? 'application/json' : 'application/problem+json';
    response.writeHead(status, { 'Content-Type': kind, ...headers });
    response.end(body === undefined ? '' : JSON.stringify(body));
  };

/** Events with ids that count on from `from`. */
export const text = (events, from = 1) =>
  events.map(([name, data], n) => `id: ${from + n}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join('');

/** Events; then the stream ends, is cut, or stays open. */
export const stream =
  (events, end = 'end', from = 1) =>
  (response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.write(text(events, from), () => {
      if (end === 'end') response.end();
      else if (end === 'cut') response.destroy();
    });
  };

/** A run as the studio tells it: what comes behind the id that was seen last, so many events a line; the last line ends. */
export const told = (events, each) => (response, request) => {
  const from = Number(request.headers['last-event-id'] ?? 0);
  const last = from + each >= events.length;
  stream(events.slice(from, from + each), last ? 'end' : 'cut', from + 1)(response);
};
