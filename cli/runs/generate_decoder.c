/* SPDX-License-Identifier: MIT */
/* A decoder goes on with a prompt: as text, byte by byte as it is complete, while it comes; several prompts are decoded
 * together and printed one by one. Problems end with their '#'. Ctrl-C ends all of them where they are. */
#include "generate_decoder.h"

#include "command.h"
#include "generate_prompts.h"
#include "output.h"
#include "stop.h"
#include "train/checkpoint.h"
#include "train/configuration/config.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    TEXT_TOKENS = 256, /* --tokens of text, unless it is given */
    OVERRUN = 8,       /* tokens that a drawn problem may get above its answer, so that one sees how it goes wrong */
    TOGETHER = 32      /* prompts that are decoded together; more bring no speed but need memory */
};

/* ---- which options ---- */

/* Options of some kinds alone, whose they are. */
static const struct {
    const char *name, *kinds, *whose;
} kind_options[] = {
    {"input", "words own pairs", "words and own pairs"},
    {"test", "own pairs", "own pairs"},
    {"data", "own pairs", "own pairs"},
    {"length", "words", "words"},
    {"depth", "trees", "trees"},
    {"n", "words trees problems own pairs", "samples of a test set"},
    {"prompt", "problems text", "decoders"},
    {"prompts", "problems text", "decoders"},
    {"tokens", "problems text", "decoders"},
    {"temperature", "problems text", "decoders"},
    {"top-k", "problems text", "decoders"},
    {"top-p", "problems text", "decoders"},
    {"seed", "problems text", "decoders"},
};

int cli_generate_refuse(const cli_arguments *arguments, const lab_task *task) {
    for (size_t i = 0; i < sizeof kind_options / sizeof *kind_options; i++) {
        if (!lab_class_among(task->class, kind_options[i].kinds) &&
            cli_given_by_user(arguments, kind_options[i].name)) {
            return cli_usage_error("--%s is for %s; this run is of %s", kind_options[i].name, kind_options[i].whose,
                                   task->class->generate);
        }
    }
    return 0;
}

static int check(const cli_arguments *arguments, const lab_task *task) {
    const bool given = cli_given_by_user(arguments, "prompt") || cli_given_by_user(arguments, "prompts");
    if (cli_given_by_user(arguments, "prompt") && cli_given_by_user(arguments, "prompts"))
        return cli_usage_error("--prompt gives one prompt, --prompts a file of them: give one of the two");
    if (given && cli_given_by_user(arguments, "n"))
        return cli_usage_error("-n draws problems of the test set; with a prompt, leave it out");
    if (!given && !task->solved) {
        return cli_usage_error("a prompt is missing: --prompt TEXT, or --prompts FILE with one to a line; %s has no "
                               "problems to answer",
                               task->name);
    }
    return 0;
}

/* What is drawn from; at temperature 0 nothing is drawn. */
static int read_sampling(lab_sampling *sampling, const cli_arguments *arguments, bool text) {
    static const char *const of_draws[] = {"top-k", "top-p", "seed"};
    *sampling = (lab_sampling){.temperature = text ? 0.8 : 0.0,
                               .top_k = (size_t)cli_integer(arguments, "top-k"),
                               .top_p = text ? 0.95 : 1.0,
                               .seed = (uint64_t)cli_integer(arguments, "seed")};
    if (cli_given_by_user(arguments, "temperature"))
        sampling->temperature = cli_number(arguments, "temperature");
    if (cli_given_by_user(arguments, "top-p"))
        sampling->top_p = cli_number(arguments, "top-p");
    if (!(sampling->top_p > 0.0))
        return cli_usage_error("--top-p must be above 0 and at most 1: at 0 no token is left");
    for (size_t i = 0; !(sampling->temperature > 0.0) && i < sizeof of_draws / sizeof *of_draws; i++)
        if (cli_given_by_user(arguments, of_draws[i]))
            return cli_usage_error("--%s: nothing is drawn at temperature 0; give --temperature, too", of_draws[i]);
    return 0;
}

/* ---- decoding ---- */

/* What one prompt has got. */
typedef struct answer {
    cli_writer writer;
    char *text; /* from malloc; a 0 behind `used` */
    size_t used, room;
    size_t tokens;
    double first, last; /* seconds at which its first and its latest token came */
} answer;

