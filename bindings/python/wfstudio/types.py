"""Owns the shapes of events and of calls to the host, for type checkers: nothing of the package needs it when it runs. Written by bindings/generate/python.py; do not edit."""

from typing import Any, Dict, List, Literal, NamedTuple, TypedDict, Union


class _EventThread(TypedDict):
    trace_id: str
    thread_id: str
    workflow_id: str


class EventThread(_EventThread, total=False):
    branch_id: str
    branch_path: List[str]


class _EventTraceStarted(TypedDict):
    trace_id: str
    workflow_id: str
    thread_id: str
    status: Literal["running"]
    started_at: str


class EventTraceStarted(_EventTraceStarted, total=False):
    branch_id: str
    branch_path: List[str]


class _EventStepStarted(TypedDict):
    trace_id: str
    step_id: str
    node_id: str
    node_type: str
    iteration: Union[int, None]
    attempt: int


class EventStepStarted(_EventStepStarted, total=False):
    node_title: str
    resumed: bool
    branch_id: str
    branch_path: List[str]


class _EventLoopIteration(TypedDict):
    trace_id: str
    step_id: str
    node_id: str
    iteration: Union[int, None]
    max_steps: Union[int, None]


class EventLoopIteration(_EventLoopIteration, total=False):
    branch_id: str
    branch_path: List[str]


class _EventStepRetrying(TypedDict):
    trace_id: str
    step_id: str
    node_id: str
    attempt: int
    delay_ms: int
    code: str
    message: str


class EventStepRetrying(_EventStepRetrying, total=False):
    branch_id: str
    branch_path: List[str]


class _EventCheckpointHit(TypedDict):
    trace_id: str
    step_id: str
    node_id: str
    iteration: Union[int, None]
    input_hash: str


class EventCheckpointHit(_EventCheckpointHit, total=False):
    branch_id: str
    branch_path: List[str]


class ModelName(TypedDict):
    provider: str
    model: str


EventModelFallback = TypedDict("EventModelFallback", {"trace_id": 'str', "step_id": 'str', "node_id": 'str', "from": 'ModelName', "to": 'ModelName', "code": 'str', "parent_call_id": 'str', "branch_id": 'str', "branch_path": 'List[str]'}, total=False)


class _Warning(TypedDict):
    code: str
    message: str


class Warning(_Warning, total=False):
    parameter: str


class EventStepCompletedError(TypedDict):
    code: str
    message: str


class _EventStepCompleted(TypedDict):
    trace_id: str
    step_id: str
    node_id: str
    node_type: str
    handle: str
    duration_ms: int
    iteration: Union[int, None]
    changes: Dict[str, Any]


class EventStepCompleted(_EventStepCompleted, total=False):
    node_title: str
    omitted_keys: List[str]
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    cache_write_1h_tokens: int
    reasoning_tokens: int
    estimated_cost: str
    currency: str
    unpriced: bool
    provider: Union[str, None]
    model: Union[str, None]
    finish: str
    warnings: List[Warning]
    error: EventStepCompletedError
    branch_id: str
    branch_path: List[str]


class _EventStepFailed(TypedDict):
    trace_id: str
    step_id: str
    node_id: str
    node_type: str
    duration_ms: int
    code: str
    message: str


class EventStepFailed(_EventStepFailed, total=False):
    validation_errors: Any
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    cache_write_1h_tokens: int
    reasoning_tokens: int
    estimated_cost: str
    currency: str
    unpriced: bool
    branch_id: str
    branch_path: List[str]


class _EventReasoning(TypedDict):
    trace_id: str
    step_id: str
    node_id: str
    delta: str
    publish_reply: bool


class EventReasoning(_EventReasoning, total=False):
    branch_id: str
    branch_path: List[str]


class _EventToken(TypedDict):
    trace_id: str
    step_id: str
    node_id: str
    delta: str
    publish_reply: bool


class EventToken(_EventToken, total=False):
    branch_id: str
    branch_path: List[str]


class _EventSource(TypedDict):
    trace_id: str
    step_id: str
    node_id: str
    source_id: str
    kind: Literal["url", "document"]


class EventSource(_EventSource, total=False):
    url: str
    title: str
    document_id: str
    page: int
    branch_id: str
    branch_path: List[str]


