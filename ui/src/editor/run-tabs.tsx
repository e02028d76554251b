/** Owns what the inspector tells about a node in a run. */
import { Braces, Octagon, RotateCcw } from 'lucide-react';
import { useState, type ReactElement } from 'react';
import type { GraphNode } from '@wfstudio/client';
import { t } from '../i18n';
import { count, duration, money } from '../i18n/figures';
import { MadeFiles } from '../parts/made';
import { Button } from '../parts/button';
import { callText, Code } from '../parts/code';
import { ChangesList } from '../parts/diff';
import { Dialog } from '../parts/dialog';
import { Icon } from '../parts/icons';
import { Markdown } from '../parts/markdown';
import { Thought } from '../parts/thought';
import { Segments } from '../parts/tabs';
import { Fault, Warned } from '../parts/said';
import { pauseAt } from '../run/breaks';
import { AskHere, DoubtsHere } from '../run/here';
import { tellRefusal } from '../run/refusal';
import type { RetryBody } from '../run/session';
import { useRun } from '../run/store';
import type { StepView } from '../run/view';
import { unread } from '../parts/field';
import { JsonField } from './json-field';
import { useLastStep } from './last-values';
import { useEditor } from './store';
import { canBreak, toggleBreak, useTrials } from './trials';

const retry = (body: RetryBody): void => void useRun.getState().session?.retry(body).then(tellRefusal);

export function RunTab({ node, step }: { node: GraphNode; step?: StepView }): ReactElement {
  const pause = useRun((s) => pauseAt(s.view, node.id));
  const status = useRun((s) => s.view.status);
  const rejected = useEditor((s) => s.graph.edges.find((e) => e.source === node.id && e.sourceHandle === 'rejected'));
  const to = useEditor((s) => s.graph.nodes.find((n) => n.id === rejected?.target));
  const graph = useEditor((s) => s.graph);
  const broken = useTrials((s) => s.breaks.includes(node.id));
  const [editing, setEditing] = useState(false);
  const doubtful = useRun((s) => s.view.error?.code === 'in_doubt');
  const blocked = status !== 'failed' ? t('run.from.failed') : doubtful ? t('doubt.first') : undefined;
  const stored = useLastStep(node.id);
  if (!step) return <p className="mut">{t('run.notreached')}</p>;
  const used = step.tokens
    ? step
    : stored?.total_tokens
      ? {
          prompt: stored.prompt_tokens,
          completion: stored.completion_tokens,
          cost: stored.estimated_cost,
          currency: stored.currency,
          unpriced: stored.unpriced,
        }
      : null;
  return (
    <>
      {pause && <AskHere pause={pause} rejectedTo={to ? `rejected → ${to.title ?? to.id}` : undefined} />}
      <DoubtsHere node={node.id} />
      {step.error && <Fault error={step.error} />}
      <Thought text={step.thought} />
      {step.text && (
        <section>
          <h2>{t('run.output')}</h2>
          <div style={{ marginTop: 6 }}>
            <Markdown text={step.text} cursor={step.state === 'streaming'} />
          </div>
        </section>
      )}
      <MadeFiles files={step.files} />
      <Warned list={step.warnings} />
      {step.tools.length > 0 && (
        <section>
          <h2>{t('run.tools')}</h2>
          {step.tools.map((use) => (
            <details key={use.callId} className="more">
              <summary className="mono">
                <b>{use.name}</b>({callText(use.inputs, 40)}){' '}
                {use.skipped ? `· ${t('run.skipped')}` : use.ms !== null ? `· ${duration(use.ms)}` : ''}
              </summary>
              <MadeFiles files={use.files} />
              <Code value={use.result ?? ''} maxHeight={200} />
            </details>
          ))}
        </section>
      )}
      <StateTab node={node} step={step} />
      <section>
        <h2>{t('run.usage')}</h2>
        <dl className="dl">
          <dt>{t('usage.prompt')}</dt>
          <dd>{used ? count(used.prompt) : '–'}</dd>
          <dt>{t('usage.completion')}</dt>
          <dd>{used ? count(used.completion) : '–'}</dd>
          <dt>{t('usage.cost')}</dt>
          <dd>{used?.unpriced ? t('usage.unpriced') : money(used?.cost, used?.currency)}</dd>
          <dt>{t('trace.duration')}</dt>
          <dd>{duration(step.ms ?? stored?.duration_ms)}</dd>
        </dl>
      </section>
      <section>
        <h2>{t('run.from')}</h2>
        <div className="acts">
          <button
            type="button"
            disabled={!!blocked}
            title={blocked}
            onClick={() => retry(step.state === 'failed' ? {} : { from_step_id: step.id })}
          >
            <Icon as={RotateCcw} />
            {t('run.rerun')}
          </button>
          <button type="button" disabled={!!blocked} title={blocked} onClick={() => setEditing(true)}>
            <Icon as={Braces} />
            {t('run.editstate')}
          </button>
          {canBreak(node, graph) && (
            <button type="button" aria-pressed={broken} onClick={() => void toggleBreak(node.id)}>
              <Icon as={Octagon} />
              {t(broken ? 'trial.unbreak' : 'trial.break')}
            </button>
          )}
        </div>
      </section>
      <EditState open={editing} onClose={() => setEditing(false)} step={step} />
    </>
  );
}

function EditState({ open, onClose, step }: { open: boolean; onClose: () => void; step: StepView }): ReactElement {
  const [state, setState] = useState<unknown>({});
  return (
    <Dialog open={open} onClose={onClose} title={t('run.editstate')}>
      <JsonField label={t('run.statemerge')} value={state} rows={8} onChange={(v) => setState(v ?? {})} />
      <div className="foot">
        <Button onClick={onClose}>{t('cancel')}</Button>
        <Button
          look="pri"
          onClick={() => {
            if (unread()) return;
            onClose();
            retry({ ...(step.state === 'failed' ? {} : { from_step_id: step.id }), state: state as Record<string, unknown> });
          }}
        >
          {t('run.rerun')}
        </Button>
      </div>
    </Dialog>
  );
}

/** The state a step found: what the run had added to its input by then, or all of it. */
function Reached({ state }: { state: Record<string, unknown> }): ReactElement {
  const [whole, setWhole] = useState<'changes' | 'full'>('changes');
  return (
    <section>
      <div className="row between">
        <h2>{t('state.at')}</h2>
        <Segments
          small
          label={t('state.at')}
          value={whole}
          onChange={setWhole}
          options={[
            { id: 'changes', label: t('state.changes') },
            { id: 'full', label: t('state.full') },
          ]}
        />
      </div>
      <div style={{ marginTop: 8 }}>
        {whole === 'full' ? <Code value={state} maxHeight={260} /> : <ChangesList before={{ input: state.input }} after={state} />}
      </div>
    </section>
  );
}

export function StateTab({ node, step }: { node: GraphNode; step?: StepView }): ReactElement | null {
  const found = useLastStep(node.id)?.state_snapshot;
  if (!step) return null;
  const changed = step.changes && Object.keys(step.changes).length > 0 ? step.changes : null;
  if (step.end === null && !changed) return found ? <Reached state={found} /> : null;
  if (!changed) return <p className="mut small">{t('state.nochange')}</p>;
  return (
    <section>
      <h2>{t('state.here')}</h2>
      <div style={{ marginTop: 8 }}>
        <ChangesList before={found ?? {}} after={{ ...found, ...changed }} />
      </div>
    </section>
  );
}
