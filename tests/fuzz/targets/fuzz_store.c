/* SPDX-License-Identifier: MIT */
/* Run stores as files: whatever a database holds, its runs, metrics and scores come as texts, or a failure is one line
 * that names the file. What comes is summarised as a report does it. */
#include "fuzz.h"

#include "report/tables/summary.h"
#include "train/store/store.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check(locus_status status, const locus_error *error) {
    if (status != LOCUS_OK) {
        FUZZ_REQUIRE_SAYING(status == LOCUS_ERROR_IO || status == LOCUS_ERROR_MEMORY, error->message);
        fuzz_check_failure(status, error);
    }
}

static void read_run(lab_store *store, lab_run *run) {
    lab_metric *metrics = NULL;
    lab_final *finals = NULL;
    size_t count;
    locus_error error = {0};
    const char *const texts[] = {run->name,    run->task,    run->encoding, run->setup,   run->embedding_init,
                                 run->budget,  run->config,  run->command,  run->version, run->machine,
                                 run->message, run->started, run->ended};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        FUZZ_REQUIRE(texts[i] != NULL);
    FUZZ_REQUIRE(lab_run_state_name(run->state) != NULL);
    check(lab_store_metrics(store, run->id, "dev.loss", &metrics, &count, &error), &error);
    check(lab_store_finals(store, run->id, &finals, &count, &error), &error);
    free(metrics);
    free(finals);
}

static void read_runs(lab_store *store) {
    const lab_run_filter filter = {0};
    lab_run *runs = NULL;
    size_t count = 0;
    locus_error error = {0};
    const locus_status status = lab_store_runs(store, &filter, &runs, &count, &error);
    check(status, &error);
    for (size_t i = 0; status == LOCUS_OK && i < count; i++) {
        read_run(store, &runs[i]);
        lab_run_free(&runs[i]);
    }
    free(runs);
}

static void summarise(lab_store *store) {
    const lab_summary_filter filter = {0};
    lab_summary summary = {0};
    locus_error error = {0};
    const locus_status status = lab_summary_create(&summary, store, &filter, &error);
    if (status == LOCUS_OK) {
        cJSON *root = lab_summary_json(&summary);
        FUZZ_REQUIRE(root != NULL);
        cJSON_Delete(root);
        lab_summary_free(&summary);
    } else {
        fuzz_check_failure(status, &error);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *path = fuzz_file("input.db", data, size);
    lab_store *store = NULL;
    locus_error error = {0};
    const locus_status status = lab_store_open_reading(&store, path, &error);
    check(status, &error);
    if (status == LOCUS_OK) {
        read_runs(store);
        summarise(store);
    }
    lab_store_close(&store);
    unlink(fuzz_path("input.db-wal"));
    unlink(fuzz_path("input.db-shm"));
    unlink(fuzz_path("input.db-journal"));
    return 0;
}
