/* Owns the little text that the C examples need: growing text, JSON strings, files, and reading one member out of JSON. */
#ifndef TEXT_H
#define TEXT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct text {
    char *chars;
    size_t len, room;
};

static void text_add(struct text *text, const char *chars, size_t len) {
    if (text->len + len + 1 > text->room) {
        text->room = (text->len + len + 1) * 2;
        text->chars = realloc(text->chars, text->room);
        if (text->chars == NULL) abort();
    }
    memcpy(text->chars + text->len, chars, len);
    text->len += len;
    text->chars[text->len] = '\0';
}

static inline void text_put(struct text *text, const char *chars) { text_add(text, chars, strlen(chars)); }

/* A JSON string: quotes, backslashes and control characters are escaped. */
static inline void text_put_string(struct text *text, const char *chars, size_t len) {
    text_put(text, "\"");
    for (size_t i = 0; i < len; i++) {
        unsigned char one = (unsigned char)chars[i];
        char escaped[8];
        if (one == '"' || one == '\\') snprintf(escaped, sizeof escaped, "\\%c", one);
        else if (one < 0x20) snprintf(escaped, sizeof escaped, "\\u%04x", one);
        else snprintf(escaped, sizeof escaped, "%c", one);
        text_put(text, escaped);
    }
    text_put(text, "\"");
}

static inline void text_free(struct text *text) {
    free(text->chars);
    memset(text, 0, sizeof *text);
}

static inline struct text text_of_file(const char *path) {
    struct text text = {0};
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    char part[4096];
    for (size_t got; (got = fread(part, 1, sizeof part, file)) > 0;) text_add(&text, part, got);
    fclose(file);
    return text;
}

/* The string or number of the first member of that name, into `into`; 0 when there is none. Enough for ids and codes. */
static inline int member(const char *json, const char *name, char *into, size_t room) {
    char wanted[64];
    snprintf(wanted, sizeof wanted, "\"%s\":", name);
    const char *at = json == NULL ? NULL : strstr(json, wanted);
    if (at == NULL) return 0;
    at += strlen(wanted);
    at += strspn(at, " \"");
    size_t len = strcspn(at, "\",}]");
    if (len >= room) return 0;
    memcpy(into, at, len);
    into[len] = '\0';
    return 1;
}

#endif
