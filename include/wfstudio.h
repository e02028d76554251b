/* Workflow Studio: the C functions of libwfstudio. See docs/c.md.
 *
 * Handles are numbers in pointer clothes: any wrong one is answered with an error. Inputs are borrowed for the call. A studio_buf
 * belongs to the library: give it empty (STUDIO_BUF_EMPTY), free it with studio_buf_free. Results: 0 and above are
 * good news, negative ones are errors, and then the buffer, when there is one, holds a problem document in JSON.
 * Any function may be called from any thread. Callbacks must not throw or longjmp through the library. */

#ifndef STUDIO_H
#define STUDIO_H

/* Written by `make generate`; do not edit. */

#include <stddef.h>
#include <stdint.h>

/* An empty buffer, to give to functions that fill one. */
#define STUDIO_BUF_EMPTY {0, 0, 0}

/* Major and minor version of these functions: `major << 16 | minor`. A host works with the same major and a minor not
 below the header's. */
#define STUDIO_ABI_VERSION ((1 << 16) | 1)

/* Done. */
#define STUDIO_OK 0

/* The stream is over; there are no bytes with it. */
#define STUDIO_END 1

/* Nothing came in time. */
#define STUDIO_TIMEOUT 2

/* The bytes are a call to the host, `{"op","call_id","payload"}`, to be answered with `studio_host_complete`. */
#define STUDIO_HOST_CALL 3

/* The bytes are what a request that `studio_start` began answers first: the head of an HTTP answer `{"status","headers"}`,
 `{"trace_id"}` of a run, or the whole answer of an operation. It comes once, before the body. */
#define STUDIO_HEAD 4

/* An argument is wrong. */
#define STUDIO_INVALID -1

/* There is no such thing. */
#define STUDIO_NOT_FOUND -2

/* It does not fit the state of things. */
#define STUDIO_CONFLICT -3

/* It was cancelled. */
#define STUDIO_CANCELLED -4

/* The handle was closed. */
#define STUDIO_CLOSED -5

/* This is no handle of this library, or one of the wrong kind, or one closed long ago. */
#define STUDIO_BAD_HANDLE -6

/* The handle belongs to the process that forked this one; open another engine here. */
#define STUDIO_FORKED -7

/* A fault of this library; the engine can be used further. */
#define STUDIO_PANIC -8

/* A fault of this library or of something it calls. */
#define STUDIO_INTERNAL -9

/* Not in this build, or switched off. */
#define STUDIO_UNSUPPORTED -10

/* A call that may wait was made inside a callback. */
#define STUDIO_REENTRANT -11

/* Refused. */
#define STUDIO_DENIED -12

/* Something else has it; try again. */
#define STUDIO_BUSY -13

/* An engine: configuration, database, running work. Any function may be called with it from any thread. */
typedef struct studio_engine studio_engine;

/* An answer that is still coming. It has one consumer: whoever calls `next`, or one callback. */
typedef struct studio_stream studio_stream;

/* Bytes of the library: `len` of them, and a NUL behind. Give it empty, free it with `studio_buf_free`. */
typedef struct studio_buf {
  /* The bytes; NULL when there are none. */
  uint8_t *data;
  /* How many. */
  size_t len;
  /* For the library. */
  size_t cap;
} studio_buf;

/* Takes a call `{"op","call_id","payload"}` on a thread of the library and returns 0; the answer comes by
 `studio_host_complete`, at once or later, from any thread. Any other result is a failure of the call. Calls of this
 library that may wait are refused inside. */
typedef int32_t (*studio_host_fn)(void *user_data, const uint8_t *call, size_t len);

/* Called when the library is done with `user_data`, exactly once, on any thread; may be NULL. */
typedef void (*studio_destroy_fn)(void *user_data);

/* Takes a line of log `{"level","target","message","fields"}` on a thread of the library. */
typedef void (*studio_log_fn)(void *user_data, const uint8_t *line, size_t len);

/* Told by threads of the library, one call after the other: `STUDIO_OK` and whole frames, `STUDIO_HOST_CALL` and a call,
 `STUDIO_HEAD` and the head of what `studio_start` began, a negative code and a problem, at last `STUDIO_END` without bytes,
 exactly once. Any result but 0 ends it early. Calls that may wait are refused inside. Interpreters with a lock should pull instead. */
