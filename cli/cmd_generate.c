/* SPDX-License-Identifier: MIT */
/* locus generate: greedy decoding with a key–value cache, of given words or of samples of the test set. */
#include "command.h"
#include "output.h"
#include "store_argument.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct decoded {
    size_t *limits, *offsets, *lengths;
    int32_t *tokens;
} decoded;

/* ---- what to decode ---- */

/* "1 2 3" as one sample; its target is what the task makes of it. */
static int read_words(lab_dataset *set, const char *text, const lab_train_config *config) {
    const lab_task *task = lab_task_find(config->task);
    size_t room = strlen(text) / 2 + 1, n = 0;
    memset(set, 0, sizeof *set);
    set->input = malloc(room * sizeof *set->input);
    set->input_offsets = calloc(2, sizeof *set->input_offsets);
    set->target_offsets = calloc(2, sizeof *set->target_offsets);
    if (set->input == NULL || set->input_offsets == NULL || set->target_offsets == NULL) {
        return cli_failure("out of memory");
    }
    for (const char *at = text + strspn(text, " ,\t"); *at != '\0'; at += strspn(at, " ,\t")) {
        char *end;
        errno = 0;
        long symbol = strtol(at, &end, 10);
        if (end == at || errno != 0 || symbol < 1 || (size_t)symbol > config->data.symbols) {
            return cli_usage_error("--input: '%.20s' is no symbol: give numbers from 1 to %zu between spaces", at,
                                   config->data.symbols);
        }
        set->input[n++] = (int32_t)symbol;
        at = end;
    }
    if (n == 0) {
        return cli_usage_error("--input: the word is empty; give numbers from 1 to %zu between spaces",
                               config->data.symbols);
    }
    set->samples = 1;
    set->input_offsets[1] = n;
    set->target_offsets[1] = task->transform(n, NULL, NULL);
    set->target = malloc((set->target_offsets[1] + 1) * sizeof *set->target);
    if (set->target == NULL) {
        return cli_failure("out of memory");
    }
    task->transform(n, set->input, set->target);
    return 0;
}

static int draw_samples(lab_dataset *set, cli_arguments *arguments, const lab_train_config *config) {
    lab_task_options options = config->data;
    locus_error error;
    if (cli_given_by_user(arguments, "length")) {
        options.length_deviation *= cli_number(arguments, "length") / options.length_mean;
        options.length_mean = cli_number(arguments, "length");
    }
    const lab_draw draw = {lab_task_find(config->task), &options, LAB_SET_TEST, (size_t)cli_integer(arguments, "n"),
                           config->data_seed};
    return lab_dataset_generate(set, &draw, &error) == LOCUS_OK ? 0 : cli_error(&error);
}

/* ---- decoding ---- */

/* A sample may run 8 tokens over its target, so that one sees how it goes wrong. */
static int decode(lab_model *model, const lab_dataset *set, decoded *out) {
    size_t n = set->samples, total = 0;
    locus_error error;
    out->limits = malloc(n * sizeof *out->limits);
    out->lengths = malloc(n * sizeof *out->lengths);
    out->offsets = malloc((n + 1) * sizeof *out->offsets);
    for (size_t s = 0; out->limits != NULL && s < n; s++) {
        out->limits[s] = set->target_offsets[s + 1] - set->target_offsets[s] + 9;
        total += out->limits[s];
    }
    out->tokens = malloc((total + 1) * sizeof *out->tokens);
    if (out->limits == NULL || out->lengths == NULL || out->offsets == NULL || out->tokens == NULL) {
        return cli_failure("out of memory");
    }
    const lab_batch batch = {.samples = n,
                             .input_offsets = set->input_offsets,
                             .target_offsets = set->target_offsets,
                             .input = set->input,
                             .target = set->target};
    const lab_generation generation = {
        .limits = out->limits, .output = out->tokens, .output_offsets = out->offsets, .lengths = out->lengths};
    return lab_model_generate(model, &batch, &generation, &error) == LOCUS_OK ? 0 : cli_error(&error);
}

static bool is_right(const lab_dataset *set, const decoded *out, size_t s) {
    size_t m = set->target_offsets[s + 1] - set->target_offsets[s];
    return out->lengths[s] == m &&
           memcmp(out->tokens + out->offsets[s], set->target + set->target_offsets[s], m * sizeof *out->tokens) == 0;
}

