/* SPDX-License-Identifier: MIT */
/* The rows of the published comparisons as data: Kogkalidis, Bernardy and Garg 2024 (table1 to table3), Harik and
 * Jayasiri 2022 (roper), Hastings 2024 (listops).
 *
 * A scheme's spec holds sizes of the data: {window} is the mean length of the words, as published; {steps} the mean
 * depth of the trees, one more in set-up code (7 and 8 at the published size); {arity} the children of a tree's node or
 * the arguments of an operator; {depth} the greatest depth of an expression; {longest} one more than its most tokens.
 *
 * The problems of RoPER and the expressions have no decay unless asked for: their questions are values on or off, and
 * flat positions or a tree's. RoPER's tree columns are fields of Table 2, decay included. */
#include "report/reproduction/reproduction.h"
#include "train/configuration/config_options.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef struct scheme_pattern {
    const char *table;
    const char *kinds; /* of the tasks that it makes sense for */
    const char *name, *key;
    const char *plain;   /* without decay */
    const char *decayed; /* with it; NULL: there is no such thing */
    bool published_with; /* the published table has it with decay */
    bool beyond;
    bool pretrained;
} scheme_pattern;

static const scheme_pattern patterns[] = {
    {"table1", "words", "sinusoidal", "sinusoidal", "sinusoidal", NULL, false, false, false},
    {"table1", "words", "relative", "relative", "relative(window={window})", NULL, false, false, false},
    {"table1", "words", "rope", "rope", "rope", "rope + decay(rate=0.98)", false, false, false},
    {"table1", "words", "algebraic (seq)", "algebraic-seq", "algebraic(group=seq)", "algebraic(group=seq, decay=0.98)",
     true, false, false},

    {"table2", "trees", "sinusoidal", "sinusoidal", "sinusoidal", NULL, false, false, false},
    {"table2", "trees", "shiv-quirk", "shiv-quirk", "shiv-quirk(k={arity}, depth={steps})", NULL, false, false, false},
    {"table2", "trees", "rope", "rope", "rope", "rope + decay(rate=0.98)", false, false, false},
    {"table2", "trees", "algebraic (seq)", "algebraic-seq", "algebraic(group=seq)", "algebraic(group=seq, decay=0.98)",
     true, false, false},
    {"table2", "trees", "algebraic (tree)", "algebraic-tree", "algebraic(group=tree:{arity})",
     "algebraic(group=tree:{arity}, decay=0.98)", true, false, false},

    {"table3", "images", "sinusoidal", "sinusoidal", "sinusoidal", NULL, false, false, false},
    {"table3", "images", "learned", "learned", "learned(size=100)", NULL, false, false, false},
    {"table3", "images", "algebraic (seq)", "algebraic-seq", "algebraic(group=seq)", "algebraic(group=seq, decay=0.98)",
     true, false, false},
    {"table3", "images", "algebraic (grid)", "algebraic-grid", "algebraic(group=grid:2)",
     "algebraic(group=grid:2, decay=0.98)", true, false, false},
    {"table3", "images", "rope (two axes)", "rope-axes", "rope(axes=2)",
     "rope(axes=2) + decay(rate=0.98, group=grid:2)", false, true, false},
    {"table3", "images", "mixed", "mixed", "mixed", "mixed(decay=0.98)", false, true, false},
    {"table3", "images", "string", "string", "string", "string(decay=0.98)", false, true, false},
    {"table3", "images", "none", "none", "none", NULL, false, true, false},

    {"roper", "problems text", "rope", "rope", "rope", "rope + decay(rate=0.98)", false, false, false},
    {"roper", "problems text", "roper", "roper", "rope(values=on)", "rope(values=on) + decay(rate=0.98)", false, false,
     false},
    {"roper", "problems text", "algebraic (seq)", "algebraic-seq", "algebraic(group=seq)",
     "algebraic(group=seq, decay=0.98)", false, true, false},
    {"roper", "problems text", "algebraic (seq), values", "algebraic-seq-values", "algebraic(group=seq, values=on)",
     "algebraic(group=seq, values=on, decay=0.98)", false, true, false},
    {"roper", "trees", "algebraic (tree)", "algebraic-tree", "algebraic(group=tree:{arity})",
     "algebraic(group=tree:{arity}, decay=0.98)", true, true, false},
    {"roper", "trees", "algebraic (tree), values", "algebraic-tree-values", "algebraic(group=tree:{arity}, values=on)",
     "algebraic(group=tree:{arity}, values=on, decay=0.98)", true, true, false},

    {"listops", "expressions", "none", "none", "none", NULL, false, false, false},
    {"listops", "expressions", "sinusoidal", "sinusoidal", "sinusoidal", NULL, false, false, false},
    {"listops", "expressions", "learned", "learned", "learned(size={longest})", NULL, false, false, false},
    {"listops", "expressions", "chebyshev (input)", "chebyshev", "chebyshev(size={longest}, site=input)", NULL, false,
     false, false},
    {"listops", "expressions", "rope", "rope", "rope", "rope + decay(rate=0.98)", false, false, false},
    {"listops", "expressions", "algebraic (seq)", "algebraic-seq", "algebraic(group=seq)",
     "algebraic(group=seq, decay=0.98)", false, false, false},
    {"listops", "expressions", "algebraic (tree)", "algebraic-tree", "algebraic(group=tree:{arity})",
     "algebraic(group=tree:{arity}, decay=0.98)", false, false, false},
    {"listops", "expressions", "shiv-quirk", "shiv-quirk", "shiv-quirk(k={arity}, depth={depth})", NULL, false, false,
     false},
    {"listops", "expressions", "chebyshev (output), pretrained", "pretrained", "chebyshev(site=output)", NULL, false,
     false, true},
    {"listops", "expressions", "pretrained alone", "pretrained-none", "none", NULL, false, false, true},
};

