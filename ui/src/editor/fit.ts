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
