/** Owns the conversation and the box one writes in. */
import { Bot, Braces, CircleStop, Send } from 'lucide-react';
import { useEffect, useRef, useState, type ReactElement, type ReactNode } from 'react';
import { useStore } from 'zustand';
import type { Agent } from '@wfstudio/client';
import { JsonField } from '../../editor/json-field';
import { unread } from '../../parts/field';
import { t } from '../../i18n';
import { Button } from '../../parts/button';
import { Dialog } from '../../parts/dialog';
import { FileButton, sendFiles, type SentFile } from '../../parts/files';
import { Said } from '../../parts/said';
import { textOf, toastError } from '../../parts/toast';
import { Icon } from '../../parts/icons';
import { Ask } from '../../run/ask';
import { tellRefusal } from '../../run/refusal';
import { sayInstead } from './branch';
import { Compare } from './compare';
import { FileChip } from './file-chip';
import { useThreadRuns } from './runs';
import { TurnView } from './turn';
import { useChat, useSession } from './session';

export function ChatPane({
  agent,
  comparing,
  failed,
  onCompared,
}: {
  agent: Agent;
  comparing: boolean;
  /** What is said of a session that could not be read. */
  failed?: ReactNode;
  onCompared: (thread: string | null) => void;
}): ReactElement {
  const session = useSession();
  const { turns, pause, busy, answering, opening, refused } = useChat((s) => s);
  const runs = useThreadRuns(agent.id).data;
  const end = useRef<HTMLDivElement>(null);
  const log = useRef<HTMLDivElement>(null);
  const stuck = useRef(true);
  const taker = useRef<(files: File[]) => void>(() => undefined);
  const [over, setOver] = useState(false);
  const [asked, setAsked] = useState<{ message: string; files: SentFile[] } | null>(null);
  useEffect(() => {
    if (stuck.current) end.current?.scrollIntoView({ block: 'end' });
  }, [turns, pause, asked, refused]);
  // Answers grow; whoever reads the end goes on reading it.
  const column = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!column.current) return;
    const growth = new ResizeObserver(() => {
      if (stuck.current) end.current?.scrollIntoView({ block: 'end' });
    });
    growth.observe(column.current);
    return () => growth.disconnect();
  }, []);
  // A question belongs to its session; one that is not asked there, or whose answers are not kept, is in its box again.
  const done = useRef<typeof asked>(null);
  useEffect(() => {
    if (!asked) return undefined;
    return () => {
      if (done.current !== asked) session.putBack(asked.message, asked.files);
      done.current = asked;
      setAsked((now) => (now === asked ? null : now));
    };
  }, [asked, session, comparing]);
  const last = [...turns].reverse().find((x) => x.role === 'user');
  return (
    <section
      className={`pchat${over ? ' over' : ''}`}
      aria-label={t('agents.playground')}
      onDragOver={(e) => {
        if (e.dataTransfer.types.includes('Files')) {
          e.preventDefault();
          setOver(true);
        }
      }}
      onDragLeave={(e) => {
        if (!e.currentTarget.contains(e.relatedTarget as Node | null)) setOver(false);
      }}
      onDrop={(e) => {
        e.preventDefault();
        setOver(false);
        taker.current([...e.dataTransfer.files]);
      }}
    >
      <div
        className="msgs scroll"
        ref={log}
        tabIndex={0}
        role="log"
        aria-label={t('chat.conversation')}
        aria-live="off"
        onScroll={(e) => {
          const el = e.currentTarget;
          stuck.current = el.scrollHeight - el.scrollTop - el.clientHeight < 60;
        }}
      >
        <div className="msgcol" ref={column}>
          {failed}
          {turns.length === 0 && !asked && !opening && <Opening agent={agent} onSay={(text) => void session.send(text, [])} />}
          {turns.map((turn) => (
            <TurnView
              key={turn.key}
              turn={turn}
              agent={agent}
              run={turn.trace ? runs?.find((r) => r.id === turn.trace) : undefined}
              onSay={
                busy || asked
                  ? undefined
                  : turn.role === 'user'
                    ? (text) => void sayInstead(session, turn, text).catch(toastError)
                    : last && turn === turns.at(-1) && !pause
                      ? () => void sayInstead(session, last, last.text).catch(toastError)
                      : undefined
              }
            />
          ))}
          {pause && (
            <Ask key={pause.pause_id} pause={pause} busy={answering} onAnswer={(a) => void session.answer(pause, a).then(tellRefusal)} />
          )}
          {refused && (
            <div className="note-box fail" role="alert">
              <Said text={t('chat.refused', { message: textOf(refused) })} />
            </div>
          )}
          {asked && (
            <Compare
              agent={agent}
              asked={asked}
              onKept={(thread) => {
                if (thread) done.current = asked;
                setAsked(null);
                onCompared(thread);
              }}
            />
          )}
          <div ref={end} />
        </div>
      </div>
      <Composer
        agent={agent}
        comparing={comparing}
        busy={busy}
        blocked={!!pause || !!asked}
        taker={taker}
        onSend={(message, files) => {
          stuck.current = true;
          if (comparing) setAsked({ message, files });
          else void session.send(message, files);
        }}
      />
    </section>
  );
}

