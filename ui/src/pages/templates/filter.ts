/** Owns which templates the address asks for. */
import type { TemplateListed } from '@wfstudio/client';
import { tx } from '../../i18n';

type Complexity = NonNullable<TemplateListed['complexity']>;
export const COMPLEXITIES = ['basic', 'intermediate', 'advanced'] as const satisfies readonly Complexity[];

export interface Wanted {
  type: 'agents' | 'workflows' | null;
  complexity: Complexity | null;
  category: string;
  tag: string;
  q: string;
}

/** Words that mean nothing are as if they were not there. */
export function wantedOf(params: URLSearchParams): Wanted {
  const type = { agent: 'agents', agents: 'agents', workflow: 'workflows', workflows: 'workflows' } as const;
  const complexity = params.get('complexity');
  return {
    type: type[(params.get('type') ?? '') as keyof typeof type] ?? null,
    complexity: COMPLEXITIES.find((one) => one === complexity) ?? null,
    category: params.get('category') ?? '',
    tag: params.get('tag') ?? '',
    q: params.get('q') ?? '',
  };
}

/** What the studio itself brings is described in the language of the pages. */
export const told = (one: TemplateListed): TemplateListed =>
  one.source === 'bundled' ? { ...one, description: tx(`brought.${one.id}`, one.description) } : one;

export const isFiltered = (wanted: Wanted): boolean => Object.values(wanted).some(Boolean);

const same = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

/** Only workflows have a complexity: who asks for one asks for workflows. */
export function fits(one: TemplateListed, { type, complexity, category, tag, q }: Wanted): boolean {
  if (type && `${one.type}s` !== type) return false;
  if (complexity && one.complexity !== complexity) return false;
  if (category && !same(one.category, category)) return false;
  if (tag && !one.tags.some((own) => same(own, tag))) return false;
  const words = q.trim().toLowerCase();
  return !words || [one.id, one.name, one.description, ...one.tags].join('\n').toLowerCase().includes(words);
}

/** Every category once, in the order of the alphabet. */
export const categoriesOf = (all: TemplateListed[], tag: string): string[] =>
  [...new Set(all.map((one) => one.category).filter(Boolean))].sort((a, b) => a.localeCompare(b, tag));

/** Simple ones first; what has no complexity keeps its place. */
export const bySimplicity = (all: TemplateListed[]): TemplateListed[] => {
  const rank = (one: TemplateListed): number => (one.complexity ? COMPLEXITIES.indexOf(one.complexity) : 0);
  return [...all].sort((a, b) => rank(a) - rank(b));
};
