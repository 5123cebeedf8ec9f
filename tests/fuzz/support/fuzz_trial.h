/* SPDX-License-Identifier: MIT */
/* A trial (tests/reference/trial.h) on a world that is drawn from a fuzzer's input. */
#ifndef TESTS_FUZZ_TRIAL_H
#define TESTS_FUZZ_TRIAL_H

#include "reference/trial.h"

/* Stops the program where the trial fails. Some worlds are made under an allocator that fails once: they are refused
 * for lack of memory, or whole. */
void fuzz_trial(const uint8_t *data, size_t size,
                void (*run)(drawn_world *world, chooser *choices, const trial_hostility *hostility, trial *result));

#endif
