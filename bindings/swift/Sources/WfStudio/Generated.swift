// Written by `make generate`; do not edit.

/// What `Studio.call` does.
public enum Operation {
    public static let ops = "ops"
    public static let about = "about"
    public static let start = "start"
    public static let health = "health"
    public static let backup = "backup"
    public static let traceGet = "trace.get"
    public static let traceList = "trace.list"
    public static let runCancel = "run.cancel"
    public static let runRetry = "run.retry"
    public static let threadList = "thread.list"
    public static let threadGet = "thread.get"
    public static let usageQuery = "usage.query"
    public static let usageRun = "usage.run"
    public static let usageRebuild = "usage.rebuild"
    public static let graphValidate = "graph.validate"
    public static let workflowSave = "workflow.save"
    public static let agentSave = "agent.save"
    public static let templateList = "template.list"
    public static let templateGet = "template.get"
    public static let templateInstall = "template.install"
    public static let classRegister = "class.register"
    public static let workerStep = "worker.step"
    public static let command = "command"
}

/// What a host may be asked.
public enum HostOperation {
    public static let toolCall = "tool.call"
    public static let toolCancel = "tool.cancel"
    public static let gate = "gate"
    public static let secretGet = "secret.get"
    public static let mcpAuthorize = "mcp.authorize"
    public static let mcpElicit = "mcp.elicit"
    public static let providerChat = "provider.chat"
    public static let providerRerank = "provider.rerank"
    public static let usageRecorded = "usage.recorded"
    public static let log = "log"
}

/// What happens in a run.
public enum EventName {
    public static let thread = "thread"
    public static let traceStarted = "trace_started"
    public static let stepStarted = "step_started"
    public static let loopIteration = "loop_iteration"
    public static let stepRetrying = "step_retrying"
    public static let checkpointHit = "checkpoint_hit"
    public static let modelFallback = "model_fallback"
    public static let reasoning = "reasoning"
    public static let token = "token"
    public static let source = "source"
    public static let file = "file"
    public static let toolCall = "tool_call"
    public static let toolResult = "tool_result"
    public static let ragQuery = "rag_query"
    public static let branchStarted = "branch_started"
    public static let branchCompleted = "branch_completed"
    public static let parallelInterrupt = "parallel_interrupt"
    public static let humanInputRequired = "human_input_required"
    public static let toolApprovalRequired = "tool_approval_required"
    public static let toolApprovalResolved = "tool_approval_resolved"
    public static let stepCompleted = "step_completed"
    public static let stepFailed = "step_failed"
    public static let traceCompleted = "trace_completed"
    public static let traceFailed = "trace_failed"
    public static let traceCancelled = "trace_cancelled"
    public static let done = "done"
    public static let error = "error"
    public static let runTerminal = "run_terminal"
}

/// What begins a stream.
enum Begin {
    static let http = "http"
    static let run = "run"
    static let resume = "resume"
}
