/** Owns the template browser: what there is, narrowed by the address, each with its graph. */
import { useQuery } from '@tanstack/react-query';
import { CircleSlash, LayoutTemplate, X } from 'lucide-react';
import { useMemo, type ReactElement } from 'react';
import { get } from '../../api/client';
import { useSettings } from '../../api/queries';
import type { TemplateListed } from '@wfstudio/client';
import { t, tag as language, tx } from '../../i18n';
import { Button } from '../../parts/button';
import { ChoiceField } from '../../parts/form';
import { SearchField } from '../../parts/listing';
import { Empty, Failure, FilteredEmpty, SkeletonRows } from '../../parts/states';
import { Segments } from '../../parts/tabs';
import { useAddress } from '../../shell/place';
import { Top } from '../../shell/top';
import '../../styles/start.css';
import '../../styles/templates.css';
import { TemplateCard } from './card';
import { TemplateDialog } from './dialog';
import { COMPLEXITIES, bySimplicity, categoriesOf, fits, isFiltered, told, wantedOf } from './filter';

const NOTHING = { type: null, complexity: null, category: null, tag: null, q: null };

export default function Templates(): ReactElement {
  const [params, setParams] = useAddress();
  const off = useSettings().data?.flags.templates === false;
  const list = useQuery({
    queryKey: ['/api/templates'],
    queryFn: ({ signal }) => get<{ data: TemplateListed[] }>('/api/templates', {}, signal),
    enabled: !off,
  });
  const all = useMemo(() => (list.data?.data ?? []).map(told), [list.data]);
  const wanted = useMemo(() => wantedOf(params), [params]);
  const found = useMemo(() => bySimplicity(all.filter((one) => fits(one, wanted))), [all, wanted]);
  const [kind, id] = (params.get('template') ?? '').split('/');
  const open = (one: TemplateListed): void => setParams({ template: `${one.type}/${one.id}` }, true);
  const groups = [
    { type: 'workflow' as const, label: t('nav.workflows') },
    { type: 'agent' as const, label: t('nav.agents') },
  ];
  return (
    <>
      <Top crumbs={[{ label: t('nav.templates') }]} title={t('nav.templates')} />
      <div className="page">
        <div className="pad">
          {off ? (
            <Empty icon={CircleSlash} title={t('error.disabled')} text={t('error.disabled.text', { flag: 'templates_enabled' })} />
          ) : list.isPending ? (
            <div className="card">
              <SkeletonRows />
            </div>
          ) : list.isError && !list.data ? (
            <Failure error={list.error} onRetry={() => void list.refetch()} />
          ) : all.length === 0 ? (
            <Empty icon={LayoutTemplate} title={t('templates.empty')} text={t('templates.empty.text')} />
          ) : (
            <>
              <Filters all={all} />
              <p className="sr" role="status">
                {t('templates.found', { n: found.length })}
              </p>
              {found.length === 0 ? (
                <FilteredEmpty onClear={() => setParams(NOTHING)} text={wanted.q ? `“${wanted.q}”` : undefined} />
              ) : (
                groups.map(({ type, label }) => {
                  const own = found.filter((one) => one.type === type);
                  return own.length === 0 ? null : (
                    <section key={type} aria-labelledby={`templates-${type}`}>
                      <h2 id={`templates-${type}`} className="grouphead">
                        {label} <span className="mut">{own.length.toLocaleString(language)}</span>
                      </h2>
                      <div className={`startgrid cards ${type}`}>
                        {own.map((one) => (
                          <TemplateCard key={one.id} one={one} onOpen={() => open(one)} />
                        ))}
                      </div>
                    </section>
                  );
                })
              )}
            </>
          )}
        </div>
      </div>
      {!off && id && (kind === 'agent' || kind === 'workflow') && (
        <TemplateDialog
          key={`${kind}/${id}`}
          kind={kind}
          id={id}
          all={all}
          onTag={(tag) => setParams({ ...NOTHING, tag, template: null })}
          onClose={() => setParams({ template: null })}
        />
      )}
    </>
  );
}

function Filters({ all }: { all: TemplateListed[] }): ReactElement {
  const [params, setParams] = useAddress();
  const wanted = wantedOf(params);
  return (
    <div className="tools-line">
      <SearchField value={wanted.q} onChange={(q) => setParams({ q })} label={t('templates.search')} />
      <Segments<'all' | 'workflows' | 'agents'>
        label={t('templates.type')}
        value={wanted.type ?? 'all'}
        onChange={(type) => setParams({ type: type === 'all' ? null : type, ...(type === 'agents' ? { complexity: null } : {}) })}
        options={[
          { id: 'all', label: t('templates.all') },
          { id: 'workflows', label: t('nav.workflows') },
          { id: 'agents', label: t('nav.agents') },
        ]}
      />
      <Segments<'any' | 'basic' | 'intermediate' | 'advanced'>
        label={t('templates.complexity')}
        value={wanted.complexity ?? 'any'}
        onChange={(one) => setParams({ complexity: one === 'any' ? null : one })}
        options={[
          { id: 'any', label: t('templates.any') },
          ...COMPLEXITIES.map((one) => ({ id: one, label: t(`complexity.${one}`), disabled: wanted.type === 'agents' })),
        ]}
      />
      <div className="category">
        <ChoiceField
          label={<span className="sr">{t('templates.category')}</span>}
          value={wanted.category}
          onChange={(category) => setParams({ category })}
          choices={[
            { value: '', label: t('templates.categories') },
            ...categoriesOf(all, language).map((value) => ({ value, label: tx(`category.${value}`, value) })),
          ]}
        />
      </div>
      {wanted.tag && (
        <Button small icon={X} onClick={() => setParams({ tag: null })}>
          {t('templates.tag', { tag: wanted.tag })}
          <span className="sr">{t('templates.tag.clear')}</span>
        </Button>
      )}
      {isFiltered(wanted) && (
        <Button look="ghost" small onClick={() => setParams(NOTHING)}>
          {t('clear.filters')}
        </Button>
      )}
    </div>
  );
}
