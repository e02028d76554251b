// Owns an engine: how it is opened, asked and closed.

package wfstudio;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;

/** One open engine. No thread but the waiter ever waits inside the library. */
final class Engine {
    private static final System.Logger LOG = System.getLogger("wfstudio");

    final Door door = Native.door();
    final News news;
    private final long handle;
    private final AtomicBoolean closed = new AtomicBoolean();

    Engine(String config) {
        handle = door.engineOpen(config.getBytes(StandardCharsets.UTF_8));
        Native.opened();
        news = new News(this, handle);
    }

    /** Begins an operation. */
    Answer start(String op, String request, byte[] body) {
        long stream = door.start(handle, op, request.getBytes(StandardCharsets.UTF_8), body);
        return news.watched(stream, new Answer(this, stream));
    }

    void declare(String declaration) {
        int code = door.hostSet(handle, declaration.getBytes(StandardCharsets.UTF_8));
        if (code < 0) {
            throw StudioException.of(Code.of(code), "the declaration was refused: " + declaration);
        }
    }

    int complete(long call, int ok, String answer) {
        return door.hostComplete(handle, call, ok, answer.getBytes(StandardCharsets.UTF_8));
    }

    boolean isClosed() {
        return closed.get();
    }

    /** Closes the engine; whoever comes second waits for nothing. */
    void close(int timeoutMs) {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        // On a thread of its own: a virtual thread that waited inside the library would hold its carrier. An interruption does not end the wait.
        int code = CompletableFuture.supplyAsync(() -> door.engineClose(handle, timeoutMs), work -> new Thread(work, "wfstudio-close").start()).join();
        Native.closed();
        if (code != Abi.OK && code != Abi.CLOSED) {
            LOG.log(System.Logger.Level.WARNING, "the engine did not close in time: " + Code.of(code));
        }
    }
}
