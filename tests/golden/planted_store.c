/* SPDX-License-Identifier: MIT */
/* See planted_store.h. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "planted_store.h"

#include "io/file.h"

#include <cjson/cJSON.h>

#define OK(call) \
    do { \
        locus_error failed = {0}; \
        if ((call) != LOCUS_OK) { \
            fail_msg("%s: %s", #call, failed.message); \
        } \
    } while (0)

char *planted_text(const char *name) {
    const char *source = getenv("LOCUS_SOURCE");
    char path[1024], *text = NULL;
    size_t bytes;
    snprintf(path, sizeof path, "%s/tests/golden/%s", source != NULL ? source : LOCUS_SOURCE_DIR, name);
    OK(lab_file_read(path, &text, &bytes, &failed));
    return text;
}

/* ---- runs ---- */

static char *text_of(const cJSON *run, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(run, name);
    assert_true(cJSON_IsString(item));
    return item->valuestring;
}

static double number_of(const cJSON *run, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(run, name);
    assert_true(cJSON_IsNumber(item));
    return item->valuedouble;
}

static void write_finals(lab_store *store, int64_t run, const cJSON *sets) {
    for (const cJSON *set = sets->child; set != NULL; set = set->next)
        for (const cJSON *score = set->child; score != NULL; score = score->next)
            OK(lab_store_final_set(store, run, set->string, score->string, score->valuedouble, &failed));
}

static void write_curves(lab_store *store, int64_t run, const cJSON *curves) {
    for (const cJSON *curve = curves->child; curve != NULL; curve = curve->next) {
        for (const cJSON *point = curve->child; point != NULL; point = point->next) {
            const uint64_t step = (uint64_t)point->child->valuedouble;
            OK(lab_store_measured(store, run, step, &(lab_measured){curve->string, point->child->next->valuedouble}, 1,
                                  &failed));
        }
    }
}

static void write_run(lab_store *store, const cJSON *from) {
    char *config = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(from, "config"));
    lab_run run = {.name = text_of(from, "name"),
                   .task = text_of(from, "task"),
                   .encoding = text_of(from, "encoding"),
                   .setup = text_of(from, "setup"),
                   .embedding_init = text_of(from, "embedding_init"),
                   .budget = text_of(from, "budget"),
                   .config = config,
                   .command = text_of(from, "command"),
                   .version = text_of(from, "version"),
                   .machine = text_of(from, "machine"),
                   .message = text_of(from, "message"),
                   .seed = (uint64_t)number_of(from, "seed"),
                   .data_seed = (uint64_t)number_of(from, "data_seed"),
                   .state = (lab_run_state)number_of(from, "state"),
                   .steps_total = (uint64_t)number_of(from, "steps_total"),
                   .steps_done = (uint64_t)number_of(from, "steps_done"),
                   .tokens_seen = (uint64_t)number_of(from, "tokens_seen"),
                   .wall_seconds = number_of(from, "wall_seconds"),
                   .tokens_per_second = number_of(from, "tokens_per_second"),
                   .peak_bytes = (int64_t)number_of(from, "peak_bytes"),
                   .parameters = (int64_t)number_of(from, "parameters"),
                   .started = text_of(from, "started"),
                   .ended = text_of(from, "ended")};
    OK(lab_store_run_insert(store, &run, &failed));
    write_finals(store, run.id, cJSON_GetObjectItemCaseSensitive(from, "finals"));
    write_curves(store, run.id, cJSON_GetObjectItemCaseSensitive(from, "curves"));
    cJSON_free(config);
}

void planted_store_open(lab_store **store, const char *path) {
    char *text = planted_text("report_runs.json");
    cJSON *runs = cJSON_Parse(text);
    assert_non_null(runs);
    OK(lab_store_open(store, path, &failed));
    OK(lab_store_begin(*store, &failed));
    for (const cJSON *run = runs->child; run != NULL; run = run->next)
        write_run(*store, run);
    OK(lab_store_commit(*store, &failed));
    cJSON_Delete(runs);
    free(text);
}

