/** Owns how a node is drawn, at three distances, idle or in a run. */
import { Handle, Position, useConnection, useStore, type NodeProps } from '@xyflow/react';
import { Check, CircleAlert, Octagon, Pin, RotateCw, TriangleAlert, X } from 'lucide-react';
import { memo, useEffect, useState, type ReactElement } from 'react';
import type { GraphNode, Issue } from '@wfstudio/client';
import { refusal } from '../graph/connect';
import { isInline, titleOf } from '../graph/document';
import { lines, type Box, type Face } from '../graph/measure';
import { t, tx } from '../i18n';
import { clock, compact, count, duration } from '../i18n/figures';
import { NODE_LOOK, NodeTile, Icon } from '../parts/icons';
import { meaning } from '../parts/said';
import { oneLine } from '../parts/one-line';
import { AskOnNodeHere } from '../run/here';
import { useRun } from '../run/store';
import { pauseAt, stepAt } from '../run/breaks';
import type { StepView } from '../run/view';
import { useNames } from './names-context';
import { panel } from './panel';
import { shownRules } from './shown';
import { select, useEditor } from './store';
import { useTrials } from './trials';

export interface CardData extends Record<string, unknown> {
  node: GraphNode;
  box: Box;
  face: Face;
}

const worst = new WeakMap<Issue[], Map<string, Issue>>();

/** The gravest issue of each node. */
function worstOf(issues: Issue[]): Map<string, Issue> {
  let map = worst.get(issues);
  if (map) return map;
  map = new Map();
  for (const issue of issues)
    if (issue.node_id && (issue.severity === 'error' ? map.get(issue.node_id)?.severity !== 'error' : !map.has(issue.node_id)))
      map.set(issue.node_id, issue);
  worst.set(issues, map);
  return map;
}

export function useStepOf(id: string): StepView | undefined {
  const running = useEditor((s) => s.mode === 'run');
  return useRun((s) => (running ? stepAt(s.view, id) : undefined));
}

export function useClock(on: boolean): number {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!on) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [on]);
  return now;
}

const SIDES = { left: Position.Left, right: Position.Right, top: Position.Top, bottom: Position.Bottom };

/** Handles are placed without a transform: each would be a layer of its own when the view moves. */
const HALF = 5.5;

/** While an edge is being drawn: whether it may end at a handle of this node. */
function useFits(node: GraphNode): (handle: string) => string {
  const from = useConnection((c) =>
    c.inProgress && c.fromHandle.type === 'source' ? `${c.fromNode.id}\n${c.fromHandle.id ?? 'default'}` : '',
  );
  return (handle) => {
    const schema = shownRules();
    if (!from || !schema) return '';
    const [source = '', sourceHandle = ''] = from.split('\n');
    return refusal(schema, useEditor.getState().graph, { node: source, handle: sourceHandle }, { node: node.id, handle }) === null
      ? ' fits'
      : ' unfit';
  };
}

function Spots({ node, box, named }: { node: GraphNode; box: Box; named: boolean }): ReactElement {
  const fits = useFits(node);
  const many = box.handles.filter((h) => h.type === 'source' && h.side === 'right').length > 1;
  return (
    <>
      {box.handles.map((h) => (
        <Handle
          key={h.type + h.id}
          id={h.id}
          type={h.type}
          position={SIDES[h.side]}
          className={`h ${h.look}${h.type === 'target' ? fits(h.id) : ''}`}
          style={{ left: h.x - HALF, top: h.y - HALF }}
        >
          {(many || h.id === 'tools' || named) && h.type === 'source' && <em>{tx(`handle.${h.id}`, h.id)}</em>}
          {h.id === 'tools' && <em>{t('handle.tools')}</em>}
        </Handle>
      ))}
    </>
  );
}

const far = (s: { transform: [number, number, number] }): 0 | 1 | 2 => (s.transform[2] < 0.2 ? 2 : s.transform[2] < 0.4 ? 1 : 0);

export const Card = memo(function Card({ data, selected }: NodeProps & { data: CardData }): ReactElement {
  const { node, box, face } = data;
  const distance = useStore(far);
  const issue = useEditor((s) => worstOf(s.issues).get(node.id));
  const lit = useEditor((s) => s.highlight.includes(node.id));
  const overlay = useEditor((s) => s.mode === 'run');
  const broken = useTrials((s) => s.breaks.includes(node.id));
  const pinned = useTrials((s) => node.id in s.pins);
  const step = useStepOf(node.id);
  const aside = box.shape === 'bound' || node.type === 'start';
  const look = `n ${box.shape} ${aside ? '' : stateClass(step, overlay)}${selected ? ' sel' : ''}${lit ? ' lit' : ''}`;
  if (distance > 0) {
    return (
      <div className={`${look} lod ${NODE_LOOK[node.type]?.family ?? 'flow'}`}>
        {distance === 1 && <Icon as={NODE_LOOK[node.type]?.icon ?? Check} size={Math.min(34, box.height - 12)} />}
        <Spots node={node} box={box} named={false} />
      </div>
    );
  }
  return (
    <div className={look} data-face={face}>
      {box.shape === 'card' ? <Body node={node} face={face} step={step} overlay={overlay} /> : <Mini node={node} step={step} />}
      {issue && !overlay && (
        <span className={`badge ${issue.severity}`} title={issue.message}>
          <Icon as={issue.severity === 'error' ? CircleAlert : TriangleAlert} />
        </span>
      )}
      {broken && (
        <span className="mark stop" title={t('trial.broken')}>
          <Icon as={Octagon} size={13} />
        </span>
      )}
      {pinned && (
        <span className="mark pin" title={t('trial.pinned')}>
          <Icon as={Pin} size={12} />
        </span>
      )}
      <Spots node={node} box={box} named={!!selected} />
    </div>
  );
});

