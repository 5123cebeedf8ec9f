/* SPDX-License-Identifier: MIT */
/* See pair_arrays.h. */
#include "pair_arrays.h"

#include "io/npy.h"
#include "output.h"

#include <math.h>

static bool fits(const lab_array *bias, const int64_t *wanted) {
    for (size_t i = 0; i < bias->rank; i++) {
        const int64_t extent = bias->shape[i], full = wanted[3 - bias->rank + i];
        if (extent != 1 && extent != full)
            return false;
    }
    return true;
}

static int check_numbers(const lab_array *bias, const char *path) {
    for (size_t i = 0; i < lab_array_count(bias); i++) {
        const double value = lab_array_at(bias, i);
        if (isnan(value) || value == INFINITY) {
            return cli_failure("--bias %s: element %zu is %s; numbers are needed, or -inf where a key is hidden", path,
                               i, isnan(value) ? "NaN" : "+inf");
        }
    }
    return 0;
}

int cli_bias_read(lab_array *bias, const char *path, int64_t heads, int64_t queries, int64_t keys) {
    const int64_t wanted[3] = {heads, queries, keys};
    if (lab_npy_read(bias, path, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    if (bias->dtype != LAB_F32 && bias->dtype != LAB_F64)
        return cli_failure("--bias %s: holds integers; floating-point numbers are needed", path);
    if ((bias->rank != 2 && bias->rank != 3) || !fits(bias, wanted)) {
        return cli_failure("--bias %s: must be [heads, queries, keys] or [queries, keys], here %lld, %lld and %lld, or "
                           "1 where one number serves all",
                           path, (long long)heads, (long long)queries, (long long)keys);
    }
    return check_numbers(bias, path);
}
