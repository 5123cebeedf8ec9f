/* SPDX-License-Identifier: MIT */
/* See projection.h. */
#include "fold/projection.h"

#include "io/fail.h"
#include "io/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *lab_projection_read(lab_projection_layout *layout, const lab_array *array, size_t heads, size_t head_dim,
                                bool heads_last) {
    const int64_t width = (int64_t)(heads * head_dim);
    *layout = (lab_projection_layout){1, 1};
    if (array->rank == 1)
        return array->shape[0] == width ? NULL : "a bias must be [heads*head_dim]";
    if (array->rank == 2) {
        const size_t own = heads_last ? 1 : 0;
        *(heads_last ? &layout->outer : &layout->inner) = (size_t)array->shape[1 - own];
        return array->shape[own] == width ? NULL
               : heads_last               ? "must be [model_dim, heads*head_dim]"
                                          : "must be [heads*head_dim, model_dim]";
    }
    layout->outer = (size_t)array->shape[0];
    return array->shape[1] == (int64_t)heads && array->shape[2] == (int64_t)head_dim
               ? NULL
               : "must be [tokens, heads, head_dim]";
}

/* `row` counts heads within outer. */
static void turn_row(const lab_folding *folding, lab_array *array, size_t inner, size_t row, double *x) {
    const size_t dim = folding->shape.head_dim;
    const double *T = folding->turn + row % folding->shape.heads * dim * dim;
    for (size_t m = 0; m < inner; m++) {
        for (size_t i = 0; i < dim; i++)
            x[i] = lab_array_at(array, (row * dim + i) * inner + m);
        for (size_t j = 0; j < dim; j++) {
            double sum = 0;
            for (size_t i = 0; i < dim; i++)
                sum += T[i * dim + j] * x[i];
            lab_array_set(array, (row * dim + j) * inner + m, sum);
        }
    }
}

locus_status lab_projection_turn(const lab_folding *folding, lab_array *array, lab_projection_layout layout,
                                 locus_error *error) {
    double *x = calloc(folding->shape.head_dim, sizeof *x);
    if (!x)
        return lab_fail_memory(error, "a row");
    for (size_t row = 0; row < layout.outer * folding->shape.heads; row++)
        turn_row(folding, array, layout.inner, row, x);
    free(x);
    return LOCUS_OK;
}

/* ---- the file ---- */

typedef struct tensor_list {
    size_t count;
    lab_array *items; /* views: nothing is owned but the list */
} tensor_list;

static void add(tensor_list *list, const char *name, const lab_array *array) {
    lab_array *item = &list->items[list->count++];
    *item = *array;
    snprintf(item->name, sizeof item->name, "%s", name);
}

static lab_array view(double *data, size_t a, size_t b, size_t c) {
    return (lab_array){.dtype = LAB_F64, .rank = 3, .shape = {(int64_t)a, (int64_t)b, (int64_t)c}, .data = data};
}

static void list_tensors(const lab_folding *folding, tensor_list *list) {
    const locus_fold_shape *shape = &folding->shape;
    const lab_array basis = view(folding->turn, shape->heads, shape->head_dim, shape->head_dim);
    const lab_array angles = view(folding->angles, shape->heads, shape->coordinates, shape->pairs);
    for (size_t i = 0; i < folding->target.count; i++) {
        const locus_parameter *info = &folding->target.infos[i];
        lab_array array = {.dtype = LAB_F64, .rank = info->rank, .data = folding->target.values[i].data};
        memcpy(array.shape, info->shape, info->rank * sizeof *info->shape);
        add(list, info->name, &array);
    }
    add(list, "fold.basis", &basis);
    if (shape->pairs > 0)
        add(list, "fold.angles", &angles);
}

locus_status lab_folding_write(const lab_folding *folding, const lab_array *projections, size_t count, const char *path,
                               locus_error *error) {
    char *spec = lab_spec_of(folding->target.encoding);
    const lab_metadata metadata[] = {{"spec", spec}};
    tensor_list list = {0, calloc(folding->target.count + 2 + count, sizeof(lab_array))};
    locus_status status = spec && list.items ? LOCUS_OK : lab_fail_memory(error, "a list of tensors");
    if (status == LOCUS_OK) {
        list_tensors(folding, &list);
        for (size_t i = 0; i < count; i++)
            if (projections[i].data)
                add(&list, projections[i].name, &projections[i]);
        status = lab_safetensors_write(path, list.items, list.count, metadata, 1, error);
    }
    free(list.items);
    free(spec);
    return status;
}
