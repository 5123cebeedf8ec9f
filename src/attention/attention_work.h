/* SPDX-License-Identifier: MIT */
/* How attention is cut into work, and where each part of the workspace lies. Nothing here knows an element type.
 *
 *   item   a run of one sequence: queries (forward) or keys (backward)
 *   group  a run of items with about the same work; task (group, key-value head) is one piece of the parallel loop, and
 *          does all query heads that go with the key-value head; backward, where there are few such tasks, a run of
 *          these heads, and a second loop adds up what the runs have of dk and dv; forward, where the distances of
 *          queries and keys are made as rows are scored, a run of key-value heads, for all of which they are made once
 *
 * Both depend on the plan, the mask, the window and the chunks only, never on threads, so sums come out the same on any
 * number of them. A backward group owns one gradient slot for each query head. A long sequence among few is split over
 * its keys: each part then writes its own partial dL/dq', and a second loop adds the partials up in order.
 *
 * Forward, a sequence of few queries against more keys (a step of decoding) is not among these items: it is cut into
 * parts of its keys, which pass by where they lie (attention_decode_body.h); a second loop joins the parts in order. */
#ifndef LOCUS_ATTENTION_WORK_H
#define LOCUS_ATTENTION_WORK_H

#include "attention/attention_bias.h"
#include "attention/attention_carver.h"
#include "attention/attention_executor.h"
#include "attention/attention_seen.h"
#include "attention/attention_weights.h"
#include "kernels/bfloat16.h"
#include "scores/distance_table.h"
#include "spec/token_rows.h"

/* Tile and cache blocking. A tile of scores and its panels stay in the second cache level. */
enum {
    ATTENTION_QUERY_BLOCK = 64,    /* rows of a score tile */
    ATTENTION_KEY_BLOCK = 128,     /* columns of a score tile; a multiple of 8 (dropout) and of every vector length */
    ATTENTION_KEY_PANEL = 512,     /* keys that are transformed and kept at a time */
    ATTENTION_QUERY_CHUNK = 1024,  /* queries that a forward item keeps while the panels pass by */
    ATTENTION_GROUP_CHUNK = 2048,  /* the same, of all heads of a task together */
    ATTENTION_RUN_HEADS = 4,       /* key-value heads of a task that share distances, at most, */
    ATTENTION_RUN_CHUNK = 256,     /* and their queries at least */
    ATTENTION_STRIP = 16,          /* rows that share one width in a tile that the mask cuts */
    ATTENTION_CONTENT_WIDTH = 256, /* offsets of a tile beyond which content terms go pair by pair */
    ATTENTION_SPLIT_KEYS = 1024,   /* a part of a split sequence has at least so many keys */
    ATTENTION_SPLIT_MAX = 4,       /* parts of a sequence at most: bounds the memory of the partials */
    ATTENTION_HEAD_TASKS = 32,     /* backward: below so many tasks a group's query heads are shared out, too */
    ATTENTION_DECODE_QUERIES = 8,  /* at most so many queries of a sequence are a step of decoding */
    ATTENTION_DECODE_KEYS = 32,    /* against at least so many keys */
    ATTENTION_DECODE_PART = 256,   /* keys of a part; a multiple of ATTENTION_KEY_BLOCK */
    ATTENTION_DECODE_ROW = 1024    /* elements of neighbouring heads that are read together, about */
};

#define ATTENTION_NO_PARTIAL SIZE_MAX

typedef struct attention_item {
    size_t sequence;
    size_t first, count; /* within the sequence */
    size_t partial;      /* row of the partials' buffer (in tokens) where its dL/dq' begins, or ATTENTION_NO_PARTIAL */
    size_t parts;        /* for the first part of a split sequence: how many there are; else 0 */
} attention_item;

typedef struct attention_schedule {
    attention_item *items; /* NULL while only counting */
    size_t *groups;        /* [group_count + 1], first item of each */
    size_t item_count, group_count;
    size_t partial_rows;          /* rows of [heads, dim] in the partials' buffer */
    size_t head_parts;            /* backward: runs of a group's query heads, each a task; divides the group */
    size_t run;                   /* forward: key-value heads of a task; 1 but where heads share distances */
    size_t max_queries, max_keys; /* of one sequence */
    size_t chunk;                 /* forward: queries of an item at most */
    attention_item *parts;        /* of decoding: runs of keys; `partial` and `parts` as above */
    size_t *joins;                /* the first part of each sequence that is decoded */
    size_t part_count, join_count, decode_rows, decode_queries; /* rows of partial results; queries of a sequence */
    size_t decode_heads, decode_head_runs; /* key-value heads of one task, and how many such runs there are */
} attention_schedule;

typedef locus_token_rows attention_view;

