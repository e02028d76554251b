/* Owns proof for hosts that never wait: many streams with one waiter and one descriptor, no news lost whatever the order, requests
 * given up before their head, calls answered before the head on the one thread there is, a descriptor that its owner reads and closes. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

#define ROOM 256
#define SETTINGS "{\"method\":\"GET\",\"path\":\"/studio/api/settings\",\"headers\":[]}"
#define PROVIDERS_INLINE "{\"method\":\"GET\",\"path\":\"/studio/api/providers\",\"headers\":[],\"host_calls\":\"inline\"}"
#define PAYING_WORKFLOW                                                                                                \
    "{\"slug\":\"pays\",\"name\":\"Pays\",\"graph\":{\"version\":1,\"nodes\":["                                        \
    "{\"id\":\"start\",\"type\":\"start\",\"position\":{\"x\":0,\"y\":0},\"data\":{}},"                                \
    "{\"id\":\"pay\",\"type\":\"tool\",\"position\":{\"x\":100,\"y\":0},\"data\":{\"tool_ref\":\"host:pay\"}},"          \
    "{\"id\":\"stop\",\"type\":\"stop\",\"position\":{\"x\":200,\"y\":0},\"data\":{\"reply\":\"\"}}],"                  \
    "\"edges\":[{\"id\":\"e1\",\"source\":\"start\",\"target\":\"pay\",\"sourceHandle\":\"default\","                  \
    "\"targetHandle\":\"default\"},{\"id\":\"e2\",\"source\":\"pay\",\"target\":\"stop\","                              \
    "\"sourceHandle\":\"default\",\"targetHandle\":\"default\"}]}}"

static studio_engine *engine;
static uint64_t seed = 0x9e3779b97f4a7c15u;

static uint64_t random_bits(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static uint32_t below(uint32_t most) { return (uint32_t)(random_bits() % most); }

static studio_stream *start(const char *op, const char *request) {
    studio_stream *stream = NULL;
    studio_buf err = STUDIO_BUF_EMPTY;
    EXPECT(STUDIO_OK, studio_start(engine, op, bytes(request), strlen(request), NULL, 0, &stream, &err), &err);
    CHECK(stream != NULL);
    return stream;
}

static int readable(int fd, int wait) {
    struct pollfd watched = {fd, POLLIN, 0};
    return poll(&watched, 1, wait) == 1;
}

static void drain(int fd) {
    char rest[16];
    while (read(fd, rest, sizeof rest) > 0) {}
}

static int streams_of(const char *text, const char *part) {
    int found = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part)) found++;
    return found;
}

/* What came of a stream so far. */
struct seen {
    int heads, ends, failed, closed;
    size_t len;
};

/* Reads until nothing is there; a head comes once, before everything else, and nothing after the end. */
static void pull(studio_stream *stream, struct seen *seen, size_t most) {
    for (;;) {
        studio_buf out = STUDIO_BUF_EMPTY;
        int32_t code = studio_stream_next_batch(stream, 0, most, &out);
        if (code == STUDIO_TIMEOUT) return;
        if (code == STUDIO_END) {
            CHECK(seen->heads == 1 || seen->failed == 1);
            seen->ends = 1;
            return;
        }
        if (code == STUDIO_HEAD) {
            CHECK(seen->heads == 0 && seen->len == 0 && out.len > 0);
            seen->heads++;
        } else if (code == STUDIO_OK) {
            CHECK(seen->heads == 1 && out.len > 0);
            seen->len += out.len;
        } else {
            CHECK(code < 0 && code != STUDIO_PANIC && code != STUDIO_INTERNAL);
            seen->failed = 1;
            /* Nothing else comes of a body that was cancelled. */
            seen->ends |= code == STUDIO_CANCELLED;
        }
        studio_buf_free(&out);
        if (seen->ends) return;
    }
}

/* Many at once, of every kind, by one waiter that watches one descriptor. */
#define MANY 10000
static uint64_t handles[MANY];
static struct seen many[MANY];

static struct seen *seen_of(uint64_t handle) {
    for (int i = 0; i < MANY; i++)
        if (handles[i] == handle) return &many[i];
    return NULL;
}

