/* SPDX-License-Identifier: MIT */
/* Terms are dropped from the text; the parameters of the others are found again by their term and name. */
#include "bound/acting.h"

#include "bound/spec_text.h"
#include "io/fail.h"

#include <stdlib.h>
#include <string.h>

typedef bool keeps_term(const lab_term *term);

/* What acts between the embedding and the encoder's output, or nowhere. */
static bool acts_inside(const lab_term *term) {
    const unsigned vectors = LOCUS_SITE_EMBEDDING | LOCUS_SITE_ENCODED;
    return term->sites == 0 || (term->sites & ~vectors) != 0;
}

/* `scores` has settings, which are no bias. */
static bool acts_on_scores(const lab_term *term) {
    return (term->sites & LOCUS_SITE_SCORE) != 0 && strcmp(term->name, "scores") != 0;
}

/* Moves the terms that stay to the front; kept[j] is the old number of term j. Returns how many stay. */
static size_t drop_terms(lab_spec *spec, keeps_term *keeps, size_t *kept) {
    size_t count = 0;
    for (size_t i = 0; i < spec->count; i++) {
        if (keeps(&spec->terms[i])) {
            const lab_term moved = spec->terms[i];
            spec->terms[i] = spec->terms[count];
            spec->terms[count] = moved;
            kept[count++] = i;
        }
    }
    return count;
}

static void copy_parameters(lab_bound *acting, const lab_bound *from, const size_t *kept) {
    for (size_t i = 0; i < acting->count; i++) {
        size_t term;
        const char *name = lab_parameter_base(acting->infos[i].name, &term);
        const locus_tensor *values = lab_bound_values(from, kept[term], name);
        const size_t count = locus_tensor_count(&acting->values[i]);
        if (values && locus_tensor_count(values) == count)
            memcpy(acting->values[i].data, values->data, count * sizeof(double));
    }
}

static locus_status parse_kept(lab_bound *acting, lab_spec *spec, keeps_term *keeps, size_t *kept, locus_error *error) {
    const size_t all = spec->count;
    spec->count = drop_terms(spec, keeps, kept);
    char *text = spec->count ? lab_spec_string(spec) : NULL;
    const locus_status status =
        spec->count && !text ? lab_fail_memory(error, "a spec") : lab_bound_parse(acting, text ? text : "none", error);
    spec->count = all;
    free(text);
    return status;
}

static locus_status open_kept(lab_bound *acting, const lab_bound *whole, keeps_term *keeps, locus_error *error) {
    size_t kept[LAB_TERMS_MAX] = {0};
    lab_spec spec;
    *acting = (lab_bound){0};
    locus_status status = lab_spec_open(&spec, whole->encoding, error);
    if (status == LOCUS_OK)
        status = parse_kept(acting, &spec, keeps, kept, error);
    lab_spec_close(&spec);
    if (status == LOCUS_OK) {
        acting->shape = whole->shape;
        acting->length = whole->length;
        status = lab_bound_list(acting, error);
    }
    if (status != LOCUS_OK)
        return status;
    copy_parameters(acting, whole, kept);
    return lab_bound_bind(acting, error);
}

locus_status lab_acting_open(lab_bound *acting, const lab_bound *whole, locus_error *error) {
    return open_kept(acting, whole, acts_inside, error);
}

locus_status lab_acting_scores(lab_bound *acting, const lab_bound *whole, locus_error *error) {
    return open_kept(acting, whole, acts_on_scores, error);
}
