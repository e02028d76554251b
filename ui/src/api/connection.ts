/** Owns what the shell tells about the line to the server: signed out, offline, reconnecting. */
import { create } from 'zustand';

interface Connection {
  signedOut: boolean;
  offline: boolean;
  reconnecting: number;
}

export const useConnection = create<Connection>(() => ({ signedOut: false, offline: false, reconnecting: 0 }));

export function tellConnection(change: Partial<Connection>): void {
  const now = useConnection.getState();
  const changed = (Object.keys(change) as (keyof Connection)[]).some((key) => now[key] !== change[key]);
  if (changed) useConnection.setState(change);
}