static const struct {
    const char *op, *request;
} kinds[] = {
    {"ops", "{}"}, {"http", SETTINGS}, {"trace.list", "{\"limit\":1}"}, {"run", "{\"workflow\":\"echo\",\"message\":\"one two\"}"}, {"run", "{\"workflow\":\"none\"}"},
};

static void one_waiter(int total, int watch) {
    int fd = studio_engine_fd(engine), started = 0, over = 0, quiet = 0, runs = 0;
    CHECK(fd >= 0);
    memset(handles, 0, sizeof handles);
    memset(many, 0, sizeof many);
    while (over < total) {
        while (started < total && started - over < 2000) {
            int kind = started % 20 < 3 ? 3 + (started % 2) : started % 3;
            runs += kind == 3;
            handles[started] = (uint64_t)(uintptr_t)start(kinds[kind].op, kinds[kind].request);
            started++;
        }
        if (watch) {
            CHECK(readable(fd, 20000));
            if (watch == 2) drain(fd);
        }
        uint64_t news[ROOM];
        size_t count = 7;
        int32_t code = studio_ready(engine, watch ? 0 : 20000, news, 1 + below(ROOM), &count);
        CHECK(code == STUDIO_OK || (watch && code == STUDIO_TIMEOUT && count == 0));
        quiet = code == STUDIO_TIMEOUT ? quiet + 1 : 0;
        CHECK(quiet < 1000);
        for (size_t i = 0; i < count; i++) {
            struct seen *seen = seen_of(news[i]);
            CHECK(seen != NULL && !seen->ends);
            pull((studio_stream *)(uintptr_t)news[i], seen, 0);
            if (seen->ends) {
                over++;
                EXPECT(STUDIO_OK, studio_stream_close((studio_stream *)(uintptr_t)news[i]), NULL);
            }
        }
    }
    uint64_t news[ROOM];
    size_t count = 7;
    CHECK(studio_ready(engine, 0, news, ROOM, &count) == STUDIO_TIMEOUT && count == 0);
    CHECK(!readable(fd, 0));
    close(fd);
    printf("%d streams, %d of them runs, by one waiter%s\n", total, runs, watch == 2 ? " that reads its descriptor" : watch ? " that watches its descriptor" : "");
}

/* Threads open, read a little, cancel and close at random beside the waiter; whatever is left open is told to its end. */
#define SLOTS 64
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot {
    studio_stream *stream;
    struct seen seen;
} slots[SLOTS];
static atomic_int opening, opened, closed, told;

static void *opens(void *data) {
    uint64_t own = 88172645463325252u + (uintptr_t)data;
    for (int i = 0; i < 1500; i++) {
        own ^= own << 13, own ^= own >> 7, own ^= own << 17;
        pthread_mutex_lock(&lock);
        struct slot *slot = &slots[own % SLOTS];
        if (slot->stream == NULL) {
            int kind = (int)((own >> 20) % 5);
            memset(&slot->seen, 0, sizeof slot->seen);
            slot->stream = start(kinds[kind].op, kinds[kind].request);
            atomic_fetch_add(&opened, 1);
        } else if ((own >> 40) % 3 == 0) {
            if ((own >> 50) % 2) studio_stream_cancel(slot->stream);
            if ((own >> 51) % 2) pull(slot->stream, &slot->seen, 1);
            EXPECT(STUDIO_OK, studio_stream_close(slot->stream), NULL);
            slot->stream = NULL;
            atomic_fetch_add(&closed, 1);
        }
        pthread_mutex_unlock(&lock);
        if ((own >> 30) % 4 == 0) usleep((useconds_t)((own >> 33) % 200));
    }
    atomic_fetch_sub(&opening, 1);
    return NULL;
}

static int open_slots(void) {
    int open = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < SLOTS; i++) open += slots[i].stream != NULL;
    pthread_mutex_unlock(&lock);
    return open;
}

