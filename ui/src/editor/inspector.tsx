/** Owns the side beside the canvas for one chosen node: configure, run, state, JSON. */
import { Copy, Ellipsis, GitFork, Octagon, Pin, PinOff, Play, Trash2, X } from 'lucide-react';
import { useEffect, useState, type ReactElement } from 'react';
import type { GraphNode, GraphSchema, NodeKey, Providers } from '@wfstudio/client';
import { isInline, titleOf } from '../graph/document';
import { t, tx } from '../i18n';
import { Button } from '../parts/button';
import { MenuButton } from '../parts/menu';
import { Check, TextField } from '../parts/form';
import { NodeTile } from '../parts/icons';
import { Segments, Tabs } from '../parts/tabs';
import { duplicateSelection, removeSelection, selectDownstream } from './actions';
import { NodeField } from './fields';
import { JsonField } from './json-field';
import { LastValues, useLastStep } from './last-values';
import type { Stock } from './names';
import { useStepOf } from './node';
import { TINTS } from './note';
import { RunTab, StateTab } from './run-tabs';
import { panel } from './panel';
import { act, select, useEditable, useEditor } from './store';
import { canBreak, canPin, canRunAlone, toggleBreak, unpin, useTrials } from './trials';

type TabId = 'configure' | 'run' | 'state' | 'json';

export function Inspector({
  node,
  schema,
  stock,
  providers,
}: {
  node: GraphNode;
  schema: GraphSchema;
  stock: Stock;
  providers?: Providers;
}): ReactElement {
  const mode = useEditor((s) => s.mode);
  const [tab, setTab] = useState<TabId>(mode === 'run' ? 'run' : 'configure');
  const readOnly = !useEditable();
  const step = useStepOf(node.id);
  const waiting = step?.state === 'waiting';
  const graph = useEditor((s) => s.graph);
  const broken = useTrials((s) => s.breaks.includes(node.id));
  const pinned = useTrials((s) => node.id in s.pins);
  useEffect(() => {
    setTab((before) => (mode === 'run' ? 'run' : before === 'run' || before === 'state' ? 'configure' : before));
  }, [mode, node.id]);
  return (
    <aside
      className="insp"
      id="inspector"
      aria-label={t('editor.inspector')}
      onKeyDown={(e) => {
        if (e.key === 'Escape' && !e.defaultPrevented) document.getElementById('canvas')?.focus();
      }}
    >
      <div className="ih">
        <NodeTile type={node.type} />
        <div style={{ minWidth: 0 }}>
          <h2 className="trunc">{titleOf(node)}</h2>
          <div className="mono mut trunc">
            {node.id}
            {step?.branch.length ? ` · ${t('ask.branch', { name: step.branch.at(-1) ?? '' })}` : ''}
          </div>
        </div>
        <span className="sp" />
        <MenuButton
          button={<Button look="ghost" small icon={Ellipsis} label={t('more')} />}
          entries={[
            { label: t('duplicate'), icon: Copy, onSelect: duplicateSelection, reason: readOnly && t('editor.readonly') },
            { label: t('editor.downstream'), icon: GitFork, onSelect: () => selectDownstream(node.id) },
            null,
            ...(canBreak(node, graph)
              ? [{ label: t(broken ? 'trial.unbreak' : 'trial.break'), icon: Octagon, onSelect: () => void toggleBreak(node.id) }]
              : []),
            ...(canPin(node, graph)
              ? [
                  { label: t('trial.pin.menu'), icon: Pin, onSelect: () => panel({ trial: { kind: 'pin', node: node.id } }) },
                  ...(pinned ? [{ label: t('trial.unpin'), icon: PinOff, onSelect: () => unpin(node.id) }] : []),
                ]
              : []),
            ...(canRunAlone(node, graph)
              ? [{ label: t('trial.only.menu'), icon: Play, onSelect: () => panel({ trial: { kind: 'only', node: node.id } }) }]
              : []),
            null,
            { label: t('delete'), icon: Trash2, danger: true, onSelect: removeSelection, reason: readOnly && t('editor.readonly') },
          ]}
        />
        <Button
          look="ghost"
          small
          icon={X}
          label={t('close')}
          onClick={() => {
            select([]);
            document.getElementById('canvas')?.focus();
          }}
        />
      </div>
      <Tabs<TabId>
        label={titleOf(node)}
        value={tab}
        onChange={setTab}
        panel="insp-panel"
        tabs={[
          { id: 'configure', label: t('tab.configure') },
          ...(mode === 'run'
            ? [
                { id: 'run' as const, label: t('tab.run'), badge: waiting ? t('paused') : undefined, tone: 'wait' },
                { id: 'state' as const, label: t('tab.state') },
              ]
            : []),
          { id: 'json', label: t('tab.json') },
        ]}
      />
      <div className="ib" id="insp-panel" role="tabpanel" tabIndex={-1}>
        {tab === 'configure' && <Configure node={node} schema={schema} stock={stock} providers={providers} disabled={readOnly} />}
        {tab === 'run' && <RunTab node={node} step={step} />}
        {tab === 'state' && <StateTab node={node} step={step} />}
        {tab === 'json' && <NodeJson node={node} disabled={readOnly} />}
      </div>
    </aside>
  );
}

