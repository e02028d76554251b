/* Owns proof that a process may fork while queries and streams are under way: children are told, may open an engine of their own,
 * and the parent goes on. */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static studio_engine *engine;
static studio_engine *untouched;
static studio_stream *waiting;
static atomic_int over;
static atomic_ulong queries, streams, watches;

static void *query(void *unused) {
    while (!atomic_load(&over)) {
        call_ok(engine, "trace.list", "{\"limit\":5}");
        atomic_fetch_add(&queries, 1);
    }
    return unused;
}

/* Watches the descriptor and reads what was begun, while the process forks. */
static void *watch(void *unused) {
    int fd = studio_engine_fd(engine);
    CHECK(fd >= 0);
    while (!atomic_load(&over)) {
        studio_stream *one = NULL;
        studio_buf out = STUDIO_BUF_EMPTY;
        EXPECT(STUDIO_OK, studio_start(engine, "ops", NULL, 0, NULL, 0, &one, &out), &out);
        int ended = 0;
        while (!ended) {
            struct pollfd watched = {fd, POLLIN, 0};
            CHECK(poll(&watched, 1, 20000) == 1);
            char rest[8];
            while (read(fd, rest, sizeof rest) > 0) {}
            uint64_t news[64];
            size_t count;
            while (studio_ready(engine, 0, news, 64, &count) == STUDIO_OK) {}
            int32_t code;
            while ((code = studio_stream_next(one, 0, &out)) == STUDIO_HEAD) studio_buf_free(&out);
            ended = code == STUDIO_END;
            CHECK(ended || code == STUDIO_TIMEOUT);
        }
        EXPECT(STUDIO_OK, studio_stream_close(one), NULL);
        atomic_fetch_add(&watches, 1);
    }
    close(fd);
    return unused;
}

static void run_echo(studio_engine *on, int times) {
    for (int i = 0; i < times; i++) {
        studio_stream *one = NULL;
        studio_buf out = STUDIO_BUF_EMPTY;
        EXPECT(STUDIO_OK, studio_run(on, TEXT("{\"workflow\":\"echo\",\"message\":\"one of many\"}"), &one, &out), &out);
        int32_t code;
        while ((code = studio_stream_next_batch(one, 20000, 0, &out)) == STUDIO_OK) studio_buf_free(&out);
        EXPECT(STUDIO_END, code, &out);
        EXPECT(STUDIO_OK, studio_stream_close(one), NULL);
    }
}

static void *stream(void *unused) {
    while (!atomic_load(&over)) {
        run_echo(engine, 1);
        atomic_fetch_add(&streams, 1);
    }
    return unused;
}

/* The parent's handles are of no use here, and an engine of one's own is. */
static void child(int number) {
    alarm(120);
    studio_buf out = STUDIO_BUF_EMPTY;
    EXPECT(STUDIO_FORKED, studio_call(engine, "ops", NULL, 0, &out), &out);
    studio_buf_free(&out);
    EXPECT(STUDIO_FORKED, studio_stream_next(waiting, 0, &out), &out);
    studio_buf_free(&out);
    EXPECT(STUDIO_FORKED, studio_stream_close(waiting), NULL);
    uint64_t news[4];
    size_t count;
    studio_stream *begun = NULL;
    EXPECT(STUDIO_FORKED, studio_start(engine, "ops", NULL, 0, NULL, 0, &begun, &out), &out);
    studio_buf_free(&out);
    EXPECT(STUDIO_FORKED, studio_ready(engine, -1, news, 4, &count), NULL);
    EXPECT(STUDIO_FORKED, studio_engine_fd(engine), NULL);
    EXPECT(STUDIO_FORKED, studio_engine_close(engine, 0), NULL);
    /* Opened before the fork and never used: it works here. */
    if (number % 2 == 0) {
        EXPECT(STUDIO_OK, studio_start(untouched, "trace.list", NULL, 0, NULL, 0, &begun, &out), &out);
        EXPECT(STUDIO_OK, studio_ready(untouched, 20000, news, 4, &count), NULL);
        CHECK(count == 1 && news[0] == (uint64_t)(uintptr_t)begun);
        EXPECT(STUDIO_HEAD, studio_stream_next(begun, 20000, &out), &out);
        studio_buf_free(&out);
    }
    char path[64];
    snprintf(path, sizeof path, "child-%d.sqlite", number);
    studio_engine *own = open_engine(path);
    call_ok(own, "workflow.save", ECHO_WORKFLOW);
    studio_stream *one = NULL;
    EXPECT(STUDIO_OK, studio_run(own, TEXT("{\"workflow\":\"echo\",\"message\":\"from the child\"}"), &one, &out), &out);
    int32_t code;
    while ((code = studio_stream_next_batch(one, 10000, 0, &out)) == STUDIO_OK) studio_buf_free(&out);
    EXPECT(STUDIO_END, code, &out);
    studio_shutdown(5000);
    char other[80];
    const char *const ends[] = {"", "-wal", "-shm"};
    for (int i = 0; i < 3; i++) {
        snprintf(other, sizeof other, "%s%s", path, ends[i]);
        unlink(other);
    }
    _exit(0);
}

enum { SIBLINGS = 4, RUNS = 150 };

static void wait_for(pid_t pid) {
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
}

/* Children that use one engine which their parent opened are owners of their own: none draws the ids of another, and one that ends
 * leaves the runs of the others alone. */
static void siblings(void) {
    pid_t first = fork();
    CHECK(first >= 0);
    if (first == 0) {
        call_ok(open_engine("siblings.sqlite"), "workflow.save", ECHO_WORKFLOW);
        studio_shutdown(5000);
        _exit(0);
    }
    wait_for(first);
    studio_engine *shared = open_engine("siblings.sqlite");
    pid_t children[SIBLINGS];
    for (int i = 0; i < SIBLINGS; i++) {
        children[i] = fork();
        CHECK(children[i] >= 0);
        if (children[i] == 0) {
            alarm(120);
            run_echo(shared, RUNS - i * 20);
            studio_shutdown(5000);
            _exit(0);
        }
    }
    for (int i = 0; i < SIBLINGS; i++) wait_for(children[i]);
    EXPECT(STUDIO_OK, studio_engine_close(shared, 5000), NULL);
}

int main(int argc, char **argv) {
    int forks = argc > 1 ? atoi(argv[1]) : 200;
    siblings();
    untouched = open_engine("untouched.sqlite");
    engine = open_engine("fork.sqlite");
    call_ok(engine, "workflow.save", ECHO_WORKFLOW);
    studio_buf out = STUDIO_BUF_EMPTY;
    EXPECT(STUDIO_OK, studio_run(engine, TEXT("{\"workflow\":\"echo\",\"message\":\"waits\"}"), &waiting, &out), &out);
    pthread_t threads[5];
    for (int i = 0; i < 5; i++) pthread_create(&threads[i], NULL, i < 2 ? query : i < 4 ? stream : watch, NULL);
    for (int i = 0; i < forks; i++) {
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) child(i);
        int status = 0;
        CHECK(waitpid(pid, &status, 0) == pid);
        if (status != 0) {
            fprintf(stderr, "child %d ended with %x\n", i, status);
            return 1;
        }
    }
    atomic_store(&over, 1);
    for (int i = 0; i < 5; i++) pthread_join(threads[i], NULL);
    call_ok(engine, "health", "{}");
    printf("%d forks beside %lu queries, %lu streams and %lu that were watched\n", forks, atomic_load(&queries), atomic_load(&streams), atomic_load(&watches));
    studio_shutdown(5000);
    return 0;
}
