/* SPDX-License-Identifier: MIT */
/* Speed of algebraic(group=tree:k) outside attention, float32:
 *
 *   batch    64 binary trees of depth N(7, 1), 8 heads of 64: positions (the trie), plan (generators from their
 *            parameters, and the plan), queries and keys forward, both backward with gradients of the generators, and a
 *            step of all of it. peer_trees.py does the same in PyTorch as published.
 *   scaling  2 heads of 64, a token at each node: bushy trees of 1,000 … 1,000,000 nodes, paths and combs of up to
 *            10,000, arities from 1 to 64; time for an edge (all heads), bytes of the plan and of the workspace.
 *
 *   bench_trees [--json] [--quick] [--batch FILE] [--max NODES] [--threads N]
 *
 * FILE is a batch that peer_trees.py --write has written; without it a batch is drawn here. The batch's outputs are
 * checked before anything is timed: against the generators applied step by step in double. Exit: 0 done, 1 differs or
 * failed, 2 usage. */
#include "group_subject.h"
#include "tree_batch.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 8, DIM = 64, SCALING_HEADS = 2, CHECKED = 400 };

typedef struct bench_options {
    bool json, quick;
    const char *batch;
    size_t most;
} bench_options;

/* ---- the batch's outputs against steps in double ---- */

/* W_1 and W_2 [branch, head, DIM, DIM] by applying to unit vectors: token b·DIM + c holds unit vector c at branch b. */
static double *read_generators(group_subject *s) {
    enum { UNITS = 2 * DIM };
    const size_t row = HEADS * DIM;
    size_t offsets[] = {0, UNITS}, starts[UNITS + 1];
    int64_t branches[UNITS];
    double *units = bench_memory(UNITS * row * sizeof *units), *W = bench_memory(2 * row * DIM * sizeof *W);
    for (size_t t = 0; t < UNITS; t++) {
        starts[t] = t;
        branches[t] = t < DIM ? 1 : 2;
        for (size_t i = 0; i < row; i++)
            units[t * row + i] = i % DIM == t % DIM;
    }
    starts[UNITS] = UNITS;
    const tree_batch b = {.trees = 1, .tokens = UNITS, .offsets = offsets, .starts = starts, .branches = branches};
    locus_positions *positions = tree_batch_positions(&b);
    const locus_tensor x = group_subject_view(s, units, LOCUS_FLOAT64, UNITS);
    group_subject_place(s, positions);
    group_subject_forward(s, LOCUS_ROLE_QUERY, &x);
    for (size_t t = 0; t < UNITS; t++)
        for (size_t i = 0; i < row; i++)
            W[((t / DIM) * row + i) * DIM + t % DIM] = units[t * row + i];
    locus_positions_destroy(&positions);
    locus_release(units, UNITS * row * sizeof *units);
    return W;
}

/* The word's generators on one head's vector, last letter first. */
static void walk(const double *W, size_t head, const int64_t *word, size_t length, double *x) {
    double y[DIM];
    while (length-- > 0) {
        const double *matrix = W + ((size_t)(word[length] - 1) * HEADS + head) * DIM * DIM;
        for (size_t i = 0; i < DIM; i++) {
            y[i] = 0;
            for (size_t j = 0; j < DIM; j++)
                y[i] += matrix[i * DIM + j] * x[j];
        }
        memcpy(x, y, sizeof y);
    }
}

static bool batch_agrees(group_subject *s, const tree_batch *b, const locus_positions *positions) {
    const size_t row = HEADS * DIM, all = b->tokens * row, step = b->tokens / CHECKED + 1;
    double *W = read_generators(s), x[DIM], worst = 0;
    float *given = bench_numbers(all, 3), *turned = bench_numbers(all, 3);
    const locus_tensor view = group_subject_view(s, turned, LOCUS_FLOAT32, b->tokens);
    group_subject_place(s, positions);
    group_subject_forward(s, LOCUS_ROLE_QUERY, &view);
    for (size_t t = 0; t < b->tokens; t += step)
        for (size_t h = 0; h < HEADS; h++) {
            const size_t at = t * row + h * DIM;
            for (size_t i = 0; i < DIM; i++)
                x[i] = (double)given[at + i];
            walk(W, h, b->branches + b->starts[t], b->starts[t + 1] - b->starts[t], x);
            for (size_t i = 0; i < DIM; i++)
                worst = fmax(worst, fabs(x[i] - (double)turned[at + i]));
        }
    locus_release(W, 2 * row * DIM * sizeof *W);
    locus_release(given, all * sizeof *given);
    locus_release(turned, all * sizeof *turned);
    if (!(worst <= 1e-5))
        fprintf(stderr, "bench_trees: outputs differ by %g from the generators step by step\n", worst);
    return worst <= 1e-5;
}

