"""Owns what the library lists: functions, codes, names. Written by bindings/generate/python.py; do not edit."""

import ctypes as c

VERSION = "0.1.0"
ABI = (1, 1)


class Buffer(c.Structure):
    """Bytes of the library."""

    _fields_ = [("data", c.c_void_p), ("len", c.c_size_t), ("cap", c.c_size_t)]


# Results of functions; errors are negative.
OK = 0  # Success.
END = 1  # The stream has ended. No bytes are returned.
TIMEOUT = 2  # Nothing arrived within the timeout.
HOST_CALL = 3  # The bytes are a call to the host, `{"op","call_id","payload"}`. Answer it with `studio_host_complete`.
HEAD = 4  # The bytes are the first answer to `studio_start`: the head of an HTTP answer `{"status","headers"}`, the `{"trace_id"}` of a run, or the complete answer of an operation. It arrives once, before the body.
INVALID = -1  # An argument is invalid.
NOT_FOUND = -2  # The object does not exist.
CONFLICT = -3  # The object is in a state that does not allow this.
CANCELLED = -4  # The operation was cancelled.
CLOSED = -5  # The handle is closed.
BAD_HANDLE = -6  # This is not a handle of this library, it has the wrong kind, or it was closed long ago.
FORKED = -7  # The handle belongs to the parent process. Open another engine in this process.
PANIC = -8  # A bug in this library. The engine can still be used.
INTERNAL = -9  # An error inside this library or inside something that it calls.
UNSUPPORTED = -10  # Not part of this build, or disabled.
REENTRANT = -11  # A function that can block was called inside a callback.
DENIED = -12  # Permission denied.
BUSY = -13  # The object is in use. Try again.
ERRORS = {
    -1: "invalid",
    -2: "not_found",
    -3: "conflict",
    -4: "cancelled",
    -5: "closed",
    -6: "bad_handle",
    -7: "forked",
    -8: "panic",
    -9: "internal",
    -10: "unsupported",
    -11: "reentrant",
    -12: "denied",
    -13: "busy",
}

# Name, result, parameters.
FUNCTIONS = [
    ("studio_abi_version", c.c_uint32, []),
    ("studio_version", c.c_char_p, []),
    ("studio_buf_free", None, [c.POINTER(Buffer)]),
    ("studio_engine_open", c.c_int32, [c.c_char_p, c.c_size_t, c.POINTER(c.c_uint64), c.POINTER(Buffer)]),
    ("studio_engine_shared", c.c_int32, [c.c_char_p, c.c_char_p, c.c_size_t, c.POINTER(c.c_uint64), c.POINTER(Buffer)]),
    ("studio_engine_close", c.c_int32, [c.c_uint64, c.c_uint32]),
    ("studio_shutdown", None, [c.c_uint32]),
    ("studio_call", c.c_int32, [c.c_uint64, c.c_char_p, c.c_char_p, c.c_size_t, c.POINTER(Buffer)]),
    ("studio_run", c.c_int32, [c.c_uint64, c.c_char_p, c.c_size_t, c.POINTER(c.c_uint64), c.POINTER(Buffer)]),
    ("studio_resume", c.c_int32, [c.c_uint64, c.c_char_p, c.c_size_t, c.POINTER(c.c_uint64), c.POINTER(Buffer)]),
    ("studio_trace", c.c_int32, [c.c_uint64, c.c_char_p, c.c_size_t, c.POINTER(Buffer)]),
    ("studio_usage", c.c_int32, [c.c_uint64, c.c_char_p, c.c_size_t, c.POINTER(Buffer)]),
    ("studio_http", c.c_int32, [c.c_uint64, c.c_char_p, c.c_size_t, c.c_char_p, c.c_size_t, c.POINTER(c.c_uint64), c.POINTER(Buffer)]),
    ("studio_host_set", c.c_int32, [c.c_uint64, c.c_char_p, c.c_size_t, c.c_void_p, c.c_void_p, c.c_void_p]),
    ("studio_host_next", c.c_int32, [c.c_uint64, c.c_int32, c.POINTER(Buffer)]),
    ("studio_host_complete", c.c_int32, [c.c_uint64, c.c_uint64, c.c_int32, c.c_char_p, c.c_size_t]),
    ("studio_start", c.c_int32, [c.c_uint64, c.c_char_p, c.c_char_p, c.c_size_t, c.c_char_p, c.c_size_t, c.POINTER(c.c_uint64), c.POINTER(Buffer)]),
    ("studio_ready", c.c_int32, [c.c_uint64, c.c_int32, c.POINTER(c.c_uint64), c.c_size_t, c.POINTER(c.c_size_t)]),
    ("studio_engine_fd", c.c_int32, [c.c_uint64]),
    ("studio_stream_next", c.c_int32, [c.c_uint64, c.c_int32, c.POINTER(Buffer)]),
    ("studio_stream_next_batch", c.c_int32, [c.c_uint64, c.c_int32, c.c_size_t, c.POINTER(Buffer)]),
    ("studio_stream_fd", c.c_int32, [c.c_uint64]),
    ("studio_stream_cancel", c.c_int32, [c.c_uint64]),
    ("studio_stream_close", c.c_int32, [c.c_uint64]),
]

