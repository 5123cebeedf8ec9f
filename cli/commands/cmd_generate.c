/* SPDX-License-Identifier: MIT */
/* locus generate: decoding with a key–value cache, greedy, of given inputs or of samples of the test set. Trees are
 * printed as "(operator left right)". Of decoders: generate_decoder.c. */
#include "command.h"
#include "generate_decoder.h"
#include "io/json.h"
#include "model/architecture.h"
#include "output.h"
#include "store_argument.h"
#include "task/set_text.h"
#include "task_options.h"
#include "train/configuration/option_use.h"
#include "train/decoded.h"
#include "train/feed/cut_paths.h"
#include "train/store/run_folder.h"

#include <stdlib.h>
#include <string.h>

/* ---- what to decode ---- */

static int type_sample(lab_dataset *set, const char *text, const lab_train_config *config) {
    return config->task->class->read_input(set, config->task, &config->data, text, &cli_fault) == LOCUS_OK
               ? 0
               : cli_refusal(&cli_fault);
}

/* Of the test set, or the file that is named; what is read from files all of it, if there are fewer. Sizes that are
 * given are of what is drawn, not of the model. */
static int draw_samples(lab_dataset *set, cli_arguments *arguments, const lab_train_config *config) {
    lab_train_config other = *config;
    const bool read = config->task->class->read;
    const size_t wanted = (size_t)cli_integer(arguments, "n");
    (void)cli_put_options(arguments, &other);
    if (read && other.data.path == NULL && other.data.test == NULL)
        return cli_usage_error("give --input, or --test with a file of samples, or the --data that the run was made "
                               "with");
    const lab_draw draw = {other.task, &other.data, LAB_SET_TEST, read ? 0 : wanted, other.data_seed};
    const int status = cli_done(lab_dataset_generate(set, &draw, &cli_fault));
    set->samples = wanted < set->samples ? wanted : set->samples;
    return status;
}

/* ---- printing ---- */

static bool is_right(const lab_dataset *set, const lab_decoded *out, size_t s) {
    size_t m = set->target_offsets[s + 1] - set->target_offsets[s];
    return out->lengths[s] == m &&
           memcmp(out->tokens + out->offsets[s], set->target + set->target_offsets[s], m * sizeof *out->tokens) == 0;
}

/* Some tokens of a sample; parents NULL: a sequence. */
typedef struct tokens {
    const lab_dataset *set;
    const int32_t *ids;
    lab_tree_nodes nodes;
    size_t count;
} tokens;

static tokens tokens_of(const lab_dataset *set, const int32_t *ids, const lab_tree_nodes *nodes, size_t first,
                        size_t count) {
    const bool tree = nodes->parents != NULL;
    return (tokens){
        set, ids + first, {tree ? nodes->parents + first : NULL, tree ? nodes->branches + first : NULL}, count};
}

static tokens side_of(const lab_dataset *set, const int32_t *ids, const lab_tree_nodes *nodes, const size_t *offsets) {
    return offsets != NULL ? tokens_of(set, ids, nodes, offsets[0], offsets[1] - offsets[0]) : (tokens){.set = set};
}

/* "1 2 3", or "(11 3 2)" of a tree; what is no whole tree yet is printed as far as it has grown. From malloc; without
 * memory the program ends. */
static char *text_of(const tokens *t) {
    char *text = lab_set_text(t->set, t->ids, &t->nodes, t->count, &cli_fault);
    if (text == NULL)
        exit(cli_error(&cli_fault));
    return text;
}

static void print_tokens(const char *label, const tokens *t, const char *after) {
    char *text = text_of(t);
    cli_print("%s %s%s\n", label, text, after);
    free(text);
}

/* Tokens that have names are no numbers that a reader knows. */
static void add_tokens(cJSON *object, const char *name, const tokens *t) {
    const bool named = t->set->names != NULL;
    cJSON *list = named ? NULL : cJSON_AddArrayToObject(object, name);
    for (size_t i = 0; !named && i < t->count; i++)
        lab_json_put(list, NULL, cJSON_CreateNumber(t->ids[i]));
    if (named || t->nodes.parents != NULL) {
        char label[32], *text = text_of(t);
        snprintf(label, sizeof label, "%s_text", name);
        cJSON_AddStringToObject(object, label, text);
        free(text);
    }
}

/* A sample: input, output, target. */
typedef struct shown {
    tokens parts[3];
    bool known, right; /* its target, and whether the output is that */
} shown;

static void print_sample(const shown *sample, bool first) {
    const bool tree = sample->parts[0].nodes.parents != NULL;
    print_tokens(first ? "input " : "\ninput ", &sample->parts[0], "");
    print_tokens("output", &sample->parts[1], sample->right ? "  (right)" : tree ? "  (wrong)" : "");
    if (sample->known && !sample->right)
        print_tokens("target", &sample->parts[2], "");
}

static void add_sample(cJSON *list, const shown *sample) {
    cJSON *object = cJSON_CreateObject();
    add_tokens(object, "input", &sample->parts[0]);
    add_tokens(object, "output", &sample->parts[1]);
    if (sample->known) {
        add_tokens(object, "target", &sample->parts[2]);
        cJSON_AddBoolToObject(object, "exact", sample->right);
    }
    lab_json_put(list, NULL, object);
}

