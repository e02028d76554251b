/* Owns proof of what the header promises of streams and callbacks: order, one end, one destroy, descriptors, refusals. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "check.h"

static studio_engine *engine;

static studio_stream *run(const char *request) {
    studio_stream *stream = NULL;
    studio_buf err = STUDIO_BUF_EMPTY;
    EXPECT(STUDIO_OK, studio_run(engine, bytes(request), strlen(request), &stream, &err), &err);
    return stream;
}

static studio_stream *echo(void) { return run("{\"workflow\":\"echo\",\"message\":\"one two three\"}"); }

static size_t count(const char *text, const char *part) {
    size_t found = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part)) found++;
    return found;
}

/* The same events come frame by frame, in batches, by descriptor and by callback. */
struct told {
    char text[1 << 16];
    size_t len;
    atomic_int ends, destroyed, reentrant;
    studio_stream *stream;
};

static void keep(struct told *told, const uint8_t *data, size_t len) {
    CHECK(told->len + len < sizeof told->text);
    memcpy(told->text + told->len, data, len);
    told->len += len;
    told->text[told->len] = '\0';
}

static void by_frame(struct told *told) {
    studio_stream *stream = echo();
    studio_buf out = STUDIO_BUF_EMPTY;
    int32_t code;
    while ((code = studio_stream_next(stream, -1, &out)) == STUDIO_OK) {
        CHECK(count((const char *)out.data, "\n\n") == 1);
        keep(told, out.data, out.len);
        studio_buf_free(&out);
    }
    CHECK(code == STUDIO_END && out.data == NULL);
    CHECK(studio_stream_next(stream, -1, &out) == STUDIO_END);
    EXPECT(STUDIO_OK, studio_stream_close(stream), NULL);
    EXPECT(STUDIO_CLOSED, studio_stream_next(stream, -1, &out), &out);
    CHECK(holds(&out, "\"closed\""));
    studio_buf_free(&out);
    EXPECT(STUDIO_CLOSED, studio_stream_close(stream), NULL);
}

static void by_batch(struct told *told, size_t max_bytes) {
    studio_stream *stream = echo();
    studio_buf out = STUDIO_BUF_EMPTY;
    int32_t code;
    while ((code = studio_stream_next_batch(stream, -1, max_bytes, &out)) == STUDIO_OK) {
        CHECK(out.len <= max_bytes || count((const char *)out.data, "\n\n") == 1);
        CHECK(memcmp(out.data + out.len - 2, "\n\n", 2) == 0);
        keep(told, out.data, out.len);
        studio_buf_free(&out);
    }
    CHECK(code == STUDIO_END);
    EXPECT(STUDIO_OK, studio_stream_close(stream), NULL);
}

static void by_descriptor(struct told *told) {
    studio_stream *stream = echo();
    struct pollfd watched = {studio_stream_fd(stream), POLLIN, 0};
    CHECK(watched.fd >= 0);
    for (;;) {
        CHECK(poll(&watched, 1, 10000) == 1);
        studio_buf out = STUDIO_BUF_EMPTY;
        int32_t code = studio_stream_next_batch(stream, 0, 100, &out);
        if (code == STUDIO_END) break;
        if (code == STUDIO_OK) keep(told, out.data, out.len);
        else CHECK(code == STUDIO_TIMEOUT);
        studio_buf_free(&out);
    }
    CHECK(poll(&watched, 1, 0) == 1);
    EXPECT(STUDIO_OK, studio_stream_close(stream), NULL);
}

/* Event loops that know no other way read what they watch; the descriptor is non-blocking, and all is told the same. */
static void by_reading(struct told *told) {
    studio_stream *stream = echo();
    struct pollfd watched = {studio_stream_fd(stream), POLLIN, 0};
    for (int32_t code = STUDIO_TIMEOUT; code != STUDIO_END;) {
        CHECK(poll(&watched, 1, 10000) == 1);
        char rest[64];
        while (read(watched.fd, rest, sizeof rest) > 0) {}
        studio_buf out = STUDIO_BUF_EMPTY;
        code = studio_stream_next_batch(stream, 0, 100, &out);
        if (code == STUDIO_OK) keep(told, out.data, out.len);
        studio_buf_free(&out);
    }
    EXPECT(STUDIO_OK, studio_stream_close(stream), NULL);
}