typedef int32_t (*studio_event_fn)(void *user_data, int32_t code, const uint8_t *data, size_t len);

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/* The version of these functions; see `STUDIO_ABI_VERSION`. */
uint32_t studio_abi_version(void);

/* The version of the library, such as `0.1.0`. It stays valid. */
const char *studio_version(void);

/* Frees the bytes and empties the buffer; an empty one stays as it is, and NULL is nothing. */
void studio_buf_free(struct studio_buf *buffer);

/* Opens an engine. `config` is a JSON object (may be empty); environment variables win over it. Threads and files come with
 the first use, so an engine may be opened before a fork and used after it. */
int32_t studio_engine_open(const uint8_t *config,
                           size_t len,
                           struct studio_engine **out,
                           struct studio_buf *err);

/* The engine of that name in this process: opened by the first call with its configuration, the same for all others (whose
 configuration is not looked at) until it is closed. */
int32_t studio_engine_shared(const char *shared,
                             const uint8_t *config,
                             size_t len,
                             struct studio_engine **out,
                             struct studio_buf *err);

/* Closes an engine: its streams end, callbacks are waited for, runs are put down so that they can be taken up again, all of
 it no longer than `timeout_ms`. Until it returns, calls that the host works on may be completed from other threads; those
 that are not stay open, and whoever goes on with their runs finds them so. */
int32_t studio_engine_close(struct studio_engine *engine,
                            uint32_t timeout_ms);

/* Closes every engine of the process and ends all callbacks: for hooks at exit and before a fork. */
void studio_shutdown(uint32_t timeout_ms);

/* One operation by name, JSON in and out: `studio_call(engine, "ops", NULL, 0, &out)` lists them. */
int32_t studio_call(struct studio_engine *engine,
                    const char *op,
                    const uint8_t *request,
                    size_t len,
                    struct studio_buf *out);

/* Runs a workflow (`{"workflow", "message", "state", "tenant", "user", …}`) or an agent's chat turn (`{"agent", …}`). The
 stream gives its events as server-sent events. `"traceparent"` and `"tracestate"` name the span of the host that it is part of. */
int32_t studio_run(struct studio_engine *engine,
                   const uint8_t *request,
                   size_t len,
                   struct studio_stream **out,
                   struct studio_buf *err);

/* Answers a pause (`{"trace_id", "message" or "approval", "tenant", "user", …}`); the stream gives the events that follow.
 `"traceparent"` and `"tracestate"` as in `studio_run`. */
int32_t studio_resume(struct studio_engine *engine,
                      const uint8_t *request,
                      size_t len,
                      struct studio_stream **out,
                      struct studio_buf *err);

/* The trace of a run as JSON: `{"trace_id", "tenant", "include"}`. */
int32_t studio_trace(struct studio_engine *engine,
                     const uint8_t *request,
                     size_t len,
                     struct studio_buf *out);

/* What runs used and cost, as JSON: `{"from", "to", "group_by", "tenant", …}`, or `{"run", "tenant"}` for one run. */
int32_t studio_usage(struct studio_engine *engine,
                     const uint8_t *query,
                     size_t len,
                     struct studio_buf *out);

/* One HTTP request: `head` is `{"method", "path", "query", "headers": [[name, value]], "user", "tenant", "gate",
 "authorized", "base_url", "host_calls"}`, `path` the whole path below `base_url`, percent-encoded. `head_out` is
 `{"status", "headers", "body"}`, where `body` is the text of a text answer. Bytes and event streams come as `*body_out`,
 which is NULL otherwise. Any HTTP answer is `STUDIO_OK`. */
int32_t studio_http(struct studio_engine *engine,
                    const uint8_t *head,
                    size_t head_len,
                    const uint8_t *body_in,
                    size_t body_len,
                    struct studio_stream **body_out,
                    struct studio_buf *head_out);

/* Declares what the host answers, instead of what was declared before: `{"ops", "tools", "schemas", "classes"}`. With a NULL
 function calls wait for `studio_host_next`, or come inside streams opened with `"host_calls": "inline"`. `destroy` is
 called once when another declaration took its place or the engine was closed; on an error it is not called. */