const BASIC: Record<string, string[]> = {
  agent: ['agent_id', 'model', 'instructions', 'message', 'tools', 'require_tool_approval', 'stream', 'output_key'],
  llm: ['model', 'instructions', 'prompt', 'stream', 'output_key'],
  rag: ['knowledge_base_id', 'query', 'top_k', 'threshold', 'output_key'],
  tool: ['tool_ref', 'parameters', 'output_key'],
  mcp: ['mcp_server', 'tool_name', 'parameters', 'output_key'],
  condition: ['state_key', 'operator', 'value', 'rules', 'logic', 'expression'],
  loop: ['max_steps', 'on_max', 'state_key', 'operator', 'value', 'expression'],
};

function Configure({
  node,
  schema,
  stock,
  providers,
  disabled,
}: {
  node: GraphNode;
  schema: GraphSchema;
  stock: Stock;
  providers?: Providers;
  disabled: boolean;
}): ReactElement {
  const issues = useEditor((s) => s.issues);
  const focus = useEditor((s) => s.focusField);
  const keys = schema.node_types.find((x) => x.type === node.type)?.keys ?? [];
  const inline = isInline(node);
  const last = useLastStep(node.id);
  const set = (data: Record<string, unknown>, group?: string): boolean =>
    act({ kind: 'data', id: node.id, data }, { group: group ?? `data-${node.id}-${Object.keys(data).join()}` });
  const errorOf = (name: string): string | undefined =>
    issues.find((i) => i.node_id === node.id && (i.field === `data.${name}` || i.field === name || i.field?.startsWith(`data.${name}.`)))
      ?.message;
  const shown = keys.filter(
    (k) =>
      node.type !== 'agent' ||
      (inline
        ? k.name !== 'agent_id'
        : !['model', 'provider', 'credential', 'instructions', 'parameters', 'fallbacks', 'tools'].includes(k.name)),
  );
  const wanted = BASIC[node.type];
  const basic = wanted ? wanted.flatMap((name) => shown.find((k) => k.name === name) ?? []) : shown.filter((k) => !COMMON.has(k.name));
  const rest = shown.filter((k) => !basic.includes(k));
  const field = (spec: NodeKey): ReactElement => (
    <div key={spec.name} data-field={spec.name}>
      <NodeField
        node={node}
        spec={spec}
        schema={schema}
        stock={stock}
        providers={providers}
        set={set}
        error={errorOf(spec.name)}
        disabled={disabled}
      />
      {last && <LastValues node={node} field={spec.name} step={last} />}
    </div>
  );
  useEffect(() => {
    if (focus?.node !== node.id) return;
    const name = focus.field.replace(/^data\./, '').split('.')[0];
    const box = document.querySelector<HTMLElement>(`#inspector [data-field="${name}"]`);
    box?.closest('details')?.setAttribute('open', '');
    box?.querySelector<HTMLElement>('input,textarea,select,button')?.focus();
  }, [focus, node.id]);
  return (
    <>
      {node.type !== 'note' && (
        <div data-field="title">
          <TextField
            label={t('key.title')}
            value={node.title ?? ''}
            placeholder={node.id}
            error={errorOf('title')}
            disabled={disabled}
            onChange={(v) => act({ kind: 'title', id: node.id, title: v.slice(0, 80) }, { group: `title-${node.id}` })}
          />
        </div>
      )}
      {node.type === 'note' && <NoteFields node={node} set={set} disabled={disabled} />}
      {node.type === 'agent' && (
        <div className="fl">
          <span className="lab">{t('key.config_mode')}</span>
          <Segments
            label={t('key.config_mode')}
            value={inline ? 'inline' : 'existing'}
            onChange={(v) =>
              set(
                v === 'inline'
                  ? {
                      config_mode: 'inline',
                      agent_id: undefined,
                      provider: node.data.provider ?? providers?.default_provider,
                      model: node.data.model ?? providers?.default_model,
                    }
                  : { config_mode: 'existing' },
              )
            }
            options={[
              { id: 'existing', label: t('sub.existing'), disabled },
              { id: 'inline', label: t('sub.inline'), disabled },
            ]}
          />
        </div>
      )}
      {basic.map(field)}
      {rest.length > 0 && (
        <details className="more">
          <summary>{t('editor.advanced')}</summary>
          <div className="morebody">{rest.map(field)}</div>
        </details>
      )}
      {keys.length === 0 && node.type !== 'note' && <p className="mut small">{t('editor.nokeys')}</p>}
    </>
  );
}

