/** Owns what is told about one step or span: output, state, messages, usage, raw. */
import { useQuery } from '@tanstack/react-query';
import { useState, type ReactElement } from 'react';
import { Link } from 'wouter';
import { get } from '../../api/client';
import type { Span, Step, TraceAnswer, WholeStep } from '@wfstudio/client';
import { t } from '../../i18n';
import { count } from '../../i18n/figures';
import { MadeFiles } from '../../parts/made';
import { filesIn } from '../../run/made';
import { Button } from '../../parts/button';
import { Code } from '../../parts/code';
import { ChangesList } from '../../parts/diff';
import { NodeTile } from '../../parts/icons';
import { Markdown } from '../../parts/markdown';
import { Failure, SkeletonRows } from '../../parts/states';
import { Segments, Tabs } from '../../parts/tabs';
import { Fault, Warned } from '../../parts/said';
import type { Row } from '../../run/rows';
import type { RetryBody } from '../../run/session';
import { RotateCcw } from 'lucide-react';
import { Messages } from './messages';
import { Located } from '../../parts/place';
import { UsageTab } from './usage-tab';
import { Writers } from './writers';

type TabId = 'output' | 'state' | 'messages' | 'usage' | 'raw';
/** What stands where the server cut a value. */
const CUT = '[truncated]';
export function StepPanel({
  answer,
  row,
  tab,
  onTab,
  onRetry,
}: {
  answer: TraceAnswer;
  row: Row;
  tab: string | null;
  onTab: (tab: string) => void;
  onRetry: (body: RetryBody) => void;
}): ReactElement {
  const id = answer.trace.id;
  const [full, setFull] = useState(false);
  const brief = answer.steps.find((s) => s.id === row.stepId);
  const whole = useQuery({
    queryKey: ['/api/runs', id, 'steps', row.stepId, full, brief?.status, brief?.attempt],
    queryFn: () => get<WholeStep>(`/api/runs/${id}/steps/${row.stepId}`, { full: full || undefined }),
    placeholderData: (before) => (before?.id === row.stepId ? before : undefined),
  });
  const step = whole.data ?? brief;
  const spans = whole.data?.spans.length ? whole.data.spans : answer.spans.filter((s) => s.step_id === row.stepId);
  const span = row.spanId ? spans.find((s) => s.id === row.spanId) : undefined;
  const shown = span ? [span] : spans;
  const messages = shown.filter((s) => s.type === 'llm').length;
  const changed = Object.keys(step?.output ?? {}).length;
  const current = (['output', 'state', 'messages', 'usage', 'raw'] as const).find((x) => x === tab) ?? 'output';
  const { status, error } = answer.trace;
  const blocked = status !== 'failed' ? t('run.from.failed') : error?.code === 'in_doubt' && t('doubt.first');
  return (
    <>
      <div className="ih">
        <NodeTile type={row.type} />
        <div style={{ minWidth: 0 }}>
          <h2 className="trunc">{row.label}</h2>
          <div className="mono mut trunc">{[step?.node_id, span?.model ?? step?.model].filter(Boolean).join(' · ')}</div>
        </div>
        <span className="sp" />
        {answer.trace.entity_type === 'workflow' && (
          <Button
            small
            icon={RotateCcw}
            reason={blocked}
            onClick={() => onRetry(brief?.status === 'failed' ? {} : { from_step_id: row.stepId })}
          >
            {t('run.rerun')}
          </Button>
        )}
      </div>
      <Tabs<TabId>
        label={row.label}
        value={current}
        onChange={onTab}
        panel="step-panel"
        tabs={[
          { id: 'output', label: t('run.output') },
          { id: 'state', label: t('tab.state'), badge: changed || undefined },
          { id: 'messages', label: t('trace.messages'), badge: messages || undefined },
          { id: 'usage', label: t('trace.usage') },
          { id: 'raw', label: t('trace.raw') },
        ]}
      />
      <div className="ib" id="step-panel" role="tabpanel" tabIndex={0}>
        {whole.isError && !step ? (
          <Failure error={whole.error} onRetry={() => void whole.refetch()} />
        ) : !step ? (
          <SkeletonRows rows={4} />
        ) : (
          <>
            {step.error && (
              <Fault
                error={step.error}
                more={step.validation_errors?.map((e) => (
                  <div key={e} className="small">
                    {e}
                  </div>
                ))}
              />
            )}
            <Warned list={(span ?? step).warnings} />
            {current === 'output' && <Output step={step} span={span} spans={shown} />}
            {current === 'state' && (
              <>
                <StateView step={step} loading={whole.isPending} />
                <Writers answer={answer} step={step} />
              </>
            )}
            {current === 'messages' && <Messages spans={shown} step={step} />}
            {current === 'usage' && <UsageTab step={step} span={span} spans={shown} />}
            {current === 'raw' && (
              <>
                <Code value={span ?? step} maxHeight={2000} />
                {!full && JSON.stringify(span ?? step).includes(CUT) && (
                  <div>
                    <Button small onClick={() => setFull(true)}>
                      {t('load.rest')}
                    </Button>
                  </div>
                )}
              </>
            )}
          </>
        )}
      </div>
    </>
  );
}

