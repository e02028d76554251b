/** Owns drawing a crowded graph on one canvas: lanes, edges, blocks, and titles where they can be read. */
import type { Route, Scene, Placed, Rect } from '../graph/scene';
import { meets, routeOf } from '../graph/scene';
import { titleOf } from '../graph/document';
import { NODE_LOOK, type Family } from '../parts/icons';
import type { NodeState } from '../run/view';
import type { Moved } from './flow';
import type { LaneBox } from './lanes';

export type Colours = Record<
  | 'bg'
  | 'surface'
  | 'line'
  | 'line-2'
  | 'ink'
  | 'ink-2'
  | 'ink-3'
  | 'accent'
  | 'accent-soft'
  | 'run'
  | 'wait-solid'
  | 'fail'
  | 'f-flow'
  | 'f-model'
  | 'f-know'
  | 'f-tool'
  | 'f-human'
  | 'f-state'
  | 'lane'
  | 'note'
  | 'note-line',
  string
>;
const NAMES: (keyof Colours)[] = [
  'bg',
  'surface',
  'line',
  'line-2',
  'ink',
  'ink-2',
  'ink-3',
  'accent',
  'accent-soft',
  'run',
  'wait-solid',
  'fail',
  'f-flow',
  'f-model',
  'f-know',
  'f-tool',
  'f-human',
  'f-state',
  'lane',
  'note',
  'note-line',
];

export function readColours(): Colours {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim() || '#888'])) as Colours;
}

export interface Picture {
  scene: Scene;
  lanes: LaneBox[];
  looks: Map<string, string>;
  /** Mounted nodes, which are not drawn; nor are chosen edges between them. */
  mounted: ReadonlySet<string>;
  selection: ReadonlySet<string>;
  edgeSelection: ReadonlySet<string>;
  highlight: ReadonlySet<string>;
  moved: Moved;
  /** The state of each node in the run in view; null while designing. */
  states: ((id: string) => NodeState | undefined) | null;
}
export interface View {
  x: number;
  y: number;
  zoom: number;
  width: number;
  height: number;
  ratio: number;
}

const FAMILY: Record<Family, keyof Colours> = {
  flow: 'f-flow',
  model: 'f-model',
  know: 'f-know',
  toolf: 'f-tool',
  human: 'f-human',
  state: 'f-state',
};
const RADIUS = 10;

/** Draws what is in view; answers how many things that were. */
export function paint(ctx: CanvasRenderingContext2D, picture: Picture, view: View, colours: Colours): number {
  const { x, y, zoom, width, height, ratio } = view;
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, width, height);
  ctx.setTransform(ratio * zoom, 0, 0, ratio * zoom, ratio * x, ratio * y);
  const shown: Rect = { left: -x / zoom, top: -y / zoom, right: (width - x) / zoom, bottom: (height - y) / zoom };
  const frames = picture.lanes.filter((lane) => meets(lane, shown));
  lanes(ctx, frames, zoom, colours);
  return frames.length + edges(ctx, picture, shown, zoom, colours) + blocks(ctx, picture, shown, zoom, colours);
}

function lanes(ctx: CanvasRenderingContext2D, boxes: LaneBox[], zoom: number, colours: Colours): void {
  for (const box of boxes) {
    ctx.beginPath();
    ctx.roundRect(box.left, box.top, box.right - box.left, box.bottom - box.top, 16);
    ctx.fillStyle = colours.lane;
    ctx.fill();
    ctx.strokeStyle = colours.line;
    ctx.lineWidth = 1 / zoom;
    ctx.stroke();
    if (zoom < 0.3) continue;
    ctx.fillStyle = colours['ink-3'];
    ctx.font = `${Math.max(11.5, 9 / zoom)}px monospace`;
    ctx.textBaseline = 'top';
    ctx.fillText(box.name, box.left + 14, box.top + 9);
  }
}

const LOOKS: [look: string, colour: keyof Colours, dash: number[], alpha: number][] = [
  ['', 'line-2', [], 1],
  ['d', 'ink-2', [], 1],
  ['tl', 'f-tool', [2, 4], 1],
  ['rj', 'fail', [5, 4], 0.55],
  ['rn', 'run', [6, 5], 1],
];

function edges(ctx: CanvasRenderingContext2D, picture: Picture, shown: Rect, zoom: number, colours: Colours): number {
  const by = new Map<string, Route[]>();
  const chosen: Route[] = [];
  for (const known of picture.scene.routes) {
    const { source, target } = known.edge;
    if (picture.edgeSelection.has(known.id) && picture.mounted.has(source) && picture.mounted.has(target)) continue;
    const route = picture.moved[source] || picture.moved[target] ? displaced(known, picture) : known;
    if (!meets(route, shown)) continue;
    const look = picture.looks.get(route.id) ?? '';
    if (picture.edgeSelection.has(route.id)) chosen.push(route);
    else if (by.has(look)) by.get(look)?.push(route);
    else by.set(look, [route]);
  }
  const thin = Math.max(1.6, 0.8 / zoom);
  for (const [look, colour, dash, alpha] of LOOKS) {
    const routes = by.get(look);
    if (!routes) continue;
    ctx.globalAlpha = alpha;
    ctx.setLineDash(zoom < 0.25 ? [] : dash);
    stroke(ctx, routes, colours[colour], thin, zoom);
  }
  ctx.globalAlpha = 1;
  ctx.setLineDash([]);
  if (chosen.length) stroke(ctx, chosen, colours.accent, Math.max(2.2, 2 / zoom), zoom);
  return chosen.length + [...by.values()].reduce((sum, list) => sum + list.length, 0);
}