static void random_orders(void) {
    pthread_t threads[4];
    atomic_store(&opening, 4);
    for (uintptr_t i = 0; i < 4; i++) pthread_create(&threads[i], NULL, opens, (void *)(i * 7919));
    int silent = 0;
    while (atomic_load(&opening) > 0 || open_slots() > 0) {
        uint64_t news[8];
        size_t count;
        int32_t code = studio_ready(engine, 500, news, 1 + below(8), &count);
        silent = code == STUDIO_TIMEOUT ? silent + 1 : 0;
        CHECK(silent < 40);
        for (size_t i = 0; i < count; i++) {
            pthread_mutex_lock(&lock);
            for (int at = 0; at < SLOTS; at++) {
                struct slot *slot = &slots[at];
                if ((uint64_t)(uintptr_t)slot->stream != news[i] || news[i] == 0) continue;
                pull(slot->stream, &slot->seen, 1 + below(200));
                if (!slot->seen.ends) continue;
                EXPECT(STUDIO_OK, studio_stream_close(slot->stream), NULL);
                slot->stream = NULL;
                atomic_fetch_add(&told, 1);
            }
            pthread_mutex_unlock(&lock);
        }
    }
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    CHECK(atomic_load(&opened) == atomic_load(&closed) + atomic_load(&told));
    printf("%d streams in random orders: %d read to the end, %d closed before\n", atomic_load(&opened), atomic_load(&told), atomic_load(&closed));
}

static void declare(const char *declaration) {
    EXPECT(STUDIO_OK, studio_host_set(engine, bytes(declaration), strlen(declaration), NULL, NULL, NULL), NULL);
}

static uint64_t call_id(const studio_buf *call) {
    const char *at = strstr((const char *)call->data, "\"call_id\":");
    CHECK(at != NULL);
    return strtoull(at + strlen("\"call_id\":"), NULL, 10);
}

static void complete(const studio_buf *call, const char *answer) {
    EXPECT(STUDIO_OK, studio_host_complete(engine, call_id(call), 1, bytes(answer), strlen(answer)), NULL);
}

static int told_now(uint64_t wanted) {
    uint64_t news[ROOM];
    size_t count;
    int found = 0;
    while (studio_ready(engine, 0, news, ROOM, &count) == STUDIO_OK)
        for (size_t i = 0; i < count; i++) found += news[i] == wanted;
    return found;
}

/* The call of a request that is given up is given up too, and a request that nobody began a run for leaves none. */
static void closed_before_the_head(void) {
    declare("{\"ops\":[\"gate\"]}");
    studio_buf out = STUDIO_BUF_EMPTY;
    studio_stream *stream = start("http", SETTINGS);
    uint64_t news[4];
    size_t count;
    EXPECT(STUDIO_OK, studio_ready(engine, 60000, news, 4, &count), NULL);
    CHECK(count == 1 && news[0] == 0);
    EXPECT(STUDIO_OK, studio_host_next(engine, 0, &out), &out);
    CHECK(holds(&out, "\"gate\""));
    EXPECT(STUDIO_OK, studio_stream_close(stream), NULL);
    int32_t code = STUDIO_OK;
    for (int i = 0; i < 60000 && code == STUDIO_OK; i++) {
        usleep(1000);
        code = studio_host_complete(engine, call_id(&out), 2, TEXT("{}"));
    }
    EXPECT(STUDIO_NOT_FOUND, code, NULL);
    studio_buf_free(&out);
    /* One that nobody has fetched is not fetched any more; nothing tells when it is given up. */
    stream = start("http", SETTINGS);
    EXPECT(STUDIO_OK, studio_ready(engine, 60000, news, 4, &count), NULL);
    EXPECT(STUDIO_OK, studio_stream_close(stream), NULL);
    usleep(1000000);
    EXPECT(STUDIO_TIMEOUT, studio_host_next(engine, 0, &out), &out);
    /* Cancelled before the head. */
    stream = start("http", SETTINGS);
    EXPECT(STUDIO_OK, studio_stream_cancel(stream), NULL);
    EXPECT(STUDIO_CANCELLED, studio_stream_next(stream, -1, &out), &out);
    studio_buf_free(&out);
    EXPECT(STUDIO_OK, studio_stream_close(stream), NULL);
    usleep(1000000);
    EXPECT(STUDIO_TIMEOUT, studio_host_next(engine, 0, &out), &out);
    declare("{\"ops\":[\"tool.call\"],\"tools\":[{\"name\":\"pay\"}]}");
    /* A run that is to end with its reader does, however early the reader leaves. */
    for (int i = 0; i < 60; i++) {
        stream = start("run", "{\"workflow\":\"pays\",\"message\":\"hi\",\"on_disconnect\":\"cancel\"}");
        if (i % 3 == 1) usleep(below(3000));
        if (i % 3 == 2) {
            EXPECT(STUDIO_HEAD, studio_stream_next(stream, -1, &out), &out);
            studio_buf_free(&out);
        }
        EXPECT(STUDIO_OK, studio_stream_close(stream), NULL);
    }
    const char *alive = "{\"status\":[\"running\",\"queued\"],\"limit\":100}";
    for (int i = 0; i < 6000; i++) {
        EXPECT(STUDIO_OK, studio_call(engine, "trace.list", bytes(alive), strlen(alive), &out), &out);
        int left = streams_of((const char *)out.data, "\"trace_id\"");
        studio_buf_free(&out);
        if (left == 0) break;
        CHECK(i < 5999);
        usleep(10000);
    }
    while (studio_host_next(engine, 0, &out) == STUDIO_OK) studio_buf_free(&out);
    declare("{\"ops\":[]}");
    told_now(0);
    puts("requests are given up before their head");
}

