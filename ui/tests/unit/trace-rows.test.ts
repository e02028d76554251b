import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { Span, Step, TraceAnswer } from '@wfstudio/client';

vi.stubGlobal('document', { querySelector: () => null, documentElement: { dataset: {}, lang: 'en' } });
vi.stubGlobal('location', { href: 'http://x/studio/' });
vi.stubGlobal('localStorage', { getItem: () => null, setItem: () => undefined });

const { firstRequests } = await import('../../src/api/early');
const { wholeTrace } = await import('../../src/api/whole');
const { partOf } = await import('../../src/parts/rows-in-view');
const { rowsShown, traceRows } = await import('../../src/run/trace-rows');
const i18n = await import('../../src/i18n');

const at = (ms: number): string => new Date(ms).toISOString();
const step = (id: string, more: Partial<Step> = {}): Partial<Step> => ({
  id,
  seq: 1,
  node_id: id,
  node_type: 'llm',
  node_title: id,
  status: 'completed',
  started_at: at(1000),
  finished_at: at(2000),
  duration_ms: 1000,
  ...more,
});
const answer = (steps: Partial<Step>[], spans: Partial<Span>[] = []): TraceAnswer =>
  wholeTrace({
    trace: { id: 'r', status: 'completed', started_at: at(0), created_at: at(0), finished_at: at(9000), pauses: [] },
    steps,
    spans,
    children: [],
  } as unknown as TraceAnswer);
const shape = (made: ReturnType<typeof traceRows>): string[] => made.rows.map((r) => `${' '.repeat(r.depth)}${r.label || r.id}`);

