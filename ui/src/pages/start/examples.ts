/** Owns the examples of a first run: working graphs and the agents they need, made through the public API. */
import { get, make } from '../../api/client';
import type { Agent, Graph, GraphEdge, GraphNode, Providers, Workflow } from '@wfstudio/client';
import type { List } from '../../api/pages';
import { t, type Key } from '../../i18n';

export const EXAMPLES = ['refund', 'triage', 'lead'] as const;
export type ExampleId = (typeof EXAMPLES)[number];

interface Model {
  provider: string;
  model: string;
}
export interface Example {
  name: string;
  text: string;
  /** What to write first. */
  say: string;
  agents: { slug: string; name: string; instructions: string; more?: Record<string, unknown> }[];
  graph: Graph;
}

const ADDRESS = '[^\\s@]+@[^\\s@]+\\.[^\\s@]+';
const node = (id: string, type: string, x: number, y: number, title: string, data: Record<string, unknown> = {}): GraphNode => ({
  id,
  type,
  title,
  position: { x, y },
  data,
});
const edges = (list: [string, string, string?][]): GraphEdge[] =>
  list.map(([source, target, sourceHandle = 'default'], n) => ({ id: `e${n + 1}`, source, target, sourceHandle, targetHandle: 'default' }));
const graph = (nodes: GraphNode[], list: [string, string, string?][], hint: Key, y: number): Graph => ({
  version: 1,
  nodes,
  edges: edges(list),
  viewport: { x: 0, y: 0, zoom: 1 },
  annotations: [node('note_1', 'note', 40, y, t('start.try'), { text: t(hint) })],
});

const refund = (): Example => ({
  name: t('start.refund'),
  text: t('start.refund.text'),
  say: t('start.refund.say'),
  agents: [
    {
      slug: 'refund-actions-agent',
      name: t('start.refund.agent'),
      instructions:
        'Take order id, amount and reason from the ticket and call issue_refund once. ' +
        'Report success only after the tool reported it; when the call was declined, say that no refund was made.',
      more: { tools: [{ ref: 'toolkit:demo', only: ['issue_refund'] }], require_tool_approval: true },
    },
  ],
  graph: graph(
    [
      node('start_1', 'start', 40, 120, t('type.start')),
      node('agent_refund', 'agent', 240, 90, t('start.refund.agent'), {
        config_mode: 'existing',
        agent_id: 'refund-actions-agent',
        message: '{{input}}',
        require_tool_approval: true,
        memory: 'none',
        output_key: 'refund_result',
      }),
      node('stop_1', 'stop', 600, 40, t('start.refund.paid'), { reply: '{{refund_result}}' }),
      node('stop_2', 'stop', 600, 220, t('start.refund.declined'), { reply: `${t('start.refund.nothing')} {{refund_result}}` }),
    ],
    [
      ['start_1', 'agent_refund'],
      ['agent_refund', 'stop_1'],
      ['agent_refund', 'stop_2', 'rejected'],
    ],
    'start.refund.hint',
    330,
  ),
});

const triage = (model: Model): Example => {
  const ask = (id: string, y: number, title: string, prompt: string, output_key: string): GraphNode =>
    node(id, 'llm', 520, y, title, { ...model, prompt: `${prompt}\n\n{{input}}`, output_key, stream: false, publish_reply: false });
  return {
    name: t('start.triage'),
    text: t('start.triage.text'),
    say: t('start.triage.say'),
    agents: [
      {
        slug: 'support-triage-composer',
        name: t('start.triage.agent'),
        instructions:
          'Merge the given analyses into Markdown with two headings, `## Triage` ' +
          '(bullets: sentiment, facts, priority, route) and `## Reply` (2-4 sentences to the customer in their language).',
      },
    ],
    graph: graph(
      [
        node('start_1', 'start', 40, 220, t('type.start')),
        node('fork_1', 'fork', 280, 220, t('type.fork'), { branches: ['sentiment', 'facts', 'priority'] }),
        ask('llm_sentiment', 20, t('start.triage.sentiment'), 'Name the mood of this ticket and its reason.', 'sentiment_analysis'),
        ask('llm_facts', 190, t('start.triage.facts'), 'List the facts of this ticket as bullets.', 'facts_analysis'),
        ask(
          'llm_priority',
          360,
          t('start.triage.priority'),
          'Give the priority of this ticket (low, normal, high, urgent) and the reason.',
          'priority_analysis',
        ),
        node('join_1', 'join', 840, 220, t('type.join'), { output_key: 'analyses' }),
        node('agent_1', 'agent', 1060, 190, t('start.triage.agent'), {
          config_mode: 'existing',
          agent_id: 'support-triage-composer',
          message: '{{input}}\n\n{{analyses}}',
          memory: 'none',
          output_key: 'triage_summary',
        }),
        node('stop_1', 'stop', 1420, 220, t('type.stop'), { reply: '{{triage_summary}}' }),
      ],
      [
        ['start_1', 'fork_1'],
        ['fork_1', 'llm_sentiment', 'sentiment'],
        ['fork_1', 'llm_facts', 'facts'],
        ['fork_1', 'llm_priority', 'priority'],
        ['fork_1', 'join_1'],
        ['llm_sentiment', 'join_1'],
        ['llm_facts', 'join_1'],
        ['llm_priority', 'join_1'],
        ['join_1', 'agent_1'],
        ['agent_1', 'stop_1'],
      ],
      'start.triage.hint',
      420,
    ),
  };
};

