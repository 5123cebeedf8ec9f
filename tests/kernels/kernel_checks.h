/* SPDX-License-Identifier: MIT */
/* Checks of every kernel of one table against plain loops, for one element type: included once for float32 and once for
 * float64. The including file defines CHECK_REAL (float, double), CHECK_BITS (32, 64), CHECK_FMA (fmaf, fma) and
 * CHECK_EXP (expf, exp). Each check takes a table of any level and fails through cmocka's assertions. All buffers stand
 * between guard pages, and everything that a kernel must not write is compared with what was there. */
#define CHECK_PASTE_RAW(a, b) a##b
#define CHECK_PASTE(a, b) CHECK_PASTE_RAW(a, b)
#define T(name) CHECK_PASTE(name##_float, CHECK_BITS)
#define TABLE CHECK_PASTE(locus_kernels_float, CHECK_BITS)
#define REAL CHECK_REAL

/* ---- helpers ---- */

static REAL *T(place)(int slot, size_t count, int placement) {
    return guard_place(slot, count * sizeof(REAL), placement);
}

static REAL *T(random_place)(int slot, size_t count, int placement) {
    REAL *x = T(place)(slot, count, placement);
    for (size_t i = 0; i < count; i++)
        x[i] = (REAL)test_uniform();
    return x;
}

/* A copy outside the guarded slots, freed by the caller. */
static REAL *T(copy)(const REAL *x, size_t count) {
    REAL *y = malloc((count + 1) * sizeof *y);
    assert_non_null(y);
    memcpy(y, x, count * sizeof *y);
    return y;
}

static void T(assert_same)(const char *what, const REAL *got, const REAL *want, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (memcmp(&got[i], &want[i], sizeof(REAL)) != 0)
            fail_msg("%s: element %zu of %zu is %.17g, expected %.17g", what, i, count, (double)got[i],
                     (double)want[i]);
}

static void T(assert_near)(const char *what, size_t i, long double got, long double want, long double tolerance) {
    if (!(fabsl(got - want) <= tolerance))
        fail_msg("%s: element %zu is %.17Lg, expected %.17Lg ± %.3Lg", what, i, got, want, tolerance);
}

/* The product-and-sum of this level: fused, except at the scalar level of machines that lack it. */
static REAL T(chain)(const TABLE *kernels, REAL a, REAL b, REAL c) {
    if (kernels->isa == LOCUS_ISA_SCALAR && !CHECK_FAST_FMA)
        return a * b + c;
    return CHECK_FMA(a, b, c);
}

/* ---- matrices ---- */

static void T(gemm_case)(const TABLE *kernels, size_t M, size_t N, size_t K, bool transposed, bool accumulate,
                         int placement) {
    const size_t a_count = M * K, ldb = N + 3, ldc = N + 2;
    const ptrdiff_t a_row = transposed ? 1 : (ptrdiff_t)K, a_column = transposed ? (ptrdiff_t)M : 1;
    const REAL *a = T(random_place)(0, a_count, placement);
    const REAL *b = T(random_place)(1, K ? (K - 1) * ldb + N : 0, placement);
    const size_t c_count = (M - 1) * ldc + N;
    REAL *c = T(random_place)(2, c_count, placement), *want = T(copy)(c, c_count);
    for (size_t m = 0; m < M; m++) {
        for (size_t n = 0; n < N; n++) {
            REAL sum = accumulate ? want[m * ldc + n] : 0;
            for (size_t k = 0; k < K; k++)
                sum = T(chain)(kernels, a[(ptrdiff_t)m * a_row + (ptrdiff_t)k * a_column], b[k * ldb + n], sum);
            want[m * ldc + n] = sum;
        }
    }
    kernels->gemm(M, N, K, a, a_row, a_column, b, (ptrdiff_t)ldb, c, (ptrdiff_t)ldc, accumulate);
    T(assert_same)("gemm", c, want, c_count); /* the gaps between rows included */
    free(want);
}

/* The chain of fused products is fixed, so the result is known to the last bit. */
static void T(check_gemm)(const TABLE *kernels) {
    const size_t depths[] = {0, 1, 2, 5, 33};
    size_t number = 0;
    for (size_t M = 1; M <= 18; M++)
        for (size_t N = 1; N <= 5 * kernels->lanes + 1; N++)
            if (!left_out(number++, 3))
                T(gemm_case)
    (kernels, M, N, depths[(M + N) % 5], (M + N / 5) % 2 == 0, (M + N / 3) % 2 == 0, (int)(N % 2));
    T(gemm_case)(kernels, 64, 64, 64, false, false, 1);
    T(gemm_case)(kernels, 3, 6 * kernels->lanes + 1, 64, false, true, 1);
    T(gemm_case)(kernels, 11, 37, 255, true, false, 0);
    T(gemm_case)(kernels, 11, 37, 256, true, false, 1);
    T(gemm_case)(kernels, 13, 35, 600, false, true, 1); /* more than one slice in k */
}

/* Against an independent sum in long double, with the bound of a sum of K products: not only repeatable, also right. */
static void T(check_gemm_accuracy)(const TABLE *kernels) {
    enum { M = 9, N = 41, K = 70 };
    const REAL *a = T(random_place)(0, (size_t)M * K, 1), *b = T(random_place)(1, (size_t)K * N, 1);
    REAL *c = T(random_place)(2, (size_t)M * N, 1);
    kernels->gemm(M, N, K, a, K, 1, b, N, c, N, false);
    for (size_t m = 0; m < M; m++) {
        for (size_t n = 0; n < N; n++) {
            long double sum = 0, size = 0;
            for (size_t k = 0; k < K; k++) {
                sum += (long double)a[m * K + k] * b[k * N + n];
                size += fabsl((long double)a[m * K + k] * b[k * N + n]);
            }
            T(assert_near)("gemm", m * N + n, c[m * N + n], sum, K * (long double)CHECK_EPSILON * size);
        }
    }
}

