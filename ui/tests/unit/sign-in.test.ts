// @vitest-environment jsdom
import { beforeEach, describe, expect, it, vi } from 'vitest';

document.head.innerHTML = `<meta name="studio-root" content="./"><meta name="studio-csrf-header" content="X-CSRF-TOKEN">
  <meta name="studio-csrf-meta" content="csrf-token"><meta name="csrf-token" content="old">`;
const { post } = await import('../../src/api/client');
const { tellConnection, useConnection } = await import('../../src/api/connection');
const { startSignIn } = await import('../../src/api/sign-in');

const server = { token: 'new&1', signedIn: true, refuse: 419, posts: [] as (string | undefined)[] };
vi.stubGlobal('fetch', (_url: string, init: RequestInit = {}) => {
  const headers = (init.headers ?? {}) as Record<string, string>;
  if ((init.method ?? 'GET') === 'GET')
    return Promise.resolve(
      new Response(
        server.signedIn
          ? `<html><head><meta content='${server.token.replace('&', '&amp;')}' name='csrf-token'><meta name="studio-root" content="./"></head></html>`
          : '<form>Sign in</form>',
      ),
    );
  server.posts.push(headers['X-CSRF-TOKEN']);
  return Promise.resolve(
    headers['X-CSRF-TOKEN'] === server.token && server.signedIn
      ? new Response('{"ok":true}')
      : new Response('<h1>Page expired</h1>', { status: server.refuse, headers: { 'Content-Type': 'text/html' } }),
  );
});
const token = (text?: string): string => {
  const meta = document.querySelector<HTMLMetaElement>('meta[name=csrf-token]') as HTMLMetaElement;
  if (text !== undefined) meta.content = text;
  return meta.content;
};

describe('a session that was renewed', () => {
  beforeEach(() => {
    Object.assign(server, { signedIn: true, refuse: 419, posts: [] });
    token('old');
    useConnection.setState({ signedOut: false });
  });

  for (const refuse of [419, 403])
    it(`is gone on with: a stale token (${refuse}) is read anew, and what was refused is sent once more`, async () => {
      server.refuse = refuse;
      expect(await post('/api/x')).toEqual({ ok: true });
      expect([server.posts, token(), useConnection.getState().signedOut]).toEqual([['old', 'new&1'], 'new&1', false]);
    });

  it('is not made up: who is signed out is told so, after one request', async () => {
    server.signedIn = false;
    await expect(post('/api/x')).rejects.toMatchObject({ status: 419 });
    expect([server.posts, useConnection.getState().signedOut]).toEqual([['old'], true]);
  });

  it('in another tab is picked up', async () => {
    startSignIn();
    tellConnection({ signedOut: true });
    const other = new BroadcastChannel('studio-session:');
    other.postMessage('in');
    for (let n = 0; n < 1000 && useConnection.getState().signedOut; n++) await new Promise((go) => setTimeout(go, 10));
    expect([useConnection.getState().signedOut, token()]).toEqual([false, 'new&1']);
    tellConnection({ signedOut: true });
    token('old');
    window.dispatchEvent(new Event('focus'));
    for (let n = 0; n < 1000 && useConnection.getState().signedOut; n++) await new Promise((go) => setTimeout(go, 10));
    expect([useConnection.getState().signedOut, token()]).toEqual([false, 'new&1']);
    other.close();
  });
});
