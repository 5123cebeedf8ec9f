/* SPDX-License-Identifier: MIT */
/* Grids and cycles beside rotary, and how exact long paths are, on [tokens, 8 heads, 64] float32:
 *
 *   folded     algebraic(generator=angles): the eigenbasis is folded into the projections
 *   unfolded   algebraic: into the eigenbasis of each block, turn, and out again
 *
 * of grid:2 on grids of 256 × 256 and, in cache, of 16 × 16, of cycle:4096 on its 4,096 points, and of seq for as many.
 * Ratios as in bench_apply: folded over rope of as many tokens (with gradients: over rope and over rope(learned=on));
 * unfolded over rope plus its own matrix products at the product peak measured here.
 *
 * Errors, in double, as the largest element of the difference of operators: ⌈a⌉⌈b⌉ and ⌈a + b⌉ in float32 against
 * ⌈a + b⌉ in double, for a + b = 1,000,000 on seq (bound 1e-5) and a word of 1,000 letters on tree:2 (1e-4). In double
 * means float64's operator on seq, and letter by letter on the tree.
 *
 *   bench_groups [--json] [--quick] [--threads N]
 *
 * Exit: 0 done, 1 an error is above its bound or something failed, 2 usage. */
#include "group_subject.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 8, DIM = 64, ROW = HEADS * DIM, SIDE = 256, SMALL = 16, PERIOD = 4096, WORD = 1000, MOST_BLOCKS = 2 };

typedef struct bench_options {
    bool json, quick;
} bench_options;

/* ---- positions ---- */

static locus_positions *positions_of(const char *group_text, const int64_t *values, size_t tokens) {
    locus_error error = {0};
    locus_group *group = NULL;
    locus_positions *positions = NULL;
    const size_t offsets[] = {0, tokens};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets, .lengths = NULL};
    bench_check(locus_group_parse(group_text, &group, &error), &error);
    bench_check(locus_positions_create(&positions, group, &packing, values, &error), &error);
    locus_group_destroy(&group);
    return positions;
}

/* Row by row. */
static locus_positions *grid_positions(size_t side) {
    const size_t count = side * side;
    int64_t *values = bench_memory(2 * count * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        values[2 * i] = (int64_t)(i / side);
        values[2 * i + 1] = (int64_t)(i % side);
    }
    locus_positions *positions = positions_of("grid:2", values, count);
    locus_release(values, 2 * count * sizeof *values);
    return positions;
}

/* All tokens at one word of signed branches. */
static locus_positions *word_positions(const int64_t *word, size_t length, size_t tokens) {
    locus_error error = {0};
    locus_group *group = NULL;
    locus_positions *positions = NULL;
    const size_t offsets[] = {0, tokens};
    const locus_packing packing = {.size = sizeof packing, .sequences = 1, .offsets = offsets, .lengths = NULL};
    size_t *parents = bench_memory((length + 1) * sizeof *parents);
    int64_t *branches = bench_memory((length + 1) * sizeof *branches), *at = bench_memory(tokens * sizeof *at);
    for (size_t i = 1; i <= length; i++) {
        parents[i] = i - 1;
        branches[i] = word[i - 1];
    }
    parents[0] = 0, branches[0] = 0;
    for (size_t t = 0; t < tokens; t++)
        at[t] = (int64_t)length;
    const locus_position_column column = {
        .size = sizeof column, .values = at, .branches = branches, .parents = parents, .node_count = length + 1};
    bench_check(locus_group_parse("tree:2", &group, &error), &error);
    bench_check(locus_positions_create_columns(&positions, group, &packing, &column, &error), &error);
    locus_group_destroy(&group);
    locus_release(parents, (length + 1) * sizeof *parents);
    locus_release(branches, (length + 1) * sizeof *branches);
    locus_release(at, tokens * sizeof *at);
    return positions;
}

/* ---- speed ---- */

typedef struct group_case {
    const char *name, *folded, *unfolded;
    size_t tokens, blocks;
    locus_positions *positions, *line; /* line: 0, 1, 2, … for rope */
} group_case;

typedef struct group_run {
    group_subject s;
    locus_tensor x, g;
    double forward, both;
} group_run;

static void run_forward(void *context) {
    const group_run *run = context;
    group_subject_forward(&run->s, LOCUS_ROLE_QUERY, &run->x);
}

