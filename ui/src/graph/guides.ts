/** Owns what a dragged box is in line with. */
import type { Placed, Rect, Scene } from './scene';

export interface Guide extends Rect {
  key: string;
}
const NEAR = 900;

/** Lines through edges and middles that a box at `at` shares with other boxes around it. */
export function guidesFor(scene: Scene, id: string, at: { x: number; y: number }): Guide[] {
  const me = scene.byId.get(id);
  if (!me) return [];
  const mine: Rect = { left: at.x, top: at.y, right: at.x + me.box.width, bottom: at.y + me.box.height };
  const found = new Map<string, Guide>();
  const extend = (key: string, line: Rect): void => {
    const old = found.get(key);
    found.set(
      key,
      old
        ? {
            key,
            left: Math.min(old.left, line.left),
            top: Math.min(old.top, line.top),
            right: Math.max(old.right, line.right),
            bottom: Math.max(old.bottom, line.bottom),
          }
        : { key, ...line },
    );
  };
  for (const other of scene.nodes) {
    if (other.id === id || Math.abs(other.left - mine.left) > NEAR || Math.abs(other.top - mine.top) > NEAR) continue;
    for (const x of shared(stops(mine, 'left', 'right'), stops(other, 'left', 'right')))
      extend(`x${x}`, { left: x, right: x, top: Math.min(mine.top, other.top), bottom: Math.max(mine.bottom, other.bottom) });
    for (const y of shared(stops(mine, 'top', 'bottom'), stops(other, 'top', 'bottom')))
      extend(`y${y}`, { top: y, bottom: y, left: Math.min(mine.left, other.left), right: Math.max(mine.right, other.right) });
  }
  return [...found.values()].slice(0, 6);
}

const stops = (r: Rect | Placed, a: 'left' | 'top', b: 'right' | 'bottom'): number[] => [r[a], (r[a] + r[b]) / 2, r[b]];
const shared = (a: number[], b: number[]): number[] => a.filter((v, n) => Math.abs(v - (b[n] as number)) < 1);
