/* SPDX-License-Identifier: MIT */
/* Cuts the packed batch into items and groups by shape, and lays the workspace out. */
#include "attention/attention_work.h"

#include "kernels/half_rows.h"
#include "spec/class.h"

#include <assert.h>
#include <locus/memory.h>
#include <locus/parallel.h>
#include <math.h>
#include <string.h>

/* Work is counted in pairs of a query and a key. A token's own work (operators, copies) is worth about so many. */
static const double TOKEN_COST = 48.0;
/* A forward task below this many pairs costs less than handing it to a thread. */
static const double SMALLEST_TASK = 4096.0;
/* Fewer pairs of all heads than these are scored from tables, or soon. */
static const double SHARED_PAIRS = 4194304.0;
/* Slots of all heads and groups together stay below this, unless one group for each head is already more. */
static const size_t SLOT_BYTES_MAX = (size_t)64 << 20;

attention_view locus_attention_view_of(const locus_tensor *tensor) {
    return tensor ? locus_token_rows_of(tensor) : (attention_view){0};
}

attention_view locus_attention_numbers_of(const locus_tensor *tensor) {
    if (!tensor)
        return (attention_view){0};
    locus_tensor rows = *tensor; /* each number a row */
    rows.rank++;
    return locus_token_rows_of(&rows);
}

/* ---- costs: pairs under the mask and the window, the prefix taken as causal, documents not looked at ---- */

static double causal_seen(const locus_sequence_span *span, double row) {
    double seen = row + 1.0 + (double)span->key_count - (double)span->query_count;
    return seen < 0.0 ? 0.0 : seen;
}

/* No row sees more keys, and no key more rows. */
static double window_reach(const attention_job *job) {
    const attention_sight *sight = &job->sight;
    const double sides = sight->mask == LOCUS_MASK_FULL ? 2.0 : 1.0;
    const double near = sight->window ? sides * (double)sight->window + (double)sight->keep : INFINITY;
    return sight->chunk ? fmin(near, (double)sight->chunk) : near;
}

static double query_run_cost(const attention_job *job, const locus_sequence_span *span, size_t first, size_t count) {
    double keys = (double)span->key_count, rows = (double)count, reach = window_reach(job);
    if (job->sight.mask != LOCUS_MASK_FULL)
        keys = 0.5 * (causal_seen(span, (double)first) + causal_seen(span, (double)(first + count) - 1.0));
    return rows * fmin(keys, reach) + TOKEN_COST * (rows + fmin(keys, reach + rows));
}

static double key_run_cost(const attention_job *job, const locus_sequence_span *span, size_t first, size_t count) {
    double rows = (double)span->query_count, keys = (double)count, reach = window_reach(job);
    if (job->sight.mask != LOCUS_MASK_FULL) { /* key j is seen by the last key_count − j queries */
        rows = (double)span->key_count - ((double)first + 0.5 * keys);
        rows = rows < (double)span->query_count ? rows : (double)span->query_count;
    }
    return fmin(rows, reach) * keys + TOKEN_COST * (fmin((double)span->query_count, reach + keys) + keys);
}

/* Of all heads of a task. */
static double run_cost(const attention_job *job, const locus_sequence_span *span, size_t first, size_t count) {
    double one = job->pass == LOCUS_PASS_FORWARD ? query_run_cost(job, span, first, count)
                                                 : key_run_cost(job, span, first, count);
    return one * (double)(job->group * job->schedule.run);
}

static bool is_step(const locus_sequence_span *span) {
    return span->query_count > 0 && span->query_count <= ATTENTION_DECODE_QUERIES &&
           span->key_count >= ATTENTION_DECODE_KEYS;
}

/* Content terms, weights and pairs work on tiles. */
static bool decodes(const attention_job *job, const locus_sequence_span *span) {
    return job->pass == LOCUS_PASS_FORWARD && !job->content && !job->weighs && !job->pairs && is_step(span);
}

bool locus_attention_decodes_all(const attention_call *call) {
    if (call->pass != LOCUS_PASS_FORWARD || locus_plan_limits(call->plan))
        return false;
    for (size_t s = 0; s < locus_plan_sequences(call->plan); s++) {
        const locus_sequence_span span = locus_plan_span(call->plan, s);
        if (span.query_count > 0 && !is_step(&span))
            return false;
    }
    return true;
}

