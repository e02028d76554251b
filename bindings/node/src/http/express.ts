/** Owns the mount for Express and Connect. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Studio } from '../studio.js';
import { type Marks, type NodeRequest, answer, pathOf } from './node.js';
import { ours } from './exchange.js';

export type { Marks } from './exchange.js';

// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Anything = any;

/** What Express, Connect and Nest have in common. */
export interface Application {
  use(handler: (request: Anything, response: Anything, next: (failed?: unknown) => void) => void): unknown;
}

/** A handler that answers the studio's requests and passes the others on. */
export function middleware<R = Anything>(studio: Studio, marks: Marks<R> = {}) {
  return (request: IncomingMessage, response: ServerResponse, next: (failed?: unknown) => void): void => {
    const asked: NodeRequest = request;
    const hand = async () => {
      if (!(await ours(studio, marks, request as R, pathOf(asked), asked.baseUrl))) return next();
      await answer(studio, marks, asked, response, request as R);
    };
    hand().catch(next);
  };
}

/** Mounts the studio at its own prefixes. Call it before `express.json()` and other readers of bodies. */
export function mount<R = Anything>(app: Application, studio: Studio, marks: Marks<R> = {}): void {
  app.use(middleware(studio, marks));
}
