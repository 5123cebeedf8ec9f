/* SPDX-License-Identifier: MIT */
/* A run store that a stranger made: every command that reads one is given texts that would run a command, leave the
 * store's folder, steer the terminal or break a page if they were taken for anything but text. Whatever stands in the
 * store, a command
 *
 *   ends by itself within a minute, with 0, or with 1 or 2 and one line that says why;
 *   writes no control character, and no JSON that is none;
 *   runs nothing, and neither changes nor removes a file beside the store;
 *   leaves no temporary file, no markup of the text in a page;
 *   and of the store's other run everything is as before.
 *
 * The short form plants each text in every place that only describes the run, and by turns in the others. The long
 * form, `test_hostile_stores long` with LOCUS naming the program, tries each text in each place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/file.h"
#include "io/printable.h"
#include "planted_text.h"
#include "unit/scratch_folder.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZES \
    "--dim", "16", "--heads", "2", "--layers", "1", "--feed-forward", "32", "--length", "6", "--train-samples", "60", \
        "--dev-samples", "10", "--test-samples", "10", "--greedy-samples", "4", "--batch", "10", "--steps", "6", \
        "--evaluate-every", "3", "--test-lengths", "12", "--threads", "1", "--store", "store/locus.db"
#define STORE "--store", "store/locus.db"
#define TABLE \
    "reproduce", "table1", "--budget", "quick", "--columns", "copy", "--rows", "rope", "--seeds", "1", \
        "--embedding-init", "scaled", "--store", "store/table.db"

/* What is tried with each store, in this order. NAME is run 1's name in the beginning. */
static const char *const commands[][64] = {
    {"runs", STORE},
    {"runs", STORE, "--json"},
    {"runs", "show", "#1", STORE},
    {"runs", "show", "#1", STORE, "--json"},
    {"runs", "export", "#1", "-o", "runs.json", STORE},
    {"runs", "export", "-o", "runs.json", STORE},
    {"runs", "export", "#1", "--format", "csv", "-o", "values.csv", STORE},
    {"runs", "export", "#1", "--format", "tensorboard", "-o", "board", STORE},
    {"runs", "diff", "#1", "#2", STORE},
    {"runs", "diff", "#1", "#2", STORE, "--json"},
    {"runs", STORE, "--format", "csv"},
    {"runs", STORE, "--format", "latex"},
    {"runs", STORE, "--format", "markdown"},
    {"report", STORE, "-o", "page.html"},
    {"report", STORE, "--json"},
    {"eval", "#1", STORE},
    {"eval", "#1", STORE, "--json"},
    {"generate", "#1", STORE, "-n", "1"},
    {"generate", "#1", STORE, "-n", "1", "--json"},
    {"plot", "curves", "#1", "#2", "-o", "picture.svg", STORE},
    {"plot", "lengths", "#1", "#2", "-o", "picture.svg", STORE},
    {"plot", "costs", "#1", "-o", "picture.svg", STORE},
    {"plot", "attention", "#1", "-i", "1 2 3", "-o", "picture.svg", STORE, "--threads", "1"},
    {"runs", "import", "store/locus.db", "--checkpoints", "--store", "other/locus.db"},
    {"compare", "--task", "copy", "--encodings", "rope,sinusoidal", SIZES, "--list"},
    {"completion", "words", "--", "eval", STORE, ""},
    {TABLE, "--list"},
    {"train", "--task", "copy", "--encoding", "rope", SIZES, "--name", "NAME"},
    {"train", "--continue", "#1", "--steps", "3", "--name", "longer", STORE, "--threads", "1"},
    {"train", "--task", "copy", "--encoding", "rope", SIZES, "--init-from", "#1", "--name", "warmer"},
    {"compare", "--task", "copy", "--encodings", "rope,sinusoidal", SIZES, "--page", "page.html"},
    {"compare", "--task", "copy", "--encodings", "rope,sinusoidal", SIZES, "--no-page", "--json"},
    {"runs", "note", "#1", "a note", STORE},
    {"runs", "rename", "#1", "renamed", STORE},
    {"runs", "delete", "#1", STORE},
};
enum {
    COMMANDS = sizeof commands / sizeof *commands,
    FIRST_PICTURE = 19,
    COMPLETION = 25,
    FIRST_TRAINING = 27,
    AFTER_TRAININGS = COMMANDS - 3,
    DELETION = COMMANDS - 1
};

/* Only while the places tell nothing of the run: it would be trained for minutes. */
static const char *const reproduction[] = {TABLE, "--json", NULL};

static bool all_of_them;
static size_t tried;
static char name_of_first[256], *other_run;

/* ---- running ---- */

static void run_shell(const char *command) {
    if (system(command) != 0)
        fail_msg("%s", command);
}

