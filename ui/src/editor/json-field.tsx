/** Owns a value edited as JSON text; what does not parse does not leave the field. */
import { useEffect, useRef, useState, type ReactElement } from 'react';
import { t } from '../i18n';
import { Field } from '../parts/form';

export function JsonField({
  label,
  hint,
  error,
  value,
  onChange,
  disabled,
  rows = 4,
}: {
  label: string;
  hint?: string;
  error?: string;
  value: unknown;
  onChange: (value: unknown) => void;
  disabled?: boolean;
  rows?: number;
}): ReactElement {
  const shown = value === undefined || value === null ? '' : JSON.stringify(value, null, 2);
  const [text, setText] = useState(shown);
  const [wrong, setWrong] = useState<string | null>(null);
  const focused = useRef(false);
  useEffect(() => {
    if (!focused.current) {
      setText(shown);
      setWrong(null);
    }
  }, [shown]);
  const edit = (next: string): void => {
    setText(next);
    if (!next.trim()) {
      setWrong(null);
      onChange(undefined);
      return;
    }
    try {
      onChange(JSON.parse(next));
      setWrong(null);
    } catch (e) {
      setWrong(t('json.wrong', { message: (e as Error).message }));
    }
  };
  return (
    <Field label={label} hint={hint} error={wrong ?? error}>
      {(ids) => (
        <textarea
          className="in mono"
          rows={Math.min(14, Math.max(rows, text.split('\n').length))}
          spellCheck={false}
          value={text}
          disabled={disabled}
          data-unread={wrong ? '' : undefined}
          onFocus={() => {
            focused.current = true;
          }}
          onBlur={() => {
            focused.current = false;
            if (!wrong) setText(shown);
          }}
          onChange={(e) => edit(e.target.value)}
          {...ids}
        />
      )}
    </Field>
  );
}