int32_t studio_host_set(struct studio_engine *engine,
                        const uint8_t *ops_json,
                        size_t len,
                        studio_host_fn host,
                        void *user_data,
                        studio_destroy_fn destroy);

/* The next call that waits to be fetched. `timeout_ms`: 0 does not wait, negative waits for ever. */
int32_t studio_host_next(struct studio_engine *engine, int32_t timeout_ms, struct studio_buf *out);

/* Answers a call: `ok` 1 the result, 0 a failure `{"message"}`, 2 a chunk with more to follow. `STUDIO_NOT_FOUND` when the
 call is not known, was answered, or is no longer waited for. */
int32_t studio_host_complete(struct studio_engine *engine,
                             uint64_t call_id,
                             int32_t ok,
                             const uint8_t *data,
                             size_t len);

/* Has the log of the process told to a callback, instead of the one before; NULL ends it. When it returns, the callback before
 is not running and was let go. */
int32_t studio_log_set(studio_log_fn log,
                       void *user_data,
                       studio_destroy_fn destroy);

/* Begins a request and never waits. `op` is `http` (`request` is the head of `studio_http`, `body` its body), `run`, `resume`, or
 any operation of `studio_call`. The stream brings `STUDIO_HOST_CALL` (with `"host_calls": "inline"`), `STUDIO_HEAD` once,
 `STUDIO_OK` with the body, and `STUDIO_END`; or a negative code with its problem. Closing it before the head gives the request up;
 a run that exists by then goes on, unless it was started with `"on_disconnect": "cancel"`. Allowed inside callbacks. */
int32_t studio_start(struct studio_engine *engine,
                     const char *op,
                     const uint8_t *request,
                     size_t len,
                     const uint8_t *body,
                     size_t body_len,
                     struct studio_stream **out,
                     struct studio_buf *err);

/* Which streams of the engine have news: `*count` handles, at most `room`; 0 among them says that calls to the host wait for
 `studio_host_next`. Each is told once, and again only after `next` (of 0: `studio_host_next`) with a timeout of 0 found nothing. So
 one waiter serves all streams of an engine. `timeout_ms`: 0 does not wait, negative waits for ever. A handle may be told before the
 function that opens its stream has returned on another thread. */
int32_t studio_ready(struct studio_engine *engine,
                     int32_t timeout_ms,
                     uint64_t *handles,
                     size_t room,
                     size_t *count);

/* A descriptor of a socket that is readable while `studio_ready` has news. It is the caller's: non-blocking, to be watched, read,
 drained and closed. Whoever reads it does so before `studio_ready`. Each call gives another one of the same socket. -1 where there
 is none, other negative codes as everywhere. */
int32_t studio_engine_fd(struct studio_engine *engine);

/* The next event, or the next piece of a body. `timeout_ms`: 0 does not wait, negative waits for ever. */
int32_t studio_stream_next(struct studio_stream *stream, int32_t timeout_ms, struct studio_buf *out);

/* All that is there, in whole events, up to `max_bytes` (0: 64 KiB); one event may be longer. */
int32_t studio_stream_next_batch(struct studio_stream *stream,
                                 int32_t timeout_ms,
                                 size_t max_bytes,
                                 struct studio_buf *out);

/* A descriptor to watch for reading, level-triggered: while it is readable, `next` with a timeout of 0 may have something.
 It belongs to the stream: do not close it; reading it does no harm. -1 where there is none, other negative codes as everywhere. */
int32_t studio_stream_fd(struct studio_stream *stream);

/* Has the events told to a callback from now on. On success `destroy` is called once, after `STUDIO_END`; on an error
 neither is called. */
int32_t studio_stream_on_event(struct studio_stream *stream,
                               studio_event_fn on,
                               void *user_data,
                               studio_destroy_fn destroy);

/* Cancels the run; the stream goes on and tells its end. The body of an HTTP answer ends at once, with `STUDIO_CANCELLED`. */
int32_t studio_stream_cancel(struct studio_stream *stream);

/* Closes the stream. The run goes on, unless it was started with `"on_disconnect": "cancel"` and is not at its end. */
int32_t studio_stream_close(struct studio_stream *stream);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* STUDIO_H */