typedef struct job {
    const cli_arguments *arguments;
    lab_model *model;
    const lab_train_config *config;
    cli_writing writing;
    cli_prompts prompts;
    lab_sampling sampling;
    int32_t end; /* the token that ends a problem; −1: none does */
    bool streams, given;
    size_t *limits, *offsets, *lengths; /* [prompts (+ 1)]; offsets and lengths of the prompts being decoded */
    int32_t *tokens;
    answer *answers;
    size_t begin, count; /* the prompts that are being decoded */
    double started, ended;
    bool stopped, out_of_memory;
    cJSON *list;
} job;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool append(answer *to, const char *piece, size_t bytes) {
    if (to->used + bytes + 1 > to->room) {
        const size_t room = 2 * to->room + bytes + 64;
        char *text = realloc(to->text, room);
        if (text == NULL)
            return false;
        to->text = text;
        to->room = room;
    }
    memcpy(to->text + to->used, piece, bytes);
    to->used += bytes;
    to->text[to->used] = '\0';
    return true;
}

/* A piece of text is complete. */
static void give(job *j, answer *to, const char *piece, size_t bytes) {
    j->out_of_memory = !append(to, piece, bytes) || j->out_of_memory;
    if (j->streams && bytes > 0) {
        cli_write_bytes(stdout, piece, bytes);
        fflush(stdout);
    }
}

/* The model has chosen a token; false: this prompt needs no more. */
static bool take(void *context, size_t sample, int32_t token, int32_t *parent, int32_t *branch) {
    job *j = context;
    answer *to = &j->answers[j->begin + sample];
    char piece[CLI_PIECE];
    (void)parent, (void)branch;
    to->last = now();
    to->first = to->tokens == 0 ? to->last : to->first;
    to->tokens++;
    give(j, to, piece, cli_writer_add(&to->writer, token, piece));
    j->stopped = j->stopped || cli_stop_asked();
    return token != j->end && !j->stopped && !j->out_of_memory && !ferror(stdout);
}

/* Prompts begin … begin + count − 1. */
static int decode(job *j) {
    const size_t first = j->prompts.offsets[j->begin];
    const lab_growth growth = {take, j};
    /* A draw depends on a prompt's place among those decoded together: each group has a seed of its own. */
    lab_sampling sampling = j->sampling;
    locus_error error;
    sampling.seed ^= j->begin / TOGETHER * UINT64_C(0x9E3779B97F4A7C15); /* no other --seed's */
    for (size_t s = 0; s < j->count; s++) {
        const size_t *offsets = j->prompts.offsets + j->begin + s;
        j->offsets[s + 1] = offsets[1] - first;
        j->answers[j->begin + s].writer =
            cli_writer_begin(&j->writing, j->prompts.tokens + offsets[0], offsets[1] - offsets[0]);
    }
    size_t *output_offsets = calloc(j->count + 1, sizeof *output_offsets);
    const lab_batch batch = {.samples = j->count, .input_offsets = j->offsets, .input = j->prompts.tokens + first};
    const lab_generation generation = {.limits = j->limits + j->begin,
                                       .output = j->tokens,
                                       .output_offsets = output_offsets,
                                       .lengths = j->lengths,
                                       .growth = &growth,
                                       .sampling = sampling.temperature > 0.0 ? &sampling : NULL};
    j->started = now();
    int status = output_offsets == NULL ? cli_failure("out of memory") : 0;
    if (status == 0 && lab_model_generate(j->model, &batch, &generation, &error) != LOCUS_OK)
        status = cli_error(&error);
    j->ended = now();
    free(output_offsets);
    for (size_t s = 0; s < j->count && status == 0; s++) {
        answer *to = &j->answers[j->begin + s];
        char piece[CLI_PIECE];
        give(j, to, piece, cli_writer_end(&to->writer, piece));
    }
    return status == 0 && j->out_of_memory ? cli_failure("out of memory") : status;
}

/* ---- how long ---- */

/* The last token that a prompt gets is not read. Nothing begins that cannot be finished. */
static int check_length(const job *j, size_t prompt, size_t limit) {
    locus_error error;
    if (lab_model_reaches(j->model, prompt + limit - 1, &error) == LOCUS_OK)
        return 0;
    return prompt > 1 && lab_model_reaches(j->model, prompt, &error) != LOCUS_OK
               ? cli_failure("the prompt's %zu tokens are too many: %s", prompt, error.message)
               : cli_failure("the prompt has %zu tokens and %zu may follow: %s; or give fewer --tokens", prompt, limit,
                             error.message);
}

static size_t sequence_of(const lab_train_config *config) {
    return config->task->characters != NULL ? config->data.problems.sequence : config->data.text.sequence;
}

/* Tokens that a prompt may get. Without --tokens: of a drawn problem a few more than its answer has; of other problems
 * as many as fit into a sequence of the training; of text a page, or what fits. */
