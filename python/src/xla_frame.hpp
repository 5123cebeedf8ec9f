/* SPDX-License-Identifier: MIT */
/* What XLA hands to a function that it calls through its typed foreign-function interface: the binary layout that
 * OpenXLA documents (openxla.org/xla/custom_call; jaxlib has it as include/xla/ffi/api/c_api.h), declared anew, so that
 * the module is built where there is no jaxlib. Only what is used here, by names of our own; python/tests/test_jax.py
 * compares sizes, offsets and numbers with jaxlib's header.
 *
 * Every struct begins with its size, as the caller knows it, and a chain of extensions. XLA reads handlers of interface
 * 0.x for as long as x does not change what is declared here. */
#ifndef LOCUS_PYTHON_XLA_FRAME_HPP
#define LOCUS_PYTHON_XLA_FRAME_HPP

#include <cstddef>
#include <cstdint>

namespace xla {

struct Extension {
    size_t size;
    int32_t type; /* EXTENSION_METADATA */
    Extension *next;
};

enum : int32_t {
    EXTENSION_METADATA = 1,
    ARGUMENT_BUFFER = 1,
    ATTRIBUTE_STRING = 4,
    STAGE_EXECUTE = 3,
};

/* Types of elements that calls of locus have. */
enum Element : int32_t { S32 = 4, S64 = 5, U8 = 6, U32 = 8, F16 = 10, F32 = 11, F64 = 12, BF16 = 16 };

enum Code : int32_t {
    CANCELLED = 1,
    UNKNOWN = 2,
    INVALID_ARGUMENT = 3,
    RESOURCE_EXHAUSTED = 8,
    FAILED_PRECONDITION = 9,
    OUT_OF_RANGE = 11,
    UNIMPLEMENTED = 12,
};

struct Version {
    size_t size;
    Extension *extensions;
    int32_t major, minor;
};

/* A dense array, rows next to each other. */
struct Buffer {
    size_t size;
    Extension *extensions;
    int32_t element;
    void *data;
    int64_t rank;
    int64_t *shape;
};

struct Text {
    const char *data;
    size_t length;
};

/* Arguments, and likewise results: `items[i]` is a Buffer where `types[i]` is ARGUMENT_BUFFER. */
struct Buffers {
    size_t size;
    Extension *extensions;
    int64_t count;
    int32_t *types;
    void **items;
};

/* By name, in the alphabet's order: `items[i]` is a Text where `types[i]` is ATTRIBUTE_STRING. */
struct Attributes {
    size_t size;
    Extension *extensions;
    int64_t count;
    int32_t *types;
    Text **names;
    void **items;
};

struct Error; /* XLA's own */

struct ErrorWanted {
    size_t size;
    Extension *extensions;
    const char *message;
    int32_t code;
};

/* Functions that XLA lends; those behind the first are not used here. */
struct Api {
    size_t size;
    Extension *extensions;
    Version version;
    const void *internal;
    Error *(*error_create)(ErrorWanted *wanted);
};

struct Frame {
    size_t size;
    Extension *extensions;
    const Api *api;
    void *context;
    int32_t stage;
    Buffers arguments, results;
    Attributes attributes;
};

/* What XLA asks of a handler before it is used: the interface that it was made for. */
struct Metadata {
    size_t size;
    Version version;
    uint32_t traits;
};

struct MetadataWanted {
    Extension extension;
    Metadata *metadata;
};

/* NULL: all is well. */
using Handler = Error *(Frame *frame);

} // namespace xla

#endif
