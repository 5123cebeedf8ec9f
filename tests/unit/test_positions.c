/* SPDX-License-Identifier: MIT */
/* Packed positions on every group: what is kept, the ways to give it, and everything that is refused. */
#include "algebra/positions_access.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST ((int64_t)1 << 62)

static void expect_failure(const locus_group *group, const locus_packing *packing, const int64_t *values,
                           locus_status status, const char *part) {
    locus_positions *positions = (locus_positions *)(uintptr_t)1;
    locus_error error = {0};
    assert_int_equal(locus_positions_create(&positions, group, packing, values, &error), status);
    assert_null(positions);
    assert_int_equal(error.status, status);
    if (!strstr(error.message, part))
        fail_msg("expected '%s' in: %s", part, error.message);
    assert_int_equal(locus_positions_create(&positions, group, packing, values, NULL), status);
}

static void counted_positions_start_afresh_in_each_sequence(void **state) {
    (void)state;
    const size_t offsets[] = {0, 3, 3, 5, 9};
    locus_positions *p;
    assert_int_equal(
        locus_positions_create(&p, NULL, &(locus_packing){sizeof(locus_packing), 4, offsets, NULL}, NULL, NULL),
        LOCUS_OK);
    const int64_t want[] = {0, 1, 2, 0, 1, 0, 1, 2, 3};
    assert_int_equal(locus_positions_tokens(p), 9);
    assert_int_equal(locus_positions_sequences(p), 4);
    assert_memory_equal(locus_positions_values(p, 0), want, sizeof want);
    assert_int_equal(locus_positions_minimum(p, 0), 0);
    assert_int_equal(locus_positions_maximum(p, 0), 3);
    for (size_t s = 0; s < 4; s++) {
        locus_positions_run run = locus_positions_sequence(p, s);
        assert_int_equal(run.first, offsets[s]);
        assert_int_equal(run.count, offsets[s + 1] - offsets[s]);
        assert_true(locus_positions_consecutive(p, 0, s));
    }
    locus_positions_destroy(&p);
    assert_null(p);
}

static void gaps_are_neither_read_nor_counted(void **state) {
    (void)state;
    const size_t offsets[] = {1, 4, 8}, lengths[] = {2, 3};
    const int64_t values[] = {INT64_MAX, -5, MOST, INT64_MIN, 7, 8, 9, INT64_MAX},
                  want[] = {0, -5, MOST, 0, 7, 8, 9, 0};
    locus_positions *p;
    assert_int_equal(
        locus_positions_create(&p, NULL, &(locus_packing){sizeof(locus_packing), 2, offsets, lengths}, values, NULL),
        LOCUS_OK);
    assert_int_equal(locus_positions_tokens(p), 8);
    assert_memory_equal(locus_positions_values(p, 0), want, sizeof want);
    assert_int_equal(locus_positions_minimum(p, 0), -5);
    assert_true(locus_positions_maximum(p, 0) == MOST);
    assert_false(locus_positions_consecutive(p, 0, 0));
    assert_true(locus_positions_consecutive(p, 0, 1));
    assert_int_equal(locus_positions_sequence(p, 1).first, 4);
    assert_int_equal(locus_positions_sequence(p, 1).count, 3);
    locus_positions_destroy(&p);
}

static void empty_batches_are_fine(void **state) {
    (void)state;
    const size_t none[] = {0}, gap[] = {5}, empty[] = {0, 0, 0};
    const locus_packing packings[] = {{sizeof(locus_packing), 0, none, NULL},
                                      {sizeof(locus_packing), 0, gap, NULL},
                                      {sizeof(locus_packing), 2, empty, NULL}};
    for (size_t i = 0; i < 3; i++) {
        locus_positions *p;
        assert_int_equal(locus_positions_create(&p, NULL, &packings[i], NULL, NULL), LOCUS_OK);
        assert_int_equal(locus_positions_tokens(p), i == 1 ? 5 : 0);
        assert_int_equal(locus_positions_minimum(p, 0), 0);
        assert_int_equal(locus_positions_maximum(p, 0), 0);
        locus_positions_destroy(&p);
    }
}

