/** Owns the studio's routes for `node:http`, also below Connect, Express, Koa, Fastify and Nest, which hand their requests on. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Leaving } from '../engine.js';
import type { Studio } from '../studio.js';
import { type HttpAnswer, type HttpRequest, problem } from './answer.js';
import { type Body, BodyConsumed, type Marks, exchange, fromWire, marked, ours, toWire } from './exchange.js';

/** A request as frameworks hand it on: with the address that it came with, where they change `url`. */
export interface NodeRequest extends IncomingMessage {
  originalUrl?: string;
  /** What the path begins with before the part that is routed here. */
  baseUrl?: string;
  body?: unknown;
  rawBody?: unknown;
  /** Of HTTP/2. */
  stream?: { endAfterHeaders: boolean; destroyed: boolean };
}

export type { Marks } from './exchange.js';

/** Answers every request that it is given; `marks` are asked with `asked`, the framework's own request. */
export async function answer<R = NodeRequest>(
  studio: Studio,
  marks: Marks<R>,
  request: NodeRequest,
  response: ServerResponse,
  asked = request as R,
): Promise<void> {
  const gone = new Gone();
  const left = () => gone.abort();
  response.once('close', left);
  let told: HttpAnswer | undefined;
  // The client may have left while the application did something else.
  if (response.destroyed || request.stream?.destroyed) left();
  try {
    const head = { ...headOf(request), ...(await marked(marks, asked)) };
    told = await exchange(studio, head, bodyOf(request), gone).catch(misplaced);
    await send(told, request, response);
  } catch (failed) {
    if (gone.aborted) return;
    if (!response.headersSent) throw failed;
    // Part of the body was sent: only a broken connection says that the rest is missing.
    response.destroy();
  } finally {
    response.off('close', left);
    // Also where the application has ended the response meanwhile, and where sending failed.
    told?.close();
  }
}

/** Whether the client has left, for one stream at a time; cheaper than an `AbortController`. */
class Gone implements Leaving {
  aborted = false;
  #told: (() => void) | undefined;

  abort(): void {
    if (this.aborted) return;
    this.aborted = true;
    this.#told?.();
  }

  throwIfAborted(): void {
    if (this.aborted) throw new Error('the client left');
  }

  addEventListener(_type: 'abort', told: () => void): void {
    this.#told = told;
  }

  removeEventListener(): void {
    this.#told = undefined;
  }
}

/** A listener for `http.createServer`. Requests that are not the studio's go to `other`; without it they are answered 404. */
export function listener(
  studio: Studio,
  marks: Marks<NodeRequest> = {},
  other?: (request: IncomingMessage, response: ServerResponse) => void,
) {
  return (request: IncomingMessage, response: ServerResponse): void => {
    const hand = async () => {
      if (other && !(await ours(studio, marks, request, pathOf(request)))) return other(request, response);
      await answer(studio, marks, request, response);
    };
    hand().catch((failed) => {
      console.error(failed);
      if (!response.headersSent) void send(problem(500, 'Internal Server Error', 'the request could not be answered'), request, response);
    });
  };
}

export function pathOf(request: NodeRequest): string {
  return (request.originalUrl ?? request.url ?? '/').split('?', 1)[0]!;
}

function headOf(request: NodeRequest): HttpRequest {
  const address = request.originalUrl ?? request.url ?? '/';
  const mark = address.indexOf('?');
  const head: HttpRequest = {
    method: request.method ?? 'GET',
    path: encoded(mark < 0 ? address : address.slice(0, mark)),
    query: mark < 0 ? '' : encoded(address.slice(mark + 1)),
    headers: headersOf(request),
  };
  return request.baseUrl ? { ...head, root_path: encoded(request.baseUrl) } : head;
}

function headersOf(request: NodeRequest): [string, string][] {
  const raw = request.rawHeaders;
  const headers: [string, string][] = [];
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]!;
    // HTTP/2 has the host among the members that are no headers.
    if (name === ':authority') headers.push(['host', fromWire(raw[at + 1]!)]);
    else if (!name.startsWith(':')) headers.push([name, fromWire(raw[at + 1]!)]);
  }
  return headers;
}

/** Node's parser lets characters through that a request target must not have, each a byte. */
function encoded(target: string): string {
  return target.replace(
    /[^!#$%&'()*+,\-./0-9:;=?@A-Z[\]_a-z~]/g,
    (byte) => `%${byte.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}

function bodyOf(request: NodeRequest): Body | undefined {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  // HTTP/2 needs neither.
  if (coding === undefined && (length ?? (request.stream?.endAfterHeaders === false ? '' : '0')) === '0') return undefined;
  return async (limit) => {
    if (request.rawBody instanceof Uint8Array) return request.rawBody.length > limit ? undefined : request.rawBody;
    if (request.readableDidRead || request.readableEnded) throw new BodyConsumed();
    return read(request, limit);
  };
}

/** The whole body. One that is longer is let go by, so that the answer to it is read. */
function read(request: IncomingMessage, limit: number): Promise<Uint8Array | undefined> {
  return new Promise((resolve, reject) => {
    const parts: Uint8Array[] = [];
    let size = 0;
    request.on('data', (part: Uint8Array) => {
      size += part.length;
      if (size <= limit) parts.push(part);
      else resolve(undefined);
    });
    request.once('end', () => resolve(Buffer.concat(parts)));
    request.once('error', reject);
    request.once('close', () => reject(new Error('the client left before its request was whole')));
  });
}

function misplaced(failed: unknown): HttpAnswer {
  if (failed instanceof BodyConsumed) return problem(500, 'Internal Server Error', failed.message);
  throw failed;
}

async function send(told: HttpAnswer, request: IncomingMessage, response: ServerResponse): Promise<void> {
  // The application has answered meanwhile, as when a time is over.
  if (response.headersSent) return;
  response.statusCode = told.status;
  const set = new Set(['vary']);
  for (const [name, value] of told.headers) {
    // What the application has set before is replaced; only `vary` adds up.
    const before = set.has(name) ? response.getHeader(name) : undefined;
    response.setHeader(name, before === undefined ? toWire(value) : [before, toWire(value)].flat().map(String));
    set.add(name);
  }
  if (request.method === 'HEAD' || told.status === 204 || told.status === 304) {
    told.close();
    response.end();
    return;
  }
  // The client sees that a stream was opened, also while nothing comes.
  if (told.isEvents) response.flushHeaders();
  const first = told.isEvents ? null : told.now();
  const second = first ? told.now() : first;
  // An answer that is here as a whole is sent at once, with its length.
  if (second === undefined) return void response.end(response.destroyed || response.writableEnded ? undefined : first);
  for await (const piece of after([first, second], told)) {
    // The application may have ended it meanwhile.
    if (response.destroyed || response.writableEnded) break;
    const taken = response.write(piece);
    // `compression` keeps what it is given until it has enough; a stream of the adapter `vercel` does not forbid it to compress.
    if (told.isEvents) (response as { flush?: () => void }).flush?.();
    if (!taken) await drained(response);
  }
  response.end();
}

/** Those pieces, and the others as they come. */
async function* after(pieces: (Uint8Array | null | undefined)[], told: HttpAnswer): AsyncGenerator<Uint8Array, void> {
  for (const piece of pieces) if (piece) yield piece;
  yield* told;
}

/** Waits until the client has taken what was written, or has gone. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done);
      response.off('close', done);
      resolve();
    };
    response.on('drain', done);
    response.on('close', done);
  });
}
