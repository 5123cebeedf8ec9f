/* SPDX-License-Identifier: MIT */
/* What a score is: shares are printed in percent, higher is better; of losses, in nats, and perplexities lower is. */
#ifndef LAB_MEASURE_H
#define LAB_MEASURE_H

#include <stdbool.h>

typedef enum lab_measure {
    LAB_MEASURE_ACCURACY = 0,   /* share of tokens, images or expressions right */
    LAB_MEASURE_SOLVED = 1,     /* share of problems decoded exactly */
    LAB_MEASURE_LOSS = 2,       /* nats a token */
    LAB_MEASURE_PERPLEXITY = 3, /* exp(loss) */
    LAB_MEASURE_STEP = 4        /* a number of steps; fewer are better */
} lab_measure;

const char *lab_measure_name(lab_measure measure); /* "accuracy", "solved", "loss", "perplexity" */
bool lab_measure_is_share(lab_measure measure);
/* 1, or −1 where lower is better: times a difference it is what the first of two is ahead. */
double lab_measure_sign(lab_measure measure);
/* How numbers of it are printed: times 100 or 1, with two decimals or, of losses, four. */
double lab_measure_scale(lab_measure measure);
int lab_measure_decimals(lab_measure measure);
/* What counts as no difference that matters, better or worse: a point of a share, 0.02 nats of a loss, and of a
 * perplexity nothing (it says what its loss says, which is what is judged). docs/reproduction.md has the reasons. */
double lab_measure_margin(lab_measure measure);

#endif
