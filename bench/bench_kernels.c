/* SPDX-License-Identifier: MIT */
/* Speed of every kernel of every level, on data in the first cache levels and on one core, each checked against the
 * scalar level before it is timed; then rotary over arrays beyond the cache on all threads, beside what the memory
 * gives in place.
 *
 *   bench_kernels [--json] [--quick] [--threads N]
 *
 * Rates are the best and the median of SAMPLES runs; the spread is that from the tenth to the ninetieth percentile over
 * the median. The share is the best rate over the peak of fused multiply-adds measured here at the same level; beyond
 * the cache the median, over rounds, of the rate over that round's in-place bandwidth.
 * Exit status: 0 done, 1 a kernel differs from scalar or memory is short, 2 bad usage. */
#include "kernels/kernels_list.h"

#include <locus/memory.h>
#include <locus/parallel.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

enum { SAMPLES = 15, CASE_ELEMENTS = 65536, CASE_ROWS = 64, CASE_TABLE = 128 };

typedef struct figures {
    double best, median, spread;
} figures;

typedef struct bench_row {
    const char *name, *shape, *dtype, *level, *unit;
    figures rate;
    double share; /* of a measured peak, 0 if there is none to compare with */
} bench_row;

static double sample_seconds = 5e-4;
static bool json;
static bool json_begun;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Fixed numbers in [−1, 1). */
static double pattern(size_t i, unsigned stream) {
    uint32_t z = (uint32_t)i * 2654435761u + stream * 0x9E3779B9u;
    z = (z ^ (z >> 15)) * 0x85EBCA6Bu;
    z ^= z >> 13;
    return (double)z * 0x1p-31 - 1;
}

static int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static figures figures_of(double *rate, size_t count) {
    qsort(rate, count, sizeof *rate, ascending);
    const double median = rate[count / 2];
    return (figures){rate[count - 1], median, (rate[count * 9 / 10] - rate[count / 10]) / median};
}

static void print_row(const bench_row *r) {
    if (json) {
        printf("%s\n  {\"kernel\": \"%s\", \"shape\": \"%s\", \"dtype\": \"%s\", \"level\": \"%s\", \"unit\": \"%s\", "
               "\"best\": %.4g, \"median\": %.4g, \"spread\": %.3f",
               json_begun ? "," : "[", r->name, r->shape, r->dtype, r->level, r->unit, r->rate.best, r->rate.median,
               r->rate.spread);
        if (r->share > 0)
            printf(", \"share\": %.3f", r->share);
        printf("}");
        json_begun = true;
        return;
    }
    printf("%-17s %-24s %-8s %-7s %8.2f %8.2f %-8s %5.1f %%", r->name, r->shape, r->dtype, r->level, r->rate.best,
           r->rate.median, r->unit, 100 * r->rate.spread);
    if (r->share > 0)
        printf("  %5.1f %%", 100 * r->share);
    printf("\n");
    fflush(stdout);
}

#define CASE_REAL float
#define CASE_BITS 32
#include "kernel_cases.h"

#define CASE_REAL double
#define CASE_BITS 64
#include "kernel_cases.h"

/* ---- peaks: chains of fused multiply-adds in registers ---- */

/* Twelve, for the sixteen registers of AVX2 must hold the factors too. */
enum { PEAK_STEPS = 20000, PEAK_CHAINS = 12 };

#if defined(__clang__)
#define PEAK_UNROLL _Pragma("clang loop unroll(full)")
#else
#define PEAK_UNROLL _Pragma("GCC unroll 16")
#endif

#define PEAK(name, attribute, type, set, fma) \
    attribute static double name(void) { \
        type sum[PEAK_CHAINS], a = set(0.5), b = set(0.25); \
        PEAK_UNROLL \
        for (size_t j = 0; j < PEAK_CHAINS; j++) \
            sum[j] = set(1); \
        const double start = seconds(); \
        for (size_t i = 0; i < PEAK_STEPS; i++) { \
            PEAK_UNROLL \
            for (size_t j = 0; j < PEAK_CHAINS; j++) \
                sum[j] = fma(sum[j], a, b); \
            PEAK_UNROLL \
            for (size_t j = 0; j < PEAK_CHAINS; j++) \
                PEAK_KEEP(sum[j]); \
        } \
        const double time = seconds() - start; \
        return 2.0 * PEAK_STEPS * PEAK_CHAINS * (double)(sizeof(type) / PEAK_ELEMENT) / time * 1e-9; \
    }

