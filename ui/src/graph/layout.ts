/** Owns tidying: dagre in a worker, bound tools under their agent. */
import type { Graph, GraphSchema } from '@wfstudio/client';
import { isBound } from './connect';
import { isBinding } from './document';
import type { LayoutJob } from './layout.worker';
import { measure } from './measure';
import workerUrl from './layout.worker?worker&url';

type Spots = Record<string, { x: number; y: number }>;
interface Policy {
  createScriptURL(url: string): unknown;
}
const types = (globalThis as { trustedTypes?: { createPolicy(name: string, rules: { createScriptURL: (url: string) => string }): Policy } })
  .trustedTypes;
const policy = types?.createPolicy('studio-worker', { createScriptURL: (url) => url });

export const LIMIT = 600;

export function tidyUp(graph: Graph, schema: GraphSchema | undefined, only: string[] | null): Promise<Spots> {
  const wanted = new Set(only ?? graph.nodes.map((n) => n.id));
  const flow = graph.nodes.filter((n) => wanted.has(n.id) && !isBound(n, graph));
  const boxes = new Map(graph.nodes.map((n) => [n.id, measure(n, graph, schema, 'plain')]));
  const bound = (id: string): string[] =>
    graph.edges.filter((e) => e.target === id && isBinding(e) && wanted.has(e.source)).map((e) => e.source);
  const job: LayoutJob = {
    nodes: flow.map((n) => {
      const box = boxes.get(n.id) ?? { width: 200, height: 60 };
      const tools = bound(n.id);
      const toolsWidth = tools.reduce((sum, t) => sum + (boxes.get(t)?.width ?? 0) + 14, -14);
      return { id: n.id, width: Math.max(box.width, toolsWidth), height: box.height + (tools.length ? 110 : 0) };
    }),
    edges: graph.edges.filter((e) => !isBinding(e) && wanted.has(e.source) && wanted.has(e.target)),
  };
  const url = policy ? (policy.createScriptURL(workerUrl) as string) : workerUrl;
  const worker = new Worker(url, { type: 'module' });
  return new Promise((resolve, reject) => {
    worker.onerror = (event) => {
      worker.terminate();
      reject(new Error(event.message));
    };
    worker.onmessage = (message: MessageEvent<Spots>) => {
      worker.terminate();
      resolve(settle(message.data, graph, boxes, bound, only));
    };
    worker.postMessage(job);
  });
}

function settle(
  spots: Spots,
  graph: Graph,
  boxes: Map<string, { width: number; height: number }>,
  bound: (id: string) => string[],
  only: string[] | null,
): Spots {
  const before = graph.nodes.filter((n) => spots[n.id]);
  const anchor = only
    ? { x: Math.min(...before.map((n) => n.position.x)), y: Math.min(...before.map((n) => n.position.y)) }
    : { x: 60, y: 60 };
  const out: Spots = {};
  for (const [id, at] of Object.entries(spots)) out[id] = { x: at.x + anchor.x, y: at.y + anchor.y };
  const sources = new Set<string>();
  for (const id of Object.keys(spots)) {
    const at = out[id];
    const box = boxes.get(id);
    const tools = bound(id).filter((t) => !sources.has(t));
    if (!at || !box || tools.length === 0) continue;
    const total = tools.reduce((sum, t) => sum + (boxes.get(t)?.width ?? 120) + 14, -14);
    let x = at.x + box.width / 2 - total / 2;
    for (const tool of tools) {
      sources.add(tool);
      out[tool] = { x: Math.round(x), y: at.y + box.height + 56 };
      x += (boxes.get(tool)?.width ?? 120) + 14;
    }
  }
  return out;
}
