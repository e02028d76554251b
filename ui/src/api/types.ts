/** Owns the shapes on the wire as the pages read them: the client's, and in more detail those that the description of the API leaves open. */
import type { Attachment, Issue, RegistryClassListed as Importable, RunStatus, ToolRef, Warning as Notice } from '@wfstudio/client';

export type {
  Attachment,
  Chunk,
  CodeExported,
  CodeImported as Imported,
  CodePreview,
  Installed,
  Issue,
  McpServer,
  RegistryClassListed as Importable,
  RevisionSummary as Revision,
  RunStatus,
  SearchAnswer,
  TemplateListed,
  Thread,
  Tool,
  ToolRef,
  Validation,
  Warning as Notice,
} from '@wfstudio/client';
export interface UsageFields {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  cached_tokens: number;
  cache_write_tokens: number;
  reasoning_tokens: number;
  estimated_cost: string;
  currency?: string;
  unpriced: boolean;
}

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
export interface NodeType {
  type: string;
  label: string;
  group: string;
  source_handles: string[];
  target_handles: string[];
  keys: SchemaKey[];
}
export interface ConnectionRule {
  source: string;
  source_handle: string;
  target: string;
  target_handle: string;
  when?: string | null;
}
export interface GraphSchema {
  version: number;
  node_types: NodeType[];
  connections: ConnectionRule[];
  operators: { name: string; value: string | null }[];
}

