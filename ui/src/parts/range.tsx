/** Owns a span of days: shown as people write it, changed in a popover. */
import { Calendar } from 'lucide-react';
import { useEffect, useId, useRef, useState, type ReactElement } from 'react';
import { t } from '../i18n';
import { dayRange } from '../i18n/figures';
import { Icon } from './icons';

export function DateRange({
  from,
  to,
  onChange,
}: {
  from: string;
  to: string;
  onChange: (change: { from: string; to: string }) => void;
}): ReactElement {
  const [open, setOpen] = useState(false);
  const anchor = useRef<HTMLSpanElement>(null);
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  const close = (): void => {
    setOpen(false);
    anchor.current?.querySelector('button')?.focus();
  };
  useEffect(() => {
    const element = box.current;
    const at = anchor.current?.getBoundingClientRect();
    if (!open || !element || !at) return;
    element.showPopover();
    element.style.left = `${Math.max(6, Math.min(at.left, window.innerWidth - element.getBoundingClientRect().width - 6))}px`;
    element.style.top = `${at.bottom + 4}px`;
    element.querySelector('input')?.focus();
    const outside = (e: Event): void => {
      if (!anchor.current?.contains(e.target as Node)) setOpen(false);
    };
    window.addEventListener('pointerdown', outside, true);
    return () => window.removeEventListener('pointerdown', outside, true);
  }, [open]);
  const field = (label: string, value: string, limits: { min?: string; max?: string }, put: (value: string) => void): ReactElement => (
    <label className="fl">
      <span className="lab">{label}</span>
      <input
        className="in"
        type="date"
        defaultValue={value}
        ref={(field) => {
          if (field && field !== document.activeElement) field.value = value;
        }}
        {...limits}
        onChange={(e) => {
          // A year is typed figure by figure, each of which is a year of its own.
          if (e.target.value >= '1970') put(e.target.value);
        }}
      />
    </label>
  );
  return (
    <span ref={anchor} className="menuanchor">
      <button
        type="button"
        className="btn range"
        aria-haspopup="dialog"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        onClick={() => setOpen(!open)}
      >
        <Icon as={Calendar} />
        {dayRange(from, to)}
      </button>
      {open && (
        <div
          ref={box}
          id={id}
          popover="manual"
          role="dialog"
          aria-label={t('traces.time')}
          className="menu rangebox"
          onKeyDown={(e) => {
            if (e.key === 'Escape') {
              e.preventDefault();
              e.stopPropagation();
              close();
            }
          }}
        >
          {field(t('usage.from'), from, { max: to }, (value) => onChange({ from: value, to: value > to ? value : to }))}
          {field(t('usage.to'), to, { min: from }, (value) => onChange({ from: value < from ? value : from, to: value }))}
        </div>
      )}
    </span>
  );
}