static void exec_program(const char *const *words) {
    const char *list[72] = {getenv("LOCUS")};
    char *const *arguments;
    size_t count = 1;
    for (; words[count - 1] != NULL; count++)
        list[count] = strcmp(words[count - 1], "NAME") == 0 ? name_of_first : words[count - 1];
    const int out = open("out", O_WRONLY | O_CREAT | O_TRUNC, 0600),
              err = open("err", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
        _exit(125);
    alarm(60);
    memcpy(&arguments, &(const char *const *){list}, sizeof arguments);
    execv(list[0], arguments);
    _exit(126);
}

/* The exit status; standard output and error are in `out` and `err`. */
static int run(const char *const *words) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0)
        exec_program(words);
    assert_int_equal(waitpid(child, &status, 0), child);
    tried++;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static char *read_text(const char *path) {
    char *text = NULL;
    size_t bytes;
    return lab_file_read(path, &text, &bytes, NULL) == LOCUS_OK ? text : NULL;
}

/* ---- what must hold ---- */

/* Where something does not hold. */
static char place[400];

static void expect(bool holds, const char *what, const char *text) {
    if (!holds)
        fail_msg("%s: %s: %.600s", place, what, text == NULL ? "" : text);
}

static void expect_shown(const char *path) {
    char *text = read_text(path);
    assert_non_null(text);
    const size_t end = strlen(text);
    for (size_t at = 0, length; at < end; at += length) {
        bool shown;
        length = lab_printable_at(text + at, end - at, &shown);
        expect(shown || text[at] == '\n' || text[at] == '\t', "a control character", text);
    }
    free(text);
}

static void expect_lines(int status) {
    char *text = read_text("err");
    size_t lines = 0;
    for (const char *at = text; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n', lines++)
        expect(strncmp(at, "locus: ", 7) == 0, "a line of another form", at);
    expect(status == 0 || lines > 0, "no reason", text);
    free(text);
}

static void expect_json(const char *const *words, int status) {
    bool json = false;
    for (; *words != NULL; words++)
        json = json || strcmp(*words, "--json") == 0;
    if (json && status == 0) {
        char *text = read_text("out");
        cJSON *root = cJSON_Parse(text);
        expect(root != NULL, "no JSON", text);
        cJSON_Delete(root);
        free(text);
    }
}

/* What begins with a text, from `at` on; its end where there is no more. */
static char *seek(char *at, const char *text) {
    char *found = strstr(at, text);
    return found != NULL ? found : at + strlen(at);
}

/* The page's own script and style, which no store writes, become blanks, and so do its data, which are JSON without any
 * tag: any other tag of a script came from a text. */
static void blank_own(char *page) {
    static const char *const own[][2] = {{"<style>", "</style>"}, {"<script>", "</script>"}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        char *from = seek(page, own[i][0]);
        memset(from, ' ', (size_t)(seek(from, own[i][1]) - from));
    }
    for (char *at = page; *(at = seek(at, "<script type=\"application/json\"")) != '\0';) {
        char *data = seek(at, ">"), *end = seek(data, "</script>");
        cJSON *json = cJSON_ParseWithLength(data + 1, (size_t)(end - data - 1));
        expect(json != NULL && memchr(data + 1, '<', (size_t)(end - data - 1)) == NULL, "data of the page", at);
        cJSON_Delete(json);
        memset(at, ' ', (size_t)(end - at));
    }
}

static void expect_page(const char *path) {
    static const char *const markup[] = {"<script", "<img", "\" onload=", "x='</style>"};
    char *text = read_text(path);
    if (text != NULL)
        blank_own(text);
    for (size_t i = 0; text != NULL && i < sizeof markup / sizeof *markup; i++) {
        const char *found = strstr(text, markup[i]);
        expect(found == NULL, "markup in the page", found);
    }
    for (const unsigned char *c = (const unsigned char *)text; text != NULL && *c != '\0'; c++)
        expect((*c >= 0x20 || *c == '\n' || *c == '\t') && *c != 0x7F, "a control character in the page",
               (const char *)c);
    free(text);
    unlink(path);
}

/* What is offered comes to stand on a command line. */
static void expect_plain_words(void) {
    char *text = read_text("out");
    for (const char *at = text; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n') {
        const size_t word = strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-");
        expect(*at != '-' && word > 0 && strchr("\t\n", at[word]) != NULL, "more than a word", at);
    }
    expect(strncmp(text, "words\n", 6) == 0, "another answer", text);
    free(text);
}

/* Exported runs are JSON, whatever their texts are. */
static void expect_runs(void) {
    char *text = read_text("runs.json");
    for (const unsigned char *c = (const unsigned char *)text; text != NULL && *c != '\0'; c++)
        expect(*c >= 0x20 || *c == '\n', "a control character in the runs", (const char *)c);
    cJSON *root = text != NULL ? cJSON_Parse(text) : NULL;
    expect(text == NULL || root != NULL, "runs that are no JSON", text);
    cJSON_Delete(root);
    free(text);
    unlink("runs.json");
}

/* Values are lines without controls; events lie in folders of runs' names. */
static void expect_values(void) {
    if (access("values.csv", F_OK) == 0)
        expect_shown("values.csv");
    unlink("values.csv");
    run_shell("rm -rf board other");
}

/* What lies beside the store: the commands' own files, the victim, nothing else. */
static void expect_surroundings(void) {
    static const char *const victims[] = {"victim/last.safetensors", "victim/best.safetensors", "victim/lock",
                                          "victim/vocab.txt", "victim/.last.safetensors.tmp-0123456789abcdef"};
    for (size_t i = 0; i < sizeof victims / sizeof *victims; i++) {
        char *text = read_text(victims[i]);
        expect(text != NULL && strcmp(text, "mine\n") == 0, victims[i], text);
        free(text);
    }
    DIR *entries = opendir(".");
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        static const char known[] = "|.|..|store|victim|template|temporary|out|err|page.html|";
        char wanted[300];
        snprintf(wanted, sizeof wanted, "|%s|", entry->d_name);
        expect(strstr(known, wanted) != NULL, "a file that nobody asked for", entry->d_name);
    }
    closedir(entries);
    entries = opendir("temporary");
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;)
        expect(entry->d_name[0] == '.', "a temporary file", entry->d_name);
    closedir(entries);
}

