<?php

// Owns the names and numbers of the C functions. Written by bindings/generate/php.py; do not edit.

declare(strict_types=1);

namespace Studio;

/** The C functions of the library, as ext-ffi reads them, and every name that they know. */
final class Abi
{
    /** Of the library and of this package. */
    public const VERSION = '0.1.0';
    public const MAJOR = 1;
    public const MINOR = 1;

    public const OK = 0;
    public const END = 1;
    public const TIMEOUT = 2;
    public const HOST_CALL = 3;
    public const HEAD = 4;
    public const INVALID = -1;
    public const NOT_FOUND = -2;
    public const CONFLICT = -3;
    public const CANCELLED = -4;
    public const CLOSED = -5;
    public const BAD_HANDLE = -6;
    public const FORKED = -7;
    public const PANIC = -8;
    public const INTERNAL = -9;
    public const UNSUPPORTED = -10;
    public const REENTRANT = -11;
    public const DENIED = -12;
    public const BUSY = -13;

    /** Operations. */
    public const OP_HTTP = 'http';
    public const OP_RUN = 'run';
    public const OP_RESUME = 'resume';
    public const OP_OPS = 'ops';
    public const OP_ABOUT = 'about';
    public const OP_START = 'start';
    public const OP_HEALTH = 'health';
    public const OP_BACKUP = 'backup';
    public const OP_TRACE_GET = 'trace.get';
    public const OP_TRACE_LIST = 'trace.list';
    public const OP_RUN_CANCEL = 'run.cancel';
    public const OP_RUN_RETRY = 'run.retry';
    public const OP_THREAD_LIST = 'thread.list';
    public const OP_THREAD_GET = 'thread.get';
    public const OP_USAGE_QUERY = 'usage.query';
    public const OP_USAGE_RUN = 'usage.run';
    public const OP_USAGE_REBUILD = 'usage.rebuild';
    public const OP_GRAPH_VALIDATE = 'graph.validate';
    public const OP_WORKFLOW_SAVE = 'workflow.save';
    public const OP_AGENT_SAVE = 'agent.save';
    public const OP_TEMPLATE_LIST = 'template.list';
    public const OP_TEMPLATE_GET = 'template.get';
    public const OP_TEMPLATE_INSTALL = 'template.install';
    public const OP_CLASS_REGISTER = 'class.register';
    public const OP_WORKER_STEP = 'worker.step';
    public const OP_COMMAND = 'command';

    /** What the engine asks its host. */
    public const HOST_TOOL_CALL = 'tool.call';
    public const HOST_TOOL_CANCEL = 'tool.cancel';
    public const HOST_GATE = 'gate';
    public const HOST_SECRET_GET = 'secret.get';
    public const HOST_MCP_AUTHORIZE = 'mcp.authorize';
    public const HOST_MCP_ELICIT = 'mcp.elicit';
    public const HOST_PROVIDER_CHAT = 'provider.chat';
    public const HOST_PROVIDER_RERANK = 'provider.rerank';
    public const HOST_USAGE_RECORDED = 'usage.recorded';
    public const HOST_LOG = 'log';

    /** Events. */
    public const EVENT_THREAD = 'thread';
    public const EVENT_TRACE_STARTED = 'trace_started';
    public const EVENT_STEP_STARTED = 'step_started';
    public const EVENT_LOOP_ITERATION = 'loop_iteration';
    public const EVENT_STEP_RETRYING = 'step_retrying';
    public const EVENT_CHECKPOINT_HIT = 'checkpoint_hit';
    public const EVENT_MODEL_FALLBACK = 'model_fallback';
    public const EVENT_REASONING = 'reasoning';
    public const EVENT_TOKEN = 'token';
    public const EVENT_SOURCE = 'source';
    public const EVENT_FILE = 'file';
    public const EVENT_TOOL_CALL = 'tool_call';
    public const EVENT_TOOL_RESULT = 'tool_result';
    public const EVENT_RAG_QUERY = 'rag_query';
    public const EVENT_BRANCH_STARTED = 'branch_started';
    public const EVENT_BRANCH_COMPLETED = 'branch_completed';
    public const EVENT_PARALLEL_INTERRUPT = 'parallel_interrupt';
    public const EVENT_HUMAN_INPUT_REQUIRED = 'human_input_required';
    public const EVENT_TOOL_APPROVAL_REQUIRED = 'tool_approval_required';
    public const EVENT_TOOL_APPROVAL_RESOLVED = 'tool_approval_resolved';
    public const EVENT_STEP_COMPLETED = 'step_completed';
    public const EVENT_STEP_FAILED = 'step_failed';
    public const EVENT_TRACE_COMPLETED = 'trace_completed';
    public const EVENT_TRACE_FAILED = 'trace_failed';
    public const EVENT_TRACE_CANCELLED = 'trace_cancelled';
    public const EVENT_DONE = 'done';
    public const EVENT_ERROR = 'error';
    public const EVENT_RUN_TERMINAL = 'run_terminal';

