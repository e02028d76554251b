/** Owns picking stored things for a node: model, agent, base, server, tool, schema. */
import { useQuery } from '@tanstack/react-query';
import { Plus, X } from 'lucide-react';
import type { ReactElement } from 'react';
import { Link } from 'wouter';
import { get } from '../api/client';
import type { Providers, ToolRef } from '@wfstudio/client';
import { t, tx } from '../i18n';
import { compact, exact, symbol } from '../i18n/figures';
import { Button } from '../parts/button';
import { MenuButton } from '../parts/menu';
import { ChoiceField, Field, Switch, TextField } from '../parts/form';
import { labelOf, type FieldProps } from './fields';
import type { Stock } from './names';

/** A model as `provider/model`, with its context size and price. */
export function ModelSelect({
  providers,
  provider,
  model,
  onChange,
  error,
  disabled,
  label,
}: {
  providers?: Providers;
  provider: string;
  model: string;
  onChange: (provider: string, model: string) => void;
  error?: string;
  disabled?: boolean;
  label?: string;
}): ReactElement {
  const known = providers?.data.find((p) => p.id === provider)?.models.find((m) => m.id === model);
  const hint = known
    ? [
        known.context_window ? t('model.context', { size: compact(known.context_window) }) : '',
        known.capabilities
          .filter((c) => c !== 'stream')
          .map((c) => tx(`model.can.${c}`, c))
          .join(', '),
        known.price
          ? `${symbol()} ${exact(known.price.input)} / ${exact(known.price.output)} ${t('model.per', { n: compact(known.price.per_tokens) })}`
          : t('model.unpriced'),
      ]
        .filter(Boolean)
        .join(' · ')
    : undefined;
  const value = `${provider}\n${model}`;
  const listed = !!known || !model;
  return (
    <Field label={label ?? tx('key.model', 'model')} hint={hint} error={error}>
      {(ids) => (
        <select
          className="in mono"
          value={value}
          disabled={disabled}
          onChange={(e) => {
            const [p, m] = e.target.value.split('\n');
            onChange(p ?? '', m ?? '');
          }}
          {...ids}
        >
          {!listed && (
            <option value={value}>
              {provider}/{model}
            </option>
          )}
          {!model && <option value={value}>{t('pick.model')}</option>}
          {providers?.data.map((p) => (
            <optgroup key={p.id} label={p.configured ? p.label : `${p.label} · ${t('model.unconfigured')}`}>
              {p.models.map((m) => (
                <option key={m.id} value={`${p.id}\n${m.id}`}>
                  {m.id}
                </option>
              ))}
            </optgroup>
          ))}
        </select>
      )}
    </Field>
  );
}

export function ModelPicker({ node, providers, set, error, disabled }: FieldProps): ReactElement {
  return (
    <ModelSelect
      providers={providers}
      provider={String(node.data.provider ?? '')}
      model={String(node.data.model ?? '')}
      error={error}
      disabled={disabled}
      onChange={(provider, model) => set({ provider, model })}
    />
  );
}

export function AgentPicker({ node, stock, set, error, disabled, spec }: FieldProps): ReactElement {
  const id = String(node.data.agent_id ?? '');
  return (
    <div className="col" style={{ gap: 4 }}>
      <ChoiceField
        label={labelOf(spec)}
        value={id}
        error={error}
        disabled={disabled}
        onChange={(v) => set({ agent_id: v || undefined, config_mode: 'existing' })}
        choices={[{ value: '', label: t('pick.agent') }, ...stock.agents.map((a) => ({ value: a.id, label: a.name }))]}
      />
      {id && (
        <Link className="link small" to={`/agents/${id}`}>
          {t('pick.open')}
        </Link>
      )}
    </div>
  );
}

export const BasePicker = ({ node, stock, set, error, disabled, spec }: FieldProps): ReactElement => (
  <ChoiceField
    label={labelOf(spec)}
    value={String(node.data.knowledge_base_id ?? '')}
    error={error}
    disabled={disabled}
    onChange={(v) => set({ knowledge_base_id: v || null })}
    choices={[{ value: '', label: t('pick.base') }, ...stock.bases.map((b) => ({ value: b.id, label: b.name }))]}
  />
);

export const ServerPicker = ({ node, stock, set, error, disabled, spec }: FieldProps): ReactElement => (
  <ChoiceField
    label={labelOf(spec)}
    value={String(node.data.mcp_server ?? '')}
    error={error}
    disabled={disabled}
    onChange={(v) => set({ mcp_server: v || undefined })}
    choices={[{ value: '', label: t('pick.server') }, ...stock.servers.map((s) => ({ value: s.id, label: s.name }))]}
  />
);

