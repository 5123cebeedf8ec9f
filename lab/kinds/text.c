/* SPDX-License-Identifier: MIT */
/* Text: windows of token files (text_task.c) for a decoder. The training set is read whole, window by window in a
 * shuffled order. */
#include "io/fail.h"
#include "kinds/class_parts.h"
#include "samples/portrait.h"
#include "task/text_task.h"
#include "text/tokenizer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

static const lab_option options[] = {
    {.field = "symbols", .type = LAB_OPTION_SIZE, .offset = LAB_AT_KIND(lab_text_options, symbols)},
    LAB_ROW("sequence", SIZE, LAB_AT_KIND(lab_text_options, sequence), LAB_NUMBER("sequence", "N", 2, 1e9),
            LAB_HELP("tokens of a sequence; a decoder reads all but one"), .silent = "0"),
    LAB_ROW("digest", SEED, AT(data.digest), .silent = "0"),
    LAB_ROW(NULL, TEXT, AT(data.path), LAB_WORD("data", "PATH"), LAB_HELP("a folder of token files (data/text)"),
            .flags = LAB_OPTION_FREE | LAB_OPTION_DATA | LAB_OPTION_EVAL | LAB_OPTION_REPRODUCED),
    LAB_ROW(NULL, TEXT, LAB_OPTION_NOWHERE, LAB_WORD("train-text", "FILE"), LAB_HELP("the text to train on, UTF-8"),
            .flags = LAB_OPTION_MADE),
    LAB_ROW(NULL, TEXT, LAB_OPTION_NOWHERE, LAB_WORD("dev-text", "FILE"),
            LAB_HELP("the text to choose by (5 % of --train-text)"), .flags = LAB_OPTION_MADE),
    LAB_ROW(NULL, TEXT, LAB_OPTION_NOWHERE, LAB_WORD("test-text", "FILE"),
            LAB_HELP("the text to score on (5 % of --train-text)"), .flags = LAB_OPTION_MADE),
    LAB_ROW(NULL, SIZE, LAB_OPTION_NOWHERE, LAB_NUMBER("vocabulary", "N", 257, 1e6),
            LAB_HELP("pieces of a SentencePiece model (none: tokens are bytes)"), .flags = LAB_OPTION_MADE),
    LAB_ROW(NULL, TEXT, LAB_OPTION_NOWHERE, LAB_WORD("model", "FILE"),
            LAB_HELP("a SentencePiece model that is there already"), .flags = LAB_OPTION_MADE),
    LAB_ROW(NULL, LIST, LAB_OPTION_NOWHERE, LAB_WORD("lengths", "L,L,…"),
            LAB_HELP("in windows of so many tokens of context"), .letter = 'l', .flags = LAB_OPTION_SCORED,
            .instead_of = "depths"),
};

/* Windows in which so many tokens are read. */
static void set_context(lab_task_options *of, size_t tokens) {
    LAB_TEXT(of)->sequence = tokens + 1;
}

/* As much of the text, in windows of another length. */
static size_t windows(const lab_task_options *trained, const lab_task_options *other, size_t samples) {
    const size_t tokens = samples * (LAB_TEXT(trained)->sequence - 1), each = LAB_TEXT(other)->sequence - 1;
    return (tokens + each - 1) / each;
}

static const lab_length_axis lengths = {
    .name = "context",
    .option = "lengths",
    .others = "contexts",
    .label = "tokens of context that a window has",
    .caption = "Left: perplexity, right: next tokens right; both over all places of the windows, which cover the same "
               "text.",
    .most = 1000000,
    .set = set_context,
    .samples = windows,
    .panels = {{"perplexity", "Test perplexity against the length of the context", "test perplexity"},
               {"accuracy", "Test accuracy against the length of the context", "next tokens right, %"}},
};

LAB_TOKENS(LAB_TEXT(of)->symbols)

static const char *folder_of(const lab_task_options *of) {
    return of->path != NULL ? of->path : LAB_TEXT_FOLDER;
}

static locus_status look(lab_train_config *config, locus_error *error) {
    return lab_text_describe(folder_of(&config->data), &config->data, error);
}

/* ---- budgets ---- */

static void paper(lab_train_config *config) {
    lab_budget_training(config);
    LAB_TEXT(&config->data)->sequence = 513;
    config->dev_samples = 128;
    config->batch = 32;
    config->steps = 20000;
    config->evaluate_every = 500;
}

static void quick(lab_train_config *config) {
    const lab_budget_size shrunk = {LAB_SIZES(192, 6, 768, 4), LAB_SCORED(64, 0, 0), LAB_STEPS(16, 1000, 100, 1e-3)};
    paper(config);
    lab_budget_shrink(config, &shrunk);
    LAB_TEXT(&config->data)->sequence = 257;
}

