// Owns an answer that still comes: its pieces, taken without waiting inside the library, and whoever waits for them.

package wfstudio;

import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** One stream of the engine. */
final class Answer implements AutoCloseable {
    /** What came: `OK` and bytes, `HEAD` and a head, `END`. */
    record Piece(int code, byte[] bytes) {
        boolean ended() {
            return code == Abi.END;
        }
    }

    private static final Piece END = new Piece(Abi.END, new byte[0]);

    private final Engine engine;
    private final long handle;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition rung = lock.newCondition();
    private volatile boolean news = true;
    private volatile Runnable listener;
    private volatile boolean ended;
    private volatile boolean closed;

    Answer(Engine engine, long handle) {
        this.engine = engine;
        this.handle = handle;
    }

    /** Something came: whoever waits looks. */
    void ring() {
        lock.lock();
        try {
            news = true;
            rung.signalAll();
        } finally {
            lock.unlock();
        }
        Runnable told = listener;
        if (told != null) {
            told.run();
        }
    }

    /** Has every news told from now on, and once at once; the listener must not wait. */
    void onNews(Runnable told) {
        listener = told;
        // What came before that is seen by this.
        told.run();
    }

    /** What is there; none when nothing is at present. */
    Piece poll() {
        if (ended) {
            return END;
        }
        Door.Buffer buffer = new Door.Buffer();
        while (true) {
            if (closed) {
                throw StudioException.of(Code.CLOSED, "the stream was closed");
            }
            int code = engine.door.streamNextBatch(handle, 0, 0, buffer);
            if (code == Abi.HOST_CALL) {
                engine.news.calls.accept(buffer.bytes);
            } else if (code == Abi.TIMEOUT) {
                return null;
            } else if (code == Abi.END) {
                ended = true;
                close();
                return END;
            } else if (code < 0) {
                if (code != Abi.BUSY) {
                    close();
                }
                throw StudioException.of(code, buffer.bytes);
            } else {
                return new Piece(code, buffer.bytes);
            }
        }
    }

    /** The next piece, waited for. */
    Piece next() {
        while (true) {
            // What comes behind this is news, whether the look sees it or not.
            news = false;
            Piece piece = poll();
            if (piece != null) {
                return piece;
            }
            lock.lock();
            try {
                while (!news && !closed) {
                    rung.await();
                }
            } catch (InterruptedException left) {
                Thread.currentThread().interrupt();
                throw StudioException.of(Code.CANCELLED, "the thread was interrupted while it waited");
            } finally {
                lock.unlock();
            }
        }
    }

    /** The head, or the whole answer of an operation. */
    byte[] head() {
        Piece piece = next();
        if (piece.code() != Abi.HEAD) {
            throw StudioException.of(Code.INTERNAL, "an answer without a head");
        }
        return piece.bytes();
    }

    void cancel() {
        if (!closed) {
            int code = engine.door.streamCancel(handle);
            if (code < 0 && code != Abi.CLOSED) {
                throw StudioException.of(Code.of(code), "the run could not be cancelled");
            }
        }
    }

    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        engine.news.forget(handle);
        engine.door.streamClose(handle);
        ring();
    }
}
