/* SPDX-License-Identifier: MIT */
/* What both ways of folding share: the source's normal form, the target's parameters by name. */
#include "folding.h"
#include "output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Angles of two heads that differ by less are one angle: far below what 10⁶ steps in float32 could show. */
#define SAME_ANGLE 1e-13

void cli_folding_close(cli_folding *folding) {
    free(folding->basis);
    free(folding->angles);
    free(folding->signs);
    free(folding->turn);
    cli_spec_close(&folding->spec);
    cli_encoding_close(&folding->target);
    *folding = (cli_folding){0};
}

/* ---- the source ---- */

static bool heads_agree(const cli_folding *folding) {
    const size_t count = folding->shape.coordinates * folding->shape.pairs;
    for (size_t i = count; i < folding->shape.heads * count; i++)
        if (!(fabs(folding->angles[i] - folding->angles[i % count]) <= SAME_ANGLE))
            return false;
    return true;
}

static int read_normal_form(cli_folding *folding) {
    locus_error error = {.offset = -1};
    locus_fold_shape *shape = &folding->shape;
    shape->size = sizeof *shape;
    if (locus_fold_measure(folding->source->binding, shape, &error) != LOCUS_OK)
        return cli_failure("fold: %s", error.message);
    const size_t square = shape->head_dim * shape->head_dim, alone = shape->head_dim - 2 * shape->pairs;
    folding->basis = calloc(shape->heads * square, sizeof(double));
    folding->turn = calloc(shape->heads * square, sizeof(double));
    folding->angles = calloc(shape->heads * shape->coordinates * shape->pairs + 1, sizeof(double));
    folding->signs = calloc(shape->heads * shape->coordinates * alone + 1, sizeof(double));
    if (!folding->basis || !folding->turn || !folding->angles || !folding->signs)
        return cli_failure("out of memory for %zu bases of %zu dimensions", shape->heads, shape->head_dim);
    if (locus_fold(folding->source->binding, folding->basis, folding->angles, folding->signs, &error) != LOCUS_OK)
        return cli_error(&error);
    for (size_t i = 0; i < shape->heads * shape->coordinates * alone; i++) {
        if (folding->signs[i] < 0) {
            return cli_failure("fold: a generator reflects one direction alone (an eigenvalue −1 without a partner), "
                               "which no rotation does; blocks of even size have none (split, head-dim)");
        }
    }
    folding->shared = heads_agree(folding);
    return 0;
}

/* ---- the target ---- */

int cli_folding_parse(cli_folding *folding) {
    char *text = cli_spec_string(&folding->spec);
    cli_encoding *target = &folding->target;
    int status = text ? cli_encoding_parse(target, text) : 1;
    free(text);
    if (status == 0) {
        target->shape = folding->source->shape;
        status = cli_encoding_list(target);
    }
    return status;
}

const char *cli_folding_own(const cli_folding *folding, size_t index) {
    size_t term;
    const char *name = cli_parameter_base(folding->target.infos[index].name, &term);
    return term == folding->shape.term && strcmp(name, "rate") != 0 ? name : NULL;
}

/* The source's tensor of that term and base name. */
static const locus_tensor *source_tensor(const cli_folding *folding, size_t term, const char *name) {
    for (size_t i = 0; i < folding->source->count; i++) {
        size_t own;
        const char *base = cli_parameter_base(folding->source->infos[i].name, &own);
        if (own == term && strcmp(base, name) == 0)
            return &folding->source->values[i];
    }
    return NULL;
}

int cli_folding_copy(cli_folding *folding) {
    cli_spec source;
    const int status = cli_spec_open(&source, folding->source->encoding);
    const size_t before = source.count; /* a term of the target beyond these was split off the folded one */
    cli_spec_close(&source);
    if (status != 0)
        return status;
    for (size_t i = 0; i < folding->target.count; i++) {
        size_t term;
        const char *name = cli_parameter_base(folding->target.infos[i].name, &term);
        const locus_tensor *from = source_tensor(folding, term < before ? term : folding->shape.term, name);
        locus_tensor *to = &folding->target.values[i];
        if (!cli_folding_own(folding, i) && from && locus_tensor_count(from) == locus_tensor_count(to))
            memcpy(to->data, from->data, locus_tensor_count(to) * sizeof(double));
    }
    return 0;
}

cli_fold_block cli_folding_block(const cli_folding *folding, size_t index) {
    const cli_term *term = &folding->spec.terms[folding->shape.term];
    const locus_group *group = locus_encoding_group(folding->source->encoding);
    const char *split = cli_term_option(term, "split", NULL);
    const size_t equal = folding->shape.head_dim / folding->shape.coordinates;
    cli_fold_block block = {0};
    for (size_t i = 0; i <= index; i++) {
        block.first += block.dim;
        block.pair += block.dim / 2;
        block.dim = split ? strtoul(split, NULL, 10) : equal;
        split = split && strchr(split, ':') ? strchr(split, ':') + 1 : split;
    }
    block.coordinate = locus_group_coordinate(group, index);
    return block;
}

/* ---- checks ---- */

/* Shaw's tables meet queries before any operator: in another basis they would have to turn with them, but they are
 * shared by heads, and the values' table meets no basis at all. */
static int check_content(const cli_folding *folding) {
    const size_t dim = folding->shape.head_dim;
    bool turned = false;
    for (size_t i = 0; i < folding->shape.heads * dim * dim; i++)
        turned = turned || folding->turn[i] != (i / dim % dim == i % dim);
    for (size_t i = 0; i < folding->spec.count && turned; i++) {
        if (strcmp(folding->spec.terms[i].name, "relative") == 0 || strcmp(folding->spec.terms[i].name, "cope") == 0) {
            return cli_failure("fold: '%s' reads the queries themselves, in the basis that they have: it cannot stand "
                               "beside an encoding that is folded",
                               folding->spec.terms[i].name);
        }
    }
    return 0;
}

int cli_folding_open(cli_folding *folding, const cli_encoding *source, const cli_folding_wish *wish) {
    *folding = (cli_folding){.source = source};
    const bool rotary = wish->to == CLI_FOLD_ROTARY;
    int status = cli_spec_open(&folding->spec, source->encoding);
    status = status ? status : read_normal_form(folding);
    status = status   ? status
             : rotary ? cli_folding_rotary_spec(folding, wish->half)
                      : cli_folding_algebraic_spec(folding);
    status = status ? status : cli_folding_parse(folding);
    if (status == 0)
        status = cli_folding_copy(folding);
    if (status == 0)
        status = rotary ? cli_folding_rotary_fill(folding) : cli_folding_algebraic_fill(folding, wish);
    return status ? status : check_content(folding);
}
