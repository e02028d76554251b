// @vitest-environment jsdom
import { ReactFlowProvider } from '@xyflow/react';
import { QueryClientProvider } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { Router } from 'wouter';
import { memoryLocation } from 'wouter/memory-location';
import { queries } from '../../src/api/queries';
import type { StudioEvent } from '@wfstudio/client';
import { startChecking } from '../../src/editor/check';
import { clearComposer } from '../../src/editor/composer';
import Events from '../../src/editor/events';
import { panel, usePanels } from '../../src/editor/panel';
import { blank, useEditor } from '../../src/editor/store';
import TrialDialog from '../../src/editor/trial-dialog';
import { emptyGraph } from '../../src/graph/document';
import { loadLocale } from '../../src/i18n';
import { NameDialog } from '../../src/parts/name-dialog';
import CompareTraces from '../../src/pages/traces/compare';
import { nothing, useRun } from '../../src/run/store';
import { blankStep, noRun } from '../../src/run/view';
import { act, button, click, render, type, wait } from './dom';
import { json, offline, pass, run, Server, stream } from './fake-server';

beforeAll(() => loadLocale('en'));
let server: Server;
const graph = { ...emptyGraph(), nodes: [{ id: 'llm_1', type: 'llm', position: { x: 0, y: 0 }, data: { prompt: '{{input}}' } }] };
beforeEach(() => {
  server = new Server();
  useEditor.setState({ ...blank(), graph });
});
afterEach(() => {
  vi.useRealTimers();
  queries.clear();
  clearComposer();
  useRun.setState({ ...nothing(), session: null });
  useEditor.setState(blank());
  usePanels.setState(usePanels.getInitialState());
  document.body.replaceChildren();
});
const settle = (): Promise<void> => wait(30);
const within = (page: ReactElement, path = '/'): ReactElement => {
  const { hook, searchHook } = memoryLocation({ path });
  return (
    <QueryClientProvider client={queries}>
      <Router hook={hook} searchHook={searchHook}>
        <ReactFlowProvider>{page}</ReactFlowProvider>
      </Router>
    </QueryClientProvider>
  );
};

describe('running one node alone', () => {
  const ran: unknown[] = [];
  const dialog = () => within(<TrialDialog onRunOnly={(...all) => ran.push(all)} />);
  beforeEach(() => {
    ran.length = 0;
    panel({ trial: { kind: 'only', node: 'llm_1' } });
    const view = { ...noRun(), traceId: 'T', latest: { llm_1: 's1' }, order: ['s1'], steps: { s1: blankStep('s1', 'llm_1', 0) } };
    useRun.setState({ ...nothing(), view });
  });
  const areas = () => [...document.querySelectorAll<HTMLTextAreaElement>('dialog textarea')];

  it('begins with what is typed, whatever comes late', async () => {
    let come: (r: Response) => void = () => undefined;
    server.on('GET', /\/steps\/s1/, () => new Promise<Response>((ok) => (come = ok)));
    const { gone } = await render(dialog());
    await type(areas()[0] as HTMLTextAreaElement, 'my own words');
    await act(async () => come(json({ id: 's1', state_snapshot: { input: 'what it was', a: 1 } })));
    await settle();
    expect(areas()[0]?.value).toBe('my own words');
    await gone();
  });

  it('waits for a state that can be read', async () => {
    server.on('GET', /\/steps\/s1/, () => json({ id: 's1', state_snapshot: { input: 'hi', a: 1 } }));
    const { gone } = await render(dialog());
    await settle();
    await type(areas()[1] as HTMLTextAreaElement, '{ "a": 2, }');
    await click(button('Run this node'));
    expect([ran, document.activeElement === areas()[1]]).toEqual([[], true]);
    await type(areas()[1] as HTMLTextAreaElement, '{ "a": 2 }');
    await click(button('Run this node'));
    expect(ran).toEqual([['llm_1', 'hi', { a: 2 }]]);
    await gone();
  });
});

describe('what is wrong with a graph', () => {
  it('is asked again when it could not be asked', async () => {
    vi.useFakeTimers();
    const issue = { code: 'path_missing', severity: 'error', message: 'No path.', node_id: null, edge_id: null };
    server.on('POST', /validate/, offline, () => json({ issues: [issue] }));
    const stop = startChecking();
    await pass(10_000);
    expect(useEditor.getState().issues).toEqual([issue]);
    expect(server.of('POST', /validate/)).toHaveLength(2);
    stop();
  });
});

describe('the events of a run that was opened', () => {
  it('are told again without its tokens', async () => {
    useRun.setState({ ...nothing(), view: { ...noRun(), traceId: 'T' } });
    const all: [string, StudioEvent['data']][] = [
      ['tool_call', { n: 1 }],
      ['token', { delta: 'x' }],
      ['tool_result', { n: 2 }],
      ['run_terminal', { status: 'completed' }],
    ];
    server.on('GET', /events\/stream/, () => stream(all));
    const { host, gone } = await render(within(<Events />));
    await vi.waitFor(
      async () => {
        await settle();
        expect(host.querySelectorAll('.ev').length).toBeGreaterThan(2);
      },
      { timeout: 20_000 },
    );
    expect(host.textContent).not.toContain('token');
    await gone();
  });
});

describe('two traces side by side', () => {
  it('are asked for again after the line was gone', async () => {
    server.on('GET', /\/api\/runs\/a/, () => json(run('a', 'completed')));
    server.on(
      'GET',
      /\/api\/runs\/b/,
      () => json({ status: 403, code: 'no', title: 'no', detail: 'no' }, 403),
      () => json(run('b', 'completed')),
    );
    const { host, gone } = await render(within(<CompareTraces />, '/traces/compare?a=a&b=b'));
    await settle();
    await click(button('Retry'));
    await settle();
    expect(host.querySelectorAll('.grid2 .card').length).toBe(2);
    await gone();
  });
});

describe('a new thing that is made slowly', () => {
  it('leads nobody away from the name of the next one, and leaves that', async () => {
    let made: (r: Response) => void = () => undefined;
    server.on('POST', /\/api\/workflows/, () => new Promise<Response>((ok) => (made = ok)));
    const opened: string[] = [];
    let set: (open: boolean) => void = () => undefined;
    function Page(): ReactElement {
      const [open, setOpen] = useState(true);
      set = setOpen;
      return (
        <NameDialog
          open={open}
          onClose={() => setOpen(false)}
          path="/api/workflows"
          title="New"
          untitled="U"
          onMade={(id) => opened.push(id)}
        />
      );
    }
    const { gone } = await render(within(<Page />));
    const name = () => document.querySelector('dialog input') as HTMLInputElement;
    await type(name(), 'first');
    await click(button('Create'));
    await act(async () => set(false));
    await act(async () => set(true));
    await type(name(), 'second');
    await act(async () => made(json({ id: 'w' }, 201)));
    await settle();
    expect([opened, name().value]).toEqual([[], 'second']);
    await gone();
  });
});
