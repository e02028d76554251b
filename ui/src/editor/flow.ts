/** Owns turning the document into what React Flow draws; unchanged nodes keep their identity. */
import type { Edge, Node } from '@xyflow/react';
import { Position } from '@xyflow/react';
import type { Graph, GraphNode, GraphSchema } from '../api/types';
import { allNodes, isBinding } from '../graph/document';
import { measure, MINI, type Box, type Face } from '../graph/measure';
import type { RunView } from '../run/view';
import type { CardData } from './node';

const SIDES = { left: Position.Left, right: Position.Right, top: Position.Top, bottom: Position.Bottom };
type Moved = Record<string, { x: number; y: number }>;

export function faceOf(node: GraphNode, run: RunView | null): Face {
  if (!run || MINI.has(node.type) || node.type === 'note') return 'plain';
  const step = run.steps[run.latest[node.id] ?? ''];
  if (step?.state === 'waiting' && run.pauses.some((p) => p.node_id === node.id)) return 'ask';
  if (step?.state === 'streaming') return 'stream';
  return 'footer';
}

const boxKey = (box: Box): string => `${box.shape}${box.width}x${box.height}${box.handles.map((h) => h.id + h.side + h.y).join()}`;

export class FlowNodes {
  #cache = new Map<string, { key: string; source: GraphNode; node: Node<CardData> }>();

  build(graph: Graph, schema: GraphSchema | undefined, run: RunView | null, selection: Set<string>, moved: Moved, editable: boolean): Node<CardData>[] {
    const next = new Map<string, { key: string; source: GraphNode; node: Node<CardData> }>();
    const out = allNodes(graph).map((source) => {
      const face = faceOf(source, run);
      const box = measure(source, graph, schema, face);
      const at = moved[source.id] ?? source.position;
      const key = `${face}|${boxKey(box)}|${selection.has(source.id)}|${at.x},${at.y}|${editable}`;
      const before = this.#cache.get(source.id);
      const entry = before && before.key === key && before.source === source ? before : { key, source, node: flowNode(source, box, face, selection.has(source.id), at, editable) };
      next.set(source.id, entry);
      return entry.node;
    });
    this.#cache = next;
    return out;
  }
}

function flowNode(source: GraphNode, box: Box, face: Face, selected: boolean, at: { x: number; y: number }, editable: boolean): Node<CardData> {
  return {
    id: source.id, type: source.type === 'note' ? 'note' : 'card', position: at, width: box.width, height: box.height, selected, draggable: editable,
    zIndex: source.type === 'note' ? -1 : selected ? 2 : 1, focusable: false, data: { node: source, box, face },
    handles: box.handles.map((h) => ({ id: h.id, type: h.type, position: SIDES[h.side], x: h.x - 6, y: h.y - 6, width: 12, height: 12 })),
  };
}

export function flowEdges(graph: Graph, run: RunView | null, selection: Set<string>, editable: boolean): Edge[] {
  const forks = new Set(graph.nodes.filter((n) => n.type === 'fork').map((n) => n.id));
  return graph.edges.map((e) => ({
    id: e.id, source: e.source, target: e.target, sourceHandle: e.sourceHandle, targetHandle: e.targetHandle, type: 'studio', selected: selection.has(e.id), focusable: false,
    data: { look: edgeLook(e, forks, run), editable },
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
  const taken = !from || from.handle === edge.sourceHandle || (from.nodeType === 'fork' && edge.sourceHandle !== 'default') || from.nodeType === 'loop';
  return taken ? 'd' : error ? 'rj' : '';
}
