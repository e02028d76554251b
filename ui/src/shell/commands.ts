/** Owns the commands that the page in view offers to the palette. */
import { useEffect } from 'react';
import { create } from 'zustand';
import type { IconType } from '../parts/icons';

export interface Command {
  id: string;
  label: string;
  group?: string;
  icon?: IconType;
  keys?: string;
  run: () => void;
}

export const useCommands = create<{ open: boolean; commands: Command[] }>(() => ({ open: false, commands: [] }));
export const openPalette = (): void => useCommands.setState({ open: true });
export const closePalette = (): void => useCommands.setState({ open: false });

export function useOffer(commands: Command[], deps: readonly unknown[]): void {
  useEffect(() => {
    useCommands.setState({ commands });
    return () => useCommands.setState({ commands: [] });
    // eslint-disable-next-line
  }, deps);
}
