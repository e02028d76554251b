/** Owns one template before its install: its graph, what an install makes and what it uses, and the install. */
import { ArrowRight, Bot, Check } from 'lucide-react';
import { useState, type ReactElement } from 'react';
import { useLocation } from 'wouter';
import { make } from '../../api/client';
import { isProblem, type Installed, type Template, type TemplateListed } from '@wfstudio/client';
import { refresh } from '../../api/queries';
import { tidy } from '../../graph/document';
import { t, tx } from '../../i18n';
import { Button } from '../../parts/button';
import { Dialog } from '../../parts/dialog';
import { TextField } from '../../parts/form';
import { GraphPicture } from './picture';
import { Icon } from '../../parts/icons';
import { Said } from '../../parts/said';
import { Failure, SkeletonRows } from '../../parts/states';
import { textOf, toast } from '../../parts/toast';
import { useHere } from '../../shell/place';
import { useTemplate } from './card';

interface Props {
  kind: 'agent' | 'workflow';
  id: string;
  all: TemplateListed[];
  onTag: (tag: string) => void;
  onClose: () => void;
}

export function TemplateDialog(props: Props): ReactElement {
  const { kind, id, all, onClose } = props;
  const template = useTemplate(kind, id);
  const listed = all.find((one) => one.type === kind && one.id === id);
  const title = template.data?.meta.name ?? listed?.name ?? id;
  return (
    <Dialog open onClose={onClose} title={title} wide>
      {template.data ? (
        <Shown {...props} template={template.data} listed={listed} />
      ) : template.isError ? (
        <Failure error={template.error} id={id} onRetry={() => void template.refetch()} />
      ) : (
        <SkeletonRows rows={5} />
      )}
    </Dialog>
  );
}

function Shown({
  kind,
  id,
  all,
  onTag,
  template,
  listed,
}: Props & { template: Template; listed: TemplateListed | undefined }): ReactElement {
  const { meta, graph, definition, install_preview: preview } = template;
  const [name, setName] = useState('');
  const install = useInstall(kind, id);
  const nameOf = (slug: string): string => all.find((one) => one.type === 'agent' && one.id === slug)?.name ?? slug;
  const reuses = kind === 'agent' && preview.agents_reuse.includes(id);
  const tags = meta.tags ?? [];
  return (
    <form
      className="stack tpl"
      onSubmit={(e) => {
        e.preventDefault();
        void install.run(name.trim());
      }}
    >
      {meta.description && <p className="ink2">{listed?.description ?? meta.description}</p>}
      <div className="row wrap facts">
        {listed?.complexity && <span className="pill">{tx(`complexity.${listed.complexity}`, listed.complexity)}</span>}
        {meta.category && <span className="mut small">{tx(`category.${meta.category}`, meta.category)}</span>}
        {tags.map((tag) => (
          <button key={tag} type="button" className="tagbtn" aria-label={t('templates.tag.show', { tag })} onClick={() => onTag(tag)}>
            {tag}
          </button>
        ))}
      </div>
      {graph && <GraphPicture graph={tidy(graph)} label={t('start.graph', { name: meta.name, n: graph.nodes.length })} />}
      {definition?.instructions && (
        <section>
          <h3>{t('key.instructions')}</h3>
          <p className="code instructions" tabIndex={0} role="group" aria-label={t('key.instructions')}>
            {definition.instructions}
          </p>
          {!!definition.tools?.length && (
            <p className="row wrap facts">
              <span className="mut small">{t('key.tools')}</span>
              {definition.tools.map((tool) => (
                <span key={tool.ref} className="pill mono">
                  {tool.ref}
                </span>
              ))}
            </p>
          )}
        </section>
      )}
      {kind === 'workflow' && (
        <section>
          <h3>{t('nav.agents')}</h3>
          {preview.agents_create.length + preview.agents_reuse.length === 0 ? (
            <p className="mut">{t('templates.noagents')}</p>
          ) : (
            <ul className="tplagents">
              {preview.agents_create.map((slug) => (
                <li key={slug}>
                  <Icon as={Bot} />
                  <span>{nameOf(slug)}</span>
                  <span className="mut small">{t('templates.create')}</span>
                </li>
              ))}
              {preview.agents_reuse.map((slug) => (
                <li key={slug}>
                  <Icon as={Check} />
                  <span>{nameOf(slug)}</span>
                  <span className="mut small">{t('templates.reuse')}</span>
                </li>
              ))}
            </ul>
          )}
        </section>
      )}
      {reuses ? (
        <div className="note-box">
          <Icon as={Check} />
          <span>{t('templates.have')}</span>
        </div>
      ) : (
        <TextField
          label={t('name')}
          value={name}
          onChange={setName}
          placeholder={meta.name}
          error={install.field('name')}
          hint={kind === 'workflow' ? t('templates.name.hint') : undefined}
        />
      )}
      {install.failed && (
        <div className="note-box fail" role="alert">
          <span>
            <Said text={install.failed} />
          </span>
        </div>
      )}
      <div className="foot">
        <Button look="pri" icon={ArrowRight} type="submit" disabled={install.busy}>
          {install.busy ? t('templates.installing') : reuses ? t('templates.open') : t('templates.install')}
        </Button>
      </div>
    </form>
  );
}

interface Install {
  busy: boolean;
  failed: string | null;
  field: (name: string) => string | undefined;
  run: (name: string) => Promise<void>;
}

function useInstall(kind: string, id: string): Install {
  const [, go] = useLocation();
  const here = useHere();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const run = async (name: string): Promise<void> => {
    setBusy(true);
    setError(null);
    try {
      const made = await make<Installed>(`/api/templates/${kind}/${encodeURIComponent(id)}/install`, name ? { name } : {});
      refresh('/api/workflows', '/api/agents', '/api/templates');
      if (made.workflow) {
        const fresh = made.agents.filter((agent) => !agent.reused).length;
        toast(
          fresh
            ? t('templates.installed.with', { name: made.workflow.name, n: fresh })
            : t('templates.installed', { name: made.workflow.name }),
        );
        if (here.current) go(`/workflows/${made.workflow.id}/edit?dock=chat`);
      } else if (made.agent) {
        if (!made.reused) toast(t('templates.installed', { name: made.agent.name }));
        if (here.current) go(`/agents/${made.agent.id}/playground`);
      }
    } catch (caught) {
      setError(caught);
      setBusy(false);
    }
  };
  const errors = isProblem(error) ? error.errors : {};
  const field = (name: string): string | undefined => errors[name]?.[0];
  return { busy, run, field, failed: error && !field('name') ? t('error.action', { message: field('agents') ?? textOf(error) }) : null };
}
