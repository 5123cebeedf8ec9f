/* SPDX-License-Identifier: MIT */
/* What the parallel loop and the rest of how a call runs cost, as tables in Markdown.
 *
 *   loops     nanoseconds of a loop of so many empty pieces, by the number of workers that it may have
 *   callers   N threads that each run the same loops of 16 pieces of about 20 microseconds, or the same attention (512
 *             tokens, 8 heads of 64), at once and one after the other: how many times as much work is done in the same
 *             time
 *   cancel    calls of several kinds on one thread: processor time with a flag that nobody raises, over that without
 *             one; how often the call asks, and milliseconds of processor time between two questions at most
 *
 *   bench_parallel [--threads N] [--repeats N] */
#include "group_subject.h"

#include <locus/locus.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CALLERS_MAX = 4, LOOPS = 200, CALLS = 20, PIECES = 16, STEPS = 4000 };

/* ---- empty pieces ---- */

static void nothing(void *context, size_t index, size_t worker) {
    (void)context;
    (void)index;
    (void)worker;
}

static double nanoseconds_of(size_t workers, size_t pieces, size_t repeats) {
    double best = 1e30;
    const size_t loops = pieces > 256 ? 200 : 2000;
    for (size_t r = 0; r < repeats; r++) {
        const double start = bench_seconds();
        for (size_t i = 0; i < loops; i++)
            locus_parallel_for_at_most(workers, pieces, nothing, NULL);
        const double seconds = bench_seconds() - start;
        best = seconds < best ? seconds : best;
    }
    return 1e9 * best / (double)loops;
}

/* ---- attention and plans ---- */

enum { HEADS = 8, DIM = 64, Q, K, V, O, GO, DQ, DK, DV, LSE, TENSORS };

typedef struct world {
    size_t length;
    locus_encoding *encoding;
    locus_binding *binding;
    locus_positions *positions;
    locus_plan *plan;
    locus_tensor tensors[TENSORS];
    locus_workspace workspace;
    locus_attention_options options;
    locus_attention_kind *kind;
} world;

static size_t elements(const world *w) {
    return w->length * HEADS * DIM;
}

static void bind(world *w, const char *spec) {
    locus_shape shape = locus_shape_default();
    locus_tensor values = {.dtype = LOCUS_FLOAT32, .rank = 4};
    locus_parameter info = {.size = sizeof info};
    size_t count;
    locus_error error;
    shape.heads = HEADS;
    shape.head_dim = DIM;
    bench_check(locus_encoding_parse(spec, &w->encoding, &error), &error);
    bench_check(locus_encoding_parameter_count(w->encoding, &shape, &count, &error), &error);
    if (count > 0) {
        bench_check(locus_encoding_parameter(w->encoding, &shape, 0, &info, &error), &error);
        values = locus_tensor_view(NULL, LOCUS_FLOAT32, info.rank, info.shape);
        values.data = bench_memory(locus_tensor_count(&values) * sizeof(float));
        bench_check(locus_encoding_initialise(w->encoding, &shape, 1, &values, 1, &error), &error);
    }
    bench_check(locus_binding_create(&w->binding, w->encoding, &shape, &values, count, &error), &error);
    locus_release(values.data, count > 0 ? locus_tensor_count(&values) * sizeof(float) : 0);
}

static void take_world(world *w, const char *spec, const char *kind, size_t length) {
    const int64_t shape[] = {(int64_t)length, HEADS, DIM};
    const size_t offsets[] = {0, length};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    locus_error error;
    *w = (world){.length = length, .options = locus_attention_default()};
    bench_check(locus_attention_kind_parse(kind, &w->kind, &error), &error);
    w->options.kind = w->kind;
    w->options.mask = strcmp(kind, "soft") == 0 || strcmp(kind, "clustered") == 0 ? LOCUS_MASK_FULL : LOCUS_MASK_CAUSAL;
    bind(w, spec);
    bench_check(locus_positions_create(&w->positions, NULL, &packing, NULL, &error), &error);
    bench_check(locus_plan_create(&w->plan, w->binding, w->positions, NULL, &error), &error);
    for (int i = Q; i < TENSORS; i++) {
        w->tensors[i] = locus_tensor_view(NULL, LOCUS_FLOAT32, i == LSE ? 2 : 3, shape);
        w->tensors[i].data = bench_memory(elements(w) * sizeof(float));
        for (size_t j = 0; j < elements(w); j++)
            ((float *)w->tensors[i].data)[j] = (float)((j * 7 + (size_t)i) % 13) / 16;
    }
    w->workspace.bytes = locus_attention_workspace(w->plan, &w->options, LOCUS_FLOAT32, LOCUS_PASS_BACKWARD, NULL) +
                         locus_attention_workspace(w->plan, &w->options, LOCUS_FLOAT32, LOCUS_PASS_FORWARD, NULL);
    w->workspace.data = bench_memory(w->workspace.bytes);
    memset(w->workspace.data, 0, w->workspace.bytes);
}

