/** Owns where a view must stand for a part of the graph to be seen; in pixels of the canvas. */
import type { Rect } from './scene';

export interface View {
  x: number;
  y: number;
  zoom: number;
}

const READABLE = 0.5;
const DOZEN = 16;
const LEAST = 0.08;
/** What can be read is not made smaller; the more nodes there are, the more it is an overview that is wanted. */
export const leastZoom = (nodes: number): number => Math.max(LEAST, READABLE * Math.min(1, DOZEN / nodes));

/** `bounds` in the middle of `room`, or from its beginning on where it is too large at the least zoom. */
export function fitted(bounds: Rect, room: Rect, least: number, most = 1): View {
  const zoom = Math.min(
    most,
    Math.max(
      least,
      Math.min((room.right - room.left) / (bounds.right - bounds.left), (room.bottom - room.top) / (bounds.bottom - bounds.top)),
    ),
  );
  const along = (from: number, to: number, low: number, high: number): number =>
    low - from * zoom + Math.max(0, (high - low - (to - from) * zoom) / 2);
  return { x: along(bounds.left, bounds.right, room.left, room.right), y: along(bounds.top, bounds.bottom, room.top, room.bottom), zoom };
}

/** The view moved by as little as brings `rect` into `room`, or the beginning of it where it is too large. */
export function brought(view: View, rect: Rect, room: Rect): View {
  const { x, y, zoom } = view;
  return {
    x: x + nudge(rect.left * zoom + x, rect.right * zoom + x, room.left, room.right),
    y: y + nudge(rect.top * zoom + y, rect.bottom * zoom + y, room.top, room.bottom),
    zoom,
  };
}

const nudge = (from: number, to: number, low: number, high: number): number =>
  from < low || to - from > high - low ? low - from : Math.min(0, high - to);

export const sameView = (a: View, b: View): boolean =>
  Math.abs(a.x - b.x) < 0.5 && Math.abs(a.y - b.y) < 0.5 && Math.abs(a.zoom - b.zoom) < 0.001;
