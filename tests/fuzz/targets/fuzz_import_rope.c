/* SPDX-License-Identifier: MIT */
/* Models' configurations, as `import-rope` reads them and as a pretrained encoder's is read: what is taken gives a
 * pattern whose text is canonical, and notes of one line; a failure is one line that names the file. */
#include "fuzz.h"
#include "model/architecture.h"

#include "io/rope_file.h"
#include "model/pretrained/pretrained.h"
#include "train/train.h"

#include <locus/pattern.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void check_canonical(const char *spec) {
    locus_pattern *pattern = NULL;
    locus_error error = {0};
    FUZZ_REQUIRE(spec != NULL);
    fuzz_check_line(spec);
    FUZZ_REQUIRE_SAYING(locus_pattern_parse(spec, &pattern, &error) == LOCUS_OK, error.message);
    const size_t size = locus_pattern_text(pattern, NULL, 0) + 1;
    char *again = malloc(size);
    FUZZ_REQUIRE(again != NULL && locus_pattern_text(pattern, again, size) + 1 == size);
    FUZZ_REQUIRE_SAYING(strcmp(again, spec) == 0, spec);
    free(again);
    locus_pattern_destroy(&pattern);
}

static void check_rope(const char *path) {
    lab_rope_config config;
    locus_error error = {0};
    const locus_status status = lab_rope_file_read(&config, path, &error);
    if (status == LOCUS_OK) {
        check_canonical(config.spec);
        FUZZ_REQUIRE(config.note_count <= LAB_ROPE_NOTES_MAX);
        for (size_t i = 0; i < config.note_count; i++)
            FUZZ_REQUIRE(config.notes[i].text[0] != '\0');
    } else {
        FUZZ_REQUIRE_SAYING(status == LOCUS_ERROR_IO && strstr(error.message, "config.json' ") != NULL, error.message);
        fuzz_check_failure(status, &error);
    }
    lab_rope_config_free(&config);
}

static void check_pretrained(const char *folder) {
    lab_model_config config = lab_text_classifier.defaults;
    char encoding[LAB_SPEC_SIZE];
    locus_error error = {0};
    locus_pattern *pattern = NULL;
    config.classes = 2;
    const locus_status status = lab_pretrained_config(folder, NULL, encoding, sizeof encoding, &config, &error);
    if (status == LOCUS_OK) {
        FUZZ_REQUIRE(config.encoding == encoding && config.heads > 0 && config.dim % config.heads == 0);
        FUZZ_REQUIRE_SAYING(locus_pattern_parse(encoding, &pattern, &error) == LOCUS_OK, encoding);
    } else {
        FUZZ_REQUIRE_SAYING(status == LOCUS_ERROR_IO || status == LOCUS_ERROR_UNSUPPORTED, error.message);
        fuzz_check_failure(status, &error);
    }
    locus_pattern_destroy(&pattern);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *folder;
    if (folder == NULL) {
        folder = strdup(fuzz_path("model"));
        FUZZ_REQUIRE(folder != NULL && mkdir(folder, 0700) == 0);
    }
    check_rope(fuzz_file("model/config.json", data, size));
    check_pretrained(folder);
    return 0;
}
