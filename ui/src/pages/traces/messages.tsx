/** Owns the exact prompt: messages by role, tool calls, what the context was spent on, what was cut. */
import type { ReactElement } from 'react';
import { useProviders } from '../../api/queries';
import type { Span, Step } from '@wfstudio/client';
import { t, tx } from '../../i18n';
import { compact, count, percent } from '../../i18n/figures';
import { CitedList } from '../../parts/cited';
import { callText, Code, plain } from '../../parts/code';
import { MadeFiles } from '../../parts/made';
import { Thought } from '../../parts/thought';
import { madeFiles, type MadeFile } from '../../run/made';
import { sourcesOf, thoughtOf, type Cited } from '../../run/thoughts';
import { Cuts } from './step-panel';

interface Said {
  role: string;
  text: string;
  thought?: string;
  cited?: Cited[];
  files?: MadeFile[];
  calls: { name: string; input: Record<string, unknown> }[];
}

/** Messages as providers and the engine write them: text, parts, or calls. */
export function readMessages(value: unknown): Said[] {
  if (typeof value === 'string') return [{ role: 'user', text: value, calls: [] }];
  const box = value as { messages?: unknown; system?: unknown; instructions?: unknown; content?: unknown; role?: unknown } | null;
  if (Array.isArray(value)) return value.flatMap(one);
  if (!box || typeof box !== 'object') return [];
  const system = box.system ?? box.instructions;
  const list = Array.isArray(box.messages) ? box.messages.flatMap(one) : box.content !== undefined || box.role ? one(box) : [];
  return [...(typeof system === 'string' && system ? [{ role: 'system', text: system, calls: [] }] : []), ...list];
}

function one(value: unknown): Said[] {
  if (typeof value === 'string') return [{ role: 'user', text: value, calls: [] }];
  const m = value as Record<string, unknown> | null;
  if (!m || typeof m !== 'object') return [];
  const calls = (Array.isArray(m.tool_calls) ? m.tool_calls : []) as Record<string, unknown>[];
  const parts = Array.isArray(m.content)
    ? (m.content as Record<string, unknown>[]).map((p) => (typeof p.text === 'string' ? p.text : plain(p))).join('\n')
    : typeof m.content === 'string'
      ? m.content
      : typeof m.text === 'string'
        ? m.text
        : m.content === undefined || m.content === null
          ? ''
          : plain(m.content);
  return [
    {
      role: String(m.role ?? 'assistant'),
      text: parts,
      thought: thoughtOf(m.parts),
      cited: sourcesOf(m.parts),
      files: madeFiles(m.attachments),
      calls: calls.map((c) => ({
        name: String(c.name ?? (c.function as { name?: string })?.name ?? ''),
        input: (c.inputs ?? c.arguments ?? c.input ?? {}) as Record<string, unknown>,
      })),
    },
  ];
}

const size = (said: Said[]): number => Math.ceil(said.reduce((sum, m) => sum + m.text.length + JSON.stringify(m.calls).length, 0) / 4);
const COLOURS: Record<string, string> = { system: 'var(--c1)', user: 'var(--c4)', assistant: 'var(--c2)', tool: 'var(--c3)' };

/** Tokens a second over the whole call. */
const speed = (span: Span): string =>
  span.completion_tokens && span.duration_ms && span.duration_ms >= 50
    ? `${count(Math.round(span.completion_tokens / (span.duration_ms / 1000)))} tok/s`
    : '';

export function Messages({ spans, step }: { spans: Span[]; step: Step }): ReactElement {
  const providers = useProviders().data;
  const models = spans.filter((s) => s.type === 'llm');
  const cuts = spans.filter((s) => s.type === 'context');
  if (models.length === 0) return <p className="mut">{t('trace.nomessages')}</p>;
  return (
    <>
      {models.map((span, n) => {
        const input = readMessages(span.input);
        const output = readMessages(span.output);
        const groups = [...new Set(input.map((m) => m.role))].map((role) => ({ role, tokens: size(input.filter((m) => m.role === role)) }));
        const sent = groups.reduce((sum, g) => sum + g.tokens, 0);
        const room = providers?.data.find((p) => p.id === span.provider)?.models.find((m) => m.id === span.model)?.context_window ?? null;
        const total = Math.max(1, sent, room && room < sent * 20 ? room : 0);
        return (
          <section key={span.id}>
            <div className="row between">
              <h2>{models.length > 1 ? t('trace.call', { n: n + 1 }) : t('trace.messages')}</h2>
              <span className="mut small">
                {[span.model, `${count(span.total_tokens)} ${t('tok')}`, speed(span)].filter(Boolean).join(' · ')}
              </span>
            </div>
            {input.length > 0 && (
              <>
                <div className="ctx" role="img" aria-label={t('trace.context')}>
                  {groups.map((g) => (
                    <i key={g.role} style={{ width: `${(g.tokens / total) * 100}%`, background: COLOURS[g.role] ?? 'var(--c5)' }} />
                  ))}
                </div>
                <div className="lgd">
                  {groups.map((g) => (
                    <span key={g.role}>
                      <i style={{ background: COLOURS[g.role] ?? 'var(--c5)' }} />
                      {tx(`role.${g.role}`, g.role)} ≈{count(g.tokens)}
                    </span>
                  ))}
                  {room && (
                    <span className="mut">
                      {t('trace.window', { share: percent((span.prompt_tokens || sent) / room), size: compact(room) })}
                    </span>
                  )}
                </div>
              </>
            )}
            {input.length === 0 &&
              output.length === 0 &&
              (span.input || span.output ? (
                <Code value={{ input: span.input, output: span.output }} />
              ) : (
                <p className="mut small">{t('trace.nostored')}</p>
              ))}
            {[...input, ...output.map((m) => ({ ...m, role: 'assistant' }))].map((m, k) => (
              <div key={k} className={`msg${m.role === 'assistant' ? ' as' : ''}`}>
                <div className="eyebrow">{tx(`role.${m.role}`, m.role)}</div>
                {m.thought && <Thought text={m.thought} />}
                {m.text && (
                  <div style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}>
                    {m.text.length > 6000 ? `${m.text.slice(0, 6000)}…` : m.text}
                  </div>
                )}
                <MadeFiles files={m.files} />
                {m.cited && <CitedList list={m.cited} />}
                {m.calls.map((c, j) => (
                  <div key={j} className="mono">
                    <b>{c.name}</b>({callText(c.input)})
                  </div>
                ))}
              </div>
            ))}
          </section>
        );
      })}
      <Cuts spans={cuts} />
      {step.provider && <p className="mut small">{t('trace.estimate')}</p>}
    </>
  );
}
