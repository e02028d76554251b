/** Owns the run replayed on the graph it ran, with a scrubber. */
import { ReactFlowProvider } from '@xyflow/react';
import { useEffect, useEffectEvent, useMemo, useState, type ReactElement } from 'react';
import { useGraphSchema, useTrace } from '../../api/queries';
import { Canvas } from '../../editor/canvas';
import { useStock } from '../../editor/names';
import { Names } from '../../editor/names-context';
import { openDocument, useEditor } from '../../editor/store';
import { tidy } from '../../graph/document';
import { t } from '../../i18n';
import { duration } from '../../i18n/figures';
import { SkeletonGraph } from '../../parts/states';
import { viewOf } from '../../run/trace';
import { RunSession } from '../../run/session';
import { useRun } from '../../run/store';
import type { TraceAnswer } from '@wfstudio/client';
import '../../styles/editor.css';

/** The trace as it stood at a time. */
export function traceAt(answer: TraceAnswer, time: number): TraceAnswer {
  const ms = (text: string | null | undefined): number => (text ? new Date(text).getTime() : Number.POSITIVE_INFINITY);
  const steps = answer.steps
    .filter((s) => ms(s.started_at) <= time)
    .map((s) =>
      ms(s.finished_at) <= time
        ? s
        : {
            ...s,
            status: s.status === 'paused' ? ('paused' as const) : ('running' as const),
            finished_at: null,
            error: null,
          },
    );
  return { ...answer, steps };
}

export default function Replay({ id, onChoose }: { id: string; onChoose: (step: string) => void }): ReactElement {
  const schema = useGraphSchema().data;
  const { nameOf } = useStock();
  const trace = useTrace(id, { payloads: 'none', include: 'graph' });
  const graph = trace.data?.trace.graph;
  const start = trace.data?.trace.started_at ? new Date(trace.data.trace.started_at).getTime() : 0;
  const end = useMemo(
    () =>
      Math.max(
        start + 1,
        trace.data?.trace.finished_at ? new Date(trace.data.trace.finished_at).getTime() : 0,
        ...(trace.data?.steps ?? []).map((s) => new Date(s.finished_at ?? s.started_at ?? 0).getTime()),
      ),
    [trace.data, start],
  );
  const [at, setAt] = useState(1);
  useEffect(() => {
    if (graph) openDocument({ graph: tidy(graph), mode: 'run', readOnly: 'locked' });
  }, [graph]);
  useEffect(() => {
    new RunSession();
    return () => useRun.getState().session?.dispose();
  }, []);
  useEffect(() => {
    if (trace.data) useRun.getState().session?.show(viewOf(at >= 1 ? trace.data : traceAt(trace.data, start + (end - start) * at)));
  }, [trace.data, at, start, end]);
  const selected = useEditor((s) => s.selection[0]);
  const choose = useEffectEvent((node: string | undefined) => {
    const step = node && useRun.getState().view.latest[node];
    if (step) onChoose(step);
  });
  useEffect(() => choose(selected), [selected]);
  if (!schema || !trace.data)
    return (
      <div className="cv" style={{ flex: 1 }}>
        <SkeletonGraph />
      </div>
    );
  if (!graph)
    return (
      <p className="mut" style={{ padding: 16 }}>
        {t('trace.nograph')}
      </p>
    );
  return (
    <div className="replay">
      <Names.Provider value={nameOf}>
        <ReactFlowProvider>
          <Canvas schema={schema} minimap={false} onMinimap={() => undefined} />
        </ReactFlowProvider>
      </Names.Provider>
      <label className="scrub">
        <span className="small mut">
          {t('trace.scrub')} {duration((end - start) * at)}
        </span>
        <input type="range" min={0} max={1} step={0.002} value={at} onChange={(e) => setAt(e.target.valueAsNumber)} />
      </label>
    </div>
  );
}
