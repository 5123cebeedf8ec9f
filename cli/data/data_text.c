/* SPDX-License-Identifier: MIT */
/* Text as token files. What is done is told on a terminal only; the summary is the result. */
#include "data_text.h"

#include "output.h"
#include "stop.h"
#include "task/text_task.h"
#include "text/text_folder.h"
#include "text/token_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double per_token(const lab_text_facts *facts, int set) {
    return facts->tokens[set] > 1 ? (double)facts->predicted_bytes[set] / (double)(facts->tokens[set] - 1) : 0.0;
}

static const char *kind_name(lab_tokenizer_kind kind) {
    return kind == LAB_TOKENIZER_SENTENCEPIECE ? "sentencepiece" : kind == LAB_TOKENIZER_BYTES ? "bytes" : "wordpiece";
}

static int print_json(const char *folder, const lab_text_facts *facts) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "data", folder);
    cJSON_AddStringToObject(root, "tokenizer", kind_name(facts->kind));
    cJSON_AddNumberToObject(root, "vocabulary", (double)facts->vocabulary);
    for (int s = 0; s < LAB_TEXT_SETS; s++) {
        cJSON *set = cJSON_AddObjectToObject(root, lab_text_set_names[s]);
        cJSON_AddNumberToObject(set, "tokens", (double)facts->tokens[s]);
        cJSON_AddNumberToObject(set, "bytes", (double)facts->bytes[s]);
        cJSON_AddNumberToObject(set, "bytes_per_token", per_token(facts, s));
    }
    return cli_json_print(root);
}

static void print_facts(const char *folder, const lab_text_facts *facts) {
    static const char *const heads[] = {"set", ">tokens", ">bytes", ">bytes/token"};
    lab_table *table = lab_table_create(heads, sizeof heads / sizeof *heads);
    cli_say("%s: %s of %zu\n\n", folder,
            facts->kind == LAB_TOKENIZER_SENTENCEPIECE ? "a SentencePiece vocabulary" : "bytes, a vocabulary",
            facts->vocabulary);
    for (int s = 0; s < LAB_TEXT_SETS; s++) {
        lab_table_cell(table, "%s", lab_text_set_names[s]);
        lab_table_number(table, (double)facts->tokens[s], "%zu", facts->tokens[s]);
        lab_table_number(table, (double)facts->bytes[s], "%llu", (unsigned long long)facts->bytes[s]);
        lab_table_number(table, per_token(facts, s), "%.3f", per_token(facts, s));
    }
    cli_table_print(table);
}

/* ---- make ---- */

/* `context`: whether somebody reads it. */
static bool tell(void *context, const char *phase, uint64_t done, uint64_t total) {
    (void)done, (void)total;
    if (*(const bool *)context) {
        fprintf(stderr, "\r%s …\033[K", phase);
        fflush(stderr);
    }
    return !cli_stop_asked();
}

static locus_status make(const char *folder, const lab_text_source *source, lab_text_facts *facts, locus_error *error) {
    bool told = !cli_quiet && isatty(STDERR_FILENO);
    const lab_watch watch = {tell, &told};
    cli_stop_catch();
    const locus_status status = lab_text_make(folder, source, &watch, facts, error);
    cli_stop_release();
    if (told)
        fputs("\r\033[K", stderr);
    return status;
}

int cli_data_make_text(cli_arguments *arguments, const lab_task *task) {
    (void)task;
    const char *folder = cli_given_by_user(arguments, "output") ? cli_text(arguments, "output") : LAB_TEXT_FOLDER;
    const lab_text_source source = {
        .texts = {cli_text(arguments, "train-text"), cli_text(arguments, "dev-text"), cli_text(arguments, "test-text")},
        .vocabulary = (size_t)cli_integer(arguments, "vocabulary"),
        .model = cli_text(arguments, "model")};
    lab_text_facts facts;
    locus_error error;
    if (cli_given_by_user(arguments, "set"))
        return cli_usage_error("--set: data make text makes all three sets");
    if (source.texts[0] == NULL)
        return cli_usage_error("data make text: give --train-text FILE, any text in UTF-8");
    if (source.vocabulary > 0 && source.model != NULL)
        return cli_usage_error("--model brings its own vocabulary: leave out --vocabulary, or --model to train one");
    if (strcmp(folder, "-") == 0)
        return cli_usage_error("--output: token files are written to a folder, not to standard output");
    if (make(folder, &source, &facts, &error) != LOCUS_OK)
        return cli_error(&error);
    if (cli_flag(arguments, "json"))
        return print_json(folder, &facts);
    if (!cli_quiet)
        print_facts(folder, &facts);
    return 0;
}

/* ---- inspect ---- */

/* The first `lines` lines of a set, cut at 400 tokens each, with a bar between the pieces. */
static void print_lines(const lab_token_file *file, const lab_tokenizer *tokenizer, size_t lines) {
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
            fputs(bars && in_line > 0 && bytes > 0 && !ends ? "│" : "", stdout);
            fputs(ends && in_line >= 400 ? " …" : "", stdout);
            cli_write_bytes(stdout, text, bytes);
        }
        in_line = ends ? 0 : in_line + (bytes > 0);
        lines -= ends;
    }
    fputs(in_line > 0 ? "\n" : "", stdout);
}

static int print_text(const char *folder, int set, size_t lines) {
    lab_tokenizer *tokenizer = NULL;
    lab_token_file file = {0};
    locus_error error;
    char *path = lab_token_file_path(folder, lab_text_set_names[set]);
    if (path == NULL)
        return cli_failure("out of memory for a file name");
    locus_status status = lab_tokenizer_open_folder(&tokenizer, folder, &error);
    if (status == LOCUS_OK)
        status = lab_token_file_open(&file, path, &error);
    if (status == LOCUS_OK) {
        cli_print("\n%s:\n", lab_text_set_names[set]);
        print_lines(&file, tokenizer, lines);
    }
    lab_token_file_close(&file);
    lab_tokenizer_close(&tokenizer);
    free(path);
    return status == LOCUS_OK ? 0 : cli_error(&error);
}

int cli_data_inspect_text(cli_arguments *arguments, const lab_task *task) {
    (void)task;
    const char *folder = cli_given_by_user(arguments, "data") ? cli_text(arguments, "data") : LAB_TEXT_FOLDER;
    const size_t lines = (size_t)cli_integer(arguments, "show");
    lab_task_options options = {0};
    lab_text_facts facts;
    locus_error error;
    if (lab_text_describe(folder, &options, &error) != LOCUS_OK || lab_text_look(folder, &facts, &error) != LOCUS_OK)
        return cli_error(&error);
    if (cli_flag(arguments, "json"))
        return print_json(folder, &facts);
    print_facts(folder, &facts);
    return lines > 0 ? print_text(folder, (int)cli_choice(arguments, "set"), lines) : 0;
}