class _EventFile(TypedDict):
    trace_id: str
    step_id: str
    node_id: str
    storage_key: str
    name: str
    media_type: str
    size: int


class EventFile(_EventFile, total=False):
    branch_id: str
    branch_path: List[str]


class _EventToolCall(TypedDict):
    trace_id: str
    step_id: str
    node_id: str
    call_id: str
    name: str
    inputs: Dict[str, Any]
    result: None


class EventToolCall(_EventToolCall, total=False):
    parent_call_id: str
    omitted_keys: List[str]
    branch_id: str
    branch_path: List[str]


class StoredFile(TypedDict):
    storage_key: str
    name: str
    media_type: str
    size: int


class _EventToolResult(TypedDict):
    trace_id: str
    step_id: str
    node_id: str
    call_id: str
    name: str
    inputs: Dict[str, Any]
    is_error: bool
    skipped: bool
    duration_ms: int


class EventToolResult(_EventToolResult, total=False):
    result: str
    files: List[StoredFile]
    parent_call_id: str
    omitted_keys: List[str]
    branch_id: str
    branch_path: List[str]


class _EventRagQuery(TypedDict):
    trace_id: str
    step_id: str
    node_id: str
    query: Union[str, None]
    knowledge_base_id: Union[str, None]
    chunk_count: Union[int, None]
    top_score: Union[float, None]


class EventRagQuery(_EventRagQuery, total=False):
    branch_id: str
    branch_path: List[str]


class _EventBranchStarted(TypedDict):
    trace_id: str


class EventBranchStarted(_EventBranchStarted, total=False):
    fork_id: str
    branch_id: str
    branch_path: List[str]


class _EventBranchCompleted(TypedDict):
    trace_id: str
    duration_ms: int


class EventBranchCompleted(_EventBranchCompleted, total=False):
    fork_id: str
    branch_id: str
    branch_path: List[str]


class _EventParallelInterrupt(TypedDict):
    trace_id: str
    node_id: str
    pause_id: str
    reason: Literal["human", "tool_approval"]


class EventParallelInterrupt(_EventParallelInterrupt, total=False):
    fork_id: str
    branch_id: str
    branch_path: List[str]


class PauseQuestion(TypedDict):
    server: str
    tool: str
    call_id: str
    schema: Dict[str, Any]


class _EventHumanInputRequired(TypedDict):
    trace_id: str
    step_id: str
    node_id: str
    pause_id: str
    prompt: Union[str, None]
    output_key: Union[str, None]
    thread_id: str


class EventHumanInputRequired(_EventHumanInputRequired, total=False):
    question: PauseQuestion
    branch_id: str
    branch_path: List[str]


class _PendingTool(TypedDict):
    name: str
    arguments: Any
    call_id: str


class PendingTool(_PendingTool, total=False):
    server: str
    fixed_arguments: Dict[str, Any]


class _EventToolApprovalRequired(TypedDict):
    trace_id: str
    step_id: str
    node_id: str
    pause_id: str
    pending_tools: List[PendingTool]
    message: Union[str, None]


class EventToolApprovalRequired(_EventToolApprovalRequired, total=False):
    branch_id: str
    branch_path: List[str]


class EventToolApprovalResolvedDecisionsItem(TypedDict):
    call_id: str
    approval: Literal["approve", "reject"]
    edited: bool


class _EventToolApprovalResolved(TypedDict):
    trace_id: str
    step_id: str
    node_id: str
    pause_id: str


class EventToolApprovalResolved(_EventToolApprovalResolved, total=False):
    approved: bool
    decisions: List[EventToolApprovalResolvedDecisionsItem]
    branch_id: str
    branch_path: List[str]


class _EventTraceCompleted(TypedDict):
    trace_id: str
    status: Literal["completed"]
    output: Dict[str, Any]
    reply: Union[str, None]
    thread_id: str
    duration_ms: int
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    estimated_cost: str
    currency: str
    unpriced: bool


class EventTraceCompleted(_EventTraceCompleted, total=False):
    cache_write_1h_tokens: int
    branch_id: str
    branch_path: List[str]