#if defined(__x86_64__)
#define PEAK_KEEP(x) __asm__ volatile("" : "+v"(x))
#define PEAK_ELEMENT sizeof(float)
PEAK(peak_float32_avx512, __attribute__((target("avx512f"))), __m512, _mm512_set1_ps, _mm512_fmadd_ps)
#undef PEAK_KEEP
#define PEAK_KEEP(x) __asm__ volatile("" : "+x"(x))
PEAK(peak_float32_avx2, __attribute__((target("avx2,fma"))), __m256, _mm256_set1_ps, _mm256_fmadd_ps)
#undef PEAK_ELEMENT
#define PEAK_ELEMENT sizeof(double)
PEAK(peak_float64_avx2, __attribute__((target("avx2,fma"))), __m256d, _mm256_set1_pd, _mm256_fmadd_pd)
#undef PEAK_KEEP
#define PEAK_KEEP(x) __asm__ volatile("" : "+v"(x))
PEAK(peak_float64_avx512, __attribute__((target("avx512f"))), __m512d, _mm512_set1_pd, _mm512_fmadd_pd)
#elif defined(__aarch64__)
#define PEAK_KEEP(x) __asm__ volatile("" : "+w"(x))
#define NEON_FMA_F32(x, a, b) vfmaq_f32(b, x, a)
#define NEON_FMA_F64(x, a, b) vfmaq_f64(b, x, a)
#define PEAK_ELEMENT sizeof(float)
PEAK(peak_float32_neon, , float32x4_t, vdupq_n_f32, NEON_FMA_F32)
#undef PEAK_ELEMENT
#define PEAK_ELEMENT sizeof(double)
PEAK(peak_float64_neon, , float64x2_t, vdupq_n_f64, NEON_FMA_F64)
#endif

static double peak_once(locus_isa isa, bool wide) {
    switch (isa) {
#if defined(__x86_64__)
    case LOCUS_ISA_AVX512:
        return wide ? peak_float64_avx512() : peak_float32_avx512();
    case LOCUS_ISA_AVX2:
        return wide ? peak_float64_avx2() : peak_float32_avx2();
#elif defined(__aarch64__)
    case LOCUS_ISA_NEON:
        return wide ? peak_float64_neon() : peak_float32_neon();
#endif
    default:
        return 0; /* the scalar level has no peak of its own */
    }
}

static double peak_of(locus_isa isa, bool wide) {
    double rate[SAMPLES];
    for (size_t s = 0; s < SAMPLES; s++)
        rate[s] = peak_once(isa, wide);
    const bench_row line = {"fma peak",
                            "12 chains",
                            wide ? "float64" : "float32",
                            locus_isa_name(isa),
                            "GFLOP/s",
                            figures_of(rate, SAMPLES),
                            0};
    if (line.rate.best > 0)
        print_row(&line);
    return line.rate.best;
}

/* ---- beyond the cache: float32, all threads ---- */

enum { HEADS = 8, HEAD = 64, PAIRS = 32, TOKEN = HEADS * HEAD, PIECE = 64, STEP = 8, FINE = 64, STREAM_ROUNDS = 21 };

typedef struct stream {
    const locus_kernels_float32 *kernels;
    size_t tokens;
    float *x, *y;
    const double *angles;
    bool half_pairs, own_tables;
} stream;

static void stream_scale(void *context, size_t piece, size_t worker) {
    const stream *s = context;
    float *x = s->x + piece * PIECE * TOKEN;
    (void)worker;
    s->kernels->scale((size_t)PIECE * TOKEN, -1, x, x);
}

static void stream_copy(void *context, size_t piece, size_t worker) {
    const stream *s = context;
    (void)worker;
    memcpy(s->y + piece * PIECE * TOKEN, s->x + piece * PIECE * TOKEN, sizeof(float) * PIECE * TOKEN);
}

/* As an encoding does it: the angles of a few tokens into a table that stays in the cache, then these tokens' rows are
 * turned. Asking for the next tokens' rows in one go beforehand was measured and is slower: rotate asks as it walks.
 * Tables are [tables, FINE positions, PAIRS] in two levels. */
