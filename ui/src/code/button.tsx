/** Owns the way to the code of a definition: a button, and whether the panel is open, in the address. */
import { CodeXml } from 'lucide-react';
import { lazy, Suspense, type ReactElement } from 'react';
import { offKey, targetOf } from './targets';
import { useSettings } from '../api/queries';
import type { CodeKind } from '@wfstudio/client';
import { t } from '../i18n';
import { useAddress } from '../shell/place';
import { Button } from '../parts/button';

const CodePanel = lazy(() => import('./panel'));

export interface Coded {
  kind: CodeKind;
  id: string;
  /** Each has its own text. */
  revision: number;
  classPath: string | null | undefined;
  unsaved: boolean;
  /** Why it cannot be saved. */
  unsavable?: string | null | false;
  /** True once it is saved. */
  onSave: () => Promise<boolean>;
  onExported?: (classPath: string) => void;
}

export function CodeButton({ icon, ...coded }: Coded & { icon?: boolean }): ReactElement {
  const settings = useSettings().data;
  const [params, setParams] = useAddress();
  const off = offKey(settings, 'canExport') && offKey(settings, 'canPreview');
  return (
    <>
      <Button
        look="ghost"
        icon={CodeXml}
        label={t('code')}
        aria-haspopup="dialog"
        reason={off && t('reason.flag', { flag: off })}
        onClick={() => setParams({ code: targetOf(null, settings) })}
      >
        {icon ? undefined : t('code')}
      </Button>
      {params.has('code') && settings && !off && (
        <Suspense>
          <CodePanel
            {...coded}
            settings={settings}
            target={targetOf(params.get('code'), settings)}
            onTarget={(code) => setParams({ code })}
            onClose={() => setParams({ code: null })}
          />
        </Suspense>
      )}
    </>
  );
}