static void values_are_copied(void **state) {
    (void)state;
    size_t offsets[] = {0, 2};
    int64_t values[] = {-MOST, 4};
    locus_positions *p;
    assert_int_equal(
        locus_positions_create(&p, NULL, &(locus_packing){sizeof(locus_packing), 1, offsets, NULL}, values, NULL),
        LOCUS_OK);
    values[0] = values[1] = 99;
    offsets[0] = offsets[1] = 99;
    assert_true(locus_positions_values(p, 0)[0] == -MOST);
    assert_int_equal(locus_positions_values(p, 0)[1], 4);
    assert_int_equal(locus_positions_sequence(p, 0).count, 2);
    locus_positions_destroy(&p);
}

static void shared_positions_outlive_their_maker(void **state) {
    (void)state;
    const size_t offsets[] = {0, 3};
    locus_positions *p;
    assert_int_equal(
        locus_positions_create(&p, NULL, &(locus_packing){sizeof(locus_packing), 1, offsets, NULL}, NULL, NULL),
        LOCUS_OK);
    locus_positions *shared = locus_positions_retain(p);
    assert_ptr_equal(shared, p);
    locus_positions_destroy(&p);
    assert_int_equal(locus_positions_values(shared, 0)[2], 2); /* the address sanitizer watches */
    locus_positions_destroy(&shared);
    locus_positions_destroy(&shared);
    locus_positions_destroy(NULL);
}

static void bad_packings_are_refused(void **state) {
    (void)state;
    const size_t falling[] = {0, 4, 3}, good[] = {0, 4, 6}, long_first[] = {5, 2}, huge[] = {0, SIZE_MAX}, *none = NULL;
    locus_positions *p;
    assert_int_equal(
        locus_positions_create(NULL, NULL, &(locus_packing){sizeof(locus_packing), 2, good, NULL}, NULL, NULL),
        LOCUS_ERROR_ARGUMENT);
    expect_failure(NULL, NULL, NULL, LOCUS_ERROR_ARGUMENT, "packing is NULL");
    expect_failure(NULL, &(locus_packing){sizeof(locus_packing), 1, none, NULL}, NULL, LOCUS_ERROR_ARGUMENT,
                   "offsets that are NULL");
    expect_failure(NULL, &(locus_packing){sizeof(locus_packing), 2, falling, NULL}, NULL, LOCUS_ERROR_ARGUMENT,
                   "offsets[2] = 3");
    expect_failure(NULL, &(locus_packing){sizeof(locus_packing), 2, good, long_first}, NULL, LOCUS_ERROR_ARGUMENT,
                   "lengths[0] = 5");
    expect_failure(NULL, &(locus_packing){sizeof(locus_packing), SIZE_MAX, good, NULL}, NULL, LOCUS_ERROR_ARGUMENT,
                   "more than memory can hold");
    expect_failure(NULL, &(locus_packing){sizeof(locus_packing), 1, huge, NULL}, NULL, LOCUS_ERROR_MEMORY,
                   "out of memory");
    assert_int_equal(
        locus_positions_create(&p, NULL, &(locus_packing){sizeof(locus_packing), 2, good, NULL}, NULL, NULL), LOCUS_OK);
    locus_positions_destroy(&p);
}

static void positions_out_of_range_are_named(void **state) {
    (void)state;
    const size_t offsets[] = {0, 2, 4};
    const int64_t bad[] = {MOST + 1, -MOST - 1, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < 4; i++) {
        int64_t values[] = {0, 1, 0, bad[i]};
        char part[64];
        snprintf(part, sizeof part, "position %lld of token 3 (sequence 1)", (long long)bad[i]);
        expect_failure(NULL, &(locus_packing){sizeof(locus_packing), 2, offsets, NULL}, values, LOCUS_ERROR_POSITION,
                       part);
    }
}

/* ---- other groups ---- */

static locus_group *parse_group(const char *text) {
    locus_group *group;
    assert_int_equal(locus_group_parse(text, &group, NULL), LOCUS_OK);
    return group;
}

static void expect_column(const locus_positions *p, size_t coordinate, const int64_t *want, size_t tokens) {
    assert_memory_equal(locus_positions_values(p, coordinate), want, tokens * sizeof *want);
}

