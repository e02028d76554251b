/** Owns the mount for Koa. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Studio } from '../studio.js';
import { type Marks, ours } from './exchange.js';
import { answer, pathOf } from './node.js';

export type { Marks } from './exchange.js';

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Anything = any;

interface Context {
  req: IncomingMessage;
  res: ServerResponse;
  originalUrl: string;
  respond?: boolean;
}

/** Mounts the studio at its own prefixes. Call it before readers of bodies. `marks` are asked with Koa's context. */
export function mount<C = Anything>(app: { use(middleware: Anything): unknown }, studio: Studio, marks: Marks<C> = {}): void {
  app.use(async (context: Context, next: () => Promise<unknown>) => {
    const request = Object.assign(context.req, { originalUrl: context.originalUrl });
    if (!(await ours(studio, marks, context as C, pathOf(request)))) return next();
    // Middleware that runs around this one sees a status, and Koa leaves the answer alone.
    context.respond = false;
    await answer(studio, marks, request, context.res, context as C);
  });
}
