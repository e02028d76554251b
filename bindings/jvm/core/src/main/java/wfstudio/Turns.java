// Owns work that many ask for and one thread at a time does.

package wfstudio;

import java.util.concurrent.atomic.AtomicInteger;

/** Does its work, and once more for whoever asked meanwhile; on threads of the studio, never on the one that asks. */
final class Turns {
    private final Runnable work;
    private final AtomicInteger asked = new AtomicInteger();

    Turns(Runnable work) {
        this.work = work;
    }

    void ask() {
        if (asked.getAndIncrement() == 0) {
            try {
                Threads.SHARED.execute(this::take);
            } catch (Throwable noThread) {
                asked.set(0); // The next one asks again.
                throw noThread;
            }
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
