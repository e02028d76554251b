/** Owns the conversation and the box one writes in. */
import { Braces, CircleStop, FileText, Image as ImageIcon, Send, X } from 'lucide-react';
import { useEffect, useRef, useState, type ReactElement } from 'react';
import type { Agent, Attachment } from '../../api/types';
import { apiUrl } from '../../api/root';
import { JsonField } from '../../editor/json-field';
import { t } from '../../i18n';
import { bytes } from '../../i18n/figures';
import { Button } from '../../parts/button';
import { Dialog } from '../../parts/dialog';
import { FileButton, sendFiles } from '../../parts/files';
import { Icon } from '../../parts/icons';
import { toastError } from '../../parts/toast';
import { Ask } from '../../run/ask';
import { Compare } from './compare';
import { TurnView } from './turn';
import { answerTurn, sendTurn, stopTurn, useChat } from './turns';

export function ChatPane({ agent, comparing, onCompared }: { agent: Agent; comparing: boolean; onCompared: () => void }): ReactElement {
  const { turns, pause, busy, answering } = useChat();
  const end = useRef<HTMLDivElement>(null);
  const log = useRef<HTMLDivElement>(null);
  const stuck = useRef(true);
  const [asked, setAsked] = useState<{ message: string; files: Attachment[] } | null>(null);
  useEffect(() => { if (stuck.current) end.current?.scrollIntoView({ block: 'end' }); }, [turns, pause, asked]);
  useEffect(() => { if (!comparing) setAsked(null); }, [comparing]);
  const last = [...turns].reverse().find((x) => x.role === 'user');
  return (
    <section className="pchat" aria-label={t('agents.playground')}>
      <div className="msgs scroll" ref={log} tabIndex={0} role="log" aria-label={t('chat.conversation')} aria-live="off" onScroll={(e) => { const el = e.currentTarget; stuck.current = el.scrollHeight - el.scrollTop - el.clientHeight < 60; }}>
        <div className="msgcol">
          {turns.length === 0 && !asked && <div className="empty"><h2 style={{ fontSize: 15 }}>{t('chat.empty', { name: agent.name })}</h2><p className="mut">{t('chat.empty.text')}</p></div>}
          {turns.map((turn) => <TurnView key={turn.key} turn={turn} agent={agent} onRetry={last && !busy ? () => void sendTurn(agent.id, last.text, last.files) : undefined} />)}
          {pause && <Ask pause={pause} busy={answering} onAnswer={(a) => void answerTurn(agent.id, a).catch(toastError)} />}
          {asked && <Compare agent={agent} asked={asked} onKept={() => { setAsked(null); onCompared(); }} />}
          <div ref={end} />
        </div>
      </div>
      <Composer agent={agent} comparing={comparing} busy={busy} blocked={!!pause} onSend={(message, files) => { stuck.current = true; if (comparing) setAsked({ message, files }); else void sendTurn(agent.id, message, files); }} />
    </section>
  );
}

export function FileChip({ file, onRemove }: { file: Attachment; onRemove?: () => void }): ReactElement {
  const image = file.mime_type?.startsWith('image/') || file.type === 'image';
  const name = <span><b>{file.name ?? file.storage_key.slice(0, 8)}</b><em>{[file.size_bytes ? bytes(file.size_bytes) : '', file.type].filter(Boolean).join(' · ')}</em></span>;
  return (
    <div className="att"><Icon as={image ? ImageIcon : FileText} />
      {onRemove ? name : <a href={apiUrl(`/api/attachments/file?storage_key=${encodeURIComponent(file.storage_key)}`)} target="_blank" rel="noreferrer">{name}</a>}
      {onRemove && <Button look="ghost" small icon={X} label={`${t('remove')}: ${file.name ?? ''}`} onClick={onRemove} />}
    </div>
  );
}

function Composer({ agent, comparing, busy, blocked, onSend }: { agent: Agent; comparing: boolean; busy: boolean; blocked: boolean; onSend: (message: string, files: Attachment[]) => void }): ReactElement {
  const [text, setText] = useState('');
  const [files, setFiles] = useState<Attachment[]>([]);
  const [open, setOpen] = useState(false);
  const variables = useChat((s) => s.overrides.variables);
  const attach = (list: File[]): void => void sendFiles(list).then((made) => setFiles((before) => [...before, ...made])).catch(toastError);
  const send = (): void => {
    if (busy || blocked || (!text.trim() && files.length === 0)) return;
    onSend(text.trim(), files);
    setText('');
    setFiles([]);
  };
  return (
    <div className="cmpz">
      <form className="box" onSubmit={(e) => { e.preventDefault(); send(); }} onDragOver={(e) => e.preventDefault()} onDrop={(e) => { e.preventDefault(); attach([...e.dataTransfer.files]); }}>
        {files.length > 0 && <div className="row wrap" style={{ paddingBottom: 8 }}>{files.map((f) => <FileChip key={f.storage_key} file={f} onRemove={() => setFiles(files.filter((x) => x !== f))} />)}</div>}
        <textarea id="chatbox" rows={1} value={text} aria-label={t('chat.message', { name: agent.name })} placeholder={blocked ? t('run.paused') : comparing ? t('chat.comparehint') : t('chat.message', { name: agent.name })} disabled={blocked} onChange={(e) => setText(e.target.value)}
          onPaste={(e) => { if (e.clipboardData.files.length) { e.preventDefault(); attach([...e.clipboardData.files]); } }} onKeyDown={(e) => { if (e.key === 'Enter' && !e.shiftKey && !e.nativeEvent.isComposing) { e.preventDefault(); send(); } }} />
        <div className="row">
          <FileButton onFiles={attach} disabled={blocked} label={t('files.attach')} />
          <Button look="ghost" small icon={Braces} onClick={() => setOpen(true)}>{t('chat.variables')}{Object.keys(variables).length > 0 && <span className="pill">{Object.keys(variables).length}</span>}</Button>
          <span className="sp" />
          <span className="mut small hide-s" aria-hidden="true"><kbd>↵</kbd> {t('chat.key.send')} &nbsp;<kbd>⇧↵</kbd> {t('chat.key.line')}</span>
          {busy ? <Button small icon={CircleStop} onClick={() => void stopTurn()}>{t('chat.stop')}</Button> : <Button small icon={Send} type="submit" disabled={blocked}>{t('run.send')}</Button>}
        </div>
      </form>
      <Dialog open={open} onClose={() => setOpen(false)} title={t('chat.variables')}>
        <JsonField label={t('chat.variables.label')} hint={t('chat.variables.hint')} rows={8} value={variables} onChange={(v) => useChat.setState((s) => ({ overrides: { ...s.overrides, variables: (v && typeof v === 'object' ? v : {}) as Record<string, unknown> } }))} />
        <div className="foot"><Button look="pri" onClick={() => setOpen(false)}>{t('close')}</Button></div>
      </Dialog>
    </div>
  );
}
