/* SPDX-License-Identifier: MIT */
/* The cache of keys and values: appends, attention over what is kept, truncation, eviction with and without a shift,
 * insertion, in an order that is drawn from the input. What is kept is remembered as positions and vectors before any
 * operator, and every attention is compared with the dense double reference over these. */
#include "fuzz.h"
#include "fuzz_allocator.h"
#include "reference/drawn_tensor.h"
#include "reference/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEQUENCES = 3, CAPACITY = 20, STEPS = 12, CALLS_MOVED = 4 };

/* What one sequence keeps. */
typedef struct kept_sequence {
    size_t count, fresh; /* the last `fresh` ones were appended last */
    reference_position at[CAPACITY];
    double *key[CAPACITY], *value[CAPACITY]; /* [kv_heads, dim] */
} kept_sequence;

typedef struct cache_case {
    drawn_world *world;
    chooser *choices;
    locus_cache *cache;
    locus_cache_options options;
    kept_sequence kept[SEQUENCES];
    size_t row_key, row_value; /* numbers of a token */
    bool attends;              /* whether the tokens appended last are all there */
    bool moved;                /* keys were turned again */
    size_t query_tokens, query_first[SEQUENCES];
} cache_case;

/* ---- what is remembered ---- */

static void forget(kept_sequence *kept, size_t first, size_t count) {
    for (size_t i = first; i < first + count; i++) {
        free(kept->key[i]);
        free(kept->value[i]);
    }
    for (size_t i = first; i + count < kept->count; i++) {
        kept->at[i] = kept->at[i + count];
        kept->key[i] = kept->key[i + count];
        kept->value[i] = kept->value[i + count];
    }
    kept->count -= count;
}

static double *copy_of(const double *values, size_t count) {
    double *copy = reference_zeros(count, sizeof *copy);
    memcpy(copy, values, count * sizeof *copy);
    return copy;
}

static void remember(const cache_case *c, kept_sequence *kept, const reference_position *at, const double *key,
                     const double *value) {
    kept->at[kept->count] = *at;
    kept->key[kept->count] = copy_of(key, c->row_key);
    kept->value[kept->count] = copy_of(value, c->row_value);
    kept->count++;
}

static double *draw_rows(cache_case *c, locus_dtype dtype, size_t count) {
    chooser stream = chooser_stream(c->choices);
    double *rows = reference_zeros(count, sizeof *rows);
    for (size_t i = 0; i < count; i++)
        rows[i] = drawn_round(dtype, choose_normal(&stream));
    return rows;
}

/* ---- append ---- */

/* One token for each sequence behind its last one: where the cache itself says that it stands. */
static bool follow(const cache_case *c, drawn_side *side) {
    const locus_group *group = c->world->group;
    if (locus_group_coordinates(group) != 1 || locus_group_coordinate(group, 0).kind == LOCUS_COORDINATE_TREE)
        return false;
    const locus_coordinate coordinate = locus_group_coordinate(group, 0);
    side->at = reference_zeros(c->options.sequences, sizeof *side->at);
    for (size_t s = 0; s < c->options.sequences; s++) {
        const kept_sequence *kept = &c->kept[s];
        double value = kept->count ? kept->at[kept->count - 1].value[0] + 1 : 0;
        value = coordinate.kind == LOCUS_COORDINATE_CYCLE ? fmod(value, (double)coordinate.size) : value;
        side->at[s].value[0] = value;
        side->first[s] = s;
        side->count[s] = 1;
    }
    side->tokens = (reference_tokens){c->options.sequences, c->options.sequences, side->first, side->count, side->at};
    return true;
}

static bool draw_side(cache_case *c, drawn_side *side) {
    size_t lengths[SEQUENCES];
    locus_error error;
    memset(side, 0, sizeof *side);
    if (locus_encoding_group(c->world->spec.encoding) && choose_chance(c->choices, 25) && follow(c, side))
        return true;
    for (size_t s = 0; s < c->options.sequences; s++)
        lengths[s] = choose(c->choices, 5);
    return drawn_side_make(side, c->world->group, c->choices, c->options.sequences, lengths,
                           choose_chance(c->choices, 50) ? 30 : 0, &error);
}

