/* SPDX-License-Identifier: MIT */
/* Attention of every kind, mask and type, forward and backward: everything is drawn from the input, now and then with
 * numbers that are not finite, tensors and workspaces that are wrong, and an allocation that fails. Results are
 * compared with the dense double reference where it is finite. */
#include "fuzz.h"
#include "fuzz_trial.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_trial(data, size, trial_attention);
    return 0;
}
