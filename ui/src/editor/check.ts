/** Owns continuous validation and the fixes that are safe to offer. */
import { isProblem, type Graph, type Issue, type Providers, type Validation } from '@wfstudio/client';
import { post } from '../api/client';
import { freshEdgeId, freshNodeId, freshTitle, type Command } from '../graph/document';
import { joinOf } from '../graph/order';
import { t } from '../i18n';
import { passing } from './session';
import { tell, useEditor } from './store';

const PAUSE = 250;
const AGAIN = 4000;

export function startChecking(): () => void {
  let timer = 0;
  let running: AbortController | null = null;
  const check = async (): Promise<void> => {
    running?.abort();
    const mine = new AbortController();
    running = mine;
    const { graph, workflow } = useEditor.getState();
    try {
      const answer = await post<Validation>('/api/graph/validate', { graph, workflow_id: workflow?.id }, { signal: mine.signal });
      if (!mine.signal.aborted && useEditor.getState().graph === graph) tell({ issues: answer.issues });
    } catch (error) {
      // The strip tells when the line is gone.
      if (!mine.signal.aborted && isProblem(error) && passing(error.status)) later(AGAIN);
    }
  };
  const later = (ms = PAUSE): void => {
    clearTimeout(timer);
    timer = window.setTimeout(() => void check(), ms);
  };
  void check();
  const leave = useEditor.subscribe((s, before) => {
    if (s.graph !== before.graph) later();
  });
  return () => {
    leave();
    clearTimeout(timer);
    running?.abort();
  };
}

export interface Fix {
  label: string;
  commands: Command[];
}

const drop = (label: string, nodes: string[], edges: string[] = []): Fix => ({ label, commands: [{ kind: 'remove', nodes, edges }] });

export function fixFor(issue: Issue, graph: Graph, providers: Providers | undefined): Fix | null {
  const node = issue.node_id ? graph.nodes.find((n) => n.id === issue.node_id) : undefined;
  const right = Math.max(0, ...graph.nodes.map((n) => n.position.x)) + 280;
  const height = node?.position.y ?? graph.nodes[0]?.position.y ?? 200;
  const data = (key: string, value: unknown, label: string): Fix | null =>
    node ? { label, commands: [{ kind: 'data', id: node.id, data: { [key]: value } }] } : null;
  switch (issue.code) {
    case 'start_count':
      if (node && graph.nodes.filter((n) => n.type === 'start').length > 1) return drop(t('fix.remove'), [node.id]);
      return graph.nodes.some((n) => n.type === 'start')
        ? null
        : {
            label: t('fix.start'),
            commands: [
              {
                kind: 'add',
                node: {
                  id: freshNodeId(graph, 'start'),
                  type: 'start',
                  title: freshTitle(graph, t('type.start')),
                  position: { x: 40, y: 200 },
                  data: {},
                },
              },
            ],
          };
    case 'stop_missing': {
      const last = graph.nodes
        .filter((n) => n.type !== 'fork' && !graph.edges.some((e) => e.source === n.id && e.sourceHandle === 'default'))
        .sort((a, b) => b.position.x - a.position.x)[0];
      const id = freshNodeId(graph, 'stop');
      return {
        label: t('fix.stop'),
        commands: [
          {
            kind: 'add',
            node: {
              id,
              type: 'stop',
              title: freshTitle(graph, t('type.stop')),
              position: { x: right, y: last?.position.y ?? height },
              data: {},
            },
            edge:
              last && ['start', 'agent', 'llm', 'rag', 'tool', 'mcp', 'human', 'join', 'set_state'].includes(last.type)
                ? { id: freshEdgeId(graph), source: last.id, sourceHandle: 'default', target: id, targetHandle: 'default' }
                : undefined,
          },
        ],
      };
    }
    case 'handle_unconnected': {
      const stop = graph.nodes.find((n) => n.type === 'stop');
      const handle = /`([\w-]+)`/.exec(issue.message)?.[1] ?? issue.field?.split('.').at(-1) ?? 'default';
      return node && stop
        ? {
            label: t('fix.connect.stop'),
            commands: [
              {
                kind: 'connect',
                edge: { id: freshEdgeId(graph), source: node.id, sourceHandle: handle, target: stop.id, targetHandle: 'default' },
              },
            ],
          }
        : null;
    }
    case 'handle_incompatible':
    case 'edge_end_unknown':
    case 'edge_id_duplicate':
    case 'handle_multiple_edges':
    case 'tools_target_not_inline':
    case 'tools_source_invalid':
    case 'toolset_without_tool_mode':
    case 'tool_mode_control_edge':
    case 'fork_branch_escapes':
      return issue.edge_id ? drop(t('fix.edge'), [], [issue.edge_id]) : null;
    case 'node_unreachable':
      return node ? drop(t('fix.remove'), [node.id]) : null;
    case 'agent_config':
      return node && providers
        ? {
            label: t('fix.model', { model: providers.default_model }),
            commands: [
              {
                kind: 'data',
                id: node.id,
                data: { config_mode: 'inline', provider: providers.default_provider, model: providers.default_model },
              },
            ],
          }
        : null;
    case 'loop_max_steps':
      return data('max_steps', 10, t('fix.max'));
    case 'stream_ignored':
      return data('stream', undefined, t('fix.stream'));
    case 'checkpoint_unsupported':
      return data('checkpoint', undefined, t('fix.checkpoint'));
    case 'title_invalid':
      return node
        ? {
            label: t('fix.title'),
            commands: [{ kind: 'title', id: node.id, title: freshTitle(graph, (node.title ?? node.id).slice(0, 70)) }],
          }
        : null;
    case 'fork_without_join': {
      if (!node || joinOf(graph, node)) return null;
      const id = freshNodeId(graph, 'join');
      return {
        label: t('fix.join'),
        commands: [
          {
            kind: 'add',
            node: {
              id,
              type: 'join',
              title: freshTitle(graph, t('type.join')),
              position: { x: node.position.x + 520, y: node.position.y },
              data: {},
            },
            edge: { id: freshEdgeId(graph), source: node.id, sourceHandle: 'default', target: id, targetHandle: 'default' },
          },
        ],
      };
    }
    case 'retry_not_idempotent':
      return data('retries', undefined, t('fix.retries'));
    case 'loop_without_condition':
      return null;
    default:
      return null;
  }
}