static void run_backward(void *context) {
    const group_run *run = context;
    group_subject_backward(&run->s, LOCUS_ROLE_QUERY, &run->x, &run->g);
}

static void time_spec(const char *spec, const group_case *c, const locus_positions *positions, bool quick,
                      group_run *run) {
    const size_t all = c->tokens * ROW;
    const double budget = quick ? 0.05 : 1;
    group_subject_open(&run->s, spec, HEADS, DIM);
    group_subject_place(&run->s, positions);
    float *x = bench_numbers(all, 1), *g = bench_numbers(all, 2);
    run->x = group_subject_view(&run->s, x, LOCUS_FLOAT32, c->tokens);
    run->g = group_subject_view(&run->s, g, LOCUS_FLOAT32, c->tokens);
    run->forward = bench_measure(run_forward, run, 5, budget).best;
    run->both = run->forward + bench_measure(run_backward, run, 5, budget).best;
    locus_release(x, all * sizeof *x);
    locus_release(g, all * sizeof *g);
    group_subject_close(&run->s);
}

/* Operations of unfolded's products, block by block: two forward; seven with the backward's x̂, ĝ, gx and two sums, and
 * for each block U G Uᵀ in double, which counts twice. */
static double products_of(const group_case *c, bool both) {
    const double block = (double)DIM / (double)c->blocks;
    const double one = 2 * block * block * (double)c->blocks * (double)c->tokens * HEADS;
    return both ? 7 * one + 2 * 2 * 2 * block * block * block * (double)c->blocks * HEADS : 2 * one;
}

static void bench_case(const group_case *c, const bench_options *options, double peak) {
    group_run rope, learned, folded, unfolded;
    time_spec("rope", c, c->line, options->quick, &rope);
    time_spec("rope(learned=on)", c, c->line, options->quick, &learned);
    time_spec(c->folded, c, c->positions, options->quick, &folded);
    time_spec(c->unfolded, c, c->positions, options->quick, &unfolded);
    const double floor_forward = rope.forward + products_of(c, false) / peak;
    const double floor_both = rope.both + products_of(c, true) / peak, scale = 1e9 / (double)c->tokens;
    if (options->json)
        printf(
            "{\"case\": \"%s\", \"tokens\": %zu, \"peak_gflops\": %.1f, \"rope_s\": [%.4g, %.4g], \"learned_rope_s\": "
            "[%.4g, %.4g], \"folded_s\": [%.4g, %.4g], \"unfolded_s\": [%.4g, %.4g], \"folded_over_rotary\": "
            "[%.3f, %.3f], \"folded_over_learned_rotary\": [%.3f, %.3f], \"unfolded_over_floor\": [%.3f, %.3f]}\n",
            c->name, c->tokens, peak * 1e-9, rope.forward, rope.both, learned.forward, learned.both, folded.forward,
            folded.both, unfolded.forward, unfolded.both, folded.forward / rope.forward, folded.both / rope.both,
            folded.forward / learned.forward, folded.both / learned.both, unfolded.forward / floor_forward,
            unfolded.both / floor_both);
    else
        printf("%-10s %7zu  %6.0f %6.0f  %6.0f %6.0f  %6.0f %6.0f  %6.0f %6.0f   %5.2f %5.2f %5.2f   %5.2f %5.2f\n",
               c->name, c->tokens, rope.forward * scale, rope.both * scale, learned.forward * scale,
               learned.both * scale, folded.forward * scale, folded.both * scale, unfolded.forward * scale,
               unfolded.both * scale, folded.forward / rope.forward, folded.both / rope.both,
               folded.both / learned.both, unfolded.forward / floor_forward, unfolded.both / floor_both);
    fflush(stdout);
}

