/* Owns proof that a process may fork while queries and streams are under way: children are told, may open an engine of their own,
 * and the parent goes on. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static studio_engine *engine;
static studio_engine *untouched;
static studio_stream *waiting;
static atomic_int over;
static atomic_ulong queries, streams;

static void *query(void *unused) {
    while (!atomic_load(&over)) {
        call_ok(engine, "trace.list", "{\"limit\":5}");
        atomic_fetch_add(&queries, 1);
    }
    return unused;
}

static void *stream(void *unused) {
    while (!atomic_load(&over)) {
        studio_stream *one = NULL;
        studio_buf out = STUDIO_BUF_EMPTY;
        EXPECT(STUDIO_OK, studio_run(engine, TEXT("{\"workflow\":\"echo\",\"message\":\"hello there\"}"), &one, &out), &out);
        int32_t code;
        while ((code = studio_stream_next_batch(one, 10000, 0, &out)) == STUDIO_OK) studio_buf_free(&out);
        EXPECT(STUDIO_END, code, &out);
        EXPECT(STUDIO_OK, studio_stream_close(one), NULL);
        atomic_fetch_add(&streams, 1);
    }
    return unused;
}

/* The parent's handles are of no use here, and an engine of one's own is. */
static void child(int number) {
    alarm(30);
    studio_buf out = STUDIO_BUF_EMPTY;
    EXPECT(STUDIO_FORKED, studio_call(engine, "ops", NULL, 0, &out), &out);
    studio_buf_free(&out);
    EXPECT(STUDIO_FORKED, studio_stream_next(waiting, 0, &out), &out);
    studio_buf_free(&out);
    EXPECT(STUDIO_FORKED, studio_stream_close(waiting), NULL);
    EXPECT(STUDIO_FORKED, studio_engine_close(engine, 0), NULL);
    /* Opened before the fork and never used: it works here. */
    if (number % 2 == 0) call_ok(untouched, "trace.list", "{}");
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

int main(int argc, char **argv) {
    int forks = argc > 1 ? atoi(argv[1]) : 200;
    untouched = open_engine("untouched.sqlite");
    engine = open_engine("fork.sqlite");
    call_ok(engine, "workflow.save", ECHO_WORKFLOW);
    studio_buf out = STUDIO_BUF_EMPTY;
    EXPECT(STUDIO_OK, studio_run(engine, TEXT("{\"workflow\":\"echo\",\"message\":\"waits\"}"), &waiting, &out), &out);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, i < 2 ? query : stream, NULL);
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
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    call_ok(engine, "health", "{}");
    printf("%d forks beside %lu queries and %lu streams\n", forks, atomic_load(&queries), atomic_load(&streams));
    studio_shutdown(5000);
    return 0;
}