static void T(check_transpose)(const TABLE *kernels) {
    for (size_t rows = 1; rows <= 35; rows++) {
        for (size_t columns = 1; columns <= 35; columns++) {
            const int placement = (int)((rows + columns) % 2);
            const size_t ld_source = columns + rows % 3, ld_target = rows + columns % 2;
            const size_t target_count = (columns - 1) * ld_target + rows;
            const REAL *source = T(random_place)(0, (rows - 1) * ld_source + columns, placement);
            REAL *target = T(random_place)(1, target_count, placement), *want = T(copy)(target, target_count);
            for (size_t i = 0; i < rows; i++)
                for (size_t j = 0; j < columns; j++)
                    want[j * ld_target + i] = source[i * ld_source + j];
            kernels->transpose(rows, columns, source, (ptrdiff_t)ld_source, target, (ptrdiff_t)ld_target);
            T(assert_same)("transpose", target, want, target_count);
            free(want);
        }
    }
}

/* ---- rotary ---- */

static void T(rotate_expected)(const locus_rotation *shape, REAL sign, REAL scale, const REAL *cosine, const REAL *sine,
                               const REAL *source, const REAL *got) {
    for (size_t r = 0; r < shape->rows; r++) {
        for (size_t h = 0; h < shape->heads; h++) {
            const size_t table = r * (size_t)shape->table_row + h * (size_t)shape->table_head;
            const REAL *x = source + r * (size_t)shape->source_row + h * (size_t)shape->source_head;
            const REAL *y = got + r * (size_t)shape->target_row + h * (size_t)shape->target_head;
            for (size_t i = 0; i < shape->pairs; i++) {
                const size_t first = shape->half_pairs ? i : 2 * i,
                             second = shape->half_pairs ? i + shape->pairs : 2 * i + 1;
                const long double c = cosine[table + i], s = (long double)sign * sine[table + i], a = x[first],
                                  b = x[second];
                const long double tolerance = 3 * (long double)CHECK_EPSILON * fabsl(scale) * (fabsl(a) + fabsl(b));
                T(assert_near)("rotate", first, y[first], scale * (a * c - b * s), tolerance);
                T(assert_near)("rotate", second, y[second], scale * (a * s + b * c), tolerance);
            }
            for (size_t i = 2 * shape->pairs; i < shape->D; i++)
                assert_true(y[i] == scale * x[i]);
        }
    }
}

/* What lies between the heads' elements must not change. */
static void T(rotate_gaps)(const locus_rotation *shape, const REAL *before, REAL *after, size_t count) {
    for (size_t r = 0; r < shape->rows; r++)
        for (size_t h = 0; h < shape->heads; h++) {
            const size_t at = r * (size_t)shape->target_row + h * (size_t)shape->target_head;
            memcpy(after + at, before + at, shape->D * sizeof *after);
        }
    T(assert_same)("rotate: between heads", after, before, count);
}

static void T(rotate_case)(const TABLE *kernels, const locus_rotation *shape, REAL sign, REAL scale, int placement) {
    const size_t heads = shape->heads, rows = shape->rows;
    const size_t table = (rows - 1) * (size_t)shape->table_row + (heads - 1) * (size_t)shape->table_head + shape->pairs;
    const size_t in = (rows - 1) * (size_t)shape->source_row + (heads - 1) * (size_t)shape->source_head + shape->D;
    const size_t out = (rows - 1) * (size_t)shape->target_row + (heads - 1) * (size_t)shape->target_head + shape->D;
    REAL *cosine = T(place)(0, table, placement), *sine = T(place)(1, table, placement);
    for (size_t i = 0; i < table; i++) {
        const double angle = 3 * test_uniform();
        cosine[i] = (REAL)cos(angle);
        sine[i] = (REAL)sin(angle);
    }
    const REAL *source = T(random_place)(2, in, placement);
    REAL *target = T(random_place)(3, out, placement), *before = T(copy)(target, out);
    kernels->rotate(shape, sign, scale, cosine, sine, source, target);
    T(rotate_expected)(shape, sign, scale, cosine, sine, source, target);
    REAL *result = T(copy)(target, out);
    T(rotate_gaps)(shape, before, target, out);

    locus_rotation inside = *shape; /* in place: the same bits, the same gaps */
    inside.target_row = shape->source_row;
    inside.target_head = shape->source_head;
    REAL *place = T(place)(4, in, placement), *place_before = T(copy)(source, in);
    memcpy(place, source, in * sizeof *place);
    kernels->rotate(&inside, sign, scale, cosine, sine, place, place);
    for (size_t r = 0; r < rows; r++)
        for (size_t h = 0; h < heads; h++)
            T(assert_same)
    ("rotate in place", place + r * (size_t)inside.target_row + h * (size_t)inside.target_head,
     result + r * (size_t)shape->target_row + h * (size_t)shape->target_head, shape->D);
    T(rotate_gaps)(&inside, place_before, place, in);
    free(before);
    free(result);
    free(place_before);
}

static void T(check_rotate)(const TABLE *kernels) {
    for (size_t pairs = 0; pairs <= 2 * kernels->lanes + 3; pairs++) {
        for (size_t variant = 0; variant < 12; variant++) {
            const size_t D = 2 * pairs + (variant % 3) * 2 + (pairs == 0), heads = variant % 2 ? 3 : 1;
            const locus_rotation shape = {.rows = 3,
                                          .heads = heads,
                                          .D = D,
                                          .pairs = pairs,
                                          .half_pairs = variant % 4 < 2,
                                          .table_row = (ptrdiff_t)(pairs * heads + variant % 2),
                                          .table_head = variant < 6 ? 0 : (ptrdiff_t)pairs,
                                          .source_row = (ptrdiff_t)(heads * (D + 1)),
                                          .source_head = (ptrdiff_t)D + 1,
                                          .target_row = (ptrdiff_t)(heads * D + 2),
                                          .target_head = (ptrdiff_t)D};
            T(rotate_case)(kernels, &shape, variant % 2 ? 1 : -1, variant % 5 ? (REAL)0.375 : 1, (int)(variant / 6));
        }
    }
}

