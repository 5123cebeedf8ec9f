/* SPDX-License-Identifier: MIT */
/* The laws of groups on random elements of random groups, and independent, naive ways to the same answers: rewriting of
 * words until nothing cancels, tree distance through common prefixes of such words, integer roots by bisection,
 * tries against a list of all words. */
#include "algebra/group_access.h"
#include "algebra/path_access.h"
#include "algebra/positions_access.h"
#include <locus/random.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static locus_random stream = {.seed = 3, .purpose = LOCUS_RANDOM_USER};
static uint64_t drawn;

static uint64_t below(uint64_t bound) {
    return locus_random_below(&stream, drawn++, bound);
}

static void start_stream(uint64_t seed) {
    stream.seed = seed;
    drawn = 0;
}

/* ---- random groups and elements ---- */

static void put(char **at, const char *text) {
    size_t length = strlen(text);
    memcpy(*at, text, length + 1);
    *at += length;
}

/* 1 … 2^63 − 1, small ones as often as large ones. */
static long long random_size(void) {
    uint64_t bound = below(3) == 0 ? INT64_MAX : below(2) ? 4 : 100;
    return 1 + (long long)below(bound);
}

static void random_group_text(char **at, int depth) {
    size_t factors = 1 + below(3);
    for (size_t i = 0; i < factors; i++) {
        put(at, i ? "*" : "");
        if (depth > 0 && below(3) == 0) {
            put(at, "(");
            random_group_text(at, depth - 1);
            put(at, ")");
            continue;
        }
        char factor[40];
        switch (below(4)) {
        case 0:
            snprintf(factor, sizeof factor, "seq");
            break;
        case 1:
            snprintf(factor, sizeof factor, "grid:%d", (int)(1 + below(3)));
            break;
        case 2:
            snprintf(factor, sizeof factor, "cycle:%lld", random_size());
            break;
        default:
            snprintf(factor, sizeof factor, "tree:%lld", random_size());
        }
        put(at, factor);
    }
}

static locus_group *random_group(void) {
    char text[2048], *at = text;
    random_group_text(&at, 2);
    locus_group *group;
    locus_error error = {0};
    if (locus_group_parse(text, &group, &error) != LOCUS_OK)
        fail_msg("'%s': %s", text, error.message);
    return group;
}

/* Few branches, so that words often cancel; sometimes all of them. */
static int64_t random_branch(int64_t size) {
    int64_t few = size < 3 ? size : 3;
    int64_t branch = 1 + (int64_t)below((uint64_t)(below(8) ? few : size));
    if (below(8) == 0)
        branch = size - (branch - 1);
    return below(2) ? branch : -branch;
}

/* An element as text, not in normal form; integers below `bound` in size, words up to `letters`. */
static locus_path *random_path(const locus_group *group, uint64_t bound, size_t letters) {
    static char text[65536];
    char *at = text;
    size_t coordinates = locus_group_coordinates(group);
    put(&at, coordinates > 1 ? "(" : "");
    for (size_t c = 0; c < coordinates; c++) {
        put(&at, c ? "," : "");
        locus_coordinate coordinate = locus_group_coordinate(group, c);
        if (coordinate.kind == LOCUS_COORDINATE_TREE) {
            size_t count = below(letters + 1);
            put(&at, count ? "" : "0");
            for (size_t i = 0; i < count; i++)
                at += sprintf(at, "%+lld", (long long)random_branch(coordinate.size));
        } else {
            uint64_t range = coordinate.kind == LOCUS_COORDINATE_CYCLE && below(2) ? INT64_MAX : bound;
            at += sprintf(at, "%s%lld", below(2) ? "-" : "", (long long)below(range));
        }
    }
    put(&at, coordinates > 1 ? ")" : "");
    locus_path *path;
    locus_error error = {0};
    if (locus_path_parse(group, text, &path, &error) != LOCUS_OK)
        fail_msg("'%s': %s", text, error.message);
    return path;
}

/* ---- short hands ---- */

