/* SPDX-License-Identifier: MIT */
/* A real pretrained encoder (all-MiniLM-L6-v2) against the transformers package (tools/golden_bert.py FOLDER). The
 * folder with config.json and model.safetensors is named by LOCUS_PRETRAINED; without it, or with other weights than
 * those that the stored outputs come from, nothing is tested (77). */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "bert_case.h"
#include "model/pretrained/pretrained.h"

#define TOLERANCE 1e-5

static const char *folder;

static void test_real_encoder(void **state) {
    (void)state;
    golden_file golden;
    golden_open(&golden, "minilm");
    lab_model *model = bert_case_open(folder, NULL);
    const bert_differences found = bert_case_compare(&golden, 0, model, TOLERANCE);
    print_message("last_hidden_state %.2g, pooler_output %.2g\n", found.hidden, found.pooled);
    lab_model_destroy(&model);
    golden_close(&golden);
}

/* The weights that the golden file was made with. */
static bool has_those_weights(void) {
    locus_error error;
    golden_file golden;
    uint64_t digest = 0;
    char text[17];
    if (folder == NULL || lab_pretrained_digest(folder, &digest, &error) != LOCUS_OK)
        return false;
    golden_open(&golden, "minilm");
    (void)snprintf(text, sizeof text, "%016" PRIx64, digest);
    const char *wanted = lab_safetensors_metadata(&golden.file, "digest");
    const bool same = wanted && strcmp(wanted, text) == 0;
    golden_close(&golden);
    return same;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_real_encoder)};
    folder = getenv("LOCUS_PRETRAINED");
    if (!has_those_weights()) {
        (void)printf("skipped: LOCUS_PRETRAINED names no folder with the weights of all-MiniLM-L6-v2\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
