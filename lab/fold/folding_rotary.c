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
#include "fold/folding_parts.h"
#include "io/fail.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static locus_status rope_spec(lab_term *term, bool half, locus_error *error) {
    const char *rotate = lab_term_option(term, "rotate", "");
    bool proportional = strncmp(rotate, "proportional", 12) == 0;
    if (proportional && !half) {
        locus_status status = lab_term_set(term, "rotate", NULL, error);
        status = status ? status : lab_term_set(term, "base", NULL, error);
        status = status ? status : lab_term_set(term, "pairs", NULL, error);
        return status ? status : lab_term_set(term, "learned", "on", error);
    }
    return proportional ? 0 : lab_term_set(term, "pairs", half ? "half" : NULL, error);
}

/* decay=c of a term becomes a term of its own. */
static locus_status split_decay(lab_folding *folding, const char *decay, locus_error *error) {
    lab_term *term = NULL;
    if (!decay)
        return LOCUS_OK;
    const bool learned = strncmp(decay, "learned:", 8) == 0;
    char copy[64];
    snprintf(copy, sizeof copy, "%s", learned ? decay + 8 : decay);
    locus_status status = lab_spec_append(&folding->spec, "decay", &term, error);
    status = status ? status : lab_term_set(term, "rate", copy, error);
    return status || !learned ? status : lab_term_set(term, "learned", "on", error);
}

static locus_status single_rope_spec(lab_folding *folding, bool half, locus_error *error) {
    lab_term *term = lab_folding_term(folding);
    const locus_fold_shape *shape = &folding->shape;
    char rotate[24], decay[64] = "";
    if (shape->pairs == 0)
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, NULL, "fold: a head of one dimension has no pair to turn");
    if (shape->coordinates != 1 ||
        locus_group_coordinate(locus_encoding_group(folding->source->encoding), 0).kind != LOCUS_COORDINATE_AXIS) {
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, NULL,
                        half ? "fold: half pairs are rope's, which acts on seq only; leave out --pairs half"
                             : "fold: a block of odd size has a direction that stands still, which pairs of a product "
                               "cannot have; choose even blocks (split, head-dim)");
    }
    if (!folding->shared) {
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, NULL,
                        "fold: %s rope's, which has one list of frequencies, and here each head has its own; "
                        "give heads=shared, %s",
                        half ? "half pairs are" : "an odd head dimension is",
                        half ? "or leave out --pairs half" : "or an even head dimension");
    }
    snprintf(decay, sizeof decay, "%s", lab_term_option(term, "decay", ""));
    snprintf(rotate, sizeof rotate, "%zu", 2 * shape->pairs);
    locus_status status = lab_term_rename(term, "rope", error);
    status = status ? status : lab_folding_strip(term, error);
    status = status ? status : lab_term_set(term, "learned", "on", error);
    status = status ? status : lab_term_set(term, "pairs", half ? "half" : NULL, error);
    status = status ? status : lab_term_set(term, "rotate", 2 * shape->pairs < shape->head_dim ? rotate : NULL, error);
    return status ? status : split_decay(folding, decay[0] ? decay : NULL, error);
}

locus_status lab_folding_rotary_spec(lab_folding *folding, bool half, locus_error *error) {
    lab_term *term = lab_folding_term(folding);
    if (strcmp(term->name, "rope") == 0 || strcmp(term->name, "roper") == 0)
        return rope_spec(term, half, error);
    if (strcmp(term->name, "mixed") == 0 || strcmp(term->name, "string") == 0) {
        return half ? lab_fail(error, LOCUS_ERROR_UNSUPPORTED, NULL,
                               "fold: half pairs are rope's; '%s' turns pairs (2i, 2i + 1)", term->name)
                    : lab_term_rename(term, "mixed", error);
    }
    if (half || 2 * folding->shape.pairs < folding->shape.head_dim)
        return single_rope_spec(folding, half, error);
    locus_status status = lab_term_set(term, "init", NULL, error);
    return status ? status : lab_term_set(term, "generator", "angles", error);
}

/* ---- parameters ---- */

/* frequencies [pairs] or [tables, axes, pairs] */
static void fill_frequencies(const lab_folding *folding, const locus_tensor *tensor) {
    const size_t pairs = folding->shape.pairs, axes = tensor->rank == 3 ? (size_t)tensor->shape[1] : 1;
    double *out = tensor->data;
    for (size_t i = 0; i < locus_tensor_count(tensor); i++)
        out[i] = lab_folding_angles(folding, i / pairs / axes, i / pairs % axes)[i % pairs];
}

/* angles [tables, generators, b/2], or angles.F of coordinate F alone; cycles have none */
static void fill_angles(const lab_folding *folding, const char *name, const locus_tensor *tensor) {
    const bool one = strchr(name, '.') != NULL;
    const size_t only = one ? strtoul(strchr(name, '.') + 1, NULL, 10) : 0, generators = (size_t)tensor->shape[1];
    const size_t pairs = (size_t)tensor->shape[2];
    double *out = tensor->data;
    for (size_t table = 0; table < (size_t)tensor->shape[0]; table++) {
        size_t generator = 0;
        for (size_t c = 0; c < folding->shape.coordinates; c++) {
            const lab_fold_block block = lab_folding_block(folding, c);
            if ((one && c != only) || block.coordinate.kind == LOCUS_COORDINATE_CYCLE)
                continue;
            memcpy(out + (table * generators + generator++) * pairs, lab_folding_angles(folding, table, c) + block.pair,
                   pairs * sizeof *out);
        }
    }
}

/* The target must turn its pairs as the source does: what follows rests on it. */
static locus_status check_angles(const lab_folding *folding, const locus_fold_shape *shape, const double *angles,
                                 locus_error *error) {
    bool same = shape->pairs == folding->shape.pairs && shape->coordinates == folding->shape.coordinates;
    for (size_t i = 0; same && i < shape->heads * shape->coordinates * shape->pairs; i++)
        same = fabs(angles[i] - folding->angles[i]) <= 1e-12 * fmax(1, fabs(angles[i]));
    return same ? LOCUS_OK
                : lab_fail(error, LOCUS_ERROR_UNSUPPORTED, NULL,
                           "fold: the rotary form does not turn as the encoding does; please report the spec");
}

static void fill_parameters(lab_folding *folding) {
    for (size_t i = 0; i < folding->target.count; i++) {
        const char *name = lab_folding_own(folding, i);
        if (name && strcmp(name, "frequencies") == 0)
            fill_frequencies(folding, &folding->target.values[i]);
        else if (name && strncmp(name, "angles", 6) == 0)
            fill_angles(folding, name, &folding->target.values[i]);
    }
}

locus_status lab_folding_rotary_fill(lab_folding *folding, locus_error *error) {
    locus_fold_shape shape = {.size = sizeof shape};
    fill_parameters(folding);
    locus_status status = lab_bound_bind(&folding->target, error);
    if (status == LOCUS_OK)
        status = locus_fold_measure(folding->target.binding, &shape, error);
    if (status != LOCUS_OK)
        return status;
    double *V = calloc(shape.heads * shape.head_dim * shape.head_dim, sizeof *V);
    double *angles = calloc(shape.heads * shape.coordinates * shape.pairs + 1, sizeof *angles);
    status =
        V && angles ? locus_fold(folding->target.binding, V, angles, NULL, error) : lab_fail_memory(error, "a basis");
    if (status == LOCUS_OK) {
        status = check_angles(folding, &shape, angles, error);
        lab_folding_turn(folding, V);
    }
    free(V);
    free(angles);
    return status;
}
