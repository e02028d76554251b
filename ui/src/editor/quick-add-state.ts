/** Owns where quick add opens and what it adds to. */
import { create } from 'zustand';
import type { End } from '../graph/connect';

export interface QuickAdd {
  x: number;
  y: number;
  at: { x: number; y: number };
  from?: End;
  edge?: string;
}
export const useQuickAdd = create<{ open: QuickAdd | null }>(() => ({ open: null }));
export const openQuickAdd = (open: QuickAdd): void => useQuickAdd.setState({ open });
export const closeQuickAdd = (): void => useQuickAdd.setState({ open: null });
