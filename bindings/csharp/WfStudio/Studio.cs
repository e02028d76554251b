// Owns an open engine in C#: opening, closing, operations, and the one thread that learns which streams have news.
using System;
using System.Collections.Generic;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace WfStudio
{
    /// <summary>A refusal or a fault of the library.</summary>
    public sealed class StudioException : Exception
    {
        /// <summary>What kind.</summary>
        public readonly StudioCode Code;
        /// <summary>The problem document, or an empty text.</summary>
        public readonly string Problem;
        /// <summary>The problem's own code, such as not_found; or null.</summary>
        public readonly string Name;
        /// <summary>The HTTP status that the problem would have, or 0.</summary>
        public readonly int Status;

        internal StudioException(int code, string problem) : this(code, problem, Members(problem)) { }

        StudioException(int code, string problem, Dictionary<string, object> members) : base(Told(code, members))
        {
            Code = (StudioCode)code;
            Problem = problem;
            Name = members.TryGetValue("code", out var name) ? name as string : null;
            Status = members.TryGetValue("status", out var status) && status is long number ? (int)number : 0;
        }

        internal static StudioException Closed()
        {
            return new StudioException((int)StudioCode.Closed, "{\"code\":\"closed\",\"status\":503,\"detail\":\"it was closed\"}");
        }

        static Dictionary<string, object> Members(string problem)
        {
            try { return Json.Object(problem.Length == 0 ? "{}" : problem); }
            catch (FormatException) { return new Dictionary<string, object>(); }
        }

        static string Told(int code, Dictionary<string, object> members)
        {
            return members.TryGetValue("detail", out var detail) && detail is string text ? text : "the studio answered " + (StudioCode)code;
        }
    }

    /// <summary>An open engine. All its members may be called from any thread.</summary>
    public sealed partial class Studio : IDisposable
    {
        static readonly Lazy<Native> Loaded = new Lazy<Native>(() =>
        {
            var native = new Loader().Find();
            AppDomain.CurrentDomain.ProcessExit += (sender, how) => native.Shutdown(10000);
            return native;
        });

        internal readonly Native Native;
        internal readonly EngineHandle Engine;
        readonly Host host;
        // One that nobody holds any more is closed when it is collected.
        readonly Dictionary<ulong, WeakReference<StudioStream>> streams = new Dictionary<ulong, WeakReference<StudioStream>>();
        readonly CancellationTokenSource ended = new CancellationTokenSource();
        readonly object closing = new object();
        int? closed;

        Studio(string config)
        {
            Native = Loaded.Value;
            var text = Encoding.UTF8.GetBytes(config);
            var problem = new Buf();
            var code = Native.EngineOpen(text, (UIntPtr)text.Length, out var handle, ref problem);
            var told = problem.Take(Native);
            if (code < 0) throw new StudioException(code, Encoding.UTF8.GetString(told));
            Engine = new EngineHandle(Native, handle);
            host = new Host(this);
            new Thread(Wait) { IsBackground = true, Name = "studio" }.Start();
        }

        /// <summary>Opens an engine. The configuration is JSON text, a dictionary, or any object; threads and files come with the first use.</summary>
        public static Studio Open(object config) { return new Studio(Text(config)); }

        /// <summary>Ends streams, waits for calls, puts runs down so that they can be taken up again. Only the first call does something.</summary>
        public void Close(int timeoutMs = 10000)
        {
            lock (closing)
            {
                if (closed == null)
                {
                    closed = Native.EngineClose(Engine, (uint)Math.Max(0, timeoutMs));
                    Engine.SetHandleAsInvalid();
                    ended.Cancel();
                    host.End();
                }
            }
            if (closed < 0) throw new StudioException(closed.Value, "");
        }

        /// <summary>Close, without an error.</summary>
        public void Dispose()
        {
            try { Close(); }
            catch (StudioException) { }
        }

        /// <summary>One operation, such as Op.TraceList; JSON out. The request is JSON text, a dictionary, or any object.</summary>
        public async Task<string> CallAsync(string op, object request = null, CancellationToken cancel = default(CancellationToken))
        {
            using (var stream = Start(op, request, null))
            {
                var answer = "";
                while (true)
                {
                    var piece = await stream.NextPieceAsync(cancel).ConfigureAwait(false);
                    if (piece.Code == Answered.End) return answer;
                    answer += Encoding.UTF8.GetString(piece.Bytes);
                }
            }
        }

        /// <summary>CallAsync, waited for.</summary>
        public string Call(string op, object request = null) { return CallAsync(op, request).GetAwaiter().GetResult(); }

        /// <summary>Runs a workflow or an agent: `{"workflow", "message", …}`. The stream has its events.</summary>
        public StudioStream Run(object request) { return Start(Begin.Run, request, null); }

        /// <summary>Answers a pause: `{"trace_id", …}`. The stream has the events that follow.</summary>
        public StudioStream Resume(object request) { return Start(Begin.Resume, request, null); }

        /// <summary>A tool of the application: its declaration as JSON text, a dictionary or an object, and what it does. An exception is a failure of the call.</summary>
        public void Tool(object declaration, Func<HostCall, Task<object>> does) { host.Tool(Text(declaration), does); }

        /// <summary>A tool that does not wait for anything.</summary>
        public void Tool(object declaration, Func<HostCall, object> does) { host.Tool(Text(declaration), call => Task.FromResult(does(call))); }

        /// <summary>Another call that the application answers, such as HostOp.SecretGet.</summary>
        public void Answer(string op, Func<HostCall, Task<object>> does) { host.Answer(op, does); }

        internal static string Text(object value) { return value as string ?? Json.Write(value ?? new Dictionary<string, object>()); }

        internal StudioStream Start(string op, object request, byte[] body)
        {
            var name = Encoding.UTF8.GetBytes(op + "\0");
            var text = Encoding.UTF8.GetBytes(Text(request));
            var problem = new Buf();
            if (Engine.IsClosed) throw StudioException.Closed();
            var code = Native.Start(Engine, name, (UIntPtr)text.Length == UIntPtr.Zero ? null : text, (UIntPtr)text.Length, body, (UIntPtr)(body == null ? 0 : body.Length), out var handle, ref problem);
            var told = problem.Take(Native);
            if (code < 0) throw new StudioException(code, Encoding.UTF8.GetString(told));
            return Known(handle);
        }

        StudioStream Known(IntPtr handle)
        {
            var stream = new StudioStream(this, new StreamHandle(Native, handle), ended.Token);
            lock (streams) streams[stream.Number] = new WeakReference<StudioStream>(stream);
            return stream;
        }

        internal int Listening { get { lock (streams) return streams.Count; } }

        internal void Forget(ulong stream)
        {
            lock (streams) streams.Remove(stream);
        }

        // The one thread that waits, for all streams and all calls of this engine.
        void Wait()
        {
            var handles = new ulong[256];
            while (!ended.IsCancellationRequested)
            {
                int code;
                UIntPtr count;
                try { code = Native.Ready(Engine, -1, handles, (UIntPtr)handles.Length, out count); }
                catch (ObjectDisposedException) { return; }
                if (code < 0) return;
                for (var i = 0; i < (int)count; i++)
                {
                    if (handles[i] == 0) { host.Fetch(); continue; }
                    WeakReference<StudioStream> known;
                    lock (streams) streams.TryGetValue(handles[i], out known);
                    if (known != null && known.TryGetTarget(out var stream)) stream.Ring();
                }
            }
        }
    }
}
