/** Owns asking before a page with unsaved changes is left. */
import type { ReactElement } from 'react';
import { t } from '../i18n';
import { Button } from './button';
import { Dialog } from './dialog';
import { useLeaving } from './unsaved';

export function LeaveDialog(): ReactElement {
  const go = useLeaving((s) => s.go);
  const stay = (): void => useLeaving.setState({ go: null });
  return (
    <Dialog open={go !== null} onClose={stay} title={t('unsaved')}>
      <p className="ink2">{t('leave.text')}</p>
      <div className="foot">
        <Button
          onClick={() => {
            stay();
            go?.();
          }}
        >
          {t('leave.go')}
        </Button>
        <Button look="pri" data-autofocus onClick={stay}>
          {t('leave.stay')}
        </Button>
      </div>
    </Dialog>
  );
}
