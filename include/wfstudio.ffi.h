/* Workflow Studio: the C functions of libwfstudio. See docs/c.md.
 *
 * Handles are checked numbers, not addresses: an invalid handle returns an error. The library reads inputs during the call only
 * and does not keep them. It owns the bytes of a studio_buf: pass an empty buffer (STUDIO_BUF_EMPTY) and free it with
 * studio_buf_free. Return codes of 0 and above mean success. Negative codes are errors; if a buffer was passed, it then holds
 * a problem document in JSON (RFC 9457). All functions can be called from any thread. Callbacks must not throw exceptions or
 * longjmp through the library. */

/* Written by `make generate`; do not edit. */

/* An engine: its configuration, its database and its runs. All functions accept it from any thread. */
typedef struct studio_engine studio_engine;

/* The answer to a request, while it is produced. A stream has one consumer: the caller of `next`, or one callback. */
typedef struct studio_stream studio_stream;

/* Bytes that the library returns: `len` bytes, followed by a NUL that `len` does not count. Pass an empty buffer and free it with
 `studio_buf_free`. */
typedef struct studio_buf {
  /* The bytes, or NULL if there are none. */
  uint8_t *data;
  /* The number of bytes. */
  size_t len;
  /* Used by the library. */
  size_t cap;
} studio_buf;

/* Receives a call `{"op","call_id","payload"}` on a thread of the library and returns 0. The host answers with `studio_host_complete`,
 immediately or later, from any thread. Any other return value makes the call fail. Inside the callback, functions of this library that
 can block return `STUDIO_REENTRANT`. */
typedef int32_t (*studio_host_fn)(void *user_data, const uint8_t *call, size_t len);

/* Called exactly once, on any thread, when the library no longer uses `user_data`. May be NULL. */
typedef void (*studio_destroy_fn)(void *user_data);

/* Receives a log line `{"level","target","message","fields"}` on a thread of the library. */
typedef void (*studio_log_fn)(void *user_data, const uint8_t *line, size_t len);

/* Receives the results of a stream on threads of the library, one call after the other: `STUDIO_OK` with whole events,
 `STUDIO_HOST_CALL` with a call, `STUDIO_HEAD` with the first answer to `studio_start`, a negative code with a problem document, and
 finally `STUDIO_END` without bytes, exactly once. A return value other than 0 ends the stream early. Inside the callback, functions
 that can block return `STUDIO_REENTRANT`. Interpreters with a global lock should use `next` instead. */
typedef int32_t (*studio_event_fn)(void *user_data, int32_t code, const uint8_t *data, size_t len);

/* Returns the version of these functions; see `STUDIO_ABI_VERSION`. */
uint32_t studio_abi_version(void);

/* Returns the version of the library, such as `0.1.0`. The string stays valid. */
const char *studio_version(void);

/* Frees the bytes and makes the buffer empty. An empty buffer and NULL are allowed. */
void studio_buf_free(struct studio_buf *buffer);

/* Opens an engine. `config` is a JSON object and may be empty; environment variables override it. The engine starts its threads and
 opens its files at the first use, so it can be opened before a fork and used after it. */
int32_t studio_engine_open(const uint8_t *config,
                           size_t len,
                           struct studio_engine **out,
                           struct studio_buf *err);

/* Returns the engine of this name in the process. The first call opens it with its configuration. Later calls return the same engine
 until it is closed. They pass the same configuration or none; another one is refused with `STUDIO_CONFLICT`, so that two applications
 in one process never get each other's data. */
int32_t studio_engine_shared(const char *shared,
                             const uint8_t *config,
                             size_t len,
                             struct studio_engine **out,
                             struct studio_buf *err);

/* Closes an engine: ends its streams, waits for callbacks that are running, and releases its runs so that another engine can take them
 over. It takes at most `timeout_ms`. Until it returns, other threads can complete calls that the host is working on. Calls that are
 not completed stay open in the log of their run, and the engine that takes the run over finds them there. */
int32_t studio_engine_close(struct studio_engine *engine,
                            uint32_t timeout_ms);

/* Closes every engine of the process and ends all callbacks. For exit hooks and hooks before a fork. */
void studio_shutdown(uint32_t timeout_ms);

/* Calls an operation by name, with JSON as input and output: `studio_call(engine, "ops", NULL, 0, &out)` lists the operations. */
int32_t studio_call(struct studio_engine *engine,
                    const char *op,
                    const uint8_t *request,
                    size_t len,
                    struct studio_buf *out);

/* Runs a workflow (`{"workflow", "message", "state", "tenant", "user", …}`) or a chat turn of an agent (`{"agent", …}`). The stream
 returns the events of the run as server-sent events. `"traceparent"` and `"tracestate"` name the span of the host that becomes the
 parent of the run. */
int32_t studio_run(struct studio_engine *engine,
                   const uint8_t *request,
                   size_t len,
                   struct studio_stream **out,
                   struct studio_buf *err);

/* Answers a pause (`{"trace_id", "message" or "approval", "tenant", "user", …}`). The stream returns the events that follow.
 `"traceparent"` and `"tracestate"` as in `studio_run`. */
int32_t studio_resume(struct studio_engine *engine,
                      const uint8_t *request,
                      size_t len,
                      struct studio_stream **out,
                      struct studio_buf *err);

/* Returns the trace of a run as JSON: `{"trace_id", "tenant", "include"}`. */
int32_t studio_trace(struct studio_engine *engine,
                     const uint8_t *request,
                     size_t len,
                     struct studio_buf *out);

/* Returns the usage and the costs of runs as JSON: `{"from", "to", "group_by", "tenant", …}`, or `{"run", "tenant"}` for one run. */
int32_t studio_usage(struct studio_engine *engine,
                     const uint8_t *query,
                     size_t len,
                     struct studio_buf *out);

