/** Owns the graph as a document: the commands that change it, and what always holds afterwards. */
import { produce } from 'immer';
import type { Graph, GraphEdge, GraphNode } from '@wfstudio/client';

export type Command =
  | { kind: 'add'; node: GraphNode; edge?: GraphEdge }
  | { kind: 'remove'; nodes: string[]; edges: string[] }
  | { kind: 'move'; positions: Record<string, { x: number; y: number }> }
  | { kind: 'data'; id: string; data: Record<string, unknown> }
  | { kind: 'title'; id: string; title: string }
  | { kind: 'connect'; edge: GraphEdge }
  | { kind: 'reconnect'; edge: string; to: Omit<GraphEdge, 'id'> }
  | { kind: 'splice'; node: string; edge: string; handle: string }
  | { kind: 'insert'; node: GraphNode; edge: string; handle: string }
  | { kind: 'paste'; nodes: GraphNode[]; edges: GraphEdge[] }
  | { kind: 'replace'; graph: Graph };

export const emptyGraph = (): Graph => ({ version: 1, nodes: [], edges: [], annotations: [], viewport: { x: 0, y: 0, zoom: 1 } });

export const sameEdge = (a: GraphEdge, b: GraphEdge): boolean =>
  a.source === b.source && a.target === b.target && a.sourceHandle === b.sourceHandle && a.targetHandle === b.targetHandle;

export const isBinding = (edge: GraphEdge): boolean => edge.targetHandle === 'tools';

export const allNodes = (graph: Graph): GraphNode[] => [...graph.nodes, ...graph.annotations];
export const findNode = (graph: Graph, id: string): GraphNode | undefined =>
  graph.nodes.find((n) => n.id === id) ?? graph.annotations.find((n) => n.id === id);

/** Mutates a draft of the graph; refuses silently what would break it. */
export function change(graph: Graph, command: Command): void {
  switch (command.kind) {
    case 'add':
      if (put(graph, command.node) && command.edge) link(graph, command.edge);
      return;
    case 'remove': {
      const nodes = new Set(command.nodes);
      const edges = new Set(command.edges);
      graph.nodes = graph.nodes.filter((n) => !nodes.has(n.id));
      graph.annotations = graph.annotations.filter((n) => !nodes.has(n.id));
      graph.edges = graph.edges.filter((e) => !edges.has(e.id) && !nodes.has(e.source) && !nodes.has(e.target));
      return;
    }
    case 'move':
      for (const node of [...graph.nodes, ...graph.annotations]) {
        const to = command.positions[node.id];
        if (to && (to.x !== node.position.x || to.y !== node.position.y)) node.position = { x: to.x, y: to.y };
      }
      return;
    case 'data': {
      const node = findNode(graph, command.id);
      if (!node) return;
      for (const [key, value] of Object.entries(command.data)) {
        if (value === undefined) delete node.data[key];
        else node.data[key] = value;
      }
      return;
    }
    case 'title': {
      const node = findNode(graph, command.id);
      if (!node) return;
      if (command.title) node.title = command.title;
      else delete node.title;
      return;
    }
    case 'connect':
      link(graph, command.edge);
      return;
    case 'reconnect': {
      const edge = graph.edges.find((e) => e.id === command.edge);
      if (!edge || !linkable(graph, command.to) || graph.edges.some((e) => e.id !== edge.id && sameEdge(e, { ...command.to, id: '' })))
        return;
      graph.edges = graph.edges.filter((e) => e.id !== edge.id);
      link(graph, { ...edge, ...command.to });
      return;
    }
    case 'splice': {
      const edge = graph.edges.find((e) => e.id === command.edge);
      const first = edge && { source: edge.source, sourceHandle: edge.sourceHandle, target: command.node, targetHandle: 'default' };
      if (!edge || !first || !linkable(graph, first) || command.node === edge.target) return;
      graph.edges = graph.edges.filter((e) => e.id !== edge.id);
      link(graph, { ...edge, ...first });
      link(graph, {
        id: freshEdgeId(graph),
        source: command.node,
        sourceHandle: command.handle,
        target: edge.target,
        targetHandle: edge.targetHandle,
      });
      return;
    }
    case 'insert': {
      const edge = graph.edges.find((e) => e.id === command.edge);
      if (!edge || !put(graph, command.node)) return;
      graph.edges = graph.edges.filter((e) => e.id !== edge.id);
      link(graph, { ...edge, id: freshEdgeId(graph), target: command.node.id, targetHandle: 'default' });
      link(graph, {
        id: freshEdgeId(graph),
        source: command.node.id,
        sourceHandle: command.handle,
        target: edge.target,
        targetHandle: edge.targetHandle,
      });
      return;
    }
    case 'paste':
      for (const node of command.nodes) put(graph, node);
      for (const edge of command.edges) link(graph, edge);
      return;
    case 'replace': {
      const next = tidy(command.graph);
      graph.nodes = next.nodes;
      graph.edges = next.edges;
      graph.annotations = next.annotations;
      return;
    }
  }
}

