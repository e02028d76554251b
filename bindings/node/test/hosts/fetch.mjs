/** Web requests and answers: by the runtime's own server in Bun and Deno, by a bridge of Hono in Node.js. */
import { handler } from '../../dist/http/fetch.js';

export async function serve({ studio, marks, find, port }) {
  const own = async (request) => {
    const sent = JSON.parse((await request.text()) || '{}');
    const [told, type, status = 200] = await find(request.method, new URL(request.url).pathname)(sent);
    return new Response(told, { status, headers: { 'content-type': type } });
  };
  const fetch = handler(
    studio,
    marks((request, name) => request.headers.get(name) ?? undefined),
    own,
  );
  const hostname = '127.0.0.1';
  if (globalThis.Bun) {
    const server = Bun.serve({ port, hostname, fetch, idleTimeout: 0 });
    return () => server.stop(true);
  }
  if (globalThis.Deno) {
    const server = Deno.serve({ port, hostname, onListen: () => {} }, fetch);
    return () => void server.shutdown();
  }
  const { serve: listen } = await import('@hono/node-server');
  const { Hono } = await import('hono');
  const app = new Hono();
  app.all('*', (context) => fetch(context.req.raw));
  const server = await new Promise((done) => {
    const made = listen({ fetch: app.fetch, port, hostname, overrideGlobalObjects: false }, () => done(made));
  });
  return () => {
    server.close();
    server.closeAllConnections();
  };
}
