/* SPDX-License-Identifier: MIT */
/* All laws of an encoding. What each measures:
 *
 *   homomorphism         ⌈a + b⌉ = ⌈a⌉⌈b⌉                                    float64
 *   inverse              ⌈−a⌉⌈a⌉ = I                                         float64
 *   orthogonality        ⌈a⌉ᵀ⌈a⌉ = I                                         float64
 *   norm                 |⌈a⌉x| = |x|                                        float64
 *   commutators          ⌈a⌉⌈b⌉ = ⌈b⌉⌈a⌉                                     float64
 *   long_homomorphism    the first for 1,000,000 steps on an axis, words of 1,000 letters, float32 measured in double
 *   drift                the third for the same
 *   period               ⌈p + n⌉ = ⌈p⌉ to the last bit on cycles, float32 and float64
 *   relativity           scores and outputs at (c + a, c + b) are those at (a, b)                    float64 */
#include "check/laws.h"

#include "bound/acting.h"
#include "bound/natural_shape.h"
#include "check/law_job.h"

/* Laws in float64. Angles are exact to rounding whatever the position and U is orthogonal to about 1e-15·√d, so errors
 * are some 1e-14; a word of 24 letters multiplies as many matrices. A law that does not hold is off by about 1. */
#define TOLERANCE_EXACT 1e-10
/* Paths of 1,000,000 steps and 1,000 letters in float32: one rounding (6e-8) for each product of a row, √d of them;
 * words are as many products, and a thousand of them drift by 1,000 roundings if all went one way. */
#define TOLERANCE_LONG 1e-5
#define TOLERANCE_LONG_WORDS 1e-4
/* Positions on a cycle are reduced before anything is computed: not a bit may differ. */
#define TOLERANCE_PERIOD 0.0

#define DEPTH 24 /* letters of a word */

#define PURPOSE_ELEMENTS (LOCUS_RANDOM_USER + 0x60u)

static void look_at_group(law_job *job) {
    job->abelian = true;
    for (size_t i = 0; i < locus_group_coordinates(job->group); i++) {
        locus_coordinate coordinate = locus_group_coordinate(job->group, i);
        bool tree = coordinate.kind == LOCUS_COORDINATE_TREE;
        job->trees = job->trees || tree;
        job->cycles = job->cycles || coordinate.kind == LOCUS_COORDINATE_CYCLE;
        job->abelian = job->abelian && (!tree || coordinate.size == 1);
    }
}

static void add(lab_laws *laws, const char *name, const char *formula, double error, double tolerance, bool promised) {
    const bool holds = error <= tolerance; /* NaN does not hold */
    laws->items[laws->count++] = (lab_law){name, formula, error, tolerance, promised, holds};
}

static void add_operators(lab_laws *laws, const law_job *job, const law_operator_errors *exact,
                          const law_operator_errors *far, double norm) {
    const bool group = job->promises & LOCUS_LAW_HOMOMORPHISM, orthogonal = job->promises & LOCUS_LAW_ORTHOGONAL;
    const double words = job->trees ? TOLERANCE_LONG_WORDS : TOLERANCE_LONG;
    add(laws, "homomorphism", "⌈a+b⌉ = ⌈a⌉⌈b⌉", exact->homomorphism, TOLERANCE_EXACT, group);
    add(laws, "inverse", "⌈−a⌉⌈a⌉ = I", exact->inverse, TOLERANCE_EXACT, orthogonal);
    add(laws, "orthogonality", "⌈a⌉ᵀ⌈a⌉ = I", exact->orthogonality, TOLERANCE_EXACT, orthogonal);
    add(laws, "norm", "|⌈a⌉x| = |x|", norm, TOLERANCE_EXACT, orthogonal);
    add(laws, "commutators", "⌈a⌉⌈b⌉ = ⌈b⌉⌈a⌉", exact->commutators, TOLERANCE_EXACT, group && job->abelian);
    add(laws, "long_homomorphism", "⌈a+b⌉ = ⌈a⌉⌈b⌉, long, float32", far->homomorphism, words, group);
    add(laws, "drift", "⌈a⌉ᵀ⌈a⌉ = I, long, float32", far->orthogonality, words, orthogonal);
}

static locus_status laws_of_operators(law_job *job, lab_laws *laws, locus_error *error) {
    law_operator_errors exact = {0}, far = {0};
    double norm = 0, period = 0;
    locus_status status = law_operators(job, false, &exact, error);
    if (status == LOCUS_OK)
        status = law_norm(job, &norm, error);
    if (status == LOCUS_OK)
        status = law_operators(job, true, &far, error);
    if (status == LOCUS_OK && job->cycles)
        status = law_period(job, &period, error);
    add_operators(laws, job, &exact, &far, norm);
    if (job->cycles)
        add(laws, "period", "⌈p+n⌉ = ⌈p⌉, every bit", period, TOLERANCE_PERIOD, job->promises & LOCUS_LAW_HOMOMORPHISM);
    return status;
}

/* Only what acts on queries and keys: tables, which have an end, are left out. */
static locus_status measure_operators(law_job *job, lab_laws *laws, locus_error *error) {
    lab_bound acting;
    law_job inside = *job;
    locus_status status = lab_acting_open(&acting, job->bound, error);
    inside.bound = &acting;
    if (status == LOCUS_OK)
        status = laws_of_operators(&inside, laws, error);
    job->elements = inside.elements;
    lab_bound_close(&acting);
    return status;
}

locus_status lab_laws_measure(lab_laws *laws, const lab_bound *bound, uint64_t seed, locus_error *error) {
    law_job job = {.bound = bound,
                   .group = locus_encoding_group(bound->encoding),
                   .promises = locus_encoding_laws(bound->encoding),
                   .role = bound->keys_only ? LOCUS_ROLE_KEY : LOCUS_ROLE_QUERY,
                   .heads = bound->shape.heads,
                   .dim = bound->shape.head_dim};
    lab_natural natural;
    *laws = (lab_laws){0};
    locus_status status = job.group ? LOCUS_OK : locus_group_parse("seq", &job.own, error);
    if (status == LOCUS_OK)
        status = lab_natural_find(&natural, bound->encoding, 1, LAW_REACH, error);
    if (status == LOCUS_OK) {
        job.group = job.group ? job.group : job.own;
        job.elements = (lab_elements){.group = job.group,
                                      .random = {.seed = seed, .purpose = PURPOSE_ELEMENTS},
                                      .reach = natural.reach,
                                      .depth = DEPTH};
        look_at_group(&job);
    }
    if (status == LOCUS_OK && (locus_encoding_sites(bound->encoding) & LOCUS_SITE_QUERY_KEY) != 0)
        status = measure_operators(&job, laws, error);
    double relativity = 0;
    if (status == LOCUS_OK)
        status = law_relativity(&job, &relativity, error);
    add(laws, "relativity", "score(c+a, c+b) = score(a, b)", relativity, TOLERANCE_EXACT,
        job.promises & LOCUS_LAW_RELATIVITY);
    locus_group_destroy(&job.own);
    return status;
}