static void drop_world(world *w) {
    for (int i = Q; i < TENSORS && w->tensors[i].data; i++)
        locus_release(w->tensors[i].data, elements(w) * sizeof(float));
    locus_release(w->workspace.data, w->workspace.bytes);
    locus_plan_destroy(&w->plan);
    locus_positions_destroy(&w->positions);
    locus_binding_destroy(&w->binding);
    locus_encoding_destroy(&w->encoding);
    locus_attention_kind_destroy(&w->kind);
}

static locus_status attend(world *w, locus_execution execution) {
    locus_tensor *t = w->tensors;
    const locus_attention_tensors tensors = {sizeof tensors, &t[Q], &t[K], &t[V], &t[O], &t[LSE]};
    execution.workspace = w->workspace;
    return locus_attention_forward(w->plan, &w->options, &tensors, &execution, NULL);
}

static locus_status attend_back(world *w, locus_execution execution) {
    locus_tensor *t = w->tensors;
    const locus_attention_tensors tensors = {sizeof tensors, &t[Q], &t[K], &t[V], &t[O], &t[LSE]};
    const locus_attention_gradients gradients = {
        .size = sizeof(locus_attention_gradients), .output = &t[GO], .query = &t[DQ], .key = &t[DK], .value = &t[DV]};
    execution.workspace = w->workspace;
    return locus_attention_backward(w->plan, &w->options, &tensors, &gradients, &execution, NULL);
}

/* A random tree: each node hangs below one that is there. */
static void take_tree(world *w, size_t nodes) {
    const size_t offsets[] = {0, nodes};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    const locus_random random = {1, LOCUS_RANDOM_USER, 0};
    const locus_group *group;
    locus_position_column column = {.size = sizeof column, .node_count = nodes};
    locus_error error;
    *w = (world){.length = nodes};
    bind(w, "algebraic(group=tree:2, decay=0.98)");
    group = locus_binding_group(w->binding);
    int64_t *values = bench_memory(nodes * sizeof *values), *branches = bench_memory(nodes * sizeof *branches);
    size_t *parents = bench_memory(nodes * sizeof *parents);
    for (size_t i = 0; i < nodes; i++) {
        values[i] = (int64_t)i;
        parents[i] = i > 0 ? i - 1 - (size_t)locus_random_below(&random, i, i < 400 ? i : 400) : 0;
        branches[i] = 1 + (int64_t)(i % 2);
    }
    column.values = values;
    column.branches = branches;
    column.parents = parents;
    bench_check(locus_positions_create_columns(&w->positions, group, &packing, &column, &error), &error);
    locus_release(values, nodes * sizeof *values);
    locus_release(branches, nodes * sizeof *branches);
    locus_release(parents, nodes * sizeof *parents);
}

static locus_status make_plan(world *w, locus_execution execution) {
    locus_plan_options options = locus_plan_options_default();
    locus_plan *plan = NULL;
    options.execution = &execution;
    const locus_status status = locus_plan_create_with(&plan, w->binding, w->positions, NULL, &options, NULL);
    locus_plan_destroy(&plan);
    return status;
}

/* ---- callers ---- */

typedef struct caller {
    size_t workers;
    double sums[PIECES];
    world *own; /* NULL: loops */
} caller;

static void count_up(void *context, size_t index, size_t worker) {
    caller *c = context;
    double sum = c->sums[index] + 1;
    (void)worker;
    for (int i = 0; i < STEPS; i++)
        sum = sum * 0.999999 + 1e-3; /* a chain: one piece takes the same time wherever it runs */
    c->sums[index] = sum;
}

static void *run_caller(void *context) {
    caller *c = context;
    locus_execution execution = locus_execution_default();
    execution.threads = c->workers;
    for (int i = 0; c->own == NULL && i < LOOPS; i++)
        locus_parallel_for_at_most(c->workers, PIECES, count_up, c);
    for (int i = 0; c->own != NULL && i < CALLS; i++)
        bench_check(attend(c->own, execution), NULL);
    return NULL;
}

static double seconds_of(caller *callers, size_t count, bool at_once) {
    pthread_t threads[CALLERS_MAX];
    const double start = bench_seconds();
    for (size_t i = 0; i < count; i++) {
        if (at_once && pthread_create(&threads[i], NULL, run_caller, &callers[i]) != 0)
            exit(1);
        if (!at_once)
            run_caller(&callers[i]);
    }
    for (size_t i = 0; at_once && i < count; i++)
        pthread_join(threads[i], NULL);
    return bench_seconds() - start;
}

static double least(caller *callers, size_t count, bool at_once, size_t repeats) {
    double best = 1e30;
    for (size_t r = 0; r < repeats; r++) {
        const double seconds = seconds_of(callers, count, at_once);
        best = seconds < best ? seconds : best;
    }
    return best;
}

