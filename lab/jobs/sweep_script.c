/* SPDX-License-Identifier: MIT */
/* See sweep_script.h. A run store belongs to one host, and a home folder of a cluster is often shared by many: a task
 * works on its node's own disk, and its store and checkpoints are brought back to the folder of parts when it ends. */
#include "jobs/sweep_script.h"

#include "io/fail.h"
#include "io/printable.h"

#include <string.h>

/* ---- the command of a task ---- */

/* Options that a task is told otherwise, or not at all. The job of the table is not told them either, unless they are
 * about tables. */
typedef struct dropped {
    const char *name; /* without dashes */
    bool value;       /* it takes one */
    bool of_tables;
} dropped;

static const dropped dropped_options[] = {
    {.name = "list"},
    {.name = "sbatch"},
    {.name = "parallel"},
    {.name = "store", .value = true},
    {.name = "jobs", .value = true},
    {.name = "threads", .value = true},
    {.name = "json", .of_tables = true},
    {.name = "format", .value = true, .of_tables = true},
    {.name = "page", .value = true, .of_tables = true},
    {.name = "no-page", .of_tables = true},
    {.name = "quiet", .of_tables = true},
};

/* Length of the word that begins at `at`: in quotes, or behind a backslash that is not, a space does not end it. */
static size_t word_length(const char *at) {
    size_t length = 0;
    for (bool quoted = false; at[length] != '\0' && (quoted || at[length] != ' '); length++)
        if (!quoted && at[length] == '\\' && at[length + 1] != '\0')
            length++;
        else
            quoted = quoted != (at[length] == '\'');
    return length;
}

/* How many words of the line are the option: 0, 1, or 2 with its value. */
static size_t words_of(const dropped *option, const char *word, size_t length) {
    const size_t name = strlen(option->name);
    if (length == 2 && word[0] == '-' && word[1] == 'j' && strcmp(option->name, "jobs") == 0)
        return 2;
    if (strncmp(word, "--", 2) != 0 || strncmp(word + 2, option->name, name) != 0) /* a word ends before any other */
        return 0;
    return length == name + 2 ? 1 + (size_t)option->value : word[name + 2] == '=' ? 1 : 0;
}

static size_t words_dropped(bool table, const char *word, size_t length) {
    size_t words = 0;
    for (size_t i = 0; i < sizeof dropped_options / sizeof *dropped_options && words == 0; i++)
        if (!table || !dropped_options[i].of_tables)
            words = words_of(&dropped_options[i], word, length);
    return words;
}

/* The command line behind the program's name, each word with a space in front, without those options. */
static void print_words(FILE *out, const lab_sweep *sweep, bool table) {
    const char *at = sweep->line + word_length(sweep->line);
    size_t skip = 0;
    while (*at != '\0') {
        const size_t length = word_length(++at);
        if (skip == 0)
            skip = words_dropped(table, at, length);
        if (skip == 0)
            fprintf(out, " %.*s", (int)length, at);
        skip -= skip > 0;
        at += length;
    }
}

/* A word for a shell, in quotes. */
static void print_quoted(FILE *out, const char *text) {
    fprintf(out, "'");
    while (*text != '\0') {
        const size_t length = strcspn(text, "'");
        fprintf(out, "%.*s%s", (int)length, text, text[length] == '\'' ? "'\\''" : "");
        text += length + (text[length] == '\'');
    }
    fprintf(out, "'");
}

/* A line feed would end a comment of the script, and what cannot be printed would be another path there. */
static locus_status refuse(const lab_sweep *sweep, locus_error *error) {
    return lab_is_printable(sweep->line) && lab_is_printable(sweep->parts)
               ? LOCUS_OK
               : lab_fail(error, LOCUS_ERROR_ARGUMENT, NULL,
                          "the command line has characters that a script cannot show: choose other paths");
}

static bool has_braces(const lab_sweep *sweep) {
    return strchr(sweep->line, '{') != NULL || strchr(sweep->parts, '{') != NULL;
}

/* ---- Slurm ---- */

static const char opening[] = "# Where the stores of the tasks come together, and the table.\n"
                              "parts=";

static const char scratch[] = "# A disk of this machine: a run store does not work on one that hosts share.\n"
                              "disk=$(mktemp -d \"${SLURM_TMPDIR:-${TMPDIR:-/tmp}}/locus-XXXXXX\") || exit 1\n"
                              "trap 'rm -rf \"$disk\"' EXIT\n";

static const char merge_head[] =
    "# The first task sees to the job that merges the stores when all tasks are done. If one fails, it is cancelled; "
    "the\n"
    "# same script again trains what is missing.\n"
    "if [ \"$task\" = \"$SLURM_ARRAY_TASK_MIN\" ] && [ \"${SLURM_RESTART_COUNT:-0}\" = 0 ]; then\n"
    "    sbatch --dependency=\"afterok:$SLURM_ARRAY_JOB_ID\" --kill-on-invalid-dep=yes --job-name=locus-table \\\n"
    "        --output=\"$parts/table-%j.txt\" --cpus-per-task=\"${SLURM_CPUS_PER_TASK:-1}\" \\\n"
    "        ${SLURM_JOB_PARTITION:+--partition=\"$SLURM_JOB_PARTITION\"} \\\n"
    "        ${SLURM_JOB_ACCOUNT:+--account=\"$SLURM_JOB_ACCOUNT\"} <<'END_OF_MERGE' || exit 1\n"
    "#!/bin/sh\n"
    "locus=${LOCUS:-locus}\n";

