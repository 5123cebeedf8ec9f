/* SPDX-License-Identifier: MIT */
/* Terms are dropped from the text; the parameters of the others are found again by their term and name. */
#include "acting.h"
#include "output.h"
#include "spec_text.h"

#include <stdlib.h>
#include <string.h>

typedef bool keeps_term(const cli_term *term);

/* What acts between the embedding and the encoder's output, or nowhere. */
static bool acts_inside(const cli_term *term) {
    const unsigned vectors = LOCUS_SITE_EMBEDDING | LOCUS_SITE_ENCODED;
    return term->sites == 0 || (term->sites & ~vectors) != 0;
}

/* `scores` has settings, which are no bias. */
static bool acts_on_scores(const cli_term *term) {
    return (term->sites & LOCUS_SITE_SCORE) != 0 && strcmp(term->name, "scores") != 0;
}

/* Moves the terms that stay to the front; kept[j] is the old number of term j. Returns how many stay. */
static size_t drop_terms(cli_spec *spec, keeps_term *keeps, size_t *kept) {
    size_t count = 0;
    for (size_t i = 0; i < spec->count; i++) {
        if (keeps(&spec->terms[i])) {
            const cli_term moved = spec->terms[i];
            spec->terms[i] = spec->terms[count];
            spec->terms[count] = moved;
            kept[count++] = i;
        }
    }
    return count;
}

static void copy_parameters(cli_encoding *acting, const cli_encoding *from, const size_t *kept) {
    for (size_t i = 0; i < acting->count; i++) {
        size_t term, other;
        const char *name = cli_parameter_base(acting->infos[i].name, &term);
        for (size_t j = 0; j < from->count; j++) {
            const char *base = cli_parameter_base(from->infos[j].name, &other);
            if (other == kept[term] && strcmp(base, name) == 0) {
                memcpy(acting->values[i].data, from->values[j].data,
                       locus_tensor_count(&acting->values[i]) * sizeof(double));
            }
        }
    }
}

static int open_kept(cli_encoding *acting, const cli_encoding *encoding, keeps_term *keeps) {
    char *text = NULL;
    size_t kept[CLI_TERMS_MAX] = {0}, all = 0;
    cli_spec spec;
    *acting = (cli_encoding){0};
    int status = cli_spec_open(&spec, encoding->encoding);
    if (status == 0) {
        all = spec.count;
        spec.count = drop_terms(&spec, keeps, kept);
        text = cli_spec_string(&spec);
        status = text ? cli_encoding_parse(acting, spec.count ? text : "none") : 1;
        spec.count = all;
        free(text);
    }
    cli_spec_close(&spec);
    if (status == 0) {
        acting->shape = encoding->shape;
        acting->length = encoding->length;
        status = cli_encoding_list(acting);
    }
    if (status == 0) {
        copy_parameters(acting, encoding, kept);
        status = cli_encoding_rebind(acting);
    }
    return status;
}

int cli_acting_open(cli_encoding *acting, const cli_encoding *encoding) {
    return open_kept(acting, encoding, acts_inside);
}

int cli_acting_scores(cli_encoding *acting, const cli_encoding *encoding) {
    return open_kept(acting, encoding, acts_on_scores);
}
