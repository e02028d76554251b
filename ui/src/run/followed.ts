/** Owns which node of a run to look at. */
import type { RunView } from './view';

/** The node to look at: the step that waits for a person, else the one that began last and still works. */
export function followed(view: RunView): string | null {
  for (let n = view.order.length - 1; n >= 0; n--) {
    const step = view.steps[view.order[n] as string];
    if (step?.state === 'waiting') return step.nodeId;
  }
  const last = view.steps[view.order.at(-1) ?? ''];
  return last && last.nodeType !== 'fork' ? last.nodeId : null;
}
