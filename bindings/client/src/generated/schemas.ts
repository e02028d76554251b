/** Owns the shapes on the wire. Made by `bindings/generate/client.py`; do not edit. */

/** The request that a client sends: the body of the AI SDK's chat transport (`vercel`), or `RunAgentInput` (`agui`); see docs/adapters.md. */
export type AdapterRequest = {
  /** vercel: the id of the chat. */
  id?: string;
  messages?: Record<string, unknown>[];
  trigger?: 'submit-message' | 'regenerate-message';
  messageId?: string | null;
  message?: string;
  thread_id?: string;
  state?: Record<string, unknown> | null;
  /** vercel: as `state`; agui: a list of `{description, value}`. */
  context?: unknown;
  attachments?: AttachmentInput[];
  on_disconnect?: 'continue' | 'cancel';
  /** agui: the id of the chat. */
  threadId?: string;
  /** agui: the client's id of its run. The studio uses it as idempotency key of the request. */
  runId?: string;
  resume?: {
    interruptId: string;
    status: 'resolved' | 'cancelled';
    payload?: unknown;
  }[];
};

export type Agent = {
  id: string;
  slug: string;
  name: string;
  description: string;
  provider: string;
  model: string;
  credential: string | null;
  instructions: string;
  tools: ToolRef[];
  require_tool_approval: boolean;
  tool_max_runs: number;
  parallel_tool_calls: boolean | null;
  on_length?: 'keep' | 'fail';
  /** Absent: `answer`. */
  on_tool_limit?: 'answer' | 'fail';
  /** Absent: false. */
  stream_approval?: boolean;
  parameters: Parameters;
  /** Models that the studio calls in this order if the agent's own model fails. Absent if there are none. */
  fallbacks?: Fallback[];
  output_schema: string | null;
  schema: Record<string, unknown> | null;
  memory_config: MemoryConfig | null;
  tags: string[];
  metadata: Record<string, unknown>;
  source: 'studio' | 'template' | 'code' | 'host';
  template_id: string | null;
  locked: boolean;
  class_path: string | null;
  revision: number;
  created_at: string;
  updated_at: string;
};

export type AgentBody = {
  slug?: string | null;
  name: string;
  description?: string | null;
  provider?: string | null;
  model?: string | null;
  credential?: string | null;
  instructions?: string | null;
  tools?: ToolRef[] | null;
  require_tool_approval?: boolean | null;
  tool_max_runs?: number | null;
  parallel_tool_calls?: boolean | null;
  on_length?: 'keep' | 'fail' | null;
  on_tool_limit?: 'answer' | 'fail' | null;
  stream_approval?: boolean | null;
  parameters?: Parameters | null;
  /** Models that the studio calls in this order if the agent's own model fails. */
  fallbacks?: Fallback[] | null;
  output_schema?: string | null;
  schema?: Record<string, unknown> | null;
  memory_config?: MemoryConfig | null;
  tags?: string[] | null;
  metadata?: Record<string, unknown> | null;
  revision?: number | null;
};

export type AgentUsed = {
  id: string;
  slug: string;
  name: string;
};

export type AttachedFile = {
  type: 'image' | 'audio' | 'video' | 'document';
  mime_type: string;
  storage_key: string;
  name: string | null;
  /** The size in bytes of a file that a model or a tool created. */
  size?: number;
};

export type Attachment = {
  storage_key: string;
  mime_type: string;
  name: string | null;
  type: 'image' | 'audio' | 'video' | 'document';
  size_bytes: number;
  url: string;
};

export type AttachmentForm = {
  file: Blob;
  type?: 'image' | 'audio' | 'video' | 'document';
};

export type AttachmentInput = {
  type: 'image' | 'audio' | 'video' | 'document';
  mime_type?: string | null;
  storage_key: string;
  name?: string | null;
};

export type BranchBody = {
  before?: string | null;
};

export type ChatBody = {
  message?: string | null;
  attachments?: AttachmentInput[] | null;
  thread_id?: string | null;
  on_disconnect?: 'continue' | 'cancel' | null;
  instructions?: string | null;
  provider?: string | null;
  model?: string | null;
  context?: Record<string, unknown> | null;
  parameters?: {
    temperature?: number | null;
    top_p?: number | null;
    max_tokens?: number | null;
  } | null;
};

export type ChatEventDone = {
  trace_id: string;
  thread_id: string;
  status: 'completed';
  message_id: string | null;
  reply: string | null;
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  cached_tokens: number;
  cache_write_tokens: number;
  /** The part of the cache-written tokens that the provider keeps for an hour. Absent if there are none. */
  cache_write_1h_tokens?: number;
  reasoning_tokens: number;
  estimated_cost: string;
  currency: string;
  unpriced: boolean;
  finish?: string;
  warnings?: Warning[];
};

export type ChatEventError = {
  trace_id: string;
  code: string;
  message: string;
};

/** A picture or a sound that the model generated. The studio stores it as an attachment before it sends this event. */
export type ChatEventFile = {
  storage_key: string;
  name: string;
  media_type: string;
  size: number;
};

export type ChatEventHumanInputRequired = {
  trace_id: string;
  pause_id: string;
};

/** The call of a model failed, and the studio calls another model instead. */
export type ChatEventModelFallback = {
  from: ModelName;
  to: ModelName;
  code: string;
  parent_call_id?: string;
};

/** A piece of the model's reasoning. It is not part of the answer. */
export type ChatEventReasoning = {
  delta: string;
};

export type ChatEventRunTerminal = {
  trace_id: string;
  status: string;
  error?: {
    code: string;
    message: string;
    node_id: string | null;
  };
};

/** A source of the answer, as the provider reports it: once for each source and step. */
export type ChatEventSource = {
  source_id: string;
  kind: 'url' | 'document';
  url?: string;
  title?: string;
  document_id?: string;
  page?: number;
};

export type ChatEventThread = {
  thread_id: string;
  trace_id: string;
  agent_id: string;
};

export type ChatEventToken = {
  delta: string;
};

export type ChatEventToolApprovalRequired = {
  trace_id: string;
  pause_id: string;
  pending_tools?: PendingTool[];
  message?: string | null;
};

export type ChatEventToolApprovalResolved = {
  trace_id: string;
  pause_id: string;
  approved?: boolean;
  decisions?: {
    call_id: string;
    approval: 'approve' | 'reject';
    edited: boolean;
  }[];
};

export type ChatEventToolCall = {
  call_id: string;
  name: string;
  inputs: Record<string, unknown>;
  parent_call_id?: string;
  omitted_keys?: string[];
};

