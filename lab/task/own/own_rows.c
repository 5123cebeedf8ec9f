/* SPDX-License-Identifier: MIT */
/* See own_rows.h. */
#include "task/own/own_rows.h"

#include "io/file.h"
#include "io/grow.h"
#include "io/json.h"
#include "io/text_stream.h"
#include "task/own/own_sets.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ID = 1 << 24 };

locus_status lab_own_fail(const lab_own_row *row, locus_error *error, const char *format, ...) {
    char what[sizeof error->message];
    va_list values;
    va_start(values, format);
    vsnprintf(what, sizeof what, format, values);
    va_end(values);
    return lab_fail(error, LOCUS_ERROR_IO, "data", "'%s', line %zu: %s", row->path, row->line, what);
}

/* ---- sides ---- */

bool lab_own_take_text(lab_own_side *side, const char *text, size_t bytes, lab_token_kind kind) {
    side->text = strndup(text, bytes);
    side->bytes = bytes;
    for (const char *at = side->text; at != NULL && lab_own_next(kind, &at, side->text + bytes).bytes > 0;)
        side->count++;
    return side->text != NULL;
}

locus_status lab_own_take_ids(lab_own_row *row, size_t which, const char *name, const cJSON *array,
                              locus_error *error) {
    lab_own_side *side = &row->sides[which];
    const cJSON *item;
    side->ids = calloc((size_t)cJSON_GetArraySize(array) + 1, sizeof *side->ids);
    if (side->ids == NULL)
        return lab_fail_memory(error, "samples");
    cJSON_ArrayForEach(item, array) {
        if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0 && item->valuedouble <= MOST_ID) ||
            floor(item->valuedouble) != item->valuedouble)
            return lab_own_fail(row, error, "\"%s\" needs whole numbers from 0 to %d", name, MOST_ID);
        side->ids[side->count++] = (int32_t)item->valuedouble;
    }
    return LOCUS_OK;
}

static locus_status typed_ids(lab_own_side *side, const char *text, size_t least, size_t most, locus_error *error) {
    static const char between[] = " ,\t\r\n";
    for (const char *at = text + strspn(text, between); *at != '\0'; at += strspn(at, between)) {
        char *end;
        const long id = strtol(at, &end, 10);
        if (end == at || id < (long)least || (size_t)id > most) {
            return lab_fail(error, LOCUS_ERROR_ARGUMENT, "input",
                            "'%.20s' is no id: give numbers from %zu to %zu between spaces", at, least, most);
        }
        side->ids[side->count++] = (int32_t)id;
        at = end;
    }
    return LOCUS_OK;
}

locus_status lab_own_typed(lab_own_side *side, const char *text, lab_token_kind kind, const lab_own_ids *ids,
                           locus_error *error) {
    const size_t bytes = strlen(text);
    if (ids == NULL && lab_own_take_text(side, text, bytes, kind))
        return LOCUS_OK;
    side->ids = ids != NULL ? calloc(bytes / 2 + 1, sizeof *side->ids) : NULL;
    return side->ids != NULL ? typed_ids(side, text, ids->least, ids->most, error) : lab_fail_memory(error, "a sample");
}

/* ---- tokens ---- */

bool lab_own_learn(lab_word_index *words, lab_token_kind kind, const lab_own_side *side) {
    bool good = true;
    const char *at = side->text;
    for (size_t i = 0; good && side->text != NULL && kind != LAB_TOKENS_BYTES && i < side->count; i++) {
        const lab_own_token token = lab_own_next(kind, &at, side->text + side->bytes);
        good = lab_word_add(words, token.text, token.bytes) != SIZE_MAX;
    }
    return good;
}

size_t lab_own_vocabulary(const lab_word_index *words, lab_token_kind kind) {
    return LAB_OWN_FIRST + (kind == LAB_TOKENS_BYTES ? LAB_OWN_BYTE_VALUES : words->count);
}

