/** Owns bringing the graph, or a part of it, into view; computed from known sizes, since not every node is mounted. */
import type { ReactFlowInstance } from '@xyflow/react';
import type { Rect } from '../graph/scene';
import { brought, fitted, leastZoom, sameView, type View } from '../graph/view';
import { calm } from './controls';
import { usePanels } from './panel';
import { boundsOf, shown, shownWhole } from './shown';
import { only, useEditor } from './store';

type Flow = Pick<ReactFlowInstance, 'getViewport' | 'setViewport'>;

const EDGE = 20;
/** Above the buttons on the canvas, above the small map. */
const BUTTONS = 56;
const MAP = 132;

/** What of the canvas can be seen: on narrow screens a side panel lies over it. */
function room(edge: number, bottom = edge): Rect | null {
  const box = document.querySelector('#canvas .react-flow')?.getBoundingClientRect();
  if (!box?.width) return null;
  const side = document.querySelector('.ed > .insp')?.getBoundingClientRect();
  const right = side && side.top < box.bottom && side.left < box.right ? side.left : box.right;
  return {
    left: document.querySelector('.palopen') ? edge + 28 : edge,
    top: edge,
    right: right - box.left - edge,
    bottom: box.height - bottom,
  };
}

function go(flow: Flow, view: View, animate = true): void {
  void flow.setViewport(view, { duration: animate ? calm() : 0 });
}

/** Where the view went when the graph was fitted last, and until when it is on its way. */
let last: { view: View; until: number } | null = null;
const isFitted = (flow: Flow): boolean => last !== null && (performance.now() < last.until || sameView(flow.getViewport(), last.view));

export function fitAll(flow: Flow, animate = true): void {
  const free = room(EDGE, BUTTONS);
  const { nodes, byId } = shown();
  if (!free || nodes.length === 0) return;
  const least = leastZoom(nodes.length);
  let view = fitted(shownWhole(), free, 0);
  if (view.zoom < least) {
    if (usePanels.getState().minimap) free.bottom += BUTTONS - MAP;
    view = fitted(shownWhole(), free, least);
    for (const node of [nodes.find((n) => n.source.type === 'start'), byId.get(only(useEditor.getState()) ?? '')])
      if (node) view = brought(view, node, free);
  }
  go(flow, view, animate);
  last = { view, until: animate ? performance.now() + calm() + 40 : 0 };
}

export function fitNodes(flow: Flow, ids: string[]): void {
  const free = room(EDGE, BUTTONS);
  if (free) go(flow, fitted(boundsOf(ids), free, 0.08));
}

/** The view in which a node is seen whole; nothing where it is already. */
function better(flow: Flow, id: string): View | null {
  const node = shown().byId.get(id);
  const free = room(EDGE / 2);
  if (!node || !free) return null;
  const before = flow.getViewport();
  const view = brought(before, node, free);
  return sameView(before, view) ? null : view;
}

export const hidden = (flow: Flow, id: string): boolean => better(flow, id) !== null;
export function reveal(flow: Flow, id: string): void {
  const view = better(flow, id);
  if (view) go(flow, view);
}

/** Puts a node into the middle, once what it opens stands beside the canvas. */
export function centre(flow: Flow, id: string, least = 0.8): void {
  requestAnimationFrame(() => {
    const node = shown().byId.get(id);
    const free = room(EDGE);
    const zoom = Math.max(least, flow.getViewport().zoom);
    if (node && free) go(flow, fitted(node, free, zoom, zoom));
  });
}

/** When the room on the canvas has changed: the chosen node comes out from under a panel; a graph that was fitted, with none chosen, is fitted again. */
export function keepInView(flow: Flow): void {
  const id = only(useEditor.getState());
  if (id) reveal(flow, id);
  else if (isFitted(flow)) fitAll(flow);
}