interface Definition {
  id: string;
  slug: string;
  name: string;
  description: string;
  source: string;
  locked: boolean;
  /** Where the class of an exported or imported definition is. */
  class_path?: string | null;
  revision: number;
  created_at: string;
  updated_at: string;
}
export interface Agent extends Definition {
  provider: string;
  model: string;
  credential: string | null;
  instructions: string;
  tools: ToolRef[];
  require_tool_approval: boolean;
  tool_max_runs: number;
  parallel_tool_calls: boolean | null;
  parameters: Record<string, unknown>;
  output_schema: string | null;
  schema: unknown;
  memory_config: Record<string, unknown> | null;
  tags: string[];
}
export interface RunError {
  code: string;
  message: string;
  node_id: string | null;
  /** Calls that may not be made twice and whose end nobody saw. */
  calls?: Doubt[];
}
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
export interface RunSummary extends UsageFields {
  id: string;
  trace_id: string;
  status: RunStatus;
  entity_type: 'agent' | 'workflow';
  entity_id: string;
  entity_name: string | null;
  workflow_id: string | null;
  thread_id: string | null;
  parent_run_id: string | null;
  awaiting_node_id: string | null;
  awaiting_pause_id: string | null;
  input_preview: string;
  mode: string;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  duration_ms: number | null;
  working_ms: number | null;
  waiting_ms: number | null;
  error: RunError | null;
}
export interface Workflow extends Definition {
  graph: Graph;
  state_schema: unknown;
  tags: string[];
  warnings?: Issue[];
  agents: { id: string; slug: string; name: string }[];
  node_count?: number;
  last_run?: RunSummary | null;
}
export interface Draft {
  graph: Graph;
  draft_revision: number;
  based_on_revision: number;
  updated_at: string;
  issues?: Issue[];
}
export interface McpTest {
  ok: boolean;
  protocol_version: string | null;
  tools: { name: string; description: string; input_schema: unknown }[];
  error: string | { message: string } | null;
}
export interface KnowledgeBase extends Definition {
  embeddings_provider: string;
  embeddings_model: string;
  dimensions: number | null;
  retrieval_defaults: { mode: string; top_k: number; threshold: number | null; filter: Record<string, unknown> };
  chunking: { max_words: number; overlap_words: number };
  document_count: number;
  chunk_count: number;
  size_bytes: number;
  needs_reindex: boolean;
}
export interface KnowledgeDocument extends UsageFields {
  id: string;
  name: string;
  mime_type: string;
  size_bytes: number;
  status: 'pending' | 'processing' | 'completed' | 'failed';
  error: string | { message: string } | null;
  chunk_count: number;
  created_at: string;
}
export interface PendingTool {
  name: string;
  arguments: Record<string, unknown>;
  call_id: string;
}
export interface Pause {
  pause_id: string;
  node_id: string;
  step_id: string | null;
  reason: 'human' | 'tool_approval';
  prompt?: string;
  pending_tools?: PendingTool[];
  message?: string;
  branch_id?: string;
  branch_path?: string[];
  created_at: string;
}
/** A pause, and the run it belongs to. */
export interface Waiting extends Pause {
  run: string;
}
export interface Step extends UsageFields {
  id: string;
  seq: number;
  node_id: string;
  node_type: string;
  node_title?: string | null;
  status: 'running' | 'paused' | 'completed' | 'failed' | 'cancelled';
  handle: string | null;
  iteration: number | null;
  iteration_path?: string;
  branch_id: string | null;
  branch_path: string[];
  attempt: number;
  checkpoint_hit: boolean;
  superseded: boolean;
  started_at: string | null;
  finished_at: string | null;
  duration_ms: number | null;
  state_snapshot?: Record<string, unknown> | null;
  output?: Record<string, unknown> | null;
  error: { code: string; message: string } | null;
  validation_errors?: string[];
  provider: string | null;
  model: string | null;
  child_run_id?: string | null;
  chunk_count?: number;
  top_score?: number;
  citations?: { n: number; chunk_id: string; source_name: string }[];
  warnings?: Notice[];
}
export interface Span extends Partial<UsageFields> {
  warnings?: Notice[];
  id: string;
  parent_span_id: string | null;
  step_id: string | null;
  node_id: string | null;
  type: 'llm' | 'tool' | 'rag' | 'embedding' | 'memory' | 'context';
  name: string;
  status: string;
  started_at: string | null;
  finished_at: string | null;
  duration_ms: number | null;
  provider?: string | null;
  model?: string | null;
  input?: unknown;
  output?: unknown;
  error: unknown;
}
export interface Trace extends RunSummary {
  workflow_name?: string | null;
  workflow_revision?: number | null;
  error_message: string | null;
  input: { message: string; state: Record<string, unknown>; attachments: Attachment[]; thread_id: string | null } | null;
  output: Record<string, unknown> | null;
  reply: string | null;
  checkpoint: { state: Record<string, unknown>; node_id: string } | null;
  pauses: Pause[];
  last_event_id: number;
  graph?: Graph;
}
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
}
export interface Message {
  id: string;
  role: 'user' | 'assistant' | 'system';
  content: string;
  attachments: Attachment[];
  created_at: string;
  trace_id: string | null;
  meta: Record<string, unknown>;
  tool_calls?: ToolCall[];
}
export interface Model {
  id: string;
  label: string;
  capabilities: string[];
  context_window: number | null;
  price: { input: string; output: string; per_tokens: number } | null;
}
export interface Provider {
  id: string;
  label: string;
  configured: boolean;
  models: Model[];
  embeddings: { id: string; dimensions: number }[];
}
export interface Providers {
  data: Provider[];
  default_provider: string;
  default_model: string;
}
export interface RegistryTool {
  ref: string;
  name: string;
  description: string;
  input_schema?: unknown;
  kind: string;
  require_approval?: boolean;
}
export interface Settings {
  flags: Record<string, boolean>;
  keys: { key: string; value: unknown; source: string; gates: string | null }[];
}
export interface UsageEntry extends UsageFields {
  provider?: string;
  model?: string;
  entity_type?: 'agent' | 'workflow';
  entity_id?: string;
  entity_name?: string | null;
  date?: string;
  run_count?: number;
}
export interface UsageAnswer {
  currency: string;
  from: string;
  to: string;
  totals: UsageFields & { run_count: number };
  breakdown: UsageEntry[];
}
export interface List<T> {
  data: T[];
  next_cursor: string | null;
}
export type Complexity = 'basic' | 'intermediate' | 'advanced';
export interface Template {
  meta: { id: string; name: string; description?: string | null; category?: string | null; tags?: string[] | null };
  definition?: Partial<Agent>;
  graph?: Graph;
  install_preview: { agents_create: string[]; agents_reuse: string[] };
}
export type DefinitionKind = 'workflow' | 'agent' | 'tool';
export interface ImportableWhole extends Importable {
  definition: { name?: string; slug?: string; graph?: Graph; agents?: Record<string, { name?: string }> } & Record<string, unknown>;
  source: string;
}