static int32_t token_of(const lab_word_index *words, lab_token_kind kind, lab_own_token token) {
    if (kind == LAB_TOKENS_BYTES)
        return LAB_OWN_FIRST + (unsigned char)*token.text;
    const size_t found = lab_word_find(words, token.text, token.bytes);
    return found == SIZE_MAX ? LAB_OWN_UNKNOWN : LAB_OWN_FIRST + (int32_t)found;
}

size_t lab_own_encode(const lab_word_index *words, lab_token_kind kind, size_t first_id, const lab_own_side *side,
                      int32_t *tokens) {
    const char *at = side->text;
    size_t unknown = 0;
    for (size_t i = 0; i < side->count; i++) {
        const int32_t token = side->ids != NULL
                                  ? side->ids[i] + (int32_t)first_id
                                  : token_of(words, kind, lab_own_next(kind, &at, side->text + side->bytes));
        unknown += side->ids == NULL && token == LAB_OWN_UNKNOWN;
        if (tokens != NULL)
            tokens[i] = token;
    }
    return unknown;
}

/* ---- lines ---- */

static locus_status read_json(lab_own_row *row, const lab_own_rows *rows, const char *line, size_t bytes,
                              locus_error *error) {
    bool out_of_memory;
    cJSON *root;
    const char *wrong = lab_json_line(&root, line, bytes, &out_of_memory);
    const locus_status status = out_of_memory   ? lab_fail_memory(error, "samples")
                                : wrong != NULL ? lab_own_fail(row, error, "%s", wrong)
                                                : rows->form->object(row, root, rows->kind, error);
    cJSON_Delete(root);
    return status;
}

/* The first row decides which form all have. */
static locus_status check_form(lab_own_rows *rows, const lab_own_row *row, locus_error *error) {
    const bool ids = row->sides[0].ids != NULL;
    const bool trees[] = {row->sides[0].parents != NULL, row->sides[1].parents != NULL};
    if (trees[0] != trees[1])
        return lab_own_fail(row, error, "input and target must both have paths, or none: \"%s_paths\" is missing",
                            trees[0] ? "target" : "input");
    if (rows->count > 1 && ids != rows->ids)
        return lab_own_fail(row, error, "texts and ids don't go together: this line is unlike those before");
    if (rows->count > 1 && trees[0] != rows->trees)
        return lab_own_fail(row, error, "\"input_paths\" and \"target_paths\" are %s, unlike in the lines before",
                            trees[0] ? "there" : "missing");
    rows->ids = ids;
    rows->trees = trees[0];
    return LOCUS_OK;
}

/* `place` says where the line stands. */
static locus_status read_line(lab_own_rows *rows, const lab_own_row *place, const char *line, size_t bytes,
                              locus_error *error) {
    if (memchr(line, '\0', bytes) != NULL)
        return lab_own_fail(place, error, "there is a zero byte in it: this is no text");
    const bool tabbed = rows->form->tabbed != NULL && lab_name_ends(place->path, ".tsv");
    if (bytes == 0 && tabbed)
        return LOCUS_OK;
    if (!LAB_GROW(rows->rows, rows->count, rows->room, 256))
        return lab_fail_memory(error, "samples");
    lab_own_row *row = &rows->rows[rows->count++]; /* so that it is freed with the others */
    *row = *place;
    const locus_status status =
        tabbed ? rows->form->tabbed(row, line, bytes, rows->kind, error) : read_json(row, rows, line, bytes, error);
    return status == LOCUS_OK ? check_form(rows, row, error) : status;
}

locus_status lab_own_rows_read(lab_own_rows *rows, const char *path, lab_set set, locus_error *error) {
    lab_own_row place = {.path = path, .set = set};
    const size_t before = rows->count;
    char *content;
    size_t bytes;
    locus_status status = lab_file_read(path, &content, &bytes, error);
    if (status != LOCUS_OK)
        return status;
    while (bytes > 0 && (content[bytes - 1] == '\n' || content[bytes - 1] == '\r'))
        bytes--; /* the last line's end, and empty lines behind it */
    for (const char *line = content + lab_text_mark(content, bytes), *end = content + bytes;
         status == LOCUS_OK && line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        const char *next = stop != NULL ? stop + 1 : end;
        size_t length = (size_t)((stop != NULL ? stop : end) - line);
        length -= length > 0 && line[length - 1] == '\r';
        place.line++;
        status = read_line(rows, &place, line, length, error);
        line = next;
    }
    free(content);
    return status == LOCUS_OK && rows->count == before
               ? lab_fail(error, LOCUS_ERROR_IO, "data", "'%s' has no sample in it", path)
               : status;
}

