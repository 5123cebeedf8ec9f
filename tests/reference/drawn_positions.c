/* SPDX-License-Identifier: MIT */
/* Drawn positions: the same places said in the library's ways (natural order, integers, real numbers, words that need
 * not be reduced, nodes of a tree) and in the reference's. */
#include "reference/drawn_world.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 5, LETTERS = 2 * WORD + 4 };

typedef struct position_drawing {
    drawn_side *side;
    const locus_group *group;
    chooser *choices;
    int64_t reach;
    bool natural, real;
} position_drawing;

/* One letter behind a reduced word. */
static void append_letter(reference_position *p, size_t c, int64_t branch) {
    if (p->letters[c] > 0 && p->word[c][p->letters[c] - 1] == -branch)
        p->letters[c]--;
    else
        p->word[c][p->letters[c]++] = branch;
}

/* A word as it is told, and reduced. Returns its letters. */
static size_t draw_word(const position_drawing *d, const locus_coordinate *coordinate, size_t c, reference_position *p,
                        int64_t *told) {
    const size_t wanted = choose(d->choices, WORD + 1);
    const bool back = choose_chance(d->choices, 30);
    size_t letters = 0;
    while (letters < wanted) {
        const int64_t branch = 1 + (int64_t)choose(d->choices, (uint64_t)coordinate->size);
        told[letters] = back && choose_chance(d->choices, 30) ? -branch : branch;
        append_letter(p, c, told[letters++]);
    }
    if (choose_chance(d->choices, 15)) { /* there and back again */
        told[letters] = 1;
        told[letters + 1] = -1;
        letters += 2;
    }
    return letters;
}

static void draw_values(const position_drawing *d, const locus_coordinate *coordinate, size_t c, int64_t *values,
                        double *reals) {
    const drawn_side *side = d->side;
    for (size_t s = 0; s < side->tokens.sequences; s++)
        for (size_t i = 0; i < side->count[s]; i++) {
            const size_t t = side->first[s] + i;
            reference_position *p = &side->at[t];
            int64_t value = (int64_t)i;
            if (!d->natural && coordinate->kind == LOCUS_COORDINATE_CYCLE)
                value = (int64_t)choose(d->choices, 3 * (uint64_t)coordinate->size) - coordinate->size;
            else if (!d->natural)
                value = (int64_t)choose(d->choices, 2 * (uint64_t)d->reach + 1) - d->reach;
            values[t] = value;
            reals[t] = p->value[c] = (double)value + (d->real ? (double)choose(d->choices, 8) / 8 : 0);
            if (coordinate->kind == LOCUS_COORDINATE_CYCLE)
                p->value[c] -= floor(p->value[c] / (double)coordinate->size) * (double)coordinate->size;
        }
}

/* The nodes of a word as a forest of one root, repeated prefixes and all. */
typedef struct node_list {
    int64_t *branches;
    size_t *parents, count;
} node_list;

static int64_t add_nodes(node_list *nodes, const int64_t *told, size_t letters) {
    size_t at = 0;
    for (size_t i = 0; i < letters; i++) {
        nodes->branches[nodes->count] = told[i];
        nodes->parents[nodes->count] = at;
        at = nodes->count++;
    }
    return (int64_t)at;
}

static void draw_words(const position_drawing *d, const locus_coordinate *coordinate, size_t c,
                       locus_position_column *column) {
    drawn_side *side = d->side;
    const size_t tokens = side->tokens.tokens, room = tokens * LETTERS + 1;
    int64_t *letters = reference_zeros(room, sizeof *letters), *values = reference_zeros(tokens, sizeof *values);
    size_t *starts = reference_zeros(tokens + 1, sizeof *starts), *parents = reference_zeros(room, sizeof *parents);
    node_list nodes = {reference_zeros(room, sizeof(int64_t)), parents, 1};
    for (size_t t = 0, s = 0; t < tokens; t++) {
        size_t told = 0;
        while (s < side->tokens.sequences && t >= side->first[s] + side->count[s])
            s++;
        if (s < side->tokens.sequences && t >= side->first[s]) {
            told = draw_word(d, coordinate, c, &side->at[t], letters + starts[t]);
            values[t] = add_nodes(&nodes, letters + starts[t], told);
        }
        starts[t + 1] = starts[t] + told;
    }
    if (choose_chance(d->choices, 30)) {
        *column = (locus_position_column){.size = sizeof(locus_position_column),
                                          .values = values,
                                          .branches = nodes.branches,
                                          .parents = parents,
                                          .node_count = nodes.count};
        free(letters);
        free(starts);
    } else {
        *column = (locus_position_column){.size = sizeof(locus_position_column), .branches = letters, .starts = starts};
        free(nodes.branches);
        free(parents);
        free(values);
    }
}

