/** Owns every request: where the studio is, what is sent along, JSON in, JSON or a Problem out. */
import type { Operations } from './generated/operations.js';
import { offline, problemFrom } from './problem.js';
import type { Undo } from './tab.js';

export type Query = Record<string, string | number | boolean | null | undefined>;
type HeaderFields = Record<string, string>;

export interface ClientOptions {
  /** Where the studio is mounted, such as `https://example.com/studio`; in a page a path is enough. */
  url: string;
  /** Sent with every request, such as a token; a function is asked each time. */
  headers?: HeaderFields | ((method: string) => HeaderFields);
  credentials?: RequestCredentials;
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** Asked when a request was refused for its session or its token, before anything was done; true: the request is sent once more. */
  renew?: (refused: Response, method: string) => Promise<boolean>;
  /** Told when the server cannot be reached or wants a sign-in, and when that is over. */
  onConnection?: (change: { signedOut?: boolean; offline?: boolean }) => void;
  /** Told how often the stream of this key has tried to go on; 0 when it does. */
  onLine?: (key: string, tries: number) => void;
  /** After how many milliseconds without a word a stream is opened anew: more than the server's heartbeat, a minute unless said. */
  silence?: number;
  /** Calls when a person may have signed in again; a stream that was refused tries anew then, and every few seconds. */
  onSignedIn?: (go: () => void) => Undo;
}

/** What every request may have. */
export interface Call {
  /** The revision that is replaced; another one in between is a conflict (409). */
  revision?: number | null;
  headers?: HeaderFields;
  signal?: AbortSignal;
}
export interface Request extends Call {
  query?: Query;
  body?: unknown;
  form?: FormData;
}

/** The arguments of an operation. */
export type Fields<O> = Omit<O, 'answer' | 'events'>;
type Given<O> = {} extends Fields<O> ? [options?: Fields<O> & Call] : [options: Fields<O> & Call];

export function withQuery(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') search.set(key, String(value));
  }
  const text = search.toString();
  return text ? `${path}?${text}` : path;
}

/** Method and path of an operation. A value is one segment of the path, whatever is in it. */
export function addressed(operation: string, values: Record<string, string | number> = {}): [method: string, path: string] {
  const [method = '', pattern = ''] = operation.split(' ');
  const path = pattern.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(values[name] ?? '');
    if (!value || value === '.' || value === '..') throw new TypeError(`${operation}: "${value}" cannot be its ${name}; nothing was sent`);
    return encodeURIComponent(value);
  });
  return [method, path];
}

/** Unlike any other, also where the page is not served safely. */
export const newKey = (): string => [...crypto.getRandomValues(new Uint32Array(4))].map((n) => n.toString(36)).join('-');

const refused = ({ status, headers }: Response): boolean =>
  status === 401 || status === 419 || ((status === 403 || status === 422) && !/json/.test(headers.get('content-type') ?? ''));

/** Also a Problem, when it is thrown by `renew`, is an error of the program and no answer to the request. */
const notRenewed = (cause: unknown): never => {
  throw new Error('renew', { cause });
};

/** Requests without streams, for pages that read none. */
export class Requests {
  readonly options: ClientOptions;
  readonly #url: string;

  constructor(options: ClientOptions) {
    this.options = options;
    this.#url = options.url.replace(/\/+$/, '');
  }

  /** An operation of the API by its method and path, as `docs/openapi.json` writes them. */
  async call<K extends keyof Operations>(operation: K, ...[options]: Given<Operations[K]>): Promise<Operations[K]['answer']> {
    const { path: values, ...rest } = (options ?? {}) as Request & { path?: Record<string, string> };
    const [method, path] = addressed(operation, values);
    return this.json(method, path, rest);
  }

  /** A path below the mount, asked for JSON. */
  async json<T>(method: string, path: string, options?: Request): Promise<T> {
    const response = await this.send(method, path, options);
    if (response.status === 204) return undefined as T;
    const text = await response.text().catch(this.#broken(options?.signal));
    return (text ? JSON.parse(text) : undefined) as T;
  }

  /** A path below the mount; whatever is not an answer of the 2xx is thrown as a Problem. */
  async send(method: string, path: string, options: Request = {}): Promise<Response> {
    const { renew, onConnection } = this.options;
    let response = await this.#once(method, path, options);
    if (renew && refused(response) && (await renew(response, method).catch(notRenewed))) response = await this.#once(method, path, options);
    if (response.status === 401 || response.status === 419) onConnection?.({ signedOut: true });
    if (!response.ok) throw await problemFrom(response, options.signal);
    onConnection?.({ signedOut: false });
    return response;
  }

  address(path: string): string {
    return this.#url + path;
  }

  async #once(method: string, path: string, options: Request): Promise<Response> {
    const { headers: own, credentials = 'same-origin', onConnection } = this.options;
    const headers: HeaderFields = { Accept: 'application/json' };
    // Names in another case are the same header, which is sent once.
    const set = (fields?: HeaderFields | null): void => {
      for (const [name, value] of Object.entries(fields ?? {})) {
        for (const known in headers) if (known.toLowerCase() === name.toLowerCase()) delete headers[known];
        headers[name] = value;
      }
    };
    set(typeof own === 'function' ? own(method) : own);
    set(options.headers);
    if (method !== 'GET') set({ 'X-Requested-With': 'XMLHttpRequest' });
    if (options.body !== undefined) set({ 'Content-Type': 'application/json' });
    if (options.revision != null) set({ 'If-Match': `"${options.revision}"` });
    const body = options.form ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
    const { signal } = options;
    void new Headers(headers); // what cannot be sent is an error of the program, and no lost line
    const ask = this.options.fetch ?? fetch;
    const init = { method, headers, body, signal, credentials };
    const response = await ask(this.address(withQuery(path, options.query)), init).catch(this.#broken(signal));
    onConnection?.({ offline: false });
    return response;
  }

  /** Without a line, or with one that breaks in the middle of an answer, there is none. */
  #broken(signal?: AbortSignal): (error: unknown) => never {
    return (error) => {
      if (signal?.aborted) throw error;
      this.options.onConnection?.({ offline: true });
      throw offline();
    };
  }
}
