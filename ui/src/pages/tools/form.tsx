/** Owns one tool: webhook, builder or retrieval, its inputs, and a trial call. */
import { Play } from 'lucide-react';
import { useRef, useState, type ReactElement } from 'react';
import { post } from '../../api/client';
import { rows, useList, useSettings } from '../../api/queries';
import type { KnowledgeBase, Tool } from '@wfstudio/client';
import { JsonField } from '../../editor/json-field';
import { unread } from '../../parts/field';
import { t } from '../../i18n';
import { duration } from '../../i18n/figures';
import { Button } from '../../parts/button';
import { Code } from '../../parts/code';
import { CodeButton } from '../../code/button';
import { SaveButton, useDefinition } from '../../parts/definition';
import { Said } from '../../parts/said';
import { Check, ChoiceField, NumberField, TextField } from '../../parts/form';
import { Failure, SkeletonRows } from '../../parts/states';
import { Segments } from '../../parts/tabs';
import { textOf } from '../../parts/toast';
import { Top } from '../../shell/top';

const BLANK: Partial<Tool> = {
  name: '',
  description: '',
  kind: 'webhook',
  input_schema: { type: 'object', properties: {}, required: [] },
  config: { method: 'GET', url: '', headers: {} },
  require_approval: false,
  idempotent: false,
  timeout_ms: null,
};
const START: Record<Tool['kind'], Record<string, unknown>> = {
  webhook: { method: 'GET', url: '', headers: {} },
  builder: { code: 'return input;' },
  rag: { knowledge_base_id: '', top_k: 5 },
};

