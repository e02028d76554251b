/** Owns what the shell tells about the line to the server: signed out, offline, reconnecting. */
import { create } from 'zustand';

interface Connection {
  signedOut: boolean;
  offline: boolean;
  /** The studio was updated while this tab was open: parts of it that were not loaded yet are gone. */
  updated: boolean;
  /** How often each stream that is cut has tried to go on. */
  cut: Record<string, number>;
}

export const useConnection = create<Connection>(() => ({ signedOut: false, offline: false, updated: false, cut: {} }));

export function tellConnection(change: Partial<Connection>): void {
  const now = useConnection.getState();
  const changed = (Object.keys(change) as (keyof Connection)[]).some((key) => now[key] !== change[key]);
  if (changed) useConnection.setState(change);
}

/** A part of the pages did not come: it is gone with an update where the host is there, else so is the line. */
export async function tellGone(): Promise<void> {
  const there = await fetch(location.href, { cache: 'no-store' }).then(
    (response) => response.status < 500,
    () => false,
  );
  tellConnection(there ? { updated: true } : { offline: true });
}

/** How often the stream of this name has tried to go on; 0 when it does. */
export function tellLine(name: string, tries: number): void {
  const { [name]: before, ...others } = useConnection.getState().cut;
  if ((before ?? 0) !== tries) useConnection.setState({ cut: tries ? { ...others, [name]: tries } : others });
}