static void bench_speed(const bench_options *options) {
    const double peak = bench_product_peak(options->quick ? 0.2 : 1);
    const size_t grid = (size_t)SIDE * SIDE, small = (size_t)SMALL * SMALL;
    const group_case cases[] = {
        {"grid:2", "algebraic(group=grid:2, generator=angles)", "algebraic(group=grid:2)", grid, 2,
         grid_positions(SIDE), positions_of("seq", NULL, grid)},
        {"grid:2", "algebraic(group=grid:2, generator=angles)", "algebraic(group=grid:2)", small, 2,
         grid_positions(SMALL), positions_of("seq", NULL, small)},
        {"seq", "algebraic(generator=angles)", "algebraic", grid, 1, positions_of("seq", NULL, grid),
         positions_of("seq", NULL, grid)},
        {"cycle:4096", "algebraic(group=cycle:4096, generator=angles)", "algebraic(group=cycle:4096)", PERIOD, 1,
         positions_of("cycle:4096", NULL, PERIOD), positions_of("seq", NULL, PERIOD)},
        {"seq", "algebraic(generator=angles)", "algebraic", PERIOD, 1, positions_of("seq", NULL, PERIOD),
         positions_of("seq", NULL, PERIOD)},
    };
    if (!options->json)
        printf("products at peak: %.0f GFLOP/s on %zu threads, kernels: %s\nns a token, forward and with backward; "
               "ratios: "
               "folded over rope forward, with backward, over learned rope; unfolded over its floor\n"
               "%-10s %7s  %13s  %13s  %13s  %13s\n",
               peak * 1e-9, locus_threads(), locus_isa_name(locus_cpu_isa()), "", "tokens", "rope", "learned rope",
               "folded", "unfolded");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bench_case(&cases[i], options, peak);
        locus_positions *owned[] = {cases[i].positions, cases[i].line};
        locus_positions_destroy(&owned[0]);
        locus_positions_destroy(&owned[1]);
    }
}

/* ---- exactness: token c holds unit vector c in every head ---- */

static void unit_vectors(float *narrow, double *wide) {
    for (size_t i = 0; i < (size_t)DIM * ROW; i++)
        narrow[i] = (float)(wide[i] = i % DIM == i / ROW);
}

static void act(group_subject *s, locus_positions *positions, void *data, locus_dtype dtype) {
    const locus_tensor x = group_subject_view(s, data, dtype, DIM);
    group_subject_place(s, positions);
    group_subject_forward(s, LOCUS_ROLE_QUERY, &x);
    locus_positions_destroy(&positions);
}

static double worst_difference(const float *narrow, const double *wide) {
    double worst = 0;
    for (size_t i = 0; i < (size_t)DIM * ROW; i++)
        worst = fmax(worst, fabs((double)narrow[i] - wide[i]));
    return worst;
}

static bool report_error(const bench_options *options, const char *what, double error, double bound) {
    if (options->json)
        printf("{\"case\": \"%s\", \"error\": %.3g, \"bound\": %.3g}\n", what, error, bound);
    else
        printf("%-64s %10.2e   bound %.0e%s\n", what, error, bound, error <= bound ? "" : "   ABOVE");
    return error <= bound;
}

static bool check_sequence(const bench_options *options, const char *init) {
    const int64_t parts[] = {618034, 381966}, total = parts[0] + parts[1];
    const size_t all = (size_t)DIM * ROW;
    float *whole = bench_memory(all * sizeof *whole), *twice = bench_memory(all * sizeof *twice);
    double *wide = bench_memory(all * sizeof *wide);
    int64_t at[3][DIM];
    char spec[64], name[128];
    group_subject s;
    for (size_t t = 0; t < DIM; t++)
        at[0][t] = parts[0], at[1][t] = parts[1], at[2][t] = total;
    snprintf(spec, sizeof spec, "algebraic(group=seq, init=%s)", init);
    group_subject_open(&s, spec, HEADS, DIM);
    unit_vectors(whole, wide);
    unit_vectors(twice, wide);
    act(&s, positions_of("seq", at[2], DIM), wide, LOCUS_FLOAT64);
    act(&s, positions_of("seq", at[2], DIM), whole, LOCUS_FLOAT32);
    act(&s, positions_of("seq", at[1], DIM), twice, LOCUS_FLOAT32);
    act(&s, positions_of("seq", at[0], DIM), twice, LOCUS_FLOAT32);
    snprintf(name, sizeof name, "seq, 1,000,000 steps at once, init=%s", init);
    bool good = report_error(options, name, worst_difference(whole, wide), 1e-5);
    snprintf(name, sizeof name, "seq, 618,034 steps and 381,966, init=%s", init);
    good &= report_error(options, name, worst_difference(twice, wide), 1e-5);
    group_subject_close(&s);
    locus_release(whole, all * sizeof *whole);
    locus_release(twice, all * sizeof *twice);
    locus_release(wide, all * sizeof *wide);
    return good;
}