static void expect_other_run(void) {
    static const char *const words[] = {"runs", "show", "#2", STORE, "--json", NULL};
    const int status = run(words);
    char *text = read_text("out");
    expect(status == 0 && strcmp(text, other_run) == 0, "the other run", text);
    free(text);
}

static int try_words(const char *const *words) {
    const int status = run(words);
    char number[16], *err = read_text("err");
    snprintf(number, sizeof number, "status %d", status);
    expect(status >= 0 && status <= 2, number, err);
    free(err);
    expect_shown("out");
    expect_shown("err");
    expect_lines(status);
    expect_json(words, status);
    expect_page("page.html");
    expect_page("picture.svg");
    expect_runs();
    expect_values();
    expect_surroundings();
    return status;
}

static void try_command(size_t c) {
    const int status = try_words(commands[c]);
    if (c == COMPLETION)
        expect_plain_words();
    const bool lists = c < 4 || c == COMPLETION, deletes = c == DELETION;
    expect(status == 0 || !(lists || deletes), "a store that cannot be listed or emptied", NULL);
}

/* ---- stores ---- */

static sqlite3 *open_store(const char *path) {
    sqlite3 *store;
    assert_int_equal(sqlite3_open_v2(path, &store, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    return store;
}

/* Whether a table takes the run with any text in this place: it needs the test set's scores of its own budget. */
static bool serves_a_table(size_t at) {
    return planted_place_describes(at) && strstr("setup|embedding_init|budget|final.set", planted_places[at]) == NULL;
}

/* Names become paths, encodings become texts of pictures: of these the short form tries more. */
static bool is_telling(size_t at, size_t text) {
    return (strcmp(planted_places[at], "name") == 0 && text % 2 == 0) ||
           (strcmp(planted_places[at], "encoding") == 0 && text < 4);
}

/* A command for each of the places `from` to `to`, in a fresh store in which all of them have the text. */
static void try_places(const planted_text *text, size_t from, size_t to, bool trainings) {
    static const char *const paths[] = {"store/locus.db", "store/table.db"};
    run_shell("rm -rf store && cp -R template store");
    for (size_t i = 0; i < 2; i++) {
        sqlite3 *store = open_store(paths[i]);
        for (size_t at = from; at < to; at++)
            if (i == 0 || serves_a_table(at) || to == from + 1)
                planted_put(store, at, text);
        assert_int_equal(sqlite3_close(store), SQLITE_OK);
    }
    const bool brief = !all_of_them && to == from + 1 && !is_telling(from, (size_t)(text - planted_texts));
    for (size_t c = 0; c < COMMANDS; c++) {
        if (brief && c >= FIRST_PICTURE && c < FIRST_TRAINING)
            continue;
        snprintf(place, sizeof place, "%s in %s%s, %s %s", text->name, planted_places[from], to > from + 1 ? " …" : "",
                 commands[c][0], commands[c][1]);
        if (trainings || c < FIRST_TRAINING || c >= AFTER_TRAININGS)
            try_command(c);
    }
    snprintf(place, sizeof place, "%s in %s, reproduce", text->name, planted_places[from]);
    if (planted_place_describes(to - 1)) {
        const int status = try_words(reproduction);
        char *err = read_text("err");
        expect(status == 0 || (to == from + 1 && !serves_a_table(from)), "no table", err);
        free(err);
    }
    expect_other_run();
}

static void texts_of_strangers_are_texts(void **state) {
    (void)state;
    size_t describing = 0;
    while (planted_place_describes(describing))
        describing++;
    for (size_t t = 0; t < planted_text_count; t++) {
        if (!all_of_them)
            try_places(&planted_texts[t], 0, describing, t % 4 == 0);
        for (size_t at = all_of_them ? 0 : describing; at < planted_place_count; at++)
            if (all_of_them || at % planted_text_count == t || is_telling(at, t))
                try_places(&planted_texts[t], at, at + 1, all_of_them);
    }
    print_message("%zu commands\n", tried);
}

/* A link in the run's place leads outside, another one in the place of its files. */
static void links_are_not_followed(void **state) {
    (void)state;
    char command[1024];
    snprintf(place, sizeof place, "links");
    for (int whole = 0; whole < 2; whole++) {
        run_shell("rm -rf store && cp -R template store");
        snprintf(
            command, sizeof command,
            whole ? "rm -r store/'%s' && ln -s ../victim store/'%s'"
                  : "rm store/'%s'/* && for f in lock last.safetensors; do ln -s ../../victim/$f store/'%s'/$f; done",
            name_of_first, name_of_first);
        run_shell(command);
        for (size_t c = 0; c < FIRST_PICTURE; c++)
            try_command(c);
        const int status = run(commands[DELETION]);
        expect(status == 0 || !whole, "delete", NULL);
        expect_surroundings();
        expect_other_run();
    }
}

/* A score that cannot be read is no score that is not there. */
static void a_store_that_cannot_be_read_is_told(void **state) {
    (void)state;
    run_shell("rm -rf store && cp -R template store");
    sqlite3 *store = open_store("store/locus.db");
    assert_int_equal(sqlite3_exec(store, "DROP TABLE final; DROP TABLE evaluation", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(store), SQLITE_OK);
    for (size_t c = 0; c < 6; c++) {
        snprintf(place, sizeof place, "no scores, %s %s", commands[c][0], commands[c][1]);
        const int status = run(commands[c]);
        char *err = read_text("err"), *out = read_text("out");
        expect(status == 1 && out[0] == '\0', "no failure", out);
        expect(strncmp(err, "locus: the run store 'store/locus.db' failed: no such table", 59) == 0, "no reason", err);
        expect_lines(status);
        expect_surroundings();
        free(err);
        free(out);
    }
}

/* ---- the store that is copied ---- */

static int create(void **state) {
    static const char *const query = "SELECT name FROM run WHERE id = 1";
    sqlite3_stmt *statement;
    if (getenv("LOCUS") == NULL || scratch_create(state) != 0 || chdir(scratch_path("")) != 0)
        return -1;
    run_shell("mkdir victim temporary && for f in last.safetensors best.safetensors lock vocab.txt "
              ".last.safetensors.tmp-0123456789abcdef; do echo mine >victim/$f; done");
    setenv("TMPDIR", scratch_path("temporary"), 1);
    setenv("HOME", scratch_path(""), 1);
    static const char *const kept[] = {"train", "--task",           "copy", "--encoding", "rope",
                                       SIZES,   "--keep-optimizer", NULL};
    static const char *const records[] = {"runs",    "import",     LOCUS_SOURCE_DIR "/docs/results/table1-quick.json",
                                          "--store", "records.db", NULL};
    static const char *const record[] = {"runs", "export", "#3", "-o", "runs.json", "--store", "records.db", NULL};
    static const char *const table[] = {"runs", "import", "runs.json", "--store", "store/table.db", NULL};
    if (run(kept) != 0 || run(commands[AFTER_TRAININGS - 1]) != 0 || run(records) != 0 || run(record) != 0 ||
        run(table) != 0)
        fail_msg("no store: %s", read_text("err"));
    run_shell("rm runs.json records.db");
    sqlite3 *store = open_store("store/locus.db");
    assert_int_equal(sqlite3_prepare_v2(store, query, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    snprintf(name_of_first, sizeof name_of_first, "%s", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    assert_int_equal(sqlite3_close(store), SQLITE_OK);
    static const char *const show[] = {"runs", "show", "#2", STORE, "--json", NULL};
    assert_int_equal(run(show), 0);
    other_run = read_text("out");
    run_shell("cp -R store template");
    tried = 0;
    return 0;
}

static int drop(void **state) {
    free(other_run);
    return chdir("/") == 0 ? scratch_remove(state) : -1;
}

int main(int count, char **words) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_of_strangers_are_texts),
        cmocka_unit_test(links_are_not_followed),
        cmocka_unit_test(a_store_that_cannot_be_read_is_told),
    };
    all_of_them = count > 1 && strcmp(words[1], "long") == 0;
    return cmocka_run_group_tests(tests, create, drop);
}
