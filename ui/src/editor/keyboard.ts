/** Owns the keys of the canvas: walking, moving, connecting, editing without a pointer. */
import type { ReactFlowInstance } from '@xyflow/react';
import { useCallback, useRef, type KeyboardEvent } from 'react';
import type { Graph, GraphSchema, Providers } from '@wfstudio/client';
import { refusal, sourceHandles } from '../graph/connect';
import { allNodes, findNode, freshEdgeId, titleOf } from '../graph/document';
import { outline } from '../graph/order';
import { t, tx } from '../i18n';
import { say } from '../parts/toast';
import { useRun } from '../run/store';
import { statusOf } from '../run/view';
import { copySelection, cutSelection, duplicateSelection, removeSelection } from './actions';
import { calm } from './controls';
import { fitAll, fitNodes } from './fit';
import { touchView } from './follow';
import { landing, typeLabel } from './make';
import { openQuickAdd } from './quick-add-state';
import { act, mayEdit, redoStep, select, tell, undoStep, useEditor } from './store';
import { panel, usePanels } from './panel';
import { canBreak, toggleBreak, useTrials } from './trials';

const orderOf = (rows: ReturnType<typeof outline>): string[] => rows.filter((r) => !r.again).map((r) => r.node.id);

export function describe(graph: Graph, id: string, rows = outline(graph)): string {
  const node = findNode(graph, id);
  if (!node) return '';
  const order = orderOf(rows);
  const view = useRun.getState().view;
  const step = useEditor.getState().mode === 'run' ? view.steps[view.latest[id] ?? ''] : undefined;
  const issue = useEditor.getState().issues.find((i) => i.node_id === id);
  return [
    titleOf(node),
    typeLabel(node.type),
    step ? tx(`status.${statusOf(step.state)}`, step.state) : '',
    t('ask.of', { n: order.indexOf(id) + 1, m: order.length }),
    step?.branch.length ? t('ask.branch', { name: step.branch.at(-1) ?? '' }) : '',
    useTrials.getState().breaks.includes(id) ? t('trial.broken') : '',
    id in useTrials.getState().pins ? t('trial.pinned') : '',
    issue?.message ?? '',
  ]
    .filter(Boolean)
    .join(', ');
}

