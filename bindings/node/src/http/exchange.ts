/** Owns what all mounts share: what the application says about a request, how large a body may be, refusals as problem documents. */

import type { Leaving } from '../engine.js';
import { StudioError } from '../errors.js';
import { CODES } from '../generated.js';
import type { Studio } from '../studio.js';
import { type HttpAnswer, type HttpRequest, problem } from './answer.js';

/** A value, or a function of the framework's request that says it, at once or later. `undefined` and `null` say nothing. */
export type Mark<R, T> = T | undefined | null | ((request: R) => T | undefined | null | Promise<T | undefined | null>);

/** What the application knows about a request (docs/hosts.md). */
export interface Marks<R> {
  /** Who asks: an object with an `id`. */
  user?: Mark<R, object>;
  /** May this request enter the pages and their API. */
  gate?: Mark<R, boolean>;
  /** Whose data it is. */
  tenant?: Mark<R, string>;
  /** May this request read the export. */
  authorized?: Mark<R, boolean>;
  /** Where the host is reached, if the request does not tell. */
  baseUrl?: Mark<R, string>;
  /** What the path begins with before the prefix of the studio. */
  rootPath?: Mark<R, string>;
}

const NAMES = {
  user: 'user',
  gate: 'gate',
  tenant: 'tenant',
  authorized: 'authorized',
  base_url: 'baseUrl',
  root_path: 'rootPath',
} as const;
const KNOWN = new Set<string>(Object.values(NAMES));

/** The marks of one request. */
export async function marked<R>(marks: Marks<R>, request: R): Promise<Partial<HttpRequest>> {
  const told: Record<string, unknown> = {};
  // Without types nothing else tells of a misspelt `tenant`, and everybody would see everybody's data.
  for (const name in marks) if (!KNOWN.has(name)) throw new TypeError(`unknown: ${name}; a mount takes ${[...KNOWN].join(', ')}`);
  for (const [name, from] of Object.entries(NAMES)) {
    const mark: unknown = marks[from];
    let said = typeof mark === 'function' ? mark(request) : mark;
    if (typeof (said as PromiseLike<unknown> | null | undefined)?.then === 'function') said = await said;
    // A gate that was asked and says nothing is told as null: then naming a user lets nobody in.
    if (said !== undefined && said !== null) told[name] = said;
    else if (name === 'gate' && typeof mark === 'function') told[name] = null;
  }
  return told as Partial<HttpRequest>;
}

/** A body that is read when the studio has said how long it may be; `undefined` when it is longer. */
export type Body = (limit: number) => Promise<Uint8Array | undefined>;

/** Asks the studio. What it refuses is an answer too. */
export async function exchange(studio: Studio, head: HttpRequest, body: Body | undefined, signal: Leaving): Promise<HttpAnswer> {
  try {
    if (body === undefined) return await studio.http(head, { signal });
    const first = await studio.http({ ...head, expect: '100-continue' }, { signal });
    if (first.status !== 100) return first;
    first.close();
    const limit = first.bodyLimit ?? 0;
    const read = await body(limit);
    if (read === undefined) return tooLarge(limit);
    return await studio.http({ ...head, body: read }, { signal });
  } catch (failed) {
    if (!(failed instanceof StudioError)) throw failed;
    if (failed.code === CODES.CLOSED) return problem(503, 'Service Unavailable', failed.message);
    return problem(400, 'Bad Request', failed.message);
  }
}

function tooLarge(limit: number): HttpAnswer {
  return problem(413, 'Content Too Large', `the body is longer than ${limit} bytes and was not read to its end; nothing was done`);
}

/** The body is gone, because something of the application read it first. */
export class BodyConsumed extends Error {
  override name = 'BodyConsumed';
  constructor() {
    super('the body was read before the request came to the studio: mount it before `express.json()` and other readers of bodies');
  }
}

/** Header values travel as latin-1; the studio has UTF-8. Old clients send latin-1, which is taken as it is. */
export function fromWire(value: string): string {
  if (ASCII.test(value)) return value;
  const bytes = Buffer.from(value, 'latin1');
  try {
    return utf8.decode(bytes);
  } catch {
    return value;
  }
}

export function toWire(value: string): string {
  if (ASCII.test(value)) return value;
  return Buffer.from(value, 'utf8').toString('latin1');
}

// eslint-disable-next-line no-control-regex
const ASCII = /^[\0-\x7f]*$/;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** True for a request that is the studio's, below `root` or the mark of that name. Those of the application are served also when the studio is closed. */
export async function ours<R>(studio: Studio, marks: Marks<R>, asked: R, path: string, root = ''): Promise<boolean> {
  const mounts = await studio.mounts().catch(() => PREFIXES);
  if (owns(mounts, path, root)) return true;
  // The mark is asked for no page that cannot be the studio's: it may fail there.
  if (!mounts.some((mount) => `${path}/`.includes(`${mount}/`))) return false;
  const mark = marks.rootPath;
  const said = typeof mark === 'function' ? await mark(asked) : mark;
  return Boolean(said) && owns(mounts, path, said!);
}

/** The mounts of a studio that does not say its own. */
const PREFIXES = ['/studio', '/api/studio'];

function owns(mounts: string[], path: string, root: string): boolean {
  const before = root.replace(/\/+$/, '');
  const below = (rest: string) => mounts.some((mount) => begins(rest, mount));
  // A router that mounts the studio at its prefix counts the prefix in.
  return below(path) || (begins(path, before) && (below(path.slice(before.length)) || mounts.some((mount) => before.endsWith(mount))));
}

function begins(path: string, beginning: string): boolean {
  return path === beginning || path.startsWith(`${beginning}/`);
}