export type ChatEventToolResult = {
  call_id: string;
  name: string;
  inputs: Record<string, unknown>;
  is_error: boolean;
  skipped: boolean;
  duration_ms: number;
  result?: string;
  /** Stored files that came with the result. */
  files?: StoredFile[];
  parent_call_id?: string;
  omitted_keys?: string[];
};

/** The data of each event of an agent's chat, by the event's name. Later versions add events and members. */
export type ChatEvents = {
  thread?: ChatEventThread;
  reasoning?: ChatEventReasoning;
  token?: ChatEventToken;
  model_fallback?: ChatEventModelFallback;
  source?: ChatEventSource;
  file?: ChatEventFile;
  tool_call?: ChatEventToolCall;
  tool_result?: ChatEventToolResult;
  human_input_required?: ChatEventHumanInputRequired;
  tool_approval_required?: ChatEventToolApprovalRequired;
  tool_approval_resolved?: ChatEventToolApprovalResolved;
  done?: ChatEventDone;
  error?: ChatEventError;
  run_terminal?: ChatEventRunTerminal;
};

export type Checkpoint = {
  state: Record<string, unknown>;
  node_id: string;
  pause_id: string;
  interrupt: string;
  prompt?: string;
  question?: PauseQuestion;
  output_key?: string;
  pending_tools?: PendingTool[];
  kind?: 'parallel';
  parallel?: Record<string, unknown>;
};

export type Checkpoints = {
  data: {
    key: string;
    trace_id: string;
    node_id: string;
    iteration_path: string;
    input_hash: string;
    handle: string;
    created_at: string;
    expires_at: string | null;
  }[];
};

export type Chunk = {
  id: string;
  document_id: string;
  content: string;
  score: number;
  source_type: string;
  source_name: string;
  position: number;
  /** The page of a PDF, or the slide of a presentation, from 1. */
  page?: number;
  /** The headings above the chunk, joined by ` > `. */
  heading?: string;
  /** The sheet of a workbook. */
  sheet?: string;
  metadata: Record<string, unknown>;
};

export type CodeExportBody = {
  kind: CodeKind;
  /** Id or slug. */
  id: string;
  target?: CodeTarget;
  overwrite?: boolean;
};

export type CodeExported = {
  /** Paths below `export_path`. */
  files: string[];
  class_path: string;
};

/** One of `ref`, `json`, `source`. */
export type CodeImportBody = {
  /** A `ref` of the registry, or the name of a class. */
  ref?: string;
  /** A workflow file (`meta`, `graph`, `agents`), or only a graph. */
  json?: Record<string, unknown>;
  /** The text of a source file. The studio reads it and never runs it. */
  source?: string;
  language?: CodeTarget;
  /** The class to import, if `source` has several. */
  class?: string;
};

/** `workflow`, `agent` or `tool`, depending on the imported definition. */
export type CodeImported = {
  workflow?: Workflow;
  agent?: Agent;
  tool?: Tool;
  reused?: boolean;
  agents: {
    id: string;
    slug: string;
    reused: boolean;
  }[];
};

export type CodeKind = 'workflow' | 'agent' | 'tool';

export type CodePreview = {
  code: string;
  class_name: string;
  namespace: string;
  fqcn: string;
  files: {
    path: string;
    code: string;
  }[];
  file_count: number;
};

export type CodePreviewBody = {
  kind: CodeKind;
  /** Id or slug. */
  id: string;
  target?: CodeTarget;
};

export type CodeTarget = 'php' | 'python' | 'typescript' | 'kotlin' | 'swift' | 'ruby' | 'rust';

/** Which output handle an edge may connect to which input handle. `|` separates alternatives, `<branch>` is any branch of a fork. */
export type ConnectionRule = {
  source: string;
  source_handle: string;
  target: string;
  target_handle: string;
  when: string | null;
};

export type DeleteBody = {
  revision?: number | null;
};

export type Document = {
  id: string;
  knowledge_base_id: string;
  name: string;
  source_type: 'manual' | 'file';
  mime_type: string;
  size_bytes: number;
  status: 'pending' | 'processing' | 'completed' | 'failed';
  /** Why the document failed, or why the last attempt failed. */
  error: string | null;
  /** The number of indexed chunks. It grows while the studio reads the document. */
  chunk_count: number;
  metadata: Record<string, unknown>;
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  cached_tokens: number;
  cache_write_tokens: number;
  reasoning_tokens: number;
  estimated_cost: string;
  currency: string;
  unpriced: boolean;
  created_at: string;
  updated_at: string;
};

export type DocumentBody = {
  name: string;
  text: string;
  mime_type?: 'text/plain' | 'text/markdown' | 'text/csv' | 'text/html' | null;
  metadata?: Record<string, unknown> | null;
};

export type DocumentForm = {
  file: Blob;
  /** A JSON object. */
  metadata?: string;
};

/** The decision about a call whose outcome is unknown. */
export type DoubtAnswer = {
  call_id: string;
  action: 'rerun' | 'skip' | 'use';
  result?: string | null;
};

/** A call that the studio must not repeat and whose outcome is unknown. */
export type DoubtfulCall = {
  call_id: string;
  name: string;
  arguments: unknown;
  node_id: string;
};

export type Draft = {
  graph: Record<string, unknown>;
  draft_revision: number;
  based_on_revision: number;
  updated_at: string;
  issues: Issue[];
};

export type DraftBody = {
  graph: Record<string, unknown>;
  draft_revision?: number | null;
};

export type DraftDeleteBody = {
  draft_revision?: number | null;
};

export type DraftSaveBody = {
  draft_revision?: number | null;
  revision?: number | null;
};

export type EventBranchCompleted = {
  trace_id: string;
  duration_ms: number;
  fork_id?: string;
  branch_id?: string;
  branch_path?: string[];
};

export type EventBranchStarted = {
  trace_id: string;
  fork_id?: string;
  branch_id?: string;
  branch_path?: string[];
};

export type EventCheckpointHit = {
  trace_id: string;
  step_id: string;
  node_id: string;
  iteration: number | null;
  input_hash: string;
  branch_id?: string;
  branch_path?: string[];
};

/** A picture or a sound that the model generated. The studio stores it as an attachment before it sends this event. */
export type EventFile = {
  trace_id: string;
  step_id: string;
  node_id: string;
  storage_key: string;
  name: string;
  media_type: string;
  size: number;
  branch_id?: string;
  branch_path?: string[];
};

export type EventHumanInputRequired = {
  trace_id: string;
  step_id: string;
  node_id: string;
  pause_id: string;
  prompt: string | null;
  output_key: string | null;
  thread_id: string;
  question?: PauseQuestion;
  branch_id?: string;
  branch_path?: string[];
};

export type EventLoopIteration = {
  trace_id: string;
  step_id: string;
  node_id: string;
  iteration: number | null;
  max_steps: number | null;
  branch_id?: string;
  branch_path?: string[];
};

