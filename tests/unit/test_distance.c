/* SPDX-License-Identifier: MIT */
/* Distances of pairs against naive definitions and against paths: random products, gaps, queries apart from keys; roots
 * next to whole numbers; long and deep trees. */
#include "../property/encoding_rig.h"
#include "plan/placing.h"
#include "sanitized.h"
#include "scores/distance.h"
#include "scores/tree_distance.h"

__extension__ typedef unsigned __int128 wide;

enum { FACTORS_MAX = 4, COORDINATES_MAX = 12, WORD_MAX = 6, SIDE_MAX = 80 };

/* ---- drawing ---- */

static const locus_random stream = {.seed = 5, .purpose = LOCUS_RANDOM_USER, .step = 3};

static uint64_t draw(uint64_t *state, uint64_t below) {
    return (uint64_t)(locus_random_uniform(&stream, (*state)++) * (double)below) % below;
}

typedef struct domain {
    char text[128];
    size_t count;
    locus_coordinate coordinates[COORDINATES_MAX];
    int64_t reach; /* of axes */
} domain;

static domain draw_domain(uint64_t *state) {
    static const char *const factors[] = {
        "seq",    "grid:2", "grid:3", "cycle:1", "cycle:6", "cycle:9223372036854775807", "cycle:3000000000",
        "tree:1", "tree:2", "tree:50"};
    static const int64_t reaches[] = {3, 300, 5000, 1 << 20, (int64_t)1 << 31, (int64_t)1 << 40};
    domain d = {.reach = reaches[draw(state, 6)]};
    const size_t count = 1 + draw(state, FACTORS_MAX);
    for (size_t i = 0; i < count; i++) {
        strcat(d.text, i ? "*" : "");
        strcat(d.text, factors[draw(state, 10)]);
    }
    locus_group *group = NULL;
    rig_ok(locus_group_parse(d.text, &group, error));
    d.count = locus_group_coordinates(group);
    for (size_t c = 0; c < d.count; c++)
        d.coordinates[c] = locus_group_coordinate(group, c);
    locus_group_destroy(&group);
    return d;
}

/* One position: values of axes and cycles, reduced words of trees. */
typedef struct place {
    int64_t values[COORDINATES_MAX];
    int64_t words[COORDINATES_MAX][WORD_MAX];
    size_t lengths[COORDINATES_MAX];
} place;

static void draw_word(uint64_t *state, int64_t branches, place *p, size_t c) {
    const size_t length = draw(state, WORD_MAX + 1);
    for (size_t i = 0; i < length; i++) {
        int64_t letter = (int64_t)(1 + draw(state, (uint64_t)branches)) * (draw(state, 4) ? 1 : -1);
        size_t *end = &p->lengths[c];
        if (*end > 0 && p->words[c][*end - 1] == -letter)
            (*end)--;
        else
            p->words[c][(*end)++] = letter;
    }
}

static place draw_place(uint64_t *state, const domain *d) {
    place p = {0};
    for (size_t c = 0; c < d->count; c++) {
        const int64_t size = d->coordinates[c].size;
        if (d->coordinates[c].kind == LOCUS_COORDINATE_TREE)
            draw_word(state, size, &p, c);
        else if (d->coordinates[c].kind == LOCUS_COORDINATE_CYCLE)
            p.values[c] = draw(state, 3) ? (int64_t)draw(state, (uint64_t)size) : size - 1;
        else
            p.values[c] = (int64_t)draw(state, 2 * (uint64_t)d->reach + 1) - d->reach;
    }
    return p;
}

/* ---- the naive distance ---- */

