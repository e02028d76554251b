/** Owns dialogs, sheets and menus. */
import * as Ariakit from '@ariakit/react';
import { X } from 'lucide-react';
import type { ReactElement, ReactNode } from 'react';
import { t } from '../i18n';
import { Button } from './button';
import { Icon, type IconType } from './icons';

export function Dialog({ open, onClose, title, children, wide, sheet }: { open: boolean; onClose: () => void; title: ReactNode; children: ReactNode; wide?: boolean; sheet?: boolean }): ReactElement {
  return (
    <Ariakit.Dialog open={open} onClose={onClose} backdrop={<div className="backdrop" />} className={sheet ? 'sheet' : `dialog${wide ? ' wide' : ''}`} unmountOnHide>
      <div className="row between" style={sheet ? { padding: '10px 14px' } : undefined}>
        <Ariakit.DialogHeading style={{ fontSize: 15 }}>{title}</Ariakit.DialogHeading>
        <Button look="ghost" small icon={X} label={t('close')} onClick={onClose} />
      </div>
      {children}
    </Ariakit.Dialog>
  );
}

export interface MenuEntry {
  label: string;
  icon?: IconType;
  onSelect: () => void;
  danger?: boolean;
  reason?: string | null | false;
}

export function MenuButton({ button, entries, label }: { button: ReactElement; entries: (MenuEntry | null)[]; label?: string }): ReactElement {
  return (
    <Ariakit.MenuProvider>
      <Ariakit.MenuButton render={button} aria-label={label} />
      <Ariakit.Menu className="menu" gutter={4} portal unmountOnHide>
        {entries.map((entry, n) => entry === null ? <hr key={n} /> : (
          <Ariakit.MenuItem key={entry.label} className={`mi${entry.danger ? ' dng' : ''}`} onClick={entry.onSelect} disabled={!!entry.reason} accessibleWhenDisabled>
            {entry.icon && <Icon as={entry.icon} />}
            <span>{entry.label}{entry.reason && <span className="small" style={{ display: 'block' }}>{entry.reason}</span>}</span>
          </Ariakit.MenuItem>
        ))}
      </Ariakit.Menu>
    </Ariakit.MenuProvider>
  );
}
