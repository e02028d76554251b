/* A whole conversation through the header alone: a workflow is saved and run, its events are streamed, the refund that it wants
 * to make is approved, the host's tool makes it, and the trace says what it cost.
 *
 *   session <folder with refund.json …> <database> */
#include <inttypes.h>

#include "wfstudio.h"
#include "text.h"

static studio_engine *engine;

static void must(int32_t code, const char *what, studio_buf *problem) {
    if (code == STUDIO_OK) return;
    fprintf(stderr, "%s: %" PRId32 " %s\n", what, code, problem->data != NULL ? (char *)problem->data : "");
    exit(1);
}

/* The host's side of `issue_refund`. A real host would hand the call to a thread of its own; this one answers at once. */
static int32_t answer(void *user_data, const uint8_t *call, size_t len) {
    (void)len;
    const char *json = (const char *)call;
    char id[32], op[32], order[64];
    if (!member(json, "op", op, sizeof op) || !member(json, "call_id", id, sizeof id)) return 1;
    if (strcmp(op, "tool.call") != 0) return 0;
    if (!member(json, "order_id", order, sizeof order)) return 1;
    char result[128];
    snprintf(result, sizeof result, "{\"order_id\":\"%s\",\"refunded\":true}", order);
    *(int *)user_data += 1;
    return studio_host_complete(engine, strtoull(id, NULL, 10), 1, (const uint8_t *)result, strlen(result));
}

/* Prints events as they come, and keeps the ids of the run and of its open pause. */
static void follow(studio_stream *stream, char *run, char *pause) {
    studio_buf out = STUDIO_BUF_EMPTY;
    int32_t code;
    *pause = '\0';
    while ((code = studio_stream_next(stream, 30000, &out)) == STUDIO_OK) {
        char event[64] = "";
        const char *at = strstr((char *)out.data, "event: ");
        if (at != NULL) sscanf(at, "event: %63s", event);
        member((char *)out.data, "trace_id", run, 64);
        if (strcmp(event, "tool_approval_required") == 0) member((char *)out.data, "pause_id", pause, 64);
        if (*event != '\0') printf("  %s\n", event);
        studio_buf_free(&out);
    }
    if (code != STUDIO_END) must(code, "next", &out);
    must(studio_stream_close(stream), "close", &out);
}

static void start(const char *folder, const char *database) {
    char path[1024];
    snprintf(path, sizeof path, "%s/refund.config.json", folder);
    struct text config = text_of_file(path);
    config.len = (size_t)(strrchr(config.chars, '}') - config.chars);
    text_put(&config, ",\"database\":{\"path\":");
    text_put_string(&config, database, strlen(database));
    text_put(&config, "}}");
    studio_buf out = STUDIO_BUF_EMPTY;
    must(studio_engine_open((uint8_t *)config.chars, config.len, &engine, &out), "open", &out);
    text_free(&config);
}

static void declare(const char *folder, int *refunds) {
    char path[1024];
    studio_buf out = STUDIO_BUF_EMPTY;
    snprintf(path, sizeof path, "%s/refund.host.json", folder);
    struct text host = text_of_file(path);
    must(studio_host_set(engine, (uint8_t *)host.chars, host.len, answer, refunds, NULL), "host", &out);
    text_free(&host);
    snprintf(path, sizeof path, "%s/refund.json", folder);
    struct text workflow = text_of_file(path);
    must(studio_call(engine, "workflow.save", (uint8_t *)workflow.chars, workflow.len, &out), "save", &out);
    studio_buf_free(&out);
    text_free(&workflow);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: session <examples folder> <database>\n");
        return 2;
    }
    int refunds = 0;
    char run[64] = "", pause[64] = "", request[256], tokens[32], cost[32];
    studio_buf out = STUDIO_BUF_EMPTY;
    studio_stream *stream = NULL;
    start(argv[1], argv[2]);
    declare(argv[1], &refunds);

    const char *question = "{\"workflow\":\"refund\",\"message\":\"Please refund order A-100\",\"tenant\":\"\"}";
    printf("run\n");
    must(studio_run(engine, (const uint8_t *)question, strlen(question), &stream, &out), "run", &out);
    follow(stream, run, pause);
    if (*pause == '\0' || refunds != 0) return 1;

    snprintf(request, sizeof request, "{\"trace_id\":\"%s\",\"pause_id\":\"%s\",\"approval\":\"approve\"}", run, pause);
    printf("approve\n");
    must(studio_resume(engine, (uint8_t *)request, strlen(request), &stream, &out), "resume", &out);
    follow(stream, run, pause);
    if (*pause != '\0' || refunds != 1) return 1;

    snprintf(request, sizeof request, "{\"trace_id\":\"%s\"}", run);
    must(studio_trace(engine, (uint8_t *)request, strlen(request), &out), "trace", &out);
    if (!member((char *)out.data, "total_tokens", tokens, sizeof tokens)) return 1;
    if (!member((char *)out.data, "estimated_cost", cost, sizeof cost)) return 1;
    printf("used %s tokens for %s\n", tokens, cost);
    studio_buf_free(&out);

    snprintf(request, sizeof request, "{\"run\":\"%s\"}", run);
    must(studio_usage(engine, (uint8_t *)request, strlen(request), &out), "usage", &out);
    char metered[32], price[32];
    if (!member((char *)out.data, "total_tokens", metered, sizeof metered) || strcmp(metered, tokens) != 0) return 1;
    if (!member((char *)out.data, "estimated_cost", price, sizeof price) || strcmp(price, cost) != 0) return 1;
    printf("metered %s tokens for %s\n", metered, price);
    studio_buf_free(&out);
    must(studio_engine_close(engine, 10000), "close", &out);
    return 0;
}