static uint64_t naive_root(wide sum) {
    uint64_t low = 0, high = UINT64_MAX >> 1;
    while (low < high) {
        uint64_t middle = low + (high - low + 1) / 2;
        if ((wide)middle * middle <= sum)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static uint64_t naive_tree(const place *a, const place *b, size_t c) {
    size_t same = 0;
    while (same < a->lengths[c] && same < b->lengths[c] && a->words[c][same] == b->words[c][same])
        same++;
    return a->lengths[c] + b->lengths[c] - 2 * same;
}

static double naive_distance(const domain *d, const place *a, const place *b) {
    double distance = 0;
    for (size_t c = 0; c < d->count;) {
        const locus_coordinate *own = &d->coordinates[c];
        uint64_t apart = (uint64_t)llabs(a->values[c] - b->values[c]);
        if (own->kind == LOCUS_COORDINATE_AXIS) {
            wide sum = 0;
            for (size_t factor = own->factor; c < d->count && d->coordinates[c].factor == factor; c++) {
                apart = (uint64_t)llabs(a->values[c] - b->values[c]);
                sum += (wide)apart * apart;
            }
            distance += (double)naive_root(sum);
            continue;
        }
        if (own->kind == LOCUS_COORDINATE_CYCLE)
            apart = apart < (uint64_t)own->size - apart ? apart : (uint64_t)own->size - apart;
        distance += (double)(own->kind == LOCUS_COORDINATE_TREE ? naive_tree(a, b, c) : apart);
        c++;
    }
    return distance;
}

/* ---- positions and places ---- */

typedef struct side {
    size_t tokens, sequences, offsets[4], lengths[3];
    place places[SIDE_MAX];
    locus_positions *positions;
} side;

/* Two sequences and a rest, with gaps between them. */
static void draw_side(uint64_t *state, const domain *d, side *s) {
    s->sequences = 3;
    for (size_t i = 0; i < 3; i++) {
        s->lengths[i] = draw(state, 20);
        s->offsets[i + 1] = s->offsets[i] + s->lengths[i] + draw(state, 3);
    }
    s->tokens = s->offsets[3];
    for (size_t t = 0; t < s->tokens; t++)
        s->places[t] = draw_place(state, d);
}

static void make_positions(const domain *d, side *s) {
    static int64_t values[COORDINATES_MAX][SIDE_MAX], branches[COORDINATES_MAX][SIDE_MAX * WORD_MAX];
    static size_t starts[COORDINATES_MAX][SIDE_MAX + 1];
    locus_position_column columns[COORDINATES_MAX];
    for (size_t c = 0; c < d->count; c++) {
        starts[c][0] = 0;
        for (size_t t = 0; t < s->tokens; t++) {
            const place *p = &s->places[t];
            values[c][t] = p->values[c];
            memcpy(branches[c] + starts[c][t], p->words[c], p->lengths[c] * sizeof(int64_t));
            starts[c][t + 1] = starts[c][t] + p->lengths[c];
        }
        const bool tree = d->coordinates[c].kind == LOCUS_COORDINATE_TREE;
        columns[c] = (locus_position_column){.size = sizeof(locus_position_column),
                                             .values = tree ? NULL : values[c],
                                             .branches = tree ? branches[c] : NULL,
                                             .starts = tree ? starts[c] : NULL};
    }
    const locus_packing packing = {sizeof packing, s->sequences, s->offsets, s->lengths};
    locus_group *group = NULL;
    rig_ok(locus_group_parse(d->text, &group, error));
    rig_ok(locus_positions_create_columns(&s->positions, group, &packing, columns, error));
    locus_group_destroy(&group);
}

/* Against paths, where 64 bits hold the distance. */
static void check_path(const side *queries, const side *keys, size_t query, size_t key, double got) {
    locus_path *a = NULL, *b = NULL;
    int64_t distance = 0;
    rig_ok(locus_positions_path(queries->positions, query, &a, error));
    rig_ok(locus_positions_path(keys->positions, key, &b, error));
    locus_error overflow;
    if (locus_path_distance(a, b, &distance, &overflow) == LOCUS_OK)
        assert_true(got == (double)distance ||
                    (distance > (int64_t)1 << 52 && fabs(got / (double)distance - 1) < 1e-15));
    locus_path_destroy(&a);
    locus_path_destroy(&b);
}

static void check_sequence(const domain *d, const locus_distances *distances, const side *queries, const side *keys,
                           size_t sequence) {
    double row[SIDE_MAX];
    int32_t steps[SIDE_MAX];
    for (size_t q = queries->offsets[sequence]; q < queries->offsets[sequence] + queries->lengths[sequence]; q++)
        for (size_t first = 0; first < keys->lengths[sequence]; first += 1 + q % 3) {
            const locus_score_call call = {
                LOCUS_FLOAT64, 0, q, keys->offsets[sequence] + first, keys->lengths[sequence] - first, NULL};
            locus_distances_row(distances, &call, row);
            if (locus_distances_fit(distances))
                locus_distances_steps(distances, &call, steps);
            for (size_t j = 0; j < call.count; j++) {
                const double naive = naive_distance(d, &queries->places[q], &keys->places[call.key_first + j]);
                assert_true(fabs(row[j] - naive) <= naive * 0x1p-50 && (naive > 0x1p52 || row[j] == naive));
                assert_true(row[j] <= locus_distances_most(distances));
                if (locus_distances_fit(distances))
                    assert_true((double)steps[j] == naive);
                if (first == 0 && j % 4 == 0)
                    check_path(queries, keys, q, call.key_first + j, row[j]);
            }
        }
}

static void test_random_products(void **state) {
    enum { ROUNDS = SANITIZED(80, 400) };
    (void)state;
    uint64_t random = 0;
    size_t fitting = 0;
    for (int round = 0; round < ROUNDS; round++) {
        static const side empty;
        side queries = empty, keys = empty;
        const domain d = draw_domain(&random);
        const bool shared = round % 3 == 0;
        draw_side(&random, &d, &queries);
        make_positions(&d, &queries);
        if (!shared) {
            draw_side(&random, &d, &keys);
            make_positions(&d, &keys);
        }
        locus_owned memory = {0};
        locus_places places;
        const locus_distances *distances = NULL;
        rig_ok(locus_places_create(&places, queries.positions, shared ? queries.positions : keys.positions, &memory,
                                   error));
        rig_ok(locus_distances_create(&places, &memory, &distances, error));
        for (size_t s = 0; s < 3; s++)
            check_sequence(&d, distances, &queries, shared ? &queries : &keys, s);
        fitting += locus_distances_fit(distances);
        locus_owned_release(&memory);
        locus_positions_destroy(&queries.positions);
        locus_positions_destroy(&keys.positions);
    }
    assert_in_range(fitting, ROUNDS / 4, ROUNDS * 3 / 4);
}

/* ---- roots next to whole numbers ---- */

enum { AXES = 8 };

/* Greedily, as a sum of at most eight squares. */
static bool split_squares(wide sum, int64_t *values) {
    for (size_t a = 0; a < AXES; a++) {
        values[a] = (int64_t)naive_root(sum);
        sum -= (wide)values[a] * (wide)values[a];
    }
    return sum == 0;
}

static void test_floors(void **state) {
    (void)state;
    const size_t offsets[] = {0, 4};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    locus_group *group = NULL;
    rig_ok(locus_group_parse("grid:8", &group, error));
    uint64_t random = 0;
    size_t done = 0;
    for (unsigned bits = 2; bits <= 41; bits++)
        for (int round = 0; round < SANITIZED(8, 40); round++) {
            const uint64_t root = ((uint64_t)1 << (bits - 1)) + (round ? draw(&random, (uint64_t)1 << (bits - 1)) : 0);
            const wide square = (wide)root * root, sums[] = {square - 1, square, square + 2 * (wide)root};
            int64_t values[4][AXES] = {{0}};
            bool split = root < (uint64_t)1 << 40;
            for (size_t i = 0; i < 3; i++)
                split = split_squares(sums[i], values[i + 1]) && split;
            if (!split)
                continue;
            locus_positions *positions = NULL;
            locus_owned memory = {0};
            locus_places places;
            const locus_distances *distances = NULL;
            double row[4];
            rig_ok(locus_positions_create(&positions, group, &packing, values[0], error));
            rig_ok(locus_places_create(&places, positions, positions, &memory, error));
            rig_ok(locus_distances_create(&places, &memory, &distances, error));
            locus_distances_row(distances, &(locus_score_call){LOCUS_FLOAT64, 0, 0, 0, 4, NULL}, row);
            assert_true(row[0] == 0 && row[1] == (double)(root - 1) && row[2] == (double)root &&
                        row[3] == (double)root);
            done++;
            locus_owned_release(&memory);
            locus_positions_destroy(&positions);
        }
    assert_true(done > SANITIZED(150, 1000));
    locus_group_destroy(&group);
}

/* ---- long rows ---- */

/* Rows of as many keys as are added up at a time, one fewer and more: pair by pair the same, and nothing behind them is
 * written. */
static void test_long_rows(void **state) {
    (void)state;
    enum { KEYS = 3 * LOCUS_TREE_BLOCK + 2, CANARY = 77 };
    static const struct {
        const char *group;
        uint64_t reach;
    } kinds[] = {{"seq", 1000},         {"grid:2", 1000},    {"grid:2", 30000},          {"grid:3", 1u << 29},
                 {"cycle:100", 100},    {"cycle:7", 7},      {"seq*cycle:50", 50},       {"grid:2*seq", 20000},
                 {"cycle:4*grid:3", 4}, {"seq*seq*seq", 90}, {"cycle:3000000000", 3000}, {"cycle:3*cycle:5", 3}};
    static const size_t counts[] = {
        1, LOCUS_TREE_BLOCK - 1, LOCUS_TREE_BLOCK, LOCUS_TREE_BLOCK + 1, 2 * LOCUS_TREE_BLOCK, KEYS};
    uint64_t random = 8;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const size_t offsets[] = {0, KEYS};
        const locus_packing packing = {sizeof packing, 1, offsets, NULL};
        int64_t values[KEYS * COORDINATES_MAX];
        locus_group *group = NULL;
        locus_positions *positions = NULL;
        locus_owned memory = {0};
        locus_places places;
        const locus_distances *distances = NULL;
        rig_ok(locus_group_parse(kinds[i].group, &group, error));
        const size_t coordinates = locus_group_coordinates(group);
        for (size_t j = 0; j < KEYS * coordinates; j++)
            values[j] = (int64_t)draw(&random, kinds[i].reach);
        rig_ok(locus_positions_create(&positions, group, &packing, values, error));
        rig_ok(locus_places_create(&places, positions, positions, &memory, error));
        rig_ok(locus_distances_create(&places, &memory, &distances, error));
        assert_true(locus_distances_fit(distances));
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            const size_t count = counts[c], first = KEYS - count;
            double *row = malloc(count * sizeof *row);
            int32_t *steps = malloc((count + 1) * sizeof *steps);
            assert_true(row && steps);
            steps[count] = CANARY;
            const locus_score_call call = {LOCUS_FLOAT64, 0, c, first, count, NULL};
            locus_distances_row(distances, &call, row);
            locus_distances_steps(distances, &call, steps);
            for (size_t j = 0; j < count; j++) {
                int64_t apart[COORDINATES_MAX];
                for (size_t a = 0; a < coordinates; a++)
                    apart[a] = values[(first + j) * coordinates + a] - values[c * coordinates + a];
                assert_true(row[j] == locus_distances_of(distances, apart));
                assert_true((double)steps[j] == row[j]);
            }
            assert_int_equal(steps[count], CANARY);
            free(row), free(steps);
        }
        locus_owned_release(&memory);
        locus_positions_destroy(&positions);
        locus_group_destroy(&group);
    }
}

