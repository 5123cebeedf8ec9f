/* SPDX-License-Identifier: MIT */
/* See training_cells.h. */
#include "jobs/training_cells.h"

#include "io/clock.h"
#include "io/fail.h"

#include <errno.h>
#include <locus/parallel.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a child writes; shorter than PIPE_BUF, so that a message is whole. */
typedef struct message {
    bool last; /* the cell's end; else progress */
    locus_status status;
    int64_t run;
    char text[sizeof((locus_error *)0)->message];
    char phase[16];
    lab_progress progress;
} message;

_Static_assert(sizeof(message) <= 4096, "a message fits into an atomic write of a pipe");

/* ---- the child ---- */

/* What a child's progress needs to know. */
typedef struct child {
    int pipe;
    bool (*stopped)(void);
} child;

static bool send_message(const child *own, const message *told) {
    ssize_t written;
    do {
        written = write(own->pipe, told, sizeof *told);
    } while (written < 0 && errno == EINTR && !own->stopped());
    return written == (ssize_t)sizeof *told || (written < 0 && errno == EINTR);
}

static bool look(void *context, const lab_progress *now) {
    const child *own = context;
    message told;
    memset(&told, 0, sizeof told);
    told.progress = *now;
    told.progress.phase = NULL;
    snprintf(told.phase, sizeof told.phase, "%s", now->phase);
    return send_message(own, &told) && !own->stopped();
}

static void run_child(const lab_cells *all, lab_cell *cell, int pipe) {
    child own = {pipe, all->stopped};
    lab_store *store = NULL;
    lab_run run = {0};
    locus_error error = {0};
    message told;
    memset(&told, 0, sizeof told); /* its padding, too */
    const lab_train_request request = {
        .config = cell->config,
        .folder = all->folder,
        .name = cell->name,
        .command = all->command,
        .restart = all->restart,
        .progress = look,
        .context = &own,
    };
    locus_status status = locus_threads_set(all->threads);
    if (status == LOCUS_OK)
        status = lab_store_open(&store, all->store_path, &error);
    if (status == LOCUS_OK)
        status = lab_train(store, &request, &run, &error);
    lab_store_close(&store);
    told.last = true;
    told.status = status;
    told.run = run.id;
    snprintf(told.text, sizeof told.text, "%s", status != LOCUS_OK ? error.message : run.message);
    lab_run_free(&run);
    send_message(&own, &told);
    _exit(status == LOCUS_OK ? 0 : 1);
}

/* ---- the parent ---- */

static locus_status start(lab_cells *all, lab_cell *cell, locus_error *error) {
    int ends[2];
    if (pipe(ends) != 0)
        return lab_fail(error, LOCUS_ERROR_IO, NULL, "cannot make a pipe: %s", strerror(errno));
    fflush(stdout);
    fflush(stderr);
    cell->process = fork();
    if (cell->process < 0) {
        const int reason = errno;
        cell->process = 0;
        close(ends[0]);
        close(ends[1]);
        return lab_fail(error, LOCUS_ERROR_IO, NULL, "cannot start a process: %s", strerror(reason));
    }
    if (cell->process == 0) {
        close(ends[0]);
        for (size_t i = 0; i < all->count; i++)
            if (&all->cells[i] != cell && all->cells[i].process > 0)
                close(all->cells[i].pipe);
        run_child(all, cell, ends[1]);
    }
    close(ends[1]);
    cell->pipe = ends[0];
    cell->began = lab_seconds();
    return LOCUS_OK;
}

static void take(lab_cell *cell, const message *told) {
    if (told->last) {
        cell->reported = true;
        cell->status = told->status;
        cell->finished = told->status == LOCUS_OK;
        cell->run = told->run;
        snprintf(cell->message, sizeof cell->message, "%s", told->text);
        return;
    }
    cell->trained_now = true;
    memcpy(cell->phase, told->phase, sizeof cell->phase);
    cell->progress = told->progress;
    cell->progress.phase = cell->phase;
}

/* A child that ended without a last message was killed or crashed. */
static void reap(lab_cell *cell) {
    int status = 0;
    close(cell->pipe);
    while (waitpid(cell->process, &status, 0) < 0 && errno == EINTR) {
    }
    cell->process = 0;
    if (cell->reported)
        return;
    cell->status = LOCUS_ERROR_INTERRUPTED;
    if (WIFSIGNALED(status))
        snprintf(cell->message, sizeof cell->message, "its process was ended by signal %d", WTERMSIG(status));
    else
        snprintf(cell->message, sizeof cell->message, "its process ended with status %d", WEXITSTATUS(status));
}

/* Reads what there is; false: the pipe is closed. */
static bool listen_to(lab_cell *cell) {
    message told;
    size_t have = 0;
    while (have < sizeof told) {
        ssize_t got = read(cell->pipe, (char *)&told + have, sizeof told - have);
        if (got > 0)
            have += (size_t)got;
        else if (got == 0 || errno != EINTR)
            return false;
    }
    take(cell, &told);
    return true;
}

/* ---- the loop ---- */

size_t lab_cells_ended(const lab_cells *all) {
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++)
        count += all->cells[i].process == 0 && (all->cells[i].reported || all->cells[i].message[0] != '\0');
    return count;
}

static void tell(const lab_cells *all, const lab_cell *ended) {
    if (all->watch)
        all->watch(all->watcher, ended);
}

/* Waits for messages of the running cells, at most half a second; cells that ended are reaped. */
static void wait_for_news(lab_cells *all, struct pollfd *polls, size_t *owners) {
    nfds_t count = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (all->cells[i].process > 0) {
            polls[count] = (struct pollfd){.fd = all->cells[i].pipe, .events = POLLIN};
            owners[count++] = i;
        }
    }
    int ready = poll(polls, count, 500);
    for (nfds_t i = 0; ready > 0 && i < count; i++) {
        lab_cell *cell = &all->cells[owners[i]];
        if ((polls[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !listen_to(cell)) {
            reap(cell);
            tell(all, cell);
        }
    }
}

static size_t running_cells(const lab_cells *all) {
    size_t running = 0;
    for (size_t i = 0; i < all->count; i++)
        running += all->cells[i].process > 0;
    return running;
}

static void stop_children(const lab_cells *all) {
    for (size_t i = 0; i < all->count; i++)
        if (all->cells[i].process > 0)
            kill(all->cells[i].process, SIGTERM);
}

static locus_status train_all(lab_cells *all, struct pollfd *polls, size_t *owners, locus_error *error) {
    size_t next = 0;
    bool asked = false;
    locus_status status = LOCUS_OK;
    for (;;) {
        while (status == LOCUS_OK && !all->stopped() && running_cells(all) < all->jobs && next < all->count)
            status = start(all, &all->cells[next++], error);
        if (running_cells(all) == 0)
            return status;
        if ((all->stopped() || status != LOCUS_OK) && !asked) {
            stop_children(all);
            asked = true;
        }
        tell(all, NULL);
        wait_for_news(all, polls, owners);
    }
}

locus_status lab_cells_run(lab_cells *cells, locus_error *error) {
    struct pollfd *polls = calloc(cells->count + 1, sizeof *polls);
    size_t *owners = calloc(cells->count + 1, sizeof *owners);
    struct sigaction ignore = {.sa_handler = SIG_IGN}, before;
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGPIPE, &ignore, &before); /* a child whose parent is gone stops cleanly */
    const locus_status status =
        polls && owners ? train_all(cells, polls, owners, error) : lab_fail_memory(error, "a list of cells");
    sigaction(SIGPIPE, &before, NULL);
    free(polls);
    free(owners);
    return status;
}