static void rows_become_columns(void **state) {
    (void)state;
    const size_t offsets[] = {0, 2, 4};
    const int64_t rows[] = {5, 0, 7, 6, 1, -1, 0, -3, INT64_MAX, 1, -2, INT64_MIN};
    const int64_t first[] = {5, 6, 0, 1}, second[] = {0, 1, -3, -2}, third[] = {1, 2, 1, 1};
    locus_group *group = parse_group("grid:2*cycle:3");
    locus_positions *p;
    assert_int_equal(
        locus_positions_create(&p, group, &(locus_packing){sizeof(locus_packing), 2, offsets, NULL}, rows, NULL),
        LOCUS_OK);
    expect_column(p, 0, first, 4);
    expect_column(p, 1, second, 4);
    expect_column(p, 2, third, 4);
    assert_int_equal(locus_positions_minimum(p, 1), -3);
    assert_int_equal(locus_positions_maximum(p, 1), 1);
    assert_int_equal(locus_positions_maximum(p, 2), 2);
    assert_true(locus_positions_consecutive(p, 0, 0) && locus_positions_consecutive(p, 1, 1));
    assert_true(locus_positions_consecutive(p, 2, 0));
    assert_false(locus_positions_consecutive(p, 2, 1));
    assert_true(locus_group_equal(locus_positions_group(p), group));
    assert_ptr_not_equal(locus_positions_group(p), NULL);
    assert_null(locus_positions_trie(p, 2));
    locus_group_destroy(&group); /* the positions hold a share */
    char text[32];
    locus_group_text(locus_positions_group(p), text, sizeof text);
    assert_string_equal(text, "grid:2*cycle:3");
    locus_positions_destroy(&p);
}

static void cycles_reduce_and_count(void **state) {
    (void)state;
    const size_t offsets[] = {0, 5};
    const int64_t rows[] = {-1, INT64_MIN, INT64_MAX, 6, 0}, reduced[] = {5, 4, 1, 0, 0}, counted[] = {0, 1, 2, 0, 1};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    locus_group *six = parse_group("cycle:6"), *three = parse_group("cycle:3");
    locus_positions *p;
    assert_int_equal(locus_positions_create(&p, six, &packing, rows, NULL), LOCUS_OK);
    expect_column(p, 0, reduced, 5);
    locus_positions_destroy(&p);
    assert_int_equal(locus_positions_create(&p, three, &packing, NULL, NULL), LOCUS_OK);
    expect_column(p, 0, counted, 5);
    assert_false(locus_positions_consecutive(p, 0, 0)); /* it wraps */
    locus_positions_destroy(&p);
    locus_group_destroy(&six);
    locus_group_destroy(&three);
}

static void groups_that_cannot_be_counted_are_named(void **state) {
    (void)state;
    const size_t offsets[] = {0, 1};
    const int64_t values[] = {0, 0};
    const char *const texts[] = {"tree:2", "seq*tree:3", "grid:2", "cycle:3*cycle:4"};
    for (size_t i = 0; i < 4; i++) {
        locus_group *group = parse_group(texts[i]);
        expect_failure(group, &(locus_packing){sizeof(locus_packing), 1, offsets, NULL}, i < 2 ? values : NULL,
                       LOCUS_ERROR_ARGUMENT, texts[i]);
        locus_group_destroy(&group);
    }
    locus_group *absurd = parse_group("grid:2147483649");
    expect_failure(absurd, &(locus_packing){sizeof(locus_packing), 1, offsets, NULL}, values, LOCUS_ERROR_UNSUPPORTED,
                   "2^31");
    locus_group_destroy(&absurd);
    locus_group *unlikely = parse_group("tree:2*grid:9223372036854775807*cycle:2");
    expect_failure(unlikely, &(locus_packing){sizeof(locus_packing), 1, offsets, NULL}, values, LOCUS_ERROR_UNSUPPORTED,
                   "2^31");
    locus_group_destroy(&unlikely);
}

/* ---- trees ---- */

static void expect_path(const locus_positions *p, size_t token, const char *want) {
    char text[128];
    locus_path *path;
    assert_int_equal(locus_positions_path(p, token, &path, NULL), LOCUS_OK);
    locus_path_text(path, text, sizeof text);
    assert_string_equal(text, want);
    locus_path_destroy(&path);
}

