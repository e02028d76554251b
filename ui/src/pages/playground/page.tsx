/** Owns the playground of one agent: sessions, conversation, what this run used. */
import { Columns2, MessagesSquare, PanelRight, Plus } from 'lucide-react';
import { useEffect, useEffectEvent, useRef, useState, type ReactElement } from 'react';
import { useStore, type StoreApi } from 'zustand';
import { useItem, useList } from '../../api/queries';
import type { Agent, Thread } from '@wfstudio/client';
import { t } from '../../i18n';
import { Button } from '../../parts/button';
import { Dialog } from '../../parts/dialog';
import { readyMarkdown } from '../../parts/markdown';
import { Failure, SkeletonRows } from '../../parts/states';
import { useAddress, useWidth } from '../../shell/place';
import { Top } from '../../shell/top';
import { AgentTabs } from '../agents/tabs';
import '../../styles/playground.css';
import { ChatPane } from './chat';
import { Side } from './side';
import { Sessions } from './sessions';
import { ChatContext, ChatSession, newBox, type Box } from './session';

/** What is being written, by agent and session: there again when one comes back to it. */
const boxes = new Map<string, StoreApi<Box>>();
const place = (agent: string, thread: string | null): string => `${agent}/${thread ?? ''}`;
function boxOf(agent: string, thread: string | null): StoreApi<Box> {
  const box = boxes.get(place(agent, thread)) ?? newBox();
  boxes.set(place(agent, thread), box);
  return box;
}

export default function Playground({ id }: { id: string }): ReactElement {
  const agent = useItem<Agent>('agents', id);
  const [params, setParams] = useAddress();
  const width = useWidth();
  const wanted = params.get('thread');
  const [session, setSession] = useState(() => new ChatSession(id, wanted, boxOf(id, wanted)));
  const [failed, setFailed] = useState<unknown>(null);
  const current = useStore(session.store, (s) => s.thread);
  const busy = useStore(session.store, (s) => s.busy);
  const [sheet, setSheet] = useState<'sessions' | 'side' | null>(null);
  const [comparing, setComparing] = useState(false);
  const threads = useList<Thread>(`/agents/${id}/chat/threads`, { limit: 50, q: params.get('q') });
  useEffect(() => {
    void readyMarkdown();
  }, []);
  const show = (thread: string | null): void =>
    setSession(new ChatSession(id, thread, boxOf(id, thread), session.store.getState().overrides));
  useEffect(() => {
    setFailed(null);
    session.open().catch((error: unknown) => {
      if (session.here) setFailed(error);
    });
    return () => session.dispose();
  }, [session]);
  const follow = useEffectEvent((thread: string | null) => {
    if (thread !== session.store.getState().thread) show(thread);
  });
  useEffect(() => follow(wanted), [wanted, session]);
  // The address follows a conversation that gets an id, unless another one was chosen meanwhile.
  const followed = useRef({ session, thread: wanted });
  const tellAddress = useEffectEvent((thread: string | null) => {
    const { box } = session;
    if (thread) {
      // A new session has got its id.
      if (boxes.get(place(id, null)) === box) boxes.delete(place(id, null));
      boxes.set(place(id, thread), box);
    }
    const before = followed.current;
    if (thread && session === before.session && thread !== wanted && wanted === before.thread) setParams({ thread });
    followed.current = { session, thread };
  });
  useEffect(() => tellAddress(current), [current, session]);
  if (agent.isError && !agent.data)
    return (
      <>
        <Top crumbs={[{ label: t('nav.agents'), to: '/agents' }, { label: '…' }]} title={t('nav.agents')} />
        <div className="page">
          <Failure error={agent.error} id={id} onRetry={() => void agent.refetch()} list={{ to: '/agents', label: t('nav.agents') }} />
        </div>
      </>
    );
  const fresh = (): void => {
    show(null);
    setParams({ thread: null });
    setComparing(false);
    requestAnimationFrame(() => document.getElementById('chatbox')?.focus());
  };
  const name = agent.data?.name ?? '…';
  const slim = width === 'phone' || width === 'narrow';
  const sessions = (
    <Sessions
      agent={id}
      threads={threads}
      current={wanted ?? current}
      onOpen={(thread) => {
        setParams({ thread });
        setSheet(null);
      }}
      q={params.get('q') ?? ''}
      onSearch={(q) => setParams({ q })}
    />
  );
  return (
    <ChatContext value={session}>
      <Top
        crumbs={[{ label: t('nav.agents'), to: '/agents' }, { label: name }]}
        title={name}
        live={busy}
        middle={<AgentTabs id={id} here="playground" />}
      >
        {slim && <Button look="ghost" icon={MessagesSquare} label={t('chat.sessions')} onClick={() => setSheet('sessions')} />}
        {width !== 'full' && <Button look="ghost" icon={PanelRight} label={t('chat.thisrun')} onClick={() => setSheet('side')} />}
        <Button icon={Columns2} label={t('chat.compare')} aria-pressed={comparing} onClick={() => setComparing(!comparing)}>
          {slim ? undefined : t('chat.compare')}
        </Button>
        <Button look="pri" icon={Plus} label={t('chat.new')} onClick={fresh}>
          {slim ? undefined : t('chat.new')}
        </Button>
      </Top>
      {!agent.data ? (
        <div className="page">
          <SkeletonRows />
        </div>
      ) : (
        <div className="page fixed pgrid">
          {!slim && (
            <aside className="th" aria-label={t('chat.sessions')}>
              {sessions}
            </aside>
          )}
          <ChatPane
            agent={agent.data}
            comparing={comparing}
            failed={failed !== null && <Failure error={failed} onRetry={() => show(session.store.getState().thread)} />}
            onCompared={(thread) => {
              setComparing(false);
              if (thread) setParams({ thread });
            }}
          />
          {width === 'full' && (
            <aside className="pside" aria-label={t('chat.thisrun')}>
              <Side agent={agent.data} />
            </aside>
          )}
        </div>
      )}
      {agent.data && (
        <Dialog
          open={sheet !== null}
          onClose={() => setSheet(null)}
          title={sheet === 'sessions' ? t('chat.sessions') : t('chat.thisrun')}
          sheet
        >
          {sheet === 'sessions' ? <div className="th">{sessions}</div> : <Side agent={agent.data} />}
        </Dialog>
      )}
    </ChatContext>
  );
}
