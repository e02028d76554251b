// Owns work that many ask for and one thread at a time does.

package wfstudio;

import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;

/** Does its work once more for whoever asked while it was done; never on the thread that asks. */
final class Turns {
    private final Executor threads;
    private final Runnable work;
    private final AtomicInteger asked = new AtomicInteger();

    Turns(Executor threads, Runnable work) {
        this.threads = threads;
        this.work = work;
    }

    void ask() {
        if (asked.getAndIncrement() == 0) {
            threads.execute(this::take);
        }
    }

    private void take() {
        int seen = 1;
        do {
            work.run();
            seen = asked.addAndGet(-seen);
        } while (seen != 0);
    }
}
