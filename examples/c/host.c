/* A web server in C with the whole studio mounted by one catch-all: every request goes through `studio_http`.
 *
 *   host <port> <database> */
#include <arpa/inet.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>

#include "wfstudio.h"
#include "text.h"

static studio_engine *engine;

static enum MHD_Result add_pair(void *into, enum MHD_ValueKind kind, const char *name, const char *value) {
    (void)kind;
    struct text *head = into;
    text_put(head, head->chars[head->len - 1] == '[' ? "[" : ",[");
    text_put_string(head, name, strlen(name));
    text_put(head, ",");
    text_put_string(head, value == NULL ? "" : value, value == NULL ? 0 : strlen(value));
    text_put(head, "]");
    return MHD_YES;
}

/* One request while its body arrives. `target` is as the client sent it: the server would decode it otherwise. */
struct request {
    struct text target, body;
    int too_large;
};

/* What is kept of a body; the studio's own limits are below it. */
static const size_t most_body = (size_t)64 << 20;

static void *arrived(void *unused, const char *uri, struct MHD_Connection *connection) {
    (void)unused, (void)connection;
    struct request *request = calloc(1, sizeof *request);
    if (request != NULL) text_put(&request->target, uri);
    return request;
}

static void done(void *unused, struct MHD_Connection *connection, void **state, enum MHD_RequestTerminationCode how) {
    (void)unused, (void)connection, (void)how;
    struct request *request = *state;
    if (request == NULL) return;
    text_free(&request->target);
    text_free(&request->body);
    free(request);
}

/* What may not stand in a request line is escaped: some clients send bytes that are no text. */
static void put_escaped(struct text *head, const char *chars, size_t len) {
    struct text escaped = {0};
    text_put(&escaped, "");
    for (size_t i = 0; i < len; i++) {
        unsigned char one = (unsigned char)chars[i];
        char byte[4];
        snprintf(byte, sizeof byte, one > ' ' && one < 127 && strchr("\"<>\\^`{|}", one) == NULL ? "%c" : "%%%02X", one);
        text_put(&escaped, byte);
    }
    text_put_string(head, escaped.chars, escaped.len);
    text_free(&escaped);
}

static void head_of(struct text *head, struct MHD_Connection *connection, const char *method, const struct text *target) {
    size_t path = strcspn(target->chars, "?");
    text_put(head, "{\"method\":");
    text_put_string(head, method, strlen(method));
    text_put(head, ",\"path\":");
    put_escaped(head, target->chars, path);
    if (target->chars[path] == '?') {
        text_put(head, ",\"query\":");
        put_escaped(head, target->chars + path + 1, target->len - path - 1);
    }
    text_put(head, ",\"headers\":[");
    MHD_get_connection_values(connection, MHD_HEADER_KIND, add_pair, head);
    text_put(head, "]}");
}

/* A body that still comes: what is left of the batch before, and the stream. */
struct body {
    studio_stream *stream;
    studio_buf batch;
    size_t sent;
};

static ssize_t more(void *state, uint64_t position, char *into, size_t room) {
    (void)position;
    struct body *body = state;
    if (body->sent == body->batch.len) {
        studio_buf_free(&body->batch);
        body->sent = 0;
        int32_t code = studio_stream_next_batch(body->stream, -1, room, &body->batch);
        if (code == STUDIO_END) return MHD_CONTENT_READER_END_OF_STREAM;
        if (code != STUDIO_OK) return MHD_CONTENT_READER_END_WITH_ERROR;
    }
    size_t left = body->batch.len - body->sent;
    if (left > room) left = room;
    memcpy(into, body->batch.data + body->sent, left);
    body->sent += left;
    return (ssize_t)left;
}

static void body_done(void *state) {
    struct body *body = state;
    studio_stream_close(body->stream);
    studio_buf_free(&body->batch);
    free(body);
}

static ssize_t no_body(void *state, uint64_t position, char *into, size_t room) {
    (void)state, (void)position, (void)into, (void)room;
    return MHD_CONTENT_READER_END_WITH_ERROR;
}

/* Undoes the escapes of a JSON string in place; the library escapes only what it must, so \u is a control character. */
static size_t unescape(char *chars, const char *from, const char *to) {
    size_t len = 0;
    for (const char *at = from; at < to; at++) {
        if (*at != '\\') {
            chars[len++] = *at;
            continue;
        }
        static const char codes[] = "b\bf\fn\nr\rt\t";
        at++;
        const char *found = strchr(codes, *at);
        if (*at == 'u') {
            char digits[5] = {at[1], at[2], at[3], at[4], '\0'};
            chars[len++] = (char)strtol(digits, NULL, 16);
            at += 4;
        } else {
            chars[len++] = found != NULL && *at != '\0' ? found[1] : *at;
        }
    }
    return len;
}

/* The end of the JSON string that begins behind `from`. */
static char *string_end(char *from) {
    while (*from != '"' && *from != '\0') from += *from == '\\' && from[1] != '\0' ? 2 : 1;
    return from;
}

