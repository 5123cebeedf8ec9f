/* SPDX-License-Identifier: MIT */
/* Finished runs as a JSON file: everything that the store knows of them, so that what was computed from them can be
 * computed again elsewhere. Checkpoints are not in it.
 *
 *   {"format": "locus-runs", "version": 1,
 *    "table": {…},                                  what the runs are for; only of files that `reproduce` wrote
 *    "runs": [{"name", "task", "encoding", "setup", "embedding_init", "budget", "command", "version", "machine",
 *              "message", "started", "ended": texts as in lab_run,
 *              "seed", "data_seed", "steps_total", "steps_done", "tokens_seen", "peak_bytes", "parameters": integers,
 *              "wall_seconds", "tokens_per_second": numbers,
 *              "note", "parent": texts, of runs that have them,
 *              "config": {…},                       the whole configuration, as recorded (config.h)
 *              "scores": {"test": {"accuracy": 0.99, …}, …},
 *              "curves": {"dev.loss": {"steps": [100, …], "values": [1.5, …]}, …}}, …]}
 *
 * Numbers are written so that they read back to the same double; one that is not finite is null. Runs stand in the
 * order in which they are given, scores and curves in that of their names: the same runs give the same bytes. */
#ifndef LAB_RUN_FILE_H
#define LAB_RUN_FILE_H

#include "train/store/store.h"

struct cJSON;

#define LAB_RUN_FILE_VERSION 1
#define LAB_RUN_FILE_MOST_BYTES (64u << 20)

/* Writes those of `runs` that are done, whole or not at all. `table` may be NULL. ARGUMENT for a run that the format
 * cannot hold. */
locus_status lab_run_file_write(lab_store *store, const lab_run *runs, size_t count, const struct cJSON *table,
                                const char *path, locus_error *error);

typedef struct lab_run_file_content {
    size_t added, known; /* runs that are new in the store; that it had already, the same */
    struct cJSON *table; /* cJSON_Delete(); NULL: there is none */
} lab_run_file_content;

/* Takes the runs of a file, or of its text, into the store: all or, after a failure, none. They are marked as imported.
 * IO with the place for a file that is no such one; ARGUMENT if the store has another run of the same name. `path`
 * names the file in messages. */
locus_status lab_run_file_read(lab_store *store, const char *path, lab_run_file_content *content, locus_error *error);
locus_status lab_run_file_take(lab_store *store, const char *text, size_t bytes, const char *path,
                               lab_run_file_content *content, locus_error *error);

#endif
