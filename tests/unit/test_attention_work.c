/* SPDX-License-Identifier: MIT */
/* How attention is cut: every query (forward) or key (backward) lies in one item, the items of a task follow one
 * another, and a long sequence is split into parts of no fewer keys than are worth it. */
#include "../property/encoding_rig.h"

#include "attention/attention_work.h"

typedef struct work_case {
    size_t queries, keys, parts; /* parts: of a split sequence, 0: whole */
} work_case;

/* The sequences' places in one buffer. */
static locus_positions *make_positions(const locus_group *group, size_t count, const size_t *lengths) {
    size_t offsets[4] = {0};
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
    size_t lengths[2][4];
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_items)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
