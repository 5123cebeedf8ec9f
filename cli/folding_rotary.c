/* SPDX-License-Identifier: MIT */
/* To rotary: the spec that turns plain pairs by the angles of a normal form.
 *
 *   rope, roper        the same with other pairs; proportional frequencies become a learned list
 *   algebraic          generator=angles; half pairs, and an odd head: rope(learned=on) + decay(…), which has one list
 *                      of frequencies for all heads
 *   mixed              itself
 *   string             mixed
 *
 * Both normal forms list the same pairs, so T = U Vᵀ with U the source's basis, V the target's (a permutation). */
#include "folding.h"
#include "output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cli_term *folded_term(cli_folding *folding) {
    return &folding->spec.terms[folding->shape.term];
}

static int keep_options(cli_term *term, const char *const *kept) {
    for (size_t i = 0; i < term->count;) {
        const char *const *name = kept;
        while (*name && strcmp(*name, term->options[i].key) != 0)
            name++;
        if (*name)
            i++;
        else if (cli_term_set(term, term->options[i].key, NULL))
            return 1;
    }
    return 0;
}

static int rope_spec(cli_term *term, bool half) {
    const char *rotate = cli_term_option(term, "rotate", "");
    bool proportional = strncmp(rotate, "proportional", 12) == 0;
    if (proportional && !half) {
        int status = cli_term_set(term, "rotate", NULL);
        status = status ? status : cli_term_set(term, "base", NULL);
        status = status ? status : cli_term_set(term, "pairs", NULL);
        return status ? status : cli_term_set(term, "learned", "on");
    }
    return proportional ? 0 : cli_term_set(term, "pairs", half ? "half" : NULL);
}

/* decay=c of a term becomes a term of its own. */
static int split_decay(cli_folding *folding, const char *decay) {
    cli_term *term = NULL;
    if (!decay)
        return 0;
    const bool learned = strncmp(decay, "learned:", 8) == 0;
    char copy[64];
    snprintf(copy, sizeof copy, "%s", learned ? decay + 8 : decay);
    int status = cli_spec_append(&folding->spec, "decay", &term);
    status = status ? status : cli_term_set(term, "rate", copy);
    return status || !learned ? status : cli_term_set(term, "learned", "on");
}

static int single_rope_spec(cli_folding *folding, bool half) {
    static const char *const kept[] = {"side", "values", NULL};
    cli_term *term = folded_term(folding);
    const locus_fold_shape *shape = &folding->shape;
    char rotate[24], decay[64] = "";
    if (shape->pairs == 0)
        return cli_failure("fold: a head of one dimension has no pair to turn");
    if (shape->coordinates != 1 ||
        locus_group_coordinate(locus_encoding_group(folding->source->encoding), 0).kind != LOCUS_COORDINATE_AXIS) {
        return cli_failure(
            half ? "fold: half pairs are rope's, which acts on seq only; leave out --pairs half"
                 : "fold: a block of odd size has a direction that stands still, which pairs of a product "
                   "cannot have; choose even blocks (split, head-dim)");
    }
    if (!folding->shared) {
        return cli_failure("fold: %s rope's, which has one list of frequencies, and here each head has its own; "
                           "give heads=shared, %s",
                           half ? "half pairs are" : "an odd head dimension is",
                           half ? "or leave out --pairs half" : "or an even head dimension");
    }
    snprintf(decay, sizeof decay, "%s", cli_term_option(term, "decay", ""));
    snprintf(rotate, sizeof rotate, "%zu", 2 * shape->pairs);
    int status = cli_term_rename(term, "rope");
    status = status ? status : keep_options(term, kept);
    status = status ? status : cli_term_set(term, "learned", "on");
    status = status ? status : cli_term_set(term, "pairs", half ? "half" : NULL);
    status = status ? status : cli_term_set(term, "rotate", 2 * shape->pairs < shape->head_dim ? rotate : NULL);
    return status ? status : split_decay(folding, decay[0] ? decay : NULL);
}

int cli_folding_rotary_spec(cli_folding *folding, bool half) {
    cli_term *term = folded_term(folding);
    if (strcmp(term->name, "rope") == 0 || strcmp(term->name, "roper") == 0)
        return rope_spec(term, half);
    if (strcmp(term->name, "mixed") == 0 || strcmp(term->name, "string") == 0) {
        return half ? cli_failure("fold: half pairs are rope's; '%s' turns pairs (2i, 2i + 1)", term->name)
                    : cli_term_rename(term, "mixed");
    }
    if (half || 2 * folding->shape.pairs < folding->shape.head_dim)
        return single_rope_spec(folding, half);
    int status = cli_term_set(term, "init", NULL);
    return status ? status : cli_term_set(term, "generator", "angles");
}