/* There and back again is where one was; a rotation keeps the length. */
static void T(check_rotate_laws)(const TABLE *kernels) {
    for (int half = 0; half < 2; half++) {
        const locus_rotation shape = {.rows = 5,
                                      .heads = 2,
                                      .D = 48,
                                      .pairs = 24,
                                      .half_pairs = half,
                                      .table_row = 24,
                                      .source_row = 96,
                                      .source_head = 48,
                                      .target_row = 96,
                                      .target_head = 48};
        REAL *cosine = T(place)(0, 120, 1), *sine = T(place)(1, 120, 1), *x = T(random_place)(2, 480, 1);
        for (size_t i = 0; i < 120; i++) {
            const double angle = 3 * test_uniform();
            cosine[i] = (REAL)cos(angle);
            sine[i] = (REAL)sin(angle);
        }
        REAL *y = T(place)(3, 480, 1), *z = T(place)(4, 480, 1);
        kernels->rotate(&shape, 1, 1, cosine, sine, x, y);
        kernels->rotate(&shape, -1, 1, cosine, sine, y, z);
        long double before = 0, after = 0;
        for (size_t i = 0; i < 480; i++) {
            T(assert_near)("rotate back", i, z[i], x[i], 8 * (long double)CHECK_EPSILON);
            before += (long double)x[i] * x[i];
            after += (long double)y[i] * y[i];
        }
        T(assert_near)("norm", 0, after, before, 4 * (long double)CHECK_EPSILON * before);
    }
}

/* ---- rotary by steps ---- */

/* A row of heads, against base times step in double. */
static void T(steps_expected)(const locus_rotation_steps *shape, REAL sign, REAL scale, const REAL *base,
                              const REAL *step, const REAL *source, const REAL *got) {
    for (size_t h = 0; h < shape->heads; h++) {
        const REAL *x = source + h * (size_t)shape->source_head, *y = got + h * (size_t)shape->target_head;
        for (size_t i = 0; i < 2 * shape->pairs; i += 2) {
            const REAL *b = base + h * 2 * shape->pairs + i, *f = step + h * 2 * shape->pairs + i;
            const double c = (double)b[0] * (double)f[0] - (double)b[1] * (double)f[1];
            const double s = (double)sign * ((double)b[0] * (double)f[1] + (double)b[1] * (double)f[0]);
            const double a = (double)x[i], e = (double)x[i + 1];
            const long double tolerance = 6 * (long double)CHECK_EPSILON * fabsl(scale) * (fabsl(a) + fabsl(e));
            T(assert_near)("rotate_steps", i, y[i], (double)scale * (a * c - e * s), tolerance);
            T(assert_near)("rotate_steps", i + 1, y[i + 1], (double)scale * (a * s + e * c), tolerance);
        }
        for (size_t i = 2 * shape->pairs; i < shape->D; i++)
            assert_true(y[i] == scale * x[i]);
    }
}

static void T(complex_numbers)(REAL *to, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const double angle = 3 * test_uniform();
        to[2 * i] = (REAL)cos(angle);
        to[2 * i + 1] = (REAL)sin(angle);
    }
}

/* In place, then out of place to the same bits. */
static void T(steps_case)(const TABLE *kernels, const locus_rotation_steps *shape, size_t steps, REAL sign, REAL scale,
                          int placement) {
    const size_t row = 2 * shape->heads * shape->pairs;
    size_t rows = 0;
    for (size_t r = 0; r < shape->count; r++)
        rows += shape->runs[r].rows;
    const size_t count =
        (rows - 1) * (size_t)shape->source_row + (shape->heads - 1) * (size_t)shape->source_head + shape->D;
    REAL *base = T(place)(0, shape->count * row, placement), *step = T(place)(1, steps * row, placement);
    T(complex_numbers)(base, shape->count * row / 2);
    T(complex_numbers)(step, steps * row / 2);
    REAL *target = T(random_place)(2, count, placement), *source = T(place)(3, count, placement);
    memcpy(source, target, count * sizeof *source);
    REAL *before = T(copy)(source, count);
    kernels->rotate_steps(shape, sign, scale, base, step, source, source);
    for (size_t r = 0, at = 0; r < shape->count; r++)
        for (size_t i = 0; i < shape->runs[r].rows; i++, at += (size_t)shape->source_row)
            T(steps_expected)
    (shape, sign, scale, base + r * row, step + (shape->runs[r].step + (shape->runs[r].stands ? 0 : i)) * row,
     before + at, source + at);
    kernels->rotate_steps(shape, sign, scale, base, step, before, target);
    T(assert_same)("rotate_steps out of place", target, source, count);
    const locus_rotation all = {.rows = rows,
                                .heads = shape->heads,
                                .D = shape->D,
                                .target_row = shape->target_row,
                                .target_head = shape->target_head};
    T(rotate_gaps)(&all, before, source, count);
    free(before);
}

/* Runs that rise and that stand, some longer than what is walked at a time. */
static void T(check_rotate_steps)(const TABLE *kernels) {
    static const locus_rotation_run runs[] = {
        {8, 0, false}, {19, 5, true}, {1, 7, false}, {17, 1, false}, {5, 0, true}};
    for (size_t pairs = 1; pairs <= 4 * kernels->lanes + 3; pairs++)
        for (size_t variant = 0; variant < 4; variant++) {
            const size_t D = 2 * pairs + variant % 3, heads = variant % 2 ? 3 : 1;
            const ptrdiff_t head = (ptrdiff_t)D + 1, row = (ptrdiff_t)heads * head + 2;
            const locus_rotation_steps shape = {.count = sizeof runs / sizeof *runs,
                                                .runs = runs,
                                                .heads = heads,
                                                .D = D,
                                                .pairs = pairs,
                                                .base_row = (ptrdiff_t)(2 * heads * pairs),
                                                .step_row = (ptrdiff_t)(2 * heads * pairs),
                                                .source_row = row,
                                                .source_head = head,
                                                .target_row = row,
                                                .target_head = head};
            T(steps_case)
            (kernels, &shape, 18, pairs % 2 ? 1 : -1, variant < 2 ? (REAL)0.375 : 1, (int)(variant / 2));
        }
}

