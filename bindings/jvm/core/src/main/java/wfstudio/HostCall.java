// Owns one call of the engine to the application, from its arrival to its answer.

package wfstudio;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;

/** What the engine asks, and how it is answered. */
public final class HostCall {
    private final HostCalls calls;
    private final long id;
    private final String op;
    private final Map<String, Object> payload;
    private final List<Runnable> cancels = new ArrayList<>();
    private Thread thread;
    private boolean cancelled;
    private boolean begun;
    private boolean answered;

    HostCall(HostCalls calls, long id, String op, Map<String, Object> payload) {
        this.calls = calls;
        this.id = id;
        this.op = op;
        this.payload = payload;
    }

    /** What is asked: see {@link Names.HostOp}. */
    public String op() {
        return op;
    }

    /** All that was said. */
    public Map<String, Object> payload() {
        return payload;
    }

    /** The arguments of a tool call; otherwise all that was said. */
    @SuppressWarnings("unchecked")
    public Map<String, Object> arguments() {
        return payload.get("arguments") instanceof Map<?, ?> map ? (Map<String, Object>) map : payload;
    }

    /** An argument of a tool call; otherwise a member of what was said. */
    public Object get(String name) {
        return arguments().get(name);
    }

    /** The arguments as a record. */
    public <R> R as(Class<R> record) {
        return record.cast(Schema.value(arguments(), record, ""));
    }

    /** For whom. */
    public String tenant() {
        return payload.get("tenant") instanceof String tenant ? tenant : "";
    }

    /** What the application said about who asks; null when nothing. */
    public Object user() {
        return payload.get("user");
    }

    /** The same for a call that is made again after a crash. */
    public String idempotencyKey() {
        return (String) payload.get("idempotency_key");
    }

    /** How long the engine waits for the answer, where it says so. */
    public Optional<Duration> timeout() {
        return payload.get("timeout_ms") instanceof Number limit ? Optional.of(Duration.ofMillis(limit.longValue())) : Optional.empty();
    }

    /** Sends a part of the answer, with the rest to follow: {@code delta} of a model's answer. */
    public void chunk(Object part) {
        calls.complete(id, 2, Json.write(part));
    }

    /** True when the answer is no longer wanted. The thread that works on it is interrupted too. */
    public synchronized boolean isCancelled() {
        return cancelled;
    }

    /** Has it told, once, when the answer is no longer wanted. */
    public void onCancel(Runnable told) {
        synchronized (this) {
            if (!cancelled) {
                cancels.add(told);
                return;
            }
        }
        told.run();
    }

    void cancel() {
        List<Runnable> told;
        synchronized (this) {
            if (cancelled || answered) {
                return;
            }
            cancelled = true;
            told = List.copyOf(cancels);
            if (thread != null) {
                thread.interrupt();
            }
        }
        told.forEach(Runnable::run);
    }

    /** Works on it, on a thread of the application. */
    void run(HostFunction function) {
        synchronized (this) {
            if (answered) {
                // It was told as failed: it is not made any more.
                return;
            }
            begun = true;
        }
        try {
            Object result = work(function);
            if (result instanceof CompletionStage<?> stage) {
                if (stage instanceof Future<?> future) {
                    onCancel(() -> future.cancel(true));
                }
                stage.whenComplete((later, failure) -> {
                    if (failure != null) {
                        fail(failure);
                    } else {
                        succeed(later);
                    }
                });
            } else {
                succeed(result);
            }
        } catch (Throwable failure) {
            fail(failure);
        }
    }

    private Object work(HostFunction function) throws Exception {
        synchronized (this) {
            if (cancelled) {
                throw new HostFailure("the call was cancelled before it began; nothing was done");
            }
            thread = Thread.currentThread();
        }
        try {
            return function.answer(this);
        } finally {
            synchronized (this) {
                thread = null;
                Thread.interrupted();
            }
        }
    }

    private void succeed(Object result) {
        try {
            answer(1, Json.write(result));
        } catch (Throwable unwritable) { // also a stack or a memory that is too small for it
            unwritten(Failures.text(unwritable));
        }
    }

    /** The function returned, and its result was not taken. */
    void unwritten(String why) {
        answer(0, Failures.unwritten(op, why));
    }

    void fail(Throwable thrown) {
        answer(0, Failures.told(thrown));
    }

    /** The call was not taken by who was to work on it; without effect when it has begun all the same. */
    void refuse(String why) {
        synchronized (this) {
            if (begun) {
                return;
            }
            answered = true;
        }
        fail(new HostFailure(why));
    }

    private void answer(int ok, String text) {
        synchronized (this) {
            answered = true;
        }
        calls.answered(id, ok, text);
    }
}