static size_t limit_of(const job *j, size_t p) {
    const size_t prompt = j->prompts.offsets[p + 1] - j->prompts.offsets[p], sequence = sequence_of(j->config);
    const size_t left = sequence > prompt ? sequence - prompt : 1;
    locus_error error;
    if (cli_given_by_user(j->arguments, "tokens"))
        return (size_t)cli_integer(j->arguments, "tokens");
    if (!j->given)
        return j->prompts.drawn.target_offsets[p + 1] - j->prompts.drawn.target_offsets[p] + OVERRUN;
    if (j->writing.task->characters != NULL)
        return left;
    return left >= TEXT_TOKENS || lab_model_reaches(j->model, prompt + TEXT_TOKENS - 1, &error) == LOCUS_OK
               ? TEXT_TOKENS
               : left;
}

static int allocate(job *j) {
    const size_t n = j->prompts.count;
    size_t most = 0;
    j->limits = calloc(n, sizeof *j->limits);
    j->offsets = calloc(TOGETHER + 1, sizeof *j->offsets);
    j->lengths = calloc(TOGETHER, sizeof *j->lengths);
    j->answers = calloc(n, sizeof *j->answers);
    for (size_t p = 0; j->limits != NULL && p < n; p++) {
        j->limits[p] = limit_of(j, p);
        most = j->limits[p] > most ? j->limits[p] : most;
    }
    j->tokens = calloc(most * (n < TOGETHER ? n : TOGETHER) + 1, sizeof *j->tokens);
    return j->limits && j->offsets && j->lengths && j->answers && j->tokens ? 0 : cli_failure("out of memory");
}

/* Every prompt, before the first is decoded. */
static int check_lengths(const job *j) {
    size_t longest = 0;
    int status = 0;
    for (size_t p = 0; p < j->prompts.count && status == 0; p++) {
        const size_t prompt = j->prompts.offsets[p + 1] - j->prompts.offsets[p], whole = prompt + j->limits[p];
        status = whole > longest ? check_length(j, prompt, j->limits[p]) : 0;
        longest = whole > longest ? whole : longest;
    }
    return status;
}

/* ---- printing ---- */

static bool is_right(const job *j, size_t p, const int32_t *tokens) {
    const lab_dataset *set = &j->prompts.drawn;
    const size_t first = set->target_offsets[p], count = set->target_offsets[p + 1] - first;
    return j->answers[p].tokens == count && memcmp(tokens, set->target + first, count * sizeof *tokens) == 0;
}

/* Of the prompts decoded together, without what it took to read them. */
static double token_rate(const job *j) {
    double tokens = 0, begun = j->ended, last = j->started;
    for (size_t s = 0; s < j->count; s++) {
        const answer *a = &j->answers[j->begin + s];
        tokens += a->tokens > 0 ? (double)a->tokens - 1 : 0;
        begun = a->tokens > 0 && a->first < begun ? a->first : begun;
        last = a->last > last ? a->last : last;
    }
    return tokens > 0 && last > begun ? tokens / (last - begun) : 0.0;
}

static void target_text(const job *j, size_t p, char *text) {
    const lab_dataset *set = &j->prompts.drawn;
    for (size_t t = set->target_offsets[p]; t < set->target_offsets[p + 1]; t++)
        *text++ = j->writing.task->characters[set->target[t]];
    *text = '\0';
}

static cJSON *answer_json(const job *j, size_t p, const int32_t *tokens) {
    const answer *a = &j->answers[p];
    cJSON *object = cJSON_CreateObject(), *ids;
    cJSON_AddStringToObject(object, "prompt", j->prompts.texts[p]);
    cJSON_AddStringToObject(object, "text", a->text == NULL ? "" : a->text);
    cJSON_AddNumberToObject(object, "prompt_tokens", (double)(j->prompts.offsets[p + 1] - j->prompts.offsets[p]));
    cJSON_AddNumberToObject(object, "tokens", (double)a->tokens);
    cJSON_AddNumberToObject(object, "tokens_per_second", token_rate(j));
    cJSON_AddNumberToObject(object, "first_token_seconds", a->tokens > 0 ? a->first - j->started : 0.0);
    ids = cJSON_AddArrayToObject(object, "token_ids");
    for (size_t t = 0; t < a->tokens; t++)
        cJSON_AddItemToArray(ids, cJSON_CreateNumber(tokens[t]));
    return object;
}

