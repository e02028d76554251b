/** Owns asking a person: the same form on the node, in the inspector, the dock, the trace and the playground. */
import { Check, Hand, Play } from 'lucide-react';
import { useId, useState, type KeyboardEvent, type ReactElement } from 'react';
import type { PendingTool } from '@wfstudio/client';
import type { Waiting } from './view';
import { t } from '../i18n';
import { Button } from '../parts/button';
import { callText, paint } from '../parts/code';
import { Icon } from '../parts/icons';
import { oneLine } from '../parts/one-line';
import { Segments } from '../parts/tabs';
import { keptInput, stopsBefore } from './breaks';
import type { Answer } from './session';
import { useRun } from './store';

interface Props {
  pause: Waiting;
  busy: boolean;
  onAnswer: (answer: Answer) => void;
  rejectedTo?: string;
  compact?: boolean;
  /** The input to go on with at a stop. */
  keep?: string;
}

export function Ask(props: Props): ReactElement {
  if (stopsBefore(props.pause.node_id)) return <StopAsk {...props} />;
  return props.pause.reason === 'human' ? <HumanAsk {...props} /> : <ToolAsk {...props} />;
}

function StopAsk({ pause, busy, onAnswer, keep }: Props): ReactElement {
  const name = stopsBefore(pause.node_id) ?? '';
  return (
    <section className="appr" role="group" aria-label={t('trial.ask', { name })}>
      <div className="row">
        <span style={{ color: 'var(--wait)' }}>
          <Icon as={Hand} />
        </span>
        <h2>{t('trial.ask', { name })}</h2>
        <span className="sp" />
        {pause.branch_id && <span className="pill">{t('ask.branch', { name: pause.branch_id })}</span>}
      </div>
      <p className="ink2 small" style={{ margin: '4px 0 0' }}>
        {t('trial.ask.text')}
      </p>
      <div className="row" style={{ marginTop: 10 }}>
        <Button look="pri" icon={Play} disabled={busy} onClick={() => onAnswer({ message: keep ?? keptInput(useRun.getState().view) })}>
          {busy ? t('trial.going') : t('trial.go')}
        </Button>
      </div>
    </section>
  );
}

type Decision = 'approve' | 'reject';

/** What is written to a question and not sent: there again wherever the question is shown next. */
const written = new Map<string, string>();
const KEPT = 50;
function useWritten(pause: string): [text: string, write: (text: string) => void] {
  const [text, setText] = useState(() => written.get(pause) ?? '');
  const write = (next: string): void => {
    setText(next);
    written.delete(pause);
    if (next) written.set(pause, next);
    if (written.size > KEPT) written.delete(written.keys().next().value ?? '');
  };
  return [text, write];
}

