/** Owns the list of agents. */
import { Bot, LayoutTemplate, MessageSquare, Plus, SlidersHorizontal } from 'lucide-react';
import type { ReactElement } from 'react';
import { useLocation } from 'wouter';
import { useSettings } from '../../api/queries';
import type { Agent } from '@wfstudio/client';
import { t } from '../../i18n';
import { ago } from '../../i18n/figures';
import { LinkButton } from '../../parts/button';
import { EntityTile } from '../../parts/icons';
import { Listing } from '../../parts/listing';
import { Empty } from '../../parts/states';
import { Top } from '../../shell/top';

export default function Agents(): ReactElement {
  const [, go] = useLocation();
  const templates = useSettings().data?.flags.templates ?? true;
  const fresh = (look?: string): ReactElement => (
    <LinkButton to="/agents/new" look={look} icon={Plus}>
      {t('agents.new')}
    </LinkButton>
  );
  return (
    <>
      <Top crumbs={[{ label: t('nav.agents') }]} title={t('nav.agents')}>
        {fresh('pri')}
      </Top>
      <Listing<Agent>
        path="/api/agents"
        nameLabel={t('name')}
        href={(a) => `/agents/${a.id}/playground`}
        tile={() => <EntityTile type="agent" />}
        empty={
          <Empty icon={Bot} title={t('agents.empty')} text={t('agents.empty.text')}>
            {fresh()}
            {templates && (
              <LinkButton to="/templates?type=agents" icon={LayoutTemplate}>
                {t('templates.browse')}
              </LinkButton>
            )}
          </Empty>
        }
        columns={[
          { label: t('key.model'), cell: (a) => <span className="mono">{a.model}</span> },
          {
            label: t('key.tools'),
            hide: 'hide-m',
            cell: (a) =>
              a.tools?.length ? (
                <span className="row" style={{ gap: 4 }}>
                  {a.tools.slice(0, 3).map((r) => (
                    <span key={r.ref} className="pill">
                      {r.ref.replace(/^\w+:/, '')}
                    </span>
                  ))}
                  {a.tools.length > 3 && <span className="mut small">+{a.tools.length - 3}</span>}
                </span>
              ) : (
                <span className="mut">–</span>
              ),
          },
          {
            label: t('agents.approval'),
            hide: 'hide-m',
            cell: (a) =>
              a.require_tool_approval ? (
                <span className="pill wait">{t('tools.asks')}</span>
              ) : (
                <span className="mut">{t('tools.free')}</span>
              ),
          },
          { label: t('updated.at'), hide: 'hide-s', cell: (a) => <span className="mut">{ago(a.updated_at)}</span> },
        ]}
        actions={(a) => [
          { label: t('agents.configure'), icon: SlidersHorizontal, onSelect: () => go(`/agents/${a.id}`) },
          { label: t('agents.playground'), icon: MessageSquare, onSelect: () => go(`/agents/${a.id}/playground`) },
        ]}
      />
    </>
  );
}
