/** Owns the command palette: pages, commands of the page in view, workflows, agents. */
import * as Ariakit from '@ariakit/react';
import { Search } from 'lucide-react';
import { useMemo, useState, type ReactElement } from 'react';
import { useLocation } from 'wouter';
import { rows, useList } from '../api/queries';
import type { Agent, Workflow } from '../api/types';
import { t } from '../i18n';
import { Icon, PAGE_ICONS } from '../parts/icons';
import { closePalette, useCommands, type Command } from './commands';
import { GROUPS } from './nav';

export default function Palette(): ReactElement {
  const { commands } = useCommands();
  const [value, setValue] = useState('');
  const [, go] = useLocation();
  const workflows = rows(useList<Workflow>('/api/workflows', { limit: 100 }));
  const agents = rows(useList<Agent>('/api/agents', { limit: 100 }));
  const all = useMemo<Command[]>(() => [
    ...commands.map((c) => ({ ...c, group: c.group ?? t('palette.actions') })),
    ...GROUPS.flatMap((g) => g.pages).map((page) => ({ id: `page-${page}`, label: t(`nav.${page}`), group: t('palette.pages'), icon: PAGE_ICONS[page], run: () => go(`/${page}`) })),
    ...workflows.map((w) => ({ id: `w-${w.id}`, label: w.name, group: t('nav.workflows'), icon: PAGE_ICONS.workflows, run: () => go(`/workflows/${w.id}/edit`) })),
    ...agents.map((a) => ({ id: `a-${a.id}`, label: a.name, group: t('nav.agents'), icon: PAGE_ICONS.agents, run: () => go(`/agents/${a.id}/playground`) })),
  ], [commands, workflows, agents, go]);
  const wanted = value.trim().toLocaleLowerCase();
  const found = all.filter((c) => c.label.toLocaleLowerCase().includes(wanted)).slice(0, 60);
  const groups = [...new Set(found.map((c) => c.group))];
  const pick = (command: Command): void => { closePalette(); setTimeout(command.run, 60); };
  return (
    <Ariakit.Dialog open onClose={closePalette} className="palette" backdrop={<div className="backdrop" />} aria-label={t('palette.title')} autoFocusOnShow>
      <Ariakit.ComboboxProvider open includesBaseElement={false} setValue={setValue} focusLoop>
        <div className="field">
          <Icon as={Search} />
          <Ariakit.Combobox autoSelect="always" placeholder={t('search.all')} aria-label={t('palette.title')} autoFocus
            onKeyDown={(e) => { if (e.key === 'Enter' && found[0] && !e.currentTarget.getAttribute('aria-activedescendant')) { e.preventDefault(); pick(found[0]); } }} />
        </div>
        <Ariakit.ComboboxList className="list" alwaysVisible>
          {groups.map((group) => (
            <Ariakit.ComboboxGroup key={group}>
              <Ariakit.ComboboxGroupLabel className="eyebrow">{group}</Ariakit.ComboboxGroupLabel>
              {found.filter((c) => c.group === group).map((c) => (
                <Ariakit.ComboboxItem key={c.id} className="mi" value={c.label} setValueOnClick={false} hideOnClick={false} onClick={() => pick(c)} focusOnHover>
                  {c.icon && <Icon as={c.icon} />}<span className="trunc">{c.label}</span><span className="sp" />{c.keys && <kbd>{c.keys}</kbd>}
                </Ariakit.ComboboxItem>
              ))}
            </Ariakit.ComboboxGroup>
          ))}
          {found.length === 0 && <div className="mut" style={{ padding: 12 }}>{t('palette.none')}</div>}
        </Ariakit.ComboboxList>
      </Ariakit.ComboboxProvider>
    </Ariakit.Dialog>
  );
}
