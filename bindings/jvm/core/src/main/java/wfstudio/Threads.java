// Owns the threads that the studio works on.

package wfstudio;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Threads that come and go. */
final class Threads {
    /** Shared by all engines, and by servers that outlive them: never shut down, its threads end by themselves. */
    static final ExecutorService SHARED = threads();

    private Threads() {}

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