function stateClass(step: StepView | undefined, overlay: boolean): string {
  if (!overlay) return '';
  if (!step) return 'pend';
  // A fork is as its branches are: they show it.
  if (step.nodeType === 'fork' && (step.state === 'running' || step.state === 'waiting')) return '';
  return {
    queued: 'pend',
    running: 'run',
    streaming: 'run',
    waiting: 'wait',
    done: 'done',
    reused: 'done',
    failed: 'fail',
    skipped: 'pend',
  }[step.state];
}

function Mini({ node, step }: { node: GraphNode; step?: StepView }): ReactElement {
  return (
    <>
      <NodeTile type={node.type} />
      <b className="trunc">{titleOf(node)}</b>
      {step?.state === 'failed' && (
        <span className="failc">
          <Icon as={X} size={13} />
        </span>
      )}
    </>
  );
}

function subtitle(node: GraphNode): string {
  const d = node.data;
  if (node.type === 'agent')
    return `${tx('sub.agent', 'agent')} · ${d.tool_mode ? t('sub.toolmode') : isInline(node) ? t('sub.inline') : t('sub.existing')}`;
  if (node.type === 'rag') return `${tx('type.rag', 'rag').toLocaleLowerCase()} · top ${typeof d.top_k === 'number' ? d.top_k : 5}`;
  if (node.type === 'llm') return d.stream ? `llm · ${t('sub.streaming')}` : 'llm';
  return tx(`type.${node.type}`, node.type).toLocaleLowerCase();
}

/** A question is answered beside the canvas, whatever is shown there now. */
function openInspector(id: string): void {
  select([id]);
  panel({ side: 'inspector' });
}

function Body({ node, face, step, overlay }: { node: GraphNode; face: Face; step?: StepView; overlay: boolean }): ReactElement {
  const nameOf = useNames();
  const body = lines(node, nameOf);
  const pause = useRun((s) => (face === 'ask' ? pauseAt(s.view, node.id) : undefined));
  const loop = useRun((s) => (overlay ? s.view.loops[node.id] : undefined));
  return (
    <>
      <div className="nh">
        <NodeTile type={node.type} />
        <div className="nt">
          <b className="trunc">{titleOf(node)}</b>
          <span className="mono">{subtitle(node)}</span>
        </div>
        <Chip step={step} />
        {loop && <span className="pill">{loop.max ? `${loop.iteration}/${loop.max}` : loop.iteration}</span>}
      </div>
      {body.length > 0 && (
        <div className="nb">
          {body.map(([label, value]) => (
            <div key={label}>
              <span>{tx(`line.${label}`, label)}</span>
              <code className="trunc">{value}</code>
            </div>
          ))}
        </div>
      )}
      {face === 'ask' && pause && <AskOnNodeHere pause={pause} onOpen={() => openInspector(node.id)} />}
      {face === 'stream' && <Stream text={step?.text ?? ''} />}
      {(face === 'footer' || face === 'stream') && <Foot step={step} overlay={overlay} />}
    </>
  );
}

function Stream({ text }: { text: string }): ReactElement {
  return (
    <div className="tok">
      <div>
        {oneLine(text.slice(-170))}
        <span className="cur" />
      </div>
    </div>
  );
}

const HOUR = 3_600_000;

function Chip({ step }: { step?: StepView }): ReactElement | null {
  const live = step?.state === 'running' || step?.state === 'streaming' || step?.state === 'waiting';
  const now = useClock(!!live);
  if (!step || !live) return null;
  const since = step.state === 'waiting' ? (step.waits.at(-1)?.from ?? step.start) : step.start;
  return step.state === 'waiting' ? (
    <span className="st wait">
      <span className="pausebars" aria-hidden="true" />
      <span className="sr">{t('waiting')}</span>
      {now - since < HOUR ? clock(now - since) : duration(now - since)}
    </span>
  ) : (
    <span className="st run">
      <span className="dot" />
      {clock(now - since)}
    </span>
  );
}

function Foot({ step, overlay }: { step?: StepView; overlay: boolean }): ReactElement | null {
  if (!overlay) return null;
  if (!step)
    return (
      <div className="nf">
        <span className="mut">{t('status.not_reached')}</span>
      </div>
    );
  if (step.state === 'failed')
    return (
      <div className="nf failf">
        <Icon as={X} />
        <span className="trunc">{oneLine(meaning(step.error?.code ?? '', step.error?.message ?? t('status.failed')))}</span>
      </div>
    );
  if (step.state === 'done' || step.state === 'reused') {
    const right =
      step.chunks !== null
        ? t('chunks', { n: step.chunks })
        : step.tokens
          ? `${compact(step.tokens)} ${t('tok')}`
          : step.handle && step.handle !== 'default'
            ? `→ ${step.handle}`
            : '';
    return (
      <div className="nf">
        <Icon as={step.state === 'reused' ? RotateCw : Check} />
        <span>{step.state === 'reused' ? t('status.reused') : duration(step.ms)}</span>
        <span className="sp" />
        <span className="r">{right}</span>
      </div>
    );
  }
  const speed =
    step.firstToken && Date.now() - step.firstToken > 400
      ? `${count(Math.round(step.text.length / 4 / ((Date.now() - step.firstToken) / 1000)))} tok/s`
      : '';
  if (step.state === 'skipped') return <div className="nf">{t('status.cancelled')}</div>;
  return (
    <div className="nf runf">
      <span className="trunc">
        {step.tools.length > 0 ? step.tools.at(-1)?.name : t(step.state === 'waiting' ? 'waiting' : 'status.running')}
      </span>
      <span className="sp" />
      <span className="r">{speed}</span>
    </div>
  );
}
