/** Owns every request but the streams: JSON in, JSON or a Problem out. */
import { tellConnection } from './connection';
import { early } from './early';
import { offline, problemFrom } from './problem';
import { apiUrl, csrfHeaders } from './root';
import { renew } from './sign-in';
import { locale } from '../i18n';

export type Query = Record<string, string | number | boolean | null | undefined>;

export interface Options {
  query?: Query;
  body?: unknown;
  form?: FormData;
  revision?: number | null;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export function withQuery(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') search.set(key, String(value));
  }
  const text = search.toString();
  return text ? `${path}?${text}` : path;
}

export async function send(method: string, path: string, options: Options = {}): Promise<Response> {
  let response = await once(method, path, options);
  // Refused before anything was done: a page that is let in has a newer token.
  if (staleToken(method, response) && (await newerToken())) response = await once(method, path, options);
  if (response.status === 401 || response.status === 419) tellConnection({ signedOut: true });
  if (!response.ok) throw await problemFrom(response);
  tellConnection({ signedOut: false });
  return response;
}

/** Frameworks refuse a stale token with 419, or with a page of their own. */
const staleToken = (method: string, { status, headers }: Response): boolean =>
  method !== 'GET' && (status === 419 || ((status === 403 || status === 422) && !/json/.test(headers.get('content-type') ?? '')));

async function newerToken(): Promise<boolean> {
  const before = Object.values(csrfHeaders())[0];
  return before !== undefined && (await renew()) && Object.values(csrfHeaders())[0] !== before;
}

async function once(method: string, path: string, options: Options): Promise<Response> {
  const headers: Record<string, string> = { Accept: 'application/json', 'X-Studio-Locale': locale, ...options.headers };
  if (method !== 'GET') Object.assign(headers, csrfHeaders(), { 'X-Requested-With': 'XMLHttpRequest' });
  if (options.body !== undefined) headers['Content-Type'] = 'application/json';
  if (options.revision != null) headers['If-Match'] = `"${options.revision}"`;
  try {
    const url = apiUrl(withQuery(path, options.query));
    const response = await ((method === 'GET' && early(url)) ||
      fetch(url, {
        method,
        headers,
        body: options.form ?? (options.body === undefined ? undefined : JSON.stringify(options.body)),
        signal: options.signal,
        credentials: 'same-origin',
      }));
    tellConnection({ offline: false });
    return response;
  } catch (error) {
    if (options.signal?.aborted) throw error;
    tellConnection({ offline: true });
    throw offline();
  }
}

async function json<T>(method: string, path: string, options?: Options): Promise<T> {
  const response = await send(method, path, options);
  if (response.status === 204) return undefined as T;
  const text = await response.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

export const get = <T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> => json('GET', path, { query, signal });
export const post = <T>(path: string, body?: unknown, options?: Options): Promise<T> =>
  json('POST', path, { ...options, body: body ?? {} });
export const put = <T>(path: string, body: unknown, revision?: number | null): Promise<T> => json('PUT', path, { body, revision });
export const patch = <T>(path: string, body: unknown, revision?: number | null): Promise<T> => json('PATCH', path, { body, revision });
export const remove = (path: string, query?: Query, revision?: number | null): Promise<void> => json('DELETE', path, { query, revision });
export const upload = <T>(path: string, form: FormData): Promise<T> => json('POST', path, { form });
