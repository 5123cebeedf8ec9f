/* SPDX-License-Identifier: MIT */
/* Every allocation of core and algebra fails in turn: the call reports MEMORY, gives everything back, and works
 * afterwards. */
#include "algebra/group_access.h"
#include "algebra/positions_access.h"
#include <locus/locus.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Refuses allocation number `refused` (from 0). */
typedef struct budget {
    size_t calls, refused, live, bytes;
} budget;

static void *limited_allocate(void *state, size_t bytes, size_t alignment) {
    budget *b = state;
    if (b->calls++ == b->refused)
        return NULL;
    b->live++;
    b->bytes += bytes;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void limited_release(void *state, void *block, size_t bytes) {
    budget *b = state;
    b->live--;
    b->bytes -= bytes;
    free(block);
}

/* Runs `attempt` with each allocation refused in turn until none is; at least `least` must have been refused. */
static void refuse_each(locus_status (*attempt)(locus_error *), size_t least) {
    for (size_t refused = 0;; refused++) {
        budget b = {.refused = refused};
        locus_error error = {0};
        locus_allocator_set(&(locus_allocator){limited_allocate, limited_release, &b});
        locus_status status = attempt(&error);
        locus_allocator_set(NULL);
        assert_int_equal(b.live, 0);
        assert_int_equal(b.bytes, 0);
        if (b.calls <= refused) {
            assert_int_equal(status, LOCUS_OK);
            assert_true(refused >= least);
            return;
        }
        assert_int_equal(status, LOCUS_ERROR_MEMORY);
        assert_int_equal(error.status, LOCUS_ERROR_MEMORY);
        assert_non_null(strstr(error.message, "out of memory"));
    }
}

static locus_status make_group(locus_error *error) {
    locus_group *group = (locus_group *)(uintptr_t)1;
    locus_status status = locus_group_parse("grid:2*(tree:3*cycle:4)*seq", &group, error);
    assert_true((status == LOCUS_OK) == (group != NULL));
    locus_group_destroy(&group);
    return status;
}

static locus_status make_bad_group(locus_error *error) {
    locus_group *group;
    locus_status status = locus_group_parse("grid:2*(tree:3*cycle:0)", &group, error);
    assert_null(group);
    return status == LOCUS_ERROR_SPEC ? LOCUS_OK : status;
}

static locus_status make_positions(locus_error *error) {
    const size_t offsets[] = {0, 3, 7}, lengths[] = {2, 4};
    locus_group *group;
    locus_positions *positions = NULL;
    locus_status status = locus_group_parse("seq", &group, error);
    if (status != LOCUS_OK)
        return status;
    status = locus_positions_create(&positions, group, &(locus_packing){2, offsets, lengths}, NULL, error);
    locus_group_destroy(&group);
    assert_true((status == LOCUS_OK) == (positions != NULL));
    if (status == LOCUS_OK) {
        locus_positions *shared = locus_positions_share(positions);
        locus_positions_destroy(&positions);
        locus_positions_destroy(&shared);
    }
    return status;
}

static locus_status make_bad_positions(locus_error *error) {
    const size_t offsets[] = {0, 2};
    const int64_t values[] = {0, INT64_MAX};
    locus_positions *positions;
    locus_status status = locus_positions_create(&positions, NULL, &(locus_packing){1, offsets, NULL}, values, error);
    assert_null(positions);
    return status == LOCUS_ERROR_POSITION ? LOCUS_OK : status;
}

static void add_index(void *context, size_t index, size_t worker) {
    ((size_t *)context)[index] += 1 + 0 * worker;
}

static locus_status run_loop(locus_error *error) {
    size_t times[50] = {0};
    (void)error;
    locus_parallel_for(50, add_index, times);
    for (size_t i = 0; i < 50; i++)
        assert_int_equal(times[i], 1);
    return LOCUS_OK;
}

static void groups_survive(void **state) {
    (void)state;
    refuse_each(make_group, 1);
    refuse_each(make_bad_group, 1);
}

static void positions_survive(void **state) {
    (void)state;
    refuse_each(make_positions, 2);
    refuse_each(make_bad_positions, 1);
}

static void loops_allocate_nothing(void **state) {
    (void)state;
    budget b = {.refused = 0};
    locus_allocator_set(&(locus_allocator){limited_allocate, limited_release, &b});
    assert_int_equal(run_loop(NULL), LOCUS_OK);
    locus_allocator_set(NULL);
    assert_int_equal(b.calls, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_survive),
        cmocka_unit_test(positions_survive),
        cmocka_unit_test(loops_allocate_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
