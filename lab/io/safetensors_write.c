/* SPDX-License-Identifier: MIT */
/* Writes .safetensors files: tensors in the order given, without holes, the header padded with spaces to a multiple of
 * 8 bytes. The same content always gives the same bytes. */
#include "io/safetensors.h"

#include "io/fail.h"
#include "io/file.h"
#include "io/text_stream.h"
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* NULL: it is none. */
static const char *type_text(lab_dtype dtype) {
    static const char *const texts[] = {[LAB_F32] = "F32", [LAB_F64] = "F64", [LAB_I32] = "I32", [LAB_I64] = "I64"};
    return (size_t)dtype < sizeof texts / sizeof *texts ? texts[dtype] : NULL;
}

static void print_text(FILE *stream, const char *text) {
    putc('"', stream);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        if (*c == '"' || *c == '\\')
            fprintf(stream, "\\%c", *c);
        else if (*c < 0x20)
            fprintf(stream, "\\u%04x", *c);
        else
            putc(*c, stream);
    putc('"', stream);
}

static void print_array(FILE *stream, const lab_array *array, size_t begin, size_t end) {
    print_text(stream, array->name);
    fprintf(stream, ":{\"dtype\":\"%s\",\"shape\":[", type_text(array->dtype));
    for (size_t i = 0; i < array->rank; i++)
        fprintf(stream, "%s%" PRId64, i ? "," : "", array->shape[i]);
    fprintf(stream, "],\"data_offsets\":[%zu,%zu]}", begin, end);
}

static void print_header(FILE *stream, const lab_array *arrays, size_t count, const lab_metadata *metadata,
                         size_t metadata_count) {
    putc('{', stream);
    for (size_t i = 0; i < metadata_count; i++) {
        fputs(i ? "," : "\"__metadata__\":{", stream);
        print_text(stream, metadata[i].key);
        putc(':', stream);
        print_text(stream, metadata[i].value);
    }
    size_t offset = 0;
    for (size_t i = 0; i < count; i++) {
        size_t end = offset + lab_array_count(&arrays[i]) * lab_dtype_size(arrays[i].dtype);
        fputs(i ? "," : metadata_count ? "}," : "", stream);
        print_array(stream, &arrays[i], offset, end);
        offset = end;
    }
    fputs(count == 0 && metadata_count ? "}}" : "}", stream);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Refuses what the reader would refuse. */
static locus_status check_arrays(const char *path, const lab_array *arrays, size_t count, locus_error *error) {
    const char **names = malloc((count + 1) * sizeof *names);
    if (!names)
        return lab_fail_memory(error, "the list of tensors");
    locus_status status = LOCUS_OK;
    for (size_t i = 0; status == LOCUS_OK && i < count; i++) {
        names[i] = arrays[i].name;
        if (!type_text(arrays[i].dtype) || arrays[i].rank > LAB_MAX_RANK || arrays[i].name[0] == '\0' ||
            strcmp(arrays[i].name, "__metadata__") == 0)
            status = lab_fail(error, LOCUS_ERROR_ARGUMENT, "arrays",
                              "tensor %zu for '%s' has no proper name, type or number of dimensions", i, path);
    }
    if (status == LOCUS_OK)
        qsort(names, count, sizeof *names, by_name);
    for (size_t i = 1; status == LOCUS_OK && i < count; i++)
        if (strcmp(names[i - 1], names[i]) == 0)
            status =
                lab_fail(error, LOCUS_ERROR_ARGUMENT, "arrays", "tensor '%s' comes twice for '%s'", names[i], path);
    free(names);
    return status;
}

static locus_status header_text(const lab_array *arrays, size_t count, const lab_metadata *metadata,
                                size_t metadata_count, char **text, size_t *length, locus_error *error) {
    *text = NULL;
    FILE *stream = lab_text_stream(text, length);
    if (stream) {
        print_header(stream, arrays, count, metadata, metadata_count);
        fflush(stream); /* so that the bytes are known */
        for (size_t at = *length; at % 8 != 0; at++)
            putc(' ', stream);
    }
    return lab_text_close(stream, text) ? LOCUS_OK : lab_fail_memory(error, "the header of a .safetensors file");
}

/* What cannot be written is found when the file is closed. */
static locus_status write_arrays(const lab_output *output, const lab_safetensors_content *content, locus_error *error) {
    locus_status status = LOCUS_OK;
    for (size_t i = 0; status == LOCUS_OK && i < content->count; i++) {
        const lab_array *array = &content->arrays[i];
        const void *data = array->data;
        if (lab_array_count(array) == 0)
            continue;
        if (data == NULL)
            status = content->source.bring(content->source.context, array, &data, error);
        if (status == LOCUS_OK)
            fwrite(data, lab_dtype_size(array->dtype), lab_array_count(array), output->stream);
    }
    return status;
}

locus_status lab_safetensors_stream(const char *path, const lab_safetensors_content *content, locus_error *error) {
    char *header = NULL;
    size_t length = 0;
    lab_output output;
    locus_status status = check_arrays(path, content->arrays, content->count, error);
    if (status == LOCUS_OK)
        status = header_text(content->arrays, content->count, content->metadata, content->metadata_count, &header,
                             &length, error);
    if (status == LOCUS_OK)
        status = lab_output_open(&output, path, error);
    if (status != LOCUS_OK) {
        free(header);
        return status;
    }
    unsigned char number[8];
    for (int i = 0; i < 8; i++)
        number[i] = (unsigned char)((uint64_t)length >> 8 * i & 0xFF);
    fwrite(number, 1, sizeof number, output.stream);
    fwrite(header, 1, length, output.stream);
    free(header);
    status = write_arrays(&output, content, error);
    status = status == LOCUS_OK ? lab_output_commit(&output, error) : status;
    lab_output_discard(&output);
    return status;
}

locus_status lab_safetensors_write(const char *path, const lab_array *arrays, size_t count,
                                   const lab_metadata *metadata, size_t metadata_count, locus_error *error) {
    const lab_safetensors_content content = {arrays, count, metadata, metadata_count, {NULL, NULL}};
    return lab_safetensors_stream(path, &content, error);
}
