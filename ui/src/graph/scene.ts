/** Owns where everything of a graph lies: boxes, routes of edges, what is at a point, what is in a rectangle. */
import type { Graph, GraphEdge, GraphNode, GraphSchema } from '@wfstudio/client';
import { allNodes } from './document';
import { measure, type Box, type Face, type HandleSpot } from './measure';

export interface Point {
  x: number;
  y: number;
}
export interface Rect {
  left: number;
  top: number;
  right: number;
  bottom: number;
}
export interface Placed extends Rect {
  id: string;
  source: GraphNode;
  face: Face;
  box: Box;
}
/** `turn`: where the upright part of the line stands, when not half-way. */
export interface Route extends Rect {
  id: string;
  edge: GraphEdge;
  points: number[];
  turn?: number;
}
export interface Scene {
  nodes: Placed[];
  byId: Map<string, Placed>;
  routes: Route[];
  bounds: Rect;
}

const known = new WeakMap<GraphNode, { edges: readonly GraphEdge[]; schema: GraphSchema | undefined; face: Face; box: Box }>();

/** The size of a node, measured once for as long as neither it nor the edges change. */
export function boxOf(node: GraphNode, graph: Graph, schema: GraphSchema | undefined, face: Face): Box {
  const before = known.get(node);
  if (before && before.edges === graph.edges && before.schema === schema && before.face === face) return before.box;
  const box = measure(node, graph, schema, face);
  known.set(node, { edges: graph.edges, schema, face, box });
  return box;
}

export function sceneOf(graph: Graph, schema: GraphSchema | undefined, faceOf: (node: GraphNode) => Face): Scene {
  const nodes = allNodes(graph).map((source): Placed => {
    const face = faceOf(source);
    const box = boxOf(source, graph, schema, face);
    const { x, y } = source.position;
    return { id: source.id, source, face, box, left: x, top: y, right: x + box.width, bottom: y + box.height };
  });
  const byId = new Map(nodes.map((n) => [n.id, n]));
  const routes = graph.edges.flatMap((edge) => {
    const from = byId.get(edge.source);
    const to = byId.get(edge.target);
    return from && to
      ? [routeOf(edge, from, to, NOWHERE, NOWHERE, nodes.length <= SPARSE ? freeTurn(edge, from, to, nodes) : undefined)]
      : [];
  });
  return { nodes, byId, routes, bounds: around(nodes) };
}

const NOWHERE = { x: 0, y: 0 };
/** In larger graphs every line turns half-way: looking for a free place costs edges times nodes. */
const SPARSE = 200;

export function routeOf(
  edge: GraphEdge,
  from: Placed,
  to: Placed,
  shiftFrom: Point = NOWHERE,
  shiftTo: Point = NOWHERE,
  turn?: number,
): Route {
  const points = path(end(from, edge.sourceHandle, 'source', shiftFrom), end(to, edge.targetHandle, 'target', shiftTo), turn);
  return { id: edge.id, edge, points, ...(turn === undefined ? null : { turn }), ...bounds(points) };
}

/** Whether a line from `a` to `b` has room to turn there; where exactly a line ends is not the same on the canvas and in the drawn crowd. */
export const turnFits = (a: number, b: number, turn: number): boolean => turn >= a + REACH / 2 && turn <= b - REACH / 2;
/** How far a line goes straight before it turns: less where its ends are close. */
export const reachOf = (a: number, b: number): number => (b > a ? Math.min(REACH, (b - a) / 2) : REACH);

/** Where a line to the right turns so that it runs behind no node: nothing when half-way is as good, else just before its end or just after its beginning. */
function freeTurn(edge: GraphEdge, from: Placed, to: Placed, nodes: Placed[]): number | undefined {
  const a = end(from, edge.sourceHandle, 'source', NOWHERE);
  const b = end(to, edge.targetHandle, 'target', NOWHERE);
  if (a.side !== 'right' || b.side !== 'left' || a.y === b.y || b.x - a.x <= 2 * REACH) return undefined;
  const others = nodes.filter((n) => n !== from && n !== to && n.box.shape !== 'note' && n.right > a.x && n.left < b.x);
  const hits = (x: number): number => {
    const parts = [bounds([a.x, a.y, x, a.y]), bounds([x, a.y, x, b.y]), bounds([x, b.y, b.x, b.y])];
    return others.filter((n) => parts.some((part) => meets(part, n))).length;
  };
  let least = hits((a.x + b.x) / 2);
  let best: number | undefined;
  for (const x of [b.x - REACH, a.x + REACH]) {
    const met = least > 0 ? hits(x) : least;
    if (met < least) {
      least = met;
      best = x;
    }
  }
  return best;
}

