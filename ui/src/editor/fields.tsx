/** Owns one field of a node, drawn from the engine's schema of its key. */
import type { ReactElement } from 'react';
import type { GraphNode, GraphSchema, NodeKey, Providers } from '@wfstudio/client';
import { keysBefore } from '../graph/order';
import { tx } from '../i18n';
import { Check, ChoiceField, ListField, NumberField, TextField } from '../parts/form';
import { RerankField } from '../parts/rerank';
import { FallbacksField, fallbacksOf } from './fallbacks';
import { JsonField } from './json-field';
import { AgentPicker, BasePicker, ModelPicker, SchemaPicker, ServerPicker, ToolPicker, ToolsField } from './pickers';
import type { Stock } from './names';
import { RulesField } from './rules';
import { useEditor } from './store';
import { TemplateField } from './template-field';

export interface FieldProps {
  node: GraphNode;
  spec: NodeKey;
  schema: GraphSchema;
  stock: Stock;
  providers?: Providers;
  set: (data: Record<string, unknown>, group?: string) => void;
  error?: string;
  disabled: boolean;
}

const TEMPLATES = new Set(['message', 'instructions', 'prompt', 'query', 'reply']);
const LONG = new Set(['message', 'instructions', 'prompt', 'expression', 'query', 'reply', 'text']);

export const labelOf = (spec: NodeKey): string => tx(`key.${spec.name}`, spec.name.replaceAll('_', ' '));

export function NodeField(props: FieldProps): ReactElement | null {
  const { node, spec, stock, set, error, disabled, schema } = props;
  const graph = useEditor((s) => s.graph);
  const value = node.data[spec.name];
  const label = labelOf(spec);
  const hint = tx(`hint.${spec.name}`, '') || undefined;
  const put = (next: unknown, group = `data-${node.id}-${spec.name}`): void =>
    set({ [spec.name]: next === '' && spec.name !== 'value' ? undefined : (next ?? undefined) }, group);
  const common = { label, hint, error, disabled };
  switch (spec.name) {
    case 'model':
      return <ModelPicker {...props} />;
    case 'provider':
    case 'config_mode':
    case 'agent_ref':
    case 'width':
    case 'height':
    case 'tint':
      return null;
    case 'agent_id':
      return <AgentPicker {...props} />;
    case 'knowledge_base_id':
      return <BasePicker {...props} />;
    case 'mcp_server':
      return <ServerPicker {...props} />;
    case 'tool_ref':
      return <ToolPicker {...props} />;
    case 'tools':
      return (
        <ToolsField
          value={Array.isArray(value) ? (value as never[]) : []}
          onChange={(v) => put(v.length ? v : undefined)}
          stock={stock}
          disabled={disabled}
          label={label}
        />
      );
    case 'fallbacks':
      return (
        <FallbacksField
          value={fallbacksOf(value)}
          onChange={(v) => put(v.length ? v : undefined)}
          providers={props.providers}
          error={error}
          disabled={disabled}
        />
      );
    case 'rerank':
      return <RerankField value={value} onChange={put} error={error} disabled={disabled} />;
    case 'output_schema':
      return <SchemaPicker {...props} />;
    case 'rules':
      return <RulesField node={node} schema={schema} set={set} disabled={disabled} />;
    case 'operator':
      return (
        <ChoiceField
          {...common}
          value={String(value ?? '')}
          onChange={(v) => put(v)}
          choices={[
            { value: '', label: tx('default', 'default') },
            ...schema.operators.map((o) => ({ value: o.name, label: tx(`op.${o.name}`, o.name.replaceAll('_', ' ')) })),
          ]}
        />
      );
    case 'branches':
      return (
        <ListField
          label={label}
          hint={hint}
          mono
          value={Array.isArray(value) ? (value as string[]) : []}
          disabled={disabled}
          onChange={(v) => put(v.length ? v : undefined)}
        />
      );
    case 'credential':
      return <TextField {...common} mono value={String(value ?? '')} placeholder="secret:NAME" onChange={(v) => put(v)} />;
    default:
      break;
  }
  const choices = spec.values;
  if (choices)
    return (
      <ChoiceField
        {...common}
        value={String(value ?? '')}
        onChange={(v) => put(v)}
        choices={[
          {
            value: '',
            label: `${tx('default', 'default')}${spec.default != null ? ` (${tx(`value.${String(spec.default)}`, String(spec.default))})` : ''}`,
          },
          ...choices.map((c) => ({ value: c, label: tx(`value.${c}`, c) })),
        ]}
      />
    );
  const type = spec.type.toLowerCase();
  if (spec.template || TEMPLATES.has(spec.name))
    return (
      <TemplateField
        {...common}
        value={typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)}
        rows={LONG.has(spec.name) ? 4 : 2}
        keys={keysBefore(graph, node.id)}
        onChange={(v) => put(v)}
      />
    );
  if (/bool/.test(type))
    return (
      <Check
        checked={value === undefined ? spec.default === true : value === true}
        disabled={disabled}
        hint={hint}
        onChange={(on) => put(on === (spec.default === true) ? undefined : on)}
      >
        {label}
      </Check>
    );
  if (/int|number|float|decimal/.test(type))
    return (
      <NumberField
        {...common}
        value={typeof value === 'number' ? value : null}
        min={spec.min ?? undefined}
        max={spec.max ?? undefined}
        step={/int/.test(type) ? 1 : 'any'}
        placeholder={spec.default == null ? '' : String(spec.default)}
        onChange={(v) => put(v)}
      />
    );
  if (/object|json|any|schema|map|array|list/.test(type)) return <JsonField {...common} value={value} onChange={(v) => put(v)} />;
  return (
    <TextField
      {...common}
      mono={/key|path|id|slug|ref|name/.test(spec.name)}
      rows={LONG.has(spec.name) ? 4 : undefined}
      value={String(value ?? '')}
      placeholder={spec.default == null ? '' : String(spec.default)}
      onChange={(v) => put(v)}
    />
  );
}
