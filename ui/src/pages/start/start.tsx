/** Owns what a first visitor meets: working examples to start from, and what to do next. */
import { ArrowRight, Check, LayoutTemplate, Plus } from 'lucide-react';
import { useState, type ReactElement } from 'react';
import { Link, useLocation } from 'wouter';
import { refresh, rows, useList, useProviders, useSettings } from '../../api/queries';
import type { Agent, RunSummary, WorkflowListed } from '@wfstudio/client';
import { t } from '../../i18n';
import { Button, LinkButton } from '../../parts/button';
import { Icon } from '../../parts/icons';
import { Miniature } from '../../parts/miniature';
import { toastError } from '../../parts/toast';
import { useHere } from '../../shell/place';
import '../../styles/start.css';
import { hasSeenTrace } from './seen';
import { EXAMPLES, exampleOf, install, modelOf, type ExampleId } from './examples';

/** Shown while there is no workflow. */
export function Starters({ onBlank }: { onBlank: () => void }): ReactElement {
  const providers = useProviders().data;
  const templates = useSettings().data?.flags.templates ?? true;
  const [, go] = useLocation();
  const here = useHere();
  const [making, setMaking] = useState<ExampleId | null>(null);
  const model = modelOf(providers);
  const pick = async (id: ExampleId): Promise<void> => {
    setMaking(id);
    try {
      const made = await install(id, providers);
      refresh('/api/workflows', '/api/agents');
      if (here.current) go(`/workflows/${made.id}/edit?dock=chat`);
    } catch (error) {
      toastError(error);
    } finally {
      setMaking(null);
    }
  };
  return (
    <section className="starters" aria-labelledby="starters">
      <div className="starthead">
        <h2 id="starters">{t('start.title')}</h2>
        <p className="mut">{model.free ? t('start.free') : t('start.model', { model: model.model })}</p>
      </div>
      <div className="startgrid">
        {EXAMPLES.map((id) => {
          const example = exampleOf(id, model);
          return (
            <article key={id} className="card startcard">
              <Miniature graph={example.graph} label={t('start.graph', { name: example.name, n: example.graph.nodes.length })} />
              <h3>{example.name}</h3>
              <p className="ink2">{example.text}</p>
              <p className="mut small">{t('start.agents', { names: example.agents.map((a) => a.name).join(', ') })}</p>
              <div>
                <Button icon={ArrowRight} disabled={making !== null} onClick={() => void pick(id)}>
                  {making === id ? t('start.making') : t('start.use')}
                  <span className="sr">: {example.name}</span>
                </Button>
              </div>
            </article>
          );
        })}
      </div>
      <div className="row wrap startfoot">
        <span className="mut">{t('start.blank')}</span>
        <Button look="ghost" icon={Plus} onClick={onBlank}>
          {t('workflows.new')}
        </Button>
        {templates && (
          <LinkButton to="/templates?type=workflows" look="ghost" icon={LayoutTemplate}>
            {t('templates.browse')}
          </LinkButton>
        )}
      </div>
    </section>
  );
}

const HIDDEN = 'studio.guide';

interface Step {
  title: string;
  text: string;
  to: string | null;
  done: boolean;
}

/** The way from an example to a model of one's own; leaves when everything was done, or when sent away. */
export function Guide({ workflows }: { workflows: WorkflowListed[] }): ReactElement | null {
  const [hidden, setHidden] = useState(() => localStorage.getItem(HIDDEN) === 'hidden');
  const ofWorkflows = useList<RunSummary>('/api/runs', { limit: 1, entity_type: 'workflow' }, { enabled: !hidden });
  const ofAgents = useList<RunSummary>('/api/runs', { limit: 1, entity_type: 'agent' }, { enabled: !hidden });
  const agents = useList<Agent>('/api/agents', { limit: 100 }, { enabled: !hidden });
  const providers = useProviders().data;
  if (hidden || !ofWorkflows.data || !ofAgents.data || !agents.data || !providers) return null;
  const first = workflows.find((w) => w.tags?.includes('example')) ?? workflows[0];
  const agent = rows(agents).find((a) => a.tags?.includes('example')) ?? rows(agents)[0];
  const ran = rows(ofWorkflows)[0];
  const steps: Step[] = [
    {
      title: t('guide.run'),
      text: t('guide.run.text', { name: first?.name ?? '' }),
      to: first ? `/workflows/${first.id}/edit?dock=chat` : null,
      done: !!ran,
    },
    { title: t('guide.read'), text: t('guide.read.text'), to: ran ? `/traces/${ran.id}` : null, done: !!ran && hasSeenTrace() },
    {
      title: t('guide.talk'),
      text: agent ? t('guide.talk.text', { name: agent.name }) : t('guide.talk.none'),
      to: agent ? `/agents/${agent.id}/playground` : '/agents/new',
      done: rows(ofAgents).length > 0,
    },
    { title: t('guide.model'), text: t('guide.model.text'), to: '/settings', done: !modelOf(providers).free },
  ];
  if (steps.every((s) => s.done)) return null;
  const next = steps.findIndex((s) => !s.done);
  return (
    <section className="card guide" aria-labelledby="guide">
      <div className="row between">
        <h2 id="guide">{t('guide.title')}</h2>
        <Button
          look="ghost"
          small
          onClick={() => {
            localStorage.setItem(HIDDEN, 'hidden');
            setHidden(true);
          }}
        >
          {t('guide.hide')}
        </Button>
      </div>
      <ol>
        {steps.map((s, n) => (
          <li key={s.title} className={s.done ? 'done' : n === next ? 'next' : ''}>
            <span className="gn">
              {s.done ? (
                <>
                  <Icon as={Check} />
                  <span className="sr">{t('guide.done')}</span>
                </>
              ) : (
                n + 1
              )}
            </span>
            <div>
              {s.to && !s.done ? (
                <Link to={s.to} className="link">
                  {s.title}
                </Link>
              ) : (
                <b>{s.title}</b>
              )}
              <p className="mut small">{s.text}</p>
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}
