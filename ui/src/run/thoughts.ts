/** Owns how thoughts of a model are put together. */

/** Thoughts of several turns are told one after another. */
export const apart = (thought: string): string => (thought && !thought.endsWith('\n\n') ? `${thought}\n\n` : thought);

/** A thought that turned out to be the answer, because the model never ended it, is shown as the answer alone. */
export const unlike = (thought: string, answer: string): string => (thought.trim() === answer.trim() ? '' : thought);

/** The thoughts among the parts of a message. */
export const thoughtOf = (parts: unknown): string =>
  (Array.isArray(parts) ? (parts as { type?: unknown; text?: unknown }[]) : [])
    .flatMap((part) => (part?.type === 'reasoning' && typeof part.text === 'string' ? [part.text] : []))
    .join('\n\n');

/** What an answer rests on, as its provider says. */
export interface Cited {
  id: string;
  label: string;
  url: string | null;
  /** Where the address leads, when the label does not say it. */
  host: string | null;
}

/** An address that people may follow: nothing but a page of the web, and none that begins with the name of another. */
function webPage(url: unknown): URL | null {
  if (typeof url !== 'string' || !/^https?:\/\/[^/?#\\@]+([/?#]|$)/i.test(url)) return null;
  try {
    return new URL(url);
  } catch {
    return null;
  }
}

export function cited(source: Record<string, unknown>): Cited {
  const url = webPage(source.url);
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  const name = text(source.title) || text(source.document_id);
  const label = name || (url?.href ?? text(source.url));
  return {
    id: text(source.source_id),
    label: typeof source.page === 'number' ? `${label}, ${source.page}` : label,
    url: url?.href ?? null,
    host: name && url ? url.host : null,
  };
}

/** The sources among the parts of a message, each once. */
export function sourcesOf(parts: unknown): Cited[] {
  const all = (Array.isArray(parts) ? (parts as Record<string, unknown>[]) : []).filter((part) => part?.type === 'source').map(cited);
  return all.filter((one, at) => all.findIndex((other) => other.id === one.id) === at);
}

export const withSource = (list: Cited[], one: Cited): Cited[] => (list.some((known) => known.id === one.id) ? list : [...list, one]);
