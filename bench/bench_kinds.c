/* SPDX-License-Identifier: MIT */
/* What the other attentions cost and lose, as two tables in Markdown: 8 heads of 64, float32, one sequence, rope.
 *
 *   cost   milliseconds of forward, and of forward and backward, beside softmax attention in the same run
 *   loss   |o − o*|/|o*| over all outputs: clustered against softmax attention, softmax-free against its own kernel
 *          without landmarks; for tokens drawn alone, and for tokens that follow their neighbours (x_t = 0.95 x_{t−1} +
 *          noise) as in speech or text. Linear attention has another definition: nothing to compare.
 *
 *   bench_kinds [--threads N] [--lengths 512,1024,…] [--repeats N] [--loss N] */
#include "group_subject.h"

#include <locus/locus.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 8, DIM = 64, LENGTHS_MAX = 16 };

typedef struct settings {
    size_t lengths[LENGTHS_MAX], length_count, repeats, loss;
} settings;

typedef struct subject {
    const char *name;
    const char *kind;
    locus_mask mask;
    size_t against; /* which of the list it is compared with */
} subject;

static const subject subjects[] = {
    {"softmax", "softmax", LOCUS_MASK_FULL, 0},         {"softmax, causal", "softmax", LOCUS_MASK_CAUSAL, 1},
    {"linear", "linear", LOCUS_MASK_FULL, 0},           {"linear, causal", "linear", LOCUS_MASK_CAUSAL, 1},
    {"soft, 64 landmarks", "soft", LOCUS_MASK_FULL, 0}, {"clustered, 100 clusters", "clustered", LOCUS_MASK_FULL, 0},
};
enum { SUBJECTS = sizeof subjects / sizeof subjects[0] };

/* ---- one sequence ---- */

enum { Q, K, V, O, GO, DQ, DK, DV, LSE, TENSORS };

typedef struct world {
    size_t length;
    locus_encoding *encoding;
    locus_binding *binding;
    locus_positions *positions;
    locus_plan *plan;
    locus_tensor tensors[TENSORS];
} world;

static size_t elements(const world *w) {
    return w->length * HEADS * DIM;
}

/* Neighbours' share: 0 for tokens drawn alone. Variance 1. */
static void draw(float *values, uint32_t stream, size_t length, double follow) {
    const locus_random random = {1, LOCUS_RANDOM_USER, stream};
    const size_t row = HEADS * DIM;
    for (size_t i = 0; i < length * row; i++) {
        const double fresh = locus_random_normal(&random, i);
        values[i] = (float)(i < row ? fresh : follow * (double)values[i - row] + sqrt(1 - follow * follow) * fresh);
    }
}

static void make_world(world *w, const char *spec, size_t length, double follow) {
    const int64_t shape[] = {(int64_t)length, HEADS, DIM};
    const size_t offsets[] = {0, length};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    locus_shape bound = locus_shape_default();
    locus_error error;
    memset(w, 0, sizeof *w);
    w->length = length;
    bound.heads = HEADS;
    bound.head_dim = DIM;
    bench_check(locus_encoding_parse(spec, &w->encoding, &error), &error);
    bench_check(locus_binding_create(&w->binding, w->encoding, &bound, NULL, 0, &error), &error);
    bench_check(locus_positions_create(&w->positions, NULL, &packing, NULL, &error), &error);
    bench_check(locus_plan_create(&w->plan, w->binding, w->positions, NULL, &error), &error);
    for (int i = 0; i < TENSORS; i++) {
        w->tensors[i] = locus_tensor_view(NULL, LOCUS_FLOAT32, i == LSE ? 2 : 3, shape);
        w->tensors[i].data = bench_memory(elements(w) * sizeof(float));
        memset(w->tensors[i].data, 0, elements(w) * sizeof(float));
        if (i <= V || i == GO)
            draw(w->tensors[i].data, (uint32_t)i, length, i <= V ? follow : 0);
    }
}

static void free_world(world *w) {
    for (int i = 0; i < TENSORS; i++)
        locus_release(w->tensors[i].data, elements(w) * sizeof(float));
    locus_plan_destroy(&w->plan);
    locus_positions_destroy(&w->positions);
    locus_binding_destroy(&w->binding);
    locus_encoding_destroy(&w->encoding);
}

