/* Owns proof that no misuse of a function crashes: many engines opened and closed, and a great many random bad calls. */
#include <unistd.h>

#include "check.h"

static uint64_t seed = 0x9e3779b97f4a7c15u;

static uint64_t random_bits(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static uint32_t below(uint32_t most) { return (uint32_t)(random_bits() % most); }

#define KNOWN 8
static void *handles[KNOWN];
static studio_engine *engine;

/* NULL, a number, a closed handle, a handle of either kind, the address of something. */
static void *any_handle(void) {
    switch (below(6)) {
    case 0: return NULL;
    case 1: return (void *)(uintptr_t)random_bits();
    case 2: return (void *)(uintptr_t)((uintptr_t)engine ^ ((uintptr_t)1 << below(53)));
    case 3: return &seed;
    case 4: return engine;
    default: return handles[below(KNOWN)];
    }
}

static const char *const texts[] = {
    "", "{", "{}", "[]", "null", "\"x\"", "{\"workflow\":", "{\"workflow\":7}", "{\"agent\":\"a\",\"workflow\":\"b\"}",
    "{\"workflow\":\"none\",\"message\":\"hi\"}", "\xff\xfe{}", "{\"trace_id\":\"\xc3\"}", "{\"trace_id\":\"nope\"}",
    "{\"method\":\"GET\",\"path\":\"/studio/api/settings\",\"gate\":true}", "{\"method\":\"G T\",\"path\":\"/\"}",
    "{\"method\":\"GET\",\"path\":\"//../%00\"}", "{\"ops\":[\"gate\"]}", "{\"ops\":[1]}", "{\"tools\":{}}",
    "{\"headers\":[[1,2]],\"method\":\"GET\",\"path\":\"/\"}", "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
};
static const char *const names[] = {"ops", "http", "run", "resume", "about", "trace.get", "trace.list", "graph.validate", "no.such", "", "\xff", "run.cancel"};
#define COUNT(list) (sizeof(list) / sizeof(*(list)))

static const uint8_t *text;
static size_t len;

static void any_text(void) {
    const char *chosen = texts[below(COUNT(texts))];
    text = bytes(chosen);
    len = strlen(chosen);
    switch (below(8)) {
    case 0: text = NULL; break;
    case 1: len = (size_t)1 << (40 + below(20)); break;
    case 2: if (len > 0) len = below((uint32_t)len); break;
    default: break;
    }
}

static const char *any_name(void) { return below(9) == 0 ? NULL : names[below(COUNT(names))]; }

static int32_t told(void *user_data, int32_t code, const uint8_t *data, size_t size) {
    (void)user_data, (void)code, (void)data, (void)size;
    return 0;
}

static int32_t one_call(studio_buf *out, studio_stream **stream, studio_engine **other) {
    void *handle = any_handle();
    any_text();
    uint64_t news[4];
    size_t count = 0;
    int fd;
    switch (below(21)) {
    case 0: return studio_engine_open(text, len, below(9) ? other : NULL, out);
    case 1: return studio_engine_shared(any_name(), text, len, below(9) ? other : NULL, out);
    case 2: return handle == engine ? 0 : studio_engine_close(handle, below(3));
    case 3: return studio_call(handle, any_name(), text, len, out);
    case 4: return studio_run(handle, text, len, below(9) ? stream : NULL, out);
    case 5: return studio_resume(handle, text, len, below(9) ? stream : NULL, out);
    case 6: return studio_trace(handle, text, len, out);
    case 7: return studio_usage(handle, text, len, out);
    case 8: return studio_http(handle, text, len, text, len, below(9) ? stream : NULL, out);
    case 9: return studio_stream_next(handle, (int32_t)below(2), out);
    case 10: return studio_stream_next_batch(handle, 0, random_bits(), out);
    case 11: return studio_stream_fd(handle);
    case 12: return studio_stream_on_event(handle, below(2) ? told : NULL, handle, NULL);
    case 13: return studio_stream_cancel(handle);
    case 14: return studio_stream_close(handle);
    case 15: return studio_host_set(handle, text, len, NULL, NULL, NULL);
    case 16: return studio_host_next(handle, 0, out);
    case 17: return studio_start(handle, any_name(), text, len, below(3) ? NULL : text, len, below(9) ? stream : NULL, out);
    case 18: return studio_ready(handle, (int32_t)below(2), below(9) ? news : NULL, below(5), below(9) ? &count : NULL);
    case 19:
        fd = studio_engine_fd(handle);
        if (fd >= 0) close(fd);
        return fd;
    default: return studio_host_complete(handle, random_bits() >> below(64), (int32_t)below(5) - 1, text, len);
    }
}

static void bad_calls(unsigned long many) {
    unsigned long seen[32] = {0};
    for (unsigned long i = 0; i < many; i++) {
        studio_buf out = STUDIO_BUF_EMPTY;
        studio_stream *stream = NULL;
        studio_engine *other = NULL;
        int32_t code = one_call(below(9) ? &out : NULL, &stream, &other);
        CHECK(code >= STUDIO_BUSY);
        CHECK(code != STUDIO_PANIC);
        CHECK(code != STUDIO_FORKED);
        CHECK(code < 0 || other == NULL || studio_engine_close(other, 0) <= 0);
        if (code < 0) seen[-code]++;
        if (stream != NULL) {
            uint32_t at = below(KNOWN);
            if (handles[at] != NULL) studio_stream_close(handles[at]);
            handles[at] = stream;
        }
        studio_buf_free(&out);
        studio_buf_free(&out);
    }
    CHECK(seen[-STUDIO_INVALID] > 0 && seen[-STUDIO_BAD_HANDLE] > 0);
    printf("%lu bad calls: %lu invalid, %lu bad handles, %lu closed, %lu not found\n", many, seen[-STUDIO_INVALID],
           seen[-STUDIO_BAD_HANDLE], seen[-STUDIO_CLOSED], seen[-STUDIO_NOT_FOUND]);
}

static void open_and_close(unsigned long many) {
    for (unsigned long i = 0; i < many; i++) {
        studio_engine *one = open_engine("misuse.sqlite");
        CHECK(studio_engine_close(one, 1000) == STUDIO_OK);
        CHECK(studio_engine_close(one, 1000) == STUDIO_CLOSED);
    }
    printf("%lu engines opened and closed\n", many);
}

int main(int argc, char **argv) {
    unsigned long engines = argc > 1 ? strtoul(argv[1], NULL, 10) : 10000;
    unsigned long calls = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000000;
    open_and_close(engines);
    engine = open_engine("misuse.sqlite");
    bad_calls(calls);
    studio_buf out = STUDIO_BUF_EMPTY;
    EXPECT(STUDIO_OK, studio_call(engine, "ops", NULL, 0, &out), &out);
    studio_buf_free(&out);
    studio_shutdown(5000);
    EXPECT(STUDIO_CLOSED, studio_call(engine, "ops", NULL, 0, &out), &out);
    studio_buf_free(&out);
    return 0;
}
