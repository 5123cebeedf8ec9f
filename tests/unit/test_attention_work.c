/* SPDX-License-Identifier: MIT */
/* How attention is cut: every query (forward) or key (backward) lies in one item, the items of a task follow one
 * another, and a long sequence is split into parts of no fewer keys than are worth it. */
#include "../property/encoding_rig.h"

#include "attention/attention_work.h"
#include "attention_case.h"
#include "plan/limits.h"

enum { SEQUENCES = 24 };

typedef struct work_case {
    size_t queries, keys, parts; /* parts: of a split sequence, 0: whole */
} work_case;

/* The sequences' places in one buffer. */
static locus_positions *make_positions(const locus_group *group, size_t count, const size_t *lengths) {
    size_t offsets[SEQUENCES + 1] = {0};
    locus_positions *positions = NULL;
    for (size_t s = 0; s < count; s++)
        offsets[s + 1] = offsets[s] + lengths[s];
    const locus_packing packing = {sizeof packing, count, offsets, NULL};
    rig_ok(locus_positions_create(&positions, group, &packing, NULL, error));
    return positions;
}

static void check_items(const attention_schedule *schedule, const work_case *cases, size_t count, locus_pass pass) {
    size_t item = 0, rows = 0;
    for (size_t s = 0; s < count; s++) {
        const size_t all = pass == LOCUS_PASS_FORWARD ? cases[s].queries : cases[s].keys;
        const size_t parts = pass == LOCUS_PASS_FORWARD ? 0 : cases[s].parts, first = item;
        for (size_t done = 0; done < all; item++) {
            assert_true(item < schedule->item_count);
            const attention_item *one = &schedule->items[item];
            assert_int_equal(one->sequence, s);
            assert_int_equal(one->first, done);
            assert_true(one->count > 0 && one->count <= all - done);
            assert_int_equal(one->parts, item == first ? parts : 0);
            assert_true(one->partial == (parts ? rows : ATTENTION_NO_PARTIAL));
            done += one->count;
            rows += parts ? cases[s].queries : 0;
            assert_true(!parts || done == all || one->count >= ATTENTION_SPLIT_KEYS);
        }
        if (pass == LOCUS_PASS_BACKWARD)
            assert_int_equal(item - first, parts ? parts : 1);
    }
    assert_int_equal(item, schedule->item_count);
    assert_int_equal(rows, schedule->partial_rows);
    assert_int_equal(schedule->groups[0], 0);
    assert_int_equal(schedule->groups[schedule->group_count], item);
    for (size_t g = 0; g < schedule->group_count; g++)
        assert_true(schedule->groups[g] < schedule->groups[g + 1]);
}

static void check_work(const work_case *cases, size_t count, locus_pass pass) {
    rig r;
    size_t lengths[2][SEQUENCES];
    const locus_attention_options options = locus_attention_default();
    rig_bind(&r, "rope", rig_shape(2, 8, 0, 0), 1);
    for (size_t s = 0; s < count; s++)
        lengths[0][s] = cases[s].queries, lengths[1][s] = cases[s].keys;
    const locus_group *group = locus_binding_group(r.binding);
    rig_place(&r, make_positions(group, count, lengths[0]), make_positions(group, count, lengths[1]));
    attention_job job;
    const attention_call call = {.plan = r.plan, .options = &options, .dtype = LOCUS_FLOAT32, .pass = pass};
    locus_attention_job_init(&job, &call);
    const size_t bytes = locus_attention_job_place(&job, NULL);
    void *base = locus_allocate(bytes);
    assert_non_null(base);
    assert_int_equal(locus_attention_job_place(&job, base), bytes);
    check_items(&job.schedule, cases, count, pass);
    locus_release(base, bytes);
    rig_close(&r);
}

