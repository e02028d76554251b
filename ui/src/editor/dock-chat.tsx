/** Owns the composer beside the timeline: message, files, initial state. */
import { EyeOff, Paperclip, Send, Square, X } from 'lucide-react';
import { useEffect, useRef, useState, type ReactElement, type ReactNode } from 'react';
import type { Providers } from '@wfstudio/client';
import { t } from '../i18n';
import { bytes } from '../i18n/figures';
import { Button } from '../parts/button';
import { Icon } from '../parts/icons';
import { MadeFiles } from '../parts/made';
import { Markdown } from '../parts/markdown';
import { Tabs, type Tab } from '../parts/tabs';
import { toast, toastError } from '../parts/toast';
import { FileButton, sendFiles, type SentFile } from '../parts/files';
import { Fault } from '../parts/said';
import { AskHere, DoubtsHere, LostHere } from '../run/here';
import { tellRefusal } from '../run/refusal';
import { RunSession } from '../run/session';
import { useRun } from '../run/store';
import { useWidth } from '../shell/place';
import { JsonField } from './json-field';
import { putBack, useComposer } from './composer';
import { panel, usePanels } from './panel';
import { Problems } from './problems';
import { tell, useEditor } from './store';
import { clearTrials, useTrials } from './trials';

interface Props {
  onRun: (message: string) => void;
  open: boolean;
  toggle: ReactNode;
  problems: Tab<'problems'>;
  providers?: Providers;
}

/** On a phone there is room for nothing else: problems are told here, and the same button opens and shuts it. */
export function DockChat({ onRun, open, toggle, problems, providers }: Props): ReactElement {
  const [chosen, setChosen] = useState<'chat' | 'state'>('chat');
  const composer = useComposer();
  const phone = useWidth() === 'phone';
  const told = usePanels((s) => s.dock === 'problems') && phone;
  const tab = told ? 'problems' : chosen;
  return (
    <div className="dl-l">
      <Tabs<'chat' | 'state' | 'problems'>
        label={t('tab.chat')}
        value={tab}
        onChange={(id) => {
          if (id !== 'problems') setChosen(id);
          panel(phone ? { dock: id === 'problems' ? id : 'timeline' } : { dockOpen: true });
        }}
        tabs={[
          { id: 'chat', label: t('tab.chat') },
          { id: 'state', label: t('tab.initial'), badge: Object.keys(composer.state).length || undefined },
          ...(phone ? [problems] : []),
        ]}
      >
        {phone && (
          <>
            <span className="sp" />
            {toggle}
          </>
        )}
      </Tabs>
      {open &&
        (tab === 'problems' ? (
          <Problems providers={providers} />
        ) : tab === 'chat' ? (
          <Chat onRun={onRun} />
        ) : (
          <div className="scroll" style={{ padding: 12 }}>
            <JsonField
              label={t('run.initial')}
              hint={t('run.initial.hint')}
              value={composer.state}
              rows={5}
              onChange={(v) => useComposer.setState({ state: (v && typeof v === 'object' ? v : {}) as Record<string, unknown> })}
            />
          </div>
        ))}
    </div>
  );
}

/** Closes the stream; the run goes on. */
function unwatch(): void {
  useRun.getState().session?.dispose();
  new RunSession();
  tell({ mode: 'design' });
  toast(t('run.unwatched'));
}