static int32_t on_event(void *user_data, int32_t code, const uint8_t *data, size_t len) {
    struct told *told = user_data;
    CHECK(atomic_load(&told->ends) == 0 && atomic_load(&told->destroyed) == 0);
    studio_buf out = STUDIO_BUF_EMPTY;
    if (studio_call(engine, "ops", NULL, 0, &out) == STUDIO_REENTRANT) atomic_store(&told->reentrant, 1);
    studio_buf_free(&out);
    if (code == STUDIO_END) {
        CHECK(data == NULL && len == 0);
        atomic_fetch_add(&told->ends, 1);
    } else {
        CHECK(code == STUDIO_OK);
        keep(told, data, len);
    }
    return 0;
}

static void destroy(void *user_data) {
    struct told *told = user_data;
    CHECK(atomic_load(&told->ends) == 1);
    atomic_fetch_add(&told->destroyed, 1);
}

static void wait_for(atomic_int *flag) {
    for (int i = 0; i < 60000 && !atomic_load(flag); i++) usleep(1000);
    CHECK(atomic_load(flag) == 1);
}

static void by_callback(struct told *told) {
    studio_stream *stream = echo();
    EXPECT(STUDIO_OK, studio_stream_on_event(stream, on_event, told, destroy), NULL);
    EXPECT(STUDIO_BUSY, studio_stream_on_event(stream, on_event, told, destroy), NULL);
    studio_buf out = STUDIO_BUF_EMPTY;
    EXPECT(STUDIO_BUSY, studio_stream_next(stream, 0, &out), &out);
    studio_buf_free(&out);
    wait_for(&told->destroyed);
    CHECK(atomic_load(&told->reentrant) == 1);
    EXPECT(STUDIO_OK, studio_stream_close(stream), NULL);
}

