// Written by `make generate`; do not edit.

package wfstudio

// Version is that of this module and of the library that comes with it.
const Version = "0.1.0"

const abiMajor, abiMinor = 1, 1

// Codes of the library.
const (
	codeOk       int32 = 0
	codeEnd      int32 = 1
	codeTimeout  int32 = 2
	codeHostCall int32 = 3
	codeHead     int32 = 4
	// CodeInvalid: An argument is invalid.
	CodeInvalid Code = -1
	// CodeNotFound: The object does not exist.
	CodeNotFound Code = -2
	// CodeConflict: The object is in a state that does not allow this.
	CodeConflict Code = -3
	// CodeCancelled: The operation was cancelled.
	CodeCancelled Code = -4
	// CodeClosed: The handle is closed.
	CodeClosed Code = -5
	// CodeBadHandle: This is not a handle of this library, it has the wrong kind, or it was closed long ago.
	CodeBadHandle Code = -6
	// CodeForked: The handle belongs to the parent process. Open another engine in this process.
	CodeForked Code = -7
	// CodePanic: A bug in this library. The engine can still be used.
	CodePanic Code = -8
	// CodeInternal: An error inside this library or inside something that it calls.
	CodeInternal Code = -9
	// CodeUnsupported: Not part of this build, or disabled.
	CodeUnsupported Code = -10
	// CodeReentrant: A function that can block was called inside a callback.
	CodeReentrant Code = -11
	// CodeDenied: Permission denied.
	CodeDenied Code = -12
	// CodeBusy: The object is in use. Try again.
	CodeBusy Code = -13
)

var codeNames = map[Code]string{
	CodeInvalid:     "invalid",
	CodeNotFound:    "not found",
	CodeConflict:    "conflict",
	CodeCancelled:   "cancelled",
	CodeClosed:      "closed",
	CodeBadHandle:   "bad handle",
	CodeForked:      "forked",
	CodePanic:       "panic",
	CodeInternal:    "internal",
	CodeUnsupported: "unsupported",
	CodeReentrant:   "reentrant",
	CodeDenied:      "denied",
	CodeBusy:        "busy",
}

// What Studio.Call does.
const (
	OpOps             = "ops"
	OpAbout           = "about"
	OpStart           = "start"
	OpHealth          = "health"
	OpBackup          = "backup"
	OpTraceGet        = "trace.get"
	OpTraceList       = "trace.list"
	OpRunCancel       = "run.cancel"
	OpRunRetry        = "run.retry"
	OpThreadList      = "thread.list"
	OpThreadGet       = "thread.get"
	OpUsageQuery      = "usage.query"
	OpUsageRun        = "usage.run"
	OpUsageRebuild    = "usage.rebuild"
	OpGraphValidate   = "graph.validate"
	OpWorkflowSave    = "workflow.save"
	OpAgentSave       = "agent.save"
	OpTemplateList    = "template.list"
	OpTemplateGet     = "template.get"
	OpTemplateInstall = "template.install"
	OpClassRegister   = "class.register"
	OpWorkerStep      = "worker.step"
	OpCommand         = "command"
)

// What a host may be asked; see HostCall.
const (
	HostToolCall       = "tool.call"
	HostToolCancel     = "tool.cancel"
	HostGate           = "gate"
	HostSecretGet      = "secret.get"
	HostMcpAuthorize   = "mcp.authorize"
	HostMcpElicit      = "mcp.elicit"
	HostProviderChat   = "provider.chat"
	HostProviderRerank = "provider.rerank"
	HostUsageRecorded  = "usage.recorded"
	HostLog            = "log"
)

// Names of events.
const (
	EventThread               = "thread"
	EventTraceStarted         = "trace_started"
	EventStepStarted          = "step_started"
	EventLoopIteration        = "loop_iteration"
	EventStepRetrying         = "step_retrying"
	EventCheckpointHit        = "checkpoint_hit"
	EventModelFallback        = "model_fallback"
	EventReasoning            = "reasoning"
	EventToken                = "token"
	EventSource               = "source"
	EventFile                 = "file"
	EventToolCall             = "tool_call"
	EventToolResult           = "tool_result"
	EventRagQuery             = "rag_query"
	EventBranchStarted        = "branch_started"
	EventBranchCompleted      = "branch_completed"
	EventParallelInterrupt    = "parallel_interrupt"
	EventHumanInputRequired   = "human_input_required"
	EventToolApprovalRequired = "tool_approval_required"
	EventToolApprovalResolved = "tool_approval_resolved"
	EventStepCompleted        = "step_completed"
	EventStepFailed           = "step_failed"
	EventTraceCompleted       = "trace_completed"
	EventTraceFailed          = "trace_failed"
	EventTraceCancelled       = "trace_cancelled"
	EventDone                 = "done"
	EventError                = "error"
	EventRunTerminal          = "run_terminal"
)

// What begins a stream.
const (
	doHttp   = "http"
	doRun    = "run"
	doResume = "resume"
)

// library has the C functions; streams and engines are numbers.
type library struct {
	abiVersion      func() uint32
	version         func() string
	bufFree         func(buffer *buffer)
	engineOpen      func(config *byte, len_ uintptr, out *uint64, err *buffer) int32
	engineShared    func(shared *byte, config *byte, len_ uintptr, out *uint64, err *buffer) int32
	engineClose     func(engine uint64, timeoutMs uint32) int32
	shutdown        func(timeoutMs uint32)
	call            func(engine uint64, op *byte, request *byte, len_ uintptr, out *buffer) int32
	run             func(engine uint64, request *byte, len_ uintptr, out *uint64, err *buffer) int32
	resume          func(engine uint64, request *byte, len_ uintptr, out *uint64, err *buffer) int32
	trace           func(engine uint64, request *byte, len_ uintptr, out *buffer) int32
	usage           func(engine uint64, query *byte, len_ uintptr, out *buffer) int32
	http            func(engine uint64, head *byte, headLen uintptr, bodyIn *byte, bodyLen uintptr, bodyOut *uint64, headOut *buffer) int32
	hostSet         func(engine uint64, opsJson *byte, len_ uintptr, host uintptr, userData uintptr, destroy uintptr) int32
	hostNext        func(engine uint64, timeoutMs int32, out *buffer) int32
	hostComplete    func(engine uint64, callId uint64, ok int32, data *byte, len_ uintptr) int32
	start           func(engine uint64, op *byte, request *byte, len_ uintptr, body *byte, bodyLen uintptr, out *uint64, err *buffer) int32
	ready           func(engine uint64, timeoutMs int32, handles *uint64, room uintptr, count *uintptr) int32
	engineFd        func(engine uint64) int32
	streamNext      func(stream uint64, timeoutMs int32, out *buffer) int32
	streamNextBatch func(stream uint64, timeoutMs int32, maxBytes uintptr, out *buffer) int32
	streamFd        func(stream uint64) int32
	streamCancel    func(stream uint64) int32
	streamClose     func(stream uint64) int32
}