static void print_word(const char *label, const int32_t *ids, size_t count, const char *after) {
    printf("%s", label);
    for (size_t i = 0; i < count; i++) {
        printf(" %d", (int)ids[i]);
    }
    printf("%s\n", after);
}

static void add_ids(cJSON *object, const char *name, const int32_t *ids, size_t count) {
    cJSON *list = cJSON_AddArrayToObject(object, name);
    for (size_t i = 0; i < count; i++) {
        cJSON_AddItemToArray(list, cJSON_CreateNumber(ids[i]));
    }
}

static int print(const lab_dataset *set, const decoded *out, bool json) {
    cJSON *list = json ? cJSON_CreateArray() : NULL;
    for (size_t s = 0; s < set->samples; s++) {
        const int32_t *input = set->input + set->input_offsets[s], *target = set->target + set->target_offsets[s];
        size_t n = set->input_offsets[s + 1] - set->input_offsets[s];
        size_t m = set->target_offsets[s + 1] - set->target_offsets[s];
        const int32_t *output = out->tokens + out->offsets[s];
        bool right = is_right(set, out, s);
        if (json) {
            cJSON *object = cJSON_CreateObject();
            add_ids(object, "input", input, n);
            add_ids(object, "output", output, out->lengths[s]);
            add_ids(object, "target", target, m);
            cJSON_AddBoolToObject(object, "exact", right);
            cJSON_AddItemToArray(list, object);
            continue;
        }
        print_word(s == 0 ? "input " : "\ninput ", input, n, "");
        print_word("output", output, out->lengths[s], right ? "  (right)" : "");
        if (!right) {
            print_word("target", target, m, "");
        }
    }
    return json ? cli_json_print(list) : 0;
}

static int generate(cli_arguments *arguments, const cli_store *store, const lab_run *trained) {
    lab_train_config config;
    lab_model *model;
    locus_error error;
    lab_dataset set = {0};
    decoded out = {0};
    if (lab_train_load(trained, store->folder, &config, &model, &error) != LOCUS_OK) {
        return cli_error(&error);
    }
    const char *text = cli_text(arguments, "input");
    int status = text != NULL ? read_words(&set, text, &config) : draw_samples(&set, arguments, &config);
    status = status ? status : decode(model, &set, &out);
    status = status ? status : print(&set, &out, cli_flag(arguments, "json"));
    free(out.limits);
    free(out.offsets);
    free(out.lengths);
    free(out.tokens);
    lab_dataset_destroy(&set);
    lab_model_destroy(&model);
    return status;
}

static int run(cli_arguments *arguments) {
    cli_store store;
    lab_run trained;
    if (cli_given_by_user(arguments, "input") &&
        (cli_given_by_user(arguments, "n") || cli_given_by_user(arguments, "length"))) {
        return cli_usage_error(
            "--input gives the word to decode; -n and --length draw words of the test set: give one of them");
    }
    int status = cli_store_open(&store, arguments, false);
    if (status != 0) {
        return status;
    }
    status = cli_store_find(&store, arguments->operands[0], &trained);
    if (status == 0) {
        status = generate(arguments, &store, &trained);
        lab_run_free(&trained);
    }
    cli_store_close(&store);
    return status;
}

static const cli_option options[] = {
    {"input", 'i', CLI_TEXT, "WORD", NULL, "the input word, as in \"1 2 3\"", 0, 0},
    {"n", 'n', CLI_INTEGER, "N", "3", "this many samples of the test set", 1, 100000},
    {"length", 'l', CLI_NUMBER, "MEAN", NULL, "mean length of these (as trained)", 1, 1e6},
    CLI_STORE_OPTION,
};

const cli_command cli_command_generate = {
    .name = "generate",
    .summary = "decodes words with a trained model, token by token",
    .operands = "RUN",
    .details = "Greedy decoding with a key-value cache. RUN is a name, a unique beginning of one, or a number of "
               "'locus runs'.",
    .examples = "locus generate copy-rope-smoke-s0 --input '3 1 4 1 5 9 2 6'\nlocus generate 1 -n 5\n",
    .shared = CLI_JSON | CLI_THREADS,
    CLI_OPTIONS(options),
    .run = run,
};
