/* SPDX-License-Identifier: MIT */
/* What a cache keeps of positions (plan/growing.h) against plain lists: tokens that come, are counted, stay or go, keys
 * that are cut off, taken out, moved and copied, whole positions that turn real; after each of many drawn steps all
 * keys, all new tokens, spans, bounds and the two levels of what turns them. */
#include "../property/encoding_rig.h"
#include "plan/growing_inside.h"

#include <stdio.h>

enum { SEQUENCES = 3, CAPACITY = 90, AXES = 2, TOKENS = 40, STEPS = 500 };

typedef struct place {
    double at[AXES];
} place;

/* All that there should be. */
typedef struct model {
    size_t axes, length[SEQUENCES], tokens;
    int64_t cycle; /* 0: an axis */
    place kept[SEQUENCES][CAPACITY], query[TOKENS];
    locus_positions_run run[SEQUENCES]; /* of new tokens */
    bool real, entered, keeps;
    double low[AXES], high[AXES]; /* of all that were ever met, rounded down */
} model;

static uint64_t draws;

static size_t below(size_t count) {
    const locus_random stream = {.seed = 8, .purpose = LOCUS_RANDOM_USER};
    return (size_t)(locus_random_uniform(&stream, draws++) * (double)count);
}

/* ---- checks ---- */

static void check_kept(const locus_growing *g, const model *m) {
    for (size_t s = 0; s < SEQUENCES; s++) {
        assert_int_equal(locus_growing_length(g, s), m->length[s]);
        for (size_t i = 0; i < m->length[s]; i++)
            for (size_t c = 0; c < m->axes; c++) {
                const locus_growing_column *column = &g->columns[c];
                const double want = m->kept[s][i].at[c];
                assert_true((double)column->keys[locus_growing_row(g, s, i)] == floor(want));
                assert_true(!m->real || column->key_reals[locus_growing_row(g, s, i)] == want);
            }
    }
}

/* The new tokens as what turns them has them. */
static void check_fresh(const locus_growing *g, const model *m, size_t c) {
    const locus_placement *item = &locus_growing_fresh(g)->places.items[c];
    const locus_token_side *side = &item->query;
    double reach = 0;
    for (size_t s = 0, used = 0, r = 0; s < SEQUENCES; s++) {
        if (m->run[s].count == 0)
            continue;
        assert_true(side->runs[r].first == m->run[s].first && side->runs[r].count == m->run[s].count);
        assert_int_equal(side->runs[r++].before, used);
        used += m->run[s].count;
        assert_true(s + 1 < SEQUENCES || side->used == used);
        for (size_t i = m->run[s].count; i-- > 0;) {
            const size_t t = m->run[s].first + i;
            const double at = m->query[t].at[c];
            const bool follows = i + 1 < m->run[s].count && floor(m->query[t + 1].at[c]) - floor(at) == 1;
            const double coarse =
                m->real ? item->coarse_reals[side->coarse[t]] : 64 * (double)item->coarse[side->coarse[t]];
            assert_true(side->coarse[t] < item->coarse_count && side->fine[t] < 64);
            assert_true(coarse + (double)side->fine[t] == at);
            assert_int_equal(side->ahead[t], follows ? side->ahead[t + 1] + 1 : 1);
            reach = fmax(reach, fabs(floor(at)));
        }
        assert_true(item->spans[s].query_first == m->run[s].first && item->spans[s].query_count == m->run[s].count);
    }
    assert_true(item->reach == reach + (double)m->real);
    assert_true(item->coarse_count > 0 && side->tokens == m->tokens);
    for (size_t i = 0; i + 1 < item->coarse_count && !m->real; i++)
        assert_true(item->coarse[i] < item->coarse[i + 1]);
}

static void check_new(const locus_growing *g, const model *m) {
    assert_int_equal(locus_growing_entered(g), m->entered);
    assert_int_equal(locus_growing_tokens(g), m->tokens);
    for (size_t s = 0; s < SEQUENCES; s++) {
        const locus_positions_run run = locus_growing_run(g, s);
        assert_int_equal(run.count, m->run[s].count);
        assert_true(run.count == 0 || run.first == m->run[s].first);
        for (size_t t = run.first; t < run.first + run.count; t++)
            for (size_t c = 0; c < m->axes; c++) {
                assert_true((double)g->columns[c].queries[t] == floor(m->query[t].at[c]));
                assert_true(!m->real || g->columns[c].query_reals[t] == m->query[t].at[c]);
            }
        if (m->entered) {
            const locus_sequence_span *span = &locus_growing_kept(g)->places.items[0].spans[s];
            assert_true(span->query_count == run.count && span->key_count == m->length[s]);
            assert_int_equal(span->key_first, s * CAPACITY);
        }
    }
    for (size_t c = 0; c < m->axes && m->entered; c++)
        check_fresh(g, m, c);
}