/* The bits of angles, in another order. */
static void T(check_phases)(const TABLE *kernels) {
    static const uint32_t coarse_index[] = {0, 0, 0, 2, 1, 1, 2}, fine_index[] = {4, 3, 0, 1, 2, 2, 0};
    enum { ROWS = sizeof fine_index / sizeof *fine_index };
    for (size_t pairs = 1; pairs <= 37; pairs++) {
        const int placement = (int)(pairs % 2);
        const size_t row = 2 * pairs, stride = row + pairs % 3, count = (ROWS - 1) * stride + row;
        double *coarse = guard_place(0, 3 * row * sizeof(double), placement);
        double *fine = guard_place(1, 5 * row * sizeof(double), placement);
        for (size_t i = 0; i < 5 * row; i++) {
            fine[i] = 3 * test_uniform();
            coarse[i % (3 * row)] = 3 * test_uniform();
        }
        REAL cosine[ROWS * 37], sine[ROWS * 37], *phase = T(random_place)(2, count, placement);
        REAL *want = T(copy)(phase, count);
        kernels->angles(ROWS, pairs, coarse, coarse_index, fine, fine_index, cosine, sine, (ptrdiff_t)pairs);
        kernels->phases(ROWS, pairs, coarse, coarse_index, fine, fine_index, phase, (ptrdiff_t)stride);
        for (size_t i = 0; i < ROWS * pairs; i++) {
            want[i / pairs * stride + i % pairs * 2] = cosine[i];
            want[i / pairs * stride + i % pairs * 2 + 1] = sine[i];
        }
        T(assert_same)("phases", phase, want, count);
        free(want);
    }
}

static void T(check_angles)(const TABLE *kernels) {
    enum { ROWS = 7, COARSE = 4, FINE = 5 };
    for (size_t pairs = 1; pairs <= 37; pairs++) {
        const int placement = (int)(pairs % 2);
        const size_t stride = pairs + pairs % 3, count = (ROWS - 1) * stride + pairs;
        double *coarse = guard_place(0, COARSE * 2 * pairs * sizeof(double), placement);
        double *fine = guard_place(1, FINE * 2 * pairs * sizeof(double), placement);
        uint32_t *coarse_index = guard_place(2, ROWS * sizeof(uint32_t), placement);
        uint32_t *fine_index = guard_place(3, ROWS * sizeof(uint32_t), placement);
        for (size_t p = 0; p < COARSE; p++)
            for (size_t i = 0; i < pairs; i++) {
                coarse[2 * (p * pairs + i)] = cos((double)(p * FINE) / (double)(i + 1));
                coarse[2 * (p * pairs + i) + 1] = sin((double)(p * FINE) / (double)(i + 1));
            }
        for (size_t p = 0; p < FINE; p++)
            for (size_t i = 0; i < pairs; i++) {
                fine[2 * (p * pairs + i)] = cos((double)p / (double)(i + 1));
                fine[2 * (p * pairs + i) + 1] = sin((double)p / (double)(i + 1));
            }
        for (size_t r = 0; r < ROWS; r++) {
            coarse_index[r] = (uint32_t)(test_bits() % COARSE);
            fine_index[r] = (uint32_t)(test_bits() % FINE);
        }
        REAL *cosine = T(random_place)(4, count, placement), *sine = T(random_place)(5, count, placement);
        REAL *cosine_before = T(copy)(cosine, count), *sine_before = T(copy)(sine, count);
        kernels->angles(ROWS, pairs, coarse, coarse_index, fine, fine_index, cosine, sine, (ptrdiff_t)stride);
        /* half a unit of the last place of results in [½, 1], and the error of the tables and of the product in
         * double */
        const long double tolerance = 0.25L * CHECK_EPSILON + 6e-16L;
        for (size_t r = 0; r < ROWS; r++)
            for (size_t i = 0; i < pairs; i++) {
                const long double angle = (long double)(coarse_index[r] * FINE + fine_index[r]) / (long double)(i + 1);
                T(assert_near)("angles: cosine", i, cosine[r * stride + i], cosl(angle), tolerance);
                T(assert_near)("angles: sine", i, sine[r * stride + i], sinl(angle), tolerance);
                cosine_before[r * stride + i] = cosine[r * stride + i];
                sine_before[r * stride + i] = sine[r * stride + i];
            }
        T(assert_same)("angles: between rows", cosine, cosine_before, count);
        T(assert_same)("angles: between rows", sine, sine_before, count);
        free(cosine_before);
        free(sine_before);
    }
}

static void T(check_angle_gradient)(const TABLE *kernels) {
    for (size_t pairs = 1; pairs <= 4 * kernels->lanes + 5; pairs++) {
        for (int half = 0; half < 2; half++) {
            const size_t rows = pairs % 6, stride = 2 * pairs + pairs % 3,
                         count = rows ? (rows - 1) * stride + 2 * pairs : 0;
            const int placement = (int)(pairs / 2 % 2);
            const REAL *y = T(random_place)(0, count, placement), *g = T(random_place)(1, count, placement);
            double *weight = guard_place(2, rows * sizeof(double), placement);
            double *sum = guard_place(3, pairs * sizeof(double), placement);
            for (size_t r = 0; r < rows; r++)
                weight[r] = (double)(r * 1000) - 1500.25;
            for (size_t i = 0; i < pairs; i++)
                sum[i] = 0.5 * (double)i;
            kernels->angle_gradient(rows, pairs, half, weight, y, (ptrdiff_t)stride, g, (ptrdiff_t)stride, sum);
            for (size_t i = 0; i < pairs; i++) {
                long double want = 0.5L * (long double)i, size = want;
                for (size_t r = 0; r < rows; r++) {
                    const size_t first = r * stride + (half ? i : 2 * i), second = first + (half ? pairs : 1);
                    const long double a = (long double)g[first] * y[second], b = (long double)g[second] * y[first];
                    want += weight[r] * (a - b);
                    size += fabsl((long double)weight[r]) * (fabsl(a) + fabsl(b));
                }
                T(assert_near)
                ("angle_gradient", i, sum[i], want, (long double)(rows + 3) * (long double)DBL_EPSILON * size);
            }
        }
    }
}