static locus_path *sum(const locus_path *a, const locus_path *b) {
    locus_path *result;
    assert_int_equal(locus_path_compose(a, b, &result, NULL), LOCUS_OK);
    return result;
}

static locus_path *negative(const locus_path *a) {
    locus_path *result;
    assert_int_equal(locus_path_inverse(a, &result, NULL), LOCUS_OK);
    return result;
}

static locus_path *between(const locus_path *a, const locus_path *b) {
    locus_path *result;
    assert_int_equal(locus_path_relative(a, b, &result, NULL), LOCUS_OK);
    return result;
}

static int64_t distance(const locus_path *a, const locus_path *b) {
    int64_t result = -1;
    assert_int_equal(locus_path_distance(a, b, &result, NULL), LOCUS_OK);
    return result;
}

static int64_t length(const locus_path *a) {
    int64_t result = -1;
    assert_int_equal(locus_path_length(a, &result, NULL), LOCUS_OK);
    return result;
}

/* Compares and destroys both. */
static void expect_same(locus_path *a, locus_path *b) {
    if (!locus_path_equal(a, b)) {
        static char left[65536], right[65536];
        locus_path_text(a, left, sizeof left);
        locus_path_text(b, right, sizeof right);
        fail_msg("%s is not %s", left, right);
    }
    locus_path_destroy(&a);
    locus_path_destroy(&b);
}

/* ---- the laws ---- */

static void check_group_laws(const locus_group *group) {
    locus_path *a = random_path(group, INT64_MAX / 4, 12), *b = random_path(group, INT64_MAX / 4, 12),
               *c = random_path(group, INT64_MAX / 4, 12);
    locus_path *minus_a = negative(a), *zero = sum(a, minus_a), *ab = sum(a, b), *bc = sum(b, c);
    expect_same(sum(ab, c), sum(a, bc));         /* associativity */
    expect_same(sum(a, zero), sum(zero, a));     /* the identity */
    expect_same(sum(a, zero), between(zero, a)); /* 0 is neutral on both sides, and −0 + a = a */
    expect_same(sum(minus_a, a), between(a, a)); /* both inverses */
    expect_same(negative(minus_a), sum(a, zero));
    expect_same(between(a, b), sum(minus_a, b)); /* relative is −a + b */
    locus_path *minus_b = negative(b), *step = between(a, b);
    expect_same(sum(a, step), sum(zero, b));
    expect_same(negative(ab), sum(minus_b, minus_a)); /* −(a + b) = −b − a */
    assert_true(length(zero) == 0);
    locus_path *const all[] = {a, b, c, minus_a, minus_b, zero, ab, bc, step};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        locus_path *gone = all[i];
        locus_path_destroy(&gone);
    }
}

static void groups_obey_their_laws(void **state) {
    (void)state;
    start_stream(11);
    for (int i = 0; i < 1500; i++) {
        locus_group *group = random_group();
        for (int j = 0; j < 4; j++)
            check_group_laws(group);
        locus_group_destroy(&group);
    }
}

static void printed_paths_are_read_back(void **state) {
    (void)state;
    static char text[65536], again[65536];
    start_stream(12);
    for (int i = 0; i < 4000; i++) {
        locus_group *group = random_group();
        locus_path *path = random_path(group, INT64_MAX, 30), *read;
        assert_true(locus_path_text(path, text, sizeof text) < sizeof text);
        assert_int_equal(locus_path_parse(group, text, &read, NULL), LOCUS_OK);
        assert_true(locus_path_equal(path, read));
        locus_path_text(read, again, sizeof again);
        assert_string_equal(text, again);
        locus_path_destroy(&path);
        locus_path_destroy(&read);
        locus_group_destroy(&group);
    }
}

/* ---- words against rewriting ---- */

enum { MOST_LETTERS = 64 };

typedef struct naive_word {
    int64_t letters[4 * MOST_LETTERS];
    size_t count;
} naive_word;