/* `{"status":…,"headers":[["name","value"],…],"body":"…"}`: the order of the members is fixed. */
static struct MHD_Response *response_of(char *head, studio_stream *stream, int alone, unsigned *status) {
    char *at = strstr(head, "\"status\":"), *headers = strstr(head, "\"headers\":[");
    *status = at != NULL ? (unsigned)atoi(at + 9) : 500;
    struct MHD_Response *response;
    char *length = strstr(head, "[\"content-length\",\"");
    char *pairs = headers + strlen("\"headers\":["), *last = pairs;
    while (*last == '[' || *last == ',') {
        char *name = strchr(last, '"') + 1, *name_end = string_end(name);
        char *value = name_end + 3, *value_end = string_end(value);
        last = value_end + 2;
    }
    char *text = strncmp(last, "],\"body\":\"", 10) == 0 ? last + 10 : NULL;
    if (stream != NULL) {
        struct body *body = calloc(1, sizeof *body);
        body->stream = stream;
        response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 16 * 1024, more, body, body_done);
    } else if (alone && length != NULL) {
        /* The head of GET tells the length of a body that is not sent. */
        response = MHD_create_response_from_callback(strtoull(length + strlen("[\"content-length\",\""), NULL, 10), 1, no_body, NULL, NULL);
    } else {
        size_t len = text != NULL ? unescape(text, text, string_end(text)) : 0;
        response = MHD_create_response_from_buffer(len, text != NULL ? text : head, MHD_RESPMEM_MUST_COPY);
    }
    for (at = pairs; at < last; ) {
        char *name = strchr(at, '"') + 1, *name_end = string_end(name);
        char *value = name_end + 3, *value_end = string_end(value);
        at = value_end + 2;
        name[unescape(name, name, name_end)] = '\0';
        value[unescape(value, value, value_end)] = '\0';
        /* The server itself tells the length. */
        if (strcmp(name, "content-length") != 0) MHD_add_response_header(response, name, value);
    }
    return response;
}

static enum MHD_Result answer(void *unused, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *part, size_t *part_len, void **state) {
    (void)unused, (void)url, (void)version;
    struct request *request = *state;
    if (request == NULL) return MHD_NO;
    if (*part_len > 0) {
        request->too_large |= *part_len > most_body - request->body.len;
        if (!request->too_large) text_add(&request->body, part, *part_len);
        *part_len = 0;
        return MHD_YES;
    }
    if (request->body.chars == NULL) {
        /* The first call has only the headers; the last has no part. */
        text_put(&request->body, "");
        return MHD_YES;
    }
    if (request->too_large) {
        struct MHD_Response *refusal = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
        enum MHD_Result refused = MHD_queue_response(connection, 413, refusal);
        MHD_destroy_response(refusal);
        return refused;
    }
    struct text head = {0};
    head_of(&head, connection, method, &request->target);
    studio_stream *stream = NULL;
    studio_buf out = STUDIO_BUF_EMPTY;
    int32_t code = studio_http(engine, (uint8_t *)head.chars, head.len, (uint8_t *)request->body.chars, request->body.len, &stream, &out);
    text_free(&head);
    unsigned status = 500;
    struct MHD_Response *response =
        code == STUDIO_OK ? response_of((char *)out.data, stream, strcmp(method, "HEAD") == 0, &status)
                          : MHD_create_response_from_buffer(out.len, out.data, MHD_RESPMEM_MUST_COPY);
    studio_buf_free(&out);
    enum MHD_Result queued = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return queued;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: host <port> <database>\n");
        return 2;
    }
    struct text config = {0};
    text_put(&config, "{\"environment\":\"local\",\"async_runs_enabled\":true,\"database\":{\"path\":");
    text_put_string(&config, argv[2], strlen(argv[2]));
    text_put(&config, "}}");
    studio_buf err = STUDIO_BUF_EMPTY;
    if (studio_engine_open((uint8_t *)config.chars, config.len, &engine, &err) != STUDIO_OK) {
        fprintf(stderr, "%s\n", (char *)err.data);
        return 1;
    }
    text_free(&config);
    sigset_t end;
    sigemptyset(&end);
    sigaddset(&end, SIGINT);
    sigaddset(&end, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &end, NULL);
    /* Only for this machine: nobody is asked who they are. */
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1]))};
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    struct MHD_Daemon *server = MHD_start_daemon(
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD, 0, NULL, NULL, answer, NULL, MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&here,
        MHD_OPTION_URI_LOG_CALLBACK, arrived, NULL, MHD_OPTION_NOTIFY_COMPLETED, done, NULL, MHD_OPTION_END);
    if (server == NULL) return 1;
    printf("open http://127.0.0.1:%s/studio\n", argv[1]);
    fflush(stdout);
    int signal = 0;
    sigwait(&end, &signal);
    /* First the engine: its streams end, so that no connection waits for more. */
    studio_engine_close(engine, 10000);
    MHD_stop_daemon(server);
    return 0;
}
