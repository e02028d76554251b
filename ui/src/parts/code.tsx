/** Owns JSON as people read it, with a cut for large values. */
import { useMemo, useState, type ReactElement, type ReactNode } from 'react';
import { t } from '../i18n';

const TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(true|false|null)\b/g;
const LIMIT = 64 * 1024;

export function paint(text: string): ReactNode[] {
  const out: ReactNode[] = [];
  let last = 0;
  for (const match of text.matchAll(TOKEN)) {
    if (match.index > last) out.push(text.slice(last, match.index));
    const kind = match[1] ? (match[2] ? 'k' : 's') : 'nu';
    out.push(
      <span key={match.index} className={kind}>
        {match[1] ?? match[0]}
      </span>,
    );
    if (match[1] && match[2]) out.push(match[2]);
    last = match.index + match[0].length;
  }
  out.push(text.slice(last));
  return out;
}

const DATA = /^data:([\w/+.-]+);base64,/;
export function plain(value: unknown): string {
  if (typeof value === 'string' && DATA.test(value)) return `[${DATA.exec(value)?.[1]}]`;
  return typeof value === 'string'
    ? value
    : (JSON.stringify(
        value,
        (_k, v: unknown) => (typeof v === 'string' && v.length > 400 && DATA.test(v) ? `[${DATA.exec(v)?.[1]}]` : v),
        2,
      ) ?? '');
}

export function Code({ value, maxHeight = 420 }: { value: unknown; maxHeight?: number }): ReactElement {
  const [whole, setWhole] = useState(false);
  const text = useMemo(() => plain(value), [value]);
  const cut = !whole && text.length > LIMIT;
  const shown = cut ? text.slice(0, LIMIT) : text;
  return (
    <>
      <pre className="code" style={{ maxHeight }} tabIndex={0} role="group" aria-label="JSON">
        {typeof value === 'string' ? shown : paint(shown)}
      </pre>
      {cut && (
        <button type="button" className="link small" onClick={() => setWhole(true)}>
          {t('load.rest')}
        </button>
      )}
    </>
  );
}

/** A call as one line: name(key: value, …). */
export function callText(input: unknown, max = 90): string {
  const text = Object.entries(input ?? {})
    .map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
    .join(', ');
  return text.length > max ? `${text.slice(0, max)}…` : text;
}