static void stream_rotate(void *context, size_t piece, size_t worker) {
    const stream *s = context;
    const size_t tables = s->own_tables ? HEADS : 1, pairs = tables * PAIRS, table = (size_t)2 * FINE * PAIRS;
    const locus_rotation shape = {.rows = STEP,
                                  .heads = HEADS,
                                  .D = HEAD,
                                  .pairs = PAIRS,
                                  .half_pairs = s->half_pairs,
                                  .table_row = (ptrdiff_t)pairs,
                                  .table_head = s->own_tables ? PAIRS : 0,
                                  .source_row = TOKEN,
                                  .source_head = HEAD,
                                  .target_row = TOKEN,
                                  .target_head = HEAD};
    float cosine[STEP * HEADS * PAIRS], sine[STEP * HEADS * PAIRS];
    uint32_t coarse[STEP], fine[STEP];
    (void)worker;
    for (size_t first = 0; first < PIECE; first += STEP) {
        float *x = s->x + (piece * PIECE + first) * TOKEN;
        for (size_t i = 0; i < STEP; i++) {
            const size_t position = piece * PIECE + first + i;
            coarse[i] = (uint32_t)(position / FINE % FINE);
            fine[i] = (uint32_t)(position % FINE);
        }
        for (size_t t = 0; t < tables; t++)
            s->kernels->angles(STEP, PAIRS, s->angles + t * table, coarse, s->angles + t * table, fine,
                               cosine + t * PAIRS, sine + t * PAIRS, (ptrdiff_t)pairs);
        s->kernels->rotate(&shape, 1, 1, cosine, sine, x, x);
    }
}

static double stream_rate(stream *s, locus_task *task) {
    const double start = seconds();
    locus_parallel_for(s->tokens / PIECE, task, s);
    return 2.0 * (double)s->tokens * TOKEN * sizeof(float) / (seconds() - start) * 1e-9;
}

static const struct {
    const char *name, *shape;
    locus_task *task;
    bool half_pairs, own_tables;
} streams[] = {
    {"memory", "in place", stream_scale, false, false},
    {"memory", "copy", stream_copy, false, false},
    {"rotary", "half, one table", stream_rotate, true, false},
    {"rotary", "interleaved, one table", stream_rotate, false, false},
    {"rotary", "half, a table per head", stream_rotate, true, true},
};
enum { STREAMS = sizeof streams / sizeof streams[0] };

/* Rounds over all of them in turn, so that what disturbs the machine disturbs all alike. */
static bool bench_streams(size_t tokens) {
    const size_t bytes = tokens * TOKEN * sizeof(float), table = (size_t)2 * FINE * HEADS * PAIRS;
    const size_t table_bytes = table * sizeof(double);
    stream s = {.kernels = locus_kernels_float32_get(), .tokens = tokens};
    static double rate[STREAMS][STREAM_ROUNDS], share[STREAMS][STREAM_ROUNDS];
    double *angles = locus_allocate(table_bytes);
    s.x = locus_allocate(bytes);
    s.y = locus_allocate(bytes);
    const bool good = angles && s.x && s.y;
    if (good) {
        for (size_t i = 0; i < table / 2; i++) {
            const double angle = (double)(i / PAIRS % FINE) * pow(10000, -(double)(i % PAIRS) / PAIRS);
            angles[2 * i] = cos(angle);
            angles[2 * i + 1] = sin(angle);
        }
        s.angles = angles;
        for (size_t i = 0; i < tokens * TOKEN; i++)
            s.x[i] = (float)pattern(i, 4);
        memset(s.y, 0, bytes);
        for (size_t round = 0; round <= STREAM_ROUNDS; round++) /* round 0 warms up */
            for (size_t i = 0; i < STREAMS; i++) {
                s.half_pairs = streams[i].half_pairs;
                s.own_tables = streams[i].own_tables;
                rate[i][round ? round - 1 : 0] = stream_rate(&s, streams[i].task);
            }
        for (size_t i = 0; i < STREAMS; i++)
            for (size_t round = 0; round < STREAM_ROUNDS; round++)
                share[i][round] = rate[i][round] / rate[0][round];
        for (size_t i = 0; i < STREAMS; i++) {
            bench_row line = {streams[i].name,
                              streams[i].shape,
                              "float32",
                              locus_isa_name(s.kernels->isa),
                              "GB/s",
                              figures_of(rate[i], STREAM_ROUNDS),
                              figures_of(share[i], STREAM_ROUNDS).median};
            print_row(&line);
        }
    } else {
        fprintf(stderr, "bench_kernels: out of memory for %zu tokens; try --quick\n", tokens);
    }
    locus_release(angles, table_bytes);
    locus_release(s.x, bytes);
    locus_release(s.y, bytes);
    return good;
}

