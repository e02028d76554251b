/** Owns what lies under the canvas: the chat that starts runs, and what the run tells. */
import { ArrowRight, ChevronDown, ChevronUp } from 'lucide-react';
import { lazy, useMemo, type ReactElement } from 'react';
import { t } from '../i18n';
import { count, duration, money } from '../i18n/figures';
import { Button, LinkButton } from '../parts/button';
import { Code } from '../parts/code';
import { Part } from '../parts/part';
import { Tabs } from '../parts/tabs';
import { startName } from '../run/rows';
import { useRun } from '../run/store';
import { Timeline } from '../run/timeline';
import { useWidth } from '../shell/place';
import type { Providers } from '@wfstudio/client';
import { DockChat } from './dock-chat';
import { panel, usePanels } from './panel';
import { Problems } from './problems';
import { only, select, useEditor } from './store';

const Events = lazy(() => import('./events'));

export function Dock({ providers, onRun }: { providers?: Providers; onRun: (message: string) => void }): ReactElement {
  const { dock, dockOpen } = usePanels();
  const narrow = useWidth() === 'narrow';
  const view = useRun((s) => s.view);
  const issues = useEditor((s) => s.issues);
  const chosen = useEditor(only);
  const start = useEditor((s) => s.graph.nodes.find((n) => n.type === 'start')?.id ?? '');
  const startLabel = useEditor((s) => startName(s.graph));
  const tokens = useMemo(() => view.usage?.total_tokens ?? Object.values(view.steps).reduce((sum, s) => sum + (s.tokens ?? 0), 0), [view]);
  const errors = issues.filter((i) => i.severity === 'error').length;
  const problems = {
    id: 'problems' as const,
    label: t('tab.problems'),
    badge: issues.length || undefined,
    tone: errors ? 'fail' : 'wait',
  };
  const toggle = (
    <Button
      look="ghost"
      small
      icon={dockOpen ? ChevronDown : ChevronUp}
      label={t('editor.dock')}
      aria-expanded={dockOpen}
      onClick={() => panel({ dockOpen: !dockOpen })}
    />
  );
  return (
    <section className={`dock${dockOpen ? '' : ' shut'}`} aria-label={t('editor.dock')}>
      <DockChat onRun={onRun} open={dockOpen} toggle={toggle} problems={problems} providers={providers} />
      <div className="dl-r">
        <Tabs
          label={t('editor.dock')}
          value={dock}
          onChange={(id) => panel({ dock: id })}
          tabs={[
            { id: 'timeline', label: t('tab.timeline') },
            { id: 'events', label: t('tab.events'), badge: view.events.length || undefined },
            { id: 'state', label: t('tab.state') },
            problems,
          ]}
        >
          <span className="sp" />
          <span className="row mut small hide-s" style={{ paddingRight: 6, whiteSpace: 'nowrap' }}>
            {view.status !== 'idle' &&
              !narrow &&
              [
                view.end && duration(view.end - view.start),
                tokens > 0 && `${count(tokens)} ${t('tok')}`,
                view.usage && (view.usage.unpriced ? t('usage.unpriced') : money(view.usage.estimated_cost, view.usage.currency)),
              ]
                .filter(Boolean)
                .join(' · ')}
            {view.traceId && (
              <LinkButton to={`/traces/${view.traceId}`} look="ghost" small icon={ArrowRight} label={t('editor.opentrace')}>
                {!narrow && t('editor.opentrace')}
              </LinkButton>
            )}
            {toggle}
          </span>
        </Tabs>
        {dockOpen && dock === 'timeline' && (
          <Timeline chosen={chosen} start={start} startLabel={startLabel} onChoose={(id) => select([id])} />
        )}
        {dockOpen && dock === 'events' && (
          <Part>
            <Events />
          </Part>
        )}
        {dockOpen && dock === 'state' && (
          <div className="scroll" style={{ padding: 12 }}>
            {Object.keys(view.state).length ? <Code value={view.state} maxHeight={900} /> : <p className="mut">{t('state.empty')}</p>}
          </div>
        )}
        {dockOpen && dock === 'problems' && <Problems providers={providers} />}
      </div>
    </section>
  );
}