/* Ids and events without the ids of runs and times, which differ from run to run. */
static void outline(const struct told *told, char *into) {
    char *copy = strdup(told->text);
    for (char *line = strtok(copy, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (strncmp(line, "data: ", 6) != 0) into += sprintf(into, "%s\n", line);
    }
    free(copy);
}

static void all_ways_tell_the_same(void) {
    static struct told told[7];
    static char outlines[7][1 << 16];
    by_frame(&told[0]);
    by_batch(&told[1], 1);
    by_batch(&told[2], 300);
    by_batch(&told[3], 1 << 20);
    by_descriptor(&told[4]);
    by_callback(&told[5]);
    by_reading(&told[6]);
    for (int i = 0; i < 7; i++) {
        outline(&told[i], outlines[i]);
        CHECK(strcmp(outlines[0], outlines[i]) == 0);
    }
    CHECK(strncmp(told[0].text, "retry: 2000\n\n", 13) == 0);
    CHECK(count(told[0].text, "event: trace_completed\n") == 1);
    printf("seven ways tell the same %zu events\n", count(told[0].text, "\nevent: "));
}

/* Whoever waits is told when the stream or the engine is closed. */
static void *wait_for_more(void *stream) {
    studio_buf out = STUDIO_BUF_EMPTY;
    int32_t code;
    while ((code = studio_stream_next((studio_stream *)stream, -1, &out)) == STUDIO_OK) studio_buf_free(&out);
    studio_buf_free(&out);
    return (void *)(intptr_t)code;
}

static void *wait_for_call(void *unused) {
    (void)unused;
    studio_buf out = STUDIO_BUF_EMPTY;
    int32_t code;
    /* While the engine is closed it still says which calls it has given up. */
    while ((code = studio_host_next(engine, -1, &out)) == STUDIO_OK) {
        CHECK(holds(&out, "\"op\":\"tool.cancel\""));
        studio_buf_free(&out);
    }
    studio_buf_free(&out);
    return (void *)(intptr_t)code;
}

static int32_t ended(pthread_t thread) {
    void *code = NULL;
    pthread_join(thread, &code);
    return (int32_t)(intptr_t)code;
}

static void save_ask(void) {
    call_ok(engine, "workflow.save", "{\"slug\":\"ask\",\"name\":\"Ask\",\"graph\":{\"version\":1,\"nodes\":["
        "{\"id\":\"start\",\"type\":\"start\",\"position\":{\"x\":0,\"y\":0},\"data\":{}},"
        "{\"id\":\"tool\",\"type\":\"tool\",\"position\":{\"x\":0,\"y\":0},\"data\":{\"tool_ref\":\"host:never\",\"parameters\":{},\"output_key\":\"x\"}},"
        "{\"id\":\"stop\",\"type\":\"stop\",\"position\":{\"x\":0,\"y\":0},\"data\":{}}],"
        "\"edges\":[{\"id\":\"e1\",\"source\":\"start\",\"target\":\"tool\",\"sourceHandle\":\"default\",\"targetHandle\":\"default\"},"
        "{\"id\":\"e2\",\"source\":\"tool\",\"target\":\"stop\",\"sourceHandle\":\"default\",\"targetHandle\":\"default\"}]}}");
}

static void closing_tells_those_who_wait(void) {
    studio_stream *one = run("{\"workflow\":\"ask\",\"message\":\"x\"}");
    studio_stream *two = run("{\"workflow\":\"ask\",\"message\":\"x\"}");
    pthread_t first, second, third;
    pthread_create(&first, NULL, wait_for_more, one);
    pthread_create(&second, NULL, wait_for_more, two);
    usleep(200 * 1000);
    studio_buf out = STUDIO_BUF_EMPTY;
    /* On a busy machine the other thread may not wait yet; what is read here instead is missed by nobody. */
    int32_t busy = STUDIO_OK;
    for (int i = 0; i < 6000 && busy != STUDIO_BUSY; i++) {
        if (i > 0) usleep(10 * 1000);
        busy = studio_stream_next(one, 0, &out);
        studio_buf_free(&out);
    }
    CHECK(busy == STUDIO_BUSY);
    EXPECT(STUDIO_OK, studio_stream_close(one), NULL);
    CHECK(ended(first) == STUDIO_CLOSED);
    /* The two tools were asked and nobody fetched them; then somebody waits for a third. */
    for (int i = 0; i < 2; i++) {
        EXPECT(STUDIO_OK, studio_host_next(engine, 60000, &out), &out);
        CHECK(holds(&out, "\"op\":\"tool.call\"") && holds(&out, "\"name\":\"never\""));
        studio_buf_free(&out);
    }
    EXPECT(STUDIO_TIMEOUT, studio_host_next(engine, 0, &out), &out);
    pthread_create(&third, NULL, wait_for_call, NULL);
    usleep(100 * 1000);
    EXPECT(STUDIO_OK, studio_engine_close(engine, 5000), NULL);
    CHECK(ended(second) == STUDIO_CLOSED);
    CHECK(ended(third) == STUDIO_CLOSED);
    EXPECT(STUDIO_OK, studio_stream_close(two), NULL);
    printf("closing tells those who wait\n");
}

/* The engine is closed while a callback waits for more: it still hears one end. */
static void shutdown_ends_callbacks(void) {
    engine = open_engine("doors.sqlite");
    static struct told told;
    EXPECT(STUDIO_OK, studio_host_set(engine, TEXT("{\"ops\":[\"tool.call\",\"tool.cancel\"],\"tools\":[{\"name\":\"never\"}]}"), NULL, NULL, NULL), NULL);
    studio_stream *stream = run("{\"workflow\":\"ask\",\"message\":\"x\"}");
    EXPECT(STUDIO_OK, studio_stream_on_event(stream, on_event, &told, destroy), NULL);
    usleep(100 * 1000);
    studio_shutdown(5000);
    CHECK(atomic_load(&told.ends) == 1 && atomic_load(&told.destroyed) == 1);
    printf("shutdown ends callbacks\n");
}

/* A stream may bring the calls itself; it and nobody else gets those of its run, and the run goes on with the answer. */
static void a_stream_brings_its_calls(void) {
    studio_stream *stream = run("{\"workflow\":\"ask\",\"message\":\"x\",\"host_calls\":\"inline\"}");
    studio_buf out = STUDIO_BUF_EMPTY, nothing = STUDIO_BUF_EMPTY;
    int32_t code;
    int calls = 0, completed = 0;
    struct pollfd watched = {studio_stream_fd(stream), POLLIN, 0};
    while ((code = studio_stream_next(stream, 60000, &out)) != STUDIO_END) {
        if (code == STUDIO_HOST_CALL) {
            calls++;
            CHECK(holds(&out, "\"op\":\"tool.call\"") && holds(&out, "\"idempotency_key\""));
            EXPECT(STUDIO_TIMEOUT, studio_host_next(engine, 0, &nothing), &nothing);
            uint64_t id = strtoull(strstr((char *)out.data, "\"call_id\":") + 10, NULL, 10);
            EXPECT(STUDIO_OK, studio_host_complete(engine, id, 2, TEXT("{\"delta\":1}")), NULL);
            EXPECT(STUDIO_INVALID, studio_host_complete(engine, id, 1, TEXT("{\"half\":")), NULL);
            EXPECT(STUDIO_OK, studio_host_complete(engine, id, 1, TEXT("\"an answer\"")), NULL);
            EXPECT(STUDIO_NOT_FOUND, studio_host_complete(engine, id, 1, TEXT("\"another\"")), NULL);
            CHECK(poll(&watched, 1, 60000) == 1);
        } else {
            EXPECT(STUDIO_OK, code, &out);
            if (holds(&out, "event: trace_completed")) completed++;
        }
        studio_buf_free(&out);
    }
    CHECK(calls == 1 && completed == 1);
    EXPECT(STUDIO_OK, studio_stream_close(stream), NULL);
    printf("a stream brings its calls\n");
}

/* Closing such a stream hands the call to whoever fetches. */
static void a_closed_stream_leaves_its_call_to_others(void) {
    studio_stream *stream = run("{\"workflow\":\"ask\",\"message\":\"x\",\"host_calls\":\"inline\"}");
    struct pollfd watched = {studio_stream_fd(stream), POLLIN, 0};
    studio_buf out = STUDIO_BUF_EMPTY;
    CHECK(poll(&watched, 1, 60000) == 1);
    usleep(100 * 1000);
    EXPECT(STUDIO_TIMEOUT, studio_host_next(engine, 0, &out), &out);
    EXPECT(STUDIO_OK, studio_stream_close(stream), NULL);
    EXPECT(STUDIO_OK, studio_host_next(engine, 60000, &out), &out);
    CHECK(holds(&out, "\"name\":\"never\""));
    studio_buf_free(&out);
    printf("a closed stream leaves its call to others\n");
}

/* A run whose reader leaves is cancelled when it was started so, and then the tool's result is no longer wanted. */
static void a_cancelled_call_is_told(void) {
    studio_stream *stream = run("{\"workflow\":\"ask\",\"message\":\"x\",\"on_disconnect\":\"cancel\"}");
    studio_buf out = STUDIO_BUF_EMPTY;
    EXPECT(STUDIO_OK, studio_host_next(engine, 60000, &out), &out);
    char cancels[64];
    snprintf(cancels, sizeof cancels, "\"cancels\":%llu", strtoull(strstr((char *)out.data, "\"call_id\":") + 10, NULL, 10));
    studio_buf_free(&out);
    EXPECT(STUDIO_OK, studio_stream_close(stream), NULL);
    EXPECT(STUDIO_OK, studio_host_next(engine, 60000, &out), &out);
    CHECK(holds(&out, "\"op\":\"tool.cancel\"") && holds(&out, cancels));
    studio_buf_free(&out);
    EXPECT(STUDIO_TIMEOUT, studio_host_next(engine, 100, &out), &out);
    printf("a cancelled call is told\n");
}

static atomic_int lines, log_gone;

static void on_log(void *user_data, const uint8_t *line, size_t len) {
    CHECK(user_data == &lines && len > 2 && line[0] == '{' && line[len - 1] == '}');
    CHECK(strstr((const char *)line, "\"level\":") != NULL);
    atomic_fetch_add(&lines, 1);
}

static void log_over(void *user_data) {
    CHECK(user_data == &lines);
    atomic_fetch_add(&log_gone, 1);
}

/* The log's callback is let go once; afterwards it is not called. */
static void the_log_is_let_go(void) {
    EXPECT(STUDIO_OK, studio_log_set(on_log, &lines, log_over), NULL);
    studio_stream_close(echo());
    EXPECT(STUDIO_OK, studio_log_set(on_log, &lines, log_over), NULL);
    CHECK(atomic_load(&log_gone) == 1);
    EXPECT(STUDIO_OK, studio_log_set(NULL, NULL, NULL), NULL);
    CHECK(atomic_load(&log_gone) == 2);
    printf("the log is let go\n");
}

int main(void) {
    engine = open_engine("doors.sqlite");
    EXPECT(STUDIO_OK, studio_host_set(engine, TEXT("{\"ops\":[\"tool.call\",\"tool.cancel\"],\"tools\":[{\"name\":\"never\"}]}"), NULL, NULL, NULL), NULL);
    call_ok(engine, "workflow.save", ECHO_WORKFLOW);
    save_ask();
    all_ways_tell_the_same();
    a_stream_brings_its_calls();
    a_closed_stream_leaves_its_call_to_others();
    a_cancelled_call_is_told();
    the_log_is_let_go();
    closing_tells_those_who_wait();
    shutdown_ends_callbacks();
    return 0;
}
