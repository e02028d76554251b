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

/** A call that the studio must not repeat and whose outcome is unknown. */
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
  /** The slug of the MCP server that receives the call. Absent for other tools, and in runs of earlier versions. */
  server?: string;
  /** Arguments that the workflow fixes for the tool. A decision cannot change them. Absent if there are none, and in runs of earlier versions. */
  fixed_arguments?: Record<string, unknown>;
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
