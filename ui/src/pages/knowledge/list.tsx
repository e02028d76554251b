/** Owns the list of knowledge bases. */
import { Library, Plus } from 'lucide-react';
import { useState, type ReactElement } from 'react';
import { useLocation } from 'wouter';
import type { KnowledgeBase } from '@wfstudio/client';
import { t } from '../../i18n';
import { ago, bytes, count } from '../../i18n/figures';
import { Button } from '../../parts/button';
import { EntityTile } from '../../parts/icons';
import { Listing } from '../../parts/listing';
import { NameDialog } from '../../parts/name-dialog';
import { Empty } from '../../parts/states';
import { Top } from '../../shell/top';

export default function Knowledge(): ReactElement {
  const [naming, setNaming] = useState(false);
  const [, go] = useLocation();
  const fresh = (look?: string): ReactElement => (
    <Button look={look} icon={Plus} onClick={() => setNaming(true)}>
      {t('kb.new')}
    </Button>
  );
  return (
    <>
      <Top crumbs={[{ label: t('nav.knowledge') }]} title={t('nav.knowledge')}>
        {fresh('pri')}
      </Top>
      <Listing<KnowledgeBase>
        path="/api/knowledge-bases"
        nameLabel={t('name')}
        href={(b) => `/knowledge/${b.id}`}
        tile={() => <EntityTile type="knowledge" />}
        empty={
          <Empty icon={Library} title={t('kb.empty')} text={t('kb.empty.text')}>
            {fresh()}
          </Empty>
        }
        columns={[
          { label: t('kb.documents'), num: true, cell: (b) => count(b.document_count) },
          { label: t('kb.chunks'), num: true, hide: 'hide-s', cell: (b) => count(b.chunk_count) },
          { label: t('kb.size'), num: true, hide: 'hide-m', cell: (b) => bytes(b.size_bytes) },
          { label: t('kb.embeddings'), hide: 'hide-m', cell: (b) => <span className="mono">{b.embeddings_model}</span> },
          {
            label: t('status'),
            hide: 'hide-s',
            cell: (b) => (b.needs_reindex ? <span className="pill wait">{t('kb.reindexneeded')}</span> : <span className="mut">–</span>),
          },
          { label: t('updated.at'), hide: 'hide-s', cell: (b) => <span className="mut">{ago(b.updated_at)}</span> },
        ]}
      />
      <NameDialog
        open={naming}
        onClose={() => setNaming(false)}
        path="/api/knowledge-bases"
        title={t('kb.new')}
        untitled={t('kb.untitled')}
        onMade={(id) => go(`/knowledge/${id}`)}
      />
    </>
  );
}
