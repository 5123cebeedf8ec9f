/* SPDX-License-Identifier: MIT */
/* Cuts the packed batch into items and groups by shape, and lays the workspace out. */
#include "attention/attention_work.h"

#include <locus/memory.h>
#include <locus/parallel.h>
#include <math.h>
#include <string.h>

/* Work is counted in pairs of a query and a key. A token's own work (operators, copies) is worth about so many. */
static const double TOKEN_COST = 48.0;
/* A forward task below this many pairs costs less than handing it to a thread. */
static const double SMALLEST_TASK = 4096.0;
/* Slots of all heads and groups together stay below this, unless one group for each head is already more. */
static const size_t SLOT_BYTES_MAX = (size_t)64 << 20;

void *locus_attention_carve(attention_carver *carver, size_t count, size_t size) {
    size_t bytes = (count * size + LOCUS_ALIGNMENT - 1) / LOCUS_ALIGNMENT * LOCUS_ALIGNMENT;
    void *block = carver->base ? carver->base + carver->used : NULL;
    carver->used += bytes;
    return block;
}

size_t locus_attention_seen(const attention_job *job, size_t sequence, const locus_sequence_span *span, size_t row) {
    if (job->mask == LOCUS_MASK_FULL)
        return span->key_count;
    size_t last = row + 1 + span->key_count; /* aligned at the ends: the last query sees the last key */
    size_t seen = last > span->query_count ? last - span->query_count : 0;
    if (job->mask == LOCUS_MASK_PREFIX && job->prefix[sequence] > seen)
        seen = job->prefix[sequence];
    return seen < span->key_count ? seen : span->key_count;
}

/* ---- costs: pairs under the mask, the prefix taken as causal ---- */

static double causal_seen(const locus_sequence_span *span, double row) {
    double seen = row + 1.0 + (double)span->key_count - (double)span->query_count;
    return seen < 0.0 ? 0.0 : seen;
}

static double query_run_cost(const attention_job *job, const locus_sequence_span *span, size_t first, size_t count) {
    double keys = (double)span->key_count, rows = (double)count;
    if (job->mask != LOCUS_MASK_FULL)
        keys = 0.5 * (causal_seen(span, (double)first) + causal_seen(span, (double)(first + count) - 1.0));
    return rows * keys + TOKEN_COST * (rows + keys);
}

static double key_run_cost(const attention_job *job, const locus_sequence_span *span, size_t first, size_t count) {
    double rows = (double)span->query_count, keys = (double)count;
    if (job->mask != LOCUS_MASK_FULL) { /* key j is seen by the last key_count − j queries */
        rows = (double)span->key_count - ((double)first + 0.5 * keys);
        rows = rows < (double)span->query_count ? rows : (double)span->query_count;
    }
    return rows * keys + TOKEN_COST * ((double)span->query_count + keys);
}

static double run_cost(const attention_job *job, const locus_sequence_span *span, size_t first, size_t count) {
    return job->pass == LOCUS_PASS_FORWARD ? query_run_cost(job, span, first, count)
                                           : key_run_cost(job, span, first, count);
}

static double total_cost(const attention_job *job) {
    double total = 0.0;
    for (size_t s = 0; s < job->sequences; s++) {
        locus_sequence_span span = locus_plan_span(job->plan, s);
        total += run_cost(job, &span, 0, job->pass == LOCUS_PASS_FORWARD ? span.query_count : span.key_count);
    }
    return total;
}

/* ---- items and groups ---- */

static size_t groups_wanted(const attention_job *job) {
    size_t tasks = job->pass == LOCUS_PASS_FORWARD ? 256 : 64;
    size_t groups = (tasks + job->heads - 1) / job->heads;
    if (job->pass == LOCUS_PASS_BACKWARD)
        while (groups > 1 && groups * job->heads * job->slots.bytes > SLOT_BYTES_MAX)
            groups /= 2;
    return groups;
}

typedef struct builder {
    attention_schedule *schedule;
    double threshold, cost; /* a group is closed when its cost reaches the threshold */
    bool open;
} builder;

static void emit(builder *b, attention_item item, double cost) {
    attention_schedule *schedule = b->schedule;
    if (!b->open) {
        if (schedule->groups)
            schedule->groups[schedule->group_count] = schedule->item_count;
        schedule->group_count++;
        b->open = true;
        b->cost = 0.0;
    }
    if (schedule->items)
        schedule->items[schedule->item_count] = item;
    schedule->item_count++;
    b->cost += cost;
    if (b->cost >= b->threshold)
        b->open = false;
}