function displaced(route: Route, { scene, moved }: Picture): Route {
  const from = scene.byId.get(route.edge.source);
  const to = scene.byId.get(route.edge.target);
  if (!from || !to) return route;
  const shift = (n: Placed): { x: number; y: number } => {
    const at = moved[n.id];
    return at ? { x: at.x - n.left, y: at.y - n.top } : { x: 0, y: 0 };
  };
  return routeOf(route.edge, from, to, shift(from), shift(to), route.turn);
}

function stroke(ctx: CanvasRenderingContext2D, routes: Route[], colour: string, width: number, zoom: number): void {
  ctx.strokeStyle = colour;
  ctx.lineWidth = width;
  ctx.beginPath();
  for (const { points } of routes) {
    ctx.moveTo(points[0] as number, points[1] as number);
    const last = points.length - 2;
    for (let n = 2; n < last; n += 2) {
      const [px, py, nx, ny] = [points[n] as number, points[n + 1] as number, points[n + 2] as number, points[n + 3] as number];
      if (zoom < 0.3) ctx.lineTo(px, py);
      else
        ctx.arcTo(
          px,
          py,
          nx,
          ny,
          Math.min(
            RADIUS,
            Math.hypot(px - (points[n - 2] as number), py - (points[n - 1] as number)) / 2,
            Math.hypot(nx - px, ny - py) / 2,
          ),
        );
    }
    ctx.lineTo(points[last] as number, points[last + 1] as number);
  }
  ctx.stroke();
}

interface Style {
  fill: keyof Colours;
  tint: number;
  border: keyof Colours;
}
function styleOf(node: Placed, states: Picture['states']): Style {
  if (node.box.shape === 'note') return { fill: 'note', tint: 1, border: 'note-line' };
  const family = FAMILY[NODE_LOOK[node.source.type]?.family ?? 'flow'];
  if (!states || node.box.shape === 'bound' || node.source.type === 'start') return { fill: family, tint: 0.14, border: family };
  const state = states(node.id);
  if (!state || state === 'queued' || state === 'skipped') return { fill: 'surface', tint: 0, border: 'line' };
  if (state === 'waiting') return { fill: 'wait-solid', tint: 0.5, border: 'wait-solid' };
  if (state === 'failed') return { fill: 'fail', tint: 0.35, border: 'fail' };
  if (state === 'running' || state === 'streaming') return { fill: 'run', tint: 0.35, border: 'run' };
  return { fill: 'ink-3', tint: 0.14, border: 'ink-3' };
}

function blocks(ctx: CanvasRenderingContext2D, picture: Picture, shown: Rect, zoom: number, colours: Colours): number {
  const by = new Map<string, { style: Style; nodes: Placed[] }>();
  const ringed: Placed[] = [];
  const seen: Placed[] = [];
  for (const known of picture.scene.nodes) {
    if (picture.mounted.has(known.id)) continue;
    const at = picture.moved[known.id];
    const node = at ? { ...known, left: at.x, top: at.y, right: at.x + known.box.width, bottom: at.y + known.box.height } : known;
    if (!meets(node, shown)) continue;
    seen.push(node);
    const style = styleOf(node, picture.states);
    const key = style.fill + style.tint + style.border;
    const group = by.get(key);
    if (group) group.nodes.push(node);
    else by.set(key, { style, nodes: [node] });
    if (picture.selection.has(node.id) || picture.highlight.has(node.id)) ringed.push(node);
  }
  const round = zoom > 0.15 && seen.length < 500;
  for (const { style, nodes } of by.values()) {
    outline(ctx, nodes, round, 0);
    ctx.fillStyle = colours.surface;
    ctx.fill();
    ctx.globalAlpha = style.tint;
    ctx.fillStyle = colours[style.fill];
    if (style.tint) ctx.fill();
    ctx.globalAlpha = 1;
    ctx.strokeStyle = colours[style.border];
    ctx.lineWidth = Math.max(1, 0.7 / zoom);
    ctx.stroke();
  }
  if (zoom >= 0.2) titles(ctx, seen, zoom, colours);
  if (ringed.length === 0) return seen.length;
  outline(ctx, ringed, round, 3 / zoom);
  ctx.strokeStyle = colours.accent;
  ctx.lineWidth = 2.5 / zoom;
  ctx.stroke();
  return seen.length;
}

function outline(ctx: CanvasRenderingContext2D, nodes: Placed[], round: boolean, by: number): void {
  ctx.beginPath();
  for (const n of nodes) {
    if (round) ctx.roundRect(n.left - by, n.top - by, n.right - n.left + 2 * by, n.bottom - n.top + 2 * by, 11 + by);
    else ctx.rect(n.left - by, n.top - by, n.right - n.left + 2 * by, n.bottom - n.top + 2 * by);
  }
}

const cut = new Map<string, string>();

function titles(ctx: CanvasRenderingContext2D, nodes: Placed[], zoom: number, colours: Colours): void {
  const size = zoom >= 0.5 ? 13 : 9.5 / zoom;
  ctx.font = `600 ${size}px "Hanken Grotesk", system-ui, sans-serif`;
  ctx.fillStyle = colours.ink;
  ctx.textBaseline = 'middle';
  for (const n of nodes) {
    if (n.box.shape === 'note') continue;
    const room = Math.floor((n.right - n.left - 16) / (size * 0.53));
    if (room < 2) continue;
    ctx.fillText(short(titleOf(n.source), room), n.left + 8, (n.top + n.bottom) / 2);
  }
}

function short(title: string, room: number): string {
  if (title.length <= room) return title;
  const key = `${room}${title}`;
  let text = cut.get(key);
  if (!text) {
    if (cut.size > 5000) cut.clear();
    text = `${title.slice(0, room - 1)}…`;
    cut.set(key, text);
  }
  return text;
}
