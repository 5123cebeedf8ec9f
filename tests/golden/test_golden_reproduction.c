/* SPDX-License-Identifier: MIT */
/* Measured tables from planted stores, whole, against expected files: the planted scores, the table and what it says
 * for the terminal, as Markdown and as JSON. Two files for each table; tools/golden_report.py computes the statistics
 * of every field, and the contrasts and intervals of every comparison, from the planted scores and looks for them
 * there. No two scores are equal. A store that is written as JSON and read again gives the same page. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "planted_store.h"
#include "unit/scratch_folder.h"
#include "unit/small_text.h"

#include "io/file.h"
#include "output.h"
#include "report/reproduction/reproduction_recorded.h"
#include "report/reproduction/reproduction_report.h"
#include "train/configuration/config.h"
#include "train/store/run_file.h"
#include "train/store/store_sql.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>

#define OK(call) \
    do { \
        locus_error failed = {0}; \
        if ((call) != LOCUS_OK) { \
            fail_msg("%s: %s", #call, failed.message); \
        } \
    } while (0)

static lab_reproduction table; /* too large for the stack, as the result is */
static lab_result result;
static lab_findings findings;
static char text_folder[512];

/* ---- scores ---- */

/* A level for each field; seeds lie apart by less, each by another distance. In every other column two rows are near
 * each other. */
static double planted(size_t row, size_t column, size_t seed, double low, double high) {
    const bool near = row % 4 == 3 && column % 2 == 0;
    const double level =
        fmod(0.37 + 0.6180339887 * (double)(near ? row - 1 : row + 1) + 0.3141592653 * (double)column, 1);
    const double apart = 0.004 * sin(3.0 * (double)seed + (double)row + 7.0 * (double)column);
    return round(1e5 * (low + (high - low) * (0.05 + 0.9 * level + apart))) / 1e5;
}

static void put(lab_store *store, FILE *list, int64_t run, const char *name, double value) {
    OK(lab_store_final_set(store, run, "test", name, value, &failed));
    fprintf(list, " %s=%.5f", name, value);
}

static void put_scores(lab_store *store, FILE *list, int64_t run, const lab_reproduction_place *place) {
    const lab_reproduction_column *column = &table.columns[place->column];
    const size_t r = place->row, c = place->column, s = place->repetition;
    put(store, list, run, "accuracy", c == 1 ? planted(r, c, s, 0.01, 0.1) : planted(r, c, s, 0.1, 1)); /* at chance */
    if (column->class->develops_on_test) {
        put(store, list, run, "accuracy_half", planted(r, c + 5, s, 0.1, 0.9));
        return;
    }
    put(store, list, run, "loss", planted(r, c + 3, s, 0.3, 2));
    if (lab_class_has_score(column->class, "exact"))
        put(store, list, run, "exact", planted(r, c + 1, s, 0, 0.8));
    if (lab_class_has_score(column->class, "exact") || column->config.greedy_samples > 0)
        put(store, list, run, "greedy_exact", planted(r, c + 2, s, 0, 0.7));
}

/* A development curve of twelve scores; steps are those of the table that the training is in. Every third row rises to
 * its end, every fifth field has none; the others have learned what they can. */
static void put_curve(lab_store *store, FILE *list, int64_t run, const lab_reproduction_place *place) {
    const size_t r = place->row, c = place->column, s = place->repetition;
    const uint64_t steps = lab_config_steps(&table.columns[c].config);
    fprintf(list, " curve=");
    for (uint64_t i = 1; i <= 12 && (2 * r + c) % 5 != 4; i++) {
        const double rise = (r + c) % 3 == 2 ? 0.01 * (double)i : 0.002 * sin((double)(i * (s + 1)));
        const double score = round(1e5 * (0.4 + 0.02 * (double)r + rise)) / 1e5;
        OK(lab_store_measured(store, run, i * steps / 12, &(lab_measured){"dev.accuracy", score}, 1, &failed));
        OK(lab_store_measured(store, run, i * steps / 12, &(lab_measured){"dev.loss", 2 - score}, 1, &failed));
        fprintf(list, "%s%.5f", i > 1 ? "," : "", score);
    }
}

