/** Owns menus: a button, its entries, arrow keys, first letters. */
import { Check } from 'lucide-react';
import { cloneElement, useEffect, useId, useRef, useState, type KeyboardEvent, type ReactElement } from 'react';
import { Icon, type IconType } from './icons';

export interface MenuEntry {
  label: string;
  icon?: IconType;
  onSelect: () => void;
  danger?: boolean;
  /** The one of several that holds now. */
  on?: boolean;
  reason?: string | null | false;
}

export function MenuButton({
  button,
  entries,
  label,
}: {
  button: ReactElement;
  entries: (MenuEntry | null)[];
  label?: string;
}): ReactElement {
  const [open, setOpen] = useState(false);
  const anchor = useRef<HTMLSpanElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const typed = useRef({ text: '', at: 0 });
  const id = useId();
  const trigger = (): HTMLElement | null => anchor.current?.querySelector('button') ?? null;
  const items = (): HTMLElement[] => [...(box.current?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? [])];
  const close = (refocus = true): void => {
    setOpen(false);
    if (refocus) trigger()?.focus();
  };
  useEffect(() => {
    const element = box.current;
    const at = trigger()?.getBoundingClientRect();
    if (!open || !element || !at) return;
    element.showPopover();
    const own = element.getBoundingClientRect();
    const below = at.bottom + 4 + own.height < window.innerHeight || at.top < own.height;
    element.style.left = `${Math.max(6, Math.min(at.left, window.innerWidth - own.width - 6))}px`;
    element.style.top = `${below ? at.bottom + 4 : at.top - own.height - 4}px`;
    items()[0]?.focus();
    const outside = (e: Event): void => {
      if (!anchor.current?.contains(e.target as Node)) close(false);
    };
    window.addEventListener('pointerdown', outside, true);
    window.addEventListener('resize', outside);
    return () => {
      window.removeEventListener('pointerdown', outside, true);
      window.removeEventListener('resize', outside);
    };
  }, [open]);
  const onKey = (event: KeyboardEvent): void => {
    const all = items();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const go = (n: number): void => {
      event.preventDefault();
      all[(n + all.length) % all.length]?.focus();
    };
    event.stopPropagation();
    if (event.key === 'ArrowDown') go(at + 1);
    else if (event.key === 'ArrowUp') go(at - 1);
    else if (event.key === 'Home') go(0);
    else if (event.key === 'End') go(-1);
    else if (event.key === 'Escape') {
      event.preventDefault();
      close();
    } else if (event.key === 'Tab') close(false);
    else if (event.key.length === 1 && event.key !== ' ') {
      typed.current = {
        text: (Date.now() - typed.current.at < 700 ? typed.current.text : '') + event.key.toLocaleLowerCase(),
        at: Date.now(),
      };
      all.find((e) => e.textContent?.toLocaleLowerCase().startsWith(typed.current.text))?.focus();
    }
  };
  const props = {
    'aria-haspopup': 'menu',
    'aria-expanded': open,
    'aria-controls': open ? id : undefined,
    ...(label ? { 'aria-label': label } : {}),
    onClick: () => setOpen(!open),
    onKeyDown: (e: KeyboardEvent) => {
      if (e.key === 'ArrowDown') {
        e.preventDefault();
        setOpen(true);
      }
    },
  };
  return (
    <span ref={anchor} className="menuanchor">
      {cloneElement(button as ReactElement<Record<string, unknown>>, props)}
      {open && (
        <div ref={box} id={id} popover="manual" role="menu" className="menu" onKeyDown={onKey}>
          {entries.map((entry, n) =>
            entry === null ? (
              <hr key={n} />
            ) : (
              <button
                key={entry.label}
                type="button"
                role="menuitem"
                tabIndex={-1}
                className={`mi${entry.danger ? ' dng' : ''}`}
                aria-disabled={entry.reason ? true : undefined}
                onPointerEnter={(e) => e.currentTarget.focus({ preventScroll: true })}
                onClick={() => {
                  if (entry.reason) return;
                  close();
                  entry.onSelect();
                }}
              >
                {entry.icon && <Icon as={entry.icon} />}
                <span>
                  {entry.label}
                  {entry.reason && (
                    <span className="small" style={{ display: 'block' }}>
                      {entry.reason}
                    </span>
                  )}
                </span>
                {entry.on && (
                  <>
                    <span className="sp" />
                    <Icon as={Check} />
                  </>
                )}
              </button>
            ),
          )}
        </div>
      )}
    </span>
  );
}