static void append(cache_case *c) {
    drawn_side side;
    locus_error error = {.status = LOCUS_OK};
    const locus_shape *shape = &c->world->shape;
    if (!draw_side(c, &side)) {
        drawn_side_free(&side);
        return;
    }
    const locus_dtype dtype = trial_dtype(c->choices);
    const size_t tokens = side.tokens.tokens;
    double *k = draw_rows(c, dtype, tokens * c->row_key), *v = draw_rows(c, dtype, tokens * c->row_value);
    side.tokens.first = side.first;
    side.tokens.count = side.count;
    drawn_tensor key = drawn_tensor_make(c->choices, dtype, &side.tokens, shape->kv_heads, shape->head_dim);
    drawn_tensor value = drawn_tensor_make(c->choices, dtype, &side.tokens, shape->kv_heads, shape->value_dim);
    drawn_tensor_put(&key, k);
    drawn_tensor_put(&value, v);
    const bool starved = choose_chance(c->choices, 10);
    if (starved)
        fuzz_allocator_arm(choose(c->choices, 12));
    bool fits = true;
    for (size_t s = 0; s < c->options.sequences; s++)
        fits = fits && c->kept[s].count + side.count[s] <= c->options.capacity;
    const locus_status status = locus_cache_append(c->cache, side.positions, &key.view, &value.view, NULL, &error);
    const bool failed = fuzz_allocator_disarm() && starved;
    FUZZ_REQUIRE_SAYING(fits || status != LOCUS_OK, "a sequence passed the capacity");
    FUZZ_REQUIRE_SAYING(!failed || status == LOCUS_OK || status == LOCUS_ERROR_MEMORY || !fits ||
                            status == LOCUS_ERROR_POSITION,
                        error.message);
    if (status == LOCUS_OK) { /* else those of the append before may still be there */
        c->attends = true;
        c->query_tokens = tokens;
    }
    for (size_t s = 0; s < c->options.sequences && status == LOCUS_OK; s++) {
        c->kept[s].fresh = side.count[s];
        c->query_first[s] = side.first[s];
        for (size_t t = side.first[s]; t < side.first[s] + side.count[s]; t++)
            remember(c, &c->kept[s], &side.at[t], k + t * c->row_key, v + t * c->row_value);
    }
    if (status != LOCUS_OK)
        fuzz_check_failure(status, &error);
    drawn_tensor_free(&key);
    drawn_tensor_free(&value);
    drawn_side_free(&side);
    free(k);
    free(v);
}

/* ---- attend ---- */

/* The reference's view: kept tokens one after the other, queries where they were packed. */
typedef struct cache_view {
    reference_tokens queries, keys;
    size_t count[2][SEQUENCES], first[2][SEQUENCES];
    reference_position *at[2];
    double *key, *value;
} cache_view;

static void view_case(const cache_case *c, cache_view *view) {
    size_t rows = 0;
    view->at[0] = reference_zeros(c->query_tokens, sizeof **view->at);
    view->at[1] = reference_zeros(SEQUENCES * CAPACITY, sizeof **view->at);
    view->key = reference_zeros(SEQUENCES * CAPACITY * c->row_key, sizeof *view->key);
    view->value = reference_zeros(SEQUENCES * CAPACITY * c->row_value, sizeof *view->value);
    for (size_t s = 0; s < c->options.sequences; s++) {
        const kept_sequence *kept = &c->kept[s];
        view->first[0][s] = c->query_first[s];
        view->count[0][s] = kept->fresh;
        view->first[1][s] = rows;
        view->count[1][s] = kept->count;
        for (size_t i = 0; i < kept->fresh; i++)
            view->at[0][c->query_first[s] + i] = kept->at[kept->count - kept->fresh + i];
        for (size_t i = 0; i < kept->count; i++, rows++) {
            view->at[1][rows] = kept->at[i];
            memcpy(view->key + rows * c->row_key, kept->key[i], c->row_key * sizeof *view->key);
            memcpy(view->value + rows * c->row_value, kept->value[i], c->row_value * sizeof *view->value);
        }
    }
    view->queries =
        (reference_tokens){c->options.sequences, c->query_tokens, view->first[0], view->count[0], view->at[0]};
    view->keys = (reference_tokens){c->options.sequences, rows, view->first[1], view->count[1], view->at[1]};
}

static void free_view(cache_view *view) {
    free(view->at[0]);
    free(view->at[1]);
    free(view->key);
    free(view->value);
}

