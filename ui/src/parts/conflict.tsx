/** Owns choosing between one's own changes and those that somebody else saved meanwhile: for every kind of thing the same. */
import { useState, type ReactElement, type ReactNode } from 'react';
import { t } from '../i18n';
import { Button } from './button';
import { Dialog } from './dialog';
import { toastError } from './toast';

interface Props {
  open: boolean;
  text: string;
  /** What differs from what both began with. */
  mine: ReactNode;
  theirs: ReactNode;
  copyLabel: string;
  onMine: () => unknown;
  onTheirs: () => unknown;
  onCopy: () => unknown;
  /** Nothing is chosen: both stay. */
  onLater: () => void;
}

export function ConflictDialog({ open, text, mine, theirs, copyLabel, onMine, onTheirs, onCopy, onLater }: Props): ReactElement {
  const [busy, setBusy] = useState(false);
  const pick = (choose: () => unknown): void => {
    setBusy(true);
    void Promise.resolve()
      .then(choose)
      .catch(toastError)
      .finally(() => setBusy(false));
  };
  return (
    <Dialog open={open} onClose={onLater} title={t('error.conflict')} wide>
      <p className="ink2">{text}</p>
      <div className="grid2 conflict">
        <section>
          <h3>{t('conflict.own')}</h3>
          {mine}
        </section>
        <section>
          <h3>{t('conflict.other')}</h3>
          {theirs}
        </section>
      </div>
      <div className="foot">
        <Button disabled={busy} onClick={() => pick(onCopy)}>
          {copyLabel}
        </Button>
        <Button disabled={busy} onClick={() => pick(onTheirs)}>
          {t('conflict.theirs')}
        </Button>
        <Button look="pri" disabled={busy} onClick={() => pick(onMine)}>
          {t('conflict.mine')}
        </Button>
      </div>
    </Dialog>
  );
}
