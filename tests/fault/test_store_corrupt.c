/* SPDX-License-Identifier: MIT */
/* A store that is damaged, cut, foreign, newer, or in an impossible place gives one clear line and is left as it
 * was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "train/store/store.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64], path[128];

static int setup(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/locus-fault-XXXXXX");
    if (mkdtemp(folder) == NULL)
        return 1;
    snprintf(path, sizeof path, "%s/locus.db", folder);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    char command[160];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

/* Opening fails with IO and one line that names the file. */
static void assert_refused(const char *word) {
    lab_store *store;
    locus_error error = {0};
    assert_int_equal(lab_store_open(&store, path, &error), LOCUS_ERROR_IO);
    assert_null(store);
    assert_non_null(strstr(error.message, path));
    assert_non_null(strstr(error.message, word));
    assert_null(strchr(error.message, '\n'));
}

static void put(const void *data, size_t bytes) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static size_t get(char *data, size_t room) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t bytes = fread(data, 1, room, file);
    fclose(file);
    return bytes;
}

/* A good store with enough rows that its tables have several pages. */
static void make_store(void) {
    lab_store *store;
    locus_error error;
    assert_int_equal(lab_store_open(&store, path, &error), LOCUS_OK);
    char word[] = "word";
    lab_run run = {.name = word, .task = word, .encoding = word};
    assert_int_equal(lab_store_run_insert(store, &run, &error), LOCUS_OK);
    assert_int_equal(lab_store_begin(store, &error), LOCUS_OK);
    for (uint64_t step = 0; step < 3000; step++)
        assert_int_equal(
            lab_store_measured(store, run.id, step, &(lab_measured){"dev.loss", 0.1 * (double)step}, 1, &error),
            LOCUS_OK);
    assert_int_equal(lab_store_commit(store, &error), LOCUS_OK);
    lab_store_close(&store);
}

static void test_text_file(void **state) {
    (void)state;
    static const char text[] = "this is not a run store, but a letter that somebody wants to keep; it is longer than "
                               "the hundred bytes that a database's header takes, so that it is read as one.\n";
    char after[512];
    put(text, sizeof text);
    assert_refused("damaged");
    assert_int_equal(get(after, sizeof after), sizeof text);
    assert_memory_equal(after, text, sizeof text);
}

static void test_cut(void **state) {
    (void)state;
    static char data[1 << 20], after[1 << 20];
    make_store();
    size_t bytes = get(data, sizeof data);
    assert_true(bytes > 3 * 4096);
    for (size_t part = 1; part < 4; part++) {
        size_t cut = part * bytes / 4;
        put(data, cut);
        assert_refused("damaged");
        assert_int_equal(get(after, sizeof after), cut);
        assert_memory_equal(after, data, cut);
    }
}

static void test_damaged_page(void **state) {
    (void)state;
    static char data[1 << 20];
    make_store();
    size_t bytes = get(data, sizeof data);
    for (size_t page = 1; page + 1 < bytes / 4096; page += 4) {
        char kept[4096];
        memcpy(kept, data + 4096 * page, sizeof kept);
        memset(data + 4096 * page, 0xa5, sizeof kept);
        put(data, bytes);
        assert_refused("damaged");
        memcpy(data + 4096 * page, kept, sizeof kept);
    }
    put(data, bytes); /* and as it was, it opens */
    lab_store *store;
    locus_error error;
    assert_int_equal(lab_store_open(&store, path, &error), LOCUS_OK);
    lab_store_close(&store);
}

static void run_sql(const char *sql) {
    sqlite3 *database;
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(database);
}

static sqlite3_mem_methods memory;
static long allocations_left = -1; /* until the one that fails */

static void *allocate(int bytes) {
    return allocations_left >= 0 && allocations_left-- == 0 ? NULL : memory.xMalloc(bytes);
}

static void *reallocate(void *block, int bytes) {
    return allocations_left >= 0 && allocations_left-- == 0 ? NULL : memory.xRealloc(block, bytes);
}

static int take_over_memory(void **state) {
    (void)state;
    sqlite3_mem_methods own;
    if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &memory) != SQLITE_OK)
        return 1;
    own = memory;
    own.xMalloc = allocate;
    own.xRealloc = reallocate;
    return sqlite3_config(SQLITE_CONFIG_MALLOC, &own) != SQLITE_OK;
}