function ToolAsk({ pause, busy, onAnswer, rejectedTo }: Props): ReactElement {
  const tools = pause.pending_tools ?? [];
  const [message, setMessage] = useWritten(pause.pause_id);
  const [each, setEach] = useState<Record<string, Decision> | null>(null);
  const [sent, setSent] = useState<Decision | null>(null);
  const id = useId();
  const decide = (approval: Decision): void => {
    setSent(approval);
    onAnswer(message.trim() ? { approval, message: message.trim() } : { approval });
  };
  const sendEach = (): void => {
    if (!each) return;
    setSent('approve');
    onAnswer({
      decisions: tools.map((tool) => ({
        call_id: tool.call_id,
        approval: each[tool.call_id] ?? 'reject',
        ...(message.trim() && each[tool.call_id] === 'reject' ? { message: message.trim() } : {}),
      })),
    });
  };
  const onKey = (event: KeyboardEvent): void => {
    if (busy || (event.target as HTMLElement).matches('textarea,input,select') || event.metaKey || event.ctrlKey) return;
    // Decided one by one, no key decides for all.
    if (event.key.toLowerCase() === 'a' && !each) {
      event.preventDefault();
      decide('approve');
    }
    if (event.key.toLowerCase() === 'r') {
      event.preventDefault();
      document.getElementById(id)?.focus();
    }
  };
  return (
    <section className="appr" role="group" aria-labelledby={`${id}t`} onKeyDown={onKey} tabIndex={-1}>
      <div className="row">
        <span style={{ color: 'var(--wait)' }}>
          <Icon as={Hand} />
        </span>
        <h2 id={`${id}t`}>{t('ask.tools', { n: tools.length })}</h2>
        <span className="sp" />
        {pause.branch_id && <span className="pill">{t('ask.branch', { name: pause.branch_id })}</span>}
      </div>
      <p className="ink2 small" style={{ margin: '4px 0 10px' }}>
        <Sentence text={t('ask.stopped', { name: '\n' })} name={tools.map((x) => x.name).join(', ')} />
      </p>
      <div className="col" style={{ gap: 8 }}>
        {tools.map((tool) => (
          <Call
            key={tool.call_id}
            tool={tool}
            decision={each?.[tool.call_id]}
            onDecide={each ? (d) => setEach({ ...each, [tool.call_id]: d }) : undefined}
          />
        ))}
      </div>
      <label className="eyebrow" htmlFor={id} style={{ display: 'block', margin: '12px 0 4px' }}>
        {t('ask.message')} <span style={{ fontWeight: 400 }}>{t('ask.message.hint')}</span>
      </label>
      <textarea
        id={id}
        className="in"
        rows={2}
        style={{ minHeight: 52 }}
        value={message}
        disabled={busy}
        onChange={(e) => setMessage(e.target.value)}
      />
      <div className="row wrap" style={{ marginTop: 10, gap: 6 }}>
        {each ? (
          <Button look="pri" disabled={busy || tools.some((x) => !each[x.call_id])} onClick={sendEach}>
            {busy && sent ? t('ask.sent.yes') : t('ask.send')}
          </Button>
        ) : (
          <>
            <Button look="pri" icon={Check} disabled={busy} onClick={() => decide('approve')}>
              {busy && sent === 'approve' ? t('ask.sent.yes') : t('ask.approve.all')}
            </Button>
            <Button disabled={busy} onClick={() => decide('reject')}>
              {busy && sent === 'reject' ? t('ask.sent.no') : t('ask.reject')}
            </Button>
          </>
        )}
        {tools.length > 1 && !each && (
          <Button look="ghost" disabled={busy} onClick={() => setEach({})}>
            {t('ask.each')}
          </Button>
        )}
        <span className="sp" />
        <span className="row" style={{ gap: 3 }} aria-hidden="true">
          <kbd>A</kbd>
          <kbd>R</kbd>
        </span>
      </div>
      {rejectedTo && (
        <p className="mut small" style={{ marginTop: 8 }}>
          <Sentence text={t('ask.rejected', { handle: '\n' })} name={rejectedTo} />
        </p>
      )}
    </section>
  );
}

/** A sentence with a name in it, where its line break is. */
function Sentence({ text, name }: { text: string; name: string }): ReactElement {
  const [before, after] = text.split('\n');
  return (
    <>
      {before}
      <span className="mono">{name}</span>
      {after}
    </>
  );
}

function Call({ tool, decision, onDecide }: { tool: PendingTool; decision?: Decision; onDecide?: (d: Decision) => void }): ReactElement {
  return (
    <div className="col" style={{ gap: 6 }}>
      <CallText tool={tool} />
      {onDecide && (
        <Segments<Decision | ''>
          small
          label={tool.name}
          value={decision ?? ''}
          onChange={(d) => d && onDecide(d)}
          options={(['approve', 'reject'] as const).map((id) => ({ id, label: t(`ask.${id}`) }))}
        />
      )}
    </div>
  );
}

type Shown = Pick<PendingTool, 'name' | 'arguments' | 'fixed_arguments'>;

/** The arguments as the tool receives them. */
const received = (tool: Shown): object => ({ ...(tool.arguments as object), ...tool.fixed_arguments });

