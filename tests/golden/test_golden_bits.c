/* SPDX-License-Identifier: MIT */
/* Bits of trainings. A run of the store stands for its configuration: what is done is not trained again, whichever
 * program did it, and recorded tables are compared across commits. That holds as long as programs compute the same
 * bits, which nothing else looks at: other tests compare with a tolerance, which 1,500 steps make anything of.
 *
 * Small trainings of every family, digests of their losses, gradient norms and scores, against those in
 * training_bits.txt. Bits may also depend on the processor, the compiler, oneDNN and the C library, so there is a block
 * for each kind of machine on which somebody recorded them; on others the test is skipped and prints its block. */
#include "model/architecture.h"
#include "planted_store.h"
#include "task/problem.h"
#include "task/text_task.h"
#include "text/token_file.h"
#include "train/configuration/config.h"
#include "train/machine.h"
#include "unit/small_images.h"
#include "unit/training_case.h"

#include <dnnl.h>
#include <inttypes.h>
#include <locus/cpu.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* Both ways to compute a loss: below 128 classes and from there on. */
static const struct bits_case {
    const char *name, *task, *encoding;
} cases[] = {
    {"words", "repeat", "algebraic(group=seq, decay=0.98)"},
    {"words-relative", "copy", "sinusoidal + relative(window=5)"},
    {"trees", "tree-copy", "shiv-quirk(k=2, depth=4)"},
    {"trees-128-symbols", "tree-ops", "algebraic(group=tree:2, decay=0.98)"},
    {"images", "cifar10", "algebraic(group=grid:2, decay=0.98)"},
    {"problems", "addition", "rope(values=on)"},
    {"text-300-tokens", "text", "learned(size=40, deviation=1) + rope"},
    {"expressions", "listops", "algebraic(group=tree:4)"},
};
enum { CASES = sizeof cases / sizeof *cases, VOCABULARY = 300, KEY = 400 };

/* ---- data ---- */

static char images_path[128], text_path[128];

static void write_tokens(const char *set, size_t count, uint32_t random) {
    int32_t *tokens = malloc(count * sizeof *tokens);
    char *path = lab_token_file_path(text_path, set);
    assert_non_null(tokens);
    for (size_t i = 0; i < count; i++) {
        random = random * 1664525u + 1013904223u;
        tokens[i] = (int32_t)((random >> 16) % VOCABULARY * (random >> 28 < 9) + i % 7);
        tokens[i] %= VOCABULARY;
    }
    const lab_token_file_content content = {VOCABULARY, count, tokens, 2 * (count - 1)};
    assert_int_equal(lab_token_file_write(path, &content, NULL), LOCUS_OK);
    free(path);
    free(tokens);
}

static int setup(void **state) {
    if (training_setup(state) != 0)
        return 1;
    snprintf(images_path, sizeof images_path, "%s/images", training_folder());
    snprintf(text_path, sizeof text_path, "%s/text", training_folder());
    if (mkdir(images_path, 0777) != 0 || mkdir(text_path, 0777) != 0)
        return 1;
    small_images_write(images_path, 9, 30);
    write_tokens("train", 900, 1);
    write_tokens("dev", 120, 2);
    write_tokens("test", 200, 3);
    return 0;
}

static lab_train_config config_of(const struct bits_case *own) {
    lab_train_config config;
    const lab_task *task = lab_task_find(own->task);
    assert_int_equal(lab_train_config_budget(&config, task, "smoke", LAB_SETUP_PAPER, NULL), LOCUS_OK);
    const bool images = task->class->architecture == &lab_image_classifier, text = strcmp(own->task, "text") == 0;
    config.encoding = own->encoding;
    config.budget = "custom";
    config.model.dim = 24; /* with heads of 12: neither is whole vectors */
    config.model.heads = 2;
    config.model.feed_forward = 40;
    config.data.path = images ? images_path : text ? text_path : NULL;
    if (text)
        LAB_TEXT(&config.data)->sequence = 32;
    else if (task->open_sequences != NULL)
        LAB_PROBLEMS(&config.data)->sequence = 32;
    config.train_samples = config.train_samples > 0 ? 45 : 0;
    config.dev_samples = config.test_samples = 20;
    config.greedy_samples = config.greedy_samples > 0 ? 10 : 0;
    config.batch = 8;
    config.epochs = 0;
    config.steps = 12;
    config.evaluate_every = 6;
    return config;
}

/* ---- digests ---- */

static uint64_t add_bits(uint64_t digest, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    for (unsigned i = 0; i < 8; i++)
        digest = (digest ^ (bits >> 8 * i & 0xff)) * 0x100000001b3u;
    return digest;
}

