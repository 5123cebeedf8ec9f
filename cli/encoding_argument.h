/* SPDX-License-Identifier: MIT */
/* An encoding as commands take it: SPEC, with --params F.safetensors or --seed N for its parameters; and arrays in
 * and out. */
#ifndef CLI_ENCODING_ARGUMENT_H
#define CLI_ENCODING_ARGUMENT_H

#include "io/npy.h"
#include "options.h"
#include <locus/locus.h>

typedef struct cli_encoding {
    locus_encoding *encoding;
    locus_binding *binding;
    locus_shape shape;
    size_t count;           /* parameter tensors */
    locus_parameter *infos; /* [count] */
    locus_tensor *values;   /* [count], float64 */
    bool keys_only;         /* side=key: the operator acts on keys, not on queries */
    size_t length;          /* --length; 0: the largest position + 1 */
} cli_encoding;

/* The options of every command that takes a SPEC. */
#define CLI_ENCODING_OPTIONS \
    {"params", 0, CLI_TEXT, "FILE", NULL, "parameters of the encoding, a .safetensors file", 0, 0}, \
        {"seed", 0, CLI_INTEGER, "N", "0", "draws the parameters, without --params", 0, CLI_MANY}, { \
        "length", 0, CLI_INTEGER, "N", NULL, "sequence length, for encodings that depend on it", 1, CLI_MANY \
    }

/* Of commands that also take a pattern over layers (locus/pattern.h) and look at one of its layers. */
#define CLI_LAYER_OPTION \
    { "layer", 0, CLI_INTEGER, "N", NULL, "where SPEC is a pattern over layers: of this one, from 0", 0, CLI_MANY }

/* 0 and filled, else the exit status after the error's lines. Close it in either case. */
int cli_encoding_parse(cli_encoding *encoding, const char *spec);
/* The command's first operand: a spec, or a pattern of which --layer takes one. */
int cli_encoding_read(cli_encoding *encoding, const cli_arguments *arguments);
/* The same of any operand. */
int cli_encoding_read_spec(cli_encoding *encoding, const cli_arguments *arguments, const char *spec);
/* The canonical text, from malloc, however long; NULL after a line on standard error. */
char *cli_encoding_text(const locus_encoding *encoding);
/* Reads or draws the parameters for `shape` and binds them. A dimension left 0 belongs to sites that the command
 * does not use: it is filled in, since terms there must still have a shape; a table of --params decides the
 * model's dimension. */
int cli_encoding_bind(cli_encoding *encoding, const cli_arguments *arguments, const locus_shape *shape);
/* Lists the parameters for encoding->shape, all zero. */
int cli_encoding_list(cli_encoding *encoding);
/* Binds the values as they are now. */
int cli_encoding_rebind(cli_encoding *encoding);
void cli_encoding_close(cli_encoding *encoding);

/* A plan for --length; `keys` NULL: keys stand where queries stand. 0, else the exit status after a line. */
int cli_encoding_plan(const cli_encoding *encoding, const locus_positions *queries, const locus_positions *keys,
                      locus_plan **plan);

/* Refuses a spec that does not act at `site` ("none" passes, everywhere). */
int cli_encoding_need_site(const cli_encoding *encoding, const cli_arguments *arguments, locus_site site);

/* A float32 or float64 array of `rank` dimensions, all of its numbers finite, none of its dimensions 0. `layout`
 * is for the message: "[tokens, heads, head_dim]". */
int cli_array_read(lab_array *array, const char *option, const char *path, size_t rank, const char *layout);
int cli_array_promote(lab_array *array); /* to float64 */
locus_tensor cli_array_tensor(const lab_array *array);
int cli_array_like(lab_array *array, lab_dtype dtype, size_t rank, const int64_t *shape); /* zeros */
/* Every number must be one of float32. 0, else 1 after a line; cli_array_write begins with it. */
int cli_array_check(const lab_array *array, const char *path);
int cli_array_write(const lab_array *array, const char *path); /* as float32 */

/* Workspace from the library's allocator. */
int cli_workspace_open(locus_workspace *workspace, size_t bytes);
/* A call in it, which a signal ends if signals are caught (stop.h); and the line for a call that failed: 1. */
locus_execution cli_workspace_execution(locus_workspace workspace);
int cli_call_failed(const locus_error *error);
void cli_workspace_close(locus_workspace *workspace);

#endif
