// Written by bindings/generate/jvm.py from the description of the native functions; do not edit.

package wfstudio;

/** The native functions that answer at once. */
interface Door {
    /** What a function filled in. */
    final class Buffer {
        byte[] bytes = new byte[0];
    }

    /** The version of these functions; see `STUDIO_ABI_VERSION`. */
    int abiVersion();

    /** The version of the library, such as `0.1.0`. It stays valid. */
    String version();

    /** Opens an engine. `config` is a JSON object (may be empty); environment variables win over it. Threads and files come with the first use, so an engine may be opened before a fork and used after it. */
    int engineOpen(byte[] config, long[] out, Buffer err);

    /** The engine of that name in this process: opened by the first call with its configuration, the same for all others (whose configuration is not looked at) until it is closed. */
    int engineShared(String shared, byte[] config, long[] out, Buffer err);

    /** Closes an engine: its streams end, callbacks are waited for, runs are put down so that they can be taken up again, all of it no longer than `timeout_ms`. Until it returns, calls that the host works on may be completed from other threads; those that are not stay open, and whoever goes on with their runs finds them so. */
    int engineClose(long engine, int timeoutMs);

    /** Closes every engine of the process and ends all callbacks: for hooks at exit and before a fork. */
    void shutdown(int timeoutMs);

    /** Declares what the host answers, instead of what was declared before: `{"ops", "tools", "schemas", "classes"}`. With a NULL function calls wait for `studio_host_next`, or come inside streams opened with `"host_calls": "inline"`. `destroy` is called once when another declaration took its place or the engine was closed; on an error it is not called. */
    int hostSet(long engine, byte[] opsJson);

    /** The next call that waits to be fetched. `timeout_ms`: 0 does not wait, negative waits for ever. */
    int hostNext(long engine, int timeoutMs, Buffer out);

    /** Answers a call: `ok` 1 the result, 0 a failure `{"message"}`, 2 a chunk with more to follow. `STUDIO_NOT_FOUND` when the call is not known, was answered, or is no longer waited for. */
    int hostComplete(long engine, long callId, int ok, byte[] data);

    /** Begins a request and never waits. `op` is `http` (`request` is the head of `studio_http`, `body` its body), `run`, `resume`, or any operation of `studio_call`. The stream brings `STUDIO_HOST_CALL` (with `"host_calls": "inline"`), `STUDIO_HEAD` once, `STUDIO_OK` with the body, and `STUDIO_END`; or a negative code with its problem. Closing it before the head gives the request up; a run that exists by then goes on, unless it was started with `"on_disconnect": "cancel"`. Allowed inside callbacks. */
    int start(long engine, String op, byte[] request, byte[] body, long[] out, Buffer err);

    /** Which streams of the engine have news: `*count` handles, at most `room`; 0 among them says that calls to the host wait for `studio_host_next`. Each is told once, and again only after `next` (of 0: `studio_host_next`) with a timeout of 0 found nothing. So one waiter serves all streams of an engine. `timeout_ms`: 0 does not wait, negative waits for ever. A handle may be told before the function that opens its stream has returned on another thread. */
    int ready(long engine, int timeoutMs, long[] handles, long[] count);

    /** The next event, or the next piece of a body. `timeout_ms`: 0 does not wait, negative waits for ever. */
    int streamNext(long stream, int timeoutMs, Buffer out);

    /** All that is there, in whole events, up to `max_bytes` (0: 64 KiB); one event may be longer. */
    int streamNextBatch(long stream, int timeoutMs, long maxBytes, Buffer out);

    /** Cancels the run; the stream goes on and tells its end. The body of an HTTP answer ends at once, with `STUDIO_CANCELLED`. */
    int streamCancel(long stream);

    /** Closes the stream. The run goes on, unless it was started with `"on_disconnect": "cancel"` and is not at its end. */
    int streamClose(long stream);
}
