/** Owns the ways between the pages of one agent. */
import type { ReactElement } from 'react';
import { Link } from 'wouter';
import { t } from '../../i18n';

export function AgentTabs({ id, here }: { id: string; here: 'configure' | 'playground' }): ReactElement {
  const tabs = [
    ['configure', `/agents/${id}`, t('agents.configure')],
    ['playground', `/agents/${id}/playground`, t('agents.playground')],
    ['runs', `/traces?agent=${id}`, t('agents.runs')],
  ] as const;
  return (
    <nav className="seg" aria-label={t('nav.agents')} style={{ marginLeft: 8 }}>
      {tabs.map(([tab, to, label]) => (
        <Link key={tab} to={to} className={tab === here ? 'on' : ''} aria-current={tab === here ? 'page' : undefined}>
          {label}
        </Link>
      ))}
    </nav>
  );
}
