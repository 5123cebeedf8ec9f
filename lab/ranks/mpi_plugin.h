/* SPDX-License-Identifier: MIT */
/* What a plugin of ranks over MPI offers. MPI libraries share an interface of source, not of binaries, so the few calls
 * that are needed are compiled for each (plugins/mpi_plugin.c) and loaded when that library's mpirun has started us. */
#ifndef LAB_MPI_PLUGIN_H
#define LAB_MPI_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

enum { LAB_MPI_PLUGIN_VERSION = 1 };

typedef struct lab_mpi_plugin {
    uint32_t version;
    const char *library; /* "Open MPI v4.1.4 …": what it was compiled with */
    /* Each returns 0, or another number with a line in `says` (MPI's own words). */
    int (*open)(int *rank, int *count, char *says, size_t size);
    /* Sends and receives at the same time; sizes of any size_t. While it waits it asks `waits` now and then, which ends
     * it with −1 by false. */
    int (*exchange)(int peer, const void *send, size_t send_bytes, void *receive, size_t receive_bytes,
                    int (*waits)(void *context), void *context, char *says, size_t size);
    int (*close)(char *says, size_t size); /* when all are there */
    void (*abort)(int status);             /* ends all ranks */
} lab_mpi_plugin;

/* The plugin's only symbol. */
#define LAB_MPI_PLUGIN_SYMBOL "locus_mpi_plugin"
typedef const lab_mpi_plugin *lab_mpi_plugin_function(void);

#endif
