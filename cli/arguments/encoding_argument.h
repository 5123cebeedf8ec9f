/* SPDX-License-Identifier: MIT */
/* An encoding as commands take it: SPEC, with --params F.safetensors or --seed N for its parameters (bound/bound.h);
 * arrays in and out. */
#ifndef CLI_ENCODING_ARGUMENT_H
#define CLI_ENCODING_ARGUMENT_H

#include "bound/bound.h"
#include "bound/position_list.h"
#include "io/array.h"
#include "options.h"
#include <locus/locus.h>

/* The options of every command that takes a SPEC. */
#define CLI_ENCODING_OPTIONS \
    CLI_ROW_TEXT("params", 0, "FILE", "parameters of the encoding, a .safetensors file"), \
        {"seed", 0, CLI_INTEGER, "N", "0", "draws the parameters, without --params", 0, CLI_MANY}, { \
        "length", 0, CLI_INTEGER, "N", NULL, "sequence length, for encodings that depend on it", 1, CLI_MANY \
    }

/* Of commands that also take a pattern over layers (locus/pattern.h) and look at one of its layers. */
#define CLI_LAYER_OPTION \
    { "layer", 0, CLI_INTEGER, "N", NULL, "where SPEC is a pattern over layers: of this one, from 0", 0, CLI_MANY }

/* The command's first operand: a spec, or a pattern of which --layer takes one. 0 and filled, else the exit status
 * after the error's lines. Close it (lab_bound_close) in either case. */
int cli_encoding_read(lab_bound *encoding, const cli_arguments *arguments);
/* The same of any operand. */
int cli_encoding_read_spec(lab_bound *encoding, const cli_arguments *arguments, const char *spec);
/* The canonical text, from malloc, however long; NULL after a line on standard error. */
char *cli_encoding_text(const locus_encoding *encoding);
/* lab_bound_open with --params, --seed and --length. */
int cli_encoding_bind(lab_bound *encoding, const cli_arguments *arguments, const locus_shape *shape);

/* The positions that an option gives (bound/position_text.h) on the group of an encoding, which must outlive the list.
 * 0 and filled, else the exit status after a line: 2 for what cannot be read, 1 for what is wrong in a file. */
int cli_positions_read(lab_position_list *list, const cli_arguments *arguments, const char *option,
                       const locus_group *group);

/* A plan for --length; `keys` NULL: keys stand where queries stand. 0, else the exit status after a line. */
int cli_encoding_plan(const lab_bound *encoding, const locus_positions *queries, const locus_positions *keys,
                      locus_plan **plan);

/* Refuses a spec that does not act at `site` ("none" passes, everywhere). */
int cli_encoding_need_site(const lab_bound *encoding, const cli_arguments *arguments, locus_site site);

/* A float32 or float64 array of `rank` dimensions, all of its numbers finite, none of its dimensions 0. `layout` is for
 * the message: "[tokens, heads, head_dim]". */
int cli_array_read(lab_array *array, const char *option, const char *path, size_t rank, const char *layout);
/* The same of any rank from 1 to `most`, with a layout for each. */
int cli_array_read_any(lab_array *array, const char *option, const char *path, size_t most, const char *const *layouts);
int cli_array_like(lab_array *array, lab_dtype dtype, size_t rank, const int64_t *shape); /* zeros */
/* Every number must be one of float32. 0, else 1 after a line; cli_array_write begins with it. */
int cli_array_check(const lab_array *array, const char *path);
int cli_array_write(const lab_array *array, const char *path); /* as float32 */

/* A call that a signal ends if signals are caught (stop.h); and the line for a call that failed: 1. */
locus_execution cli_execution(void);
int cli_call_failed(const locus_error *error);

#endif
