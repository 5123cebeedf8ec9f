/* SPDX-License-Identifier: MIT */
/* Example 11: the layers of a model, as an engine sets them up. Three layers look a window back, the fourth sees all,
 * with a slower rope; keys and values have fewer heads than queries. A pattern says so in one line:
 *
 *   layer     0      1      2      3         one encoding, binding and plan for each spec that differs,
 *   spec   [ local, local, local, global ]   not for each layer
 *
 * To show what windows do, token 0 is changed, and each layer says how far that is felt: WINDOW − 1 tokens further with
 * every local layer, to the end of the sequence in the global one. The other sequence of the batch feels nothing. */
#include <locus/locus.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 4, HEADS = 4, KV_HEADS = 2, DIM = 8, WIDTH = HEADS * DIM, KV_WIDTH = KV_HEADS * DIM };
enum { FIRST = 20, TOKENS = 28, WINDOW = 4, KINDS = 2 };

static const char text[] = "3*rope(pairs=half) + scores(window=4) / rope(pairs=half, base=1000000)";

/* What an engine keeps: all layers of a kind share it. */
typedef struct layers {
    locus_pattern *pattern;
    locus_binding *bindings[KINDS];
    locus_plan *plans[KINDS];
    locus_attention_options options;
    locus_workspace workspace;
} layers;

static void need(locus_status status, const locus_error *error) {
    if (status != LOCUS_OK) {
        (void)fprintf(stderr, "%s\n", error->message);
        exit(1);
    }
}

static void open_layers(layers *l) {
    locus_error error;
    locus_shape shape = locus_shape_default();
    shape.heads = HEADS;
    shape.kv_heads = KV_HEADS;
    shape.head_dim = DIM;
    *l = (layers){.options = locus_attention_default()};
    l->options.mask = LOCUS_MASK_CAUSAL;
    need(locus_pattern_parse(text, &l->pattern, &error), &error);
    for (size_t i = 0; i < locus_pattern_size(l->pattern); i++)
        need(locus_binding_create(&l->bindings[i], locus_pattern_encoding(l->pattern, i), &shape, NULL, 0, &error),
             &error);
}

/* For each batch: its positions, and what every kind of layer makes of them. */
static void place(layers *l, const locus_packing *packing) {
    locus_error error;
    locus_positions *positions;
    need(locus_positions_create(&positions, NULL, packing, NULL, &error), &error);
    for (size_t i = 0; i < locus_pattern_size(l->pattern); i++) {
        need(locus_plan_create(&l->plans[i], l->bindings[i], positions, NULL, &error), &error);
        const size_t bytes =
            locus_attention_workspace(l->plans[i], &l->options, LOCUS_FLOAT32, LOCUS_PASS_FORWARD, NULL);
        l->workspace.bytes = bytes > l->workspace.bytes ? bytes : l->workspace.bytes;
    }
    l->workspace.data = locus_allocate(l->workspace.bytes);
    locus_positions_destroy(&positions);
}

static void close_layers(layers *l) {
    locus_release(l->workspace.data, l->workspace.bytes);
    for (size_t i = 0; i < KINDS; i++) {
        locus_plan_destroy(&l->plans[i]);
        locus_binding_destroy(&l->bindings[i]);
    }
    locus_pattern_destroy(&l->pattern);
}

/* y = x W, W drawn: a model would have learned it. */
static void project(const float *x, uint32_t number, size_t columns, float *y) {
    const locus_random random = {11, LOCUS_RANDOM_USER, number};
    for (size_t t = 0; t < TOKENS; t++)
        for (size_t j = 0; j < columns; j++) {
            double sum = 0;
            for (size_t i = 0; i < WIDTH; i++)
                sum += (double)x[t * WIDTH + i] * locus_random_normal(&random, i * columns + j);
            y[t * columns + j] = (float)(sum / sqrt(WIDTH));
        }
}

static locus_tensor view(float *rows, size_t heads) {
    const int64_t shape[] = {TOKENS, (int64_t)heads, DIM};
    return locus_tensor_view(rows, LOCUS_FLOAT32, 3, shape);
}

/* x += attention of a layer. */
static void run(const layers *l, uint32_t layer, float *x) {
    static float q[TOKENS * WIDTH], k[TOKENS * KV_WIDTH], v[TOKENS * KV_WIDTH], o[TOKENS * WIDTH];
    locus_error error;
    project(x, 3 * layer, WIDTH, q);
    project(x, 3 * layer + 1, KV_WIDTH, k);
    project(x, 3 * layer + 2, KV_WIDTH, v);
    const locus_tensor query = view(q, HEADS), key = view(k, KV_HEADS), value = view(v, KV_HEADS),
                       output = view(o, HEADS);
    const locus_attention_tensors tensors = {sizeof tensors, &query, &key, &value, &output, NULL};
    const locus_plan *plan = l->plans[locus_pattern_layer(l->pattern, layer)];
    const locus_execution execution = locus_execution_in(l->workspace);
    need(locus_attention_forward(plan, &l->options, &tensors, &execution, &error), &error);
    for (size_t i = 0; i < TOKENS * WIDTH; i++)
        x[i] += o[i];
}

int main(void) {
    static float as_was[TOKENS * WIDTH], changed[TOKENS * WIDTH];
    const locus_random random = {1, LOCUS_RANDOM_USER, 0};
    const size_t offsets[] = {0, FIRST, TOKENS}, felt[LAYERS] = {3, 6, 9, FIRST - 1}; /* WINDOW − 1 more each */
    const locus_packing packing = {sizeof packing, 2, offsets, NULL};
    bool right = true;
    layers l;
    open_layers(&l);
    place(&l, &packing);
    for (size_t i = 0; i < TOKENS * WIDTH; i++)
        as_was[i] = changed[i] = (float)locus_random_normal(&random, i);
    changed[0] += 1;
    for (uint32_t layer = 0; layer < LAYERS; layer++) {
        char spec[128];
        size_t last = 0;
        const locus_encoding *encoding = locus_pattern_encoding(l.pattern, locus_pattern_layer(l.pattern, layer));
        (void)locus_encoding_text(encoding, spec, sizeof spec);
        run(&l, layer, as_was);
        run(&l, layer, changed);
        for (size_t t = 0; t < TOKENS; t++)
            last = memcmp(as_was + t * WIDTH, changed + t * WIDTH, WIDTH * sizeof *changed) ? t : last;
        (void)printf("layer %zu, %s: token 0 is felt as far as token %zu\n", (size_t)layer, spec, last);
        right = right && last == felt[layer];
    }
    close_layers(&l);
    return right ? 0 : 1;
}
