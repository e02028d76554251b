/** Owns the command palette: pages, commands of the page in view, workflows, agents. */
import { useMemo, type ReactElement } from 'react';
import { useLocation } from 'wouter';
import { rows, useList } from '../api/queries';
import type { Agent, Workflow } from '../api/types';
import { t } from '../i18n';
import { Combo } from '../parts/combo';
import { Dialog } from '../parts/dialog';
import { Icon, PAGE_ICONS } from '../parts/icons';
import { closePalette, useCommands, type Command } from './commands';
import { GROUPS } from './nav';

export default function Palette(): ReactElement {
  const { commands } = useCommands();
  const [, go] = useLocation();
  const workflows = rows(useList<Workflow>('/api/workflows', { limit: 100 }));
  const agents = rows(useList<Agent>('/api/agents', { limit: 100 }));
  const all = useMemo<Command[]>(() => [
    ...commands.map((c) => ({ ...c, group: c.group ?? t('palette.actions') })),
    ...GROUPS.flatMap((g) => g.pages).map((page) => ({ id: `page-${page}`, label: t(`nav.${page}`), group: t('palette.pages'), icon: PAGE_ICONS[page], run: () => go(`/${page}`) })),
    ...workflows.map((w) => ({ id: `w-${w.id}`, label: w.name, group: t('nav.workflows'), icon: PAGE_ICONS.workflows, run: () => go(`/workflows/${w.id}/edit`) })),
    ...agents.map((a) => ({ id: `a-${a.id}`, label: a.name, group: t('nav.agents'), icon: PAGE_ICONS.agents, run: () => go(`/agents/${a.id}/playground`) })),
  ], [commands, workflows, agents, go]);
  const pick = (command: Command): void => { closePalette(); setTimeout(command.run, 60); };
  return (
    <Dialog open onClose={closePalette} bare="palette" title={t('palette.title')}>
      <Combo options={all.map((c) => ({ ...c, icon: c.icon && <Icon as={c.icon} /> }))} label={t('palette.title')} placeholder={t('search.all')} none={t('palette.none')} onPick={(o) => { const command = all.find((c) => c.id === o.id); if (command) pick(command); }} />
    </Dialog>
  );
}