static void test_items(void **state) {
    (void)state;
    const work_case alone[] = {{2000, 600, 0}, {2000, 2047, 0}, {2000, 2048, 2},
                               {300, 3500, 3}, {4000, 9000, 4}, {9, 1, 0}};
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++) {
        check_work(&alone[i], 1, LOCUS_PASS_FORWARD);
        check_work(&alone[i], 1, LOCUS_PASS_BACKWARD);
    }
    const work_case together[] = {{20, 30, 0}, {1500, 2100, 2}, {2100, 1500, 0}};
    check_work(together, 3, LOCUS_PASS_FORWARD);
    check_work(together, 3, LOCUS_PASS_BACKWARD);
}

/* ---- every number of a schedule ----
 *
 * Worked out apart from the library, from what attention_work.c says of costs: a row of a query costs its keys, a token
 * 48 more, all of it for each head of a group, and a group is closed where it reaches its share. */

enum { MOST_STARTS = 40, CASE_SEQUENCES = 3 };

/* A call's shape, and what is made of it. */
typedef struct schedule_case {
    const char *spec;
    size_t heads, kv_heads, dim;
    locus_pass pass;
    locus_mask mask;
    size_t window, keep, count;
    work_case cases[CASE_SEQUENCES]; /* parts are not read; of SEQUENCES: 50, 87, … queries, 900, 869, … keys */
    /* items, groups, rows of partials, runs of heads, queries of an item; of decoding parts, sequences, rows of
     * partials, queries of a sequence, heads of a task, runs of heads */
    size_t want[11];
    size_t starts[MOST_STARTS]; /* the first item of each group; then, of decoding, each part's first key */
} schedule_case;

static void compare_schedule(size_t number, const schedule_case *c, const attention_schedule *s) {
    const size_t got[] = {s->item_count,     s->group_count,  s->partial_rows,    s->head_parts,
                          s->chunk,          s->part_count,   s->join_count,      s->decode_rows,
                          s->decode_queries, s->decode_heads, s->decode_head_runs};
    size_t rows = 0, joins = 0, next = 0;
    for (size_t i = 0; i < sizeof got / sizeof *got; i++)
        if (got[i] != c->want[i])
            fail_msg("case %zu: number %zu is %zu, not %zu", number, i, got[i], c->want[i]);
    for (size_t g = 0; g < s->group_count; g++)
        if (s->groups[g] != c->starts[g])
            fail_msg("case %zu: group %zu begins with %zu, not %zu", number, g, s->groups[g], c->starts[g]);
    for (size_t p = 0; p < s->part_count; p++) {
        const attention_item *part = &s->parts[p];
        const size_t keys = c->cases[part->sequence].keys, left = keys - part->first;
        assert_int_equal(part->first, c->starts[s->group_count + p]);
        assert_int_equal(part->count, left < ATTENTION_DECODE_PART ? left : ATTENTION_DECODE_PART);
        assert_int_equal(part->partial, rows);
        rows += c->cases[part->sequence].queries;
        if (p == next) { /* the first of a sequence says how many there are */
            assert_int_equal(s->joins[joins++], p);
            next += part->parts;
        } else {
            assert_int_equal(part->parts, 0);
            assert_int_equal(part->sequence, part[-1].sequence);
        }
    }
    assert_int_equal(rows, s->decode_rows);
    assert_int_equal(joins, s->join_count);
}

static void check_schedule(size_t number, const schedule_case *c) {
    rig r;
    size_t lengths[2][SEQUENCES];
    locus_attention_options options = locus_attention_default();
    locus_shape shape = rig_shape(c->heads, c->dim, 0, 0);
    options.mask = c->mask;
    options.window = c->window;
    options.keep = c->keep;
    shape.kv_heads = c->kv_heads;
    rig_bind(&r, c->spec, shape, 1);
    for (size_t s = 0; s < c->count; s++) {
        const work_case many = {50 + 37 * s, 900 - 31 * s, 0}, one = c->count == SEQUENCES ? many : c->cases[s];
        lengths[0][s] = one.queries, lengths[1][s] = one.keys;
    }
    const locus_group *group = locus_binding_group(r.binding);
    rig_place(&r, make_positions(group, c->count, lengths[0]), make_positions(group, c->count, lengths[1]));
    attention_job job;
    const attention_call call = {.plan = r.plan, .options = &options, .dtype = LOCUS_FLOAT32, .pass = c->pass};
    locus_attention_job_init(&job, &call);
    const size_t bytes = locus_attention_job_place(&job, NULL);
    void *base = locus_allocate(bytes);
    assert_non_null(base);
    assert_int_equal(locus_attention_job_place(&job, base), bytes);
    compare_schedule(number, c, &job.schedule);
    locus_release(base, bytes);
    rig_close(&r);
}

