/* SPDX-License-Identifier: MIT */
/* Ranks over sockets that a test has opened, in the place of an MPI library (lab/ranks/mpi_plugin.h). Rank r talks to
 * rank p over descriptor 100 + 8 r + p; LOCUS_TEST_RANK says "rank count"; descriptor 99 gets the status of an abort,
 * which returns. */
#define _POSIX_C_SOURCE 200809L
#include "ranks/mpi_plugin.h"

#include <locus/status.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int own_rank;

static int socket_open(int *rank, int *count, char *says, size_t size) {
    const char *text = getenv("LOCUS_TEST_RANK");
    if (text == NULL || *text == '\0') {
        snprintf(says, size, "LOCUS_TEST_RANK is missing");
        return 1;
    }
    char *second;
    own_rank = *rank = (int)strtol(text, &second, 10);
    *count = (int)strtol(second, NULL, 10);
    return 0;
}

static int socket_exchange(int peer, const void *send_from, size_t send_bytes, void *receive, size_t receive_bytes,
                           int (*waits)(void *context), void *context, char *says, size_t size) {
    const int wire = 100 + 8 * own_rank + peer;
    size_t sent = 0, received = 0;
    (void)says;
    (void)size;
    while (sent < send_bytes || received < receive_bytes) {
        struct pollfd look = {wire, 0, 0};
        look.events = (short)((sent < send_bytes ? POLLOUT : 0) | (received < receive_bytes ? POLLIN : 0));
        (void)poll(&look, 1, 5);
        const ssize_t out =
            sent < send_bytes ? send(wire, (const char *)send_from + sent, send_bytes - sent, MSG_DONTWAIT) : 0;
        const ssize_t in = received < receive_bytes
                               ? recv(wire, (char *)receive + received, receive_bytes - received, MSG_DONTWAIT)
                               : 0;
        sent += out > 0 ? (size_t)out : 0;
        received += in > 0 ? (size_t)in : 0;
        if (out <= 0 && in <= 0 && !waits(context))
            return -1;
    }
    return 0;
}

static int socket_close(char *says, size_t size) {
    (void)says;
    (void)size;
    return 0;
}

static void socket_abort(int status) {
    const char byte = (char)status;
    (void)!write(99, &byte, 1);
}

LOCUS_API lab_mpi_plugin_function locus_mpi_plugin;
const lab_mpi_plugin *locus_mpi_plugin(void) {
    static const lab_mpi_plugin plugin = {LAB_MPI_PLUGIN_VERSION, "sockets",    socket_open,
                                          socket_exchange,        socket_close, socket_abort};
    return &plugin;
}
