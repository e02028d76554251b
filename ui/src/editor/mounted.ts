/** Owns which nodes are mounted as the view moves. */
import { useStore } from '@xyflow/react';
import { useMemo } from 'react';
import { crowded, mountedIn, tilesIn } from '../graph/crowd';
import type { Scene } from '../graph/scene';

/** Null when everything is mounted; until the view is placed, only what is to be kept. */
export function useMounted(scene: Scene, keep: readonly string[], placed: boolean): Set<string> | null {
  const crowd = crowded(scene);
  const tiles = useStore((s) => (!crowd ? '' : placed ? tilesIn(s) : 'far'));
  return useMemo(() => (crowd ? mountedIn(scene, tiles, keep) : null), [scene, crowd, tiles, keep]);
}
