/** Owns what the page shows of a run; only the session of the page writes it. */
import { create } from 'zustand';
import type { Problem } from '@wfstudio/client';
import type { RunSession } from './session';
import { noRun, type RunView } from './view';

interface RunState {
  session: RunSession | null;
  view: RunView;
  streaming: boolean;
  /** The pauses whose answers are on their way. */
  answering: string[];
  /** Why the run is not watched any more, though it may go on. */
  lost: Problem | null;
}

export const nothing = (): Omit<RunState, 'session'> => ({ view: noRun(), streaming: false, answering: [], lost: null });
export const useRun = create<RunState>(() => ({ session: null, ...nothing() }));