const lead = (): Example => {
  const ask = (id: string, x: number, y: number, title: Key, message: string): GraphNode =>
    node(id, 'agent', x, y, t(title), {
      config_mode: 'existing',
      agent_id: 'lead-qualifier',
      message,
      memory: 'none',
      output_key: 'lead_profile',
    });
  return {
    name: t('start.lead'),
    text: t('start.lead.text'),
    say: t('start.lead.say'),
    agents: [
      {
        slug: 'lead-qualifier',
        name: t('start.lead.agent'),
        instructions:
          'Find name, email and interest. When an email address is there, answer with exactly three lines `Name:`, `Email:`, `Interest:`; ' +
          'otherwise ask one friendly question for it and write no address. Never invent data.',
      },
    ],
    graph: graph(
      [
        node('start_1', 'start', 40, 120, t('type.start')),
        ask('agent_1', 240, 90, 'start.lead.agent', '{{input}}'),
        node('condition_1', 'condition', 600, 110, t('start.lead.condition'), {
          state_key: 'lead_profile',
          operator: 'regex',
          value: ADDRESS,
        }),
        node('stop_1', 'stop', 1520, 60, t('start.lead.done'), { reply: '{{lead_profile}}' }),
        node('human_1', 'human', 880, 240, t('start.lead.human'), { prompt: '{{lead_profile}}', output_key: 'human_response' }),
        ask('agent_2', 1180, 230, 'start.lead.again', '{{input}}\n{{human_response}}'),
      ],
      [
        ['start_1', 'agent_1'],
        ['agent_1', 'condition_1'],
        ['condition_1', 'stop_1', 'true'],
        ['condition_1', 'human_1', 'false'],
        ['human_1', 'agent_2'],
        ['agent_2', 'stop_1'],
      ],
      'start.lead.hint',
      340,
    ),
  };
};

/** The configured default model, or the one that needs no key. */
export function modelOf(providers: Providers | undefined): Model & { free: boolean } {
  const own = providers?.data.find((p) => p.id === providers.default_provider);
  if (own?.configured && own.id !== 'script' && providers?.default_model)
    return { provider: own.id, model: providers.default_model, free: false };
  return { provider: 'script', model: 'demo', free: true };
}

export function exampleOf(id: ExampleId, model: Model): Example {
  switch (id) {
    case 'refund':
      return refund();
    case 'triage':
      return triage(model);
    case 'lead':
      return lead();
  }
}

/** Makes the agents that are not there yet, then the workflow. */
export async function install(id: ExampleId, providers: Providers | undefined): Promise<Workflow> {
  const { provider, model } = modelOf(providers);
  const example = exampleOf(id, { provider, model });
  const there = new Set((await get<List<Agent>>('/api/agents', { limit: 100 })).data.map((a) => a.slug));
  for (const { slug, name, instructions, more } of example.agents)
    if (!there.has(slug)) await make<Agent>('/api/agents', { slug, name, instructions, provider, model, tags: ['example'], ...more });
  return make<Workflow>('/api/workflows', { name: example.name, description: example.text, graph: example.graph, tags: ['example'] });
}