/* ---- real positions ---- */

/* Differences are whole, at exact roots and beside them, or not: between each token and the first. */
static void test_real_grids(void **state) {
    (void)state;
    static const double far = 0x1p30 + 0.5;
    static const struct {
        double place[3], distance;
    } tokens[] = {{{0.5, -0.25, 3}, 0},
                  {{3.5, 3.75, 3}, 5},
                  {{-0.5, 1.75, 5}, 3},
                  {{0.5, -0.25, -9.75}, 12},
                  {{1.5, 0.75, 4}, 1},
                  {{2.5, 1.75, 3}, 2},
                  {{3, 3.75, 3}, 4},
                  {{0.25, -0.125, 3}, 0},
                  {{0.5, -0.25, 2}, 1},
                  {{far, -0.25, 3}, 0x1p30},
                  {{far, 0.75, 3}, 0x1p30},
                  {{far - 1, 0.75, 3}, 0x1p30 - 1},
                  {{far, far - 0.75, 3}, 1518500249},
                  {{0.5, -1.25, 2}, 1},
                  {{0x1p31 + 0.5, 0x1p16 - 0.25, 3}, 0x1p31} /* (2^31 + 1)² − 1 */};
    enum { COUNT = sizeof tokens / sizeof *tokens };
    double values[COUNT * 3], row[COUNT];
    for (size_t t = 0; t < COUNT; t++)
        memcpy(values + 3 * t, tokens[t].place, sizeof tokens[t].place);
    const size_t offsets[] = {0, COUNT};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    locus_group *group = NULL;
    locus_positions *positions = NULL;
    locus_owned memory = {0};
    locus_places places;
    const locus_distances *distances = NULL;
    rig_ok(locus_group_parse("grid:3", &group, error));
    rig_ok(locus_positions_create_real(&positions, group, &packing, values, error));
    rig_ok(locus_places_create(&places, positions, positions, &memory, error));
    rig_ok(locus_distances_create(&places, &memory, &distances, error));
    assert_false(locus_distances_fit(distances));
    assert_true(locus_distances_whole(distances));
    locus_distances_row(distances, &(locus_score_call){LOCUS_FLOAT64, 0, 0, 0, COUNT, NULL}, row);
    for (size_t t = 0; t < COUNT; t++) {
        if (row[t] != tokens[t].distance)
            fail_msg("token %zu: %.17g, not %.17g", t, row[t], tokens[t].distance);
        assert_true(row[t] <= locus_distances_most(distances));
    }
    locus_owned_release(&memory);
    locus_positions_destroy(&positions);
    locus_group_destroy(&group);
}