/* The smallest power of two from 64 on; on one coordinate no less than the capacity. */
static void check_bounds(const locus_growing *g, const model *m) {
    for (size_t c = 0; c < m->axes; c++) {
        int64_t bound = m->axes == 1 ? 128 : 64;
        while (m->low[c] <= m->high[c] &&
               ((double)bound < m->high[c] - m->low[c] || (double)bound < m->high[c] || (double)bound < -m->low[c]))
            bound *= 2;
        const locus_placement *item = &locus_growing_kept(g)->places.items[c];
        assert_int_equal(g->columns[c].bound, bound);
        assert_true(item->reach == (double)bound && item->farthest_apart == bound && item->nearest_apart == -bound);
    }
}

/* ---- steps ---- */

static void meet(model *m, const place *p) {
    for (size_t c = 0; c < m->axes; c++) {
        m->low[c] = fmin(m->low[c], floor(p->at[c]));
        m->high[c] = fmax(m->high[c], floor(p->at[c]));
    }
}

static void forget(model *m) {
    m->entered = m->keeps = false;
    m->tokens = 0;
    memset(m->run, 0, sizeof m->run);
}

static void keep_new(model *m) {
    for (size_t s = 0; s < SEQUENCES; s++)
        for (size_t i = 0; i < m->run[s].count; i++) {
            meet(m, &m->query[m->run[s].first + i]);
            if (m->keeps)
                m->kept[s][m->length[s]++] = m->query[m->run[s].first + i];
        }
}

static place draw_place(const model *m, int64_t reach, bool real) {
    place p = {{0}};
    for (size_t c = 0; c < m->axes; c++) {
        const int64_t value =
            m->cycle ? (int64_t)below((size_t)m->cycle) : (int64_t)below(2 * (size_t)reach + 1) - reach;
        p.at[c] = (double)value + (real ? (double)below(4) / 4 : 0);
    }
    return p;
}

static void enter_given(locus_growing *g, model *m, const locus_group *group, bool real) {
    size_t first[SEQUENCES + 1], count[SEQUENCES];
    double reals[TOKENS * AXES] = {0};
    int64_t values[TOKENS * AXES] = {0};
    locus_positions *positions = NULL;
    const bool keep = below(3) > 0;
    const int64_t reach = below(20) == 0 ? 5000 : below(4) == 0 ? 300 : 40;
    size_t tokens = 0;
    for (size_t s = 0; s < SEQUENCES; s++) {
        const size_t left = CAPACITY - m->length[s], most = left < 6 ? left : 6;
        first[s] = tokens;
        count[s] = below(most + 1);
        tokens += count[s] + below(2);
    }
    first[SEQUENCES] = tokens;
    forget(m);
    m->tokens = tokens;
    bool parts = false; /* whole numbers are integers, however they are given */
    for (size_t s = 0; s < SEQUENCES; s++) {
        m->run[s] = (locus_positions_run){first[s], count[s]};
        for (size_t t = first[s]; t < first[s] + count[s]; t++) {
            m->query[t] = draw_place(m, reach, real);
            if (below(2) == 0 && t > first[s] && !m->cycle)
                for (size_t c = 0; c < m->axes; c++)
                    m->query[t].at[c] = m->query[t - 1].at[c] + 1;
            for (size_t c = 0; c < m->axes; c++) {
                reals[t * m->axes + c] = m->query[t].at[c];
                values[t * m->axes + c] = (int64_t)floor(m->query[t].at[c]);
                parts = parts || m->query[t].at[c] != floor(m->query[t].at[c]);
            }
        }
    }
    const locus_packing packing = {sizeof packing, SEQUENCES, first, count};
    if (real)
        rig_ok(locus_positions_create_real(&positions, group, &packing, reals, error));
    else
        rig_ok(locus_positions_create(&positions, group, &packing, values, error));
    rig_ok(locus_growing_check(g, positions, keep, error));
    rig_ok(locus_growing_enter(g, positions, keep, error));
    m->real = m->real || parts;
    m->entered = true;
    m->keeps = keep;
    keep_new(m);
    check_bounds(g, m);
    locus_positions_destroy(&positions);
}

