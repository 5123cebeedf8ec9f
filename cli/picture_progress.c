/* SPDX-License-Identifier: MIT */
#include "picture_progress.h"

#include "output.h"
#include "stop.h"
#include "task/images/picture_pixels.h"

#include <math.h>
#include <time.h>

/* Five times a second; never from two threads at once. */
static bool tell(void *context, const char *phase, uint64_t done, uint64_t total) {
    static struct timespec shown;
    cli_progress *line = context;
    struct timespec now;
    const lab_progress progress = {.phase = phase,
                                   .step = done,
                                   .steps = total,
                                   .loss = (double)NAN,
                                   .dev_accuracy = (double)NAN,
                                   .seconds_left = (double)NAN};
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (done == total) {
        cli_progress_end(line);
    } else if ((double)(now.tv_sec - shown.tv_sec) + 1e-9 * (double)(now.tv_nsec - shown.tv_nsec) > 0.2) {
        cli_progress_show(line, &progress);
        shown = now;
    }
    return !cli_stop_asked();
}

void cli_picture_progress(void) {
    static cli_progress line;
    static const lab_watch watch = {tell, &line};
    lab_picture_pixels_listen(&watch);
}
