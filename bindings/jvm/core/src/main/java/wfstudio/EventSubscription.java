// Owns how the events of a run go to a subscriber of reactive streams.

package wfstudio;

import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicLong;

/** Hands events on, as many as are asked for, on threads of the studio. */
final class EventSubscription implements Flow.Subscription {
    /** That of a subscriber who gets nothing. */
    static final Flow.Subscription NONE = new Flow.Subscription() {
        @Override
        public void request(long more) {}

        @Override
        public void cancel() {}
    };

    private final Events events;
    private final Flow.Subscriber<? super Event> subscriber;
    private final AtomicLong wanted = new AtomicLong();
    private final Turns turns = new Turns(this::turn);
    private volatile IllegalArgumentException refused;
    private volatile boolean done;

    EventSubscription(Events events, Flow.Subscriber<? super Event> subscriber) {
        this.events = events;
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
        events.close();
    }

    /** Has the events handed on. */
    void wake() {
        if (!done) {
            turns.ask();
        }
    }

    private void turn() {
        try {
            hand();
        } catch (Throwable failure) {
            fail(failure);
        }
    }

    private void hand() {
        if (refused != null) {
            throw refused;
        }
        while (!done && wanted.get() > 0) {
            Event event = events.poll();
            if (event == null) {
                break;
            }
            wanted.decrementAndGet();
            subscriber.onNext(event);
        }
        // The end is told without being asked for.
        if (!done && wanted.get() == 0) {
            events.lookForEnd();
        }
        if (!done && events.isOver()) {
            done = true;
            subscriber.onComplete();
        }
    }

    private void fail(Throwable failure) {
        if (!done) {
            done = true;
            events.close();
            subscriber.onError(failure);
        }
    }
}
