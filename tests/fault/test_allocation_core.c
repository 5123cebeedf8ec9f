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
        assert_int_equal(locus_allocator_set(
                             &(locus_allocator){sizeof(locus_allocator), limited_allocate, limited_release, &b}, NULL),
                         LOCUS_OK);
        locus_status status = attempt(&error);
        assert_int_equal(locus_allocator_set(NULL, NULL), LOCUS_OK);
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
    status = locus_positions_create(&positions, group, &(locus_packing){sizeof(locus_packing), 2, offsets, lengths},
                                    NULL, error);
    locus_group_destroy(&group);
    assert_true((status == LOCUS_OK) == (positions != NULL));
    if (status == LOCUS_OK) {
        locus_positions *shared = locus_positions_retain(positions);
        locus_positions_destroy(&positions);
        locus_positions_destroy(&shared);
    }
    return status;
}

/* Bounds of workspaces, for which a binding, positions and a plan are made and given back. */
static locus_status make_bounds(const char *spec, locus_error *error) {
    const locus_shape shape = {.size = sizeof shape, .heads = 2, .head_dim = 8, .model_dim = 16};
    const locus_workspace_limits limits = {.size = sizeof limits,
                                           .shape = &shape,
                                           .dtype = LOCUS_FLOAT32,
                                           .threads = 2,
                                           .sequences = 3,
                                           .queries = 40,
                                           .keys = 30,
                                           .depth = 4};
    const locus_attention_options options = locus_attention_default();
    locus_encoding *encoding = NULL;
    size_t bytes = 1;
    locus_status status = locus_encoding_parse(spec, &encoding, error);
    for (int call = 0; status == LOCUS_OK && call < 3; call++, bytes = status == LOCUS_OK) {
        status = call < 2
                     ? locus_attention_workspace_bound(encoding, &limits, &options, (locus_pass)call, &bytes, error)
                     : locus_apply_workspace_bound(encoding, &limits, LOCUS_ROLE_KEY, &bytes, error);
        assert_true((status == LOCUS_OK) == (bytes > 0));
    }
    locus_encoding_destroy(&encoding);
    return status;
}

static locus_status bound_lines(locus_error *error) {
    return make_bounds("rope(learned=on) + alibi + decay(rate=0.9, learned=on)", error);
}

static locus_status bound_tables(locus_error *error) {
    return make_bounds("relative(window=3, values=on) + liere(group=seq)", error);
}

static locus_status bound_trees(locus_error *error) {
    return make_bounds("algebraic(group=tree:2*seq, split=4:4, values=on) + alibi(group=tree:2*seq)", error);
}

static locus_status make_kind(locus_error *error) {
    locus_attention_kind *kind = NULL;
    const locus_status status = locus_attention_kind_parse("soft(landmarks=7)", &kind, error);
    assert_true((status == LOCUS_OK) == (kind != NULL));
    locus_attention_kind_destroy(&kind);
    return status;
}

static locus_status make_real_positions(locus_error *error) {
    const size_t offsets[] = {0, 3, 7}, lengths[] = {2, 4};
    const double values[] = {0.5, 1, 0, -2.25, 3, 4, 5};
    locus_positions *positions = NULL;
    locus_status status = locus_positions_create_real(
        &positions, NULL, &(locus_packing){sizeof(locus_packing), 2, offsets, lengths}, values, error);
    assert_true((status == LOCUS_OK) == (positions != NULL));
    locus_positions_destroy(&positions);
    return status;
}

/* A product with a tree whose trie has to grow. */
static locus_status make_tree_positions(locus_error *error) {
    enum { NODES = 100 };
    size_t parents[NODES];
    int64_t branches[NODES], values[NODES], axis[NODES];
    for (size_t i = 0; i < NODES; i++) {
        parents[i] = i ? i - 1 : 0;
        branches[i] = 1 + (int64_t)(i % 3);
        values[i] = axis[i] = (int64_t)i;
    }
    const size_t offsets[] = {0, NODES};
    const locus_position_column columns[] = {{.size = sizeof(locus_position_column), .values = axis},
                                             {.size = sizeof(locus_position_column),
                                              .values = values,
                                              .branches = branches,
                                              .parents = parents,
                                              .node_count = NODES}};
    locus_group *group;
    locus_positions *positions;
    locus_path *path = NULL;
    locus_status status = locus_group_parse("seq*tree:3", &group, error);
    if (status != LOCUS_OK)
        return status;
    status = locus_positions_create_columns(&positions, group,
                                            &(locus_packing){sizeof(locus_packing), 1, offsets, NULL}, columns, error);
    locus_group_destroy(&group);
    assert_true((status == LOCUS_OK) == (positions != NULL));
    if (status == LOCUS_OK)
        status = locus_positions_path(positions, NODES - 1, &path, error);
    assert_true((status == LOCUS_OK) == (path != NULL));
    locus_path_destroy(&path);
    locus_positions_destroy(&positions);
    return status;
}

