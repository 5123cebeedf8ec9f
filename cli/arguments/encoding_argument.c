/* SPDX-License-Identifier: MIT */
/* Parses, parametrises and binds the encoding of a command; reads and writes its arrays. */
#include "encoding_argument.h"
#include "bound/position_text.h"
#include "bound/spec_text.h"
#include "command.h"
#include "io/npy.h"
#include "output.h"
#include "stop.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the encoding ---- */

char *cli_encoding_text(const locus_encoding *encoding) {
    char *text = lab_spec_of(encoding);
    if (!text)
        cli_failure("out of memory for a spec");
    return text;
}

/* "rope / none", "3*rope": what begins with a count, or has a slash outside parentheses. */
static bool is_pattern(const char *text) {
    const size_t digits = strspn(text, " 0123456789");
    return text[lab_spec_span(text, "/")] == '/' || (digits > 0 && text[digits] == '*');
}

static int take_layer(lab_bound *encoding, const cli_arguments *arguments, const locus_pattern *pattern) {
    const char *command = arguments->command->name;
    if (locus_pattern_size(pattern) > 1 && !cli_given_by_user(arguments, "layer")) {
        return cli_usage_error("%s: the layers of this pattern have %zu different encodings; choose one with --layer N",
                               command, locus_pattern_size(pattern));
    }
    const size_t layer = (size_t)cli_integer(arguments, "layer");
    char *text = cli_encoding_text(locus_pattern_encoding(pattern, locus_pattern_layer(pattern, layer)));
    int status = text ? cli_done_in(text, lab_bound_parse(encoding, text, &cli_fault)) : 1;
    free(text);
    return status;
}

int cli_encoding_read(lab_bound *encoding, const cli_arguments *arguments) {
    return cli_encoding_read_spec(encoding, arguments, arguments->operands[0]);
}

int cli_encoding_read_spec(lab_bound *encoding, const cli_arguments *arguments, const char *spec) {
    locus_pattern *pattern = NULL;
    *encoding = (lab_bound){0};
    if (!is_pattern(spec))
        return cli_done_in(spec, lab_bound_parse(encoding, spec, &cli_fault));
    int status = cli_done_in(spec, locus_pattern_parse(spec, &pattern, &cli_fault));
    status = status ? status : take_layer(encoding, arguments, pattern);
    locus_pattern_destroy(&pattern);
    return status;
}

int cli_encoding_plan(const lab_bound *encoding, const locus_positions *queries, const locus_positions *keys,
                      locus_plan **plan) {
    const locus_execution execution = cli_execution();
    return lab_bound_plan(encoding, queries, keys, &execution, plan, &cli_fault) == LOCUS_OK
               ? 0
               : cli_call_failed(&cli_fault);
}

int cli_encoding_bind(lab_bound *encoding, const cli_arguments *arguments, const locus_shape *shape) {
    encoding->length = (size_t)cli_integer(arguments, "length");
    return cli_done(lab_bound_open(encoding, shape, cli_text(arguments, "params"),
                                   (uint64_t)cli_integer(arguments, "seed"), &cli_fault));
}

int cli_encoding_need_site(const lab_bound *encoding, const cli_arguments *arguments, locus_site site) {
    unsigned sites = locus_encoding_sites(encoding->encoding);
    if (sites == 0 || (sites & (unsigned)site))
        return 0;
    const char *place = site == LOCUS_SITE_EMBEDDING   ? "the embedding"
                        : site == LOCUS_SITE_ENCODED   ? "what the encoder gives"
                        : site == LOCUS_SITE_QUERY_KEY ? "queries and keys"
                        : site == LOCUS_SITE_VALUE     ? "values"
                                                       : "scores";
    const char *hint = sites & LOCUS_SITE_QUERY_KEY ? "; 'locus encode --operators' writes its operators"
                       : sites & LOCUS_SITE_SCORE   ? "; 'locus encode --scores' writes its biases"
                                                    : "; 'locus encode --dim D' writes its table";
    const char *spec = arguments->operands[0];
    return cli_usage_error("%s: '%.200s%s' does not act on %s%s", arguments->command->name, spec,
                           strlen(spec) > 200 ? "…" : "", place, hint);
}

/* ---- positions ---- */

