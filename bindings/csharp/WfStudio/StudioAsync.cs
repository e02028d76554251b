// Owns what only .NET 8 and newer has: `await foreach`. Mono's compiler does not see it.
#if NET8_0_OR_GREATER
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace WfStudio
{
    public sealed partial class StudioStream : IAsyncEnumerable<StudioEvent>, IAsyncDisposable
    {
        /// <summary>Each event as it comes; leaving the loop closes the stream.</summary>
        public async IAsyncEnumerator<StudioEvent> GetAsyncEnumerator(CancellationToken cancellationToken = default)
        {
            using (this)
            {
                while (await NextAsync(cancellationToken).ConfigureAwait(false) is { } next) yield return next;
            }
        }

        /// <summary>Stops listening.</summary>
        public ValueTask DisposeAsync()
        {
            Dispose();
            return default;
        }
    }

    public sealed partial class Studio : IAsyncDisposable
    {
        /// <summary>Runs a workflow or an agent and gives its events.</summary>
        public async IAsyncEnumerable<StudioEvent> RunAsync(object request, [EnumeratorCancellation] CancellationToken cancel = default)
        {
            await foreach (var next in Run(request).WithCancellation(cancel).ConfigureAwait(false)) yield return next;
        }

        /// <summary>Answers a pause and gives the events that follow.</summary>
        public async IAsyncEnumerable<StudioEvent> ResumeAsync(object request, [EnumeratorCancellation] CancellationToken cancel = default)
        {
            await foreach (var next in Resume(request).WithCancellation(cancel).ConfigureAwait(false)) yield return next;
        }

        /// <summary>Close, on a thread of the pool.</summary>
        public async ValueTask DisposeAsync() => await Task.Run(Dispose).ConfigureAwait(false);
    }
}
#endif
