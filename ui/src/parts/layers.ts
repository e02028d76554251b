/** Owns which modal dialogs are open: what has to be heard and reached while one is must be in the topmost. */
import { create } from 'zustand';

export const useLayers = create<{ open: HTMLElement[] }>(() => ({ open: [] }));

export function layer(element: HTMLElement): () => void {
  useLayers.setState((s) => ({ open: [...s.open, element] }));
  return () => useLayers.setState((s) => ({ open: s.open.filter((x) => x !== element) }));
}
