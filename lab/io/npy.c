/* SPDX-License-Identifier: MIT */
/* NumPy's .npy format (numpy/lib/format.py):
 *
 *   "\x93NUMPY" | major | minor | header length (2 bytes in version 1, 4 in 2 and 3) | header | data
 *
 * The header is a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }, padded with spaces so
 * that the data begins at a multiple of 64. Only these three keys are allowed, each once. Everything is checked against
 * the file's size before memory is asked for. float16 is widened to float32 as it is read. Refused: other element
 * types, big-endian data, Fortran order, pickled objects, bytes after the data. */
#include "io/npy.h"

#include "io/fail.h"
#include "io/file.h"
#include "io/half.h"
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HEADER = 65536, HEADER_ALIGNMENT = 64 };

static const char magic[6] = {'\x93', 'N', 'U', 'M', 'P', 'Y'};

/* Names of types; half ones are read only. */
static const struct {
    const char *text;
    lab_dtype dtype;
    bool half;
} types[] = {{"<f2", LAB_F32, true},
             {"<f4", LAB_F32, false},
             {"<f8", LAB_F64, false},
             {"<i4", LAB_I32, false},
             {"<i8", LAB_I64, false}};

/* ---- header ---- */

typedef struct header_parser {
    const char *at, *path;
    lab_array *array;
    bool has_type, has_order, has_shape, fortran, half;
    locus_error *error;
} header_parser;

static locus_status malformed(const header_parser *p, const char *what) {
    return lab_fail_file(p->error, p->path, "has a malformed .npy header: %s", what);
}

/* Skips blanks, then takes `text` if it comes next. */
static bool accept(header_parser *p, const char *text) {
    p->at += strspn(p->at, " \t\r\n");
    size_t length = strlen(text);
    if (strncmp(p->at, text, length) != 0)
        return false;
    p->at += length;
    return true;
}

/* A Python string without escapes, of fewer than `size` bytes. */
static bool accept_string(header_parser *p, char *text, size_t size) {
    char quote[2] = {accept(p, "'") ? '\'' : accept(p, "\"") ? '"' : '\0', '\0'};
    size_t length = strcspn(p->at, quote);
    if (quote[0] == '\0' || p->at[length] != quote[0] || length >= size || memchr(p->at, '\\', length))
        return false;
    memcpy(text, p->at, length);
    text[length] = '\0';
    p->at += length + 1;
    return true;
}

static locus_status parse_type(header_parser *p) {
    char text[16];
    if (!accept_string(p, text, sizeof text))
        return malformed(p, "'descr' is not a simple element type");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(text, types[i].text) == 0) {
            p->array->dtype = types[i].dtype;
            p->half = types[i].half;
            return LOCUS_OK;
        }
    return lab_fail_file(p->error, p->path,
                         "has elements of type '%s': use float32, float64, float16, int32 or int64, little-endian "
                         "(x.astype('<f4') in NumPy)",
                         text);
}

static locus_status parse_order(header_parser *p) {
    p->fortran = accept(p, "True");
    return p->fortran || accept(p, "False") ? LOCUS_OK : malformed(p, "'fortran_order' is neither True nor False");
}

static locus_status parse_extent(header_parser *p) {
    size_t digits = strspn(p->at, "0123456789");
    if (digits == 0)
        return malformed(p, "'shape' is not a tuple of whole numbers");
    if (digits > 18)
        return malformed(p, "a number in 'shape' is too large");
    if (p->array->rank == LAB_MAX_RANK)
        return lab_fail_file(p->error, p->path, "has more than %d dimensions", LAB_MAX_RANK);
    p->array->shape[p->array->rank++] = strtoll(p->at, NULL, 10);
    p->at += digits;
    return LOCUS_OK;
}

static locus_status parse_shape(header_parser *p) {
    if (!accept(p, "("))
        return malformed(p, "'shape' is not a tuple");
    while (!accept(p, ")")) {
        locus_status status = parse_extent(p);
        if (status != LOCUS_OK)
            return status;
        if (!accept(p, ",") && !accept(p, ")"))
            return malformed(p, "'shape' is not closed");
        if (p->at[-1] == ')')
            break;
    }
    return LOCUS_OK;
}

static locus_status parse_entry(header_parser *p) {
    char key[16];
    if (!accept_string(p, key, sizeof key) || !accept(p, ":"))
        return malformed(p, "expected the keys 'descr', 'fortran_order' and 'shape'");
    bool *seen = strcmp(key, "descr") == 0           ? &p->has_type
                 : strcmp(key, "fortran_order") == 0 ? &p->has_order
                 : strcmp(key, "shape") == 0         ? &p->has_shape
                                                     : NULL;
    if (!seen || *seen)
        return malformed(p, seen ? "a key comes twice" : "there is a key that should not be there");
    *seen = true;
    return seen == &p->has_type ? parse_type(p) : seen == &p->has_order ? parse_order(p) : parse_shape(p);
}

static locus_status parse_header(header_parser *p) {
    if (!accept(p, "{"))
        return malformed(p, "it is not a dictionary");
    while (!accept(p, "}")) {
        locus_status status = parse_entry(p);
        if (status != LOCUS_OK)
            return status;
        if (!accept(p, ",") && *p->at != '}')
            return malformed(p, "entries are not separated by commas");
    }
    p->at += strspn(p->at, " \t\r\n");
    if (*p->at != '\0')
        return malformed(p, "there is something after the dictionary");
    if (!p->has_type || !p->has_order || !p->has_shape)
        return malformed(p, "'descr', 'fortran_order' or 'shape' is missing");
    if (p->fortran && p->array->rank > 1)
        return lab_fail_file(p->error, p->path, "is in Fortran order: save numpy.ascontiguousarray(x) instead");
    return LOCUS_OK;
}

