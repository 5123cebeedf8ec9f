/* SPDX-License-Identifier: MIT */
/* What it costs to make things ready, as a table in Markdown, microseconds, the fastest run:
 *
 *   binding     locus_binding_create
 *   positions   locus_positions_create of one sequence of N tokens (trees: of a published batch)
 *   plan        locus_plan_create, the binding there, nothing else on these positions
 *   update      locus_binding_update with other values
 *   refresh     locus_plan_refresh with that binding; and both together, what a training step pays
 *
 *   bench_plans [--tokens N] [--heads H] [--dim D] [--threads N] [--seconds S] [SPEC …] */
#include "group_subject.h"
#include "tree_batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS_MAX = 8 };

typedef struct plans_options {
    size_t tokens, heads, dim, threads;
    double seconds;
} plans_options;

typedef struct subject {
    const plans_options *o;
    locus_shape shape;
    locus_encoding *encoding;
    size_t count;
    locus_tensor values[PARAMETERS_MAX];
    const tree_batch *trees; /* or NULL: one sequence */
    locus_positions *positions;
    locus_binding *binding;
    locus_plan *plan;
} subject;

static const char *const specs[] = {"rope",
                                    "rope(learned=on)",
                                    "rope(pairs=half, scaling=yarn, factor=8, original=4096) + alibi",
                                    "algebraic",
                                    "algebraic(heads=shared)",
                                    "algebraic(group=cycle:100)",
                                    "algebraic(group=tree:2)",
                                    "algebraic(group=tree:2, decay=learned:0.98)",
                                    "mixed(group=seq)",
                                    "string(group=seq)",
                                    "alibi",
                                    "decay(learned=on)",
                                    "t5",
                                    "kerple",
                                    "fire",
                                    "relative(window=128)",
                                    "cope",
                                    "sinusoidal",
                                    "learned(size=4096)"};

/* ---- subjects ---- */

static void subject_open(subject *s, const plans_options *o, const char *spec, const tree_batch *trees) {
    locus_error error = {0};
    *s = (subject){.o = o, .shape = {.heads = o->heads, .head_dim = o->dim, .model_dim = o->heads * o->dim}};
    bench_check(locus_encoding_parse(spec, &s->encoding, &error), &error);
    s->trees = strstr(spec, "tree:") ? trees : NULL;
    bench_check(locus_encoding_parameter_count(s->encoding, &s->shape, &s->count, &error), &error);
    for (size_t i = 0; i < s->count && s->count <= PARAMETERS_MAX; i++) {
        locus_parameter info = {.size = sizeof info};
        bench_check(locus_encoding_parameter(s->encoding, &s->shape, i, &info, &error), &error);
        s->values[i] = locus_tensor_view(NULL, LOCUS_FLOAT32, info.rank, info.shape);
        s->values[i].data = bench_memory(locus_tensor_count(&s->values[i]) * sizeof(float));
    }
    bench_check(locus_encoding_initialise(s->encoding, &s->shape, 1, s->values, s->count, &error), &error);
}

static void subject_close(subject *s) {
    locus_plan_destroy(&s->plan);
    locus_binding_destroy(&s->binding);
    locus_positions_destroy(&s->positions);
    locus_encoding_destroy(&s->encoding);
    for (size_t i = 0; i < s->count; i++)
        locus_release(s->values[i].data, locus_tensor_count(&s->values[i]) * sizeof(float));
}

/* ---- what is timed ---- */

static void bind(void *context) {
    subject *s = context;
    locus_error error = {0};
    locus_binding_destroy(&s->binding);
    bench_check(locus_binding_create(&s->binding, s->encoding, &s->shape, s->values, s->count, &error), &error);
}

static void stand(void *context) {
    subject *s = context;
    locus_error error = {0};
    const size_t offsets[] = {0, s->o->tokens};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    locus_positions_destroy(&s->positions);
    if (s->trees)
        s->positions = tree_batch_positions(s->trees);
    else
        bench_check(locus_positions_create(&s->positions, locus_encoding_group(s->encoding), &packing, NULL, &error),
                    &error);
}

