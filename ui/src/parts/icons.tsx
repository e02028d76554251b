/** Owns which icon means what. */
import type { ComponentType, ReactElement } from 'react';
import {
  BookOpen,
  Bot,
  Braces,
  CircleStop,
  GitBranch,
  Hand,
  Library,
  ListTree,
  Merge,
  Plug,
  Play,
  Repeat,
  Scissors,
  History,
  Settings,
  Sparkles,
  Split,
  StickyNote,
  Workflow,
  Wrench,
  LayoutTemplate,
  ChartNoAxesColumn,
  type LucideProps,
} from 'lucide-react';

export type IconType = ComponentType<LucideProps>;

export function Icon({ as: Shape, size }: { as: IconType; size?: number }): ReactElement {
  return <Shape className="i" aria-hidden="true" {...(size ? { style: { width: size, height: size } } : {})} />;
}

export type Family = 'flow' | 'model' | 'know' | 'toolf' | 'human' | 'state';

export const NODE_LOOK: Record<string, { icon: IconType; family: Family }> = {
  start: { icon: Play, family: 'flow' },
  stop: { icon: CircleStop, family: 'flow' },
  condition: { icon: GitBranch, family: 'flow' },
  fork: { icon: Split, family: 'flow' },
  join: { icon: Merge, family: 'flow' },
  loop: { icon: Repeat, family: 'flow' },
  agent: { icon: Bot, family: 'model' },
  llm: { icon: Sparkles, family: 'model' },
  rag: { icon: BookOpen, family: 'know' },
  tool: { icon: Wrench, family: 'toolf' },
  mcp: { icon: Plug, family: 'toolf' },
  human: { icon: Hand, family: 'human' },
  set_state: { icon: Braces, family: 'state' },
  note: { icon: StickyNote, family: 'flow' },
  memory: { icon: History, family: 'state' },
  context: { icon: Scissors, family: 'state' },
  embedding: { icon: BookOpen, family: 'know' },
  wait: { icon: Hand, family: 'human' },
};

export const PAGE_ICONS = {
  workflows: Workflow,
  agents: Bot,
  tools: Wrench,
  mcp: Plug,
  knowledge: Library,
  templates: LayoutTemplate,
  traces: ListTree,
  usage: ChartNoAxesColumn,
  settings: Settings,
} satisfies Record<string, IconType>;

export function NodeTile({ type }: { type: string }): ReactElement {
  const look = NODE_LOOK[type] ?? { icon: Workflow, family: 'flow' as Family };
  return (
    <span className={`tile ${look.family}`}>
      <Icon as={look.icon} />
    </span>
  );
}

export function EntityTile({ type }: { type: 'agent' | 'workflow' | 'tool' | 'mcp' | 'knowledge' }): ReactElement {
  const looks: Record<string, [IconType, Family]> = {
    agent: [Bot, 'model'],
    workflow: [Workflow, 'flow'],
    tool: [Wrench, 'toolf'],
    mcp: [Plug, 'toolf'],
    knowledge: [Library, 'know'],
  };
  const [icon, family] = looks[type] ?? [Workflow, 'flow'];
  return (
    <span className={`tile ${family}`}>
      <Icon as={icon} />
    </span>
  );
}