class DoubtfulCall(TypedDict):
    call_id: str
    name: str
    arguments: Any
    node_id: str


class _EventTraceFailed(TypedDict):
    trace_id: str
    node_id: Union[str, None]
    code: str
    message: str
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    estimated_cost: str
    currency: str
    unpriced: bool


class EventTraceFailed(_EventTraceFailed, total=False):
    cache_write_1h_tokens: int
    validation_errors: Any
    calls: List[DoubtfulCall]
    branch_id: str
    branch_path: List[str]


class _EventTraceCancelled(TypedDict):
    trace_id: str
    node_id: Union[str, None]
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    estimated_cost: str
    currency: str
    unpriced: bool


class EventTraceCancelled(_EventTraceCancelled, total=False):
    cache_write_1h_tokens: int
    branch_id: str
    branch_path: List[str]


class EventRunTerminalError(TypedDict):
    code: str
    message: str
    node_id: Union[str, None]


class _EventRunTerminal(TypedDict):
    trace_id: str
    status: str


class EventRunTerminal(_EventRunTerminal, total=False):
    error: EventRunTerminalError
    branch_id: str
    branch_path: List[str]


class ChatEventThread(TypedDict):
    thread_id: str
    trace_id: str
    agent_id: str


class ChatEventReasoning(TypedDict):
    delta: str


class ChatEventToken(TypedDict):
    delta: str


ChatEventModelFallback = TypedDict("ChatEventModelFallback", {"from": 'ModelName', "to": 'ModelName', "code": 'str', "parent_call_id": 'str'}, total=False)


class _ChatEventSource(TypedDict):
    source_id: str
    kind: Literal["url", "document"]


class ChatEventSource(_ChatEventSource, total=False):
    url: str
    title: str
    document_id: str
    page: int


class ChatEventFile(TypedDict):
    storage_key: str
    name: str
    media_type: str
    size: int


class _ChatEventToolCall(TypedDict):
    call_id: str
    name: str
    inputs: Dict[str, Any]


class ChatEventToolCall(_ChatEventToolCall, total=False):
    parent_call_id: str
    omitted_keys: List[str]


class _ChatEventToolResult(TypedDict):
    call_id: str
    name: str
    inputs: Dict[str, Any]
    is_error: bool
    skipped: bool
    duration_ms: int


class ChatEventToolResult(_ChatEventToolResult, total=False):
    result: str
    files: List[StoredFile]
    parent_call_id: str
    omitted_keys: List[str]


class ChatEventHumanInputRequired(TypedDict):
    trace_id: str
    pause_id: str


class _ChatEventToolApprovalRequired(TypedDict):
    trace_id: str
    pause_id: str


class ChatEventToolApprovalRequired(_ChatEventToolApprovalRequired, total=False):
    pending_tools: List[PendingTool]
    message: Union[str, None]


class ChatEventToolApprovalResolvedDecisionsItem(TypedDict):
    call_id: str
    approval: Literal["approve", "reject"]
    edited: bool


class _ChatEventToolApprovalResolved(TypedDict):
    trace_id: str
    pause_id: str


class ChatEventToolApprovalResolved(_ChatEventToolApprovalResolved, total=False):
    approved: bool
    decisions: List[ChatEventToolApprovalResolvedDecisionsItem]


class _ChatEventDone(TypedDict):
    trace_id: str
    thread_id: str
    status: Literal["completed"]
    message_id: Union[str, None]
    reply: Union[str, None]
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    reasoning_tokens: int
    estimated_cost: str
    currency: str
    unpriced: bool


class ChatEventDone(_ChatEventDone, total=False):
    cache_write_1h_tokens: int
    finish: str
    warnings: List[Warning]


class ChatEventError(TypedDict):
    trace_id: str
    code: str
    message: str


class ChatEventRunTerminalError(TypedDict):
    code: str
    message: str
    node_id: Union[str, None]


class _ChatEventRunTerminal(TypedDict):
    trace_id: str
    status: str


class ChatEventRunTerminal(_ChatEventRunTerminal, total=False):
    error: ChatEventRunTerminalError


class _HostToolCall(TypedDict):
    name: str
    arguments: Any
    call_id: str
    idempotency_key: str
    trace_id: str
    node_id: str
    tenant: str
    timeout_ms: int


