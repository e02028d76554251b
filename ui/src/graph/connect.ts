/** Owns which handle may meet which: the engine's table, read, never repeated. */
import type { ConnectionRule, Graph, GraphNode, GraphSchema } from '@wfstudio/client';
import { findNode, isBinding, isInline } from './document';
import { edgesInto, edgesOut } from './edges';

export interface End {
  node: string;
  handle: string;
}
export type Refusal = 'self' | 'duplicate' | 'unknown' | 'handles' | 'inline' | 'tool_mode';

const ANY = new Set(['*', 'any']);
const matches = (pattern: string, value: string): boolean => ANY.has(pattern) || pattern.split(/[|,]/).some((p) => p.trim() === value);

function handleMatches(rule: ConnectionRule, node: GraphNode, handle: string): boolean {
  if (matches(rule.source_handle, handle)) return true;
  const branch = /branch|^<|^\{/.test(rule.source_handle);
  return branch && node.type === 'fork' && handle !== 'default';
}

const toolMode = (node: GraphNode): boolean => node.data.tool_mode === true;

/** Why a rule does not hold here; null when it does. */
function unmet(rule: ConnectionRule, source: GraphNode, target: GraphNode): Refusal | null {
  const when = (rule.when ?? '').toLowerCase();
  if (/target.*(not|isn't).*inline/.test(when)) return isInline(target) ? 'handles' : null;
  if (/target.*inline|inline.*target/.test(when) && !isInline(target)) return 'inline';
  if (/source.*not.*tool[ _]mode/.test(when)) {
    if (toolMode(source)) return 'tool_mode';
  } else if (/source.*tool[ _]mode/.test(when) && !toolMode(source)) return 'tool_mode';
  if (/target.*not.*tool[ _]mode/.test(when) && toolMode(target)) return 'tool_mode';
  return null;
}

export function refusal(schema: GraphSchema, graph: Graph, from: End, to: End): Refusal | null {
  if (from.node === to.node) return 'self';
  const source = findNode(graph, from.node);
  const target = findNode(graph, to.node);
  if (!source || !target) return 'unknown';
  if (
    graph.edges.some(
      (e) => e.source === from.node && e.sourceHandle === from.handle && e.target === to.node && e.targetHandle === to.handle,
    )
  )
    return 'duplicate';
  let why: Refusal = 'handles';
  for (const rule of schema.connections) {
    if (!matches(rule.source, source.type) || !matches(rule.target, target.type)) continue;
    if (!handleMatches(rule, source, from.handle) || !matches(rule.target_handle, to.handle)) continue;
    const reason = unmet(rule, source, target);
    if (!reason) return toolModeControl(source, target, to.handle) ? 'tool_mode' : null;
    why = reason;
  }
  return why;
}

/** A Tool Mode agent has no control edges. */
const toolModeControl = (source: GraphNode, target: GraphNode, handle: string): boolean =>
  handle === 'default' && ((source.type === 'agent' && toolMode(source)) || (target.type === 'agent' && toolMode(target)));

/** The handles a node shows for control flow and binding, given its data and what is wired. */
export function sourceHandles(node: GraphNode, graph: Graph, schema?: GraphSchema): string[] {
  const wired = edgesOut(graph, node.id).map((e) => e.sourceHandle);
  if (node.type === 'agent' && toolMode(node)) return ['toolset'];
  if (node.type === 'fork') {
    const listed = Array.isArray(node.data.branches) ? (node.data.branches as string[]) : [];
    return ['default', ...new Set([...listed, ...wired.filter((h) => h !== 'default')])];
  }
  const known = schema?.node_types.find((t) => t.type === node.type)?.source_handles ?? FALLBACK[node.type] ?? ['default'];
  return known.filter((handle) => {
    if (handle === 'toolset') return false;
    if (handle === 'error') return node.data.on_error === 'continue' || wired.includes('error');
    if (handle === 'rejected') return node.data.require_tool_approval === true || wired.includes('rejected');
    return true;
  });
}

const FALLBACK: Record<string, string[]> = {
  start: ['default'],
  stop: [],
  condition: ['true', 'false'],
  loop: ['continue', 'exit'],
  note: [],
  agent: ['default', 'rejected', 'error'],
  llm: ['default', 'error'],
  rag: ['default', 'error'],
  tool: ['default', 'error'],
  mcp: ['default', 'error'],
};

export function targetHandles(node: GraphNode): string[] {
  if (node.type === 'start' || node.type === 'note') return [];
  if (node.type !== 'agent') return ['default'];
  const tools = isInline(node) ? ['tools'] : [];
  return toolMode(node) ? tools : ['default', ...tools];
}

/** A tool or MCP node that only lends its tools to an agent. */
export function isBound(node: GraphNode, graph: Graph): boolean {
  if (node.type === 'agent') return toolMode(node);
  if (node.type !== 'tool' && node.type !== 'mcp') return false;
  const touching = [...edgesOut(graph, node.id), ...edgesInto(graph, node.id)];
  return touching.length > 0 && touching.every(isBinding);
}
