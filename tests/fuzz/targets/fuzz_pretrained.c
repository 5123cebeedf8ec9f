/* SPDX-License-Identifier: MIT */
/* Weights of a pretrained encoder: the input as the model.safetensors of a small one. What is taken is a model that
 * scores a batch; what is refused leaves the model as it was, with one line that names the file. */
#include "fuzz.h"

#include "model/architecture.h"
#include "model/pretrained/pretrained.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct scene {
    char folder[512], encoding[128];
    lab_model *model;
    float *kept;
    size_t bytes;
} scene;

static scene *open_scene(void) {
    static scene made;
    static const char config[] = "{\"vocab_size\": 5, \"hidden_size\": 4, \"num_attention_heads\": 1, "
                                 "\"intermediate_size\": 4, \"num_hidden_layers\": 1, \"max_position_embeddings\": 3}";
    lab_model_config wanted = lab_text_classifier.defaults;
    locus_error error = {0};
    if (made.model != NULL)
        return &made;
    snprintf(made.folder, sizeof made.folder, "%s", fuzz_path("encoder"));
    FUZZ_REQUIRE(mkdir(made.folder, 0700) == 0);
    fuzz_file("encoder/config.json", (const uint8_t *)config, sizeof config - 1);
    wanted.classes = 2;
    FUZZ_REQUIRE_SAYING(
        lab_pretrained_config(made.folder, NULL, made.encoding, sizeof made.encoding, &wanted, &error) == LOCUS_OK,
        error.message);
    FUZZ_REQUIRE_SAYING(lab_model_create(&made.model, &wanted, 1, &error) == LOCUS_OK, error.message);
    made.bytes = lab_model_elements(made.model) * sizeof *made.kept;
    made.kept = malloc(made.bytes);
    FUZZ_REQUIRE(made.kept != NULL);
    memcpy(made.kept, lab_model_values(made.model), made.bytes);
    return &made;
}

static void score(const scene *on) {
    static const size_t offsets[] = {0, 2, 5};
    static const int32_t tokens[] = {1, 2, 3, 1, 4}, labels[] = {0, 1};
    const lab_batch batch = {.samples = 2, .input_offsets = offsets, .input = tokens, .labels = labels};
    lab_score found = {0};
    locus_error error = {0};
    const locus_status status = lab_model_evaluate(on->model, &batch, &found, &error);
    if (status == LOCUS_OK)
        FUZZ_REQUIRE(found.samples == 2 && found.exact <= 2);
    else
        fuzz_check_failure(status, &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const scene *on = open_scene();
    locus_error error = {0};
    fuzz_file("encoder/model.safetensors", data, size);
    const locus_status status = lab_pretrained_load(on->model, on->folder, &error);
    if (status == LOCUS_OK) {
        score(on);
        memcpy(lab_model_values(on->model), on->kept, on->bytes);
        FUZZ_REQUIRE(lab_model_update(on->model, NULL) == LOCUS_OK);
    } else {
        FUZZ_REQUIRE_SAYING(strstr(error.message, "model.safetensors") != NULL, error.message);
        fuzz_check_failure(status, &error);
        FUZZ_REQUIRE(memcmp(lab_model_values(on->model), on->kept, on->bytes) == 0);
    }
    return 0;
}
