/** Owns the studio's routes for web requests and answers: Next, Hono, h3, Elysia, Bun, Deno. */

import type { Studio } from '../studio.js';
import { type HttpAnswer, type HttpRequest, problem } from './answer.js';
import { BodyConsumed, type Marks, exchange, fromWire, marked, ours, toWire } from './exchange.js';

export type { Marks } from './exchange.js';

type Handle = (request: Request) => Promise<Response>;

/** A function of a request, with itself under the name of each method, as route handlers are exported. */
export interface Handler extends Handle {
  GET: Handle;
  HEAD: Handle;
  POST: Handle;
  PUT: Handle;
  PATCH: Handle;
  DELETE: Handle;
  OPTIONS: Handle;
}

/** Answers the studio's requests. Those that are not go to `other`; without it they are answered 404. */
export function handler(studio: Studio, marks: Marks<Request> = {}, other?: (request: Request) => Response | Promise<Response>): Handler {
  const handle: Handle = async (request) => {
    if (other && !(await ours(studio, marks, request, new URL(request.url).pathname))) return other(request);
    return answer(studio, marks, request);
  };
  return Object.assign(handle, { GET: handle, HEAD: handle, POST: handle, PUT: handle, PATCH: handle, DELETE: handle, OPTIONS: handle });
}

async function answer(studio: Studio, marks: Marks<Request>, request: Request): Promise<Response> {
  const url = new URL(request.url);
  const headers = [...request.headers].map(([name, value]): [string, string] => [name, fromWire(value)]);
  if (!request.headers.has('host')) headers.push(['host', url.host]);
  const head: HttpRequest = {
    method: request.method,
    path: url.pathname,
    query: url.search.slice(1),
    headers,
    ...(await marked(marks, request)),
  };
  const body = request.body === null && !request.bodyUsed ? undefined : (limit: number) => read(request, limit);
  const told = await exchange(studio, head, body, request.signal).catch((failed: unknown) => {
    if (failed instanceof BodyConsumed) return problem(500, 'Internal Server Error', failed.message);
    // Nobody reads this answer.
    if (request.signal.aborted) return problem(499, 'Client Closed Request', 'the client left');
    throw failed;
  });
  return responseOf(told, request);
}

function responseOf(told: HttpAnswer, request: Request): Response {
  const headers = new Headers();
  for (const [name, value] of told.headers) headers.append(name, toWire(value));
  const none = request.method === 'HEAD' || [204, 205, 304].includes(told.status);
  if (none) told.close();
  return new Response(none ? null : told.readable(), { status: told.status, headers });
}

/** The whole body; `undefined` when it is longer than the limit. */
async function read(request: Request, limit: number): Promise<Uint8Array | undefined> {
  if (request.bodyUsed) throw new BodyConsumed();
  const reader = request.body!.getReader();
  const parts: Uint8Array[] = [];
  for (let size = 0; ;) {
    const { done, value } = await reader.read();
    if (done) return Buffer.concat(parts);
    size += value.length;
    if (size > limit) {
      void reader.cancel().catch(() => {});
      return undefined;
    }
    parts.push(value);
  }
}
