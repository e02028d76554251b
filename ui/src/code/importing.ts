/** Owns one import: what is sent, what is told, where it leads. */
import { useState } from 'react';
import { useLocation } from 'wouter';
import { madePath } from './targets';
import { make } from '../api/client';
import { refresh } from '../api/queries';
import type { CodeImported } from '@wfstudio/client';
import { t } from '../i18n';
import { toast } from '../parts/toast';
import { useHere } from '../shell/place';

export interface Importing {
  busy: boolean;
  error: unknown;
  run: (body: { ref: string } | { json: unknown }) => Promise<void>;
  forget: () => void;
}

export function useImport(): Importing {
  const [, go] = useLocation();
  const here = useHere();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const run = async (body: { ref: string } | { json: unknown }): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const made = await make<CodeImported>('/api/codegen/import', body);
      refresh('/api/workflows', '/api/agents', '/api/tools', '/api/templates');
      const name = made.workflow?.name ?? made.agent?.name ?? made.tool?.name ?? '';
      const fresh = made.workflow ? made.agents.filter((agent) => !agent.reused).length : 0;
      if (made.reused) toast(t('import.have', { name }));
      else toast(fresh ? t('templates.installed.with', { name, n: fresh }) : t('import.done', { name }));
      if (here.current) go(madePath(made));
    } catch (caught) {
      setError(caught);
      setBusy(false);
    }
  };
  return { busy, error, run, forget: () => setError(null) };
}
