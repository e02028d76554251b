import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Graph, GraphEdge, GraphNode } from '@wfstudio/client';
import { copyText, placed, readClip } from '../../src/graph/clipboard';
import { allNodes, type Command, emptyGraph, isBinding, sameEdge, tidy } from '../../src/graph/document';
import { noHistory, perform, redo, undo, type History } from '../../src/graph/history';

const TYPES = ['start', 'stop', 'agent', 'llm', 'tool', 'fork', 'join', 'condition', 'note'];
const HANDLES = ['default', 'true', 'rejected', 'a'];
const ids = fc.integer({ min: 0, max: 14 }).map((n) => `n${n}`);
const edgeIds = fc.integer({ min: 0, max: 20 }).map((n) => `e${n}`);
const node: fc.Arbitrary<GraphNode> = fc.record({
  id: ids,
  type: fc.constantFrom(...TYPES),
  position: fc.record({ x: fc.integer({ min: -500, max: 500 }), y: fc.integer({ min: -500, max: 500 }) }),
  data: fc.record({ text: fc.string({ maxLength: 4 }) }),
  title: fc.string({ maxLength: 5 }),
});
const edge: fc.Arbitrary<GraphEdge> = fc.record({
  id: edgeIds,
  source: ids,
  target: ids,
  sourceHandle: fc.constantFrom(...HANDLES),
  targetHandle: fc.constantFrom('default', 'tools'),
});
const graph: fc.Arbitrary<Graph> = fc
  .record({ nodes: fc.array(node, { maxLength: 6 }), edges: fc.array(edge, { maxLength: 6 }) })
  .map((g) => ({ ...emptyGraph(), ...g }));
const command: fc.Arbitrary<Command> = fc.oneof(
  fc.record({ kind: fc.constant('add' as const), node, edge: fc.option(edge, { nil: undefined }) }),
  fc.record({ kind: fc.constant('remove' as const), nodes: fc.array(ids, { maxLength: 3 }), edges: fc.array(edgeIds, { maxLength: 2 }) }),
  fc.record({
    kind: fc.constant('move' as const),
    positions: fc.dictionary(ids, fc.record({ x: fc.integer(), y: fc.integer() }), { maxKeys: 3 }),
  }),
  fc.record({
    kind: fc.constant('data' as const),
    id: ids,
    data: fc.dictionary(fc.constantFrom('text', 'model'), fc.option(fc.string({ maxLength: 3 }), { nil: undefined })),
  }),
  fc.record({ kind: fc.constant('title' as const), id: ids, title: fc.string({ maxLength: 4 }) }),
  fc.record({ kind: fc.constant('connect' as const), edge }),
  fc.record({ kind: fc.constant('insert' as const), node, edge: edgeIds, handle: fc.constantFrom(...HANDLES) }),
  fc.record({ kind: fc.constant('reconnect' as const), edge: edgeIds, to: edge.map(({ id: _, ...ends }) => ends) }),
  fc.record({ kind: fc.constant('splice' as const), node: ids, edge: edgeIds, handle: fc.constantFrom(...HANDLES) }),
  fc.record({ kind: fc.constant('paste' as const), nodes: fc.array(node, { maxLength: 3 }), edges: fc.array(edge, { maxLength: 3 }) }),
  fc.record({ kind: fc.constant('replace' as const), graph }),
);

function sound(g: Graph): void {
  const known = new Set(g.nodes.map((n) => n.id));
  expect(new Set(allNodes(g).map((n) => n.id)).size).toBe(allNodes(g).length);
  expect(g.nodes.filter((n) => n.type === 'start').length).toBeLessThanOrEqual(1);
  for (const e of g.edges) {
    expect(known.has(e.source)).toBe(true);
    expect(known.has(e.target)).toBe(true);
  }
  expect(new Set(g.edges.map((e) => e.id)).size).toBe(g.edges.length);
  for (const [n, e] of g.edges.entries()) for (const other of g.edges.slice(n + 1)) expect(sameEdge(e, other)).toBe(false);
}

