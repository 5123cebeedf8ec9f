/* SPDX-License-Identifier: MIT */
/* See planted_text.h. */
#include "planted_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

/* The store lies in a folder beside `victim`, which has a run's files in it. */
const planted_text planted_texts[] = {
    {"backquotes", "`touch " PLANTED_PROOF "`$(touch " PLANTED_PROOF ");touch " PLANTED_PROOF "|x"},
    {"gnuplot strings", "'\"\n!touch " PLANTED_PROOF "\n'\nsystem(\"touch " PLANTED_PROOF
                        "\")\n\\140touch " PLANTED_PROOF "\\140 @M %d %s %"},
    {"html", "<script>alert(1)</script>\" onload=\"alert(1)\" x='</style></title><img src=x onerror=alert(1)>&lt;"},
    {"escapes", "\x1b]0;title\x07\x1b[2J\x1b[31mred\x7f\b\r\f"
                "\xc2\x9b"
                "31m"
                "\x9b"
                "31m\xe2\x80\xae"
                "reversed\xe2\x80\xa8\xff\xc0\x8a"},
    {"folder above", "../victim"},
    {"absolute path", "/etc/passwd"},
    {"a million letters", NULL},
    {"quotes and lines", "a\"b'c\nlocus: d\r\n| e | f\\ \t,g;\n\n"},
    {"formats", "%s%n%d%%%999999d{}{seed}%1$s"},
    {"option", "--help"},
    {"dots", ".."},
    {"nothing", ""},
};
const size_t planted_text_count = sizeof planted_texts / sizeof *planted_texts;

const char *const planted_places[] = {"setup",     "embedding_init", "budget",  "command",        "version",
                                      "machine",   "message",        "started", "ended",          "metric.name",
                                      "final.set", "final.name",     "note",    "parent.name",    "name",
                                      "task",      "encoding",       "config",  "texts of config"};
const size_t planted_place_count = sizeof planted_places / sizeof *planted_places;
enum { DESCRIBING = 14, METRIC = 9, TEXTS = 18 };

bool planted_place_describes(size_t place) {
    return place < DESCRIBING;
}

static void update(sqlite3 *store, const char *sql, const char *text) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(store, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(store));
    sqlite3_bind_text(statement, 1, text, -1, SQLITE_TRANSIENT);
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_finalize(statement);
}

/* Every text of the configuration becomes the planted one. */
static char *config_with(sqlite3 *store, const char *text) {
    sqlite3_stmt *statement;
    cJSON *item;
    assert_int_equal(sqlite3_prepare_v2(store, "SELECT config FROM run WHERE id = 1", -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    cJSON *root = cJSON_Parse((const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    assert_non_null(root);
    cJSON_ArrayForEach(item, root) {
        if (cJSON_IsString(item))
            assert_non_null(cJSON_SetValuestring(item, text));
    }
    char *json = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    return json;
}

void planted_put(sqlite3 *store, size_t place, const planted_text *planted) {
    static const char *const of_tables[] = {
        "UPDATE evaluation SET metrics = replace(metrics, '\"train.loss\"', json_quote(?1)) WHERE run = 1",
        "UPDATE final SET \"set\" = ?1 WHERE run = 1 AND \"set\" = 'test'",
        "UPDATE final SET name = ?1 WHERE run = 1 AND \"set\" = 'test:12' AND name = 'accuracy'",
        "INSERT OR REPLACE INTO note(run, text) VALUES(1, ?1)",
        "INSERT OR REPLACE INTO parent(run, name) VALUES(1, ?1)"};
    char *letters = malloc(1000001), sql[80];
    assert_non_null(letters);
    memset(letters, 'A', 1000000);
    letters[1000000] = '\0';
    const char *text = planted->text != NULL ? planted->text : letters;
    if (place == TEXTS) {
        char *json = config_with(store, text);
        update(store, "UPDATE run SET config = ?1 WHERE id = 1", json);
        cJSON_free(json);
    } else if (place >= METRIC && place < DESCRIBING) {
        update(store, of_tables[place - METRIC], text);
    } else {
        snprintf(sql, sizeof sql, "UPDATE run SET %s = ?1 WHERE id = 1", planted_places[place]);
        update(store, sql, text);
    }
    free(letters);
}