# What begins a stream.
START_HTTP = "http"
START_RUN = "run"
START_RESUME = "resume"

# Operations of `call`.
OP_OPS = "ops"
OP_ABOUT = "about"
OP_START = "start"
OP_HEALTH = "health"
OP_BACKUP = "backup"
OP_TRACE_GET = "trace.get"
OP_TRACE_LIST = "trace.list"
OP_RUN_CANCEL = "run.cancel"
OP_RUN_RETRY = "run.retry"
OP_THREAD_LIST = "thread.list"
OP_THREAD_GET = "thread.get"
OP_USAGE_QUERY = "usage.query"
OP_USAGE_RUN = "usage.run"
OP_USAGE_REBUILD = "usage.rebuild"
OP_GRAPH_VALIDATE = "graph.validate"
OP_WORKFLOW_SAVE = "workflow.save"
OP_AGENT_SAVE = "agent.save"
OP_TEMPLATE_LIST = "template.list"
OP_TEMPLATE_GET = "template.get"
OP_TEMPLATE_INSTALL = "template.install"
OP_CLASS_REGISTER = "class.register"
OP_WORKER_STEP = "worker.step"
OP_COMMAND = "command"

# What a host may be asked.
HOST_TOOL_CALL = "tool.call"
HOST_TOOL_CANCEL = "tool.cancel"
HOST_GATE = "gate"
HOST_SECRET_GET = "secret.get"
HOST_MCP_AUTHORIZE = "mcp.authorize"
HOST_MCP_ELICIT = "mcp.elicit"
HOST_PROVIDER_CHAT = "provider.chat"
HOST_PROVIDER_RERANK = "provider.rerank"
HOST_USAGE_RECORDED = "usage.recorded"
HOST_LOG = "log"

# Of these, what no answer is expected to.
UNANSWERED = (HOST_TOOL_CANCEL, HOST_LOG)

# Names of events.
EVENT_THREAD = "thread"
EVENT_TRACE_STARTED = "trace_started"
EVENT_STEP_STARTED = "step_started"
EVENT_LOOP_ITERATION = "loop_iteration"
EVENT_STEP_RETRYING = "step_retrying"
EVENT_CHECKPOINT_HIT = "checkpoint_hit"
EVENT_MODEL_FALLBACK = "model_fallback"
EVENT_REASONING = "reasoning"
EVENT_TOKEN = "token"
EVENT_SOURCE = "source"
EVENT_FILE = "file"
EVENT_TOOL_CALL = "tool_call"
EVENT_TOOL_RESULT = "tool_result"
EVENT_RAG_QUERY = "rag_query"
EVENT_BRANCH_STARTED = "branch_started"
EVENT_BRANCH_COMPLETED = "branch_completed"
EVENT_PARALLEL_INTERRUPT = "parallel_interrupt"
EVENT_HUMAN_INPUT_REQUIRED = "human_input_required"
EVENT_TOOL_APPROVAL_REQUIRED = "tool_approval_required"
EVENT_TOOL_APPROVAL_RESOLVED = "tool_approval_resolved"
EVENT_STEP_COMPLETED = "step_completed"
EVENT_STEP_FAILED = "step_failed"
EVENT_TRACE_COMPLETED = "trace_completed"
EVENT_TRACE_FAILED = "trace_failed"
EVENT_TRACE_CANCELLED = "trace_cancelled"
EVENT_DONE = "done"
EVENT_ERROR = "error"
EVENT_RUN_TERMINAL = "run_terminal"

EVENTS = ("thread", "trace_started", "step_started", "loop_iteration", "step_retrying", "checkpoint_hit", "model_fallback", "reasoning", "token", "source", "file", "tool_call", "tool_result", "rag_query", "branch_started", "branch_completed", "parallel_interrupt", "human_input_required", "tool_approval_required", "tool_approval_resolved", "step_completed", "step_failed", "trace_completed", "trace_failed", "trace_cancelled", "done", "error", "run_terminal")
MARKS = ("user", "tenant", "gate", "authorized", "base_url", "root_path", "host_calls", "expect")
