/* SPDX-License-Identifier: MIT */
/* Scripts that train a comparison's cells: which words of the command line a task and the table's job are given, how
 * folders are quoted, both scripts whole, what a script cannot show. */
#include "jobs/sweep_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

typedef locus_status write_script(FILE *out, const lab_sweep *sweep, locus_error *error);

static char *script_of(write_script *write, const lab_sweep *sweep) {
    char *text = NULL;
    size_t bytes = 0;
    locus_error error = {0};
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    if (write(out, sweep, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    fclose(out);
    return text;
}

static lab_sweep sweep_of(const char *line) {
    return (lab_sweep){.line = line, .command = "compare", .threads = "2", .jobs = "4", .count = 3, .parts = "a/parts"};
}

/* A line as it comes, and its words for a task and for the table. */
static const struct {
    const char *line, *task, *table;
} lines[] = {
    {"locus", "", ""},
    {"locus compare copy", " compare copy", " compare copy"},
    {"/opt/a' b'/locus compare", " compare", " compare"},
    {"/opt/a\\ b/locus compare", " compare", " compare"},
    {"locus compare --list --sbatch --parallel copy", " compare copy", " compare copy"},
    {"locus compare --store x.db copy --store=y.db -n 3", " compare copy -n 3", " compare copy -n 3"},
    {"locus compare --jobs 4 copy --jobs=5 -j 6 a --threads 7 b --threads=8", " compare copy a b", " compare copy a b"},
    {"locus compare --json --format csv --page p.html --no-page --quiet copy", " compare copy",
     " compare --json --format csv --page p.html --no-page --quiet copy"},
    {"locus compare --format=csv --page=x a", " compare a", " compare --format=csv --page=x a"},
    {"locus compare --lists --storey x --jsonl --threads-of 3", " compare --lists --storey x --jsonl --threads-of 3",
     " compare --lists --storey x --jsonl --threads-of 3"},
    {"locus compare -jobs 3 -j3 --j 4 list jobs -k 3", " compare -jobs 3 -j3 --j 4 list jobs -k 3",
     " compare -jobs 3 -j3 --j 4 list jobs -k 3"},
    {"locus compare a-jobs 3 ./list -/store=x b-page", " compare a-jobs 3 ./list -/store=x b-page",
     " compare a-jobs 3 ./list -/store=x b-page"},
    {"locus compare --list=1 --sbatc --stor x", " compare --sbatc --stor x", " compare --sbatc --stor x"},
    {"locus compare 'a  --list b' --store 'x y' \\'c --json\\ d", " compare 'a  --list b' \\'c --json\\ d",
     " compare 'a  --list b' \\'c --json\\ d"},
    {"locus compare 'it'\\''s --list' --store 'it'\\''s x' d", " compare 'it'\\''s --list' d",
     " compare 'it'\\''s --list' d"},
    {"locus compare 'a\\' --list b\\", " compare 'a\\' b\\", " compare 'a\\' b\\"},
    {"locus compare copy --store", " compare copy", " compare copy"},
};

static void words_of_tasks_and_tables(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(lines); i++) {
        const lab_sweep sweep = sweep_of(lines[i].line);
        char expected[1024], *text = script_of(lab_sweep_parallel, &sweep);
        snprintf(
            expected, sizeof expected,
            "parallel --quote --jobs 4 locus%s --only {} --threads 2 --quiet --store 'a/parts'/{}/part-{}.db ::: 1 "
            "2 3 && locus runs import 'a/parts'/*/part-*.db --checkpoints --store 'a/parts'/locus.db && locus%s "
            "--store 'a/parts'/locus.db\n",
            lines[i].task, lines[i].table);
        assert_string_equal(text, expected);
        free(text);
        text = script_of(lab_sweep_sbatch, &sweep);
        snprintf(expected, sizeof expected,
                 "\n\"$locus\"%s --only \"$task\" --store \"$disk/part-$task.db\" --threads "
                 "\"${SLURM_CPUS_PER_TASK:-1}\" --quiet &\n",
                 lines[i].task);
        assert_non_null(strstr(text, expected));
        snprintf(expected, sizeof expected,
                 "--checkpoints --store \"$disk/locus.db\" &&\n"
                 "    \"$locus\"%s --store \"$disk/locus.db\" --threads \"${SLURM_CPUS_PER_TASK:-1}\" &&\n",
                 lines[i].table);
        assert_non_null(strstr(text, expected));
        free(text);
    }
}

static void folders_are_quoted(void **state) {
    (void)state;
    static const char *const folders[][2] = {
        {"", "''"}, {"a b", "'a b'"}, {"'", "''\\'''"}, {"it's 'b'", "'it'\\''s '\\''b'\\'''"}, {"$x`\\", "'$x`\\'"}};
    for (size_t i = 0; i < COUNT(folders); i++) {
        lab_sweep sweep = sweep_of("locus compare");
        sweep.parts = folders[i][0];
        sweep.count = 1;
        char expected[512], *text = script_of(lab_sweep_parallel, &sweep);
        snprintf(expected, sizeof expected,
                 "parallel --quote --jobs 4 locus compare --only {} --threads 2 --quiet --store %s/{}/part-{}.db ::: 1 "
                 "&& locus runs import %s/*/part-*.db --checkpoints --store %s/locus.db && locus compare --store "
                 "%s/locus.db\n",
                 folders[i][1], folders[i][1], folders[i][1], folders[i][1]);
        assert_string_equal(text, expected);
        free(text);
        text = script_of(lab_sweep_sbatch, &sweep);
        snprintf(expected, sizeof expected, "\nparts=%s\n", folders[i][1]);
        const char *first = strstr(text, expected);
        assert_non_null(first);
        assert_non_null(strstr(first + 1, expected)); /* of the table's job */
        free(text);
    }
}

static void how_a_job_array_begins(void **state) {
    (void)state;
    const lab_sweep sweep = sweep_of("locus compare copy --list");
    static const char begin[] = "#!/bin/sh\n"
                                "# locus compare copy --list\n"
                                "# To be handed to sbatch, with what the cluster wants to know: sbatch --partition=… "
                                "--time=… FILE.\n"
                                "#SBATCH --job-name=locus-compare\n"
                                "#SBATCH --array=1-3\n"
                                "#SBATCH --cpus-per-task=2\n";
    char *text = script_of(lab_sweep_sbatch, &sweep);
    assert_true(strncmp(text, begin, strlen(begin)) == 0);
    free(text);
}

static void what_a_script_cannot_show(void **state) {
    (void)state;
    static const char *const texts[] = {"a\nb", "a\tb", "a\x7F", "a\377", "\x1b[0m"};
    for (size_t i = 0; i < COUNT(texts); i++) {
        for (int place = 0; place < 4; place++) {
            lab_sweep sweep = sweep_of("locus compare");
            *(place % 2 == 0 ? &sweep.line : &sweep.parts) = texts[i];
            char *text = NULL;
            size_t bytes = 0;
            locus_error error = {0};
            FILE *out = open_memstream(&text, &bytes);
            assert_int_equal((place < 2 ? lab_sweep_sbatch : lab_sweep_parallel)(out, &sweep, &error),
                             LOCUS_ERROR_ARGUMENT);
            assert_string_equal(error.message,
                                "the command line has characters that a script cannot show: choose other paths");
            fclose(out);
            assert_int_equal(bytes, 0);
            free(text);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_tasks_and_tables),
        cmocka_unit_test(folders_are_quoted),
        cmocka_unit_test(how_a_job_array_begins),
        cmocka_unit_test(what_a_script_cannot_show),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
