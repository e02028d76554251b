# Owns the names and numbers of the C functions. Written by bindings/generate/ruby.py; do not edit.

module WfStudio
  module Native
    ABI = [1, 1].freeze
    STUDIO_OK = 0
    STUDIO_END = 1
    STUDIO_TIMEOUT = 2
    STUDIO_HOST_CALL = 3
    STUDIO_HEAD = 4

    # [name, parameters, result, may wait]: those that may wait are called without the interpreter's lock.
    FUNCTIONS = [
      [:studio_abi_version, [], :uint32, false],
      [:studio_version, [], :string, false],
      [:studio_buf_free, [:pointer], :void, false],
      [:studio_engine_open, [:pointer, :size_t, :pointer, :pointer], :int32, true],
      [:studio_engine_shared, [:string, :pointer, :size_t, :pointer, :pointer], :int32, true],
      [:studio_engine_close, [:uint64, :uint32], :int32, true],
      [:studio_shutdown, [:uint32], :void, true],
      [:studio_call, [:uint64, :string, :pointer, :size_t, :pointer], :int32, true],
      [:studio_run, [:uint64, :pointer, :size_t, :pointer, :pointer], :int32, true],
      [:studio_resume, [:uint64, :pointer, :size_t, :pointer, :pointer], :int32, true],
      [:studio_trace, [:uint64, :pointer, :size_t, :pointer], :int32, true],
      [:studio_usage, [:uint64, :pointer, :size_t, :pointer], :int32, true],
      [:studio_http, [:uint64, :pointer, :size_t, :pointer, :size_t, :pointer, :pointer], :int32, true],
      [:studio_host_set, [:uint64, :pointer, :size_t, :pointer, :pointer, :pointer], :int32, true],
      [:studio_host_next, [:uint64, :int32, :pointer], :int32, true],
      [:studio_host_complete, [:uint64, :uint64, :int32, :pointer, :size_t], :int32, false],
      [:studio_start, [:uint64, :string, :pointer, :size_t, :pointer, :size_t, :pointer, :pointer], :int32, false],
      [:studio_ready, [:uint64, :int32, :pointer, :size_t, :pointer], :int32, true],
      [:studio_engine_fd, [:uint64], :int32, false],
      [:studio_stream_next, [:uint64, :int32, :pointer], :int32, true],
      [:studio_stream_next_batch, [:uint64, :int32, :size_t, :pointer], :int32, true],
      [:studio_stream_fd, [:uint64], :int32, false],
      [:studio_stream_cancel, [:uint64], :int32, false],
      [:studio_stream_close, [:uint64], :int32, false],
    ].freeze
  end

  # Names of operations.
  module Ops
    HTTP = "http"
    RUN = "run"
    RESUME = "resume"
    OPS = "ops"
    ABOUT = "about"
    START = "start"
    HEALTH = "health"
    BACKUP = "backup"
    TRACE_GET = "trace.get"
    TRACE_LIST = "trace.list"
    RUN_CANCEL = "run.cancel"
    RUN_RETRY = "run.retry"
    THREAD_LIST = "thread.list"
    THREAD_GET = "thread.get"
    USAGE_QUERY = "usage.query"
    USAGE_RUN = "usage.run"
    USAGE_REBUILD = "usage.rebuild"
    GRAPH_VALIDATE = "graph.validate"
    WORKFLOW_SAVE = "workflow.save"
    AGENT_SAVE = "agent.save"
    TEMPLATE_LIST = "template.list"
    TEMPLATE_GET = "template.get"
    TEMPLATE_INSTALL = "template.install"
    CLASS_REGISTER = "class.register"
    WORKER_STEP = "worker.step"
    COMMAND = "command"
  end

  # What the engine asks its host.
  module HostOps
    TOOL_CALL = "tool.call"
    TOOL_CANCEL = "tool.cancel"
    GATE = "gate"
    SECRET_GET = "secret.get"
    MCP_AUTHORIZE = "mcp.authorize"
    MCP_ELICIT = "mcp.elicit"
    PROVIDER_CHAT = "provider.chat"
    PROVIDER_RERANK = "provider.rerank"
    USAGE_RECORDED = "usage.recorded"
    LOG = "log"
    UNANSWERED = [TOOL_CANCEL, LOG].freeze
  end

  # Names of events.
  module Events
    THREAD = "thread"
    TRACE_STARTED = "trace_started"
    STEP_STARTED = "step_started"
    LOOP_ITERATION = "loop_iteration"
    STEP_RETRYING = "step_retrying"
    CHECKPOINT_HIT = "checkpoint_hit"
    MODEL_FALLBACK = "model_fallback"
    REASONING = "reasoning"
    TOKEN = "token"
    SOURCE = "source"
    FILE = "file"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    RAG_QUERY = "rag_query"
    BRANCH_STARTED = "branch_started"
    BRANCH_COMPLETED = "branch_completed"
    PARALLEL_INTERRUPT = "parallel_interrupt"
    HUMAN_INPUT_REQUIRED = "human_input_required"
    TOOL_APPROVAL_REQUIRED = "tool_approval_required"
    TOOL_APPROVAL_RESOLVED = "tool_approval_resolved"
    STEP_COMPLETED = "step_completed"
    STEP_FAILED = "step_failed"
    TRACE_COMPLETED = "trace_completed"
    TRACE_FAILED = "trace_failed"
    TRACE_CANCELLED = "trace_cancelled"
    DONE = "done"
    ERROR = "error"
    RUN_TERMINAL = "run_terminal"
  end

  # An argument is invalid.
  class Invalid < Error; end

  # The object does not exist.
  class NotFound < Error; end

  # The object is in a state that does not allow this.
  class Conflict < Error; end

  # The operation was cancelled.
  class Cancelled < Error; end

  # The handle is closed.
  class Closed < Error; end

  # This is not a handle of this library, it has the wrong kind, or it was closed long ago.
  class BadHandle < Error; end

  # The handle belongs to the parent process. Open another engine in this process.
  class Forked < Error; end

  # A bug in this library. The engine can still be used.
  class Panic < Error; end

  # An error inside this library or inside something that it calls.
  class Internal < Error; end

  # Not part of this build, or disabled.
  class Unsupported < Error; end

  # A function that can block was called inside a callback.
  class Reentrant < Error; end

  # Permission denied.
  class Denied < Error; end

  # The object is in use. Try again.
  class Busy < Error; end

  # The class of each negative code.
  ERRORS = {
    -1 => Invalid,
    -2 => NotFound,
    -3 => Conflict,
    -4 => Cancelled,
    -5 => Closed,
    -6 => BadHandle,
    -7 => Forked,
    -8 => Panic,
    -9 => Internal,
    -10 => Unsupported,
    -11 => Reentrant,
    -12 => Denied,
    -13 => Busy,
  }.freeze
end
