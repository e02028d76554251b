/** Owns finding the edges of a node without walking all of them. */
import type { GraphEdge } from '@wfstudio/client';

export interface EdgeIndex {
  out: Map<string, GraphEdge[]>;
  into: Map<string, GraphEdge[]>;
}

const known = new WeakMap<readonly GraphEdge[], EdgeIndex>();
const NONE: GraphEdge[] = [];

function build(edges: readonly GraphEdge[]): EdgeIndex {
  const index: EdgeIndex = { out: new Map(), into: new Map() };
  const put = (map: Map<string, GraphEdge[]>, key: string, edge: GraphEdge): void => {
    const list = map.get(key);
    if (list) list.push(edge);
    else map.set(key, [edge]);
  };
  for (const edge of edges) {
    put(index.out, edge.source, edge);
    put(index.into, edge.target, edge);
  }
  return index;
}

function of(edges: readonly GraphEdge[]): EdgeIndex {
  let index = known.get(edges);
  if (!index) {
    index = build(edges);
    known.set(edges, index);
  }
  return index;
}

export const edgesOut = (graph: { edges: readonly GraphEdge[] }, id: string): GraphEdge[] => of(graph.edges).out.get(id) ?? NONE;
export const edgesInto = (graph: { edges: readonly GraphEdge[] }, id: string): GraphEdge[] => of(graph.edges).into.get(id) ?? NONE;