/* Handles an HTTP request. `head` is `{"method", "path", "query", "headers": [[name, value]], "user", "tenant", "gate", "authorized",
 "base_url", "host_calls"}`; `path` is the whole path below `base_url`, percent-encoded. `head_out` receives `{"status", "headers",
 "body"}`, where `body` is the text of a text answer. Binary bodies and event streams are returned in `*body_out`, which is NULL
 otherwise. Every HTTP answer returns `STUDIO_OK`, whatever its status is. */
int32_t studio_http(struct studio_engine *engine,
                    const uint8_t *head,
                    size_t head_len,
                    const uint8_t *body_in,
                    size_t body_len,
                    struct studio_stream **body_out,
                    struct studio_buf *head_out);

/* Declares what the host provides, `{"ops", "tools", "schemas", "classes"}`, and replaces the previous declaration. If `host` is NULL,
 calls wait for `studio_host_next`, or arrive inside streams that were opened with `"host_calls": "inline"`. `destroy` is called once,
 when another declaration replaces this one or the engine is closed. If this function fails, `destroy` is not called. */
int32_t studio_host_set(struct studio_engine *engine,
                        const uint8_t *ops_json,
                        size_t len,
                        studio_host_fn host,
                        void *user_data,
                        studio_destroy_fn destroy);

/* Returns the next call that waits for the host. `timeout_ms`: 0 returns immediately, a negative value waits without limit. */
int32_t studio_host_next(struct studio_engine *engine,
                         int32_t timeout_ms,
                         struct studio_buf *out);

/* Answers a call. `ok`: 1 is the result, 0 is a failure `{"message"}`, 2 is a chunk that others follow. A failure of a tool with
 `"ran": true` (the tool ran, but its result could not be passed on) or `"unanswered": true` (it is not known whether it ran) is never
 repeated without a person's decision. Returns `STUDIO_NOT_FOUND` if the call is unknown, was already answered, or nobody waits for
 its answer any more. */
int32_t studio_host_complete(struct studio_engine *engine,
                             uint64_t call_id,
                             int32_t ok,
                             const uint8_t *data,
                             size_t len);

/* Sends the log of the process to a callback and replaces the previous callback; NULL removes it. When this function returns, the
 previous callback is not running and its user data was destroyed. */
int32_t studio_log_set(studio_log_fn log,
                       void *user_data,
                       studio_destroy_fn destroy);

/* Starts a request and returns immediately. `op` is `http` (`request` is the head of `studio_http`, `body` is its body), `run`,
 `resume`, or any operation of `studio_call`. The stream returns `STUDIO_HOST_CALL` (with `"host_calls": "inline"`), then `STUDIO_HEAD`
 once, then `STUDIO_OK` with parts of the body, and at last `STUDIO_END`; or a negative code with a problem document. If the stream is
 closed before the head, the request is cancelled. A run that already exists continues, unless it was started with
 `"on_disconnect": "cancel"`. This function may be called inside callbacks. */
int32_t studio_start(struct studio_engine *engine,
                     const char *op,
                     const uint8_t *request,
                     size_t len,
                     const uint8_t *body,
                     size_t body_len,
                     struct studio_stream **out,
                     struct studio_buf *err);

/* Returns the handles of streams with new data: `*count` handles, at most `room`. The handle 0 means that calls to the host wait for
 `studio_host_next`. Each stream is reported once. It is reported again only after `next` (for 0: `studio_host_next`) with a timeout of
 0 returned `STUDIO_TIMEOUT`. One waiting thread can therefore serve all streams of an engine. `timeout_ms`: 0 returns immediately, a
 negative value waits without limit. A handle can be reported before the function that opens its stream returns on another thread. */
int32_t studio_ready(struct studio_engine *engine,
                     int32_t timeout_ms,
                     uint64_t *handles,
                     size_t room,
                     size_t *count);

/* Returns a file descriptor that is readable while `studio_ready` has handles to return. The caller owns it: watch it, read it until it
 is empty (it does not block), and close it. Read it before calling `studio_ready`. Every call returns a new descriptor of the same
 socket. Returns -1 on platforms without it, and other negative codes as everywhere. */
int32_t studio_engine_fd(struct studio_engine *engine);

/* Returns the next event, or the next part of a body. `timeout_ms`: 0 returns immediately, a negative value waits without limit. */
int32_t studio_stream_next(struct studio_stream *stream,
                           int32_t timeout_ms,
                           struct studio_buf *out);

/* Returns all events that are available, whole events only, up to `max_bytes` (0 means 64 KiB). A single event can be longer. */
int32_t studio_stream_next_batch(struct studio_stream *stream,
                                 int32_t timeout_ms,
                                 size_t max_bytes,
                                 struct studio_buf *out);

/* Returns a file descriptor to watch for reading, level-triggered: while it is readable, `next` with a timeout of 0 may return
 something. The stream owns the descriptor: do not close it. Reading it does no harm. Returns -1 on platforms without it, and other
 negative codes as everywhere. */
int32_t studio_stream_fd(struct studio_stream *stream);

/* Sends the events to a callback from now on. On success `destroy` is called once, after `STUDIO_END`. On failure neither is called. */
int32_t studio_stream_on_event(struct studio_stream *stream,
                               studio_event_fn on,
                               void *user_data,
                               studio_destroy_fn destroy);

/* Cancels the run. The stream continues and reports the end of the run. The body of an HTTP answer ends at once, with
 `STUDIO_CANCELLED`. */
int32_t studio_stream_cancel(struct studio_stream *stream);

/* Closes the stream. The run continues, unless it was started with `"on_disconnect": "cancel"` and has not ended. */
int32_t studio_stream_close(struct studio_stream *stream);