/* ---- trees by nodes ---- */

typedef struct forest {
    size_t count; /* nodes; every node is a token, in a shuffled order */
    int64_t *branches, *values;
    size_t *parents, *depths;
    locus_positions *positions;
    locus_owned memory;
    locus_places places;
} forest;

/* Node i hangs from one of the `reach` nodes before it. */
static void grow_forest(forest *f, size_t count, size_t reach, size_t tokens, uint64_t *random) {
    memset(f, 0, sizeof *f);
    f->count = count;
    f->branches = calloc(count, sizeof *f->branches);
    f->values = calloc(tokens, sizeof *f->values);
    f->parents = calloc(count, sizeof *f->parents);
    f->depths = calloc(count, sizeof *f->depths);
    assert_true(f->branches && f->values && f->parents && f->depths);
    for (size_t i = 1; i < count; i++) {
        f->parents[i] = i - 1 - draw(random, reach < i ? reach : i);
        f->branches[i] = (int64_t)i; /* no node repeats another */
        f->depths[i] = f->depths[f->parents[i]] + 1;
    }
    for (size_t t = 0; t < tokens; t++)
        f->values[t] = (int64_t)draw(random, count);
    const size_t offsets[] = {0, tokens / 4, tokens};
    const locus_packing packing = {sizeof packing, 2, offsets, NULL};
    const locus_position_column column = {.size = sizeof column,
                                          .values = f->values,
                                          .branches = f->branches,
                                          .parents = f->parents,
                                          .node_count = count};
    locus_group *group = NULL;
    rig_ok(locus_group_parse("tree:4294967296", &group, error));
    rig_ok(locus_positions_create_columns(&f->positions, group, &packing, &column, error));
    rig_ok(locus_places_create(&f->places, f->positions, f->positions, &f->memory, error));
    locus_group_destroy(&group);
}

