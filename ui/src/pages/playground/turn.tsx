/** Owns one message of a conversation, with its tool cards. */
import { ChevronDown, ChevronRight, Copy, ListTree, RotateCcw } from 'lucide-react';
import { memo, useEffect, useState, type ReactElement } from 'react';
import type { Agent } from '../../api/types';
import { t } from '../../i18n';
import { count, duration, money } from '../../i18n/figures';
import { Button, LinkButton } from '../../parts/button';
import { callText, Code } from '../../parts/code';
import { EntityTile, Icon, NodeTile } from '../../parts/icons';
import { Markdown } from '../../parts/markdown';
import { say, toast } from '../../parts/toast';
import type { ToolUse } from '../../run/view';
import { FileChip } from './chat';
import type { Turn } from './turns';

export const TurnView = memo(function TurnView({ turn, agent, onRetry }: { turn: Turn; agent: Agent; onRetry?: () => void }): ReactElement {
  useEffect(() => { if (turn.state === 'done' && turn.text) say(turn.text.slice(0, 600)); if (turn.state === 'failed') say(turn.error?.message ?? ''); }, [turn.state]);
  if (turn.role === 'user') return <div className="um"><div className="bub">{turn.text}</div>{turn.files.map((f) => <FileChip key={f.storage_key} file={f} />)}</div>;
  if (turn.role === 'summary') return <details className="summary"><summary>{t('chat.summary')}</summary><Markdown text={turn.text} /></details>;
  const figures = turn.usage ? [turn.end ? duration(turn.end - turn.start) : '', `${count(turn.usage.total_tokens)} ${t('tok')}`, turn.usage.unpriced ? t('usage.unpriced') : money(turn.usage.estimated_cost, turn.usage.currency)].filter(Boolean).join(' · ') : '';
  const thinking = turn.state === 'streaming' && !turn.text && turn.tools.every((u) => u.result !== null);
  return (
    <div className="am">
      <div className="who"><EntityTile type="agent" /><b>{agent.name}</b><span className="mut">{figures}</span>{turn.state === 'stopped' && <span className="pill">{t('status.stopped')}</span>}<span className="sp" />
        {turn.text && turn.state !== 'streaming' && <Button look="ghost" small icon={Copy} label={t('copy')} onClick={() => { void navigator.clipboard?.writeText(turn.text); toast(t('copied')); }} />}
        {turn.trace && <LinkButton to={`/traces/${turn.trace}`} look="ghost" small icon={ListTree}>{t('chat.trace')}</LinkButton>}
      </div>
      {turn.tools.map((use) => <ToolCard key={use.callId} use={use} />)}
      {turn.text && <Markdown text={turn.text} cursor={turn.state === 'streaming'} />}
      {thinking && <span className="st run" style={{ alignSelf: 'flex-start' }}><span className="dot" />{t('chat.thinking')}</span>}
      {turn.error && <div className="note-box fail" role="alert"><div><b>{turn.error.message}</b><div className="mono mut">{turn.error.code}</div></div><span className="sp" />{onRetry && <Button small icon={RotateCcw} onClick={onRetry}>{t('retry')}</Button>}</div>}
    </div>
  );
});

export function ToolCard({ use }: { use: ToolUse }): ReactElement {
  const [open, setOpen] = useState(false);
  let result: unknown = use.result;
  if (typeof result === 'string') { try { result = JSON.parse(result); } catch { /* plain text */ } }
  return (
    <div className="tc">
      <button type="button" className="row tchead" aria-expanded={open} onClick={() => setOpen(!open)}>
        <NodeTile type="tool" /><span className="mono trunc"><b>{use.name}</b>({callText(use.inputs)})</span><span className="sp" />
        {use.isError && <span className="pill fail">{t('status.failed')}</span>}{use.skipped && <span className="pill">{t('run.skipped')}</span>}
        <span className="mut small">{use.result === null ? t('status.running') : use.ms !== null ? duration(use.ms) : ''}</span><Icon as={open ? ChevronDown : ChevronRight} />
      </button>
      {open && <div className="tr2"><h3>{t('chat.arguments')}</h3><Code value={use.inputs} maxHeight={200} /><h3>{t('toolspage.result')}</h3><Code value={result ?? '…'} maxHeight={320} /></div>}
    </div>
  );
}