interface End extends Point {
  side: HandleSpot['side'];
}
const AWAY: Record<HandleSpot['side'], Point> = {
  left: { x: -1, y: 0 },
  right: { x: 1, y: 0 },
  top: { x: 0, y: -1 },
  bottom: { x: 0, y: 1 },
};
const REACH = 18;

function end(node: Placed, handle: string, type: HandleSpot['type'], shift: Point): End {
  const spots = node.box.handles.filter((h) => h.type === type);
  const spot = spots.find((h) => h.id === handle) ?? spots[0];
  const x = node.left + shift.x + (spot?.x ?? node.box.width / 2);
  const y = node.top + shift.y + (spot?.y ?? node.box.height / 2);
  return { x, y, side: spot?.side ?? (type === 'source' ? 'right' : 'left') };
}

/** Corners of an orthogonal line: out of the one side, into the other, around when they look away from each other. */
function path(a: End, b: End, turn?: number): number[] {
  const p = { x: a.x + AWAY[a.side].x * REACH, y: a.y + AWAY[a.side].y * REACH };
  const q = { x: b.x + AWAY[b.side].x * REACH, y: b.y + AWAY[b.side].y * REACH };
  const flat = AWAY[a.side].x !== 0;
  if (flat !== (AWAY[b.side].x !== 0))
    return flat ? [a.x, a.y, p.x, p.y, q.x, p.y, q.x, q.y, b.x, b.y] : [a.x, a.y, p.x, p.y, p.x, q.y, q.x, q.y, b.x, b.y];
  if (flat) {
    if ((q.x - p.x) * AWAY[a.side].x >= 0) {
      const x = turn !== undefined && turnFits(a.x, b.x, turn) ? turn : (p.x + q.x) / 2;
      return [a.x, a.y, x, a.y, x, b.y, b.x, b.y];
    }
    const y = (a.y + b.y) / 2;
    return [a.x, a.y, p.x, a.y, p.x, y, q.x, y, q.x, b.y, b.x, b.y];
  }
  if ((q.y - p.y) * AWAY[a.side].y >= 0) {
    const y = (p.y + q.y) / 2;
    return [a.x, a.y, a.x, y, b.x, y, b.x, b.y];
  }
  const x = (a.x + b.x) / 2;
  return [a.x, a.y, a.x, p.y, x, p.y, x, q.y, b.x, q.y, b.x, b.y];
}

function bounds(points: number[]): Rect {
  const r = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (let n = 0; n < points.length; n += 2) {
    const x = points[n] as number;
    const y = points[n + 1] as number;
    if (x < r.left) r.left = x;
    if (x > r.right) r.right = x;
    if (y < r.top) r.top = y;
    if (y > r.bottom) r.bottom = y;
  }
  return r;
}

export function around(rects: Rect[]): Rect {
  const r = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
  for (const one of rects) {
    r.left = Math.min(r.left, one.left);
    r.top = Math.min(r.top, one.top);
    r.right = Math.max(r.right, one.right);
    r.bottom = Math.max(r.bottom, one.bottom);
  }
  return rects.length ? r : { left: 0, top: 0, right: 0, bottom: 0 };
}

export const meets = (a: Rect, b: Rect): boolean => a.left <= b.right && a.right >= b.left && a.top <= b.bottom && a.bottom >= b.top;
export const within = (scene: Scene, rect: Rect): Placed[] => scene.nodes.filter((n) => meets(n, rect));

/** The node under a point, the one drawn last; notes lie beneath. */
export function nodeAt(scene: Scene, at: Point, slack = 0): Placed | null {
  let found: Placed | null = null;
  for (const n of scene.nodes) {
    if (at.x < n.left - slack || at.x > n.right + slack || at.y < n.top - slack || at.y > n.bottom + slack) continue;
    if (!found || n.box.shape !== 'note') found = n;
  }
  return found;
}

/** The edge nearest to a point, if one is within reach. */
export function routeAt(scene: Scene, at: Point, reach: number): Route | null {
  let best: Route | null = null;
  let least = reach;
  for (const r of scene.routes) {
    if (at.x < r.left - reach || at.x > r.right + reach || at.y < r.top - reach || at.y > r.bottom + reach) continue;
    const d = distance(r.points, at);
    if (d < least) {
      least = d;
      best = r;
    }
  }
  return best;
}

function distance(points: number[], at: Point): number {
  let least = Infinity;
  for (let n = 0; n + 3 < points.length; n += 2) {
    const [ax, ay, bx, by] = [points[n] as number, points[n + 1] as number, points[n + 2] as number, points[n + 3] as number];
    const along = (bx - ax) ** 2 + (by - ay) ** 2;
    const t = along === 0 ? 0 : Math.min(1, Math.max(0, ((at.x - ax) * (bx - ax) + (at.y - ay) * (by - ay)) / along));
    least = Math.min(least, Math.hypot(at.x - (ax + t * (bx - ax)), at.y - (ay + t * (by - ay))));
  }
  return least;
}
