/* SPDX-License-Identifier: MIT */
/* Positions of packed batches on any group. Half of the inputs make positions that are right, said in one of the
 * library's ways: every path and distance is compared with the reference's. The others are numbers as they come, within
 * the sizes of their arrays: whatever is taken has paths whose texts parse to the same paths. */
#include "fuzz.h"
#include "fuzz_allocator.h"
#include "reference/drawn_world.h"

#include <stdlib.h>
#include <string.h>

enum { TOKENS = 24, LETTERS = 64, TEXT = 512 };

static locus_group *draw_group(chooser *choices) {
    static const char *const groups[] = {"seq",         "cycle:7", "grid:2",        "tree:2",         "seq*tree:2",
                                         "cycle:2*seq", "tree:1",  "grid:3*tree:3", "seq*seq*cycle:3"};
    locus_group *group = NULL;
    locus_error error;
    const char *text = groups[choose(choices, sizeof groups / sizeof groups[0])];
    FUZZ_REQUIRE_SAYING(locus_group_parse(text, &group, &error) == LOCUS_OK, error.message);
    return group;
}

/* ---- right ones ---- */

static size_t write_coordinate(const locus_group *group, const reference_position *p, size_t c, char *text,
                               size_t size) {
    size_t at = 0;
    if (locus_group_coordinate(group, c).kind != LOCUS_COORDINATE_TREE)
        return (size_t)snprintf(text, size, "%.0f", p->value[c]);
    for (size_t i = 0; i < p->letters[c]; i++)
        at += (size_t)snprintf(text + at, size - at, i > 0 ? "%+lld" : "%lld", (long long)p->word[c][i]);
    return at > 0 ? at : (size_t)snprintf(text, size, "0");
}

static void write_position(const locus_group *group, const reference_position *p, char *text, size_t size) {
    const size_t count = locus_group_coordinates(group);
    size_t at = count > 1 ? (size_t)snprintf(text, size, "(") : 0;
    for (size_t c = 0; c < count; c++) {
        at += c > 0 ? (size_t)snprintf(text + at, size - at, ",") : 0;
        at += write_coordinate(group, p, c, text + at, size - at);
    }
    if (count > 1)
        (void)snprintf(text + at, size - at, ")");
}

static locus_path *path_of(const locus_positions *positions, size_t token) {
    locus_path *path = NULL;
    locus_error error;
    FUZZ_REQUIRE_SAYING(locus_positions_path(positions, token, &path, &error) == LOCUS_OK, error.message);
    return path;
}

static void check_pair(const locus_group *group, const drawn_side *side, size_t a, size_t b) {
    char wanted[TEXT], text[TEXT];
    locus_path *left = path_of(side->positions, a), *right = path_of(side->positions, b);
    int64_t distance = 0;
    locus_error error;
    write_position(group, &side->at[a], wanted, sizeof wanted);
    (void)locus_path_text(left, text, sizeof text);
    FUZZ_REQUIRE_SAYING(strcmp(text, wanted) == 0, wanted);
    FUZZ_REQUIRE_SAYING(locus_path_distance(left, right, &distance, &error) == LOCUS_OK, error.message);
    FUZZ_REQUIRE_SAYING((double)distance == reference_distance(group, &side->at[a], &side->at[b]), text);
    locus_path_destroy(&left);
    locus_path_destroy(&right);
}

static bool is_whole(const locus_positions *positions, size_t token) {
    locus_path *path = NULL;
    locus_error error;
    const locus_status status = locus_positions_path(positions, token, &path, &error);
    locus_path_destroy(&path);
    if (status != LOCUS_OK)
        fuzz_check_failure(status, &error);
    return status == LOCUS_OK;
}

static void check_right_ones(const locus_group *group, chooser *choices, bool starved) {
    static const int64_t reaches[] = {0, 3, 50, 1000000};
    drawn_side side = {.positions = NULL};
    size_t lengths[DRAWN_SEQUENCES], sequences = choose(choices, DRAWN_SEQUENCES + 1);
    locus_error error;
    for (size_t s = 0; s < sequences; s++)
        lengths[s] = choose(choices, 7);
    if (!drawn_side_make(&side, group, choices, sequences, lengths, reaches[choose(choices, 4)], &error)) {
        FUZZ_REQUIRE_SAYING(starved, error.message);
        fuzz_check_failure(error.status, &error);
    }
    const bool failed = starved && fuzz_allocator_disarm();
    FUZZ_REQUIRE(side.positions || failed);
    for (size_t s = 0; s < sequences && side.positions; s++)
        for (size_t i = 0; i < side.count[s]; i++)
            if (is_whole(side.positions, side.first[s]))
                check_pair(group, &side, side.first[s] + i, side.first[s] + choose(choices, side.count[s]));
    drawn_side_free(&side);
}

/* ---- numbers as they come ---- */

static int64_t draw_number(chooser *choices) {
    static const int64_t edges[] = {0, 1, -1, 2, INT64_MAX, INT64_MIN, (int64_t)1 << 62, ((int64_t)1 << 62) + 1, 7, -7};
    return choose_chance(choices, 15) ? edges[choose(choices, sizeof edges / sizeof edges[0])]
                                      : (int64_t)choose(choices, 5) - 1;
}

