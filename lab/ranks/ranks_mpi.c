/* SPDX-License-Identifier: MIT */
/* See ranks_mpi.h. */
#define _DEFAULT_SOURCE /* readlink, gethostname */
#include "ranks/ranks_mpi.h"

#include "io/clock.h"
#include "io/fail.h"
#include "ranks/mpi_plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef LOCUS_PLUGIN_FOLDER
#define LOCUS_PLUGIN_FOLDER "../lib/locus" /* from the program's folder */
#endif
#define LOOK_SECONDS 0.1 /* between looks at a rank that lets others wait */
#define YIELD_SECONDS 1.0

/* ---- who started us ---- */

static bool number_of(const char *name, size_t *value) {
    const char *text = getenv(name);
    char *end;
    if (text == NULL || *text == '\0')
        return false;
    errno = 0;
    const unsigned long long found = strtoull(text, &end, 10);
    if (*end != '\0' || errno != 0)
        return false;
    *value = (size_t)found;
    return true;
}

lab_mpi_start lab_mpi_started(void) {
    /* mpirun of Open MPI; of MPICH (Hydra), and srun --mpi=pmi2; srun --mpi=pmix, which is Open MPI's unless said. */
    static const struct {
        const char *rank, *count, *library;
    } signs[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "openmpi"},
                 {"PMI_RANK", "PMI_SIZE", "mpich"},
                 {"PMIX_RANK", "SLURM_STEP_NUM_TASKS", "openmpi"}};
    const char *named = getenv("LOCUS_MPI");
    lab_mpi_start start = {0, 1, "openmpi"};
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        if (number_of(signs[i].rank, &start.rank) && number_of(signs[i].count, &start.count) && start.count > 1) {
            start.library = signs[i].library;
            break;
        }
    }
    if (start.count <= 1 || start.rank >= start.count || (named != NULL && strcmp(named, "none") == 0))
        return (lab_mpi_start){0, 1, "openmpi"};
    if (named != NULL && *named != '\0')
        start.library = named;
    return start;
}

/* ---- the plugin ---- */

typedef struct place { /* of a rank */
    char machine[160], network[64];
    int64_t process;
} place;

typedef struct mpi_rank {
    const lab_mpi_plugin *plugin;
    void *file;
    place here, *places; /* [count] */
    size_t rank, peer;   /* the latter is waited for */
    double looked, died; /* clocks: of the last look, and of when it was first seen dead; 0: it lives */
} mpi_rank;

static void program_folder(char *folder, size_t size) {
    const ssize_t length = readlink("/proc/self/exe", folder, size - 1);
    folder[length > 0 ? (size_t)length : 0] = '\0';
    char *slash = strrchr(folder, '/');
    if (slash != NULL)
        *slash = '\0';
}

static void *load(const char *library, char *path, size_t size) {
    char folder[2048];
    if (strchr(library, '/') != NULL) {
        snprintf(path, size, "%s", library);
        return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    }
    program_folder(folder, sizeof folder);
    snprintf(path, size, "%s/locus-mpi-%s.so", folder, library);
    if (access(path, F_OK) != 0)
        snprintf(path, size, "%s/" LOCUS_PLUGIN_FOLDER "/locus-mpi-%s.so", folder, library);
    return access(path, F_OK) == 0 ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
}

static locus_status find_plugin(mpi_rank *own, const lab_mpi_start *start, locus_error *error) {
    char path[4096];
    lab_mpi_plugin_function *function = NULL;
    own->file = load(start->library, path, sizeof path);
    if (own->file == NULL && access(path, F_OK) != 0) {
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "ranks",
                        "started as one of %zu ranks of %s, but there is no plugin for it (%s): build locus with that "
                        "MPI's development package, or set LOCUS_MPI",
                        start->count, start->library, path);
    }
    void *found = own->file == NULL ? NULL : dlsym(own->file, LAB_MPI_PLUGIN_SYMBOL);
    if (found == NULL)
        return lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "ranks", "the plugin '%s' cannot be loaded: %s", path,
                        dlerror());
    memcpy(&function, &found, sizeof function);
    own->plugin = function();
    return own->plugin->version == LAB_MPI_PLUGIN_VERSION
               ? LOCUS_OK
               : lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "ranks", "the plugin '%s' is of another version of locus",
                          path);
}

/* ---- the transport ---- */

/* A process that is gone or a zombie; of another machine, or of another space of process numbers, nothing is known. */
static bool has_died(const mpi_rank *own, const place *of) {
    char path[64], line[512];
    if (strcmp(own->here.machine, of->machine) != 0 || of->process <= 0)
        return false;
    if (kill((pid_t)of->process, 0) != 0 && errno == ESRCH)
        return true;
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)of->process);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return false;
    const char *state = fgets(line, sizeof line, file) != NULL ? strrchr(line, ')') : NULL;
    fclose(file);
    return state != NULL && (state[2] == 'Z' || state[2] == 'X');
}

/* Several ranks may wait for a dead one. Its nearest neighbour speaks at once and ends the job; others only if that one
 * cannot. */
static double patience(size_t rank, size_t peer) {
    double wait = 0.0;
    for (size_t apart = (rank ^ peer) >> 1; apart > 0; apart >>= 1)
        wait += YIELD_SECONDS;
    return wait;
}

