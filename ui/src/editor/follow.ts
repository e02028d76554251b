/** Owns following a run with the view: only while the person has not moved it for five seconds. */
import { useReactFlow } from '@xyflow/react';
import { useEffect } from 'react';
import { followed } from '../run/followed';
import { useRun } from '../run/store';
import { centre, hidden } from './fit';
import { usePanels } from './panel';
import { useEditor } from './store';

const REST = 5000;
let touchedAt = -REST;

/** Called when a person moves the view. */
export const touchView = (at = performance.now()): void => {
  touchedAt = at;
};

/** Nobody has moved the view for a while. */
export const untouched = (): boolean => performance.now() - touchedAt >= REST;

export function useFollow(): void {
  const flow = useReactFlow();
  const on = usePanels((s) => s.follow);
  const running = useEditor((s) => s.mode === 'run');
  const node = useRun((s) => (on && running && s.streaming ? followed(s.view) : null));
  useEffect(() => {
    if (node && untouched() && hidden(flow, node)) centre(flow, node, 0);
  }, [node, flow]);
}
