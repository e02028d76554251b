/** Owns text with {{keys}}: completes keys that earlier nodes write, warns of others. */
import { useRef, useState, type KeyboardEvent, type ReactElement } from 'react';
import { t } from '../i18n';
import { Field } from '../parts/form';

const OPEN = /\{\{\s*([\w.-]*)$/;
const USED = /\{\{\s*(?:\["([^"]+)"\]|([A-Za-z_][A-Za-z0-9_-]*))[^}]*\}\}/g;

export function TemplateField({
  label,
  hint,
  error,
  value,
  onChange,
  keys,
  rows,
  disabled,
}: {
  label: string;
  hint?: string;
  error?: string;
  value: string;
  onChange: (value: string) => void;
  keys: string[];
  rows: number;
  disabled: boolean;
}): ReactElement {
  const area = useRef<HTMLTextAreaElement>(null);
  const [offer, setOffer] = useState<{ found: string[]; at: number; from: number; pick: number } | null>(null);
  const unknown = [...new Set([...value.matchAll(USED)].map((m) => m[1] ?? m[2] ?? ''))].filter(
    (k) => k && !keys.includes(k) && !k.startsWith('__'),
  );
  const look = (text: string, at: number): void => {
    const match = OPEN.exec(text.slice(0, at));
    const found = match ? keys.filter((k) => k.startsWith(match[1] ?? '')) : [];
    setOffer(match && found.length ? { found: found.slice(0, 8), at, from: at - (match[1] ?? '').length, pick: 0 } : null);
  };
  const take = (key: string): void => {
    if (!offer) return;
    const rest = value.slice(offer.at).replace(/^\s*\}\}/, '');
    const next = `${value.slice(0, offer.from)}${key}}}`;
    onChange(next + rest);
    setOffer(null);
    requestAnimationFrame(() => area.current?.setSelectionRange(next.length, next.length));
  };
  const onKey = (event: KeyboardEvent): void => {
    if (!offer) return;
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
    if (step) {
      event.preventDefault();
      setOffer({ ...offer, pick: (offer.pick + step + offer.found.length) % offer.found.length });
    }
    if (event.key === 'Enter' || event.key === 'Tab') {
      event.preventDefault();
      take(offer.found[offer.pick] as string);
    }
    if (event.key === 'Escape') {
      event.stopPropagation();
      setOffer(null);
    }
  };
  return (
    <Field label={label} hint={hint} error={error}>
      {(ids) => (
        <div style={{ position: 'relative' }}>
          <textarea
            ref={area}
            className="in"
            rows={rows}
            value={value}
            disabled={disabled}
            aria-autocomplete="list"
            aria-controls={`${ids.id}l`}
            aria-activedescendant={offer ? `${ids.id}o${offer.pick}` : undefined}
            onChange={(e) => {
              onChange(e.target.value);
              look(e.target.value, e.target.selectionStart);
            }}
            onKeyDown={onKey}
            onBlur={() => setTimeout(() => setOffer(null), 120)}
            {...ids}
          />
          <ul id={`${ids.id}l`} role="listbox" aria-label={t('template.keys')} className={offer ? 'menu offer' : 'sr'} hidden={!offer}>
            {offer?.found.map((key, n) => (
              <li
                key={key}
                id={`${ids.id}o${n}`}
                role="option"
                aria-selected={n === offer.pick}
                className="mi mono"
                data-active-item={n === offer.pick ? '' : undefined}
                onMouseDown={(e) => {
                  e.preventDefault();
                  take(key);
                }}
              >
                {key}
              </li>
            ))}
          </ul>
          {unknown.length > 0 && (
            <div className="hint" style={{ color: 'var(--wait)' }}>
              {t('template.unknown', { keys: unknown.join(', ') })}
            </div>
          )}
        </div>
      )}
    </Field>
  );
}
