/* SPDX-License-Identifier: MIT */
/* A kind of task is one file and one line: this is the file, words whose symbols are put in order, and the list has its
 * line by LAB_FURTHER_KINDS. Every command that knows kinds knows it then. The list stands here once more, so that the
 * program's own is left out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define LAB_FURTHER_KINDS(_) _(sorted)
#include "task/task_registry.c"

#include "command.h"
#include "io/fail.h"
#include "kinds/class_parts.h"
#include "output.h"
#include "samples/portrait.h"
#include "samples/sample_lines.h"
#include "unit/captured.h"
#include "unit/scratch_folder.h"

#include <locus/random.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- the kind ---- */

typedef struct sorted_options {
    size_t symbols, letters;
} sorted_options;
#define SORTED(options) LAB_OF_KIND(sorted_options, options)

static const lab_option options[] = {
    LAB_ROW("symbols", SIZE, LAB_AT_KIND(sorted_options, symbols), LAB_NUMBER("symbols", "N", 1, 1e6),
            LAB_HELP("how many letters there are (9)"), .flags = LAB_OPTION_DATA),
    LAB_ROW("letters", SIZE, LAB_AT_KIND(sorted_options, letters), LAB_NUMBER("letters", "N", 1, 1e6),
            LAB_HELP("letters of a word (4)"), .flags = LAB_OPTION_LATER | LAB_OPTION_DATA | LAB_OPTION_GENERATED),
};

static int compare(const void *a, const void *b) {
    return *(const int32_t *)a - *(const int32_t *)b;
}

static locus_status allocate(lab_dataset *set, size_t samples, size_t letters, locus_error *error) {
    set->samples = samples;
    set->input_offsets = calloc(samples + 1, sizeof *set->input_offsets);
    set->target_offsets = calloc(samples + 1, sizeof *set->target_offsets);
    set->input = malloc((samples * letters + 1) * sizeof *set->input);
    set->target = malloc((samples * letters + 1) * sizeof *set->target);
    if (set->input_offsets == NULL || set->target_offsets == NULL || set->input == NULL || set->target == NULL)
        return lab_fail_memory(error, "a data set");
    for (size_t i = 0; i <= samples; i++)
        set->input_offsets[i] = set->target_offsets[i] = i * letters;
    return LOCUS_OK;
}

static void sort(lab_dataset *set, size_t first, size_t letters) {
    memcpy(set->target + first, set->input + first, letters * sizeof *set->input);
    qsort(set->target + first, letters, sizeof *set->target, compare);
}

static locus_status generate(lab_dataset *set, const lab_draw *draw, locus_error *error) {
    const sorted_options *of = SORTED(draw->options);
    const locus_status status = allocate(set, draw->samples, of->letters, error);
    for (size_t i = 0; status == LOCUS_OK && i < set->samples; i++) {
        const locus_random random = {draw->seed, LAB_PURPOSE_DATA + (uint32_t)draw->which, (uint32_t)i};
        for (size_t j = 0; j < of->letters; j++)
            set->input[i * of->letters + j] = 1 + (int32_t)locus_random_below(&random, j, of->symbols);
        sort(set, i * of->letters, of->letters);
    }
    return status;
}

/* "312", a digit each. */
static locus_status read_input(lab_dataset *set, const lab_task *task, const lab_task_options *of, const char *text,
                               locus_error *error) {
    const size_t letters = strlen(text);
    (void)task, (void)of;
    const locus_status status = allocate(set, 1, letters, error);
    for (size_t j = 0; status == LOCUS_OK && j < letters; j++)
        set->input[j] = text[j] - '0';
    if (status == LOCUS_OK)
        sort(set, 0, letters);
    return status;
}

static size_t vocabulary(const lab_task *task, const lab_task_options *of) {
    (void)task;
    return SORTED(of)->symbols + 2;
}

static void budget(lab_train_config *config) {
    const lab_budget_size size = {LAB_SIZES(8, 2, 8, 1), LAB_SCORED(4, 4, 2), LAB_STEPS(2, 3, 1, 1e-3)};
    lab_budget_pairs(config);
    lab_budget_shrink(config, &size);
    config->train_samples = 8;
}

static void describe(const struct cJSON *config, const char *task, lab_data_facts *facts) {
    (void)task;
    facts->mean_size = lab_said_number(config, "letters");
    snprintf(facts->data, sizeof facts->data, "words of %g letters", facts->mean_size);
}

static const lab_score_column columns[] = LAB_PAIR_COLUMNS("letters, %");

