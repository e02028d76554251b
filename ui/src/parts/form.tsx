/** Owns form parts: a labelled field with hint and error, text, choice, switch, tags. */
import { useId, useState, type ReactElement, type ReactNode } from 'react';

export function Field({
  label,
  hint,
  error,
  children,
}: {
  label: ReactNode;
  hint?: ReactNode;
  error?: string;
  children: (ids: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: boolean }) => ReactNode;
}): ReactElement {
  const id = useId();
  const described = [hint && `${id}h`, error && `${id}e`].filter(Boolean).join(' ') || undefined;
  return (
    <div className="fl">
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': described, 'aria-invalid': error ? true : undefined })}
      {hint && (
        <div className="hint" id={`${id}h`}>
          {hint}
        </div>
      )}
      {error && (
        <div className="err" id={`${id}e`} role="alert">
          {error}
        </div>
      )}
    </div>
  );
}

interface TextProps {
  label: ReactNode;
  value: string;
  onChange: (value: string) => void;
  hint?: ReactNode;
  error?: string;
  rows?: number;
  mono?: boolean;
  disabled?: boolean;
  placeholder?: string;
  autoFocus?: boolean;
  type?: string;
}
export function TextField({
  label,
  value,
  onChange,
  hint,
  error,
  rows,
  mono,
  disabled,
  placeholder,
  autoFocus,
  type,
}: TextProps): ReactElement {
  return (
    <Field label={label} hint={hint} error={error}>
      {(ids) =>
        rows ? (
          <textarea
            className={`in${mono ? ' mono' : ''}`}
            rows={rows}
            value={value}
            disabled={disabled}
            placeholder={placeholder}
            onChange={(e) => onChange(e.target.value)}
            {...ids}
          />
        ) : (
          <input
            className={`in${mono ? ' mono' : ''}`}
            type={type}
            value={value}
            disabled={disabled}
            placeholder={placeholder}
            autoFocus={autoFocus}
            data-autofocus={autoFocus || undefined}
            onChange={(e) => onChange(e.target.value)}
            {...ids}
          />
        )
      }
    </Field>
  );
}

export function NumberField({
  label,
  value,
  onChange,
  hint,
  error,
  min,
  max,
  step,
  disabled,
  placeholder,
}: {
  label: ReactNode;
  value: number | null | undefined;
  onChange: (value: number | null) => void;
  hint?: ReactNode;
  error?: string;
  min?: number;
  max?: number;
  step?: number | 'any';
  disabled?: boolean;
  placeholder?: string;
}): ReactElement {
  return (
    <Field label={label} hint={hint} error={error}>
      {(ids) => (
        <input
          className="in"
          type="number"
          inputMode="decimal"
          min={min}
          max={max}
          step={step ?? 1}
          value={value ?? ''}
          disabled={disabled}
          placeholder={placeholder}
          onChange={(e) => onChange(e.target.value === '' || Number.isNaN(e.target.valueAsNumber) ? null : e.target.valueAsNumber)}
          {...ids}
        />
      )}
    </Field>
  );
}

export interface Choice<T extends string = string> {
  value: T;
  label: string;
  disabled?: boolean;
}

export function ChoiceField<T extends string = string>({
  label,
  value,
  choices,
  onChange,
  hint,
  error,
  disabled,
}: {
  label: ReactNode;
  value: T;
  choices: Choice<T>[];
  onChange: (value: T) => void;
  hint?: ReactNode;
  error?: string;
  disabled?: boolean;
}): ReactElement {
  return (
    <Field label={label} hint={hint} error={error}>
      {(ids) => (
        <select className="in" value={value} disabled={disabled} onChange={(e) => onChange(e.target.value as T)} {...ids}>
          {!choices.some((c) => c.value === value) && <option value={value}>{value || '–'}</option>}
          {choices.map((c) => (
            <option key={c.value} value={c.value} disabled={c.disabled}>
              {c.label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

export function Check({
  checked,
  onChange,
  children,
  hint,
  disabled,
}: {
  checked: boolean;
  onChange: (on: boolean) => void;
  children: ReactNode;
  hint?: ReactNode;
  disabled?: boolean;
}): ReactElement {
  return (
    <label className="chk">
      <input type="checkbox" checked={checked} disabled={disabled} onChange={(e) => onChange(e.target.checked)} />
      <span>
        {children}
        {hint && (
          <span className="mut small" style={{ display: 'block' }}>
            {hint}
          </span>
        )}
      </span>
    </label>
  );
}

export function Switch({
  on,
  onChange,
  label,
  disabled,
}: {
  on: boolean;
  onChange: (on: boolean) => void;
  label: string;
  disabled?: boolean;
}): ReactElement {
  return (
    <button
      type="button"
      role="switch"
      className="sw"
      aria-checked={on}
      aria-label={label}
      disabled={disabled}
      onClick={() => onChange(!on)}
    />
  );
}

/** What holds a comma stands in quotes. */
const listText = (list: string[]): string => list.map((s) => (/^$|,|^"|^\s|\s$/.test(s) ? JSON.stringify(s) : s)).join(', ');
function listOf(text: string): string[] {
  const parts = [...text.matchAll(/\s*("(?:[^"\\]|\\.)*"|[^,]*?)\s*(?:,|$)/g)].map((m) => m[1] ?? '');
  return parts.filter(Boolean).map((part) => {
    try {
      return part.startsWith('"') ? String(JSON.parse(part)) : part;
    } catch {
      return part;
    }
  });
}

/** A list kept as text, one per comma. */
export function ListField({
  label,
  value,
  onChange,
  hint,
  mono,
  disabled,
}: {
  label: ReactNode;
  value: string[];
  onChange: (value: string[]) => void;
  hint?: ReactNode;
  mono?: boolean;
  disabled?: boolean;
}): ReactElement {
  const shown = listText(value);
  /** What is typed, until the field is left: whatever comes late does not go over it. */
  const [text, setText] = useState<string | null>(null);
  return (
    <Field label={label} hint={hint}>
      {(ids) => (
        <input
          className={`in${mono ? ' mono' : ''}`}
          value={text ?? shown}
          disabled={disabled}
          onChange={(e) => setText(e.target.value)}
          onBlur={() => {
            setText(null);
            const next = listOf(text ?? shown);
            if (listText(next) !== shown) onChange(next);
          }}
          {...ids}
        />
      )}
    </Field>
  );
}