/* Takes the first pair of neighbouring inverses away until there is none. */
static void rewrite(naive_word *w) {
    for (size_t i = 0; i + 1 < w->count;) {
        if (w->letters[i] != -w->letters[i + 1]) {
            i++;
            continue;
        }
        memmove(&w->letters[i], &w->letters[i + 2], (w->count - i - 2) * sizeof *w->letters);
        w->count -= 2;
        i = 0;
    }
}

static naive_word random_word(int64_t size) {
    naive_word w = {.count = below(MOST_LETTERS + 1)};
    for (size_t i = 0; i < w.count; i++)
        w.letters[i] = random_branch(size);
    return w;
}

static naive_word naive_join(const naive_word *a, const naive_word *b, bool invert) {
    naive_word w = {.count = a->count + b->count};
    for (size_t i = 0; i < a->count; i++)
        w.letters[i] = invert ? -a->letters[a->count - 1 - i] : a->letters[i];
    memcpy(w.letters + a->count, b->letters, b->count * sizeof *b->letters);
    rewrite(&w);
    return w;
}

static locus_path *path_of_word(const locus_group *group, const naive_word *w) {
    char text[4 * MOST_LETTERS * 21 + 2] = "0", *at = text;
    for (size_t i = 0; i < w->count; i++)
        at += sprintf(at, "%+lld", (long long)w->letters[i]);
    locus_path *path;
    assert_int_equal(locus_path_parse(group, text, &path, NULL), LOCUS_OK);
    return path;
}

static void expect_word(locus_path *path, const naive_word *want) {
    assert_int_equal(path->parts[0].value, want->count);
    assert_memory_equal(path->letters + path->parts[0].start, want->letters, want->count * sizeof *want->letters);
    locus_path_destroy(&path);
}

static locus_group *random_tree(int64_t *size) {
    char text[40];
    *size = random_size();
    snprintf(text, sizeof text, "tree:%lld", (long long)*size);
    locus_group *group;
    assert_int_equal(locus_group_parse(text, &group, NULL), LOCUS_OK);
    return group;
}

static void words_reduce_as_by_rewriting(void **state) {
    (void)state;
    start_stream(13);
    size_t cancelled = 0;
    for (int i = 0; i < 4000; i++) {
        int64_t size;
        locus_group *group = random_tree(&size);
        naive_word a = random_word(size), b = random_word(size);
        locus_path *x = path_of_word(group, &a), *y = path_of_word(group, &b);
        size_t given = a.count + b.count;
        rewrite(&a);
        rewrite(&b);
        const naive_word joined = naive_join(&a, &b, false), relative = naive_join(&a, &b, true);
        cancelled += joined.count < a.count + b.count || a.count + b.count < given;
        expect_word(sum(x, y), &joined);
        expect_word(between(x, y), &relative);
        assert_true(distance(x, y) == (int64_t)relative.count);
        assert_true(length(x) == (int64_t)a.count);
        size_t common = 0;
        while (common < a.count && common < b.count && a.letters[common] == b.letters[common])
            common++;
        assert_true(distance(x, y) == (int64_t)(a.count + b.count - 2 * common));
        expect_word(x, &a);
        expect_word(y, &b);
        locus_group_destroy(&group);
    }
    assert_true(cancelled > 2000);
}

/* ---- distance ---- */

