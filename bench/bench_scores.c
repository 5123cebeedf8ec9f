/* SPDX-License-Identifier: MIT */
/* Times rows of score terms on every kind of group, float32, one thread: nanoseconds for a pair of a query and a key,
 * for each encoding that acts by distance, beside what attention takes for a pair and head with and without it
 * (d = 64, full mask; forward, and backward with the gradients of what is learned). `cope` is timed under its causal
 * mask, for all pairs. One JSON object to a line. Short cases are batches of short sequences, long ones one sequence;
 * of long ones a part of the queries is taken.
 *
 *   bench_scores [--repeats N] [--heads N] [--case PART_OF_NAME] */
#include "group_subject.h"

#include "plan/plan_sites.h"

#include <locus/locus.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIM = 64, RUN = 128, COLUMNS = 3 };

typedef struct bench_case {
    const char *name, *group;
    size_t sequences, length, every;                                            /* every so many-th token is a query */
    void (*fill)(const struct bench_case *self, size_t token, int64_t *values); /* a value for each coordinate */
    size_t reach; /* trees: node i hangs from one of so many before it; 0: no tree, or all before it */
} bench_case;

static uint64_t noise(uint64_t index) {
    static const locus_random stream = {1, LOCUS_RANDOM_USER, 0};
    return (uint64_t)(locus_random_uniform(&stream, index) * 0x1p48);
}

/* ---- cases ---- */

static void fill_count(const bench_case *self, size_t token, int64_t *values) {
    values[0] = values[1] = (int64_t)(token % self->length);
}

static void fill_square(const bench_case *self, size_t token, int64_t *values) {
    size_t edge = 1;
    while (edge * edge < self->length)
        edge++;
    values[0] = (int64_t)(token % self->length / edge);
    values[1] = (int64_t)(token % self->length % edge);
}

static void fill_scattered(const bench_case *self, size_t token, int64_t *values) {
    (void)self;
    for (size_t c = 0; c < COLUMNS; c++)
        values[c] = (int64_t)(noise(token * COLUMNS + c) % 2048);
}

static const bench_case cases[] = {
    {"seq short", "seq", 64, 100, 1, fill_count, 0},
    {"seq long", "seq", 1, 20000, 8, fill_count, 0},
    {"seq scattered", "seq", 1, 20000, 8, fill_scattered, 0},
    {"cycle short", "cycle:6", 512, 6, 1, fill_count, 0},
    {"cycle long", "cycle:4096", 1, 4096, 1, fill_count, 0},
    {"grid short", "grid:2", 64, 196, 1, fill_square, 0},
    {"grid long", "grid:2", 1, 65536, 32, fill_square, 0},
    {"grid scattered", "grid:2", 1, 8192, 4, fill_scattered, 0},
    {"grid:3 scattered", "grid:3", 1, 8192, 4, fill_scattered, 0},
    {"tree short", "tree:64", 64, 33, 1, NULL, 0},
    {"tree long", "tree:100000", 1, 20000, 8, NULL, 0},
    {"tree deep", "tree:100000", 1, 20000, 8, NULL, 3},
    {"tree 10^5 nodes", "tree:1000000", 1, 100000, 100, NULL, 40},
    {"seq * tree long", "seq*tree:100000", 1, 20000, 8, fill_count, 0},
};

/* ---- positions ---- */

typedef struct tree_columns {
    int64_t *nodes, *branches;
    size_t *parents, count;
} tree_columns;

/* A tree of a node for each token of a sequence; its sequences share it. */
static tree_columns grow_tree(const bench_case *c) {
    tree_columns tree = {.count = c->length};
    tree.branches = bench_memory(tree.count * sizeof *tree.branches);
    tree.parents = bench_memory(tree.count * sizeof *tree.parents);
    tree.nodes = bench_memory(c->sequences * c->length * sizeof *tree.nodes);
    for (size_t i = 0; i < tree.count; i++) {
        const size_t reach = c->reach && c->reach < i ? c->reach : i;
        tree.parents[i] = i ? i - 1 - noise(i) % reach : 0;
        tree.branches[i] = i ? (int64_t)i : 1;
    }
    for (size_t t = 0; t < c->sequences * c->length; t++)
        tree.nodes[t] = (int64_t)(t % c->length);
    return tree;
}