class HostToolCall(_HostToolCall, total=False):
    user: Any
    traceparent: Union[str, None]
    tracestate: Union[str, None]


class HostToolCancel(TypedDict):
    call_id: Union[str, None]
    cancels: int


class _HostGate(TypedDict):
    gate: str
    tenant: str
    method: str
    path: str
    timeout_ms: int


class HostGate(_HostGate, total=False):
    user: Any


class HostSecretGet(TypedDict):
    name: str
    tenant: str
    timeout_ms: int


class _HostMcpAuthorize(TypedDict):
    server: str
    url: str
    tenant: str
    timeout_ms: int


class HostMcpAuthorize(_HostMcpAuthorize, total=False):
    status: Union[int, None]
    challenge: Union[str, None]


class _HostMcpElicit(TypedDict):
    server: str
    tenant: str
    message: str
    timeout_ms: int


class HostMcpElicit(_HostMcpElicit, total=False):
    tool: str
    trace_id: str
    node_id: str
    call_id: str
    user: Any
    schema: Any
    problems: Any
    traceparent: Union[str, None]
    tracestate: Union[str, None]


class _HostProviderChat(TypedDict):
    provider: str
    model: str
    messages: List[Any]
    tools: List[Any]
    parameters: Any
    stream: bool
    timeout_ms: int


class HostProviderChat(_HostProviderChat, total=False):
    schema: Any
    media: List[Any]
    traceparent: Union[str, None]
    tracestate: Union[str, None]


class _HostProviderRerank(TypedDict):
    provider: str
    model: str
    query: str
    documents: List[str]
    tenant: str
    timeout_ms: int


class HostProviderRerank(_HostProviderRerank, total=False):
    traceparent: Union[str, None]
    tracestate: Union[str, None]


class _HostUsageRecorded(TypedDict):
    timeout_ms: int


class HostUsageRecorded(_HostUsageRecorded, total=False):
    eventId: str


class _HostLog(TypedDict):
    level: str
    target: str
    message: str


class HostLog(_HostLog, total=False):
    fields: Dict[str, Any]


class WorkflowThread(NamedTuple):
    name: Literal["thread"]
    data: EventThread


class WorkflowTraceStarted(NamedTuple):
    name: Literal["trace_started"]
    data: EventTraceStarted


class WorkflowStepStarted(NamedTuple):
    name: Literal["step_started"]
    data: EventStepStarted


class WorkflowLoopIteration(NamedTuple):
    name: Literal["loop_iteration"]
    data: EventLoopIteration


class WorkflowStepRetrying(NamedTuple):
    name: Literal["step_retrying"]
    data: EventStepRetrying


class WorkflowCheckpointHit(NamedTuple):
    name: Literal["checkpoint_hit"]
    data: EventCheckpointHit


class WorkflowModelFallback(NamedTuple):
    name: Literal["model_fallback"]
    data: EventModelFallback


class WorkflowStepCompleted(NamedTuple):
    name: Literal["step_completed"]
    data: EventStepCompleted


class WorkflowStepFailed(NamedTuple):
    name: Literal["step_failed"]
    data: EventStepFailed


class WorkflowReasoning(NamedTuple):
    name: Literal["reasoning"]
    data: EventReasoning


class WorkflowToken(NamedTuple):
    name: Literal["token"]
    data: EventToken


class WorkflowSource(NamedTuple):
    name: Literal["source"]
    data: EventSource


class WorkflowFile(NamedTuple):
    name: Literal["file"]
    data: EventFile


class WorkflowToolCall(NamedTuple):
    name: Literal["tool_call"]
    data: EventToolCall


class WorkflowToolResult(NamedTuple):
    name: Literal["tool_result"]
    data: EventToolResult


class WorkflowRagQuery(NamedTuple):
    name: Literal["rag_query"]
    data: EventRagQuery


class WorkflowBranchStarted(NamedTuple):
    name: Literal["branch_started"]
    data: EventBranchStarted


class WorkflowBranchCompleted(NamedTuple):
    name: Literal["branch_completed"]
    data: EventBranchCompleted


