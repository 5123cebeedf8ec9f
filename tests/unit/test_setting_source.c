/* SPDX-License-Identifier: MIT */
/* Whose settings are: the table of docs/budgets.md against the data, and the data against configurations. */
#include "io/file.h"
#include "report/reproduction/setting_source.h"
#include "train/configuration/config.h"

#include <cjson/cJSON.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { COLUMNS = 5, CELL = 200 };
static const char *const tasks[COLUMNS] = {"copy", "tree-ops", "cifar10", "addition", "listops"};

static const lab_task_class *class_of(size_t column) {
    return lab_task_find(tasks[column])->class;
}

/* Of trees the task whose depths the appendix has; tree-ops, whose depths follow, is looked at apart. */
static const lab_task *task_of(size_t column) {
    return lab_task_find(column == 1 ? "tree-copy" : tasks[column]);
}

typedef struct row {
    char cells[1 + COLUMNS][CELL]; /* the fields, and a source for each kind */
} row;

/* "| a | b |": the cells of a line without the blanks at their ends. */
static row read_row(const char *line) {
    row read;
    memset(&read, 0, sizeof read);
    for (size_t i = 0; i <= COLUMNS; i++) {
        line = strchr(line, '|');
        assert_non_null(line);
        line += 1 + strspn(line + 1, " ");
        size_t length = strcspn(line, "|\n");
        while (length > 0 && line[length - 1] == ' ')
            length--;
        assert_in_range(length, 0, CELL - 1);
        memcpy(read.cells[i], line, length);
    }
    return read;
}

/* Each of the fields `a`, `b` of a row has the sources of the row; an empty cell says nothing. */
static size_t check_row(const row *read, bool named[COLUMNS][64]) {
    size_t checked = 0;
    for (const char *at = read->cells[0]; (at = strchr(at, '`')) != NULL;) {
        char field[40];
        const size_t length = strcspn(at + 1, "`");
        snprintf(field, sizeof field, "%.*s", (int)length, at + 1);
        at += length + 2;
        for (size_t k = 0; k < COLUMNS; k++) {
            if (read->cells[1 + k][0] == '\0')
                continue;
            assert_string_equal(read->cells[1 + k], lab_setting_source(task_of(k), LAB_SETUP_PAPER, field));
            checked++;
            const char *listed;
            for (size_t i = 0; (listed = lab_setting_at(class_of(k), i)) != NULL; i++)
                named[k][i] = named[k][i] || strcmp(listed, field) == 0;
        }
    }
    return checked;
}

static void the_page_says_what_the_data_say(void **state) {
    (void)state;
    bool named[COLUMNS][64] = {{false}};
    char *text;
    size_t bytes, checked = 0;
    locus_error error;
    assert_int_equal(lab_file_read(LOCUS_SOURCE_DIR "/docs/budgets.md", &text, &bytes, &error), LOCUS_OK);
    const char *line = strstr(text, "| setting | words | trees | images | problems | expressions |\n");
    assert_non_null(line);
    line = strchr(strchr(line, '\n') + 1, '\n') + 1;
    for (; *line == '|'; line = strchr(line, '\n') + 1) {
        const row read = read_row(line);
        checked += check_row(&read, named);
    }
    assert_true(checked > 80);
    for (size_t k = 0; k < COLUMNS; k++) {
        const char *field;
        for (size_t i = 0; (field = lab_setting_at(class_of(k), i)) != NULL; i++)
            if (!named[k][i])
                fail_msg("docs/budgets.md does not say whose %s of %s is", field, tasks[k]);
    }
    free(text);
}

/* A name that no configuration has would be the source of nothing. */
static void settings_are_there(void **state) {
    (void)state;
    for (size_t k = 0; k < COLUMNS; k++) {
        lab_train_config config;
        const char *field;
        assert_int_equal(lab_train_config_budget(&config, lab_task_find(tasks[k]), "paper", LAB_SETUP_PAPER, NULL),
                         LOCUS_OK);
        char *text = lab_config_json(&config);
        cJSON *json = cJSON_Parse(text);
        for (size_t i = 0; (field = lab_setting_at(class_of(k), i)) != NULL; i++) {
            const bool silent = strcmp(field, "activation") == 0; /* ReLU is not written */
            if (!silent && !cJSON_HasObjectItem(json, field))
                fail_msg("a configuration of %s has no '%s'", tasks[k], field);
        }
        cJSON_Delete(json);
        cJSON_free(text);
    }
}

static void set_ups_differ(void **state) {
    (void)state;
    assert_string_equal(lab_setting_source(task_of(0), LAB_SETUP_CODE, "norm"), "code of 2024");
    assert_string_equal(lab_setting_source(task_of(1), LAB_SETUP_CODE, "tree_paths"), "code of 2024");
    assert_string_equal(lab_setting_source(task_of(0), LAB_SETUP_CODE, "dim"), "paper");
    assert_string_equal(lab_setting_source(lab_task_find("text"), LAB_SETUP_PAPER, "dim"), "ours");
    assert_string_equal(lab_setting_source(lab_task_find("tree-ops"), LAB_SETUP_PAPER, "depth_mean"), "inferred");
    assert_string_equal(lab_setting_source(lab_task_find("tree-ops"), LAB_SETUP_PAPER, "arity"), "paper");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_says_what_the_data_say),
        cmocka_unit_test(settings_are_there),
        cmocka_unit_test(set_ups_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