describe('the rows of a trace', () => {
  beforeAll(() => i18n.loadLocale('en'));

  it('fold branches under their fork, iterations under a row of their own, and spans under what made them', () => {
    const made = traceRows(
      answer(
        [
          step('ask'),
          step('split', { node_type: 'fork' }),
          step('left', { branch_id: 'l', branch_path: ['l'], iteration_path: 'split:l', total_tokens: 30, estimated_cost: '0.000003' }),
          step('right', { branch_id: 'r', branch_path: ['r'], iteration_path: 'split:r', total_tokens: 12, estimated_cost: '0.000001' }),
          step('again', { node_type: 'loop', iteration: 1, iteration_path: 'again#1' }),
          step('body', { iteration: 1, iteration_path: 'again#1' }),
          step('again2', { node_type: 'loop', iteration: 2, iteration_path: 'again#2', finished_at: at(7000) }),
          step('stop'),
        ],
        [
          {
            id: 'call',
            step_id: 'left',
            type: 'llm',
            name: 'chat',
            model: 'm',
            status: 'completed',
            started_at: at(1100),
            finished_at: at(1200),
            duration_ms: 100,
          },
          {
            id: 'inner',
            parent_span_id: 'call',
            step_id: 'left',
            type: 'tool',
            name: 'look_up',
            status: 'completed',
            started_at: at(1100),
            finished_at: at(1200),
            duration_ms: 100,
          },
        ],
      ),
    );
    expect(shape(made)).toEqual([
      'ask',
      'split',
      ' left',
      '  m',
      '   look_up',
      ' right',
      'Iteration 1 of 2',
      ' again',
      ' body',
      'Iteration 2 of 2',
      ' again2',
      'stop',
    ]);
    expect(made.byId.get('split')).toMatchObject({ tokens: 42, cost: '0.000004', children: 2 });
    expect(made.rows.filter((r) => r.kind === 'group').map((r) => r.end)).toEqual([2000, 7000]);
  });

  it('hide what lies under a folded row, at any depth, and find rows in spite of folds', () => {
    const { rows } = traceRows(
      answer(
        [
          step('split', { node_type: 'fork' }),
          step('left', { branch_id: 'l', branch_path: ['l'], iteration_path: 'split:l' }),
          step('stop'),
        ],
        [
          {
            id: 'call',
            step_id: 'left',
            type: 'llm',
            name: 'chat',
            model: 'm',
            status: 'completed',
            started_at: at(1),
            finished_at: at(2),
            duration_ms: 1,
          },
        ],
      ),
    );
    const ids = (folded: string[], spans = true, q = ''): string[] =>
      rowsShown(rows, { spans, folded: new Set(folded), q }).map((r) => r.id);
    expect(ids([])).toEqual(['split', 'left', 'call', 'stop']);
    expect(ids(['split'])).toEqual(['split', 'stop']);
    expect(ids(['left'])).toEqual(['split', 'left', 'stop']);
    expect(ids([], false)).toEqual(['split', 'left', 'stop']);
    expect(ids(['split'], true, 'lef')).toEqual(['left']);
  });

  it('begin where the run of a workflow began', () => {
    const made = traceRows({ ...answer([step('ask')]), trace: { ...answer([]).trace, entity_type: 'workflow' } });
    expect(shape(made)).toEqual(['Start', 'ask']);
    expect(made.rows[0]).toMatchObject({ id: 'start', start: 0, ms: 0 });
    expect(traceRows(answer([step('ask')])).rows).toHaveLength(1);
  });

  it('tell a wait apart from the work of its step', () => {
    const made = traceRows(
      answer(
        [step('ask', { node_type: 'agent', started_at: at(0), finished_at: at(5000), duration_ms: 1000 })],
        [
          {
            id: 'call',
            step_id: 'ask',
            type: 'llm',
            name: 'chat',
            model: 'm',
            status: 'completed',
            started_at: at(0),
            finished_at: at(800),
            duration_ms: 800,
          },
          {
            id: 'tool',
            step_id: 'ask',
            type: 'tool',
            name: 'pay',
            status: 'completed',
            started_at: at(4800),
            finished_at: at(5000),
            duration_ms: 200,
          },
        ],
      ),
    );
    expect(made.rows.find((r) => r.kind === 'wait')).toMatchObject({ start: 800, end: 4800, ms: 4000, depth: 1 });
  });

  it('of what runs show no duration: the engine counts it when the step is left', () => {
    const now = { status: 'running', finished_at: null, duration_ms: 0 } as const;
    const call: Partial<Span> = { id: 'call', step_id: 'ask', type: 'tool', name: 'find', started_at: at(1100), ...now };
    const made = traceRows(answer([step('ask', now), step('done')], [call]));
    expect([made.byId.get('ask')?.ms, made.byId.get('call')?.ms, made.byId.get('done')?.ms]).toEqual([null, null, 1000]);
  });

  it('tell a fork of a run at rest as waiting from when nothing worked any more', () => {
    const made = (status: Step['status']) =>
      traceRows({
        ...answer([
          step('split', { node_type: 'fork', status, finished_at: null, duration_ms: 0, started_at: at(0) }),
          step('left', { branch_id: 'l', branch_path: ['l'], iteration_path: 'split:l', total_tokens: 3, unpriced: true }),
          step('right', {
            branch_id: 'r',
            branch_path: ['r'],
            iteration_path: 'split:r',
            status: 'paused',
            finished_at: null,
            duration_ms: 0,
          }),
        ]),
        trace: {
          ...answer([]).trace,
          status: 'awaiting_tool_approval',
          finished_at: null,
          pauses: [{ pause_id: 'p', node_id: 'right', step_id: 'right', reason: 'tool_approval', created_at: at(4000) }],
        },
      } as unknown as TraceAnswer);
    expect(made('paused').byId.get('split')).toMatchObject({ state: 'wait', end: null, waits: [{ from: 4000, to: null }] });
    expect(made('running').byId.get('split')).toMatchObject({
      state: 'done',
      end: null,
      waits: [{ from: 4000, to: null }],
      tokens: 3,
      cost: null,
    });
  });

  it('are drawn only where they are seen', () => {
    expect(partOf(0, 640, 32, 20_000)).toEqual([0, 30]);
    expect(partOf(32_000, 640, 32, 20_000)).toEqual([990, 1030]);
    expect(partOf(640_000, 640, 32, 20_000)[1]).toBe(20_000);
    expect(partOf(0, 640, 32, 0)).toEqual([0, 0]);
  });
});

describe('what is asked before the page is there', () => {
  it('is what the page itself asks first', () => {
    expect(firstRequests('/traces/1')).toEqual(['/api/runs/1?payloads=none&include=children']);
    expect(firstRequests('/workflows/7/edit')[0]).toBe('/api/workflows/7');
    expect(firstRequests('/traces/compare')).toEqual([]);
    expect(firstRequests('/workflows')).toEqual([]);
  });
});
