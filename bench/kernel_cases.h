/* SPDX-License-Identifier: MIT */
/* The bench cases of every kernel for one element type: included once for float32 and once for float64 by
 * bench_kernels.c, which defines CASE_REAL and CASE_BITS. A case reads `in`, writes `out` only (results that are
 * returned go to out[0]), and says how much work one call is. The list of operations is the library's registry: a
 * kernel without a case does not compile. */
#define B_PASTE_RAW(a, b) a##b
#define B_PASTE(a, b) B_PASTE_RAW(a, b)
#define B(name) B_PASTE(name##_float, CASE_BITS)
#define TABLE B_PASTE(locus_kernels_float, CASE_BITS)
#define REAL CASE_REAL

enum { B(HEAD) = 64, B(PAIRS) = 32 };

typedef struct B(case_data) {
    REAL *in, *in2, *out; /* CASE_ELEMENTS each, aligned */
    const double *coarse, *fine, *weight;
    const uint32_t *coarse_index, *fine_index;
    double *sum;
    uint32_t *words;
    locus_random key;
} B(case_data);

typedef struct B(bench_case) {
    const char *shape;
    double work; /* of one call, in units of 1e9 when divided by nanoseconds */
    const char *unit;
    void (*run)(const TABLE *k, const B(case_data) * d);
} B(bench_case);

#define CASE(name, body) \
    static void B(name)(const TABLE *k, const B(case_data) * d) { \
        body; \
    }

CASE(run_gemm_64, k->gemm(64, 64, 64, d->in, 64, 1, d->in2, 64, d->out, 64, false))
CASE(run_gemm_128, k->gemm(128, 128, 128, d->in, 128, 1, d->in2, 128, d->out, 128, false))
CASE(run_gemm_scores, k->gemm(64, 128, 64, d->in, 64, 1, d->in2, 128, d->out, 128, false))
CASE(run_gemm_tail, k->gemm(61, 61, 61, d->in, 61, 1, d->in2, 61, d->out, 61, false))
CASE(run_gemm_strided, k->gemm(64, 64, 64, d->in, 512, 1, d->in2, 512, d->out, 64, false))
CASE(run_gemm_one, k->gemm(1, 256, 64, d->in, 64, 1, d->in2, 256, d->out, 256, false))
CASE(run_gemm_sums, k->gemm(64, 64, 1024, d->in, 1, 64, d->in2, 64, d->out, 64, false))
static const B(bench_case) B(cases_gemm)[] = {
    {"64x64x64", 2e0 * 64 * 64 * 64, "GFLOP/s", B(run_gemm_64)},
    {"128x128x128", 2e0 * 128 * 128 * 128, "GFLOP/s", B(run_gemm_128)},
    {"64x128x64", 2e0 * 64 * 128 * 64, "GFLOP/s", B(run_gemm_scores)},
    {"61x61x61", 2e0 * 61 * 61 * 61, "GFLOP/s", B(run_gemm_tail)},
    {"64x64x64 ld 512", 2e0 * 64 * 64 * 64, "GFLOP/s", B(run_gemm_strided)},
    {"1x256x64", 2e0 * 256 * 64, "GFLOP/s", B(run_gemm_one)},
    {"64x64x1024 AᵀB", 2e0 * 64 * 64 * 1024, "GFLOP/s", B(run_gemm_sums)},
};

CASE(run_transpose, k->transpose(64, 64, d->in, 64, d->out, 64))
CASE(run_transpose_strided, k->transpose(64, 64, d->in, 512, d->out, 64))
static const B(bench_case) B(cases_transpose)[] = {
    {"64x64", 2e0 * 64 * 64 * sizeof(REAL), "GB/s", B(run_transpose)},
    {"64x64 ld 512", 2e0 * 64 * 64 * sizeof(REAL), "GB/s", B(run_transpose_strided)},
};