/* One thread, no callback: gate, secret and tool are answered before the head, by a stream that brings its calls. */
static void one_thread(void) {
    declare("{\"ops\":[\"gate\",\"secret.get\",\"tool.call\"],\"tools\":[{\"name\":\"pay\"}]}");
    studio_stream *stream = start("http", PROVIDERS_INLINE);
    int gates = 0, secrets = 0, heads = 0, over = 0;
    while (!over) {
        studio_buf out = STUDIO_BUF_EMPTY;
        int32_t code = studio_stream_next(stream, 60000, &out);
        if (code == STUDIO_HOST_CALL && holds(&out, "\"op\":\"gate\"")) gates++, complete(&out, "{\"allow\":true}");
        else if (code == STUDIO_HOST_CALL) secrets += heads == 0 && holds(&out, "secret.get"), complete(&out, "{\"value\":\"s\"}");
        else if (code == STUDIO_HEAD) heads += holds(&out, "\"status\":200") && !holds(&out, "\"body\"");
        else if (code == STUDIO_END) over = 1;
        else EXPECT(STUDIO_OK, code, &out);
        studio_buf_free(&out);
    }
    CHECK(gates == 1 && secrets >= 1 && heads == 1);
    EXPECT(STUDIO_OK, studio_stream_close(stream), NULL);
    /* The calls of its run come to it alone once the run is known, and to `studio_host_next` never. */
    stream = start("run", "{\"workflow\":\"pays\",\"message\":\"hi\",\"host_calls\":\"inline\"}");
    int tools = 0;
    heads = over = 0;
    while (!over) {
        studio_buf out = STUDIO_BUF_EMPTY;
        int32_t code = studio_stream_next(stream, 60000, &out);
        if (code == STUDIO_HOST_CALL) tools += holds(&out, "tool.call"), complete(&out, holds(&out, "tool.call") ? "\"paid\"" : "{\"value\":\"s\"}");
        else if (code == STUDIO_HEAD) heads += holds(&out, "{\"trace_id\":\"");
        else if (code == STUDIO_END) over = 1;
        else EXPECT(STUDIO_OK, code, &out);
        studio_buf_free(&out);
    }
    CHECK(tools == 1 && heads == 1);
    EXPECT(STUDIO_OK, studio_stream_close(stream), NULL);
    declare("{\"ops\":[]}");
    told_now(0);
    puts("gate, secret and tool are answered on one thread");
}

