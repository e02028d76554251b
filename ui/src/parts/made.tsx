/** Owns files that models and tools made: pictures and sounds in place, others to open. Their types are what the studio found in their bytes. */
import type { ReactElement } from 'react';
import { apiUrl } from '../api/root';
import { t } from '../i18n';
import { bytes } from '../i18n/figures';
import type { MadeFile } from '../run/made';

const PICTURES = /^image\/(png|jpeg|gif|webp)$/;
const SOUNDS = /^audio\/(mpeg|wav|ogg)$/;

export function MadeFiles({ files }: { files?: MadeFile[] }): ReactElement | null {
  if (!files?.length) return null;
  return (
    <ul className="made" aria-label={t('chat.files')}>
      {files.map((file) => (
        <li key={file.key}>
          <One file={file} />
        </li>
      ))}
    </ul>
  );
}

function One({ file }: { file: MadeFile }): ReactElement {
  const url = apiUrl(`/api/attachments/file?storage_key=${encodeURIComponent(file.key)}`);
  const caption = (
    <a href={url} target="_blank" rel="noreferrer" className="small">
      <bdi>{file.name}</bdi>
      {file.size ? <span className="mut"> · {bytes(file.size)}</span> : null}
    </a>
  );
  if (PICTURES.test(file.type))
    return (
      <>
        <img src={url} alt={file.name} loading="lazy" decoding="async" />
        {caption}
      </>
    );
  if (SOUNDS.test(file.type))
    return (
      <>
        <audio controls preload="metadata" src={url} aria-label={file.name} />
        {caption}
      </>
    );
  return caption;
}
