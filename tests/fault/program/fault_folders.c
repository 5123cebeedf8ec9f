/* SPDX-License-Identifier: MIT */
/* Folders of a run: copied, removed, read whole, with stores as text that holds no times. */
#include "faults.h"

#include <ctype.h>
#include <dirent.h>
#include <fnmatch.h>
#include <ftw.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *fault_file_read(const char *path, size_t *bytes) {
    FILE *stream = fopen(path, "rb");
    struct stat facts;
    if (stream == NULL || fstat(fileno(stream), &facts) != 0) {
        *bytes = 0;
        return strdup("");
    }
    char *data = malloc((size_t)facts.st_size + 1);
    *bytes = fread(data, 1, (size_t)facts.st_size, stream);
    data[*bytes] = '\0';
    fclose(stream);
    return data;
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *place) {
    (void)facts, (void)kind, (void)place;
    return remove(path);
}

void fault_folder_remove(const char *path) {
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void copy_file(const char *from, const char *to) {
    size_t bytes;
    char *data = fault_file_read(from, &bytes);
    FILE *stream = fopen(to, "wb");
    if (stream == NULL || fwrite(data, 1, bytes, stream) != bytes || fclose(stream) != 0) {
        perror(to);
        exit(1);
    }
    free(data);
}

void fault_folder_copy(const char *from, const char *to) {
    mkdir(to, 0777);
    DIR *entries = opendir(from);
    for (const struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        char source[1024], target[1024];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(source, sizeof source, "%s/%s", from, entry->d_name);
        snprintf(target, sizeof target, "%s/%s", to, entry->d_name);
        if (entry->d_type == DT_DIR)
            fault_folder_copy(source, target);
        else
            copy_file(source, target);
    }
    if (entries != NULL)
        closedir(entries);
}

/* ---- stores ---- */

/* Everything that does not tell of clocks, machines and processes. */
static const char *const store_questions[] = {
    "SELECT name, task, encoding, setup, embedding_init, budget, config, version, message, seed, data_seed, state,"
    " steps_total, steps_done, tokens_seen, parameters FROM run ORDER BY name",
    "SELECT name, step, metrics FROM evaluation JOIN run ON run.id = run ORDER BY 1, 2",
    "SELECT run.name, \"set\", final.name, hex(value), value FROM final JOIN run ON run.id = run"
    " WHERE final.name NOT LIKE '%second%' ORDER BY 1, 2, 3",
};

static void write_rows(sqlite3 *database, const char *question, FILE *text) {
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(database, question, -1, &statement, NULL) != SQLITE_OK) {
        fprintf(text, "unreadable: %s\n", sqlite3_errmsg(database));
        return;
    }
    while (sqlite3_step(statement) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const unsigned char *cell = sqlite3_column_text(statement, i);
            fprintf(text, "%s%s", i == 0 ? "" : "|", cell == NULL ? "null" : (const char *)cell);
        }
        fputc('\n', text);
    }
    sqlite3_finalize(statement);
}

char *fault_store_text(const char *path) {
    char *data = NULL;
    size_t bytes = 0;
    sqlite3 *database = NULL;
    FILE *text = open_memstream(&data, &bytes);
    if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK)
        for (size_t i = 0; i < sizeof store_questions / sizeof *store_questions; i++)
            write_rows(database, store_questions[i], text);
    else
        fprintf(text, "unreadable\n");
    sqlite3_close(database);
    sqlite3_shutdown(); /* so that locus sets it up, as in a process of its own */
    fclose(text);
    return data;
}

/* ---- trees ---- */

static void add_file(fault_tree *tree, const char *path, bool is_folder) {
    tree->files = realloc(tree->files, (tree->count + 1) * sizeof *tree->files);
    tree->files[tree->count++] = (fault_file){.path = strdup(path), .folder = is_folder};
}

static void read_below(fault_tree *tree, const char *folder, const char *below) {
    char full[2048], path[1024];
    snprintf(full, sizeof full, "%s/%s", folder, below);
    DIR *entries = opendir(full);
    for (const struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof path, "%s%s%s", below, *below == '\0' ? "" : "/", entry->d_name);
        add_file(tree, path, entry->d_type == DT_DIR);
        if (entry->d_type == DT_DIR)
            read_below(tree, folder, path);
    }
    if (entries != NULL)
        closedir(entries);
}

static int by_path(const void *a, const void *b) {
    return strcmp(((const fault_file *)a)->path, ((const fault_file *)b)->path);
}

void fault_tree_list(fault_tree *tree, const char *folder) {
    *tree = (fault_tree){0};
    read_below(tree, folder, "");
    if (tree->count > 0)
        qsort(tree->files, tree->count, sizeof *tree->files, by_path);
}

/* A page says when it was made, to the minute: that does not count. */
static void mask_dates(char *text) {
    static const char shape[] = "####-##-## ##:## UTC";
    for (; *text != '\0'; text++) {
        size_t i = 0;
        while (shape[i] != '\0' && (shape[i] == '#' ? isdigit((unsigned char)text[i]) != 0 : text[i] == shape[i]))
            i++;
        if (shape[i] == '\0')
            memcpy(text, shape, i);
    }
}

/* All names come before the first content: opening a store makes and removes files beside it. */
void fault_tree_read(fault_tree *tree, const char *folder) {
    fault_tree_list(tree, folder);
    for (size_t i = 0; i < tree->count; i++) {
        fault_file *file = &tree->files[i];
        char full[2048];
        snprintf(full, sizeof full, "%s/%s", folder, file->path);
        if (!file->folder && fnmatch("*.db", file->path, 0) == 0) {
            file->data = fault_store_text(full);
            file->bytes = strlen(file->data);
        } else if (!file->folder) {
            file->data = fault_file_read(full, &file->bytes);
            if (fnmatch("*.html", file->path, 0) == 0)
                mask_dates(file->data);
        }
    }
}

void fault_tree_free(fault_tree *tree) {
    for (size_t i = 0; i < tree->count; i++) {
        free(tree->files[i].path);
        free(tree->files[i].data);
    }
    free(tree->files);
    *tree = (fault_tree){0};
}

const fault_file *fault_tree_find(const fault_tree *tree, const char *path) {
    for (size_t i = 0; i < tree->count; i++)
        if (strcmp(tree->files[i].path, path) == 0)
            return &tree->files[i];
    return NULL;
}

bool fault_file_same(const fault_file *a, const fault_file *b) {
    return a->folder == b->folder && a->bytes == b->bytes && (a->folder || memcmp(a->data, b->data, a->bytes) == 0);
}
