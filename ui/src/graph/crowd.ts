/** Owns which nodes of a crowded graph are worth mounting: those near the view; from far away only those in use. */
import { meets, type Rect, type Scene } from './scene';

/** Graphs beyond this many nodes are drawn, and mounted where the view is. */
export const CROWD = 160;
/** Below this zoom a crowded graph is only drawn. */
export const FAR = 0.4;
const TILE = 640;
const MARGIN = 120;
const MOST = 260;

export const crowded = (scene: Scene): boolean => scene.nodes.length > CROWD;

/** The tiles in view as text, so that a view that moves within them changes nothing. */
export function tilesIn({ transform, width, height }: { transform: [number, number, number]; width: number; height: number }): string {
  const [x, y, zoom] = transform;
  if (zoom < FAR || width === 0) return 'far';
  const tile = (at: number): number => Math.floor(at / TILE);
  return [tile(-x / zoom - MARGIN), tile(-y / zoom - MARGIN), tile((width - x) / zoom + MARGIN), tile((height - y) / zoom + MARGIN)].join();
}

export function rectOf(tiles: string): Rect {
  const [left = 0, top = 0, right = 0, bottom = 0] = tiles.split(',').map(Number);
  return { left: left * TILE, top: top * TILE, right: (right + 1) * TILE, bottom: (bottom + 1) * TILE };
}

/** Nodes in the tiles, and those to keep; too many at once stay drawn. */
export function mountedIn(scene: Scene, tiles: string, keep: readonly string[]): Set<string> {
  const ids = new Set(keep);
  if (tiles === 'far') return ids;
  const rect = rectOf(tiles);
  const near = scene.nodes.filter((n) => meets(n, rect));
  if (near.length <= MOST) for (const n of near) ids.add(n.id);
  return ids;
}
