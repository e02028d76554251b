/** Owns what the library lists: codes, functions, names. Made by `bindings/generate/node.py`; do not edit. */

export const ABI_VERSION = 65537;

export const CODES = {
  OK: 0,
  END: 1,
  TIMEOUT: 2,
  HOST_CALL: 3,
  HEAD: 4,
  INVALID: -1,
  NOT_FOUND: -2,
  CONFLICT: -3,
  CANCELLED: -4,
  CLOSED: -5,
  BAD_HANDLE: -6,
  FORKED: -7,
  PANIC: -8,
  INTERNAL: -9,
  UNSUPPORTED: -10,
  REENTRANT: -11,
  DENIED: -12,
  BUSY: -13,
} as const;

export type Kind = 'handle' | 'outHandle' | 'buffer' | 'bytes' | 'text' | 'words' | 'size' | 'int32' | 'uint32' | 'uint64' | 'pointer' | 'void';

/** Result and parameters of each function. */
export const FUNCTIONS = {
  studio_abi_version: ['uint32', []],
  studio_version: ['text', []],
  studio_buf_free: ['void', ['buffer']],
  studio_engine_open: ['int32', ['bytes', 'size', 'outHandle', 'buffer']],
  studio_engine_shared: ['int32', ['text', 'bytes', 'size', 'outHandle', 'buffer']],
  studio_engine_close: ['int32', ['handle', 'uint32']],
  studio_shutdown: ['void', ['uint32']],
  studio_call: ['int32', ['handle', 'text', 'bytes', 'size', 'buffer']],
  studio_run: ['int32', ['handle', 'bytes', 'size', 'outHandle', 'buffer']],
  studio_resume: ['int32', ['handle', 'bytes', 'size', 'outHandle', 'buffer']],
  studio_trace: ['int32', ['handle', 'bytes', 'size', 'buffer']],
  studio_usage: ['int32', ['handle', 'bytes', 'size', 'buffer']],
  studio_http: ['int32', ['handle', 'bytes', 'size', 'bytes', 'size', 'outHandle', 'buffer']],
  studio_host_set: ['int32', ['handle', 'bytes', 'size', 'pointer', 'pointer', 'pointer']],
  studio_host_next: ['int32', ['handle', 'int32', 'buffer']],
  studio_host_complete: ['int32', ['handle', 'uint64', 'int32', 'bytes', 'size']],
  studio_log_set: ['int32', ['pointer', 'pointer', 'pointer']],
  studio_start: ['int32', ['handle', 'text', 'bytes', 'size', 'bytes', 'size', 'outHandle', 'buffer']],
  studio_ready: ['int32', ['handle', 'int32', 'words', 'size', 'words']],
  studio_engine_fd: ['int32', ['handle']],
  studio_stream_next: ['int32', ['handle', 'int32', 'buffer']],
  studio_stream_next_batch: ['int32', ['handle', 'int32', 'size', 'buffer']],
  studio_stream_fd: ['int32', ['handle']],
  studio_stream_on_event: ['int32', ['handle', 'pointer', 'pointer', 'pointer']],
  studio_stream_cancel: ['int32', ['handle']],
  studio_stream_close: ['int32', ['handle']],
} as const satisfies Record<string, readonly [Kind, readonly Kind[]]>;

/** Operations of `call`. */
export type Op =
  | 'ops'
  | 'about'
  | 'start'
  | 'health'
  | 'backup'
  | 'trace.get'
  | 'trace.list'
  | 'run.cancel'
  | 'run.retry'
  | 'thread.list'
  | 'thread.get'
  | 'usage.query'
  | 'usage.run'
  | 'usage.rebuild'
  | 'graph.validate'
  | 'workflow.save'
  | 'agent.save'
  | 'template.list'
  | 'template.get'
  | 'template.install'
  | 'class.register'
  | 'worker.step'
  | 'command';

/** What a host may be asked. */
export type HostOp =
  | 'tool.call'
  | 'tool.cancel'
  | 'gate'
  | 'secret.get'
  | 'mcp.authorize'
  | 'mcp.elicit'
  | 'provider.chat'
  | 'provider.rerank'
  | 'usage.recorded'
  | 'log';

/** Events of runs. */
export type EventName =
  | 'thread'
  | 'trace_started'
  | 'step_started'
  | 'loop_iteration'
  | 'step_retrying'
  | 'checkpoint_hit'
  | 'model_fallback'
  | 'reasoning'
  | 'token'
  | 'source'
  | 'file'
  | 'tool_call'
  | 'tool_result'
  | 'rag_query'
  | 'branch_started'
  | 'branch_completed'
  | 'parallel_interrupt'
  | 'human_input_required'
  | 'tool_approval_required'
  | 'tool_approval_resolved'
  | 'step_completed'
  | 'step_failed'
  | 'trace_completed'
  | 'trace_failed'
  | 'trace_cancelled'
  | 'done'
  | 'error'
  | 'run_terminal';
