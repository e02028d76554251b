// Written by `make generate`; do not edit.
using System;
using System.Runtime.InteropServices;

namespace WfStudio
{
    /// <summary>What went wrong.</summary>
    public enum StudioCode
    {
        /// <summary>An argument is invalid.</summary>
        Invalid = -1,
        /// <summary>The object does not exist.</summary>
        NotFound = -2,
        /// <summary>The object is in a state that does not allow this.</summary>
        Conflict = -3,
        /// <summary>The operation was cancelled.</summary>
        Cancelled = -4,
        /// <summary>The handle is closed.</summary>
        Closed = -5,
        /// <summary>This is not a handle of this library, it has the wrong kind, or it was closed long ago.</summary>
        BadHandle = -6,
        /// <summary>The handle belongs to the parent process. Open another engine in this process.</summary>
        Forked = -7,
        /// <summary>A bug in this library. The engine can still be used.</summary>
        Panic = -8,
        /// <summary>An error inside this library or inside something that it calls.</summary>
        Internal = -9,
        /// <summary>Not part of this build, or disabled.</summary>
        Unsupported = -10,
        /// <summary>A function that can block was called inside a callback.</summary>
        Reentrant = -11,
        /// <summary>Permission denied.</summary>
        Denied = -12,
        /// <summary>The object is in use. Try again.</summary>
        Busy = -13,
    }

    internal static class Answered
    {
        internal const int Ok = 0;
        internal const int End = 1;
        internal const int Timeout = 2;
        internal const int HostCall = 3;
        internal const int Head = 4;
    }

    /// <summary>What Studio.Call does.</summary>
    public static class Op
    {
        /// <summary>ops</summary>
        public const string Ops = "ops";
        /// <summary>about</summary>
        public const string About = "about";
        /// <summary>start</summary>
        public const string Start = "start";
        /// <summary>health</summary>
        public const string Health = "health";
        /// <summary>backup</summary>
        public const string Backup = "backup";
        /// <summary>trace.get</summary>
        public const string TraceGet = "trace.get";
        /// <summary>trace.list</summary>
        public const string TraceList = "trace.list";
        /// <summary>run.cancel</summary>
        public const string RunCancel = "run.cancel";
        /// <summary>run.retry</summary>
        public const string RunRetry = "run.retry";
        /// <summary>thread.list</summary>
        public const string ThreadList = "thread.list";
        /// <summary>thread.get</summary>
        public const string ThreadGet = "thread.get";
        /// <summary>usage.query</summary>
        public const string UsageQuery = "usage.query";
        /// <summary>usage.run</summary>
        public const string UsageRun = "usage.run";
        /// <summary>usage.rebuild</summary>
        public const string UsageRebuild = "usage.rebuild";
        /// <summary>graph.validate</summary>
        public const string GraphValidate = "graph.validate";
        /// <summary>workflow.save</summary>
        public const string WorkflowSave = "workflow.save";
        /// <summary>agent.save</summary>
        public const string AgentSave = "agent.save";
        /// <summary>template.list</summary>
        public const string TemplateList = "template.list";
        /// <summary>template.get</summary>
        public const string TemplateGet = "template.get";
        /// <summary>template.install</summary>
        public const string TemplateInstall = "template.install";
        /// <summary>class.register</summary>
        public const string ClassRegister = "class.register";
        /// <summary>worker.step</summary>
        public const string WorkerStep = "worker.step";
        /// <summary>command</summary>
        public const string Command = "command";
    }

    /// <summary>What a host may be asked.</summary>
    public static class HostOp
    {
        /// <summary>tool.call</summary>
        public const string ToolCall = "tool.call";
        /// <summary>tool.cancel</summary>
        public const string ToolCancel = "tool.cancel";
        /// <summary>gate</summary>
        public const string Gate = "gate";
        /// <summary>secret.get</summary>
        public const string SecretGet = "secret.get";
        /// <summary>mcp.authorize</summary>
        public const string McpAuthorize = "mcp.authorize";
        /// <summary>mcp.elicit</summary>
        public const string McpElicit = "mcp.elicit";
        /// <summary>provider.chat</summary>
        public const string ProviderChat = "provider.chat";
        /// <summary>provider.rerank</summary>
        public const string ProviderRerank = "provider.rerank";
        /// <summary>usage.recorded</summary>
        public const string UsageRecorded = "usage.recorded";
        /// <summary>log</summary>
        public const string Log = "log";
    }