/* Its owner may read, drain, shut down and close it: the news are told all the same. */
static void a_descriptor_is_its_owners(void) {
    int fds[3];
    for (int i = 0; i < 3; i++) CHECK((fds[i] = studio_engine_fd(engine)) >= 0 && !readable(fds[i], 0));
    studio_stream *streams[5];
    for (int i = 0; i < 5; i++) streams[i] = start("ops", "{}");
    for (int i = 0; i < 3; i++) CHECK(readable(fds[i], 10000));
    /* All five are ready. */
    usleep(1000000);
    uint64_t news[8];
    size_t count;
    int left = 5;
    while (left > 0) {
        CHECK(readable(fds[0], 10000));
        drain(fds[0]);
        CHECK(!readable(fds[0], 0));
        EXPECT(STUDIO_OK, studio_ready(engine, 0, news, 1, &count), NULL);
        left--;
    }
    CHECK(!readable(fds[0], 0));
    for (int i = 0; i < 5; i++) {
        struct seen seen = {0, 0, 0, 0, 0};
        while (!seen.ends) pull(streams[i], &seen, 0);
        EXPECT(STUDIO_OK, studio_stream_close(streams[i]), NULL);
    }
    for (int i = 0; i < 3; i++) close(fds[i]);
    /* Closed: another one takes its place. Shut down: no signal, and another one too. */
    for (int how = 0; how < 3; how++) {
        int fd = studio_engine_fd(engine);
        CHECK(fd >= 0);
        if (how == 1) CHECK(shutdown(fd, SHUT_WR) == 0);
        if (how == 2) CHECK(shutdown(fd, SHUT_RDWR) == 0);
        studio_stream *stream = start("ops", "{}");
        uint64_t own = 0;
        while (own == 0) {
            EXPECT(STUDIO_OK, studio_ready(engine, 60000, news, 8, &count), NULL);
            own = news[0];
        }
        CHECK(own == (uint64_t)(uintptr_t)stream);
        EXPECT(STUDIO_OK, studio_stream_close(stream), NULL);
        close(fd);
    }
    int fd = studio_engine_fd(engine);
    studio_stream *stream = start("ops", "{}");
    CHECK(readable(fd, 10000));
    EXPECT(STUDIO_OK, studio_stream_close(stream), NULL);
    CHECK(!readable(fd, 0));
    close(fd);
    puts("descriptors are their owner's");
}

/* A stream of the functions that wait is told too; one that a thread waits for is told once. */
static void streams_that_were_opened_otherwise(void) {
    studio_stream *stream = NULL;
    studio_buf out = STUDIO_BUF_EMPTY;
    EXPECT(STUDIO_OK, studio_run(engine, TEXT("{\"workflow\":\"echo\",\"message\":\"hi\"}"), &stream, &out), &out);
    CHECK(told_now((uint64_t)(uintptr_t)stream) == 1);
    while (studio_stream_next_batch(stream, -1, 0, &out) == STUDIO_OK) studio_buf_free(&out);
    CHECK(told_now((uint64_t)(uintptr_t)stream) == 0);
    EXPECT(STUDIO_OK, studio_stream_close(stream), NULL);
}

/* Inside a callback a request may be begun, and nothing may be waited for. */
static atomic_int called;
static studio_stream *begun;

static int32_t in_callback(void *user_data, const uint8_t *call, size_t len) {
    (void)user_data, (void)call, (void)len;
    uint64_t news[1];
    size_t count;
    CHECK(studio_ready(engine, -1, news, 1, &count) == STUDIO_REENTRANT);
    if (atomic_load(&called) == 0) begun = start("ops", "{}");
    atomic_store(&called, 1);
    return 1;
}

static void inside_callbacks(void) {
    EXPECT(STUDIO_OK, studio_host_set(engine, TEXT("{\"ops\":[\"gate\"]}"), in_callback, NULL, NULL), NULL);
    studio_stream *stream = start("http", SETTINGS);
    studio_buf out = STUDIO_BUF_EMPTY;
    EXPECT(STUDIO_HEAD, studio_stream_next(stream, 60000, &out), &out);
    CHECK(holds(&out, "\"status\":403"));
    studio_buf_free(&out);
    CHECK(atomic_load(&called) == 1);
    EXPECT(STUDIO_HEAD, studio_stream_next(begun, 60000, &out), &out);
    studio_buf_free(&out);
    EXPECT(STUDIO_END, studio_stream_next(begun, 60000, &out), &out);
    EXPECT(STUDIO_OK, studio_stream_close(begun), NULL);
    EXPECT(STUDIO_OK, studio_stream_close(stream), NULL);
    declare("{\"ops\":[]}");
    told_now(0);
}

