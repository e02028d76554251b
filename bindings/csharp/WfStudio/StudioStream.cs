// Owns an answer that still comes, and its events.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace WfStudio
{
    /// <summary>One event of a run.</summary>
    public sealed class StudioEvent
    {
        /// <summary>Where a reader goes on that was cut off.</summary>
        public string Id { get; internal set; }
        /// <summary>Such as EventName.TraceCompleted.</summary>
        public string Name { get; internal set; }
        /// <summary>JSON.</summary>
        public string Data { get; internal set; }
    }

    internal struct Piece
    {
        internal int Code;
        internal byte[] Bytes;
    }

    /// <summary>Events of a run, for one reader. Cancel and Dispose may be called from any thread.</summary>
    public sealed partial class StudioStream : IEnumerable<StudioEvent>, IDisposable
    {
        readonly Studio studio;
        readonly StreamHandle handle;
        readonly CancellationToken ended;
        readonly Queue<StudioEvent> read = new Queue<StudioEvent>();
        readonly object bell = new object();
        TaskCompletionSource<bool> waiting;
        bool rung, over;
        byte[] rest = new byte[0];

        internal StudioStream(Studio studio, StreamHandle handle, CancellationToken ended)
        {
            this.studio = studio;
            this.handle = handle;
            this.ended = ended;
            Number = handle.Number;
        }

        internal ulong Number { get; }

        /// <summary>The next event; null at the end. An end of the token closes the stream: the run goes on, unless it was started with "on_disconnect": "cancel".</summary>
        public async Task<StudioEvent> NextAsync(CancellationToken cancel = default(CancellationToken))
        {
            while (read.Count == 0)
            {
                if (over) return null;
                var piece = await NextPieceAsync(cancel).ConfigureAwait(false);
                if (piece.Code == Answered.End) over = true;
                if (piece.Code == Answered.Ok) Parse(piece.Bytes);
            }
            return read.Dequeue();
        }

        /// <summary>Waits for each event on the calling thread; leaving the loop closes the stream.</summary>
        public IEnumerator<StudioEvent> GetEnumerator()
        {
            using (this)
            {
                for (StudioEvent next; (next = NextAsync().GetAwaiter().GetResult()) != null;) yield return next;
            }
        }

        IEnumerator IEnumerable.GetEnumerator() { return GetEnumerator(); }

        /// <summary>Cancels the run; the stream goes on and tells its end.</summary>
        public void Cancel()
        {
            var code = Guarded(() => studio.Native.StreamCancel(handle));
            if (code < 0) throw new StudioException(code, "");
        }

        /// <summary>Stops listening.</summary>
        public void Dispose()
        {
            studio.Forget(Number);
            handle.Dispose();
            GC.SuppressFinalize(this);
            Ring();
        }

        /// <summary>Stops listening for a stream that nobody holds any more; its handle closes itself.</summary>
        ~StudioStream() { studio.Forget(Number); }

        // The stream is asked before it is waited for: what came earlier is announced no second time.
        internal async Task<Piece> NextPieceAsync(CancellationToken cancel)
        {
            while (true)
            {
                var last = ended.IsCancellationRequested;
                var piece = Pull();
                if (piece.Code != Answered.Timeout) return piece;
                if (last) throw StudioException.Closed();
                using (cancel.Register(Ring))
                using (ended.Register(Ring)) await Rung().ConfigureAwait(false);
                if (!cancel.IsCancellationRequested) continue;
                Dispose();
                cancel.ThrowIfCancellationRequested();
            }
        }

        Piece Pull()
        {
            var bytes = new Buf();
            var code = Guarded(() => studio.Native.StreamNextBatch(handle, 0, UIntPtr.Zero, ref bytes));
            var told = bytes.Take(studio.Native);
            if (code < 0) throw told.Length == 0 && code == (int)StudioCode.Closed ? StudioException.Closed() : new StudioException(code, Encoding.UTF8.GetString(told));
            return new Piece { Code = code, Bytes = told };
        }

        int Guarded(Func<int> call)
        {
            try { return call(); }
            catch (ObjectDisposedException) { return (int)StudioCode.Closed; }
        }

        internal void Ring()
        {
            TaskCompletionSource<bool> told;
            lock (bell)
            {
                told = waiting;
                waiting = null;
                rung = told == null;
            }
            told?.TrySetResult(true);
        }

        Task Rung()
        {
            lock (bell)
            {
                if (rung)
                {
                    rung = false;
                    return Task.FromResult(true);
                }
                waiting = waiting ?? new TaskCompletionSource<bool>(TaskCreationOptions.RunContinuationsAsynchronously);
                return waiting.Task;
            }
        }

        void Parse(byte[] batch)
        {
            var all = new byte[rest.Length + batch.Length];
            rest.CopyTo(all, 0);
            batch.CopyTo(all, rest.Length);
            var begin = 0;
            for (var at = 0; at + 1 < all.Length; at++)
            {
                if (all[at] != '\n' || all[at + 1] != '\n') continue;
                Frame(Encoding.UTF8.GetString(all, begin, at - begin));
                begin = ++at + 1;
            }
            rest = new byte[all.Length - begin];
            Array.Copy(all, begin, rest, 0, rest.Length);
        }

        void Frame(string frame)
        {
            var made = new StudioEvent();
            foreach (var line in frame.Split('\n'))
            {
                var colon = line.IndexOf(':');
                if (colon <= 0) continue;
                var value = line.Substring(colon + 1);
                if (value.StartsWith(" ", StringComparison.Ordinal)) value = value.Substring(1);
                switch (line.Substring(0, colon))
                {
                    case "id": made.Id = value; break;
                    case "event": made.Name = value; break;
                    case "data": made.Data = made.Data == null ? value : made.Data + "\n" + value; break;
                }
            }
            if (made.Name != null) read.Enqueue(made); // else a comment, or what is said to browsers only
        }
    }
}