class WorkflowParallelInterrupt(NamedTuple):
    name: Literal["parallel_interrupt"]
    data: EventParallelInterrupt


class WorkflowHumanInputRequired(NamedTuple):
    name: Literal["human_input_required"]
    data: EventHumanInputRequired


class WorkflowToolApprovalRequired(NamedTuple):
    name: Literal["tool_approval_required"]
    data: EventToolApprovalRequired


class WorkflowToolApprovalResolved(NamedTuple):
    name: Literal["tool_approval_resolved"]
    data: EventToolApprovalResolved


class WorkflowTraceCompleted(NamedTuple):
    name: Literal["trace_completed"]
    data: EventTraceCompleted


class WorkflowTraceFailed(NamedTuple):
    name: Literal["trace_failed"]
    data: EventTraceFailed


class WorkflowTraceCancelled(NamedTuple):
    name: Literal["trace_cancelled"]
    data: EventTraceCancelled


class WorkflowRunTerminal(NamedTuple):
    name: Literal["run_terminal"]
    data: EventRunTerminal


WorkflowEvent = Union[
    WorkflowThread,
    WorkflowTraceStarted,
    WorkflowStepStarted,
    WorkflowLoopIteration,
    WorkflowStepRetrying,
    WorkflowCheckpointHit,
    WorkflowModelFallback,
    WorkflowStepCompleted,
    WorkflowStepFailed,
    WorkflowReasoning,
    WorkflowToken,
    WorkflowSource,
    WorkflowFile,
    WorkflowToolCall,
    WorkflowToolResult,
    WorkflowRagQuery,
    WorkflowBranchStarted,
    WorkflowBranchCompleted,
    WorkflowParallelInterrupt,
    WorkflowHumanInputRequired,
    WorkflowToolApprovalRequired,
    WorkflowToolApprovalResolved,
    WorkflowTraceCompleted,
    WorkflowTraceFailed,
    WorkflowTraceCancelled,
    WorkflowRunTerminal,
]


class ChatThread(NamedTuple):
    name: Literal["thread"]
    data: ChatEventThread


class ChatReasoning(NamedTuple):
    name: Literal["reasoning"]
    data: ChatEventReasoning


class ChatToken(NamedTuple):
    name: Literal["token"]
    data: ChatEventToken


class ChatModelFallback(NamedTuple):
    name: Literal["model_fallback"]
    data: ChatEventModelFallback


class ChatSource(NamedTuple):
    name: Literal["source"]
    data: ChatEventSource


class ChatFile(NamedTuple):
    name: Literal["file"]
    data: ChatEventFile


class ChatToolCall(NamedTuple):
    name: Literal["tool_call"]
    data: ChatEventToolCall


class ChatToolResult(NamedTuple):
    name: Literal["tool_result"]
    data: ChatEventToolResult


class ChatHumanInputRequired(NamedTuple):
    name: Literal["human_input_required"]
    data: ChatEventHumanInputRequired


class ChatToolApprovalRequired(NamedTuple):
    name: Literal["tool_approval_required"]
    data: ChatEventToolApprovalRequired


class ChatToolApprovalResolved(NamedTuple):
    name: Literal["tool_approval_resolved"]
    data: ChatEventToolApprovalResolved


class ChatDone(NamedTuple):
    name: Literal["done"]
    data: ChatEventDone


class ChatError(NamedTuple):
    name: Literal["error"]
    data: ChatEventError


class ChatRunTerminal(NamedTuple):
    name: Literal["run_terminal"]
    data: ChatEventRunTerminal


ChatEvent = Union[
    ChatThread,
    ChatReasoning,
    ChatToken,
    ChatModelFallback,
    ChatSource,
    ChatFile,
    ChatToolCall,
    ChatToolResult,
    ChatHumanInputRequired,
    ChatToolApprovalRequired,
    ChatToolApprovalResolved,
    ChatDone,
    ChatError,
    ChatRunTerminal,
]

RunEvent = Union[WorkflowEvent, ChatEvent]
HostPayload = Union[HostToolCall, HostToolCancel, HostGate, HostSecretGet, HostMcpAuthorize, HostMcpElicit, HostProviderChat, HostProviderRerank, HostUsageRecorded, HostLog]