static void refusals(void) {
    studio_stream *stream = (studio_stream *)&seed;
    studio_buf out = STUDIO_BUF_EMPTY;
    uint64_t news[1];
    size_t count = 9;
    EXPECT(STUDIO_NOT_FOUND, studio_start(engine, "no.such", NULL, 0, NULL, 0, &stream, &out), &out);
    CHECK(stream == NULL && holds(&out, "no.such"));
    studio_buf_free(&out);
    EXPECT(STUDIO_INVALID, studio_start(engine, NULL, NULL, 0, NULL, 0, &stream, NULL), NULL);
    EXPECT(STUDIO_INVALID, studio_start(engine, "ops", TEXT("{"), NULL, 0, &stream, NULL), NULL);
    EXPECT(STUDIO_INVALID, studio_start(engine, "ops", NULL, 0, TEXT("body"), &stream, NULL), NULL);
    EXPECT(STUDIO_INVALID, studio_start(engine, "ops", NULL, 0, NULL, 0, NULL, NULL), NULL);
    EXPECT(STUDIO_INVALID, studio_start(engine, "run", TEXT("{\"host_calls\":\"outside\"}"), NULL, 0, &stream, NULL), NULL);
    EXPECT(STUDIO_BAD_HANDLE, studio_start(NULL, "ops", NULL, 0, NULL, 0, &stream, NULL), NULL);
    EXPECT(STUDIO_INVALID, studio_ready(engine, 0, NULL, 1, &count), NULL);
    EXPECT(STUDIO_INVALID, studio_ready(engine, 0, news, 0, &count), NULL);
    EXPECT(STUDIO_INVALID, studio_ready(engine, 0, news, 1, NULL), NULL);
    EXPECT(STUDIO_BAD_HANDLE, studio_ready(NULL, 0, news, 1, &count), NULL);
    CHECK(count == 0);
    EXPECT(STUDIO_BAD_HANDLE, studio_engine_fd(NULL), NULL);
    /* What is wrong with the request itself comes with the stream: first the problem, then the end. */
    stream = start("http", "{\"method\":\"GET\"}");
    EXPECT(STUDIO_INVALID, studio_stream_next(stream, 60000, &out), &out);
    CHECK(holds(&out, "path"));
    studio_buf_free(&out);
    EXPECT(STUDIO_END, studio_stream_next(stream, 60000, &out), &out);
    EXPECT(STUDIO_OK, studio_stream_close(stream), NULL);
    told_now(0);
}

static void *waits(void *unused) {
    (void)unused;
    uint64_t news[4];
    size_t count;
    int32_t code;
    while ((code = studio_ready(engine, -1, news, 4, &count)) == STUDIO_OK) {}
    CHECK(code == STUDIO_CLOSED && count == 0);
    return NULL;
}

int main(int argc, char **argv) {
    int total = argc > 1 ? atoi(argv[1]) : MANY;
    CHECK(total <= MANY);
    setvbuf(stdout, NULL, _IOLBF, 0);
    alarm(300);
    engine = open_engine("loop.sqlite");
    call_ok(engine, "workflow.save", ECHO_WORKFLOW);
    declare("{\"ops\":[\"tool.call\"],\"tools\":[{\"name\":\"pay\"}]}");
    call_ok(engine, "workflow.save", PAYING_WORKFLOW);
    declare("{\"ops\":[]}");
    told_now(0);
    refusals();
    one_waiter(total / 10, 0);
    one_waiter(total / 10, 1);
    one_waiter(total, 2);
    random_orders();
    told_now(0);
    closed_before_the_head();
    one_thread();
    a_descriptor_is_its_owners();
    streams_that_were_opened_otherwise();
    inside_callbacks();
    pthread_t waiter;
    pthread_create(&waiter, NULL, waits, NULL);
    int fd = studio_engine_fd(engine);
    usleep(50000);
    studio_shutdown(10000);
    pthread_join(waiter, NULL);
    CHECK(readable(fd, 10000));
    close(fd);
    EXPECT(STUDIO_CLOSED, studio_engine_fd(engine), NULL);
    return 0;
}