function Output({ step, span, spans }: { step: Step; span?: Span; spans: Span[] }): ReactElement {
  if (span && span.type !== 'context')
    return (
      <>
        <section>
          <h2>{t('trace.in')}</h2>
          <Code value={span.input ?? '–'} maxHeight={240} />
        </section>
        <section>
          <h2>{t('run.output')}</h2>
          <MadeFiles files={filesIn(span.output)} />
          <Code value={span.output ?? span.error ?? '–'} maxHeight={600} />
        </section>
      </>
    );
  if (span) return <Cuts spans={[span]} />;
  const out = Object.entries(step.output ?? {});
  return (
    <>
      {out.length === 0 && !step.error && <p className="mut">{step.status === 'running' ? t('status.running') : t('trace.nooutput')}</p>}
      {out.map(([key, value]) => (
        <section key={key}>
          <h2 className="mono" style={{ fontSize: 12 }}>
            {key}
          </h2>
          <MadeFiles files={filesIn(value)} />
          {typeof value === 'string' ? (
            <div style={{ marginTop: 6 }}>
              <Markdown text={value} />
            </div>
          ) : (
            <Code value={value} maxHeight={600} />
          )}
        </section>
      ))}
      {step.child_run_id && (
        <Link className="link" to={`/traces/${step.child_run_id}`}>
          {t('trace.child')}
        </Link>
      )}
      {(step.citations?.length ?? 0) > 0 && (
        <section>
          <h2>{t('trace.citations')}</h2>
          <ul>
            {step.citations?.map((c) => (
              <li key={c.chunk_id} className="row" style={{ minHeight: 24 }}>
                <span className="pill">{c.n}</span>
                <Located name={c.source_name} of={c} />
              </li>
            ))}
          </ul>
        </section>
      )}
      <Cuts spans={spans.filter((s) => s.type === 'context')} />
    </>
  );
}

export function Cuts({ spans }: { spans: Span[] }): ReactElement | null {
  if (spans.length === 0) return null;
  return (
    <>
      {spans.map((s) => {
        const o = s.output as {
          field?: string;
          tool?: string;
          kind?: string;
          tokens_before?: number;
          tokens_after?: number;
          strategy?: string;
        } | null;
        return (
          <p key={s.id} className="cut">
            <span className="cutmark" aria-hidden="true" />
            <span>
              <b>{o?.field ?? o?.tool ?? o?.kind}</b>{' '}
              {t(o?.strategy === 'sentence' ? 'trace.cut.sentence' : 'trace.cut.hard', {
                a: count(o?.tokens_before ?? 0),
                b: count(o?.tokens_after ?? 0),
              })}
            </span>
          </p>
        );
      })}
    </>
  );
}

function StateView({ step, loading }: { step: Step; loading: boolean }): ReactElement {
  const [side, setSide] = useState<'changes' | 'before' | 'after'>('changes');
  const before = step.state_snapshot ?? {};
  const after = { ...before, ...step.output };
  if (loading && !step.state_snapshot) return <SkeletonRows rows={4} />;
  return (
    <section>
      <div className="row between">
        <h2>{t('state.here')}</h2>
        <Segments
          small
          label={t('tab.state')}
          value={side}
          onChange={setSide}
          options={[
            { id: 'changes', label: t('state.changes') },
            { id: 'before', label: t('state.before') },
            { id: 'after', label: t('state.after') },
          ]}
        />
      </div>
      <div style={{ marginTop: 9 }}>
        {side === 'changes' ? (
          <ChangesList before={before} after={after} />
        ) : (
          <Code value={side === 'before' ? before : after} maxHeight={1200} />
        )}
      </div>
    </section>
  );
}