/* Of all of the forest's tokens as keys, and the first ones as queries; 0: all of them. */
static size_t bytes_of(const forest *f, size_t tokens, size_t queries) {
    const locus_tree_distance *distance = NULL;
    locus_owned memory = {0}, passing = {0};
    locus_places places = f->places;
    locus_positions *few = NULL;
    if (queries > 0) {
        const size_t offsets[] = {0, queries / 2, queries};
        const locus_packing packing = {sizeof packing, 2, offsets, NULL};
        const locus_position_column column = {.size = sizeof column,
                                              .values = f->values,
                                              .branches = f->branches,
                                              .parents = f->parents,
                                              .node_count = f->count};
        rig_ok(locus_positions_create_columns(&few, locus_positions_group(f->positions), &packing, &column, error));
        rig_ok(locus_places_create(&places, few, f->positions, &passing, error));
    }
    assert_int_equal(places.items[0].key.used, tokens);
    rig_ok(locus_tree_distance_create(&places.items[0], &memory, &distance, error));
    const size_t bytes = memory.bytes;
    locus_owned_release(&memory);
    locus_owned_release(&passing);
    locus_positions_destroy(&few);
    return bytes;
}

static void fell_forest(forest *f) {
    locus_owned_release(&f->memory);
    locus_positions_destroy(&f->positions);
    free(f->branches), free(f->values), free(f->parents), free(f->depths);
}

