/* Owns what the C test programs share: failing loudly, opening an engine, calling it. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wfstudio.h"

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);       \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

#define TEXT(literal) ((const uint8_t *)(literal)), (sizeof(literal) - 1)

static inline const uint8_t *bytes(const char *text) { return (const uint8_t *)text; }

static inline int holds(const studio_buf *buffer, const char *part) {
    return buffer->data != NULL && strstr((const char *)buffer->data, part) != NULL;
}

static inline void expect_code(int line, const char *what, int32_t code, int32_t wanted, studio_buf *problem) {
    if (code != wanted) {
        fprintf(stderr, "line %d: %s gave %d, not %d: %s\n", line, what, code, wanted,
                problem != NULL && problem->data != NULL ? (const char *)problem->data : "");
        exit(1);
    }
}
#define EXPECT(wanted, call, problem) expect_code(__LINE__, #call, (call), (wanted), (problem))

/* Where a database is: the file of that name, or a schema of that name on the server that tests run on. */
static inline void database(char *out, size_t size, const char *path) {
    const char *server = getenv("STUDIO_TEST_DATABASE_URL");
    if (server == NULL) {
        snprintf(out, size, "{\"path\":\"%s\"}", path);
        return;
    }
    char name[64];
    snprintf(name, sizeof name, "%s", path);
    for (char *at = name; *at != 0; at++)
        if (*at == '-' || *at == '.') *at = '_';
    snprintf(out, size, "{\"url\":\"%s&options=-c%%20search_path%%3D%s\"}", server, name);
}

/* An engine of its own database. */
static inline studio_engine *open_engine(const char *path) {
    char config[1024], place[768];
    database(place, sizeof place, path);
    snprintf(config, sizeof config,
             "{\"environment\":\"local\",\"database\":%s,\"default_provider\":\"script\","
             "\"default_model\":\"echo\",\"async_runs_enabled\":true}", place);
    studio_engine *engine = NULL;
    studio_buf err = STUDIO_BUF_EMPTY;
    EXPECT(STUDIO_OK, studio_engine_open(bytes(config), strlen(config), &engine, &err), &err);
    CHECK(engine != NULL && err.data == NULL);
    return engine;
}

static inline void call_ok(studio_engine *engine, const char *op, const char *request) {
    studio_buf out = STUDIO_BUF_EMPTY;
    EXPECT(STUDIO_OK, studio_call(engine, op, bytes(request), strlen(request), &out), &out);
    studio_buf_free(&out);
}

#define ECHO_WORKFLOW                                                                                        \
    "{\"slug\":\"echo\",\"name\":\"Echo\",\"graph\":{\"version\":1,\"nodes\":["                               \
    "{\"id\":\"start\",\"type\":\"start\",\"position\":{\"x\":0,\"y\":0},\"data\":{}},"                        \
    "{\"id\":\"llm\",\"type\":\"llm\",\"position\":{\"x\":100,\"y\":0},\"data\":{\"provider\":\"script\","      \
    "\"model\":\"echo\",\"prompt\":\"{{input}}\",\"output_key\":\"said\",\"stream\":true}},"                      \
    "{\"id\":\"stop\",\"type\":\"stop\",\"position\":{\"x\":200,\"y\":0},\"data\":{\"reply\":\"{{said}}\"}}],"  \
    "\"edges\":[{\"id\":\"e1\",\"source\":\"start\",\"target\":\"llm\",\"sourceHandle\":\"default\","          \
    "\"targetHandle\":\"default\"},{\"id\":\"e2\",\"source\":\"llm\",\"target\":\"stop\","                     \
    "\"sourceHandle\":\"default\",\"targetHandle\":\"default\"}]}}"

#endif
