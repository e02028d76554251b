// Owns what the application answers: tools and other calls, fetched by the studio's thread and worked on by the pool.
using System;
using System.Collections.Generic;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace WfStudio
{
    /// <summary>A call of the engine to the application.</summary>
    public sealed class HostCall
    {
        readonly Studio studio;
        readonly CancellationTokenSource cancel = new CancellationTokenSource();

        internal HostCall(Studio studio, Dictionary<string, object> told)
        {
            this.studio = studio;
            Op = (string)told["op"];
            Id = Convert.ToUInt64(told["call_id"]);
            Payload = told.TryGetValue("payload", out var payload) ? payload as Dictionary<string, object> ?? new Dictionary<string, object>() : new Dictionary<string, object>();
        }

        internal readonly ulong Id;
        /// <summary>Such as HostOp.ToolCall.</summary>
        public readonly string Op;
        /// <summary>What is asked.</summary>
        public readonly Dictionary<string, object> Payload;
        /// <summary>A tool's arguments.</summary>
        public Dictionary<string, object> Arguments { get { return Payload.TryGetValue("arguments", out var found) ? found as Dictionary<string, object> : null; } }
        /// <summary>Ends when nobody wants the result any more.</summary>
        public CancellationToken Cancelled { get { return cancel.Token; } }

        /// <summary>Tells a part of the answer with more to follow.</summary>
        public void Chunk(object part)
        {
            var code = Complete(2, Json.Write(part));
            if (code < 0) throw new StudioException(code, "");
        }

        internal int Complete(int ok, string text)
        {
            var bytes = Encoding.UTF8.GetBytes(text);
            try { return studio.Native.HostComplete(studio.Engine, Id, ok, bytes, (UIntPtr)bytes.Length); }
            catch (ObjectDisposedException) { return (int)StudioCode.Closed; }
        }

        // At once, before the pool comes to the callbacks of the token.
        volatile bool unwanted;
        internal bool Unwanted { get { return unwanted || cancel.IsCancellationRequested; } }

        internal void Cancel()
        {
            unwanted = true;
            ThreadPool.QueueUserWorkItem(_ => CancelToken());
        }

        // What a tool registered on its token may throw: on a thread of the pool that would end the process.
        void CancelToken()
        {
            try { cancel.Cancel(); }
            catch (Exception) { }
        }

        Timer late;
        internal void CancelAfter(long ms) { late = new Timer(_ => CancelToken(), null, Math.Min(ms, int.MaxValue), Timeout.Infinite); }
        internal void Ended() { if (late != null) late.Dispose(); }
    }

    internal sealed class Host
    {
        readonly Studio studio;
        readonly Dictionary<string, Func<HostCall, Task<object>>> answers = new Dictionary<string, Func<HostCall, Task<object>>>();
        readonly List<string> ops = new List<string>();
        readonly List<KeyValuePair<string, string>> tools = new List<KeyValuePair<string, string>>();
        readonly Dictionary<ulong, HostCall> running = new Dictionary<ulong, HostCall>();

        internal Host(Studio studio) { this.studio = studio; }

        internal void Tool(string declaration, Func<HostCall, Task<object>> does)
        {
            var name = Json.Object(declaration).TryGetValue("name", out var said) ? said as string : null;
            if (string.IsNullOrEmpty(name)) throw new ArgumentException("a tool needs a name");
            lock (answers)
            {
                var at = tools.FindIndex(tool => tool.Key == name);
                var before = at < 0 ? default(KeyValuePair<string, string>) : tools[at];
                if (at >= 0) tools.RemoveAt(at);
                tools.Add(new KeyValuePair<string, string>(name, declaration));
                var code = Declare();
                if (code < 0)
                {
                    // The engine still has what was declared before.
                    tools.RemoveAt(tools.Count - 1);
                    if (at >= 0) tools.Insert(at, before);
                    throw new StudioException(code, "");
                }
                answers[Key(name)] = does;
            }
        }

        internal void Answer(string op, Func<HostCall, Task<object>> does)
        {
            lock (answers)
            {
                answers[op] = does;
                if (!ops.Contains(op)) ops.Add(op);
                var code = Declare();
                if (code >= 0) return;
                ops.Remove(op);
                answers.Remove(op);
                throw new StudioException(code, "");
            }
        }

        internal bool Answers(string op)
        {
            lock (answers) return answers.ContainsKey(op);
        }

        static string Key(string tool) { return HostOp.ToolCall + " " + tool; }

        int Declare()
        {
            var declared = new List<string>(ops);
            if (tools.Count > 0) declared.Add(HostOp.ToolCall);
            var text = Encoding.UTF8.GetBytes("{\"ops\":" + Json.Write(declared) + ",\"tools\":[" + string.Join(",", tools.ConvertAll(tool => tool.Value)) + "]}");
            return studio.Native.HostSet(studio.Engine, text, (UIntPtr)text.Length, IntPtr.Zero, IntPtr.Zero, IntPtr.Zero);
        }

        // Takes all calls that wait; called by the studio's thread alone.
        internal void Fetch()
        {
            while (true)
            {
                var bytes = new Buf();
                int code;
                try { code = studio.Native.HostNext(studio.Engine, 0, ref bytes); }
                catch (ObjectDisposedException) { return; }
                var told = bytes.Take(studio.Native);
                if (code < 0 || code == Answered.Timeout) return;
                // What cannot be read stays without an answer; the thread that waits for all streams goes on.
                try { Take(new HostCall(studio, Json.Object(Encoding.UTF8.GetString(told)))); }
                catch (FormatException) { }
            }
        }

        // Cancels are obeyed here, in the order in which the engine told them.
        void Take(HostCall call)
        {
            Func<HostCall, Task<object>> answer;
            lock (answers)
            {
                if (call.Op == HostOp.ToolCancel && call.Payload.TryGetValue("cancels", out var cancels) && running.TryGetValue(Convert.ToUInt64(cancels), out var unwanted)) unwanted.Cancel();
                var key = call.Op == HostOp.ToolCall && call.Payload.TryGetValue("name", out var name) ? Key(name as string) : call.Op;
                if (!answers.TryGetValue(key, out answer)) return;
                running[call.Id] = call;
            }
            if (call.Payload.TryGetValue("timeout_ms", out var limit) && limit is long ms && ms > 0) call.CancelAfter(ms);
            Task.Run(() => Finish(call, answer));
        }

        internal async Task Finish(HostCall call, Func<HostCall, Task<object>> answer)
        {
            var failure = await Worked(call, answer).ConfigureAwait(false);
            call.Ended();
            lock (answers) running.Remove(call.Id);
            if (failure != null) call.Complete(0, Json.Write(failure));
        }

        // The engine reads no more than 16 MiB; and the text of a failure may fail itself.
        static string Text(Exception failure)
        {
            try { return failure.Message.Length > 10000 ? failure.Message.Substring(0, 10000) : failure.Message; }
            catch (Exception) { return failure.GetType().Name; }
        }

        // A function whose task is not a Task<object> is waited for as well: its failure is one of the call, and its result the answer.
        static async Task<object> Settled(object result)
        {
            // ValueTask is not in every runtime.
            var kind = result == null ? null : result.GetType();
            if (kind != null && kind.FullName.StartsWith("System.Threading.Tasks.ValueTask", StringComparison.Ordinal)) result = kind.GetMethod("AsTask").Invoke(result, null);
            var task = result as Task;
            if (task == null) return result;
            await task.ConfigureAwait(false);
            var told = task.GetType().GetProperty("Result");
            return told == null || told.PropertyType.Name == "VoidTaskResult" ? null : told.GetValue(task, null);
        }

        // Gives the result to the engine, or the failure to the caller.
        internal static async Task<Dictionary<string, object>> Worked(HostCall call, Func<HostCall, Task<object>> answer)
        {
            var returned = false;
            try
            {
                if (call.Unwanted) throw new OperationCanceledException("the call was cancelled before it began; nothing was done");
                var result = await Settled(await answer(call).ConfigureAwait(false)).ConfigureAwait(false);
                returned = true;
                if (call.Complete(1, Json.Write(result)) != (int)StudioCode.Invalid) return null;
                throw new FormatException("the engine does not read it");
            }
            catch (Exception failure)
            {
                if (!returned || call.Op != HostOp.ToolCall) return new Dictionary<string, object> { { "message", Text(failure) } };
                // A tool that ran must not look like one that failed: whoever reads that calls it again.
                var text = "the tool ran, but its result could not be written as JSON (" + Text(failure) + "): return texts, finite numbers, lists and objects, at most 16 MiB";
                return new Dictionary<string, object> { { "message", text }, { "ran", true } };
            }
        }

        internal void End()
        {
            lock (answers)
            {
                foreach (var call in running.Values) call.Cancel();
            }
        }
    }
}