    /** The class of each error. */
    public const ERRORS = [
        self::INVALID => InvalidError::class,
        self::NOT_FOUND => NotFoundError::class,
        self::CONFLICT => ConflictError::class,
        self::CANCELLED => CancelledError::class,
        self::CLOSED => ClosedError::class,
        self::BAD_HANDLE => BadHandleError::class,
        self::FORKED => ForkedError::class,
        self::PANIC => PanicError::class,
        self::INTERNAL => InternalError::class,
        self::UNSUPPORTED => UnsupportedError::class,
        self::REENTRANT => ReentrantError::class,
        self::DENIED => DeniedError::class,
        self::BUSY => BusyError::class,
    ];

    public const PROBE = 'uint32_t studio_abi_version(void); const char *studio_version(void);';

    public const FUNCTIONS = <<<'C'
        typedef struct studio_buf { char *data; size_t len; size_t cap; } studio_buf;
        uint32_t studio_abi_version(void);
        const char * studio_version(void);
        void studio_buf_free(studio_buf * buffer);
        int32_t studio_engine_open(const char * config, size_t len, uint64_t * out, studio_buf * err);
        int32_t studio_engine_shared(const char * shared, const char * config, size_t len, uint64_t * out, studio_buf * err);
        int32_t studio_engine_close(uint64_t engine, uint32_t timeout_ms);
        void studio_shutdown(uint32_t timeout_ms);
        int32_t studio_call(uint64_t engine, const char * op, const char * request, size_t len, studio_buf * out);
        int32_t studio_run(uint64_t engine, const char * request, size_t len, uint64_t * out, studio_buf * err);
        int32_t studio_resume(uint64_t engine, const char * request, size_t len, uint64_t * out, studio_buf * err);
        int32_t studio_trace(uint64_t engine, const char * request, size_t len, studio_buf * out);
        int32_t studio_usage(uint64_t engine, const char * query, size_t len, studio_buf * out);
        int32_t studio_http(uint64_t engine, const char * head, size_t head_len, const char * body_in, size_t body_len, uint64_t * body_out, studio_buf * head_out);
        int32_t studio_host_set(uint64_t engine, const char * ops_json, size_t len, void * host, void * user_data, void * destroy);
        int32_t studio_host_next(uint64_t engine, int32_t timeout_ms, studio_buf * out);
        int32_t studio_host_complete(uint64_t engine, uint64_t call_id, int32_t ok, const char * data, size_t len);
        int32_t studio_start(uint64_t engine, const char * op, const char * request, size_t len, const char * body, size_t body_len, uint64_t * out, studio_buf * err);
        int32_t studio_ready(uint64_t engine, int32_t timeout_ms, uint64_t * handles, size_t room, size_t * count);
        int32_t studio_engine_fd(uint64_t engine);
        int32_t studio_stream_next(uint64_t stream, int32_t timeout_ms, studio_buf * out);
        int32_t studio_stream_next_batch(uint64_t stream, int32_t timeout_ms, size_t max_bytes, studio_buf * out);
        int32_t studio_stream_fd(uint64_t stream);
        int32_t studio_stream_cancel(uint64_t stream);
        int32_t studio_stream_close(uint64_t stream);
        C;
}
