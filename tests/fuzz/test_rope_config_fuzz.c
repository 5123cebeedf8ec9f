/* SPDX-License-Identifier: MIT */
/* Model configurations with damage: values replaced by odd ones, bytes changed, ends cut off. Reading one never
 * crashes; a failure is one line that names the file; a success is a pattern that parses to itself. LOCUS_FUZZ sets the
 * number of configurations. */
#include "../unit/scratch_folder.h"

#include "io/file.h"
#include "io/rope_config.h"

#include <locus/pattern.h>
#include <locus/random.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const locus_random stream = {.seed = 20240911, .purpose = LOCUS_RANDOM_USER, .step = 3};
static uint64_t drawn;

static size_t below(size_t bound) {
    return (size_t)locus_random_below(&stream, drawn++, bound);
}

static const char *const names[] = {"llama31",   "gemma3-1b",     "gemma3-4b-new", "qwen3-vl",
                                    "phi3-128k", "deepseek-v3",   "gpt-oss",       "yarn-attention",
                                    "smollm3",   "pythia",        "cohere2",       "gptj",
                                    "glm4",      "qwen25-vl-new", "llama-dynamic", "llama31-new"};
static const char *const values[] = {"null",
                                     "0",
                                     "-1",
                                     "1",
                                     "2",
                                     "3.5",
                                     "1e999",
                                     "1e-300",
                                     "\"x\"",
                                     "\"yarn\"",
                                     "\"llama3\"",
                                     "\"longrope\"",
                                     "[]",
                                     "{}",
                                     "[1,2]",
                                     "17",
                                     "true",
                                     "\"linear\"",
                                     "{\"a\":{\"b\":1}}",
                                     "99999999",
                                     "false",
                                     "\"\"",
                                     "[null]",
                                     "[[1]]",
                                     "\"sliding_attention\"",
                                     "[\"full_attention\",\"sliding_attention\"]",
                                     "{\"full_attention\":null}",
                                     "\"LLG\""};

#define SIZE_MOST 16384

/* The value behind one of the colons becomes another. */
static void replace_value(char *text) {
    size_t colons = 0, wanted;
    for (const char *at = text; *at; at++)
        colons += *at == ':';
    if (colons == 0)
        return;
    char *at = text, tail[SIZE_MOST];
    for (wanted = 1 + below(colons); wanted > 0; wanted--)
        at = strchr(at, ':') + 1;
    const size_t depth = strcspn(at, "[{") < strcspn(at, ",}") ? strcspn(at, "]}") + 1 : strcspn(at, ",}\n]");
    snprintf(tail, sizeof tail, "%s", at + depth);
    snprintf(at, (size_t)(SIZE_MOST - (at - text)), " %s%s", values[below(sizeof values / sizeof *values)], tail);
}

static void damage(char *text) {
    const size_t length = strlen(text);
    switch (below(8)) {
    case 0:
        text[below(length)] = '\0';
        break;
    case 1:
        text[below(length)] = "{}[],:\"0a\n\\"[below(11)];
        break;
    default:
        for (size_t count = 1 + below(4); count > 0; count--)
            replace_value(text);
    }
}

static void check_success(const lab_rope_config *config, const char *text) {
    locus_pattern *pattern = NULL;
    locus_error failure = {0};
    assert_non_null(config->spec);
    assert_null(strchr(config->spec, '\n'));
    if (locus_pattern_parse(config->spec, &pattern, &failure) != LOCUS_OK)
        fail_msg("%s\ngives '%s': %s", text, config->spec, failure.message);
    const size_t size = locus_pattern_text(pattern, NULL, 0) + 1;
    char *again = malloc(size);
    assert_non_null(again);
    locus_pattern_text(pattern, again, size);
    assert_string_equal(again, config->spec);
    free(again);
    locus_pattern_destroy(&pattern);
    for (size_t i = 0; i < config->note_count; i++)
        assert_null(strchr(config->notes[i].text, '\n'));
}

static void damaged_configurations(void **state) {
    const char *asked = getenv("LOCUS_FUZZ"), *source = getenv("LOCUS_SOURCE");
    const size_t count = asked ? (size_t)strtoull(asked, NULL, 10) : 2000;
    size_t good = 0, bad = 0;
    (void)state;
    for (size_t i = 0; i < count; i++) {
        char path[512], text[SIZE_MOST], *data = NULL;
        size_t bytes;
        lab_rope_config config;
        locus_error error = {0};
        snprintf(path, sizeof path, "%s/tests/cli/configs/%s.json", source ? source : ".",
                 names[below(sizeof names / sizeof *names)]);
        assert_int_equal(lab_file_read(path, &data, &bytes, &error), LOCUS_OK);
        snprintf(text, sizeof text, "%s", data);
        free(data);
        damage(text);
        scratch_write("config.json", text, strlen(text));
        const locus_status status = lab_rope_config_read(&config, scratch_path("config.json"), &error);
        if (status == LOCUS_OK) {
            check_success(&config, text);
            good++;
        } else {
            if (status != LOCUS_ERROR_IO || !strstr(error.message, "config.json' ") || strchr(error.message, '\n'))
                fail_msg("%s\nfails with %d: '%s'", text, (int)status, error.message);
            bad++;
        }
        lab_rope_config_free(&config);
    }
    assert_true(good > count / 10 && bad > count / 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(damaged_configurations)};
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
