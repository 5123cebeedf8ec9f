/* SPDX-License-Identifier: MIT */
/* What both ways of folding share: the source's normal form, the target's parameters by name. */
#include "fold/folding.h"

#include "fold/folding_parts.h"
#include "io/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Angles of two heads that differ by less are one angle: far below what 10⁶ steps in float32 could show. */
#define SAME_ANGLE 1e-13

void lab_folding_close(lab_folding *folding) {
    free(folding->basis);
    free(folding->angles);
    free(folding->signs);
    free(folding->turn);
    lab_spec_close(&folding->spec);
    lab_bound_close(&folding->target);
    *folding = (lab_folding){0};
}

/* ---- the source ---- */

static bool heads_agree(const lab_folding *folding) {
    const size_t count = folding->shape.coordinates * folding->shape.pairs;
    for (size_t i = count; i < folding->shape.heads * count; i++)
        if (!(fabs(folding->angles[i] - folding->angles[i % count]) <= SAME_ANGLE))
            return false;
    return true;
}

static locus_status take_memory(lab_folding *folding, size_t signs, locus_error *error) {
    const locus_fold_shape *shape = &folding->shape;
    const size_t square = shape->head_dim * shape->head_dim;
    folding->basis = calloc(shape->heads * square, sizeof(double));
    folding->turn = calloc(shape->heads * square, sizeof(double));
    folding->angles = calloc(shape->heads * shape->coordinates * shape->pairs + 1, sizeof(double));
    folding->signs = calloc(signs + 1, sizeof(double));
    if (folding->basis && folding->turn && folding->angles && folding->signs)
        return LOCUS_OK;
    return lab_fail(error, LOCUS_ERROR_MEMORY, NULL, "out of memory for %zu bases of %zu dimensions", shape->heads,
                    shape->head_dim);
}

static locus_status read_normal_form(lab_folding *folding, locus_error *error) {
    locus_fold_shape *shape = &folding->shape;
    shape->size = sizeof *shape;
    locus_status status = locus_fold_measure(folding->source->binding, shape, error);
    if (status != LOCUS_OK)
        return lab_fail(error, status, NULL, "fold: %s", error ? error->message : "");
    const size_t signs = shape->heads * shape->coordinates * (shape->head_dim - 2 * shape->pairs);
    status = take_memory(folding, signs, error);
    if (status == LOCUS_OK)
        status = locus_fold(folding->source->binding, folding->basis, folding->angles, folding->signs, error);
    for (size_t i = 0; status == LOCUS_OK && i < signs; i++) {
        if (folding->signs[i] < 0) {
            status = lab_fail(error, LOCUS_ERROR_UNSUPPORTED, NULL,
                              "fold: a generator reflects one direction alone (an eigenvalue −1 without a partner), "
                              "which no rotation does; blocks of even size have none (split, head-dim)");
        }
    }
    folding->shared = status == LOCUS_OK && heads_agree(folding);
    return status;
}

/* The parameters of the other terms, and a learned decay's rate, from the source. */
static locus_status copy_parameters(lab_folding *folding, locus_error *error) {
    lab_spec source;
    const locus_status status = lab_spec_open(&source, folding->source->encoding, error);
    const size_t before = source.count; /* a term of the target beyond these was split off the folded one */
    lab_spec_close(&source);
    for (size_t i = 0; status == LOCUS_OK && i < folding->target.count; i++) {
        size_t term;
        const char *name = lab_parameter_base(folding->target.infos[i].name, &term);
        const locus_tensor *from = lab_bound_values(folding->source, term < before ? term : folding->shape.term, name);
        locus_tensor *to = &folding->target.values[i];
        if (!lab_folding_own(folding, i) && from && locus_tensor_count(from) == locus_tensor_count(to))
            memcpy(to->data, from->data, locus_tensor_count(to) * sizeof(double));
    }
    return status;
}

/* ---- checks ---- */

/* Shaw's tables meet queries before any operator: in another basis they would have to turn with them, but they are
 * shared by heads, and the values' table meets no basis at all. */
static locus_status check_content(const lab_folding *folding, locus_error *error) {
    const size_t dim = folding->shape.head_dim;
    bool turned = false;
    for (size_t i = 0; i < folding->shape.heads * dim * dim; i++)
        turned = turned || folding->turn[i] != (i / dim % dim == i % dim);
    for (size_t i = 0; i < folding->spec.count && turned; i++) {
        if (strcmp(folding->spec.terms[i].name, "relative") == 0 || strcmp(folding->spec.terms[i].name, "cope") == 0) {
            return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, NULL,
                            "fold: '%s' reads the queries themselves, in the basis that they have: it cannot stand "
                            "beside an encoding that is folded",
                            folding->spec.terms[i].name);
        }
    }
    return LOCUS_OK;
}

locus_status lab_folding_open(lab_folding *folding, const lab_bound *source, const lab_folding_wish *wish,
                              locus_error *error) {
    *folding = (lab_folding){.source = source};
    const bool rotary = wish->to == LAB_FOLD_ROTARY;
    locus_status status = lab_spec_open(&folding->spec, source->encoding, error);
    if (status == LOCUS_OK)
        status = read_normal_form(folding, error);
    if (status == LOCUS_OK) {
        status =
            rotary ? lab_folding_rotary_spec(folding, wish->half, error) : lab_folding_algebraic_spec(folding, error);
    }
    if (status == LOCUS_OK)
        status = lab_folding_parse(folding, error);
    if (status == LOCUS_OK)
        status = copy_parameters(folding, error);
    if (status == LOCUS_OK)
        status = rotary ? lab_folding_rotary_fill(folding, error) : lab_folding_algebraic_fill(folding, wish, error);
    return status == LOCUS_OK ? check_content(folding, error) : status;
}
