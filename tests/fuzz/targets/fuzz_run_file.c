/* SPDX-License-Identifier: MIT */
/* Files of runs: whatever a text holds, its runs are in the store afterwards, or none is and the failure is one line.
 * What was taken is written as a text that is taken in the same way, and written as the same bytes again. */
#include "fuzz.h"

#include "io/file.h"
#include "train/store/run_file.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

static lab_store *open_memory(void) {
    lab_store *store = NULL;
    locus_error error = {0};
    FUZZ_REQUIRE_SAYING(lab_store_open(&store, ":memory:", &error) == LOCUS_OK, error.message);
    return store;
}

/* Writes all runs of a store; the file's text, from malloc, and how many they are. */
static char *write_runs(lab_store *store, const cJSON *table, size_t *count) {
    lab_run *runs;
    char *text;
    size_t bytes;
    locus_error error = {0};
    const char *path = fuzz_file("runs.json", (const uint8_t *)"", 0);
    FUZZ_REQUIRE_SAYING(lab_store_runs(store, NULL, &runs, count, &error) == LOCUS_OK, error.message);
    FUZZ_REQUIRE_SAYING(lab_run_file_write(store, runs, *count, table, path, &error) == LOCUS_OK, error.message);
    FUZZ_REQUIRE_SAYING(lab_file_read(path, &text, &bytes, &error) == LOCUS_OK, error.message);
    FUZZ_REQUIRE(strlen(text) == bytes);
    for (size_t i = 0; i < *count; i++) {
        FUZZ_REQUIRE(runs[i].imported && runs[i].state == LAB_RUN_DONE);
        fuzz_check_line(runs[i].name);
        lab_run_free(&runs[i]);
    }
    free(runs);
    return text;
}

static void check_again(const char *text, size_t runs) {
    lab_store *store = open_memory();
    lab_run_file_content content;
    locus_error error = {0};
    size_t count;
    FUZZ_REQUIRE_SAYING(lab_run_file_take(store, text, strlen(text), "again", &content, &error) == LOCUS_OK,
                        error.message);
    FUZZ_REQUIRE(content.added == runs && content.known == 0);
    char *again = write_runs(store, content.table, &count);
    FUZZ_REQUIRE_SAYING(strcmp(again, text) == 0, again);
    free(again);
    cJSON_Delete(content.table);
    lab_store_close(&store);
}

static size_t count_runs(lab_store *store) {
    lab_run *runs;
    size_t count;
    locus_error error = {0};
    FUZZ_REQUIRE_SAYING(lab_store_runs(store, NULL, &runs, &count, &error) == LOCUS_OK, error.message);
    lab_runs_free(runs, count);
    return count;
}

/* What was taken, once more; the store is thrown away. */
static void check_taken(lab_store **store, const lab_run_file_content *content) {
    size_t count;
    char *text = write_runs(*store, content->table, &count);
    FUZZ_REQUIRE(count == content->added);
    check_again(text, count);
    free(text);
    lab_store_close(store);
}

/* A store that is empty again serves the next input, too: making one takes longer than reading one. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static lab_store *store;
    lab_run_file_content content;
    locus_error error = {0};
    if (store == NULL)
        store = open_memory();
    char *copy = malloc(size + (size == 0)); /* of its very size, so that a sanitizer sees what is read behind it */
    FUZZ_REQUIRE(copy != NULL);
    if (size > 0)
        memcpy(copy, data, size);
    const locus_status status = lab_run_file_take(store, copy, size, "input.json", &content, &error);
    if (status != LOCUS_OK) {
        fuzz_check_failure(status, &error);
        FUZZ_REQUIRE(content.added == 0 && content.known == 0 && content.table == NULL);
        FUZZ_REQUIRE(count_runs(store) == 0);
    } else if (content.added > 0) {
        check_taken(&store, &content);
    }
    free(copy);
    cJSON_Delete(content.table);
    return 0;
}
