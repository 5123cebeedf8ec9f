/* SPDX-License-Identifier: MIT */
/* Cells of scores, asked for directly: by difference as long as the table of all differences stays small, else by pair,
 * else none, at both sides of each limit; those of pairs of positions; every pair's distance from plain differences;
 * runs of neighbouring cells, twins, and sums of all lengths. */
#include "plan/placing.h"
#include "scores/pair_cells.h"
#include "scores/score_row.h"
#include "unit/told.h"

#include <stdio.h>

enum { MOST = 5000, SEQUENCES = 6 };

typedef struct made {
    locus_positions *queries, *keys;
    locus_places places;
    locus_owned memory;
    locus_score_rows rows;
} made;

static locus_positions *positions_of(const char *group_text, const int64_t *values, size_t sequences,
                                     const size_t *lengths) {
    size_t offsets[SEQUENCES + 1] = {0};
    locus_group *group = NULL;
    locus_positions *positions = NULL;
    for (size_t s = 0; s < sequences; s++)
        offsets[s + 1] = offsets[s] + lengths[s];
    const locus_packing packing = {sizeof packing, sequences, offsets, NULL};
    rig_ok(locus_group_parse(group_text, &group, error));
    rig_ok(locus_positions_create(&positions, group, &packing, values, error));
    locus_group_destroy(&group);
    return positions;
}

/* Takes both over; keys may be the queries. */
static made make(locus_positions *queries, locus_positions *keys, size_t tables, bool directed) {
    made m = {.queries = queries, .keys = keys};
    rig_ok(locus_places_create(&m.places, queries, keys, &m.memory, error));
    rig_ok(locus_score_rows_create(&m.rows, &m.places, tables, directed, &m.memory, error));
    return m;
}

static void drop(made *m) {
    locus_owned_release(&m->memory);
    if (m->keys != m->queries)
        locus_positions_destroy(&m->keys);
    locus_positions_destroy(&m->queries);
}

/* Of a line, or of a grid. */
static double plain_distance(const locus_places *places, bool directed, size_t query, size_t key) {
    double sum = 0;
    for (size_t c = 0; c < places->count; c++) {
        const double apart = (double)(places->items[c].key.values[key] - places->items[c].query.values[query]);
        sum += apart * apart;
        if (directed)
            return apart;
    }
    return places->count == 1 ? sqrt(sum) : floor(sqrt(sum));
}

static void check_row(const made *m, const locus_score_call *call) {
    double out[MOST], most = 0;
    assert_true(call->count <= MOST);
    locus_score_rows_distance(&m->rows, call, out);
    for (size_t j = 0; j < call->count; j++) {
        const double want = plain_distance(&m->places, m->rows.directed, call->query, call->key_first + j);
        if (out[j] != want)
            fail_msg("%zu, %zu: %g, not %g", call->query, call->key_first + j, out[j], want);
        most = fmax(most, fabs(want));
    }
    assert_true(most <= m->rows.most && m->rows.whole);
    if (m->rows.cells == 0)
        return;
    const size_t ahead = call->count > 0 ? m->rows.ahead[call->key_first] : 1, at = locus_score_rows_at(&m->rows, call);
    assert_true(ahead >= 1);
    assert_int_equal(at == SIZE_MAX, call->count == 0 || call->count > ahead);
    for (size_t j = 0; at != SIZE_MAX && j < call->count; j++)
        assert_true(m->rows.distance[at + j] == out[j]);
}

