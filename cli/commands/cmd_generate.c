/* SPDX-License-Identifier: MIT */
/* locus generate: decoding with a key–value cache, greedy, of given words or of samples of the test set. Trees are
 * printed as "(operator left right)". Of decoders: generate_decoder.c. */
#include "command.h"
#include "generate_decoder.h"
#include "output.h"
#include "store_argument.h"
#include "task/growth.h"
#include "task/symbol_tree.h"
#include "task/tree_random.h"
#include "train/configuration/config.h"
#include "train/feed/cut_paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct decoded {
    size_t *limits, *offsets, *lengths;
    int32_t *tokens;
    lab_tree_nodes nodes; /* of trees: where the tokens stand */
} decoded;

/* ---- what to decode ---- */

/* "1 2 3" as one sample; its target is what the task makes of it. */
static int read_words(lab_dataset *set, const char *text, const lab_train_config *config) {
    const lab_task *task = config->task;
    size_t room = strlen(text) / 2 + 1, n = 0;
    memset(set, 0, sizeof *set);
    set->input = malloc(room * sizeof *set->input);
    set->input_offsets = calloc(2, sizeof *set->input_offsets);
    set->target_offsets = calloc(2, sizeof *set->target_offsets);
    if (set->input == NULL || set->input_offsets == NULL || set->target_offsets == NULL)
        return cli_failure("out of memory");
    for (const char *at = text + strspn(text, " ,\t"); *at != '\0'; at += strspn(at, " ,\t")) {
        char *end;
        errno = 0;
        long symbol = strtol(at, &end, 10);
        if (end == at || errno != 0 || symbol < 1 || (size_t)symbol > config->data.words.symbols) {
            return cli_usage_error("--input: '%.20s' is no symbol: give numbers from 1 to %zu between spaces", at,
                                   config->data.words.symbols);
        }
        set->input[n++] = (int32_t)symbol;
        at = end;
    }
    if (n == 0) {
        return cli_usage_error("--input: the word is empty; give numbers from 1 to %zu between spaces",
                               config->data.words.symbols);
    }
    set->samples = 1;
    set->input_offsets[1] = n;
    set->target_offsets[1] = task->transform(n, NULL, NULL);
    set->target = malloc((set->target_offsets[1] + 1) * sizeof *set->target);
    if (set->target == NULL)
        return cli_failure("out of memory");
    task->transform(n, set->input, set->target);
    return 0;
}

static int draw_samples(lab_dataset *set, cli_arguments *arguments, const lab_train_config *config,
                        lab_task_options *options) {
    locus_error error;
    if (cli_given_by_user(arguments, "length")) {
        options->words.length_deviation *= cli_number(arguments, "length") / options->words.length_mean;
        options->words.length_mean = cli_number(arguments, "length");
    }
    if (cli_given_by_user(arguments, "depth"))
        options->trees.depth_mean = cli_number(arguments, "depth");
    const lab_draw draw = {config->task, options, LAB_SET_TEST, (size_t)cli_integer(arguments, "n"), config->data_seed};
    return lab_dataset_generate(set, &draw, &error) == LOCUS_OK ? 0 : cli_error(&error);
}

/* ---- decoding ---- */

static int allocate(decoded *out, const lab_dataset *set, bool trees) {
    size_t n = set->samples, total = 0;
    out->limits = malloc((n + 1) * sizeof *out->limits);
    out->lengths = malloc((n + 1) * sizeof *out->lengths);
    out->offsets = malloc((n + 1) * sizeof *out->offsets);
    for (size_t s = 0; out->limits != NULL && s < n; s++) {
        out->limits[s] = set->target_offsets[s + 1] - set->target_offsets[s] + 9;
        total += out->limits[s];
    }
    out->tokens = malloc((total + 1) * sizeof *out->tokens);
    out->nodes.parents = trees ? malloc((total + 1) * sizeof *out->nodes.parents) : NULL;
    out->nodes.branches = trees ? malloc((total + 1) * sizeof *out->nodes.branches) : NULL;
    bool good = out->limits != NULL && out->lengths != NULL && out->offsets != NULL && out->tokens != NULL &&
                (!trees || (out->nodes.parents != NULL && out->nodes.branches != NULL));
    return good ? 0 : cli_failure("out of memory");
}

/* Lets the generated trees grow once more, to know where their tokens stand. */
static void place_nodes(lab_grower *grower, const decoded *out, size_t samples) {
    lab_grower_restart(grower);
    for (size_t s = 0; s < samples; s++)
        for (size_t i = out->offsets[s]; i < out->offsets[s] + out->lengths[s]; i++)
            lab_grower_grow(grower, s, out->tokens[i], &out->nodes.parents[i], &out->nodes.branches[i]);
}

