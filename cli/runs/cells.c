/* SPDX-License-Identifier: MIT */
/* What the user sees of cells that train: bars on a terminal, else lines. */
#include "cells.h"

#include "io/clock.h"
#include "output.h"
#include "stop.h"
#include "train/feed/train_data.h"

#include <locus/parallel.h>
#include <string.h>
#include <unistd.h>

#define LINE_SECONDS 30.0
#define DRAW_SECONDS 0.2

typedef struct screen {
    const lab_cells *all;
    void (*ended)(void *context); /* the caller's */
    void *context;
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

/* One bar for each running cell below a line that counts the cells; written over the last ones, so that nothing
 * flickers. */
static void draw(screen *view) {
    const lab_cells *all = view->all;
    double now = lab_seconds();
    if (!view->bars || (view->lines > 0 && now - view->drawn < DRAW_SECONDS))
        return;
    if (view->lines > 0)
        fprintf(stderr, "\033[%zuA", view->lines);
    fprintf(stderr, "\r%zu of %zu cells done\033[K\n", lab_cells_ended(all), all->count);
    view->drawn = now;
    view->lines = 1;
    for (size_t i = 0; i < all->count; i++) {
        const lab_cell *cell = &all->cells[i];
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
static void tell_note(const lab_cells *all, const lab_cell *cell) {
    for (size_t i = 0; i < all->count; i++) {
        const lab_cell *other = &all->cells[i];
        if (other != cell && other->finished && strcmp(other->encoding, cell->encoding) == 0 &&
            same_but_for_numbers(other->message, cell->message))
            return;
    }
    if (cell->message[0] != '\0')
        cli_note("%s: %s", cell->label, cell->message);
}

/* Why a cell cannot be trained is told once, not for every seed. */
static bool told_already(const lab_cells *all, const lab_cell *cell) {
    for (size_t i = 0; i < all->count && cell->status != LOCUS_ERROR_INTERRUPTED; i++) {
        const lab_cell *other = &all->cells[i];
        if (other != cell && other->reported && !other->finished && strcmp(other->encoding, cell->encoding) == 0 &&
            strcmp(other->message, cell->message) == 0)
            return true;
    }
    return false;
}

static void tell_end(screen *view, const lab_cell *cell) {
    const lab_cells *all = view->all;
    char seconds[32];
    wipe(view);
    if (cell->finished) {
        cli_note("[%zu/%zu] %s: %s%s", lab_cells_ended(all), all->count, cell->label,
                 cell->trained_now ? "done in " : "already done",
                 cell->trained_now ? lab_seconds_text(seconds, sizeof seconds, lab_seconds() - cell->began) : "");
        tell_note(all, cell);
    } else if (cell->status == LOCUS_ERROR_INTERRUPTED && cli_stop_asked()) {
        cli_note("%s: %s", cell->label, cell->message);
    } else if (!told_already(all, cell)) {
        cli_failure("%s: %s", cell->label, cell->message);
    }
}

static void tell_progress(screen *view) {
    const lab_cells *all = view->all;
    double now = lab_seconds();
    if (view->bars || now - view->told < LINE_SECONDS)
        return;
    view->told = now;
    for (size_t i = 0; i < all->count; i++) {
        const lab_cell *cell = &all->cells[i];
        if (cell->process > 0 && cell->trained_now) {
            cli_note("%s: %s, step %llu of %llu, loss %.4f", cell->label, cell->phase,
                     (unsigned long long)cell->progress.step, (unsigned long long)cell->progress.steps,
                     cell->progress.loss);
        }
    }
}

/* ---- running ---- */

static void watch(void *watcher, const lab_cell *ended) {
    screen *view = watcher;
    if (!ended) {
        tell_progress(view);
        draw(view);
        return;
    }
    tell_end(view, ended);
    if (view->ended)
        view->ended(view->context);
}

int cli_cells_run(lab_cells *cells, void (*ended)(void *context), void *context) {
    screen view = {.all = cells,
                   .ended = ended,
                   .context = context,
                   .bars = isatty(STDERR_FILENO) && !cli_quiet,
                   .told = lab_seconds()};
    cells->stopped = cli_stop_asked;
    cells->watch = watch;
    cells->watcher = &view;
    cli_stop_catch();
    int status = cli_done(lab_cells_run(cells, &cli_fault));
    wipe(&view);
    for (size_t i = 0; i < cells->count; i++)
        status = cells->cells[i].finished ? status : 1;
    return status;
}

void cli_cells_prepare(lab_cells *cells, const cli_arguments *arguments, const char *folder) {
    const size_t jobs = (size_t)cli_integer(arguments, "jobs"), share = locus_threads() / jobs;
    const size_t given = (size_t)cli_integer(arguments, "threads");
    cells->jobs = jobs;
    cells->threads = given > 0 ? given : share > 0 ? share : 1;
    cells->folder = folder;
    cells->store_path = cli_text(arguments, "store");
    cells->command = arguments->command_line;
}

int cli_cells_data(const lab_train_config *config) {
    const lab_train_set_request request = {.which = LAB_SET_TEST, .samples = 1};
    lab_dataset set;
    if (lab_train_set(&set, config, &request, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    lab_dataset_destroy(&set);
    return 0;
}