/* A few rows of every sequence, from every third key on. */
static void check_rows(const made *m) {
    const locus_placement *first = &m->places.items[0];
    double widest = 0; /* of all axes at once: no distance is longer */
    for (size_t c = 0; c < m->places.count; c++) {
        const locus_placement *axis = &m->places.items[c];
        const double far = fmax(fabs((double)axis->nearest_apart), fabs((double)axis->farthest_apart));
        widest += far * far;
    }
    assert_true(m->rows.most == floor(sqrt(widest)));
    size_t pieces = 0;
    for (size_t s = 0; s < first->sequences; s++) {
        const locus_sequence_span *span = &first->spans[s];
        for (size_t i = 0; i < span->query_count; i += 1 + span->query_count / 5)
            for (size_t from = 0; from <= span->key_count; from += 1 + span->key_count / 3) {
                const locus_score_call call = {
                    LOCUS_FLOAT64, 0, span->query_first + i, span->key_first + from, span->key_count - from, NULL};
                check_row(m, &call);
            }
        for (size_t j = 0; j < span->key_count && m->rows.cells > 0; j++) {
            const size_t t = span->key_first + j;
            const bool follows = j + 1 < span->key_count && m->rows.key[t + 1] == m->rows.key[t] + 1;
            assert_int_equal(m->rows.ahead[t], follows ? m->rows.ahead[t + 1] + 1 : 1);
            pieces += !follows;
        }
    }
    if (m->rows.cells > 0)
        assert_int_equal(m->rows.scattered, pieces * 8 > first->key.used);
}

/* Three tokens at 0, 1 and `far`: 2·far + 1 differences, nine pairs. */
static void expect_line(int64_t far, size_t tables, bool directed, size_t cells) {
    const int64_t values[] = {0, 1, far};
    const size_t three = 3;
    locus_positions *positions = positions_of("seq", values, 1, &three);
    made m = make(positions, positions, tables, directed);
    assert_int_equal(m.rows.cells, cells);
    assert_int_equal(m.rows.line, cells == 2 * (size_t)far + 1);
    assert_int_equal(m.rows.directed, directed);
    if (m.rows.line) {
        assert_true(m.rows.origin == far);
        for (size_t cell = 0; cell < cells; cell++) {
            const bool mirrored = !directed && cell > (size_t)far;
            assert_int_equal(locus_score_rows_twin(&m.rows, cell), mirrored ? 2 * (size_t)far - cell : cell);
        }
    }
    check_rows(&m);
    drop(&m);
}

/* Four for each token, and 65,536 or 2^22 numbers in all tables and that of distances. */
static void lines_have_a_limit(void **state) {
    (void)state;
    for (int directed = 0; directed < 2; directed++) {
        expect_line(32773, 1, directed, 65547);
        expect_line(32774, 1, directed, 9);
        expect_line(16389, 127, directed, 32779);
        expect_line(16390, 127, directed, 9);
        expect_line(32773, 63, directed, 65547);
        expect_line(2, 1, directed, 5);
        expect_line((int64_t)1 << 40, 1, directed, 9);
    }
    const int64_t values[] = {0, 1, 7};
    const size_t three = 3;
    locus_positions *positions = positions_of("seq", values, 1, &three);
    made m = make(positions, positions, 1, false);
    assert_true(locus_score_list_most(&m.places, 1) == 65548);
    assert_true(locus_score_list_most(&m.places, 127) == 32780);
    drop(&m);
}

/* Keys elsewhere than queries: what counts is the larger side. */
static void sides_apart(void **state) {
    static const int64_t query[] = {5, 7, 100, 3}, key[] = {40, 41, 42, 60, 61, 10, 11, 12, 13, 9000};
    const size_t query_lengths[] = {3, 1, 0}, key_lengths[] = {5, 4, 1};
    (void)state;
    for (int directed = 0; directed < 2; directed++) {
        made m =
            make(positions_of("seq", query, 3, query_lengths), positions_of("seq", key, 3, key_lengths), 1, directed);
        assert_int_equal(m.rows.cells, 61 - 5 + 60 + 1); /* from 40 − 100 to 61 − 5 */
        assert_true(m.rows.line && m.rows.origin == 60);
        check_rows(&m);
        drop(&m);
    }
    const int64_t far[] = {0, 65536 + 39};
    const size_t one[] = {1, 0}, ten[] = {10, 0};
    int64_t keys[10] = {0};
    for (int beyond = 0; beyond < 2; beyond++) {
        keys[9] = far[1] + beyond;
        made m = make(positions_of("seq", far, 2, one), positions_of("seq", keys, 2, ten), 1, false);
        assert_int_equal(m.rows.cells, beyond ? 10 : 65576); /* 4·10 + 65536 are possible */
        assert_int_equal(m.rows.line, !beyond);
        check_rows(&m);
        drop(&m);
    }
}