/** The call of a model failed, and the studio calls another model instead. */
export type EventModelFallback = {
  trace_id: string;
  step_id: string;
  node_id: string;
  from: ModelName;
  to: ModelName;
  code: string;
  parent_call_id?: string;
  branch_id?: string;
  branch_path?: string[];
};

export type EventParallelInterrupt = {
  trace_id: string;
  node_id: string;
  pause_id: string;
  reason: 'human' | 'tool_approval';
  fork_id?: string;
  branch_id?: string;
  branch_path?: string[];
};

export type EventRagQuery = {
  trace_id: string;
  step_id: string;
  node_id: string;
  query: string | null;
  knowledge_base_id: string | null;
  chunk_count: number | null;
  top_score: number | null;
  branch_id?: string;
  branch_path?: string[];
};

/** A piece of the model's reasoning. It is not part of the answer. */
export type EventReasoning = {
  trace_id: string;
  step_id: string;
  node_id: string;
  delta: string;
  publish_reply: boolean;
  branch_id?: string;
  branch_path?: string[];
};

export type EventRunTerminal = {
  trace_id: string;
  status: string;
  error?: {
    code: string;
    message: string;
    node_id: string | null;
  };
  branch_id?: string;
  branch_path?: string[];
};

/** A source of the answer, as the provider reports it: once for each source and step. */
export type EventSource = {
  trace_id: string;
  step_id: string;
  node_id: string;
  source_id: string;
  kind: 'url' | 'document';
  url?: string;
  title?: string;
  document_id?: string;
  page?: number;
  branch_id?: string;
  branch_path?: string[];
};

export type EventStepCompleted = {
  trace_id: string;
  step_id: string;
  node_id: string;
  node_type: string;
  handle: string;
  duration_ms: number;
  iteration: number | null;
  changes: Record<string, unknown>;
  node_title?: string;
  omitted_keys?: string[];
  prompt_tokens?: number;
  completion_tokens?: number;
  total_tokens?: number;
  cached_tokens?: number;
  cache_write_tokens?: number;
  /** The part of the cache-written tokens that the provider keeps for an hour. Absent if there are none. */
  cache_write_1h_tokens?: number;
  reasoning_tokens?: number;
  estimated_cost?: string;
  currency?: string;
  unpriced?: boolean;
  provider?: string | null;
  model?: string | null;
  finish?: string;
  warnings?: Warning[];
  error?: {
    code: string;
    message: string;
  };
  branch_id?: string;
  branch_path?: string[];
};

export type EventStepFailed = {
  trace_id: string;
  step_id: string;
  node_id: string;
  node_type: string;
  duration_ms: number;
  code: string;
  message: string;
  validation_errors?: unknown;
  prompt_tokens?: number;
  completion_tokens?: number;
  total_tokens?: number;
  cached_tokens?: number;
  cache_write_tokens?: number;
  /** The part of the cache-written tokens that the provider keeps for an hour. Absent if there are none. */
  cache_write_1h_tokens?: number;
  reasoning_tokens?: number;
  estimated_cost?: string;
  currency?: string;
  unpriced?: boolean;
  branch_id?: string;
  branch_path?: string[];
};

export type EventStepRetrying = {
  trace_id: string;
  step_id: string;
  node_id: string;
  attempt: number;
  delay_ms: number;
  code: string;
  message: string;
  branch_id?: string;
  branch_path?: string[];
};

export type EventStepStarted = {
  trace_id: string;
  step_id: string;
  node_id: string;
  node_type: string;
  iteration: number | null;
  attempt: number;
  node_title?: string;
  resumed?: boolean;
  branch_id?: string;
  branch_path?: string[];
};

export type EventThread = {
  trace_id: string;
  thread_id: string;
  workflow_id: string;
  branch_id?: string;
  branch_path?: string[];
};

export type EventToken = {
  trace_id: string;
  step_id: string;
  node_id: string;
  delta: string;
  publish_reply: boolean;
  branch_id?: string;
  branch_path?: string[];
};

export type EventToolApprovalRequired = {
  trace_id: string;
  step_id: string;
  node_id: string;
  pause_id: string;
  pending_tools: PendingTool[];
  message: string | null;
  branch_id?: string;
  branch_path?: string[];
};

export type EventToolApprovalResolved = {
  trace_id: string;
  step_id: string;
  node_id: string;
  pause_id: string;
  approved?: boolean;
  decisions?: {
    call_id: string;
    approval: 'approve' | 'reject';
    edited: boolean;
  }[];
  branch_id?: string;
  branch_path?: string[];
};

export type EventToolCall = {
  trace_id: string;
  step_id: string;
  node_id: string;
  call_id: string;
  name: string;
  inputs: Record<string, unknown>;
  result: null;
  parent_call_id?: string;
  omitted_keys?: string[];
  branch_id?: string;
  branch_path?: string[];
};

export type EventToolResult = {
  trace_id: string;
  step_id: string;
  node_id: string;
  call_id: string;
  name: string;
  inputs: Record<string, unknown>;
  is_error: boolean;
  skipped: boolean;
  duration_ms: number;
  result?: string;
  /** Stored files that came with the result. */
  files?: StoredFile[];
  parent_call_id?: string;
  omitted_keys?: string[];
  branch_id?: string;
  branch_path?: string[];
};

export type EventTraceCancelled = {
  trace_id: string;
  node_id: string | null;
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  cached_tokens: number;
  cache_write_tokens: number;
  /** The part of the cache-written tokens that the provider keeps for an hour. Absent if there are none. */
  cache_write_1h_tokens?: number;
  reasoning_tokens: number;
  estimated_cost: string;
  currency: string;
  unpriced: boolean;
  branch_id?: string;
  branch_path?: string[];
};

export type EventTraceCompleted = {
  trace_id: string;
  status: 'completed';
  output: Record<string, unknown>;
  reply: string | null;
  thread_id: string;
  duration_ms: number;
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  cached_tokens: number;
  cache_write_tokens: number;
  /** The part of the cache-written tokens that the provider keeps for an hour. Absent if there are none. */
  cache_write_1h_tokens?: number;
  reasoning_tokens: number;
  estimated_cost: string;
  currency: string;
  unpriced: boolean;
  branch_id?: string;
  branch_path?: string[];
};

export type EventTraceFailed = {
  trace_id: string;
  node_id: string | null;
  code: string;
  message: string;
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  cached_tokens: number;
  cache_write_tokens: number;
  /** The part of the cache-written tokens that the provider keeps for an hour. Absent if there are none. */
  cache_write_1h_tokens?: number;
  reasoning_tokens: number;
  estimated_cost: string;
  currency: string;
  unpriced: boolean;
  validation_errors?: unknown;
  calls?: DoubtfulCall[];
  branch_id?: string;
  branch_path?: string[];
};