static void plan(void *context) {
    subject *s = context;
    locus_error error = {0};
    locus_plan_destroy(&s->plan);
    bench_check(locus_plan_create(&s->plan, s->binding, s->positions, NULL, &error), &error);
}

/* Every parameter changes a little. */
static void train(subject *s) {
    for (size_t i = 0; i < s->count; i++)
        for (size_t k = 0; k < locus_tensor_count(&s->values[i]); k++) {
            float *value = &((float *)s->values[i].data)[k];
            *value = *value != 0 ? *value * 1.0001F : 1e-4F;
        }
}

static void update(subject *s) {
    locus_error error = {0};
    bench_check(locus_binding_update(&s->binding, s->values, s->count, &error), &error);
}

static void refresh(subject *s) {
    locus_error error = {0};
    bench_check(locus_plan_refresh(&s->plan, s->binding, NULL, &error), &error);
}

/* [0] update, [1] refresh, [2] both: the fastest of each. */
static void measure_steps(subject *s, double seconds, double *best) {
    const double end = bench_seconds() + seconds;
    best[0] = best[1] = best[2] = 1e30;
    for (size_t runs = 0; runs < 5 || bench_seconds() < end; runs++) {
        train(s);
        const double begin = bench_seconds();
        update(s);
        const double middle = bench_seconds();
        refresh(s);
        const double after = bench_seconds(), took[] = {middle - begin, after - middle, after - begin};
        for (size_t i = 0; i < 3; i++)
            best[i] = took[i] < best[i] ? took[i] : best[i];
    }
}

static void bench_spec(const plans_options *o, const char *spec, const tree_batch *trees) {
    subject s;
    double steps[3];
    subject_open(&s, o, spec, trees);
    const bench_time binding = bench_measure(bind, &s, 3, o->seconds);
    const bench_time positions = bench_measure(stand, &s, 3, o->seconds);
    const bench_time planned = bench_measure(plan, &s, 3, o->seconds);
    measure_steps(&s, o->seconds, steps);
    printf("| `%s` | %zu | %.1f | %.2f | %.2f | %.1f | %.1f | %.1f |\n", spec, locus_positions_tokens(s.positions),
           1e6 * binding.best, 1e6 * positions.best, 1e6 * planned.best, 1e6 * steps[0], 1e6 * steps[1],
           1e6 * steps[2]);
    fflush(stdout);
    subject_close(&s);
}

int main(int argc, char **argv) {
    plans_options o = {.tokens = 4096, .heads = 8, .dim = 64, .seconds = 0.3};
    const char *const names[] = {"--tokens", "--heads", "--dim", "--threads"};
    size_t *const places[] = {&o.tokens, &o.heads, &o.dim, &o.threads};
    int at = 1;
    for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2) {
        size_t option = 0;
        while (option < 4 && strcmp(argv[at], names[option]) != 0)
            option++;
        if (option < 4)
            *places[option] = strtoul(argv[at + 1], NULL, 10);
        else if (strcmp(argv[at], "--seconds") == 0)
            o.seconds = strtod(argv[at + 1], NULL);
        else
            break;
    }
    if ((at < argc && argv[at][0] == '-') || o.tokens == 0 || locus_threads_set(o.threads) != LOCUS_OK) {
        fprintf(stderr, "usage: bench_plans [--tokens N] [--heads H] [--dim D] [--threads N] [--seconds S] [SPEC …]\n");
        return 2;
    }
    tree_batch trees;
    tree_batch_draw(&trees);
    printf(
        "%zu heads of %zu, %zu threads, %s; microseconds\n\n| encoding | tokens | binding | positions | plan | update "
        "| refresh | both |\n|---|---|---|---|---|---|---|---|\n",
        o.heads, o.dim, locus_threads(), locus_isa_name(locus_cpu_isa()));
    const size_t given = (size_t)(argc - at), count = given ? given : sizeof specs / sizeof *specs;
    for (size_t i = 0; i < count; i++)
        bench_spec(&o, given ? argv[at + (int)i] : specs[i], &trees);
    tree_batch_free(&trees);
    return 0;
}
