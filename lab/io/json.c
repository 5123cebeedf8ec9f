/* SPDX-License-Identifier: MIT */
/* cJSON takes its memory through these two functions, which remember what failed. */
#include "io/json.h"

#include <pthread.h>
#include <stdlib.h>

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

void lab_json_put(cJSON *in, const char *name, cJSON *item) {
    const cJSON_bool put = name != NULL ? cJSON_AddItemToObject(in, name, item) : cJSON_AddItemToArray(in, item);
    if (!put)
        cJSON_Delete(item);
}