/* ---- the batch's times ---- */

typedef struct batch_run {
    const tree_batch *b;
    group_subject *s;
    const locus_positions *positions;
    locus_tensor q, k, gq, gk;
} batch_run;

static void make_positions(void *context) {
    const batch_run *run = context;
    locus_positions *positions = tree_batch_positions(run->b);
    locus_positions_destroy(&positions);
}

static void make_plan_on(const batch_run *run, const locus_positions *positions) {
    locus_error error = {0};
    locus_plan_destroy(&run->s->plan);
    bench_check(locus_binding_update(&run->s->binding, run->s->values, run->s->count, &error), &error);
    bench_check(locus_plan_create(&run->s->plan, run->s->binding, positions, NULL, &error), &error);
}

static void make_plan(void *context) {
    const batch_run *run = context;
    make_plan_on(run, run->positions);
}

static void forward_both(void *context) {
    const batch_run *run = context;
    group_subject_forward(run->s, LOCUS_ROLE_QUERY, &run->q);
    group_subject_forward(run->s, LOCUS_ROLE_KEY, &run->k);
}

static void backward_both(void *context) {
    const batch_run *run = context;
    group_subject_backward(run->s, LOCUS_ROLE_QUERY, &run->q, &run->gq);
    group_subject_backward(run->s, LOCUS_ROLE_KEY, &run->k, &run->gk);
}

static void whole_step(void *context) {
    const batch_run *run = context;
    locus_positions *positions = tree_batch_positions(run->b);
    make_plan_on(run, positions);
    forward_both(context);
    backward_both(context);
    locus_positions_destroy(&positions);
}

static void print_batch(const bench_options *options, const tree_batch *b, const char *name, bench_time time) {
    if (options->json)
        printf("{\"case\": \"%s\", \"trees\": %zu, \"tokens\": %zu, \"best_ms\": %.4g, \"median_ms\": %.4g, \"runs\": "
               "%zu}\n",
               name, b->trees, b->tokens, time.best * 1e3, time.median * 1e3, time.runs);
    else
        printf("%-28s %10.3f %10.3f\n", name, time.best * 1e3, time.median * 1e3);
    fflush(stdout);
}

static bool bench_batch(const bench_options *options) {
    static const struct {
        const char *name;
        void (*work)(void *);
    } cases[] = {{"positions", make_positions},
                 {"plan", make_plan},
                 {"forward", forward_both},
                 {"backward", backward_both},
                 {"positions to backward", whole_step}};
    tree_batch b;
    group_subject s;
    if (options->batch && !tree_batch_read(&b, options->batch))
        return false;
    if (!options->batch)
        tree_batch_draw(&b);
    locus_positions *positions = tree_batch_positions(&b);
    group_subject_open(&s, "algebraic(group=tree:2)", HEADS, DIM);
    const bool agrees = batch_agrees(&s, &b, positions);
    const size_t all = b.tokens * HEADS * DIM;
    float *data[4];
    for (unsigned i = 0; i < 4; i++)
        data[i] = bench_numbers(all, i);
    batch_run run = {&b, &s, positions, {0}, {0}, {0}, {0}};
    run.q = group_subject_view(&s, data[0], LOCUS_FLOAT32, b.tokens);
    run.k = group_subject_view(&s, data[1], LOCUS_FLOAT32, b.tokens);
    run.gq = group_subject_view(&s, data[2], LOCUS_FLOAT32, b.tokens);
    run.gk = group_subject_view(&s, data[3], LOCUS_FLOAT32, b.tokens);
    if (agrees && !options->json)
        printf("%zu trees, %zu tokens, %d heads of %d, %zu threads, kernels: %s\n%-28s %10s %10s\n", b.trees, b.tokens,
               HEADS, DIM, locus_threads(), locus_isa_name(locus_cpu_isa()), "", "best ms", "median ms");
    for (size_t i = 0; agrees && i < sizeof cases / sizeof cases[0]; i++)
        print_batch(options, &b, cases[i].name, bench_measure(cases[i].work, &run, 5, options->quick ? 0.1 : 2));
    for (size_t i = 0; i < 4; i++)
        locus_release(data[i], all * sizeof(float));
    group_subject_close(&s);
    locus_positions_destroy(&positions);
    tree_batch_free(&b);
    return agrees;
}

/* ---- scaling: a token at each node ---- */

typedef enum tree_shape { TREE_BUSHY, TREE_PATH, TREE_COMB } tree_shape;
static const char *const shape_names[] = {"bushy", "path", "comb"};

typedef struct tree {
    tree_shape shape;
    size_t nodes, arity, depth;
    size_t *parents, *depths;
    int64_t *branches, *at;
} tree;

