/** Owns how large a node is and where its handles sit: a pure function of type, data and run state. */
import type { Graph, GraphNode, GraphSchema } from '@wfstudio/client';
import { isBound, sourceHandles, targetHandles } from './connect';
import { isInline, titleOf } from './document';

export type Face = 'plain' | 'footer' | 'stream' | 'ask';
export interface HandleSpot {
  id: string;
  type: 'source' | 'target';
  side: 'left' | 'right' | 'top' | 'bottom';
  x: number;
  y: number;
  look: 'dot' | 'rejected' | 'square' | 'quiet';
}
export interface Box {
  width: number;
  height: number;
  shape: 'mini' | 'bound' | 'card' | 'note';
  handles: HandleSpot[];
}

export const MINI = new Set(['start', 'stop', 'fork', 'join']);
const WIDTH: Record<string, number> = {
  agent: 244,
  llm: 244,
  rag: 204,
  tool: 204,
  mcp: 204,
  human: 204,
  set_state: 196,
  condition: 196,
  loop: 196,
};
const HEAD = 48;
const ROW = 17;
export const FACE_HEIGHT: Record<Face, number> = { plain: 0, footer: 26, stream: 26 + 79, ask: 96 };

const text = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value);

/** The two-column lines inside a card. */
export function lines(node: GraphNode, nameOf: (kind: string, id: string) => string): [label: string, value: string][] {
  const d = node.data;
  const out: [string, string][] = [];
  const writes = (fallback: string): void => {
    out.push(['writes', text(d.output_key) || fallback]);
  };
  switch (node.type) {
    case 'agent':
      out.push(isInline(node) ? ['model', text(d.model)] : ['agent', nameOf('agent', text(d.agent_id) || text(d.agent_ref))]);
      if (!d.tool_mode) writes('agent_response');
      break;
    case 'llm':
      out.push(['model', text(d.model)]);
      writes('llm_response');
      break;
    case 'rag':
      out.push(['base', nameOf('knowledge', text(d.knowledge_base_id))]);
      writes('rag_context');
      break;
    case 'tool':
      out.push(['tool', nameOf('tool', text(d.tool_ref).replace(/^\w+:/, ''))]);
      writes('tool_result');
      break;
    case 'mcp':
      out.push(['server', text(d.mcp_server)], ['tool', text(d.tool_name)]);
      break;
    case 'human':
      writes('human_response');
      break;
    case 'set_state':
      out.push([text(d.key) || 'key', d.from_key ? `← ${text(d.from_key)}` : text(d.value)]);
      break;
    case 'condition':
      out.push(['if', test(d)]);
      break;
    case 'loop':
      out.push(['until', test(d)], ['max', text(d.max_steps) || '10']);
      break;
    default:
      break;
  }
  return out.map(([label, value]) => [label, value || '–']);
}

function test(d: Record<string, unknown>): string {
  if (d.expression) return text(d.expression);
  if (Array.isArray(d.rules) && d.rules.length > 0) return `${text(d.logic) || 'all'} (${d.rules.length})`;
  if (!d.state_key && !d.operator) return '';
  return [text(d.state_key) || 'input', (text(d.operator) || 'not_empty').replaceAll('_', ' '), text(d.value)].filter(Boolean).join(' ');
}

export function measure(node: GraphNode, graph: Graph, schema: GraphSchema | undefined, face: Face): Box {
  if (node.type === 'note')
    return {
      width: Number(node.data.width) || 224,
      height: Number(node.data.height) || noteHeight(String(node.data.text ?? '')),
      shape: 'note',
      handles: [],
    };
  const sources = sourceHandles(node, graph, schema);
  const targets = targetHandles(node);
  const title = titleOf(node);
  if (isBound(node, graph) && node.type !== 'agent') {
    const width = Math.min(200, Math.max(112, 46 + title.length * 7.2));
    return {
      width,
      height: 40,
      shape: 'bound',
      handles: [
        ...sources.slice(0, 1).map((id): HandleSpot => ({ id, type: 'source', side: 'top', x: width / 2, y: 0, look: 'square' })),
        { id: 'default', type: 'target', side: 'left', x: 0, y: 20, look: 'quiet' },
      ],
    };
  }
  if (MINI.has(node.type)) {
    const extra = Math.max(0, sources.length - 1);
    const width = Math.min(220, Math.max(92, 54 + title.length * 7.4));
    const height = 44 + (node.type === 'fork' ? extra * 20 : 0);
    return { width, height, shape: 'mini', handles: [...left(targets, 22), ...right(sources, width, 22, 20)] };
  }
  const width = WIDTH[node.type] ?? 204;
  const body = lines(node, () => '').length;
  const base = HEAD + (body ? body * ROW + 8 : 0) + FACE_HEIGHT[face];
  const right_ = right(
    sources.filter((h) => h !== 'toolset'),
    width,
    24,
    22,
  );
  const height = Math.max(base, right_.length > 1 ? 24 + right_.length * 22 : 0);
  const handles = [
    ...left(
      targets.filter((h) => h !== 'tools'),
      24,
    ),
    ...right_,
  ];
  if (targets.includes('tools')) handles.push({ id: 'tools', type: 'target', side: 'bottom', x: width / 2, y: height, look: 'square' });
  if (sources.includes('toolset')) handles.push({ id: 'toolset', type: 'source', side: 'top', x: width / 2, y: 0, look: 'square' });
  return { width, height, shape: 'card', handles };
}

const left = (ids: string[], y: number): HandleSpot[] => ids.map((id) => ({ id, type: 'target', side: 'left', x: 0, y, look: 'dot' }));
const right = (ids: string[], width: number, y: number, step: number): HandleSpot[] =>
  ids.map((id, n) => ({
    id,
    type: 'source',
    side: 'right',
    x: width,
    y: y + n * step,
    look: id === 'rejected' || id === 'error' ? 'rejected' : 'dot',
  }));

const noteHeight = (words: string): number =>
  Math.min(
    320,
    Math.max(
      52,
      30 +
        19 *
          words
            .split('\n')
            .filter((l) => l.trim())
            .reduce((n, l) => n + Math.max(1, Math.ceil(l.length / 31)), 0),
    ),
  );
