/* SPDX-License-Identifier: MIT */
/* What was measured of a run at one step, as the store keeps it: a JSON object of names and numbers, in the names'
 * order, {"dev.loss":0.25,"train.rate":null}. A number has the digits that read back to it, and null is one that is not
 * finite. */
#ifndef LAB_EVALUATION_TEXT_H
#define LAB_EVALUATION_TEXT_H

#include "io/json.h"
#include "train/store/store.h"

#include <sqlite3.h>

/* Sorts the values; of several of one name the last stays. NULL: out of memory. cJSON_free() */
char *lab_evaluation_write(lab_measured *values, size_t count);

/* A text that somebody may have written otherwise, as long as it is such an object of at most LAB_MOST_MEASURED names.
 * SQLITE_OK, SQLITE_NOMEM, or SQLITE_CORRUPT for a text that is none; only after the first there is a *tree for
 * cJSON_Delete(), in which names lie. */
int lab_evaluation_read(const char *text, cJSON **tree);
/* Of a member of that tree. */
double lab_evaluation_value(const cJSON *member);

/* One value of a text. SQLITE_ROW, SQLITE_DONE where none has that name, or what reading says. */
int lab_evaluation_find(const char *text, const char *name, double *value);

/* Gives a connection two functions. The aggregate evaluation(name, value) writes such a text; is_evaluation(text) is 1,
 * or ends the statement with SQLITE_MISMATCH for what is none. SQLite's result code. */
int lab_evaluation_define(sqlite3 *database);

#endif