export function useCanvasKeys(
  schema: GraphSchema,
  _providers: Providers | undefined,
  flow: ReactFlowInstance,
  also: { onMinimap: () => void },
): (event: KeyboardEvent<HTMLElement>) => void {
  /** Escape was pressed with nothing left to put away: Tab leaves now. */
  const leaving = useRef(false);
  return useCallback(
    (event) => {
      const target = event.target as HTMLElement;
      if (
        target.closest('input,textarea,select,[contenteditable="true"]') ||
        (target.closest('button') && (event.key === 'Enter' || event.key === ' '))
      )
        return;
      const rf = flow;
      const s = useEditor.getState();
      const one = s.selection.length === 1 ? (s.selection[0] as string) : null;
      const command = event.metaKey || event.ctrlKey;
      const go = (id: string | undefined): void => {
        if (!id) return;
        select([id]);
        say(describe(s.graph, id));
      };
      const done = (): void => {
        event.preventDefault();
        event.stopPropagation();
      };

      if (event.key !== 'Tab' && event.key !== 'Shift' && event.key !== 'Escape') leaving.current = false;
      if (command) {
        const key = event.key.toLowerCase();
        if (key === 'z') {
          done();
          if (event.shiftKey) redoStep();
          else undoStep();
        } else if (key === 'y') {
          done();
          redoStep();
        } else if (key === 'c') {
          done();
          void copySelection();
        } else if (key === 'x') {
          done();
          void cutSelection();
        } else if (key === 'd') {
          done();
          duplicateSelection();
        } else if (key === 'a') {
          done();
          select(allNodes(s.graph).map((n) => n.id));
        } else if (key === 'f') {
          done();
          panel({ find: true });
        }
        return;
      }
      if (event.altKey && event.key.startsWith('Arrow')) {
        done();
        nudge(event.key, event.shiftKey ? 50 : 10);
        return;
      }
      switch (event.key) {
        case 'Tab': {
          // The buttons on the canvas are left as anywhere; after two Escapes so is the canvas.
          if (target.id !== 'canvas') return;
          if (leaving.current) {
            leaving.current = false;
            if (!event.shiftKey && leaveCanvas()) done();
            return;
          }
          const order = orderOf(outline(s.graph));
          const at = order.indexOf(one ?? s.connecting?.node ?? '');
          const to = order[at + (event.shiftKey ? -1 : 1)];
          if (to !== undefined && (one || !event.shiftKey)) {
            done();
            go(to);
          } else if (at >= 0) {
            select([]);
          }
          return;
        }
        case 'ArrowRight':
          done();
          go(
            one
              ? (s.graph.edges.find((e) => e.source === one && e.targetHandle !== 'tools')?.target ??
                  s.graph.edges.find((e) => e.source === one)?.target)
              : s.graph.nodes[0]?.id,
          );
          return;
        case 'ArrowLeft':
          done();
          go(one ? s.graph.edges.find((e) => e.target === one)?.source : s.graph.nodes[0]?.id);
          return;
        case 'ArrowDown':
        case 'ArrowUp':
          done();
          go(beside(s.graph, one, event.key === 'ArrowDown' ? 1 : -1));
          return;
        case 'Enter':
          done();
          if (s.connecting && one) finishConnect(schema, one);
          else if (one) {
            if (usePanels.getState().side !== 'inspector') panel({ side: 'inspector' });
            intoInspector();
          }
          return;
        case 'Escape':
          done();
          if (s.connecting) {
            tell({ connecting: null });
            say(t('connect.off'));
          } else if (s.selection.length + s.edgeSelection.length > 0) select([]);
          else {
            leaving.current = true;
            say(t('canvas.leave'));
          }
          return;
        case 'Delete':
        case 'Backspace':
          done();
          removeSelection();
          return;
        case '/': {
          done();
          const node = one ? findNode(s.graph, one) : undefined;
          const handle = node
            ? sourceHandles(node, s.graph, schema).find((h) => !s.graph.edges.some((e) => e.source === node.id && e.sourceHandle === h))
            : undefined;
          const box = document.getElementById('canvas')?.getBoundingClientRect();
          if (!box || !mayEdit()) return;
          const at = node
            ? { x: node.position.x + 320, y: node.position.y }
            : rf.screenToFlowPosition({ x: box.x + box.width / 2, y: box.y + box.height / 2 });
          const spot = rf.flowToScreenPosition(at);
          openQuickAdd({
            x: Math.min(Math.max(spot.x, box.x + 8), box.right - 250),
            y: Math.min(Math.max(spot.y, box.y + 8), box.bottom - 300),
            at,
            from: node && handle ? { node: node.id, handle } : undefined,
          });
          return;
        }
        default:
          break;
      }
      switch (event.key.toLowerCase()) {
        case 'c':
          done();
          if (one) startConnect(schema, one);
          return;
        case 'e':
          done();
          if (one) {
            const mine = s.graph.edges.filter((e) => e.source === one || e.target === one);
            select(
              [],
              mine.map((e) => e.id),
            );
            say(t('edges.selected', { n: mine.length }));
          }
          return;
        case 'f':
          done();
          touchView();
          if (event.shiftKey && s.selection.length) fitNodes(rf, s.selection);
          else fitAll(rf);
          return;
        case '1':
          done();
          touchView();
          void rf.zoomTo(1, { duration: calm() });
          return;
        case '+':
        case '=':
          done();
          touchView();
          void rf.zoomIn({ duration: calm() });
          return;
        case '-':
          done();
          touchView();
          void rf.zoomOut({ duration: calm() });
          return;
        case 'b': {
          done();
          const node = one ? findNode(s.graph, one) : undefined;
          if (node && canBreak(node, s.graph)) say(t(toggleBreak(node.id) ? 'trial.broken' : 'trial.unbreak'));
          return;
        }
        case 'l':
          done();
          panel({ locked: !usePanels.getState().locked });
          say(t(usePanels.getState().locked ? 'editor.locked' : 'editor.unlocked'));
          return;
        case 'm':
          done();
          also.onMinimap();
          return;
        case 'o':
          done();
          panel({ side: 'outline' });
          return;
        case 'j':
          done();
          panel({ side: 'json' });
          return;
        case 'p':
          done();
          panel({ dock: 'problems' });
          return;
        case '?':
          done();
          panel({ help: true });
          return;
        default:
          return;
      }
    },
    [schema, flow, also],
  );
}

