/** Owns attaching files: type and size are checked before anything is sent. */
import { Paperclip } from 'lucide-react';
import { useRef, type ReactElement } from 'react';
import { upload } from '../api/client';
import type { AttachedFile, Attachment } from '@wfstudio/client';
import { t } from '../i18n';
import { bytes } from '../i18n/figures';
import { Button } from './button';
import { toast, toastError } from './toast';

export const ACCEPTED = [
  'image/jpeg,image/png,image/gif,image/webp,audio/mpeg,audio/wav,audio/ogg,video/mp4,video/webm',
  'application/pdf,text/plain,text/markdown,text/csv,.md,.csv,.txt',
].join();
const TYPES = new Set(ACCEPTED.split(','));
const LIMIT = 25 * 1024 * 1024;

/** What goes or went along with a message; its size is known to who uploaded it. */
export type SentFile = AttachedFile & Partial<Pick<Attachment, 'size_bytes'>>;

export async function sendFiles(files: File[]): Promise<Attachment[]> {
  const made: Attachment[] = [];
  for (const file of files) {
    const known = TYPES.has(file.type) || /\.(md|csv|txt)$/i.test(file.name);
    if (!known) {
      toast(t('files.type', { name: file.name }), { fail: true });
      continue;
    }
    if (file.size > LIMIT) {
      toast(t('files.size', { name: file.name, size: bytes(LIMIT) }), { fail: true });
      continue;
    }
    const form = new FormData();
    form.set('file', file);
    try {
      const answer = await upload<Attachment>('/api/attachments', form);
      made.push({ ...answer, name: answer.name ?? file.name, size_bytes: answer.size_bytes ?? file.size });
    } catch (error) {
      // The others are there all the same.
      toastError(error);
    }
  }
  return made;
}

export function FileButton({
  onFiles,
  disabled,
  label,
}: {
  onFiles: (files: File[]) => void;
  disabled?: boolean;
  label?: string;
}): ReactElement {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        accept={ACCEPTED}
        aria-label={t('files.attach')}
        onChange={(e) => {
          onFiles([...(e.target.files ?? [])]);
          e.target.value = '';
        }}
      />
      <Button look="ghost" small icon={Paperclip} label={t('files.attach')} disabled={disabled} onClick={() => input.current?.click()}>
        {label}
      </Button>
    </>
  );
}