/* ---- parameters ---- */

static const double *angles_of(const cli_folding *folding, size_t head, size_t coordinate) {
    return folding->angles + (head * folding->shape.coordinates + coordinate) * folding->shape.pairs;
}

/* frequencies [pairs] or [tables, axes, pairs] */
static void fill_frequencies(const cli_folding *folding, const locus_tensor *tensor) {
    const size_t pairs = folding->shape.pairs, axes = tensor->rank == 3 ? (size_t)tensor->shape[1] : 1;
    double *out = tensor->data;
    for (size_t i = 0; i < locus_tensor_count(tensor); i++)
        out[i] = angles_of(folding, i / pairs / axes, i / pairs % axes)[i % pairs];
}

/* angles [tables, generators, b/2], or angles.F of coordinate F alone; cycles have none */
static void fill_angles(const cli_folding *folding, const char *name, const locus_tensor *tensor) {
    const bool one = strchr(name, '.') != NULL;
    const size_t only = one ? strtoul(strchr(name, '.') + 1, NULL, 10) : 0, generators = (size_t)tensor->shape[1];
    const size_t pairs = (size_t)tensor->shape[2];
    double *out = tensor->data;
    for (size_t table = 0; table < (size_t)tensor->shape[0]; table++) {
        size_t generator = 0;
        for (size_t c = 0; c < folding->shape.coordinates; c++) {
            const cli_fold_block block = cli_folding_block(folding, c);
            if ((one && c != only) || block.coordinate.kind == LOCUS_COORDINATE_CYCLE)
                continue;
            memcpy(out + (table * generators + generator++) * pairs, angles_of(folding, table, c) + block.pair,
                   pairs * sizeof *out);
        }
    }
}

/* T = U Vᵀ. */
static void fill_turn(const cli_folding *folding, const double *V) {
    const size_t dim = folding->shape.head_dim;
    for (size_t h = 0; h < folding->shape.heads; h++) {
        const double *u = folding->basis + h * dim * dim, *v = V + h * dim * dim;
        double *t = folding->turn + h * dim * dim;
        for (size_t i = 0; i < dim; i++) {
            for (size_t j = 0; j < dim; j++) {
                double sum = 0;
                for (size_t k = 0; k < dim; k++)
                    sum += u[i * dim + k] * v[j * dim + k];
                t[i * dim + j] = sum;
            }
        }
    }
}

/* The target must turn its pairs as the source does: what follows rests on it. */
static int check_angles(const cli_folding *folding, const locus_fold_shape *shape, const double *angles) {
    bool same = shape->pairs == folding->shape.pairs && shape->coordinates == folding->shape.coordinates;
    for (size_t i = 0; same && i < shape->heads * shape->coordinates * shape->pairs; i++)
        same = fabs(angles[i] - folding->angles[i]) <= 1e-12 * fmax(1, fabs(angles[i]));
    return same ? 0 : cli_failure("fold: the rotary form does not turn as the encoding does; please report the spec");
}

int cli_folding_rotary_fill(cli_folding *folding) {
    locus_error error = {.offset = -1};
    locus_fold_shape shape = {.size = sizeof shape};
    for (size_t i = 0; i < folding->target.count; i++) {
        const char *name = cli_folding_own(folding, i);
        if (name && strcmp(name, "frequencies") == 0)
            fill_frequencies(folding, &folding->target.values[i]);
        else if (name && strncmp(name, "angles", 6) == 0)
            fill_angles(folding, name, &folding->target.values[i]);
    }
    int status = cli_encoding_rebind(&folding->target);
    if (status)
        return status;
    if (locus_fold_measure(folding->target.binding, &shape, &error) != LOCUS_OK)
        return cli_error(&error);
    double *V = calloc(shape.heads * shape.head_dim * shape.head_dim, sizeof *V);
    double *angles = calloc(shape.heads * shape.coordinates * shape.pairs + 1, sizeof *angles);
    if (!V || !angles) {
        status = cli_failure("out of memory for a basis");
    } else if (locus_fold(folding->target.binding, V, angles, NULL, &error) != LOCUS_OK) {
        status = cli_error(&error);
    } else {
        status = check_angles(folding, &shape, angles);
        fill_turn(folding, V);
    }
    free(V);
    free(angles);
    return status;
}