/* ---- files ---- */

/* Which rows of the first file are of which set. */
static locus_status split(lab_own_rows *rows, const lab_task_options *options, uint64_t seed, locus_error *error) {
    lab_set *sets = calloc(rows->count + 1, sizeof *sets);
    if (sets == NULL)
        return lab_fail_memory(error, "samples");
    const locus_status status = lab_own_split(options, seed, rows->count, sets, error);
    for (size_t i = 0; status == LOCUS_OK && i < rows->count; i++)
        rows->rows[i].set = sets[i];
    free(sets);
    return status;
}

locus_status lab_own_rows_train(lab_own_rows *rows, const lab_task_options *options, uint64_t seed,
                                locus_error *error) {
    if (options->path == NULL)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "data", "%s are read from a file: --data FILE", rows->form->what);
    locus_status status = lab_own_rows_read(rows, options->path, LAB_SET_TRAIN, error);
    if (status == LOCUS_OK && (options->dev == NULL || options->test == NULL))
        status = split(rows, options, seed, error);
    if (status == LOCUS_OK && options->dev != NULL)
        status = lab_own_rows_read(rows, options->dev, LAB_SET_DEV, error);
    if (status == LOCUS_OK && options->test != NULL)
        status = lab_own_rows_read(rows, options->test, LAB_SET_TEST, error);
    return status;
}

void lab_own_rows_free(lab_own_rows *rows) {
    for (size_t i = 0; i < 2 * rows->count; i++) {
        lab_own_side *side = &rows->rows[i / 2].sides[i % 2];
        free(side->text);
        free(side->ids);
        free(side->parents);
        free(side->branches);
    }
    for (size_t i = 0; i < rows->count; i++)
        free(rows->rows[i].label);
    free(rows->rows);
    *rows = (lab_own_rows){.form = rows->form, .kind = rows->kind};
}

/* ---- what sets share ---- */

size_t lab_own_rows_count(const lab_own_rows *rows, lab_set set) {
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++)
        count += rows->rows[i].set == set;
    return count;
}

/* What two rows with the same input share: its tokens, and of trees their parents, which say all branches: children
 * stand in the order of theirs, and none is left out. */
static bool key_of(const void *context, size_t sample, lab_set *set, char **key, size_t *bytes) {
    const lab_own_row *row = &((const lab_own_rows *)context)->rows[sample];
    const lab_own_side *input = &row->sides[LAB_OWN_INPUT];
    const size_t nodes = input->parents != NULL ? input->count * sizeof *input->parents : 0;
    const size_t tokens = input->ids != NULL ? input->count * sizeof *input->ids : input->bytes;
    *set = row->set;
    *bytes = tokens + nodes;
    *key = malloc(*bytes + 1);
    if (*key == NULL)
        return false;
    memcpy(*key, input->ids != NULL ? (const void *)input->ids : input->text, tokens);
    if (input->parents != NULL)
        memcpy(*key + tokens, input->parents, nodes);
    return true;
}

void lab_own_rows_choose(lab_own_rows *rows, const lab_draw *draw, size_t wanted) {
    lab_own_choice choice = lab_own_choice_of(draw, lab_own_rows_count(rows, draw->which), wanted);
    for (size_t i = 0; i < rows->count; i++)
        if (rows->rows[i].set == draw->which && !lab_own_chosen(&choice))
            rows->rows[i].set = (lab_set)LAB_OWN_LEFT_OUT;
}

locus_status lab_own_rows_shared(const lab_own_rows *rows, size_t shared[3], locus_error *error) {
    return lab_own_count_shared(rows, rows->count, key_of, shared, error);
}
