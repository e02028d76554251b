/** Owns searching a short list and taking one: arrows, Enter, groups. */
import { Search } from 'lucide-react';
import { useEffect, useId, useMemo, useRef, useState, type KeyboardEvent, type ReactElement, type ReactNode } from 'react';
import { Icon } from './icons';

export interface Option {
  id: string;
  label: string;
  group?: string;
  icon?: ReactNode;
  keys?: string;
}

export function Combo<T extends Option>({
  options,
  onPick,
  label,
  placeholder,
  none,
}: {
  options: T[];
  onPick: (option: T) => void;
  label: string;
  placeholder: string;
  none: string;
}): ReactElement {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  const found = useMemo(() => {
    const wanted = text.trim().toLocaleLowerCase();
    return options.filter((o) => o.label.toLocaleLowerCase().includes(wanted)).slice(0, 60);
  }, [options, text]);
  const chosen = Math.min(at, found.length - 1);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [chosen, found]);
  const onKey = (event: KeyboardEvent): void => {
    const move = (n: number): void => {
      event.preventDefault();
      setAt((n + found.length) % Math.max(1, found.length));
    };
    if (event.key === 'ArrowDown') move(chosen + 1);
    else if (event.key === 'ArrowUp') move(chosen - 1);
    else if (event.key === 'Enter') {
      event.preventDefault();
      const option = found[chosen];
      if (option) onPick(option);
    }
  };
  const groups = [...new Set(found.map((o) => o.group))];
  return (
    <>
      <div className="field">
        <Icon as={Search} />
        <input
          role="combobox"
          aria-expanded="true"
          aria-autocomplete="list"
          aria-controls={id}
          aria-activedescendant={found[chosen] ? `${id}-${chosen}` : undefined}
          aria-label={label}
          placeholder={placeholder}
          value={text}
          autoFocus
          data-autofocus
          onChange={(e) => {
            setText(e.target.value);
            setAt(0);
          }}
          onKeyDown={onKey}
        />
      </div>
      <div ref={list} id={id} className="list" role="listbox" aria-label={label}>
        {groups.map((group, g) => (
          <div key={group ?? g} role="group" aria-label={group ?? label}>
            {group && (
              <div className="eyebrow" aria-hidden="true">
                {group}
              </div>
            )}
            {found.map(
              (o, n) =>
                o.group === group && (
                  <div
                    key={o.id}
                    id={`${id}-${n}`}
                    role="option"
                    aria-selected={n === chosen}
                    className="mi"
                    data-active-item={n === chosen ? '' : undefined}
                    onPointerMove={() => setAt(n)}
                    onClick={() => onPick(o)}
                  >
                    {o.icon}
                    <span className="trunc">{o.label}</span>
                    <span className="sp" />
                    {o.keys && <kbd>{o.keys}</kbd>}
                  </div>
                ),
            )}
          </div>
        ))}
        {found.length === 0 && (
          <div className="mut small" role="option" aria-selected="false" aria-disabled="true" style={{ padding: 10 }}>
            {none}
          </div>
        )}
      </div>
    </>
  );
}
