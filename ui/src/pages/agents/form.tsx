/** Owns configuring one agent. */
import type { ReactElement } from 'react';
import { useProviders } from '../../api/queries';
import type { Agent, MemoryConfig } from '@wfstudio/client';
import { FallbacksField, fallbacksOf } from '../../editor/fallbacks';
import { JsonField } from '../../editor/json-field';
import { useStock } from '../../editor/names';
import { ModelSelect, ToolsField } from '../../editor/pickers';
import { t } from '../../i18n';
import { CodeButton } from '../../code/button';
import { SaveButton, useDefinition } from '../../parts/definition';
import { Check, ChoiceField, ListField, NumberField, TextField } from '../../parts/form';
import { Failure, SkeletonRows } from '../../parts/states';
import { Top } from '../../shell/top';
import { AgentTabs } from './tabs';

const MEMORY: MemoryConfig = {
  context_window: null,
  driver: 'database',
  summarization_enabled: false,
  summarization_threshold: 0.85,
  budget_rag: null,
  budget_tool_results: null,
  budget_state: null,
  inside_turn: 'auto',
};

/** A schema that is being typed may be any JSON. */
type Edited = Omit<Agent, 'schema'> & { schema: unknown };

export default function AgentForm({ id }: { id: string }): ReactElement {
  const providers = useProviders().data;
  const stock = useStock();
  const editing = useDefinition<Edited>(
    'agents',
    id,
    {
      name: '',
      description: '',
      instructions: '',
      tools: [],
      provider: providers?.default_provider,
      model: providers?.default_model,
      require_tool_approval: false,
      tool_max_runs: 10,
      parameters: {},
      tags: [],
    },
    'agents',
  );
  const { value, set, errors, locked } = editing;
  const title = editing.fresh ? t('agents.new') : (editing.saved?.name ?? '…');
  const e = (key: string): string | undefined => errors[key]?.[0];
  const parameters = (value?.parameters ?? {}) as Record<string, number | string | string[] | null>;
  const memory = { ...MEMORY, ...value?.memory_config };
  const putParameter = (key: string, next: unknown): void => set({ parameters: { ...parameters, [key]: next } });
  const putMemory = (key: string, next: unknown): void => set({ memory_config: { ...memory, [key]: next } });
  return (
    <>
      <Top
        crumbs={[{ label: t('nav.agents'), to: '/agents' }, { label: title }]}
        title={title}
        middle={editing.fresh ? undefined : <AgentTabs id={id} here="configure" />}
      >
        {editing.saved && (
          <CodeButton
            kind="agent"
            id={editing.saved.id}
            revision={editing.saved.revision}
            classPath={editing.saved.class_path}
            unsaved={editing.dirty}
            unsavable={locked && t('locked')}
            onSave={async () => (await editing.save()) !== null}
          />
        )}
        <SaveButton editing={editing} />
      </Top>
      <div className="page">
        <div className="pad">
          {editing.error ? (
            <Failure error={editing.error} id={id} onRetry={editing.retry} list={{ to: '/agents', label: t('nav.agents') }} />
          ) : !value ? (
            <SkeletonRows />
          ) : (
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
                <div className="grid2">
                  <TextField
                    label={t('name')}
                    value={value.name ?? ''}
                    onChange={(name) => set({ name })}
                    error={e('name')}
                    disabled={locked}
                    autoFocus={editing.fresh}
                  />
                  <TextField
                    label={t('description')}
                    value={value.description ?? ''}
                    onChange={(description) => set({ description })}
                    error={e('description')}
                    disabled={locked}
                  />
                </div>
                <ModelSelect
                  providers={providers}
                  provider={value.provider ?? providers?.default_provider ?? ''}
                  model={value.model ?? providers?.default_model ?? ''}
                  onChange={(provider, model) => set({ provider, model })}
                  error={e('model') ?? e('provider')}
                  disabled={locked}
                />
                <FallbacksField
                  value={fallbacksOf(value.fallbacks)}
                  onChange={(fallbacks) => set({ fallbacks })}
                  providers={providers}
                  error={Object.entries(errors).find(([key]) => key.startsWith('fallbacks'))?.[1]?.[0]}
                  disabled={locked}
                />
                <TextField
                  label={t('key.instructions')}
                  rows={10}
                  value={value.instructions ?? ''}
                  onChange={(instructions) => set({ instructions })}
                  error={e('instructions')}
                  disabled={locked}
                  hint={t('agents.instructions.hint')}
                />
              </section>
              <section>
                <h2>{t('key.tools')}</h2>
                <ToolsField
                  label={t('agents.maycall')}
                  value={value.tools ?? []}
                  onChange={(tools) => set({ tools })}
                  stock={stock}
                  disabled={locked}
                />
                <Check
                  checked={value.require_tool_approval === true}
                  onChange={(require_tool_approval) => set({ require_tool_approval })}
                  disabled={locked}
                  hint={t('agents.approval.hint')}
                >
                  {t('key.require_tool_approval')}
                </Check>
                <div className="grid2">
                  <NumberField
                    label={t('key.tool_max_runs')}
                    value={value.tool_max_runs}
                    min={1}
                    max={100}
                    onChange={(n) => set({ tool_max_runs: n ?? 10 })}
                    error={e('tool_max_runs')}
                    disabled={locked}
                  />
                  <ChoiceField
                    label={t('key.parallel_tool_calls')}
                    value={value.parallel_tool_calls == null ? '' : String(value.parallel_tool_calls)}
                    onChange={(v) => set({ parallel_tool_calls: v === '' ? null : v === 'true' })}
                    choices={[
                      { value: '', label: t('default') },
                      { value: 'true', label: t('yes') },
                      { value: 'false', label: t('no') },
                    ]}
                    disabled={locked}
                  />
                  <ChoiceField
                    label={t('key.on_tool_limit')}
                    value={value.on_tool_limit ?? 'answer'}
                    onChange={(v) => set({ on_tool_limit: v === 'fail' ? 'fail' : 'answer' })}
                    choices={[
                      { value: 'answer', label: t('value.answer') },
                      { value: 'fail', label: t('value.fail') },
                    ]}
                    disabled={locked}
                  />
                </div>
                <Check checked={value.stream_approval === true} onChange={(stream_approval) => set({ stream_approval })} disabled={locked}>
                  {t('key.stream_approval')}
                </Check>
              </section>
              <section>
                <h2>{t('agents.parameters')}</h2>
                <div className="grid2 four">
                  <NumberField
                    label={t('param.temperature')}
                    value={parameters.temperature as number | null}
                    min={0}
                    max={2}
                    step="any"
                    onChange={(n) => putParameter('temperature', n)}
                    error={e('parameters.temperature')}
                    disabled={locked}
                  />
                  <NumberField
                    label="Top p"
                    value={parameters.top_p as number | null}
                    min={0}
                    max={1}
                    step="any"
                    onChange={(n) => putParameter('top_p', n)}
                    error={e('parameters.top_p')}
                    disabled={locked}
                  />
                  <NumberField
                    label={t('param.max_tokens')}
                    value={parameters.max_tokens as number | null}
                    min={1}
                    onChange={(n) => putParameter('max_tokens', n)}
                    error={e('parameters.max_tokens')}
                    disabled={locked}
                  />
                  <ChoiceField
                    label={t('param.reasoning')}
                    value={String(parameters.reasoning_effort ?? '')}
                    onChange={(v) => putParameter('reasoning_effort', v || null)}
                    choices={[
                      { value: '', label: t('default') },
                      ...(['low', 'medium', 'high'] as const).map((v) => ({ value: v, label: t(`effort.${v}`) })),
                    ]}
                    disabled={locked}
                  />
                  <ChoiceField
                    label={t('param.show_reasoning')}
                    value={parameters.show_reasoning === 'none' ? 'none' : ''}
                    onChange={(v) => putParameter('show_reasoning', v || undefined)}
                    choices={[
                      { value: '', label: t('default') },
                      { value: 'none', label: t('param.never') },
                    ]}
                    disabled={locked}
                  />
                  <ChoiceField
                    label={t('key.on_length')}
                    value={value.on_length ?? 'keep'}
                    onChange={(v) => set({ on_length: v === 'fail' ? 'fail' : 'keep' })}
                    choices={[
                      { value: 'keep', label: t('value.keep') },
                      { value: 'fail', label: t('value.fail') },
                    ]}
                    error={e('on_length')}
                    disabled={locked}
                  />
                </div>
              </section>
              <section>
                <h2>{t('key.memory')}</h2>
                <div className="grid2">
                  <NumberField
                    label={t('key.context_window')}
                    value={memory.context_window as number | null}
                    min={256}
                    onChange={(n) => putMemory('context_window', n)}
                    error={e('memory_config.context_window')}
                    hint={t('agents.window.hint')}
                    disabled={locked}
                  />
                  <ChoiceField
                    label={t('key.driver')}
                    value={String(memory.driver)}
                    onChange={(v) => putMemory('driver', v)}
                    choices={[
                      { value: 'database', label: t('value.database') },
                      { value: 'in_memory', label: t('value.in_memory') },
                    ]}
                    disabled={locked}
                  />
                </div>
                <Check
                  checked={memory.summarization_enabled === true}
                  onChange={(on) => putMemory('summarization_enabled', on)}
                  disabled={locked}
                >
                  {t('key.summarization_enabled')}
                </Check>
                {memory.summarization_enabled === true && (
                  <NumberField
                    label={t('key.summarization_threshold')}
                    value={memory.summarization_threshold as number}
                    min={0.05}
                    max={1}
                    step="any"
                    onChange={(n) => putMemory('summarization_threshold', n ?? 0.85)}
                    disabled={locked}
                  />
                )}
                <Check
                  checked={memory.inside_turn !== 'off'}
                  onChange={(on) => putMemory('inside_turn', on ? 'auto' : 'off')}
                  disabled={locked}
                >
                  {t('key.inside_turn')}
                </Check>
                <div className="grid2">
                  {(['budget_rag', 'budget_tool_results', 'budget_state'] as const).map((k) => (
                    <NumberField
                      key={k}
                      label={t(`key.${k}`)}
                      value={memory[k] as number | null}
                      min={1}
                      onChange={(n) => putMemory(k, n)}
                      disabled={locked}
                    />
                  ))}
                </div>
              </section>
              <section>
                <h2>{t('agents.more')}</h2>
                <div className="grid2">
                  <TextField
                    label={t('slug')}
                    mono
                    value={value.slug ?? ''}
                    onChange={(slug) => set({ slug })}
                    error={e('slug')}
                    disabled={locked}
                  />
                  <TextField
                    label={t('key.credential')}
                    mono
                    value={value.credential ?? ''}
                    placeholder="secret:NAME"
                    onChange={(v) => set({ credential: v || null })}
                    error={e('credential')}
                    disabled={locked}
                  />
                </div>
                <ListField label={t('tags')} value={value.tags ?? []} onChange={(tags) => set({ tags })} disabled={locked} />
                <JsonField
                  label={t('key.schema')}
                  hint={t('agents.schema.hint')}
                  value={value.schema ?? undefined}
                  onChange={(v) => set({ schema: v ?? null })}
                  error={e('schema')}
                  disabled={locked}
                />
              </section>
            </form>
          )}
        </div>
      </div>
    </>
  );
}