static void words_meet_in_one_trie(void **state) {
    (void)state;
    /* 0; 1+2; 1+2 spelled 1+1-1+2; 2-1 in a gap; 1; -3+1 */
    const int64_t branches[] = {1, 2, 1, 1, -1, 2, 2, -1, 1, -3, 1};
    const size_t starts[] = {0, 0, 2, 6, 8, 9, 11}, offsets[] = {0, 4, 6}, lengths[] = {3, 2};
    const char *const want[] = {"0", "1+2", "1+2", "0", "1", "-3+1"};
    const locus_position_column column = {.size = sizeof column, .branches = branches, .starts = starts};
    locus_group *group = parse_group("tree:3");
    locus_positions *p;
    assert_int_equal(locus_positions_create_columns(
                         &p, group, &(locus_packing){sizeof(locus_packing), 2, offsets, lengths}, &column, NULL),
                     LOCUS_OK);
    for (size_t t = 0; t < 6; t++)
        expect_path(p, t, want[t]);
    const int64_t *nodes = locus_positions_values(p, 0);
    assert_true(nodes[1] == nodes[2] && nodes[0] == 0 && nodes[3] == 0);
    locus_trie_view trie = locus_trie_look(locus_positions_trie(p, 0));
    assert_int_equal(trie.count, 6); /* 0, 1, 1+2, the detour 1+1, -3, -3+1 */
    for (uint32_t i = 1; i < trie.count; i++)
        assert_true(trie.parent[i] < i && trie.depth[i] == trie.depth[trie.parent[i]] + 1);
    const size_t bytes = locus_positions_bytes(p) - locus_trie_bytes(locus_positions_trie(p, 0));
    locus_positions_destroy(&p);
    const int64_t deep[21] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const locus_position_column longer = {
        .size = sizeof longer, .branches = deep, .starts = (size_t[]){0, 0, 0, 0, 0, 0, 21}};
    assert_int_equal(locus_positions_create_columns(
                         &p, group, &(locus_packing){sizeof(locus_packing), 2, offsets, lengths}, &longer, NULL),
                     LOCUS_OK);
    assert_int_equal(locus_positions_bytes(p) - locus_trie_bytes(locus_positions_trie(p, 0)), bytes);
    locus_positions_destroy(&p);
    locus_group_destroy(&group);
}

static void nodes_meet_in_one_trie(void **state) {
    (void)state;
    /* Node 5 repeats node 2, node 4 goes back to the root; nodes 6 and 7 are nobody's position. */
    const size_t parents[] = {99, 0, 1, 1, 1, 3, 0, 6}, offsets[] = {0, 6};
    const int64_t branches[] = {99, 2, 1, 2, -2, -2, 1, 1}, values[] = {0, 1, 2, 4, 5, 5};
    const char *const want[] = {"0", "2", "2+1", "0", "2", "2"};
    const locus_position_column column = {
        .size = sizeof column, .values = values, .branches = branches, .parents = parents, .node_count = 8};
    locus_group *group = parse_group("tree:2");
    locus_positions *p;
    assert_int_equal(locus_positions_create_columns(
                         &p, group, &(locus_packing){sizeof(locus_packing), 1, offsets, NULL}, &column, NULL),
                     LOCUS_OK);
    for (size_t t = 0; t < 6; t++)
        expect_path(p, t, want[t]);
    assert_int_equal(locus_trie_look(locus_positions_trie(p, 0)).count, 4); /* 0, 2, 2+1, 2+2 */
    locus_positions_destroy(&p);
    locus_group_destroy(&group);
}

static void products_have_a_column_for_each_coordinate(void **state) {
    (void)state;
    const size_t offsets[] = {0, 2}, starts_a[] = {0, 1, 3}, starts_b[] = {0, 2, 2};
    const int64_t axis[] = {-4, 9}, ring[] = {7, -1}, a[] = {1, 2, -1}, b[] = {3, 3};
    const locus_position_column columns[] = {
        {.size = sizeof(locus_position_column), .values = axis},
        {.size = sizeof(locus_position_column), .branches = a, .starts = starts_a},
        {.size = sizeof(locus_position_column), .values = ring},
        {.size = sizeof(locus_position_column), .branches = b, .starts = starts_b}};
    locus_group *group = parse_group("seq*(tree:2*cycle:5)*tree:3");
    locus_positions *p, *q;
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    assert_int_equal(locus_positions_create_columns(&p, group, &packing, columns, NULL), LOCUS_OK);
    expect_path(p, 0, "(-4,1,2,3+3)");
    expect_path(p, 1, "(9,2-1,4,0)");
    locus_path *paths[2] = {NULL, NULL};
    for (size_t t = 0; t < 2; t++)
        assert_int_equal(locus_positions_path(p, t, &paths[t], NULL), LOCUS_OK);
    assert_int_equal(locus_positions_create_paths(&q, group, &packing, (const locus_path *const *)paths, NULL),
                     LOCUS_OK);
    for (size_t c = 0; c < 4; c++)
        expect_column(q, c, locus_positions_values(p, c), 2);
    for (size_t t = 0; t < 2; t++)
        locus_path_destroy(&paths[t]);
    expect_path(q, 1, "(9,2-1,4,0)"); /* copied */
    locus_positions_destroy(&p);
    locus_positions_destroy(&q);
    locus_group_destroy(&group);
}

