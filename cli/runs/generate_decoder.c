/* SPDX-License-Identifier: MIT */
/* A decoder goes on with a prompt (samples/answering.h): a single one is printed as it comes, several one by one.
 * Ctrl-C ends all of them where they are. */
#include "generate_decoder.h"

#include "command.h"
#include "io/json.h"
#include "output.h"
#include "samples/answering.h"
#include "stop.h"
#include "task/problem.h"
#include "task_options.h"
#include "train/configuration/option_use.h"

#include <stdlib.h>
#include <string.h>

int cli_generate_refuse(const cli_arguments *arguments, const lab_task *task) {
    char whose[CLI_KINDS_TEXT];
    const cli_option *option;
    for (size_t i = 0; (option = cli_option_at(arguments->command, i)) != NULL; i++)
        if (arguments->values[i].given && !lab_class_generates(task->class, option->name) &&
            *cli_list_kinds(lab_class_generates, option->name, whose) != '\0')
            return cli_usage_error("--%s needs a run of %s; this one is of %s", option->name, whose,
                                   task->class->generate);
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

/* --prompt TEXT, "-" for standard input; or --prompts FILE, one to a line; or -n problems of the test set. */
static int read_prompts(lab_answering *of, const cli_arguments *arguments) {
    const char *text = cli_text(arguments, "prompt"), *path = cli_text(arguments, "prompts");
    if (path != NULL)
        return cli_done(lab_prompts_lines(&of->prompts, &of->writing, path, &cli_fault));
    if (text == NULL)
        return cli_done(lab_prompts_draw(&of->prompts, of->config, (size_t)cli_integer(arguments, "n"), &cli_fault));
    if (strcmp(text, "-") == 0)
        return cli_done(lab_prompts_piped(&of->prompts, &of->writing, &cli_fault));
    return text[0] == '\0' ? cli_usage_error("--prompt is empty: a decoder needs a token to begin with")
                           : cli_done(lab_prompts_typed(&of->prompts, &of->writing, text, &cli_fault));
}

static bool tell(void *context, const char *piece, size_t bytes) {
    (void)context;
    cli_write_bytes(stdout, piece, bytes);
    fflush(stdout);
    return !ferror(stdout);
}

/* ---- printing ---- */

static cJSON *answer_json(const lab_answering *of, size_t p) {
    const lab_answer *a = &of->answers[p];
    cJSON *object = cJSON_CreateObject(), *ids;
    cJSON_AddStringToObject(object, "prompt", of->prompts.texts[p]);
    cJSON_AddStringToObject(object, "text", a->text == NULL ? "" : a->text);
    cJSON_AddNumberToObject(object, "prompt_tokens", (double)(of->prompts.offsets[p + 1] - of->prompts.offsets[p]));
    cJSON_AddNumberToObject(object, "tokens", (double)a->tokens);
    cJSON_AddNumberToObject(object, "tokens_per_second", lab_answering_rate(of));
    cJSON_AddNumberToObject(object, "first_token_seconds", a->tokens > 0 ? a->first - of->started : 0.0);
    ids = cJSON_AddArrayToObject(object, "token_ids");
    for (size_t t = 0; t < a->tokens; t++)
        lab_json_put(ids, NULL, cJSON_CreateNumber(a->ids[t]));
    return object;
}

/* A problem of the test set, whose answer is known. */
static int print_drawn(const lab_answering *of, size_t p, cJSON *list) {
    const lab_dataset *set = &of->prompts.drawn;
    const size_t first = set->target_offsets[p], count = set->target_offsets[p + 1] - first;
    const bool right = lab_answer_right(of, p);
    char *target = malloc(count + 1);
    if (target == NULL)
        return cli_failure("out of memory");
    lab_problem_decode(of->config->task, set->target + first, count, target);
    if (list != NULL) {
        cJSON *object = answer_json(of, p);
        cJSON_AddStringToObject(object, "target", target);
        cJSON_AddBoolToObject(object, "exact", right);
        lab_json_put(list, NULL, object);
    } else {
        cli_print("%sinput  %s\noutput %s%s\n", p == 0 ? "" : "\n", of->prompts.texts[p],
                  of->answers[p].text ? of->answers[p].text : "", right ? "  (right)" : "  (wrong)");
        if (!right)
            cli_print("target %s\n", target);
    }
    free(target);
    return 0;
}

/* What streams stands there already. */
static void print_given(const lab_answering *of, size_t p, cJSON *list) {
    if (list != NULL)
        lab_json_put(list, NULL, answer_json(of, p));
    else if (of->tell != NULL)
        putchar('\n');
    else
        cli_print("%s%s\n", cli_quiet ? "" : of->prompts.texts[p], of->answers[p].text ? of->answers[p].text : "");
}

static int print(const lab_answering *of, cJSON *list) {
    int status = 0;
    for (size_t p = of->begin; p < of->begin + of->count && status == 0; p++)
        if (of->prompts.drawn.samples > 0)
            status = print_drawn(of, p, list);
        else
            print_given(of, p, list);
    return status;
}

/* ---- all together ---- */

static int answer_all(lab_answering *of, const cli_arguments *arguments) {
    const bool json = cli_flag(arguments, "json");
    cJSON *list = json ? cJSON_CreateArray() : NULL;
    size_t tokens = 0;
    int status = 0;
    of->tell = of->prompts.drawn.samples == 0 && !json && of->prompts.count == 1 ? tell : NULL;
    cli_stop_catch();
    if (of->tell != NULL && !cli_quiet) {
        cli_print("%s", of->prompts.texts[0]);
        fflush(stdout);
    }
    while (of->begin + of->count < of->prompts.count && status == 0 && !of->stopped) {
        status = cli_done(lab_answering_next(of, &cli_fault));
        status = status ? status : print(of, list);
    }
    if (list != NULL && cli_text(arguments, "prompt") != NULL) { /* one prompt is one object */
        cJSON *one = cJSON_DetachItemFromArray(list, 0);
        cJSON_Delete(list);
        list = one;
    }
    if (status == 0 && json)
        status = cli_json_print(list);
    else
        cJSON_Delete(list);
    for (size_t p = 0; p < of->prompts.count; p++)
        tokens += of->answers[p].tokens;
    return status || !of->stopped ? status : cli_failure("stopped after %zu tokens", tokens);
}

int cli_generate_decoder(const cli_arguments *arguments, cli_trained *trained) {
    lab_answering of = {
        .config = &trained->config, .most = (size_t)cli_integer(arguments, "tokens"), .stops = cli_stop_asked};
    int status = check(arguments, trained->task);
    status = status ? status : read_sampling(&of.sampling, arguments, trained->task->characters == NULL);
    status = status ? status : cli_trained_load(trained);
    of.model = trained->model;
    status = status ? status : cli_done(lab_writing_open(&of.writing, &trained->config, trained->folder, &cli_fault));
    status = status ? status : read_prompts(&of, arguments);
    status = status ? status : cli_done(lab_answering_begin(&of, &cli_fault));
    status = status ? status : answer_all(&of, arguments);
    lab_answering_free(&of);
    return status;
}
