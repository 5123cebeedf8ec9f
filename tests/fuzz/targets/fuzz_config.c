/* SPDX-License-Identifier: MIT */
/* A training's configuration as JSON. The input is task, encoding, budget and JSON, parted by the byte 0x1F. What is
 * taken is written as JSON that gives an equal configuration with an equal hash; what is checked has steps, a schedule
 * and a name that is a file's; a failure is one line. */
#include "fuzz.h"

#include "train/configuration/config.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_again(const lab_train_config *config, const lab_run *run) {
    char *json = lab_config_json(config);
    lab_train_config back;
    locus_error error = {0};
    FUZZ_REQUIRE(json != NULL);
    FUZZ_REQUIRE_SAYING(lab_config_parse(&back, json, run, "its own text", &error) == LOCUS_OK, error.message);
    const char *other = lab_config_difference(config, &back);
    FUZZ_REQUIRE_SAYING(other == NULL, other);
    FUZZ_REQUIRE(lab_config_hash(config) == lab_config_hash(&back));
    FUZZ_REQUIRE(config->test_length_count == back.test_length_count);
    FUZZ_REQUIRE(lab_config_same_texts(config, json));
    char *again = lab_config_json(&back);
    FUZZ_REQUIRE(again != NULL && strcmp(json, again) == 0);
    cJSON_free(again);
    cJSON_free(json);
}

static void check_checked(const lab_train_config *config) {
    char name[256];
    const uint64_t steps = lab_config_steps(config), every = lab_config_evaluate_every(config);
    const lab_schedule schedule = lab_config_schedule(config);
    FUZZ_REQUIRE(steps > 0 && every > 0 && lab_config_epoch_steps(config) > 0);
    FUZZ_REQUIRE(isfinite(lab_schedule_rate(&schedule, 0)) && isfinite(lab_schedule_rate(&schedule, steps)));
    lab_train_name(config, name, sizeof name);
    fuzz_check_line(name);
    FUZZ_REQUIRE_SAYING(strchr(name, '/') == NULL && name[0] != '.', name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_parts parts = {data, data + size};
    lab_run run = {
        .task = fuzz_next_part(&parts), .encoding = fuzz_next_part(&parts), .budget = fuzz_next_part(&parts)};
    char *json = fuzz_next_part(&parts);
    lab_train_config config;
    locus_error error = {0};
    locus_status status = lab_config_parse(&config, json, &run, "the run store", &error);
    if (status == LOCUS_OK) {
        check_again(&config, &run);
        status = lab_config_check(&config, &error);
        if (status == LOCUS_OK)
            check_checked(&config);
    } else {
        FUZZ_REQUIRE_SAYING(status == LOCUS_ERROR_IO, error.message);
    }
    if (status != LOCUS_OK)
        fuzz_check_failure(status, &error);
    free(run.task);
    free(run.encoding);
    free(run.budget);
    free(json);
    return 0;
}
