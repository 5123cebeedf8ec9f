/* SPDX-License-Identifier: MIT */
/* The .safetensors format: 8-byte little-endian header length, JSON header, data. float32, float64, int32, int64 are
 * read and written, F16 and BF16 are read as float32; everything else is refused. Files are written atomically
 * (lab/io/file.h). */
#ifndef LAB_SAFETENSORS_H
#define LAB_SAFETENSORS_H

#include "io/array.h"

/* Metadata is a flat map of strings ("__metadata__"). */
typedef struct lab_metadata {
    const char *key, *value;
} lab_metadata;

typedef struct lab_safetensors {
    size_t count;
    lab_array *arrays;
    size_t metadata_count;
    lab_metadata *metadata;
    void *storage;        /* of all data */
    struct cJSON *header; /* of the metadata's texts */
} lab_safetensors;

/* Reads and checks the whole file: header within the file, offsets in order, inside, not overlapping, sizes as shapes
 * say. IO with one clear line that names the file otherwise. */
locus_status lab_safetensors_read(lab_safetensors *file, const char *path, locus_error *error);
void lab_safetensors_close(lab_safetensors *file);
const lab_array *lab_safetensors_find(const lab_safetensors *file, const char *name); /* NULL: not there */
const char *lab_safetensors_metadata(const lab_safetensors *file, const char *key);   /* NULL: not there */
locus_status lab_safetensors_write(const char *path, const lab_array *arrays, size_t count,
                                   const lab_metadata *metadata, size_t metadata_count, locus_error *error);

/* The same of arrays whose data need not be there at once: each with data NULL is brought when its turn has come, in
 * order, and may take the place of the one before. */
typedef struct lab_array_source {
    locus_status (*bring)(void *context, const lab_array *array, const void **data, locus_error *error);
    void *context;
} lab_array_source;
typedef struct lab_safetensors_content {
    const lab_array *arrays;
    size_t count;
    const lab_metadata *metadata;
    size_t metadata_count;
    lab_array_source source;
} lab_safetensors_content;
locus_status lab_safetensors_stream(const char *path, const lab_safetensors_content *content, locus_error *error);

#endif