static void free_column(locus_position_column *column) {
    free((void *)(uintptr_t)column->values);
    free((void *)(uintptr_t)column->branches);
    free((void *)(uintptr_t)column->starts);
    free((void *)(uintptr_t)column->parents);
}

/* Gaps of one token or none between sequences; the last offset is the buffer's end. */
static bool lay_out(drawn_side *side, chooser *choices, size_t sequences, const size_t *lengths) {
    const bool gaps = choose_chance(choices, 30);
    size_t at = 0;
    for (size_t s = 0; s < sequences; s++) {
        side->first[s] = at;
        side->count[s] = lengths[s];
        at += lengths[s] + (gaps ? choose(choices, 3) : 0);
    }
    side->first[sequences] = at;
    side->at = reference_zeros(at, sizeof *side->at);
    side->tokens = (reference_tokens){sequences, at, side->first, side->count, side->at};
    return gaps;
}

static locus_status hand_over(const position_drawing *d, const locus_packing *packing, locus_error *error) {
    const size_t count = locus_group_coordinates(d->group), tokens = d->side->tokens.tokens;
    locus_position_column columns[REFERENCE_AXES];
    double *reals = reference_zeros(tokens * count, sizeof *reals), *column = reference_zeros(tokens, sizeof *column);
    memset(columns, 0, sizeof columns);
    for (size_t c = 0; c < count; c++) {
        const locus_coordinate coordinate = locus_group_coordinate(d->group, c);
        if (coordinate.kind == LOCUS_COORDINATE_TREE) {
            draw_words(d, &coordinate, c, &columns[c]);
            continue;
        }
        int64_t *values = reference_zeros(tokens, sizeof *values);
        draw_values(d, &coordinate, c, values, column);
        columns[c] = (locus_position_column){.size = sizeof *columns, .values = values};
        for (size_t t = 0; t < tokens; t++)
            reals[t * count + c] = column[t];
    }
    locus_status status;
    if (d->real)
        status = locus_positions_create_real(&d->side->positions, d->group, packing, reals, error);
    else if (d->natural && count == 1 && locus_group_coordinate(d->group, 0).kind != LOCUS_COORDINATE_TREE &&
             choose_chance(d->choices, 50))
        status = locus_positions_create(&d->side->positions, d->group, packing, NULL, error);
    else
        status = locus_positions_create_columns(&d->side->positions, d->group, packing, columns, error);
    for (size_t c = 0; c < count; c++)
        free_column(&columns[c]);
    free(reals);
    free(column);
    return status;
}

static bool only_axes(const locus_group *group) {
    for (size_t c = 0; c < locus_group_coordinates(group); c++)
        if (locus_group_coordinate(group, c).kind != LOCUS_COORDINATE_AXIS)
            return false;
    return true;
}

bool drawn_side_make(drawn_side *side, const locus_group *group, chooser *choices, size_t sequences,
                     const size_t *lengths, int64_t reach, locus_error *error) {
    const bool gaps = lay_out(side, choices, sequences, lengths);
    const locus_packing packing = {sizeof packing, sequences, side->first, gaps ? side->count : NULL};
    position_drawing d = {.side = side, .group = group, .choices = choices, .reach = reach};
    d.natural = reach == 0;
    d.real = only_axes(group) && choose_chance(choices, 12);
    if (!gaps)
        for (size_t s = 0; s < sequences; s++)
            side->count[s] = side->first[s + 1] - side->first[s];
    return hand_over(&d, &packing, error) == LOCUS_OK;
}

void drawn_side_free(drawn_side *side) {
    locus_positions_destroy(&side->positions);
    free(side->at);
    side->at = NULL;
}
