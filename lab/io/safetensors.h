/* SPDX-License-Identifier: MIT */
/* The .safetensors format: 8-byte little-endian header length, JSON header, data. float32, float64, int32, int64 are
 * read and written, F16 and BF16 are read as float32; everything else is refused. Files are written atomically
 * (lab/io/file.h). */
#ifndef LAB_SAFETENSORS_H
#define LAB_SAFETENSORS_H

#include <locus/status.h>
#include <stdbool.h>

typedef enum lab_dtype { LAB_F32 = 1, LAB_F64 = 2, LAB_I32 = 3, LAB_I64 = 4 } lab_dtype;
size_t lab_dtype_size(lab_dtype dtype);

#define LAB_MAX_RANK 8
typedef struct lab_array { /* contiguous, C order */
    char name[128];        /* empty for .npy */
    lab_dtype dtype;
    size_t rank;
    int64_t shape[LAB_MAX_RANK];
    void *data;
} lab_array;
size_t lab_array_count(const lab_array *array); /* elements */
bool lab_array_finite(const lab_array *array);  /* no element is infinite or not a number */
/* "[64, 16]" of any shape that a tensor has. */
enum { LAB_SHAPE_TEXT = 192 };
void lab_shape_text(size_t rank, const int64_t *shape, char text[LAB_SHAPE_TEXT]);

/* Metadata is a flat map of strings ("__metadata__"). */
typedef struct lab_metadata {
    const char *key, *value;
} lab_metadata;

typedef struct lab_safetensors {
    size_t count;
    lab_array *arrays;
    size_t metadata_count;
    lab_metadata *metadata;
    void *storage; /* everything above points in here or is owned by it */
    size_t storage_bytes;
} lab_safetensors;

/* Reads and checks the whole file: header within the file, offsets in order, inside, not overlapping, sizes as shapes
 * say. IO with one clear line that names the file otherwise. */
locus_status lab_safetensors_read(lab_safetensors *file, const char *path, locus_error *error);
void lab_safetensors_close(lab_safetensors *file);
const lab_array *lab_safetensors_find(const lab_safetensors *file, const char *name); /* NULL: not there */
const char *lab_safetensors_metadata(const lab_safetensors *file, const char *key);   /* NULL: not there */
locus_status lab_safetensors_write(const char *path, const lab_array *arrays, size_t count,
                                   const lab_metadata *metadata, size_t metadata_count, locus_error *error);

#endif