function put(graph: Graph, node: GraphNode): boolean {
  if (findNode(graph, node.id)) return false;
  if (node.type === 'start' && graph.nodes.some((n) => n.type === 'start')) return false;
  (node.type === 'note' ? graph.annotations : graph.nodes).push(node);
  return true;
}

const linkable = (graph: Graph, edge: Omit<GraphEdge, 'id'>): boolean =>
  edge.source !== edge.target && [edge.source, edge.target].every((id) => graph.nodes.some((n) => n.id === id));

function link(graph: Graph, edge: GraphEdge): void {
  if (!linkable(graph, edge)) return;
  if (graph.edges.some((e) => sameEdge(e, edge))) return;
  const id = graph.edges.some((e) => e.id === edge.id) ? freshEdgeId(graph) : edge.id;
  if (!isBinding(edge)) {
    graph.edges = graph.edges.filter((e) => isBinding(e) || e.source !== edge.source || e.sourceHandle !== edge.sourceHandle);
  }
  graph.edges.push({ ...edge, id });
}

/** A graph from outside, made to hold what commands guarantee. */
export function tidy(graph: Graph): Graph {
  const next = emptyGraph();
  next.version = graph.version ?? 1;
  next.viewport = graph.viewport ?? next.viewport;
  const ids = new Set<string>();
  let started = false;
  for (const node of [...(graph.nodes ?? []), ...(graph.annotations ?? [])]) {
    if (ids.has(node.id) || (node.type === 'start' && started)) continue;
    started ||= node.type === 'start';
    ids.add(node.id);
    (node.type === 'note' ? next.annotations : next.nodes).push({
      ...node,
      data: node.data ?? {},
      position: node.position ?? { x: 0, y: 0 },
    });
  }
  const flow = new Set(next.nodes.map((n) => n.id));
  const edgeIds = new Set<string>();
  const ends = new Set<string>();
  for (const from of graph.edges ?? []) {
    const edge = { ...from, sourceHandle: from.sourceHandle ?? 'default', targetHandle: from.targetHandle ?? 'default' };
    const key = [edge.source, edge.sourceHandle, edge.target, edge.targetHandle].join('\n');
    if (!flow.has(edge.source) || !flow.has(edge.target) || ends.has(key)) continue;
    if (!edge.id || edgeIds.has(edge.id)) edge.id = unused(edgeIds, next.edges.length + 1);
    ends.add(key);
    edgeIds.add(edge.id);
    next.edges.push(edge);
  }
  return next;
}

function unused(ids: Set<string>, from: number): string {
  let n = from;
  while (ids.has(`e${n}`)) n += 1;
  return `e${n}`;
}

export const apply = (graph: Graph, command: Command): Graph => produce(graph, (draft) => change(draft as Graph, command));

export function freshEdgeId(graph: Graph): string {
  return unused(new Set(graph.edges.map((e) => e.id)), graph.edges.length + 1);
}

export function freshNodeId(graph: Graph, type: string, more: Set<string> = new Set()): string {
  const used = new Set([...allNodes(graph).map((n) => n.id), ...more]);
  let n = 1;
  while (used.has(`${type}_${n}`)) n += 1;
  return `${type}_${n}`;
}

export function freshTitle(graph: Graph, wanted: string, more: Set<string> = new Set()): string {
  const used = new Set([...graph.nodes.map((n) => (n.title ?? '').toLowerCase()), ...more]);
  if (!used.has(wanted.toLowerCase())) return wanted;
  let n = 2;
  while (used.has(`${wanted} ${n}`.toLowerCase())) n += 1;
  return `${wanted} ${n}`;
}

export const titleOf = (node: GraphNode): string => node.title || node.id;
export const isInline = (node: GraphNode): boolean =>
  node.type === 'agent' &&
  (node.data.config_mode === 'inline' || (node.data.config_mode !== 'existing' && !node.data.agent_id && !node.data.agent_ref));
