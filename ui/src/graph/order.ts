/** Owns reading the graph in run order: lanes of a fork, the outline, upstream writers. */
import type { Graph, GraphNode } from '@wfstudio/client';
import { isBinding } from './document';
import { edgesInto, edgesOut } from './edges';

export interface Lane {
  fork: string;
  branch: string;
  nodes: string[];
}

const next = (graph: Graph, id: string): { handle: string; to: string }[] =>
  edgesOut(graph, id)
    .filter((e) => !isBinding(e))
    .map((e) => ({ handle: e.sourceHandle, to: e.target }));

export const joinOf = (graph: Graph, fork: GraphNode): string | null =>
  edgesOut(graph, fork.id).find((e) => e.sourceHandle === 'default')?.target ??
  (typeof fork.data.join === 'string' ? fork.data.join : null);

export function lanes(graph: Graph): Lane[] {
  const out: Lane[] = [];
  for (const fork of graph.nodes.filter((n) => n.type === 'fork')) {
    const join = joinOf(graph, fork);
    for (const { handle, to } of next(graph, fork.id)) {
      if (handle === 'default' || to === join) continue;
      const seen = new Set<string>();
      const stack = [to];
      while (stack.length) {
        const id = stack.pop() as string;
        if (id === join || id === fork.id || seen.has(id)) continue;
        seen.add(id);
        for (const step of next(graph, id)) stack.push(step.to);
        for (const bound of edgesInto(graph, id)) if (isBinding(bound)) seen.add(bound.source);
      }
      out.push({ fork: fork.id, branch: handle, nodes: [...seen] });
    }
  }
  return out;
}

export interface OutlineRow {
  node: GraphNode;
  depth: number;
  via: string | null;
  again: boolean;
}

const outlines = new WeakMap<Graph, OutlineRow[]>();

/** The graph as a tree in run order; a node met again is told as a reference. */
export function outline(graph: Graph): OutlineRow[] {
  const known = outlines.get(graph);
  if (known) return known;
  const rows = walk(graph);
  outlines.set(graph, rows);
  return rows;
}

function walk(graph: Graph): OutlineRow[] {
  const byId = new Map(graph.nodes.map((n) => [n.id, n]));
  const rows: OutlineRow[] = [];
  const seen = new Set<string>();
  const visit = (id: string, depth: number, via: string | null, stops: string[] = []): void => {
    const node = byId.get(id);
    if (!node || stops.includes(id)) return;
    if (seen.has(id)) {
      if (via) rows.push({ node, depth, via, again: true });
      return;
    }
    seen.add(id);
    rows.push({ node, depth, via, again: false });
    for (const bound of edgesInto(graph, id).filter(isBinding)) {
      const tool = byId.get(bound.source);
      if (tool && !seen.has(tool.id)) {
        seen.add(tool.id);
        rows.push({ node: tool, depth: depth + 1, via: 'tools', again: false });
      }
    }
    const steps = next(graph, id);
    if (node.type === 'fork') {
      const join = joinOf(graph, node);
      for (const step of steps) if (step.to !== join) visit(step.to, depth + 1, step.handle, join ? [...stops, join] : stops);
      if (join) visit(join, depth, null, stops);
      return;
    }
    for (const step of [...steps.filter((s) => s.handle !== 'default'), ...steps.filter((s) => s.handle === 'default')]) {
      const named = step.handle !== 'default';
      visit(step.to, named ? depth + 1 : depth, named ? step.handle : null, stops);
    }
  };
  const start = graph.nodes.find((n) => n.type === 'start');
  if (start) visit(start.id, 0, null);
  for (const node of graph.nodes) if (!seen.has(node.id)) visit(node.id, 0, null);
  return rows;
}

const WRITES: Record<string, string> = {
  agent: 'agent_response',
  llm: 'llm_response',
  rag: 'rag_context',
  tool: 'tool_result',
  mcp: 'mcp_result',
  human: 'human_response',
  join: 'parallel_results',
};

export function writtenKey(node: GraphNode): string | null {
  if (node.type === 'set_state') return typeof node.data.key === 'string' ? (node.data.key.split('.')[0] ?? null) : null;
  const fallback = WRITES[node.type];
  return fallback ? (node.data.output_key as string | undefined) || fallback : null;
}

/** State keys that nodes before this one may have written. */
export function keysBefore(graph: Graph, id: string): string[] {
  const seen = new Set<string>();
  const stack = [id];
  while (stack.length) {
    const at = stack.pop() as string;
    for (const edge of graph.edges)
      if (edge.target === at && !isBinding(edge) && !seen.has(edge.source)) {
        seen.add(edge.source);
        stack.push(edge.source);
      }
  }
  const keys = graph.nodes
    .filter((n) => seen.has(n.id))
    .map(writtenKey)
    .filter((k): k is string => !!k);
  return [...new Set(['input', 'attachments', ...keys])];
}

const PLACEHOLDER = /\{\{\s*(?:\["([^"]+)"\]|([A-Za-z_][A-Za-z0-9_-]*))/g;

/** The state keys that a field of a node reads, and whether it names the key that the node writes. */
export function keysOf(node: GraphNode, field: string): { reads: string[]; writes: string | null } {
  const value = node.data[field];
  if (field === 'output_key' || (node.type === 'set_state' && field === 'key')) return { reads: [], writes: writtenKey(node) };
  if (field === 'state_key' || field === 'from_key')
    return { reads: typeof value === 'string' && value ? [value.split('.')[0] as string] : [], writes: null };
  if (field === 'rules' && Array.isArray(value))
    return {
      reads: [
        ...new Set(
          value.flatMap((rule: { state_key?: unknown } | null) =>
            typeof rule?.state_key === 'string' ? [rule.state_key.split('.')[0] as string] : [],
          ),
        ),
      ],
      writes: null,
    };
  const text = typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value).replaceAll('\\"', '"');
  return { reads: [...new Set([...text.matchAll(PLACEHOLDER)].map((m) => m[1] ?? m[2] ?? ''))], writes: null };
}

/** Nodes whose data mentions a state key, as writer or reader. */
export function whereUsed(graph: Graph, key: string): { writers: string[]; readers: string[] } {
  const writers = graph.nodes.filter((n) => writtenKey(n) === key).map((n) => n.id);
  const readers = graph.nodes
    .filter((n) => {
      const text = JSON.stringify(n.data);
      for (const match of text.replaceAll('\\"', '"').matchAll(PLACEHOLDER)) if ((match[1] ?? match[2]) === key) return true;
      return n.data.state_key === key || n.data.from_key === key;
    })
    .map((n) => n.id);
  return { writers, readers };
}
