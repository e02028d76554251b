/** Owns the names behind ids on nodes: agents, bases, servers, tools. */
import { useMemo } from 'react';
import { rows, useList, useRegistry } from '../api/queries';
import type { Agent, KnowledgeBase, McpServer, RegistryTool, Tool } from '@wfstudio/client';

export interface Stock {
  agents: Agent[];
  bases: KnowledgeBase[];
  servers: McpServer[];
  tools: Tool[];
  registry: RegistryTool[];
  nameOf: (kind: string, id: string) => string;
}

export function useStock(): Stock {
  const agents = useList<Agent>('/api/agents', { limit: 100 }).data;
  const bases = useList<KnowledgeBase>('/api/knowledge-bases', { limit: 100 }).data;
  const servers = useList<McpServer>('/api/mcp-servers', { limit: 100 }).data;
  const tools = useList<Tool>('/api/tools', { limit: 100 }).data;
  const registry = useRegistry().data;
  return useMemo(() => {
    const lists = {
      agents: rows<Agent>({ data: agents }),
      bases: rows<KnowledgeBase>({ data: bases }),
      servers: rows<McpServer>({ data: servers }),
      tools: rows<Tool>({ data: tools }),
      registry: registry?.data ?? [],
    };
    const names = new Map<string, string>();
    for (const [kind, list] of [
      ['agent', lists.agents],
      ['knowledge', lists.bases],
      ['mcp', lists.servers],
      ['tool', lists.tools],
    ] as const) {
      for (const row of list) {
        names.set(`${kind}:${row.id}`, row.name);
        if ('slug' in row) names.set(`${kind}:${row.slug}`, row.name);
      }
    }
    return { ...lists, nameOf: (kind: string, id: string) => names.get(`${kind}:${id}`) ?? id };
  }, [agents, bases, servers, tools, registry]);
}