/* A sample may run 8 tokens over its target, so that one sees how it goes wrong. */
static int decode(lab_model *model, const lab_dataset *set, const lab_train_config *config, decoded *out) {
    const bool trees = set->input_tree.parents != NULL;
    const lab_batch batch = {.samples = set->samples,
                             .input_offsets = set->input_offsets,
                             .target_offsets = set->target_offsets,
                             .input = set->input,
                             .target = set->target,
                             .input_tree = {set->input_tree.parents, set->input_tree.branches},
                             .target_tree = {set->target_tree.parents, set->target_tree.branches}};
    locus_error error;
    int result = allocate(out, set, trees);
    if (result != 0)
        return result;
    const lab_grower_input input = {config->task,       &config->data, set->samples,
                                    set->input_offsets, set->input,    out->limits};
    lab_grower *grower = NULL;
    locus_status status = trees ? lab_grower_create(&grower, &input, &error) : LOCUS_OK;
    const lab_growth growth = {lab_grower_grow, grower};
    const lab_generation generation = {.limits = out->limits,
                                       .output = out->tokens,
                                       .output_offsets = out->offsets,
                                       .lengths = out->lengths,
                                       .growth = trees ? &growth : NULL};
    if (status == LOCUS_OK)
        status = lab_model_generate(model, &batch, &generation, &error);
    if (status == LOCUS_OK && trees)
        place_nodes(grower, out, set->samples);
    lab_grower_destroy(&grower);
    return status == LOCUS_OK ? 0 : cli_error(&error);
}

/* ---- printing ---- */

static bool is_right(const lab_dataset *set, const decoded *out, size_t s) {
    size_t m = set->target_offsets[s + 1] - set->target_offsets[s];
    return out->lengths[s] == m &&
           memcmp(out->tokens + out->offsets[s], set->target + set->target_offsets[s], m * sizeof *out->tokens) == 0;
}

/* Some tokens of a sample; parents NULL: a word. */
typedef struct tokens {
    const int32_t *ids, *parents, *branches;
    size_t count;
} tokens;

static tokens tokens_of(const int32_t *ids, const lab_tree_nodes *nodes, size_t first, size_t count) {
    const bool tree = nodes->parents != NULL;
    return (tokens){ids + first, tree ? nodes->parents + first : NULL, tree ? nodes->branches + first : NULL, count};
}

static char *tree_text(const tokens *t) {
    lab_tree tree = {0};
    locus_error error;
    if (lab_tree_from_parents(&tree, t->count, t->ids, t->parents, t->branches, &error) != LOCUS_OK)
        exit(cli_error(&error));
    char *text = lab_tree_string(&tree);
    lab_tree_destroy(&tree);
    return text;
}

static char *word_text(const tokens *t) {
    char *text = calloc(t->count * 12 + 1, 1);
    for (size_t i = 0, used = 0; text != NULL && i < t->count; i++)
        used += (size_t)snprintf(text + used, 13, "%s%d", i == 0 ? "" : " ", (int)t->ids[i]);
    return text;
}

/* "1 2 3", or "(11 3 2)" of a tree; what is no whole tree yet is printed as far as it has grown. From malloc; without
 * memory the program ends. */
static char *text_of(const tokens *t) {
    char *text = t->parents != NULL ? tree_text(t) : word_text(t);
    if (text == NULL)
        exit(cli_failure("out of memory for the text of a sample"));
    return text;
}

static void print_tokens(const char *label, const tokens *t, const char *after) {
    char *text = text_of(t);
    cli_print("%s %s%s\n", label, text, after);
    free(text);
}

static void add_tokens(cJSON *object, const char *name, const tokens *t) {
    cJSON *list = cJSON_AddArrayToObject(object, name);
    for (size_t i = 0; i < t->count; i++)
        cJSON_AddItemToArray(list, cJSON_CreateNumber(t->ids[i]));
    if (t->parents != NULL) {
        char label[32], *text = text_of(t);
        snprintf(label, sizeof label, "%s_text", name);
        cJSON_AddStringToObject(object, label, text);
        free(text);
    }
}

static void print_sample(const tokens parts[3], bool first, bool right) {
    const bool tree = parts[0].parents != NULL;
    print_tokens(first ? "input " : "\ninput ", &parts[0], "");
    print_tokens("output", &parts[1], right ? "  (right)" : tree ? "  (wrong)" : "");
    if (!right)
        print_tokens("target", &parts[2], "");
}

static int print(const lab_dataset *set, const decoded *out, bool json) {
    cJSON *list = json ? cJSON_CreateArray() : NULL;
    for (size_t s = 0; s < set->samples; s++) {
        const size_t *from = set->input_offsets + s, *to = set->target_offsets + s;
        const tokens parts[3] = {tokens_of(set->input, &set->input_tree, from[0], from[1] - from[0]),
                                 tokens_of(out->tokens, &out->nodes, out->offsets[s], out->lengths[s]),
                                 tokens_of(set->target, &set->target_tree, to[0], to[1] - to[0])};
        const bool right = is_right(set, out, s);
        if (json) {
            cJSON *object = cJSON_CreateObject();
            add_tokens(object, "input", &parts[0]);
            add_tokens(object, "output", &parts[1]);
            add_tokens(object, "target", &parts[2]);
            cJSON_AddBoolToObject(object, "exact", right);
            cJSON_AddItemToArray(list, object);
        } else {
            print_sample(parts, s == 0, right);
        }
    }
    return json ? cli_json_print(list) : 0;
}

