/* SPDX-License-Identifier: MIT */
/* Parses, parametrises and binds the encoding of a command; reads and writes its arrays. */
#include "encoding_argument.h"
#include "command.h"
#include "output.h"
#include "stop.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the encoding ---- */

char *cli_encoding_text(const locus_encoding *encoding) {
    const size_t size = locus_encoding_text(encoding, NULL, 0) + 1;
    char *text = malloc(size);
    if (text)
        locus_encoding_text(encoding, text, size);
    else
        cli_failure("out of memory for a spec of %zu bytes", size);
    return text;
}

static int look_at_side(cli_encoding *encoding) {
    char *text = cli_encoding_text(encoding->encoding);
    if (!text)
        return 1;
    encoding->keys_only = strstr(text, "side=key") != NULL;
    free(text);
    return 0;
}

int cli_encoding_parse(cli_encoding *encoding, const char *spec) {
    locus_error error = {.offset = -1};
    *encoding = (cli_encoding){0};
    if (locus_encoding_parse(spec, &encoding->encoding, &error) != LOCUS_OK)
        return cli_error_in(spec, &error);
    return look_at_side(encoding);
}

/* "rope / none", "3*rope": what begins with a count, or has a slash outside parentheses. */
static bool is_pattern(const char *text) {
    size_t depth = 0;
    const size_t digits = strspn(text, " 0123456789");
    for (const char *at = text; *at; at++) {
        depth += *at == '(';
        depth -= *at == ')' && depth > 0;
        if (*at == '/' && depth == 0)
            return true;
    }
    return digits > 0 && text[digits] == '*';
}

static int take_layer(cli_encoding *encoding, const cli_arguments *arguments, const locus_pattern *pattern) {
    const char *command = arguments->command->name;
    if (locus_pattern_size(pattern) > 1 && !cli_given_by_user(arguments, "layer")) {
        return cli_usage_error("%s: the layers of this pattern have %zu different encodings; choose one with --layer N",
                               command, locus_pattern_size(pattern));
    }
    const size_t layer = (size_t)cli_integer(arguments, "layer");
    char *text = cli_encoding_text(locus_pattern_encoding(pattern, locus_pattern_layer(pattern, layer)));
    int status = text ? cli_encoding_parse(encoding, text) : 1;
    free(text);
    return status;
}

int cli_encoding_read(cli_encoding *encoding, const cli_arguments *arguments) {
    return cli_encoding_read_spec(encoding, arguments, arguments->operands[0]);
}

int cli_encoding_read_spec(cli_encoding *encoding, const cli_arguments *arguments, const char *spec) {
    locus_error error = {.offset = -1};
    locus_pattern *pattern = NULL;
    *encoding = (cli_encoding){0};
    if (!is_pattern(spec))
        return cli_encoding_parse(encoding, spec);
    if (locus_pattern_parse(spec, &pattern, &error) != LOCUS_OK)
        return cli_error_in(spec, &error);
    int status = take_layer(encoding, arguments, pattern);
    locus_pattern_destroy(&pattern);
    return status;
}

int cli_encoding_plan(const cli_encoding *encoding, const locus_positions *queries, const locus_positions *keys,
                      locus_plan **plan) {
    locus_error error = {.offset = -1};
    const locus_execution execution = cli_workspace_execution((locus_workspace){NULL, 0});
    locus_plan_options options = locus_plan_options_default();
    options.length = encoding->length;
    options.execution = &execution;
    return locus_plan_create_with(plan, encoding->binding, queries, keys, &options, &error) == LOCUS_OK
               ? 0
               : cli_call_failed(&error);
}

void cli_encoding_close(cli_encoding *encoding) {
    for (size_t i = 0; encoding->values && i < encoding->count; i++)
        free(encoding->values[i].data);
    free(encoding->values);
    free(encoding->infos);
    locus_binding_destroy(&encoding->binding);
    locus_encoding_destroy(&encoding->encoding);
    *encoding = (cli_encoding){0};
}

