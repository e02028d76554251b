/** Owns how a file looks that goes along with a message. */
import { FileText, Image as ImageIcon, X } from 'lucide-react';
import type { ReactElement } from 'react';
import { apiUrl } from '../../api/root';
import type { SentFile } from '../../parts/files';
import { t, tx } from '../../i18n';
import { bytes } from '../../i18n/figures';
import { Button } from '../../parts/button';
import { Icon } from '../../parts/icons';

export function FileChip({ file, onRemove }: { file: SentFile; onRemove?: () => void }): ReactElement {
  const image = file.mime_type?.startsWith('image/') || file.type === 'image';
  const name = (
    <span>
      <b>{file.name ?? file.storage_key.slice(0, 8)}</b>
      <em>{[file.size_bytes ? bytes(file.size_bytes) : '', tx(`file.${file.type}`, file.type)].filter(Boolean).join(' · ')}</em>
    </span>
  );
  return (
    <div className="att">
      <Icon as={image ? ImageIcon : FileText} />
      {onRemove ? (
        name
      ) : (
        <a href={apiUrl(`/api/attachments/file?storage_key=${encodeURIComponent(file.storage_key)}`)} target="_blank" rel="noreferrer">
          {name}
        </a>
      )}
      {onRemove && <Button look="ghost" small icon={X} label={`${t('remove')}: ${file.name ?? ''}`} onClick={onRemove} />}
    </div>
  );
}