/* ---- comparisons ---- */

static void keep(const char *made, const char *name, char *path, size_t size) {
    const char *build = getenv("LOCUS_BUILD");
    assert_non_null(build); /* ctest says where */
    snprintf(path, size, "%s/%s", build, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(made, file);
    assert_int_equal(fclose(file), 0);
}

void planted_text_is(const char *made, const char *expected_name) {
    char *expected = planted_text(expected_name);
    if (strcmp(made, expected) != 0) {
        char path[1024];
        size_t line = 1, start = 0;
        for (size_t i = 0; made[i] != '\0' && made[i] == expected[i]; i++) {
            if (made[i] == '\n') {
                line++;
                start = i + 1;
            }
        }
        keep(made, expected_name, path, sizeof path);
        fail_msg("%s, line %zu:\n  %.*s\nis expected, not\n  %.*s\nall of it is in %s", expected_name, line,
                 (int)strcspn(expected + start, "\n"), expected + start, (int)strcspn(made + start, "\n"), made + start,
                 path);
    }
    free(expected);
}

/* Where two values differ, in words; "" if they don't. */
typedef struct difference {
    char text[1024];
} difference;

static void compare(const cJSON *made, const cJSON *expected, const char *path, difference *found);

static void compare_children(const cJSON *made, const cJSON *expected, const char *path, difference *found) {
    const cJSON *a = made->child, *b = expected->child;
    size_t i = 0;
    for (; a != NULL && b != NULL && found->text[0] == '\0'; i++, a = a->next, b = b->next) {
        char name[256];
        if (cJSON_IsArray(expected)) {
            snprintf(name, sizeof name, "%.200s[%zu]", path, i);
        } else {
            snprintf(name, sizeof name, "%.200s.%.50s", path, b->string);
            if (strcmp(a->string, b->string) != 0) {
                snprintf(found->text, sizeof found->text, "%s is called '%s'", name, a->string);
                return;
            }
        }
        compare(a, b, name, found);
    }
    if (found->text[0] == '\0' && (a != NULL || b != NULL))
        snprintf(found->text, sizeof found->text, "%s %s after %zu", path, a == NULL ? "ends too early" : "goes on", i);
}

static void compare(const cJSON *made, const cJSON *expected, const char *path, difference *found) {
    if ((made->type & 0xFF) != (expected->type & 0xFF)) {
        snprintf(found->text, sizeof found->text, "%s has another type", path);
    } else if (cJSON_IsNumber(expected)) {
        const double a = made->valuedouble, b = expected->valuedouble;
        if (!(fabs(a - b) <= 1e-12 * fmax(1, fabs(b))))
            snprintf(found->text, sizeof found->text, "%s is %.17g, not %.17g", path, a, b);
    } else if (cJSON_IsString(expected)) {
        if (strcmp(made->valuestring, expected->valuestring) != 0) {
            snprintf(found->text, sizeof found->text, "%s is '%.200s', not '%.200s'", path, made->valuestring,
                     expected->valuestring);
        }
    } else {
        compare_children(made, expected, path, found);
    }
}

void planted_json_is(const cJSON *made, const char *expected_name) {
    char *text = planted_text(expected_name), path[1024];
    cJSON *expected = cJSON_Parse(text);
    difference found = {""};
    if (expected == NULL)
        snprintf(found.text, sizeof found.text, "it is not JSON");
    else
        compare(made, expected, "", &found);
    cJSON_Delete(expected);
    free(text);
    if (found.text[0] != '\0') {
        char *printed = cJSON_Print(made);
        assert_non_null(printed);
        keep(printed, expected_name, path, sizeof path);
        cJSON_free(printed);
        fail_msg("%s: %s; all of it is in %s", expected_name, found.text, path);
    }
}