static void test_schedules(void **state) {
    (void)state;
#define FORWARD LOCUS_PASS_FORWARD
#define BACKWARD LOCUS_PASS_BACKWARD
#define FULL LOCUS_MASK_FULL
#define CAUSAL LOCUS_MASK_CAUSAL
    static const schedule_case cases[] = {
        {"rope + scores(chunk=300)",
         2,
         1,
         8,
         FORWARD,
         CAUSAL,
         0,
         0,
         2,
         {{3, 1201, 0}, {8, 604, 0}},
         {0, 0, 0, 1, 512, 4, 2, 22, 8, 1, 1},
         {768, 1024, 256, 512}},
        {"rope",
         6,
         3,
         8,
         BACKWARD,
         FULL,
         0,
         0,
         3,
         {{1, 0, 0}, {0, 1, 0}, {0, 0, 0}},
         {2, 1, 0, 1, 512, 0, 0, 0, 0, 3, 1},
         {0}},
        {"rope",
         512,
         32,
         8,
         FORWARD,
         FULL,
         0,
         0,
         2,
         {{9000, 3000, 0}, {5000, 700, 0}},
         {111, 11, 0, 1, 128, 0, 0, 0, 0, 32, 1},
         {0, 8, 16, 24, 32, 40, 48, 56, 64, 75, 106}},
        {"rope",
         512,
         32,
         8,
         FORWARD,
         CAUSAL,
         0,
         0,
         2,
         {{9000, 11000, 0}, {5000, 4000, 0}},
         {111, 10, 0, 1, 128, 0, 0, 0, 0, 32, 1},
         {0, 17, 28, 37, 44, 51, 57, 63, 68, 98}},
        {"rope",
         512,
         32,
         8,
         FORWARD,
         CAUSAL,
         300,
         0,
         2,
         {{9000, 9000, 0}, {5000, 5000, 0}},
         {111, 11, 0, 1, 128, 0, 0, 0, 0, 32, 1},
         {0, 12, 22, 32, 42, 52, 62, 74, 84, 94, 104}},
        {"rope",
         512,
         32,
         8,
         FORWARD,
         FULL,
         300,
         50,
         2,
         {{9000, 9000, 0}, {5000, 200, 0}},
         {111, 11, 0, 1, 128, 0, 0, 0, 0, 32, 1},
         {0, 8, 16, 24, 32, 40, 48, 56, 64, 76, 101}},
        {"rope + scores(chunk=100)",
         512,
         32,
         8,
         FORWARD,
         CAUSAL,
         0,
         0,
         2,
         {{9000, 9000, 0}, {5000, 5000, 0}},
         {111, 10, 0, 1, 128, 0, 0, 0, 0, 32, 1},
         {0, 11, 22, 33, 44, 55, 66, 78, 89, 100}},
        {"rope",
         4,
         2,
         8,
         FORWARD,
         FULL,
         0,
         0,
         1,
         {{3000, 70, 0}},
         {6, 6, 0, 1, 512, 0, 0, 0, 0, 2, 1},
         {0, 1, 2, 3, 4, 5}},
        {"rope",
         12,
         1,
         8,
         FORWARD,
         FULL,
         0,
         0,
         2,
         {{1000, 70, 0}, {30, 20, 0}},
         {7, 7, 0, 1, 192, 0, 0, 0, 0, 1, 1},
         {0, 1, 2, 3, 4, 5, 6}},
        {"rope",
         40,
         1,
         8,
         FORWARD,
         FULL,
         0,
         0,
         1,
         {{700, 70, 0}},
         {6, 6, 0, 1, 128, 0, 0, 0, 0, 1, 1},
         {0, 1, 2, 3, 4, 5}},
        {"rope",
         6,
         3,
         8,
         BACKWARD,
         CAUSAL,
         0,
         0,
         3,
         {{9000, 9000, 0}, {800, 5000, 0}, {300, 300, 0}},
         {7, 6, 37600, 2, 512, 0, 0, 0, 0, 3, 1},
         {0, 1, 2, 3, 5, 6}},
        {"rope",
         6,
         3,
         8,
         BACKWARD,
         FULL,
         0,
         0,
         3,
         {{2000, 9000, 0}, {0, 500, 0}, {700, 0, 0}},
         {6, 5, 8000, 2, 512, 0, 0, 0, 0, 3, 1},
         {0, 1, 2, 3, 4}},
        {"rope",
         24,
         8,
         8,
         BACKWARD,
         CAUSAL,
         200,
         0,
         3,
         {{9000, 9000, 0}, {800, 2500, 0}, {300, 300, 0}},
         {6, 5, 36000, 1, 704, 0, 0, 0, 0, 8, 1},
         {0, 1, 2, 3, 5}},
        {"rope", 32, 16, 8, BACKWARD, CAUSAL, 0, 0, 24, {{0}}, {24, 4, 0, 1, 1024, 0, 0, 0, 0, 16, 1}, {0, 6, 10, 16}},
        {"rope", 32, 16, 8, BACKWARD, FULL, 0, 0, 24, {{0}}, {24, 4, 0, 1, 1024, 0, 0, 0, 0, 16, 1}, {0, 9, 15, 21}},
        {"rope", 32, 16, 8, BACKWARD, FULL, 60, 9, 24, {{0}}, {24, 4, 0, 1, 1024, 0, 0, 0, 0, 16, 1}, {0, 5, 10, 16}},
        {"rope", 32, 16, 8, BACKWARD, CAUSAL, 60, 9, 24, {{0}}, {24, 4, 0, 1, 1024, 0, 0, 0, 0, 16, 1}, {0, 5, 10, 16}},
        {"rope", 32, 2, 8, BACKWARD, FULL, 0, 0, 1, {{60, 50, 0}}, {1, 1, 0, 16, 128, 0, 0, 0, 0, 2, 1}, {0}},
        {"rope", 32, 2, 8, BACKWARD, FULL, 0, 0, 1, {{7, 5, 0}}, {1, 1, 0, 2, 128, 0, 0, 0, 0, 2, 1}, {0}},
        /* slots of 4001 and 5001 rows of 64 floats: 16 for each of four heads are below 64 MiB, and beyond */
        {"relative(window=2000)",
         4,
         4,
         64,
         BACKWARD,
         FULL,
         0,
         0,
         24,
         {{0}},
         {24, 11, 0, 1, 1024, 0, 0, 0, 0, 4, 1},
         {0, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22}},
        {"relative(window=2500)",
         4,
         4,
         64,
         BACKWARD,
         FULL,
         0,
         0,
         24,
         {{0}},
         {24, 7, 0, 1, 1024, 0, 0, 0, 0, 4, 1},
         {0, 6, 9, 12, 15, 18, 21}},
        {"rope",
         40,
         20,
         64,
         FORWARD,
         FULL,
         0,
         0,
         3,
         {{8, 700, 0}, {9, 700, 0}, {1, 31, 0}},
         {2, 2, 0, 1, 1024, 3, 1, 24, 8, 16, 2},
         {0, 1, 0, 256, 512}},
        {"rope",
         40,
         20,
         600,
         FORWARD,
         CAUSAL,
         0,
         0,
         3,
         {{1, 32, 0}, {5, 513, 0}, {0, 99, 0}},
         {0, 0, 0, 1, 1024, 4, 2, 16, 5, 1, 20},
         {0, 0, 256, 512}},
        {"rope",
         2,
         1,
         2048,
         FORWARD,
         CAUSAL,
         300,
         0,
         2,
         {{3, 1000, 0}, {8, 1100, 0}},
         {0, 0, 0, 1, 512, 4, 2, 22, 8, 1, 1},
         {512, 768, 768, 1024}},
        {"rope",
         2,
         1,
         8,
         FORWARD,
         CAUSAL,
         200,
         300,
         2,
         {{3, 1300, 0}, {4, 250, 0}},
         {0, 0, 0, 1, 512, 5, 2, 16, 4, 1, 1},
         {0, 256, 1024, 1280, 0}},
        {"rope + scores(chunk=300)",
         2,
         1,
         8,
         FORWARD,
         CAUSAL,
         0,
         0,
         2,
         {{3, 1300, 0}, {4, 250, 0}},
         {0, 0, 0, 1, 512, 3, 2, 10, 4, 1, 1},
         {1024, 1280, 0}},
        /* of cost 4088, 4092, 4087, 4095, 4064 and 4098: a group is closed from 4091.904 on */
        {"rope", 1, 1, 8, FORWARD, FULL, 0, 0, 2, {{20, 46, 0}, {20, 46, 0}}, {2, 1, 0, 1, 512, 0, 0, 0, 0, 1, 1}, {0}},
        {"rope",
         1,
         1,
         8,
         FORWARD,
         FULL,
         0,
         0,
         2,
         {{30, 34, 0}, {30, 34, 0}},
         {2, 2, 0, 1, 512, 0, 0, 0, 0, 1, 1},
         {0, 1}},
        {"rope",
         1,
         1,
         8,
         FORWARD,
         CAUSAL,
         0,
         0,
         2,
         {{29, 49, 0}, {29, 49, 0}},
         {2, 1, 0, 1, 512, 0, 0, 0, 0, 1, 1},
         {0}},
        {"rope",
         1,
         1,
         8,
         FORWARD,
         CAUSAL,
         0,
         0,
         2,
         {{33, 47, 0}, {33, 47, 0}},
         {2, 2, 0, 1, 512, 0, 0, 0, 0, 1, 1},
         {0, 1}},
        {"rope",
         1,
         1,
         8,
         BACKWARD,
         CAUSAL,
         0,
         0,
         2,
         {{28, 40, 0}, {28, 40, 0}},
         {2, 1, 0, 1, 512, 0, 0, 0, 0, 1, 1},
         {0}},
        {"rope",
         1,
         1,
         8,
         BACKWARD,
         CAUSAL,
         0,
         0,
         2,
         {{25, 42, 0}, {25, 42, 0}},
         {2, 2, 0, 1, 512, 0, 0, 0, 0, 1, 1},
         {0, 1}},
        {"rope",
         1,
         1,
         8,
         BACKWARD,
         FULL,
         0,
         0,
         2,
         {{20, 46, 0}, {20, 46, 0}},
         {2, 1, 0, 1, 512, 0, 0, 0, 0, 1, 1},
         {0}},
        {"rope",
         1,
         1,
         8,
         BACKWARD,
         FULL,
         0,
         0,
         2,
         {{30, 34, 0}, {30, 34, 0}},
         {2, 2, 0, 1, 512, 0, 0, 0, 0, 1, 1},
         {0, 1}},
        {"rope",
         1,
         1,
         8,
         FORWARD,
         CAUSAL,
         0,
         0,
         2,
         {{53, 30, 0}, {53, 30, 0}},
         {2, 1, 0, 1, 512, 0, 0, 0, 0, 1, 1},
         {0}}, /* 4059 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_schedule(i, &cases[i]);
}

/* ---- distances that heads share ---- */

static bool shares(const locus_plan *plan) {
    const locus_attention_options options = locus_attention_default();
    attention_job job;
    locus_attention_job_init(&job, &(attention_call){.plan = plan, .options = &options, .dtype = LOCUS_FLOAT32});
    return job.distances != NULL;
}

/* Four heads, one sequence. */
static void check_shares(size_t queries, size_t keys, bool want) {
    const attention_case test = {.spec = "alibi(group=tree:3)",
                                 .heads = 4,
                                 .head_dim = 2,
                                 .sequences = 1,
                                 .query_lengths = &queries,
                                 .key_lengths = &keys};
    attention_world world;
    attention_world_make(&world, &test);
    assert_int_equal(shares(world.plan), want);
    attention_world_free(&world);
}

static void check_limits_share(const char *spec, size_t heads, size_t queries, size_t longest, bool want) {
    const locus_shape shape = rig_shape(heads, 8, 0, 0);
    const locus_workspace_limits limits = {.size = sizeof limits,
                                           .shape = &shape,
                                           .dtype = LOCUS_FLOAT32,
                                           .queries = queries,
                                           .keys = 5000,
                                           .longest_keys = longest,
                                           .depth = 5};
    locus_encoding *encoding = NULL;
    locus_limit_plan own;
    rig_ok(locus_encoding_parse(spec, &encoding, error));
    rig_ok(locus_limit_plan_open(&own, encoding, &limits, error));
    assert_int_equal(shares(own.plan), want);
    locus_limit_plan_close(&own);
    locus_encoding_destroy(&encoding);
}

/* From 2^22 pairs of all heads on; of limits, if all queries may see the longest keys. */
static void test_shared_distances(void **state) {
    (void)state;
    check_shares(1024, 1024, true);
    check_shares(1024, 1023, false);
    check_limits_share("alibi(group=tree:3)", 4, 1024, 1024, true);
    check_limits_share("alibi(group=tree:3)", 4, 1024, 1023, false);
    check_limits_share("alibi(group=tree:3)", 4, 1023, 1024, false);
    check_limits_share("alibi(group=tree:3)", 3, 1024, 1024, false);
    check_limits_share("rope + alibi", 8, 2048, 256, true);
    check_limits_share("rope", 8, 2048, 256, false);
}

/* ---- every number of a schedule of limits ---- */

typedef struct limit_case {
    const char *spec;
    size_t heads, kv_heads, dim;
    locus_pass pass;
    locus_mask mask;
    size_t window;
    size_t limits[5]; /* sequences, queries, keys, the longest ones of both */
    size_t want[14];  /* as of schedules; then the longest sequences, and how many there are, two at least */
} limit_case;

static void check_limits(size_t number, const limit_case *c) {
    locus_attention_options options = locus_attention_default();
    locus_shape shape = rig_shape(c->heads, c->dim, 0, 0);
    const locus_workspace_limits limits = {.size = sizeof limits,
                                           .shape = &shape,
                                           .dtype = LOCUS_FLOAT32,
                                           .threads = 3,
                                           .sequences = c->limits[0],
                                           .queries = c->limits[1],
                                           .keys = c->limits[2],
                                           .longest_queries = c->limits[3],
                                           .longest_keys = c->limits[4]};
    locus_encoding *encoding = NULL;
    locus_limit_plan own;
    attention_job job;
    options.mask = c->mask;
    options.window = c->window;
    shape.kv_heads = c->kv_heads;
    rig_ok(locus_encoding_parse(c->spec, &encoding, error));
    rig_ok(locus_limit_plan_open(&own, encoding, &limits, error));
    const attention_call call = {.plan = own.plan, .options = &options, .dtype = LOCUS_FLOAT32, .pass = c->pass};
    locus_attention_job_init(&job, &call);
    const attention_schedule *s = &job.schedule;
    const size_t got[] = {s->item_count,       s->group_count, s->partial_rows, s->head_parts,     s->chunk,
                          s->part_count,       s->join_count,  s->decode_rows,  s->decode_queries, s->decode_heads,
                          s->decode_head_runs, s->max_queries, s->max_keys,     job.sequences};
    for (size_t i = 0; i < sizeof got / sizeof *got; i++)
        if (got[i] != c->want[i])
            fail_msg("case %zu: number %zu is %zu, not %zu", number, i, got[i], c->want[i]);
    locus_limit_plan_close(&own);
    locus_encoding_destroy(&encoding);
}

static void test_limits(void **state) {
    (void)state;
    static const limit_case cases[] = {
        {"rope",
         8,
         4,
         64,
         FORWARD,
         FULL,
         0,
         {3, 5000, 7000, 3000, 4000},
         {12, 12, 0, 1, 512, 30, 3, 240, 8, 4, 1, 3000, 4000, 3}},
        {"rope",
         8,
         4,
         64,
         FORWARD,
         FULL,
         0,
         {1, 5000, 0, 0, 0},
         {10, 10, 0, 1, 512, 20, 1, 160, 8, 4, 1, 5000, 5000, 2}},
        {"rope",
         40,
         4,
         8,
         FORWARD,
         FULL,
         0,
         {30, 60, 9000, 0, 900},
         {30, 30, 0, 1, 256, 65, 30, 240, 8, 4, 1, 60, 900, 30}},
        {"rope",
         8,
         4,
         64,
         FORWARD,
         CAUSAL,
         0,
         {30, 700, 640, 5, 0},
         {30, 30, 0, 1, 1024, 22, 20, 110, 5, 4, 1, 5, 640, 30}},
        {"rope",
         8,
         4,
         64,
         FORWARD,
         FULL,
         0,
         {300, 100, 31, 9, 0},
         {100, 100, 0, 1, 1024, 0, 0, 0, 0, 4, 1, 9, 31, 300}},
        {"rope",
         8,
         4,
         64,
         FORWARD,
         FULL,
         0,
         {10, 100, 7000, 9, 32},
         {10, 10, 0, 1, 1024, 10, 10, 80, 8, 4, 1, 9, 32, 10}},
        {"relative(window=4)",
         8,
         4,
         64,
         FORWARD,
         FULL,
         0,
         {10, 100, 7000, 9, 320},
         {10, 10, 0, 1, 1024, 0, 0, 0, 0, 4, 1, 9, 320, 10}},
        {"rope",
         12,
         3,
         64,
         BACKWARD,
         FULL,
         0,
         {3, 5000, 7000, 3000, 4000},
         {37, 9, 15000, 4, 512, 0, 0, 0, 0, 3, 1, 3000, 4000, 3}},
        {"rope",
         12,
         3,
         64,
         BACKWARD,
         CAUSAL,
         100,
         {3, 5000, 7000, 30, 4000},
         {99, 9, 360, 4, 512, 0, 0, 0, 0, 3, 1, 30, 4000, 3}},
        {"rope",
         12,
         3,
         64,
         BACKWARD,
         FULL,
         0,
         {9, 300, 20000, 90, 2047},
         {52, 24, 0, 4, 512, 0, 0, 0, 0, 3, 1, 90, 2047, 9}},
        {"rope", 12, 3, 64, BACKWARD, FULL, 0, {2, 3, 0, 0, 0}, {26, 2, 0, 4, 512, 0, 0, 0, 0, 3, 1, 3, 3, 2}},
        {"rope",
         64,
         32,
         64,
         BACKWARD,
         FULL,
         0,
         {9, 30000, 20000, 9000, 9000},
         {33, 5, 18000, 1, 1024, 0, 0, 0, 0, 16, 2, 9000, 9000, 9}},
        {"relative(window=2500)",
         8,
         4,
         64,
         BACKWARD,
         FULL,
         0,
         {50, 3000, 8000, 900, 2500},
         {77, 9, 6000, 2, 1024, 0, 0, 0, 0, 4, 1, 900, 2500, 50}},
        {"relative(window=3, values=on) + roper",
         8,
         4,
         64,
         BACKWARD,
         FULL,
         0,
         {5, 3000, 8000, 900, 2500},
         {32, 12, 0, 2, 1024, 0, 0, 0, 0, 4, 1, 900, 2500, 5}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_limits(i, &cases[i]);
}

static size_t bound_of(const char *spec) {
    const locus_shape shape = rig_shape(2, 8, 0, 0);
    const locus_workspace_limits limits = {
        .size = sizeof limits, .shape = &shape, .dtype = LOCUS_FLOAT32, .threads = 2, .queries = 300, .keys = 200};
    const locus_attention_options options = locus_attention_default();
    locus_encoding *encoding = NULL;
    size_t bytes = 0;
    rig_ok(locus_encoding_parse(spec, &encoding, error));
    rig_ok(locus_attention_workspace_bound(encoding, &limits, &options, LOCUS_PASS_BACKWARD, &bytes, error));
    locus_encoding_destroy(&encoding);
    return bytes;
}

/* Each term is as large as it may get, wherever it stands in the sum. */
static void test_limits_of_every_term(void **state) {
    (void)state;
    const size_t last = bound_of("alibi + fire"), first = bound_of("fire + alibi");
    assert_int_equal(last, first);
    assert_true(first > bound_of("alibi + decay"));
}

/* ---- rectangles of a bias's gradient ---- */

enum { EXTENTS = 4, MOST_ELEMENTS = 2 * 3 * 300 * 260 };

/* Sequences, heads, queries and keys of a bias; of a batch there are 2 sequences and 3 heads. */
static void check_rectangles(const int64_t *shape, size_t rows, size_t keys, size_t want_rows, size_t want_tasks) {
    static unsigned char times[MOST_ELEMENTS];
    const locus_tensor tensor = locus_tensor_view(times, LOCUS_FLOAT32, EXTENTS, shape);
    const attention_bias bias = locus_attention_bias_of(&tensor);
    const attention_bias_cut cut = locus_attention_bias_cut(&bias, rows, keys);
    assert_int_equal(cut.keys, keys);
    assert_int_equal(cut.rows, want_rows);
    assert_int_equal(cut.tasks, want_tasks);
    memset(times, 0, sizeof times);
    for (size_t task = 0; task < cut.tasks; task++) {
        const attention_bias_rectangle r = locus_attention_bias_rectangle(&bias, &cut, task, 2, 3);
        const bool one_sequence = shape[0] == 1, one_head = shape[1] == 1;
        assert_int_equal(r.first_sequence, one_sequence ? 0 : r.sequence);
        assert_int_equal(r.end_sequence, one_sequence ? 2 : r.sequence + 1);
        assert_int_equal(r.first_head, one_head ? 0 : r.head);
        assert_int_equal(r.end_head, one_head ? 3 : r.head + 1);
        assert_true(r.one_row == (shape[2] == 1) && r.one_key == (shape[3] == 1));
        assert_true((r.one_row && r.end_row == SIZE_MAX) || r.end_row - r.first_row == want_rows);
        assert_true((r.one_key && r.end_key == SIZE_MAX) || r.end_key - r.first_key == keys);
        for (size_t i = r.first_row; i < r.end_row && i < (size_t)shape[2]; i++)
            for (size_t j = r.first_key; j < r.end_key && j < (size_t)shape[3]; j++)
                times[((r.sequence * (size_t)shape[1] + r.head) * (size_t)shape[2] + i) * (size_t)shape[3] + j]++;
    }
    for (size_t i = 0; i < (size_t)locus_tensor_count(&tensor); i++)
        assert_int_equal(times[i], 1);
}

/* With fewer than 64 tasks rectangles get half the queries, down to 16. */
static void test_rectangles(void **state) {
    (void)state;
    check_rectangles((const int64_t[]){2, 3, 300, 260}, 256, 128, 64, 2 * 3 * 5 * 3);
    check_rectangles((const int64_t[]){2, 3, 300, 260}, 256, 512, 16, 2 * 3 * 19);
    check_rectangles((const int64_t[]){2, 3, 176, 260}, 256, 512, 16, 2 * 3 * 11);
    check_rectangles((const int64_t[]){2, 1, 256, 260}, 64, 130, 16, 2 * 16 * 2);
    check_rectangles((const int64_t[]){2, 1, 257, 260}, 64, 130, 16, 2 * 17 * 2);
    check_rectangles((const int64_t[]){2, 1, 300, 260}, 64, 32, 64, 2 * 5 * 9);
    check_rectangles((const int64_t[]){1, 3, 1, 260}, 256, 100, 16, 3 * 3);
    check_rectangles((const int64_t[]){1, 1, 300, 1}, 256, 512, 16, 19);
    check_rectangles((const int64_t[]){1, 1, 1, 1}, 64, 512, 16, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_items),
                                       cmocka_unit_test(test_schedules),
                                       cmocka_unit_test(test_shared_distances),
                                       cmocka_unit_test(test_limits),
                                       cmocka_unit_test(test_limits_of_every_term),
                                       cmocka_unit_test(test_rectangles)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