int cli_positions_read(lab_position_list *list, const cli_arguments *arguments, const char *option,
                       const locus_group *group) {
    const char *text = cli_text(arguments, option);
    const int status = cli_require(arguments, option);
    if (status != 0 || lab_position_list_parse(list, group, option, text, &cli_fault) == LOCUS_OK)
        return status;
    return cli_fault.status == LOCUS_ERROR_ARGUMENT ? cli_refusal(&cli_fault) : cli_error_in(text, &cli_fault);
}

/* ---- arrays ---- */

/* Finds the first number that is not finite, or is beyond `most`: in *value, and where it stands as text. */
static bool all_within(const lab_array *array, double most, double *value, char text[LAB_SHAPE_TEXT]) {
    size_t count = lab_array_count(array);
    for (size_t i = 0; i < count; i++) {
        *value = lab_array_at(array, i);
        if (!(fabs(*value) <= most)) {
            int64_t place[LAB_MAX_RANK];
            size_t rest = i;
            for (size_t d = array->rank; d-- > 0; rest /= (size_t)array->shape[d])
                place[d] = (int64_t)(rest % (size_t)array->shape[d]);
            lab_shape_text(array->rank, place, text);
            return false;
        }
    }
    return true;
}

static int check_finite(const lab_array *array, const char *option, const char *path) {
    char place[LAB_SHAPE_TEXT];
    double value;
    return all_within(array, DBL_MAX, &value, place)
               ? 0
               : cli_failure("--%s %s: element %s is %s; remove or replace it", option, path, place,
                             isnan(value) ? "NaN" : "infinite");
}

int cli_array_check(const lab_array *array, const char *path) {
    char place[LAB_SHAPE_TEXT];
    double value;
    return all_within(array, FLT_MAX, &value, place)
               ? 0
               : cli_failure(
                     "%s is not written: element %s of the result is %s; numbers on the way are too large, so look "
                     "at the inputs, the spec's numbers, --scale and --cap",
                     path, place, isnan(value) ? "NaN" : "beyond float32");
}

int cli_array_read_any(lab_array *array, const char *option, const char *path, size_t most,
                       const char *const *layouts) {
    char shape[LAB_SHAPE_TEXT];
    if (lab_npy_read(array, path, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    const size_t rank = array->rank < 1 ? 1 : array->rank > most ? most : array->rank;
    const char *layout = layouts[rank - 1];
    lab_shape_text(array->rank, array->shape, shape);
    int status = 0;
    if (array->dtype != LAB_F32 && array->dtype != LAB_F64)
        status = cli_failure("--%s %s: holds integers; floating-point numbers are needed", option, path);
    else if (!layout || array->rank != rank || lab_array_count(array) == 0)
        status = cli_failure("--%s %s: has shape %s; it must be %s", option, path, shape,
                             layout ? layout : layouts[most - 1]);
    else
        status = check_finite(array, option, path);
    if (status)
        lab_array_free(array);
    return status;
}

int cli_array_read(lab_array *array, const char *option, const char *path, size_t rank, const char *layout) {
    const char *layouts[LAB_MAX_RANK] = {NULL};
    layouts[rank - 1] = layout;
    return cli_array_read_any(array, option, path, rank, layouts);
}

int cli_array_like(lab_array *array, lab_dtype dtype, size_t rank, const int64_t *shape) {
    return cli_done(lab_array_create(array, dtype, rank, shape, &cli_fault));
}

int cli_array_write(const lab_array *array, const char *path) {
    lab_array narrow = *array;
    int status = cli_array_check(array, path);
    if (status)
        return status;
    if (array->dtype != LAB_F32) {
        status = cli_array_like(&narrow, LAB_F32, array->rank, array->shape);
        for (size_t i = 0; status == 0 && i < lab_array_count(array); i++)
            ((float *)narrow.data)[i] = (float)lab_array_at(array, i);
    }
    status = status ? status : cli_done(lab_npy_write(&narrow, path, &cli_fault));
    if (array->dtype != LAB_F32)
        lab_array_free(&narrow);
    return status;
}

/* ---- calls ---- */

locus_execution cli_execution(void) {
    locus_execution execution = locus_execution_in((locus_workspace){NULL, 0});
    execution.cancelled = cli_stop_cancels;
    return execution;
}

int cli_call_failed(const locus_error *error) {
    return error->status == LOCUS_ERROR_INTERRUPTED ? cli_failure("stopped; nothing was written") : cli_error(error);
}
