/** Owns one knowledge base: documents, settings, and asking it. */
import { RefreshCw } from 'lucide-react';
import { useState, type ReactElement } from 'react';
import { post } from '../../api/client';
import { refresh, useProviders } from '../../api/queries';
import type { KnowledgeBase, RerankInput } from '@wfstudio/client';
import { t, tag } from '../../i18n';
import { bytes } from '../../i18n/figures';
import { Button } from '../../parts/button';
import { SaveButton, useDefinition, type Editing } from '../../parts/definition';
import { ChoiceField, NumberField, TextField } from '../../parts/form';
import { RerankField } from '../../parts/rerank';
import { Failure, SkeletonRows } from '../../parts/states';
import { Segments } from '../../parts/tabs';
import { toastError } from '../../parts/toast';
import { Top } from '../../shell/top';
import { useAddress } from '../../shell/place';
import { Documents } from './documents';
import { Tester } from './tester';

type Defaults = KnowledgeBase['retrieval_defaults'];
/** Null takes the reranker away. */
type Edited = Omit<KnowledgeBase, 'retrieval_defaults'> & { retrieval_defaults: Omit<Defaults, 'rerank'> & { rerank?: RerankInput } };

export default function Base({ id }: { id: string }): ReactElement {
  const editing = useDefinition<Edited>('knowledge-bases', id, {}, 'knowledge');
  const [params, setParams] = useAddress();
  const [busy, setBusy] = useState(false);
  const tab = params.get('tab') === 'settings' ? 'settings' : 'documents';
  const { value } = editing;
  const reindex = async (): Promise<void> => {
    setBusy(true);
    try {
      await post(`/api/knowledge-bases/${id}/reindex`);
      refresh('/api/knowledge-bases', `/api/knowledge-bases/${id}/documents`);
    } catch (error) {
      toastError(error);
    } finally {
      setBusy(false);
    }
  };
  const title = editing.saved?.name ?? '…';
  return (
    <>
      <Top
        crumbs={[{ label: t('nav.knowledge'), to: '/knowledge' }, { label: title }]}
        title={title}
        middle={
          <Segments
            label={t('kb.view')}
            value={tab}
            onChange={(v) => setParams({ tab: v === 'settings' ? v : null })}
            options={[
              { id: 'documents', label: t('kb.documents') },
              { id: 'settings', label: t('nav.settings') },
            ]}
          />
        }
      >
        <Button icon={RefreshCw} disabled={busy} onClick={() => void reindex()}>
          {t('kb.reindex')}
        </Button>
        {tab === 'settings' && <SaveButton editing={editing} />}
      </Top>
      {editing.error ? (
        <div className="page">
          <Failure error={editing.error} id={id} onRetry={editing.retry} list={{ to: '/knowledge', label: t('nav.knowledge') }} />
        </div>
      ) : !value ? (
        <div className="page">
          <SkeletonRows />
        </div>
      ) : (
        <div className="page fixed two">
          <div className="scroll">
            <div className="pad">
              {value.needs_reindex && (
                <div className="note-box wait">
                  <span>{t('kb.reindex.text')}</span>
                </div>
              )}
              <p className="mut small">
                {[t('kb.count', { n: value.document_count }), t('chunks', { n: value.chunk_count }), bytes(value.size_bytes)].join(' · ')} ·{' '}
                <span className="mono">
                  {value.embeddings_provider}/{value.embeddings_model}
                </span>
              </p>
              {tab === 'documents' ? <Documents id={value.id} /> : <Settings editing={editing} value={value} />}
            </div>
          </div>
          <aside className="side" aria-label={t('kb.ask')}>
            <Tester base={value} />
          </aside>
        </div>
      )}
    </>
  );
}

/** Whose words are found; `simple` takes them as they are. */
const LANGUAGES = 'simple ar da de el en es fi fr hu it ja ko nl no pt ro ru sv ta tr zh'.split(' ') as KnowledgeBase['language'][];