    /// <summary>What happens in a run.</summary>
    public static class EventName
    {
        /// <summary>thread</summary>
        public const string Thread = "thread";
        /// <summary>trace_started</summary>
        public const string TraceStarted = "trace_started";
        /// <summary>step_started</summary>
        public const string StepStarted = "step_started";
        /// <summary>loop_iteration</summary>
        public const string LoopIteration = "loop_iteration";
        /// <summary>step_retrying</summary>
        public const string StepRetrying = "step_retrying";
        /// <summary>checkpoint_hit</summary>
        public const string CheckpointHit = "checkpoint_hit";
        /// <summary>model_fallback</summary>
        public const string ModelFallback = "model_fallback";
        /// <summary>reasoning</summary>
        public const string Reasoning = "reasoning";
        /// <summary>token</summary>
        public const string Token = "token";
        /// <summary>source</summary>
        public const string Source = "source";
        /// <summary>file</summary>
        public const string File = "file";
        /// <summary>tool_call</summary>
        public const string ToolCall = "tool_call";
        /// <summary>tool_result</summary>
        public const string ToolResult = "tool_result";
        /// <summary>rag_query</summary>
        public const string RagQuery = "rag_query";
        /// <summary>branch_started</summary>
        public const string BranchStarted = "branch_started";
        /// <summary>branch_completed</summary>
        public const string BranchCompleted = "branch_completed";
        /// <summary>parallel_interrupt</summary>
        public const string ParallelInterrupt = "parallel_interrupt";
        /// <summary>human_input_required</summary>
        public const string HumanInputRequired = "human_input_required";
        /// <summary>tool_approval_required</summary>
        public const string ToolApprovalRequired = "tool_approval_required";
        /// <summary>tool_approval_resolved</summary>
        public const string ToolApprovalResolved = "tool_approval_resolved";
        /// <summary>step_completed</summary>
        public const string StepCompleted = "step_completed";
        /// <summary>step_failed</summary>
        public const string StepFailed = "step_failed";
        /// <summary>trace_completed</summary>
        public const string TraceCompleted = "trace_completed";
        /// <summary>trace_failed</summary>
        public const string TraceFailed = "trace_failed";
        /// <summary>trace_cancelled</summary>
        public const string TraceCancelled = "trace_cancelled";
        /// <summary>done</summary>
        public const string Done = "done";
        /// <summary>error</summary>
        public const string Error = "error";
        /// <summary>run_terminal</summary>
        public const string RunTerminal = "run_terminal";
    }

    /// <summary>What begins a stream.</summary>
    internal static class Begin
    {
        internal const string Http = "http";
        internal const string Run = "run";
        internal const string Resume = "resume";
    }

    internal sealed class Native
    {
        internal const uint Major = 1, Minor = 1;
        internal const string Package = "0.1.0";

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate uint AbiVersionFunction();

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate IntPtr VersionFunction();

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate void BufFreeFunction(ref Buf @buffer);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int EngineOpenFunction(byte[] @config, UIntPtr @len, out IntPtr @out, ref Buf @err);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int EngineSharedFunction(byte[] @shared, byte[] @config, UIntPtr @len, out IntPtr @out, ref Buf @err);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int EngineCloseFunction(EngineHandle @engine, uint @timeout_ms);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate void ShutdownFunction(uint @timeout_ms);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int CallFunction(EngineHandle @engine, byte[] @op, byte[] @request, UIntPtr @len, ref Buf @out);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int RunFunction(EngineHandle @engine, byte[] @request, UIntPtr @len, out IntPtr @out, ref Buf @err);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ResumeFunction(EngineHandle @engine, byte[] @request, UIntPtr @len, out IntPtr @out, ref Buf @err);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int TraceFunction(EngineHandle @engine, byte[] @request, UIntPtr @len, ref Buf @out);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int UsageFunction(EngineHandle @engine, byte[] @query, UIntPtr @len, ref Buf @out);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int HttpFunction(EngineHandle @engine, byte[] @head, UIntPtr @head_len, byte[] @body_in, UIntPtr @body_len, out IntPtr @body_out, ref Buf @head_out);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int HostSetFunction(EngineHandle @engine, byte[] @ops_json, UIntPtr @len, IntPtr @host, IntPtr @user_data, IntPtr @destroy);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int HostNextFunction(EngineHandle @engine, int @timeout_ms, ref Buf @out);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int HostCompleteFunction(EngineHandle @engine, ulong @call_id, int @ok, byte[] @data, UIntPtr @len);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int StartFunction(EngineHandle @engine, byte[] @op, byte[] @request, UIntPtr @len, byte[] @body, UIntPtr @body_len, out IntPtr @out, ref Buf @err);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int ReadyFunction(EngineHandle @engine, int @timeout_ms, [Out] ulong[] @handles, UIntPtr @room, out UIntPtr @count);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int EngineFdFunction(EngineHandle @engine);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int StreamNextFunction(StreamHandle @stream, int @timeout_ms, ref Buf @out);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int StreamNextBatchFunction(StreamHandle @stream, int @timeout_ms, UIntPtr @max_bytes, ref Buf @out);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int StreamFdFunction(StreamHandle @stream);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int StreamCancelFunction(StreamHandle @stream);

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        internal delegate int StreamCloseFunction(IntPtr @stream);

