/** Owns one message of a conversation, with its tool cards. */
import { ChevronDown, ChevronRight, Copy, ListTree, Pencil, RotateCcw } from 'lucide-react';
import { memo, useEffect, useEffectEvent, useState, type ReactElement } from 'react';
import type { Agent, RunSummary } from '@wfstudio/client';
import { tag, t } from '../../i18n';
import { count, duration, money } from '../../i18n/figures';
import { Button, LinkButton } from '../../parts/button';
import { copy } from '../../parts/copy';
import { CitedList } from '../../parts/cited';
import { callText, Code } from '../../parts/code';
import { EntityTile, Icon, NodeTile } from '../../parts/icons';
import { MadeFiles } from '../../parts/made';
import { Markdown } from '../../parts/markdown';
import { say, toastError } from '../../parts/toast';
import { Located, type Spot } from '../../parts/place';
import { Fault, meaning, Warned } from '../../parts/said';
import { Thought } from '../../parts/thought';
import { Doubts } from '../../run/doubts';
import type { ToolUse } from '../../run/view';
import { FileChip } from './file-chip';
import { tellRefusal } from '../../run/refusal';
import { useSession } from './session';
import type { Turn } from './turns';

export const TurnView = memo(function TurnView({
  turn,
  agent,
  run,
  onSay,
}: {
  turn: Turn;
  agent: Agent;
  run?: RunSummary;
  onSay?: (text: string) => void;
}): ReactElement {
  const session = useSession();
  const tell = useEffectEvent((state: Turn['state']) => {
    if (state === 'done' && turn.text) say(turn.text.slice(0, 600));
    if (state === 'failed') say(turn.error ? `${meaning(turn.error.code)} ${turn.error.message}` : '');
  });
  useEffect(() => tell(turn.state), [turn.state]);
  if (turn.role === 'user') return <UserTurn turn={turn} onSay={onSay} />;
  if (turn.role === 'summary')
    return (
      <details className="summary">
        <summary>{t('chat.summary')}</summary>
        <Markdown text={turn.text} />
      </details>
    );
  const usage = turn.usage ?? run;
  const took = turn.usage && turn.end ? turn.end - turn.start : run?.working_ms;
  const figures =
    usage && turn.state !== 'streaming' && turn.state !== 'waiting'
      ? [
          took != null ? duration(took) : '',
          `${count(usage.total_tokens)} ${t('tok')}`,
          usage.unpriced ? t('usage.unpriced') : money(usage.estimated_cost, usage.currency),
        ]
          .filter(Boolean)
          .join(' · ')
      : '';
  const thinking = turn.state === 'streaming' && !turn.text && turn.tools.every((u) => u.result !== null);
  return (
    <div className="am">
      <div className="who">
        <EntityTile type="agent" />
        <b>{agent.name}</b>
        <span className="mut">{figures}</span>
        {turn.state === 'stopped' && <span className="pill">{t('status.stopped')}</span>}
        <span className="sp" />
        {turn.text && turn.state !== 'streaming' && (
          <Button
            look="ghost"
            small
            icon={Copy}
            label={t('copy')}
            onClick={() => {
              void copy(turn.text);
            }}
          />
        )}
        {onSay && !turn.error && turn.state !== 'streaming' && turn.state !== 'waiting' && (
          <Button look="ghost" small icon={RotateCcw} label={t('chat.again')} onClick={() => onSay('')} />
        )}
        {turn.trace && (
          <LinkButton to={`/traces/${turn.trace}`} look="ghost" small icon={ListTree}>
            {t('chat.trace')}
          </LinkButton>
        )}
      </div>
      <Thought text={turn.thought} />
      {turn.tools.map((use) => (
        <ToolCard key={use.callId} use={use} />
      ))}
      {turn.text && <Markdown text={turn.text} cursor={turn.state === 'streaming'} />}
      <MadeFiles files={turn.made} />
      <CitedList list={turn.cited} />
      <Warned list={turn.warnings} />
      {thinking && (
        <span className="st run" style={{ alignSelf: 'flex-start' }}>
          <span className="dot" />
          {t('chat.thinking')}
        </span>
      )}
      {turn.error && (
        <Fault
          error={turn.error}
          beside={
            <>
              <span className="sp" />
              {turn.state === 'lost' && turn.trace ? (
                <Button small onClick={() => void session.attach(turn.trace ?? '').catch(toastError)}>
                  {t('run.watch')}
                </Button>
              ) : (
                onSay && (
                  <Button small icon={RotateCcw} onClick={() => onSay('')}>
                    {t('retry')}
                  </Button>
                )
              )}
            </>
          }
        />
      )}
      {turn.error?.calls && turn.trace && (
        <Doubts
          calls={turn.error.calls}
          busy={turn.state === 'streaming'}
          onSettle={(answers) => void session.settle(turn.trace ?? '', answers).then(tellRefusal)}
        />
      )}
    </div>
  );
});

