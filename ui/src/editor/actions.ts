/** Owns what can be done to a selection. */
import type { GraphSchema } from '@wfstudio/client';
import { copyText, placed, readClip } from '../graph/clipboard';
import { findNode, isBinding } from '../graph/document';
import { LIMIT, tidyUp } from '../graph/layout';
import { measure } from '../graph/measure';
import { t } from '../i18n';
import { copy } from '../parts/copy';
import { say, toast } from '../parts/toast';
import { glideTo } from './glide';
import { act, select, useEditor } from './store';

const now = useEditor.getState;

export function removeSelection(): void {
  const { selection, edgeSelection } = now();
  if (selection.length + edgeSelection.length === 0) return;
  if (act({ kind: 'remove', nodes: selection, edges: edgeSelection }, { select: [] }))
    say(t('editor.removed', { n: selection.length + edgeSelection.length }));
}

export async function copySelection(): Promise<boolean> {
  const { graph, selection } = now();
  return selection.length > 0 && copy(copyText(graph, selection), say);
}

/** What could not be copied stays. */
export async function cutSelection(): Promise<void> {
  const { selection } = now();
  if ((await copySelection()) && now().selection === selection) removeSelection();
}

export function duplicateSelection(): void {
  const { graph, selection } = now();
  const clip = readClip(copyText(graph, selection));
  if (!clip) return;
  const made = placed(graph, clip, null);
  act({ kind: 'paste', ...made }, { select: made.nodes.map((n) => n.id) });
}

export function pasteText(text: string, at: { x: number; y: number } | null, knownAgents: (id: string) => boolean): boolean {
  const clip = readClip(text);
  if (!clip) return false;
  const { graph } = now();
  const made = placed(graph, clip, at);
  if (!act({ kind: 'paste', ...made }, { select: made.nodes.map((n) => n.id) })) return true;
  const left = clip.nodes.filter((n) => n.type === 'start').length;
  const lost = made.nodes.filter((n) => typeof n.data.agent_id === 'string' && !knownAgents(n.data.agent_id));
  if (left > 0) toast(t('paste.start'));
  if (lost.length > 0) toast(t('paste.agents', { names: lost.map((n) => n.title ?? n.id).join(', ') }));
  return true;
}

export async function tidySelection(schema: GraphSchema): Promise<void> {
  const { graph, selection } = now();
  const some = selection.length > 1 ? selection : null;
  if (!some && graph.nodes.length > LIMIT) {
    toast(t('tidy.toomany', { n: LIMIT }));
    return;
  }
  const positions = await tidyUp(graph, schema, some);
  if (now().graph === graph) glideTo(positions);
}

export type Align = 'left' | 'center' | 'right' | 'top' | 'middle' | 'bottom' | 'spread-x' | 'spread-y';

export function align(how: Align, schema: GraphSchema): void {
  const { graph, selection } = now();
  const boxes = selection.flatMap((id) => {
    const node = findNode(graph, id);
    if (!node) return [];
    const size = measure(node, graph, schema, 'plain');
    return [{ id, x: node.position.x, y: node.position.y, w: size.width, h: size.height }];
  });
  if (boxes.length < 2) return;
  const l = Math.min(...boxes.map((b) => b.x));
  const r = Math.max(...boxes.map((b) => b.x + b.w));
  const top = Math.min(...boxes.map((b) => b.y));
  const bottom = Math.max(...boxes.map((b) => b.y + b.h));
  const positions: Record<string, { x: number; y: number }> = {};
  if (how === 'spread-x' || how === 'spread-y') {
    const key = how === 'spread-x' ? 'x' : 'y';
    const size = how === 'spread-x' ? 'w' : 'h';
    const sorted = [...boxes].sort((a, b) => a[key] - b[key]);
    const free = (how === 'spread-x' ? r - l : bottom - top) - sorted.reduce((sum, b) => sum + b[size], 0);
    let at = how === 'spread-x' ? l : top;
    for (const b of sorted) {
      positions[b.id] = { x: b.x, y: b.y, [key]: Math.round(at) };
      at += b[size] + free / (sorted.length - 1);
    }
  } else {
    for (const b of boxes) {
      const x = how === 'left' ? l : how === 'right' ? r - b.w : how === 'center' ? (l + r - b.w) / 2 : b.x;
      const y = how === 'top' ? top : how === 'bottom' ? bottom - b.h : how === 'middle' ? (top + bottom - b.h) / 2 : b.y;
      positions[b.id] = { x: Math.round(x), y: Math.round(y) };
    }
  }
  glideTo(positions);
}

export function selectDownstream(id: string): void {
  const { graph } = now();
  const seen = new Set([id]);
  const stack = [id];
  while (stack.length) {
    const at = stack.pop();
    for (const edge of graph.edges)
      if (edge.source === at && !isBinding(edge) && !seen.has(edge.target)) {
        seen.add(edge.target);
        stack.push(edge.target);
      }
  }
  select([...seen]);
}
