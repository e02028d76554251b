/** Owns following a run with the view: only while the person has not moved it for five seconds. */
import { useReactFlow } from '@xyflow/react';
import { useEffect } from 'react';
import { followed } from '../run/followed';
import { useRun } from '../run/store';
import { calm } from './controls';
import { usePanels } from './panel';
import { shown } from './shown';
import { useEditor } from './store';

const REST = 5000;
let touchedAt = -REST;

/** Called when a person moves the view. */
export const touchView = (at = performance.now()): void => { touchedAt = at; };

/** Nobody has moved the view for a while. */
export const untouched = (): boolean => performance.now() - touchedAt >= REST;

export function useFollow(): void {
  const flow = useReactFlow();
  const on = usePanels((s) => s.follow);
  const running = useEditor((s) => s.mode === 'run');
  const node = useRun((s) => (on && running && s.streaming ? followed(s.view) : null));
  useEffect(() => {
    const placed = node ? shown().byId.get(node) : undefined;
    const box = document.querySelector('#canvas .react-flow')?.getBoundingClientRect();
    if (!placed || !box || !untouched()) return;
    const a = flow.flowToScreenPosition({ x: placed.left, y: placed.top });
    const b = flow.flowToScreenPosition({ x: placed.right, y: placed.bottom });
    if (a.x >= box.left && a.y >= box.top && b.x <= box.right && b.y <= box.bottom - 60) return;
    void flow.setCenter((placed.left + placed.right) / 2, (placed.top + placed.bottom) / 2, { zoom: flow.getZoom(), duration: calm() });
  }, [node, flow]);
}