export default function ToolForm({ id }: { id: string }): ReactElement {
  const editing = useDefinition<Tool>('tools', id, BLANK, 'tools');
  const canBuild = useSettings().data?.flags.canBuildTools ?? false;
  const bases = rows(useList<KnowledgeBase>('/api/knowledge-bases', { limit: 100 }));
  const { value, set, errors } = editing;
  const e = (key: string): string | undefined => errors[key]?.[0];
  const title = editing.fresh ? t('toolspage.new') : (editing.saved?.name ?? '…');
  const off = editing.locked || (value?.kind === 'builder' && !canBuild);
  const config = (value?.config ?? {}) as Record<string, unknown>;
  const put = (change: Record<string, unknown>): void => set({ config: { ...config, ...change } });
  /** What was written for each kind, while one looks at another. */
  const written = useRef<Partial<Record<Tool['kind'], Record<string, unknown>>>>({});
  return (
    <>
      <Top crumbs={[{ label: t('nav.tools'), to: '/tools' }, { label: title }]} title={title}>
        {editing.saved && (
          <CodeButton
            kind="tool"
            id={editing.saved.id}
            revision={editing.saved.revision}
            classPath={editing.saved.class_path}
            unsaved={editing.dirty}
            unsavable={editing.locked && t('locked')}
            onSave={async () => (await editing.save()) !== null}
          />
        )}
        <SaveButton editing={editing} />
      </Top>
      {editing.error ? (
        <div className="page">
          <Failure error={editing.error} id={id} onRetry={editing.retry} list={{ to: '/tools', label: t('nav.tools') }} />
        </div>
      ) : !value ? (
        <div className="page">
          <SkeletonRows />
        </div>
      ) : (
        <div className="page fixed two">
          <div className="scroll">
            <div className="pad">
              <form
                className="form"
                onSubmit={(ev) => {
                  ev.preventDefault();
                  void editing.save();
                }}
              >
                {editing.locked && <div className="note-box">{t('locked')}</div>}
                {value.kind === 'builder' && !canBuild && (
                  <div className="note-box">{t('reason.flag', { flag: 'allow_builder_tools' })}</div>
                )}
                <section>
                  <h2>{t('sec.basics')}</h2>
                  {editing.fresh && (
                    <div className="fl">
                      <span className="lab">{t('toolspage.kind')}</span>
                      <Segments<Tool['kind']>
                        label={t('toolspage.kind')}
                        value={value.kind}
                        onChange={(kind) => {
                          written.current[value.kind] = config;
                          set({ kind, config: written.current[kind] ?? START[kind] });
                        }}
                        options={[
                          { id: 'webhook', label: t('toolkind.webhook') },
                          { id: 'builder', label: t('toolkind.builder'), disabled: !canBuild },
                          { id: 'rag', label: t('toolkind.rag') },
                        ]}
                      />
                      {!canBuild && (
                        <span className="hint">
                          {t('toolkind.builder')}: {t('reason.flag', { flag: 'allow_builder_tools' })}
                        </span>
                      )}
                    </div>
                  )}
                  <TextField
                    label={t('name')}
                    mono
                    value={value.name ?? ''}
                    onChange={(name) => set({ name })}
                    error={e('name')}
                    hint={t('toolspage.name.hint')}
                    disabled={off}
                    autoFocus={editing.fresh}
                  />
                  <TextField
                    label={t('description')}
                    rows={2}
                    value={value.description ?? ''}
                    onChange={(description) => set({ description })}
                    error={e('description')}
                    hint={t('toolspage.description.hint')}
                    disabled={off}
                  />
                </section>
                <section>
                  <h2>{t(`toolkind.${value.kind}`)}</h2>
                  {value.kind === 'webhook' && (
                    <>
                      <div style={{ display: 'grid', gridTemplateColumns: '110px 1fr', gap: 12 }}>
                        <ChoiceField
                          label={t('toolspage.method')}
                          value={String(config.method ?? 'GET')}
                          onChange={(method) => put({ method })}
                          choices={['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((m) => ({ value: m, label: m }))}
                          disabled={off}
                        />
                        <TextField
                          label="URL"
                          mono
                          value={String(config.url ?? '')}
                          onChange={(url) => put({ url })}
                          error={e('config.url')}
                          hint={t('toolspage.url.hint')}
                          disabled={off}
                          placeholder="https://"
                        />
                      </div>
                      <JsonField
                        label={t('toolspage.headers')}
                        value={config.headers ?? {}}
                        onChange={(headers) => put({ headers: headers ?? {} })}
                        hint={t('toolspage.headers.hint')}
                        error={e('config.headers')}
                        disabled={off}
                        rows={3}
                      />
                    </>
                  )}
                  {value.kind === 'builder' && (
                    <TextField
                      label={t('toolspage.code')}
                      rows={14}
                      mono
                      value={String(config.code ?? '')}
                      onChange={(code) => put({ code })}
                      error={e('config.code')}
                      hint={t('toolspage.code.hint')}
                      disabled={off}
                    />
                  )}
                  {value.kind === 'rag' && (
                    <div className="grid2">
                      <ChoiceField
                        label={t('key.knowledge_base_id')}
                        value={String(config.knowledge_base_id ?? '')}
                        onChange={(knowledge_base_id) => put({ knowledge_base_id })}
                        error={e('config.knowledge_base_id')}
                        choices={[{ value: '', label: t('pick.base') }, ...bases.map((b) => ({ value: b.id, label: b.name }))]}
                        disabled={off}
                      />
                      <NumberField
                        label={t('key.top_k')}
                        value={config.top_k as number | null}
                        min={1}
                        max={100}
                        onChange={(top_k) => put({ top_k: top_k ?? 5 })}
                        disabled={off}
                      />
                    </div>
                  )}
                  <JsonField
                    label={t('toolspage.inputs')}
                    value={value.input_schema}
                    onChange={(v) => set({ input_schema: (v ?? {}) as Record<string, unknown> })}
                    error={e('input_schema')}
                    hint={t('toolspage.inputs.hint')}
                    disabled={off}
                    rows={8}
                  />
                </section>
                <section>
                  <h2>{t('toolspage.rules')}</h2>
                  <Check
                    checked={value.require_approval === true}
                    onChange={(require_approval) => set({ require_approval })}
                    disabled={off}
                    hint={t('toolspage.approval.hint')}
                  >
                    {t('toolspage.approval')}
                  </Check>
                  <Check
                    checked={value.idempotent === true}
                    onChange={(idempotent) => set({ idempotent })}
                    disabled={off}
                    hint={t('toolspage.idempotent.hint')}
                  >
                    {t('key.idempotent')}
                  </Check>
                  <NumberField
                    label={t('key.timeout_ms')}
                    value={value.timeout_ms}
                    min={1}
                    onChange={(timeout_ms) => set({ timeout_ms })}
                    error={e('timeout_ms')}
                    disabled={off}
                  />
                </section>
              </form>
            </div>
          </div>
          <aside className="side" aria-label={t('toolspage.try')}>
            <Trial tool={value} fresh={editing.fresh} dirty={editing.dirty} />
          </aside>
        </div>
      )}
    </>
  );
}

function example(schema: Record<string, unknown>): Record<string, unknown> {
  const properties = (schema.properties ?? {}) as Record<string, { type?: string; default?: unknown; enum?: unknown[] }>;
  return Object.fromEntries(
    Object.entries(properties).map(([key, p]) => [
      key,
      p.default ?? p.enum?.[0] ?? (p.type === 'number' || p.type === 'integer' ? 1 : p.type === 'boolean' ? true : ''),
    ]),
  );
}

function Trial({ tool, fresh, dirty }: { tool: Tool; fresh: boolean; dirty: boolean }): ReactElement {
  const [input, setInput] = useState<unknown>(() => example(tool.input_schema ?? {}));
  const [answer, setAnswer] = useState<{ result: unknown; is_error: boolean; duration_ms: number } | null>(null);
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState<string | null>(null);
  const run = async (): Promise<void> => {
    if (unread('.side')) return;
    setBusy(true);
    setWrong(null);
    setAnswer(null);
    try {
      setAnswer(await post(`/api/tools/${tool.id}/test`, { input }));
    } catch (error) {
      setWrong(textOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <h2>{t('toolspage.try')}</h2>
      <JsonField label={t('trace.in')} value={input} onChange={(v) => setInput(v ?? {})} rows={6} />
      <div>
        <Button
          icon={Play}
          disabled={busy}
          reason={fresh ? t('toolspage.savefirst') : dirty ? t('toolspage.trysaved') : null}
          onClick={() => void run()}
        >
          {busy ? t('status.running') : t('toolspage.call')}
        </Button>
      </div>
      {wrong && (
        <div className="note-box fail" role="alert">
          {wrong}
        </div>
      )}
      {answer && (
        <section aria-live="polite" className="stack">
          <div className="row between">
            <h3>{answer.is_error ? t('toolspage.failed') : t('toolspage.result')}</h3>
            <span className="mut small">{duration(answer.duration_ms)}</span>
          </div>
          {answer.is_error && typeof answer.result === 'string' ? (
            <div className="note-box fail" style={{ overflowWrap: 'anywhere', whiteSpace: 'pre-wrap' }}>
              <Said text={answer.result} />
            </div>
          ) : (
            <Code value={answer.result} />
          )}
        </section>
      )}
    </>
  );
}
