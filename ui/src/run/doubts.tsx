/** Owns asking what is to become of calls that may have been made, and whose end nobody saw. */
import { CircleHelp, Play } from 'lucide-react';
import { useState, type ReactElement } from 'react';
import type { DoubtAnswer, DoubtfulCall } from '@wfstudio/client';
import { t } from '../i18n';
import { Button } from '../parts/button';
import { TextField } from '../parts/form';
import { Icon } from '../parts/icons';
import { Segments } from '../parts/tabs';
import { CallText } from './ask';

type Action = DoubtAnswer['action'];
const ACTIONS: Action[] = ['rerun', 'skip', 'use'];

export function Doubts({
  calls,
  busy,
  onSettle,
}: {
  calls: DoubtfulCall[];
  busy: boolean;
  onSettle: (answers: DoubtAnswer[]) => void;
}): ReactElement {
  const [chosen, setChosen] = useState<Record<string, Partial<DoubtAnswer>>>({});
  const answers = calls.map((call) => ({ call_id: call.call_id, ...chosen[call.call_id] }));
  const whole = answers.filter((a): a is DoubtAnswer => !!a.action && (a.action !== 'use' || !!a.result));
  const choose = (id: string, change: Partial<DoubtAnswer>): void => setChosen((all) => ({ ...all, [id]: { ...all[id], ...change } }));
  const title = t('doubt.title', { n: calls.length });
  return (
    <section className="appr" role="group" aria-label={title}>
      <div className="row">
        <span style={{ color: 'var(--wait)' }}>
          <Icon as={CircleHelp} />
        </span>
        <h2>{title}</h2>
      </div>
      <p className="ink2 small" style={{ margin: '4px 0 10px' }}>
        {t('doubt.text')}
      </p>
      {calls.map((call) => {
        const answer = chosen[call.call_id];
        return (
          <div key={call.call_id} className="col" style={{ gap: 6, marginBottom: 10 }}>
            <CallText tool={call} />
            <Segments<Action | ''>
              small
              label={call.name}
              value={answer?.action ?? ''}
              onChange={(action) => choose(call.call_id, action ? { action } : {})}
              options={ACTIONS.map((id) => ({ id, label: t(`doubt.${id}`), disabled: busy }))}
            />
            {answer?.action === 'use' && (
              <TextField
                label={t('doubt.result')}
                rows={2}
                value={answer.result ?? ''}
                onChange={(result) => choose(call.call_id, { result })}
              />
            )}
          </div>
        );
      })}
      <Button
        look="pri"
        icon={Play}
        disabled={busy || whole.length < calls.length}
        onClick={() => onSettle(whole.map(({ result, ...a }) => (a.action === 'use' ? { ...a, result } : a)))}
      >
        {t(busy ? 'doubt.going' : 'doubt.go')}
      </Button>
    </section>
  );
}