export type EventTraceStarted = {
  trace_id: string;
  workflow_id: string;
  thread_id: string;
  status: 'running';
  started_at: string;
  branch_id?: string;
  branch_path?: string[];
};

export type Fallback = {
  provider: string;
  model: string;
  credential?: string | null;
  parameters?: Parameters | null;
};

export type Graph = {
  version: 1;
  nodes: GraphNode[];
  edges: GraphEdge[];
  /** Notes: nodes of the type `note`. */
  annotations: GraphNode[];
  viewport: {
    x: number;
    y: number;
    zoom: number;
  };
};

export type GraphBody = {
  graph: Record<string, unknown>;
  workflow_id?: string | null;
};

export type GraphEdge = {
  id: string;
  source: string;
  target: string;
  sourceHandle: string;
  targetHandle: string;
};

/** A graph as a client sends it. The studio fills in omitted members. */
export type GraphInput = {
  version: 1;
  nodes: {
    id: string;
    type: string;
    position?: Record<string, unknown>;
    data?: Record<string, unknown>;
    title?: string | null;
  }[];
  edges: {
    id?: string;
    source: string;
    target: string;
    sourceHandle?: string;
    targetHandle?: string;
  }[];
  annotations?: unknown[];
  viewport?: Record<string, unknown>;
};

export type GraphNode = {
  id: string;
  type: string;
  position: {
    x: number;
    y: number;
  };
  data: Record<string, unknown>;
  title?: string | null;
};

export type GraphSchema = {
  version: number;
  node_types: NodeType[];
  connections: ConnectionRule[];
  operators: {
    name: string;
    value: string | null;
  }[];
};

/** The payload of each call to the host and, if the studio expects one, its result, by the op. */
export type HostCalls = {
  'tool.call'?: {
    payload: HostToolCall;
    result?: unknown;
  };
  'tool.cancel'?: {
    payload: HostToolCancel;
  };
  gate?: {
    payload: HostGate;
    result?: {
      allow: boolean;
    };
  };
  'secret.get'?: {
    payload: HostSecretGet;
    result?: {
      value: string;
    };
  };
  'mcp.authorize'?: {
    payload: HostMcpAuthorize;
    result?: {
      token: string;
    };
  };
  'mcp.elicit'?: {
    payload: HostMcpElicit;
    result?: {
      action: 'accept' | 'decline' | 'cancel';
      content?: Record<string, unknown>;
    };
  };
  'provider.chat'?: {
    payload: HostProviderChat;
    result?: {
      message: unknown;
      finish_reason: 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'other';
      tool_calls?: unknown[];
      usage?: Record<string, unknown>;
    };
  };
  'provider.rerank'?: {
    payload: HostProviderRerank;
    result?: {
      results: {
        index: number;
        relevance_score: number;
      }[];
      usage?: {
        total_tokens?: number;
      };
    };
  };
  'usage.recorded'?: {
    payload: HostUsageRecorded;
    /** The studio ignores it. */
    result?: unknown;
  };
  log?: {
    payload: HostLog;
  };
};

/** The host decides whether a request is allowed. */
export type HostGate = {
  gate: string;
  tenant: string;
  method: string;
  path: string;
  /** How long the studio waits for the answer, in milliseconds. */
  timeout_ms: number;
  /** The user, as the host passed it in the mark `user`. */
  user?: unknown;
};

/** A line of the log. */
export type HostLog = {
  level: string;
  target: string;
  message: string;
  fields?: Record<string, unknown>;
};

/** The marks that a host adds to an HTTP request, in the head of `studio_http`. */
export type HostMarks = {
  /** The user, any JSON. The studio stores its `id` with the runs that the user starts. */
  user?: unknown;
  /** The owner of the data. */
  tenant?: string;
  /** The host's decision whether the request is allowed. */
  gate?: boolean | null;
  /** The host has checked that this request may use the export prefix. */
  authorized?: boolean | null;
  /** The public address of the host, with the path below which it mounts the studio. */
  base_url?: string | null;
  /** The beginning of the path that the host's server and routers have already consumed. */
  root_path?: string | null;
  /** `inline`: the stream of the answer delivers the calls to the host. */
  host_calls?: 'inline' | null;
  /** The host has not read the body yet and asks whether it should. */
  expect?: '100-continue' | null;
};

/** The host returns a token for an MCP server that requires authorization. `challenge` is text of the server: do not trust it. */
export type HostMcpAuthorize = {
  server: string;
  url: string;
  tenant: string;
  /** How long the studio waits for the answer, in milliseconds. */
  timeout_ms: number;
  status?: number | null;
  challenge?: string | null;
};

/** An MCP server asks a person a question. The texts come from the server: do not trust them. */
export type HostMcpElicit = {
  server: string;
  tenant: string;
  message: string;
  /** How long the studio waits for the answer, in milliseconds. */
  timeout_ms: number;
  tool?: string;
  trace_id?: string;
  node_id?: string;
  call_id?: string;
  /** The user, as the host passed it in the mark `user`. */
  user?: unknown;
  schema?: unknown;
  problems?: unknown;
  /** The span of the call, in the format of W3C Trace Context. */
  traceparent?: string | null;
  tracestate?: string | null;
};

/** A model of the host answers. */
export type HostProviderChat = {
  provider: string;
  model: string;
  /** If this model sent a message in parts, the message has these `parts`, with the host's own `provider_data`. */
  messages: unknown[];
  tools: unknown[];
  parameters: unknown;
  stream: boolean;
  /** How long the studio waits for the answer, in milliseconds. */
  timeout_ms: number;
  schema?: unknown;
  media?: unknown[];
  /** The span of the call, in the format of W3C Trace Context. */
  traceparent?: string | null;
  tracestate?: string | null;
};

/** A model of the host sorts texts. */
export type HostProviderRerank = {
  provider: string;
  model: string;
  query: string;
  documents: string[];
  tenant: string;
  timeout_ms: number;
  traceparent?: string | null;
  tracestate?: string | null;
};

/** The host returns the value of a secret. */
export type HostSecretGet = {
  name: string;
  tenant: string;
  /** How long the studio waits for the answer, in milliseconds. */
  timeout_ms: number;
};

/** The host runs one of its tools. */
export type HostToolCall = {
  name: string;
  arguments: unknown;
  call_id: string;
  idempotency_key: string;
  trace_id: string;
  node_id: string;
  tenant: string;
  /** How long the studio waits for the answer, in milliseconds. */
  timeout_ms: number;
  /** The user, as the host passed it in the mark `user`. */
  user?: unknown;
  /** The span of the call, in the format of W3C Trace Context. */
  traceparent?: string | null;
  tracestate?: string | null;
};