static locus_positions *make_positions(const bench_case *c, size_t every) {
    const size_t length = c->length / every, tokens = c->sequences * length;
    size_t *offsets = bench_memory((c->sequences + 1) * sizeof *offsets);
    for (size_t s = 0; s <= c->sequences; s++)
        offsets[s] = s * length;
    locus_error error;
    locus_group *group = NULL;
    locus_positions *positions = NULL;
    bench_check(locus_group_parse(c->group, &group, &error), &error);
    int64_t *values[COLUMNS], row[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++)
        values[i] = bench_memory(tokens * sizeof **values);
    tree_columns tree = grow_tree(c);
    for (size_t t = 0; t < tokens; t++) {
        if (c->fill)
            c->fill(c, t * every, row);
        for (size_t i = 0; i < COLUMNS && c->fill; i++)
            values[i][t] = row[i];
        tree.nodes[t] = tree.nodes[t * every];
    }
    locus_position_column columns[COLUMNS] = {{0}};
    for (size_t i = 0; i < locus_group_coordinates(group); i++) {
        columns[i] = (locus_position_column){.size = sizeof *columns, .values = values[i]};
        if (locus_group_coordinate(group, i).kind == LOCUS_COORDINATE_TREE)
            columns[i] = (locus_position_column){.size = sizeof(locus_position_column),
                                                 .values = tree.nodes,
                                                 .branches = tree.branches,
                                                 .parents = tree.parents,
                                                 .node_count = tree.count};
    }
    const locus_packing packing = {sizeof packing, c->sequences, offsets, NULL};
    bench_check(locus_positions_create_columns(&positions, group, &packing, columns, &error), &error);
    locus_group_destroy(&group);
    for (size_t i = 0; i < COLUMNS; i++)
        locus_release(values[i], tokens * sizeof **values);
    locus_release(tree.nodes, c->sequences * c->length * sizeof *tree.nodes);
    locus_release(tree.branches, tree.count * sizeof *tree.branches);
    locus_release(tree.parents, tree.count * sizeof *tree.parents);
    locus_release(offsets, (c->sequences + 1) * sizeof *offsets);
    return positions;
}

/* ---- plans ---- */

enum { PARAMETERS = 8 };

typedef struct world {
    locus_encoding *encoding;
    locus_binding *binding;
    locus_plan *plan;
    size_t count;
    locus_tensor values[PARAMETERS], gradients[PARAMETERS];
    size_t heads;
    double seconds; /* to make the plan */
    bool causal;    /* cope needs it: its pairs are those that are seen and those that are not */
} world;

static locus_tensor make_parameter(const locus_parameter *info) {
    locus_tensor tensor = locus_tensor_view(NULL, LOCUS_FLOAT32, info->rank, info->shape);
    tensor.data = bench_memory(locus_tensor_count(&tensor) * sizeof(float));
    memset(tensor.data, 0, locus_tensor_count(&tensor) * sizeof(float));
    return tensor;
}

static void make_parameters(world *w, const locus_shape *shape) {
    locus_error error;
    bench_check(locus_encoding_parameter_count(w->encoding, shape, &w->count, &error), &error);
    for (size_t i = 0; i < w->count; i++) {
        locus_parameter info = {.size = sizeof info};
        bench_check(locus_encoding_parameter(w->encoding, shape, i, &info, &error), &error);
        w->values[i] = make_parameter(&info);
        w->gradients[i] = make_parameter(&info);
    }
    bench_check(locus_encoding_initialise(w->encoding, shape, 1, w->values, w->count, &error), &error);
}

static world open_world(const bench_case *c, const char *name, size_t heads, const locus_positions *queries,
                        const locus_positions *keys) {
    static const char *const plain[] = {"none", "fire", "cope"}; /* without an option `group` */
    char spec[128];
    bool grouped = true;
    locus_error error;
    world w = {.causal = strcmp(name, "cope") == 0, .heads = heads};
    const locus_shape shape = {.heads = heads, .head_dim = DIM, .value_dim = DIM};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        grouped = grouped && strcmp(name, plain[i]) != 0;
    (void)snprintf(spec, sizeof spec, grouped ? "%s(group=%s)" : "%s", name, c->group);
    bench_check(locus_encoding_parse(spec, &w.encoding, &error), &error);
    make_parameters(&w, &shape);
    bench_check(locus_binding_create(&w.binding, w.encoding, &shape, w.values, w.count, &error), &error);
    const double start = bench_seconds();
    bench_check(locus_plan_create(&w.plan, w.binding, queries, keys == queries ? NULL : keys, &error), &error);
    w.seconds = bench_seconds() - start;
    return w;
}