/* ---- vectors ---- */

/* Every length around the vectors', in both placements. */
#define CHECK_EACH_LENGTH(n, placement) \
    for (size_t n = 0; n <= 150; n++) \
        for (int placement = 0; placement < GUARD_PLACEMENTS; placement++)

static void T(check_scale)(const TABLE *kernels) {
    CHECK_EACH_LENGTH(n, placement) {
        const REAL a = (REAL)-1.375, *x = T(random_place)(0, n, placement);
        REAL *y = T(place)(1, n, placement), *inside = T(place)(2, n, placement), *want = T(copy)(x, n);
        memcpy(inside, x, n * sizeof *x);
        for (size_t i = 0; i < n; i++)
            want[i] = a * x[i];
        kernels->scale(n, a, x, y);
        kernels->scale(n, a, inside, inside);
        T(assert_same)("scale", y, want, n);
        T(assert_same)("scale in place", inside, want, n);
        free(want);
    }
}

static void T(check_axpy)(const TABLE *kernels) {
    CHECK_EACH_LENGTH(n, placement) {
        const REAL a = (REAL)0.7, *x = T(random_place)(0, n, placement);
        REAL *y = T(random_place)(1, n, placement), *want = T(copy)(y, n);
        for (size_t i = 0; i < n; i++)
            want[i] = T(chain)(kernels, a, x[i], want[i]);
        kernels->axpy(n, a, x, y);
        T(assert_same)("axpy", y, want, n);
        free(want);
    }
}

static void T(check_dot)(const TABLE *kernels) {
    CHECK_EACH_LENGTH(n, placement) {
        const REAL *x = T(random_place)(0, n, placement), *y = T(random_place)(1, n, placement);
        long double want = 0, size = 0;
        for (size_t i = 0; i < n; i++) {
            want += (long double)x[i] * y[i];
            size += fabsl((long double)x[i] * y[i]);
        }
        T(assert_near)
        ("dot", n, kernels->dot(n, x, y), want, (long double)(n + 1) * (long double)CHECK_EPSILON * size / 2);
    }
}

/* A dot product is eight chains of vectors, which take turns; whole vectors that are left go to the first chain, a part
 * to the second. Of vectors of which only the first lane is not 0 the result is then known to the last bit. */
static void T(check_dot_chains)(const TABLE *kernels) {
    const size_t lanes = kernels->lanes;
    for (size_t halves = 2; halves <= 66; halves++) {
        const size_t n = halves * lanes / 2;
        REAL *x = T(place)(0, n, 1), *y = T(random_place)(1, n, 1), sum[8] = {0};
        for (size_t i = 0; i < n; i++)
            x[i] = i % lanes == 0 ? (REAL)test_uniform() : 0;
        for (size_t i = 0; i < n; i += lanes) {
            const size_t chain = i / (8 * lanes) < n / (8 * lanes) ? i / lanes % 8 : n - i < lanes;
            sum[chain] = T(chain)(kernels, x[i], y[i], sum[chain]);
        }
        const REAL want = ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
        const REAL got = kernels->dot(n, x, y);
        T(assert_same)("dot", &got, &want, 1);
    }
}

static void T(check_multiply)(const TABLE *kernels) {
    CHECK_EACH_LENGTH(n, placement) {
        const REAL *x = T(random_place)(0, n, placement), *y = T(random_place)(1, n, placement);
        REAL *z = T(place)(2, n, placement), *inside = T(place)(3, n, placement), *want = T(copy)(x, n);
        memcpy(inside, y, n * sizeof *y);
        for (size_t i = 0; i < n; i++)
            want[i] = x[i] * y[i];
        kernels->multiply(n, x, y, z);
        kernels->multiply(n, x, inside, inside);
        T(assert_same)("multiply", z, want, n);
        T(assert_same)("multiply in place", inside, want, n);
        free(want);
    }
}

static void T(check_add)(const TABLE *kernels) {
    CHECK_EACH_LENGTH(n, placement) {
        const REAL *x = T(random_place)(0, n, placement), *y = T(random_place)(1, n, placement);
        REAL *z = T(place)(2, n, placement), *inside = T(place)(3, n, placement), *want = T(copy)(x, n);
        memcpy(inside, x, n * sizeof *x);
        for (size_t i = 0; i < n; i++)
            want[i] = x[i] + y[i];
        kernels->add(n, x, y, z);
        kernels->add(n, inside, y, inside);
        T(assert_same)("add", z, want, n);
        T(assert_same)("add in place", inside, want, n);
        free(want);
    }
}

/* ---- softmax ---- */

static void T(check_add_wide)(const TABLE *kernels) {
    CHECK_EACH_LENGTH(n, placement) {
        const REAL *x = T(random_place)(0, n, placement);
        double *sum = guard_place(1, n * sizeof *sum, placement), want[256];
        assert_true(n <= sizeof want / sizeof *want);
        for (size_t i = 0; i < n; i++) {
            sum[i] = test_uniform();
            want[i] = sum[i] + (double)x[i];
        }
        kernels->add_wide(n, x, sum);
        for (size_t i = 0; i < n; i++)
            assert_true(sum[i] == want[i]);
    }
}