static void distances_are_metrics(void **state) {
    (void)state;
    start_stream(14);
    for (int i = 0; i < 4000; i++) {
        locus_group *group = random_group();
        /* Small and large integers; products of few factors leave room for their sum. */
        uint64_t bound = below(2) ? 10 : (uint64_t)1 << 56;
        locus_path *a = random_path(group, bound, 10), *b = random_path(group, bound, 10),
                   *c = random_path(group, bound, 10);
        int64_t ab, bc, ac, moved;
        /* Cycles of nearly 2^63 elements overflow the sum of a product; both ways round must then agree. */
        locus_status there = locus_path_distance(a, b, &ab, NULL), back = locus_path_distance(b, a, &ac, NULL);
        assert_int_equal(there, back);
        if (there == LOCUS_OK) {
            assert_true(ab == ac && ab >= 0);
            assert_true((ab == 0) == (locus_path_equal(a, b) != 0));
            assert_true(distance(a, a) == 0);
            locus_path *ca = sum(c, a), *cb = sum(c, b);
            assert_int_equal(locus_path_distance(ca, cb, &moved, NULL), LOCUS_OK);
            assert_true(moved == ab); /* both shifted by the same path */
            locus_path_destroy(&ca);
            locus_path_destroy(&cb);
        } else {
            assert_int_equal(there, LOCUS_ERROR_POSITION);
        }
        if (there == LOCUS_OK && locus_path_distance(b, c, &bc, NULL) == LOCUS_OK &&
            locus_path_distance(a, c, &ac, NULL) == LOCUS_OK) {
            /* The floor of a norm is a metric but for one unit in each grid: ⌊x + y⌋ ≤ ⌊x⌋ + ⌊y⌋ + 1. */
            size_t grids = 0;
            for (size_t f = 0; f < locus_group_factor_count(group); f++) {
                locus_group_factor factor = locus_group_factor_at(group, f);
                grids += factor.kind == LOCUS_FACTOR_GRID && factor.size > 1;
            }
            assert_true(ac - ab <= bc + (int64_t)grids);
        }
        locus_path_destroy(&a);
        locus_path_destroy(&b);
        locus_path_destroy(&c);
        locus_group_destroy(&group);
    }
}

/* Whether n² ≤ Σ dᵢ² < (n + 1)², by schoolbook arithmetic in four digits of 32 bits. */
typedef struct big {
    uint64_t digits[5];
} big;

static void add_square(big *to, uint64_t value) {
    const uint64_t low = value & UINT32_MAX, high = value >> 32;
    const uint64_t products[3] = {low * low, low * high, high * high};
    for (size_t i = 0; i < 4; i++) { /* the middle one twice */
        size_t place = i == 0 ? 0 : i == 3 ? 2 : 1;
        uint64_t product = products[place];
        to->digits[place] += product & UINT32_MAX;
        to->digits[place + 1] += product >> 32;
    }
    for (size_t i = 0; i < 4; i++) {
        to->digits[i + 1] += to->digits[i] >> 32;
        to->digits[i] &= UINT32_MAX;
    }
}

static int compare(const big *a, const big *b) {
    for (size_t i = 5; i-- > 0;)
        if (a->digits[i] != b->digits[i])
            return a->digits[i] < b->digits[i] ? -1 : 1;
    return 0;
}

static void grid_norms_are_exact(void **state) {
    (void)state;
    start_stream(15);
    size_t refused = 0;
    for (int i = 0; i < 20000; i++) {
        char text[16];
        size_t axes = 2 + below(5);
        snprintf(text, sizeof text, "grid:%d", (int)axes);
        locus_group *group;
        assert_int_equal(locus_group_parse(text, &group, NULL), LOCUS_OK);
        uint64_t bound = (uint64_t)1 << (1 + below(63));
        locus_path *a = random_path(group, bound, 0), *b = random_path(group, bound, 0);
        big squares = {{0}}, floor = {{0}}, above = {{0}}, limit = {{0, 0, 0, 1u << 30, 0}}; /* 2^126 */
        bool fits = true;
        for (size_t c = 0; c < axes; c++) {
            int64_t x = a->parts[c].value, y = b->parts[c].value;
            uint64_t gap = x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x;
            add_square(&squares, gap);
        }
        fits = compare(&squares, &limit) < 0;
        int64_t d;
        assert_int_equal(locus_path_distance(a, b, &d, NULL), fits ? LOCUS_OK : LOCUS_ERROR_POSITION);
        refused += !fits;
        if (fits) {
            add_square(&floor, (uint64_t)d);
            add_square(&above, (uint64_t)d + 1);
            assert_true(compare(&floor, &squares) <= 0 && compare(&squares, &above) < 0);
        }
        locus_path_destroy(&a);
        locus_path_destroy(&b);
        locus_group_destroy(&group);
    }
    assert_true(refused > 50 && refused < 10000);
}

