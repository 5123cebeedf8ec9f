/* SPDX-License-Identifier: MIT */
/* Errors, status texts, version, allocator, tensor views, instruction sets, workers of calls. */
#include "core/call.h"
#include "core/cpu_words.h"
#include "core/environment.h"
#include "core/error.h"
#include "core/pool.h"
#include <locus/locus.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

#include <cmocka.h>

/* ---- errors ---- */

static void fail_fills_the_record(void **state) {
    (void)state;
    locus_error error;
    memset(&error, 0x5A, sizeof error);
    assert_int_equal(locus_fail(&error, LOCUS_ERROR_SHAPE, "x", "x has rank %d, not %d", 2, 3), LOCUS_ERROR_SHAPE);
    assert_int_equal(error.status, LOCUS_ERROR_SHAPE);
    assert_string_equal(error.argument, "x");
    assert_string_equal(error.message, "x has rank 2, not 3");
    assert_int_equal(error.offset, -1);
    assert_int_equal(error.length, 0);
    assert_int_equal(locus_fail_at(&error, LOCUS_ERROR_SPEC, NULL, 7, 0, "here"), LOCUS_ERROR_SPEC);
    assert_string_equal(error.argument, "");
    assert_int_equal(error.offset, 7);
    assert_int_equal(error.length, 1);
    assert_int_equal(locus_fail(NULL, LOCUS_ERROR_IO, "x", "nobody reads this"), LOCUS_ERROR_IO);
    assert_int_equal(locus_fail_at(NULL, LOCUS_ERROR_IO, "x", 1, 2, "nor this"), LOCUS_ERROR_IO);
}

static void fail_keeps_one_line_of_whole_characters(void **state) {
    (void)state;
    locus_error error;
    (void)locus_fail(&error, LOCUS_ERROR_SPEC, "a\nb", "one\ntwo\tthree\x7F");
    assert_string_equal(error.argument, "a?b");
    assert_string_equal(error.message, "one?two?three?");
    (void)locus_fail(&error, LOCUS_ERROR_SPEC, NULL, "\xF1 \xC2\x9B \xED\xA0\x80 \xE2\x80\xAE \xC0\xAF \xF5 \xFF é 😀");
    assert_string_equal(error.message, "? ?? ??? ??? ?? ? ? é 😀");
    /* The edges of what is shown, and their neighbours. */
    static const char shown[] =
        "~\xC2\xA0|\xD8\x9B|\xD8\x9D|\xE2\x80\x8D|\xE2\x80\x90|\xE2\x80\xA7|\xE2\x80\xAF|\xE2\x81\xA5"
        "|\xE2\x81\xAA|\xED\x9F\xBF|\xEE\x80\x80|\xF0\x90\x80\x80|\xF4\x8F\xBF\xBF";
    (void)locus_fail(&error, LOCUS_ERROR_SPEC, NULL, " %s", shown);
    assert_string_equal(error.message + 1, shown);
    (void)locus_fail(
        &error, LOCUS_ERROR_SPEC, NULL,
        "\x1F|\x7F|\xC2\x80|\xC2\x9F|\xC1\xBF|\xD8\x9C|\xE2\x80\x8E|\xE2\x80\x8F|\xE2\x80\xA8|\xE2\x80\xA9"
        "|\xE2\x80\xAA|\xE2\x80\xAE|\xE2\x81\xA6|\xE2\x81\xA9|\xE0\x9F\xBF|\xED\xA0\x80|\xED\xBF\xBF|\xF0\x8F\xBF\xBF"
        "|\xF4\x90\x80\x80");
    assert_string_equal(error.message, "?|?|??|??|??|??|???|???|???|???|???|???|???|???|???|???|???|????|????");
    /* "⌈" is three bytes: wherever the record ends, it must not end inside one. */
    char text[3 * 400 + 1];
    for (size_t i = 0; i < 400; i++)
        memcpy(text + 3 * i, "⌈", 4);
    for (int shift = 0; shift < 3; shift++) {
        (void)locus_fail(&error, LOCUS_ERROR_SPEC, text, "%.*s%s", shift, "ab", text);
        size_t kept = strlen(error.message) - (size_t)(shift < 2 ? shift : 2);
        assert_int_equal(kept % 3, 0);
        assert_true(strlen(error.message) > sizeof error.message - 4);
        assert_int_equal(strlen(error.argument) % 3, 0);
    }
}