export function toolChoices(stock: Stock): { value: string; label: string }[] {
  return [
    ...stock.tools.map((x) => ({ value: `tool:${x.slug}`, label: x.name })),
    ...stock.registry.map((x) => ({ value: x.ref, label: `${x.name} · ${x.ref.split(':')[0] ?? ''}` })),
  ];
}

export const ToolPicker = ({ node, stock, set, error, disabled, spec }: FieldProps): ReactElement => (
  <ChoiceField
    label={labelOf(spec)}
    value={String(node.data.tool_ref ?? '')}
    error={error}
    disabled={disabled}
    onChange={(v) => set({ tool_ref: v || undefined })}
    choices={[
      { value: '', label: t('pick.tool') },
      ...toolChoices(stock).filter((c) => !c.value.startsWith('mcp:') && !c.value.startsWith('provider:')),
    ]}
  />
);

export function SchemaPicker({ node, set, error, disabled, spec }: FieldProps): ReactElement {
  const schemas =
    useQuery({ queryKey: ['/api/registry/schemas'], queryFn: () => get<{ data: { name: string }[] }>('/api/registry/schemas') }).data
      ?.data ?? [];
  return (
    <ChoiceField
      label={labelOf(spec)}
      value={String(node.data.output_schema ?? '')}
      error={error}
      disabled={disabled}
      onChange={(v) => set({ output_schema: v || undefined })}
      choices={[{ value: '', label: t('none') }, ...schemas.map((s) => ({ value: s.name, label: s.name }))]}
    />
  );
}

/** The tools of an agent, each with its "asks first" switch. */
export function ToolsField({
  value,
  onChange,
  stock,
  disabled,
  label,
}: {
  value: ToolRef[];
  onChange: (value: ToolRef[]) => void;
  stock: Stock;
  disabled?: boolean;
  label: string;
}): ReactElement {
  const used = new Set(value.map((r) => r.ref));
  const toolkits = [...new Set(stock.registry.filter((r) => r.ref.startsWith('toolkit:')).map((r) => r.ref.split('/')[0] as string))];
  const options = [
    ...stock.tools.map((x) => ({ ref: `tool:${x.slug}`, name: x.name })),
    ...stock.registry.filter((x) => !x.ref.startsWith('toolkit:')).map((x) => ({ ref: x.ref, name: x.name })),
    ...toolkits.map((ref) => ({ ref, name: ref.replace('toolkit:', '') })),
    ...stock.servers.map((x) => ({ ref: `mcp:${x.slug}`, name: x.name })),
  ].filter((o) => !used.has(o.ref));
  return (
    <div className="fl">
      <span className="lab">{label}</span>
      <ul className="toollist">
        {value.map((ref, n) => (
          <li key={ref.ref} className="row">
            <span className="mono trunc" title={ref.ref}>
              {ref.ref}
              {ref.only?.length ? ` (${ref.only.join(', ')})` : ''}
            </span>
            <span className="sp" />
            <span className={`pill${ref.require_approval ? ' wait' : ''}`}>{ref.require_approval ? t('tools.asks') : t('tools.free')}</span>
            <Switch
              on={ref.require_approval === true}
              disabled={disabled}
              label={t('tools.asks.for', { name: ref.ref })}
              onChange={(on) => onChange(value.map((r, m) => (m === n ? { ...r, require_approval: on ? true : null } : r)))}
            />
            <Button
              look="ghost"
              small
              icon={X}
              disabled={disabled}
              label={`${t('remove')}: ${ref.ref}`}
              onClick={() => onChange(value.filter((_, m) => m !== n))}
            />
          </li>
        ))}
      </ul>
      <div>
        {options.length > 0 ? (
          <MenuButton
            button={
              <Button small icon={Plus} disabled={disabled}>
                {t('tools.add')}
              </Button>
            }
            entries={options.map((o) => ({ label: `${o.name} · ${o.ref}`, onSelect: () => onChange([...value, { ref: o.ref }]) }))}
          />
        ) : value.length === 0 ? (
          <span className="mut small">{t('tools.none')}</span>
        ) : null}
      </div>
    </div>
  );
}

export const KeyField = ({
  label,
  value,
  onChange,
  disabled,
}: {
  label: string;
  value: string;
  onChange: (v: string) => void;
  disabled: boolean;
}): ReactElement => <TextField label={label} mono value={value} onChange={onChange} disabled={disabled} />;
