/* SPDX-License-Identifier: MIT */
/* Arrays as files hold them: contiguous, C order, float32, float64, int32 or int64. */
#ifndef LAB_ARRAY_H
#define LAB_ARRAY_H

#include <locus/status.h>
#include <locus/tensor.h>
#include <stdbool.h>

typedef enum lab_dtype { LAB_F32 = 1, LAB_F64 = 2, LAB_I32 = 3, LAB_I64 = 4 } lab_dtype;
size_t lab_dtype_size(lab_dtype dtype);

#define LAB_MAX_RANK 8
typedef struct lab_array {
    char name[128]; /* empty for .npy */
    lab_dtype dtype;
    size_t rank;
    int64_t shape[LAB_MAX_RANK];
    void *data;
} lab_array;

/* Zeros, in memory of their own: release with lab_array_free. MEMORY, with the array's shape in the message; then
 * there is nothing to release. */
locus_status lab_array_create(lab_array *array, lab_dtype dtype, size_t rank, const int64_t *shape, locus_error *error);
void lab_array_free(lab_array *array);

size_t lab_array_count(const lab_array *array); /* elements */
bool lab_array_finite(const lab_array *array);  /* no element is infinite or not a number */

/* Of floating-point arrays: element `index` in C order, rounded to the array's type as it is set; the array as float64,
 * in memory of its own (MEMORY leaves it as it was); a view for the library, of the array's own memory. */
double lab_array_at(const lab_array *array, size_t index);
void lab_array_set(lab_array *array, size_t index, double value);
locus_status lab_array_widen(lab_array *array, locus_error *error);
locus_tensor lab_array_tensor(const lab_array *array);

/* Of integer arrays. */
int64_t lab_array_integer(const lab_array *array, size_t index);

/* "[64, 16]" of any shape that a tensor has. */
enum { LAB_SHAPE_TEXT = 192 };
void lab_shape_text(size_t rank, const int64_t *shape, char text[LAB_SHAPE_TEXT]);

#endif