/* ---- runs ---- */

/* The last row's first seed failed and its second was stopped; the last seed of the first row was never begun. */
static lab_run_state state_of(const lab_reproduction_place *place) {
    const bool last = place->row + 1 == table.row_count && place->column == 0;
    return last && place->repetition == 0   ? LAB_RUN_FAILED
           : last && place->repetition == 1 ? LAB_RUN_STOPPED
                                            : LAB_RUN_DONE;
}

static const char *asked; /* the command that some of the trainings were made by */

static void plant_run(lab_store *store, FILE *list, lab_reproduction_place place, size_t number) {
    lab_train_config config;
    char encoding[LAB_SPEC_SIZE], name[256], started[24], ended[24];
    OK(lab_reproduction_config(&table, place, &config, encoding, &failed));
    lab_train_name(&config, name, sizeof name);
    char *json = lab_config_json(&config);
    assert_non_null(json);
    snprintf(started, sizeof started, "2024-05-%02zuT%02zu:30:00Z", 1 + number / 24 % 28, number % 24);
    snprintf(ended, sizeof ended, "2024-05-%02zuT%02zu:59:00Z", 1 + number / 24 % 28, number % 24);
    lab_run run = {.name = name,
                   .task = (char *)(uintptr_t)config.task->name,
                   .encoding = encoding,
                   .setup = (char *)(uintptr_t)lab_setup_name(config.setup),
                   .embedding_init = (char *)(uintptr_t)lab_embedding_init_name(config.model.embedding_init),
                   .budget = (char *)(uintptr_t)config.budget,
                   .config = json,
                   .command = (char *)(uintptr_t)(number % 2   ? "locus reproduce a --seeds 3 --jobs 2"
                                                  : number % 4 ? "locus train --seeds 5"
                                                               : asked),
                   .version = (char *)(uintptr_t)(number % 2 ? "0.0.8" : "0.0.9"),
                   .machine = (char *)(uintptr_t) "a machine | 2 threads",
                   .seed = config.seed,
                   .data_seed = config.data_seed,
                   .state = state_of(&place),
                   .wall_seconds = 100.25 + (double)number,
                   .peak_bytes = 104857600 + 1048576 * (int64_t)(number % 7),
                   .started = started,
                   .ended = ended};
    OK(lab_store_run_insert(store, &run, &failed));
    cJSON_free(json);
    const lab_reproduction_column *column = &table.columns[place.column];
    fprintf(list, "%s %s %zu %s", column->name, column->rows[place.row].key, place.repetition,
            lab_run_state_name(run.state));
    put_scores(store, list, run.id, &place);
    put_curve(store, list, run.id, &place);
    fputc('\n', list);
}

static void plant(lab_store *store, FILE *list) {
    size_t number = 0;
    OK(lab_store_begin(store, &failed));
    for (size_t column = 0; column < table.column_count; column++) {
        for (size_t row = 0; row < table.row_count; row++) {
            for (size_t seed = 0; seed < table.seeds; seed++) {
                const bool begun = row > 0 || column > 0 || table.seeds == 1 || seed + 1 < table.seeds;
                if (begun && lab_reproduction_leads(&table, column) && lab_reproduction_has(&table, row, column))
                    plant_run(store, list, (lab_reproduction_place){row, column, seed}, number++);
            }
        }
    }
    OK(lab_store_commit(store, &failed));
}

/* ---- outputs ---- */

/* The version of this program is not always the same. */
static void put_markdown(const lab_reproduction_view *view, FILE *stream) {
    char *text = NULL;
    size_t bytes;
    OK(lab_reproduction_markdown(view, scratch_path("table.md"), &failed));
    OK(lab_file_read(scratch_path("table.md"), &text, &bytes, &failed));
    char *line = strstr(text, "| this file by |");
    assert_non_null(line);
    fprintf(stream, "%.*s%s", (int)(line - text), text, strchr(line, '\n') + 1);
    free(text);
}

static void compare_json(const lab_reproduction_view *view, const char *expected) {
    cJSON *root = lab_reproduction_json(view);
    assert_non_null(root);
    planted_json_is(root, expected);
    cJSON_Delete(root);
}

