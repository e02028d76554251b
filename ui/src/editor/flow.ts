/** Owns turning the document into what React Flow draws; unchanged nodes keep their identity. */
import type { Edge, Node } from '@xyflow/react';
import { Position } from '@xyflow/react';
import type { Graph, GraphNode } from '@wfstudio/client';
import { isBinding } from '../graph/document';
import { MINI, type Box, type Face } from '../graph/measure';
import type { Placed, Scene } from '../graph/scene';
import { pauseAt, stepAt } from '../run/breaks';
import type { RunView } from '../run/view';
import type { CardData } from './node';

const SIDES = { left: Position.Left, right: Position.Right, top: Position.Top, bottom: Position.Bottom };
export type Moved = Record<string, { x: number; y: number }>;

export function faceOf(node: GraphNode, run: RunView | null): Face {
  if (!run || MINI.has(node.type) || node.type === 'note') return 'plain';
  const step = stepAt(run, node.id);
  if (step?.state === 'waiting' && pauseAt(run, node.id)) return 'ask';
  if (step?.state === 'streaming') return 'stream';
  return 'footer';
}

const boxKey = (box: Box): string => `${box.shape}${box.width}x${box.height}${box.handles.map((h) => h.id + h.side + h.y).join()}`;
const sameBox = (a: Box, b: Box): boolean => a === b || boxKey(a) === boxKey(b);

interface Kept {
  placed: Placed;
  look: string;
  node: Node<CardData>;
}

export class FlowNodes {
  #kept = new Map<string, Kept>();

  /** The nodes that React Flow mounts: all, or those named. */
  build(scene: Scene, ids: ReadonlySet<string> | null, selection: ReadonlySet<string>, moved: Moved, editable: boolean): Node<CardData>[] {
    const next = new Map<string, Kept>();
    const out: Node<CardData>[] = [];
    for (const placed of ids ? [...ids].flatMap((id) => scene.byId.get(id) ?? []) : scene.nodes) {
      const { id, source, face, box } = placed;
      const selected = selection.has(id);
      const at = moved[id] ?? source.position;
      const look = `${face}|${selected}|${at.x},${at.y}|${editable}`;
      const before = this.#kept.get(id);
      const same = before && before.look === look && before.placed.source === source && sameBox(before.placed.box, box);
      const kept = same ? before : { placed, look, node: flowNode(source, box, face, selected, at, editable) };
      next.set(id, kept);
      out.push(kept.node);
    }
    this.#kept = next;
    return out;
  }
}

function flowNode(
  source: GraphNode,
  box: Box,
  face: Face,
  selected: boolean,
  at: { x: number; y: number },
  editable: boolean,
): Node<CardData> {
  return {
    id: source.id,
    type: source.type === 'note' ? 'note' : 'card',
    position: at,
    width: box.width,
    height: box.height,
    selected,
    draggable: editable,
    zIndex: source.type === 'note' ? -1 : selected ? 2 : 1,
    focusable: false,
    data: { node: source, box, face },
    handles: box.handles.map((h) => ({ id: h.id, type: h.type, position: SIDES[h.side], x: h.x - 6, y: h.y - 6, width: 12, height: 12 })),
  };
}

/** How each edge is drawn: ran, not yet, running, tools, rejected. */
export function edgeLooks(graph: Graph, run: RunView | null): Map<string, string> {
  const forks = new Set(graph.nodes.filter((n) => n.type === 'fork').map((n) => n.id));
  return new Map(graph.edges.map((e) => [e.id, edgeLook(e, forks, run)]));
}

/** All edges; in a crowd only chosen ones, the others are drawn. */
export function flowEdges(
  graph: Graph,
  scene: Scene,
  looks: Map<string, string>,
  ids: ReadonlySet<string> | null,
  selection: ReadonlySet<string>,
  editable: boolean,
): Edge[] {
  const shown = ids ? graph.edges.filter((e) => selection.has(e.id) && ids.has(e.source) && ids.has(e.target)) : graph.edges;
  const turns = new Map(scene.routes.flatMap((r) => (r.turn === undefined ? [] : [[r.id, r.turn]])));
  return shown.map((e) => ({
    id: e.id,
    source: e.source,
    target: e.target,
    sourceHandle: e.sourceHandle,
    targetHandle: e.targetHandle,
    type: 'studio',
    selected: selection.has(e.id),
    focusable: false,
    reconnectable: editable,
    data: { look: looks.get(e.id) ?? '', editable, turn: turns.get(e.id) },
  }));
}

function edgeLook(edge: Graph['edges'][number], forks: Set<string>, run: RunView | null): string {
  if (isBinding(edge)) return 'tl';
  const error = edge.sourceHandle === 'rejected' || edge.sourceHandle === 'error';
  const around = edge.sourceHandle === 'default' && forks.has(edge.source);
  if (around) return '';
  if (!run) return error ? 'rj' : 'd';
  const from = run.steps[run.latest[edge.source] ?? ''];
  const to = run.steps[run.latest[edge.target] ?? ''];
  if (!to) {
    const leaving = from && (from.state === 'running' || from.state === 'streaming') && edge.sourceHandle === 'default';
    return leaving ? 'rn' : error ? 'rj' : '';
  }
  const taken =
    !from || from.handle === edge.sourceHandle || (from.nodeType === 'fork' && edge.sourceHandle !== 'default') || from.nodeType === 'loop';
  return taken ? 'd' : error ? 'rj' : '';
}