static void enter_counted(locus_growing *g, model *m) {
    bool keep = below(2) == 0;
    for (size_t s = 0; s < SEQUENCES; s++)
        keep = keep && m->length[s] < CAPACITY;
    rig_ok(locus_growing_check(g, NULL, keep, error));
    rig_ok(locus_growing_enter(g, NULL, keep, error));
    forget(m);
    for (size_t s = 0; s < SEQUENCES; s++) {
        const size_t length = m->length[s];
        double next = length > 0 ? m->kept[s][length - 1].at[0] + 1 : 0;
        next = m->cycle && next == (double)m->cycle ? 0 : next;
        m->query[s].at[0] = next;
        m->run[s] = (locus_positions_run){s, 1};
    }
    m->tokens = SEQUENCES;
    m->entered = true;
    m->keeps = keep;
    keep_new(m);
    check_bounds(g, m);
}

/* After keys have moved: new tokens that are keys move along. */
static void follow(model *m, size_t s) {
    for (size_t i = 0; m->keeps && i < m->run[s].count; i++) {
        m->query[m->run[s].first + i] = m->kept[s][m->length[s] - m->run[s].count + i];
        meet(m, &m->query[m->run[s].first + i]);
    }
}

static void truncate_one(locus_growing *g, model *m) {
    const size_t s = below(SEQUENCES), length = below(m->length[s] + 1);
    const bool cuts = length < m->length[s];
    locus_growing_truncate(g, s, length);
    m->length[s] = length;
    if (cuts && m->keeps && m->run[s].count > 0)
        forget(m);
}

static locus_path *draw_shift(const model *m, const locus_group *group, place *by) {
    static const int64_t amounts[] = {1, -1, 7, -30, 400};
    char text[64];
    locus_path *path = NULL;
    for (size_t c = 0; c < m->axes; c++)
        by->at[c] = (double)amounts[below(sizeof amounts / sizeof *amounts)];
    if (m->axes == 1)
        (void)snprintf(text, sizeof text, "%.0f", by->at[0]);
    else
        (void)snprintf(text, sizeof text, "(%.0f,%.0f)", by->at[0], by->at[1]);
    rig_ok(locus_path_parse(group, text, &path, error));
    return path;
}

static place shifted(const model *m, place p, const place *by) {
    for (size_t c = 0; c < m->axes; c++) {
        p.at[c] += by->at[c];
        if (m->cycle)
            p.at[c] -= floor(p.at[c] / (double)m->cycle) * (double)m->cycle;
    }
    return p;
}

static void evict_some(locus_growing *g, model *m, const locus_group *group) {
    const size_t s = below(SEQUENCES), length = m->length[s], first = below(length + 1);
    const size_t count = below(length - first + 1), own = m->keeps ? m->run[s].count : 0;
    const bool goes = count > 0 && first + count > length - own;
    place by = {{0}};
    locus_path *shift = below(2) ? draw_shift(m, group, &by) : NULL;
    rig_ok(locus_growing_check_shift(g, s, first + count, length - first - count, shift, error));
    rig_ok(locus_growing_evict(g, s, first, count, shift, error));
    for (size_t i = first; i + count < length; i++) {
        m->kept[s][i] = shift ? shifted(m, m->kept[s][i + count], &by) : m->kept[s][i + count];
        meet(m, &m->kept[s][i]);
    }
    m->length[s] = length - count;
    if (goes)
        forget(m);
    else
        follow(m, s);
    locus_path_destroy(&shift);
}

static void insert_some(locus_growing *g, model *m, const locus_growing *from, const model *source,
                        const locus_group *group) {
    const size_t s = below(SEQUENCES), other = below(SEQUENCES), first = below(source->length[other] + 1);
    const size_t left = CAPACITY - m->length[s], there = source->length[other] - first;
    place by = {{0}};
    locus_path *shift = below(2) ? draw_shift(m, group, &by) : NULL;
    const locus_growing_part part = {from, other, first, below((left < there ? left : there) + 1), shift};
    const bool real = source->real;
    rig_ok(locus_growing_insert(g, s, &part, error));
    m->real = m->real || real;
    for (size_t i = 0; i < part.count; i++) {
        const place p = source->kept[other][first + i];
        m->kept[s][m->length[s]] = shift ? shifted(m, p, &by) : p;
        meet(m, &m->kept[s][m->length[s]++]);
    }
    forget(m);
    locus_path_destroy(&shift);
}