/** The studio no longer needs a result. `call_id` is the id of the tool call, `cancels` the `call_id` of the call to the host. */
export type HostToolCancel = {
  call_id: string | null;
  cancels: number;
};

/** A run ended; the payload has its usage. The studio repeats the call until the host answers. */
export type HostUsageRecorded = {
  /** How long the studio waits for the answer, in milliseconds. */
  timeout_ms: number;
  eventId?: string;
};

export type InstallBody = {
  name?: string | null;
};

/** `workflow`, or `agent` and `reused`. */
export type Installed = {
  workflow?: Workflow;
  agent?: Agent;
  reused?: boolean;
  agents: {
    id: string;
    slug: string;
    reused: boolean;
  }[];
};

export type Issue = {
  code: string;
  severity: 'error' | 'warning';
  message: string;
  node_id?: string | null;
  edge_id?: string | null;
  field?: string | null;
};

export type KnowledgeBase = {
  id: string;
  slug: string;
  name: string;
  description: string;
  embeddings_provider: string;
  embeddings_model: string;
  dimensions: number | null;
  language:
    | 'simple' | 'ar' | 'da' | 'de' | 'el' | 'en' | 'es' | 'fi' | 'fr' | 'hu' | 'it' | 'ja'
    | 'ko' | 'nl' | 'no' | 'pt' | 'ro' | 'ru' | 'sv' | 'ta' | 'tr' | 'zh';
  retrieval_defaults: {
    mode: 'hybrid' | 'vector' | 'text';
    top_k: number;
    threshold: number | null;
    filter: Record<string, unknown>;
    rerank?: Rerank;
  };
  chunking: {
    max_words: number;
    overlap_words: number;
  };
  metadata: Record<string, unknown>;
  source: 'studio' | 'template' | 'code' | 'host';
  locked: boolean;
  revision: number;
  created_at: string;
  updated_at: string;
  document_count: number;
  chunk_count: number;
  size_bytes: number;
  needs_reindex: boolean;
};

export type KnowledgeBaseBody = {
  slug?: string | null;
  name: string;
  description?: string | null;
  embeddings_provider?: string | null;
  embeddings_model?: string | null;
  dimensions?: number | null;
  language?:
    | 'simple' | 'ar' | 'da' | 'de' | 'el' | 'en' | 'es' | 'fi' | 'fr' | 'hu' | 'it' | 'ja'
    | 'ko' | 'nl' | 'no' | 'pt' | 'ro' | 'ru' | 'sv' | 'ta' | 'tr' | 'zh' | null;
  retrieval_defaults?: {
    mode?: 'hybrid' | 'vector' | 'text' | null;
    top_k?: number | null;
    threshold?: number | null;
    filter?: Record<string, unknown> | null;
    rerank?: RerankInput;
  } | null;
  chunking?: {
    max_words?: number | null;
    overlap_words?: number | null;
  } | null;
  metadata?: Record<string, unknown> | null;
  revision?: number | null;
};

export type McpServer = {
  id: string;
  slug: string;
  name: string;
  description: string;
  transport: 'stdio' | 'http' | 'sse';
  command: string | null;
  args: string[];
  env: Record<string, unknown>;
  url: string | null;
  headers: Record<string, unknown>;
  token: string | null;
  only: string[];
  exclude: string[];
  require_approval: boolean;
  timeout_ms: number;
  enabled: boolean;
  metadata: Record<string, unknown>;
  source: 'studio' | 'template' | 'code' | 'host';
  locked: boolean;
  revision: number;
  created_at: string;
  updated_at: string;
};

export type McpServerBody = {
  slug?: string | null;
  name: string;
  description?: string | null;
  transport?: 'stdio' | 'http' | 'sse' | null;
  command?: string | null;
  args?: string[] | null;
  env?: Record<string, unknown> | null;
  url?: string | null;
  headers?: Record<string, unknown> | null;
  token?: string | null;
  only?: string[] | null;
  exclude?: string[] | null;
  require_approval?: boolean | null;
  timeout_ms?: number | null;
  enabled?: boolean | null;
  metadata?: Record<string, unknown> | null;
  revision?: number | null;
};

export type McpServerTest = {
  ok: boolean;
  protocol_version: string | null;
  tools: {
    name: string;
    description: string;
    input_schema: Record<string, unknown>;
  }[];
  error: string | null;
};

export type MemoryConfig = {
  context_window?: number | null;
  driver?: 'database' | 'in_memory' | null;
  summarization_enabled?: boolean | null;
  summarization_threshold?: number | null;
  budget_rag?: number | null;
  budget_tool_results?: number | null;
  budget_state?: number | null;
  /** Absent: `auto`. */
  inside_turn?: 'auto' | 'off' | null;
};

export type Message = {
  id: string;
  role: 'user' | 'assistant' | 'system';
  content: string;
  attachments: AttachedFile[];
  trace_id: string | null;
  meta: Record<string, unknown>;
  created_at: string;
  tool_calls?: MessageCall[];
  /** With `include=parts`: the parts of the message in order, including the reasoning, calls and results of its run since the previous message. */
  parts?: MessagePart[];
};

export type MessageCall = {
  call_id: string;
  name: string;
  inputs: unknown;
  result: string | null;
  files?: StoredFile[];
  is_error: boolean;
};

/** A part of a message. Later versions add types and members. */
export type MessagePart = {
  type: 'reasoning' | 'text' | 'file' | 'call' | 'result' | 'source';
  text?: string;
  storage_key?: string;
  media_type?: string;
  source_id?: string;
  kind?: 'url' | 'document';
  url?: string;
  title?: string;
  document_id?: string;
  page?: number;
  call_id?: string | null;
  name?: string | null;
  inputs?: unknown;
  is_error?: boolean;
  parts?: MessagePart[];
};

export type Model = {
  provider: string;
  id: string;
  label: string;
  capabilities: string[];
  context_window: number | null;
  max_output: number | null;
  input: ('text' | 'image' | 'audio' | 'video' | 'pdf')[];
  output: ('text' | 'image' | 'audio' | 'video' | 'pdf')[];
  reasoning: 'none' | 'effort' | 'budget' | 'adaptive' | 'always';
  efforts: string[];
  sampling: boolean;
  stop: boolean;
  tools: boolean;
  tool_choice: boolean;
  parallel_tools: boolean;
  structured: 'schema' | 'json' | 'none';
  cache: 'automatic' | 'marked' | 'none';
  deprecated_at: string | null;
  retired_at: string | null;
  replacement: string | null;
  price: Price | null;
  source: 'bundled' | 'configured';
};

export type ModelName = {
  provider: string;
  model: string;
};

export type Models = {
  /** The date of the bundled table. */
  updated: string;
  data: Model[];
};

