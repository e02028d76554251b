/** Owns the page of something that can be imported: its graph to look at, its source, and the import. Nothing is stored. */
import { ReactFlowProvider } from '@xyflow/react';
import { useQuery } from '@tanstack/react-query';
import { Copy, FileCode, Import } from 'lucide-react';
import { useEffect, useMemo, useState, type ReactElement } from 'react';
import { offKey, targetName } from '../../code/targets';
import { get } from '../../api/client';
import { isProblem, type Graph, type RegistryClass } from '@wfstudio/client';
import { useGraphSchema, useSettings } from '../../api/queries';
import { Canvas } from '../../editor/canvas';
import { useStock } from '../../editor/names';
import { Names } from '../../editor/names-context';
import { openDocument, useEditor } from '../../editor/store';
import { tidy } from '../../graph/document';
import { t } from '../../i18n';
import { Button } from '../../parts/button';
import { copy } from '../../parts/copy';
import { Icon } from '../../parts/icons';
import { ImportWrong, reasonsOf } from '../../code/import-wrong';
import { Said } from '../../parts/said';
import { SourceText } from '../../code/source';
import { Failure, SkeletonGraph } from '../../parts/states';
import { Segments } from '../../parts/tabs';
import { useAddress, useWidth } from '../../shell/place';
import { Top } from '../../shell/top';
import '../../styles/code.css';
import '../../styles/editor.css';
import { useImport } from '../../code/importing';

/** What is stored of a workflow, as far as it is shown here. */
interface Defined {
  name?: string;
  graph?: Graph;
  agents?: Record<string, { name?: string }>;
}
type Previewed = RegistryClass & { definition: Defined };

export default function PreviewPage(): ReactElement {
  const [params] = useAddress();
  const [named, file] = [params.get('class'), params.get('json')];
  const settings = useSettings().data;
  const asked = named ?? file ?? '';
  const found = useQuery({
    queryKey: ['/api/registry/class', named, file],
    queryFn: ({ signal }) => get<Previewed>('/api/registry/class', { class: named, json: file }, signal),
  });
  const importing = useImport();
  const phone = useWidth() === 'phone';
  const off = offKey(settings, 'canImport');
  const one = found.data;
  const title = one?.definition.name ?? one?.label ?? asked;
  return (
    <>
      <Top
        crumbs={[{ label: t('nav.workflows'), to: '/workflows' }, { label: title || t('import.preview') }]}
        title={title || t('import.preview')}
      >
        {one && (
          <>
            <Button icon={Copy} label={t('import.copyjson')} onClick={() => void copy(JSON.stringify(one.definition, null, 2))}>
              {phone ? undefined : t('import.copyjson')}
            </Button>
            <Button
              look="pri"
              icon={Import}
              disabled={importing.busy}
              reason={off && t('reason.flag', { flag: off })}
              onClick={() => void importing.run({ ref: one.ref })}
            >
              {t('import')}
            </Button>
          </>
        )}
      </Top>
      {one && (
        <div className="strip calm" role="status">
          <Icon as={FileCode} />
          <span>
            <Said text={t('import.readonly', { place: `\`${one.json_path ?? one.class_path ?? one.label}\`` })} />
          </span>
        </div>
      )}
      <div className="page">
        {importing.error !== null && (
          <div className="pad">
            <ImportWrong error={importing.error} />
          </div>
        )}
        {one ? (
          <Shown one={one} />
        ) : found.isError ? (
          <div className="pad">
            {reasonsOf(found.error).length > 0 && !(isProblem(found.error) && found.error.status === 404) ? (
              <ImportWrong error={found.error} />
            ) : (
              <Failure
                error={found.error}
                id={asked}
                onRetry={() => void found.refetch()}
                list={{ to: '/workflows', label: t('nav.workflows') }}
              />
            )}
          </div>
        ) : (
          <div className="cv" style={{ height: '100%' }} aria-busy="true">
            <SkeletonGraph />
          </div>
        )}
      </div>
    </>
  );
}

function Shown({ one }: { one: Previewed }): ReactElement {
  const [side, setSide] = useState<'source' | 'definition'>('source');
  const { graph, agents } = one.definition;
  const definition = useMemo(() => JSON.stringify(one.definition, null, 2), [one]);
  return (
    <div className={`classpage${graph ? '' : ' alone'}`}>
      {graph && <Drawn graph={graph} agents={agents} />}
      <aside className="classside" aria-label={t('code.source')}>
        <div className="row between wrap">
          <Segments<'source' | 'definition'>
            label={t('code.source')}
            small
            value={side}
            onChange={setSide}
            options={[
              { id: 'source', label: one.language ? targetName(one.language) : t('code.source') },
              { id: 'definition', label: t('import.definition') },
            ]}
          />
          <Button look="ghost" small icon={Copy} label={t('copy')} onClick={() => void copy(side === 'source' ? one.source : definition)} />
        </div>
        <SourceText text={side === 'source' ? one.source : definition} label={t('code.source')} />
      </aside>
    </div>
  );
}

/** The same canvas as the editor's; nothing on it can be changed. */
function Drawn({ graph, agents }: { graph: Graph; agents: Defined['agents'] }): ReactElement {
  const schema = useGraphSchema();
  const { nameOf } = useStock();
  const open = useEditor((s) => s.graph);
  const shown = useMemo(() => tidy(graph), [graph]);
  useEffect(() => openDocument({ graph: shown, readOnly: 'locked' }), [shown]);
  const named = useMemo(() => (kind: string, id: string) => (kind === 'agent' && agents?.[id]?.name) || nameOf(kind, id), [agents, nameOf]);
  if (schema.isError) return <Failure error={schema.error} onRetry={() => void schema.refetch()} />;
  return (
    <div className="classcanvas">
      {schema.data && open === shown ? (
        <Names.Provider value={named}>
          <ReactFlowProvider>
            <Canvas schema={schema.data} minimap={false} onMinimap={() => undefined} />
          </ReactFlowProvider>
        </Names.Provider>
      ) : (
        <div className="cv" aria-busy="true">
          <SkeletonGraph />
        </div>
      )}
    </div>
  );
}
