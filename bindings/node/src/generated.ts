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

/** Each function, as koffi reads it. */
export const FUNCTIONS = {
  studio_abi_version: 'uint32_t studio_abi_version()',
  studio_version: 'const char *studio_version()',
  studio_buf_free: 'void studio_buf_free(void *buffer)',
  studio_engine_open: 'int32_t studio_engine_open(const uint8_t *config, size_t len, _Out_ uint64_t *out, void *err)',
  studio_engine_shared:
    'int32_t studio_engine_shared(const char *shared, const uint8_t *config, size_t len, _Out_ uint64_t *out, void *err)',
  studio_engine_close: 'int32_t studio_engine_close(uint64_t engine, uint32_t timeout_ms)',
  studio_shutdown: 'void studio_shutdown(uint32_t timeout_ms)',
  studio_call: 'int32_t studio_call(uint64_t engine, const char *op, const uint8_t *request, size_t len, void *out)',
  studio_run: 'int32_t studio_run(uint64_t engine, const uint8_t *request, size_t len, _Out_ uint64_t *out, void *err)',
  studio_resume: 'int32_t studio_resume(uint64_t engine, const uint8_t *request, size_t len, _Out_ uint64_t *out, void *err)',
  studio_trace: 'int32_t studio_trace(uint64_t engine, const uint8_t *request, size_t len, void *out)',
  studio_usage: 'int32_t studio_usage(uint64_t engine, const uint8_t *query, size_t len, void *out)',
  studio_http:
    'int32_t studio_http(uint64_t engine, const uint8_t *head, size_t head_len, const uint8_t *body_in, size_t body_len, _Out_ uint64_t *body_out, void *head_out)',
  studio_host_set:
    'int32_t studio_host_set(uint64_t engine, const uint8_t *ops_json, size_t len, void *host, void *user_data, void *destroy)',
  studio_host_next: 'int32_t studio_host_next(uint64_t engine, int32_t timeout_ms, void *out)',
  studio_host_complete: 'int32_t studio_host_complete(uint64_t engine, uint64_t call_id, int32_t ok, const uint8_t *data, size_t len)',
  studio_log_set: 'int32_t studio_log_set(void *log, void *user_data, void *destroy)',
  studio_start:
    'int32_t studio_start(uint64_t engine, const char *op, const uint8_t *request, size_t len, const uint8_t *body, size_t body_len, _Out_ uint64_t *out, void *err)',
  studio_ready: 'int32_t studio_ready(uint64_t engine, int32_t timeout_ms, uint64_t *handles, size_t room, uint64_t *count)',
  studio_engine_fd: 'int32_t studio_engine_fd(uint64_t engine)',
  studio_stream_next: 'int32_t studio_stream_next(uint64_t stream, int32_t timeout_ms, void *out)',
  studio_stream_next_batch: 'int32_t studio_stream_next_batch(uint64_t stream, int32_t timeout_ms, size_t max_bytes, void *out)',
  studio_stream_fd: 'int32_t studio_stream_fd(uint64_t stream)',
  studio_stream_on_event: 'int32_t studio_stream_on_event(uint64_t stream, void *on, void *user_data, void *destroy)',
  studio_stream_cancel: 'int32_t studio_stream_cancel(uint64_t stream)',
  studio_stream_close: 'int32_t studio_stream_close(uint64_t stream)',
} as const;

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
