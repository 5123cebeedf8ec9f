/* SPDX-License-Identifier: MIT */
/* locus_tensor_convert: any element type to any other, or a copy. Halves go through blocks of floats and the kernels on
 * their way to another type; float64 is first rounded to odd (Boldo and Melquiond 2008, Emulation of FMA and correctly
 * rounded sums), since rounding to float and then to a half would decide ties that are none. */
#include "core/error.h"
#include "core/tensor_check.h"
#include "kernels/half_rows.h"

#include <assert.h>
#include <locus/tensor.h>
#include <string.h>

#define BLOCK 256

static locus_status check(const locus_tensor *from, const locus_tensor *to, locus_error *error) {
    const locus_tensor *both[] = {from, to};
    const char *const names[] = {"from", "to"};
    for (size_t i = 0; i < 2; i++) {
        locus_status status = locus_tensor_check(both[i], names[i], error);
        if (status == LOCUS_OK)
            status = locus_tensor_check_data(both[i], false, names[i], error);
        if (status != LOCUS_OK)
            return status;
        if (both[i]->rank > LOCUS_MAX_RANK)
            return locus_fail(error, LOCUS_ERROR_SHAPE, names[i], "%s has rank %zu: at most %d", names[i],
                              both[i]->rank, LOCUS_MAX_RANK);
    }
    if (from->rank != to->rank)
        return locus_fail(error, LOCUS_ERROR_SHAPE, "to", "from has rank %zu, to %zu: give one shape", from->rank,
                          to->rank);
    for (size_t i = 0; i < from->rank; i++)
        if (from->shape[i] != to->shape[i])
            return locus_fail(error, LOCUS_ERROR_SHAPE, "to", "to has size %lld in dimension %zu, from %lld",
                              (long long)to->shape[i], i, (long long)from->shape[i]);
    return LOCUS_OK;
}

/* The neighbour towards zero, with its last bit set, where a double is no float. */
static float round_to_odd(double x) {
    float y = (float)x;
    uint32_t bits;
    memcpy(&bits, &y, sizeof bits);
    if ((double)y == x || x != x)
        return y;
    if ((y > 0 && (double)y > x) || (y < 0 && (double)y < x))
        bits--;
    bits |= 1;
    memcpy(&y, &bits, sizeof y);
    return y;
}

/* A run of elements along the last dimension. */
typedef struct run {
    const char *from;
    char *to;
    ptrdiff_t from_stride, to_stride; /* in bytes */
    locus_dtype from_type, to_type;
} run;

static double read_element(const run *r, size_t i) {
    const char *at = r->from + (ptrdiff_t)i * r->from_stride;
    double wide;
    float narrow;
    if (r->from_type == LOCUS_FLOAT64) {
        memcpy(&wide, at, sizeof wide);
        return wide;
    }
    memcpy(&narrow, at, sizeof narrow);
    return (double)narrow;
}

static void load(const run *r, size_t first, size_t count, double *values) {
    uint16_t half[BLOCK];
    float wide[BLOCK];
    const locus_half_rows rows = {r->from_type, 1, count, 0, 0};
    if (!locus_dtype_is_half(r->from_type)) {
        for (size_t i = 0; i < count; i++)
            values[i] = read_element(r, first + i);
        return;
    }
    for (size_t i = 0; i < count; i++)
        memcpy(&half[i], r->from + (ptrdiff_t)(first + i) * r->from_stride, sizeof half[i]);
    locus_half_rows_widen(&rows, 1, half, wide);
    for (size_t i = 0; i < count; i++)
        values[i] = (double)wide[i];
}

static void store(const run *r, size_t first, size_t count, const double *values) {
    uint16_t half[BLOCK];
    float narrow[BLOCK];
    const bool halves = locus_dtype_is_half(r->to_type);
    const locus_half_rows rows = {r->to_type, 1, count, 0, 0};
    for (size_t i = 0; i < count; i++)
        narrow[i] = halves ? round_to_odd(values[i]) : (float)values[i];
    if (halves)
        locus_half_rows_narrow(&rows, 1, narrow, half);
    for (size_t i = 0; i < count; i++) {
        char *at = r->to + (ptrdiff_t)(first + i) * r->to_stride;
        if (halves)
            memcpy(at, &half[i], sizeof half[i]);
        else if (r->to_type == LOCUS_FLOAT32)
            memcpy(at, &narrow[i], sizeof narrow[i]);
        else
            memcpy(at, &values[i], sizeof values[i]);
    }
}

/* The ways of parameters into a binding: what is next to each other needs no blocks. */
static bool convert_dense(const run *r, size_t count) {
    const float *from = (const float *)(const void *)r->from;
    double *to = (double *)(void *)r->to;
    const size_t from_size = locus_dtype_size(r->from_type), to_size = locus_dtype_size(r->to_type);
    if (r->from_stride != (ptrdiff_t)from_size || r->to_stride != (ptrdiff_t)to_size)
        return false;
    if (r->from_type == r->to_type) {
        memmove(r->to, r->from, count * to_size); /* the views may be the same */
        return true;
    }
    if (r->from_type != LOCUS_FLOAT32 || r->to_type != LOCUS_FLOAT64 || (uintptr_t)from % sizeof *from != 0 ||
        (uintptr_t)to % sizeof *to != 0)
        return false;
    for (size_t i = 0; i < count; i++)
        to[i] = (double)from[i];
    return true;
}

static void convert_run(const run *r, size_t count) {
    double values[BLOCK];
    if (convert_dense(r, count))
        return;
    for (size_t first = 0; first < count; first += BLOCK) {
        const size_t left = count - first, block = left < BLOCK ? left : BLOCK;
        load(r, first, block, values);
        store(r, first, block, values);
    }
}

void locus_half_add(locus_dtype dtype, uint16_t *at, double value) {
    const locus_half_rows row = {dtype, 1, 1, 0, 0};
    float wide;
    locus_half_rows_widen(&row, 1, at, &wide);
    wide = round_to_odd((double)wide + value);
    locus_half_rows_narrow(&row, 1, &wide, at);
}

locus_status locus_tensor_convert(const locus_tensor *from, const locus_tensor *to, locus_error *error) {
    const locus_status status = check(from, to, error);
    if (status != LOCUS_OK || locus_tensor_count(from) == 0)
        return status;
    const size_t rank = from->rank, length = rank > 0 ? (size_t)from->shape[rank - 1] : 1;
    const ptrdiff_t from_size = (ptrdiff_t)locus_dtype_size(from->dtype),
                    to_size = (ptrdiff_t)locus_dtype_size(to->dtype);
    const size_t rows = locus_tensor_count(from) / length;
    assert(from->data != NULL && to->data != NULL); /* by check(), since there are elements */
    for (size_t row = 0; row < rows; row++) {
        run r = {.from = from->data, .to = to->data, .from_type = from->dtype, .to_type = to->dtype};
        size_t rest = row;
        for (size_t i = rank; i-- > 1; rest /= (size_t)from->shape[i - 1]) {
            const ptrdiff_t at = (ptrdiff_t)(rest % (size_t)from->shape[i - 1]);
            r.from += at * (ptrdiff_t)from->stride[i - 1] * from_size;
            r.to += at * (ptrdiff_t)to->stride[i - 1] * to_size;
        }
        r.from_stride = length > 1 ? (ptrdiff_t)from->stride[rank - 1] * from_size : 0;
        r.to_stride = length > 1 ? (ptrdiff_t)to->stride[rank - 1] * to_size : 0;
        convert_run(&r, length);
    }
    return LOCUS_OK;
}