static double total_cost(const attention_job *job) {
    double total = 0.0;
    for (size_t s = 0; s < job->sequences; s++) {
        locus_sequence_span span = locus_plan_span(job->plan, s);
        if (!decodes(job, &span))
            total += run_cost(job, &span, 0, job->pass == LOCUS_PASS_FORWARD ? span.query_count : span.key_count);
    }
    return total;
}

/* ---- items and groups ---- */

static size_t groups_wanted(const attention_job *job) {
    const size_t tasks = job->pass == LOCUS_PASS_FORWARD ? 256 : 64, runs = attention_head_runs(job);
    size_t groups = (tasks + runs - 1) / runs;
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
    return padded((span->key_count + parts - 1) / parts, ATTENTION_KEY_PANEL);
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

/* A part begins at a multiple of its size; those that no query of the sequence can see are left out. */
static void emit_parts(const attention_job *job, attention_schedule *schedule, size_t sequence,
                       const locus_sequence_span *span) {
    const attention_sight *sight = &job->sight;
    const size_t size = ATTENTION_DECODE_PART, before = schedule->part_count;
    /* The window of the first query begins here, and its chunk there. */
    const size_t reach = sight->window < span->key_count ? sight->window + span->query_count : SIZE_MAX;
    const size_t near = sight->window > 0 && reach < span->key_count ? span->key_count - reach : 0;
    const size_t ahead = span->key_count > span->query_count ? span->key_count - span->query_count : 0;
    const size_t chunk = sight->chunk ? ahead - ahead % sight->chunk : 0;
    for (size_t first = 0; first < span->key_count; first += size) {
        const size_t left = span->key_count - first, count = left < size ? left : size;
        if ((first >= sight->keep && first + count <= near) || first + count <= chunk)
            continue;
        attention_item item = {sequence, first, count, schedule->decode_rows, 0};
        if (schedule->parts)
            schedule->parts[schedule->part_count] = item;
        schedule->part_count++;
        schedule->decode_rows += span->query_count;
    }
    if (schedule->parts) {
        schedule->parts[before].parts = schedule->part_count - before;
        schedule->joins[schedule->join_count] = before;
    }
    schedule->join_count++;
    if (schedule->decode_queries < span->query_count)
        schedule->decode_queries = span->query_count;
}

/* Into how many runs a group's query heads fall. */
static size_t head_parts(const attention_job *job, const attention_schedule *schedule, double total) {
    const size_t tasks = schedule->group_count * job->kv_heads;
    size_t parts = 1;
    if (job->pass == LOCUS_PASS_FORWARD || tasks == 0)
        return 1;
    for (size_t more = 2; more <= job->group && tasks * parts < ATTENTION_HEAD_TASKS; more++)
        if (job->group % more == 0 && total >= SMALLEST_TASK * (double)(schedule->group_count * more))
            parts = more;
    return parts;
}

/* Queries of a forward item of heads that share no distances. A sequence alone with few heads is cut finer, so that
 * many cores find work; the panels are made again for each cut. */
static size_t chunk_of(const attention_job *job, size_t sequences) {
    const size_t chunk = sequences * job->kv_heads * 4 > 64 ? ATTENTION_QUERY_CHUNK : ATTENTION_QUERY_CHUNK / 2;
    if (chunk * job->group <= ATTENTION_GROUP_CHUNK)
        return chunk;
    const size_t shared = padded(ATTENTION_GROUP_CHUNK / job->group, ATTENTION_QUERY_BLOCK);
    return shared > 2 * ATTENTION_QUERY_BLOCK ? shared : 2 * ATTENTION_QUERY_BLOCK; /* no fewer than a panel is worth */
}

/* Heads that share distances do so on half as many queries, or there would be few tasks. */
static void share_heads(attention_job *job, size_t sequences) {
    const size_t chunk = chunk_of(job, sequences), half = padded(chunk / 2, ATTENTION_QUERY_BLOCK);
    const size_t most =
        smaller(smaller(ATTENTION_GROUP_CHUNK / (half * job->group), ATTENTION_RUN_HEADS), job->kv_heads);
    const bool shares = job->pass == LOCUS_PASS_FORWARD && job->distances && most > 1 && half >= ATTENTION_RUN_CHUNK;
    const size_t runs = shares ? (job->kv_heads + most - 1) / most : job->kv_heads;
    // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): there are heads, so there are runs
    job->schedule.run = (job->kv_heads + runs - 1) / runs;
    job->schedule.chunk = shares ? half : chunk;
}

static void share_decoding(const attention_job *job, attention_schedule *schedule) {
    const size_t heads = ATTENTION_DECODE_ROW / smaller(job->head_dim, ATTENTION_DECODE_ROW);
    schedule->decode_heads = job->rows_follow ? 1 : smaller(heads, job->kv_heads);
    assert(schedule->decode_heads > 0);
    schedule->decode_head_runs = (job->kv_heads + schedule->decode_heads - 1) / schedule->decode_heads;
}

/* With items NULL it counts; run again with room for them, it fills them in. */
static void build(attention_job *job) {
    attention_schedule *schedule = &job->schedule;
    share_heads(job, job->sequences);
    double total = total_cost(job), threshold = total / (double)groups_wanted(job);
    if (threshold < SMALLEST_TASK)
        threshold = SMALLEST_TASK;
    builder b = {schedule, threshold * 0.999, 0.0, false};
    schedule->item_count = schedule->group_count = schedule->partial_rows = 0;
    schedule->max_queries = schedule->max_keys = 0;
    schedule->part_count = schedule->join_count = schedule->decode_rows = schedule->decode_queries = 0;
    share_decoding(job, schedule);
    for (size_t s = 0; s < job->sequences; s++) {
        locus_sequence_span span = locus_plan_span(job->plan, s);
        if (decodes(job, &span)) {
            emit_parts(job, schedule, s, &span);
            continue;
        }
        if (span.query_count > schedule->max_queries)
            schedule->max_queries = span.query_count;
        if (span.key_count > schedule->max_keys)
            schedule->max_keys = span.key_count;
        if (job->pass == LOCUS_PASS_FORWARD)
            emit_forward(job, &b, s, &span, schedule->chunk);
        else if (span.query_count > 0 || span.key_count > 0)
            emit_backward(job, &b, s, &span, threshold);
    }
    if (schedule->groups)
        schedule->groups[schedule->group_count] = schedule->item_count;
    schedule->head_parts = head_parts(job, schedule, total);
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
    slots->query_key = slot_part(&carver, locus_operator_slot_bytes(op));
    op = job->value_operator;
    slots->value = slot_part(&carver, locus_operator_slot_bytes(op));
    if (job->content) {
        size_t rows = 2 * job->content->window + 1, size = locus_dtype_size(job->dtype);
        slots->content_key = slot_part(&carver, job->content_key ? rows * job->head_dim * size : 0);
        slots->content_value = slot_part(&carver, job->content_value ? rows * job->value_dim * size : 0);
    }
    slots->sinks = slot_part(&carver, job->sinks ? sizeof(double) : 0);
    slots->terms = carver.used;
    for (size_t t = 0; t < job->term_count; t++) {
        const locus_score_term *term = locus_plan_score_term(job->plan, t);
        slot_part(&carver, locus_score_slot_bytes(term));
    }
    slots->bytes = carver.used;
}

/* ---- a plan of limits: the most of everything that any schedule within them has ---- */

/* ⌈n / part⌉ of each of some sequences, of n tokens in all, the longest of `longest`. */
static size_t most_parts(size_t sequences, size_t tokens, size_t longest, size_t part) {
    return smaller(sequences + tokens / part, sequences * ((longest + part - 1) / part));
}

static void limit_decoding(const attention_job *job, const locus_limits *limits, attention_schedule *schedule) {
    const size_t queries = smaller(limits->longest_query, ATTENTION_DECODE_QUERIES), part = ATTENTION_DECODE_PART;
    if (job->content || job->pairs || queries == 0 || limits->longest_key < ATTENTION_DECODE_KEYS)
        return;
    const size_t sequences = smaller(limits->sequences, smaller(limits->queries, limits->keys / ATTENTION_DECODE_KEYS));
    const size_t tokens = smaller(limits->queries, sequences * queries);
    schedule->join_count = sequences;
    schedule->part_count = most_parts(sequences, limits->keys, limits->longest_key, part);
    schedule->decode_rows = smaller(queries * schedule->part_count, tokens * ((limits->longest_key + part - 1) / part));
    schedule->decode_queries = queries;
}

/* How many groups of the backward there would be, if they need not be whole. */
static double most_groups_wanted(const attention_job *job) {
    const size_t slots = job->heads * job->slots.bytes;
    const size_t all = (64 + job->kv_heads - 1) / job->kv_heads;
    return slots > 0 ? fmin((double)all, fmax(1, (double)SLOT_BYTES_MAX / (double)slots)) : (double)all;
}

/* Groups are closed when they cost as much as one of those wanted. Parts of a sequence cost more than the sequence:
 * each has the queries' own work once more, at most TOKEN_COST·q where q·n/2 pairs or reach·n are theirs. */
static double costs_of_parts(const attention_job *job, const locus_limits *limits) {
    const double queries = (double)limits->longest_query, keys = 2.0 * ATTENTION_SPLIT_KEYS;
    const double again = (ATTENTION_SPLIT_MAX - 1) * TOKEN_COST * queries;
    if (limits->longest_key < 2 * ATTENTION_SPLIT_KEYS)
        return 1;
    if (isfinite(window_reach(job)))
        return ATTENTION_SPLIT_MAX;
    return 1 + fmin(ATTENTION_SPLIT_MAX - 1, again / (0.5 * keys * fmin(queries, keys) + TOKEN_COST * queries));
}

/* As head_parts finds it for one group, whose work would be worth any number of tasks. */
static size_t most_head_parts(const attention_job *job) {
    size_t parts = 1;
    for (size_t more = 2; more <= job->group && job->kv_heads * parts < ATTENTION_HEAD_TASKS; more++)
        parts = job->group % more == 0 ? more : parts;
    return parts;
}

static void limit_backward(const attention_job *job, const locus_limits *limits, attention_schedule *schedule) {
    const size_t wanted = (64 + job->kv_heads - 1) / job->kv_heads;
    const double each = costs_of_parts(job, limits) / 0.999;
    const size_t sequences = smaller(limits->sequences, limits->queries + limits->keys);
    const size_t more = smaller(limits->keys / ATTENTION_SPLIT_KEYS, sequences * ATTENTION_SPLIT_MAX);
    const bool whole = job->content_value && job->value_operator && job->slots.bytes > 0;
    const size_t parts =
        smaller(smaller(limits->longest_key / ATTENTION_SPLIT_KEYS, ATTENTION_SPLIT_MAX), whole ? 1 : wanted);
    schedule->item_count = sequences + more;
    schedule->group_count = smaller((size_t)(each * most_groups_wanted(job)) + 2, schedule->item_count);
    if (parts >= 2) /* of all split sequences together there are no more than groups wanted */
        schedule->partial_rows =
            smaller(parts * limits->queries, smaller(wanted, ATTENTION_SPLIT_MAX * sequences) * limits->longest_query);
    schedule->head_parts = most_head_parts(job);
    schedule->item_count += (size_t)(each * (double)wanted) + 2; /* room for where groups begin, were slots smaller */
}

/* Which of a batch's sizes is the largest depends on the batch, so that these may be more than any one has. */
static void limit(attention_job *job, const locus_limits *limits) {
    attention_schedule *schedule = &job->schedule;
    schedule->max_queries = limits->longest_query;
    schedule->max_keys = limits->longest_key;
    share_heads(job, 1); /* the most heads and the fewest queries, if they share: such a plan need not, */
    const size_t least = schedule->chunk;
    schedule->chunk = chunk_of(job, limits->sequences); /* and then has these */
    schedule->head_parts = 1;
    share_decoding(job, schedule);
    job->sequences = limits->sequences > 1 ? limits->sequences : 2; /* of one alone rows and partials share memory */
    if (job->pass == LOCUS_PASS_BACKWARD) {
        limit_backward(job, limits, schedule);
        return;
    }
    schedule->item_count =
        most_parts(smaller(limits->sequences, limits->queries), limits->queries, limits->longest_query, least);
    schedule->group_count = schedule->item_count;
    limit_decoding(job, limits, schedule);
}

/* ---- the job ---- */

static double most_pairs(const attention_job *job) {
    const locus_limits *limits = locus_plan_limits(job->plan);
    double pairs = limits ? (double)limits->queries * (double)limits->longest_key : 0;
    for (size_t s = 0; s < job->sequences && !limits; s++) {
        const locus_sequence_span span = locus_plan_span(job->plan, s);
        pairs += (double)span.query_count * (double)span.key_count;
    }
    return pairs;
}

static const locus_distances *shared_distances(const attention_job *job) {
    const locus_distances *distances = NULL;
    for (size_t t = 0; t < job->term_count && !distances; t++)
        distances = locus_plan_score_term(job->plan, t)->apart;
    const bool worth = distances && most_pairs(job) * (double)job->heads >= SHARED_PAIRS;
    return worth && locus_distances_fit(distances) ? distances : NULL;
}

void locus_attention_job_init(attention_job *job, const attention_call *call) {
    const locus_plan *plan = call->plan;
    const locus_attention_options *options = call->options;
    const locus_shape *shape = locus_plan_shape(plan);
    const locus_score_settings *said = locus_plan_score_settings(plan);
    const attention_settled settled = locus_attention_settle(plan, options);
    memset(job, 0, sizeof *job);
    job->plan = plan;
    job->heads = shape->heads;
    job->kv_heads = locus_plan_kv_heads(plan);
    job->group = job->heads / job->kv_heads;
    job->head_dim = shape->head_dim;
    job->value_dim = locus_shape_value_dim(shape);
    job->sequences = locus_plan_sequences(plan);
    job->turned = options->turned;
    job->biased = options->bias != NULL;
    job->query_key = job->turned ? NULL : locus_plan_query_key_operator(plan);
    job->weighs = call->weighs;
    job->value_operator = job->turned || job->weighs ? NULL : locus_plan_value_operator(plan);
    job->content = locus_plan_content_table(plan);
    job->term_count = locus_plan_score_terms(plan);
    job->distances = shared_distances(job);
    locus_attention_sight_init(&job->sight, plan, options);
    job->scale = settled.scale;
    job->cap = settled.cap;
    job->sinks = said ? said->sinks : NULL;
    job->dropout = job->weighs ? 0.0 : options->dropout;
    job->drop_weights = job->dropout > 0.0 && options->dropout_on == LOCUS_DROPOUT_WEIGHTS;
    job->drop_logits = job->dropout > 0.0 && options->dropout_on == LOCUS_DROPOUT_LOGITS;
    job->dropout_key = options->dropout_key;
    job->dtype = locus_dtype_working(call->dtype);
    job->kept = call->dtype;
    job->pairs = call->pairs;
    job->stored = call->pairs ? call->dtype : job->dtype;
    job->gathers = call->pass == LOCUS_PASS_BACKWARD && job->stored != job->dtype && job->group > 1;
    job->pass = call->pass;
    job->concurrency = locus_threads();
    const bool single = job->dtype == LOCUS_FLOAT32;
    job->bodies = single ? &locus_attention_softmax_float32 : &locus_attention_softmax_float64;
    if (job->content) {
        job->content_scale = job->content->scaled ? job->scale : 1.0;
        job->content_key = single ? (const void *)job->content->key_float32 : (const void *)job->content->key_float64;
        const void *value =
            single ? (const void *)job->content->value_float32 : (const void *)job->content->value_float64;
        job->content_value = job->weighs ? NULL : value;
    }
    if (job->pass == LOCUS_PASS_BACKWARD) {
        place_slots(job);
        for (size_t t = 0; t < job->term_count; t++) {
            const locus_score_term *term = locus_plan_score_term(plan, t);
            job->learned_factor |= term->kind == LOCUS_SCORE_FACTOR && locus_score_slot_bytes(term) > 0;
        }
    }
    if (locus_plan_limits(plan))
        limit(job, locus_plan_limits(plan));
    else
        build(job);
}

size_t locus_attention_job_place(attention_job *job, void *base) {
    attention_carver carver = {base, 0};
    attention_schedule *schedule = &job->schedule;
    size_t size = locus_dtype_size(job->dtype);
    schedule->items = locus_attention_carve(&carver, schedule->item_count, sizeof *schedule->items);
    schedule->groups = locus_attention_carve(&carver, schedule->group_count + 1, sizeof *schedule->groups);
    schedule->parts = locus_attention_carve(&carver, schedule->part_count, sizeof *schedule->parts);
    schedule->joins = locus_attention_carve(&carver, schedule->join_count, sizeof *schedule->joins);
    const size_t ranges = locus_attention_sight_ranges(&job->sight), decoded = schedule->decode_rows * job->heads;
    attention_range *placed = locus_attention_carve(&carver, ranges, sizeof *placed);
    job->decode_sums = locus_attention_carve(&carver, decoded * job->value_dim, size);
    job->decode_tops = locus_attention_carve(&carver, decoded, size);
    job->decode_totals = locus_attention_carve(&carver, decoded, size);
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
        const size_t partials = schedule->head_parts - (job->gathers ? 0 : 1);
        const size_t keys = partials * locus_plan_key_tokens(job->plan) * job->kv_heads;
        job->key_partials = locus_attention_carve(&carver, keys * job->head_dim, size);
        job->value_partials = locus_attention_carve(&carver, keys * job->value_dim, size);
    }
    job->worker_bytes = job->bodies->scratch(job);
    job->workers = locus_attention_carve(&carver, job->concurrency, job->worker_bytes);
    if (base) {
        build(job);
        locus_attention_sight_place(&job->sight, ranges > 0 ? placed : NULL);
    }
    return carver.used;
}