typedef struct timing {
    double forward, both, mebibytes;
} timing;

static timing run(world *w, const locus_attention_options *options, bool backward) {
    const size_t one = locus_attention_workspace(w->plan, options, LOCUS_FLOAT32, LOCUS_PASS_FORWARD, NULL);
    const size_t other = locus_attention_workspace(w->plan, options, LOCUS_FLOAT32, LOCUS_PASS_BACKWARD, NULL);
    const size_t bytes = backward && other > one ? other : one;
    const locus_workspace workspace = {bench_memory(bytes), bytes};
    locus_tensor *t = w->tensors;
    const locus_attention_tensors tensors = {sizeof tensors, &t[Q], &t[K], &t[V], &t[O], &t[LSE]};
    const locus_attention_gradients gradients = {.size = sizeof(locus_attention_gradients),
                                                 .output = &t[GO],
                                                 .query = &t[DQ],
                                                 .key = &t[DK],
                                                 .value = &t[DV],
                                                 .parameters = NULL,
                                                 .parameter_count = 0};
    locus_error error;
    timing times = {.mebibytes = (double)bytes / 1048576};
    memset(workspace.data, 0, bytes); /* so that no page is first touched while the clock runs */
    double start = bench_seconds();
    const locus_execution execution = locus_execution_in(workspace);
    bench_check(locus_attention_forward(w->plan, options, &tensors, &execution, &error), &error);
    times.forward = times.both = bench_seconds() - start;
    if (backward) {
        bench_check(locus_attention_backward(w->plan, options, &tensors, &gradients, &execution, &error), &error);
        times.both = bench_seconds() - start;
    }
    locus_release(workspace.data, bytes);
    return times;
}

/* ---- cost ---- */

static locus_attention_kind *make_kind(const char *text) {
    locus_attention_kind *kind;
    locus_error error;
    bench_check(locus_attention_kind_parse(text, &kind, &error), &error);
    return kind;
}

static timing best_of(world *w, const subject *s, size_t repeats) {
    locus_attention_options options = locus_attention_default();
    locus_attention_kind *kind = make_kind(s->kind);
    options.kind = kind;
    options.mask = s->mask;
    timing best = run(w, &options, true);
    for (size_t i = 0; i < repeats; i++) {
        const timing again = run(w, &options, true);
        best.forward = again.forward < best.forward ? again.forward : best.forward;
        best.both = again.both < best.both ? again.both : best.both;
    }
    locus_attention_kind_destroy(&kind);
    return best;
}

static void print_costs(const settings *s) {
    printf("| tokens | attention | forward, ms | of softmax | forward + backward, ms | of softmax | workspace, MiB |\n"
           "|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < s->length_count; i++) {
        timing times[SUBJECTS];
        world w;
        make_world(&w, "rope", s->lengths[i], 0.95);
        for (size_t k = 0; k < SUBJECTS; k++) {
            const timing *base = &times[subjects[k].against];
            const size_t repeats = s->lengths[i] > 4096 ? (s->repeats + 3) / 4 : s->repeats;
            times[k] = best_of(&w, &subjects[k], repeats);
            printf("| %zu | %s | %.2f | %.3f | %.2f | %.3f | %.1f |\n", s->lengths[i], subjects[k].name,
                   times[k].forward * 1e3, times[k].forward / base->forward, times[k].both * 1e3,
                   times[k].both / base->both, times[k].mebibytes);
            fflush(stdout);
        }
        free_world(&w);
    }
}

/* ---- loss ---- */

static double apart(const float *got, const float *want, size_t count) {
    double difference = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        const double d = (double)got[i] - (double)want[i];
        difference += d * d;
        size += (double)want[i] * (double)want[i];
    }
    return sqrt(difference / size);
}

/* exp(−|q − k|²/(2·sqrt(d)))·v summed over all keys; the plan's encoding is none. */
static void full_kernel(const world *w, float *output) {
    const float *q = w->tensors[Q].data, *k = w->tensors[K].data, *v = w->tensors[V].data;
    for (size_t row = 0; row < w->length * HEADS; row++) {
        double sum[DIM] = {0};
        for (size_t j = row % HEADS; j < w->length * HEADS; j += HEADS) {
            float square = 0;
            for (size_t c = 0; c < DIM; c++)
                square += (q[row * DIM + c] - k[j * DIM + c]) * (q[row * DIM + c] - k[j * DIM + c]);
            const double weight = exp(-0.5 * (double)square / sqrt(DIM));
            for (size_t c = 0; c < DIM; c++)
                sum[c] += weight * (double)v[j * DIM + c];
        }
        for (size_t c = 0; c < DIM; c++)
            output[row * DIM + c] = (float)sum[c];
    }
}