/* Bushy: each node takes a free place, all equally likely. A comb's teeth hang beside its spine. */
static void draw_tree(tree *t) {
    const size_t k = t->arity, bytes = t->nodes * sizeof(size_t);
    size_t *places = t->shape == TREE_BUSHY ? bench_memory((t->nodes * k + 1) * sizeof(size_t)) : NULL, count = 0;
    t->parents = bench_memory(bytes), t->depths = bench_memory(bytes);
    t->branches = bench_memory(bytes), t->at = bench_memory(bytes);
    t->depth = 0;
    for (size_t i = 0; i < t->nodes; i++) {
        size_t parent = i ? i - 1 : 0, branch = tree_batch_below(k);
        if (t->shape == TREE_COMB &&
            i > 0) { /* spine 0, 1, 3, 5, …; each even node is a tooth, its left neighbour's sibling */
            parent = i % 2 == 0 ? t->parents[i - 1] : i > 1 ? i - 2 : 0;
            branch = i % 2;
        }
        if (t->shape == TREE_BUSHY && i > 0) {
            const size_t pick = tree_batch_below(count), place = places[pick];
            places[pick] = places[--count];
            parent = place / k, branch = place % k;
        }
        for (size_t b = 0; places && b < k; b++)
            places[count++] = i * k + b;
        t->parents[i] = parent;
        t->branches[i] = (int64_t)branch + 1;
        t->at[i] = (int64_t)i;
        t->depths[i] = i ? t->depths[parent] + 1 : 0;
        t->depth = t->depths[i] > t->depth ? t->depths[i] : t->depth;
    }
    locus_release(places, (t->nodes * k + 1) * sizeof(size_t));
}

static void free_tree(tree *t) {
    const size_t bytes = t->nodes * sizeof(size_t);
    locus_release(t->parents, bytes), locus_release(t->depths, bytes);
    locus_release(t->branches, bytes), locus_release(t->at, bytes);
}

static locus_positions *tree_positions(const tree *t) {
    char text[32];
    locus_error error = {0};
    locus_group *group = NULL;
    locus_positions *positions = NULL;
    const size_t offsets[] = {0, t->nodes};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets, .lengths = NULL};
    const locus_position_column column = {
        .size = sizeof column, .values = t->at, .branches = t->branches, .parents = t->parents, .node_count = t->nodes};
    snprintf(text, sizeof text, "tree:%zu", t->arity);
    bench_check(locus_group_parse(text, &group, &error), &error);
    bench_check(locus_positions_create_columns(&positions, group, &packing, &column, &error), &error);
    locus_group_destroy(&group);
    return positions;
}

typedef struct tree_run {
    group_subject s;
    locus_tensor x, g;
    double positions_seconds, plan_seconds, forward, both;
} tree_run;

static void forward_tree(void *context) {
    const tree_run *run = context;
    group_subject_forward(&run->s, LOCUS_ROLE_QUERY, &run->x);
}

static void backward_tree(void *context) {
    const tree_run *run = context;
    group_subject_backward(&run->s, LOCUS_ROLE_QUERY, &run->x, &run->g);
}

typedef struct plan_job {
    group_subject *s;
    const locus_positions *positions;
} plan_job;

static void plan_again(void *context) {
    const plan_job *job = context;
    locus_error error = {0};
    locus_plan_destroy(&job->s->plan);
    bench_check(locus_plan_create(&job->s->plan, job->s->binding, job->positions, NULL, &error), &error);
}

static void print_tree(const bench_options *options, const tree *t, const tree_run *run) {
    const double edge = 1e9 / (double)(t->nodes - 1), all = run->plan_seconds + run->both;
    const size_t plan_bytes = locus_plan_bytes(run->s.plan), workspace = run->s.workspace_bytes;
    if (options->json)
        printf("{\"case\": \"%s\", \"nodes\": %zu, \"depth\": %zu, \"arity\": %zu, \"positions_ms\": %.4g, "
               "\"plan_ms\": %.4g, \"forward_ms\": %.4g, \"forward_backward_ms\": %.4g, \"forward_ns_an_edge\": %.4g, "
               "\"forward_backward_ns_an_edge\": %.4g, \"all_ns_an_edge\": %.4g, \"plan_bytes\": %zu, "
               "\"workspace_bytes\": %zu}\n",
               shape_names[t->shape], t->nodes, t->depth, t->arity, run->positions_seconds * 1e3,
               run->plan_seconds * 1e3, run->forward * 1e3, run->both * 1e3, run->forward * edge, run->both * edge,
               all * edge, plan_bytes, workspace);
    else
        printf("%-6s %8zu %6zu %3zu %9.2f %9.2f %10.2f %10.2f %8.0f %8.0f %8.0f %9.1f %9.1f\n", shape_names[t->shape],
               t->nodes, t->depth, t->arity, run->positions_seconds * 1e3, run->plan_seconds * 1e3, run->forward * 1e3,
               run->both * 1e3, run->forward * edge, run->both * edge, all * edge,
               (double)plan_bytes / (double)t->nodes, (double)workspace / 1048576);
    fflush(stdout);
}

