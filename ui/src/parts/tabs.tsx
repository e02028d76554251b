/** Owns choosing one of a few: tabs and segments, with arrow keys. */
import type { KeyboardEvent, ReactElement, ReactNode } from 'react';

export interface Tab<T extends string> {
  id: T;
  label: ReactNode;
  badge?: ReactNode;
  tone?: string;
  disabled?: boolean;
}

function move(event: KeyboardEvent<HTMLElement>): void {
  const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
  if (!step) return;
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>('[role="tab"],[role="radio"]')].filter(
    (e) => !e.hasAttribute('disabled'),
  );
  const next = all[(all.indexOf(document.activeElement as HTMLElement) + step + all.length) % all.length];
  next?.focus();
  next?.click();
  event.preventDefault();
}

export function Tabs<T extends string>({
  tabs,
  value,
  onChange,
  label,
  children,
  panel,
}: {
  tabs: Tab<T>[];
  value: T;
  onChange: (id: T) => void;
  label: string;
  children?: ReactNode;
  panel?: string;
}): ReactElement {
  return (
    <div className="tabs">
      <div role="tablist" aria-label={label} onKeyDown={move} style={{ display: 'contents' }}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            type="button"
            role="tab"
            aria-selected={tab.id === value}
            aria-controls={panel}
            tabIndex={tab.id === value ? 0 : -1}
            onClick={() => onChange(tab.id)}
          >
            {tab.label}
            {tab.badge !== undefined && tab.badge !== null && <span className={`pill ${tab.tone ?? ''}`}>{tab.badge}</span>}
          </button>
        ))}
      </div>
      {children}
    </div>
  );
}

export function Segments<T extends string>({
  options,
  value,
  onChange,
  label,
  small,
}: {
  options: Tab<T>[];
  value: T;
  onChange: (id: T) => void;
  label: string;
  small?: boolean;
}): ReactElement {
  return (
    <div className={`seg${small ? ' sm' : ''}`} role="radiogroup" aria-label={label} onKeyDown={move}>
      {options.map((o, n) => (
        <button
          key={o.id}
          type="button"
          role="radio"
          aria-checked={o.id === value}
          tabIndex={o.id === value || (n === 0 && options.every((x) => x.id !== value)) ? 0 : -1}
          disabled={o.disabled}
          className={o.id === value ? 'on' : ''}
          onClick={() => onChange(o.id)}
        >
          {o.label}
        </button>
      ))}
    </div>
  );
}