/* 64 tokens of one head, and 8 of eight heads with one table. */
static void B(run_rotate)(const TABLE *k, const B(case_data) * d, size_t rows, size_t heads, bool half) {
    const ptrdiff_t row = (ptrdiff_t)heads * B(HEAD);
    const locus_rotation shape = {.rows = rows,
                                  .heads = heads,
                                  .D = B(HEAD),
                                  .pairs = B(PAIRS),
                                  .half_pairs = half,
                                  .table_row = B(PAIRS),
                                  .source_row = row,
                                  .source_head = B(HEAD),
                                  .target_row = row,
                                  .target_head = B(HEAD)};
    k->rotate(&shape, 1, 1, d->in2, d->in2 + 8192, d->in, d->out);
}
CASE(run_rotate_half, B(run_rotate)(k, d, 64, 1, true))
CASE(run_rotate_pairs, B(run_rotate)(k, d, 64, 1, false))
CASE(run_rotate_heads, B(run_rotate)(k, d, 8, 8, true))
static const B(bench_case) B(cases_rotate)[] = {
    {"64 x 64 half", 2e0 * 64 * 64 * sizeof(REAL), "GB/s", B(run_rotate_half)},
    {"64 x 64 interleaved", 2e0 * 64 * 64 * sizeof(REAL), "GB/s", B(run_rotate_pairs)},
    {"8 x 8 heads half", 2e0 * 64 * 64 * sizeof(REAL), "GB/s", B(run_rotate_heads)},
};

/* 64 tokens of eight heads, each with angles of its own, in runs of 8. */
static void B(run_steps)(const TABLE *k, const B(case_data) * d, bool stands) {
    locus_rotation_run runs[8];
    for (size_t i = 0; i < 8; i++)
        runs[i] = (locus_rotation_run){8, 0, stands};
    const locus_rotation_steps shape = {.count = 8,
                                        .runs = runs,
                                        .heads = 8,
                                        .D = B(HEAD),
                                        .pairs = B(PAIRS),
                                        .base_row = 0,
                                        .step_row = 16 * B(PAIRS),
                                        .source_row = 8 * B(HEAD),
                                        .source_head = B(HEAD),
                                        .target_row = 8 * B(HEAD),
                                        .target_head = B(HEAD)};
    k->rotate_steps(&shape, 1, 1, d->in2, d->in2 + 16 * B(PAIRS), d->in, d->out);
}
CASE(run_steps_rising, B(run_steps)(k, d, false))
CASE(run_steps_standing, B(run_steps)(k, d, true))
static const B(bench_case) B(cases_rotate_steps)[] = {
    {"64 x 8 heads rising", 2e0 * 64 * 512 * sizeof(REAL), "GB/s", B(run_steps_rising)},
    {"64 x 8 heads standing", 2e0 * 64 * 512 * sizeof(REAL), "GB/s", B(run_steps_standing)},
};

CASE(run_angles, k->angles(CASE_ROWS, B(PAIRS), d->coarse, d->coarse_index, d->fine, d->fine_index, d->out,
                           d->out + CASE_ROWS * B(PAIRS), B(PAIRS)))
static const B(bench_case) B(cases_angles)[] = {{"32 pairs", CASE_ROWS *B(PAIRS), "Gpair/s", B(run_angles)}};

CASE(run_phases,
     k->phases(CASE_ROWS, B(PAIRS), d->coarse, d->coarse_index, d->fine, d->fine_index, d->out, 2 * B(PAIRS)))
static const B(bench_case) B(cases_phases)[] = {{"32 pairs", CASE_ROWS *B(PAIRS), "Gpair/s", B(run_phases)}};

CASE(run_gradient,
     (k->angle_gradient(CASE_ROWS, B(PAIRS), true, d->weight, d->in, 64, d->in2, 64, d->sum), d->out[0] = 0))
CASE(run_gradient_pairs,
     (k->angle_gradient(CASE_ROWS, B(PAIRS), false, d->weight, d->in, 64, d->in2, 64, d->sum), d->out[0] = 0))
static const B(bench_case) B(cases_angle_gradient)[] = {
    {"64 x 64 half", CASE_ROWS *B(PAIRS), "Gpair/s", B(run_gradient)},
    {"64 x 64 interleaved", CASE_ROWS *B(PAIRS), "Gpair/s", B(run_gradient_pairs)},
};