static void close_world(world *w) {
    locus_plan_destroy(&w->plan);
    locus_binding_destroy(&w->binding);
    locus_encoding_destroy(&w->encoding);
    for (size_t i = 0; i < w->count; i++) {
        locus_release(w->values[i].data, locus_tensor_count(&w->values[i]) * sizeof(float));
        locus_release(w->gradients[i].data, locus_tensor_count(&w->gradients[i]) * sizeof(float));
    }
}

/* ---- times ---- */

/* One pass over all rows in attention's order; adds up a number of each row, so that none is left out. */
static double pass_rows(const locus_plan *plan, double *sum) {
    const locus_score_term *term = locus_plan_score_term(plan, 0);
    float scratch[RUN];
    const double start = bench_seconds();
    for (size_t s = 0; s < locus_plan_sequences(plan); s++) {
        const locus_sequence_span span = locus_plan_span(plan, s);
        for (size_t first = 0; first < span.key_count; first += RUN)
            for (size_t q = 0; q < span.query_count; q++) {
                const size_t left = span.key_count - first;
                const locus_score_call call = {
                    LOCUS_FLOAT32, 0, span.query_first + q, span.key_first + first, left < RUN ? left : RUN, NULL};
                const float *row = term->class->row(term, &call, scratch);
                *sum += (double)row[call.count - 1];
            }
    }
    return bench_seconds() - start;
}

static double time_rows(const world *w, size_t repeats, double pairs) {
    double best = 0, sum = 0;
    for (size_t i = 0; i < repeats; i++) {
        double seconds = pass_rows(w->plan, &sum);
        best = i == 0 || seconds < best ? seconds : best;
    }
    if (sum != sum) /* NaN: a row was wrong */
        exit(1);
    return best * 1e9 / pairs;
}

enum { QUERY, KEY, VALUE, OUTPUT, OUTPUT_GRADIENT, QUERY_GRADIENT, KEY_GRADIENT, VALUE_GRADIENT, TENSORS };

static double pass_attention(const world *w, locus_tensor *t, const locus_tensor *sums, locus_pass pass) {
    locus_error error;
    locus_attention_options options = locus_attention_default();
    options.mask = w->causal ? LOCUS_MASK_CAUSAL : LOCUS_MASK_FULL;
    const locus_attention_tensors call = {sizeof call, &t[QUERY], &t[KEY], &t[VALUE], &t[OUTPUT], sums};
    const locus_attention_gradients gradients = {.size = sizeof(locus_attention_gradients),
                                                 .output = &t[OUTPUT_GRADIENT],
                                                 .query = &t[QUERY_GRADIENT],
                                                 .key = &t[KEY_GRADIENT],
                                                 .value = &t[VALUE_GRADIENT],
                                                 .parameters = w->gradients,
                                                 .parameter_count = w->count};
    locus_workspace workspace = {NULL, locus_attention_workspace(w->plan, &options, LOCUS_FLOAT32, pass, NULL)};
    workspace.data = bench_memory(workspace.bytes);
    const double start = bench_seconds();
    const locus_execution execution = locus_execution_in(workspace);
    if (pass == LOCUS_PASS_FORWARD)
        bench_check(locus_attention_forward(w->plan, &options, &call, &execution, &error), &error);
    else
        bench_check(locus_attention_backward(w->plan, &options, &call, &gradients, &execution, &error), &error);
    const double seconds = bench_seconds() - start;
    locus_release(workspace.data, workspace.bytes);
    return seconds;
}

