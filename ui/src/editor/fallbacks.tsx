/** Owns the list of models that are asked when one does not answer: add, order, remove. */
import { ArrowDown, ArrowUp, Plus, X } from 'lucide-react';
import type { ReactElement } from 'react';
import type { Fallback, Providers } from '@wfstudio/client';
import { t } from '../i18n';
import { Button } from '../parts/button';
import { ModelSelect } from './pickers';

/** The most that the engine takes. */
const MOST = 4;

export const fallbacksOf = (value: unknown): Fallback[] => (Array.isArray(value) ? (value as Fallback[]) : []);

/** The list with the n-th in another place. */
export const moved = <T,>(list: T[], n: number, by: 1 | -1): T[] => {
  const next = [...list];
  const [one] = next.splice(n, 1);
  if (one !== undefined) next.splice(n + by, 0, one);
  return next;
};

export function FallbacksField({
  value,
  onChange,
  providers,
  error,
  disabled,
}: {
  value: Fallback[];
  onChange: (value: Fallback[]) => void;
  providers?: Providers;
  error?: string;
  disabled?: boolean;
}): ReactElement {
  return (
    <div className="fl" role="group" aria-label={t('key.fallbacks')}>
      <span className="lab">{t('key.fallbacks')}</span>
      {value.map((one, n) => {
        const name = `${one.provider}/${one.model}`;
        return (
          <div key={n} className="row fallback">
            <div style={{ flex: 1, minWidth: 0 }}>
              <ModelSelect
                label={`${n + 1}.`}
                providers={providers}
                provider={one.provider}
                model={one.model}
                disabled={disabled}
                onChange={(provider, model) =>
                  onChange(value.map((old, m) => (m === n ? { ...(old.provider === provider ? old : {}), provider, model } : old)))
                }
              />
            </div>
            <Button
              look="ghost"
              small
              icon={ArrowUp}
              disabled={disabled || n === 0}
              label={t('fallbacks.up', { name })}
              onClick={() => onChange(moved(value, n, -1))}
            />
            <Button
              look="ghost"
              small
              icon={ArrowDown}
              disabled={disabled || n === value.length - 1}
              label={t('fallbacks.down', { name })}
              onClick={() => onChange(moved(value, n, 1))}
            />
            <Button
              look="ghost"
              small
              icon={X}
              disabled={disabled}
              label={`${t('remove')}: ${name}`}
              onClick={() => onChange(value.filter((_, m) => m !== n))}
            />
          </div>
        );
      })}
      {value.length < MOST && (
        <div>
          <Button
            small
            icon={Plus}
            disabled={disabled || !providers}
            onClick={() => onChange([...value, { provider: providers?.default_provider ?? '', model: providers?.default_model ?? '' }])}
          >
            {t('fallbacks.add')}
          </Button>
        </div>
      )}
      {error ? <span className="err">{error}</span> : <span className="mut small">{t('fallbacks.hint')}</span>}
    </div>
  );
}
