/** Owns reading a tried-out run: the step that stands before a node only to stop there, and the nodes a trial adds. */
import { t } from '../i18n';
import type { RunView, StepView, Waiting } from './view';

const BEFORE = 'before-';

/** The node that a stop stands before; null for any other node. */
export const stopsBefore = (nodeId: string): string | null => (nodeId.startsWith(BEFORE) ? nodeId.slice(BEFORE.length) : null);

/** The pause at a node, or just before it. */
export const pauseAt = (view: RunView, id: string): Waiting | undefined =>
  view.pauses.find((p) => p.node_id === id || p.node_id === BEFORE + id);

/** The step that a node shows: its own, unless the run stands just before it. */
export function stepAt(view: RunView, id: string): StepView | undefined {
  const before = view.steps[view.latest[BEFORE + id] ?? ''];
  return before?.state === 'waiting' ? before : view.steps[view.latest[id] ?? ''];
}

/** The name of a node that only a trial has. */
export function trialName(nodeId: string): string | null {
  const before = stopsBefore(nodeId);
  if (before) return t('trial.before', { name: before });
  if (nodeId.startsWith('pin-')) return t('trial.pin', { name: nodeId.slice(4) });
  return nodeId === 'trial-stop' ? t('type.stop') : null;
}

/** What to answer at a stop so that the run goes on with the input it had. */
export function keptInput(view: RunView): string {
  const { input } = view.state;
  return (typeof input === 'string' && input.trim() ? input : view.input.trim()) || '…';
}
