/** Owns the code of one definition: its text in each language, copying it, writing it to the project. */
import { useQuery } from '@tanstack/react-query';
import { Copy, FileCode, FileDown, Info, TriangleAlert } from 'lucide-react';
import { useEffect, useRef, useState, type ReactElement } from 'react';
import { offKey, PAGE_OF, TARGET_NAMES, TARGETS, type Target } from './targets';
import { post } from '../api/client';
import { isProblem, type CodeExported, type CodePreview, type Settings } from '@wfstudio/client';
import { refresh } from '../api/queries';
import { t } from '../i18n';
import '../styles/code.css';
import { Button } from '../parts/button';
import type { Coded } from './button';
import { copy } from '../parts/copy';
import { Dialog } from '../parts/dialog';
import { ChoiceField } from '../parts/form';
import { Icon } from '../parts/icons';
import { Said } from '../parts/said';
import { SourceText } from './source';
import { Failure, SkeletonRows } from '../parts/states';
import { textOf, toast } from '../parts/toast';

interface Props extends Coded {
  settings: Settings;
  target: Target;
  onTarget: (target: Target) => void;
  onClose: () => void;
}

export default function CodePanel(props: Props): ReactElement {
  const { kind, id, revision, settings, target, unsaved, unsavable, onTarget, onClose } = props;
  const hidden = offKey(settings, 'canPreview');
  const preview = useQuery({
    queryKey: ['/api/codegen/preview', kind, id, target, revision],
    queryFn: ({ signal }) => post<CodePreview>('/api/codegen/preview', { kind, id, target }, { signal }),
    enabled: !hidden,
    staleTime: 30_000,
  });
  const exporting = useExport(props);
  const noExport = offKey(settings, 'canExport');
  const reason = noExport && t('reason.flag', { flag: noExport });
  const file = preview.data?.files[0];
  return (
    <Dialog open onClose={onClose} title={t('code')} sheet wide>
      <div className="codehead">
        <ChoiceField
          label={t('code.language')}
          value={target}
          disabled={exporting.busy}
          onChange={(next) => onTarget(next as Target)}
          choices={TARGETS.map((value) => ({ value, label: TARGET_NAMES[value] }))}
        />
        {preview.data && (
          <dl className="codefacts">
            <dt>{t('code.file')}</dt>
            <dd className="mono">{preview.data.files.map((f) => f.path).join(', ')}</dd>
            <dt>{t('code.class')}</dt>
            <dd className="mono">{preview.data.fqcn}</dd>
          </dl>
        )}
      </div>
      {unsaved && (
        <div className="note-box wait">
          <Icon as={TriangleAlert} />
          <span>{t('code.unsaved')}</span>
        </div>
      )}
      <div className="codebody">
        {hidden ? (
          <div className="note-box">
            <Icon as={Info} />
            <span>
              {t('code.hidden')} {t('reason.flag', { flag: hidden })}
            </span>
          </div>
        ) : preview.isError ? (
          <Failure error={preview.error} onRetry={() => void preview.refetch()} />
        ) : preview.data ? (
          <SourceText text={preview.data.code} label={file?.path ?? t('code')} />
        ) : (
          <SkeletonRows />
        )}
      </div>
      {exporting.failed && (
        <div className="note-box fail" role="alert">
          <Icon as={TriangleAlert} />
          <span>
            <Said text={exporting.failed} />
          </span>
        </div>
      )}
      {exporting.path && (
        <div className="codepath">
          <Icon as={FileCode} />
          <span className="mut">{t('code.path')}</span>
          <span className="mono">{exporting.path}</span>
        </div>
      )}
      {exporting.there ? (
        <Overwrite file={exporting.there} busy={exporting.busy} onKeep={exporting.keep} onReplace={() => void exporting.run(true)} />
      ) : (
        <div className="codefoot">
          <Button icon={Copy} disabled={!preview.data} onClick={() => void copy(preview.data?.code ?? '')}>
            {t('copy')}
          </Button>
          <span className="sp" />
          <Button
            icon={FileDown}
            look={unsaved ? '' : 'pri'}
            disabled={exporting.busy}
            reason={reason}
            onClick={() => void exporting.run(false)}
          >
            {t('code.export')}
          </Button>
          <Button
            icon={FileDown}
            look={unsaved ? 'pri' : ''}
            disabled={exporting.busy}
            reason={reason || unsavable || (!unsaved && t('code.nothing'))}
            onClick={() => void exporting.saveAndRun()}
          >
            {t('code.saveexport')}
          </Button>
        </div>
      )}
    </Dialog>
  );
}

function Overwrite({
  file,
  busy,
  onKeep,
  onReplace,
}: {
  file: string;
  busy: boolean;
  onKeep: () => void;
  onReplace: () => void;
}): ReactElement {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.querySelector('button')?.focus(), []);
  return (
    <div className="codefoot ask" role="alert" ref={box}>
      <Icon as={TriangleAlert} />
      <span className="asked">
        <Said text={t('code.there', { file: `\`${file}\`` })} />
      </span>
      <span className="sp" />
      <Button onClick={onKeep}>{t('code.keep')}</Button>
      <Button look="dng" disabled={busy} onClick={onReplace}>
        {t('code.overwrite')}
      </Button>
    </div>
  );
}

interface Exporting {
  busy: boolean;
  failed: string | null;
  /** The file that is there with other content. */
  there: string | null;
  path: string | null;
  run: (overwrite: boolean) => Promise<void>;
  saveAndRun: () => Promise<void>;
  keep: () => void;
}

function useExport({ kind, id, target, classPath, onSave, onExported, onClose }: Props): Exporting {
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<string | null>(null);
  const [there, setThere] = useState<string | null>(null);
  const [written, setWritten] = useState<string | null>(null);
  // A question is about one language.
  useEffect(() => {
    setThere(null);
    setFailed(null);
  }, [target]);
  const run = async (overwrite: boolean): Promise<void> => {
    setBusy(true);
    setFailed(null);
    try {
      const made = await post<CodeExported>('/api/codegen/export', { kind, id, target, ...(overwrite ? { overwrite } : {}) });
      setThere(null);
      setWritten(made.class_path);
      onExported?.(made.class_path);
      refresh(`/api/${PAGE_OF[kind]}`);
      toast(t('code.exported', { file: made.files[0] ?? made.class_path }));
    } catch (error) {
      const used = isProblem(error) && error.code === 'in_use' ? (error.body.used_by as { name: string }[] | undefined) : null;
      if (used && !overwrite) setThere(used[0]?.name ?? target);
      else {
        setThere(null);
        setFailed(t('code.failed', { message: textOf(error) }));
      }
    } finally {
      setBusy(false);
    }
  };
  const saveAndRun = async (): Promise<void> => {
    setBusy(true);
    const saved = await onSave().finally(() => setBusy(false));
    // What is wrong is told where it was written.
    if (saved) await run(false);
    else onClose();
  };
  return { busy, failed, there, path: written ?? classPath ?? null, run, saveAndRun, keep: () => setThere(null) };
}
