/** Owns finding which step wrote a key of the state. */
import type { Graph, Step } from '@wfstudio/client';
import { writtenKey } from '../graph/order';

/** The last step before `step` that wrote each key; steps beside it, in other branches, do not count. */
export function writersOf(
  steps: Step[],
  graph: Graph,
  step: Pick<Step, 'seq' | 'branch_path' | 'state_snapshot'>,
): { key: string; by: Step | null }[] {
  const keys = new Map(graph.nodes.map((node) => [node.id, writtenKey(node)]));
  const path = (step.branch_path ?? []).join('/');
  const within = (other: Step): boolean => {
    const own = (other.branch_path ?? []).join('/');
    return own === '' || path === own || path.startsWith(`${own}/`);
  };
  const last = new Map<string, Step>();
  for (const other of steps) {
    const key = keys.get(other.node_id);
    if (key && other.seq < step.seq && !other.superseded && within(other)) last.set(key, other);
  }
  return Object.keys(step.state_snapshot ?? {}).map((key) => ({ key, by: last.get(key) ?? null }));
}