export const CallText = ({ tool }: { tool: Shown }): ReactElement => (
  <div className="code" tabIndex={0} role="group" aria-label={tool.name} style={{ maxHeight: 240 }}>
    <span className="k">{tool.name}</span> {paint(JSON.stringify(received(tool), null, 2))}
  </div>
);

function HumanAsk({ pause, busy, onAnswer }: Props): ReactElement {
  const [message, setMessage] = useWritten(pause.pause_id);
  const id = useId();
  const send = (): void => {
    if (message.trim() && !busy) onAnswer({ message: message.trim() });
  };
  return (
    <section className="appr" role="group" aria-labelledby={`${id}t`}>
      <div className="row">
        <span style={{ color: 'var(--wait)' }}>
          <Icon as={Hand} />
        </span>
        <h2 id={`${id}t`}>{t('ask.human')}</h2>
        <span className="sp" />
        {pause.branch_id && <span className="pill">{t('ask.branch', { name: pause.branch_id })}</span>}
      </div>
      {pause.prompt && (
        <p className="ink2" style={{ margin: '4px 0 10px', whiteSpace: 'pre-wrap' }}>
          {pause.prompt}
        </p>
      )}
      <label className="sr" htmlFor={id}>
        {t('ask.answer')}
      </label>
      <textarea
        id={id}
        className="in"
        rows={3}
        value={message}
        disabled={busy}
        placeholder={t('ask.answer')}
        onChange={(e) => setMessage(e.target.value)}
        onKeyDown={(e) => {
          if (e.key === 'Enter' && (e.metaKey || e.ctrlKey)) {
            e.preventDefault();
            send();
          }
        }}
      />
      <div className="row" style={{ marginTop: 10 }}>
        <Button look="pri" icon={Check} disabled={busy || !message.trim()} onClick={send}>
          {busy ? t('ask.sent.answer') : t('ask.continue')}
        </Button>
      </div>
    </section>
  );
}

/** The ask as it fits on a node: first call, how many. What is not shown is not decided here. */
export function AskOnNode({ pause, busy, onAnswer, onOpen }: Props & { onOpen: () => void }): ReactElement {
  const tools = pause.pending_tools ?? [];
  const first = tools[0];
  if (stopsBefore(pause.node_id))
    return (
      <div className="ask nodrag">
        <div className="asktext">{t('trial.broken')}</div>
        <div className="row">
          <Button look="pri" small icon={Play} disabled={busy} onClick={() => onAnswer({ message: keptInput(useRun.getState().view) })}>
            {busy ? t('trial.going') : t('trial.go')}
          </Button>
        </div>
      </div>
    );
  if (pause.reason === 'human' || !first) {
    return (
      <div className="ask nodrag">
        <div className="asktext">{oneLine(pause.prompt ?? '') || t('ask.human')}</div>
        <div className="row">
          <Button look="pri" small disabled={busy} onClick={onOpen}>
            {busy ? t('ask.sent.answer') : t('ask.answer')}
          </Button>
        </div>
      </div>
    );
  }
  return (
    <div className="ask nodrag">
      <div className="mono asktext">
        <b>{first.name}</b>({callText(received(first), 70)})
      </div>
      <div className="row">
        {tools.length > 1 ? (
          <Button look="pri" small disabled={busy} onClick={onOpen}>
            {t(busy ? 'ask.sent.yes' : 'ask.each')}
          </Button>
        ) : (
          <Button look="pri" small icon={Check} disabled={busy} onClick={() => onAnswer({ approval: 'approve' })}>
            {t(busy ? 'ask.sent.yes' : 'ask.approve')}
          </Button>
        )}
        {!busy && tools.length === 1 && (
          <Button small onClick={onOpen}>
            {t('ask.reject.dots')}
          </Button>
        )}
        {tools.length > 1 && (
          <>
            <span className="sp" />
            <span className="mut" style={{ fontSize: 11, whiteSpace: 'nowrap' }}>
              {t('ask.of', { n: 1, m: tools.length })}
            </span>
          </>
        )}
      </div>
    </div>
  );
}
