/** Owns the rules of a condition: several tests, all or any. */
import { Plus, X } from 'lucide-react';
import type { ReactElement } from 'react';
import type { GraphNode, GraphSchema } from '@wfstudio/client';
import { t, tx } from '../i18n';
import { Button } from '../parts/button';

interface Rule {
  state_key?: string;
  operator?: string;
  value?: unknown;
}

export function RulesField({
  node,
  schema,
  set,
  disabled,
}: {
  node: GraphNode;
  schema: GraphSchema;
  set: (data: Record<string, unknown>, group?: string) => void;
  disabled: boolean;
}): ReactElement {
  const rules = Array.isArray(node.data.rules) ? (node.data.rules as Rule[]) : [];
  const put = (next: Rule[]): void =>
    set({ rules: next.length ? next : undefined, ...(next.length && !node.data.logic ? { logic: 'all' } : {}) }, `rules-${node.id}`);
  const edit = (n: number, change: Rule): void => put(rules.map((r, m) => (m === n ? { ...r, ...change } : r)));
  return (
    <div className="fl">
      <span className="lab">{t('key.rules')}</span>
      {rules.map((rule, n) => (
        <div key={n} className="rule">
          <input
            className="in mono"
            aria-label={t('key.state_key')}
            value={rule.state_key ?? ''}
            placeholder="input"
            disabled={disabled}
            onChange={(e) => edit(n, { state_key: e.target.value })}
          />
          <select
            className="in"
            aria-label={t('key.operator')}
            value={rule.operator ?? 'not_empty'}
            disabled={disabled}
            onChange={(e) => edit(n, { operator: e.target.value })}
          >
            {schema.operators.map((o) => (
              <option key={o.name} value={o.name}>
                {tx(`op.${o.name}`, o.name.replaceAll('_', ' '))}
              </option>
            ))}
          </select>
          <input
            className="in mono"
            aria-label={t('key.value')}
            value={typeof rule.value === 'string' ? rule.value : rule.value === undefined ? '' : JSON.stringify(rule.value)}
            disabled={disabled || schema.operators.find((o) => o.name === rule.operator)?.value === null}
            onChange={(e) => edit(n, { value: e.target.value })}
          />
          <Button
            look="ghost"
            small
            icon={X}
            label={t('remove')}
            disabled={disabled}
            onClick={() => put(rules.filter((_, m) => m !== n))}
          />
        </div>
      ))}
      <div>
        <Button small icon={Plus} disabled={disabled} onClick={() => put([...rules, { state_key: 'input', operator: 'not_empty' }])}>
          {t('rules.add')}
        </Button>
      </div>
    </div>
  );
}
