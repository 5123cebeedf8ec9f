/* SPDX-License-Identifier: MIT */
/* cJSON takes its memory through these two functions, which remember what failed. */
#include "io/json.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local size_t losses;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *take(size_t bytes) {
    void *block = malloc(bytes);
    losses += block == NULL;
    return block;
}

static void install(void) {
    cJSON_Hooks hooks = {.malloc_fn = take, .free_fn = free};
    cJSON_InitHooks(&hooks);
}

size_t lab_json_losses(void) {
    pthread_once(&once, install);
    return losses;
}

cJSON *lab_json_parse(const char *text, size_t bytes, bool whole, const char **end, bool *out_of_memory) {
    const size_t before = lab_json_losses();
    cJSON *root = cJSON_ParseWithLengthOpts(text, bytes, end, whole);
    *out_of_memory = losses != before;
    return root;
}

static bool is_blank(const char *text, const char *end) {
    while (text < end && (*text == ' ' || *text == '\t' || *text == '\r' || *text == '\n'))
        text++;
    return text == end;
}

/* A character 0, which would end a text of C; behind an even number of backslashes. */
static bool has_zero(const char *text, const char *end) {
    for (; text < end; text++) {
        if (*text == '\\') {
            if (end - text >= 6 && memcmp(text + 1, "u0000", 5) == 0)
                return true;
            text++;
        }
    }
    return false;
}

const char *lab_json_line(cJSON **root, const char *line, size_t bytes, bool *out_of_memory) {
    const char *end = NULL;
    *root = lab_json_parse(line, bytes, false, &end, out_of_memory);
    return !cJSON_IsObject(*root)         ? "this is no JSON object"
           : !is_blank(end, line + bytes) ? "something stands behind the JSON object"
           : has_zero(line, line + bytes) ? "there is a zero byte (\\u0000) in it: this is no text"
                                          : NULL;
}

cJSON *lab_json_put(cJSON *in, const char *name, cJSON *item) {
    const cJSON_bool put = name != NULL ? cJSON_AddItemToObject(in, name, item) : cJSON_AddItemToArray(in, item);
    if (put)
        return item;
    cJSON_Delete(item);
    return NULL;
}