static void fill_far(int64_t *values, size_t count, size_t axes) {
    for (size_t i = 0; i < count * axes; i++)
        values[i] = (int64_t)(i * i % 977) * 1000003;
}

/* With 1,023 tables half a pair for each token and 4,096 more; what repeats the sequence before costs nothing. */
static void pairs_have_a_limit(void **state) {
    static int64_t values[SEQUENCES * 64 + 1];
    (void)state;
    for (size_t count = 64; count <= 65; count++) {
        fill_far(values, count, 1);
        locus_positions *positions = positions_of("seq", values, 1, &count);
        made m = make(positions, positions, 1023, false);
        assert_int_equal(m.rows.cells, count == 64 ? 4096 : 0); /* 65² = 4225 > 4128 */
        assert_false(m.rows.line);
        assert_int_equal(m.rows.distances == NULL, count == 64);
        check_rows(&m);
        drop(&m);
    }
    /* A, A, B, B, no tokens, B */
    const size_t lengths[] = {40, 40, 40, 40, 0, 40};
    fill_far(values, 40, 1);
    memcpy(values + 40, values, 40 * sizeof *values);
    for (size_t i = 80; i < 200; i++)
        values[i] = 7 + values[(i - 80) % 40];
    locus_positions *positions = positions_of("seq", values, SEQUENCES, lengths);
    made m = make(positions, positions, 1023, false);
    const bool repeats[] = {false, true, false, true, false, false};
    for (size_t s = 0; s < SEQUENCES; s++)
        assert_int_equal(locus_score_rows_repeat(&m.places, s), repeats[s]);
    assert_int_equal(m.rows.cells, 0); /* 3·1600 > 4096 + 100 */
    check_rows(&m);
    drop(&m);
    positions = positions_of("seq", values, 4, lengths);
    m = make(positions, positions, 1023, false);
    assert_int_equal(m.rows.cells, 2 * 1600);
    for (size_t i = 0; i < 40; i++) {
        assert_int_equal(m.rows.query[i], i * 40);
        assert_int_equal(m.rows.query[40 + i], i * 40);
        assert_int_equal(m.rows.query[80 + i], 1600 + i * 40);
        assert_int_equal(m.rows.query[120 + i], 1600 + i * 40);
        assert_int_equal(m.rows.key[120 + i], i);
    }
    check_rows(&m);
    drop(&m);
}

