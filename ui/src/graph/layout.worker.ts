import { Graph, layout } from '@dagrejs/dagre';

export interface LayoutJob {
  nodes: { id: string; width: number; height: number }[];
  edges: { source: string; target: string }[];
}

self.onmessage = (message: MessageEvent<LayoutJob>): void => {
  const graph = new Graph().setGraph({ rankdir: 'LR', nodesep: 34, ranksep: 56, marginx: 0, marginy: 0 }).setDefaultEdgeLabel(() => ({}));
  for (const node of message.data.nodes) graph.setNode(node.id, { width: node.width, height: node.height });
  for (const edge of message.data.edges) graph.setEdge(edge.source, edge.target);
  layout(graph);
  const spots: Record<string, { x: number; y: number }> = {};
  for (const node of message.data.nodes) {
    const at = graph.node(node.id) as { x: number; y: number };
    spots[node.id] = { x: Math.round((at.x - node.width / 2) / 10) * 10, y: Math.round((at.y - node.height / 2) / 10) * 10 };
  }
  self.postMessage(spots);
};
