/* SPDX-License-Identifier: MIT */
/* Packed positions on `seq`: one block of memory with the sequences' runs and the tokens' values.
 *
 * Everything that later code relies on is checked here, once: runs are in order, inside the buffer and do not overlap;
 * values are at most 2^40 in size, so that differences of positions and sums over axes cannot overflow. */
#include <locus/memory.h>

#include "algebra/group_access.h"
#include "algebra/positions_access.h"
#include "core/error.h"
#include <stdatomic.h>
#include <string.h>

#define MAX_POSITION ((int64_t)1 << 40)

struct locus_positions {
    atomic_size_t owners;
    size_t bytes, sequences, tokens;
    int64_t minimum, maximum;
    locus_positions_run *runs; /* [sequences] */
    int64_t *values;           /* [tokens] */
};

static size_t run_length(const locus_packing *packing, size_t s) {
    return packing->lengths ? packing->lengths[s] : packing->offsets[s + 1] - packing->offsets[s];
}

static locus_status check_packing(const locus_packing *packing, locus_error *error) {
    if (!packing || !packing->offsets)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "packing", "packing %s NULL: give the sequences' offsets",
                          packing ? "has offsets that are" : "is");
    if (packing->sequences > SIZE_MAX / sizeof(locus_positions_run) / 2)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "packing",
                          "packing has %zu sequences: more than memory can hold", packing->sequences);
    for (size_t s = 0; s < packing->sequences; s++) {
        size_t begin = packing->offsets[s], end = packing->offsets[s + 1];
        if (end < begin)
            return locus_fail(error, LOCUS_ERROR_ARGUMENT, "offsets",
                              "offsets[%zu] = %zu is less than offsets[%zu] = %zu: offsets may not decrease", s + 1,
                              end, s, begin);
        if (packing->lengths && packing->lengths[s] > end - begin)
            return locus_fail(error, LOCUS_ERROR_ARGUMENT, "lengths",
                              "lengths[%zu] = %zu is more than the %zu tokens from offsets[%zu] to offsets[%zu]", s,
                              packing->lengths[s], end - begin, s, s + 1);
    }
    return LOCUS_OK;
}

static locus_status check_group(const locus_group *group, locus_error *error) {
    if (locus_group_is_sequence(group))
        return LOCUS_OK;
    char text[64];
    size_t length = locus_group_text(group, text, sizeof text);
    return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "group",
                      "positions on '%s%s' are not supported by this version: use seq", text,
                      length >= sizeof text ? "…" : "");
}

static locus_status check_value(int64_t value, size_t sequence, size_t token, locus_error *error) {
    if (value >= -MAX_POSITION && value <= MAX_POSITION)
        return LOCUS_OK;
    return locus_fail(error, LOCUS_ERROR_POSITION, "values",
                      "position %lld of token %zu (sequence %zu) is out of range: use -2^40 to 2^40", (long long)value,
                      token, sequence);
}

/* One block: the record, the runs, the values. The record's size keeps both arrays aligned to 8 bytes. */
static locus_status allocate(locus_positions **positions, const locus_packing *packing, locus_error *error) {
    size_t tokens = packing->offsets[packing->sequences];
    size_t fixed = sizeof(locus_positions) + packing->sequences * sizeof(locus_positions_run);
    if (tokens > (SIZE_MAX - fixed) / sizeof(int64_t))
        return locus_fail_memory(error, SIZE_MAX);
    size_t bytes = fixed + tokens * sizeof(int64_t);
    locus_positions *fresh = locus_allocate(bytes);
    if (!fresh)
        return locus_fail_memory(error, bytes);
    fresh->bytes = bytes;
    fresh->sequences = packing->sequences;
    fresh->tokens = tokens;
    fresh->runs = (locus_positions_run *)(fresh + 1);
    fresh->values = (int64_t *)(fresh->runs + packing->sequences);
    fresh->minimum = INT64_MAX;
    fresh->maximum = INT64_MIN;
    atomic_init(&fresh->owners, 1);
    memset(fresh->values, 0, tokens * sizeof(int64_t));
    *positions = fresh;
    return LOCUS_OK;
}

static locus_status fill_sequence(locus_positions *positions, size_t s, const int64_t *given, locus_error *error) {
    locus_positions_run *run = &positions->runs[s];
    int64_t *values = positions->values + run->first;
    run->consecutive = true;
    for (size_t i = 0; i < run->count; i++) {
        values[i] = given ? given[run->first + i] : (int64_t)i;
        locus_status status = check_value(values[i], s, run->first + i, error);
        if (status != LOCUS_OK)
            return status;
        run->consecutive = run->consecutive && (i == 0 || values[i] == values[i - 1] + 1);
        positions->minimum = values[i] < positions->minimum ? values[i] : positions->minimum;
        positions->maximum = values[i] > positions->maximum ? values[i] : positions->maximum;
    }
    return LOCUS_OK;
}

locus_status locus_positions_create(locus_positions **positions, const locus_group *group, const locus_packing *packing,
                                    const int64_t *values, locus_error *error) {
    if (!positions)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "positions", "positions is NULL: give a place for the result");
    *positions = NULL;
    locus_positions *fresh = NULL;
    locus_status status = check_group(group, error);
    if (status == LOCUS_OK)
        status = check_packing(packing, error);
    if (status == LOCUS_OK)
        status = allocate(&fresh, packing, error);
    for (size_t s = 0; status == LOCUS_OK && s < packing->sequences; s++) {
        fresh->runs[s] = (locus_positions_run){.first = packing->offsets[s], .count = run_length(packing, s)};
        status = fill_sequence(fresh, s, values, error);
    }
    if (status != LOCUS_OK) {
        locus_positions_destroy(&fresh);
        return status;
    }
    if (fresh->minimum > fresh->maximum)
        fresh->minimum = fresh->maximum = 0;
    *positions = fresh;
    return LOCUS_OK;
}

void locus_positions_destroy(locus_positions **positions) {
    if (!positions || !*positions)
        return;
    if (atomic_fetch_sub(&(*positions)->owners, 1) == 1)
        locus_release(*positions, (*positions)->bytes);
    *positions = NULL;
}

/* The count of owners is the one thing about positions that changes; blocks from the allocator are never read-only
 * memory. */
locus_positions *locus_positions_share(const locus_positions *positions) {
    locus_positions *shared = (locus_positions *)(uintptr_t)positions;
    atomic_fetch_add(&shared->owners, 1);
    return shared;
}

size_t locus_positions_tokens(const locus_positions *positions) {
    return positions->tokens;
}

size_t locus_positions_sequences(const locus_positions *positions) {
    return positions->sequences;
}

const int64_t *locus_positions_values(const locus_positions *positions) {
    return positions->values;
}

locus_positions_run locus_positions_sequence(const locus_positions *positions, size_t sequence) {
    return positions->runs[sequence];
}

int64_t locus_positions_minimum(const locus_positions *positions) {
    return positions->minimum;
}

int64_t locus_positions_maximum(const locus_positions *positions) {
    return positions->maximum;
}
