/* SPDX-License-Identifier: MIT */
/* Terms are dropped from the text; the parameters of the others are found again by their term and name. */
#include "acting.h"
#include "output.h"
#include "spec_text.h"

#include <string.h>

/* Moves the terms that stay to the front; kept[j] is the old number of term j. Returns how many stay. */
static size_t drop_embeddings(cli_spec *spec, size_t *kept) {
    size_t count = 0;
    for (size_t i = 0; i < spec->count; i++) {
        if (spec->terms[i].sites != LOCUS_SITE_EMBEDDING) {
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

int cli_acting_open(cli_encoding *acting, const cli_encoding *encoding) {
    char text[4096];
    size_t kept[CLI_TERMS_MAX] = {0}, all = 0;
    cli_spec spec;
    *acting = (cli_encoding){0};
    int status = cli_spec_open(&spec, encoding->encoding);
    if (status == 0) {
        all = spec.count;
        spec.count = drop_embeddings(&spec, kept);
        status = cli_spec_text(&spec, text, sizeof text) < sizeof text ? cli_encoding_parse(acting, text)
                                                                       : cli_failure("the spec is too long");
        spec.count = all;
    }
    cli_spec_close(&spec);
    if (status == 0) {
        acting->shape = encoding->shape;
        status = cli_encoding_list(acting);
    }
    if (status == 0) {
        copy_parameters(acting, encoding, kept);
        status = cli_encoding_rebind(acting);
    }
    return status;
}