static void expect_column_failure(const char *group_text, const locus_position_column *column, locus_status status,
                                  const char *part) {
    const size_t offsets[] = {0, 2};
    locus_group *group = parse_group(group_text);
    locus_positions *p = (locus_positions *)(uintptr_t)1;
    locus_error error = {0};
    assert_int_equal(locus_positions_create_columns(
                         &p, group, &(locus_packing){sizeof(locus_packing), 1, offsets, NULL}, column, &error),
                     status);
    assert_null(p);
    if (!strstr(error.message, part))
        fail_msg("expected '%s' in: %s", part, error.message);
    locus_group_destroy(&group);
}

static void bad_columns_are_refused(void **state) {
    (void)state;
    const size_t starts[] = {0, 1, 2}, falling[] = {0, 2, 1}, parents[] = {0, 0, 2}, good[] = {0, 0, 1};
    const int64_t beyond[] = {1, 3}, zero[] = {0, 1}, lowest[] = {INT64_MIN, 1}, tree[] = {0, 1, -3};
    const int64_t fine[] = {0, 1, 2}, nodes[] = {0, 3}, below[] = {-1, 0};
    expect_column_failure("tree:2", NULL, LOCUS_ERROR_ARGUMENT, "columns is NULL");
    expect_column_failure("seq", &(locus_position_column){.size = sizeof(locus_position_column)}, LOCUS_ERROR_ARGUMENT,
                          "no values");
    expect_column_failure(
        "tree:2", &(locus_position_column){.size = sizeof(locus_position_column), .branches = beyond, .starts = starts},
        LOCUS_ERROR_POSITION, "branch 3 in the word of token 1");
    expect_column_failure(
        "tree:2", &(locus_position_column){.size = sizeof(locus_position_column), .branches = zero, .starts = starts},
        LOCUS_ERROR_POSITION, "branch 0 in the word of token 0");
    expect_column_failure(
        "tree:9223372036854775807",
        &(locus_position_column){.size = sizeof(locus_position_column), .branches = lowest, .starts = starts},
        LOCUS_ERROR_POSITION, "branch -9223372036854775808 in the word of token 0");
    expect_column_failure(
        "tree:2", &(locus_position_column){.size = sizeof(locus_position_column), .branches = fine, .starts = falling},
        LOCUS_ERROR_POSITION, "branch 0");
    expect_column_failure(
        "tree:3",
        &(locus_position_column){.size = sizeof(locus_position_column), .branches = fine + 1, .starts = falling},
        LOCUS_ERROR_ARGUMENT, "starts[2] = 1 is less than");
    expect_column_failure("tree:2", &(locus_position_column){.size = sizeof(locus_position_column), .starts = starts},
                          LOCUS_ERROR_ARGUMENT, "without branches");
    expect_column_failure(
        "tree:2", &(locus_position_column){.size = sizeof(locus_position_column), .starts = (size_t[]){0, 5, 0}},
        LOCUS_ERROR_ARGUMENT, "branches is NULL");
    expect_column_failure(
        "tree:2",
        &(locus_position_column){
            .size = sizeof(locus_position_column), .values = nodes, .branches = fine, .node_count = 3},
        LOCUS_ERROR_ARGUMENT, "without parents");
    expect_column_failure("tree:2", &(locus_position_column){.size = sizeof(locus_position_column), .values = nodes},
                          LOCUS_ERROR_ARGUMENT, "neither");
    locus_position_column column = {
        .size = sizeof column, .values = nodes, .branches = fine, .parents = parents, .node_count = 3};
    expect_column_failure("tree:2", &column, LOCUS_ERROR_ARGUMENT, "parents[2] = 2");
    column.parents = good;
    expect_column_failure("tree:2", &column, LOCUS_ERROR_POSITION, "node 3 of token 1");
    column.values = below;
    expect_column_failure("tree:2", &column, LOCUS_ERROR_POSITION, "node -1 of token 0");
    column.branches = tree;
    expect_column_failure("tree:2", &column, LOCUS_ERROR_POSITION, "branch -3 to node 2");
    const int64_t far[] = {0, MOST + 1};
    expect_column_failure("seq", &(locus_position_column){.size = sizeof(locus_position_column), .values = far},
                          LOCUS_ERROR_POSITION, "position 4611686018427387905 of token 1");
}