/** What a person said; saying it differently begins a branch. */
function UserTurn({ turn, onSay }: { turn: Turn; onSay?: (text: string) => void }): ReactElement {
  const [text, setText] = useState<string | null>(null);
  const send = (): void => {
    if (text?.trim() && onSay) {
      onSay(text.trim());
      setText(null);
    }
  };
  if (text !== null) {
    return (
      <form
        className="um edit"
        onSubmit={(e) => {
          e.preventDefault();
          send();
        }}
      >
        <textarea
          className="in"
          autoFocus
          rows={3}
          value={text}
          aria-label={t('chat.edit')}
          onChange={(e) => setText(e.target.value)}
          onKeyDown={(e) => {
            if (e.key === 'Escape') setText(null);
            if (e.key === 'Enter' && !e.shiftKey && !e.nativeEvent.isComposing) {
              e.preventDefault();
              send();
            }
          }}
        />
        <div className="row wrap">
          <span className="mut small">{t('chat.edit.hint')}</span>
          <span className="sp" />
          <Button small onClick={() => setText(null)}>
            {t('cancel')}
          </Button>
          <Button small look="pri" type="submit" disabled={!text.trim() || !onSay}>
            {t('chat.edit.send')}
          </Button>
        </div>
      </form>
    );
  }
  return (
    <div className="um">
      <div className="umrow">
        {onSay && turn.text && <Button look="ghost" small icon={Pencil} label={t('chat.edit')} onClick={() => setText(turn.text)} />}
        <div className="bub">{turn.text}</div>
      </div>
      {turn.files.map((f) => (
        <FileChip key={f.storage_key} file={f} />
      ))}
    </div>
  );
}

interface Source extends Spot {
  source: string;
  score: number;
}

/** What a search found, when that is what a tool answered with. */
function sourcesOf(result: unknown): Source[] | null {
  const list = (result as { sources?: unknown } | null)?.sources;
  return Array.isArray(list) &&
    list.length > 0 &&
    list.every((x: Partial<Source> | null) => typeof x?.source === 'string' && typeof x.score === 'number')
    ? (list as Source[])
    : null;
}

function Sources({ list, of }: { list: Source[]; of: { context?: string; knowledge_base_id?: string } }): ReactElement {
  return (
    <>
      <ul className="sources">
        {list.map((x, n) => (
          <li key={n} className="row">
            <Located name={x.source} of={{ ...of, ...x }} />
            <span className="sp" />
            <span className="mono">{x.score.toLocaleString(tag, { minimumFractionDigits: 2, maximumFractionDigits: 2 })}</span>
          </li>
        ))}
      </ul>
      {of.context && (
        <details className="more">
          <summary>{t('chat.sources.text')}</summary>
          <Code value={of.context} maxHeight={320} />
        </details>
      )}
    </>
  );
}

export function ToolCard({ use }: { use: ToolUse }): ReactElement {
  const [open, setOpen] = useState(false);
  let result: unknown = use.result;
  if (typeof result === 'string') {
    try {
      result = JSON.parse(result);
    } catch {
      /* plain text */
    }
  }
  const sources = sourcesOf(result);
  return (
    <div className="tc">
      <button type="button" className="row tchead" aria-expanded={open} onClick={() => setOpen(!open)}>
        <NodeTile type="tool" />
        <span className="mono trunc">
          <b>{use.name}</b>({callText(use.inputs)})
        </span>
        <span className="sp" />
        {use.isError && <span className="pill fail">{t('status.failed')}</span>}
        {use.skipped && <span className="pill">{t('run.skipped')}</span>}
        <span className="mut small">{use.result === null ? t('status.running') : use.ms !== null ? duration(use.ms) : ''}</span>
        <Icon as={open ? ChevronDown : ChevronRight} />
      </button>
      <MadeFiles files={use.files} />
      {open && (
        <div className="tr2">
          {callText(use.inputs).endsWith('…') && (
            <>
              <h3>{t('chat.arguments')}</h3>
              <Code value={use.inputs} maxHeight={200} />
            </>
          )}
          {sources ? (
            <Sources list={sources} of={result as object} />
          ) : (
            <>
              <h3>{t('toolspage.result')}</h3>
              <Code value={result ?? '…'} maxHeight={320} />
            </>
          )}
        </div>
      )}
    </div>
  );
}
