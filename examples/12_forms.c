/* SPDX-License-Identifier: MIT */
/* Example 12: a plan as data. Lists the forms of a plan, as a binding for another language or device would read them,
 * and turns a query by hand from the arrays of the first one: angles out of the two tables, pairs out of `pair`. What
 * the library does with the same query must be that. docs/forms.md says what each form means. */
#include "example.h"

#include <string.h>

enum { TOKENS = 3 };

static void list_forms(const locus_plan_forms *forms) {
    static const char *const kinds[] = {"",        "turn",    "paths",   "matrices", "cells",
                                        "network", "content", "context", "vectors",  "settings"};
    for (size_t i = 0; i < locus_plan_form_count(forms); i++) {
        const locus_form *form = locus_plan_form_at(forms, i);
        (void)printf("term %zu, %s, elements %zu to %zu:", form->term, kinds[form->kind], form->first,
                     form->first + form->count);
        for (size_t j = 0; j < form->array_count; j++) {
            const locus_form_array *array = locus_plan_form_array(forms, i, j);
            (void)printf(" %s[", array->name);
            for (size_t r = 0; r < array->rank; r++)
                (void)printf("%s%lld", r > 0 ? ", " : "", (long long)array->shape[r]);
            (void)printf("]");
        }
        (void)printf("\n");
    }
}

static const void *array(const locus_plan_forms *forms, const char *name) {
    return locus_plan_form_find(forms, 0, name)->data;
}

/* One head, one axis, the standard basis: (x, y) turns to (xc − ys, xs + yc), c + is the product of two rows. */
static void turn(const locus_plan_forms *forms, size_t token, const double *x, double *y) {
    const locus_form_array *pairs = locus_plan_form_find(forms, 0, "pair");
    const size_t count = (size_t)pairs->shape[0];
    const int64_t *pair = pairs->data;
    const uint32_t *coarse_row = array(forms, "query_coarse.0"), *fine_row = array(forms, "query_fine.0");
    const double *coarse = (const double *)array(forms, "coarse.0") + coarse_row[token] * count * 2;
    const double *fine = (const double *)array(forms, "fine.0") + fine_row[token] * count * 2;
    memcpy(y, x, EXAMPLE_HEAD_DIM * sizeof *y);
    for (size_t i = 0; i < count; i++) {
        const double c = coarse[2 * i] * fine[2 * i] - coarse[2 * i + 1] * fine[2 * i + 1];
        const double s = coarse[2 * i] * fine[2 * i + 1] + coarse[2 * i + 1] * fine[2 * i];
        const double a = x[pair[2 * i]], b = x[pair[2 * i + 1]];
        y[pair[2 * i]] = a * c - b * s;
        y[pair[2 * i + 1]] = a * s + b * c;
    }
}

int main(void) {
    static const char *const positions[TOKENS] = {"0", "7", "1000000"};
    double query[EXAMPLE_HEAD_DIM], by_hand[EXAMPLE_HEAD_DIM], by_plan[TOKENS][EXAMPLE_HEAD_DIM], worst = 0;
    locus_error error = {0};
    locus_plan_forms *forms = NULL;
    example e;
    example_open(&e, "rope(rotate=16, pairs=half) + decay(rate=0.9) + alibi");
    locus_plan *plan = example_plan(&e, positions, TOKENS);
    example_need(locus_plan_forms_create(&forms, plan, NULL, &error), &error);
    for (size_t i = 0; i < EXAMPLE_HEAD_DIM; i++)
        query[i] = cos((double)i);
    example_act(plan, LOCUS_ROLE_QUERY, query, TOKENS, by_plan);
    locus_plan_destroy(&plan); /* forms keep what they read */
    list_forms(forms);
    for (size_t t = 0; t < TOKENS; t++) {
        turn(forms, t, query, by_hand);
        for (size_t i = 0; i < EXAMPLE_HEAD_DIM; i++)
            worst = fmax(worst, fabs(by_hand[i] - by_plan[t][i]));
    }
    (void)printf("by hand and by the plan: %.0e apart at most\n", worst);
    locus_plan_forms_destroy(&forms);
    example_close(&e);
    return worst < 1e-14 ? 0 : 1;
}
