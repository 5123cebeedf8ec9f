/* SPDX-License-Identifier: MIT */
/* What token files look like. */
#include "samples/portrait.h"

#include "io/fail.h"
#include "task/text_task.h"
#include "text/text_folder.h"
#include "text/token_file.h"

#include <stdlib.h>

static double per_token(const lab_text_facts *facts, int set) {
    return facts->tokens[set] > 1 ? (double)facts->predicted_bytes[set] / (double)(facts->tokens[set] - 1) : 0.0;
}

static const char *kind_name(lab_tokenizer_kind kind) {
    return kind == LAB_TOKENIZER_SENTENCEPIECE ? "sentencepiece" : kind == LAB_TOKENIZER_BYTES ? "bytes" : "wordpiece";
}

void lab_portray_token_files(lab_portrait *to, const char *folder, const lab_text_facts *facts) {
    static const char *const heads[] = {"set", ">tokens", ">bytes", ">bytes/token"};
    lab_table *table = lab_table_create(heads, sizeof heads / sizeof *heads);
    cJSON_AddStringToObject(to->json, "data", folder);
    cJSON_AddStringToObject(to->json, "tokenizer", kind_name(facts->kind));
    cJSON_AddNumberToObject(to->json, "vocabulary", (double)facts->vocabulary);
    lab_shown_say(&to->shown, "%s: %s of %zu\n\n", folder,
                  facts->kind == LAB_TOKENIZER_SENTENCEPIECE ? "a SentencePiece vocabulary" : "bytes, a vocabulary",
                  facts->vocabulary);
    for (int s = 0; s < LAB_TEXT_SETS; s++) {
        const double each = per_token(facts, s);
        cJSON *set = cJSON_AddObjectToObject(to->json, lab_text_set_names[s]);
        cJSON_AddNumberToObject(set, "tokens", (double)facts->tokens[s]);
        cJSON_AddNumberToObject(set, "bytes", (double)facts->bytes[s]);
        cJSON_AddNumberToObject(set, "bytes_per_token", each);
        lab_table_cell(table, "%s", lab_text_set_names[s]);
        lab_table_number(table, (double)facts->tokens[s], "%zu", facts->tokens[s]);
        lab_table_number(table, (double)facts->bytes[s], "%llu", (unsigned long long)facts->bytes[s]);
        lab_table_number(table, each, "%.3f", each);
    }
    lab_shown_add(&to->shown, table, false);
}

/* The first `lines` lines of a set, cut at 400 tokens each, with a bar between the pieces. */
static void say_lines(lab_portrait *to, const lab_token_file *file, const lab_tokenizer *tokenizer, size_t lines) {
    lab_detokenizer detokenizer = {.tokenizer = tokenizer};
    const bool bars = lab_tokenizer_get_kind(tokenizer) == LAB_TOKENIZER_SENTENCEPIECE;
    size_t in_line = 0;
    for (size_t i = 0; i < file->tokens && lines > 0; i++) {
        char text[256];
        int32_t token;
        lab_token_file_read(file, i, 1, &token);
        const size_t bytes = lab_detokenizer_add(&detokenizer, token, text, sizeof text);
        const bool ends = bytes > 0 && text[bytes - 1] == '\n';
        if (in_line < 400 || ends) {
            lab_shown_say(&to->shown, "%s", bars && in_line > 0 && bytes > 0 && !ends ? "│" : "");
            lab_shown_say(&to->shown, "%s", ends && in_line > 400 ? " …" : "");
            fwrite(text, 1, bytes, to->shown.lines);
        }
        in_line = ends ? 0 : in_line + (bytes > 0);
        lines -= ends;
    }
    lab_shown_say(&to->shown, "%s", in_line > 0 ? "\n" : "");
}

static locus_status say_set(lab_portrait *to, const char *folder, const char *set, size_t lines, locus_error *error) {
    lab_tokenizer *tokenizer = NULL;
    lab_token_file file = {0};
    char *path = lab_token_file_path(folder, set);
    if (path == NULL)
        return lab_fail_memory(error, "a file name");
    locus_status status = lab_tokenizer_open_folder(&tokenizer, folder, error);
    if (status == LOCUS_OK)
        status = lab_token_file_open(&file, path, error);
    if (status == LOCUS_OK) {
        lab_shown_say(&to->shown, "\n%s:\n", set);
        say_lines(to, &file, tokenizer, lines);
    }
    lab_token_file_close(&file);
    lab_tokenizer_close(&tokenizer);
    free(path);
    return status;
}

locus_status lab_portray_text(lab_portrait *to, const lab_portrait_request *request, locus_error *error) {
    const char *path = request->draw.options->path, *folder = path != NULL ? path : LAB_TEXT_FOLDER;
    lab_task_options options = {0};
    lab_text_facts facts;
    locus_status status = lab_text_describe(folder, &options, error);
    if (status == LOCUS_OK)
        status = lab_text_look(folder, &facts, error);
    if (status != LOCUS_OK)
        return status;
    lab_portray_token_files(to, folder, &facts);
    return request->shown > 0 ? say_set(to, folder, lab_text_set_names[request->draw.which], request->shown, error)
                              : LOCUS_OK;
}