/* ---- reading ---- */

static locus_status read_header_length(lab_input *input, size_t *length, locus_error *error) {
    unsigned char start[8], number[4] = {0};
    locus_status status = lab_input_read(input, start, sizeof start, error);
    if (status != LOCUS_OK)
        return status;
    if (memcmp(start, magic, sizeof magic) != 0)
        return lab_fail_file(error, input->path, "is not a .npy file: it does not begin with \\x93NUMPY");
    if (start[6] < 1 || start[6] > 3 || start[7] != 0)
        return lab_fail_file(error, input->path, "has .npy version %u.%u: 1.0, 2.0 and 3.0 are read", start[6],
                             start[7]);
    status = lab_input_read(input, number, start[6] == 1 ? 2 : 4, error);
    *length = (size_t)number[0] | (size_t)number[1] << 8 | (size_t)number[2] << 16 | (size_t)number[3] << 24;
    if (status == LOCUS_OK && *length > MAX_HEADER)
        return lab_fail_file(error, input->path, "has a .npy header of %zu bytes: at most %d make sense", *length,
                             MAX_HEADER);
    return status;
}

static locus_status read_header(lab_input *input, lab_array *array, bool *half, locus_error *error) {
    size_t length = 0;
    locus_status status = read_header_length(input, &length, error);
    if (status != LOCUS_OK)
        return status;
    char *text = malloc(length + 1);
    if (!text)
        return lab_fail_memory(error, "the header of a .npy file");
    status = lab_input_read(input, text, length, error);
    text[length] = '\0';
    if (status == LOCUS_OK && strlen(text) != length)
        status = lab_fail_file(error, input->path, "has a malformed .npy header: it contains a NUL byte");
    if (status == LOCUS_OK) {
        header_parser p = {.at = text, .path = input->path, .array = array, .error = error};
        status = parse_header(&p);
        *half = p.half;
    }
    free(text);
    return status;
}

static locus_status read_data(lab_input *input, lab_array *array, bool half, locus_error *error) {
    size_t count = lab_array_count(array), size = lab_dtype_size(array->dtype);
    if (count > SIZE_MAX / 2 / size)
        return lab_fail_file(error, input->path, "has a shape that no memory could hold");
    size_t bytes = count * (half ? LAB_HALF_SIZE : size);
    if (input->bytes_left < bytes)
        return lab_fail_file(error, input->path, "is cut: its shape needs %zu bytes, %zu are there", bytes,
                             input->bytes_left);
    array->data = malloc(count ? count * size : 1);
    if (!array->data)
        return lab_fail_memory(error, "the array of a .npy file");
    locus_status status = half ? lab_half_read(input, LOCUS_FLOAT16, count, array->data, error)
                               : lab_input_read(input, array->data, bytes, error);
    if (status == LOCUS_OK && !lab_input_at_end(input))
        status = lab_fail_file(error, input->path, "has more bytes than its shape needs (%zu)", bytes);
    return status;
}

locus_status lab_npy_read(lab_array *array, const char *path, locus_error *error) {
    lab_input input;
    bool half = false;
    *array = (lab_array){0};
    locus_status status = lab_input_open(&input, path, error);
    if (status == LOCUS_OK)
        status = read_header(&input, array, &half, error);
    if (status == LOCUS_OK)
        status = read_data(&input, array, half, error);
    lab_input_close(&input);
    if (status != LOCUS_OK)
        lab_array_free(array);
    return status;
}

/* ---- writing ---- */

/* Length without padding; at most 8 dimensions of 20 digits. */
static size_t print_header(const lab_array *array, const char *type, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "{'descr': '%s', 'fortran_order': False, 'shape': (", type);
    for (size_t i = 0; i < array->rank; i++) {
        const char *after = i + 1 < array->rank ? ", " : array->rank == 1 ? "," : "";
        used += (size_t)snprintf(text + used, size - used, "%" PRId64 "%s", array->shape[i], after);
    }
    return used + (size_t)snprintf(text + used, size - used, "), }");
}

locus_status lab_npy_write(const lab_array *array, const char *path, locus_error *error) {
    const char *type = NULL;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        type = types[i].dtype == array->dtype && !types[i].half ? types[i].text : type;
    if (!type || array->rank > LAB_MAX_RANK)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "array", "the array for '%s' has no type or too many dimensions",
                        path);
    char header[512];
    unsigned char start[10] = {0};
    size_t length = print_header(array, type, header, sizeof header);
    size_t padded =
        (sizeof start + length + 1 + HEADER_ALIGNMENT - 1) / HEADER_ALIGNMENT * HEADER_ALIGNMENT - sizeof start;
    memset(header + length, ' ', padded - length);
    header[padded - 1] = '\n';
    memcpy(start, magic, sizeof magic);
    start[6] = 1;
    start[8] = (unsigned char)(padded & 0xFF);
    start[9] = (unsigned char)(padded >> 8);

    lab_output output;
    locus_status status = lab_output_open(&output, path, error);
    if (status != LOCUS_OK)
        return status;
    fwrite(start, 1, sizeof start, output.stream); /* what fails is found at the end */
    fwrite(header, 1, padded, output.stream);
    if (lab_array_count(array) > 0)
        fwrite(array->data, lab_dtype_size(array->dtype), lab_array_count(array), output.stream);
    return lab_output_commit(&output, error);
}
