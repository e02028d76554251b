/** Owns nodes gliding to their places: the document is there at once, only the picture takes its time. */
import { create } from 'zustand';
import { findNode } from '../graph/document';
import { calm } from './controls';
import type { Moved } from './flow';
import { act, useEditor } from './store';

/** Where nodes are drawn while they glide; null = where they are. */
export const useGlide = create<{ moved: Moved | null }>(() => ({ moved: null }));

let frame = 0;

/** Places between two others; `part` from 0 to 1, slower towards the end. */
export function between(from: Moved, to: Moved, part: number): Moved {
  const eased = 1 - (1 - part) ** 3;
  const along = (a: number, b: number): number => a + (b - a) * eased;
  return Object.fromEntries(
    Object.entries(to).map(([id, b]) => {
      const a = from[id] ?? b;
      return [id, { x: along(a.x, b.x), y: along(a.y, b.y) }];
    }),
  );
}

/** Moves nodes as one command and lets the picture follow, unless motion is unwanted. */
export function glideTo(positions: Moved): void {
  const { graph } = useEditor.getState();
  const from: Moved = Object.fromEntries(
    Object.keys(positions).flatMap((id) => {
      const node = findNode(graph, id);
      return node ? [[id, node.position]] : [];
    }),
  );
  const ms = calm();
  cancelAnimationFrame(frame);
  useGlide.setState({ moved: ms > 0 ? from : null });
  if (!act({ kind: 'move', positions })) return useGlide.setState({ moved: null });
  if (ms === 0) return;
  let began = 0;
  const step = (now: number): void => {
    began ||= now;
    const part = (now - began) / ms;
    useGlide.setState({ moved: part < 1 ? between(from, positions, part) : null });
    if (part < 1) frame = requestAnimationFrame(step);
  };
  frame = requestAnimationFrame(step);
}