typedef struct rough_column {
    int64_t values[TOKENS + 1], branches[LETTERS];
    size_t starts[TOKENS + 2], parents[LETTERS];
} rough_column;

/* Mostly rising starts; all of them within the letters. */
static void draw_column(chooser *choices, bool tree, rough_column *rough, locus_position_column *column) {
    size_t at = 0;
    for (size_t i = 0; i < TOKENS + 1; i++)
        rough->values[i] = draw_number(choices);
    for (size_t i = 0; i < LETTERS; i++) {
        rough->branches[i] = draw_number(choices);
        rough->parents[i] = choose_chance(choices, 5) ? choose(choices, LETTERS) : choose(choices, i);
    }
    for (size_t i = 0; i < TOKENS + 2; i++, at += choose(choices, 4)) {
        at = choose_chance(choices, 3) ? 0 : at;
        rough->starts[i] = at < LETTERS ? at : LETTERS;
    }
    *column = (locus_position_column){.size = sizeof(locus_position_column), .values = rough->values};
    if (tree == choose_chance(choices, 95)) {
        column->branches = rough->branches;
        if (choose_chance(choices, 50))
            column->starts = rough->starts;
        else
            column->parents = rough->parents;
        column->node_count = column->parents ? choose(choices, LETTERS + 1) : 0;
    }
}

static void check_taken(const locus_group *group, const locus_positions *positions, const locus_packing *packing) {
    FUZZ_REQUIRE(locus_positions_sequences(positions) == packing->sequences);
    FUZZ_REQUIRE(locus_positions_tokens(positions) == packing->offsets[packing->sequences]);
    for (size_t s = 0; s < packing->sequences; s++) {
        const size_t end = packing->lengths ? packing->offsets[s] + packing->lengths[s] : packing->offsets[s + 1];
        for (size_t t = packing->offsets[s]; t < end; t++) {
            if (!is_whole(positions, t))
                continue;
            locus_path *path = path_of(positions, t), *back = NULL;
            char text[4 * TEXT];
            locus_error error;
            FUZZ_REQUIRE(locus_path_text(path, text, sizeof text) < sizeof text);
            FUZZ_REQUIRE_SAYING(locus_path_parse(group, text, &back, &error) == LOCUS_OK, text);
            FUZZ_REQUIRE_SAYING(locus_path_equal(path, back), text);
            locus_path_destroy(&path);
            locus_path_destroy(&back);
        }
    }
}

static locus_status create(const locus_group *group, const locus_packing *packing, chooser *choices,
                           const locus_position_column *columns, locus_positions **positions, locus_error *error) {
    int64_t values[(TOKENS + 1) * REFERENCE_AXES];
    double reals[(TOKENS + 1) * REFERENCE_AXES];
    const uint64_t way = choose(choices, 3);
    for (size_t i = 0; i < (TOKENS + 1) * REFERENCE_AXES; i++) {
        values[i] = draw_number(choices);
        reals[i] = choose_chance(choices, 5) ? (double)values[i] / (double)choose(choices, 2) : (double)values[i] / 4;
    }
    if (way == 0)
        return locus_positions_create(positions, group, packing, choose_chance(choices, 90) ? values : NULL, error);
    return way == 1 ? locus_positions_create_real(positions, group, packing, reals, error)
                    : locus_positions_create_columns(positions, group, packing, columns, error);
}

static void check_rough_ones(const locus_group *group, chooser *choices) {
    static rough_column rough[REFERENCE_AXES];
    locus_position_column columns[REFERENCE_AXES];
    size_t offsets[DRAWN_SEQUENCES + 1], lengths[DRAWN_SEQUENCES], at = 0;
    const size_t sequences = choose(choices, DRAWN_SEQUENCES + 1);
    for (size_t s = 0; s <= sequences; s++, at += choose(choices, 6)) {
        offsets[s] = choose_chance(choices, 4) ? choose(choices, TOKENS + 1) : at < TOKENS ? at : TOKENS;
        if (s < sequences)
            lengths[s] = choose(choices, 4);
    }
    for (size_t c = 0; c < locus_group_coordinates(group); c++)
        draw_column(choices, locus_group_coordinate(group, c).kind == LOCUS_COORDINATE_TREE, &rough[c], &columns[c]);
    const locus_packing packing = {sizeof packing, sequences, offsets, choose_chance(choices, 40) ? lengths : NULL};
    locus_positions *positions = NULL;
    locus_error error;
    const locus_status status = create(group, &packing, choices, columns, &positions, &error);
    FUZZ_REQUIRE((status == LOCUS_OK) == (positions != NULL));
    if (positions)
        check_taken(group, positions, &packing);
    else
        fuzz_check_failure(status, &error);
    locus_positions_destroy(&positions);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    chooser choices = chooser_of_bytes(data, size);
    fuzz_allocator_use();
    locus_group *group = draw_group(&choices);
    const bool starved = choose_chance(&choices, 15);
    if (choose_chance(&choices, 50)) {
        check_rough_ones(group, &choices);
    } else {
        if (starved)
            fuzz_allocator_arm(choose(&choices, 60));
        check_right_ones(group, &choices, starved);
    }
    locus_group_destroy(&group);
    return 0;
}
