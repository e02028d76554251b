/** Owns the mount for Fastify. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Studio } from '../studio.js';
import type { Marks } from './exchange.js';
import { answer } from './node.js';

export type { Marks } from './exchange.js';

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Anything = any;

interface Request {
  raw: IncomingMessage;
}
interface Reply {
  raw: ServerResponse;
  hijack(): unknown;
  getHeaders(): Record<string, number | string | string[] | undefined>;
}

/** Mounts the studio at its own prefixes. Bodies below them are not parsed; hooks of the application run. `marks` are asked with Fastify's request. */
export async function mount<R = Anything>(
  app: { register(plugin: Anything): Anything },
  studio: Studio,
  marks: Marks<R> = {},
): Promise<void> {
  const prefixes = await studio.mounts();
  await app.register(async (scope: Anything) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request: unknown, payload: unknown, done: (failed: null, body: unknown) => void) =>
      done(null, payload),
    );
    const handle = async (request: Request, reply: Reply) => {
      // What hooks set, such as headers of CORS, goes with the answer.
      for (const [name, value] of Object.entries(reply.getHeaders())) if (value !== undefined) reply.raw.setHeader(name, value);
      reply.hijack();
      await answer(studio, marks, request.raw, reply.raw, request as R).catch((failed: unknown) => failing(scope, reply, failed));
    };
    for (const prefix of prefixes) {
      scope.all(prefix, handle);
      scope.all(`${prefix}/*`, handle);
    }
  });
}

/** Fastify no longer answers a request that was taken out of its hands. */
function failing(scope: { log: { error(failed: unknown): void } }, reply: Reply, failed: unknown): void {
  scope.log.error(failed);
  if (!reply.raw.headersSent) reply.raw.writeHead(500);
  reply.raw.end();
}
