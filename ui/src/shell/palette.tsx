/** Owns the command palette: pages, commands of the page in view, workflows, agents, documents. */
import { useQueries } from '@tanstack/react-query';
import { FileText } from 'lucide-react';
import { useMemo, type ReactElement } from 'react';
import { useLocation } from 'wouter';
import { get } from '../api/client';
import { rows, useList } from '../api/queries';
import type { Agent, Document as KnowledgeDocument, KnowledgeBase, WorkflowListed } from '@wfstudio/client';
import type { List } from '../api/pages';
import { t } from '../i18n';
import { Combo } from '../parts/combo';
import { Dialog } from '../parts/dialog';
import { Icon, PAGE_ICONS } from '../parts/icons';
import { closePalette, useCommands, type Command } from './commands';
import { useGroups } from './nav';

/** Documents are listed base by base: those of the first bases are enough to jump to. */
const BASES = 12;

function useDocuments(): { base: KnowledgeBase; documents: KnowledgeDocument[] }[] {
  const bases = rows(useList<KnowledgeBase>('/api/knowledge-bases', { limit: 100 }));
  const lists = useQueries({
    queries: bases.slice(0, BASES).map((b) => {
      const path = `/api/knowledge-bases/${b.id}/documents`;
      return { queryKey: [path, 'palette'], queryFn: () => get<List<KnowledgeDocument>>(path, { limit: 100 }), staleTime: 30_000 };
    }),
  });
  return bases.map((base, n) => ({ base, documents: lists[n]?.data?.data ?? [] }));
}

export default function Palette(): ReactElement {
  const { commands } = useCommands();
  const [, go] = useLocation();
  const workflows = rows(useList<WorkflowListed>('/api/workflows', { limit: 100 }));
  const agents = rows(useList<Agent>('/api/agents', { limit: 100 }));
  const knowledge = useDocuments();
  const groups = useGroups();
  const all = useMemo<Command[]>(
    () => [
      ...commands.map((c) => ({ ...c, group: c.group ?? t('palette.actions') })),
      ...groups
        .flatMap((g) => g.pages)
        .map((page) => ({
          id: `page-${page}`,
          label: t(`nav.${page}`),
          group: t('palette.pages'),
          icon: PAGE_ICONS[page],
          run: () => go(`/${page}`),
        })),
      ...workflows.map((w) => ({
        id: `w-${w.id}`,
        label: w.name,
        group: t('nav.workflows'),
        icon: PAGE_ICONS.workflows,
        run: () => go(`/workflows/${w.id}/edit`),
      })),
      ...agents.map((a) => ({
        id: `a-${a.id}`,
        label: a.name,
        group: t('nav.agents'),
        icon: PAGE_ICONS.agents,
        run: () => go(`/agents/${a.id}/playground`),
      })),
      ...knowledge.flatMap(({ base, documents }) =>
        [
          { id: base.id, name: base.name, q: '' },
          ...documents.map((d) => ({ id: d.id, name: d.name, q: `?q=${encodeURIComponent(d.name)}` })),
        ].map((x) => ({
          id: `k-${x.id}`,
          label: x.name,
          group: t('nav.knowledge'),
          icon: x.q ? FileText : PAGE_ICONS.knowledge,
          run: () => go(`/knowledge/${base.id}${x.q}`),
        })),
      ),
    ],
    [commands, groups, workflows, agents, knowledge, go],
  );
  const pick = (command: Command): void => {
    closePalette();
    setTimeout(command.run, 60);
  };
  return (
    <Dialog open onClose={closePalette} bare="palette" title={t('palette.title')}>
      <Combo
        options={all.map((c) => ({ ...c, icon: c.icon && <Icon as={c.icon} /> }))}
        label={t('palette.title')}
        placeholder={t('search.all')}
        none={t('palette.none')}
        onPick={(o) => {
          const command = all.find((c) => c.id === o.id);
          if (command) pick(command);
        }}
      />
    </Dialog>
  );
}