static void T(check_maximum)(const TABLE *kernels) {
    assert_true(kernels->maximum(0, NULL) == -(REAL)INFINITY);
    CHECK_EACH_LENGTH(n, placement) {
        REAL *x = T(random_place)(0, n, placement), want = -(REAL)INFINITY;
        for (size_t i = 0; i < n; i++) {
            x[i] -= 2; /* all below zero: a lane that was loaded as 0 would show */
            want = x[i] > want ? x[i] : want;
        }
        assert_true(kernels->maximum(n, x) == want);
        for (size_t i = 0; i < n; i++) { /* the largest at each place; NaN at each place is passed over */
            const REAL kept = x[i];
            x[i] = (REAL)-0.5;
            assert_true(kernels->maximum(n, x) == (REAL)-0.5);
            x[i] = (REAL)NAN;
            const REAL without = kernels->maximum(n, x);
            assert_true(without == want || (kept == want && without < want));
            x[i] = kept;
        }
        for (size_t i = 0; i < n; i++)
            x[i] = -(REAL)INFINITY;
        assert_true(kernels->maximum(n, x) == -(REAL)INFINITY);
    }
}

/* Values by place: a tail gives the bits of the body, and the sum is that of the values. Accuracy:
 * test_kernel_exp.c. */
static void T(check_exp_sum)(const TABLE *kernels) {
    CHECK_EACH_LENGTH(n, placement) {
        REAL *x = T(random_place)(0, n, placement), shift = (REAL)0.75;
        for (size_t i = 0; i < n; i++)
            x[i] = i % 7 == 3 ? -(REAL)INFINITY : 20 * x[i] - 20;
        REAL *want = T(copy)(x, n);
        long double total = 0;
        for (size_t i = 0; i < n; i++) {
            const REAL alone = kernels->exp_sum(1, shift, &want[i]);
            assert_true(alone == want[i] && (i % 7 == 3 ? want[i] == 0 : want[i] > 0));
            total += want[i];
        }
        const REAL sum = kernels->exp_sum(n, shift, x);
        T(assert_same)("exp_sum", x, want, n);
        T(assert_near)("exp_sum: sum", n, sum, total, (long double)(n + 1) * (long double)CHECK_EPSILON * total);
        free(want);
    }
}

static void T(check_softmax_backward)(const TABLE *kernels) {
    CHECK_EACH_LENGTH(n, placement) {
        const REAL delta = (REAL)0.3, *p = T(random_place)(0, n, placement), *dp = T(random_place)(1, n, placement);
        REAL *ds = T(place)(2, n, placement), *inside = T(place)(3, n, placement), *want = T(copy)(dp, n);
        memcpy(inside, dp, n * sizeof *dp);
        for (size_t i = 0; i < n; i++)
            want[i] = p[i] * (dp[i] - delta);
        kernels->softmax_backward(n, p, dp, delta, ds);
        kernels->softmax_backward(n, p, inside, delta, inside);
        T(assert_same)("softmax_backward", ds, want, n);
        T(assert_same)("softmax_backward in place", inside, want, n);
        free(want);
    }
}

/* Rows that see what a causal mask, a window or nothing lets them see, in a run of `columns` columns. */
enum { T(ROWS) = 19 }; /* more than are done together, and not a multiple */

static locus_softmax_rows T(some_rows)(size_t columns, size_t *from, size_t *to) {
    for (size_t i = 0; i < T(ROWS); i++) {
        from[i] = i % 4 == 3 ? columns / 3 : 0;
        to[i] = i % 5 == 4 ? from[i] : i % 3 == 2 ? columns : from[i] + (columns - from[i]) * (i + 1) / T(ROWS);
    }
    return (locus_softmax_rows){T(ROWS), columns, from, to, (ptrdiff_t)columns + 3};
}

/* Row by row, the bits of maximum and exp_sum, and zeros elsewhere. */
static void T(check_softmax_rows)(const TABLE *kernels) {
    CHECK_EACH_LENGTH(n, placement) {
        size_t from[T(ROWS)], to[T(ROWS)];
        const locus_softmax_rows rows = T(some_rows)(n, from, to);
        const size_t count = n == 0 ? 0 : (size_t)rows.ld * (T(ROWS) - 1) + n;
        REAL *score = T(random_place)(0, count, placement), *top = T(random_place)(1, T(ROWS), placement);
        REAL *total = T(random_place)(2, T(ROWS), placement), *factor = T(place)(3, T(ROWS), placement);
        for (size_t i = 0; i < T(ROWS); i++) { /* a row's first panel, and one of −∞ alone */
            top[i] = i % 2 == 0 ? -(REAL)INFINITY : top[i] / 2;
            total[i] = i % 2 == 0 ? 0 : 3 + total[i];
            for (size_t j = 0; i == 2 && j < n; j++)
                score[i * (size_t)rows.ld + j] = -(REAL)INFINITY;
        }
        REAL *want = T(copy)(score, count), *want_top = T(copy)(top, T(ROWS)), *want_total = T(copy)(total, T(ROWS));
        kernels->softmax_rows(&rows, score, top, total, factor);
        for (size_t i = 0; i < T(ROWS); i++) {
            REAL *row = want + i * (size_t)rows.ld, by = 1;
            const REAL peak = kernels->maximum(to[i] - from[i], row + from[i]), old = want_top[i];
            want_top[i] = peak > old ? peak : old;
            if (want_top[i] != old && want_total[i] != 0)
                by = CHECK_EXP(old - want_top[i]);
            want_total[i] =
                want_total[i] * by +
                kernels->exp_sum(to[i] - from[i], want_top[i] == -(REAL)INFINITY ? 0 : want_top[i], row + from[i]);
            for (size_t j = 0; j < n; j++)
                row[j] = j < from[i] || j >= to[i] ? 0 : row[j];
            T(assert_same)("softmax_rows: factor", &factor[i], &by, 1);
        }
        T(assert_same)("softmax_rows", score, want, count);
        T(assert_same)("softmax_rows: top", top, want_top, T(ROWS));
        T(assert_same)("softmax_rows: total", total, want_total, T(ROWS));
        free(want);
        free(want_top);
        free(want_total);
    }
}