/* Byte offsets into one gradient slot, and the slots' size. */
typedef struct attention_slots {
    size_t query_key, value, content_key, content_value;
    size_t sinks; /* one double */
    size_t terms; /* those of the terms follow one another */
    size_t bytes; /* of one slot; 0: nothing is learned, or not wanted */
} attention_slots;

typedef struct attention_job attention_job;

/* Loops in one element type. */
typedef struct attention_softmax_bodies {
    size_t (*scratch)(const attention_job *job); /* bytes of a worker */
    void (*forward)(attention_job *job);
    void (*backward)(attention_job *job);
    void (*bias_gradient)(attention_job *job); /* after the backward, before anything changes what it read */
    void (*weights)(attention_job *job);
} attention_softmax_bodies;

extern const attention_softmax_bodies locus_attention_softmax_float32, locus_attention_softmax_float64;

/* Everything one call works on; read-only while the loop runs. */
struct attention_job {
    const attention_softmax_bodies *bodies;
    const locus_plan *plan;
    size_t heads, kv_heads, group; /* group = heads / kv_heads: query heads of one key-value head */
    size_t head_dim, value_dim, sequences;
    attention_sight sight;
    const locus_operator *query_key, *value_operator;
    const locus_content_table *content;
    const void *content_key, *content_value; /* of the call's element type, or NULL */
    size_t term_count;
    const locus_distances *distances; /* that rows of terms are made of, once for all terms and heads; or NULL */
    bool learned_factor, slots_wanted;
    bool wants_query, wants_key, wants_value; /* backward: dq', dk', dv' are summed up, for the caller or for operators
                                                 that learn from them; who is not given has no data */
    bool wants_scores;                        /* dL/d(scores) are made: for these, or for what is learned */
    bool turned;                              /* operators do not act */
    bool biased;                              /* the options have a bias: */
    bool stores_bias;                         /* its gradient is written as the backward goes by */
    attention_bias bias, g_bias;              /* it, once tensors are taken, and where its gradient is wanted */
    const double *sinks;                      /* [heads], or NULL */
    double scale, cap, content_scale, dropout;
    bool drop_weights, drop_logits;
    locus_random dropout_key;
    locus_dtype dtype;
    locus_dtype kept;   /* of keys and values: dtype, or in a forward a half type that is widened as it is read */
    locus_dtype stored; /* of the other tensors: dtype, or with pairs bfloat16 */
    const locus_kernels_bfloat16 *pairs; /* products are of bfloat16; NULL: of dtype */
    bool gathers; /* backward: several heads add to a row of dk and dv that is bfloat16: they do so in partials */
    locus_pass pass;
    bool rows_follow;            /* keys of a head lie end to end, and its values, once tensors are taken */
    bool weighs;                 /* a forward without values or dropout, whose schedule is not used: */
    attention_choice choice;     /* of weights, once tensors are taken */
    attention_schedule schedule; /* of whose longest sequence weights are made, too */
    attention_slots slots;
    size_t concurrency;
    attention_view query, key, value, output, log_sum_exp;   /* inputs, and the forward's results */
    attention_view g_output, g_query, g_key, g_value;        /* gradients of them */
    attention_view g_given;                                  /* g_output as the caller gave it: D = do·o − dL */
    attention_view g_log_sum_exp;                            /* dL of the log-sum-exp; no data: 0 */
    char *slot_data, *partials, *content_partials, *workers; /* in the workspace */
    char *key_partials, *value_partials; /* [head_parts − 1][key tokens][kv_heads][dim]: dk, dv of runs but the first;
                                            [head_parts][…], of all of them, if it gathers */
    char *content_key_columns, *content_value_columns; /* tables transposed, [dim][rows] */
    char *decode_sums, *decode_tops, *decode_totals;   /* of parts: [rows][heads][value_dim], [rows][heads] */
    size_t worker_bytes;
};

static inline size_t smaller(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Of a tensor of rows, and of one of numbers ([tokens, heads] or [sequences, heads, length]). NULL: an empty view. */
attention_view locus_attention_view_of(const locus_tensor *tensor);
attention_view locus_attention_numbers_of(const locus_tensor *tensor);

/* Fills in everything but views and pointers from the call's plan and options (which may be unchecked: neither their
 * prefix nor their documents are read). */
void locus_attention_job_init(attention_job *job, const attention_call *call);

/* Whether a forward's sequences are all steps of decoding; not said of a plan of limits. */
bool locus_attention_decodes_all(const attention_call *call);

/* Lays the job out from `base` (NULL: counts only, leaves the pointers NULL) and returns the bytes that it takes. */
size_t locus_attention_job_place(attention_job *job, void *base);

/* Into how many runs of heads the forward's tasks fall. */
static inline size_t attention_head_runs(const attention_job *job) {
    return (job->kv_heads + job->schedule.run - 1) / job->schedule.run;
}

/* Folds the slots into the parameters' gradients, in order. */
void locus_attention_reduce(const attention_job *job, const locus_tensor *parameters);

#endif
