/* SPDX-License-Identifier: MIT */
/* Structs with their size in front: what an older or a newer caller gave, read into this library's version, and what he
 * gets back. */
#include "core/sized.h"

#include "core/error.h"

#include <stdbool.h>
#include <string.h>

/* No struct of options ever gets so large: a size beyond is memory that nobody filled in. */
enum { LARGEST = 4096 };

static locus_status check_size(const locus_sized *kind, size_t size, locus_error *error) {
    if (size >= kind->least && size <= LARGEST)
        return LOCUS_OK;
    return locus_fail(error, LOCUS_ERROR_ARGUMENT, kind->name,
                      "%s.size is %zu: set it to the size of the struct, at least %zu bytes", kind->name, size,
                      kind->least);
}

static size_t unknown_byte(const unsigned char *given, size_t from, size_t size) {
    while (from < size && given[from] == 0)
        from++;
    return from;
}

static locus_status read_size(void *own, const locus_sized *kind, const void *given, bool zero, locus_error *error) {
    size_t size;
    if (!given)
        return LOCUS_OK;
    memcpy(&size, given, sizeof size);
    if (size == 0 && zero)
        size = kind->least;
    const locus_status status = check_size(kind, size, error);
    if (status != LOCUS_OK)
        return status;
    const size_t unknown = unknown_byte(given, kind->bytes, size);
    if (unknown < size)
        return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, kind->name,
                          "%s is of a newer version: byte %zu of its %zu is set, and this library knows %zu",
                          kind->name, unknown, size, kind->bytes);
    memcpy(own, given, size < kind->bytes ? size : kind->bytes);
    memcpy(own, &kind->bytes, sizeof kind->bytes);
    return LOCUS_OK;
}

locus_status locus_sized_read(void *own, const locus_sized *kind, const void *given, locus_error *error) {
    return read_size(own, kind, given, false, error);
}

locus_status locus_sized_read_or_zero(void *own, const locus_sized *kind, const void *given, locus_error *error) {
    return read_size(own, kind, given, true, error);
}

locus_status locus_sized_read_item(void *own, const locus_sized *kind, const void *array, size_t index,
                                   locus_error *error) {
    size_t size;
    memcpy(&size, array, sizeof size);
    return read_size(own, kind, (const char *)array + index * size, false, error);
}

locus_status locus_sized_write(void *to, const locus_sized *kind, const void *own, locus_error *error) {
    size_t size;
    memcpy(&size, to, sizeof size);
    const locus_status status = check_size(kind, size, error);
    if (status != LOCUS_OK)
        return status;
    const size_t known = size < kind->bytes ? size : kind->bytes;
    memcpy(to, own, known);
    memset((char *)to + known, 0, size - known);
    memcpy(to, &size, sizeof size);
    return LOCUS_OK;
}