static void run_kind(world *w, const char *format, size_t count) {
    char text[64];
    snprintf(text, sizeof text, format, count);
    locus_attention_options options = locus_attention_default();
    locus_attention_kind *kind = make_kind(text);
    options.kind = kind;
    run(w, &options, false);
    locus_attention_kind_destroy(&kind);
}

static void print_clustered(size_t length, double follow) {
    static const size_t counts[] = {25, 50, 100, 200, 400};
    world w;
    make_world(&w, "rope", length, follow);
    float *exact = bench_memory(elements(&w) * sizeof(float));
    locus_attention_options options = locus_attention_default();
    run(&w, &options, false);
    memcpy(exact, w.tensors[O].data, elements(&w) * sizeof(float));
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        run_kind(&w, "clustered(clusters=%zu)", counts[i]);
        printf("| clustered, %zu clusters | %s | %.3f |\n", counts[i], follow > 0 ? "follow" : "alone",
               apart(w.tensors[O].data, exact, elements(&w)));
    }
    locus_release(exact, elements(&w) * sizeof(float));
    free_world(&w);
}

/* Keys are the queries, as in the paper. */
static void print_soft(size_t length, double follow) {
    static const size_t counts[] = {16, 32, 64, 128, 256};
    world w;
    make_world(&w, "none", length, follow);
    memcpy(w.tensors[K].data, w.tensors[Q].data, elements(&w) * sizeof(float));
    float *exact = bench_memory(elements(&w) * sizeof(float));
    full_kernel(&w, exact);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        run_kind(&w, "soft(landmarks=%zu)", counts[i]);
        printf("| soft, %zu landmarks | %s | %.3f |\n", counts[i], follow > 0 ? "follow" : "alone",
               apart(w.tensors[O].data, exact, elements(&w)));
    }
    locus_release(exact, elements(&w) * sizeof(float));
    free_world(&w);
}

static void print_losses(size_t length) {
    printf("\n%zu tokens\n\n| attention | tokens | relative error of the output |\n|---|---|---|\n", length);
    for (int follows = 0; follows < 2; follows++) {
        print_clustered(length, follows ? 0.95 : 0);
        print_soft(length, follows ? 0.95 : 0);
    }
}

/* ---- options ---- */

static void usage(void) {
    fprintf(stderr, "usage: bench_kinds [--threads N] [--lengths 512,…] [--repeats N] [--loss N]\n");
    exit(2);
}

static void take_lengths(settings *s, const char *text) {
    char *end;
    s->length_count = 0;
    for (; *text && s->length_count < LENGTHS_MAX; text = *end == ',' ? end + 1 : end) {
        s->lengths[s->length_count++] = strtoul(text, &end, 10);
        if (end == text || s->lengths[s->length_count - 1] == 0)
            usage();
    }
}

int main(int count, char **words) {
    settings s = {{512, 1024, 2048, 4096, 8192, 16384}, 6, 8, 2048};
    for (int i = 1; i < count; i += 2) {
        if (i + 1 >= count)
            usage();
        if (strcmp(words[i], "--threads") == 0 && locus_threads_set(strtoul(words[i + 1], NULL, 10)) == LOCUS_OK)
            continue;
        if (strcmp(words[i], "--lengths") == 0)
            take_lengths(&s, words[i + 1]);
        else if (strcmp(words[i], "--repeats") == 0)
            s.repeats = strtoul(words[i + 1], NULL, 10);
        else if (strcmp(words[i], "--loss") == 0)
            s.loss = strtoul(words[i + 1], NULL, 10);
        else
            usage();
    }
    printf("%zu threads, %s\n\n", locus_threads(), locus_isa_name(locus_cpu_isa()));
    print_costs(&s);
    if (s.loss > 0)
        print_losses(s.loss);
    return 0;
}