static size_t walk(const forest *f, size_t a, size_t b) {
    size_t steps = 0;
    for (; a != b; steps++)
        if (f->depths[a] >= f->depths[b])
            a = f->parents[a];
        else
            b = f->parents[b];
    return steps;
}

/* Rows through blocks, runs that cross them, and pairs. */
static void check_forest(const forest *f, size_t first, size_t end) {
    const locus_tree_distance *distance = NULL;
    locus_owned memory = {0};
    rig_ok(locus_tree_distance_create(&f->places.items[0], &memory, &distance, error));
    int32_t *steps = malloc((end - first) * sizeof *steps);
    for (size_t q = first; q < end; q += 1 + (end - first) / 50) {
        const size_t from = first + q % 7 * (end - first) / 8;
        memset(steps, 0, (end - first) * sizeof *steps);
        locus_tree_distance_add(distance, q, from, end - from, steps);
        for (size_t k = from; k < end; k += 1 + (end - from) / 300) {
            const size_t naive = walk(f, (size_t)f->values[q], (size_t)f->values[k]);
            assert_int_equal(steps[k - from], naive);
            assert_int_equal(locus_tree_distance_pair(distance, q, k), naive);
            assert_true(naive <= locus_tree_distance_most(distance));
        }
    }
    free(steps);
    locus_owned_release(&memory);
}

static void test_trees(void **state) {
    (void)state;
    static const size_t reaches[] = {1, 2, 5, 100, 1000000};
    uint64_t random = 0;
    for (size_t i = 0; i < 5; i++)
        for (size_t count = 1; count <= 4096; count = count * 3 + 1) {
            forest f;
            grow_forest(&f, count, reaches[i], 2000, &random);
            check_forest(&f, 0, 500);
            check_forest(&f, 500, 2000);
            fell_forest(&f);
        }
}

/* There are blocks from 8 queries of a sequence on, up to 64 MiB of them. */
static void test_room(void **state) {
    enum { MOST = (64 << 20) / (2 * LOCUS_TREE_BLOCK) };
    (void)state;
    uint64_t random = 0;
    for (size_t tokens = MOST; tokens <= MOST + 1; tokens++) {
        forest f;
        grow_forest(&f, 50, 5, tokens, &random);
        const size_t bytes = bytes_of(&f, tokens, 0);
        assert_true(tokens == MOST ? bytes > (size_t)64 << 20 : bytes < (size_t)1 << 16);
        fell_forest(&f);
    }
    forest f;
    grow_forest(&f, 50, 5, 1024, &random);
    assert_true(bytes_of(&f, 1024, 15) < 1 << 16);
    assert_true(bytes_of(&f, 1024, 16) > 1 << 18);
    fell_forest(&f);
}

/* Depths within a block spread beyond 16 bits, and no call may go as deep as the tree does. */
static void test_deep(void **state) {
    enum { DEEP = SANITIZED(100000, 1000000) };
    (void)state;
    uint64_t random = 0;
    const locus_tree_distance *distance = NULL;
    forest f;
    grow_forest(&f, DEEP, 1, 2000, &random);
    rig_ok(locus_tree_distance_create(&f.places.items[0], &f.memory, &distance, error));
    int32_t steps[1500] = {0};
    locus_tree_distance_add(distance, 700, 500, 1500, steps);
    for (size_t k = 0; k < 1500; k++)
        assert_int_equal(steps[k], llabs(f.values[700] - f.values[500 + k]));
    fell_forest(&f);
    grow_forest(&f, DEEP, 3, 400, &random);
    check_forest(&f, 0, 100);
    fell_forest(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_products),
        cmocka_unit_test(test_floors),
        cmocka_unit_test(test_long_rows),
        cmocka_unit_test(test_real_grids),
        cmocka_unit_test(test_trees),
        cmocka_unit_test(test_deep),
        cmocka_unit_test(test_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