static size_t multiple(size_t value, size_t of) {
    return (value + of - 1) / of * of;
}

/* How many keys a part of the sequence gets; all of them where it is not split. */
static size_t part_keys(const attention_job *job, const locus_sequence_span *span, double threshold) {
    /* The output's operator needs the whole of a row's content term: such a sequence stays in one piece. */
    bool whole = job->content_value && job->value_operator && job->slots.bytes > 0;
    double ratio = run_cost(job, span, 0, span->key_count) / threshold;
    size_t parts = ratio < (double)ATTENTION_SPLIT_MAX ? (size_t)ratio : ATTENTION_SPLIT_MAX;
    if (parts > span->key_count / ATTENTION_SPLIT_KEYS)
        parts = span->key_count / ATTENTION_SPLIT_KEYS;
    if (whole || parts < 2)
        return span->key_count;
    return multiple((span->key_count + parts - 1) / parts, ATTENTION_KEY_PANEL);
}

static void emit_forward(const attention_job *job, builder *b, size_t sequence, const locus_sequence_span *span,
                         size_t chunk) {
    for (size_t first = 0; first < span->query_count; first += chunk) {
        size_t left = span->query_count - first;
        attention_item item = {sequence, first, left < chunk ? left : chunk, ATTENTION_NO_PARTIAL, 0};
        emit(b, item, run_cost(job, span, first, item.count));
    }
}

static void emit_backward(const attention_job *job, builder *b, size_t sequence, const locus_sequence_span *span,
                          double threshold) {
    size_t part = part_keys(job, span, threshold);
    size_t parts = part < span->key_count ? (span->key_count + part - 1) / part : 0;
    for (size_t first = 0, index = 0; first < span->key_count || index == 0; first += part, index++) {
        size_t left = span->key_count - first;
        attention_item item = {sequence, first, left < part ? left : part, ATTENTION_NO_PARTIAL,
                               index == 0 ? parts : 0};
        if (parts > 0) {
            item.partial = b->schedule->partial_rows;
            b->schedule->partial_rows += span->query_count;
        }
        emit(b, item, run_cost(job, span, first, item.count));
    }
}

/* With items NULL it counts; run again with room for them, it fills them in. */
static void build(const attention_job *job, attention_schedule *schedule) {
    double total = total_cost(job), threshold = total / (double)groups_wanted(job);
    if (threshold < SMALLEST_TASK)
        threshold = SMALLEST_TASK;
    builder b = {schedule, threshold * 0.999, 0.0, false};
    /* A sequence alone with few heads is cut finer, so that many cores find work; the panels are made again for each
     * cut. */
    size_t chunk = job->sequences * job->heads * 4 > 64 ? ATTENTION_QUERY_CHUNK : ATTENTION_QUERY_CHUNK / 2;
    schedule->item_count = schedule->group_count = schedule->partial_rows = 0;
    schedule->max_queries = schedule->max_keys = 0;
    for (size_t s = 0; s < job->sequences; s++) {
        locus_sequence_span span = locus_plan_span(job->plan, s);
        if (span.query_count > schedule->max_queries)
            schedule->max_queries = span.query_count;
        if (span.key_count > schedule->max_keys)
            schedule->max_keys = span.key_count;
        if (job->pass == LOCUS_PASS_FORWARD)
            emit_forward(job, &b, s, &span, chunk);
        else if (span.query_count > 0 || span.key_count > 0)
            emit_backward(job, &b, s, &span, threshold);
    }
    if (schedule->groups)
        schedule->groups[schedule->group_count] = schedule->item_count;
}

/* ---- slots ---- */

static size_t slot_part(attention_carver *carver, size_t bytes) {
    size_t offset = carver->used;
    locus_attention_carve(carver, bytes, 1);
    return offset;
}

static void place_slots(attention_job *job) {
    attention_carver carver = {NULL, 0};
    attention_slots *slots = &job->slots;
    const locus_operator *op = job->query_key;
    memset(slots, 0, sizeof *slots);
    slots->query_key = slot_part(&carver, op ? op->class->slot_bytes(op) : 0);
    op = job->value_operator;
    slots->value = slot_part(&carver, op ? op->class->slot_bytes(op) : 0);
    if (job->content) {
        size_t rows = 2 * job->content->window + 1, size = locus_dtype_size(job->dtype);
        slots->content_key = slot_part(&carver, job->content_key ? rows * job->head_dim * size : 0);
        slots->content_value = slot_part(&carver, job->content_value ? rows * job->value_dim * size : 0);
    }
    slots->terms = carver.used;
    for (size_t t = 0; t < job->term_count; t++) {
        const locus_score_term *term = locus_plan_score_term(job->plan, t);
        slot_part(&carver, term->class->slot_bytes(term));
    }
    slots->bytes = carver.used;
}