/* Whichever allocation of SQLite's fails, a damaged store is not taken for a good one. */
static void test_damaged_without_memory(void **state) {
    (void)state;
    enum { MOST = 20000 };
    static char data[1 << 20];
    make_store();
    const size_t bytes = get(data, sizeof data);
    memset(data + bytes - 4096, 0xa5, 4096);
    put(data, bytes);
    assert_refused("damaged");
    size_t told = 0;
    bool failed = true;
    for (long point = 0; failed && point < MOST; point++) {
        lab_store *store;
        locus_error error = {0};
        allocations_left = point;
        const locus_status status = lab_store_open(&store, path, &error);
        failed = allocations_left < 0;
        allocations_left = -1;
        assert_true(status == LOCUS_ERROR_MEMORY || status == LOCUS_ERROR_IO);
        assert_null(store);
        told += status == LOCUS_ERROR_MEMORY;
    }
    assert_true(!failed && told > 0);
}

enum { SMALL_PAGE = 512 };

static void damage(const char *name) {
    sqlite3 *database;
    sqlite3_stmt *statement;
    unsigned char page[SMALL_PAGE];
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(database, "SELECT rootpage FROM sqlite_master WHERE name = ?", -1, &statement, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    const long root = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(database);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, (root - 1) * SMALL_PAGE, SEEK_SET), 0);
    memset(page, 0xa5, sizeof page);
    assert_int_equal(fwrite(page, 1, sizeof page, file), sizeof page);
    assert_int_equal(fclose(file), 0);
}

/* A store of more than 32 MiB is not read as a whole: its runs are counted. */
static void test_large(void **state) {
    (void)state;
    run_sql("PRAGMA page_size = 512; CREATE TABLE filler(bytes BLOB); INSERT INTO filler VALUES(zeroblob(34000000)); "
            "DROP TABLE filler");
    make_store();
    damage("evaluation"); /* is found where a curve is read */
    lab_store *store;
    locus_error error;
    assert_int_equal(lab_store_open(&store, path, &error), LOCUS_OK);
    lab_store_close(&store);
    damage("run");
    damage("sqlite_autoindex_run_1");
    assert_refused("damaged");
}

static void test_newer(void **state) {
    (void)state;
    make_store();
    run_sql("PRAGMA user_version = 3");
    assert_refused("version 3");
}

static void test_foreign(void **state) {
    (void)state;
    run_sql("CREATE TABLE bookmarks(url TEXT)");
    assert_refused("no run store");
}

static void test_folder_in_place(void **state) {
    (void)state;
    assert_int_equal(mkdir(path, 0755), 0);
    assert_refused("");
}

/* A folder that cannot be made, because a file stands where it should be. */
static void test_impossible_folder(void **state) {
    (void)state;
    put("x", 1);
    size_t length = strlen(path);
    snprintf(path + length, sizeof path - length, "/below/locus.db");
    lab_store *store;
    locus_error error = {0};
    assert_int_equal(lab_store_open(&store, path, &error), LOCUS_ERROR_IO);
    assert_non_null(strstr(error.message, folder));
    path[length] = '\0';
}

/* The superuser may write anything: the attempt is made as nobody. */
static void test_read_only(void **state) {
    (void)state;
    make_store();
    assert_int_equal(chmod(path, 0444), 0);
    assert_int_equal(chmod(folder, 0555), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        lab_store *store;
        locus_error error = {0};
        if (geteuid() == 0 && setuid(65534) != 0)
            _exit(3);
        bool refused = lab_store_open(&store, path, &error) == LOCUS_ERROR_IO && store == NULL &&
                       strstr(error.message, path) != NULL && strstr(error.message, "written") != NULL;
        if (!refused)
            fprintf(stderr, "%s\n", error.message);
        _exit(refused ? 0 : 2);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(chmod(folder, 0755), 0);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_text_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged_page, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged_without_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_large, setup, teardown),
        cmocka_unit_test_setup_teardown(test_newer, setup, teardown),
        cmocka_unit_test_setup_teardown(test_foreign, setup, teardown),
        cmocka_unit_test_setup_teardown(test_folder_in_place, setup, teardown),
        cmocka_unit_test_setup_teardown(test_impossible_folder, setup, teardown),
        cmocka_unit_test_setup_teardown(test_read_only, setup, teardown),
    };
    return cmocka_run_group_tests(tests, take_over_memory, NULL);
}