const REACHED = 'a[href], button, input, select, textarea, [tabindex="0"]';

/** What comes after the canvas; false when there is nothing. */
export function leaveCanvas(): boolean {
  const canvas = document.getElementById('canvas');
  const after = [...document.querySelectorAll<HTMLElement>(REACHED)].find(
    (e) =>
      canvas &&
      canvas.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING &&
      !canvas.contains(e) &&
      !e.hasAttribute('disabled') &&
      e.tabIndex >= 0 &&
      e.checkVisibility(),
  );
  after?.focus();
  return after !== undefined;
}

/** Its first field, once it is there; where there is none to fill, its first button. */
function intoInspector(tries = 20): void {
  const field = document.querySelector<HTMLElement>(
    `#inspector ${tries ? '.ib :is(input, textarea, select, button):not([disabled])' : 'button'}`,
  );
  if (field) field.focus();
  else if (tries > 0) requestAnimationFrame(() => intoInspector(tries - 1));
}

function nudge(key: string, by: number): void {
  const s = useEditor.getState();
  const dx = key === 'ArrowLeft' ? -by : key === 'ArrowRight' ? by : 0;
  const dy = key === 'ArrowUp' ? -by : key === 'ArrowDown' ? by : 0;
  const positions = Object.fromEntries(
    s.selection.flatMap((id) => {
      const n = findNode(s.graph, id);
      return n ? [[id, { x: n.position.x + dx, y: n.position.y + dy }]] : [];
    }),
  );
  act({ kind: 'move', positions }, { group: `nudge-${s.selection.join()}` });
}

function beside(graph: Graph, one: string | null, step: number): string | undefined {
  const node = one ? findNode(graph, one) : undefined;
  if (!node) return graph.nodes[0]?.id;
  const column = graph.nodes.filter((n) => Math.abs(n.position.x - node.position.x) < 240).sort((a, b) => a.position.y - b.position.y);
  return column[column.findIndex((n) => n.id === one) + step]?.id;
}

function startConnect(schema: GraphSchema, id: string): void {
  const { graph, connecting } = useEditor.getState();
  const node = findNode(graph, id);
  if (!node || !mayEdit()) return;
  const handles = sourceHandles(node, graph, schema);
  const at = connecting?.node === id ? handles.indexOf(connecting.handle) + 1 : 0;
  const handle = handles[at % Math.max(1, handles.length)];
  if (!handle) return say(t('connect.none'));
  tell({ connecting: { node: id, handle } });
  say(t('connect.on', { handle, name: titleOf(node) }));
}

function finishConnect(schema: GraphSchema, target: string): void {
  const { graph, connecting } = useEditor.getState();
  const node = findNode(graph, target);
  if (!connecting || !node) return;
  const handle = landing(schema, graph, connecting, node);
  if (!handle) {
    const reason = refusal(schema, graph, connecting, { node: target, handle: 'default' }) ?? 'handles';
    return say(t(`refuse.${reason}`));
  }
  const made = act({
    kind: 'connect',
    edge: { id: freshEdgeId(graph), source: connecting.node, sourceHandle: connecting.handle, target, targetHandle: handle },
  });
  tell({ connecting: null });
  if (made) say(t('connect.done', { name: titleOf(node) }));
}
