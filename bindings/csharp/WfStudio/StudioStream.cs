// Owns an answer that still comes, and its events.
using System;
using System.Collections;
using System.Collections.Generic;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace WfStudio
{
    /// <summary>One event of a run. It keeps the bytes of the events that came with it, at most 64 KiB or one event.</summary>
    public sealed class StudioEvent
    {
        readonly byte[] batch;
        readonly int id, data, end;
        string text;

        StudioEvent(byte[] batch, int id, int name, int data, int end)
        {
            this.batch = batch;
            this.id = id;
            this.data = data;
            this.end = end;
            Name = Encoding.UTF8.GetString(batch, name, data - name - 7);
        }

        /// <summary>Where a reader goes on that was cut off.</summary>
        public string Id { get { return Encoding.UTF8.GetString(batch, id, Array.IndexOf(batch, (byte)'\n', id) - id); } }
        /// <summary>Such as EventName.TraceCompleted.</summary>
        public string Name { get; }
        /// <summary>JSON; it becomes a text when it is first read.</summary>
        public string Data { get { return text ?? (text = Encoding.UTF8.GetString(batch, data, end - data)); } }

        // Whole events, three lines each; other lines are comments, or said to browsers only.
        internal static void Find(byte[] batch, Queue<StudioEvent> found)
        {
            for (int at = 0, end; (end = Array.IndexOf(batch, (byte)'\n', at)) >= 0; at = end + 1)
            {
                if (batch[at] != 'i') continue;
                var data = Array.IndexOf(batch, (byte)'\n', end + 1) + 7;
                var last = Array.IndexOf(batch, (byte)'\n', data);
                if (last < data) return;
                found.Enqueue(new StudioEvent(batch, at + 4, end + 8, data, last));
                end = last;
            }
        }
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
                if (piece.Code == Answered.Ok) StudioEvent.Find(piece.Bytes, read);
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
    }
}