/* ---- the job ---- */

void locus_attention_job_init(attention_job *job, const locus_plan *plan, const locus_attention_options *options,
                              locus_dtype dtype, locus_pass pass) {
    const locus_shape *shape = locus_plan_shape(plan);
    memset(job, 0, sizeof *job);
    job->plan = plan;
    job->heads = shape->heads;
    job->head_dim = shape->head_dim;
    job->value_dim = shape->value_dim ? shape->value_dim : shape->head_dim;
    job->sequences = locus_plan_sequences(plan);
    job->query_key = locus_plan_query_key_operator(plan);
    job->value_operator = locus_plan_value_operator(plan);
    job->content = locus_plan_content_table(plan);
    job->term_count = locus_plan_score_terms(plan);
    job->mask = options->mask;
    job->prefix = options->prefix;
    job->scale = options->scale != 0.0 ? options->scale : 1.0 / sqrt((double)job->head_dim);
    job->dropout = options->dropout;
    job->drop_weights = options->dropout > 0.0 && options->dropout_on == LOCUS_DROPOUT_WEIGHTS;
    job->drop_logits = options->dropout > 0.0 && options->dropout_on == LOCUS_DROPOUT_LOGITS;
    job->dropout_key = options->dropout_key;
    job->dtype = dtype;
    job->pass = pass;
    job->concurrency = locus_threads();
    if (job->content) {
        bool single = dtype == LOCUS_FLOAT32;
        job->content_scale = job->content->scaled ? job->scale : 1.0;
        job->content_key = single ? (const void *)job->content->key_float32 : (const void *)job->content->key_float64;
        job->content_value =
            single ? (const void *)job->content->value_float32 : (const void *)job->content->value_float64;
    }
    if (pass == LOCUS_PASS_BACKWARD) {
        place_slots(job);
        for (size_t t = 0; t < job->term_count; t++) {
            const locus_score_term *term = locus_plan_score_term(plan, t);
            job->learned_factor |= term->kind == LOCUS_SCORE_FACTOR && term->class->slot_bytes(term) > 0;
        }
    }
    build(job, &job->schedule);
}

static size_t worker_bytes(const attention_job *job) {
    bool single = job->dtype == LOCUS_FLOAT32;
    if (job->pass == LOCUS_PASS_FORWARD)
        return single ? locus_attention_forward_scratch_float32(job) : locus_attention_forward_scratch_float64(job);
    return single ? locus_attention_backward_scratch_float32(job) : locus_attention_backward_scratch_float64(job);
}

size_t locus_attention_job_place(attention_job *job, void *base) {
    attention_carver carver = {base, 0};
    attention_schedule *schedule = &job->schedule;
    size_t size = locus_dtype_size(job->dtype);
    schedule->items = locus_attention_carve(&carver, schedule->item_count, sizeof *schedule->items);
    schedule->groups = locus_attention_carve(&carver, schedule->group_count + 1, sizeof *schedule->groups);
    if (job->content) {
        size_t rows = 2 * job->content->window + 1;
        if (job->content_key)
            job->content_key_columns = locus_attention_carve(&carver, rows * job->head_dim, size);
        if (job->content_value && job->pass == LOCUS_PASS_BACKWARD)
            job->content_value_columns = locus_attention_carve(&carver, rows * job->value_dim, size);
    }
    if (job->pass == LOCUS_PASS_BACKWARD) {
        size_t partial = schedule->partial_rows * job->heads * job->head_dim;
        job->slot_data = locus_attention_carve(&carver, schedule->group_count * job->heads, job->slots.bytes);
        job->partials = locus_attention_carve(&carver, partial, size);
        job->content_partials = locus_attention_carve(&carver, job->content_key ? partial : 0, size);
    }
    job->worker_bytes = worker_bytes(job);
    job->workers = locus_attention_carve(&carver, job->concurrency, job->worker_bytes);
    if (base)
        build(job, schedule);
    return carver.used;
}
