/** Owns the data of events, the calls to the host and problems. Made by `bindings/generate/node.py`; do not edit. */

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
  /** Of these, kept for an hour; absent when there are none. */
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

/** A picture or a sound that the model made; stored as an attachment before it is told. */
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

/** Another model is asked instead of one whose call failed. */
export type ChatEventModelFallback = {
  from: ModelName;
  to: ModelName;
  code: string;
  parent_call_id?: string;
};

/** A piece of what the model thinks, as it comes. No part of the answer. */
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

/** What an answer rests on, as the provider says: once per source and step. */
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

/** A call that may not be made twice and whose end nobody saw. */
export type DoubtfulCall = {
  call_id: string;
  name: string;
  arguments: unknown;
  node_id: string;
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

/** A picture or a sound that the model made; stored as an attachment before it is told. */
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

/** Another model is asked instead of one whose call failed. */
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

/** A piece of what the model thinks, as it comes. No part of the answer. */
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

/** What an answer rests on, as the provider says: once per source and step. */
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
  /** Of these, kept for an hour; absent when there are none. */
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
  /** Of these, kept for an hour; absent when there are none. */
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
  /** Of these, kept for an hour; absent when there are none. */
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
  /** Of these, kept for an hour; absent when there are none. */
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
  /** Of these, kept for an hour; absent when there are none. */
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

/** The payload of each call to the host and, where one is expected, its result, by the op. */
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
    /** Not looked at. */
    result?: unknown;
  };
  log?: {
    payload: HostLog;
  };
};

/** May this user come in. */
export type HostGate = {
  gate: string;
  tenant: string;
  method: string;
  path: string;
  /** How long the answer is waited for. */
  timeout_ms: number;
  /** As the host named the user. */
  user?: unknown;
};

/** A line of log. */
export type HostLog = {
  level: string;
  target: string;
  message: string;
  fields?: Record<string, unknown>;
};

/** A token for an MCP server that wants authorization; `challenge` is hostile text. */
export type HostMcpAuthorize = {
  server: string;
  url: string;
  tenant: string;
  /** How long the answer is waited for. */
  timeout_ms: number;
  status?: number | null;
  challenge?: string | null;
};

/** An MCP server asks a person; its texts are hostile. */
export type HostMcpElicit = {
  server: string;
  tenant: string;
  message: string;
  /** How long the answer is waited for. */
  timeout_ms: number;
  tool?: string;
  trace_id?: string;
  node_id?: string;
  call_id?: string;
  /** As the host named the user. */
  user?: unknown;
  schema?: unknown;
  problems?: unknown;
  /** The span that the call is made in, as W3C Trace Context writes it. */
  traceparent?: string | null;
  tracestate?: string | null;
};

/** An answer of a model that the host provides. */
export type HostProviderChat = {
  provider: string;
  model: string;
  /** Messages that this model wrote in parts have them as `parts`, with what the host told as `provider_data`. */
  messages: unknown[];
  tools: unknown[];
  parameters: unknown;
  stream: boolean;
  /** How long the answer is waited for. */
  timeout_ms: number;
  schema?: unknown;
  media?: unknown[];
  /** The span that the call is made in, as W3C Trace Context writes it. */
  traceparent?: string | null;
  tracestate?: string | null;
};

/** An order of texts by a model that the host provides. */
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

/** A secret by its name. */
export type HostSecretGet = {
  name: string;
  tenant: string;
  /** How long the answer is waited for. */
  timeout_ms: number;
};

/** Run a tool of the host. */
export type HostToolCall = {
  name: string;
  arguments: unknown;
  call_id: string;
  idempotency_key: string;
  trace_id: string;
  node_id: string;
  tenant: string;
  /** How long the answer is waited for. */
  timeout_ms: number;
  /** As the host named the user. */
  user?: unknown;
  /** The span that the call is made in, as W3C Trace Context writes it. */
  traceparent?: string | null;
  tracestate?: string | null;
};

/** A result is no longer wanted: `call_id` of the tool call, `cancels` the `call_id` of the call to the host. */
export type HostToolCancel = {
  call_id: string | null;
  cancels: number;
};

/** A run ended, with what it used; told again until it is answered. */
export type HostUsageRecorded = {
  /** How long the answer is waited for. */
  timeout_ms: number;
  eventId?: string;
};

export type ModelName = {
  provider: string;
  model: string;
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
  /** The slug of the MCP server that gets the call, and no other one. Absent for tools of no server, and in runs of earlier versions. */
  server?: string;
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

export type StoredFile = {
  storage_key: string;
  name: string;
  media_type: string;
  size: number;
};

export type Warning = {
  code: string;
  message: string;
  parameter?: string;
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
