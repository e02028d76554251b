/** Owns importing: classes and files that the project has, and JSON that a person brings. */
import { useQuery } from '@tanstack/react-query';
import { FileJson2, Import, Upload } from 'lucide-react';
import { useRef, useState, type ReactElement } from 'react';
import { fileForImport, previewPath, targetName } from '../../code/targets';
import { get } from '../../api/client';
import type { RegistryClassListed } from '@wfstudio/client';
import { t } from '../../i18n';
import { Button, LinkButton } from '../../parts/button';
import { Dialog } from '../../parts/dialog';
import { TextField } from '../../parts/form';
import { EntityTile } from '../../parts/icons';
import { ImportWrong } from '../../code/import-wrong';
import { SearchField } from '../../parts/listing';
import { Failure, SkeletonRows } from '../../parts/states';
import { Segments } from '../../parts/tabs';
import { toastError } from '../../parts/toast';
import '../../styles/code.css';
import { useImport, type Importing } from '../../code/importing';

export type ImportFrom = 'code' | 'json';

export default function ImportDialog({
  from,
  onFrom,
  onClose,
}: {
  from: ImportFrom;
  onFrom: (from: ImportFrom) => void;
  onClose: () => void;
}): ReactElement {
  const importing = useImport();
  return (
    <Dialog open onClose={onClose} title={t('import')} wide>
      <Segments<ImportFrom>
        label={t('import.from')}
        value={from}
        onChange={(next) => {
          importing.forget();
          onFrom(next);
        }}
        options={[
          { id: 'code', label: t('import.code') },
          { id: 'json', label: t('import.jsonfile') },
        ]}
      />
      {from === 'code' ? <Classes importing={importing} /> : <Pasted importing={importing} />}
    </Dialog>
  );
}

const words = (one: RegistryClassListed): string =>
  [one.label, one.description, one.class_path ?? '', one.json_path ?? ''].join('\n').toLowerCase();
/** Long enough to be searched. */
const MANY = 8;

function Classes({ importing }: { importing: Importing }): ReactElement {
  const list = useQuery({
    queryKey: ['/api/registry/classes'],
    queryFn: ({ signal }) => get<{ data: RegistryClassListed[] }>('/api/registry/classes', {}, signal),
  });
  const [q, setQ] = useState('');
  if (list.isError && !list.data) return <Failure error={list.error} onRetry={() => void list.refetch()} />;
  if (!list.data) return <SkeletonRows rows={4} />;
  const all = list.data.data;
  const found = all.filter((one) => words(one).includes(q.trim().toLowerCase()));
  if (all.length === 0)
    return (
      <div className="note-box">
        <span>{t('import.none', { scan: 'workflow_scan_paths', json: 'workflow_json_paths' })}</span>
      </div>
    );
  return (
    <>
      <p className="mut">{t('import.code.text')}</p>
      {all.length > MANY && <SearchField value={q} onChange={setQ} />}
      {importing.error !== null && <ImportWrong error={importing.error} />}
      <ul className="importlist">
        {found.map((one) => (
          <li key={one.ref}>
            <EntityTile type={one.kind} />
            <div>
              <b>{one.label}</b>
              {one.description && <p className="mut small">{one.description}</p>}
              <p className="facts">
                <span className="pill">{t(`import.kind.${one.kind}`)}</span>
                <span className="pill">{one.language ? targetName(one.language) : one.json_path ? 'JSON' : t('import.registered')}</span>
                <span className="mono mut">{one.json_path ?? one.class_path}</span>
              </p>
            </div>
            <div className="row">
              <LinkButton to={previewPath(one)} small>
                {t('import.look')}
                <span className="sr">: {one.label}</span>
              </LinkButton>
              <Button small icon={Import} disabled={importing.busy} onClick={() => void importing.run({ ref: one.ref })}>
                {t('import')}
                <span className="sr">: {one.label}</span>
              </Button>
            </div>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p className="mut">{t('filtered.empty')}</p>}
    </>
  );
}

function Pasted({ importing }: { importing: Importing }): ReactElement {
  const [text, setText] = useState('');
  const [fileName, setFileName] = useState<string | null>(null);
  const [wrong, setWrong] = useState<string | undefined>();
  const file = useRef<HTMLInputElement>(null);
  const put = (next: string, name: string | null): void => {
    setText(next);
    setFileName(name);
    setWrong(undefined);
    importing.forget();
  };
  const send = (): void => {
    const read = fileForImport(text, fileName);
    if ('wrong' in read) setWrong(t(`import.wrong.${read.wrong}`));
    else void importing.run({ json: read.json });
  };
  return (
    <form
      className="stack"
      onSubmit={(e) => {
        e.preventDefault();
        send();
      }}
    >
      <TextField
        label={t('import.text')}
        rows={12}
        mono
        value={text}
        onChange={(next) => put(next, null)}
        error={wrong}
        hint={fileName ?? t('import.text.hint')}
      />
      <input
        ref={file}
        type="file"
        hidden
        accept=".json,application/json"
        aria-label={t('import.jsonfile')}
        onChange={(e) => {
          const [picked] = e.target.files ?? [];
          e.target.value = '';
          if (picked)
            picked
              .text()
              .then((read) => put(read, picked.name))
              .catch(toastError);
        }}
      />
      {importing.error !== null && <ImportWrong error={importing.error} />}
      <div className="foot">
        <Button look="ghost" icon={Upload} onClick={() => file.current?.click()}>
          {t('import.file')}
        </Button>
        <span className="sp" />
        <Button look="pri" icon={FileJson2} type="submit" disabled={importing.busy || !text.trim()}>
          {t('import')}
        </Button>
      </div>
    </form>
  );
}
