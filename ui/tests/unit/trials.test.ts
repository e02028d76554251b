import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { Graph, GraphNode, Step } from '@wfstudio/client';

const kept = new Map<string, string>();
vi.stubGlobal('document', { querySelector: () => null, documentElement: { dataset: {}, lang: 'en' } });
vi.stubGlobal('location', { href: 'http://x/studio/' });
vi.stubGlobal('localStorage', {
  getItem: (k: string) => kept.get(k) ?? null,
  setItem: (k: string, v: string) => kept.set(k, v),
  removeItem: (k: string) => kept.delete(k),
});

const i18n = await import('../../src/i18n');
const trials = await import('../../src/editor/trials');
const { keptInput, pauseAt, stepAt, trialName } = await import('../../src/run/breaks');
const { writersOf } = await import('../../src/run/writers');
const { emptyGraph } = await import('../../src/graph/document');
const { blankStep, noRun } = await import('../../src/run/view');

const node = (id: string, type: string, data = {}): GraphNode => ({ id, type, position: { x: 0, y: 0 }, data });
const graph: Graph = {
  ...emptyGraph(),
  nodes: [node('start', 'start'), node('ask', 'llm'), node('tool', 'tool'), node('act', 'agent'), node('join', 'join')],
  edges: [{ id: 'e', source: 'tool', target: 'act', sourceHandle: 'default', targetHandle: 'tools' }],
};

describe('what a test run tries out', () => {
  beforeAll(() => i18n.loadLocale('en'));

  it('is kept on this machine, and sent only for nodes that the graph has and that can take it', () => {
    trials.openTrials('w');
    expect(trials.trialFor(graph, trials.useTrials.getState())).toBeUndefined();
    for (const id of ['act', 'join', 'start', 'tool', 'gone']) trials.toggleBreak(id);
    trials.pin('ask', 'Hello');
    trials.pin('tool', 1);
    expect(trials.trialFor(graph, trials.useTrials.getState())).toEqual({ break_before: ['act'], pins: { ask: 'Hello' } });
    trials.openTrials('other');
    expect(trials.useTrials.getState().breaks).toEqual([]);
    trials.openTrials('w');
    expect(trials.useTrials.getState().pins).toEqual({ ask: 'Hello', tool: 1 });
    trials.clearTrials();
    expect(kept.size).toBe(0);
  });

  it('is what another tab made of it', () => {
    const heard: ((event: { key: string | null }) => void)[] = [];
    vi.stubGlobal('window', {
      addEventListener: (_: string, hear: () => void) => heard.push(hear),
      removeEventListener: () => heard.pop(),
    });
    trials.openTrials('w');
    const stop = trials.followTrials();
    trials.toggleBreak('act');
    const [name] = [...kept.keys()];
    kept.set(name as string, JSON.stringify({ breaks: ['act'], pins: { ask: 'Hi' } }));
    heard[0]?.({ key: 'another' });
    expect(trials.useTrials.getState().pins).toEqual({});
    heard[0]?.({ key: name as string });
    trials.toggleBreak('act');
    expect([trials.useTrials.getState().breaks, trials.useTrials.getState().pins]).toEqual([[], { ask: 'Hi' }]);
    expect(JSON.parse(kept.get(name as string) ?? '')).toEqual({ breaks: [], pins: { ask: 'Hi' } });
    stop();
    expect(heard).toEqual([]);
    trials.clearTrials();
  });

  it('shows a stop at the node that it stands before, and goes on with the input that there was', () => {
    const view = noRun();
    view.input = 'first';
    view.steps = { s1: { ...blankStep('s1', 'act', 0), state: 'done' }, s2: { ...blankStep('s2', 'before-act', 1), state: 'waiting' } };
    view.latest = { act: 's1', 'before-act': 's2' };
    view.pauses = [{ run: 't', pause_id: 'p', node_id: 'before-act', step_id: 's2', reason: 'human', created_at: '' }];
    expect(stepAt(view, 'act')?.id).toBe('s2');
    expect(pauseAt(view, 'act')?.pause_id).toBe('p');
    expect(keptInput(view)).toBe('first');
    expect(keptInput({ ...view, state: { input: 'second' } })).toBe('second');
    expect(trialName('before-act')).toBe('Stop before act');
    expect(trialName('act')).toBeNull();
  });
});

describe('who wrote a key', () => {
  it('is the last step before, not one of another branch', () => {
    const step = (seq: number, node_id: string, branch_path: string[] = []): Step => ({ seq, node_id, branch_path }) as unknown as Step;
    const wide: Graph = {
      ...emptyGraph(),
      nodes: [node('a', 'llm', { output_key: 'x' }), node('b', 'llm', { output_key: 'x' }), node('c', 'llm', { output_key: 'x' })],
    };
    const found = writersOf([step(1, 'a'), step(2, 'b', ['left']), step(3, 'c', ['right'])], wide, {
      seq: 4,
      branch_path: ['left'],
      state_snapshot: { input: '', x: '' },
    });
    expect(found.map((w) => [w.key, w.by?.node_id ?? null])).toEqual([
      ['input', null],
      ['x', 'b'],
    ]);
  });
});
