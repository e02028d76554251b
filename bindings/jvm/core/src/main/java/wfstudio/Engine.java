// Owns an engine: the one thread that waits for news of all its answers, and its end.

package wfstudio;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/** One open engine. No thread but the waiter ever waits inside the library. */
final class Engine {
    private static final System.Logger LOG = System.getLogger("wfstudio");

    /** Shared by all engines, and by servers that outlive them: never shut down, its threads end by themselves. */
    static final ExecutorService THREADS = threads();

    final Door door;
    final ExecutorService threads = THREADS;
    private final long handle;
    private final Map<Long, Answer> answers = new ConcurrentHashMap<>();
    private final AtomicBoolean closed = new AtomicBoolean();
    private volatile boolean waiting = true;
    private volatile Consumer<byte[]> calls = call -> {};

    Engine(String config) {
        door = Native.door();
        long[] out = new long[1];
        Door.Buffer problem = new Door.Buffer();
        check(door.engineOpen(config.getBytes(StandardCharsets.UTF_8), out, problem), problem);
        handle = out[0];
        Native.opened();
        Thread waiter = new Thread(this::waitForNews, "wfstudio-news");
        waiter.setDaemon(true);
        waiter.start();
    }

    /** Who is given the calls to the host; on the waiter, so it hands them on. */
    void calls(Consumer<byte[]> taker) {
        calls = taker;
    }

    /** Begins an operation. */
    Answer start(String op, byte[] request, byte[] body) {
        long[] out = new long[1];
        Door.Buffer problem = new Door.Buffer();
        check(door.start(handle, op, request, body, out, problem), problem);
        Answer answer = new Answer(this, out[0]);
        answers.put(out[0], answer);
        if (!waiting) {
            answer.ring();
        }
        return answer;
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

    void fetched(byte[] call) {
        calls.accept(call);
    }

    void forget(long stream) {
        answers.remove(stream);
    }

    boolean isClosed() {
        return closed.get();
    }

    /** Closes the engine; whoever comes second waits for nothing. */
    void close(int timeoutMs) {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        int[] code = new int[1];
        // On a thread of its own: a virtual thread that waited inside the library would hold its carrier.
        Thread closing = new Thread(() -> code[0] = door.engineClose(handle, timeoutMs), "wfstudio-close");
        closing.start();
        boolean interrupted = false;
        while (closing.isAlive()) {
            try {
                closing.join();
            } catch (InterruptedException noted) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        Native.closed();
        if (code[0] != Abi.OK && code[0] != Abi.CLOSED) {
            LOG.log(System.Logger.Level.WARNING, "the engine did not close in time: " + Code.of(code[0]));
        }
    }

    private void waitForNews() {
        long[] handles = new long[256];
        long[] count = new long[1];
        try {
            while (waited(handles, count)) {}
        } finally {
            // Whatever ended it: nobody waits for news that nobody tells.
            waiting = false;
            answers.values().forEach(Engine::ring);
        }
    }

    /** One turn; false when there is nothing more to wait for. */
    private boolean waited(long[] handles, long[] count) {
        try {
            int code = door.ready(handle, -1, handles, count);
            if (code == Abi.CLOSED || code == Abi.BAD_HANDLE || code == Abi.FORKED) {
                return false;
            }
            if (code < 0) {
                LOG.log(System.Logger.Level.ERROR, "waiting for news failed: " + Code.of(code));
                pause();
                return true;
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

    /** A listener that fails does not keep others from being told. */
    private static void ring(Answer answer) {
        try {
            answer.ring();
        } catch (Throwable failure) {
            report("news could not be handed on", failure);
        }
    }

    private static void report(String what, Throwable failure) {
        try {
            LOG.log(System.Logger.Level.ERROR, what, failure);
        } catch (Throwable noLog) {
            // This thread has to go on all the same.
        }
    }

    private void tell(long stream) {
        try {
            if (stream == 0) {
                fetchCalls();
                return;
            }
            Answer answer = answers.get(stream);
            if (answer != null) {
                answer.ring();
            }
        } catch (Throwable failure) {
            report("news could not be handed on", failure);
        }
    }

    private void fetchCalls() {
        Door.Buffer call = new Door.Buffer();
        for (int code = door.hostNext(handle, 0, call); code == Abi.OK || code == Abi.HOST_CALL; code = door.hostNext(handle, 0, call)) {
            try {
                fetched(call.bytes);
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

    static void check(int code, Door.Buffer problem) {
        if (code < 0) {
            throw StudioException.of(code, problem.bytes);
        }
    }

    /** Virtual threads where there are some, else platform threads that come and go. */
    private static ExecutorService threads() {
        try {
            return (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        } catch (ReflectiveOperationException before21) {
            return new ThreadPoolExecutor(0, Integer.MAX_VALUE, 500, TimeUnit.MILLISECONDS, new SynchronousQueue<>(), work -> {
                Thread thread = new Thread(work, "wfstudio-call");
                thread.setDaemon(true);
                return thread;
            });
        }
    }
}