/* ---- positions ---- */

enum { TOKENS = 40 };

/* The same random positions as words, as nodes, as paths: equal columns, equal paths, words that are equal meet. */
static void words_nodes_and_paths_agree(void **state) {
    (void)state;
    start_stream(16);
    for (int round = 0; round < 300; round++) {
        int64_t size;
        locus_group *group = random_tree(&size);
        size_t parents[TOKENS], starts[TOKENS + 1] = {0};
        int64_t branches[TOKENS], values[TOKENS];
        naive_word words[TOKENS] = {{{0}, 0}};
        static int64_t letters[TOKENS * TOKENS];
        locus_path *paths[TOKENS];
        for (size_t i = 0; i < TOKENS; i++) {
            parents[i] = i ? below(i) : 0;
            branches[i] = i ? random_branch(size) : 0;
            values[i] = (int64_t)i;
            words[i] = words[parents[i]];
            if (i)
                words[i].letters[words[i].count++] = branches[i];
            memcpy(letters + starts[i], words[i].letters, words[i].count * sizeof *letters);
            starts[i + 1] = starts[i] + words[i].count;
            paths[i] = path_of_word(group, &words[i]);
        }
        const size_t offsets[] = {0, TOKENS / 2, TOKENS};
        const locus_packing packing = {sizeof packing, 2, offsets, NULL};
        const locus_position_column by_words = {.size = sizeof by_words, .branches = letters, .starts = starts};
        const locus_position_column by_nodes = {
            .size = sizeof by_nodes, .values = values, .branches = branches, .parents = parents, .node_count = TOKENS};
        locus_positions *p[3];
        assert_int_equal(locus_positions_create_columns(&p[0], group, &packing, &by_words, NULL), LOCUS_OK);
        assert_int_equal(locus_positions_create_columns(&p[1], group, &packing, &by_nodes, NULL), LOCUS_OK);
        assert_int_equal(locus_positions_create_paths(&p[2], group, &packing, (const locus_path *const *)paths, NULL),
                         LOCUS_OK);
        for (size_t k = 0; k < 3; k++) {
            const int64_t *nodes = locus_positions_values(p[k], 0);
            locus_trie_view trie = locus_trie_look(locus_positions_trie(p[k], 0));
            for (size_t i = 0; i < TOKENS; i++) {
                locus_path *back;
                assert_int_equal(locus_positions_path(p[k], i, &back, NULL), LOCUS_OK);
                assert_true(locus_path_equal(back, paths[i]));
                assert_true((int64_t)trie.depth[nodes[i]] == length(back));
                for (size_t j = 0; j < i; j++)
                    assert_true((nodes[i] == nodes[j]) == (locus_path_equal(paths[i], paths[j]) != 0));
                locus_path_destroy(&back);
            }
            locus_positions_destroy(&p[k]);
        }
        for (size_t i = 0; i < TOKENS; i++)
            locus_path_destroy(&paths[i]);
        locus_group_destroy(&group);
    }
}

static void products_round_trip(void **state) {
    (void)state;
    start_stream(17);
    for (int round = 0; round < 1000; round++) {
        locus_group *group = random_group();
        locus_path *paths[8];
        for (size_t i = 0; i < 8; i++)
            paths[i] = random_path(group, (uint64_t)1 << 62, 6);
        const size_t offsets[] = {0, 3, 8};
        locus_positions *p;
        assert_int_equal(locus_positions_create_paths(&p, group,
                                                      &(locus_packing){sizeof(locus_packing), 2, offsets, NULL},
                                                      (const locus_path *const *)paths, NULL),
                         LOCUS_OK);
        for (size_t i = 0; i < 8; i++) {
            locus_path *back;
            assert_int_equal(locus_positions_path(p, i, &back, NULL), LOCUS_OK);
            expect_same(back, paths[i]);
        }
        locus_positions_destroy(&p);
        locus_group_destroy(&group);
    }
}

/* ---- tries ---- */

