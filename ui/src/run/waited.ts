/** Owns telling when a finished step waited. */
import type { Span } from '@wfstudio/client';
import type { Row } from './rows';

const time = (text: string | null | undefined): number | null => (text ? Date.parse(text) : null);

/** A finished step whose clock ran longer than its work was waiting: in the widest gap between its spans, else in the middle. */
export function waited(start: number, end: number | null, ms: number | null, own: Span[]): Row['waits'] {
  const wait = end === null || ms === null ? 0 : end - start - ms;
  if (end === null || ms === null || wait < 20 || (wait < 500 && wait < ms * 4)) return [];
  let from = start + ms * 0.6;
  let widest = 0;
  let last = start;
  for (const span of [...own].sort((a, b) => (time(a.started_at) ?? 0) - (time(b.started_at) ?? 0))) {
    const began = time(span.started_at) ?? last;
    if (began - last > widest && began - last >= wait * 0.7) {
      widest = began - last;
      from = last;
    }
    last = Math.max(last, time(span.finished_at) ?? began);
  }
  return [{ from, to: Math.min(end, from + wait) }];
}