static uint64_t digest_of(const struct bits_case *own) {
    const training_plan plan = {.config = config_of(own), .name = own->name, .threads = 1};
    uint64_t digest = 0xcbf29ce484222325u;
    assert_int_equal(training_run(&plan), LOCUS_OK);
    training_remains remains = training_look(own->name);
    assert_int_equal(remains.run.state, LAB_RUN_DONE);
    for (size_t i = 0; i < 5; i++) {
        assert_true(remains.counts[i] > 0);
        for (size_t j = 0; j < remains.counts[i]; j++)
            digest = add_bits(digest, remains.metrics[i][j].value);
    }
    assert_true(remains.final_count > 0);
    for (size_t i = 0; i < remains.final_count; i++)
        digest = add_bits(digest, remains.finals[i].value);
    training_forget(&remains);
    return digest;
}

/* The highest level of the processor, whatever is in use: oneDNN chooses its kernels by that. */
static const char *highest_level(void) {
    locus_isa highest = LOCUS_ISA_SCALAR;
    for (unsigned bit = 1; bit <= LOCUS_ISA_NEON; bit <<= 1)
        if (locus_cpu_isas() & bit)
            highest = (locus_isa)bit;
    return locus_isa_name(highest);
}

/* oneDNN cuts products into blocks by the sizes of the first two caches; 0 where the C library does not tell. */
static long cache_kibibytes(unsigned level) {
    long bytes = 0;
#ifdef _SC_LEVEL1_DCACHE_SIZE
    bytes = sysconf(level == 1 ? _SC_LEVEL1_DCACHE_SIZE : _SC_LEVEL2_CACHE_SIZE);
#endif
    return bytes > 0 ? bytes / 1024 : 0;
}

/* What bits may depend on, beside the program. One name ("AMD EPYC") may stand for several processors. */
static void machine_key(char *key, size_t size) {
    char machine[256], library[64] = "another C library";
    const dnnl_version_t *dnnl = dnnl_version();
#ifdef _CS_GNU_LIBC_VERSION
    (void)confstr(_CS_GNU_LIBC_VERSION, library, sizeof library);
#endif
#ifdef __clang__
    const char *compiler = "clang";
#else
    const char *compiler = "gcc";
#endif
    lab_machine_text(machine, sizeof machine);
    snprintf(key, size, "%.*s with %s and caches of %ld and %ld KiB, %s, %s, oneDNN %d.%d.%d, %s",
             (int)strcspn(machine, ","), machine, highest_level(), cache_kibibytes(1), cache_kibibytes(2),
             locus_isa_name(locus_cpu_isa()), compiler, dnnl->major, dnnl->minor, dnnl->patch, library);
}

static void write_block(FILE *file, const char *key, const uint64_t digests[CASES]) {
    fprintf(file, "numerics %d, %s\n", LAB_NUMERICS, key);
    for (size_t i = 0; i < CASES; i++)
        fprintf(file, "  %s %016" PRIx64 "\n", cases[i].name, digests[i]);
}

/* The block of this machine: what stands behind its first line; NULL: there is none. */
static const char *find_block(const char *text, const char *key) {
    char line[KEY + 32];
    snprintf(line, sizeof line, "numerics %d, %s\n", LAB_NUMERICS, key);
    const char *at = strstr(text, line);
    return at == NULL ? NULL : at + strlen(line);
}

static bool skipped; /* nothing was compared */

static void trainings_keep_their_bits(void **state) {
    (void)state;
    char key[KEY], line[96];
    uint64_t digests[CASES];
    char *text = planted_text("training_bits.txt");
    machine_key(key, sizeof key);
    const char *block = find_block(text, key);
    for (size_t i = 0; i < CASES; i++)
        digests[i] = digest_of(&cases[i]);
    if (block == NULL) {
        write_block(stdout, key, digests);
        if (strstr(text, key) != NULL) {
            fail_msg("LAB_NUMERICS is %d, and bits of '%s' are recorded for another: the block above is today's",
                     LAB_NUMERICS, key);
        }
        free(text);
        skipped = true;
        return;
    }
    for (size_t i = 0; i < CASES; i++) {
        snprintf(line, sizeof line, "  %s %016" PRIx64 "\n", cases[i].name, digests[i]);
        if (strncmp(block, line, strlen(line)) != 0) {
            write_block(stdout, key, digests);
            fail_msg("trainings of %s have other bits than recorded. If that is not meant, it is a defect. If it is: "
                     "raise LAB_NUMERICS (lab/train/train.h), say in CHANGELOG.md which recorded results it touches, "
                     "and put the block above in the place of this machine's in tests/golden/training_bits.txt",
                     cases[i].name);
        }
        block += strlen(line);
    }
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(trainings_keep_their_bits, setup, training_teardown),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed == 0 && skipped ? 77 : failed;
}