static int print(const lab_dataset *set, const lab_decoded *out, bool json) {
    cJSON *list = json ? cJSON_CreateArray() : NULL;
    const bool known = set->target_offsets != NULL;
    for (size_t s = 0; s < set->samples; s++) {
        const shown sample = {{side_of(set, set->input, &set->input_tree, set->input_offsets + s),
                               tokens_of(set, out->tokens, &out->nodes, out->offsets[s], out->lengths[s]),
                               side_of(set, set->target, &set->target_tree, known ? set->target_offsets + s : NULL)},
                              known,
                              known && is_right(set, out, s)};
        if (json)
            add_sample(list, &sample);
        else
            print_sample(&sample, s == 0);
    }
    return json ? cli_json_print(list) : 0;
}

/* What is asked must fit the run's kind. */
static int check(const cli_arguments *arguments, const cli_trained *trained) {
    const lab_task *task = trained->task;
    if (task->class->generate == NULL)
        return cli_failure("the run '%s' %s", trained->run.name, task->class->no_generate);
    return cli_generate_refuse(arguments, task);
}

static int generate(cli_arguments *arguments, cli_trained *trained) {
    lab_dataset set = {0};
    lab_decoded out = {0};
    char note[256];
    const char *text = cli_text(arguments, "input");
    int status = cli_trained_load(trained);
    trained->config.data.kept = trained->folder;
    if (status == 0)
        status =
            text != NULL ? type_sample(&set, text, &trained->config) : draw_samples(&set, arguments, &trained->config);
    if (status == 0 && lab_cut_paths_note(&trained->config, &set, note, sizeof note))
        cli_note("%s", note);
    status = status ? status : cli_done(lab_decoded_make(&out, trained->model, &trained->config, &set, &cli_fault));
    status = status ? status : print(&set, &out, cli_flag(arguments, "json"));
    lab_decoded_free(&out);
    lab_dataset_destroy(&set);
    return status;
}

static int run(cli_arguments *arguments) {
    cli_trained trained;
    const char *other = cli_given_beside(arguments, "input data dev test store json quiet threads");
    if (other != NULL && cli_given_by_user(arguments, "input"))
        return cli_usage_error("--input gives what is decoded: leave out --%s", other);
    int status = cli_trained_open(&trained, arguments);
    status = status ? status : check(arguments, &trained);
    if (status == 0) {
        const bool decoder = lab_class_generates(trained.task->class, "prompt");
        status = decoder ? cli_generate_decoder(arguments, &trained) : generate(arguments, &trained);
    }
    cli_trained_close(&trained);
    return status;
}

static const cli_option options[] = {
    CLI_ROW_TEXT(
        "input", 'i', "WORD",
        "the input: \"1 2 3\" of words, \"(11 3 2)\" of trees, a text as in training; words, trees, own pairs"),
    {"n", 'n', CLI_INTEGER, "N", "3", "this many samples of the test set; not of text", 1, 100000},
    CLI_ROW_TEXT("prompt", 'p', "TEXT", "decoders: what to go on with; -: standard input"),
    CLI_ROW_TEXT("prompts", 0, "FILE", "decoders: many prompts, one to a line, decoded together"),
    {"tokens", 0, CLI_INTEGER, "N", NULL, "decoders: most tokens that are added to a prompt", 1, 1e7},
    {"temperature", 0, CLI_NUMBER, "T", NULL,
     "decoders: logits are divided by it; 0: the likeliest token (problems: 0, text: 0.8)", 0, 1e6},
    {"top-k", 0, CLI_INTEGER, "K", "0", "decoders: draw from the K likeliest tokens; 0: from all", 0, 1e9},
    {"top-p", 0, CLI_NUMBER, "P", NULL, "decoders: draw from the fewest tokens that sum to probability P (text: 0.95)",
     0, 1},
    {"seed", 's', CLI_INTEGER, "S", "0", "decoders: of what is drawn", 0, 9007199254740991.0},
    CLI_STORE_OPTION,
};

const cli_command cli_command_generate = {
    .name = "generate",
    .summary = "decodes words, trees or text with a trained model, token by token",
    .operands = "RUN",
    .details =
        "Decoding with a key-value cache. RUN is a name, a unique beginning of one, or a number of 'locus runs'.\n\n"
        "Words, trees and own pairs are decoded greedily. A tree grows from the symbols that are generated, in the "
        "order that the run was trained with, and is over when no child is open. Samples of the test set are of the "
        "sizes of the training, unless others are given.\n\n"
        "A decoder goes on with a prompt: the prompt and what follows are printed as they come, with --quiet what "
        "follows only. A problem ends with its '#'; without a prompt, -n problems of the test set are answered. Texts "
        "end after --tokens tokens (256, or what a table of positions has room for).\n\n"
        "Logits are divided by the temperature; of the tokens the --top-k likeliest are kept, of these the fewest "
        "whose probabilities sum to --top-p; one of them is drawn with --seed. Problems are decoded greedily unless a "
        "temperature is given. Ctrl-C ends what is being written: what there is has been printed, and the exit status "
        "is 1.",
    .examples = "locus generate copy-rope-smoke-s0 --input '3 1 4 1 5 9 2 6'\n"
                "locus generate tree-copy-depth-rope --input '(11 3 (12 1 2))'\n"
                "locus generate 1 -n 5\n"
                "locus generate pairs-rope --input 'a text of mine'\n"
                "locus generate addition-rope --prompt '?d=77+38446365; '\n"
                "locus generate text-rope --prompt 'The ' --temperature 0.7 --top-k 40 --seed 1 --tokens 100\n",
    .shared = CLI_JSON | CLI_QUIET | CLI_THREADS,
    CLI_OPTIONS(options),
    .tasks = LAB_OPTION_GENERATED,
    .run = run,
};
