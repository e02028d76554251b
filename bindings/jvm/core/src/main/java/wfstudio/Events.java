// Owns the events of a run: read in a loop, polled, or published.

package wfstudio;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** The events of a run. They are read once: by a loop, by {@link #poll}, or by one subscriber. Close it when it is left before its end. */
public final class Events implements Iterable<Event>, Flow.Publisher<Event>, AutoCloseable {
    private final Engine engine;
    private final Answer answer;
    private final Deque<Event> read = new ArrayDeque<>();
    private final AtomicBoolean subscribed = new AtomicBoolean();
    private boolean over;

    /** Waits until the run is taken; what refuses it is thrown here. */
    Events(Engine engine, Answer answer) {
        this.engine = engine;
        this.answer = answer;
        try {
            take(answer.next());
        } catch (RuntimeException refused) {
            answer.close();
            throw refused;
        }
    }

    private void take(Answer.Piece piece) {
        over = piece.ended();
        if (piece.code() == Abi.OK) {
            read.addAll(Event.read(piece.bytes()));
        }
    }

    /** The next event, waited for; null at the end. */
    public Event next() {
        while (read.isEmpty() && !over) {
            take(answer.next());
        }
        return read.poll();
    }

    /** The next event if there is one at present; null when not, or at the end: see {@link #isOver}. */
    public Event poll() {
        while (read.isEmpty() && !over) {
            Answer.Piece piece = answer.poll();
            if (piece == null) {
                return null;
            }
            take(piece);
        }
        return read.poll();
    }

    /** True when all events were read. */
    public boolean isOver() {
        return over && read.isEmpty();
    }

    /** Has it told, once at once and then whenever {@link #poll} may have something; on a thread that must not be kept. */
    public void onNews(Runnable told) {
        answer.onNews(told);
    }

    /** Cancels the run; the events go on and tell its end. */
    public void cancel() {
        answer.cancel();
    }

    /** Stops listening. The run goes on, unless it was started with {@code on_disconnect: cancel}. */
    @Override
    public void close() {
        answer.close();
    }

    @Override
    public Iterator<Event> iterator() {
        return new Iterator<>() {
            private Event next;

            @Override
            public boolean hasNext() {
                if (next == null) {
                    next = Events.this.next();
                }
                return next != null;
            }

            @Override
            public Event next() {
                if (!hasNext()) {
                    throw new NoSuchElementException();
                }
                Event given = next;
                next = null;
                return given;
            }
        };
    }

    /** Gives the events to one subscriber, as many as it asks for, on threads of the studio. Cancelling the subscription closes the stream. */
    @Override
    public void subscribe(Flow.Subscriber<? super Event> subscriber) {
        if (!subscribed.compareAndSet(false, true)) {
            subscriber.onSubscribe(new Flow.Subscription() {
                @Override
                public void request(long more) {}

                @Override
                public void cancel() {}
            });
            subscriber.onError(new IllegalStateException("the events of a run have one subscriber"));
            return;
        }
        Subscription subscription = new Subscription(subscriber);
        subscriber.onSubscribe(subscription);
        answer.onNews(subscription::wake);
    }

    private final class Subscription implements Flow.Subscription, Runnable {
        private final Flow.Subscriber<? super Event> subscriber;
        private final AtomicLong wanted = new AtomicLong();
        private final AtomicInteger wakes = new AtomicInteger();
        private volatile IllegalArgumentException refused;
        private volatile boolean done;

        Subscription(Flow.Subscriber<? super Event> subscriber) {
            this.subscriber = subscriber;
        }

        @Override
        public void request(long more) {
            if (more <= 0) {
                refused = new IllegalArgumentException("a subscriber asks for one event or more");
            } else {
                wanted.updateAndGet(before -> before + more < 0 ? Long.MAX_VALUE : before + more);
            }
            wake();
        }

        @Override
        public void cancel() {
            done = true;
            Events.this.close();
        }

        /** Has the events handed on; one thread at a time does. */
        void wake() {
            if (!done && wakes.getAndIncrement() == 0) {
                engine.threads.execute(this);
            }
        }

        @Override
        public void run() {
            int seen = 1;
            do {
                try {
                    hand();
                } catch (Throwable failure) {
                    fail(failure);
                }
                seen = wakes.addAndGet(-seen);
            } while (seen != 0);
        }

        private void hand() {
            if (refused != null) {
                throw refused;
            }
            while (!done && wanted.get() > 0) {
                Event event = poll();
                if (event == null) {
                    break;
                }
                wanted.decrementAndGet();
                subscriber.onNext(event);
            }
            // The end is told without being asked for.
            if (!done && read.isEmpty() && !over && wanted.get() == 0) {
                Answer.Piece piece = answer.poll();
                if (piece != null) {
                    take(piece);
                }
            }
            if (!done && isOver()) {
                done = true;
                subscriber.onComplete();
            }
        }

        private void fail(Throwable failure) {
            if (!done) {
                done = true;
                Events.this.close();
                subscriber.onError(failure);
            }
        }
    }
}