/* A message of no characters, or of one, is what it is; what cannot be written becomes the status. */
static void fail_says_something_where_nothing_can_be_written(void **state) {
    (void)state;
    locus_error error;
    (void)locus_fail(&error, LOCUS_ERROR_SHAPE, "x", "%s", "");
    assert_string_equal(error.message, "");
    (void)locus_fail(&error, LOCUS_ERROR_SHAPE, "x", "%s", "y");
    assert_string_equal(error.message, "y");
    const wchar_t no_character[] = {0x7FFFFFFF, 0};
    (void)locus_fail(&error, LOCUS_ERROR_SHAPE, "x", "%ls", no_character);
    assert_string_equal(error.message, "wrong shape");
    assert_string_equal(error.argument, "x");
}

static void fail_may_quote_the_record_itself(void **state) {
    (void)state;
    locus_error error;
    (void)locus_fail(&error, LOCUS_ERROR_SPEC, "base", "base is 0");
    (void)locus_fail(&error, LOCUS_ERROR_SPEC, error.argument, "term 2: %s", error.message);
    assert_string_equal(error.message, "term 2: base is 0");
    assert_string_equal(error.argument, "base");
}

static void every_status_has_its_text(void **state) {
    (void)state;
    for (int a = LOCUS_OK; a <= LOCUS_ERROR_INTERRUPTED; a++) {
        assert_string_not_equal(locus_status_text((locus_status)a), "unknown status");
        for (int b = LOCUS_OK; b < a; b++)
            assert_string_not_equal(locus_status_text((locus_status)a), locus_status_text((locus_status)b));
    }
    assert_string_equal(locus_status_text((locus_status)1234), "unknown status");
    assert_string_equal(locus_status_text(LOCUS_ERROR_MEMORY), "out of memory");
}

static void version_is_the_headers(void **state) {
    (void)state;
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", LOCUS_VERSION_MAJOR, LOCUS_VERSION_MINOR, LOCUS_VERSION_PATCH);
    assert_string_equal(text, LOCUS_VERSION_TEXT);
    assert_string_equal(locus_version(), LOCUS_VERSION_TEXT);
    assert_int_equal(locus_abi_version(), LOCUS_ABI_VERSION);
    assert_int_equal(LOCUS_ABI_VERSION, LOCUS_VERSION_MINOR); /* as long as the major version is 0 */
}

/* ---- memory ---- */

typedef struct ledger {
    size_t blocks, bytes;
    bool refuse;
} ledger;

static void *ledger_allocate(void *state, size_t bytes, size_t alignment) {
    ledger *book = state;
    assert_true(bytes > 0);
    assert_int_equal(alignment, LOCUS_ALIGNMENT);
    if (book->refuse)
        return NULL;
    book->blocks++;
    book->bytes += bytes;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void ledger_release(void *state, void *block, size_t bytes) {
    ledger *book = state;
    assert_non_null(block);
    book->blocks--;
    book->bytes -= bytes;
    free(block);
}

static void allocations_are_aligned_and_writable(void **state) {
    (void)state;
    const size_t sizes[] = {0, 1, 63, 64, 65, 4095, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *block = locus_allocate(sizes[i]);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % LOCUS_ALIGNMENT, 0);
        memset(block, 0xFF, sizes[i]);
        locus_release(block, sizes[i]);
    }
    locus_release(NULL, 17);
    assert_null(locus_allocate(SIZE_MAX));
    assert_null(locus_allocate(SIZE_MAX - 32));
}

static void allocator_can_be_replaced(void **state) {
    (void)state;
    ledger book = {0};
    assert_int_equal(
        locus_allocator_set(&(locus_allocator){sizeof(locus_allocator), ledger_allocate, ledger_release, &book}, NULL),
        LOCUS_OK);
    void *a = locus_allocate(100), *b = locus_allocate(0);
    assert_int_equal(book.blocks, 2);
    book.refuse = true;
    assert_null(locus_allocate(1));
    locus_release(a, 100);
    locus_release(b, 0);
    assert_int_equal(book.blocks, 0);
    assert_int_equal(book.bytes, 0);
    assert_int_equal(locus_allocator_set(NULL, NULL), LOCUS_OK);
    locus_release(locus_allocate(8), 8);
    assert_int_equal(book.blocks, 0);
}

