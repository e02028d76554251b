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

        internal StudioStream(Studio studio, StreamHandle handle, CancellationToken ended)
        {
            this.studio = studio;
            this.handle = handle;
            this.ended = ended;
            Number = handle.Number;
        }

        internal ulong Number { get; }

        /// <summary>The next event; null at the end. An end of the token closes the stream: the run goes on, unless it was started with "on_disconnect": "cancel".</summary>
        public Task<StudioEvent> NextAsync(CancellationToken cancel = default(CancellationToken))
        {
            return read.Count > 0 ? Task.FromResult(read.Dequeue()) : ReadAsync(cancel);
        }

        async Task<StudioEvent> ReadAsync(CancellationToken cancel)
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

        // Whole events, three lines each; other frames are comments, or said to browsers only.
        void Parse(byte[] batch)
        {
            var text = Encoding.UTF8.GetString(batch);
            for (int at = 0, end; at < text.Length; at = end + 2)
            {
                if (string.CompareOrdinal(text, at, "id: ", 0, 4) != 0)
                {
                    end = text.IndexOf("\n\n", at, StringComparison.Ordinal);
                    if (end < 0) return;
                    continue;
                }
                var name = text.IndexOf('\n', at) + 8;
                var data = text.IndexOf('\n', name) + 7;
                end = text.IndexOf('\n', data);
                if (end <= at) return;
                var id = text.Substring(at + 4, name - at - 12);
                read.Enqueue(new StudioEvent { Id = id, Name = text.Substring(name, data - name - 7), Data = text.Substring(data, end - data) });
            }
        }
    }
}
