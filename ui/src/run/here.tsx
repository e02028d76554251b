/** Owns what the run in view waits for from a person: answers at pauses, decisions on calls in doubt, following it again. */
import type { ReactElement } from 'react';
import type { Waiting } from './view';
import { t } from '../i18n';
import { Button } from '../parts/button';
import { Said } from '../parts/said';
import { textOf, toastError } from '../parts/toast';
import { Ask, AskOnNode } from './ask';
import { Doubts } from './doubts';
import { tellRefusal } from './refusal';
import type { Answer } from './session';
import { useRun } from './store';

function useAnswer(pause: Waiting): { busy: boolean; onAnswer: (answer: Answer) => void } {
  const session = useRun((s) => s.session);
  const busy = useRun((s) => s.answering.includes(pause.pause_id));
  return { busy, onAnswer: (answer) => void session?.answer(pause, answer).then(tellRefusal) };
}

export const AskHere = ({ pause, rejectedTo }: { pause: Waiting; rejectedTo?: string }): ReactElement => (
  <Ask key={pause.pause_id} pause={pause} rejectedTo={rejectedTo} {...useAnswer(pause)} />
);

export const AskOnNodeHere = ({ pause, onOpen }: { pause: Waiting; onOpen: () => void }): ReactElement => (
  <AskOnNode pause={pause} onOpen={onOpen} {...useAnswer(pause)} />
);

/** Of one node, or of the whole run. */
export function DoubtsHere({ node }: { node?: string }): ReactElement | null {
  const error = useRun((s) => s.view.error);
  const session = useRun((s) => s.session);
  const busy = useRun((s) => s.streaming);
  const calls = error?.calls ?? [];
  if (calls.length === 0 || (node && !calls.some((call) => call.node_id === node))) return null;
  return <Doubts calls={calls} busy={busy} onSettle={(answers) => void session?.retry({ in_doubt: answers }).then(tellRefusal)} />;
}

export function LostHere(): ReactElement | null {
  const lost = useRun((s) => s.lost);
  const id = useRun((s) => s.view.traceId);
  const session = useRun((s) => s.session);
  if (!lost || !id) return null;
  return (
    <div className="note-box wait" role="alert">
      <Said text={t('run.lost', { message: textOf(lost) })} />
      <span className="sp" />
      <Button small onClick={() => void session?.open(id).catch(toastError)}>
        {t('run.watch')}
      </Button>
    </div>
  );
}