function Chat({ onRun }: { onRun: (message: string) => void }): ReactElement {
  const { text, files, said, sentFiles } = useComposer();
  const view = useRun((s) => s.view);
  const streaming = useRun((s) => s.streaming);
  const session = useRun((s) => s.session);
  const end = useRef<HTMLDivElement>(null);
  const pause = view.pauses[0];
  const human = pause?.reason === 'human' ? pause : undefined;
  const beside =
    useEditor((s) => s.selection.length === 1 && s.selection[0] === pause?.node_id) && usePanels.getState().side === 'inspector';
  useEffect(() => {
    end.current?.scrollIntoView({ block: 'nearest' });
  }, [view.reply, view.pauses.length, said]);
  const send = (): void => {
    const message = text.trim();
    if (streaming || (!message && files.length === 0)) return;
    if (human) {
      useComposer.setState({ text: '', files: [] });
      void session?.answer(human, { message, ...(files.length ? { attachments: files } : {}) }).then((end) => {
        tellRefusal(end);
        if (end.kind === 'refused' && session.here) putBack(message, files);
      });
    } else onRun(message);
  };
  const attach = (list: File[]): void =>
    void sendFiles(list)
      .then((made) => session?.here && useComposer.setState({ files: [...useComposer.getState().files, ...made] }))
      .catch(toastError);
  const blocked = pause && !human;
  return (
    <>
      <div className="chatlog scroll" tabIndex={0} role="log" aria-label={t('tab.chat')}>
        {view.status === 'idle' && !said && <p className="mut small">{t('run.hint')}</p>}
        {said && <div className="bub">{said}</div>}
        {sentFiles.map((f) => (
          <div key={f.storage_key} className="row mut small">
            <Icon as={Paperclip} />
            {f.name} · {bytes(f.size_bytes)}
          </div>
        ))}
        {pause && !beside && <AskHere pause={pause} />}
        <LostHere />
        {view.reply && (
          <div className="reply">
            <Markdown text={view.reply} />
          </div>
        )}
        <MadeFiles files={view.order.flatMap((id) => view.steps[id]?.files ?? [])} />
        {view.status === 'completed' && !view.reply && <p className="mut small">{t('run.noreply')}</p>}
        {view.error && <Fault error={view.error} />}
        <DoubtsHere />
        {view.status === 'cancelled' && <p className="mut small">{t('run.cancelled')}</p>}
        <div ref={end} />
      </div>
      {files.length > 0 && (
        <div className="row wrap" style={{ padding: '0 12px 4px' }}>
          {files.map((f) => (
            <Chip key={f.storage_key} file={f} />
          ))}
        </div>
      )}
      <Differs />
      <form
        className="comp"
        onSubmit={(e) => {
          e.preventDefault();
          send();
        }}
        onDragOver={(e) => e.preventDefault()}
        onDrop={(e) => {
          e.preventDefault();
          attach([...e.dataTransfer.files]);
        }}
      >
        <FileButton onFiles={attach} disabled={!!blocked} />
        <textarea
          rows={1}
          id="composer"
          aria-label={t('run.message')}
          placeholder={blocked ? t('run.paused') : human ? t('ask.answer') : t('run.message')}
          value={text}
          disabled={!!blocked}
          onChange={(e) => useComposer.setState({ text: e.target.value })}
          onPaste={(e) => {
            if (e.clipboardData.files.length) {
              e.preventDefault();
              attach([...e.clipboardData.files]);
            }
          }}
          onKeyDown={(e) => {
            e.stopPropagation();
            if (e.key === 'Enter' && !e.shiftKey && !e.nativeEvent.isComposing) {
              e.preventDefault();
              send();
            }
            if (e.key === 'Escape') document.getElementById('canvas')?.focus();
          }}
        />
        {streaming && <Button look="ghost" small icon={EyeOff} label={t('run.unwatch')} onClick={unwatch} />}
        {streaming ? (
          <Button look="ghost" small icon={Square} label={t('run.stop')} onClick={() => void session?.cancel().catch(toastError)} />
        ) : (
          <Button look="ghost" small icon={Send} label={t('run.send')} type="submit" disabled={!!blocked} />
        )}
      </form>
    </>
  );
}

/** Says that test runs differ from the workflow, before one is started. */
function Differs(): ReactElement | null {
  const { breaks, pins } = useTrials();
  const pinned = Object.keys(pins).length;
  if (breaks.length + pinned === 0) return null;
  return (
    <div className="row small mut" style={{ padding: '0 12px 4px' }}>
      {t('trial.active')}:{' '}
      {[breaks.length && t('trial.breaks', { n: breaks.length }), pinned && t('trial.pins', { n: pinned })].filter(Boolean).join(' · ')}
      <span className="sp" />
      <Button look="ghost" small onClick={clearTrials}>
        {t('trial.clear')}
      </Button>
    </div>
  );
}

function Chip({ file }: { file: SentFile }): ReactElement {
  return (
    <span className="pill row" style={{ gap: 4 }}>
      {file.name}
      <button
        type="button"
        className="bare"
        aria-label={`${t('remove')}: ${file.name ?? ''}`}
        onClick={() => useComposer.setState({ files: useComposer.getState().files.filter((f) => f !== file) })}
      >
        <Icon as={X} size={12} />
      </button>
    </span>
  );
}
