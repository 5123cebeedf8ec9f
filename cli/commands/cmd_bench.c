/* SPDX-License-Identifier: MIT */
/* locus bench: speed of this machine with this build (bench/bench.h), in a minute.
 *
 *   apply      operators on [tokens, heads, head_dim], in place, float32, beside the measured in-place bandwidth
 *   attention  forward and backward by length, causal, one sequence
 *   step       one training step of a budget's model and batch */
#include "bench/bench.h"
#include "command.h"
#include "io/json.h"
#include "output.h"
#include "train/configuration/config_options.h"

#include <locus/locus.h>
#include <stdarg.h>
#include <string.h>

typedef struct bench {
    cli_arguments *arguments;
    cJSON *list; /* NULL: tables */
    char **encodings;
    size_t encoding_count;
    lab_bench how;
} bench;

static void add_json(cJSON *entry, const char *name, const lab_timing *m) {
    cJSON *object = cJSON_AddObjectToObject(entry, name);
    cJSON_AddNumberToObject(object, "best_seconds", m->best);
    cJSON_AddNumberToObject(object, "median_seconds", m->median);
}

static cJSON *new_entry(const bench *b, const char *what, const char *encoding) {
    cJSON *entry = cJSON_CreateObject();
    lab_json_put(b->list, NULL, entry);
    cJSON_AddStringToObject(entry, "what", what);
    cJSON_AddStringToObject(entry, "encoding", encoding);
    return entry;
}

static void cell_time(lab_table *table, const lab_timing *m) {
    double unit = m->best < 1 ? 1e3 : 1;
    const double above = 100 * (m->median / m->best - 1);
    lab_table_number(table, m->best, "%.3g %s", unit * m->best, unit > 1 ? "ms" : "s");
    lab_table_number(table, above, "+%.0f %%", above);
}

/* The table if there is one, below a line that says what it is about. */
CLI_PRINTF(4, 5)
static int print_part(const bench *b, int status, lab_table *table, const char *format, ...) {
    char line[256];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    if (status == 0 && !b->list) {
        cli_say("%s\n", line);
        cli_table_print(table);
    } else {
        lab_table_free(table);
    }
    return status;
}

/* ---- apply ---- */

static void report_apply(const bench *b, lab_table *table, const char *name, const lab_timing *m, double floor) {
    const size_t tokens = (size_t)cli_integer(b->arguments, "tokens");
    double rate = 8.0 * (double)(tokens * b->how.shape.heads * b->how.shape.head_dim) / m->best;
    if (b->list) {
        cJSON *entry = new_entry(b, "apply", name);
        cJSON_AddNumberToObject(entry, "tokens", (double)tokens);
        add_json(entry, "forward", m);
        cJSON_AddNumberToObject(entry, "bytes_per_second", rate);
        return;
    }
    lab_table_cell(table, "%s", name);
    cell_time(table, m);
    lab_table_number(table, 1e-9 * rate, "%.1f", 1e-9 * rate);
    lab_table_number(table, 100 * floor / m->best, "%.0f %%", 100 * floor / m->best);
}

static int bench_apply(bench *b) {
    static const char *const heads[] = {"apply", ">fastest|s", ">median|% above", ">GB/s", ">of in-place bandwidth|%"};
    const size_t tokens = (size_t)cli_integer(b->arguments, "tokens");
    lab_table *table = lab_table_create(heads, 5);
    lab_timing floor, m;
    int status = cli_done(lab_bench_negation(&b->how, tokens, &floor, &cli_fault));
    if (status == 0)
        report_apply(b, table, "(negation in place)", &floor, floor.best);
    for (size_t i = 0; i < b->encoding_count && status == 0; i++) {
        const char *spec = b->encodings[i];
        status = cli_done_in(spec, lab_bench_apply(&b->how, spec, tokens, &m, &cli_fault));
        if (status == 0 && m.best > 0)
            report_apply(b, table, spec, &m, floor.best);
    }
    return print_part(b, status, table, "operators on %zu tokens, %zu heads of %zu, float32, in place", tokens,
                      b->how.shape.heads, b->how.shape.head_dim);
}

/* ---- attention ---- */

