/** Owns starting a run of the document in view. */
import { t } from '../i18n';
import { toast, toastError } from '../parts/toast';
import { tellRefusal } from '../run/refusal';
import { useRun } from '../run/store';
import { putBack, useComposer } from './composer';
import { panel } from './panel';
import { tell, useEditor } from './store';
import { trialFor, useTrials } from './trials';

interface Only {
  node: string;
  state: Record<string, unknown>;
}

export async function startRun(message: string, only?: Only): Promise<void> {
  const { session, streaming } = useRun.getState();
  // One that is followed may still be sending answers.
  if (!session || streaming || session.beginning) return;
  const { files, said, sentFiles, text } = useComposer.getState();
  const state = only?.state ?? useComposer.getState().state;
  // At once: what is written while the document is being stored is not of this run.
  useComposer.setState({ said: message, sentFiles: files, text: '', files: [] });
  const back = (): void => {
    if (!session.here) return;
    useComposer.setState({ said, sentFiles });
    putBack(only ? text : message, files);
  };
  session.beginning = true;
  try {
    await useEditor.getState().session?.flush();
  } catch (error) {
    back();
    return toastError(error);
  } finally {
    session.beginning = false;
  }
  const { workflow, hasDraft, graph, conflict } = useEditor.getState();
  if (!workflow || !session.here) return;
  // What would run is not what is shown.
  if (conflict) {
    back();
    return tell({ asking: true });
  }
  const trial = only ? { only: only.node } : trialFor(graph, useTrials.getState());
  tell({ mode: 'run' });
  panel({ dock: 'timeline' });
  const end = await session.start(workflow.id, {
    message,
    ...(Object.keys(state).length ? { state } : {}),
    ...(files.length ? { attachments: files } : {}),
    ...(hasDraft ? { draft: true } : {}),
    ...(trial ? { trial: { ...trial } } : {}),
  });
  if (end.kind !== 'refused' || !session.here) return;
  back();
  if (end.problem.code === 'graph_invalid') {
    tell({ mode: 'design' });
    panel({ dock: 'problems' });
    toast(t('run.invalid'), { fail: true });
  } else {
    tell({ mode: useRun.getState().view.traceId ? 'run' : 'design' });
    tellRefusal(end);
  }
}
