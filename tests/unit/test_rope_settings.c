/* SPDX-License-Identifier: MIT */
/* What is read of model configurations, whole: tests/unit/rope_settings.txt has each configuration in a line, below it
 * the spec, the one with everything of attention where that is another, the sizes, all notes; or what is wrong with
 * it. Among them is one of each family. */
#include "io/file.h"
#include "io/rope_file.h"
#include "rope/rope_config.h"
#include "unit/scratch_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void read_text(const char *json, size_t bytes, FILE *out) {
    lab_rope_config config;
    locus_error error = {0};
    char begin[600];
    scratch_write("config.json", json, bytes);
    const locus_status status = lab_rope_file_read(&config, scratch_path("config.json"), &error);
    const size_t length = (size_t)snprintf(begin, sizeof begin, "'%s' ", scratch_path("config.json"));
    if (status != LOCUS_OK) {
        assert_int_equal(status, LOCUS_ERROR_IO);
        assert_memory_equal(error.message, begin, length);
        fprintf(out, "  ! %s\n", error.message + length);
    } else {
        fprintf(out, "  %s\n", config.spec);
        if (strcmp(config.spec, config.attention) != 0)
            fprintf(out, "  + %s\n", config.attention);
        if (config.head_dim > 0 || config.length > 0)
            fprintf(out, "  %zu of a head, %zu places\n", config.head_dim, config.length);
        for (size_t i = 0; i < config.note_count; i++)
            fprintf(out, "  %s: %s\n", config.notes[i].minor ? "beside" : "note", config.notes[i].text);
    }
    lab_rope_config_free(&config);
}

static void every_configuration(void **state) {
    (void)state;
    char *text = NULL;
    size_t bytes = 0, count = 0;
    locus_error error = {0};
    if (lab_file_read(LOCUS_SOURCE_DIR "/tests/unit/rope_settings.txt", &text, &bytes, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    const char *at = text;
    while (*at == '#')
        at += strcspn(at, "\n") + 1;
    while (*at != '\0') {
        const char *json = at;
        const size_t length = strcspn(json, "\n");
        at += length + 1;
        const char *wanted = at;
        while (*at == ' ')
            at += strcspn(at, "\n") + 1;
        char *found = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&found, &size);
        assert_non_null(out);
        read_text(json, length, out);
        fclose(out);
        if (size != (size_t)(at - wanted) || memcmp(found, wanted, size) != 0)
            fail_msg("%.*s\ngives\n%snot\n%.*s", (int)length, json, found, (int)(at - wanted), wanted);
        free(found);
        count++;
    }
    free(text);
    assert_true(count > 300);
}

/* What is wrong comes as an error of its own, whole, for those who read no file. */
static void errors_are_whole(void **state) {
    (void)state;
    const lab_value nothing = {.kind = LAB_VALUE_OBJECT};
    lab_rope_config config;
    locus_error error = {.status = LOCUS_OK, .offset = 7, .length = 3, .argument = "x"};
    assert_int_equal(lab_rope_read(&config, &nothing, &error), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(error.status, LOCUS_ERROR_ARGUMENT);
    assert_int_equal(error.offset, -1);
    assert_int_equal(error.length, 0);
    assert_string_equal(error.argument, "");
    assert_string_equal(error.message, "has no rotary settings (model_type '', no rope_theta, no rope_parameters)");
    assert_true(config.spec == NULL && config.attention == NULL);
    lab_rope_config_free(&config);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_configuration, scratch_create, scratch_remove),
        cmocka_unit_test(errors_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