/* ---- tensors ---- */

static void views_are_contiguous(void **state) {
    (void)state;
    float data[24];
    locus_tensor t = locus_tensor_view(data, LOCUS_FLOAT32, 3, (const int64_t[]){2, 3, 4});
    assert_ptr_equal(t.data, data);
    assert_int_equal(t.rank, 3);
    assert_int_equal(t.stride[0], 12);
    assert_int_equal(t.stride[1], 4);
    assert_int_equal(t.stride[2], 1);
    assert_int_equal(locus_tensor_count(&t), 24);
    t = locus_tensor_view(data, LOCUS_FLOAT64, 0, NULL);
    assert_int_equal(locus_tensor_count(&t), 1);
    t = locus_tensor_view(data, LOCUS_FLOAT64, 2, (const int64_t[]){0, 5});
    assert_int_equal(locus_tensor_count(&t), 0);
    t = locus_tensor_view(data, LOCUS_FLOAT64, 2, (const int64_t[]){-3, -5});
    assert_int_equal(locus_tensor_count(&t), 0);
    t = locus_tensor_view(data, LOCUS_FLOAT64, 3, (const int64_t[]){INT64_MAX, INT64_MAX, 3});
    assert_true(locus_tensor_count(&t) == SIZE_MAX);
    t = locus_tensor_view(data, LOCUS_FLOAT64, 6, (const int64_t[]){1, 2, 3, 4, 5, 6});
    assert_int_equal(t.rank, 6); /* for the call that gets it to refuse */
    assert_int_equal(locus_tensor_count(&t), 24);
    assert_int_equal(locus_dtype_size(LOCUS_FLOAT32), 4);
    assert_int_equal(locus_dtype_size(LOCUS_FLOAT64), 8);
    assert_int_equal(locus_dtype_size((locus_dtype)9), 0);
}

/* ---- instruction sets ---- */

/* Runs `answer` in a process of its own with LOCUS_ISA set (NULL: unset). */
static int isa_in_child(const char *limit) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (limit)
            setenv("LOCUS_ISA", limit, 1);
        else
            unsetenv("LOCUS_ISA");
        _exit((int)locus_cpu_isa());
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* The highest level of `mask` that the machine has. */
static int highest(unsigned mask) {
    unsigned usable = (mask & locus_cpu_isas()) | LOCUS_ISA_SCALAR, best = LOCUS_ISA_SCALAR;
    for (unsigned isa = LOCUS_ISA_SCALAR; isa <= LOCUS_ISA_NEON; isa <<= 1)
        best = usable & isa ? isa : best;
    return (int)best;
}

/* Runs before the mask is set: a mask overrules the environment. */
static void environment_limits_the_level(void **state) {
    (void)state;
    assert_int_equal(isa_in_child(NULL), highest(~0u));
    assert_int_equal(isa_in_child("nonsense"), highest(~0u));
    assert_int_equal(isa_in_child("scalar"), LOCUS_ISA_SCALAR);
    assert_int_equal(isa_in_child("avx2"), highest(LOCUS_ISA_AVX2));
    assert_int_equal(isa_in_child("avx512"), highest(LOCUS_ISA_AVX2 | LOCUS_ISA_AVX512));
    assert_int_equal(isa_in_child("neon"), highest(LOCUS_ISA_NEON));
}

static void mask_limits_the_level(void **state) {
    (void)state;
    for (unsigned mask = 0; mask < 16; mask++) {
        locus_cpu_mask_set(mask);
        assert_int_equal(locus_cpu_isa(), highest(mask));
    }
    locus_cpu_mask_set(~0u);
    assert_int_equal(locus_cpu_isa(), highest(~0u));
}

#if defined(__x86_64__)
/* Processors that are made up: each bit that is asked for takes its level and those above away, and no other bit does
 * anything. */