static void T(check_softmax_rows_backward)(const TABLE *kernels) {
    CHECK_EACH_LENGTH(n, placement) {
        size_t from[T(ROWS)], to[T(ROWS)];
        const locus_softmax_rows rows = T(some_rows)(n, from, to);
        const size_t count = n == 0 ? 0 : (size_t)rows.ld * (T(ROWS) - 1) + n;
        REAL *score = T(random_place)(0, count, placement), *g = T(random_place)(1, count, placement);
        REAL *log_sum = T(random_place)(2, T(ROWS), placement), *delta = T(random_place)(3, T(ROWS), placement);
        log_sum[4] = -(REAL)INFINITY; /* a row that sees nothing */
        REAL *want = T(copy)(score, count), *want_g = T(copy)(g, count), *alone = T(copy)(score, count);
        kernels->softmax_rows_backward(&rows, log_sum, delta, score, g);
        kernels->softmax_rows_backward(&rows, log_sum, delta, alone, NULL);
        for (size_t i = 0; i < T(ROWS); i++) {
            REAL *row = want + i * (size_t)rows.ld, *g_row = want_g + i * (size_t)rows.ld;
            const size_t seen = to[i] - from[i];
            (void)kernels->exp_sum(seen, i == 4 ? 0 : log_sum[i], row + from[i]);
            kernels->softmax_backward(seen, row + from[i], g_row + from[i], delta[i], g_row + from[i]);
            for (size_t j = 0; j < n; j++)
                if (j < from[i] || j >= to[i])
                    row[j] = g_row[j] = 0;
        }
        T(assert_same)("softmax_rows_backward", score, want, count);
        T(assert_same)("softmax_rows_backward: without g", alone, want, count);
        T(assert_same)("softmax_rows_backward: g", g, want_g, count);
        free(want);
        free(want_g);
        free(alone);
    }
}

/* ---- scores ---- */

static void T(check_soft_cap)(const TABLE *kernels) {
    const REAL caps[] = {(REAL)0.5, 5, 50}, sizes[] = {(REAL)1e-6, (REAL)0.01, 1, 8, 100, 1000};
    CHECK_EACH_LENGTH(n, placement) {
        const REAL cap = caps[n % 3], size = sizes[n % 6];
        REAL *x = T(random_place)(0, n, placement);
        for (size_t i = 0; i < n; i++)
            x[i] *= size;
        REAL *before = T(copy)(x, n);
        kernels->soft_cap(n, cap, x);
        for (size_t i = 0; i < n; i++) {
            const long double want = (long double)cap * tanhl((long double)before[i] / (long double)cap);
            T(assert_near)("soft_cap", i, x[i], want, 6 * (long double)CHECK_EPSILON * fabsl(want));
        }
        free(before);
    }
    REAL odd[] = {(REAL)INFINITY, -(REAL)INFINITY, (REAL)NAN, 0};
    kernels->soft_cap(4, 3, odd);
    assert_true(odd[0] == 3 && odd[1] == -3 && isnan(odd[2]) && odd[3] == 0);
}

static void T(check_soft_cap_backward)(const TABLE *kernels) {
    CHECK_EACH_LENGTH(n, placement) {
        const REAL cap = (REAL)1.5, *y = T(random_place)(0, n, placement);
        REAL *g = T(random_place)(1, n, placement), *before = T(copy)(g, n);
        kernels->soft_cap_backward(n, cap, y, g);
        for (size_t i = 0; i < n; i++) {
            const long double t = (long double)y[i] / (long double)cap, want = before[i] * (1 - t * t);
            T(assert_near)("soft_cap_backward", i, g[i], want, 4 * (long double)CHECK_EPSILON * fabsl(before[i]));
        }
        free(before);
    }
}

static void T(combined_maximum)(const TABLE *kernels, bool product, size_t n, int placement) {
    REAL *x = T(random_place)(0, n, placement), *z = T(place)(2, n, placement), want = -(REAL)INFINITY;
    REAL *y = T(random_place)(1, n, placement);
    for (size_t i = 0; i < n; i++) { /* results all below zero: a lane that was loaded as 0 would show */
        x[i] -= 2;
        y[i] = product ? y[i] + 2 : y[i] - 2;
    }
    REAL *sums = T(copy)(x, n);
    for (size_t i = 0; i < n; i++) {
        sums[i] = product ? x[i] * y[i] : x[i] + y[i];
        want = sums[i] > want ? sums[i] : want;
    }
    const REAL got = (product ? kernels->multiply_maximum : kernels->add_maximum)(n, x, y, z);
    assert_true(got == want);
    T(assert_same)("maximum of combined rows", z, sums, n);
    assert_true((product ? kernels->multiply_maximum : kernels->add_maximum)(n, x, y, x) == want);
    T(assert_same)("maximum of combined rows, in place", x, sums, n);
    for (size_t i = 0; i < n; i++) { /* NaN is passed over */
        const REAL kept = y[i];
        y[i] = (REAL)NAN;
        assert_true(isnan((product ? kernels->multiply_maximum : kernels->add_maximum)(n, sums, y, z)) == 0);
        y[i] = kept;
    }
    free(sums);
}

static void T(check_add_maximum)(const TABLE *kernels) {
    CHECK_EACH_LENGTH(n, placement) T(combined_maximum)(kernels, false, n, placement);
}

static void T(check_multiply_maximum)(const TABLE *kernels) {
    CHECK_EACH_LENGTH(n, placement) T(combined_maximum)(kernels, true, n, placement);
}