/* Guesses by columns, so that no data has to be drawn. */
static void guess(void) {
    memset(&result, 0, sizeof result);
    for (size_t i = 0; i < table.column_count; i++) {
        const lab_reproduction_column *column = &table.columns[i];
        if (column->measure == LAB_MEASURE_ACCURACY) {
            result.chance[i] = 0.0625 + 0.01 * (double)i;
            result.uniform[i] = column->class->stores_chance ? 0.05 + 0.01 * (double)i : 0;
        }
    }
}

static lab_reproduction_view view_of_all(void) {
    return (lab_reproduction_view){
        .table = &table, .result = &result, .findings = &findings, .command = "locus reproduce 'a|b'"};
}

/* From one hour on the time is in hours. */
static void check_hours(lab_reproduction_view view) {
    static const struct {
        double seconds;
        const char *text;
    } cases[] = {{3599, "| time | 60.0 minutes of"}, {3600, "| time | 1.0 hours of"}};
    lab_result other = result;
    view.result = &other;
    for (size_t i = 0; i < 2; i++) {
        other.wall_seconds = cases[i].seconds;
        char *page = lab_reproduction_markdown_text(&view);
        assert_non_null(page);
        if (strstr(page, cases[i].text) == NULL)
            fail_msg("%g seconds: no '%s'", cases[i].seconds, cases[i].text);
        free(page);
    }
}

/* ---- runs as JSON ---- */

static char *page_of(lab_store *store) {
    OK(lab_result_read(&result, &table, store, &failed));
    OK(lab_findings_make(&findings, &table, &result, &failed));
    const lab_reproduction_view view = view_of_all();
    char *page = lab_reproduction_markdown_text(&view);
    assert_non_null(page);
    lab_findings_free(&findings);
    return page;
}

/* Writes the finished runs and deletes the others. */
static void export_runs(lab_store *store, const char *path) {
    lab_run *runs;
    size_t count;
    OK(lab_store_runs(store, NULL, &runs, &count, &failed));
    OK(lab_run_file_write(store, runs, count, NULL, path, &failed));
    for (size_t i = 0; i < count; i++) {
        if (runs[i].state != LAB_RUN_DONE)
            OK(lab_store_run_delete(store, runs[i].id, &failed));
        lab_run_free(&runs[i]);
    }
    free(runs);
}

static void assert_same_files(const char *a, const char *b) {
    char *texts[2];
    size_t bytes[2];
    OK(lab_file_read(a, &texts[0], &bytes[0], &failed));
    OK(lab_file_read(b, &texts[1], &bytes[1], &failed));
    assert_int_equal(bytes[0], bytes[1]);
    assert_memory_equal(texts[0], texts[1], bytes[0]);
    free(texts[0]);
    free(texts[1]);
}

/* A store that was read from what another one was written as gives the same page, and the same file; the page also
 * where the data are not. */
static void check_round_trip(lab_store *store, const lab_reproduction_request *request) {
    lab_store *other = NULL;
    lab_run_file_content content;
    export_runs(store, scratch_path("one.json"));
    OK(lab_store_open(&other, ":memory:", &failed));
    OK(lab_run_file_read(other, scratch_path("one.json"), &content, &failed));
    export_runs(other, scratch_path("two.json"));
    assert_same_files(scratch_path("one.json"), scratch_path("two.json"));
    char *here = page_of(store), *there = page_of(other);
    assert_int_equal(content.added, result.done);
    assert_int_equal(content.known, 0);
    assert_string_equal(here, there);
    free(there);
    lab_reproduction_request bare = *request;
    bare.recorded = other;
    bare.data_path = request->data_path != NULL ? "nowhere" : NULL;
    OK(lab_reproduction_make(&table, &bare, &failed));
    OK(lab_reproduction_check(&table, other, &failed));
    there = page_of(other);
    assert_string_equal(here, there);
    OK(lab_store_execute(other,
                         "UPDATE run SET config = replace(config, '\"batch\":', '\"batch\":1') WHERE id IN "
                         "(SELECT max(id) FROM run)",
                         &failed));
    assert_int_equal(lab_reproduction_check(&table, other, NULL), LOCUS_ERROR_IO);
    free(here);
    free(there);
    lab_store_close(&other);
}

