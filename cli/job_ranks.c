/* SPDX-License-Identifier: MIT */
/* Finds what mpirun or srun say of a job, shares its processors out and opens its ranks; all but rank 0 fall silent. */
#include "job_ranks.h"

#include "output.h"
#include "ranks/ranks_mpi.h"
#include "train/meeting.h"

#include <locus/parallel.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static lab_mpi_start start = {0, 1, ""};
static lab_ranks *ranks;
static bool taken;

void cli_ranks_look(void) {
    start = lab_mpi_started();
    if (cli_ranks_follow())
        cli_follow();
}

size_t cli_ranks_count(void) {
    return start.count;
}

uint64_t cli_ranks_sent(void) {
    return lab_ranks_sent(ranks);
}

bool cli_ranks_follow(void) {
    return start.rank > 0;
}

/* Ranks of one machine that are not bound to processors share them out. */
static void share_processors(void) {
    const char *names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        const long local = text == NULL ? 0 : strtol(text, NULL, 10);
        if (local > 1 && online > 1 && locus_threads() == (size_t)online &&
            locus_threads_set((size_t)(online > local ? online / local : 1)) == LOCUS_OK)
            return;
    }
}

int cli_ranks_open(void) {
    if (start.count == 1)
        return 0;
    if (lab_ranks_mpi(&ranks, &start, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    share_processors();
    return 0;
}

lab_ranks *cli_ranks_take(void) {
    taken = true;
    return ranks;
}

int cli_ranks_close(int status) {
    if (ranks == NULL)
        return status;
    if (!taken && status != 0)
        (void)!lab_meeting_decline(ranks, cli_kept_line(), &cli_fault);
    /* mpirun ends a job with the first rank that leaves in failure: nobody does before rank 0 has said everything. */
    fflush(stdout);
    if (!lab_ranks_broken(ranks))
        (void)!lab_ranks_broadcast(ranks, &status, sizeof status, &cli_fault); /* what fails breaks them */
    const bool broken = lab_ranks_broken(ranks);
    if (broken && cli_ranks_follow())
        cli_speak(); /* rank 0 cannot be told */
    lab_ranks_close(&ranks);
    return broken && status == 0 ? 1 : status;
}