/* Right to the bound of a sum of n products, and the same bits for a row alone and among others. */
static void T(dots_case)(const TABLE *kernels, size_t queries, size_t count, size_t n, int placement) {
    const size_t step = n + count % 3, ld = n + queries % 2, ld_out = count + queries % 3;
    const size_t out_count = (queries - 1) * ld_out + count;
    const REAL *x = T(random_place)(0, (queries - 1) * ld + n, placement);
    const REAL *rows = T(random_place)(1, (count - 1) * step + n, placement);
    REAL *out = T(random_place)(2, out_count, placement), *before = T(copy)(out, out_count), alone;
    kernels->dots(queries, count, n, x, (ptrdiff_t)ld, rows, (ptrdiff_t)step, out, (ptrdiff_t)ld_out);
    for (size_t q = 0; q < queries; q++) {
        for (size_t i = 0; i < count; i++) {
            const REAL *a = x + q * ld, *b = rows + i * step, got = out[q * ld_out + i];
            long double want = 0, size = 0;
            for (size_t d = 0; d < n; d++) {
                want += (long double)a[d] * b[d];
                size += fabsl((long double)a[d] * b[d]);
            }
            T(assert_near)("dots", i, got, want, (long double)(n + 1) * (long double)CHECK_EPSILON * size / 2);
            kernels->dots(1, 1, n, a, (ptrdiff_t)ld, b, (ptrdiff_t)step, &alone, 1);
            T(assert_same)("dots: a row alone", &alone, &got, 1);
        }
        if (q + 1 < queries)
            T(assert_same)("dots: between rows", out + q * ld_out + count, before + q * ld_out + count, ld_out - count);
    }
    free(before);
}

static void T(check_dots)(const TABLE *kernels) {
    size_t number = 0;
    for (size_t n = 0; n <= 150; n += n < 40 ? 1 : 37)
        for (size_t count = 1; count <= 2 * kernels->lanes + 1; count++)
            for (size_t queries = 1 + (n + count) % 2; queries <= 11; queries += 2)
                if (!left_out(number++, 4))
                    T(dots_case)(kernels, queries, count, n, (int)((n + count) % 2));
}

/* ---- random numbers ---- */

static void T(dropout_case)(const TABLE *kernels, const locus_random *key, uint64_t row, size_t first, double p,
                            size_t n, int placement) {
    REAL *keep = T(random_place)(0, n, placement);
    kernels->dropout_row(n, key, row, first, p, keep);
    for (size_t j = 0; j < n; j++) {
        uint32_t words[4];
        const size_t at = first + j;
        locus_random_block(key, (row << 28) + at / 8, words);
        const uint32_t half = (words[at % 8 / 2] >> (at % 2 ? 16 : 0)) & 0xffffu;
        const REAL want = half < (uint32_t)lround(p * 65536) ? 0 : (REAL)(1 / (1 - p));
        if (keep[j] != want)
            fail_msg("dropout_row: key %zu of row %llu is %g, expected %g", at, (unsigned long long)row,
                     (double)keep[j], (double)want);
    }
}

static void T(check_dropout_row)(const TABLE *kernels) {
    const double rates[] = {0, 0.1, 0.5, 0.999999};
    const locus_random key = {.seed = 0x123456789abcdef0u, .purpose = 77, .step = 5};
    for (size_t n = 0; n <= 300; n++)
        T(dropout_case)(kernels, &key, n * 31, 8 * (n % 5), rates[n % 4], n, (int)(n % 2));
    const size_t last = 8 * (((size_t)1 << 28) - 5); /* the low half of the block's index wraps within a vector */
    T(dropout_case)(kernels, &key, 15, last, 0.25, 200, 1);
    T(dropout_case)(kernels, &key, ((uint64_t)1 << 36) - 1, last, 0.25, 200, 1);

    enum { MANY = 40000 };
    REAL *keep = T(place)(0, MANY, 1);
    size_t dropped = 0;
    kernels->dropout_row(MANY, &key, 3, 0, 0.1, keep);
    for (size_t j = 0; j < MANY; j++)
        dropped += keep[j] == 0;
    assert_in_range(dropped, 4000 - 300, 4000 + 300); /* five standard deviations */
}

static void T(random_case)(const TABLE *kernels, const locus_random *key, uint64_t first, size_t blocks,
                           int placement) {
    uint32_t *words = guard_place(0, blocks * 16, placement);
    memset(words, 0, blocks * 16);
    kernels->random_words(blocks, key, first, words);
    for (size_t i = 0; i < blocks; i++) {
        uint32_t want[4];
        locus_random_block(key, first + i, want);
        assert_memory_equal(words + 4 * i, want, sizeof want);
    }
}

/* Known answers of Philox4x32-10: the three of Random123's kat_vectors. */
static void T(check_random_words)(const TABLE *kernels) {
    static const struct {
        locus_random key;
        uint64_t index;
        uint32_t words[4];
    } known[] = {
        {{0, 0, 0}, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{UINT64_MAX, UINT32_MAX, UINT32_MAX}, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x299f31d0a4093822u, 0x03707344u, 0x13198a2eu},
         0x85a308d3243f6a88u,
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    uint32_t words[4];
    for (size_t i = 0; i < 3; i++) {
        kernels->random_words(1, &known[i].key, known[i].index, words);
        assert_memory_equal(words, known[i].words, sizeof words);
    }
    const locus_random key = {.seed = 42, .purpose = 0xdeadbeef, .step = 0x80000001};
    for (size_t blocks = 0; blocks <= 70; blocks++) {
        T(random_case)(kernels, &key, 1000 * blocks, blocks, (int)(blocks % 2));
        T(random_case)(kernels, &key, UINT32_MAX - 20, blocks, 1); /* carries into the high half */
        T(random_case)(kernels, &key, UINT64_MAX - 20, blocks, 0); /* wraps round */
    }
}

#undef CHECK_EACH_LENGTH
#undef CHECK_PASTE
#undef CHECK_PASTE_RAW
#undef T
#undef TABLE
#undef REAL
#undef CHECK_REAL
#undef CHECK_BITS
#undef CHECK_FMA
#undef CHECK_EXP
#undef CHECK_FAST_FMA
#undef CHECK_EPSILON
