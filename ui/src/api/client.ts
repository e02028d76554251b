/** Owns the pages' client: where it is mounted, what it sends along, what the shell is told of it. */
import { isProblem, newKey, Requests, type Call, type Query } from '@wfstudio/client';
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
export const upload = <T>(path: string, form: FormData): Promise<T> => studio.json('POST', path, { form });

/** How long a copy is the same one: what it is made of may change. */
const SAME = 120_000;

/** Makes things: what may have been made has the same key when it is asked for again, and is made once. */
class Maker {
  private readonly unsure = new Map<string, { key: string; at: number }>();

  /** `what` names the same request where its body does not; without a body it copies. */
  async make<T>(path: string, body: unknown, form?: FormData, what: string = JSON.stringify(body)): Promise<T> {
    const { unsure } = this;
    const place = `${path} ${what}`;
    const old = unsure.get(place);
    const known = body || form || (old && Date.now() - old.at < SAME) ? old : null;
    const sent = known ?? { key: newKey(), at: Date.now() };
    unsure.set(place, sent);
    try {
      const made = await studio.json<T>('POST', path, {
        body: form ? undefined : (body ?? {}),
        form,
        headers: { 'Idempotency-Key': sent.key },
      });
      unsure.delete(place);
      return made;
    } catch (error) {
      const { status = 0, code } = isProblem(error) ? error : {};
      if (code !== 'idempotency_key_reused' && (known || !status || status >= 500 || code === 'idempotency_in_progress'))
        unsure.set(place, sent);
      else unsure.delete(place);
      throw error;
    }
  }

  /** What is deleted may be made anew. */
  remove(path: string, query?: Query, revision?: number | null): Promise<void> {
    this.unsure.clear();
    return studio.json('DELETE', path, { query, revision });
  }
}
const maker = new Maker();
export const make = <T>(path: string, body?: unknown, what?: string): Promise<T> => maker.make(path, body, undefined, what);
export const add = <T>(path: string, file: File): Promise<T> => {
  const form = new FormData();
  form.set('file', file);
  return maker.make(path, null, form, `${file.name} ${file.size} ${file.lastModified}`);
};
export const remove = (path: string, query?: Query, revision?: number | null): Promise<void> => maker.remove(path, query, revision);