static void check_encoding(const char *spec, bool reals) {
    const locus_growing_options options = {SEQUENCES, CAPACITY, 0};
    static model models[2];
    locus_growing *growing[2] = {NULL, NULL};
    rig r;
    rig_bind(&r, spec, rig_shape(2, 4, 0, 0), 1);
    const locus_group *group = locus_binding_group(r.binding);
    for (size_t i = 0; i < 2; i++) {
        rig_ok(locus_growing_create(&growing[i], r.binding, &options, error));
        models[i] = (model){.axes = locus_group_coordinates(group)};
        models[i].cycle = locus_group_coordinate(group, 0).size;
        for (size_t c = 0; c < AXES; c++)
            models[i].low[c] = INFINITY, models[i].high[c] = -INFINITY;
    }
    for (size_t step = 0; step < STEPS; step++) {
        const size_t which = below(2);
        locus_growing *g = growing[which];
        model *m = &models[which];
        const size_t kind = below(12);
        if (kind < 5)
            enter_given(g, m, group, reals && step > STEPS / 2 && below(3) == 0);
        else if (kind < 7 && m->axes == 1)
            enter_counted(g, m);
        else if (kind == 7)
            truncate_one(g, m);
        else if (kind < 10)
            evict_some(g, m, group);
        else if (kind == 10)
            insert_some(g, m, growing[1 - which], &models[1 - which], group);
        else {
            for (size_t s = 0; s < SEQUENCES && m->keeps; s++)
                m->length[s] -= m->run[s].count;
            locus_growing_leave(g);
            forget(m);
        }
        check_kept(g, m);
        check_new(g, m);
    }
    for (size_t i = 0; i < 2; i++)
        locus_growing_destroy(&growing[i]);
    rig_close(&r);
}

static void caches_keep_what_lists_keep(void **state) {
    (void)state;
    check_encoding("alibi", true);
    check_encoding("decay(group=grid:2)", true);
    check_encoding("decay(group=cycle:7)", false);
}

/* At a power of two, and one beyond. */
static void bounds_are_powers_of_two(void **state) {
    static const struct {
        int64_t values[2], bound;
    } cases[] = {{{5, 5}, 128},     {{0, 128}, 128},  {{0, 129}, 256},  {{100, 129}, 256},  {{-128, 0}, 128},
                 {{-129, -1}, 256}, {{-64, 64}, 128}, {{-64, 65}, 256}, {{-600, 424}, 1024}};
    const locus_growing_options options = {1, CAPACITY, 0};
    rig r;
    (void)state;
    rig_bind(&r, "alibi", rig_shape(2, 4, 0, 0), 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        locus_growing *g = NULL;
        locus_positions *positions = rig_positions(cases[i].values, 2);
        rig_ok(locus_growing_create(&g, r.binding, &options, error));
        rig_ok(locus_growing_enter(g, positions, i % 2 == 0, error));
        assert_int_equal(g->columns[0].bound, cases[i].bound);
        locus_growing_destroy(&g);
        locus_positions_destroy(&positions);
    }
    rig_close(&r);
}

/* ---- what it all takes ---- */

static size_t held;

static void *count_bytes(void *own, size_t bytes, size_t alignment) {
    (void)own;
    held += bytes;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void count_back(void *own, void *block, size_t bytes) {
    (void)own;
    held -= bytes;
    free(block);
}

/* All bytes that are held are told, but those of the binding, the group and positions, which are others'. */
static void bytes_are_all_that_is_held(void **state) {
    static const char *const specs[] = {"alibi", "rope + kerple", "algebraic(group=grid:2, decay=0.9)", "none"};
    const locus_allocator counting = {sizeof counting, count_bytes, count_back, NULL};
    const locus_growing_options options = {SEQUENCES, CAPACITY, 0};
    (void)state;
    rig_ok(locus_allocator_set(&counting, error));
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        static const int64_t values[2 * 40] = {3, 1, 4, 1, 5, 9, 2, 6, 500, 7};
        static const size_t first[SEQUENCES + 1] = {0, 20, 20, 40};
        const locus_packing packing = {sizeof packing, SEQUENCES, first, NULL};
        locus_positions *positions = NULL;
        locus_growing *g = NULL;
        rig r;
        rig_bind(&r, specs[i], rig_shape(2, 8, 0, 0), 1);
        const locus_group *group = locus_binding_group(r.binding);
        rig_ok(locus_positions_create(&positions, group, &packing, values, error));
        const size_t before = held;
        rig_ok(locus_growing_create(&g, r.binding, &options, error));
        assert_int_equal(locus_growing_bytes(g), held - before);
        for (size_t times = 0; times < 3; times++) {
            rig_ok(locus_growing_enter(g, positions, times > 0, error));
            assert_int_equal(locus_growing_bytes(g), held - before);
        }
        rig_ok(locus_growing_turn_real(g, error));
        assert_int_equal(locus_growing_bytes(g), held - before);
        locus_growing_destroy(&g);
        assert_int_equal(held, before);
        locus_positions_destroy(&positions);
        rig_close(&r);
    }
    assert_int_equal(held, 0);
    rig_ok(locus_allocator_set(NULL, error));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(caches_keep_what_lists_keep),
                                       cmocka_unit_test(bounds_are_powers_of_two),
                                       cmocka_unit_test(bytes_are_all_that_is_held)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