/** What one may say first. */
function Opening({ agent, onSay }: { agent: Agent; onSay: (text: string) => void }): ReactElement {
  const tries = [...(agent.tools?.some((x) => x.ref === 'toolkit:demo') ? [t('start.refund.say')] : []), t('chat.try.what')];
  return (
    <div className="empty">
      <span className="tile model">
        <Icon as={Bot} />
      </span>
      <h2 style={{ fontSize: 15 }}>{t('chat.empty', { name: agent.name })}</h2>
      {agent.description && <p className="ink2">{agent.description}</p>}
      <p className="mut">{t('chat.empty.text')}</p>
      <div className="row wrap" style={{ justifyContent: 'center', marginTop: 6 }}>
        {tries.map((text) => (
          <Button key={text} small onClick={() => onSay(text)}>
            {text}
          </Button>
        ))}
      </div>
    </div>
  );
}

function Composer({
  agent,
  comparing,
  busy,
  blocked,
  taker,
  onSend,
}: {
  agent: Agent;
  comparing: boolean;
  busy: boolean;
  blocked: boolean;
  taker: { current: (files: File[]) => void };
  onSend: (message: string, files: SentFile[]) => void;
}): ReactElement {
  const session = useSession();
  const { box } = session;
  const { text, files, loading } = useStore(box);
  const [open, setOpen] = useState(false);
  const variables = useChat((s) => s.overrides.variables);
  const attach = (list: File[]): void => {
    if (list.length === 0 || blocked) return;
    box.setState((b) => ({ loading: b.loading + 1 }));
    void sendFiles(list)
      .then((made) => box.setState((b) => ({ files: [...b.files, ...made] })))
      .catch(toastError)
      .finally(() => box.setState((b) => ({ loading: b.loading - 1 })));
  };
  useEffect(() => {
    taker.current = attach;
  });
  const send = (): void => {
    if (busy || blocked || loading > 0 || (!text.trim() && files.length === 0)) return;
    box.setState({ text: '', files: [] });
    onSend(text.trim(), files);
  };
  return (
    <div className="cmpz">
      <form
        className="box"
        onSubmit={(e) => {
          e.preventDefault();
          send();
        }}
      >
        {(files.length > 0 || loading > 0) && (
          <div className="row wrap" style={{ paddingBottom: 8 }}>
            {files.map((f) => (
              <FileChip key={f.storage_key} file={f} onRemove={() => box.setState({ files: files.filter((x) => x !== f) })} />
            ))}
            {loading > 0 && (
              <span className="st run" role="status">
                <span className="dot" />
                {t('files.sending')}
              </span>
            )}
          </div>
        )}
        <textarea
          id="chatbox"
          rows={1}
          value={text}
          aria-label={t('chat.message', { name: agent.name })}
          placeholder={
            blocked
              ? comparing
                ? t('chat.comparing.first')
                : t('run.paused')
              : comparing
                ? t('chat.comparehint')
                : t('chat.message', { name: agent.name })
          }
          disabled={blocked}
          onChange={(e) => box.setState({ text: e.target.value })}
          onPaste={(e) => {
            if (e.clipboardData.files.length) {
              e.preventDefault();
              attach([...e.clipboardData.files]);
            }
          }}
          onKeyDown={(e) => {
            if (e.key === 'Enter' && !e.shiftKey && !e.nativeEvent.isComposing) {
              e.preventDefault();
              send();
            }
          }}
        />
        <div className="row">
          <FileButton onFiles={attach} disabled={blocked} label={t('files.attach')} />
          <Button look="ghost" small icon={Braces} onClick={() => setOpen(true)}>
            {t('chat.variables')}
            {Object.keys(variables).length > 0 && <span className="pill">{Object.keys(variables).length}</span>}
          </Button>
          <span className="sp" />
          <span className="mut small hide-s" aria-hidden="true">
            <kbd>↵</kbd> {t('chat.key.send')} &nbsp;<kbd>⇧↵</kbd> {t('chat.key.line')}
          </span>
          {busy ? (
            <Button small icon={CircleStop} onClick={() => void session.stop()}>
              {t('chat.stop')}
            </Button>
          ) : (
            <Button small icon={Send} type="submit" disabled={blocked || loading > 0}>
              {t('run.send')}
            </Button>
          )}
        </div>
      </form>
      <Dialog open={open} onClose={() => setOpen(false)} title={t('chat.variables')}>
        <JsonField
          label={t('chat.variables.label')}
          hint={t('chat.variables.hint')}
          rows={8}
          value={variables}
          onChange={(v) =>
            session.put({
              overrides: {
                ...session.store.getState().overrides,
                variables: (v && typeof v === 'object' ? v : {}) as Record<string, unknown>,
              },
            })
          }
        />
        <div className="foot">
          <Button look="pri" onClick={() => unread() || setOpen(false)}>
            {t('close')}
          </Button>
        </div>
      </Dialog>
    </div>
  );
}
