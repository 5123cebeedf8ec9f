/* SPDX-License-Identifier: MIT */
#include "picture_progress.h"

#include "io/clock.h"
#include "output.h"
#include "stop.h"
#include "task/images/picture_pixels.h"

#include <math.h>

/* Five times a second; never from two threads at once. */
static bool tell(void *context, const char *phase, uint64_t done, uint64_t total) {
    static double shown;
    cli_progress *line = context;
    const double now = lab_seconds();
    const lab_progress progress = {.phase = phase,
                                   .step = done,
                                   .steps = total,
                                   .loss = (double)NAN,
                                   .dev_accuracy = (double)NAN,
                                   .seconds_left = (double)NAN};
    if (done == total) {
        cli_progress_end(line);
    } else if (now - shown > 0.2) {
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