/** A key of a node's `data`. */
export type NodeKey = {
  name: string;
  type: 'string' | 'boolean' | 'integer' | 'number' | 'object' | 'array' | 'any';
  default: unknown;
  min?: number;
  max?: number | null;
  /** The allowed values. */
  values?: string[];
  required: boolean;
  template: boolean;
};

export type NodeType = {
  type: string;
  label: string;
  group: string;
  source_handles: string[];
  target_handles: string[];
  keys: NodeKey[];
};

export type OpenApi = {
  openapi: string;
  info: Record<string, unknown>;
  paths: Record<string, unknown>;
};

export type OpenPause = {
  trace_id: string;
  pause_id: string;
  reason: string;
};

export type Parameters = {
  temperature?: number | null;
  top_p?: number | null;
  max_tokens?: number | null;
  reasoning_effort?: string | null;
  stop?: string[] | null;
  /** How long the provider caches the beginning of a prompt, for providers whose requests mark it. */
  cache_ttl?: '5m' | '1h';
  /** Whether the studio requests and shows the model's reasoning. Absent: auto. */
  show_reasoning?: 'auto' | 'none';
  /** `required` and a tool name apply to the first call of a step only. */
  tool_choice?: 'auto' | 'none' | 'required' | {
    tool: string;
  };
  /** Members of the request body, by kind or id of a provider. Members that the studio sets itself are not allowed. */
  provider_options?: Record<string, Record<string, unknown>>;
};

/** A merge patch (RFC 7396). `revision` has the same effect as `If-Match`. */
export type Patch = Record<string, unknown>;

export type Pause = {
  pause_id: string;
  node_id: string;
  step_id: string;
  reason: 'human' | 'tool_approval';
  prompt?: string;
  question?: PauseQuestion;
  output_key?: string;
  pending_tools?: PendingTool[];
  message?: string;
  fork_id?: string;
  branch_id?: string;
  branch_path?: string[];
  created_at: string;
};

export type PauseQuestion = {
  server: string;
  tool: string;
  call_id: string;
  schema: Record<string, unknown>;
};

export type PendingTool = {
  name: string;
  arguments: unknown;
  call_id: string;
  /** The slug of the MCP server that receives the call. Absent for other tools, and in runs of earlier versions. */
  server?: string;
  /** Arguments that the workflow fixes for the tool. A decision cannot change them. Absent if there are none, and in runs of earlier versions. */
  fixed_arguments?: Record<string, unknown>;
};

/** The cost of a number of tokens, as decimals. */
export type Price = {
  input: string;
  output: string;
  per_tokens: 1000 | 1000000;
};

export type ProblemBody = {
  type: string;
  title: string;
  status: number;
  detail: string;
  code: string;
  message: string;
  errors?: Record<string, string[]>;
  request_id?: string;
};

export type Provider = {
  id: string;
  label: string;
  kind: string;
  configured: boolean;
  models: ProviderModel[];
  embeddings: {
    id: string;
    dimensions: number | null;
  }[];
  /** The limits of this engine's requests to the provider. Absent if there are none. */
  limits?: {
    concurrent?: number | null;
    requests_per_minute?: number | null;
    tokens_per_minute?: number | null;
  };
};

export type ProviderModel = {
  id: string;
  label: string;
  capabilities: string[];
  context_window: number | null;
  price: Price | null;
};

export type Providers = {
  data: Provider[];
  default_provider: string;
  default_model: string;
};

export type RegistryClass = RegistryClassListed & {
  locked: boolean;
  /** The definition as an import would store it. Agent nodes of its `graph` refer to agents by `agent_ref`. */
  definition: Record<string, unknown>;
  source: string;
};

export type RegistryClassListed = {
  /** The `ref` with which an import selects the class. */
  ref: string;
  label: string;
  kind: CodeKind;
  description: string;
  /** The file and the class, or the class that the application registered; null for a JSON file. */
  class_path: string | null;
  json_path: string | null;
  language: 'php' | 'python' | 'typescript' | 'kotlin' | 'swift' | 'ruby' | 'rust' | null;
};

export type RegistryClasses = {
  data: RegistryClassListed[];
};

export type RegistrySchemas = {
  data: {
    name: string;
    schema: Record<string, unknown>;
  }[];
};

export type RegistryTool = {
  ref: string;
  name: string;
  description: string;
  input_schema: unknown;
  kind: string;
  require_approval: boolean;
  idempotent: boolean;
};

export type RegistryTools = {
  data: RegistryTool[];
};

export type Rerank = {
  provider: string;
  model: string;
  candidates: number;
};

export type RerankInput = {
  provider?: string | null;
  model?: string | null;
  candidates?: number | null;
} | null;

export type ResumeBody = {
  node_id?: string | null;
  pause_id?: string | null;
  approval?: 'approve' | 'reject' | null;
  message?: string | null;
  attachments?: AttachmentInput[] | null;
  decisions?: {
    call_id: string;
    approval: 'approve' | 'reject';
    arguments?: Record<string, unknown> | null;
    message?: string | null;
  }[] | null;
  on_disconnect?: 'continue' | 'cancel' | null;
};

export type ResumeQueued = {
  trace_id: string;
  status: 'queued' | 'running' | 'awaiting_input' | 'awaiting_tool_approval' | 'completed' | 'failed' | 'cancelled';
  pause_id: string | null;
};

export type RetryBody = {
  from_step_id?: string | null;
  state?: Record<string, unknown> | null;
  in_doubt?: DoubtAnswer[] | null;
};

export type RetryQueued = {
  trace_id: string;
  status: 'queued' | 'running' | 'awaiting_input' | 'awaiting_tool_approval' | 'completed' | 'failed' | 'cancelled';
};

export type RevisionSummary = {
  revision: number;
  created_at: string;
  user_id: string | null;
  node_count: number;
};

export type RunBody = {
  message?: string | null;
  state?: Record<string, unknown> | null;
  thread_id?: string | null;
  attachments?: AttachmentInput[] | null;
  on_disconnect?: 'continue' | 'cancel' | null;
  draft?: boolean | null;
  trial?: {
    break_before?: string[] | null;
    pins?: Record<string, unknown> | null;
    only?: string | null;
  } | null;
};

export type RunCancelled = {
  trace_id: string;
  status: 'running' | 'cancelled';
};

export type RunCounts = {
  queued: number;
  running: number;
  awaiting_input: number;
  awaiting_tool_approval: number;
};

export type RunError = {
  code: string;
  message: string;
  node_id: string | null;
  calls?: DoubtfulCall[];
};

export type RunInput = {
  message: string;
  state: Record<string, unknown>;
  attachments: AttachedFile[];
  thread_id: string | null;
};