function Settings({ editing, value }: { editing: Editing<Edited>; value: Edited }): ReactElement {
  const { set, locked, errors } = editing;
  const providers = useProviders().data?.data ?? [];
  const names = new Intl.DisplayNames(tag, { type: 'language' });
  const e = (key: string): string | undefined => errors[key]?.[0];
  const models = providers.flatMap((p) => (p.embeddings ?? []).map((m) => ({ value: `${p.id}\n${m.id}`, label: `${p.id}/${m.id}` })));
  const defaults = value.retrieval_defaults ?? { mode: 'hybrid', top_k: 5, threshold: null, filter: {} };
  return (
    <form
      className="form"
      onSubmit={(ev) => {
        ev.preventDefault();
        void editing.save();
      }}
    >
      {locked && <div className="note-box">{t('locked')}</div>}
      <section>
        <h2>{t('sec.basics')}</h2>
        <TextField label={t('name')} value={value.name} onChange={(name) => set({ name })} error={e('name')} disabled={locked} />
        <TextField
          label={t('description')}
          rows={2}
          value={value.description}
          onChange={(description) => set({ description })}
          disabled={locked}
        />
        <ChoiceField
          label={t('kb.embeddings')}
          value={`${value.embeddings_provider}\n${value.embeddings_model}`}
          choices={models}
          onChange={(v) => {
            const [embeddings_provider, embeddings_model] = v.split('\n');
            set({ embeddings_provider, embeddings_model });
          }}
          error={e('embeddings_model')}
          hint={t('kb.embeddings.hint')}
          disabled={locked}
        />
        <ChoiceField
          label={t('language')}
          value={value.language}
          choices={LANGUAGES.map((code) => ({ value: code, label: names.of(code) ?? code }))}
          onChange={(language) => set({ language })}
          error={e('language')}
          disabled={locked}
        />
      </section>
      <section>
        <h2>{t('kb.retrieval')}</h2>
        <div className="grid2">
          <ChoiceField
            label={t('key.mode')}
            value={defaults.mode}
            choices={(['hybrid', 'vector', 'text'] as const).map((m) => ({ value: m, label: t(`value.${m}`) }))}
            onChange={(mode) => set({ retrieval_defaults: { ...defaults, mode } })}
            disabled={locked}
          />
          <NumberField
            label={t('key.top_k')}
            value={defaults.top_k}
            min={1}
            max={100}
            onChange={(n) => set({ retrieval_defaults: { ...defaults, top_k: n ?? 5 } })}
            error={e('retrieval_defaults.top_k')}
            disabled={locked}
          />
          <NumberField
            label={t('key.threshold')}
            value={defaults.threshold}
            min={0}
            max={1}
            step="any"
            onChange={(threshold) => set({ retrieval_defaults: { ...defaults, threshold } })}
            error={e('retrieval_defaults.threshold')}
            disabled={locked}
          />
          <RerankField
            value={defaults.rerank}
            onChange={(rerank) => set({ retrieval_defaults: { ...defaults, rerank } })}
            error={e('retrieval_defaults.rerank.model') ?? e('retrieval_defaults.rerank.provider')}
            disabled={locked}
          />
        </div>
      </section>
      <section>
        <h2>{t('kb.chunking')}</h2>
        <div className="grid2">
          <NumberField
            label={t('kb.maxwords')}
            value={value.chunking?.max_words}
            min={1}
            onChange={(n) => set({ chunking: { ...value.chunking, max_words: n ?? 200 } })}
            disabled={locked}
          />
          <NumberField
            label={t('kb.overlap')}
            value={value.chunking?.overlap_words}
            min={0}
            onChange={(n) => set({ chunking: { ...value.chunking, overlap_words: n ?? 20 } })}
            disabled={locked}
          />
        </div>
      </section>
    </form>
  );
}