static locus_status work_with_paths(locus_error *error) {
    const size_t offsets[] = {0, 2};
    locus_group *group = NULL;
    locus_path *a = NULL, *b = NULL, *sum = NULL, *back = NULL;
    locus_positions *positions = NULL;
    int64_t length;
    locus_status status = locus_group_parse("seq*tree:3", &group, error);
    if (status == LOCUS_OK)
        status = locus_path_parse(group, "(1,1+2)", &a, error);
    if (status == LOCUS_OK)
        status = locus_path_parse(group, "(2,-2+3)", &b, error);
    if (status == LOCUS_OK)
        status = locus_path_compose(a, b, &sum, error);
    if (status == LOCUS_OK)
        status = locus_path_inverse(sum, &back, error);
    if (status == LOCUS_OK)
        status = locus_path_distance(sum, back, &length, error);
    const locus_path *const paths[] = {sum, back};
    if (status == LOCUS_OK)
        status = locus_positions_create_paths(&positions, group,
                                              &(locus_packing){sizeof(locus_packing), 1, offsets, NULL}, paths, error);
    locus_positions_destroy(&positions);
    locus_path_destroy(&back);
    locus_path_destroy(&sum);
    locus_path_destroy(&b);
    locus_path_destroy(&a);
    locus_group_destroy(&group);
    return status;
}

/* A step that finds no memory leaves the trie as it was, and works when it is taken again. */
static void steps_can_be_taken_again(void **state) {
    (void)state;
    locus_trie *trie;
    budget b = {.refused = SIZE_MAX};
    assert_int_equal(
        locus_allocator_set(&(locus_allocator){sizeof(locus_allocator), limited_allocate, limited_release, &b}, NULL),
        LOCUS_OK);
    assert_int_equal(locus_trie_create(&trie, NULL), LOCUS_OK);
    uint32_t node = LOCUS_TRIE_ROOT, refusals = 0;
    while (locus_trie_look(trie).count < 1000) {
        const uint32_t count = locus_trie_look(trie).count;
        uint32_t next;
        b.refused = b.calls; /* the next one */
        if (locus_trie_step(trie, node, 5, &next, NULL) == LOCUS_ERROR_MEMORY) {
            refusals++;
            assert_int_equal(locus_trie_look(trie).count, count);
            b.refused = SIZE_MAX;
            assert_int_equal(locus_trie_step(trie, node, 5, &next, NULL), LOCUS_OK);
        }
        assert_int_equal(locus_trie_look(trie).count, count + 1);
        node = next;
    }
    assert_true(refusals > 3);
    for (uint32_t i = 1; i < 1000; i++)
        assert_int_equal(locus_trie_look(trie).parent[i], i - 1);
    locus_trie_destroy(&trie);
    assert_int_equal(locus_allocator_set(NULL, NULL), LOCUS_OK);
    assert_int_equal(b.live, 0);
    assert_int_equal(b.bytes, 0);
}

static locus_status make_bad_positions(locus_error *error) {
    const size_t offsets[] = {0, 2};
    const int64_t values[] = {0, INT64_MAX};
    locus_positions *positions;
    locus_status status = locus_positions_create(
        &positions, NULL, &(locus_packing){sizeof(locus_packing), 1, offsets, NULL}, values, error);
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
    refuse_each(make_kind, 1);
    refuse_each(make_real_positions, 3);
    refuse_each(make_bad_positions, 1);
    refuse_each(make_tree_positions, 8);
}

static void bounds_survive(void **state) {
    (void)state;
    refuse_each(bound_lines, 20);
    refuse_each(bound_tables, 20);
    refuse_each(bound_trees, 20);
}

static void paths_survive(void **state) {
    (void)state;
    refuse_each(work_with_paths, 8);
}

static void loops_allocate_nothing(void **state) {
    (void)state;
    budget b = {.refused = 0};
    assert_int_equal(
        locus_allocator_set(&(locus_allocator){sizeof(locus_allocator), limited_allocate, limited_release, &b}, NULL),
        LOCUS_OK);
    assert_int_equal(run_loop(NULL), LOCUS_OK);
    assert_int_equal(locus_allocator_set(NULL, NULL), LOCUS_OK);
    assert_int_equal(b.calls, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_survive),         cmocka_unit_test(positions_survive),
        cmocka_unit_test(paths_survive),          cmocka_unit_test(steps_can_be_taken_again),
        cmocka_unit_test(loops_allocate_nothing), cmocka_unit_test(bounds_survive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
