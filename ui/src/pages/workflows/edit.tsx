/** Owns the editor page: loading the workflow, its draft, its run, and the panels around the canvas. */
import { ReactFlowProvider, useReactFlow } from '@xyflow/react';
import { useEffect, useEffectEvent, useState, type ReactElement } from 'react';
import { get } from '../../api/client';
import { useGraphSchema, useProviders } from '../../api/queries';
import type { GraphSchema, Providers, TraceAnswer } from '@wfstudio/client';
import { t } from '../../i18n';
import { shortId } from '../../i18n/figures';
import { Failure, SkeletonGraph } from '../../parts/states';
import { toastError } from '../../parts/toast';
import { startChecking } from '../../editor/check';
import { clearComposer, putBack, useComposer } from '../../editor/composer';
import { findNode } from '../../graph/document';
import { fitAll } from '../../editor/fit';
import { untouched } from '../../editor/follow';
import { panel } from '../../editor/panel';
import { DocumentSession } from '../../editor/session';
import { closeQuickAdd } from '../../editor/quick-add-state';
import { startRun } from '../../editor/start';
import { useEditor, tell, select } from '../../editor/store';
import { followTrials, openTrials } from '../../editor/trials';
import { Workbench } from '../../editor/workbench';
import { RunSession } from '../../run/session';
import { useRun } from '../../run/store';
import { useAddress } from '../../shell/place';
import { Top } from '../../shell/top';
import '../../styles/editor.css';

export default function EditPage({ id }: { id: string }): ReactElement {
  const schema = useGraphSchema();
  const providers = useProviders();
  const [state, setState] = useState<'loading' | 'ready' | { error: unknown }>('loading');
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    new RunSession();
    return () => {
      useRun.getState().session?.dispose();
      clearComposer();
      // A dialog is about a node of this graph.
      panel({ trial: null, find: false, help: false });
      closeQuickAdd();
    };
  }, [id]);
  useEffect(followTrials, []);
  useEffect(() => {
    const session = new DocumentSession(id);
    let stop: (() => void) | null = null;
    setState('loading');
    session
      .open()
      .then(() => {
        if (!session.here) return;
        openTrials(useEditor.getState().workflow?.id ?? id);
        stop = startChecking();
        setState('ready');
      })
      .catch((error: unknown) => {
        if (session.here) setState({ error });
      });
    return () => {
      session.dispose();
      stop?.();
    };
  }, [id, attempt]);
  const failed = typeof state === 'object' ? state.error : schema.error;
  if (failed) {
    return (
      <>
        <Top
          crumbs={[{ label: t('nav.workflows'), to: '/workflows' }, { label: <span className="mono">{shortId(id)}</span> }]}
          title={t('nav.workflows')}
        />
        <div className="page">
          <Failure
            error={failed}
            id={id}
            onRetry={() => {
              setAttempt(attempt + 1);
              void schema.refetch();
            }}
            list={{ to: '/workflows', label: t('nav.workflows') }}
          />
        </div>
      </>
    );
  }
  if (state === 'loading' || !schema.data) {
    return (
      <>
        <Top crumbs={[{ label: t('nav.workflows'), to: '/workflows' }, { label: '…' }]} title={t('nav.workflows')} />
        <div className="page cv" aria-busy="true">
          <SkeletonGraph />
        </div>
      </>
    );
  }
  return (
    <ReactFlowProvider>
      <Loaded schema={schema.data} providers={providers.data} />
    </ReactFlowProvider>
  );
}

function Loaded({ schema, providers }: { schema: GraphSchema; providers?: Providers }): ReactElement {
  const [params, setParams] = useAddress();
  const trace = params.get('trace');
  const node = params.get('node');
  const current = useRun((s) => s.view.traceId);
  useEffect(() => {
    if (!trace || trace === useRun.getState().view.traceId) return;
    tell({ mode: 'run' });
    const { session } = useRun.getState();
    session
      ?.open(trace)
      .then((answer) => {
        if (!answer || !session.here) return;
        useComposer.setState({
          said: answer.trace.input?.message ?? answer.trace.input_preview,
          sentFiles: answer.trace.input?.attachments ?? [],
        });
      })
      .catch((error: unknown) => {
        if (session.here) tell({ mode: 'design' });
        toastError(error);
      });
  }, [trace]);
  const tellAddress = useEffectEvent((id: string | null) => {
    if (id && id !== trace) setParams({ trace: id });
  });
  useEffect(() => tellAddress(current), [current]);
  const waiting = useRun((s) => s.view.pauses[0]?.node_id);
  const flow = useReactFlow();
  const choose = useEffectEvent(() => {
    if (node) select([node]);
  });
  useEffect(() => choose(), []);
  useEffect(() => {
    const { selection, graph } = useEditor.getState();
    if (!waiting || selection.length > 0 || !findNode(graph, waiting) || !matchMedia('(min-width: 1280px)').matches) return;
    select([waiting]);
    requestAnimationFrame(() => {
      if (untouched()) fitAll(flow);
    });
  }, [waiting, flow]);
  useEffect(() => {
    if (waiting && matchMedia('(max-width: 639px)').matches) panel({ dockOpen: true });
  }, [waiting]);
  const again = params.get('again');
  const taken = useEffectEvent(() => setParams({ again: null }));
  useEffect(() => {
    if (!again) return;
    taken();
    const { session } = useRun.getState();
    const { state } = useComposer.getState();
    get<TraceAnswer>(`/api/runs/${again}`, { payloads: 'none' })
      .then(({ trace: t0 }) => {
        if (!session?.here) return;
        // What is written meanwhile stays.
        if (useComposer.getState().state === state) useComposer.setState({ state: t0.input?.state ?? {} });
        putBack(t0.input?.message ?? t0.input_preview, t0.input?.attachments ?? []);
        document.getElementById('composer')?.focus();
      })
      .catch(toastError);
  }, [again]);
  return <Workbench schema={schema} providers={providers} onRun={(m, only) => void startRun(m, only)} />;
}