static const lab_task tasks[] = {{
    .name = "sort",
    .summary = "w → its letters in order",
    .class = &lab_sorted_class,
    .published = &(const sorted_options){.symbols = 9, .letters = 4},
    .generate = generate,
}};

const lab_task_class lab_sorted_class = {
    .name = "sorted words",
    LAB_TASKS_AND_OPTIONS(sorted_options),
    .architecture = &lab_encoder_decoder,
    .read_input = read_input,
    .vocabulary = vocabulary,
    .decodes = true,
    .budgets = {budget, budget, budget},
    .write = lab_samples_write,
    .portray = lab_portray_drawn,
    LAB_COLUMNS(columns),
    .token = "letter",
    .sample = "word",
    .source = "letters",
    .describe = describe,
    .legend = "Letters and words right in %.",
    .page_legend = LAB_PAIR_PAGE_LEGEND,
    .model_samples = LAB_PAIR_SAMPLES,
    .curves = &lab_curves_by_steps,
    .speed_note = LAB_PAIR_SPEED_NOTE,
    .generate = "sorted words: give --input, or -n",
    .generate_options = "input n",
};

/* ---- every command ---- */

static int status_of(const cli_command *command, int count, char **words) {
    cli_arguments arguments;
    int status = cli_arguments_parse(&arguments, command, count, words);
    arguments.command_line = "locus";
    arguments.commands = cli_commands;
    cli_quiet = true;
    if (status == 0 && cli_flag(&arguments, "help"))
        cli_usage(command);
    else
        status = status ? status : command->run(&arguments);
    fflush(stdout);
    cli_arguments_free(&arguments);
    return status;
}

static void expect(int descriptor, int status, const char *says, const cli_command *command, int count, char **words) {
    capture(descriptor);
    const int found = status_of(command, count, words);
    const char *text = captured();
    if (found != status || strstr(text, says) == NULL)
        fail_msg("%s: status %d, no '%s' in\n%s", command->name, found, says, text);
}

#define RUNS(command, says, ...) \
    do { \
        char *words[] = {__VA_ARGS__}; \
        expect(STDOUT_FILENO, 0, says, &cli_command_##command, (int)COUNT(words), words); \
    } while (0)
#define REFUSES(command, says, ...) \
    do { \
        char *words[] = {__VA_ARGS__}; \
        expect(STDERR_FILENO, 2, says, &cli_command_##command, (int)COUNT(words), words); \
    } while (0)
#define STORE "--store", store

static void every_command_knows_it(void **state) {
    (void)state;
    char store[512], lines[512], page[512];
    snprintf(store, sizeof store, "%s", scratch_path("locus.db"));
    snprintf(lines, sizeof lines, "%s", scratch_path("sort.jsonl"));
    snprintf(page, sizeof page, "%s", scratch_path("page.html"));
    RUNS(train, "sorted words: letters of a word (4)", "--help");
    RUNS(train, ", sort", "--help");
    RUNS(data_make, "", "sort", "--letters", "3", "-n", "5", "-o", lines);
    RUNS(data_inspect, "5 samples", lines);
    RUNS(data_inspect, "7 samples", "sort", "-n", "7", "--letters", "3");
    RUNS(train, "", "--task", "sort", "--encoding", "rope", "--letters", "5", "--budget", "smoke", "--name", "one",
         STORE);
    RUNS(eval, "greedy exact", "one", STORE);
    RUNS(generate, "input  3 1 2", "one", "--input", "312", STORE);
    RUNS(generate, "target 1 2 3", "one", "--input", "312", STORE);
    RUNS(generate, "output", "one", "-n", "2", "--letters", "3", STORE);
    RUNS(runs, "one", STORE);
    RUNS(runs, "\"letters\":5", "show", "one", STORE);
    RUNS(compare, "sort", "--task", "sort", "--encodings", "none", "--letters", "5", "--budget", "smoke", "--list",
         STORE);
    RUNS(report, "", "-o", page, STORE);
    REFUSES(train, "--digits needs a task of problems; sort is a task of sorted words", "--task", "sort", "--encoding",
            "rope", "--digits", "3");
    REFUSES(train, "--letters needs a task of sorted words; copy is a task of words", "--task", "copy", "--encoding",
            "rope", "--letters", "3");
    REFUSES(generate, "--prompt needs a run of problems or text; this one is of sorted words", "one", "--prompt", "1",
            STORE);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_command_knows_it)};
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
