/* SPDX-License-Identifier: MIT */
/* Names of measures, and how each is told: sign, factor, decimals, and the margin within which two are alike. */
#include "task/measure.h"

const char *lab_measure_name(lab_measure measure) {
    static const char *const names[] = {"accuracy", "solved", "loss", "perplexity", "step"};
    return (unsigned)measure < 5 ? names[measure] : "unknown";
}

bool lab_measure_is_share(lab_measure measure) {
    return measure == LAB_MEASURE_ACCURACY || measure == LAB_MEASURE_SOLVED;
}

double lab_measure_sign(lab_measure measure) {
    return lab_measure_is_share(measure) ? 1 : -1;
}

double lab_measure_scale(lab_measure measure) {
    return lab_measure_is_share(measure) ? 100 : 1;
}

int lab_measure_decimals(lab_measure measure) {
    return measure == LAB_MEASURE_LOSS ? 4 : measure == LAB_MEASURE_STEP ? 0 : 2;
}

double lab_measure_margin(lab_measure measure) {
    return lab_measure_is_share(measure) ? 0.01 : measure == LAB_MEASURE_LOSS ? 0.02 : 0;
}
