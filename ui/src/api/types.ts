/** Owns the shapes on the wire as the pages read them: the client's, and in more detail what the description of the API leaves open. */
import type * as api from '@wfstudio/client';

export type {
  Attachment,
  Chunk,
  CodeExported,
  CodeImported as Imported,
  CodePreview,
  Installed,
  Issue,
  McpServer,
  McpServerTest as McpTest,
  RegistryClassListed as Importable,
  RevisionSummary as Revision,
  RunStatus,
  SearchAnswer,
  TemplateListed,
  Thread,
  Tool,
  ToolRef,
  Usage as UsageAnswer,
  UsageEntry,
  Validation,
  Warning as Notice,
} from '@wfstudio/client';

/** A shape of the client with some members told in more detail. */
type In<T, More> = Omit<T, keyof More> & More;
/** Members that are not there yet are null. */
type Unset<T, K extends keyof T> = Omit<T, K> & { [N in K]: T[N] | null };

export type UsageFields = api.UsageFigures & { currency?: string };

export interface GraphNode {
  id: string;
  type: string;
  position: { x: number; y: number };
  data: Record<string, unknown>;
  title?: string;
}
export interface GraphEdge {
  id: string;
  source: string;
  target: string;
  sourceHandle: string;
  targetHandle: string;
}
export interface Graph {
  version: number;
  nodes: GraphNode[];
  edges: GraphEdge[];
  annotations: GraphNode[];
  viewport: { x: number; y: number; zoom: number };
}
export interface SchemaKey {
  name: string;
  type: string;
  label?: string;
  description?: string;
  default?: unknown;
  min?: number | null;
  max?: number | null;
  required?: boolean;
  template?: boolean;
  values?: (string | null)[] | null;
  enum?: string[] | null;
  options?: string[] | null;
}
export interface ConnectionRule {
  source: string;
  source_handle: string;
  target: string;
  target_handle: string;
  when?: string | null;
}
export type NodeType = In<api.GraphSchema['node_types'][number], { keys: SchemaKey[] }>;
export type GraphSchema = In<api.GraphSchema, { node_types: NodeType[]; connections: ConnectionRule[] }>;

export type Agent = In<api.Agent, { parameters: Record<string, unknown>; memory_config: Record<string, unknown> | null; schema: unknown }>;
export type Workflow = In<api.Workflow, { graph: Graph; state_schema: unknown; node_count?: number; last_run?: RunSummary | null }>;
export type Draft = In<api.Draft, { graph: Graph; based_on_revision: number; issues?: api.Issue[] }>;
export type Rerank = { provider: string; model?: string; candidates?: number };
export type KnowledgeBase = In<
  api.KnowledgeBase,
  {
    language: string;
    retrieval_defaults: { mode: string; top_k: number; threshold: number | null; filter: Record<string, unknown>; rerank?: Rerank | null };
    chunking: { max_words: number; overlap_words: number };
  }
>;
export type KnowledgeDocument = api.Document;

/** A call that may not be made twice and whose end nobody saw. */
export interface Doubt {
  call_id: string;
  name: string;
  arguments: Record<string, unknown>;
  node_id: string;
}
/** What is to become of a call in doubt. */
export interface DoubtAnswer {
  call_id: string;
  action: 'rerun' | 'skip' | 'use';
  result?: string;
}
export type RunError = In<api.RunError, { calls?: Doubt[] }>;
export type RunSummary = In<
  api.RunSummary,
  {
    error: RunError | null;
    entity_name: string | null;
    thread_id: string | null;
    duration_ms: number | null;
    working_ms: number | null;
    waiting_ms: number | null;
  }
>;
export type PendingTool = In<api.PendingTool, { arguments: Record<string, unknown> }>;
export type Pause = In<api.Pause, { step_id: string | null; pending_tools?: PendingTool[] }>;
/** A pause, and the run it belongs to. */
export type Waiting = Pause & { run: string };
export type Step = Unset<Omit<api.Step, 'node_title' | 'iteration_path'>, 'started_at' | 'finished_at' | 'duration_ms'> &
  Partial<Pick<api.Step, 'node_title' | 'iteration_path'>>;
export type Span = Unset<api.Span, 'started_at' | 'finished_at' | 'duration_ms'>;
export type Trace = In<
  api.Trace,
  RunSummary & {
    input: { message: string; state: Record<string, unknown>; attachments: api.Attachment[]; thread_id: string | null } | null;
    output: Record<string, unknown> | null;
    checkpoint: { state: Record<string, unknown>; node_id: string } | null;
    pauses: Pause[];
    graph?: Graph;
  }
>;
export interface TraceAnswer {
  trace: Trace;
  steps: Step[];
  spans: Span[];
  children: RunSummary[];
}
export interface ToolCall {
  call_id: string;
  name: string;
  inputs: Record<string, unknown>;
  result: string | null;
  is_error?: boolean;
  files?: unknown;
}
export type Message = In<api.Message, { attachments: api.Attachment[]; tool_calls?: ToolCall[]; parts?: unknown }>;

export type Provider = In<api.Providers['data'][number], { models: Model[]; embeddings: { id: string; dimensions: number }[] }>;
export type Model = In<
  api.Providers['data'][number]['models'][number],
  { price: { input: string; output: string; per_tokens: number } | null }
>;
export type Providers = In<api.Providers, { data: Provider[] }>;
export type RegistryTool = api.RegistryTools['data'][number];
export type Settings = Omit<api.Settings, 'observability'>;
export interface List<T> {
  data: T[];
  next_cursor: string | null;
}
export type Complexity = 'basic' | 'intermediate' | 'advanced';
export type Template = In<api.Template, { definition?: Partial<Agent>; graph?: Graph }>;
export type DefinitionKind = 'workflow' | 'agent' | 'tool';
export type ImportableWhole = In<
  api.RegistryClass,
  { definition: { name?: string; slug?: string; graph?: Graph; agents?: Record<string, { name?: string }> } & Record<string, unknown> }
>;
