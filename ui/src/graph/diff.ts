/** Owns what differs between two graphs, and between two states. */
import type { Graph } from '@wfstudio/client';
import { allNodes } from './document';

export interface GraphDiff {
  added: string[];
  removed: string[];
  changed: string[];
  edgesAdded: number;
  edgesRemoved: number;
}

export const same = (a: unknown, b: unknown): boolean => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value && typeof value === 'object')
    return Object.fromEntries(
      Object.entries(value)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([k, v]) => [k, sorted(v)]),
    );
  return value;
}

export function graphDiff(before: Graph, after: Graph): GraphDiff {
  const a = new Map(allNodes(before).map((n) => [n.id, n]));
  const b = new Map(allNodes(after).map((n) => [n.id, n]));
  const edge = (e: Graph['edges'][number]): string => `${e.source}.${e.sourceHandle}>${e.target}.${e.targetHandle}`;
  const ea = new Set(before.edges.map(edge));
  const eb = new Set(after.edges.map(edge));
  return {
    added: [...b.keys()].filter((id) => !a.has(id)),
    removed: [...a.keys()].filter((id) => !b.has(id)),
    changed: [...b.keys()].filter((id) => {
      const was = a.get(id);
      const is = b.get(id);
      return was && is && !same({ d: was.data, t: was.title, y: was.type }, { d: is.data, t: is.title, y: is.type });
    }),
    edgesAdded: [...eb].filter((e) => !ea.has(e)).length,
    edgesRemoved: [...ea].filter((e) => !eb.has(e)).length,
  };
}

export interface Change {
  path: string;
  kind: 'added' | 'removed' | 'changed';
  before?: unknown;
  after?: unknown;
}

/** Changes by JSON path; objects are walked, lists and plain values are compared whole. */
export function changes(before: unknown, after: unknown, path = ''): Change[] {
  const object = (v: unknown): v is Record<string, unknown> => !!v && typeof v === 'object' && !Array.isArray(v);
  if (object(before) && object(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return keys.flatMap((key) => {
      const at = path ? `${path}.${key}` : key;
      if (!(key in before)) return [{ path: at, kind: 'added' as const, after: after[key] }];
      if (!(key in after)) return [{ path: at, kind: 'removed' as const, before: before[key] }];
      return changes(before[key], after[key], at);
    });
  }
  return same(before, after) ? [] : [{ path, kind: 'changed', before, after }];
}
