/* SPDX-License-Identifier: MIT */
/* The run store: SQLite, write-ahead log. A run is one training of one model with one encoding on one task with one
 * seed. */
#ifndef LAB_STORE_H
#define LAB_STORE_H

#include <locus/status.h>
#include <stdbool.h>

typedef struct lab_store lab_store;

/* Opens or makes the store; IO with a clear line if it is corrupt, of a newer version, or cannot be written. */
locus_status lab_store_open(lab_store **store, const char *path, locus_error *error);
/* A store that is there, to read; one that may not be written, or whose folder may not, is left as it is. One of an
 * earlier version keeps it: runs may be renamed, noted and scored further in it, and none be trained. */
locus_status lab_store_open_reading(lab_store **store, const char *path, locus_error *error);
void lab_store_close(lab_store **store);

typedef enum lab_run_state {
    LAB_RUN_STARTED = 0,
    LAB_RUN_DONE = 1,
    LAB_RUN_STOPPED = 2,
    LAB_RUN_FAILED = 3
} lab_run_state;

/* Everything that identifies and describes a run. Texts are owned by the record (lab_run_free). */
typedef struct lab_run {
    int64_t id;
    char *name; /* unique, readable: copy-rope-s0-… */
    char *task, *encoding, *setup, *embedding_init, *budget;
    char *config;  /* JSON: every option of the training, as given or defaulted; what a resume reads */
    char *command; /* the exact command line */
    char *version; /* of locus, with the commit if known */
    char *machine; /* "AMD EPYC, 2 threads, avx512" */
    char *message; /* why it failed or stopped; "" */
    uint64_t seed, data_seed;
    lab_run_state state;
    uint64_t steps_total, steps_done, tokens_seen;
    double wall_seconds, tokens_per_second;
    int64_t peak_bytes, parameters;
    char *started, *ended; /* ISO 8601 UTC */
    char *note;            /* what somebody wrote about it, ""; only read here: lab_store_run_note */
    char *parent;          /* the run that it goes on from, as that was called, ""; likewise: lab_store_run_parent */
    bool imported; /* came without a checkpoint (run_file.h, store_merge.h). Read only: lab_store_run_imported */
} lab_run;
void lab_run_free(lab_run *run);
void lab_runs_free(lab_run *runs, size_t count); /* all of a list, and the list */

locus_status lab_store_run_insert(lab_store *store, lab_run *run, locus_error *error); /* sets id */
locus_status lab_store_run_update(lab_store *store, const lab_run *run, locus_error *error);
locus_status lab_store_run_find(lab_store *store, const char *name_or_id, lab_run *run, locus_error *error);
/* The run of exactly this name; its own is NULL if there is none. */
locus_status lab_store_run_named(lab_store *store, const char *name, lab_run *run, locus_error *error);

/* All runs that match (NULL: any), by id. */
typedef struct lab_run_filter {
    const char *task, *encoding, *budget, *setup, *embedding_init;
} lab_run_filter;
locus_status lab_store_runs(lab_store *store, const lab_run_filter *filter, lab_run **runs, size_t *count,
                            locus_error *error);

/* The same for a list, in less time and memory: each run has its id, name, task, encoding, set-up, embedding, budget,
 * seed, state, steps, seconds, peak memory, parent and whether it was imported, and its configuration where `keep` says
 * so of its text; the other texts are NULL. */
locus_status lab_store_runs_listed(lab_store *store, const lab_run_filter *filter,
                                   bool (*keep)(const char *task, const char *config), lab_run **runs, size_t *count,
                                   locus_error *error);

/* Marks a run as one that was trained elsewhere. */
locus_status lab_store_run_imported(lab_store *store, int64_t id, locus_error *error);

/* A note takes the place of the one before; "" removes it. */
locus_status lab_store_run_note(lab_store *store, int64_t id, const char *text, locus_error *error);
/* The name of the run that this one goes on from. */
locus_status lab_store_run_parent(lab_store *store, int64_t id, const char *name, locus_error *error);
/* ARGUMENT if another run has that name. */
locus_status lab_store_run_rename(lab_store *store, int64_t id, const char *name, locus_error *error);

/* Removes a run with its metrics and scores. */
locus_status lab_store_run_delete(lab_store *store, int64_t id, locus_error *error);

/* Metrics by step: name "train.loss", "dev.loss", "dev.accuracy", "train.rate", "train.gradient_norm". */
typedef struct lab_measured {
    const char *name;
    double value;
} lab_measured;
enum { LAB_MOST_MEASURED = 128 }; /* names at a step */
/* What was measured of a run at a step, beside what is known of it; a name that is there gets the new value. */
locus_status lab_store_measured(lab_store *store, int64_t run, uint64_t step, const lab_measured *values, size_t count,
                                locus_error *error);
/* Removes metrics after `step`: a resumed run writes them again. */
locus_status lab_store_metrics_cut(lab_store *store, int64_t run, uint64_t step, locus_error *error);
/* Those of one run, up to `step`, as another's. */
locus_status lab_store_metrics_copy(lab_store *store, int64_t from, int64_t to, uint64_t step, locus_error *error);
/* The curve of one name, by step; free(). */
typedef struct lab_metric {
    uint64_t step;
    double value;
} lab_metric;
locus_status lab_store_metrics(lab_store *store, int64_t run, const char *name, lab_metric **metrics, size_t *count,
                               locus_error *error);
/* The names of a run's metrics, in order; one free gives all back. */
locus_status lab_store_metric_names(lab_store *store, int64_t run, const char ***names, size_t *count,
                                    locus_error *error);

/* Final scores: set "test", "test:200" (another length), "dev"; name "accuracy", "exact", "greedy_exact", "loss",
 * "steps_to_99" … */
typedef struct lab_final {
    const char *set, *name; /* in the block of the list */
    double value;
} lab_final;
locus_status lab_store_final_set(lab_store *store, int64_t run, const char *set, const char *name, double value,
                                 locus_error *error);
/* By set, then name; one free gives all back. */
locus_status lab_store_finals(lab_store *store, int64_t run, lab_final **finals, size_t *count, locus_error *error);

/* All that the store knows of a run, with its final scores, to be shown: cJSON_Delete(). NULL: an error. */
struct cJSON *lab_run_json(lab_store *store, const lab_run *run, locus_error *error);

/* One score of all runs that have it, by run; free(). */
typedef struct lab_run_score {
    int64_t run;
    double value;
} lab_run_score;
locus_status lab_store_scores(lab_store *store, const char *set, const char *name, lab_run_score **scores,
                              size_t *count, locus_error *error);

locus_status lab_store_begin(lab_store *store, locus_error *error); /* group writes */
locus_status lab_store_commit(lab_store *store, locus_error *error);
void lab_store_rollback(lab_store *store); /* after a failure between the two */
/* Whether a commit returns once it is on the disk, as in a store that has just been opened, or once the system has it:
 * a loss of power takes such commits, up to the next one of the other kind, a kill takes none. Outside of groups. */
locus_status lab_store_lasting(lab_store *store, bool lasting, locus_error *error);
/* What comes of a group that fared so: OK is committed, else all is rolled back. */
locus_status lab_store_end(lab_store *store, locus_status status, locus_error *error);

/* "started", "done", "stopped", "failed". */
const char *lab_run_state_name(lab_run_state state);

#endif
