/* SPDX-License-Identifier: MIT */
/* A sum promises what all of its terms promise.
 *
 *   rope, roper, algebraic, mixed, string    homomorphisms to orthogonal matrices; relative with side=both
 *   liere                                    exp(Σ p_a S_a) with S_a that do not commute: orthogonal, nothing else
 *   alibi, decay, relative, t5, kerple, none functions of the relative path: relative
 *   at the embedding, and any other          nothing */
#include "law_promises.h"
#include "spec_text.h"

#include <string.h>

static bool is_one_of(const char *name, const char *const *names) {
    while (*names && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

static cli_promises promises_of(const cli_term *term) {
    static const char *const actions[] = {"rope", "roper", "algebraic", "mixed", "string", NULL};
    static const char *const scores[] = {"alibi", "decay", "relative", "t5", "kerple", "none", NULL};
    if (is_one_of(term->name, actions)) {
        return (cli_promises){true, true, cli_term_has(term, "side", "both", "both")};
    }
    if (is_one_of(term->name, scores)) {
        return (cli_promises){true, true, true};
    }
    return (cli_promises){false, strcmp(term->name, "liere") == 0, false};
}

int cli_promises_read(cli_promises *promises, const locus_encoding *encoding) {
    cli_spec spec;
    int status = cli_spec_open(&spec, encoding);
    *promises = (cli_promises){true, true, true};
    for (size_t i = 0; i < spec.count; i++) {
        cli_promises own = promises_of(&spec.terms[i]);
        bool operates = spec.terms[i].sites & LOCUS_SITE_QUERY_KEY;
        promises->homomorphism = promises->homomorphism && (!operates || own.homomorphism);
        promises->orthogonal = promises->orthogonal && (!operates || own.orthogonal);
        promises->relativity = promises->relativity && own.relativity;
    }
    cli_spec_close(&spec);
    return status;
}