static void compare(cache_case *c, const locus_attention_options *options, const cache_view *view, const double *q,
                    const drawn_tensor *output) {
    const locus_shape *shape = &c->world->shape;
    reference_model model = c->world->model;
    model.queries = &view->queries;
    model.keys = &view->keys;
    model.length = c->options.length ? c->options.length : c->options.capacity;
    reference_operators operators = reference_operators_make(&model);
    const size_t count = drawn_tensor_count(output), row = shape->heads * shape->value_dim;
    double *want = reference_zeros(count, sizeof *want), *got = reference_zeros(count, sizeof *got);
    double *lse = reference_zeros(c->query_tokens * shape->heads, sizeof *lse);
    reference_call call = {.model = &model,
                           .operators = &operators,
                           .options = options,
                           .query = q,
                           .key = view->key,
                           .value = view->value,
                           .output = want,
                           .log_sum_exp = lse};
    trial result = {.state = TRIAL_FINE, .where = ""};
    reference_attention(&call);
    drawn_tensor_get(output, got);
    const double eps = drawn_rounding(c->options.dtype == LOCUS_FLOAT64 ? LOCUS_FLOAT64 : LOCUS_FLOAT32);
    const double rounding = TRIAL_ROUNDINGS * eps * (c->moved ? CALLS_MOVED : 1) +
                            TRIAL_ANGLE * reference_angle(&model) + 2 * drawn_rounding(c->options.dtype);
    const double once = drawn_rounding(output->view.dtype);
    for (size_t s = 0; s < c->options.sequences && call.score < 1e4; s++)
        for (size_t i = view->first[0][s] * row; i < (view->first[0][s] + view->count[0][s]) * row; i++)
            trial_compare(&result, "o", i, got[i], want[i],
                          2 * rounding * (2 + call.score) * call.mass * sqrt((double)shape->value_dim) +
                              2 * once * fabs(want[i]) + (output->view.dtype == LOCUS_FLOAT16 ? 6e-8 : 0));
    if (result.state == TRIAL_FAILED)
        fprintf(stderr, "%s: %s\n", c->world->spec.text, result.message);
    FUZZ_REQUIRE_SAYING(result.state == TRIAL_FINE, result.message);
    reference_operators_free(&operators);
    free(want);
    free(got);
    free(lse);
}

static locus_attention_options draw_options(cache_case *c, size_t prefix[SEQUENCES]) {
    static const locus_mask masks[] = {LOCUS_MASK_CAUSAL, LOCUS_MASK_FULL, LOCUS_MASK_PREFIX};
    locus_attention_options options = locus_attention_default();
    options.mask = masks[choose(c->choices, 3)];
    for (size_t s = 0; s < c->options.sequences; s++)
        prefix[s] = choose(c->choices, c->kept[s].count + 1);
    options.prefix = prefix;
    options.window = choose_chance(c->choices, 30) ? 1 + choose(c->choices, 8) : 0;
    options.keep = options.window && choose_chance(c->choices, 40) ? choose(c->choices, 4) : 0;
    options.cap = choose_chance(c->choices, 15) ? 2 : 0;
    return options;
}

static void attend(cache_case *c) {
    const locus_shape *shape = &c->world->shape;
    const locus_dtype dtype = trial_dtype(c->choices);
    size_t prefix[SEQUENCES];
    locus_attention_options options = draw_options(c, prefix), usual = locus_attention_default();
    usual.mask = LOCUS_MASK_CAUSAL;
    const bool said = choose_chance(c->choices, 50);
    locus_error error = {.status = LOCUS_OK};
    double *q = draw_rows(c, dtype, c->query_tokens * shape->heads * shape->head_dim);
    size_t fresh[SEQUENCES];
    for (size_t s = 0; s < c->options.sequences; s++)
        fresh[s] = c->kept[s].fresh;
    const reference_tokens tokens = {c->options.sequences, c->query_tokens, c->query_first, fresh, NULL};
    drawn_tensor query = drawn_tensor_make(c->choices, dtype, &tokens, shape->heads, shape->head_dim);
    drawn_tensor output = drawn_tensor_make(c->choices, dtype, &tokens, shape->heads, shape->value_dim);
    drawn_tensor_put(&query, q);
    drawn_tensor_watch(&output);
    const locus_status status =
        locus_cache_attend(c->cache, said ? &options : NULL, &query.view, &output.view, NULL, &error);
    if (status == LOCUS_OK) {
        cache_view view;
        FUZZ_REQUIRE_SAYING(c->attends || c->query_tokens == 0, "attention of tokens that are gone");
        view_case(c, &view);
        compare(c, said ? &options : &usual, &view, q, &output);
        FUZZ_REQUIRE(drawn_tensor_untouched(&output, &view.queries));
        free_view(&view);
    } else {
        fuzz_check_failure(status, &error);
        FUZZ_REQUIRE(drawn_tensor_untouched(&output, NULL));
    }
    drawn_tensor_free(&query);
    drawn_tensor_free(&output);
    free(q);
}

/* ---- what is moved ---- */

static void cut(cache_case *c, size_t s, size_t first, size_t count) {
    kept_sequence *kept = &c->kept[s];
    const size_t old = kept->count - kept->fresh;
    c->attends = c->attends && (count == 0 || first + count <= old);
    forget(kept, first, count);
}