static void bad_paths_are_refused(void **state) {
    (void)state;
    const size_t offsets[] = {0, 2};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    locus_group *seq = parse_group("seq"), *ring = parse_group("cycle:3");
    locus_path *paths[2] = {NULL, NULL};
    locus_positions *p;
    locus_error error;
    assert_int_equal(locus_path_parse(ring, "2", &paths[0], NULL), LOCUS_OK);
    const locus_path *const *const given = (const locus_path *const *)paths;
    assert_int_equal(locus_positions_create_paths(&p, ring, &packing, given, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "token 1 (sequence 0) is NULL"));
    assert_int_equal(locus_positions_create_paths(&p, ring, &packing, NULL, &error), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(locus_path_parse(seq, "4611686018427387905", &paths[1], NULL), LOCUS_OK);
    assert_int_equal(locus_positions_create_paths(&p, ring, &packing, given, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "token 1 is of the group 'seq'"));
    assert_int_equal(locus_positions_create_paths(
                         &p, NULL, &(locus_packing){sizeof(locus_packing), 1, (size_t[]){1, 2}, NULL}, given, &error),
                     LOCUS_ERROR_POSITION);
    assert_null(p);
    const size_t middle[] = {0, 1, 2}, ends[] = {1, 0}; /* token 1 is a gap: its path is not looked at */
    assert_int_equal(
        locus_positions_create_paths(&p, ring, &(locus_packing){sizeof(locus_packing), 2, middle, ends}, given, &error),
        LOCUS_OK);
    locus_path *out;
    assert_int_equal(locus_positions_path(p, 2, &out, &error), LOCUS_ERROR_ARGUMENT);
    assert_null(out);
    locus_positions_destroy(&p);
    locus_path_destroy(&paths[0]);
    locus_path_destroy(&paths[1]);
    locus_group_destroy(&seq);
    locus_group_destroy(&ring);
}

/* A path of n steps, each token one step further, as nodes: n²/2 letters that are never written. */
static void deep_paths_are_linear(void **state) {
    (void)state;
    enum { DEPTH = 200000 };
    size_t *parents = calloc(DEPTH, sizeof *parents);
    int64_t *branches = calloc(DEPTH, sizeof *branches), *values = calloc(DEPTH, sizeof *values);
    assert_true(parents && branches && values);
    for (size_t i = 0; i < DEPTH; i++) {
        parents[i] = i ? i - 1 : 0;
        branches[i] = i % 3 ? 1 : 2;
        values[i] = (int64_t)i;
    }
    const size_t offsets[] = {0, DEPTH};
    const locus_position_column column = {
        .size = sizeof column, .values = values, .branches = branches, .parents = parents, .node_count = DEPTH};
    locus_group *group = parse_group("tree:2");
    locus_positions *p;
    assert_int_equal(locus_positions_create_columns(
                         &p, group, &(locus_packing){sizeof(locus_packing), 1, offsets, NULL}, &column, NULL),
                     LOCUS_OK);
    assert_true(locus_positions_consecutive(p, 0, 0));
    locus_path *path;
    int64_t length;
    assert_int_equal(locus_positions_path(p, DEPTH - 1, &path, NULL), LOCUS_OK);
    assert_int_equal(locus_path_length(path, &length, NULL), LOCUS_OK);
    assert_int_equal(length, DEPTH - 1);
    locus_path_destroy(&path);
    locus_positions_destroy(&p);
    locus_group_destroy(&group);
    free(parents);
    free(branches);
    free(values);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counted_positions_start_afresh_in_each_sequence),
        cmocka_unit_test(gaps_are_neither_read_nor_counted),
        cmocka_unit_test(empty_batches_are_fine),
        cmocka_unit_test(values_are_copied),
        cmocka_unit_test(shared_positions_outlive_their_maker),
        cmocka_unit_test(bad_packings_are_refused),
        cmocka_unit_test(positions_out_of_range_are_named),
        cmocka_unit_test(rows_become_columns),
        cmocka_unit_test(cycles_reduce_and_count),
        cmocka_unit_test(groups_that_cannot_be_counted_are_named),
        cmocka_unit_test(words_meet_in_one_trie),
        cmocka_unit_test(nodes_meet_in_one_trie),
        cmocka_unit_test(products_have_a_column_for_each_coordinate),
        cmocka_unit_test(bad_columns_are_refused),
        cmocka_unit_test(bad_paths_are_refused),
        cmocka_unit_test(deep_paths_are_linear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