static void smoke(lab_train_config *config) {
    const lab_budget_size shrunk = {LAB_SIZES(64, 4, 256, 2), LAB_SCORED(32, 0, 0), LAB_STEPS(16, 250, 50, 2e-3)};
    paper(config);
    lab_budget_shrink(config, &shrunk);
    LAB_TEXT(&config->data)->sequence = 129;
    lab_budget_no_dropout(config);
}

/* ---- words for tables and pages ---- */

static void describe(const struct cJSON *config, const char *task, lab_data_facts *facts) {
    const double symbols = lab_said_number(config, "symbols");
    char count[48];
    (void)task;
    if (symbols > 0) {
        snprintf(facts->data, sizeof facts->data, "a vocabulary of %s tokens, windows of %g",
                 lab_grouped(symbols, count, sizeof count), lab_said_number(config, "sequence"));
        facts->mean_size = lab_said_number(config, "sequence") - 1;
    }
}

static double perplexity(const struct lab_outcome *outcome) {
    return exp(lab_value_loss(outcome));
}

static double bits_per_byte(const struct lab_outcome *outcome) {
    static const double ln2 = 0.693147180559945309417;
    return lab_value_loss(outcome) / ln2 / outcome->bytes_per_token;
}

static const lab_score_column columns[] = {
    {"loss", LAB_MEASURE_LOSS, LAB_SCORE_ALWAYS | LAB_SCORE_LEADS, "loss", NULL, "nats a token, lower is better",
     lab_value_loss},
    {"perplexity", LAB_MEASURE_PERPLEXITY, LAB_SCORE_ALWAYS, "perplexity", NULL, "lower is better", perplexity},
    {"bits_per_byte", LAB_MEASURE_LOSS, LAB_SCORE_ALWAYS, "bits per byte", NULL, "lower is better", bits_per_byte},
    {"accuracy", LAB_MEASURE_ACCURACY, LAB_SCORE_ALWAYS, "accuracy", NULL, "tokens, %", lab_value_accuracy},
};

/* ---- samples from text ---- */

static locus_status read_input(lab_dataset *set, const lab_task *task, const lab_task_options *of, const char *text,
                               locus_error *error) {
    lab_tokenizer *tokenizer = NULL;
    (void)task;
    set->input_offsets = calloc(2, sizeof *set->input_offsets);
    if (set->input_offsets == NULL)
        return lab_fail_memory(error, "a sample");
    set->samples = 1;
    locus_status status = lab_tokenizer_open_folder(&tokenizer, of->kept, error);
    if (status == LOCUS_OK)
        status = lab_tokenizer_encode(tokenizer, text, strlen(text), &set->input, &set->input_offsets[1], error);
    lab_tokenizer_close(&tokenizer);
    return status;
}

/* Of each what it adds to the text; "·" where a character is not yet complete. */
static locus_status name_tokens(lab_token_name *names, const lab_task *task, const lab_task_options *of,
                                const int32_t *tokens, size_t count, locus_error *error) {
    lab_tokenizer *tokenizer = NULL;
    (void)task;
    const locus_status status = lab_tokenizer_open_folder(&tokenizer, of->kept, error);
    lab_detokenizer pieces = {.tokenizer = tokenizer};
    for (size_t i = 0; status == LOCUS_OK && i < count; i++) {
        char piece[256];
        const size_t bytes = lab_detokenizer_add(&pieces, tokens[i], piece, sizeof piece);
        lab_token_name_put(&names[i], piece, bytes);
    }
    lab_tokenizer_close(&tokenizer);
    return status;
}

/* ---- the class ---- */

extern const lab_task_class lab_text_class;

static const lab_task tasks[] = {{
    .name = "text",
    .summary = "text → its next token",
    .class = &lab_text_class,
    .open_sequences = lab_text_open,
    .published = &(const lab_text_options){.sequence = 513},
}};

const lab_task_class lab_text_class = {
    .name = "text",
    LAB_TASKS_AND_OPTIONS(lab_text_options),
    LAB_OF_SEQUENCES,
    .vocabulary = vocabulary,
    .lengths = &lengths,
    .whole = true,
    .read = true,
    .budgets = {smoke, quick, paper},
    .look = look,
    .tokenizer = folder_of,
    .makes = LAB_MAKES_TOKENS,
    .portray = lab_portray_text,
    LAB_COLUMNS(columns),
    .token = "token",
    .sample = "window",
    .scores_note =
        "Perplexity is exp(loss), loss in nats a token; bits per byte of the text that the tokens stand for.",
    .describe = describe,
    .legend = "Perplexity is exp(loss), loss in nats a token; bits per byte of the text; next tokens right in %.",
    .page_legend =
        "<i>perplexity</i>: e to the loss, of each seed; <i>bits per byte</i> is comparable between vocabularies. ",
    .generate = "text: give --prompt",
    .generate_options = LAB_PROMPT_OPTIONS,
};
