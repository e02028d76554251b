/** Owns which panels of the editor are open. */
import { create } from 'zustand';

export type Side = 'inspector' | 'outline' | 'json';
export type Dock = 'timeline' | 'events' | 'state' | 'problems';
interface Panels {
  side: Side;
  dock: Dock;
  dockOpen: boolean;
  find: boolean;
  help: boolean;
  palette: boolean;
  minimap: boolean;
  follow: boolean;
  locked: boolean;
  trial: { kind: 'pin' | 'only'; node: string } | null;
}

export const usePanels = create<Panels>(() => ({
  side: 'inspector',
  dock: 'timeline',
  dockOpen: true,
  find: false,
  help: false,
  palette: true,
  minimap: true,
  follow: true,
  locked: false,
  trial: null,
}));

export function panel(change: Partial<Panels>): void {
  const before = usePanels.getState();
  if (change.side && change.side === before.side && change.side !== 'inspector') change = { ...change, side: 'inspector' };
  usePanels.setState({ ...change, ...(change.dock ? { dockOpen: true } : {}) });
}