/* The last of a sequence is other: of queries, of keys, of one coordinate. */
static void what_repeats_is_the_same(void **state) {
    static const size_t lengths[] = {2, 2}, longer[] = {2, 3};
    const int64_t same[] = {1, 50000000, 1, 50000000}, last[] = {1, 50000000, 1, 50000001},
                  first[] = {1, 50000000, 2, 50000000}, third[] = {1, 50000000, 1, 50000000, 9};
    const struct {
        const int64_t *query, *key;
        const size_t *query_lengths, *key_lengths;
        bool repeats;
    } cases[] = {{same, same, lengths, lengths, true},   {last, same, lengths, lengths, false},
                 {same, last, lengths, lengths, false},  {first, same, lengths, lengths, false},
                 {same, first, lengths, lengths, false}, {third, same, longer, lengths, false},
                 {same, third, lengths, longer, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        made m = make(positions_of("seq", cases[i].query, 2, cases[i].query_lengths),
                      positions_of("seq", cases[i].key, 2, cases[i].key_lengths), 1, false);
        assert_int_equal(locus_score_rows_repeat(&m.places, 1), cases[i].repeats);
        check_rows(&m);
        drop(&m);
    }
}

static void grids_repeat_in_all_coordinates(void **state) {
    static const size_t lengths[] = {2, 2};
    static const int64_t same[] = {1, 7, 2, 9, 1, 7, 2, 9}, second[] = {1, 7, 2, 9, 1, 7, 2, 8},
                         first[] = {1, 7, 2, 9, 3, 7, 2, 9};
    const int64_t *const all[] = {same, second, first};
    (void)state;
    for (size_t q = 0; q < 3; q++)
        for (size_t k = 0; k < 3; k++) {
            made m =
                make(positions_of("grid:2", all[q], 2, lengths), positions_of("grid:2", all[k], 2, lengths), 1, false);
            assert_int_equal(locus_score_rows_repeat(&m.places, 1), q == 0 && k == 0);
            check_rows(&m);
            drop(&m);
        }
}

/* On a grid pairs come first. With 2^22 tables there are few of them: sixteen differences for each token, and one. */
static void grids_have_a_limit(void **state) {
    static int64_t values[2 * MOST];
    (void)state;
    for (int64_t width = 31; width <= 32; width++) {
        const size_t count = 256; /* 63·63 = 3969 ≤ 16·256 + 0 < 65·63 */
        for (size_t i = 0; i < count; i++) {
            values[2 * i] = (int64_t)(i * 37) % (width + 1);
            values[2 * i + 1] = (int64_t)(i * i) % 32;
        }
        values[0] = values[3] = 0, values[2] = width, values[1] = 31;
        locus_positions *positions = positions_of("grid:2", values, 1, &count);
        made m = make(positions, positions, 1 << 22, false);
        const size_t differences = (size_t)(2 * width + 1) * 63;
        assert_int_equal(m.rows.cells, differences <= 16 * 256 ? differences : 0);
        assert_false(m.rows.line);
        check_rows(&m);
        drop(&m);
        m = make(positions_of("grid:2", values, 1, &count), positions_of("grid:2", values, 1, &count), 1, false);
        assert_int_equal(m.rows.cells, count * count);
        check_rows(&m);
        drop(&m);
    }
    const size_t few = 255; /* 16·255 + 2^22/300 is 18060; 255² are too many pairs for 4·2^20 numbers of 300 tables */
    for (int64_t width = 142; width <= 143; width++) {
        for (size_t i = 0; i < few; i++) {
            values[2 * i] = (int64_t)(i * 37) % (width + 1);
            values[2 * i + 1] = (int64_t)(i * i) % 32;
        }
        values[0] = values[3] = 0, values[2] = width, values[1] = 31;
        locus_positions *positions = positions_of("grid:2", values, 1, &few);
        made m = make(positions, positions, 299, false);
        assert_int_equal(m.rows.cells, width == 142 ? 285 * 63 : 0); /* 285·63 = 17955, 287·63 = 18081 */
        check_rows(&m);
        drop(&m);
    }
}

/* ---- cells of what is asked for by position ---- */

/* A cell speaks for each of its pairs: by difference from somewhere both sides reach, else from these positions. */
static void check_pair(const made *m, const locus_pair_cells *cells, size_t query, size_t key) {
    const uint32_t cell = cells->rows.query[query] + cells->rows.key[key];
    size_t item = 0;
    assert_true(cell < cells->rows.cells);
    while (cells->cell ? cells->cell[item] != cell : item != cell)
        assert_true(++item < cells->count);
    for (size_t c = 0; c < m->places.count; c++) {
        const locus_placement *axis = &m->places.items[c];
        const double at[] = {cells->query[item * m->places.count + c], cells->key[item * m->places.count + c]};
        const double own[] = {(double)axis->query.values[query], (double)axis->key.values[key]};
        assert_true(at[1] - at[0] == own[1] - own[0]);
        assert_true(!cells->cell || at[0] == own[0]);
        bool seen[2] = {false}; /* between tokens of its side */
        for (size_t t = 0; t < axis->query.tokens; t++)
            for (size_t u = 0; u < axis->query.tokens; u++)
                seen[0] = seen[0] || ((double)axis->query.values[t] <= at[0] && at[0] <= (double)axis->query.values[u]);
        for (size_t t = 0; t < axis->key.tokens; t++)
            for (size_t u = 0; u < axis->key.tokens; u++)
                seen[1] = seen[1] || ((double)axis->key.values[t] <= at[1] && at[1] <= (double)axis->key.values[u]);
        assert_true(seen[0] && seen[1]);
    }
    assert_true(cells->distance[item] == plain_distance(&m->places, false, query, key));
}

/* A table that says its cell, and gradients that are counted. */
static void check_tables(const locus_pair_cells *cells, const locus_sequence_span *span) {
    double wide[500], sums[500] = {0}, want[500] = {0}, room[40];
    float narrow[500], small[40];
    assert_true(cells->rows.cells <= 500 && span->key_count <= 40);
    for (size_t i = 0; i < cells->rows.cells; i++)
        narrow[i] = (float)(wide[i] = (double)i);
    for (size_t i = 0; i < span->query_count; i++)
        for (size_t from = 0; from < span->key_count; from += 2)
            for (int single = 0; single < 2; single++) {
                const locus_score_call call = {single ? LOCUS_FLOAT32 : LOCUS_FLOAT64,
                                               0,
                                               span->query_first + i,
                                               span->key_first + from,
                                               span->key_count - from,
                                               NULL};
                const void *row = single ? locus_pair_cells_row(cells, &call, narrow, small)
                                         : locus_pair_cells_row(cells, &call, wide, room);
                locus_pair_cells_add(cells, &call, row, sums);
                for (size_t j = 0; j < call.count; j++) {
                    const uint32_t cell = cells->rows.query[call.query] + cells->rows.key[call.key_first + j];
                    assert_true((single ? (double)((const float *)row)[j] : ((const double *)row)[j]) == cell);
                    want[cell] += cell;
                }
            }
    assert_memory_equal(sums, want, cells->rows.cells * sizeof *sums);
}

static void expect_cells(made *m, bool relative, size_t count) {
    const locus_pair_asked asked = {"it", relative, 8};
    const size_t each = 8 + 4 + 8 * (2 * m->places.count + 1);
    char says[200];
    locus_pair_cells cells = {.count = 0};
    m->places.workspace = each * count;
    TAKES(locus_pair_cells_create(&cells, &m->places, &asked, &m->memory, &told));
    assert_int_equal(cells.rows.cells, count);
    assert_null(cells.living);
    for (size_t s = 0; s < m->places.items[0].sequences; s++) {
        const locus_sequence_span *span = &m->places.items[0].spans[s];
        for (size_t i = 0; i < span->query_count; i++)
            for (size_t j = 0; j < span->key_count; j++)
                check_pair(m, &cells, span->query_first + i, span->key_first + j);
        check_tables(&cells, span);
    }
    m->places.workspace--;
    (void)snprintf(says, sizeof says,
                   "the scores of 'it' at these positions are too many for the plan's workspace of %zu bytes: give "
                   "more, or plan fewer tokens at a time",
                   each * count - 1);
    TELLS(UNSUPPORTED, "it", says, locus_pair_cells_create(&cells, &m->places, &asked, &m->memory, &told));
}

/* What makes the fewest: differences, pairs of different positions, or pairs of tokens. */
static void fewest_cells_are_chosen(void **state) {
    static const int64_t away[] = {-1009, -1008, -1007, -1006, -1005, -1004, -1003, -1002, -1001, -1000};
    static const int64_t row[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, twice[] = {3, 3, 8, 8, 3};
    static const int64_t far[] = {0, 900, 17, 4, 5000, 300, 12, 7777, 40, 41, 1};
    static const int64_t key_places[] = {100, 105, 103, 104, 100, 90, 80}, query_places[] = {2, 0, 1, 4, 1};
    static const int64_t grid[] = {0, 0, 0, 1, 1, 0, 1, 1, 2, 0, 2, 1};
    static const size_t ten[] = {10}, five[] = {5}, six_five[] = {6, 5}, four_three[] = {4, 3}, two_three[] = {2, 3},
                        six[] = {6};
    (void)state;
    locus_positions *positions = positions_of("seq", row, 1, ten);
    made m = make(positions, positions, 1, false);
    expect_cells(&m, true, 19);
    expect_cells(&m, false, 100);
    drop(&m);
    m = make(positions_of("seq", away, 1, ten), positions_of("seq", row, 1, ten), 1, false);
    expect_cells(&m, true, 19);
    drop(&m);
    positions = positions_of("seq", away, 1, ten);
    m = make(positions, positions, 1, false);
    expect_cells(&m, true, 19);
    drop(&m);
    positions = positions_of("seq", twice, 1, five);
    m = make(positions, positions, 1, false);
    expect_cells(&m, true, 4);
    expect_cells(&m, false, 4);
    drop(&m);
    positions = positions_of("seq", far, 2, six_five);
    m = make(positions, positions, 1, false);
    expect_cells(&m, true, 61);
    drop(&m);
    /* 2 and 3 queries at 4 places, 4 and 3 keys at 6; 17 pairs; apart by 98 … 105 and 76 … 99 */
    m = make(positions_of("seq", query_places, 2, two_three), positions_of("seq", key_places, 2, four_three), 1, false);
    expect_cells(&m, true, 17);
    expect_cells(&m, false, 17);
    drop(&m);
    /* all of them in one sequence each: apart by 76 … 105 */
    const size_t seven[] = {7};
    m = make(positions_of("seq", query_places, 1, five), positions_of("seq", key_places, 1, seven), 1, false);
    expect_cells(&m, false, 24);
    expect_cells(&m, true, 24);
    drop(&m);
    positions = positions_of("grid:2", grid, 1, six);
    m = make(positions, positions, 1, false);
    expect_cells(&m, true, 5 * 3);
    expect_cells(&m, false, 36);
    drop(&m);
}

/* Words of a query and of a key, as each is told. */
static void words_are_those_of_their_side(void **state) {
    static const int64_t query_letters[] = {1, 2, 2, -1}, key_letters[] = {2, 1, 1, 2};
    static const size_t query_starts[] = {0, 1, 4}, key_starts[] = {0, 0, 3, 4}, offsets[] = {0, 2},
                        key_offsets[] = {0, 3};
    const locus_packing queries = told_packing(1, offsets, NULL), keys = told_packing(1, key_offsets, NULL);
    const locus_position_column columns[] = {
        {.size = sizeof(locus_position_column), .branches = query_letters, .starts = query_starts},
        {.size = sizeof(locus_position_column), .branches = key_letters, .starts = key_starts}};
    const locus_pair_asked asked = {"it", false, 8};
    locus_group *tree = told_group("tree:2");
    locus_positions *sides[2] = {NULL, NULL};
    locus_pair_cells cells = {.count = 0};
    (void)state;
    TAKES(locus_positions_create_columns(&sides[0], tree, &queries, &columns[0], &told));
    TAKES(locus_positions_create_columns(&sides[1], tree, &keys, &columns[1], &told));
    made m = {.queries = sides[0], .keys = sides[1]};
    TAKES(locus_places_create(&m.places, sides[0], sides[1], &m.memory, &told));
    m.places.workspace = 1 << 20;
    TAKES(locus_pair_cells_create(&cells, &m.places, &asked, &m.memory, &told));
    assert_int_equal(cells.count, 6);
    for (size_t q = 0; q < 2; q++)
        for (size_t k = 0; k < 3; k++) {
            const uint32_t cell = cells.rows.query[q] + cells.rows.key[k];
            size_t item = 0;
            while (cells.cell[item] != cell)
                assert_true(++item < cells.count);
            const locus_extension_word *query = &cells.query_words[item], *key = &cells.key_words[item];
            assert_int_equal(query->length, query_starts[q + 1] - query_starts[q]);
            assert_int_equal(key->length, key_starts[k + 1] - key_starts[k]);
            assert_memory_equal(query->branches, query_letters + query_starts[q],
                                query->length * sizeof *query_letters);
            assert_true(key->length == 0 ||
                        memcmp(key->branches, key_letters + key_starts[k], key->length * sizeof *key_letters) == 0);
            assert_true(cells.query[item] == (double)query->length && cells.key[item] == (double)key->length);
        }
    m.places.workspace = 1;
    assert_int_equal(locus_pair_cells_create(&cells, &m.places, &asked, &m.memory, &told), LOCUS_ERROR_UNSUPPORTED);
    drop(&m);
    locus_group_destroy(&tree);
}

/* ---- every pair, in order ---- */

typedef struct visited {
    const locus_places *places;
    size_t cell, calls;
} visited;

static void count_visit(void *context, const locus_score_call *call, size_t cell) {
    visited *v = context;
    assert_int_equal(cell, v->cell);
    assert_true(call->dtype == LOCUS_FLOAT64 && call->head == 0);
    v->cell += call->count;
    v->calls++;
}

static void pairs_are_visited_in_order(void **state) {
    static const int64_t values[12] = {0};
    static const size_t queries[] = {3, 0, 2, 1}, keys[] = {4, 2, 5, 0};
    (void)state;
    made m = make(positions_of("seq", values, 4, queries), positions_of("seq", values, 4, keys), 1, false);
    visited v = {&m.places, 0, 0};
    assert_int_equal(locus_score_pairs(&m.places, count_visit, &v), 3 * 4 + 2 * 5);
    assert_int_equal(v.cell, 22);
    assert_int_equal(v.calls, 6);
    assert_int_equal(locus_score_pairs(&m.places, NULL, NULL), 22);
    drop(&m);
}

static void sums_of_all_lengths(void **state) {
    float narrow[40];
    double wide[40], weight[40];
    (void)state;
    for (size_t i = 0; i < 40; i++) {
        narrow[i] = (float)(wide[i] = (double)(i * i % 17) - 5); /* whole: sums are exact */
        weight[i] = (double)(i % 5) - 1;
    }
    for (size_t first = 0; first < 3; first++)
        for (size_t count = 0; count <= 35; count++) {
            double sum = 0, dot = 0;
            for (size_t i = 0; i < count; i++) {
                sum += wide[first + i];
                dot += wide[first + i] * weight[i];
            }
            assert_true(locus_score_sum(LOCUS_FLOAT32, narrow, first, count) == sum);
            assert_true(locus_score_sum(LOCUS_FLOAT64, wide, first, count) == sum);
            assert_true(locus_score_dot(LOCUS_FLOAT32, narrow, first, count, weight) == dot);
            assert_true(locus_score_dot(LOCUS_FLOAT64, wide, first, count, weight) == dot);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_have_a_limit),
        cmocka_unit_test(sides_apart),
        cmocka_unit_test(pairs_have_a_limit),
        cmocka_unit_test(what_repeats_is_the_same),
        cmocka_unit_test(grids_have_a_limit),
        cmocka_unit_test(fewest_cells_are_chosen),
        cmocka_unit_test(pairs_are_visited_in_order),
        cmocka_unit_test(grids_repeat_in_all_coordinates),
        cmocka_unit_test(words_are_those_of_their_side),
        cmocka_unit_test(sums_of_all_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
