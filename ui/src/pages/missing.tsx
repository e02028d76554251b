import { SearchX } from 'lucide-react';
import type { ReactElement } from 'react';
import { t } from '../i18n';
import { LinkButton } from '../parts/button';
import { Empty } from '../parts/states';
import { Top } from '../shell/top';

export default function Missing(): ReactElement {
  return (
    <>
      <Top crumbs={[{ label: t('error.page') }]} title={t('error.page')} />
      <div className="page">
        <Empty
          icon={SearchX}
          title={t('error.page')}
          text={
            <>
              {t('error.page.text')}
              <br />
              <span className="mono">{location.pathname}</span>
            </>
          }
        >
          <LinkButton look="pri" to="/workflows">
            {t('nav.workflows')}
          </LinkButton>
        </Empty>
      </div>
    </>
  );
}
