/** Owns what the next runs try out: stops before nodes, pinned answers. Kept on this machine, never in the graph. */
import { create } from 'zustand';
import type { Graph, GraphNode } from '@wfstudio/client';
import { mount } from '../api/root';
import { isBound } from '../graph/connect';

export interface Trials {
  workflow: string;
  breaks: string[];
  pins: Record<string, unknown>;
}
export interface Trial {
  break_before?: string[];
  pins?: Record<string, unknown>;
  only?: string;
}

export const useTrials = create<Trials>(() => ({ workflow: '', breaks: [], pins: {} }));

const key = (workflow: string): string => `studio.trials:${mount}:${workflow}`;

export function openTrials(workflow: string): void {
  let kept: Partial<Trials> = {};
  try {
    kept = JSON.parse(localStorage.getItem(key(workflow)) ?? '{}') as Partial<Trials>;
  } catch {
    /* as if nothing was kept */
  }
  useTrials.setState({
    workflow,
    breaks: Array.isArray(kept.breaks) ? kept.breaks : [],
    pins: kept.pins && typeof kept.pins === 'object' ? kept.pins : {},
  });
}

/** What another tab of this workflow changes holds here too, and is not overwritten from here. */
export function followTrials(): () => void {
  const hear = (event: StorageEvent): void => {
    const { workflow } = useTrials.getState();
    if (event.key === key(workflow)) openTrials(workflow);
  };
  window.addEventListener('storage', hear);
  return () => window.removeEventListener('storage', hear);
}

function keep(change: Partial<Trials>): void {
  useTrials.setState(change);
  const { workflow, breaks, pins } = useTrials.getState();
  try {
    if (breaks.length || Object.keys(pins).length) localStorage.setItem(key(workflow), JSON.stringify({ breaks, pins }));
    else localStorage.removeItem(key(workflow));
  } catch {
    /* it holds until the page is left */
  }
}

export function toggleBreak(id: string): boolean {
  const { breaks } = useTrials.getState();
  const on = !breaks.includes(id);
  keep({ breaks: on ? [...breaks, id] : breaks.filter((b) => b !== id) });
  return on;
}
export const pin = (id: string, value: unknown): void => keep({ pins: { ...useTrials.getState().pins, [id]: value } });
export function unpin(id: string): void {
  const pins = { ...useTrials.getState().pins };
  delete pins[id];
  keep({ pins });
}
export const clearTrials = (): void => keep({ breaks: [], pins: {} });

const WRITERS = new Set(['agent', 'llm', 'rag', 'tool', 'mcp', 'human']);
export const canPin = (node: GraphNode, graph: Graph): boolean => WRITERS.has(node.type) && !isBound(node, graph);
export const canBreak = (node: GraphNode, graph: Graph): boolean => !['start', 'join', 'note'].includes(node.type) && !isBound(node, graph);
export const canRunAlone = (node: GraphNode, graph: Graph): boolean => canPin(node, graph) || node.type === 'set_state';

/** The trial of a run of this graph: only what it still has. */
export function trialFor(graph: Graph, { breaks, pins }: Pick<Trials, 'breaks' | 'pins'>): Trial | undefined {
  const stops = breaks.filter((id) => graph.nodes.some((n) => n.id === id && canBreak(n, graph)));
  const fixed = Object.entries(pins).filter(([id]) => graph.nodes.some((n) => n.id === id && canPin(n, graph)));
  if (!stops.length && !fixed.length) return undefined;
  return { ...(stops.length ? { break_before: stops } : {}), ...(fixed.length ? { pins: Object.fromEntries(fixed) } : {}) };
}
