/* SPDX-License-Identifier: MIT */
/* See folding_parts.h. */
#include "fold/folding_parts.h"

#include "io/fail.h"

#include <stdlib.h>
#include <string.h>

lab_term *lab_folding_term(lab_folding *folding) {
    return &folding->spec.terms[folding->shape.term];
}

locus_status lab_folding_strip(lab_term *term, locus_error *error) {
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < term->count && status == LOCUS_OK;) {
        const char *key = term->options[i].key;
        if (strcmp(key, "side") == 0 || strcmp(key, "values") == 0)
            i++;
        else
            status = lab_term_set(term, key, NULL, error);
    }
    return status;
}

locus_status lab_folding_parse(lab_folding *folding, locus_error *error) {
    lab_bound *target = &folding->target;
    char *text = lab_spec_string(&folding->spec);
    locus_status status = text ? lab_bound_parse(target, text, error) : lab_fail_memory(error, "a spec");
    free(text);
    target->shape = folding->source->shape;
    return status == LOCUS_OK ? lab_bound_list(target, error) : status;
}

const char *lab_folding_own(const lab_folding *folding, size_t index) {
    size_t term;
    const char *name = lab_parameter_base(folding->target.infos[index].name, &term);
    return term == folding->shape.term && strcmp(name, "rate") != 0 ? name : NULL;
}

lab_fold_block lab_folding_block(const lab_folding *folding, size_t index) {
    const lab_term *term = &folding->spec.terms[folding->shape.term];
    const locus_group *group = locus_encoding_group(folding->source->encoding);
    const char *split = lab_term_option(term, "split", NULL);
    const size_t equal = folding->shape.head_dim / folding->shape.coordinates;
    lab_fold_block block = {0};
    for (size_t i = 0; i <= index; i++) {
        block.first += block.dim;
        block.pair += block.dim / 2;
        block.dim = split ? strtoul(split, NULL, 10) : equal;
        split = split && strchr(split, ':') ? strchr(split, ':') + 1 : split;
    }
    block.coordinate = locus_group_coordinate(group, index);
    return block;
}

const double *lab_folding_angles(const lab_folding *folding, size_t head, size_t coordinate) {
    return folding->angles + (head * folding->shape.coordinates + coordinate) * folding->shape.pairs;
}

void lab_folding_turn(lab_folding *folding, const double *B) {
    const size_t dim = folding->shape.head_dim;
    for (size_t i = 0; i < folding->shape.heads * dim * dim; i++) {
        const double *u = folding->basis + i / dim * dim, *b = B + (i / dim / dim * dim + i % dim) * dim;
        double sum = 0;
        for (size_t k = 0; k < dim; k++)
            sum += u[k] * b[k];
        folding->turn[i] = sum;
    }
}
