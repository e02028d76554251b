/** Owns the list of tools: the stored ones, and what the host and toolkits bring. */
import { Plus, Wrench } from 'lucide-react';
import type { ReactElement } from 'react';
import { useRegistry } from '../../api/queries';
import type { Tool } from '@wfstudio/client';
import { t, tx } from '../../i18n';
import { ago } from '../../i18n/figures';
import { LinkButton } from '../../parts/button';
import { EntityTile } from '../../parts/icons';
import { Listing } from '../../parts/listing';
import { Empty } from '../../parts/states';
import { Top } from '../../shell/top';

export default function Tools(): ReactElement {
  const registry = useRegistry().data?.data ?? [];
  const fresh = (look?: string): ReactElement => (
    <LinkButton to="/tools/new" look={look} icon={Plus}>
      {t('toolspage.new')}
    </LinkButton>
  );
  return (
    <>
      <Top crumbs={[{ label: t('nav.tools') }]} title={t('nav.tools')}>
        {fresh('pri')}
      </Top>
      <Listing<Tool>
        path="/api/tools"
        nameLabel={t('name')}
        href={(x) => `/tools/${x.id}`}
        tile={() => <EntityTile type="tool" />}
        empty={
          <Empty icon={Wrench} title={t('toolspage.empty')} text={t('toolspage.empty.text')}>
            {fresh()}
          </Empty>
        }
        below={<Registry rows={registry} />}
        columns={[
          { label: t('toolspage.kind'), cell: (x) => tx(`toolkind.${x.kind}`, x.kind) },
          {
            label: t('description'),
            hide: 'hide-m',
            cell: (x) => (
              <span className="trunc mut" style={{ display: 'block', maxWidth: 360 }}>
                {x.description}
              </span>
            ),
          },
          {
            label: t('agents.approval'),
            hide: 'hide-s',
            cell: (x) =>
              x.require_approval ? <span className="pill wait">{t('tools.asks')}</span> : <span className="mut">{t('tools.free')}</span>,
          },
          { label: t('updated.at'), hide: 'hide-s', cell: (x) => <span className="mut">{ago(x.updated_at)}</span> },
        ]}
      />
    </>
  );
}

function Registry({ rows }: { rows: { ref: string; name: string; description: string }[] }): ReactElement | null {
  if (rows.length === 0) return null;
  return (
    <section className="card tablewrap" aria-label={t('toolspage.brought')}>
      <table>
        <thead>
          <tr>
            <th scope="col">{t('toolspage.brought')}</th>
            <th scope="col" className="hide-s">
              {t('description')}
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((x) => (
            <tr key={x.ref}>
              <td className="mono">{x.ref}</td>
              <td className="mut hide-s" style={{ whiteSpace: 'normal' }}>
                {tx(`brought.${x.ref}`, x.description)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
