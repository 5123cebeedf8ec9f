/* SPDX-License-Identifier: MIT */
/* What `locus runs` prints of a planted store, whole, against report_list.txt: the list, a filtered one, a run as text
 * and as JSON, the list as JSON (its numbers are those of report_runs.json, which is read here again). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "planted_store.h"
#include "unit/scratch_folder.h"

#include <cjson/cJSON.h>
#include <math.h>

static int create(void **state) {
    lab_store *store = NULL;
    if (scratch_create(state) != 0)
        return -1;
    planted_store_open(&store, scratch_path("locus.db"));
    lab_store_close(&store);
    return 0;
}

/* Standard output of the program; from malloc. */
static char *output_of(const char *arguments) {
    const char *program = getenv("LOCUS");
    char command[1024], *text = NULL;
    size_t bytes = 0, count;
    char part[4096];
    snprintf(command, sizeof command, "'%s' runs --store '%s' %s", program != NULL ? program : "build/release/locus",
             scratch_path("locus.db"), arguments);
    FILE *pipe = popen(command, "r"), *stream = open_memstream(&text, &bytes);
    assert_non_null(pipe);
    assert_non_null(stream);
    while ((count = fread(part, 1, sizeof part, pipe)) > 0)
        assert_int_equal(fwrite(part, 1, count, stream), count);
    assert_int_equal(pclose(pipe), 0);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static void as_text(void **state) {
    (void)state;
    static const char *const commands[] = {
        "", "--task cifar10 --encoding none", "--encoding cope", "--task copi", "show copy-0-3-s0", "show '#2'"};
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char *made = output_of(commands[i]);
        fprintf(stream, "==== runs %s\n%s", commands[i], made);
        free(made);
    }
    assert_int_equal(fclose(stream), 0);
    planted_text_is(text, "report_list.txt");
    free(text);
}

static const cJSON *field(const cJSON *object, const char *name) {
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, name);
    if (found == NULL)
        fail_msg("no field '%s'", name);
    return found;
}

/* Sets and scores, in either order. */
static void same_scores(const cJSON *made, const cJSON *planted, const char *run) {
    size_t scores = 0, found = 0;
    for (const cJSON *set = planted->child; set != NULL; set = set->next) {
        for (const cJSON *score = set->child; score != NULL; score = score->next, scores++) {
            const cJSON *own = cJSON_GetObjectItemCaseSensitive(made, set->string);
            const cJSON *value = cJSON_GetObjectItemCaseSensitive(own, score->string);
            if (!cJSON_IsNumber(value) || fabs(value->valuedouble - score->valuedouble) > 1e-12)
                fail_msg("%s: %s of %s", run, score->string, set->string);
        }
    }
    for (const cJSON *set = made->child; set != NULL; set = set->next)
        found += (size_t)cJSON_GetArraySize(set);
    assert_int_equal(found, scores);
}

static void as_json(void **state) {
    (void)state;
    static const char *const texts[] = {"name",    "task",    "encoding", "setup",   "embedding_init", "budget",
                                        "command", "version", "machine",  "message", "started",        "ended"};
    static const char *const numbers[] = {"seed",         "steps_total",       "steps_done", "tokens_seen",
                                          "wall_seconds", "tokens_per_second", "peak_bytes", "parameters"};
    static const char *const states[] = {"started", "done", "stopped", "failed"};
    char *text = output_of("--json"), *from = planted_text("report_runs.json");
    cJSON *list = cJSON_Parse(text), *planted = cJSON_Parse(from);
    assert_non_null(list);
    assert_int_equal(cJSON_GetArraySize(list), cJSON_GetArraySize(planted));
    double id = 0;
    for (const cJSON *run = list->child, *own = planted->child; run != NULL; run = run->next, own = own->next) {
        const char *name = field(run, "name")->valuestring;
        assert_true(fabs(field(run, "id")->valuedouble - ++id) < 0.5);
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            assert_string_equal(field(run, texts[i])->valuestring, field(own, texts[i])->valuestring);
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            const double wanted = field(own, numbers[i])->valuedouble;
            const double value = strcmp(numbers[i], "seed") == 0 && cJSON_IsString(field(run, "seed"))
                                     ? strtod(field(run, "seed")->valuestring, NULL)
                                     : field(run, numbers[i])->valuedouble;
            if (fabs(value - wanted) > 1e-9 * fmax(1, wanted))
                fail_msg("%s: %s is %.17g", name, numbers[i], value);
        }
        assert_string_equal(field(run, "state")->valuestring, states[(int)field(own, "state")->valuedouble]);
        same_scores(field(run, "scores"), field(own, "finals"), name);
    }
    cJSON_Delete(list);
    cJSON_Delete(planted);
    free(text);
    free(from);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_text),
        cmocka_unit_test(as_json),
    };
    return cmocka_run_group_tests(tests, create, scratch_remove);
}