static int still_waits(void *context) {
    mpi_rank *own = context;
    const double now = lab_seconds();
    if (own->places == NULL || now - own->looked < LOOK_SECONDS)
        return 1;
    own->looked = now;
    if (!has_died(own, &own->places[own->peer]))
        own->died = 0.0;
    else if (own->died <= 0.0)
        own->died = now;
    return own->died <= 0.0 || now - own->died < patience(own->rank, own->peer);
}

static locus_status mpi_exchange(void *context, size_t peer, const void *send, size_t send_bytes, void *receive,
                                 size_t receive_bytes, locus_error *error) {
    mpi_rank *own = context;
    char says[300] = "";
    own->peer = peer;
    own->died = 0.0;
    const int failed =
        own->plugin->exchange((int)peer, send, send_bytes, receive, receive_bytes, still_waits, own, says, sizeof says);
    if (failed == 0)
        return LOCUS_OK;
    if (failed > 0)
        return lab_fail(error, LOCUS_ERROR_IO, "ranks", "rank %zu cannot be reached: %s", peer, says);
    return lab_fail(error, LOCUS_ERROR_IO, "ranks",
                    "rank %zu died (process %lld): the same command goes on from the last checkpoint", peer,
                    (long long)own->places[peer].process);
}

/* MPI libraries go through memory between processes that see one another's numbers and network. */
static bool mpi_near(void *context, size_t peer) {
    const mpi_rank *own = context;
    const place *there = own->places != NULL ? &own->places[peer] : NULL;
    return there != NULL && there->process > 0 && strcmp(own->here.machine, there->machine) == 0 &&
           strcmp(own->here.network, there->network) == 0;
}

static void mpi_abort(void *context) {
    const mpi_rank *own = context;
    fflush(NULL);
    own->plugin->abort(1);
}

/* The plugin's file stays: MPI libraries leave threads and handlers behind. */
static void mpi_close(void *context) {
    mpi_rank *own = context;
    char says[300];
    (void)own->plugin->close(says, sizeof says);
    free(own->places);
    free(own);
}

/* ---- meeting ---- */

static void read_line(const char *path, char *text, size_t size) {
    FILE *file = fopen(path, "r");
    if (file == NULL || fgets(text, (int)size, file) == NULL)
        *text = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (file != NULL)
        fclose(file);
}

static void read_space(const char *path, char *text, size_t size) {
    const ssize_t length = readlink(path, text, size - 1);
    text[length > 0 ? (size_t)length : 0] = '\0';
}

/* Which kernel, since when, and which of its spaces of process numbers and of networks. */
static void find_place(place *here) {
    char boot[64], space[64];
    read_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    memset(here, 0, sizeof *here);
    read_space("/proc/self/ns/pid", space, sizeof space);
    read_space("/proc/self/ns/net", here->network, sizeof here->network);
    here->process = *boot != '\0' && *space != '\0' ? (int64_t)getpid() : 0;
    snprintf(here->machine, sizeof here->machine, "%s %s", boot, space);
}

static locus_status learn_places(lab_ranks *ranks, mpi_rank *own, locus_error *error) {
    const size_t count = lab_ranks_count(ranks);
    place *places = calloc(count, sizeof *places);
    if (places == NULL)
        return lab_fail_memory(error, "the ranks' places");
    find_place(&own->here);
    locus_status status = lab_ranks_collect(ranks, &own->here, sizeof own->here, places, error);
    if (status == LOCUS_OK)
        status = lab_ranks_broadcast(ranks, places, count * sizeof *places, error);
    own->rank = lab_ranks_rank(ranks);
    own->places = places;
    return status;
}

locus_status lab_ranks_mpi(lab_ranks **ranks, const lab_mpi_start *start, locus_error *error) {
    static const lab_rank_transport transport = {mpi_exchange, mpi_near, mpi_abort, mpi_close};
    char says[300] = "";
    int rank = 0, count = 0;
    *ranks = NULL;
    mpi_rank *own = calloc(1, sizeof *own);
    locus_status status = own == NULL ? lab_fail_memory(error, "a rank") : find_plugin(own, start, error);
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): both are there if all went well so far
    if (status == LOCUS_OK && own->plugin->open(&rank, &count, says, sizeof says) != 0)
        status = lab_fail(error, LOCUS_ERROR_IO, "ranks", "%s", says);
    if (status == LOCUS_OK && ((size_t)count != start->count || (size_t)rank != start->rank)) {
        status = lab_fail(error, LOCUS_ERROR_UNSUPPORTED, "ranks",
                          "started as rank %zu of %zu, but %s says %d of %d: the plugin is for another MPI; set "
                          "LOCUS_MPI to openmpi or mpich",
                          start->rank, start->count, own->plugin->library, rank, count);
    }
    if (status == LOCUS_OK)
        status = lab_ranks_create(ranks, &transport, own, start->rank, start->count, error);
    if (status != LOCUS_OK) {
        free(own);
        return status;
    }
    status = learn_places(*ranks, own, error);
    if (status != LOCUS_OK)
        lab_ranks_close(ranks);
    return status;
}