static void report_callers(size_t all, size_t repeats) {
    world worlds[CALLERS_MAX];
    for (size_t i = 0; i < CALLERS_MAX; i++)
        take_world(&worlds[i], "rope", "softmax", 512);
    printf("\n| callers | of | workers each | one after the other, ms | at once, ms | times as much |\n"
           "|---|---|---|---|---|---|\n");
    for (int attention = 0; attention < 2; attention++)
        for (size_t count = 1; count <= CALLERS_MAX; count *= 2)
            for (int many = 0; many < 2; many++) {
                caller callers[CALLERS_MAX] = {0};
                for (size_t i = 0; i < count; i++) {
                    callers[i].workers = many ? all : 1;
                    callers[i].own = attention ? &worlds[i] : NULL;
                }
                const double serial = least(callers, count, false, repeats),
                             once = least(callers, count, true, repeats);
                printf("| %zu | %s | %zu | %.1f | %.1f | %.2f |\n", count, attention ? "attention" : "loops",
                       callers[0].workers, 1e3 * serial, 1e3 * once, serial / once);
            }
    for (size_t i = 0; i < CALLERS_MAX; i++)
        drop_world(&worlds[i]);
}

/* ---- an early end ---- */

typedef locus_status work(world *w, locus_execution execution);

/* Of this thread: others that use the machine don't count. */
static double processor_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

typedef struct questions {
    double last, longest;
    size_t count;
} questions;

static int32_t note_question(void *context) {
    questions *q = context;
    const double now = processor_seconds();
    q->longest = now - q->last > q->longest ? now - q->last : q->longest;
    q->last = now;
    q->count++;
    return 0;
}

static double seconds_with(world *w, work *call, locus_cancelled *cancelled, void *context) {
    locus_execution execution = locus_execution_default();
    execution.threads = 1;
    execution.cancelled = cancelled;
    execution.context = context;
    const double start = processor_seconds();
    bench_check(call(w, execution), NULL);
    return processor_seconds() - start;
}

static void report_end(const char *name, world *w, work *call, size_t repeats) {
    double plain = 1e30, asking = 1e30, longest = 1e30;
    questions q = {0};
    int32_t never = 0;
    for (size_t r = 0; r < repeats; r++) {
        const double one = seconds_with(w, call, NULL, NULL), other = seconds_with(w, call, locus_flag_raised, &never);
        q = (questions){.last = processor_seconds()};
        (void)seconds_with(w, call, note_question, &q);
        const double after = processor_seconds() - q.last;
        q.longest = after > q.longest ? after : q.longest;
        plain = one < plain ? one : plain;
        asking = other < asking ? other : asking;
        longest = q.longest < longest ? q.longest : longest;
    }
    printf("| %s | %.1f | %.3f | %zu | %.2f |\n", name, 1e3 * plain, asking / plain, q.count, 1e3 * longest);
}

static void report_ends(size_t repeats) {
    static const struct {
        const char *spec, *kind, *names[2];
    } subjects[] = {{"rope", "softmax", {"softmax, forward", "softmax, backward"}},
                    {"cope", "softmax", {"contextual, forward", "contextual, backward"}},
                    {"rope", "linear", {"linear, forward", "linear, backward"}},
                    {"rope", "soft", {"soft, forward", "soft, backward"}},
                    {"rope", "clustered", {"clustered, forward", "clustered, backward"}}};
    world w;
    printf("\n| a call with a flag | without, ms | with, times | questions | longest between, ms |\n"
           "|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        take_world(&w, subjects[i].spec, subjects[i].kind, 4096);
        report_end(subjects[i].names[0], &w, attend, repeats);
        report_end(subjects[i].names[1], &w, attend_back, repeats);
        drop_world(&w);
    }
    take_tree(&w, 200000);
    report_end("plan of a tree of 200,000 nodes", &w, make_plan, repeats);
    drop_world(&w);
}

static void report_loops(size_t all, size_t repeats) {
    static const size_t pieces[] = {1, 2, 16, 256, 4096};
    printf("%zu threads\n\n| pieces | 1 worker, ns | %zu workers, ns |\n|---|---|---|\n", all, all);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        printf("| %zu | %.0f | %.0f |\n", pieces[i], nanoseconds_of(1, pieces[i], repeats),
               nanoseconds_of(all, pieces[i], repeats));
}

int main(int count, char **words) {
    size_t repeats = 20;
    for (int i = 1; i + 1 < count; i += 2) {
        const size_t value = strtoul(words[i + 1], NULL, 10);
        if (strcmp(words[i], "--threads") == 0 && locus_threads_set(value) == LOCUS_OK)
            continue;
        if (strcmp(words[i], "--repeats") != 0 || value == 0) {
            fprintf(stderr, "usage: bench_parallel [--threads N] [--repeats N]\n");
            return 2;
        }
        repeats = value;
    }
    report_loops(locus_threads(), repeats);
    report_callers(locus_threads(), repeats / 4 + 1);
    report_ends(repeats / 4 + 1);
    return 0;
}