/* ---- all levels ---- */

#define LEVEL_VALUE(level, value) value,

static bool bench_levels(void) {
    static const locus_isa levels[] = {LOCUS_KERNEL_LEVELS(LEVEL_VALUE)};
    enum { TABLE_DOUBLES = CASE_TABLE * 2 * PAIRS };
    static double coarse[TABLE_DOUBLES], weight[CASE_ROWS], sum[PAIRS];
    static uint32_t coarse_index[CASE_ROWS], fine_index[CASE_ROWS], words[8192];
    const size_t bytes = 4 * CASE_ELEMENTS * sizeof(double);
    double *block = locus_allocate(bytes);
    bool good = block != NULL;
    if (!block) {
        fprintf(stderr, "bench_kernels: out of memory\n");
        return false;
    }
    for (size_t i = 0; i < TABLE_DOUBLES; i++)
        coarse[i] = pattern(i, 5);
    for (size_t i = 0; i < CASE_ROWS; i++) {
        weight[i] = (double)i;
        coarse_index[i] = (uint32_t)(i / 16);
        fine_index[i] = (uint32_t)(i % 16);
    }
    float *narrow = (float *)(void *)block;
    const locus_random key = {.seed = 1, .purpose = 2, .step = 3};
    const case_data_float32 data32 = {narrow,
                                      narrow + CASE_ELEMENTS,
                                      narrow + 2 * CASE_ELEMENTS,
                                      coarse,
                                      coarse,
                                      weight,
                                      coarse_index,
                                      fine_index,
                                      sum,
                                      words,
                                      key};
    const case_data_float64 data64 = {block,
                                      block + CASE_ELEMENTS,
                                      block + 2 * CASE_ELEMENTS,
                                      coarse,
                                      coarse,
                                      weight,
                                      coarse_index,
                                      fine_index,
                                      sum,
                                      words,
                                      key};
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        if (!(locus_cpu_isas() & (unsigned)levels[i]))
            continue;
        const double peak32 = peak_of(levels[i], false);
        good = bench_level_float32(locus_kernels_float32_of(levels[i]), &data32, narrow + 3 * CASE_ELEMENTS, peak32) &&
               good;
        const double peak64 = peak_of(levels[i], true);
        good = bench_level_float64(locus_kernels_float64_of(levels[i]), &data64, block + 3 * CASE_ELEMENTS, peak64) &&
               good;
    }
    locus_release(block, bytes);
    return good;
}

static int usage(const char *problem) {
    fprintf(stderr, "bench_kernels: %s; usage: bench_kernels [--json] [--quick] [--threads N]\n", problem);
    return 2;
}

int main(int count, char **arguments) {
    size_t tokens = 65536;
    for (int i = 1; i < count; i++) {
        if (strcmp(arguments[i], "--json") == 0) {
            json = true;
        } else if (strcmp(arguments[i], "--quick") == 0) {
            sample_seconds = 5e-5;
            tokens = 32768;
        } else if (strcmp(arguments[i], "--threads") == 0 && i + 1 < count) {
            char *end;
            const unsigned long threads = strtoul(arguments[++i], &end, 10);
            if (*end != '\0' || locus_threads_set(threads) != LOCUS_OK)
                return usage("--threads needs a number up to 1024");
        } else {
            return usage("unknown option");
        }
    }
    if (!json)
        printf("%-17s %-24s %-8s %-7s %8s %8s %-8s %7s  %7s\n", "kernel", "shape", "dtype", "level", "best", "median",
               "unit", "spread", "share");
    bool good = bench_levels();
    good = bench_streams(tokens) && good;
    if (json)
        printf("%s\n", json_begun ? "\n]" : "[]");
    return good ? 0 : 1;
}