const COMMON = new Set(['timeout_ms', 'retries', 'on_error']);

function NoteFields({
  node,
  set,
  disabled,
}: {
  node: GraphNode;
  set: (data: Record<string, unknown>) => void;
  disabled: boolean;
}): ReactElement {
  return (
    <>
      <TextField
        label={t('note.text')}
        rows={6}
        value={String(node.data.text ?? '')}
        disabled={disabled}
        onChange={(text) => set({ text })}
      />
      <div className="fl">
        <span className="lab">{t('note.tint')}</span>
        <Segments
          label={t('note.tint')}
          value={String(node.data.tint ?? 'sand')}
          onChange={(tint) => set({ tint })}
          options={TINTS.map((id) => ({ id: id as string, label: tx(`tint.${id}`, id), disabled }))}
        />
      </div>
    </>
  );
}

function NodeJson({ node, disabled }: { node: GraphNode; disabled: boolean }): ReactElement {
  return (
    <JsonField
      label={t('editor.data')}
      rows={12}
      value={node.data}
      disabled={disabled}
      onChange={(value) => {
        if (!value || typeof value !== 'object' || Array.isArray(value)) return;
        const gone = Object.fromEntries(
          Object.keys(node.data)
            .filter((k) => !(k in value))
            .map((k) => [k, undefined]),
        );
        act({ kind: 'data', id: node.id, data: { ...gone, ...(value as Record<string, unknown>) } }, { group: `json-${node.id}` });
      }}
    />
  );
}

export function Several({ count: n, children }: { count: number; children: ReactElement }): ReactElement {
  return (
    <aside className="insp" id="inspector" aria-label={t('editor.inspector')}>
      <div className="ih">
        <h2>{t('editor.several', { n })}</h2>
        <span className="sp" />
        <Button look="ghost" small icon={X} label={t('close')} onClick={() => select([])} />
      </div>
      <div className="ib">{children}</div>
    </aside>
  );
}

export { Check };