static int bench_attention_one(bench *b, lab_table *table, const char *spec, size_t tokens) {
    lab_timing m[2];
    size_t workspace;
    char size[32];
    if (lab_bench_attention(&b->how, spec, tokens, m, &workspace, &cli_fault) != LOCUS_OK)
        return cli_error_in(spec, &cli_fault);
    if (b->list) {
        cJSON *entry = new_entry(b, "attention", spec);
        cJSON_AddNumberToObject(entry, "tokens", (double)tokens);
        add_json(entry, "forward", &m[0]);
        add_json(entry, "backward", &m[1]);
        return 0;
    }
    /* 4·T·T·d for each head forward, half of it under a causal mask; 2.5 times that backward. */
    const locus_shape *shape = &b->how.shape;
    const double work = 2.0 * (double)tokens * (double)tokens * (double)(shape->heads * shape->head_dim);
    const double rates[2] = {1e-9 * work / m[0].best, 2.5e-9 * work / m[1].best};
    lab_table_cell(table, "%s", spec);
    lab_table_number(table, (double)tokens, "%zu", tokens);
    for (size_t pass = 0; pass < 2; pass++) {
        cell_time(table, &m[pass]);
        lab_table_number(table, rates[pass], "%.0f", rates[pass]);
    }
    lab_table_number(table, (double)workspace, "%s", lab_bytes_text(size, sizeof size, (double)workspace));
    return 0;
}

static int bench_attention(bench *b) {
    static const char *const heads[] = {"attention",
                                        ">tokens",
                                        ">forward|s",
                                        ">median|% above forward",
                                        ">GFLOP/s",
                                        ">backward|s",
                                        ">median|% above backward",
                                        ">GFLOP/s|backward",
                                        ">workspace|bytes"};
    const int64_t *lengths;
    size_t count;
    int status = cli_list_integers(b->arguments, "lengths", 1, 1 << 20, &lengths, &count);
    lab_table *table = lab_table_create(heads, 9);
    for (size_t i = 0; i < b->encoding_count && status == 0; i++)
        for (size_t j = 0; j < count && status == 0; j++)
            status = bench_attention_one(b, table, b->encodings[i], (size_t)lengths[j]);
    return print_part(b, status, table, "causal attention, one sequence, %zu heads of %zu, float32", b->how.shape.heads,
                      b->how.shape.head_dim);
}

/* ---- one training step ---- */

static int bench_step_one(bench *b, lab_table *table, const char *spec, lab_train_config *config) {
    lab_bench_step_facts facts;
    char speed[32], arena[32];
    if (lab_bench_step(&b->how, spec, config, &facts, &cli_fault) != LOCUS_OK)
        return cli_error_in(spec, &cli_fault);
    const double tokens = (double)facts.tokens, rate = tokens / facts.timing.best, bytes = (double)facts.arena_bytes;
    if (b->list) {
        cJSON *entry = new_entry(b, "step", spec);
        cJSON_AddStringToObject(entry, "budget", config->budget);
        add_json(entry, "step", &facts.timing);
        cJSON_AddNumberToObject(entry, "tokens", tokens);
        cJSON_AddNumberToObject(entry, "tokens_per_second", rate);
        cJSON_AddNumberToObject(entry, "arena_bytes", bytes);
        return 0;
    }
    lab_table_cell(table, "%s", spec);
    cell_time(table, &facts.timing);
    lab_table_number(table, rate, "%s", lab_count_text(speed, sizeof speed, rate));
    lab_table_number(table, bytes, "%s", lab_bytes_text(arena, sizeof arena, bytes));
    return 0;
}

static int bench_step(bench *b) {
    static const char *const heads[] = {"training step", ">fastest|s", ">median|% above", ">tokens/s",
                                        ">activations|bytes"};
    lab_train_config config;
    const char *budget = cli_text(b->arguments, "budget");
    int status = cli_done(lab_train_config_budget(&config, lab_task_find("copy"), budget, LAB_SETUP_PAPER, &cli_fault));
    if (status != 0)
        return status;
    lab_table *table = lab_table_create(heads, 5);
    for (size_t i = 0; i < b->encoding_count && status == 0; i++)
        status = bench_step_one(b, table, b->encodings[i], &config);
    return print_part(
        b, status, table,
        "forward and backward of a batch, budget %s: dimension %zu, %zu + %zu layers, %zu samples of mean "
        "length %g",
        config.budget, config.model.dim, config.model.encoder_layers, config.model.decoder_layers, config.batch,
        lab_config_number(&config, "length_mean"));
}

/* ---- command ---- */

static int check_spec(const char *spec) {
    locus_encoding *encoding = NULL;
    const int status = cli_done_in(spec, locus_encoding_parse(spec, &encoding, &cli_fault));
    locus_encoding_destroy(&encoding);
    return status;
}

