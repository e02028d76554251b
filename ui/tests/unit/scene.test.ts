import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Graph, GraphEdge, GraphNode } from '@wfstudio/client';
import { mountedIn, rectOf, tilesIn } from '../../src/graph/crowd';
import { guidesFor } from '../../src/graph/guides';
import { followed } from '../../src/run/followed';
import { emptyGraph } from '../../src/graph/document';
import { meets, nodeAt, routeAt, sceneOf, within } from '../../src/graph/scene';
import { blankStep, noRun } from '../../src/run/view';

const node = (id: string, x: number, y: number, type = 'set_state'): GraphNode => ({ id, type, position: { x, y }, title: id, data: {} });
const edge = (source: string, target: string): GraphEdge => ({
  id: `${source}-${target}`,
  source,
  target,
  sourceHandle: 'default',
  targetHandle: 'default',
});
const graph = (nodes: GraphNode[], edges: GraphEdge[] = []): Graph => ({ ...emptyGraph(), nodes, edges });
const scene = (g: Graph) => sceneOf(g, undefined, () => 'plain');

describe('the scene', () => {
  it('routes an edge from the side of one box to the side of the other, in right angles', () => {
    fc.assert(
      fc.property(fc.integer({ min: -900, max: 900 }), fc.integer({ min: -900, max: 900 }), (x, y) => {
        const s = scene(graph([node('a', 0, 0), node('b', x, y)], [edge('a', 'b')]));
        const [a, b] = [s.byId.get('a'), s.byId.get('b')];
        const { points } = s.routes[0] as (typeof s.routes)[number];
        expect(points.slice(0, 2)).toEqual([a?.right, 24]);
        expect(points.slice(-2)).toEqual([b?.left, y + 24]);
        for (let n = 2; n < points.length; n += 2) expect(points[n] === points[n - 2] || points[n + 1] === points[n - 1]).toBe(true);
      }),
    );
  });

  it('turns an edge where no node stands in its way, and half-way when none does', () => {
    const ends = [node('a', 0, 0), node('b', 900, 300)];
    const routed = (more: GraphNode[]) => scene(graph([...ends, ...more], [edge('a', 'b')])).routes[0];
    expect(routed([])?.turn).toBeUndefined();
    expect(routed([node('between', 460, 100)])?.turn).toBe(900 - 18);
    expect(routed([node('between', 460, 100), node('late', 720, 120)])?.turn).toBe(196 + 18);
    expect(routed([node('wall', 460, 0)])?.points.slice(2, 4)).toEqual([196 + 18, 24]);
  });

  it('finds what is under the pointer: the nearest edge, and a node before the note it lies on', () => {
    const s = scene({
      ...graph([node('a', 0, 0), node('b', 600, 0)], [edge('a', 'b')]),
      annotations: [{ ...node('n', -20, -20, 'note'), data: { width: 300, height: 200 } }],
    });
    expect(nodeAt(s, { x: 20, y: 20 })?.id).toBe('a');
    expect(nodeAt(s, { x: -10, y: -10 })?.id).toBe('n');
    expect(routeAt(s, { x: 400, y: 28 }, 8)?.id).toBe('a-b');
    expect(routeAt(s, { x: 400, y: 40 }, 8)).toBeNull();
  });

  it('measures a node again only when it, the edges or its face changed', () => {
    const g = graph([node('a', 0, 0), node('b', 600, 0)], [edge('a', 'b')]);
    const before = scene(g);
    expect(scene({ ...g }).nodes[0]?.box).toBe(before.nodes[0]?.box);
    expect(scene({ ...g, edges: [] }).nodes[0]?.box).not.toBe(before.nodes[0]?.box);
  });
});

describe('a crowd', () => {
  const many = scene(graph(Array.from({ length: 2000 }, (_, n) => node(`n${n}`, (n % 50) * 300, Math.floor(n / 50) * 170))));

  it('mounts what the view shows, and a view that moves a little changes nothing', () => {
    const view = { transform: [-3000, -1000, 1] as [number, number, number], width: 1000, height: 700 };
    const tiles = tilesIn(view);
    const ids = mountedIn(many, tiles, []);
    for (const n of within(many, { left: 3000, top: 1000, right: 4000, bottom: 1700 })) expect(ids.has(n.id)).toBe(true);
    expect(ids.size).toBeLessThan(120);
    expect(tilesIn({ ...view, transform: [-3010, -1005, 1] })).toBe(tiles);
    for (const id of ids) expect(meets(many.byId.get(id) as never, rectOf(tiles))).toBe(true);
  });

  it('mounts from afar only what is in use', () => {
    expect([...mountedIn(many, tilesIn({ transform: [0, 0, 0.1], width: 1000, height: 700 }), ['n7'])]).toEqual(['n7']);
  });
});

describe('small helps', () => {
  it('draws a guide where a dragged box is in line with another', () => {
    const s = scene(graph([node('a', 0, 0), node('b', 400, 300)]));
    expect(guidesFor(s, 'b', { x: 400, y: 0 }).map((g) => g.key)).toEqual([
      'y0',
      `y${(s.byId.get('a')?.bottom ?? 0) / 2}`,
      `y${s.byId.get('a')?.bottom}`,
    ]);
    expect(guidesFor(s, 'b', { x: 403, y: 7 })).toEqual([]);
  });

  it('follows the step that waits, before the one that began last', () => {
    const view = noRun();
    view.steps = { s1: { ...blankStep('s1', 'ask', 0), state: 'waiting' }, s2: { ...blankStep('s2', 'reply', 1), nodeType: 'llm' } };
    view.order = ['s1', 's2'];
    expect(followed(view)).toBe('ask');
    expect(followed({ ...view, steps: { ...view.steps, s1: { ...blankStep('s1', 'ask', 0), state: 'done' } } })).toBe('reply');
  });
});
