// Owns HTTP without a framework: a request as the engine wants it, the answer's head and body. The mounts stand on it.
using System;
using System.Collections.Generic;
using System.IO;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace WfStudio
{
    /// <summary>A request, and who asks; what is null is not said.</summary>
    public sealed class StudioRequest
    {
        /// <summary>GET and others.</summary>
        public string Method = "GET";
        /// <summary>Path and query as they came, percent-encoded.</summary>
        public string Target = "/";
        /// <summary>Names may come more than once.</summary>
        public List<KeyValuePair<string, string>> Headers = new List<KeyValuePair<string, string>>();
        /// <summary>The body; null when there is none.</summary>
        public Stream Body;
        /// <summary>An object with an `id`.</summary>
        public object User;
        /// <summary>Whose data it is.</summary>
        public string Tenant;
        /// <summary>May this request enter.</summary>
        public bool? Gate;
        /// <summary>May it read the export.</summary>
        public bool? Authorized;
        /// <summary>The application was asked about the gate; `Gate` without a value is then no.</summary>
        public bool GateAsked;
        /// <summary>Where the host is reached, if the request does not tell.</summary>
        public string BaseUrl;

        internal bool Reads { get { return Method == "GET" || Method == "HEAD"; } }

        internal Dictionary<string, object> Head()
        {
            var mark = Target.IndexOf('?');
            var head = new Dictionary<string, object>
            {
                { "method", Method },
                { "path", Escape(mark < 0 ? Target : Target.Substring(0, mark)) },
                { "query", mark < 0 ? "" : Escape(Target.Substring(mark + 1)) },
                { "headers", Headers.ConvertAll(pair => new[] { pair.Key, pair.Value }) },
            };
            if (User != null) head["user"] = User;
            if (!string.IsNullOrEmpty(Tenant)) head["tenant"] = Tenant;
            // A gate that was asked and says nothing lets nobody in who is merely named.
            if (Gate != null || GateAsked) head["gate"] = Gate;
            if (Authorized != null) head["authorized"] = Authorized;
            if (BaseUrl != null) head["base_url"] = BaseUrl;
            return head;
        }

        // What may not stand in a request line; some clients send it all the same.
        static string Escape(string raw)
        {
            var text = new StringBuilder();
            foreach (var one in Encoding.UTF8.GetBytes(raw))
            {
                if (one > ' ' && one < 127 && "\"<>\\^`{|}".IndexOf((char)one) < 0) text.Append((char)one);
                else text.Append('%').Append(one.ToString("X2"));
            }
            return text.ToString();
        }
    }

    /// <summary>An answer whose body may still come.</summary>
    public sealed class StudioResponse : IDisposable
    {
        readonly StudioStream stream;
        readonly CancellationToken cancel;
        byte[] first;

        internal StudioResponse(StudioStream stream, Dictionary<string, object> head, CancellationToken cancel)
        {
            this.stream = stream;
            this.cancel = cancel;
            Status = head.TryGetValue("status", out var status) ? Convert.ToInt32(status) : 500;
            foreach (var pair in (List<object>)head["headers"])
            {
                var both = (List<object>)pair;
                Headers.Add(new KeyValuePair<string, string>((string)both[0], (string)both[1]));
            }
            BodyLimit = head.TryGetValue("body_limit", out var limit) ? Convert.ToInt64(limit) : 0;
            if (head.TryGetValue("body", out var body)) first = Encoding.UTF8.GetBytes((string)body);
        }

        /// <summary>The HTTP status.</summary>
        public int Status { get; }
        /// <summary>Names may come more than once.</summary>
        public List<KeyValuePair<string, string>> Headers { get; } = new List<KeyValuePair<string, string>>();
        internal long BodyLimit { get; }
        // The body, where all of it came with the head and is sent without waiting for the client.
        internal byte[] Short { get { return stream == null && first != null && first.Length > 0 && first.Length <= 16 * 1024 ? first : null; } }

        /// <summary>The next piece of the body; null at the end.</summary>
        public async Task<byte[]> NextAsync()
        {
            if (first != null)
            {
                var text = first;
                first = null;
                if (text.Length > 0) return text;
            }
            while (stream != null)
            {
                var piece = await stream.NextPieceAsync(cancel).ConfigureAwait(false);
                if (piece.Code == Answered.End) break;
                if (piece.Code == Answered.Ok && piece.Bytes.Length > 0) return piece.Bytes;
            }
            return null;
        }

        /// <summary>The rest of the body as text.</summary>
        public async Task<string> TextAsync()
        {
            var all = new MemoryStream();
            for (byte[] piece; (piece = await NextAsync().ConfigureAwait(false)) != null;) all.Write(piece, 0, piece.Length);
            return Encoding.UTF8.GetString(all.ToArray());
        }

        /// <summary>Closes the stream behind it.</summary>
        public void Dispose() { stream?.Dispose(); }

        internal static StudioResponse Problem(int status, string title, string detail)
        {
            var body = Json.Write(new Dictionary<string, object> { { "type", "about:blank" }, { "title", title }, { "status", status }, { "detail", detail } });
            var headers = new List<object> { new List<object> { "content-type", "application/problem+json" } };
            return new StudioResponse(null, new Dictionary<string, object> { { "status", status }, { "headers", headers }, { "body", body } }, CancellationToken.None);
        }
    }

    public sealed partial class Studio
    {
        /// <summary>The two paths below which the studio answers, unless the configuration says otherwise: see Mounts.</summary>
        public static readonly IReadOnlyList<string> Prefixes = new[] { "/studio", "/api/studio" };

        IReadOnlyList<string> mounts;

        /// <summary>The paths below which this studio answers; asked once.</summary>
        public IReadOnlyList<string> Mounts
        {
            get
            {
                if (mounts != null) return mounts;
                try { return mounts = ((List<object>)Json.Object(Call(Op.About))["mounts"]).ConvertAll(one => (string)one); }
                catch (StudioException failure) when (failure.Code == StudioCode.Closed) { return Prefixes; } // and says so
            }
        }

        /// <summary>Answers a request; any HTTP answer is good news, a refusal too.</summary>
        public async Task<StudioResponse> HttpAsync(StudioRequest request, CancellationToken cancel = default(CancellationToken))
        {
            try
            {
                var head = request.Head();
                if (request.Body == null) return request.Reads && !Asks(head) ? Here(head, cancel) : await Ask(head, null, cancel).ConfigureAwait(false);
                // The engine says first whether the request may come in at all, and how long its body may be.
                head["expect"] = "100-continue";
                var first = await Ask(head, null, cancel).ConfigureAwait(false);
                if (first.Status != 100) return first;
                first.Dispose();
                head.Remove("expect");
                var body = await Read(request.Body, first.BodyLimit, cancel).ConfigureAwait(false);
                if (body == null) return StudioResponse.Problem(413, "Content Too Large", "the body is longer than " + first.BodyLimit + " bytes and was not read to its end; nothing was done");
                return await Ask(head, body, cancel).ConfigureAwait(false);
            }
            catch (StudioException failure)
            {
                var gone = failure.Code == StudioCode.Closed || failure.Code == StudioCode.BadHandle;
                return gone ? StudioResponse.Problem(503, "Service Unavailable", failure.Message) : StudioResponse.Problem(failure.Status >= 400 ? failure.Status : 400, "Bad Request", failure.Message);
            }
        }

        // The application may be asked meanwhile, also about a gate whose mark says nothing: its answer could need the thread that waits. Pages and
        // their files need no secret.
        bool Asks(Dictionary<string, object> head)
        {
            var path = (string)head["path"];
            var page = path.IndexOf('%') < 0 && path.IndexOf("/api/", StringComparison.Ordinal) < 0;
            return !(head.TryGetValue("gate", out var gate) && gate is bool) || !page && host.Answers(HostOp.SecretGet);
        }

        // Answered on this thread, as far as that goes: nothing has to be handed over and woken. The head has a body that is text.
        StudioResponse Here(Dictionary<string, object> head, CancellationToken cancel)
        {
            cancel.ThrowIfCancellationRequested();
            var text = Encoding.UTF8.GetBytes(Json.Write(head));
            var answer = new Buf();
            if (Engine.IsClosed) throw StudioException.Closed();
            var code = Native.Http(Engine, text, (UIntPtr)text.Length, null, UIntPtr.Zero, out var body, ref answer);
            var told = Encoding.UTF8.GetString(answer.Take(Native));
            if (code < 0) throw new StudioException(code, told);
            return new StudioResponse(body == IntPtr.Zero ? null : Known(body), Json.Object(told), cancel);
        }

        async Task<StudioResponse> Ask(Dictionary<string, object> head, byte[] body, CancellationToken cancel)
        {
            var stream = Start(Begin.Http, head, body);
            try
            {
                var piece = await stream.NextPieceAsync(cancel).ConfigureAwait(false);
                if (piece.Code != Answered.Head) throw new StudioException((int)StudioCode.Internal, "");
                return new StudioResponse(stream, Json.Object(Encoding.UTF8.GetString(piece.Bytes)), cancel);
            }
            catch
            {
                stream.Dispose();
                throw;
            }
        }

        static async Task<byte[]> Read(Stream from, long limit, CancellationToken cancel)
        {
            var all = new MemoryStream();
            var part = new byte[64 * 1024];
            for (int got; (got = await from.ReadAsync(part, 0, part.Length, cancel).ConfigureAwait(false)) > 0;)
            {
                if (all.Length + got > limit) return null;
                all.Write(part, 0, got);
            }
            return all.ToArray();
        }
    }
}
