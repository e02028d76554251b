// Owns the events of a run: read in a loop, polled, or published.

package wfstudio;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.Flow;
import java.util.concurrent.atomic.AtomicBoolean;

/** The events of a run. They are read once: by a loop, by {@link #poll}, or by one subscriber. Close it when it is left before its end. */
public final class Events implements Iterable<Event>, Flow.Publisher<Event>, AutoCloseable {
    private final Answer answer;
    private final Deque<Event> read = new ArrayDeque<>();
    private final AtomicBoolean subscribed = new AtomicBoolean();
    private boolean over;

    /** Waits until the run is taken; what refuses it is thrown here. */
    Events(Answer answer) {
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

    /** Finds out whether the end is there while nobody wants an event. */
    void lookForEnd() {
        Answer.Piece piece = read.isEmpty() && !over ? answer.poll() : null;
        if (piece != null) {
            take(piece);
        }
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
        EventSubscription subscription = new EventSubscription(this, subscriber);
        if (subscribed.compareAndSet(false, true)) {
            subscriber.onSubscribe(subscription);
            answer.onNews(subscription::wake);
        } else {
            subscriber.onSubscribe(EventSubscription.NONE);
            subscriber.onError(new IllegalStateException("the events of a run have one subscriber"));
        }
    }
}
