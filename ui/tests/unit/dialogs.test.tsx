// @vitest-environment jsdom
import { QueryClientProvider } from '@tanstack/react-query';
import { lazy } from 'react';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { queries } from '../../src/api/queries';
import { loadLocale } from '../../src/i18n';
import { Documents } from '../../src/pages/knowledge/documents';
import { SaveButton, useDefinition } from '../../src/parts/definition';
import { Dialog } from '../../src/parts/dialog';
import { Part } from '../../src/parts/part';
import { Toasts, toast } from '../../src/parts/toast';
import { act, button, click, render, type, wait } from './dom';
import { json, refusal, Server } from './fake-server';

beforeAll(() => loadLocale('en'));
let server: Server;
beforeEach(() => {
  server = new Server();
});
afterEach(() => {
  queries.clear();
  vi.restoreAllMocks();
});
const settle = (): Promise<void> => wait(20);

describe('a written document', () => {
  it('stays in its dialog with the reason when it is refused, and after Escape', async () => {
    server.on('GET', /documents/, () => json({ data: [], next_cursor: null }));
    server.on('POST', /documents/, () => refusal(413, 'too large for this base'));
    const { gone } = await render(
      <QueryClientProvider client={queries}>
        <Documents id="K" />
        <Toasts />
      </QueryClientProvider>,
    );
    await settle();
    await click(button('Write text'));
    const dialog = (): HTMLDialogElement => document.querySelector('dialog') as HTMLDialogElement;
    await type(dialog().querySelector('input') as HTMLInputElement, 'faq.md');
    await type(dialog().querySelector('textarea') as HTMLTextAreaElement, 'long text');
    await click(button('Add'));
    await settle();
    expect(dialog().querySelector('[role=alert]')?.textContent).toContain('too large for this base');
    expect(dialog().querySelector('textarea')?.value).toBe('long text');
    await act(async () => void dialog().dispatchEvent(new Event('cancel', { cancelable: true })));
    expect(dialog()).toBeNull();
    await click(button('Write text'));
    expect(dialog().querySelector('textarea')?.value).toBe('long text');
    server.on('POST', /documents/, () => json({ id: 'd' }, 201));
    await click(button('Add'));
    await settle();
    expect([dialog(), server.of('POST', /documents/).at(-1)?.body.text]).toEqual([null, 'long text']);
    await gone();
  });
});

describe('a form that somebody else saved meanwhile', () => {
  const stored = { id: 'a', revision: 1, locked: false, name: 'A', instructions: 'one' };
  function Form() {
    const editing = useDefinition<typeof stored>('agents', 'a', {}, 'agents');
    return (
      <>
        <SaveButton editing={editing} />
        <textarea value={editing.value?.instructions ?? ''} onChange={(e) => editing.set({ instructions: e.target.value })} />
      </>
    );
  }

  it('shows both, and Escape, the cross and the backdrop change nothing', async () => {
    server.on('GET', /agents/, () => json(stored));
    server.on('PUT', /agents/, () =>
      json(
        { status: 409, code: 'revision_conflict', title: 'c', detail: 'c', current: { ...stored, revision: 2, instructions: 'theirs' } },
        409,
      ),
    );
    const { host, gone } = await render(
      <QueryClientProvider client={queries}>
        <Form />
      </QueryClientProvider>,
    );
    await settle();
    const field = host.querySelector('textarea') as HTMLTextAreaElement;
    await type(field, 'mine');
    for (const away of [
      (d: HTMLDialogElement) => d.dispatchEvent(new Event('cancel', { cancelable: true })),
      (d: HTMLDialogElement) => d.click(),
      (d: HTMLDialogElement) => (d.querySelector('[aria-label=Close]') as HTMLElement).click(),
    ]) {
      await click(button('Save'));
      await settle();
      const dialog = document.querySelector('dialog') as HTMLDialogElement;
      expect([...dialog.querySelectorAll('.diff')].map((d) => d.textContent)).toEqual([
        expect.stringContaining('"one" → "mine"'),
        expect.stringContaining('"one" → "theirs"'),
      ]);
      await act(async () => void away(dialog));
      expect([document.querySelector('dialog'), field.value, host.textContent?.includes('Unsaved changes')]).toEqual([null, 'mine', true]);
    }
    await gone();
  });
});

describe('what is told', () => {
  it('is in the dialog that is open, else it could be neither heard nor reached', async () => {
    const { gone } = await render(
      <>
        <Dialog open title="One">
          <p />
        </Dialog>
        <Toasts />
      </>,
    );
    await act(async () => toast('Not done', { fail: true }));
    expect(document.querySelector('dialog .toast[role=alert]')?.textContent).toContain('Not done');
    await gone();
    const after = await render(<Toasts />);
    expect(document.querySelector('.toasts')?.textContent).toContain('Not done');
    await after.gone();
  });
});

describe('a part that does not come', () => {
  it('says that the studio was updated, and leaves what is beside it', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const Late = lazy(() => Promise.reject(new TypeError('Failed to fetch dynamically imported module: http://x/assets/inspector-1.js')));
    const { host, gone } = await render(
      <div>
        <p>canvas</p>
        <Part>
          <Late />
        </Part>
      </div>,
    );
    await settle();
    expect(host.textContent).toContain('canvas');
    expect(host.querySelector('[role=alert]')?.textContent).toContain('The studio was updated');
    expect(button('Reload')).toBeTruthy();
    await gone();
  });
});