/* A problem of the test set, whose answer is known. */
static int print_drawn(job *j, size_t p, const int32_t *tokens) {
    const lab_dataset *set = &j->prompts.drawn;
    const bool right = is_right(j, p, tokens);
    char *target = malloc(set->target_offsets[p + 1] - set->target_offsets[p] + 1);
    if (target == NULL)
        return cli_failure("out of memory");
    target_text(j, p, target);
    if (j->list != NULL) {
        cJSON *object = answer_json(j, p, tokens);
        cJSON_AddStringToObject(object, "target", target);
        cJSON_AddBoolToObject(object, "exact", right);
        cJSON_AddItemToArray(j->list, object);
    } else {
        cli_print("%sinput  %s\noutput %s%s\n", p == 0 ? "" : "\n", j->prompts.texts[p],
                  j->answers[p].text ? j->answers[p].text : "", right ? "  (right)" : "  (wrong)");
        if (!right)
            cli_print("target %s\n", target);
    }
    free(target);
    return 0;
}

/* What streams stands there already. */
static int print_given(job *j, size_t p, const int32_t *tokens) {
    if (j->list != NULL)
        cJSON_AddItemToArray(j->list, answer_json(j, p, tokens));
    else if (j->streams)
        putchar('\n');
    else
        cli_print("%s%s\n", cli_quiet ? "" : j->prompts.texts[p], j->answers[p].text ? j->answers[p].text : "");
    return 0;
}

static int print(job *j) {
    int status = 0;
    for (size_t s = 0, at = 0; s < j->count && status == 0; at += j->limits[j->begin + s], s++) {
        const size_t p = j->begin + s;
        status = (j->given ? print_given : print_drawn)(j, p, j->tokens + at);
    }
    return status;
}

/* One prompt is one object. */
static int print_json(job *j) {
    cJSON *root = j->list;
    if (root != NULL && j->given && !cli_given_by_user(j->arguments, "prompts")) {
        root = cJSON_DetachItemFromArray(j->list, 0);
        cJSON_Delete(j->list);
    }
    j->list = NULL;
    return cli_json_print(root);
}

/* ---- all together ---- */

static int answer_all(job *j) {
    const bool json = cli_flag(j->arguments, "json");
    int status = 0;
    size_t tokens = 0;
    j->streams = j->given && !json && j->prompts.count == 1;
    j->list = json ? cJSON_CreateArray() : NULL;
    cli_stop_catch();
    if (j->streams && !cli_quiet) {
        cli_print("%s", j->prompts.texts[0]);
        fflush(stdout);
    }
    for (j->begin = 0; j->begin < j->prompts.count && status == 0 && !j->stopped; j->begin += j->count) {
        j->count = j->prompts.count - j->begin < TOGETHER ? j->prompts.count - j->begin : TOGETHER;
        status = decode(j);
        status = status ? status : print(j);
    }
    status = status || !json ? status : print_json(j);
    for (size_t p = 0; p < j->prompts.count; p++)
        tokens += j->answers[p].tokens;
    return status || !j->stopped ? status : cli_failure("stopped after %zu tokens", tokens);
}

static int32_t end_of(const lab_task *task, size_t vocabulary) {
    const char *found = task->characters != NULL ? memchr(task->characters, '#', vocabulary) : NULL;
    return found == NULL ? -1 : (int32_t)(found - task->characters);
}

static void job_free(job *j) {
    for (size_t p = 0; j->answers != NULL && p < j->prompts.count; p++)
        free(j->answers[p].text);
    free(j->answers);
    free(j->limits);
    free(j->offsets);
    free(j->lengths);
    free(j->tokens);
    cJSON_Delete(j->list);
    cli_prompts_free(&j->prompts);
    cli_writing_close(&j->writing);
}

int cli_generate_decoder(const cli_arguments *arguments, cli_trained *trained) {
    const lab_task *task = trained->task;
    job j = {.arguments = arguments,
             .config = &trained->config,
             .given = cli_given_by_user(arguments, "prompt") || cli_given_by_user(arguments, "prompts")};
    int status = check(arguments, task);
    status = status ? status : read_sampling(&j.sampling, arguments, task->characters == NULL);
    status = status ? status : cli_trained_load(trained);
    status = status ? status : cli_writing_open(&j.writing, &trained->config, trained->folder);
    j.model = trained->model;
    j.end = end_of(task, j.writing.vocabulary);
    status = status    ? status
             : j.given ? cli_prompts_read(&j.prompts, arguments, &j.writing)
                       : cli_prompts_draw(&j.prompts, arguments, &trained->config);
    status = status ? status : allocate(&j);
    status = status ? status : check_lengths(&j);
    status = status ? status : answer_all(&j);
    job_free(&j);
    return status;
}
