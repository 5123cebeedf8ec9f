/* SPDX-License-Identifier: MIT */
/* See attend_arguments.h. */
#include "attend_arguments.h"

#include "command.h"
#include "io/npy.h"
#include "output.h"

#include <math.h>
#include <string.h>

/* ---- kinds of attention ---- */

static const struct {
    const char *option;
    const char *with; /* as messages name the kinds that have it */
} parts[] = {{"landmarks", "soft"}, {"clusters", "clustered"}, {"iterations", "soft or clustered"}};
enum { PARTS = sizeof parts / sizeof *parts };

static bool has_option(const locus_attention_kind_info *kind, const char *name) {
    for (size_t i = 0; i < kind->option_count; i++)
        if (strcmp(kind->options[i].name, name) == 0)
            return true;
    return false;
}

/* `name` with the options that stand beside it on the line. */
static int add_parts(const cli_arguments *arguments, const char *name, locus_attention_kind **kind) {
    char text[256];
    const char *before = "(";
    size_t used = (size_t)snprintf(text, sizeof text, "%.128s", name);
    for (size_t i = 0; i < PARTS; i++) {
        if (!cli_given_by_user(arguments, parts[i].option))
            continue;
        if (!has_option(locus_attention_kind_entry(*kind), parts[i].option)) {
            return cli_usage_error("%s: --%s goes with --attention %s", arguments->command->name, parts[i].option,
                                   parts[i].with);
        }
        if (strchr(name, '(')) {
            return cli_usage_error("%s: write --%s inside: --attention '%s'", arguments->command->name, parts[i].option,
                                   "NAME(option=N, …)");
        }
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s=%.0f", before, parts[i].option,
                                 cli_number(arguments, parts[i].option));
        before = ", ";
    }
    if (*before == '(')
        return 0;
    (void)snprintf(text + used, sizeof text - used, ")");
    locus_attention_kind_destroy(kind);
    return cli_done_in(text, locus_attention_kind_parse(text, kind, &cli_fault));
}

int cli_attention_read(const cli_arguments *arguments, locus_attention_kind **kind) {
    const char *given = cli_text(arguments, "attention"), *name = given ? given : "softmax";
    const int status = cli_done_in(name, locus_attention_kind_parse(name, kind, &cli_fault));
    return status ? status : add_parts(arguments, name, kind);
}

int cli_attention_need_scores(const cli_arguments *arguments, const locus_attention_kind *kind, const char *option) {
    if (!cli_given_by_user(arguments, option) || (locus_attention_kind_entry(kind)->abilities & LOCUS_ATTENTION_SCORES))
        return 0;
    return cli_usage_error("%s: --%s goes with --attention softmax", arguments->command->name, option);
}

/* ---- a bias over pairs ---- */

static bool fits(const lab_array *bias, const int64_t *wanted) {
    for (size_t i = 0; i < bias->rank; i++) {
        const int64_t extent = bias->shape[i], full = wanted[3 - bias->rank + i];
        if (extent != 1 && extent != full)
            return false;
    }
    return true;
}

static int check_numbers(const lab_array *bias, const char *path) {
    for (size_t i = 0; i < lab_array_count(bias); i++) {
        const double value = lab_array_at(bias, i);
        if (isnan(value) || value == INFINITY) {
            return cli_failure("--bias %s: element %zu is %s; numbers are needed, or -inf where a key is hidden", path,
                               i, isnan(value) ? "NaN" : "+inf");
        }
    }
    return 0;
}

int cli_bias_read(lab_array *bias, const char *path, int64_t heads, int64_t queries, int64_t keys) {
    const int64_t wanted[3] = {heads, queries, keys};
    if (lab_npy_read(bias, path, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    if (bias->dtype != LAB_F32 && bias->dtype != LAB_F64)
        return cli_failure("--bias %s: holds integers; floating-point numbers are needed", path);
    if ((bias->rank != 2 && bias->rank != 3) || !fits(bias, wanted)) {
        return cli_failure("--bias %s: must be [heads, queries, keys] or [queries, keys], here %lld, %lld and %lld, or "
                           "1 where one number serves all",
                           path, (long long)heads, (long long)queries, (long long)keys);
    }
    return check_numbers(bias, path);
}
