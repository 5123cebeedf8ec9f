/* SPDX-License-Identifier: MIT */
/* Writes samples as JSON lines, kind by kind, and parses places with what is wrong with them. */
#include "samples/sample_lines.h"

#include "io/fail.h"
#include "io/file.h"
#include "io/json.h"
#include "task/set_text.h"
#include "task/symbol_tree.h"
#include "task/task_class.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

/* The text of a path: the generator's trees are at most 1000 deep and have at most 16 branches. */
#define PATH_TEXT 4096

/* One side of a sample: input or target. */
typedef struct side {
    const char *name;
    const lab_task *problems; /* the task whose characters the tokens are; NULL: words or trees */
    const int32_t *tokens;    /* of the whole set, as the nodes are */
    const lab_tree_nodes *nodes;
    const size_t *offsets; /* [2] */
} side;

static void write_ids(FILE *out, const side *row, const char *between) {
    for (size_t i = row->offsets[0]; i < row->offsets[1]; i++)
        fprintf(out, "%s%d", i == row->offsets[0] ? "" : between, (int)row->tokens[i]);
}

/* No task has a quotation mark or a backslash. */
static void write_characters(FILE *out, const side *row) {
    for (size_t i = row->offsets[0]; i < row->offsets[1]; i++)
        putc(row->problems->characters[row->tokens[i]], out);
}

static locus_status write_text(FILE *out, const lab_dataset *set, const side *row, locus_error *error) {
    fprintf(out, ", \"%s_text\": \"", row->name);
    if (row->problems != NULL) {
        write_characters(out, row);
    } else if (row->nodes->parents == NULL) {
        write_ids(out, row, " ");
    } else {
        const size_t start = row->offsets[0];
        const lab_tree_nodes nodes = {row->nodes->parents + start, row->nodes->branches + start};
        char *text = lab_set_text(set, row->tokens + start, &nodes, row->offsets[1] - start, error);
        if (text == NULL)
            return error != NULL ? error->status : LOCUS_ERROR_MEMORY;
        fputs(text, out);
        free(text);
    }
    fputs("\"", out);
    return LOCUS_OK;
}

static void write_paths(FILE *out, const side *row) {
    char text[PATH_TEXT];
    size_t start = row->offsets[0];
    fprintf(out, ", \"%s_paths\": [", row->name);
    for (size_t i = 0; i < row->offsets[1] - start; i++) {
        lab_tree_path_text(row->nodes->parents + start, row->nodes->branches + start, i, text, sizeof text);
        fprintf(out, "%s\"%s\"", i == 0 ? "" : ", ", text);
    }
    fputs("]", out);
}

static locus_status write_sample(FILE *out, const lab_dataset *set, const side rows[2], locus_error *error) {
    for (size_t r = 0; r < 2; r++) {
        fprintf(out, "%s\"%s\": [", r == 0 ? "" : ", ", rows[r].name);
        write_ids(out, &rows[r], ", ");
        fputs("]", out);
    }
    locus_status status = write_text(out, set, &rows[0], error);
    status = status != LOCUS_OK ? status : write_text(out, set, &rows[1], error);
    for (size_t r = 0; r < 2 && rows[r].nodes->parents != NULL; r++)
        write_paths(out, &rows[r]);
    return status;
}

locus_status lab_samples_write(FILE *out, const lab_dataset *set, const lab_task *task, bool tabbed,
                               locus_error *error) {
    const lab_task *problems = task->characters != NULL ? task : NULL;
    locus_status status = LOCUS_OK;
    (void)tabbed;
    for (size_t s = 0; status == LOCUS_OK && s < set->samples; s++) {
        const side rows[] = {{"input", problems, set->input, &set->input_tree, set->input_offsets + s},
                             {"target", problems, set->target, &set->target_tree, set->target_offsets + s}};
        putc('{', out);
        if (problems != NULL)
            fprintf(out, "\"task\": \"%s\", ", problems->name);
        status = write_sample(out, set, rows, error);
        fputs("}\n", out);
    }
    return status;
}

locus_status lab_samples_save(const lab_dataset *set, const lab_task *task, const char *path, locus_error *error) {
    lab_output output;
    locus_status status = lab_output_open(&output, path, error);
    if (status != LOCUS_OK)
        return status;
    status = task->class->write(output.stream, set, task, lab_name_ends(path, ".tsv"), error);
    if (status == LOCUS_OK)
        status = lab_output_commit(&output, error);
    lab_output_discard(&output);
    return status;
}

/* ---- lines ---- */

locus_status lab_place_fail(const lab_line_place *at, const char *format, ...) {
    char what[sizeof at->error->message];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    return lab_fail(at->error, LOCUS_ERROR_IO, NULL, "%.250s, line %zu: %s", at->path, at->line, what);
}

locus_status lab_place_parse(const lab_line_place *at, const char *line, cJSON **root) {
    bool out_of_memory;
    const char *wrong = lab_json_line(root, line, strlen(line), &out_of_memory);
    if (out_of_memory)
        return lab_fail(at->error, LOCUS_ERROR_MEMORY, NULL, "out of memory for a line of %s", at->path);
    return wrong == NULL ? LOCUS_OK : lab_place_fail(at, "%s", wrong);
}