describe('the document', () => {
  it('stays sound, and undo gives back exactly what was, over 10,000 sequences', () => {
    fc.assert(
      fc.property(fc.array(command, { minLength: 1, maxLength: 8 }), (commands) => {
        let g = emptyGraph();
        let history: History = noHistory();
        const seen = [g];
        for (const [n, c] of commands.entries()) {
          const result = perform(g, history, c, { at: n * 10_000 });
          if (result.graph !== g) seen.push(result.graph);
          ({ graph: g, history } = result);
          sound(g);
        }
        const last = g;
        for (const before of seen.slice(0, -1).reverse()) {
          const step = undo(g, history);
          expect(step).not.toBeNull();
          ({ graph: g, history } = step as NonNullable<typeof step>);
          expect(g).toEqual(before);
        }
        for (let step = redo(g, history); step; step = redo(g, history)) ({ graph: g, history } = step);
        expect(g).toEqual(last);
      }),
      { numRuns: 10_000 },
    );
  }, 240_000);

  it('undoes a burst of typing as one step', () => {
    let g: Graph = { ...emptyGraph(), nodes: [{ id: 'a', type: 'llm', position: { x: 0, y: 0 }, data: {} }] };
    const start = g;
    let history = noHistory();
    for (const [n, prompt] of ['h', 'he', 'hel'].entries())
      ({ graph: g, history } = perform(g, history, { kind: 'data', id: 'a', data: { prompt } }, { group: 'data-a', at: n * 100 }));
    expect(history.past.length).toBe(1);
    expect(undo(g, history)?.graph).toEqual(start);
  });

  it('keeps one control edge per handle, and any number of bindings', () => {
    const at = { x: 0, y: 0 };
    let g: Graph = { ...emptyGraph(), nodes: ['a', 'b', 'c'].map((id) => ({ id, type: 'tool', position: at, data: {} })) };
    const wire = (id: string, target: string, targetHandle: string): Command => ({
      kind: 'connect',
      edge: { id, source: 'a', sourceHandle: 'default', target, targetHandle },
    });
    for (const c of [wire('1', 'b', 'default'), wire('2', 'c', 'default'), wire('3', 'b', 'tools'), wire('4', 'c', 'tools')])
      g = perform(g, noHistory(), c).graph;
    expect(g.edges.filter((e) => !isBinding(e)).map((e) => e.target)).toEqual(['c']);
    expect(g.edges.filter(isBinding).length).toBe(2);
  });

  it('pastes with new ids and inner edges, and never a start', () => {
    const at = { x: 0, y: 0 };
    const g = tidy({
      ...emptyGraph(),
      nodes: [
        { id: 's', type: 'start', position: at, data: {} },
        { id: 'a', type: 'llm', title: 'A', position: at, data: {} },
        { id: 'b', type: 'stop', position: at, data: {} },
      ],
      edges: [
        { id: '1', source: 's', target: 'a', sourceHandle: 'default', targetHandle: 'default' },
        { id: '2', source: 'a', target: 'b', sourceHandle: 'default', targetHandle: 'default' },
      ],
    });
    const clip = readClip(copyText(g, ['s', 'a', 'b']));
    expect(clip).not.toBeNull();
    const made = placed(g, clip as NonNullable<typeof clip>, null);
    expect(made.nodes.map((n) => n.type)).toEqual(['llm', 'stop']);
    expect(made.edges.length).toBe(1);
    expect(made.nodes[0]?.title).toBe('A 2');
    const next = perform(g, noHistory(), { kind: 'paste', ...made }).graph;
    sound(next);
    expect(next.nodes.length).toBe(5);
    expect(readClip('{"studio":1,"nodes":[{"id":1}],"edges":[]}')).toBeNull();
  });
});
