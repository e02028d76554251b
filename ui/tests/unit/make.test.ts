import { describe, expect, it, vi } from 'vitest';
import type { Graph } from '@wfstudio/client';

vi.stubGlobal('document', { querySelector: () => null, documentElement: { dataset: {}, lang: 'en' } });
vi.stubGlobal('location', { href: 'http://x/studio/' });
vi.stubGlobal('localStorage', { getItem: () => null, setItem: () => undefined });

const { makePlaced } = await import('../../src/editor/make');
const { apply, emptyGraph } = await import('../../src/graph/document');
const { measure } = await import('../../src/graph/measure');

const overlaps = (graph: Graph): string[] => {
  const boxes = [...graph.nodes, ...graph.annotations].map((n) => ({ id: n.id, ...n.position, ...measure(n, graph, undefined, 'plain') }));
  return boxes.flatMap((a, i) =>
    boxes
      .slice(i + 1)
      .filter((b) => a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height)
      .map((b) => `${a.id} over ${b.id}`),
  );
};

describe('a node that is added', () => {
  it('lies on no other, however often one is added at the same place', () => {
    let graph = emptyGraph();
    for (const type of ['start', 'agent', 'llm', 'note', 'agent', 'fork', 'tool', 'human', 'llm', 'stop'])
      graph = apply(graph, { kind: 'add', node: makePlaced(graph, type, { x: 103, y: 98 }, undefined) });
    expect(overlaps(graph)).toEqual([]);
  });

  it('stays where it was wanted when that place is free', () => {
    const graph = apply(emptyGraph(), { kind: 'add', node: makePlaced(emptyGraph(), 'llm', { x: 0, y: 0 }, undefined) });
    expect(makePlaced(graph, 'llm', { x: 320, y: 0 }, undefined).position).toEqual({ x: 320, y: 0 });
    expect(makePlaced(graph, 'llm', { x: 100, y: 0 }, undefined).position.y).not.toBe(0);
  });
});