int cli_encoding_need_site(const cli_encoding *encoding, const cli_arguments *arguments, locus_site site) {
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

int cli_encoding_list(cli_encoding *encoding) {
    locus_error error = {.offset = -1};
    if (locus_encoding_parameter_count(encoding->encoding, &encoding->shape, &encoding->count, &error) != LOCUS_OK) {
        encoding->count = 0;
        return cli_error(&error);
    }
    encoding->infos = calloc(encoding->count + 1, sizeof *encoding->infos);
    encoding->values = calloc(encoding->count + 1, sizeof *encoding->values);
    if (!encoding->infos || !encoding->values)
        return cli_failure("out of memory for the encoding's parameters");
    for (size_t i = 0; i < encoding->count; i++) {
        locus_parameter *info = &encoding->infos[i];
        info->size = sizeof *info;
        if (locus_encoding_parameter(encoding->encoding, &encoding->shape, i, info, &error) != LOCUS_OK)
            return cli_error(&error);
        locus_tensor view = locus_tensor_view(NULL, LOCUS_FLOAT64, info->rank, info->shape);
        size_t elements = locus_tensor_count(&view);
        double *data = calloc(elements ? elements : 1, sizeof *data);
        if (!data)
            return cli_failure("out of memory for the encoding's parameters");
        encoding->values[i] = locus_tensor_view(data, LOCUS_FLOAT64, info->rank, info->shape);
    }
    return 0;
}

static char *format_shape(char *text, size_t size, size_t rank, const int64_t *shape) {
    size_t used = (size_t)snprintf(text, size, "[");
    for (size_t i = 0; i < rank && used + 24 < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%" PRId64, i ? ", " : "", shape[i]);
    snprintf(text + used, size - used, "]");
    return text;
}

/* A tensor of the file, under its own name or as a checkpoint calls it. */
static const lab_array *find_parameter(const lab_safetensors *file, const char *name) {
    char checkpoint[96];
    snprintf(checkpoint, sizeof checkpoint, "position.%s", name);
    const lab_array *array = lab_safetensors_find(file, name);
    return array ? array : lab_safetensors_find(file, checkpoint);
}

static int take_parameter(const lab_safetensors *file, const char *path, const locus_parameter *info, double *values) {
    char found[128], wanted[128];
    const lab_array *array = find_parameter(file, info->name);
    if (!array) {
        return cli_failure("%s: has no tensor '%s', which the encoding needs (%s)", path, info->name,
                           format_shape(wanted, sizeof wanted, info->rank, info->shape));
    }
    if (array->dtype != LAB_F32 && array->dtype != LAB_F64)
        return cli_failure("%s: tensor '%s' holds integers; floating-point numbers are needed", path, info->name);
    if (array->rank != info->rank || memcmp(array->shape, info->shape, info->rank * sizeof *info->shape) != 0) {
        return cli_failure("%s: tensor '%s' has shape %s, the encoding needs %s", path, info->name,
                           format_shape(found, sizeof found, array->rank, array->shape),
                           format_shape(wanted, sizeof wanted, info->rank, info->shape));
    }
    for (size_t i = 0; i < lab_array_count(array); i++) {
        values[i] =
            array->dtype == LAB_F32 ? (double)((const float *)array->data)[i] : ((const double *)array->data)[i];
        if (!isfinite(values[i]))
            return cli_failure("%s: tensor '%s' has an element that is not finite (number %zu)", path, info->name, i);
    }
    return 0;
}

static int read_parameters(cli_encoding *encoding, const lab_safetensors *file, const char *path) {
    int status = 0;
    for (size_t i = 0; i < encoding->count && status == 0; i++)
        status = take_parameter(file, path, &encoding->infos[i], encoding->values[i].data);
    return status;
}

int cli_encoding_rebind(cli_encoding *encoding) {
    locus_error error = {.offset = -1};
    locus_binding_destroy(&encoding->binding);
    if (locus_binding_create(&encoding->binding, encoding->encoding, &encoding->shape, encoding->values,
                             encoding->count, &error) != LOCUS_OK)
        return cli_error(&error);
    return 0;
}

/* The model dimension of a table in the file ("table", "0.table", …), or 0. */
static size_t table_dim(const lab_safetensors *file) {
    static const char name[] = "table";
    for (size_t i = 0; i < file->count; i++) {
        const lab_array *array = &file->arrays[i];
        size_t length = strlen(array->name), tail = sizeof name - 1;
        bool named = length >= tail && !strcmp(array->name + length - tail, name) &&
                     (length == tail || array->name[length - tail - 1] == '.');
        if (named && array->rank == 2)
            return (size_t)array->shape[1];
    }
    return 0;
}

#define MODEL_DIM_MOST 65536

/* Fills in the dimensions of sites that are not used; even ones, which every encoding takes. */
static void complete_shape(locus_shape *shape, const lab_safetensors *file) {
    shape->heads = shape->heads ? shape->heads : 1;
    shape->head_dim = shape->head_dim ? shape->head_dim : 2;
    if (shape->model_dim == 0) {
        size_t width = shape->heads * shape->head_dim;
        width = width < MODEL_DIM_MOST ? width + width % 2 : MODEL_DIM_MOST;
        shape->model_dim = table_dim(file) ? table_dim(file) : width;
    }
}

int cli_encoding_bind(cli_encoding *encoding, const cli_arguments *arguments, const locus_shape *shape) {
    locus_error error = {.offset = -1};
    lab_safetensors file = {0};
    const char *path = cli_text(arguments, "params");
    if (path && lab_safetensors_read(&file, path, &error) != LOCUS_OK)
        return cli_error(&error);
    encoding->shape = *shape;
    encoding->length = (size_t)cli_integer(arguments, "length");
    complete_shape(&encoding->shape, &file);
    int status = cli_encoding_list(encoding);
    if (path) {
        status = status ? status : read_parameters(encoding, &file, path);
        lab_safetensors_close(&file);
    } else if (status == 0 &&
               locus_encoding_initialise(encoding->encoding, &encoding->shape, (uint64_t)cli_integer(arguments, "seed"),
                                         encoding->values, encoding->count, &error) != LOCUS_OK) {
        status = cli_error(&error);
    }
    return status ? status : cli_encoding_rebind(encoding);
}

/* ---- arrays ---- */

static double element(const lab_array *array, size_t index) {
    return array->dtype == LAB_F32 ? (double)((const float *)array->data)[index] : ((const double *)array->data)[index];
}

/* Finds the first number that is not finite, or is beyond `most`: in *value, and where it stands as text. */
static bool all_within(const lab_array *array, double most, double *value, char *text, size_t size) {
    size_t count = lab_array_count(array);
    for (size_t i = 0; i < count; i++) {
        *value = element(array, i);
        if (!(fabs(*value) <= most)) {
            int64_t place[LAB_MAX_RANK];
            size_t rest = i;
            for (size_t d = array->rank; d-- > 0; rest /= (size_t)array->shape[d])
                place[d] = (int64_t)(rest % (size_t)array->shape[d]);
            format_shape(text, size, array->rank, place);
            return false;
        }
    }
    return true;
}

static int check_finite(const lab_array *array, const char *option, const char *path) {
    char place[160];
    double value;
    return all_within(array, DBL_MAX, &value, place, sizeof place)
               ? 0
               : cli_failure("--%s %s: element %s is %s; remove or replace it", option, path, place,
                             isnan(value) ? "NaN" : "infinite");
}

int cli_array_check(const lab_array *array, const char *path) {
    char place[160];
    double value;
    return all_within(array, FLT_MAX, &value, place, sizeof place)
               ? 0
               : cli_failure(
                     "%s is not written: element %s of the result is %s; numbers on the way are too large, so look "
                     "at the inputs, the spec's numbers, --scale and --cap",
                     path, place, isnan(value) ? "NaN" : "beyond float32");
}

int cli_array_read(lab_array *array, const char *option, const char *path, size_t rank, const char *layout) {
    locus_error error = {.offset = -1};
    char shape[160];
    if (lab_npy_read(array, path, &error) != LOCUS_OK)
        return cli_error(&error);
    format_shape(shape, sizeof shape, array->rank, array->shape);
    int status = 0;
    if (array->dtype != LAB_F32 && array->dtype != LAB_F64)
        status = cli_failure("--%s %s: holds integers; floating-point numbers are needed", option, path);
    else if (array->rank != rank || lab_array_count(array) == 0)
        status = cli_failure("--%s %s: has shape %s; it must be %s", option, path, shape, layout);
    else
        status = check_finite(array, option, path);
    if (status)
        lab_array_free(array);
    return status;
}

int cli_array_like(lab_array *array, lab_dtype dtype, size_t rank, const int64_t *shape) {
    *array = (lab_array){.dtype = dtype, .rank = rank};
    memcpy(array->shape, shape, rank * sizeof *shape);
    double bytes = (double)lab_dtype_size(dtype);
    for (size_t i = 0; i < rank; i++)
        bytes *= (double)shape[i];
    char size[32], text[160];
    if (bytes < 0x1p46)
        array->data = calloc(lab_array_count(array) + 1, lab_dtype_size(dtype));
    if (!array->data) {
        return cli_failure("out of memory: an array of shape %s takes %s", format_shape(text, sizeof text, rank, shape),
                           cli_format_bytes(size, sizeof size, bytes));
    }
    return 0;
}

int cli_array_promote(lab_array *array) {
    if (array->dtype == LAB_F64)
        return 0;
    lab_array wide;
    int status = cli_array_like(&wide, LAB_F64, array->rank, array->shape);
    if (status == 0) {
        for (size_t i = 0; i < lab_array_count(array); i++)
            ((double *)wide.data)[i] = element(array, i);
        lab_array_free(array);
        *array = wide;
    }
    return status;
}

locus_tensor cli_array_tensor(const lab_array *array) {
    return locus_tensor_view(array->data, array->dtype == LAB_F32 ? LOCUS_FLOAT32 : LOCUS_FLOAT64, array->rank,
                             array->shape);
}

int cli_array_write(const lab_array *array, const char *path) {
    locus_error error = {.offset = -1};
    lab_array narrow = *array;
    int status = cli_array_check(array, path);
    if (status)
        return status;
    if (array->dtype != LAB_F32) {
        status = cli_array_like(&narrow, LAB_F32, array->rank, array->shape);
        for (size_t i = 0; status == 0 && i < lab_array_count(array); i++)
            ((float *)narrow.data)[i] = (float)element(array, i);
    }
    if (status == 0 && lab_npy_write(&narrow, path, &error) != LOCUS_OK)
        status = cli_error(&error);
    if (array->dtype != LAB_F32)
        lab_array_free(&narrow);
    return status;
}

/* ---- workspace ---- */

int cli_workspace_open(locus_workspace *workspace, size_t bytes) {
    *workspace = (locus_workspace){.bytes = bytes};
    if (bytes > 0 && !(workspace->data = locus_allocate(bytes)))
        return cli_failure("out of memory for a workspace of %zu bytes", bytes);
    return 0;
}

locus_execution cli_workspace_execution(locus_workspace workspace) {
    locus_execution execution = locus_execution_in(workspace);
    execution.cancelled = cli_stop_cancels;
    return execution;
}

int cli_call_failed(const locus_error *error) {
    return error->status == LOCUS_ERROR_INTERRUPTED ? cli_failure("stopped; nothing was written") : cli_error(error);
}

void cli_workspace_close(locus_workspace *workspace) {
    locus_release(workspace->data, workspace->bytes);
    *workspace = (locus_workspace){0};
}