export type RunQueued = {
  trace_id: string;
  status: 'queued' | 'running' | 'awaiting_input' | 'awaiting_tool_approval' | 'completed' | 'failed' | 'cancelled';
  thread_id: string;
};

export type RunSummary = {
  id: string;
  trace_id: string;
  status: 'queued' | 'running' | 'awaiting_input' | 'awaiting_tool_approval' | 'completed' | 'failed' | 'cancelled';
  entity_type: 'agent' | 'workflow';
  entity_id: string;
  entity_name: string;
  workflow_id: string | null;
  thread_id: string;
  parent_run_id: string | null;
  awaiting_node_id: string | null;
  awaiting_pause_id: string | null;
  input_preview: string;
  mode: 'sync' | 'async';
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  duration_ms: number;
  working_ms: number;
  waiting_ms: number;
  error: RunError | null;
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  cached_tokens: number;
  cache_write_tokens: number;
  /** The part of the cache-written tokens that the provider keeps for an hour. Absent if there are none. */
  cache_write_1h_tokens?: number;
  reasoning_tokens: number;
  estimated_cost: string;
  currency: string;
  unpriced: boolean;
};

export type RunUsage = UsageFigures & {
  id: string;
  thread_id: string;
  parent_run_id: string | null;
  is_child: boolean;
  entity: {
    type: 'agent' | 'workflow';
    id: string;
    name: string | null;
  };
  status: string;
  currency: string;
  started_at: string | null;
  finished_at: string | null;
  spans: (UsageFigures & {
    id: string;
    provider: string;
    model: string;
    started_at: string;
  })[];
};

export type SearchAnswer = {
  knowledge_base_id: string;
  query: string;
  chunk_count: number;
  top_score: number;
  results: Chunk[];
  warnings?: Warning[];
};

export type SearchBody = {
  query: string;
  top_k?: number | null;
  threshold?: number | null;
  mode?: 'hybrid' | 'vector' | 'text' | null;
  rerank?: RerankInput;
  /** Conditions on the metadata of documents: `{key: value}` or `{key: {eq|ne|in|gt|gte|lt|lte: value}}`. */
  filter?: Record<string, unknown> | null;
};

export type Settings = {
  flags: Record<string, boolean>;
  keys: {
    key: string;
    value: unknown;
    source: 'env' | 'config' | 'default';
    gates?: string | null;
  }[];
  /** For each observability system: how many spans were sent, were dropped and are waiting, and the last error. */
  observability: {
    target: 'otlp' | 'langfuse' | 'inspector';
    sent: number;
    dropped: number;
    waiting: number;
    failures: number;
    last_error: string | null;
  }[];
};

export type Span = {
  id: string;
  parent_span_id: string | null;
  step_id: string | null;
  node_id: string | null;
  type: 'llm' | 'tool' | 'rag' | 'embedding' | 'memory' | 'context';
  name: string;
  status: string;
  /** Why the last answer of the model ended. */
  finish?: 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'other';
  /** For spans of models, embeddings and rerankers: where the cost came from. */
  cost_source?: 'provider' | 'table' | 'none';
  /** For `llm` spans: members of the request, by kind or id of a provider, as the agent or node sets them. */
  provider_options?: Record<string, unknown>;
  /** For `llm` spans: the provider's id of the answer. */
  response_id?: string;
  /** For `llm` spans: the provider's name of the model that answered. */
  response_model?: string;
  /** For `llm` spans: the time to the first piece of text or reasoning. Absent if there was none. */
  first_piece_ms?: number;
  /** For `llm` spans: the settings of the request. Absent if the request has none. */
  parameters?: {
    temperature?: number;
    top_p?: number;
    max_tokens?: number;
    reasoning_effort?: string;
    stop?: string[];
  };
  /** For `llm` spans: how long the call waited because of the limits of its provider. Absent if it did not wait. */
  waited_ms?: number;
  warnings?: Warning[];
  provider?: string | null;
  model?: string | null;
  input?: unknown;
  output?: unknown;
  /** The answer was too large to include the input and the output of the call. Read them with the route of the step. */
  payloads_omitted?: boolean;
  error?: unknown;
  started_at: string;
  finished_at: string | null;
  duration_ms: number;
  prompt_tokens?: number;
  completion_tokens?: number;
  total_tokens?: number;
  cached_tokens?: number;
  cache_write_tokens?: number;
  /** The part of the cache-written tokens that the provider keeps for an hour. Absent if there are none. */
  cache_write_1h_tokens?: number;
  reasoning_tokens?: number;
  estimated_cost?: string;
  currency?: string;
  unpriced?: boolean;
};

export type Step = {
  id: string;
  seq: number;
  node_id: string;
  node_type: string;
  node_title: string | null;
  status: 'running' | 'paused' | 'completed' | 'failed' | 'cancelled';
  handle: string | null;
  iteration: number | null;
  iteration_path: string;
  branch_id: string | null;
  branch_path: string[];
  attempt: number;
  checkpoint_hit: boolean;
  superseded: boolean;
  started_at: string;
  finished_at: string | null;
  duration_ms: number;
  state_snapshot?: Record<string, unknown> | null;
  state_omitted?: boolean;
  output?: Record<string, unknown> | null;
  /** The answer was too large to include what the step wrote. Read it with the route of the step. */
  payloads_omitted?: boolean;
  error: StepError | null;
  validation_errors?: string[];
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  cached_tokens: number;
  cache_write_tokens: number;
  /** The part of the cache-written tokens that the provider keeps for an hour. Absent if there are none. */
  cache_write_1h_tokens?: number;
  reasoning_tokens: number;
  estimated_cost: string;
  currency: string;
  unpriced: boolean;
  /** Why the last answer of the model ended. */
  finish?: 'stop' | 'length' | 'tool_calls' | 'content_filter' | 'other';
  warnings?: Warning[];
  provider: string | null;
  model: string | null;
  thread_id?: string | null;
  attachment_count?: number;
  child_run_id?: string | null;
  chunk_count?: number;
  top_score?: number | null;
  citations?: {
    n: number;
    chunk_id: string | null;
    document_id: string | null;
    source_name: string | null;
    /** Not in runs of earlier versions. */
    knowledge_base_id?: string | null;
    position?: number;
    page?: number;
    heading?: string;
    sheet?: string;
  }[];
};

export type StepError = {
  code: string;
  message: string;
};

export type StoredFile = {
  storage_key: string;
  name: string;
  media_type: string;
  size: number;
};

/** The file of a template: `definition` of an agent, `graph` of a workflow. */
export type Template = {
  meta: {
    id: string;
    name: string;
    description?: string | null;
    category?: string | null;
    complexity?: string | null;
    tags?: string[] | null;
    agents?: string[] | null;
  };
  /** The same as the body of an agent, without the name. */
  definition?: {
    provider: string;
    model: string;
    instructions?: string | null;
    tools?: ToolRef[] | null;
  };
  graph?: Graph;
  install_preview: {
    agents_create: string[];
    agents_reuse: string[];
  };
};

