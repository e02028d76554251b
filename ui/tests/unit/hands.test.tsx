// @vitest-environment jsdom
import { QueryClientProvider } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { Router } from 'wouter';
import { memoryLocation } from 'wouter/memory-location';
import { queries } from '../../src/api/queries';
import { JsonField } from '../../src/editor/json-field';
import { loadLocale } from '../../src/i18n';
import CompareTraces from '../../src/pages/traces/compare';
import Usage from '../../src/pages/usage/page';
import { SaveButton, useDefinition } from '../../src/parts/definition';
import { Dialog } from '../../src/parts/dialog';
import { SearchField } from '../../src/parts/listing';
import { useLeaving } from '../../src/parts/unsaved';
import { act, button, click, render, type, wait } from './dom';
import { json, Server } from './fake-server';

beforeAll(() => loadLocale('en'));
let server: Server;
beforeEach(() => {
  server = new Server();
});
afterEach(() => {
  vi.useRealTimers();
  queries.clear();
  document.body.replaceChildren();
});
const fire = (element: Element, name: string): Promise<void> =>
  act(async () => void element.dispatchEvent(new MouseEvent(name, { bubbles: true })));

describe('a dialog', () => {
  it('stays when a text in it is marked by dragging out of it, and goes when one presses beside it', async () => {
    const close = vi.fn();
    const { gone } = await render(
      <Dialog open onClose={close} title="T">
        <textarea defaultValue="a long text" />
      </Dialog>,
    );
    const dialog = document.querySelector('dialog') as HTMLElement;
    await fire(dialog.querySelector('textarea') as HTMLElement, 'pointerdown');
    // Where a press ends elsewhere, the browser tells the click to what holds both.
    await fire(dialog, 'click');
    expect(close).not.toHaveBeenCalled();
    await fire(dialog, 'pointerdown');
    await fire(dialog, 'click');
    expect(close).toHaveBeenCalledTimes(1);
    await gone();
  });
});

describe('a search', () => {
  it('begins a moment after the last letter, though what is around it is drawn again and again', async () => {
    vi.useFakeTimers();
    let draw: (n: number) => void = () => undefined;
    const wanted = vi.fn();
    function Busy(): ReactElement {
      const [, set] = useState(0);
      draw = set;
      return <SearchField value="" onChange={(text) => wanted(text)} />;
    }
    const { host, gone } = await render(<Busy />);
    await type(host.querySelector('input') as HTMLInputElement, 'tool');
    for (let n = 1; n < 20; n++) {
      await act(async () => draw(n));
      await act(async () => void (await vi.advanceTimersByTimeAsync(16)));
    }
    expect(wanted.mock.calls).toEqual([['tool']]);
    await gone();
  });
});

describe('what leads nowhere', () => {
  const at = (path: string, page: ReactElement) => {
    const place = memoryLocation({ path, record: true });
    const node = (
      <QueryClientProvider client={queries}>
        <Router hook={place.hook} searchHook={place.searchHook}>
          {page}
        </Router>
      </QueryClientProvider>
    );
    return { place, node };
  };

  it('is not waited for: one trace alone is not compared', async () => {
    const { place, node } = at('/traces/compare?a=x', <CompareTraces />);
    const { gone } = await render(node);
    expect(place.history?.at(-1)).toBe('/traces');
    await gone();
  });

  it('is not written to a file: days that are not read yet', async () => {
    server.on('GET', /\/api\//, () => json({ data: [], next_cursor: null }));
    server.on('GET', /\/api\/settings/, () => json({ flags: {}, keys: [] }));
    const totals = {
      run_count: 2,
      total_tokens: 10,
      prompt_tokens: 5,
      completion_tokens: 5,
      cached_tokens: 0,
      estimated_cost: '1.000000',
      unpriced: false,
    };
    server.on('GET', /\/api\/usage/, () => json({ totals, breakdown: [], currency: 'USD' }));
    let days: (r: Response) => void = () => undefined;
    server.on('GET', /\/api\/usage.*group_by=day/, () => new Promise<Response>((ok) => (days = ok)));
    const { host, gone } = await render(at('/usage', <Usage />).node);
    const settle = (): Promise<void> => wait(40);
    await settle();
    const csv = (): HTMLButtonElement | undefined => [...host.querySelectorAll('button')].find((b) => b.textContent?.includes('CSV'));
    expect(csv()?.disabled).toBe(true);
    days(json({ totals, breakdown: [], currency: 'USD' }));
    await settle();
    expect(csv()?.disabled).toBe(false);
    await gone();
  });
});

describe('a form with a text that is no JSON yet', () => {
  it('is neither saved without it nor left without asking', async () => {
    const stored = { id: 'x', revision: 1, locked: false, name: 'X', env: { a: 'b' } };
    server.on('GET', /mcp-servers/, () => json(stored));
    server.on('PUT', /mcp-servers/, ({ body }) => json({ ...stored, ...body, revision: 2 }));
    function Form(): ReactElement {
      const editing = useDefinition<typeof stored>('mcp-servers', 'x', {}, 'mcp');
      return (
        <form className="form">
          <SaveButton editing={editing} />
          <input value={editing.value?.name ?? ''} onChange={(e) => editing.set({ name: e.target.value })} />
          <JsonField label="Env" value={editing.value?.env} onChange={(v) => editing.set({ env: v as typeof stored.env })} />
        </form>
      );
    }
    const { host, gone } = await render(
      <QueryClientProvider client={queries}>
        <Form />
      </QueryClientProvider>,
    );
    const settle = (): Promise<void> => wait(30);
    await settle();
    const area = host.querySelector('textarea') as HTMLTextAreaElement;
    await type(area, '{ "a": "c", }');
    const asks = (): boolean => useLeaving.getState().shown.some((dirty) => dirty());
    expect(asks()).toBe(true);
    await type(host.querySelector('input') as HTMLInputElement, 'Y');
    await click(button('Save'));
    await settle();
    expect([server.of('PUT', /./).length, document.activeElement === area]).toEqual([0, true]);
    await type(area, '{ "a": "c" }');
    await click(button('Save'));
    await settle();
    expect([server.of('PUT', /./)[0]?.body, asks()]).toMatchObject([{ name: 'Y', env: { a: 'c' } }, false]);
    await gone();
  });
});
