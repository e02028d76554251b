/** Owns how changes read: of a state, of a definition. */
import type { ReactElement } from 'react';
import { changes, type Change } from '../graph/diff';
import { t } from '../i18n';

export function brief(value: unknown, max = 400): string {
  if (Array.isArray(value) && value.length > 3) return `[${t('items', { n: value.length })}]`;
  const text = typeof value === 'string' ? JSON.stringify(value) : (JSON.stringify(value) ?? 'null');
  return text.length > max ? `${text.slice(0, max)}…` : text;
}

/** How much of what two texts have in common is shown around what differs. */
const AROUND = 40;

/** Two texts cut to where they differ. */
export function apart(before: string, after: string): [string, string] {
  const most = Math.min(before.length, after.length);
  let head = 0;
  while (head < most && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < most - head && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  const from = head > AROUND * 2 ? head - AROUND : 0;
  const cut = (text: string): string => {
    const to = tail > AROUND * 2 ? text.length - tail + AROUND : text.length;
    return `${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}`;
  };
  return [cut(before), cut(after)];
}

const pair = ({ before, after }: Change): string => {
  const [was, is] = typeof before === 'string' && typeof after === 'string' ? apart(before, after) : [before, after];
  return `${brief(was, 240)} → ${brief(is)}`;
};

const SIGNS = { added: ['a', '+'], removed: ['d', '−'], changed: ['c', '~'] } as const;

function Rows({ list, label = (path) => path }: { list: Change[]; label?: (path: string) => string }): ReactElement {
  return (
    <>
      {list.map((c) => (
        <div key={c.path} className={SIGNS[c.kind][0]}>
          <span aria-label={t(`diff.${c.kind}`)} role="img">
            {SIGNS[c.kind][1]}
          </span>
          <span>
            {label(c.path)}: {c.kind === 'changed' ? pair(c) : brief(c.kind === 'added' ? c.after : c.before)}
          </span>
        </div>
      ))}
    </>
  );
}

const Quiet = ({ text }: { text: string }): ReactElement => (
  <div>
    <span />
    <span className="k">{text}</span>
  </div>
);

/** What differs, and nothing else. */
export const DiffList = ({ list, label }: { list: Change[]; label: (path: string) => string }): ReactElement => (
  <div className="diff">
    <Rows list={list} label={label} />
    {list.length === 0 && <Quiet text={t('diff.none')} />}
  </div>
);

export function ChangesList({ before, after }: { before: Record<string, unknown>; after: Record<string, unknown> }): ReactElement {
  const list = changes(before, after);
  const touched = new Set(list.map((c) => c.path.split('.')[0]));
  const kept = Object.keys(after).filter((k) => !touched.has(k));
  return (
    <div className="diff">
      {kept.length > 0 && <Quiet text={t('state.unchanged', { n: kept.length })} />}
      <Rows list={list} />
      {list.length === 0 && kept.length === 0 && <Quiet text={t('state.empty')} />}
    </div>
  );
}