export type TemplateListed = {
  id: string;
  type: 'agent' | 'workflow';
  name: string;
  description: string;
  category: string;
  complexity: 'basic' | 'intermediate' | 'advanced' | null;
  tags: string[];
  agents: string[];
  node_types: string[];
  source: 'bundled' | 'host';
};

export type Templates = {
  data: TemplateListed[];
};

export type Thread = ThreadSummary & {
  messages: Message[];
  next_cursor?: string | null;
};

export type ThreadMessages = {
  thread_id: string;
  messages: Message[];
  next_cursor: string | null;
};

export type ThreadSummary = {
  id: string;
  entity_type: 'agent' | 'workflow';
  entity_id: string;
  label: string;
  preview: string | null;
  message_count: number;
  run_count: number;
  open_pause: OpenPause | null;
  created_at: string;
  updated_at: string;
};

export type Tool = {
  id: string;
  slug: string;
  name: string;
  description: string;
  kind: 'webhook' | 'builder' | 'rag';
  input_schema: Record<string, unknown>;
  config: Record<string, unknown>;
  require_approval: boolean;
  idempotent: boolean;
  timeout_ms: number | null;
  tags: string[];
  metadata: Record<string, unknown>;
  source: 'studio' | 'template' | 'code' | 'host';
  locked: boolean;
  class_path: string | null;
  revision: number;
  created_at: string;
  updated_at: string;
};

export type ToolBody = {
  slug?: string | null;
  name: string;
  description?: string | null;
  kind?: 'webhook' | 'builder' | 'rag' | null;
  input_schema?: Record<string, unknown> | null;
  config?: Record<string, unknown> | null;
  require_approval?: boolean | null;
  idempotent?: boolean | null;
  timeout_ms?: number | null;
  tags?: string[] | null;
  metadata?: Record<string, unknown> | null;
  revision?: number | null;
};

export type ToolRef = {
  ref: string;
  config?: Record<string, unknown> | null;
  only?: string[] | null;
  exclude?: string[] | null;
  require_approval?: boolean | null;
  idempotent?: boolean | null;
  /** The model always receives this tool, also if it must search for other tools with `find_tools`. */
  always?: boolean;
};

export type ToolTest = {
  input?: Record<string, unknown>;
};

export type ToolTested = {
  result: unknown;
  is_error: boolean;
  duration_ms: number;
};

export type Trace = RunSummary & {
  workflow_name: string | null;
  workflow_revision: number | null;
  error_message: string | null;
  input: RunInput;
  output: Record<string, unknown> | null;
  reply: string | null;
  checkpoint: Checkpoint | null;
  pauses: Pause[];
  async_progress_steps: {
    seq: number;
    event: string;
    data: Record<string, unknown>;
  }[];
  last_event_id: number;
  graph?: Graph;
};

export type TraceAnswer = {
  trace: Trace;
  steps: Step[];
  spans: Span[];
  children: RunSummary[];
};

export type TracePage = {
  data: RunSummary[];
  meta: {
    current_page: number;
    last_page: number;
    per_page: number;
    total: number;
  };
};

export type Usage = {
  currency: string;
  from: string;
  to: string;
  totals: UsageFigures & {
    run_count: number;
  };
  breakdown: UsageEntry[];
};

export type UsageEntry = UsageFigures & {
  provider?: string;
  model?: string;
  entity_type?: 'agent' | 'workflow';
  entity_id?: string;
  entity_name?: string | null;
  date?: string;
  thread_id?: string;
  run_count?: number;
};

export type UsageFigures = {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  cached_tokens: number;
  cache_write_tokens: number;
  reasoning_tokens: number;
  estimated_cost: string;
  unpriced: boolean;
};

export type Validation = {
  valid: boolean;
  errors: string[];
  warnings: string[];
  issues: Issue[];
};

export type Warning = {
  code: string;
  message: string;
  parameter?: string;
};

/** One complete step, with its spans and their messages. */
export type WholeStep = Step & {
  spans: Span[];
};

export type Workflow = {
  id: string;
  slug: string;
  name: string;
  description: string;
  graph: Graph;
  state_schema: Record<string, unknown> | null;
  tags: string[];
  metadata: Record<string, unknown>;
  source: 'studio' | 'template' | 'code' | 'host';
  template_id: string | null;
  locked: boolean;
  class_path: string | null;
  revision: number;
  created_at: string;
  updated_at: string;
  warnings: Issue[];
  agents: AgentUsed[];
};

export type WorkflowBody = {
  slug?: string | null;
  name: string;
  description?: string | null;
  graph?: GraphInput | null;
  state_schema?: Record<string, unknown> | null;
  tags?: string[] | null;
  metadata?: Record<string, unknown> | null;
  revision?: number | null;
};

/** The data of each event of a workflow's stream, by the event's name. Later versions add events and members. */
export type WorkflowEvents = {
  thread?: EventThread;
  trace_started?: EventTraceStarted;
  step_started?: EventStepStarted;
  loop_iteration?: EventLoopIteration;
  step_retrying?: EventStepRetrying;
  checkpoint_hit?: EventCheckpointHit;
  model_fallback?: EventModelFallback;
  step_completed?: EventStepCompleted;
  step_failed?: EventStepFailed;
  reasoning?: EventReasoning;
  token?: EventToken;
  source?: EventSource;
  file?: EventFile;
  tool_call?: EventToolCall;
  tool_result?: EventToolResult;
  rag_query?: EventRagQuery;
  branch_started?: EventBranchStarted;
  branch_completed?: EventBranchCompleted;
  parallel_interrupt?: EventParallelInterrupt;
  human_input_required?: EventHumanInputRequired;
  tool_approval_required?: EventToolApprovalRequired;
  tool_approval_resolved?: EventToolApprovalResolved;
  trace_completed?: EventTraceCompleted;
  trace_failed?: EventTraceFailed;
  trace_cancelled?: EventTraceCancelled;
  run_terminal?: EventRunTerminal;
};

export type WorkflowListed = {
  id: string;
  slug: string;
  name: string;
  description: string;
  graph?: Graph;
  state_schema: Record<string, unknown> | null;
  tags: string[];
  metadata: Record<string, unknown>;
  source: 'studio' | 'template' | 'code' | 'host';
  template_id: string | null;
  locked: boolean;
  class_path: string | null;
  revision: number;
  created_at: string;
  updated_at: string;
  agents?: AgentUsed[];
  node_count: number;
  last_run: RunSummary | null;
};
