// @vitest-environment jsdom
import { QueryClientProvider, useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Router } from 'wouter';
import { memoryLocation } from 'wouter/memory-location';
import { get } from '../../src/api/client';
import { tellGone, useConnection } from '../../src/api/connection';
import { queries } from '../../src/api/queries';
import { loadLocale } from '../../src/i18n';
import { Starters } from '../../src/pages/start/start';
import { act, click, render, wait } from './dom';
import { json, offline, refusal, Server } from './fake-server';

beforeAll(() => loadLocale('en'));
let server: Server;
beforeEach(() => {
  server = new Server();
  useConnection.setState({ signedOut: false, offline: false, updated: false, cut: {} });
});
afterEach(() => {
  queries.clear();
  document.body.replaceChildren();
});
const settle = (ms = 30): Promise<void> => wait(ms);

describe('what could not be read', () => {
  it.each([
    ['the line', offline],
    ['the session', () => refusal(401, 'unauthenticated')],
  ])('is read again when %s is back', async (_, refuse) => {
    server.on('GET', /\/api\/thing/, refuse);
    function Page(): ReactElement {
      const thing = useQuery({ queryKey: ['thing'], queryFn: () => get<{ name: string }>('/api/thing'), retry: false });
      return <p>{thing.isError ? 'failed' : thing.data?.name}</p>;
    }
    const { host, gone } = await render(
      <QueryClientProvider client={queries}>
        <Page />
      </QueryClientProvider>,
    );
    await settle();
    expect(host.textContent).toBe('failed');
    server.on('GET', /\/api\/thing/, () => json({ name: 'it' }));
    server.on('GET', /\/api\/other/, () => json({}));
    await act(async () => void (await get('/api/other')));
    await settle();
    expect(host.textContent).toBe('it');
    await gone();
  });
});

describe('a part of the pages that does not come', () => {
  it('is gone with an update only where the host is there', async () => {
    server.on('GET', /./, offline);
    await tellGone();
    expect(useConnection.getState()).toMatchObject({ updated: false, offline: true });
    server.on('GET', /./, () => refusal(502, 'bad_gateway'));
    await tellGone();
    expect(useConnection.getState()).toMatchObject({ updated: false, offline: true });
    server.on('GET', /./, () => json({}));
    await tellGone();
    expect(useConnection.getState().updated).toBe(true);
  });
});

describe('an example that is made', () => {
  it('calls nobody back who has gone elsewhere', async () => {
    server.on('GET', /\/api\//, () => json({ data: [], next_cursor: null }));
    server.on('GET', /\/api\/settings/, () => json({ flags: {}, keys: [] }));
    server.on('GET', /\/api\/providers/, () => json({ data: [], default_provider: 'p', default_model: 'm' }));
    server.on('POST', /\/api\/agents/, () => json({ id: 'a' }, 201));
    let made: (r: Response) => void = () => undefined;
    server.on('POST', /\/api\/workflows/, () => new Promise<Response>((ok) => (made = ok)));
    const place = memoryLocation({ path: '/here', record: true });
    const { host, gone } = await render(
      <QueryClientProvider client={queries}>
        <Router hook={place.hook}>
          <Starters onBlank={() => undefined} />
        </Router>
      </QueryClientProvider>,
    );
    await settle();
    await click(host.querySelector('article button') as HTMLElement);
    await settle();
    await gone();
    made(json({ id: 'w' }, 201));
    await settle();
    expect(place.history).toEqual(['/here']);
  });
});
