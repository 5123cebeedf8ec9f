/* SPDX-License-Identifier: MIT */
/* Long Range Arena's files: tab-separated text, "Source" and "Target", rows ended by CRLF. */
#include "task/listops/listops.h"

#include "io/digest.h"
#include "io/fail.h"
#include "io/file.h"
#include "io/text_stream.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define HEADER "Source\tTarget"

static const char *const set_files[] = {"basic_train.tsv", "basic_val.tsv", "basic_test.tsv"};

/* ---- writing ---- */

locus_status lab_listops_write(FILE *stream, const lab_dataset *set, locus_error *error) {
    fputs(HEADER "\r\n", stream);
    for (size_t s = 0; s < set->samples; s++) {
        const size_t start = set->input_offsets[s];
        char *text = lab_listops_string(set->input_offsets[s + 1] - start, set->input + start,
                                        set->input_tree.parents + start, set->input_tree.branches + start);
        if (text == NULL)
            return lab_fail_memory(error, "an expression's text");
        fprintf(stream, "%s\t%d\r\n", text, (int)set->labels[s]);
        free(text);
    }
    return LOCUS_OK;
}

/* ---- paths ---- */

bool lab_listops_has_sets(const char *path) {
    struct stat facts;
    return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode);
}

/* The file of a set, from malloc; NULL: out of memory. */
static char *path_of(const char *path, lab_set which) {
    return lab_listops_has_sets(path) ? lab_text_print("%s/%s", path, set_files[which]) : strdup(path);
}

/* ---- digest ---- */

locus_status lab_listops_digest(const char *path, uint64_t *digest, locus_error *error) {
    const lab_set last = lab_listops_has_sets(path) ? LAB_SET_TEST : LAB_SET_TRAIN;
    lab_digest sum = lab_digest_begin(LAB_DIGEST_SHA256);
    locus_status status = LOCUS_OK;
    for (int which = LAB_SET_TRAIN; status == LOCUS_OK && which <= (int)last; which++) {
        char *file = path_of(path, (lab_set)which);
        status = file == NULL ? lab_fail_memory(error, "a path") : lab_digest_add_file(&sum, file, error);
        free(file);
    }
    if (status == LOCUS_OK)
        status = lab_digest_close_number(&sum, digest, error);
    lab_digest_discard(&sum);
    return status;
}

/* ---- reading ---- */

/* A file that is being read into a set. */
typedef struct loading {
    const char *path;
    const lab_draw *draw;
    lab_listops_builder builder;
    size_t line;
} loading;

static locus_status fail_line(const loading *l, const char *what, locus_error *error) {
    return lab_fail(error, LOCUS_ERROR_IO, "data", "%s, line %zu: %s", l->path, l->line, what);
}

static locus_status fail_target(const loading *l, const char *target, locus_error *error) {
    char what[80];
    snprintf(what, sizeof what, "the Target '%.24s' is no class from 0 to 9", target);
    return fail_line(l, what, error);
}

static locus_status read_sample(loading *l, char *line, locus_error *error) {
    char *tab = strchr(line, '\t'), *target = tab != NULL ? tab + 1 : NULL;
    locus_error what;
    if (tab == NULL)
        return fail_line(l, "there is no tab: expected an expression, a tab and its value", error);
    if (strlen(target) != 1 || *target < '0' || *target > '9')
        return fail_target(l, target, error);
    *tab = '\0';
    const locus_status status = lab_listops_append(&l->builder, line, *target - '0', &what);
    if (status == LOCUS_ERROR_MEMORY)
        return lab_fail_memory(error, "a data set");
    return status == LOCUS_OK ? LOCUS_OK : fail_line(l, what.message, error);
}

/* `length` characters with their line end, which goes. */
static locus_status read_line(loading *l, char *line, size_t length, locus_error *error) {
    if (strlen(line) != length)
        return fail_line(l, "this is no text (it holds a zero byte)", error);
    length -= length > 0 && line[length - 1] == '\n';
    length -= length > 0 && line[length - 1] == '\r';
    line[length] = '\0';
    if (l->line == 1) {
        return strcmp(line + lab_text_mark(line, length), HEADER) == 0
                   ? LOCUS_OK
                   : fail_line(l, "the header 'Source', tab, 'Target' is missing", error);
    }
    return length == 0 ? LOCUS_OK : read_sample(l, line, error);
}

static locus_status read_lines(loading *l, locus_error *error) {
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    lab_input input;
    locus_status status = lab_input_open(&input, l->path, error);
    while (status == LOCUS_OK && (l->draw->samples == 0 || l->builder.set->samples < l->draw->samples) &&
           (length = getline(&line, &room, input.stream)) >= 0) {
        l->line++;
        status = read_line(l, line, (size_t)length, error);
    }
    if (status == LOCUS_OK && ferror(input.stream))
        status = lab_fail_file(error, l->path, "cannot be read to its end");
    free(line);
    lab_input_close(&input);
    return status;
}

locus_status lab_listops_load(lab_dataset *set, const lab_draw *draw, locus_error *error) {
    char *path = path_of(draw->options->path, draw->which);
    if (path == NULL)
        return lab_fail_memory(error, "a path");
    loading l = {.path = path,
                 .draw = draw,
                 .builder = {.set = set,
                             .asked = LAB_EXPRESSIONS(draw->options)->asked,
                             .arguments = LAB_EXPRESSIONS(draw->options)->arguments}};
    locus_status status = read_lines(&l, error);
    if (status == LOCUS_OK && set->samples == 0)
        status = lab_fail(error, LOCUS_ERROR_IO, "data", "%s: there is no expression in it", path);
    if (status == LOCUS_OK && set->samples < draw->samples) {
        status = lab_fail(error, LOCUS_ERROR_IO, "data", "%s: %zu expressions are asked for, and it has %zu", path,
                          draw->samples, set->samples);
    }
    lab_listops_reader_destroy(&l.builder.reader);
    free(path);
    return status;
}
