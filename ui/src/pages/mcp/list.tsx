/** Owns the list of MCP servers. */
import { Plug, Plus } from 'lucide-react';
import type { ReactElement } from 'react';
import type { McpServer } from '@wfstudio/client';
import { t } from '../../i18n';
import { ago } from '../../i18n/figures';
import { LinkButton } from '../../parts/button';
import { EntityTile } from '../../parts/icons';
import { Listing } from '../../parts/listing';
import { Empty } from '../../parts/states';
import { Top } from '../../shell/top';

export default function Mcp(): ReactElement {
  const fresh = (look?: string): ReactElement => (
    <LinkButton to="/mcp/new" look={look} icon={Plus}>
      {t('mcp.new')}
    </LinkButton>
  );
  return (
    <>
      <Top crumbs={[{ label: t('nav.mcp') }]} title={t('nav.mcp')}>
        {fresh('pri')}
      </Top>
      <Listing<McpServer>
        path="/api/mcp-servers"
        nameLabel={t('name')}
        href={(s) => `/mcp/${s.id}`}
        tile={() => <EntityTile type="mcp" />}
        empty={
          <Empty icon={Plug} title={t('mcp.empty')} text={t('mcp.empty.text')}>
            {fresh()}
          </Empty>
        }
        columns={[
          { label: t('mcp.transport'), cell: (s) => <span className="mono">{s.transport}</span> },
          {
            label: t('mcp.where'),
            hide: 'hide-m',
            cell: (s) => (
              <span className="mono mut trunc" style={{ display: 'block', maxWidth: 360 }}>
                {s.url ?? [s.command, ...(s.args ?? [])].filter(Boolean).join(' ')}
              </span>
            ),
          },
          { label: t('mcp.enabled'), hide: 'hide-s', cell: (s) => (s.enabled ? t('yes') : <span className="mut">{t('no')}</span>) },
          { label: t('updated.at'), hide: 'hide-s', cell: (s) => <span className="mut">{ago(s.updated_at)}</span> },
        ]}
      />
    </>
  );
}
