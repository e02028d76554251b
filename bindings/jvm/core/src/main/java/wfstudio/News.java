// Owns the one thread that waits for news of all answers of an engine, and for calls to the application.

package wfstudio;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/** Who is told when something comes. */
final class News {
    private static final System.Logger LOG = System.getLogger("wfstudio");

    private final Engine engine;
    private final long handle;
    private final Map<Long, Answer> answers = new ConcurrentHashMap<>();
    private volatile boolean waiting = true;
    /** Who is given the calls to the host; on the thread that waits, so it hands them on. */
    volatile Consumer<byte[]> calls = call -> {};

    News(Engine engine, long handle) {
        this.engine = engine;
        this.handle = handle;
        Thread waiter = new Thread(this::run, "wfstudio-news");
        waiter.setDaemon(true);
        waiter.start();
    }

    /** Has an answer told of its news from now on. */
    Answer watched(long stream, Answer answer) {
        answers.put(stream, answer);
        if (!waiting) {
            answer.ring();
        }
        return answer;
    }

    void forget(long stream) {
        answers.remove(stream);
    }

    private void run() {
        long[] handles = new long[256];
        long[] count = new long[1];
        try {
            while (waited(handles, count)) {}
        } finally {
            // Whatever ended it: nobody waits for news that nobody tells.
            waiting = false;
            answers.keySet().forEach(this::tell);
        }
    }

    /** One turn; false when there is nothing more to wait for. */
    private boolean waited(long[] handles, long[] count) {
        try {
            int code = engine.door.ready(handle, -1, handles, count);
            if (code == Abi.CLOSED || code == Abi.BAD_HANDLE || code == Abi.FORKED) {
                return false;
            }
            if (code < 0) {
                throw StudioException.of(Code.of(code), "no news: " + Code.of(code));
            }
            for (int index = 0; code == Abi.OK && index < count[0]; index++) {
                tell(handles[index]);
            }
        } catch (Throwable failure) {
            // Such as no memory: the next turn may have some.
            report("waiting for news failed", failure);
            pause();
        }
        return true;
    }

    private static void report(String what, Throwable failure) {
        try {
            LOG.log(System.Logger.Level.ERROR, what, failure);
        } catch (Throwable noLog) {
            // This thread has to go on all the same.
        }
    }

    /** A listener that fails does not keep others from being told. */
    private void tell(long stream) {
        try {
            Answer answer = answers.get(stream);
            if (stream == 0) {
                fetchCalls();
            } else if (answer != null) {
                answer.ring();
            }
        } catch (Throwable failure) {
            report("news could not be handed on", failure);
        }
    }

    private void fetchCalls() {
        Door.Buffer call = new Door.Buffer();
        for (int code = engine.door.hostNext(handle, 0, call); code == Abi.OK || code == Abi.HOST_CALL; code = engine.door.hostNext(handle, 0, call)) {
            try {
                calls.accept(call.bytes);
            } catch (Throwable failure) {
                report("a call to the application could not be handed on", failure);
            }
        }
    }

    private static void pause() {
        try {
            Thread.sleep(100);
        } catch (InterruptedException ignored) {
            Thread.currentThread().interrupt();
        }
    }
}