/* Vectors that stay in the first cache level. */
#define CASE_N ((size_t)2048)
CASE(run_scale, k->scale(CASE_N, (REAL)1.5, d->in, d->out))
CASE(run_axpy, k->axpy(CASE_N, (REAL)0.001, d->in, d->out))
CASE(run_dot, d->out[0] = k->dot(CASE_N, d->in, d->in2))
CASE(run_multiply, k->multiply(CASE_N, d->in, d->in2, d->out))
CASE(run_add, k->add(CASE_N, d->in, d->in2, d->out))
CASE(run_add_wide, (k->add_wide(B(PAIRS), d->in, d->sum), d->out[0] = 0))
CASE(run_maximum, d->out[0] = k->maximum(CASE_N, d->in))
CASE(run_exp_sum, (memcpy(d->out, d->in, CASE_N * sizeof(REAL)), d->out[CASE_N] = k->exp_sum(CASE_N, 1, d->out)))
CASE(run_exp_sum_row, (memcpy(d->out, d->in, 100 * sizeof(REAL)), d->out[100] = k->exp_sum(100, 1, d->out)))
CASE(run_softmax_backward, k->softmax_backward(CASE_N, d->in, d->in2, (REAL)0.25, d->out))
/* Rows of 128 scores, as a causal mask cuts them, or whole. */
static void B(run_rows)(const TABLE *k, const B(case_data) * d, bool whole, bool backward) {
    size_t from[16] = {0}, to[16];
    REAL top[16], total[16], factor[16];
    for (size_t i = 0; i < 16; i++) {
        to[i] = whole ? 128 : 113 + i;
        top[i] = -(REAL)INFINITY;
        total[i] = backward ? 1 : 0;
    }
    const locus_softmax_rows rows = {16, 128, from, to, 128};
    memcpy(d->out, d->in, CASE_N * sizeof(REAL));
    if (backward)
        k->softmax_rows_backward(&rows, total, total, d->out, NULL);
    else
        k->softmax_rows(&rows, d->out, top, total, factor);
}
CASE(run_softmax_rows, B(run_rows)(k, d, true, false))
CASE(run_softmax_rows_cut, B(run_rows)(k, d, false, false))
CASE(run_softmax_rows_backward, B(run_rows)(k, d, true, true))
CASE(run_softmax_rows_backward_cut, B(run_rows)(k, d, false, true))
CASE(run_soft_cap, (memcpy(d->out, d->in, CASE_N * sizeof(REAL)), k->soft_cap(CASE_N, 30, d->out)))
CASE(run_soft_cap_backward,
     (memcpy(d->out, d->in, CASE_N * sizeof(REAL)), k->soft_cap_backward(CASE_N, 30, d->in2, d->out)))