static void expand(const char *pattern, const lab_scheme_request *request, char *text, size_t size) {
    const struct {
        const char *name;
        double value;
    } sizes[] = {{"{window}", round(lab_config_number(request->config, "length_mean"))},
                 {"{steps}",
                  round(lab_config_number(request->config, "depth_mean")) + (request->setup == LAB_SETUP_CODE ? 1 : 0)},
                 {"{arity}", lab_config_number(request->config, "arity")},
                 {"{depth}", lab_config_number(request->config, "expression_depth")},
                 {"{longest}", lab_config_number(request->config, "longest") + 1}};
    size_t used = 0;
    while (*pattern != '\0' && used + 1 < size) {
        size_t i = 0;
        while (i < COUNT(sizes) && strncmp(pattern, sizes[i].name, strlen(sizes[i].name)) != 0)
            i++;
        if (i == COUNT(sizes)) {
            text[used++] = *pattern++;
            continue;
        }
        int put = snprintf(text + used, size - used, "%.0f", fmax(sizes[i].value, 1));
        used += put > 0 ? (size_t)put : 0;
        pattern += strlen(sizes[i].name);
    }
    text[used < size ? used : size - 1] = '\0';
}

static lab_scheme make_scheme(const scheme_pattern *from, const lab_scheme_request *request, bool decay) {
    lab_scheme scheme = {.name = from->name,
                         .pretrained = from->pretrained,
                         .orthogonal = from->decayed != NULL,
                         .decay = decay,
                         .place = from->beyond ? LAB_SCHEME_BEYOND : LAB_SCHEME_PUBLISHED};
    if (lab_class_among(request->class, from->kinds))
        expand(decay ? from->decayed : from->plain, request, scheme.spec, sizeof scheme.spec);
    bool varied = decay != from->published_with;
    snprintf(scheme.key, sizeof scheme.key, "%s%s", from->key, !varied ? "" : decay ? "-decay" : "-plain");
    if (varied && request->decay == LAB_DECAY_BOTH)
        scheme.place = LAB_SCHEME_ABLATION;
    return scheme;
}

static bool is_asked_for(const scheme_pattern *from, const lab_scheme_request *request) {
    const char *table = request->table != NULL ? request->table : request->class->compared;
    return table != NULL && strcmp(from->table, table) == 0 && (!from->beyond || request->more) &&
           (!from->pretrained || request->pretrained) &&
           (request->gaps || lab_class_among(request->class, from->kinds));
}

size_t lab_schemes(const lab_scheme_request *request, lab_scheme schemes[LAB_MOST_SCHEMES]) {
    size_t count = 0;
    for (size_t i = 0; i < COUNT(patterns); i++) {
        const scheme_pattern *from = &patterns[i];
        if (!is_asked_for(from, request))
            continue;
        bool decay = request->decay != LAB_DECAY_NOBODY && from->published_with && from->decayed != NULL;
        schemes[count++] = make_scheme(from, request, decay);
        if (request->decay == LAB_DECAY_BOTH && from->decayed != NULL)
            schemes[count++] = make_scheme(from, request, !decay);
    }
    return count;
}
