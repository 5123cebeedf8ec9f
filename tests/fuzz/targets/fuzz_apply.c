/* SPDX-License-Identifier: MIT */
/* locus_apply and its backward: a spec, a shape, positions, a role, a type and a layout are drawn from the input, now
 * and then with numbers that are not finite, tensors and workspaces that are wrong, and an allocation that fails.
 * Results are compared with the dense double reference where it is finite. */
#include "fuzz.h"
#include "fuzz_trial.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_trial(data, size, trial_apply);
    return 0;
}