/* ---- whole ---- */

/* What the program prints on standard output. */
static void put_terminal(const lab_reproduction_view *view, FILE *stream) {
    char *printed = NULL;
    size_t bytes;
    lab_shown shown;
    const int file = open(scratch_path("printed"), O_RDWR | O_CREAT | O_TRUNC, 0600), saved = dup(STDOUT_FILENO);
    assert_true(fflush(stdout) == 0 && file >= 0 && saved >= 0 && dup2(file, STDOUT_FILENO) == STDOUT_FILENO);
    OK(lab_reproduction_show(&shown, view, &failed));
    assert_int_equal(cli_shown_print(&shown), 0);
    assert_true(fflush(stdout) == 0 && dup2(saved, STDOUT_FILENO) == STDOUT_FILENO);
    assert_true(close(file) == 0 && close(saved) == 0);
    OK(lab_file_read(scratch_path("printed"), &printed, &bytes, &failed));
    fputs(printed, stream);
    free(printed);
}

static void compare(const lab_reproduction_request *request, const char *expected) {
    lab_store *store = NULL;
    char *text = NULL, name[64];
    asked = request->drop_worst ? "locus reproduce a --jobs 2" : "locus compare --seeds=3";
    size_t bytes;
    snprintf(name, sizeof name, "%s.db", expected);
    OK(lab_reproduction_make(&table, request, &failed));
    OK(lab_store_open(&store, scratch_path(name), &failed));
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    plant(store, stream);
    guess();
    OK(lab_result_read(&result, &table, store, &failed));
    OK(lab_findings_make(&findings, &table, &result, &failed));
    const lab_reproduction_view view = view_of_all();
    fputs("==== terminal\n", stream);
    put_terminal(&view, stream);
    fputs("==== Markdown\n", stream);
    put_markdown(&view, stream);
    check_hours(view);
    assert_int_equal(fclose(stream), 0);
    snprintf(name, sizeof name, "%s.txt", expected);
    planted_text_is(text, name);
    snprintf(name, sizeof name, "%s.json", expected);
    compare_json(&view, name);
    free(text);
    lab_findings_free(&findings);
    check_round_trip(store, request);
    lab_store_close(&store);
}

/* ---- the tables ---- */

#define LIST(...) ((char *const[]){__VA_ARGS__})

static void words(void **state) {
    (void)state;
    compare(&(lab_reproduction_request){.table = "table1", .budget = "smoke", .first_seed = 4}, "reproduction_words");
}

static void trees(void **state) {
    (void)state;
    compare(&(lab_reproduction_request){.table = "table2",
                                        .budget = "quick",
                                        .setup = LAB_SETUP_CODE,
                                        .decay = LAB_DECAY_BOTH,
                                        .seeds = 2,
                                        .columns = LIST("tree-copy"),
                                        .column_count = 1},
            "reproduction_trees");
}

static void images(void **state) {
    (void)state;
    compare(&(lab_reproduction_request){.table = "table3", .budget = "paper", .more = true, .seeds = 1},
            "reproduction_images");
}

static void sequences(void **state) {
    (void)state;
    compare(&(lab_reproduction_request){.table = "roper",
                                        .budget = "quick",
                                        .more = true,
                                        .drop_worst = true,
                                        .seeds = 4,
                                        .data_path = text_folder},
            "reproduction_sequences");
}

static void expressions(void **state) {
    (void)state;
    compare(&(lab_reproduction_request){.table = "listops", .budget = "quick", .seeds = 3}, "reproduction_expressions");
}

/* ---- */

static int create(void **state) {
    return scratch_create(state) || small_text_create(text_folder, sizeof text_folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),     cmocka_unit_test(trees),       cmocka_unit_test(images),
        cmocka_unit_test(sequences), cmocka_unit_test(expressions),
    };
    return cmocka_run_group_tests(tests, create, scratch_remove);
}
