/* SPDX-License-Identifier: MIT */
/* Processes that are ranks of one job, over a plugin of the test's own: who follows, what a rank that fails says to the
 * others before and after it took them, who finds a dead rank and when, and plugins that are none. */
#define _GNU_SOURCE /* setenv, fork, usleep */
#include "io/clock.h"
#include "job_ranks.h"
#include "output.h"
#include "train/meeting.h"
#include "unit/captured.h"
#include "unit/child_exit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { WIRES = 100, ROW = 8, ABORTS = 99, SECONDS = 10 };

/* What a rank does, between having met the others and its end with this status. */
typedef int rank_body(void);

static void be_rank(size_t rank, size_t count, rank_body *body) {
    char plugin[1024], text[16], here[32];
    snprintf(plugin, sizeof plugin, "%s/tests/plugins/plugin_ranks.so", getenv("LOCUS_BUILD"));
    snprintf(text, sizeof text, "%zu", rank);
    setenv("OMPI_COMM_WORLD_RANK", text, 1);
    snprintf(text, sizeof text, "%zu", count);
    setenv("OMPI_COMM_WORLD_SIZE", text, 1);
    snprintf(here, sizeof here, "%zu %zu", rank, count);
    setenv("LOCUS_TEST_RANK", here, 0);
    setenv("LOCUS_MPI", plugin, 0);
    alarm(SECONDS);
    cli_ranks_look();
    const int status = cli_ranks_open();
    child_exit(status == 0 ? body() : status);
}

/* Exit statuses of so many ranks (100 + a signal's number), and in `aborts` one with which a rank ended all, each. */
static void run_job(size_t count, rank_body *body, int *statuses, char *aborts, size_t size) {
    pid_t ranks[ROW];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(dup2(ends[1], ABORTS), ABORTS);
    close(ends[1]);
    for (size_t a = 0; a < count; a++)
        for (size_t b = a + 1; b < count; b++) {
            int pair[2];
            assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
            assert_true(dup2(pair[0], (int)(WIRES + ROW * a + b)) > 0 && dup2(pair[1], (int)(WIRES + ROW * b + a)) > 0);
            close(pair[0]);
            close(pair[1]);
        }
    fflush(NULL);
    for (size_t r = 0; r < count; r++)
        if ((ranks[r] = fork()) == 0)
            be_rank(r, count, body);
    for (size_t r = 0; r < count; r++) {
        int status;
        assert_int_equal(waitpid(ranks[r], &status, 0), ranks[r]);
        statuses[r] = WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
    }
    close(ABORTS);
    const ssize_t got = read(ends[0], aborts, size);
    assert_true(got >= 0);
    memset(aborts + got, 0, size - (size_t)got);
    close(ends[0]);
    for (size_t a = 0; a < count; a++)
        for (size_t b = 0; b < count; b++)
            if (a != b)
                close((int)(WIRES + ROW * a + b));
}

/* ---- who is who ---- */

static int tell_place(void) {
    return cli_ranks_close(0) == 0 && cli_ranks_count() == 3 ? (cli_ranks_follow() ? 21 : 20) : 1;
}

static void all_but_the_first_follow(void **state) {
    (void)state;
    int statuses[3];
    char aborts[4];
    run_job(3, tell_place, statuses, aborts, sizeof aborts);
    assert_int_equal(statuses[0], 20);
    assert_int_equal(statuses[1], 21);
    assert_int_equal(statuses[2], 21);
    assert_int_equal(aborts[0], 0);
}

/* ---- failures of one rank ---- */

/* A training went well, and rank 0 cannot say so: the others wait for its status, and for nothing else. */
static int fail_after_all(void) {
    (void)cli_ranks_take();
    if (cli_ranks_follow())
        usleep(300000); /* slow is not dead */
    return cli_ranks_close(cli_ranks_follow() ? 0 : 3);
}

static void a_late_failure_is_the_job_s(void **state) {
    (void)state;
    int statuses[2];
    char aborts[4];
    run_job(2, fail_after_all, statuses, aborts, sizeof aborts);
    assert_int_equal(statuses[0], 3);
    assert_int_equal(statuses[1], 3);
    assert_int_equal(aborts[0], 0);
}

