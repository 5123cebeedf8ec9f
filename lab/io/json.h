/* SPDX-License-Identifier: MIT */
/* What cJSON does not tell: whether it failed because memory ran out. */
#ifndef LAB_JSON_H
#define LAB_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

/* Allocations of cJSON that have failed in this thread since it first asked. A tree that was built meanwhile lacks
 * something if the number has grown: cJSON leaves members out and goes on. */
size_t lab_json_losses(void);

/* Puts an item into an object, or into an array where `name` is NULL. It is taken: what cannot be put there, since
 * memory ran out, is freed and counts as lost. Both may be NULL. Returns the item, or NULL where it is gone. */
cJSON *lab_json_put(cJSON *in, const char *name, cJSON *item);

/* As cJSON_ParseWithLengthOpts: reads a value from text[bytes], which need not end with a zero unless `whole` asks for
 * it. `end` (may be NULL) receives where it ended, or where it could not be read. NULL: *out_of_memory says whether the
 * text is to blame. cJSON_Delete() */
cJSON *lab_json_parse(const char *text, size_t bytes, bool whole, const char **end, bool *out_of_memory);

/* A line that is one object: *root to be deleted, also where it is refused. NULL: it is; else what is wrong with it. Of
 * *out_of_memory as above. */
const char *lab_json_line(cJSON **root, const char *line, size_t bytes, bool *out_of_memory);

#endif