static void nodes_are_found_once(void **state) {
    (void)state;
    start_stream(18);
    locus_trie *trie;
    assert_int_equal(locus_trie_create(&trie, NULL), LOCUS_OK);
    uint32_t count = 0;
    for (int i = 0; i < 20000; i++) {
        uint32_t node = (uint32_t)below(locus_trie_look(trie).count), there, again, back;
        int64_t branch = random_branch(below(2) ? 3 : INT64_MAX);
        assert_int_equal(locus_trie_step(trie, node, branch, &there, NULL), LOCUS_OK);
        count = locus_trie_look(trie).count;
        assert_int_equal(locus_trie_step(trie, node, branch, &again, NULL), LOCUS_OK);
        assert_int_equal(locus_trie_step(trie, there, -branch, &back, NULL), LOCUS_OK);
        assert_true(there == again && back == node && locus_trie_look(trie).count == count);
    }
    locus_trie_view view = locus_trie_look(trie);
    assert_true(view.count > 5000);
    assert_true(view.parent[0] == 0 && view.branch[0] == 0 && view.depth[0] == 0);
    for (uint32_t i = 1; i < view.count; i++) {
        assert_true(view.parent[i] < i && view.branch[i] != 0);
        assert_true(view.depth[i] == view.depth[view.parent[i]] + 1);
        assert_true(view.branch[i] != -view.branch[view.parent[i]]); /* reduced */
    }
    assert_true(locus_trie_bytes(trie) >= view.count * (sizeof(int64_t) + 2 * sizeof(uint32_t)));
    locus_trie_destroy(&trie);
    assert_null(trie);
}

static bool same_word(const locus_trie_view *a, uint32_t i, const locus_trie_view *b, uint32_t j) {
    for (; i && j; i = a->parent[i], j = b->parent[j])
        if (a->branch[i] != b->branch[j])
            return false;
    return i == j;
}

static void grow_randomly(locus_trie *trie, size_t steps) {
    for (size_t i = 0; i < steps; i++) {
        uint32_t node = (uint32_t)below(locus_trie_look(trie).count), child;
        assert_int_equal(locus_trie_step(trie, node, random_branch(2), &child, NULL), LOCUS_OK);
    }
}

static void joined_tries_hold_both(void **state) {
    (void)state;
    start_stream(19);
    for (int round = 0; round < 50; round++) {
        locus_trie *a, *b;
        uint32_t map[500];
        assert_int_equal(locus_trie_create(&a, NULL), LOCUS_OK);
        assert_int_equal(locus_trie_create(&b, NULL), LOCUS_OK);
        grow_randomly(a, below(400));
        grow_randomly(b, below(400));
        const uint32_t before = locus_trie_look(a).count;
        assert_int_equal(locus_trie_join(a, b, map, NULL), LOCUS_OK);
        const locus_trie_view joined = locus_trie_look(a), other = locus_trie_look(b);
        uint32_t shared = 0;
        for (uint32_t i = 0; i < other.count; i++) {
            assert_true(same_word(&joined, map[i], &other, i));
            shared += map[i] < before;
        }
        assert_int_equal(joined.count, before + other.count - shared);
        for (uint32_t i = 0; i < other.count; i++)
            for (uint32_t j = 0; j < i; j++)
                assert_true(map[i] != map[j]);
        assert_int_equal(locus_trie_join(a, b, map, NULL), LOCUS_OK); /* again: nothing new */
        assert_int_equal(locus_trie_look(a).count, joined.count);
        locus_trie_destroy(&a);
        locus_trie_destroy(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_obey_their_laws),       cmocka_unit_test(printed_paths_are_read_back),
        cmocka_unit_test(words_reduce_as_by_rewriting), cmocka_unit_test(distances_are_metrics),
        cmocka_unit_test(grid_norms_are_exact),         cmocka_unit_test(words_nodes_and_paths_agree),
        cmocka_unit_test(products_round_trip),          cmocka_unit_test(nodes_are_found_once),
        cmocka_unit_test(joined_tries_hold_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
