/** Owns what stands beside the conversation: this run, instructions, tools. */
import { useQuery } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { Link } from 'wouter';
import { get, patch } from '../../api/client';
import { queries, refresh, useProviders } from '../../api/queries';
import type { Agent, TraceAnswer } from '@wfstudio/client';
import { t, tx } from '../../i18n';
import { count, decimal, duration } from '../../i18n/figures';
import { ModelSelect } from '../../editor/pickers';
import { Button } from '../../parts/button';
import { NumberField, TextField } from '../../parts/form';
import { NodeTile } from '../../parts/icons';
import { oneLine } from '../../parts/one-line';
import { Status } from '../../parts/status';
import { Tabs } from '../../parts/tabs';
import { toast, toastError } from '../../parts/toast';
import { readMessages } from '../traces/messages';
import { useThreadRuns } from './runs';
import { useChat, useSession } from './session';

type TabId = 'run' | 'instructions' | 'tools';

export function Side({ agent }: { agent: Agent }): ReactElement {
  const [tab, setTab] = useState<TabId>('run');
  return (
    <>
      <Tabs<TabId>
        label={t('chat.thisrun')}
        value={tab}
        onChange={setTab}
        tabs={[
          { id: 'run', label: t('chat.thisrun') },
          { id: 'instructions', label: t('key.instructions') },
          { id: 'tools', label: t('key.tools'), badge: agent.tools?.length || undefined },
        ]}
      />
      <div className="ib">
        {tab === 'run' && (
          <>
            <Context agent={agent} />
            <Runs agent={agent} />
            {agent.tools?.length > 0 && <ToolList agent={agent} />}
          </>
        )}
        {tab === 'instructions' && <Instructions agent={agent} />}
        {tab === 'tools' && <ToolList agent={agent} />}
      </div>
    </>
  );
}

/** What fills a context window, by the roles it comes from. */
const SOURCES = [
  { id: 'instructions', roles: ['system'], colour: 'var(--c1)' },
  { id: 'history', roles: ['user', 'assistant'], colour: 'var(--c4)' },
  { id: 'tools', roles: ['tool'], colour: 'var(--c3)' },
] as const;

function Context({ agent }: { agent: Agent }): ReactElement | null {
  const trace = useChat((s) => s.turns.filter((x) => x.trace && x.state !== 'streaming').at(-1)?.trace);
  const providers = useProviders().data;
  const busy = useChat((s) => s.busy);
  const run = useQuery({
    queryKey: ['/api/runs', trace, 'context', busy],
    queryFn: () => get<TraceAnswer>(`/api/runs/${trace}`, { include: 'messages', snapshots: 'none' }),
    enabled: !!trace,
  });
  const memory = agent.memory_config ?? {};
  const own = memory.context_window as number | null | undefined;
  const window =
    own ?? providers?.data.find((p) => p.id === agent.provider)?.models.find((m) => m.id === agent.model)?.context_window ?? null;
  const span = run.data?.spans.filter((s) => s.type === 'llm').at(-1);
  if (!trace || !span?.prompt_tokens)
    return window ? (
      <section>
        <h2>{t('chat.context')}</h2>
        <p className="mut small">{t('chat.context.none', { n: count(window) })}</p>
      </section>
    ) : null;
  const used = span.prompt_tokens ?? 0;
  const said = readMessages(span.input);
  const sizes = SOURCES.map((source) => ({
    ...source,
    size: said.filter((m) => (source.roles as readonly string[]).includes(m.role)).reduce((n, m) => n + m.text.length / 4, 0),
  })).filter((x) => x.size > 0);
  const scale =
    used /
    Math.max(
      1,
      sizes.reduce((n, x) => n + x.size, 0),
    );
  const whole = Math.max(window ?? 1, 1);
  return (
    <section>
      <h2>{t('chat.context')}</h2>
      <div className="big">
        <b>{count(used)}</b>
        <span className="mut">{window ? t('chat.context.of', { n: count(window) }) : t('tokens')}</span>
      </div>
      {window && (
        <div className="ctx" role="img" aria-label={t('chat.context')}>
          {sizes.length ? (
            sizes.map((x) => <i key={x.id} style={{ width: `${((x.size * scale) / whole) * 100}%`, background: x.colour }} />)
          ) : (
            <i style={{ width: `${(used / whole) * 100}%`, background: 'var(--c5)' }} />
          )}
        </div>
      )}
      <div className="lg2">
        {sizes.map((x) => [
          <span key={x.id}>
            <i style={{ background: x.colour }} />
            {t(`chat.source.${x.id}`)}
          </span>,
          <b key={`${x.id}n`}>{count(Math.round(x.size * scale))}</b>,
        ])}
      </div>
      {memory.summarization_enabled === true && window && (
        <p className="mut small" style={{ marginTop: 6 }}>
          {t('chat.summarised', { n: count(Math.round(window * Number(memory.summarization_threshold ?? 0.85))) })}
        </p>
      )}
    </section>
  );
}