static void truncate_one(cache_case *c) {
    const size_t s = choose(c->choices, c->options.sequences), length = choose(c->choices, CAPACITY + 2);
    locus_error error = {.status = LOCUS_OK};
    const locus_status status = locus_cache_truncate(c->cache, s, length, &error);
    FUZZ_REQUIRE_SAYING((status == LOCUS_OK) == (length <= c->kept[s].count), error.message);
    if (status == LOCUS_OK)
        cut(c, s, length, c->kept[s].count - length);
    else
        fuzz_check_failure(status, &error);
}

static bool on_line(const cache_case *c) {
    return locus_group_equal(c->world->group, NULL) && locus_encoding_group(c->world->spec.encoding);
}

static void evict(cache_case *c) {
    const size_t s = choose(c->choices, c->options.sequences), have = c->kept[s].count;
    const size_t first = choose(c->choices, have + 2), count = choose(c->choices, have + 2);
    const bool shifts = on_line(c) && choose_chance(c->choices, 50);
    char text[32];
    locus_path *shift = NULL;
    locus_error error = {.status = LOCUS_OK};
    (void)snprintf(text, sizeof text, "-%zu", count);
    if (shifts)
        FUZZ_REQUIRE(locus_path_parse(c->world->group, text, &shift, &error) == LOCUS_OK);
    const locus_status status = locus_cache_evict(c->cache, s, first, count, shift, NULL, &error);
    locus_path_destroy(&shift);
    FUZZ_REQUIRE_SAYING(status != LOCUS_OK || first + count <= have, "an eviction behind the end");
    FUZZ_REQUIRE_SAYING(status == LOCUS_OK || shifts || first + count > have, error.message);
    if (status != LOCUS_OK) {
        fuzz_check_failure(status, &error);
        return;
    }
    cut(c, s, first, count);
    for (size_t i = first; shifts && i < c->kept[s].count; i++)
        c->kept[s].at[i].value[0] -= (double)count;
    c->moved = c->moved || shifts;
}

static void insert(cache_case *c) {
    const size_t to = choose(c->choices, c->options.sequences), from = choose(c->choices, c->options.sequences);
    const kept_sequence *source = &c->kept[from];
    const size_t first = choose(c->choices, source->count + 1), count = choose(c->choices, source->count + 2);
    const locus_cache_fragment fragment = {sizeof fragment, c->cache, from, first, count, NULL};
    locus_error error = {.status = LOCUS_OK};
    const locus_status status = locus_cache_insert(c->cache, to, &fragment, NULL, &error);
    if (status != LOCUS_OK) {
        fuzz_check_failure(status, &error);
        return;
    }
    FUZZ_REQUIRE(first + count <= source->count && c->kept[to].count + count <= c->options.capacity);
    for (size_t i = first; i < first + count; i++)
        remember(c, &c->kept[to], &source->at[i], source->key[i], source->value[i]);
    c->attends = c->attends && count == 0;
}

/* ---- the whole ---- */

static void run(cache_case *c) {
    for (size_t step = 0; step < STEPS; step++) {
        const uint64_t what = choose(c->choices, 9);
        if (what < 3)
            append(c);
        else if (what < 6)
            attend(c);
        else if (what == 6)
            truncate_one(c);
        else if (what == 7)
            evict(c);
        else
            insert(c);
        for (size_t s = 0; s < c->options.sequences; s++)
            FUZZ_REQUIRE(locus_cache_length(c->cache, s) == c->kept[s].count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const drawn_limits limits = {.longest = 3, .threads = true};
    chooser choices = chooser_of_bytes(data, size);
    drawn_world world;
    cache_case c = {.world = &world, .choices = &choices, .options = locus_cache_options_default()};
    locus_error error = {.status = LOCUS_OK};
    fuzz_allocator_use();
    c.options.sequences = 1 + choose(&choices, SEQUENCES);
    c.options.capacity = 1 + choose(&choices, CAPACITY);
    c.options.length = choose_chance(&choices, 20) ? 1 + choose(&choices, 100) : 0;
    c.options.dtype = choose_chance(&choices, 40) ? trial_dtype(&choices) : LOCUS_FLOAT32;
    const bool made = drawn_world_make(&world, &choices, &limits);
    if (made && choose_chance(&choices, 10))
        fuzz_allocator_arm(choose(&choices, 60));
    const locus_status status = made ? locus_cache_create(&c.cache, world.binding, &c.options, &error) : LOCUS_OK;
    (void)fuzz_allocator_disarm();
    c.row_key = world.shape.kv_heads * world.shape.head_dim;
    c.row_value = world.shape.kv_heads * world.shape.value_dim;
    if (c.cache)
        run(&c);
    else if (status != LOCUS_OK)
        fuzz_check_failure(status, &error);
    for (size_t s = 0; s < SEQUENCES; s++)
        forget(&c.kept[s], 0, c.kept[s].count);
    locus_cache_destroy(&c.cache);
    drawn_world_free(&world);
    return 0;
}