/* Rank 0 fails before it takes the others, and has said why: those who meet it fail with it. */
static int fail_at_once(void) {
    locus_error error = {.status = LOCUS_OK};
    if (!cli_ranks_follow())
        return cli_ranks_close(cli_failure("no such task"));
    const locus_status met = lab_meeting(cli_ranks_take(), LOCUS_ERROR_IO, NULL, &error);
    const bool heard = met == LOCUS_ERROR_ARGUMENT && error.message[0] == '\0';
    const int status = cli_ranks_close(2);
    return heard && status == 1 ? 30 : 31;
}

static void an_early_failure_is_told(void **state) {
    (void)state;
    int statuses[2];
    char aborts[4];
    capture(STDERR_FILENO);
    run_job(2, fail_at_once, statuses, aborts, sizeof aborts);
    assert_string_equal(captured(), "locus: no such task\n");
    assert_int_equal(statuses[0], 1);
    assert_int_equal(statuses[1], 30);
    assert_int_equal(aborts[0], 0);
}

/* ---- a rank dies ---- */

/* Rank 2 is gone: rank 0, not its nearest neighbour, leaves the word to that one for a second, then ends all. */
static int lose_one(void) {
    locus_error error = {.status = LOCUS_OK};
    lab_ranks *ranks = cli_ranks_take();
    if (lab_ranks_rank(ranks) == 2)
        return 9;
    const double began = lab_seconds();
    const locus_status status = lab_ranks_barrier(ranks, &error);
    const double waited = lab_seconds() - began;
    const char *says = lab_ranks_rank(ranks) == 0 ? "rank 2 died (process " : "rank 0 died (process ";
    const bool good = status == LOCUS_ERROR_IO && strncmp(error.message, says, strlen(says)) == 0 && waited > 0.9;
    return cli_ranks_close(0) == 1 && good ? 40 : 41;
}

static void a_dead_rank_is_found(void **state) {
    (void)state;
    int statuses[3];
    char aborts[4];
    if (access("/proc/sys/kernel/random/boot_id", R_OK) != 0)
        skip(); /* nothing is known of other processes */
    capture(STDERR_FILENO);
    run_job(3, lose_one, statuses, aborts, sizeof aborts);
    (void)captured();
    assert_int_equal(statuses[0], 40);
    assert_int_equal(statuses[1], 40);
    assert_int_equal(statuses[2], 9);
    assert_string_equal(aborts, "\1\1"); /* each with the status of a failure */
}

/* ---- plugins that are none ---- */

static int go_on(void) {
    return cli_ranks_close(0);
}

static void refused(const char *variable, const char *value, const char *wanted) {
    setenv(variable, value, 1);
    capture(STDERR_FILENO);
    fflush(NULL);
    const pid_t rank = fork();
    if (rank == 0)
        be_rank(0, 2, go_on);
    int status;
    assert_int_equal(waitpid(rank, &status, 0), rank);
    const char *said = captured();
    unsetenv(variable);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    if (strstr(said, wanted) == NULL)
        fail_msg("not '%s' but: %s", wanted, said);
}

static void plugins_that_are_none(void **state) {
    (void)state;
    char none[1024];
    snprintf(none, sizeof none, "%s/tests/plugins/plugin_none.so", getenv("LOCUS_BUILD"));
    refused("LOCUS_MPI", none, "cannot be loaded: ");
    refused("LOCUS_MPI", "./nowhere.so", "started as one of 2 ranks of ./nowhere.so, but there is no plugin for it");
    refused("LOCUS_TEST_RANK", "0 3", "started as rank 0 of 2, but sockets says 0 of 3: the plugin is for another MPI");
    refused("LOCUS_TEST_RANK", "1 2", "started as rank 0 of 2, but sockets says 1 of 2: ");
    refused("LOCUS_TEST_RANK", "", "LOCUS_TEST_RANK is missing");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_but_the_first_follow), cmocka_unit_test(a_late_failure_is_the_job_s),
        cmocka_unit_test(an_early_failure_is_told), cmocka_unit_test(a_dead_rank_is_found),
        cmocka_unit_test(plugins_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
