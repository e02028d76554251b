/** Owns bringing the graph, or a part of it, into view; computed from known sizes, since not every node is mounted. */
import { getViewportForBounds, type ReactFlowInstance } from '@xyflow/react';
import { calm } from './controls';
import { boundsOf, shown } from './shown';

const ROOM = { top: '36px', left: '36px', right: '36px', bottom: '64px' } as const;
type View = Pick<ReactFlowInstance, 'setViewport'>;

function fit(flow: View, { left, top, right, bottom }: { left: number; top: number; right: number; bottom: number }, animate: boolean): void {
  const box = document.querySelector('#canvas .react-flow')?.getBoundingClientRect();
  if (!box || box.width === 0 || right <= left) return;
  void flow.setViewport(getViewportForBounds({ x: left, y: top, width: right - left, height: bottom - top }, box.width, box.height, 0.08, 1, ROOM), { duration: animate ? calm() : 0 });
}

export const fitAll = (flow: View, animate = true): void => fit(flow, shown().bounds, animate);
export const fitNodes = (flow: View, ids: string[]): void => fit(flow, boundsOf(ids), true);

/** Moves the view by as little as brings the node into it whole. */
export function reveal(flow: Pick<ReactFlowInstance, 'getViewport' | 'setViewport'>, id: string): void {
  const node = shown().byId.get(id);
  const box = document.querySelector('#canvas .react-flow')?.getBoundingClientRect();
  if (!node || !box) return;
  const { x, y, zoom } = flow.getViewport();
  const dx = nudge(node.left * zoom + x, node.right * zoom + x, box.width);
  const dy = nudge(node.top * zoom + y, node.bottom * zoom + y, box.height);
  if (dx || dy) void flow.setViewport({ x: x + dx, y: y + dy, zoom }, { duration: calm() });
}

/** Until the inspector stands beside the canvas. */
const BESIDE = 90;
export const revealSoon = (flow: Parameters<typeof reveal>[0], id: string): void => { setTimeout(() => reveal(flow, id), BESIDE); };

const EDGE = 20;
const nudge = (from: number, to: number, room: number): number => (to - from > room - 2 * EDGE ? 0 : from < EDGE ? EDGE - from : to > room - EDGE ? room - EDGE - to : 0);
