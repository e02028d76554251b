/** Owns what a fresh node starts with, and which types may follow a handle. */
import type { Graph, GraphNode, GraphSchema, Providers } from '@wfstudio/client';
import { refusal, sourceHandles, targetHandles, type End } from '../graph/connect';
import { allNodes, freshEdgeId, freshNodeId, freshTitle, type Command } from '../graph/document';
import { measure } from '../graph/measure';
import { meets } from '../graph/scene';
import { tx } from '../i18n';

export const TYPE_GROUPS: { label: string; types: string[] }[] = [
  { label: 'group.flow', types: ['start', 'stop', 'condition', 'fork', 'join', 'loop'] },
  { label: 'group.models', types: ['agent', 'llm'] },
  { label: 'group.know', types: ['rag', 'tool', 'mcp'] },
  { label: 'group.people', types: ['human', 'set_state', 'note'] },
];

export const typeLabel = (type: string): string => tx(`type.${type}`, type);

function startData(type: string, providers: Providers | undefined): Record<string, unknown> {
  const model = { provider: providers?.default_provider ?? '', model: providers?.default_model ?? '' };
  switch (type) {
    case 'agent':
      return { config_mode: 'inline', ...model, instructions: '', stream: true };
    case 'llm':
      return { ...model, prompt: '{{input}}', stream: true };
    case 'fork':
      return { branches: ['a', 'b'] };
    case 'loop':
      return { max_steps: 10 };
    case 'condition':
      return { state_key: 'input', operator: 'not_empty' };
    case 'set_state':
      return { key: 'result', value: '{{input}}' };
    case 'human':
      return { prompt: '' };
    case 'note':
      return { text: '' };
    default:
      return {};
  }
}

export function makeNode(
  graph: Graph,
  type: string,
  at: { x: number; y: number },
  providers: Providers | undefined,
  data: Record<string, unknown> = {},
): GraphNode {
  const node: GraphNode = {
    id: freshNodeId(graph, type),
    type,
    position: { x: Math.round(at.x / 10) * 10, y: Math.round(at.y / 10) * 10 },
    data: { ...startData(type, providers), ...data },
  };
  if (type !== 'note') node.title = freshTitle(graph, typeLabel(type));
  return node;
}

const GAP = 20;

/** A fresh node that lies on no other: at the wanted place, or the nearest free one above or below. */
export function makePlaced(graph: Graph, type: string, at: { x: number; y: number }, providers: Providers | undefined): GraphNode {
  const node = makeNode(graph, type, at, providers);
  const box = (n: GraphNode): { left: number; top: number; right: number; bottom: number } => {
    const size = measure(n, graph, undefined, 'plain');
    const { x, y } = n.position;
    return { left: x, top: y, right: x + size.width, bottom: y + size.height };
  };
  const taken = allNodes(graph).map(box);
  const own = box(node);
  const free = (by: number): boolean =>
    !taken.some((other) =>
      meets(other, { left: own.left - GAP, right: own.right + GAP, top: own.top + by - GAP, bottom: own.bottom + by + GAP }),
    );
  let by = 0;
  while (!free(by)) by = by > 0 ? -by : GAP - by;
  node.position.y += by;
  return node;
}

/** The handle of `node` that `from` may reach, if any. */
export function landing(schema: GraphSchema, graph: Graph, from: End, node: GraphNode): string | null {
  const trial: Graph = graph.nodes.some((n) => n.id === node.id) ? graph : { ...graph, nodes: [...graph.nodes, node] };
  return targetHandles(node).find((handle) => refusal(schema, trial, from, { node: node.id, handle }) === null) ?? null;
}

export function addCommand(schema: GraphSchema, graph: Graph, node: GraphNode, from: End | null): Command {
  const handle = from ? landing(schema, graph, from, node) : null;
  return {
    kind: 'add',
    node,
    edge:
      from && handle
        ? { id: freshEdgeId(graph), source: from.node, sourceHandle: from.handle, target: node.id, targetHandle: handle }
        : undefined,
  };
}

/** The first free control handle of a node. */
export function freeHandle(schema: GraphSchema, graph: Graph, node: GraphNode): string | null {
  const handles = sourceHandles(node, graph, schema);
  const used = new Set(graph.edges.filter((e) => e.source === node.id && e.targetHandle !== 'tools').map((e) => e.sourceHandle));
  return handles.find((h) => !used.has(h) && h !== 'error' && h !== 'rejected') ?? null;
}