function Runs({ agent }: { agent: Agent }): ReactElement | null {
  const thread = useChat((s) => s.thread);
  const runs = useThreadRuns(agent.id);
  if (thread && !runs.data) return null;
  if (!thread || !runs.data?.length) return <p className="mut small">{t('chat.runs.none')}</p>;
  return (
    <section>
      <h2>{t('chat.runs')}</h2>
      <table className="small">
        <thead>
          <tr>
            <th scope="col" style={{ paddingLeft: 0 }}>
              {t('chat.run')}
            </th>
            <th scope="col" className="num">
              {t('trace.duration')}
            </th>
            <th scope="col" className="num">
              {t('trace.cost')}
            </th>
          </tr>
        </thead>
        <tbody>
          {runs.data.slice(0, 20).map((r) => (
            <tr key={r.id}>
              <td style={{ paddingLeft: 0, maxWidth: 130 }}>
                <Link to={`/traces/${r.id}`} className="row" style={{ gap: 6 }}>
                  <Status status={r.status} bare>
                    <span className="sr">{tx(`status.${r.status}`, r.status)}</span>
                  </Status>
                  <span className="trunc">{oneLine(r.input_preview) || t('traces.noinput')}</span>
                </Link>
              </td>
              <td className="num mono">{duration(r.duration_ms)}</td>
              <td className="num mono">{r.unpriced ? '–' : decimal(r.estimated_cost)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function ToolList({ agent }: { agent: Agent }): ReactElement {
  return (
    <section>
      <h2>{t('key.tools')}</h2>
      {agent.tools?.length ? (
        <ul className="tls">
          {agent.tools.map((r) => (
            <li key={r.ref} className="row">
              <NodeTile type={r.ref.startsWith('mcp:') ? 'mcp' : 'tool'} />
              <span className="mono trunc">{r.only?.length === 1 ? r.only[0] : r.ref.replace(/^\w+:/, '')}</span>
              <span className="sp" />
              {agent.require_tool_approval || r.require_approval ? (
                <span className="pill wait">{t('tools.asks')}</span>
              ) : (
                <span className="mut small">{t('tools.free')}</span>
              )}
            </li>
          ))}
        </ul>
      ) : (
        <p className="mut">{t('chat.notools')}</p>
      )}
      <p style={{ marginTop: 10 }}>
        <Link className="link small" to={`/agents/${agent.id}`}>
          {t('agents.configure')}
        </Link>
      </p>
    </section>
  );
}

function Instructions({ agent }: { agent: Agent }): ReactElement {
  const session = useSession();
  const overrides = useChat((s) => s.overrides);
  const text = overrides.instructions ?? agent.instructions;
  const set = (change: Partial<typeof overrides>): void => session.put({ overrides: { ...overrides, ...change } });
  const [saving, setSaving] = useState(false);
  const save = async (): Promise<void> => {
    setSaving(true);
    try {
      const saved = await patch<Agent>(
        `/api/agents/${agent.id}`,
        {
          instructions: text,
          ...overrides.model,
          ...(overrides.temperature !== null ? { parameters: { ...agent.parameters, temperature: overrides.temperature } } : {}),
        },
        agent.revision,
      );
      queries.setQueryData(['/api/agents', session.agent], saved);
      // What is changed meanwhile is not saved.
      const now = session.store.getState().overrides;
      const left = <K extends keyof typeof now>(key: K): (typeof now)[K] | null => (now[key] === overrides[key] ? null : now[key]);
      session.put({ overrides: { ...now, instructions: left('instructions'), temperature: left('temperature'), model: left('model') } });
      refresh('/api/agents');
      toast(t('saved'));
    } catch (error) {
      toastError(error);
    } finally {
      setSaving(false);
    }
  };
  const changed = overrides.instructions !== null || overrides.temperature !== null || overrides.model !== null;
  const providers = useProviders().data;
  const { provider, model } = overrides.model ?? agent;
  return (
    <section className="stack">
      <ModelSelect
        providers={providers}
        provider={provider}
        model={model}
        onChange={(p, m) => set({ model: p === agent.provider && m === agent.model ? null : { provider: p, model: m } })}
      />
      <TextField
        label={t('key.instructions')}
        rows={14}
        value={text}
        onChange={(instructions) => set({ instructions: instructions === agent.instructions ? null : instructions })}
        hint={t('chat.override')}
      />
      <NumberField
        label={t('param.temperature')}
        value={overrides.temperature ?? (agent.parameters?.temperature as number | null)}
        min={0}
        max={2}
        step="any"
        onChange={(temperature) => set({ temperature })}
      />
      <div className="row">
        <Button disabled={!changed || saving} reason={agent.locked && t('locked')} onClick={() => void save()}>
          {t('chat.savetoagent')}
        </Button>
        {changed && (
          <Button look="ghost" onClick={() => set({ instructions: null, temperature: null, model: null })}>
            {t('chat.reset')}
          </Button>
        )}
      </div>
    </section>
  );
}