/* The word's operator in double: plans of the two branches act in turn, last letter first. */
static void walk_word(group_subject *steps, const int64_t *word, double *wide) {
    locus_error error = {0};
    for (size_t i = WORD; i-- > 0;) {
        const group_subject *s = &steps[(word[i] > 1 || word[i] < -1) ? 1 : 0];
        const locus_direction direction = word[i] > 0 ? LOCUS_FORWARD : LOCUS_INVERSE;
        const locus_tensor x = group_subject_view(s, wide, LOCUS_FLOAT64, DIM);
        const locus_execution execution = locus_execution_in(s->workspace);
        bench_check(locus_apply(s->plan, LOCUS_ROLE_QUERY, direction, &x, &x, &execution, &error), &error);
    }
}

/* Without letters that cancel, so that it stays as long as it is. */
static void draw_word(int64_t *word) {
    const locus_random draws = {.seed = 3, .purpose = LOCUS_RANDOM_USER, .step = 0};
    for (size_t i = 0; i < WORD; i++) {
        const uint64_t draw = locus_random_below(&draws, i, 4);
        word[i] = (draw % 2 == 0 ? 1 : -1) * (int64_t)(1 + draw / 2);
        if (i > 0 && word[i] == -word[i - 1])
            word[i] = word[i - 1];
    }
}

static bool check_tree(const bench_options *options, const char *init) {
    const size_t all = (size_t)DIM * ROW;
    float *whole = bench_memory(all * sizeof *whole), *twice = bench_memory(all * sizeof *twice);
    double *wide = bench_memory(all * sizeof *wide);
    int64_t word[WORD];
    char spec[64], name[128];
    group_subject s, steps[2];
    draw_word(word);
    snprintf(spec, sizeof spec, "algebraic(group=tree:2, init=%s)", init);
    group_subject_open(&s, spec, HEADS, DIM);
    for (int b = 0; b < 2; b++) {
        const int64_t branch = b + 1;
        locus_positions *positions = word_positions(&branch, 1, DIM);
        group_subject_open(&steps[b], spec, HEADS, DIM);
        group_subject_place(&steps[b], positions);
        locus_positions_destroy(&positions);
    }
    unit_vectors(whole, wide);
    unit_vectors(twice, wide);
    walk_word(steps, word, wide);
    act(&s, word_positions(word, WORD, DIM), whole, LOCUS_FLOAT32);
    act(&s, word_positions(word + WORD / 2, WORD - WORD / 2, DIM), twice, LOCUS_FLOAT32);
    act(&s, word_positions(word, WORD / 2, DIM), twice, LOCUS_FLOAT32);
    snprintf(name, sizeof name, "tree:2, a word of 1,000 letters, init=%s", init);
    bool good = report_error(options, name, worst_difference(whole, wide), 1e-4);
    snprintf(name, sizeof name, "tree:2, its two halves, init=%s", init);
    good &= report_error(options, name, worst_difference(twice, wide), 1e-4);
    group_subject_close(&s);
    group_subject_close(&steps[0]);
    group_subject_close(&steps[1]);
    locus_release(whole, all * sizeof *whole);
    locus_release(twice, all * sizeof *twice);
    locus_release(wide, all * sizeof *wide);
    return good;
}

static bool bench_exactness(const bench_options *options) {
    if (!options->json)
        printf("\nlargest element of the difference between float32 operators and the operator in double\n");
    bool good = check_sequence(options, "rope");
    good &= check_sequence(options, "random");
    good &= check_tree(options, "rope");
    good &= check_tree(options, "random");
    return good;
}

static bool read_options(int argc, char **argv, bench_options *options) {
    for (int i = 1; i < argc; i++) {
        char *end = NULL;
        errno = 0;
        if (strcmp(argv[i], "--json") == 0)
            options->json = true;
        else if (strcmp(argv[i], "--quick") == 0)
            options->quick = true;
        else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc && argv[i + 1][0] >= '1' && argv[i + 1][0] <= '9') {
            const unsigned long threads = strtoul(argv[++i], &end, 10);
            if (*end != '\0' || errno != 0 || locus_threads_set((size_t)threads) != LOCUS_OK)
                return false;
        } else
            return false;
    }
    return true;
}

int main(int argc, char **argv) {
    bench_options options = {.json = false, .quick = false};
    if (!read_options(argc, argv, &options)) {
        fprintf(stderr, "bench_groups: usage: bench_groups [--json] [--quick] [--threads N]\n");
        return 2;
    }
    bench_speed(&options);
    return bench_exactness(&options) ? 0 : 1;
}
