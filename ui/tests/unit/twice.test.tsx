// @vitest-environment jsdom
import { QueryClientProvider } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { Router } from 'wouter';
import { memoryLocation } from 'wouter/memory-location';
import { queries } from '../../src/api/queries';
import { loadLocale } from '../../src/i18n';
import Knowledge from '../../src/pages/knowledge/list';
import Workflows from '../../src/pages/workflows/list';
import { DeleteDialog } from '../../src/parts/listing';
import { act, button, click, render, type, wait } from './dom';
import { json, Server } from './fake-server';

beforeAll(() => loadLocale('en'));
let server: Server;
beforeEach(() => {
  server = new Server();
  for (const path of [/\/api\//, /\/api\/runs/]) server.on('GET', path, () => json({ data: [], next_cursor: null }));
  server.on('GET', /\/api\/settings/, () => json({ flags: {}, keys: [] }));
  server.on('GET', /\/api\/runs\/counts/, () => json({}));
});
afterEach(() => {
  queries.clear();
  document.body.replaceChildren();
  vi.unstubAllGlobals();
});
const settle = (): Promise<void> => wait(30);
const shown = (page: ReactElement) => {
  const place = memoryLocation({ path: '/here', record: true });
  const node = (
    <QueryClientProvider client={queries}>
      <Router hook={place.hook} searchHook={place.searchHook}>
        {page}
      </Router>
    </QueryClientProvider>
  );
  return { place, node };
};

describe.each([
  ['workflow', <Workflows key="w" />, 'New workflow', /\/api\/workflows$/],
  ['base', <Knowledge key="k" />, 'New knowledge base', /\/api\/knowledge-bases$/],
])('a new %s', (_, page, label, path) => {
  const begin = async () => {
    let made: (r: Response) => void = () => undefined;
    server.on('POST', path, () => new Promise<Response>((ok) => (made = ok)));
    const { place, node } = shown(page);
    const { gone } = await render(node);
    await settle();
    await click(button(label));
    await type(document.querySelector('dialog input') as HTMLInputElement, 'Mine');
    const form = document.querySelector('dialog form') as HTMLFormElement;
    const submit = (): Promise<void> => act(async () => form.requestSubmit());
    await submit();
    return { place, gone, submit, made: () => made(json({ id: 'n1', name: 'Mine' }, 201)) };
  };

  it('is made once, however often that is asked for', async () => {
    const { place, gone, submit, made } = await begin();
    await submit();
    made();
    await settle();
    expect([server.of('POST', path).length, place.history?.at(-1)]).toEqual([1, expect.stringContaining('n1')]);
    await gone();
  });

  it('calls nobody back who has put it away', async () => {
    const { place, gone, made } = await begin();
    await click(button('Cancel'));
    made();
    await settle();
    expect(place.history?.at(-1)).toBe('/here');
    await gone();
  });
});

describe('what is used elsewhere', () => {
  it('is not deleted by the second half of a double click', async () => {
    server.on('DELETE', /\/api\/agents/, ({ path }) =>
      path.includes('force')
        ? json(null, 204)
        : json({ status: 409, code: 'in_use', title: 'u', detail: 'u', used_by: [{ kind: 'workflow', id: 'w', name: 'W' }] }, 409),
    );
    const { gone } = await render(<DeleteDialog path="/api/agents" row={{ id: 'a', name: 'A' }} onClose={() => undefined} />);
    const press = (detail: number): Promise<void> =>
      act(async () => void document.querySelector('dialog .dng')?.dispatchEvent(new MouseEvent('click', { bubbles: true, detail })));
    await press(1);
    await settle();
    await press(2);
    await settle();
    expect(server.of('DELETE', /\/api\/agents/).map((a) => a.path.includes('force'))).toEqual([false]);
    await press(1);
    await settle();
    expect(server.of('DELETE', /force/)).toHaveLength(1);
    await gone();
  });

  it('is deleted by one request', async () => {
    let done: (r: Response) => void = () => undefined;
    server.on('DELETE', /\/api\/agents/, () => new Promise<Response>((ok) => (done = ok)));
    const { gone } = await render(<DeleteDialog path="/api/agents" row={{ id: 'a', name: 'A' }} onClose={() => undefined} />);
    await click(button('Delete'));
    await click(button('Delete'));
    done(json(null, 204));
    await settle();
    expect(server.of('DELETE', /\/api\/agents/)).toHaveLength(1);
    await gone();
  });
});
