/** Owns asking for the name of a new thing, and making it: once, and leading to it only where it is still waited for. */
import { useEffect, useRef, useState, type ReactElement, type ReactNode } from 'react';
import { make as send } from '../api/client';
import { refresh } from '../api/queries';
import { t } from '../i18n';
import { Button } from './button';
import { Dialog } from './dialog';
import { TextField } from './form';
import { toastError } from './toast';

interface Props {
  open: boolean;
  onClose: () => void;
  path: string;
  title: string;
  untitled: string;
  onMade: (id: string) => void;
  /** Another way to begin. */
  beside?: ReactNode;
}

export function NameDialog({ open, onClose, path, title, untitled, onMade, beside }: Props): ReactElement {
  const [name, setName] = useState('');
  const [busy, setBusy] = useState(false);
  /** Each time it is open, another one. */
  const waited = useRef<object | null>(null);
  useEffect(() => {
    waited.current = open ? {} : null;
    return () => {
      waited.current = null;
    };
  }, [open]);
  const make = async (): Promise<void> => {
    if (busy) return;
    setBusy(true);
    const mine = waited.current;
    try {
      const made = await send<{ id: string }>(path, { name: name.trim() || untitled });
      setName((now) => (now === name ? '' : now));
      refresh(path);
      if (mine && waited.current === mine) onMade(made.id);
    } catch (error) {
      toastError(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog open={open} onClose={onClose} title={title}>
      <form
        className="stack"
        onSubmit={(e) => {
          e.preventDefault();
          void make();
        }}
      >
        <TextField label={t('name')} value={name} onChange={setName} placeholder={untitled} autoFocus />
        <div className="foot">
          {beside}
          <Button onClick={onClose}>{t('cancel')}</Button>
          <Button look="pri" type="submit" disabled={busy}>
            {t('create')}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
