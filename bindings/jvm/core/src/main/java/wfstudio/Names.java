// Written by bindings/generate/jvm.py from the description of the native functions; do not edit.

package wfstudio;

/** Names that the engine knows. */
public final class Names {
    /** Operations of the engine. */
    public static final class Op {
        public static final String OPS = "ops";
        public static final String ABOUT = "about";
        public static final String START = "start";
        public static final String HEALTH = "health";
        public static final String BACKUP = "backup";
        public static final String TRACE_GET = "trace.get";
        public static final String TRACE_LIST = "trace.list";
        public static final String RUN_CANCEL = "run.cancel";
        public static final String RUN_RETRY = "run.retry";
        public static final String THREAD_LIST = "thread.list";
        public static final String THREAD_GET = "thread.get";
        public static final String USAGE_QUERY = "usage.query";
        public static final String USAGE_RUN = "usage.run";
        public static final String USAGE_REBUILD = "usage.rebuild";
        public static final String GRAPH_VALIDATE = "graph.validate";
        public static final String WORKFLOW_SAVE = "workflow.save";
        public static final String AGENT_SAVE = "agent.save";
        public static final String TEMPLATE_LIST = "template.list";
        public static final String TEMPLATE_GET = "template.get";
        public static final String TEMPLATE_INSTALL = "template.install";
        public static final String CLASS_REGISTER = "class.register";
        public static final String WORKER_STEP = "worker.step";
        public static final String COMMAND = "command";
        public static final String HTTP = "http";
        public static final String RUN = "run";
        public static final String RESUME = "resume";

        private Op() {}
    }

    /** What the engine asks the application. */
    public static final class HostOp {
        public static final String TOOL_CALL = "tool.call";
        public static final String TOOL_CANCEL = "tool.cancel";
        public static final String GATE = "gate";
        public static final String SECRET_GET = "secret.get";
        public static final String MCP_AUTHORIZE = "mcp.authorize";
        public static final String MCP_ELICIT = "mcp.elicit";
        public static final String PROVIDER_CHAT = "provider.chat";
        public static final String PROVIDER_RERANK = "provider.rerank";
        public static final String USAGE_RECORDED = "usage.recorded";
        public static final String LOG = "log";
        /** Of these, what no answer is expected to. */
        static final java.util.Set<String> UNANSWERED = java.util.Set.of(TOOL_CANCEL, LOG);

        private HostOp() {}
    }

    /** What is said beside a request. */
    public static final class Mark {
        public static final String USER = "user";
        public static final String TENANT = "tenant";
        public static final String GATE = "gate";
        public static final String AUTHORIZED = "authorized";
        public static final String BASE_URL = "base_url";
        public static final String ROOT_PATH = "root_path";
        public static final String HOST_CALLS = "host_calls";
        public static final String EXPECT = "expect";

        private Mark() {}
    }

    /** Events of a run. */
    public static final class Event {
        public static final String THREAD = "thread";
        public static final String TRACE_STARTED = "trace_started";
        public static final String STEP_STARTED = "step_started";
        public static final String LOOP_ITERATION = "loop_iteration";
        public static final String STEP_RETRYING = "step_retrying";
        public static final String CHECKPOINT_HIT = "checkpoint_hit";
        public static final String MODEL_FALLBACK = "model_fallback";
        public static final String REASONING = "reasoning";
        public static final String TOKEN = "token";
        public static final String SOURCE = "source";
        public static final String FILE = "file";
        public static final String TOOL_CALL = "tool_call";
        public static final String TOOL_RESULT = "tool_result";
        public static final String RAG_QUERY = "rag_query";
        public static final String BRANCH_STARTED = "branch_started";
        public static final String BRANCH_COMPLETED = "branch_completed";
        public static final String PARALLEL_INTERRUPT = "parallel_interrupt";
        public static final String HUMAN_INPUT_REQUIRED = "human_input_required";
        public static final String TOOL_APPROVAL_REQUIRED = "tool_approval_required";
        public static final String TOOL_APPROVAL_RESOLVED = "tool_approval_resolved";
        public static final String STEP_COMPLETED = "step_completed";
        public static final String STEP_FAILED = "step_failed";
        public static final String TRACE_COMPLETED = "trace_completed";
        public static final String TRACE_FAILED = "trace_failed";
        public static final String TRACE_CANCELLED = "trace_cancelled";
        public static final String DONE = "done";
        public static final String ERROR = "error";
        public static final String RUN_TERMINAL = "run_terminal";

        private Event() {}
    }

    private Names() {}
}
