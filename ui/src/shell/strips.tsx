/** Owns the strips that say the line or the session is gone. */
import { RefreshCw, WifiOff } from 'lucide-react';
import type { ReactElement } from 'react';
import { useConnection } from '../api/connection';
import { refresh } from '../api/queries';
import { t } from '../i18n';
import { Button } from '../parts/button';
import { Icon } from '../parts/icons';

export function Strips(): ReactElement | null {
  const { signedOut, offline, updated, cut } = useConnection();
  const reconnecting = Math.max(0, ...Object.values(cut));
  if (signedOut) {
    return (
      <div className="strip" role="status">
        <Icon as={WifiOff} />
        {t('strip.signedout')}
        <span className="sp" />
        <Button small onClick={() => window.open(location.href, '_blank', 'noopener')}>
          {t('strip.signin')}
        </Button>
      </div>
    );
  }
  if (updated)
    return (
      <div className="strip" role="status">
        <Icon as={RefreshCw} />
        {t('updated')}
        <span className="sp" />
        <Button small onClick={() => location.reload()}>
          {t('reload')}
        </Button>
      </div>
    );
  if (reconnecting > 0)
    return (
      <div className="strip" role="status">
        <Icon as={WifiOff} />
        {t('strip.reconnecting', { n: reconnecting })}
      </div>
    );
  if (offline) {
    return (
      <div className="strip" role="status">
        <Icon as={WifiOff} />
        {t('strip.offline')}
        <span className="sp" />
        <Button small onClick={() => refresh('/api/runs/counts')}>
          {t('retry')}
        </Button>
      </div>
    );
  }
  return null;
}
