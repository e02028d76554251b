// Written by bindings/generate/jvm.py from the description of the native functions; do not edit.

package wfstudio;

/** The native functions that answer at once. */
interface Door {
    /** What a function filled in. */
    final class Buffer {
        byte[] bytes = new byte[0];
    }

    /** Returns the version of these functions; see `STUDIO_ABI_VERSION`. */
    int abiVersion();

    /** Returns the version of the library, such as `0.1.0`. The string stays valid. */
    String version();

    /** Opens an engine. `config` is a JSON object and may be empty; environment variables override it. The engine starts its threads and opens its files at the first use, so it can be opened before a fork and used after it. */
    int engineOpen(byte[] config, long[] out, Buffer err);

    /** The same; gives what was made, or throws why it was not. */
    default long engineOpen(byte[] config) {
        long[] out = new long[1];
        Buffer err = new Buffer();
        int code = engineOpen(config, out, err);
        if (code < 0) {
            throw StudioException.of(code, err.bytes);
        }
        return out[0];
    }

    /** Returns the engine of this name in the process. The first call opens it with its configuration. Later calls return the same engine until it is closed. They pass the same configuration or none; another one is refused with `STUDIO_CONFLICT`, so that two applications in one process never get each other's data. */
    int engineShared(String shared, byte[] config, long[] out, Buffer err);

    /** The same; gives what was made, or throws why it was not. */
    default long engineShared(String shared, byte[] config) {
        long[] out = new long[1];
        Buffer err = new Buffer();
        int code = engineShared(shared, config, out, err);
        if (code < 0) {
            throw StudioException.of(code, err.bytes);
        }
        return out[0];
    }

    /** Closes an engine: ends its streams, waits for callbacks that are running, and releases its runs so that another engine can take them over. It takes at most `timeout_ms`. Until it returns, other threads can complete calls that the host is working on. Calls that are not completed stay open in the log of their run, and the engine that takes the run over finds them there. */
    int engineClose(long engine, int timeoutMs);

    /** Closes every engine of the process and ends all callbacks. For exit hooks and hooks before a fork. */
    void shutdown(int timeoutMs);

    /** Declares what the host provides, `{"ops", "tools", "schemas", "classes"}`, and replaces the previous declaration. If `host` is NULL, calls wait for `studio_host_next`, or arrive inside streams that were opened with `"host_calls": "inline"`. `destroy` is called once, when another declaration replaces this one or the engine is closed. If this function fails, `destroy` is not called. */
    int hostSet(long engine, byte[] opsJson);

    /** Returns the next call that waits for the host. `timeout_ms`: 0 returns immediately, a negative value waits without limit. */
    int hostNext(long engine, int timeoutMs, Buffer out);

    /** Answers a call. `ok`: 1 is the result, 0 is a failure `{"message"}`, 2 is a chunk that others follow. A failure of a tool with `"ran": true` (the tool ran, but its result could not be passed on) or `"unanswered": true` (it is not known whether it ran) is never repeated without a person's decision. Returns `STUDIO_NOT_FOUND` if the call is unknown, was already answered, or nobody waits for its answer any more. */
    int hostComplete(long engine, long callId, int ok, byte[] data);

    /** Starts a request and returns immediately. `op` is `http` (`request` is the head of `studio_http`, `body` is its body), `run`, `resume`, or any operation of `studio_call`. The stream returns `STUDIO_HOST_CALL` (with `"host_calls": "inline"`), then `STUDIO_HEAD` once, then `STUDIO_OK` with parts of the body, and at last `STUDIO_END`; or a negative code with a problem document. If the stream is closed before the head, the request is cancelled. A run that already exists continues, unless it was started with `"on_disconnect": "cancel"`. This function may be called inside callbacks. */
    int start(long engine, String op, byte[] request, byte[] body, long[] out, Buffer err);

    /** The same; gives what was made, or throws why it was not. */
    default long start(long engine, String op, byte[] request, byte[] body) {
        long[] out = new long[1];
        Buffer err = new Buffer();
        int code = start(engine, op, request, body, out, err);
        if (code < 0) {
            throw StudioException.of(code, err.bytes);
        }
        return out[0];
    }

    /** Returns the handles of streams with new data: `*count` handles, at most `room`. The handle 0 means that calls to the host wait for `studio_host_next`. Each stream is reported once. It is reported again only after `next` (for 0: `studio_host_next`) with a timeout of 0 returned `STUDIO_TIMEOUT`. One waiting thread can therefore serve all streams of an engine. `timeout_ms`: 0 returns immediately, a negative value waits without limit. A handle can be reported before the function that opens its stream returns on another thread. */
    int ready(long engine, int timeoutMs, long[] handles, long[] count);

    /** Returns the next event, or the next part of a body. `timeout_ms`: 0 returns immediately, a negative value waits without limit. */
    int streamNext(long stream, int timeoutMs, Buffer out);

    /** Returns all events that are available, whole events only, up to `max_bytes` (0 means 64 KiB). A single event can be longer. */
    int streamNextBatch(long stream, int timeoutMs, long maxBytes, Buffer out);

    /** Cancels the run. The stream continues and reports the end of the run. The body of an HTTP answer ends at once, with `STUDIO_CANCELLED`. */
    int streamCancel(long stream);

    /** Closes the stream. The run continues, unless it was started with `"on_disconnect": "cancel"` and has not ended. */
    int streamClose(long stream);
}
