/** Owns asking a base and seeing what it would answer with. */
import { useMutation } from '@tanstack/react-query';
import { Search } from 'lucide-react';
import { useState, type ReactElement } from 'react';
import { post } from '../../api/client';
import type { KnowledgeBase, SearchAnswer } from '@wfstudio/client';
import { JsonField } from '../../editor/json-field';
import { unread } from '../../parts/field';
import { tag, t } from '../../i18n';
import { Button } from '../../parts/button';
import { ChoiceField, NumberField, TextField } from '../../parts/form';
import { Located } from '../../parts/place';
import { textOf } from '../../parts/toast';

export function Tester({
  base,
}: {
  base: { id: string; retrieval_defaults: Pick<KnowledgeBase['retrieval_defaults'], 'top_k' | 'threshold'> };
}): ReactElement {
  const [query, setQuery] = useState('');
  const [mode, setMode] = useState('');
  const [topK, setTopK] = useState<number | null>(null);
  const [threshold, setThreshold] = useState<number | null>(null);
  const [filter, setFilter] = useState<Record<string, unknown>>({});
  const ask = useMutation({
    mutationFn: () =>
      post<SearchAnswer>(`/api/knowledge-bases/${base.id}/search`, {
        query,
        ...(mode ? { mode } : {}),
        ...(topK ? { top_k: topK } : {}),
        ...(threshold !== null ? { threshold } : {}),
        ...(Object.keys(filter).length ? { filter } : {}),
      }),
  });
  const filtered = Object.keys(filter).length > 0;
  const score = (n: number): string => n.toLocaleString(tag, { minimumFractionDigits: 2, maximumFractionDigits: 2 });
  return (
    <>
      <h2>{t('kb.ask')}</h2>
      <form
        className="stack"
        onSubmit={(e) => {
          e.preventDefault();
          if (query.trim() && !unread('.side')) ask.mutate();
        }}
      >
        <TextField label={t('key.query')} rows={2} value={query} onChange={setQuery} placeholder={t('kb.ask.hint')} />
        <div style={{ display: 'grid', gridTemplateColumns: '1fr 1fr 1fr', gap: 8 }}>
          <ChoiceField
            label={t('key.mode')}
            value={mode}
            onChange={setMode}
            choices={[
              { value: '', label: t('default') },
              { value: 'hybrid', label: t('value.hybrid') },
              { value: 'vector', label: t('value.vector') },
              { value: 'text', label: t('value.text') },
            ]}
          />
          <NumberField
            label={t('key.top_k')}
            value={topK}
            min={1}
            max={100}
            placeholder={String(base.retrieval_defaults?.top_k ?? 5)}
            onChange={setTopK}
          />
          <NumberField
            label={t('key.threshold')}
            value={threshold}
            min={0}
            max={1}
            step="any"
            placeholder={base.retrieval_defaults?.threshold == null ? '–' : String(base.retrieval_defaults.threshold)}
            onChange={setThreshold}
          />
        </div>
        <details className="more" open={filtered || undefined}>
          <summary>{t('kb.filter')}</summary>
          <JsonField
            label={t('kb.filter.label')}
            hint={t('kb.filter.hint')}
            rows={3}
            value={filter}
            onChange={(v) => setFilter((v && typeof v === 'object' ? v : {}) as Record<string, unknown>)}
          />
        </details>
        <div>
          <Button icon={Search} type="submit" look="pri" disabled={ask.isPending || !query.trim()}>
            {ask.isPending ? t('kb.asking') : t('kb.ask.do')}
          </Button>
        </div>
      </form>
      <div aria-live="polite" className="stack" style={{ gap: 10 }}>
        {ask.isError && <div className="note-box fail">{textOf(ask.error)}</div>}
        {ask.data?.warnings?.map((w) => (
          <div key={w.code} className="note-box wait">
            {w.message}
          </div>
        ))}
        {ask.data && (
          <p className="mut small">
            {ask.data.chunk_count
              ? `${t('chunks', { n: ask.data.chunk_count })} · ${t('kb.best')} ${score(ask.data.top_score)}`
              : t('kb.nothing')}
          </p>
        )}
        {ask.data?.results.map((chunk, n) => (
          <article key={chunk.id} className="card" style={{ padding: '9px 11px' }}>
            <div className="row small">
              <span className="pill">{n + 1}</span>
              <Located name={chunk.source_name} of={{ ...chunk, knowledge_base_id: base.id }} />
              <span className="sp" />
              <span className="meter" aria-hidden="true">
                <i style={{ width: `${Math.max(0, Math.min(1, chunk.score)) * 100}%` }} />
              </span>
              <span className="mono">{score(chunk.score)}</span>
            </div>
            <p style={{ marginTop: 6, whiteSpace: 'pre-wrap', overflowWrap: 'anywhere', fontSize: 12.5, lineHeight: '18px' }}>
              {chunk.content}
            </p>
            {Object.keys(chunk.metadata ?? {}).length > 0 && (
              <p className="mono mut" style={{ marginTop: 4, overflowWrap: 'anywhere' }}>
                {JSON.stringify(chunk.metadata)}
              </p>
            )}
          </article>
        ))}
      </div>
    </>
  );
}
