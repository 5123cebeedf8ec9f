/* SPDX-License-Identifier: MIT */
/* Tensors of other devices are refused before anything reads their addresses. */
#ifndef LOCUS_HOST_H
#define LOCUS_HOST_H

#include "core/error.h"

#include <locus/tensor.h>

static inline locus_status locus_tensor_check_host(const locus_tensor *tensor, const char *name, locus_error *error) {
    if (tensor->device == LOCUS_DEVICE_HOST)
        return LOCUS_OK;
    return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, name,
                      "%s is on device %d: the library computes in the host's memory, device 0", name,
                      (int)tensor->device);
}

#endif