static void bench_tree(const bench_options *options, tree_shape shape, size_t nodes, size_t arity) {
    tree t = {.shape = shape, .nodes = nodes, .arity = arity};
    tree_run run;
    char spec[64];
    const size_t all = nodes * SCALING_HEADS * DIM;
    const double budget = options->quick ? 0.05 : 0.5;
    draw_tree(&t);
    const double begin = bench_seconds();
    locus_positions *positions = tree_positions(&t);
    run.positions_seconds = bench_seconds() - begin;
    snprintf(spec, sizeof spec, "algebraic(group=tree:%zu)", arity);
    group_subject_open(&run.s, spec, SCALING_HEADS, DIM);
    plan_job job = {&run.s, positions};
    group_subject_place(&run.s, positions);
    run.plan_seconds = bench_measure(plan_again, &job, 2, 0).best;
    float *x = bench_numbers(all, 1), *g = bench_numbers(all, 2);
    run.x = group_subject_view(&run.s, x, LOCUS_FLOAT32, nodes);
    run.g = group_subject_view(&run.s, g, LOCUS_FLOAT32, nodes);
    run.forward = bench_measure(forward_tree, &run, 2, budget).best;
    run.both = run.forward + bench_measure(backward_tree, &run, 2, budget).best;
    print_tree(options, &t, &run);
    locus_release(x, all * sizeof *x);
    locus_release(g, all * sizeof *g);
    group_subject_close(&run.s);
    locus_positions_destroy(&positions);
    free_tree(&t);
}

static void bench_scaling(const bench_options *options) {
    static const size_t arities[] = {1, 2, 4, 8, 16, 32, 64};
    const size_t most = options->most, middle = most < 20000 ? most : 20000;
    if (!options->json)
        printf("\n%d heads of %d, a token at each node; ns for an edge of all heads: forward, with backward, with the "
               "plan, "
               "too; the plan's bytes for a node; the workspace in MiB\n%-6s %8s %6s %3s %9s %9s %10s %10s %8s %8s %8s "
               "%9s "
               "%9s\n",
               SCALING_HEADS, DIM, "shape", "nodes", "depth", "k", "pos. ms", "plan ms", "fwd ms", "+ bwd ms",
               "ns/edge", "+ bwd", "+ plan", "plan B", "work MiB");
    for (size_t nodes = 1000; nodes <= most; nodes *= 10)
        bench_tree(options, TREE_BUSHY, nodes, 2);
    for (size_t depth = 100; depth <= 10000 && depth <= most; depth *= 10)
        bench_tree(options, TREE_PATH, depth + 1, 2);
    for (size_t nodes = 200; nodes <= 20000 && nodes <= most; nodes *= 10)
        bench_tree(options, TREE_COMB, nodes + 1, 2);
    for (size_t i = 0; i < sizeof arities / sizeof arities[0]; i++)
        bench_tree(options, TREE_BUSHY, arities[i] == 1 && middle > 10000 ? 10000 : middle, arities[i]);
}

static bool read_count(const char *text, size_t *count) {
    char *end = NULL;
    errno = 0;
    unsigned long long value = text ? strtoull(text, &end, 10) : 0;
    if (!text || *text < '0' || *text > '9' || *end != '\0' || errno != 0 || value == 0)
        return false;
    *count = (size_t)value;
    return true;
}

static bool read_options(int argc, char **argv, bench_options *options) {
    for (int i = 1; i < argc; i++) {
        size_t threads = 0;
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--json") == 0)
            options->json = true;
        else if (strcmp(argv[i], "--quick") == 0)
            options->quick = true;
        else if (strcmp(argv[i], "--batch") == 0 && next)
            options->batch = argv[++i];
        else if (strcmp(argv[i], "--max") == 0 && read_count(next, &options->most))
            i++;
        else if (strcmp(argv[i], "--threads") == 0 && read_count(next, &threads) &&
                 locus_threads_set(threads) == LOCUS_OK)
            i++;
        else
            return false;
    }
    return true;
}

int main(int argc, char **argv) {
    bench_options options = {.json = false, .quick = false, .batch = NULL, .most = 1000000};
    if (!read_options(argc, argv, &options)) {
        fprintf(stderr,
                "bench_trees: usage: bench_trees [--json] [--quick] [--batch FILE] [--max NODES] [--threads N]\n");
        return 2;
    }
    if (!bench_batch(&options))
        return 1;
    bench_scaling(&options);
    return 0;
}
