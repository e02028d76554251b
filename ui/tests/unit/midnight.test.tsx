// @vitest-environment jsdom
import { QueryClientProvider } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { Router } from 'wouter';
import { memoryLocation } from 'wouter/memory-location';
import { queries } from '../../src/api/queries';
import { useToday } from '../../src/api/window';
import { loadLocale } from '../../src/i18n';
import Usage from '../../src/pages/usage/page';
import { act, render, wait } from './dom';
import { json, Server } from './fake-server';

beforeAll(() => loadLocale('en'));
let server: Server;
beforeEach(() => {
  server = new Server();
  server.on('GET', /\/api\//, () => json({ data: [], next_cursor: null }));
  server.on('GET', /\/api\/settings/, () => json({ flags: {}, keys: [{ key: 'timezone', value: 'America/Sao_Paulo', source: 'config' }] }));
  server.on('GET', /\/api\/usage/, () =>
    json({ totals: { run_count: 0, total_tokens: 0, estimated_cost: '0.000000' }, breakdown: [], currency: 'USD' }),
  );
});
afterEach(() => {
  vi.useRealTimers();
  queries.clear();
  document.body.replaceChildren();
});
const within = (page: ReactElement, path = '/usage') => {
  const { hook, searchHook } = memoryLocation({ path });
  return (
    <QueryClientProvider client={queries}>
      <Router hook={hook} searchHook={searchHook}>
        {page}
      </Router>
    </QueryClientProvider>
  );
};

describe('today', () => {
  it('is another day after midnight in the configured zone, though nothing else changes', async () => {
    vi.useFakeTimers({ now: new Date('2026-11-27T02:59:00Z') });
    const Today = (): ReactElement => <p>{useToday()}</p>;
    const { host, gone } = await render(within(<Today />));
    await act(async () => void (await vi.advanceTimersByTimeAsync(50)));
    expect(host.textContent).toBe('2026-11-26');
    await act(async () => void (await vi.advanceTimersByTimeAsync(120_000)));
    expect(host.textContent).toBe('2026-11-27');
    await gone();
  });
});

describe('the usage page', () => {
  it.each(['/usage?from=tomorrow&to=2026-11-26', '/usage?days=1e99', '/usage?from=2026-11-26&to=2026-99-99'])(
    'opens at %s',
    async (path) => {
      const fault = vi.spyOn(console, 'error').mockImplementation(() => undefined);
      const { host, gone } = await render(within(<Usage />, path));
      await wait(50);
      expect([host.querySelector('.us') !== null, fault.mock.calls.length]).toEqual([true, 0]);
      fault.mockRestore();
      await gone();
    },
  );
});
