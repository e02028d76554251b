/** Owns what travels through the clipboard: text that other workflows and people can read. */
import type { Graph, GraphEdge, GraphNode } from '@wfstudio/client';
import { allNodes, freshNodeId, freshTitle } from './document';

interface Clip {
  studio: 1;
  nodes: GraphNode[];
  edges: GraphEdge[];
}

export function copyText(graph: Graph, ids: string[]): string {
  const wanted = new Set(ids);
  const nodes = allNodes(graph).filter((n) => wanted.has(n.id) && n.type !== 'start');
  const kept = new Set(nodes.map((n) => n.id));
  const clip: Clip = { studio: 1, nodes, edges: graph.edges.filter((e) => kept.has(e.source) && kept.has(e.target)) };
  return JSON.stringify(clip);
}

export function readClip(text: string): Clip | null {
  try {
    const clip = JSON.parse(text) as Partial<Clip>;
    if (clip.studio !== 1 || !Array.isArray(clip.nodes) || !Array.isArray(clip.edges)) return null;
    const sound = clip.nodes.every(
      (n) => n && typeof n.id === 'string' && typeof n.type === 'string' && n.position && typeof n.position.x === 'number',
    );
    return sound ? (clip as Clip) : null;
  } catch {
    return null;
  }
}

/** New ids and titles, inner edges kept, start left out. */
export function placed(graph: Graph, clip: Clip, at: { x: number; y: number } | null): { nodes: GraphNode[]; edges: GraphEdge[] } {
  const nodes = clip.nodes.filter((n) => n.type !== 'start');
  if (nodes.length === 0) return { nodes: [], edges: [] };
  const left = Math.min(...nodes.map((n) => n.position.x));
  const top = Math.min(...nodes.map((n) => n.position.y));
  const shift = at ? { x: at.x - left, y: at.y - top } : { x: 30, y: 30 };
  const ids = new Map<string, string>();
  const titles = new Set<string>();
  const made = nodes.map((node) => {
    const id = freshNodeId(graph, node.type, new Set(ids.values()));
    ids.set(node.id, id);
    const copy: GraphNode = {
      ...structuredClone(node),
      id,
      position: { x: Math.round(node.position.x + shift.x), y: Math.round(node.position.y + shift.y) },
    };
    if (copy.title) {
      copy.title = freshTitle(graph, copy.title, titles);
      titles.add(copy.title.toLowerCase());
    }
    return copy;
  });
  const edges = clip.edges.flatMap((e, n) => {
    const source = ids.get(e.source);
    const target = ids.get(e.target);
    return source && target ? [{ ...e, id: `p${n}_${source}_${target}`, source, target }] : [];
  });
  return { nodes: made, edges };
}
