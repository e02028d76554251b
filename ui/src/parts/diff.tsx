/** Owns how a change of state reads. */
import type { ReactElement } from 'react';
import { changes } from '../graph/diff';
import { t } from '../i18n';

export function brief(value: unknown, max = 400): string {
  if (Array.isArray(value) && value.length > 3) return `[${t('items', { n: value.length })}]`;
  const text = typeof value === 'string' ? JSON.stringify(value) : (JSON.stringify(value) ?? 'null');
  return text.length > max ? `${text.slice(0, max)}…` : text;
}

export function ChangesList({ before, after }: { before: Record<string, unknown>; after: Record<string, unknown> }): ReactElement {
  const list = changes(before, after);
  const touched = new Set(list.map((c) => c.path.split('.')[0]));
  const kept = Object.keys(after).filter((k) => !touched.has(k));
  return (
    <div className="diff">
      {kept.length > 0 && (
        <div>
          <span />
          <span className="k">{t('state.unchanged', { n: kept.length })}</span>
        </div>
      )}
      {list.map((c) => (
        <div key={c.path} className={c.kind === 'added' ? 'a' : c.kind === 'removed' ? 'd' : 'c'}>
          <span aria-label={t(`diff.${c.kind}`)} role="img">
            {c.kind === 'added' ? '+' : c.kind === 'removed' ? '−' : '~'}
          </span>
          <span>
            {c.path}:{' '}
            {c.kind === 'changed' ? `${brief(c.before, 120)} → ${brief(c.after)}` : brief(c.kind === 'added' ? c.after : c.before)}
          </span>
        </div>
      ))}
      {list.length === 0 && kept.length === 0 && (
        <div>
          <span />
          <span className="k">{t('state.empty')}</span>
        </div>
      )}
    </div>
  );
}
