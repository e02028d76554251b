/** Owns the pages' client: where it is mounted, what it sends along, what the shell is told of it. */
import { Requests, type Call, type Query } from '@wfstudio/client';
import { tellConnection, tellLine, useConnection } from './connection';
import { early } from './early';
import { csrfHeaders, mount } from './root';
import { renew } from './sign-in';
import { locale } from '../i18n';

export const studio = new Requests({
  url: mount,
  headers: (method) => ({ 'X-Studio-Locale': locale, ...(method === 'GET' ? {} : csrfHeaders()) }),
  fetch: (url, init) => (init.method === 'GET' && early(url)) || fetch(url, init),
  renew: async ({ status }, method) => method !== 'GET' && status !== 401 && newerToken(),
  onConnection: tellConnection,
  onLine: tellLine,
  onSignedIn,
});

/** Frameworks refuse a stale token; a page that is let in has a newer one. */
async function newerToken(): Promise<boolean> {
  const before = Object.values(csrfHeaders())[0];
  return before !== undefined && (await renew()) && Object.values(csrfHeaders())[0] !== before;
}

/** Another request was let in again, or the person comes back from signing in. */
function onSignedIn(go: () => void): () => void {
  const undo = useConnection.subscribe((s) => !s.signedOut && go());
  window.addEventListener('focus', go);
  return () => {
    undo();
    window.removeEventListener('focus', go);
  };
}

export const get = <T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> => studio.json('GET', path, { query, signal });
export const post = <T>(path: string, body?: unknown, options?: Call): Promise<T> =>
  studio.json('POST', path, { ...options, body: body ?? {} });
export const put = <T>(path: string, body: unknown, revision?: number | null): Promise<T> => studio.json('PUT', path, { body, revision });
export const patch = <T>(path: string, body: unknown, revision?: number | null): Promise<T> =>
  studio.json('PATCH', path, { body, revision });
export const remove = (path: string, query?: Query, revision?: number | null): Promise<void> =>
  studio.json('DELETE', path, { query, revision });
export const upload = <T>(path: string, form: FormData): Promise<T> => studio.json('POST', path, { form });