static void levels_follow_from_what_processors_say(void **state) {
    static const struct {
        size_t word, bit; /* ecx_1, ebx_7, edx_7, eax_7_1, saved */
        unsigned left;    /* levels without it: 1 scalar, 3 and AVX2, 7 and AVX-512; 0: all but AMX */
    } bits[] = {{0, 12, 1}, {0, 27, 1}, {0, 28, 1}, {0, 29, 1}, {1, 5, 1}, {4, 1, 1}, {4, 2, 1},
                {1, 16, 3}, {1, 17, 3}, {1, 30, 3}, {1, 31, 3}, {4, 5, 3}, {4, 6, 3}, {4, 7, 3},
                {3, 5, 7},  {2, 22, 0}, {2, 24, 0}, {4, 17, 0}, {4, 18, 0}};
    enum { COUNT = sizeof bits / sizeof *bits };
    const unsigned beside = LOCUS_ISA_SCALAR | LOCUS_ISA_AVX2 | LOCUS_ISA_AVX512 | LOCUS_ISA_AVX512_BF16,
                   all = beside | LOCUS_ISA_AMX;
    unsigned asked[5] = {0};
    (void)state;
    for (size_t i = 0; i < COUNT; i++)
        asked[bits[i].word] |= 1u << bits[i].bit;
    for (int others = 0; others < 2; others++)
        for (size_t i = 0; i <= COUNT; i++) {
            unsigned word[5];
            for (size_t w = 0; w < 5; w++)
                word[w] = others ? ~0u : asked[w];
            if (i < COUNT)
                word[bits[i].word] &= ~(1u << bits[i].bit);
            const locus_cpu_words words = {word[0], word[1], word[2], word[3], word[4], true},
                                  without = {word[0], word[1], word[2], word[3], word[4], false};
            const unsigned want = i == COUNT ? all : bits[i].left ? bits[i].left : beside;
            assert_int_equal(locus_cpu_isas_of(&words), want);
            assert_int_equal(locus_cpu_isas_of(&without), want & ~(unsigned)LOCUS_ISA_AMX);
        }
    assert_int_equal(locus_cpu_isas_of(&(locus_cpu_words){0}), LOCUS_ISA_SCALAR);
}
#endif