/* Nanoseconds for a pair, forward and backward. */
static void time_attention(const world *w, size_t repeats, double pairs, double best[2]) {
    const size_t queries = locus_plan_query_tokens(w->plan), keys = locus_plan_key_tokens(w->plan);
    locus_tensor tensors[TENSORS];
    for (size_t i = 0; i < TENSORS; i++) {
        const bool of_key = i == KEY || i == VALUE || i == KEY_GRADIENT || i == VALUE_GRADIENT;
        const int64_t shape[] = {(int64_t)(of_key ? keys : queries), (int64_t)w->heads, DIM};
        tensors[i] = locus_tensor_view(NULL, LOCUS_FLOAT32, 3, shape);
        const size_t count = locus_tensor_count(&tensors[i]);
        float *data = tensors[i].data = bench_memory(count * sizeof *data);
        for (size_t j = 0; j < count; j++)
            data[j] = (float)(j * 7919 % 1000) * 0.002f - 1.0f;
    }
    locus_tensor sums =
        locus_tensor_view(bench_memory(queries * w->heads * sizeof(float)), LOCUS_FLOAT32, 2, tensors[QUERY].shape);
    for (size_t i = 0; i < repeats; i++)
        for (size_t pass = 0; pass < 2; pass++) {
            const double ns = pass_attention(w, tensors, &sums, pass ? LOCUS_PASS_BACKWARD : LOCUS_PASS_FORWARD) * 1e9;
            best[pass] = i == 0 || ns / pairs < best[pass] ? ns / pairs : best[pass];
        }
    locus_release(sums.data, queries * w->heads * sizeof(float));
    for (size_t i = 0; i < TENSORS; i++)
        locus_release(tensors[i].data, locus_tensor_count(&tensors[i]) * sizeof(float));
}

typedef struct settings {
    size_t repeats, heads;
    const char *name; /* of cases: a part of it */
} settings;

static void measure_term(const bench_case *c, const char *name, const settings *wanted, const locus_positions *queries,
                         const locus_positions *keys) {
    const size_t repeats = wanted->repeats;
    const double pairs = (double)c->sequences * (double)(c->length / c->every) * (double)c->length;
    double best[2];
    world w = open_world(c, name, wanted->heads, queries, keys);
    if (locus_plan_score_terms(w.plan) > 0)
        printf(", \"%s_ns\": %.3f, \"%s_plan_ms\": %.2f, \"%s_plan_mib\": %.2f", name, time_rows(&w, repeats, pairs),
               name, w.seconds * 1e3, name, (double)locus_plan_bytes(w.plan) / 1048576);
    time_attention(&w, repeats, pairs * (double)w.heads, best);
    printf(", \"attention_%s_ns\": %.3f, \"attention_%s_backward_ns\": %.3f", name, best[0], name, best[1]);
    fflush(stdout);
    close_world(&w);
}

static void measure(const bench_case *c, const settings *wanted) {
    static const char *const names[] = {"none", "decay", "alibi", "t5", "kerple", "fire", "cope"};
    locus_positions *keys = make_positions(c, 1), *queries = c->every > 1 ? make_positions(c, c->every) : keys;
    printf("{\"case\": \"%s\", \"group\": \"%s\", \"sequences\": %zu, \"length\": %zu, \"heads\": %zu", c->name,
           c->group, c->sequences, c->length, wanted->heads);
    for (size_t i = 0; i < (strcmp(c->group, "seq") == 0 ? 7u : 5u); i++)
        measure_term(c, names[i], wanted, queries, keys);
    printf("}\n");
    fflush(stdout);
    if (queries != keys)
        locus_positions_destroy(&queries);
    locus_positions_destroy(&keys);
}

int main(int argc, char **argv) {
    settings wanted = {5, 1, ""};
    bool understood = argc % 2 == 1;
    for (int i = 1; i + 1 < argc; i += 2)
        if (strcmp(argv[i], "--repeats") == 0)
            wanted.repeats = (size_t)strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--heads") == 0)
            wanted.heads = (size_t)strtoul(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--case") == 0)
            wanted.name = argv[i + 1];
        else
            understood = false;
    if (!understood || wanted.repeats == 0 || wanted.heads == 0 || locus_threads_set(1) != LOCUS_OK) {
        fprintf(stderr, "usage: bench_scores [--repeats N] [--heads N] [--case PART_OF_NAME]\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (strstr(cases[i].name, wanted.name))
            measure(&cases[i], &wanted);
    return 0;
}
