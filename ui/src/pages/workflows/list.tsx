/** Owns the list of workflows. */
import { useQuery } from '@tanstack/react-query';
import { Download, Import, ListTree, Play, Plus } from 'lucide-react';
import { lazy, Suspense, useState, type ReactElement } from 'react';
import { useLocation } from 'wouter';
import { offKey } from '../../code/targets';
import { get } from '../../api/client';
import { useSettings } from '../../api/queries';
import type { Usage, Workflow, WorkflowListed } from '@wfstudio/client';
import { daysBetween, lastDays, useToday } from '../../api/window';
import { t } from '../../i18n';
import { ago, count, money, priceless } from '../../i18n/figures';
import { Button } from '../../parts/button';
import { saveFile } from '../../parts/file';
import { EntityTile } from '../../parts/icons';
import { Listing } from '../../parts/listing';
import { NameDialog } from '../../parts/name-dialog';
import { Sparkline } from '../../parts/sparkline';
import { Status } from '../../parts/status';
import { toastError } from '../../parts/toast';
import { Top } from '../../shell/top';
import { Guide, Starters } from '../start/start';
import { useOffer } from '../../shell/commands';
import { useAddress, useWidth } from '../../shell/place';
import type { ImportFrom } from './import';

const ImportDialog = lazy(() => import('./import'));

export default function Workflows(): ReactElement {
  const [naming, setNaming] = useState(false);
  const [, go] = useLocation();
  const phone = useWidth() === 'phone';
  const off = offKey(useSettings().data, 'canImport');
  const reason = off && t('reason.flag', { flag: off });
  const [params, setParams] = useAddress();
  const from = params.get('import');
  const importFrom = (next: ImportFrom): void => setParams({ import: next });
  const today = useToday();
  const month = lastDays(30, today ?? '1970-01-01');
  const costs = useQuery({
    queryKey: ['/api/usage', month, 'entity'],
    queryFn: () => get<Usage>('/api/usage', { ...month, group_by: 'entity', entity_type: 'workflow' }),
    enabled: !!today,
    staleTime: 60_000,
  });
  const costOf = (id: string): string => {
    const entry = costs.data?.breakdown.find((e) => e.entity_id === id);
    return entry ? (priceless(entry) ? t('usage.unpriced') : money(entry.estimated_cost, costs.data?.currency)) : '–';
  };
  useOffer(
    [
      { id: 'new-workflow', label: t('workflows.new'), icon: Plus, run: () => setNaming(true) },
      ...(off ? [] : [{ id: 'import', label: t('import'), icon: Import, run: () => importFrom('code') }]),
    ],
    [off],
  );
  const fresh = (
    <Button look="pri" icon={Plus} onClick={() => setNaming(true)}>
      {t('workflows.new')}
    </Button>
  );
  return (
    <>
      <Top crumbs={[{ label: t('nav.workflows') }]} title={t('nav.workflows')}>
        <Button icon={Import} label={t('import')} reason={reason} onClick={() => importFrom('code')}>
          {phone ? undefined : t('import')}
        </Button>
        {fresh}
      </Top>
      <Listing<WorkflowListed>
        path="/api/workflows"
        nameLabel={t('name')}
        href={(w) => `/workflows/${w.id}/edit`}
        tile={() => <EntityTile type="workflow" />}
        poll={20_000}
        empty={<Starters onBlank={() => setNaming(true)} />}
        above={(list) => <Guide workflows={list} />}
        columns={[
          {
            label: t('workflows.last'),
            cell: (w) => (w.last_run ? <Status status={w.last_run.status} bare /> : <span className="mut">{t('workflows.never')}</span>),
          },
          { label: t('workflows.week'), hide: 'hide-m', cell: (w) => <Week id={w.id} /> },
          { label: t('workflows.cost30'), num: true, hide: 'hide-s', cell: (w) => <span className="mono">{costOf(w.id)}</span> },
          { label: t('workflows.nodes'), num: true, hide: 'hide-m', cell: (w) => count(w.node_count) },
          { label: t('updated.at'), hide: 'hide-s', cell: (w) => <span className="mut">{ago(w.updated_at)}</span> },
        ]}
        actions={(w) => [
          { label: t('run'), icon: Play, onSelect: () => go(`/workflows/${w.id}/edit?dock=chat`) },
          { label: t('nav.traces'), icon: ListTree, onSelect: () => go(`/workflows/${w.id}/traces`) },
          {
            label: t('export.json'),
            icon: Download,
            reason,
            onSelect: () => void exportJson(w),
          },
        ]}
      />
      <NameDialog
        open={naming}
        onClose={() => setNaming(false)}
        path="/api/workflows"
        title={t('workflows.new')}
        untitled={t('workflows.untitled')}
        onMade={(id) => go(`/workflows/${id}/edit`)}
        beside={
          <>
            <Button
              look="ghost"
              icon={Import}
              reason={reason}
              onClick={() => {
                setNaming(false);
                importFrom('json');
              }}
            >
              {t('import.json')}
            </Button>
            <span className="sp" />
          </>
        }
      />
      {from && !off && (
        <Suspense>
          <ImportDialog from={from === 'json' ? 'json' : 'code'} onFrom={importFrom} onClose={() => setParams({ import: null })} />
        </Suspense>
      )}
    </>
  );
}

function Week({ id }: { id: string }): ReactElement {
  const today = useToday();
  const week = lastDays(7, today ?? '1970-01-01');
  const usage = useQuery({
    queryKey: ['/api/usage', week, 'day', id],
    queryFn: () => get<Usage>('/api/usage', { ...week, group_by: 'day', entity_type: 'workflow', entity_id: id }),
    enabled: !!today,
    staleTime: 300_000,
  });
  const byDay = new Map(usage.data?.breakdown.map((e) => [e.date, e.run_count ?? 0]));
  const values = daysBetween(week.from, week.to).map((day) => byDay.get(day) ?? 0);
  const total = values.reduce((a, b) => a + b, 0);
  return (
    <span className="row" style={{ gap: 10 }}>
      <Sparkline values={values} label={t('runs', { n: total })} />
      <span className="mut small">{count(total)}</span>
    </span>
  );
}

async function exportJson(workflow: WorkflowListed): Promise<void> {
  try {
    const whole = await get<Workflow>(`/api/workflows/${workflow.id}`);
    saveFile(
      `${workflow.slug || 'workflow'}.json`,
      JSON.stringify({ meta: { id: whole.slug, name: whole.name, description: whole.description }, graph: whole.graph }, null, 2),
    );
  } catch (error) {
    toastError(error);
  }
}
