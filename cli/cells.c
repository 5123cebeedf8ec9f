/* SPDX-License-Identifier: MIT */
#include "cells.h"

#include "output.h"
#include "stop.h"
#include "train/train_data.h"

#include <errno.h>
#include <locus/parallel.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LINE_SECONDS 30.0
#define DRAW_SECONDS 0.2

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

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- the child ---- */

static bool send_message(int pipe, const message *told) {
    ssize_t written;
    do {
        written = write(pipe, told, sizeof *told);
    } while (written < 0 && errno == EINTR && !cli_stop_asked());
    return written == (ssize_t)sizeof *told || (written < 0 && errno == EINTR);
}

static bool look(void *context, const lab_progress *now) {
    message told;
    memset(&told, 0, sizeof told);
    told.progress = *now;
    told.progress.phase = NULL;
    snprintf(told.phase, sizeof told.phase, "%s", now->phase);
    return send_message(*(const int *)context, &told) && !cli_stop_asked();
}

static void run_child(const cli_cells *all, cli_cell *cell, int pipe) {
    lab_store *store = NULL;
    lab_run run;
    locus_error error;
    message told;
    memset(&told, 0, sizeof told);
    memset(&run, 0, sizeof run);
    memset(&error, 0, sizeof error);
    const lab_train_request request = {
        .config = cell->config,
        .folder = all->folder,
        .name = cell->name,
        .command = all->command,
        .restart = all->restart,
        .progress = look,
        .context = &pipe,
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
    send_message(pipe, &told);
    _exit(status == LOCUS_OK ? 0 : 1);
}

/* ---- the parent ---- */

static int start(cli_cells *all, cli_cell *cell) {
    int ends[2];
    if (pipe(ends) != 0)
        return cli_failure("cannot make a pipe: %s", strerror(errno));
    fflush(stdout);
    fflush(stderr);
    cell->process = fork();
    if (cell->process < 0) {
        close(ends[0]);
        close(ends[1]);
        return cli_failure("cannot start a process: %s", strerror(errno));
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
    cell->began = seconds_now();
    return 0;
}

static void take(cli_cell *cell, const message *told) {
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
static void reap(cli_cell *cell) {
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
static bool listen_to(cli_cell *cell) {
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

/* ---- what the user sees ---- */

typedef struct screen {
    bool bars;    /* a terminal */
    size_t lines; /* bars on the screen */
    double told;  /* clock of the last plain line */
    double drawn; /* of the last bars */
} screen;

static void wipe(screen *view) {
    if (view->lines > 0) {
        fprintf(stderr, "\033[%zuA\r\033[J", view->lines);
        view->lines = 0;
    }
}

static size_t ended(const cli_cells *all) {
    size_t count = 0;
    for (size_t i = 0; i < all->count; i++)
        count += all->cells[i].process == 0 && (all->cells[i].reported || all->cells[i].message[0] != '\0');
    return count;
}

/* One bar for each running cell below a line that counts the cells; written over the last ones, so that nothing
 * flickers. */
static void draw(cli_cells *all, screen *view) {
    double now = seconds_now();
    if (!view->bars || (view->lines > 0 && now - view->drawn < DRAW_SECONDS))
        return;
    if (view->lines > 0)
        fprintf(stderr, "\033[%zuA", view->lines);
    fprintf(stderr, "\r%zu of %zu cells done\033[K\n", ended(all), all->count);
    view->drawn = now;
    view->lines = 1;
    for (size_t i = 0; i < all->count; i++) {
        cli_cell *cell = &all->cells[i];
        if (cell->process > 0) {
            cli_progress bar = {.label = cell->label};
            if (cell->trained_now) {
                cli_progress_show(&bar, &cell->progress);
            } else {
                cli_write(stderr, "%s: starting", cell->label);
                fputs("\033[K", stderr);
            }
            fputc('\n', stderr);
            view->lines++;
        }
    }
    fputs("\033[J", stderr);
    fflush(stderr);
}

static bool same_but_for_numbers(const char *a, const char *b) {
    static const char number[] = "0123456789.";
    for (;; a++, b++) {
        a += strspn(a, number);
        b += strspn(b, number);
        if (*a != *b || *a == '\0')
            return *a == *b;
    }
}

/* What a finished run says of itself (paths that are cut, lengths that it has no position for), once for an encoding:
 * of other tasks and seeds it says the same, with numbers that the runs keep. */
static void tell_note(const cli_cells *all, const cli_cell *cell) {
    for (size_t i = 0; i < all->count; i++) {
        const cli_cell *other = &all->cells[i];
        if (other != cell && other->finished && strcmp(other->encoding, cell->encoding) == 0 &&
            same_but_for_numbers(other->message, cell->message))
            return;
    }
    if (cell->message[0] != '\0')
        cli_note("%s: %s", cell->label, cell->message);
}

/* Why a cell cannot be trained is told once, not for every seed. */
static bool told_already(const cli_cells *all, const cli_cell *cell) {
    for (size_t i = 0; i < all->count && cell->status != LOCUS_ERROR_INTERRUPTED; i++) {
        const cli_cell *other = &all->cells[i];
        if (other != cell && other->reported && !other->finished && strcmp(other->encoding, cell->encoding) == 0 &&
            strcmp(other->message, cell->message) == 0)
            return true;
    }
    return false;
}

static void tell_end(const cli_cells *all, const cli_cell *cell, screen *view) {
    char seconds[32];
    wipe(view);
    if (cell->finished) {
        cli_note("[%zu/%zu] %s: %s%s", ended(all), all->count, cell->label,
                 cell->trained_now ? "done in " : "already done",
                 cell->trained_now ? cli_format_seconds(seconds, sizeof seconds, seconds_now() - cell->began) : "");
        tell_note(all, cell);
    } else if (cell->status == LOCUS_ERROR_INTERRUPTED && cli_stop_asked()) {
        cli_note("%s: %s", cell->label, cell->message);
    } else if (!told_already(all, cell)) {
        cli_failure("%s: %s", cell->label, cell->message);
    }
}

static void tell_progress(const cli_cells *all, screen *view) {
    double now = seconds_now();
    if (view->bars || now - view->told < LINE_SECONDS)
        return;
    view->told = now;
    for (size_t i = 0; i < all->count; i++) {
        const cli_cell *cell = &all->cells[i];
        if (cell->process > 0 && cell->trained_now) {
            cli_note("%s: %s, step %llu of %llu, loss %.4f", cell->label, cell->phase,
                     (unsigned long long)cell->progress.step, (unsigned long long)cell->progress.steps,
                     cell->progress.loss);
        }
    }
}

/* ---- the loop ---- */

/* Waits for messages of the running cells, at most half a second; cells that ended are reaped. */
static void wait_for_news(cli_cells *all, struct pollfd *polls, size_t *owners, screen *view) {
    nfds_t count = 0;
    for (size_t i = 0; i < all->count; i++) {
        if (all->cells[i].process > 0) {
            polls[count] = (struct pollfd){.fd = all->cells[i].pipe, .events = POLLIN};
            owners[count++] = i;
        }
    }
    int ready = poll(polls, count, 500);
    for (nfds_t i = 0; ready > 0 && i < count; i++) {
        cli_cell *cell = &all->cells[owners[i]];
        if ((polls[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0 && !listen_to(cell)) {
            reap(cell);
            tell_end(all, cell, view);
            if (all->ended != NULL)
                all->ended(all->context);
        }
    }
}

static void stop_children(const cli_cells *all) {
    for (size_t i = 0; i < all->count; i++)
        if (all->cells[i].process > 0)
            kill(all->cells[i].process, SIGTERM);
}

static int train_all(cli_cells *all, struct pollfd *polls, size_t *owners) {
    size_t next = 0, running = 0;
    bool asked = false;
    screen view = {.bars = isatty(STDERR_FILENO) && !cli_quiet, .told = seconds_now()};
    int status = 0;
    for (;;) {
        while (status == 0 && !cli_stop_asked() && running < all->jobs && next < all->count) {
            status = start(all, &all->cells[next++]);
            running += status == 0;
        }
        if (running == 0)
            break;
        if ((cli_stop_asked() || status != 0) && !asked) {
            stop_children(all);
            asked = true;
        }
        draw(all, &view);
        wait_for_news(all, polls, owners, &view);
        tell_progress(all, &view);
        running = 0;
        for (size_t i = 0; i < next; i++)
            running += all->cells[i].process > 0;
    }
    wipe(&view);
    for (size_t i = 0; i < all->count; i++)
        status = all->cells[i].finished ? status : 1;
    return status;
}

int cli_cells_run(cli_cells *cells) {
    struct pollfd *polls = calloc(cells->count + 1, sizeof *polls);
    size_t *owners = calloc(cells->count + 1, sizeof *owners);
    struct sigaction ignore, before;
    memset(&ignore, 0, sizeof ignore);
    ignore.sa_handler = SIG_IGN;
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGPIPE, &ignore, &before); /* a child whose parent is gone stops cleanly */
    cli_stop_catch();
    int status = polls == NULL || owners == NULL ? cli_failure("out of memory") : train_all(cells, polls, owners);
    sigaction(SIGPIPE, &before, NULL);
    free(polls);
    free(owners);
    return status;
}

size_t cli_cells_threads(const cli_arguments *arguments, size_t jobs) {
    if (cli_given_by_user(arguments, "threads"))
        return (size_t)cli_integer(arguments, "threads");
    const size_t threads = locus_threads() / jobs;
    return threads > 0 ? threads : 1;
}

int cli_cells_data(const lab_train_config *config) {
    const lab_train_set_request request = {.which = LAB_SET_TEST, .samples = 1};
    lab_dataset set;
    locus_error error;
    if (lab_train_set(&set, config, &request, &error) != LOCUS_OK)
        return cli_error(&error);
    lab_dataset_destroy(&set);
    return 0;
}
