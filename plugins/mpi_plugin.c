/* SPDX-License-Identifier: MIT */
/* Ranks over MPI, a shared object for each MPI library (lab/ranks/mpi_plugin.h). Messages are bytes between two ranks;
 * sums are made by locus itself, since an MPI's own reductions choose their order by size and number of ranks. */
#include "ranks/mpi_plugin.h"

#include <mpi.h>
#include <stdio.h>
#include <time.h>

/* A message's size is an int. */
#define MOST_BYTES ((size_t)1 << 30)
enum { TAG = 47, EAGER_TRIES = 2000, NAP_FIRST = 5000, NAP_MOST = 200000 /* nanoseconds */ };

const lab_mpi_plugin *locus_mpi_plugin(void);

static int tell(int code, const char *where, char *says, size_t size) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (code == MPI_SUCCESS)
        return 0;
    MPI_Error_string(code, text, &length);
    snprintf(says, size, "%s: %.*s", where, length, text);
    return 1;
}

static int mpi_open(int *rank, int *count, char *says, size_t size) {
    int provided;
    int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_rank(MPI_COMM_WORLD, rank);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_size(MPI_COMM_WORLD, count);
    return tell(code, "MPI could not be started", says, size);
}

static void nap(long nanoseconds) {
    const struct timespec pause = {0, nanoseconds};
    nanosleep(&pause, NULL);
}

/* Spins for what comes soon, then sleeps for longer and longer: whoever waits for rank 0's disk leaves the processor to
 * others. */
static int wait_all(MPI_Request requests[2], int (*waits)(void *context), void *context, char *says, size_t size) {
    MPI_Status statuses[2];
    int done = 0, code = MPI_SUCCESS;
    long pause = NAP_FIRST;
    for (int tries = 0; !done && code == MPI_SUCCESS; tries++) {
        code = MPI_Testall(2, requests, &done, statuses);
        if (done || code != MPI_SUCCESS || tries < EAGER_TRIES)
            continue;
        nap(pause);
        pause = pause * 2 < NAP_MOST ? pause * 2 : NAP_MOST;
        if (!waits(context))
            return -1;
    }
    return tell(code, "a message was lost", says, size);
}

static int mpi_exchange(int peer, const void *send, size_t send_bytes, void *receive, size_t receive_bytes,
                        int (*waits)(void *context), void *context, char *says, size_t size) {
    for (size_t at = 0; at < send_bytes || at < receive_bytes; at += MOST_BYTES) {
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        const size_t out = at < send_bytes ? send_bytes - at : 0, in = at < receive_bytes ? receive_bytes - at : 0;
        int code = MPI_SUCCESS;
        if (in > 0)
            code = MPI_Irecv((char *)receive + at, (int)(in < MOST_BYTES ? in : MOST_BYTES), MPI_BYTE, peer, TAG,
                             MPI_COMM_WORLD, &requests[0]);
        if (code == MPI_SUCCESS && out > 0)
            code = MPI_Isend((const char *)send + at, (int)(out < MOST_BYTES ? out : MOST_BYTES), MPI_BYTE, peer, TAG,
                             MPI_COMM_WORLD, &requests[1]);
        const int failed = code != MPI_SUCCESS ? tell(code, "a message was refused", says, size)
                                               : wait_all(requests, waits, context, says, size);
        if (failed)
            return failed;
    }
    return 0;
}

static int mpi_close(char *says, size_t size) {
    return tell(MPI_Finalize(), "MPI could not be ended", says, size);
}

static void mpi_abort(int status) {
    MPI_Abort(MPI_COMM_WORLD, status);
}

__attribute__((visibility("default"))) const lab_mpi_plugin *locus_mpi_plugin(void) {
    static const lab_mpi_plugin plugin = {LAB_MPI_PLUGIN_VERSION, LOCUS_MPI_LIBRARY, mpi_open,
                                          mpi_exchange,           mpi_close,         mpi_abort};
    return &plugin;
}