/* What is to be refused is refused before the first line is printed: lengths, specs, and for apply and attention what
 * cannot be bound to the heads or placed at the longest sequence. */
static int check(const bench *b, const char *wanted) {
    const bool apply = !wanted || strcmp(wanted, "apply") == 0, attention = !wanted || strcmp(wanted, "attention") == 0;
    size_t longest = apply ? (size_t)cli_integer(b->arguments, "tokens") : 1, count;
    const int64_t *lengths;
    int status = cli_list_integers(b->arguments, "lengths", 1, 1 << 20, &lengths, &count);
    for (size_t i = 0; status == 0 && attention && i < count; i++)
        longest = (size_t)lengths[i] > longest ? (size_t)lengths[i] : longest;
    for (size_t i = 0; status == 0 && i < b->encoding_count; i++) {
        const char *spec = b->encodings[i];
        status = apply || attention ? cli_done_in(spec, lab_bench_check(&b->how, spec, longest, &cli_fault))
                                    : check_spec(spec);
    }
    return status;
}

static int run(cli_arguments *arguments) {
    static int (*const parts[])(bench *) = {bench_apply, bench_attention, bench_step};
    static const char *const names[] = {"apply", "attention", "step"};
    enum { PARTS = sizeof names / sizeof *names };
    _Static_assert(sizeof parts / sizeof *parts == PARTS, "each part has a name");
    const char *wanted = arguments->operand_count ? arguments->operands[0] : NULL;
    bench b = {.arguments = arguments};
    bool json = cli_flag(arguments, "json"), found = !wanted;
    for (size_t i = 0; i < PARTS; i++)
        found = found || strcmp(wanted, names[i]) == 0;
    if (!found) {
        const char *near = cli_nearest(wanted, names, PARTS);
        return cli_usage_error("bench: there is no bench '%s'; it is apply, attention or step%s%s%s", wanted,
                               near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
    }
    b.encoding_count = cli_list(arguments, "encodings", &b.encodings);
    b.how = (lab_bench){.shape.heads = (size_t)cli_integer(arguments, "heads"),
                        .shape.head_dim = (size_t)cli_integer(arguments, "head-dim"),
                        .least = (size_t)cli_integer(arguments, "repeat")};
    int status = check(&b, wanted);
    if (status != 0)
        return status;
    cJSON *root = json ? cJSON_CreateObject() : NULL;
    if (json) {
        cJSON_AddStringToObject(root, "isa", locus_isa_name(locus_cpu_isa()));
        cJSON_AddNumberToObject(root, "threads", (double)locus_threads());
        b.list = cJSON_AddArrayToObject(root, "measurements");
    } else {
        cli_say("%s kernels, %zu threads; fastest call, and how far the median lies above it\n",
                locus_isa_name(locus_cpu_isa()), locus_threads());
    }
    for (size_t i = 0; i < PARTS && status == 0; i++) {
        if (!wanted || strcmp(wanted, names[i]) == 0) {
            cli_say("\n");
            status = parts[i](&b);
        }
    }
    if (status == 0 && json)
        return cli_json_print(root);
    cJSON_Delete(root);
    return status;
}

static const cli_option options[] = {
    {"encodings", 'e', CLI_LIST, "SPEC,…", "none,rope,algebraic(group=seq),alibi", "what to measure", 0, 0},
    {"tokens", 'n', CLI_INTEGER, "N", "32768", "tokens, for apply", 1, 1 << 24},
    {"lengths", 'l', CLI_LIST, "N,…", "128,512,2048", "lengths, for attention", 0, 0},
    {"heads", 'H', CLI_INTEGER, "H", "8", "heads, for apply and attention", 1, 1024},
    {"head-dim", 0, CLI_INTEGER, "D", "64", "dimension of a head, for apply and attention", 1, 4096},
    {"budget", 'b', CLI_CHOICE, "smoke|quick|paper", NULL, "model and batch, for step (default: smoke)", 0, 0},
    {"repeat", 'r', CLI_INTEGER, "N", "3", "least number of calls timed", 1, 1000},
};

const cli_command cli_command_bench = {
    .name = "bench",
    .summary = "measures operators, attention and a training step on this machine",
    .operands = "[apply|attention|step]",
    .details = "Without a word: all three.",
    .examples = "locus bench attention --lengths 1024,4096 --encodings 'rope,algebraic(group=seq)'\n",
    .shared = CLI_JSON | CLI_FORMAT | CLI_THREADS,
    CLI_OPTIONS(options),
    .run = run,
};
