// @vitest-environment jsdom
import { QueryClientProvider } from '@tanstack/react-query';
import { ReactFlowProvider } from '@xyflow/react';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { queries } from '../../src/api/queries';
import type { Workflow } from '@wfstudio/client';
import HistorySide from '../../src/editor/history-side';
import { NoteNode } from '../../src/editor/note';
import type { DocumentSession } from '../../src/editor/session';
import { blank, useEditor } from '../../src/editor/store';
import { emptyGraph } from '../../src/graph/document';
import { loadLocale } from '../../src/i18n';
import { Queued } from '../../src/pages/traces/detail';
import { readyMarkdown } from '../../src/parts/markdown';
import { act, button, click, render, type, wait } from './dom';
import { json, Server } from './fake-server';

vi.mock('../../src/parts/markdown-blocks', () => {
  throw new TypeError('Failed to fetch dynamically imported module');
});

beforeAll(() => loadLocale('en'));
let server: Server;
beforeEach(() => {
  server = new Server();
});
afterEach(() => {
  vi.useRealTimers();
  queries.clear();
  useEditor.setState(blank());
  document.body.replaceChildren();
});
const settle = (): Promise<void> => wait(30);

describe('a note on the canvas', () => {
  it('has what is written on it, also when it leaves the view in the middle', async () => {
    const note = { id: 'note_1', type: 'note', position: { x: 0, y: 0 }, data: { text: 'old' } };
    useEditor.setState({ ...blank(), graph: { ...emptyGraph(), annotations: [note] } });
    const props = { data: { node: note, box: {}, face: 'plain' }, selected: false } as never;
    const { host, gone } = await render(
      <ReactFlowProvider>
        <NoteNode {...(props as object as Parameters<typeof NoteNode>[0])} />
      </ReactFlowProvider>,
    );
    await act(async () => void host.querySelector('.note')?.dispatchEvent(new MouseEvent('dblclick', { bubbles: true })));
    await type(host.querySelector('textarea') as HTMLTextAreaElement, 'old and new');
    await gone();
    expect(useEditor.getState().graph.annotations[0]?.data.text).toBe('old and new');
  });
});

describe('the parser of Markdown', () => {
  it('keeps nobody waiting where it does not come', async () => {
    await expect(readyMarkdown()).resolves.toBeUndefined();
  });
});

describe('a run that nobody takes', () => {
  it('tells how long it waits, and after a while what may be missing', async () => {
    vi.useFakeTimers({ now: new Date('2026-11-26T10:00:00Z') });
    const { host, gone } = await render(<Queued since={Date.parse('2026-11-26T10:00:00Z')} />);
    expect(host.querySelector('.wait')).toBeNull();
    await act(async () => void (await vi.advanceTimersByTimeAsync(40_000)));
    expect(host.querySelector('.wait')?.textContent).toContain('40');
    await gone();
  });
});

describe('an old version', () => {
  it('is made the newest one once, however often that is asked for', async () => {
    server.on('GET', /revisions$/, () => json({ data: [{ revision: 1, created_at: '2026-11-26T10:00:00Z', node_count: 0 }] }));
    server.on('GET', /revisions\/1$/, () => json({ graph: emptyGraph() }));
    let done: () => void = () => undefined;
    const restore = vi.fn(() => new Promise<void>((ok) => (done = ok)));
    const workflow = { id: 'w', revision: 2, graph: emptyGraph() } as unknown as Workflow;
    useEditor.setState({ ...blank(), workflow, session: { restore } as unknown as DocumentSession });
    const { gone } = await render(
      <QueryClientProvider client={queries}>
        <HistorySide />
      </QueryClientProvider>,
    );
    await settle();
    await click(document.querySelector('.versions button') as HTMLElement);
    await settle();
    await click(button('Restore as new version'));
    await click(button('Restore as new version'));
    done();
    await settle();
    expect(restore).toHaveBeenCalledTimes(1);
    await gone();
  });
});
