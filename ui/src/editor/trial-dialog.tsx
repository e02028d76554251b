/** Owns the dialogs that pin a node's answer and run one node alone. */
import { useEffect, useRef, useState, type ReactElement } from 'react';
import { get } from '../api/client';
import type { GraphNode, Step } from '@wfstudio/client';
import { findNode, titleOf } from '../graph/document';
import { keysBefore, writtenKey } from '../graph/order';
import { t } from '../i18n';
import { Button } from '../parts/button';
import { Dialog } from '../parts/dialog';
import { Field, TextField } from '../parts/form';
import { useRun } from '../run/store';
import { useComposer } from './composer';
import { unread } from '../parts/field';
import { JsonField } from './json-field';
import { panel, usePanels } from './panel';
import { useEditor } from './store';
import { pin, useTrials } from './trials';

export default function TrialDialog({
  onRunOnly,
}: {
  onRunOnly: (node: string, message: string, state: Record<string, unknown>) => void;
}): ReactElement | null {
  const open = usePanels((s) => s.trial);
  const node = useEditor((s) => (open ? findNode(s.graph, open.node) : undefined));
  if (!open || !node) return null;
  return open.kind === 'pin' ? <PinDialog key={node.id} node={node} /> : <OnlyDialog key={node.id} node={node} onRun={onRunOnly} />;
}

const close = (): void => panel({ trial: null });

/** What the node wrote in the run in view. */
function lastWritten(node: GraphNode): unknown {
  const { view } = useRun.getState();
  const step = view.steps[view.latest[node.id] ?? ''];
  return step?.changes?.[writtenKey(node) ?? ''];
}

function PinDialog({ node }: { node: GraphNode }): ReactElement {
  const known = useTrials.getState().pins[node.id] ?? lastWritten(node) ?? '';
  const text = typeof known === 'string';
  const [value, setValue] = useState<unknown>(known);
  const save = (): void => {
    if (unread()) return;
    pin(node.id, value ?? null);
    close();
  };
  return (
    <Dialog open onClose={close} title={t('trial.pin.title', { name: titleOf(node) })}>
      <p className="ink2">{t('trial.pin.text', { key: writtenKey(node) ?? '' })}</p>
      {text ? (
        <Field label={t('trial.pin.value')}>
          {(ids) => (
            <textarea
              className="in"
              rows={6}
              data-autofocus
              value={String(value ?? '')}
              onChange={(e) => setValue(e.target.value)}
              {...ids}
            />
          )}
        </Field>
      ) : (
        <JsonField label={t('trial.pin.value')} rows={8} value={value} onChange={setValue} />
      )}
      <div className="foot">
        <Button onClick={close}>{t('cancel')}</Button>
        <Button look="pri" onClick={save}>
          {t('trial.pin.do')}
        </Button>
      </div>
    </Dialog>
  );
}

function OnlyDialog({
  node,
  onRun,
}: {
  node: GraphNode;
  onRun: (node: string, message: string, state: Record<string, unknown>) => void;
}): ReactElement {
  const graph = useEditor((s) => s.graph);
  const [message, setMessage] = useState(() => useComposer.getState().text || useComposer.getState().said || useRun.getState().view.input);
  const [state, setState] = useState<Record<string, unknown>>(() =>
    Object.fromEntries(
      keysBefore(graph, node.id)
        .filter((key) => key !== 'input' && key !== 'attachments')
        .map((key) => [key, useRun.getState().view.state[key] ?? '']),
    ),
  );
  const [loaded, setLoaded] = useState(0);
  const touched = useRef(false);
  const streaming = useRun((s) => s.streaming);
  useEffect(() => {
    const { view } = useRun.getState();
    const step = view.latest[node.id];
    if (!view.traceId || !step) return;
    get<Step>(`/api/runs/${view.traceId}/steps/${step}`)
      .then((whole) => {
        // What is typed by now stays.
        if (touched.current) return;
        const { input, attachments: _, ...rest } = whole.state_snapshot ?? {};
        if (typeof input === 'string') setMessage(input);
        setState(rest);
        setLoaded(1);
      })
      .catch(() => undefined);
  }, [node.id]);
  const run = (): void => {
    if (unread()) return;
    close();
    onRun(node.id, message.trim() || '…', state);
  };
  return (
    <Dialog open onClose={close} title={t('trial.only.title', { name: titleOf(node) })}>
      <p className="ink2">{t('trial.only.text')}</p>
      <TextField
        label={t('trace.in')}
        rows={2}
        value={message}
        onChange={(text) => {
          touched.current = true;
          setMessage(text);
        }}
      />
      <JsonField
        key={loaded}
        label={t('trial.only.state')}
        rows={8}
        value={state}
        onChange={(v) => {
          touched.current = true;
          setState(v && typeof v === 'object' && !Array.isArray(v) ? (v as Record<string, unknown>) : {});
        }}
      />
      <div className="foot">
        <Button onClick={close}>{t('cancel')}</Button>
        <Button look="pri" reason={streaming && t('status.running')} onClick={run}>
          {t('trial.only.do')}
        </Button>
      </div>
    </Dialog>
  );
}