CASE(run_add_maximum, d->out[CASE_N] = k->add_maximum(CASE_N, d->in, d->in2, d->out))
CASE(run_multiply_maximum, d->out[CASE_N] = k->multiply_maximum(CASE_N, d->in, d->in2, d->out))
CASE(run_dots, k->dots(1, 128, B(HEAD), d->in, B(HEAD), d->in2, B(HEAD), d->out, 128))
CASE(run_dots_group, k->dots(4, 128, B(HEAD), d->in, B(HEAD), d->in2, B(HEAD), d->out, 128))
#define VECTOR_CASE(op, streams) \
    static const B(bench_case) B(cases_##op)[] = {{"2048", streams * 2048e0 * sizeof(REAL), "GB/s", B(run_##op)}};
VECTOR_CASE(scale, 2)
VECTOR_CASE(axpy, 3)
VECTOR_CASE(dot, 2)
VECTOR_CASE(multiply, 3)
VECTOR_CASE(add, 3)
VECTOR_CASE(maximum, 1)
static const B(bench_case) B(cases_add_wide)[] = {{"32", 32, "G/s", B(run_add_wide)}};
static const B(bench_case) B(cases_softmax_rows)[] = {
    {"16 x 128", 2048, "Gexp/s", B(run_softmax_rows)},
    {"16 x 113 to 128", 16 * 120.5, "Gexp/s", B(run_softmax_rows_cut)},
};
static const B(bench_case) B(cases_softmax_rows_backward)[] = {
    {"16 x 128", 2048, "Gexp/s", B(run_softmax_rows_backward)},
    {"16 x 113 to 128", 16 * 120.5, "Gexp/s", B(run_softmax_rows_backward_cut)},
};
VECTOR_CASE(softmax_backward, 3)
VECTOR_CASE(soft_cap_backward, 3)
VECTOR_CASE(add_maximum, 3)
VECTOR_CASE(multiply_maximum, 3)
static const B(bench_case) B(cases_soft_cap)[] = {{"2048", 2048, "Gtanh/s", B(run_soft_cap)}};
static const B(bench_case) B(cases_dots)[] = {
    {"128 x 64", 2e0 * 128 * 64, "GFLOP/s", B(run_dots)},
    {"4, 128 x 64", 8e0 * 128 * 64, "GFLOP/s", B(run_dots_group)},
};
static const B(bench_case) B(cases_exp_sum)[] = {
    {"2048", 2048, "Gexp/s", B(run_exp_sum)},
    {"100", 100, "Gexp/s", B(run_exp_sum_row)},
};

CASE(run_dropout, k->dropout_row(CASE_N, &d->key, 7, 0, 0.1, d->out))
static const B(bench_case) B(cases_dropout_row)[] = {{"2048", 2048, "Gkey/s", B(run_dropout)}};

CASE(run_words, (k->random_words(512, &d->key, 1, d->words), d->out[0] = (REAL)d->words[2047]))
static const B(bench_case) B(cases_random_words)[] = {{"512 blocks", 2048 * 4, "GB/s", B(run_words)}};

#define CASE_ENTRY(op) {#op, B(cases_##op), sizeof B(cases_##op) / sizeof(B(bench_case))},
static const struct {
    const char *op;
    const B(bench_case) * cases;
    size_t count;
} B(operations)[] = {LOCUS_KERNEL_OPERATIONS(CASE_ENTRY)};

/* ---- check, then time ---- */

static void B(reset)(const B(case_data) * d) {
    for (size_t i = 0; i < CASE_ELEMENTS; i++) {
        d->in[i] = (REAL)pattern(i, 1);
        d->in2[i] = (REAL)pattern(i, 2);
        d->out[i] = (REAL)pattern(i, 3);
    }
    memset(d->sum, 0, B(PAIRS) * sizeof *d->sum);
}

/* One call at this level must give what the scalar level gives. */
static bool B(agrees)(const TABLE *k, const B(bench_case) * c, const B(case_data) * d, REAL *want) {
    const double tolerance = sizeof(REAL) == 4 ? 1e-4 : 1e-12;
    double sums[B(PAIRS)];
    B(reset)(d);
    c->run(B_PASTE(locus_kernels_float, B_PASTE(CASE_BITS, _of))(LOCUS_ISA_SCALAR), d);
    memcpy(want, d->out, CASE_ELEMENTS * sizeof *want);
    memcpy(sums, d->sum, sizeof sums);
    B(reset)(d);
    c->run(k, d);
    for (size_t i = 0; i < CASE_ELEMENTS; i++)
        if (!(fabs((double)d->out[i] - (double)want[i]) <= tolerance * (1 + fabs((double)want[i]))))
            return false;
    for (size_t i = 0; i < B(PAIRS); i++)
        if (!(fabs(d->sum[i] - sums[i]) <= 1e-9 * (1 + fabs(sums[i]))))
            return false;
    return true;
}

static figures B(time_case)(const TABLE *k, const B(bench_case) * c, const B(case_data) * d) {
    double rate[SAMPLES];
    size_t calls = 1;
    for (;;) { /* long enough for the clock */
        double start = seconds();
        for (size_t i = 0; i < calls; i++)
            c->run(k, d);
        if (seconds() - start > sample_seconds)
            break;
        calls *= 2;
    }
    for (size_t s = 0; s < SAMPLES; s++) {
        double start = seconds();
        for (size_t i = 0; i < calls; i++)
            c->run(k, d);
        rate[s] = c->work * (double)calls / (seconds() - start) * 1e-9;
    }
    return figures_of(rate, SAMPLES);
}

/* All kernels of one level. Returns false if any differs from scalar. */
static bool B(bench_level)(const TABLE *k, const B(case_data) * d, REAL *want, double peak) {
    bool good = true;
    for (size_t o = 0; o < sizeof B(operations) / sizeof B(operations)[0]; o++) {
        for (size_t i = 0; i < B(operations)[o].count; i++) {
            const B(bench_case) *c = &B(operations)[o].cases[i];
            bench_row line = {B(operations)[o].op,
                              c->shape,
                              sizeof(REAL) == 4 ? "float32" : "float64",
                              locus_isa_name(k->isa),
                              c->unit,
                              {0, 0, 0},
                              0};
            if (!B(agrees)(k, c, d, want)) {
                fprintf(stderr, "bench_kernels: %s %s %s %s differs from scalar\n", line.name, line.shape, line.dtype,
                        line.level);
                good = false;
                continue;
            }
            line.rate = B(time_case)(k, c, d);
            if (strcmp(c->unit, "GFLOP/s") == 0 && peak > 0)
                line.share = line.rate.best / peak;
            print_row(&line);
        }
    }
    return good;
}

#undef CASE
#undef CASE_N
#undef CASE_ENTRY
#undef VECTOR_CASE
#undef B
#undef B_PASTE
#undef B_PASTE_RAW
#undef TABLE
#undef REAL
#undef CASE_REAL
#undef CASE_BITS