        internal readonly AbiVersionFunction AbiVersion;
        internal readonly VersionFunction Version;
        internal readonly BufFreeFunction BufFree;
        internal readonly EngineOpenFunction EngineOpen;
        internal readonly EngineSharedFunction EngineShared;
        internal readonly EngineCloseFunction EngineClose;
        internal readonly ShutdownFunction Shutdown;
        internal readonly CallFunction Call;
        internal readonly RunFunction Run;
        internal readonly ResumeFunction Resume;
        internal readonly TraceFunction Trace;
        internal readonly UsageFunction Usage;
        internal readonly HttpFunction Http;
        internal readonly HostSetFunction HostSet;
        internal readonly HostNextFunction HostNext;
        internal readonly HostCompleteFunction HostComplete;
        internal readonly StartFunction Start;
        internal readonly ReadyFunction Ready;
        internal readonly EngineFdFunction EngineFd;
        internal readonly StreamNextFunction StreamNext;
        internal readonly StreamNextBatchFunction StreamNextBatch;
        internal readonly StreamFdFunction StreamFd;
        internal readonly StreamCancelFunction StreamCancel;
        internal readonly StreamCloseFunction StreamClose;

        /// <summary>Takes each function by its name.</summary>
        internal Native(Func<string, Type, Delegate> find)
        {
            AbiVersion = (AbiVersionFunction)find("studio_abi_version", typeof(AbiVersionFunction));
            Version = (VersionFunction)find("studio_version", typeof(VersionFunction));
            BufFree = (BufFreeFunction)find("studio_buf_free", typeof(BufFreeFunction));
            EngineOpen = (EngineOpenFunction)find("studio_engine_open", typeof(EngineOpenFunction));
            EngineShared = (EngineSharedFunction)find("studio_engine_shared", typeof(EngineSharedFunction));
            EngineClose = (EngineCloseFunction)find("studio_engine_close", typeof(EngineCloseFunction));
            Shutdown = (ShutdownFunction)find("studio_shutdown", typeof(ShutdownFunction));
            Call = (CallFunction)find("studio_call", typeof(CallFunction));
            Run = (RunFunction)find("studio_run", typeof(RunFunction));
            Resume = (ResumeFunction)find("studio_resume", typeof(ResumeFunction));
            Trace = (TraceFunction)find("studio_trace", typeof(TraceFunction));
            Usage = (UsageFunction)find("studio_usage", typeof(UsageFunction));
            Http = (HttpFunction)find("studio_http", typeof(HttpFunction));
            HostSet = (HostSetFunction)find("studio_host_set", typeof(HostSetFunction));
            HostNext = (HostNextFunction)find("studio_host_next", typeof(HostNextFunction));
            HostComplete = (HostCompleteFunction)find("studio_host_complete", typeof(HostCompleteFunction));
            Start = (StartFunction)find("studio_start", typeof(StartFunction));
            Ready = (ReadyFunction)find("studio_ready", typeof(ReadyFunction));
            EngineFd = (EngineFdFunction)find("studio_engine_fd", typeof(EngineFdFunction));
            StreamNext = (StreamNextFunction)find("studio_stream_next", typeof(StreamNextFunction));
            StreamNextBatch = (StreamNextBatchFunction)find("studio_stream_next_batch", typeof(StreamNextBatchFunction));
            StreamFd = (StreamFdFunction)find("studio_stream_fd", typeof(StreamFdFunction));
            StreamCancel = (StreamCancelFunction)find("studio_stream_cancel", typeof(StreamCancelFunction));
            StreamClose = (StreamCloseFunction)find("studio_stream_close", typeof(StreamCloseFunction));
        }
    }
}
