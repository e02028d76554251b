/** Owns fitting the whole graph into view; computed from known sizes, since culled nodes have no measure. */
import { getViewportForBounds, type Node, type ReactFlowInstance } from '@xyflow/react';
import { calm } from './controls';

const ROOM = { top: '36px', left: '36px', right: '36px', bottom: '64px' } as const;

export function fitAll(flow: Pick<ReactFlowInstance, 'getNodes' | 'setViewport'>, animate = true): void {
  const box = document.querySelector('#canvas .react-flow')?.getBoundingClientRect();
  const nodes: Node[] = flow.getNodes();
  if (!box || box.width === 0 || nodes.length === 0) return;
  const x = Math.min(...nodes.map((n) => n.position.x));
  const y = Math.min(...nodes.map((n) => n.position.y));
  const right = Math.max(...nodes.map((n) => n.position.x + (n.width ?? 200)));
  const bottom = Math.max(...nodes.map((n) => n.position.y + (n.height ?? 60)));
  void flow.setViewport(getViewportForBounds({ x, y, width: right - x, height: bottom - y }, box.width, box.height, 0.08, 1, ROOM), { duration: animate ? calm() : 0 });
}
