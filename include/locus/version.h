/* SPDX-License-Identifier: MIT */
/* The version that a program was compiled against, and the one that it runs with. */
#ifndef LOCUS_VERSION_H
#define LOCUS_VERSION_H

#include <locus/status.h>

#define LOCUS_VERSION_MAJOR 0
#define LOCUS_VERSION_MINOR 2
#define LOCUS_VERSION_PATCH 0
#define LOCUS_VERSION_TEXT "0.2.0"

#ifdef __cplusplus
extern "C" {
#endif

/* Number of the binary interface that these headers describe. Within one number functions and fields at the ends of
 * structs are added, and nothing else changes; the shared library's name and the version of its symbols carry it.
 *
 * Structs that callers fill in, or have filled in, begin with `size_t size`, which the caller sets to the sizeof of the
 * struct that it was compiled with. A shorter struct gets defaults for the fields that it lacks (results end where it
 * ends); a longer one is taken if every byte that the library does not know is 0, else refused with UNSUPPORTED; a size
 * that no version has is refused with ARGUMENT. locus_shape and locus_apply_gradients also take a size of 0, which
 * means the fields of version 0.2.
 *
 *   calls              locus_execution, locus_executor, locus_allocator
 *   positions          locus_packing, locus_position_column
 *   encodings          locus_shape, locus_parameter (filled in), locus_fold_shape (filled in)
 *   plans              locus_plan_options, locus_plan_forms_options, locus_apply_gradients,
 *                      locus_workspace_limits
 *   attention          locus_attention_options, _tensors, _gradients, _weights_call
 *   caches             locus_cache_options, locus_cache_fragment
 *   one's own          locus_encoding_description, locus_extension_parameter, locus_extension_batch (filled in)
 *
 * These have none and keep their layout as long as the number:
 *
 *   plain values, given by value or within others      locus_tensor, locus_workspace, locus_random, locus_coordinate,
 *                                                      locus_extension_option, _word, _positions
 *   elements of arrays that are handed both ways       locus_option_info
 *   what a failure fills in, whoever failed            locus_error
 *   what is read before the number is known            locus_plugin, whose first field is that number
 *
 * and these are the library's own, read through pointers to one at a time, and may grow at their ends: who reads a
 * field that a later version added needs that version (locus_version):
 *
 *   locus_encoding_info, locus_attention_kind_info, locus_form, locus_form_array */
#define LOCUS_ABI_VERSION 2

/* That of the library that is loaded: a program that opened it by hand goes on only if it is LOCUS_ABI_VERSION. */
LOCUS_API int32_t locus_abi_version(void);

/* "major.minor.patch" of the library that is loaded. Static storage. */
LOCUS_API const char *locus_version(void);

#ifdef __cplusplus
}
#endif
#endif
