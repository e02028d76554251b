import { describe, expect, it } from 'vitest';
import type { Graph } from '@wfstudio/client';
import { emptyGraph } from '../../src/graph/document';
import { noHistory, perform, redo, undo } from '../../src/graph/history';

const large = (text: string, nodes = 300): Graph => ({
  ...emptyGraph(),
  nodes: Array.from({ length: nodes }, (_, n) => ({
    id: `n${n}`,
    type: 'llm',
    position: { x: n, y: n },
    data: { prompt: n === 0 ? text : `What is to be said here, at length, by the number ${n}? `.repeat(8) },
  })),
});

describe('the history of a document', () => {
  it('keeps of whole documents put in a burst the first before and the last after', () => {
    const first = large('');
    let graph = first;
    let history = noHistory();
    for (let n = 1; n <= 120; n++)
      ({ graph, history } = perform(graph, history, { kind: 'replace', graph: large('x'.repeat(n)) }, { group: 'json', at: n * 100 }));
    expect(history.past).toHaveLength(1);
    const size = JSON.stringify(first).length;
    expect(JSON.stringify(history).length).toBeLessThan(size * 3);
    const back = undo(graph, history);
    expect(back?.graph).toEqual(first);
    expect(back && redo(back.graph, back.history)?.graph).toEqual(graph);
  });

  it('merges what is typed into one field, and takes it back at once', () => {
    let graph = large('a', 2);
    const first = graph;
    let history = noHistory();
    for (let n = 1; n <= 50; n++)
      ({ graph, history } = perform(
        graph,
        history,
        { kind: 'data', id: 'n0', data: { prompt: 'a'.repeat(n + 1) } },
        { group: 'p', at: n },
      ));
    expect([history.past.length, history.past[0]?.patches.length]).toEqual([1, 1]);
    expect(undo(graph, history)?.graph).toEqual(first);
  });

  it('does not squash what adds or removes', () => {
    let graph = large('a', 2);
    const first = graph;
    let history = noHistory();
    const node = { id: 'new', type: 'llm', position: { x: 0, y: 0 }, data: {} };
    ({ graph, history } = perform(graph, history, { kind: 'add', node }, { group: 'g', at: 1 }));
    ({ graph, history } = perform(graph, history, { kind: 'data', id: 'new', data: { prompt: 'p' } }, { group: 'g', at: 2 }));
    ({ graph, history } = perform(graph, history, { kind: 'remove', nodes: ['n0'], edges: [] }, { group: 'g', at: 3 }));
    const back = undo(graph, history);
    expect(back?.graph).toEqual(first);
    expect(back && redo(back.graph, back.history)?.graph).toEqual(graph);
  });

  it('is bounded by what it takes, but for the last step', () => {
    let graph = large('');
    let history = noHistory();
    for (let n = 1; n <= 60; n++)
      ({ graph, history } = perform(graph, history, { kind: 'replace', graph: large(`${n}`) }, { at: n * 10_000 }));
    expect(JSON.stringify(history).length).toBeLessThan(5_000_000);
    expect(history.past.length).toBeGreaterThan(3);
    ({ graph, history } = perform(graph, history, { kind: 'replace', graph: large('z'.repeat(3_000_000)) }, { at: 1e9 }));
    ({ graph, history } = perform(graph, history, { kind: 'replace', graph: large('y'.repeat(3_000_000)) }, { at: 2e9 }));
    expect(history.past).toHaveLength(1);
    expect(undo(graph, history)).not.toBeNull();
  });
});
