/* SPDX-License-Identifier: MIT */
/* Rows of a run store. The input is the texts of a run, parted by the byte 0x1F; of four more, a metric's name and a
 * score's, a note, and the name of the run that it goes on from. What is inserted is found by its name and by its
 * number, with the same texts; it is summarised; and it is gone once it is taken back. */
#include "fuzz.h"

#include "report/tables/summary.h"
#include "train/store/store.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS = 15, INSERTED = 13 };

static void list_texts(lab_run *run, char **texts[TEXTS]) {
    char **const all[TEXTS] = {&run->name,    &run->task,    &run->encoding, &run->setup,   &run->embedding_init,
                               &run->budget,  &run->config,  &run->command,  &run->version, &run->machine,
                               &run->message, &run->started, &run->ended,    &run->note,    &run->parent};
    memcpy(texts, all, sizeof all);
}

static void check_same(lab_run *a, lab_run *b) {
    char **one[TEXTS], **other[TEXTS];
    list_texts(a, one);
    list_texts(b, other);
    for (size_t i = 0; i < TEXTS; i++)
        FUZZ_REQUIRE_SAYING(strcmp(*one[i], *other[i]) == 0, *one[i]);
    FUZZ_REQUIRE(a->id == b->id && a->state == b->state && a->seed == b->seed);
}

static void check_found(lab_store *store, lab_run *run) {
    lab_run found = {0};
    locus_error error = {0};
    char number[32];
    snprintf(number, sizeof number, "%lld", (long long)run->id);
    FUZZ_REQUIRE_SAYING(lab_store_run_find(store, number, &found, &error) == LOCUS_OK, error.message);
    if (strcmp(run->name, number) != 0)
        check_same(run, &found);
    lab_run_free(&found);
    /* A name that is a number, or empty, is found as something else, or as nothing. */
    const locus_status status = lab_store_run_find(store, run->name, &found, &error);
    if (status != LOCUS_OK)
        fuzz_check_failure(status, &error);
    else if (strspn(run->name, "0123456789") != strlen(run->name))
        check_same(run, &found);
    lab_run_free(&found);
}

static void check_scores(lab_store *store, const lab_run *run, const char *metric, const char *score) {
    lab_metric *metrics = NULL;
    lab_final *finals = NULL;
    size_t count = 0;
    FUZZ_REQUIRE(lab_store_measured(store, run->id, 7, &(lab_measured){metric, 0.5}, 1, NULL) == LOCUS_OK);
    FUZZ_REQUIRE(lab_store_metrics(store, run->id, metric, &metrics, &count, NULL) == LOCUS_OK);
    FUZZ_REQUIRE(count == 1 && metrics[0].step == 7 && metrics[0].value >= 0.5 && metrics[0].value <= 0.5);
    FUZZ_REQUIRE(lab_store_final_set(store, run->id, score, "accuracy", 0.25, NULL) == LOCUS_OK);
    FUZZ_REQUIRE(lab_store_final_set(store, run->id, "test", score, 0.25, NULL) == LOCUS_OK);
    FUZZ_REQUIRE(lab_store_finals(store, run->id, &finals, &count, NULL) == LOCUS_OK && count >= 1);
    free(metrics);
    free(finals);
}

static void summarise(lab_store *store) {
    const lab_summary_filter filter = {0};
    lab_summary summary = {0};
    locus_error error = {0};
    const locus_status status = lab_summary_create(&summary, store, &filter, &error);
    cJSON *root = status == LOCUS_OK ? lab_summary_json(&summary) : NULL;
    FUZZ_REQUIRE_SAYING(root != NULL, error.message);
    FUZZ_REQUIRE(summary.run_count == 1);
    cJSON_Delete(root);
    lab_summary_free(&summary);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static lab_store *store;
    fuzz_parts parts = {data, data + size};
    lab_run run = {.seed = size, .state = LAB_RUN_DONE};
    char **texts[TEXTS];
    locus_error error = {0};
    if (store == NULL)
        FUZZ_REQUIRE_SAYING(lab_store_open(&store, fuzz_path("rows.db"), &error) == LOCUS_OK, error.message);
    list_texts(&run, texts);
    for (size_t i = 0; i < INSERTED; i++)
        *texts[i] = fuzz_next_part(&parts);
    char *metric = fuzz_next_part(&parts), *score = fuzz_next_part(&parts);
    for (size_t i = INSERTED; i < TEXTS; i++)
        *texts[i] = fuzz_next_part(&parts);
    FUZZ_REQUIRE(lab_store_begin(store, NULL) == LOCUS_OK);
    FUZZ_REQUIRE_SAYING(lab_store_run_insert(store, &run, &error) == LOCUS_OK, error.message);
    FUZZ_REQUIRE_SAYING(lab_store_run_note(store, run.id, run.note, &error) == LOCUS_OK, error.message);
    FUZZ_REQUIRE_SAYING(lab_store_run_parent(store, run.id, run.parent, &error) == LOCUS_OK, error.message);
    check_found(store, &run);
    check_scores(store, &run, metric, score);
    summarise(store);
    lab_store_rollback(store);
    FUZZ_REQUIRE(lab_store_run_find(store, "1", &(lab_run){0}, &error) != LOCUS_OK);
    free(metric);
    free(score);
    lab_run_free(&run);
    return 0;
}