static void machine_has_what_the_compiler_sees(void **state) {
    (void)state;
    unsigned isas = locus_cpu_isas();
    assert_true(isas & LOCUS_ISA_SCALAR);
#if defined(__x86_64__)
    __builtin_cpu_init();
    assert_int_equal((isas & LOCUS_ISA_AVX2) != 0, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
    assert_int_equal((isas & LOCUS_ISA_AVX512) != 0,
                     __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"));
    assert_false(isas & LOCUS_ISA_NEON);
#elif defined(__aarch64__)
    assert_int_equal(isas, LOCUS_ISA_SCALAR | LOCUS_ISA_NEON);
#endif
    assert_string_equal(locus_isa_name(LOCUS_ISA_SCALAR), "scalar");
    assert_string_equal(locus_isa_name(LOCUS_ISA_AVX2), "avx2");
    assert_string_equal(locus_isa_name(LOCUS_ISA_AVX512), "avx512");
    assert_string_equal(locus_isa_name(LOCUS_ISA_NEON), "neon");
}

/* ---- what the environment says ---- */

static void numbers_of_threads_are_read(void **state) {
    static const struct {
        const char *text;
        size_t threads;
    } cases[] = {{"1", 1},  {"9", 9},  {"10", 10}, {"0090", 90}, {"256", 256},
                 {"", 0},   {"0", 0},  {"-1", 0},  {"+3", 0},    {"3.5", 0},
                 {"4 ", 0}, {" 4", 0}, {"1:", 0},  {"1/", 0},    {"99999999999999999999999999", 0}};
    char text[24];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(locus_environment_threads(cases[i].text), cases[i].threads);
    (void)snprintf(text, sizeof text, "%d", LOCUS_MAX_THREADS);
    assert_int_equal(locus_environment_threads(text), LOCUS_MAX_THREADS);
    (void)snprintf(text, sizeof text, "%d", LOCUS_MAX_THREADS + 1);
    assert_int_equal(locus_environment_threads(text), 0);
    (void)snprintf(text, sizeof text, "%d0", LOCUS_MAX_THREADS);
    assert_int_equal(locus_environment_threads(text), 0);
}

/* Each level has those below it. */
static void levels_have_names(void **state) {
    const unsigned scalar = LOCUS_ISA_SCALAR, avx2 = scalar | LOCUS_ISA_AVX2, avx512 = avx2 | LOCUS_ISA_AVX512,
                   pairs = avx512 | LOCUS_ISA_AVX512_BF16;
    const struct {
        const char *name;
        unsigned mask;
    } cases[] = {{"scalar", scalar},
                 {"avx2", avx2},
                 {"avx512", avx512},
                 {"avx512bf16", pairs},
                 {"amx", pairs | LOCUS_ISA_AMX},
                 {"neon", scalar | LOCUS_ISA_NEON},
                 {"", 0},
                 {"avx", 0},
                 {"AVX2", 0},
                 {"avx512 ", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(locus_environment_isa(cases[i].name), cases[i].mask);
}

static void variables_are_checked(void **state) {
    static const char *const names[] = {"LOCUS_ISA", "LOCUS_THREADS"};
    static const struct {
        const char *isa, *threads, *says;
    } cases[] = {{"avx2", "12", NULL},
                 {"", "", NULL},
                 {"sse", "12", "LOCUS_ISA is 'sse': expected scalar, avx2, avx512, avx512bf16, amx or neon"},
                 {"amx", "0", "LOCUS_THREADS is '0': expected an integer from 1 to %d"},
                 {"amx", "many", "LOCUS_THREADS is 'many': expected an integer from 1 to %d"}};
    char kept[2][32], says[128];
    (void)state;
    for (size_t i = 0; i < 2; i++)
        (void)snprintf(kept[i], sizeof kept[i], "%s", getenv(names[i]) ? getenv(names[i]) : "");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        locus_error error = {0};
        assert_int_equal(setenv("LOCUS_ISA", cases[i].isa, 1) | setenv("LOCUS_THREADS", cases[i].threads, 1), 0);
        assert_int_equal(locus_environment_check(&error), cases[i].says ? LOCUS_ERROR_ARGUMENT : LOCUS_OK);
        (void)snprintf(says, sizeof says, cases[i].says ? cases[i].says : "", LOCUS_MAX_THREADS);
        assert_string_equal(error.message, says);
        assert_true(!cases[i].says || strncmp(error.message, error.argument, strlen(error.argument)) == 0);
    }
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(setenv(names[i], kept[i], 1), 0);
}

/* ---- how many workers a call takes ---- */

static void run_in_turn(void *state, size_t count, locus_task *task, void *context) {
    (void)state;
    for (size_t i = 0; i < count; i++)
        task(context, i, 0);
}

/* 1000 bytes, and 100 for each worker. */
static size_t bytes_of_workers(const void *context) {
    (void)context;
    return 1000 + 100 * locus_threads();
}

static size_t no_bytes(const void *context) {
    (void)context;
    return 0;
}

/* Begins and ends one; 0 workers: refused. */
static size_t workers_of(const locus_execution *execution, size_t *inside) {
    locus_call call;
    locus_error error = {0};
    assert_int_equal(locus_call_begin(&call, execution, &error), LOCUS_OK);
    const locus_status status = locus_call_fit(&call, bytes_of_workers, NULL, "them", &error);
    *inside = locus_threads();
    const size_t workers = status == LOCUS_OK ? call.workers : 0;
    assert_int_equal(locus_call_end(&call, status, &error), status);
    return workers;
}

static void calls_take_as_many_workers_as_fit(void **state) {
    const locus_executor executor = {sizeof executor, run_in_turn, 7, NULL};
    void *room = locus_allocate(4096);
    locus_execution execution = locus_execution_in((locus_workspace){room, 0});
    size_t inside;
    (void)state;
    execution.executor = &executor;
    for (size_t threads = 0; threads < 10; threads++) {
        const size_t most = threads > 0 && threads < 7 ? threads : 7;
        execution.threads = threads;
        assert_int_equal(locus_call_needs(&execution, bytes_of_workers, NULL), 1000 + 100 * most);
        for (size_t bytes = 1090; bytes < 1800; bytes += 5) {
            const size_t fit = (bytes - 1000) / 100, want = fit < most ? fit : most;
            execution.workspace.bytes = bytes;
            assert_int_equal(workers_of(&execution, &inside), want);
            assert_true(want == 0 || inside == want);
        }
    }
    execution.threads = 0;
    execution.workspace = (locus_workspace){NULL, 1800}; /* nothing is lent */
    assert_int_equal(workers_of(&execution, &inside), 0);
    execution.workspace = (locus_workspace){(char *)room + 8, 1800};
    locus_call outer, call;
    locus_error error = {0};
    assert_int_equal(locus_call_begin(&outer, &execution, &error), LOCUS_OK);
    assert_int_equal(outer.workers, 7);
    assert_int_equal(locus_call_fit(&outer, bytes_of_workers, NULL, "them", &error), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(locus_call_fit(&outer, no_bytes, NULL, "them", &error), LOCUS_OK);
    const locus_execution plain = locus_execution_default(), two = {.size = sizeof two, .threads = 2};
    assert_int_equal(locus_call_begin(&call, &plain, &error), LOCUS_OK); /* from inside: no more than the call around */
    assert_true(call.workers == 7 && call.executor == outer.executor && call.outer == &outer);
    assert_int_equal(locus_call_end(&call, LOCUS_OK, &error), LOCUS_OK);
    assert_int_equal(locus_call_begin(&call, &two, &error), LOCUS_OK);
    assert_int_equal(call.workers, 2);
    assert_int_equal(locus_threads(), 2);
    assert_int_equal(locus_call_end(&call, LOCUS_ERROR_NUMERIC, &error), LOCUS_ERROR_NUMERIC);
    assert_int_equal(locus_threads(), 7);
    /* The first failure of code without a status is the call's, unless it has one of its own. */
    const locus_error first = {.status = LOCUS_ERROR_POSITION, .message = "the first"},
                      second = {.status = LOCUS_ERROR_IO, .message = "the second"};
    locus_call_fail(&first);
    locus_call_fail(&second);
    assert_int_equal(locus_call_end(&outer, LOCUS_OK, &error), LOCUS_ERROR_POSITION);
    assert_string_equal(error.message, "the first");
    assert_int_equal(locus_call_begin(&outer, &execution, &error), LOCUS_OK);
    locus_call_fail(&second);
    assert_int_equal(locus_call_end(&outer, LOCUS_ERROR_SHAPE, NULL), LOCUS_ERROR_SHAPE);
    locus_call_fail(&first); /* of no call */
    const locus_executor none = {sizeof none, run_in_turn, 0, NULL};
    execution.executor = &none;
    assert_int_equal(locus_call_needs(&execution, bytes_of_workers, NULL), 0);
    assert_int_equal(locus_call_begin(&call, &execution, &error), LOCUS_ERROR_ARGUMENT);
    assert_string_equal(error.argument, "execution.executor");
    locus_release(room, 4096);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fail_fills_the_record),
        cmocka_unit_test(fail_keeps_one_line_of_whole_characters),
        cmocka_unit_test(fail_says_something_where_nothing_can_be_written),
        cmocka_unit_test(fail_may_quote_the_record_itself),
        cmocka_unit_test(every_status_has_its_text),
        cmocka_unit_test(version_is_the_headers),
        cmocka_unit_test(allocations_are_aligned_and_writable),
        cmocka_unit_test(allocator_can_be_replaced),
        cmocka_unit_test(views_are_contiguous),
        cmocka_unit_test(environment_limits_the_level),
        cmocka_unit_test(mask_limits_the_level),
#if defined(__x86_64__)
        cmocka_unit_test(levels_follow_from_what_processors_say),
#endif
        cmocka_unit_test(calls_take_as_many_workers_as_fit),
        cmocka_unit_test(numbers_of_threads_are_read),
        cmocka_unit_test(levels_have_names),
        cmocka_unit_test(variables_are_checked),
        cmocka_unit_test(machine_has_what_the_compiler_sees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