/* What is asked must fit the run's kind. */
static int check(const cli_arguments *arguments, const lab_run *trained) {
    const lab_task *task = lab_task_find(trained->task);
    if (task == NULL) {
        return cli_failure("the run '%s' is of the task '%s', which this version does not have", trained->name,
                           trained->task);
    }
    if (task->class->generate == NULL)
        return cli_failure("the run '%s' %s", trained->name, task->class->no_generate);
    if (task->children != NULL && cli_given_by_user(arguments, "input"))
        return cli_usage_error("--input is for words; trees are drawn from the test set, with -n and --depth");
    return cli_generate_refuse(arguments, task);
}

static bool is_decoder(const lab_run *trained) {
    return lab_task_find(trained->task)->class->architecture == LAB_DECODER;
}

static int generate(cli_arguments *arguments, const cli_store *store, const lab_run *trained) {
    lab_train_config config;
    lab_model *model;
    locus_error error;
    lab_dataset set = {0};
    decoded out = {0};
    char note[256];
    int status = check(arguments, trained);
    if (status != 0)
        return status;
    if (is_decoder(trained))
        return cli_generate_decoder(arguments, store, trained);
    if (lab_train_load(trained, store->folder, &config, &model, &error) != LOCUS_OK)
        return cli_error(&error);
    const char *text = cli_text(arguments, "input");
    lab_task_options options = config.data;
    status = text != NULL ? read_words(&set, text, &config) : draw_samples(&set, arguments, &config, &options);
    if (status == 0 && lab_cut_paths_note(&config, &set, note, sizeof note))
        cli_note("%s", note);
    status = status ? status : decode(model, &set, &config, &out);
    status = status ? status : print(&set, &out, cli_flag(arguments, "json"));
    free(out.limits);
    free(out.offsets);
    free(out.lengths);
    free(out.tokens);
    free(out.nodes.parents);
    free(out.nodes.branches);
    lab_dataset_destroy(&set);
    lab_model_destroy(&model);
    return status;
}

static int run(cli_arguments *arguments) {
    cli_store store;
    lab_run trained;
    if (cli_given_by_user(arguments, "input") &&
        (cli_given_by_user(arguments, "n") || cli_given_by_user(arguments, "length") ||
         cli_given_by_user(arguments, "depth"))) {
        return cli_usage_error(
            "--input gives the word to decode; -n and --length draw words of the test set: give one of them");
    }
    int status = cli_store_open(&store, arguments, false);
    if (status != 0)
        return status;
    status = cli_store_find(&store, arguments->operands[0], &trained);
    if (status == 0) {
        status = generate(arguments, &store, &trained);
        lab_run_free(&trained);
    }
    cli_store_close(&store);
    return status;
}

static const cli_option options[] = {
    {"input", 'i', CLI_TEXT, "WORD", NULL, "the input word, as in \"1 2 3\"; words only", 0, 0},
    {"n", 'n', CLI_INTEGER, "N", "3", "this many samples of the test set; not of text", 1, 100000},
    {"length", 'l', CLI_NUMBER, "MEAN", NULL, "words: mean length of these (as trained)", 1, 1e6},
    {"depth", 0, CLI_NUMBER, "MEAN", NULL, "trees: mean depth of these (as trained)", 0, LAB_TREE_MOST_DEPTH},
    CLI_DECODER_OPTIONS,
    CLI_STORE_OPTION,
};

const cli_command cli_command_generate = {
    .name = "generate",
    .summary = "decodes words, trees or text with a trained model, token by token",
    .operands = "RUN",
    .details = "Decoding with a key-value cache. RUN is a name, a unique beginning of one, or a number of "
               "'locus runs'.\n\n"
               "Words and trees are decoded greedily. A tree grows from the symbols that are generated, in the order "
               "that the run was trained with, and is over when no child is open.\n\n"
               "A decoder goes on with a prompt: the prompt and what follows are printed as they come, with --quiet "
               "what follows only. A problem ends with its '#'; without a prompt, -n problems of the test set are "
               "answered. Texts end after --tokens tokens (256, or what a table of positions has room for).\n\n"
               "Logits are divided by the temperature; of the tokens the --top-k likeliest are kept, of these the "
               "fewest whose probabilities sum to --top-p; one of them is drawn with --seed. Problems are decoded "
               "greedily unless a temperature is given. Ctrl-C ends what is being written: what there is has been "
               "printed, and the exit status is 1.",
    .examples = "locus generate copy-rope-smoke-s0 --input '3 1 4 1 5 9 2 6'\n"
                "locus generate 1 -n 5\n"
                "locus generate addition-rope --prompt '?d=77+38446365; '\n"
                "locus generate text-rope --prompt 'The ' --temperature 0.7 --top-k 40 --seed 1 --tokens 100\n",
    .shared = CLI_JSON | CLI_QUIET | CLI_THREADS,
    CLI_OPTIONS(options),
    .run = run,
};