static const char merge_import[] =
    "\"$locus\" runs import \"$parts\"/*/part-*.db --checkpoints --store \"$disk/locus.db\" &&\n"
    "    \"$locus\"";

static const char merge_end[] = " --store \"$disk/locus.db\" --threads \"${SLURM_CPUS_PER_TASK:-1}\" &&\n"
                                "    cp -R \"$disk/.\" \"$parts\"\n"
                                "END_OF_MERGE\n"
                                "fi\n\n";

static const char begin_task[] =
    "# What an earlier try left; the copy that a kill came between is whole.\n"
    "[ -d \"$parts/$task\" ] || [ ! -d \"$parts/.old-$task\" ] || mv \"$parts/.old-$task\" \"$parts/$task\" || exit 1\n"
    "[ ! -d \"$parts/$task\" ] || cp -R \"$parts/$task/.\" \"$disk\" || exit 1\n\n"
    "# Slurm warns this shell, which tells the training: it writes a checkpoint and ends with status 75.\n"
    "child=\n"
    "warned=\n"
    "trap 'warned=1; [ -z \"$child\" ] || kill -TERM \"$child\"' TERM\n"
    "\"$locus\"";

static const char end_task[] =
    " --only \"$task\" --store \"$disk/part-$task.db\" --threads \"${SLURM_CPUS_PER_TASK:-1}\" --quiet &\n"
    "child=$!\n"
    "[ -z \"$warned\" ] || kill -TERM \"$child\"\n"
    "wait \"$child\"\n"
    "status=$?\n"
    "if [ -n \"$warned\" ] && [ \"$status\" -gt 128 ]; then # the warning ended the wait, not the training\n"
    "    wait \"$child\"\n"
    "    status=$?\n"
    "fi\n"
    "trap '' TERM\n\n"
    "rm -rf \"$parts/.new-$task\" \"$parts/.old-$task\" && cp -R \"$disk\" \"$parts/.new-$task\" &&\n"
    "    { [ ! -d \"$parts/$task\" ] || mv \"$parts/$task\" \"$parts/.old-$task\"; } &&\n"
    "    mv \"$parts/.new-$task\" \"$parts/$task\" && rm -rf \"$parts/.old-$task\" || {\n"
    "    trap - EXIT\n"
    "    echo \"not brought to $parts; what was trained is in $disk on $(hostname)\" >&2\n"
    "    exit 1\n"
    "}\n"
    "if [ \"$status\" = 75 ]; then # this ends here, and begins again in the queue\n"
    "    rm -rf \"$disk\"\n"
    "    scontrol requeue \"${SLURM_ARRAY_JOB_ID}_$task\"\n"
    "fi\n"
    "exit \"$status\"\n";

static void print_merge(FILE *out, const lab_sweep *sweep) {
    fprintf(out, "%s%s", merge_head, opening);
    print_quoted(out, sweep->parts);
    fprintf(out, "\n%s%s", scratch, merge_import);
    print_words(out, sweep, true);
    fprintf(out, "%s", merge_end);
}

locus_status lab_sweep_sbatch(FILE *out, const lab_sweep *sweep, locus_error *error) {
    const locus_status status = refuse(sweep, error);
    if (status != LOCUS_OK)
        return status;
    fprintf(out,
            "#!/bin/sh\n"
            "# %s\n"
            "# To be handed to sbatch, with what the cluster wants to know: sbatch --partition=… --time=… FILE.\n"
            "#SBATCH --job-name=locus-%s\n"
            "#SBATCH --array=1-%zu\n"
            "#SBATCH --cpus-per-task=%s\n"
            "#SBATCH --signal=B:TERM@120\n"
            "#SBATCH --requeue\n"
            "#SBATCH --open-mode=append\n"
            "locus=${LOCUS:-locus}\n"
            "task=$SLURM_ARRAY_TASK_ID\n"
            "%s",
            sweep->line, sweep->command, sweep->count, sweep->threads, opening);
    print_quoted(out, sweep->parts);
    fprintf(out, "\nmkdir -p \"$parts\" || exit 1\n\n");
    print_merge(out, sweep);
    fprintf(out, "%s%s", scratch, begin_task);
    print_words(out, sweep, false);
    fprintf(out, "%s", end_task);
    return LOCUS_OK;
}

/* ---- GNU parallel ---- */

locus_status lab_sweep_parallel(FILE *out, const lab_sweep *sweep, locus_error *error) {
    const locus_status status = refuse(sweep, error);
    if (status != LOCUS_OK)
        return status;
    if (has_braces(sweep)) /* whose {}, {#} and others GNU parallel replaces, quoted or not */
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, NULL,
                        "the command line has braces, which GNU parallel takes for its own: choose other paths");
    fprintf(out, "parallel --quote --jobs %s locus", sweep->jobs);
    print_words(out, sweep, false);
    fprintf(out, " --only {} --threads %s --quiet --store ", sweep->threads);
    print_quoted(out, sweep->parts);
    fprintf(out, "/{}/part-{}.db :::");
    for (size_t i = 1; i <= sweep->count; i++)
        fprintf(out, " %zu", i);
    fprintf(out, " && locus runs import ");
    print_quoted(out, sweep->parts);
    fprintf(out, "/*/part-*.db --checkpoints --store ");
    print_quoted(out, sweep->parts);
    fprintf(out, "/locus.db && locus");
    print_words(out, sweep, true);
    fprintf(out, " --store ");
    print_quoted(out, sweep->parts);
    fprintf(out, "/locus.db\n");
    return LOCUS_OK;
}
