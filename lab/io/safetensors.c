/* SPDX-License-Identifier: MIT */
/* The .safetensors format (Hugging Face): header length (8 bytes, little-endian) | JSON header | data. The header is
 * one object:
 *
 *   {"__metadata__": {"key": "text", …}, "name": {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]}, …}
 *
 * with offsets from the beginning of the data. A reader trusts nothing: the header must lie in the file, every name
 * come once, every tensor's bytes be what its shape says, and the tensors fill the data from end to end without holes
 * or overlaps. All of this is checked before memory is asked for. Tensors are read in the order of their data, each to
 * an address aligned for vectors, whatever its offset in the file. F16 and BF16 are widened to float32 as they are
 * read. */
#include "io/safetensors.h"

#include "io/fail.h"
#include "io/file.h"
#include "io/half.h"
#include "io/json.h"
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HEADER = 100000000, ALIGNMENT = 64 };

#define MAX_EXACT 9007199254740992.0 /* 2^53: numbers of the JSON reader are doubles */

/* What an array is of in memory; `half` is what it is of in the file, where that is another type, else 0. */
static const struct {
    const char *text;
    lab_dtype dtype;
    locus_dtype half;
} types[] = {{"F32", LAB_F32, 0},
             {"F64", LAB_F64, 0},
             {"I32", LAB_I32, 0},
             {"I64", LAB_I64, 0},
             {"F16", LAB_F32, LOCUS_FLOAT16},
             {"BF16", LAB_F32, LOCUS_BFLOAT16}};

/* ---- header to entries ---- */

typedef struct entry {
    lab_array array;
    locus_dtype half; /* of the file, where array.dtype is what it is widened to; else 0 */
    size_t begin, end;
} entry;

typedef struct reader {
    lab_input input;
    cJSON *header;
    const cJSON *metadata; /* in `header`, or NULL */
    entry *entries;
    size_t count;
    locus_error *error;
} reader;

static locus_status malformed(const reader *r, const char *name, const char *what) {
    if (!name)
        return lab_fail_file(r->error, r->input.path, "has a malformed .safetensors header: %s", what);
    return lab_fail_file(r->error, r->input.path, "has a malformed .safetensors header: tensor '%.100s' %s", name,
                         what);
}

static bool whole_number(const cJSON *item, size_t *number) {
    if (!cJSON_IsNumber(item) || !(item->valuedouble >= 0.0 && item->valuedouble <= MAX_EXACT))
        return false;
    *number = (size_t)item->valuedouble;
    return (double)*number == item->valuedouble;
}

static locus_status read_type(const reader *r, const cJSON *item, entry *to) {
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(item, "dtype");
    if (!cJSON_IsString(type))
        return malformed(r, item->string, "has no 'dtype'");
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(type->valuestring, types[i].text) == 0) {
            to->array.dtype = types[i].dtype;
            to->half = types[i].half;
            return LOCUS_OK;
        }
    return lab_fail_file(r->error, r->input.path,
                         "has tensor '%.100s' of type '%.16s': F32, F64, F16, BF16, I32 and I64 are read", item->string,
                         type->valuestring);
}

static locus_status read_shape(const reader *r, const cJSON *item, lab_array *array) {
    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(item, "shape"), *extent;
    if (!cJSON_IsArray(shape))
        return malformed(r, item->string, "has no 'shape'");
    cJSON_ArrayForEach(extent, shape) {
        size_t number;
        if (array->rank == LAB_MAX_RANK)
            return malformed(r, item->string, "has more than 8 dimensions");
        if (!whole_number(extent, &number))
            return malformed(r, item->string, "has a shape that is not made of whole numbers");
        array->shape[array->rank++] = (int64_t)number;
    }
    return LOCUS_OK;
}

static locus_status read_offsets(const reader *r, const cJSON *item, entry *to) {
    const cJSON *offsets = cJSON_GetObjectItemCaseSensitive(item, "data_offsets");
    if (!cJSON_IsArray(offsets) || cJSON_GetArraySize(offsets) != 2 || !whole_number(offsets->child, &to->begin) ||
        !whole_number(offsets->child->next, &to->end) || to->begin > to->end)
        return malformed(r, item->string, "has no proper 'data_offsets'");
    size_t count = lab_array_count(&to->array), size = to->half ? LAB_HALF_SIZE : lab_dtype_size(to->array.dtype);
    if (count > SIZE_MAX / size || count * size != to->end - to->begin)
        return malformed(r, item->string, "has another number of bytes than its shape says");
    return LOCUS_OK;
}

static locus_status read_entry(const reader *r, const cJSON *item, entry *to) {
    size_t length = strlen(item->string);
    if (length == 0 || length >= sizeof to->array.name)
        return malformed(r, item->string, "has an empty name or one of more than 127 bytes");
    if (!cJSON_IsObject(item))
        return malformed(r, item->string, "is not described by an object");
    memcpy(to->array.name, item->string, length + 1);
    locus_status status = read_type(r, item, to);
    if (status == LOCUS_OK)
        status = read_shape(r, item, &to->array);
    if (status == LOCUS_OK)
        status = read_offsets(r, item, to);
    return status;
}

static locus_status check_metadata(reader *r, const cJSON *item) {
    const cJSON *text;
    if (r->metadata)
        return malformed(r, NULL, "'__metadata__' comes twice");
    if (!cJSON_IsObject(item))
        return malformed(r, NULL, "'__metadata__' is not an object");
    cJSON_ArrayForEach(text, item) {
        if (!cJSON_IsString(text))
            return malformed(r, NULL, "'__metadata__' holds something other than strings");
    }
    r->metadata = item;
    return LOCUS_OK;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const entry *)a)->array.name, ((const entry *)b)->array.name);
}

/* Empty tensors stand before the one that begins where they do. */
static int by_offset(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

static locus_status check_entries(const reader *r) {
    qsort(r->entries, r->count, sizeof *r->entries, by_name);
    for (size_t i = 1; i < r->count; i++)
        if (strcmp(r->entries[i - 1].array.name, r->entries[i].array.name) == 0)
            return malformed(r, r->entries[i].array.name, "comes twice");
    qsort(r->entries, r->count, sizeof *r->entries, by_offset);
    size_t end = 0;
    for (size_t i = 0; i < r->count; i++) {
        if (r->entries[i].begin != end)
            return malformed(r, r->entries[i].array.name,
                             r->entries[i].begin < end ? "overlaps another one" : "begins after a hole");
        end = r->entries[i].end;
    }
    if (r->input.bytes_left == SIZE_MAX || end == r->input.bytes_left)
        return LOCUS_OK;
    return lab_fail_file(r->error, r->input.path, "%s: its tensors need %zu bytes, %zu are there",
                         end > r->input.bytes_left ? "is cut" : "has bytes that belong to no tensor", end,
                         r->input.bytes_left);
}

static locus_status read_entries(reader *r) {
    const cJSON *item;
    if (!cJSON_IsObject(r->header))
        return malformed(r, NULL, "it is not a JSON object");
    size_t children = (size_t)cJSON_GetArraySize(r->header);
    r->entries = calloc(children + 1, sizeof *r->entries);
    if (!r->entries)
        return lab_fail_memory(r->error, "the list of tensors");
    cJSON_ArrayForEach(item, r->header) {
        bool is_metadata = strcmp(item->string, "__metadata__") == 0;
        locus_status status = is_metadata ? check_metadata(r, item) : read_entry(r, item, &r->entries[r->count]);
        if (status != LOCUS_OK)
            return status;
        r->count += !is_metadata;
    }
    return check_entries(r);
}

/* ---- file to header ---- */

static locus_status parse_json(reader *r, const char *text, size_t length) {
    const char *end = NULL;
    bool out_of_memory;
    r->header = lab_json_parse(text, length, false, &end, &out_of_memory);
    if (out_of_memory)
        return lab_fail_memory(r->error, "the header of a .safetensors file");
    if (!r->header)
        return malformed(r, NULL, "it is not JSON");
    for (; end < text + length; end++)
        if (*end != ' ' && *end != '\n' && *end != '\t' && *end != '\r')
            return malformed(r, NULL, "something stands after its end");
    return LOCUS_OK;
}

static locus_status read_header(reader *r) {
    unsigned char number[8];
    locus_status status = lab_input_read(&r->input, number, sizeof number, r->error);
    if (status != LOCUS_OK)
        return status;
    uint64_t length = 0;
    for (int i = 7; i >= 0; i--)
        length = length << 8 | number[i];
    if (length < 2 || length > MAX_HEADER)
        return lab_fail_file(r->error, r->input.path,
                             "is not a .safetensors file: a header of %" PRIu64 " bytes makes no sense", length);
    if (length > r->input.bytes_left)
        return lab_fail_file(r->error, r->input.path, "is cut: its header needs %" PRIu64 " bytes, %zu are there",
                             length, r->input.bytes_left);
    char *text = malloc((size_t)length);
    if (!text)
        return lab_fail_memory(r->error, "the header of a .safetensors file");
    status = lab_input_read(&r->input, text, (size_t)length, r->error);
    if (status == LOCUS_OK)
        status = parse_json(r, text, (size_t)length);
    free(text);
    return status;
}

/* ---- tensors and metadata ---- */

static size_t rounded(size_t bytes) {
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Bytes of a tensor in memory. */
static size_t entry_bytes(const entry *of) {
    return (of->end - of->begin) * (of->half ? sizeof(float) / LAB_HALF_SIZE : 1);
}

/* Their texts stay in the header, which the file takes over. */
static bool take_metadata(reader *r, lab_safetensors *file) {
    const cJSON *text;
    file->header = r->header;
    r->header = NULL;
    file->metadata = calloc((size_t)cJSON_GetArraySize(r->metadata) + 1, sizeof *file->metadata);
    if (!file->metadata)
        return false;
    cJSON_ArrayForEach(text, r->metadata) {
        file->metadata[file->metadata_count++] = (lab_metadata){text->string, text->valuestring};
    }
    return true;
}

/* The sum cannot overflow: every part is in a file. */
static locus_status read_tensors(reader *r, lab_safetensors *file) {
    size_t bytes = ALIGNMENT;
    for (size_t i = 0; i < r->count; i++)
        bytes += rounded(entry_bytes(&r->entries[i]));
    char *data = file->storage = aligned_alloc(ALIGNMENT, bytes);
    file->arrays = calloc(r->count + 1, sizeof *file->arrays);
    if (!take_metadata(r, file) || !file->storage || !file->arrays)
        return lab_fail_memory(r->error, "the tensors of a .safetensors file");
    for (size_t i = 0; i < r->count; i++) {
        const entry *from = &r->entries[i];
        file->arrays[i] = from->array;
        file->arrays[i].data = data;
        locus_status status = from->half ? lab_half_read(&r->input, from->half, lab_array_count(&from->array),
                                                         file->arrays[i].data, r->error)
                                         : lab_input_read(&r->input, data, from->end - from->begin, r->error);
        if (status != LOCUS_OK)
            return status;
        data += rounded(entry_bytes(from));
    }
    file->count = r->count;
    if (!lab_input_at_end(&r->input))
        return lab_fail_file(r->error, r->input.path, "has bytes after its last tensor");
    return LOCUS_OK;
}

locus_status lab_safetensors_read(lab_safetensors *file, const char *path, locus_error *error) {
    reader r = {.error = error};
    *file = (lab_safetensors){0};
    locus_status status = lab_input_open(&r.input, path, error);
    if (status == LOCUS_OK)
        status = read_header(&r);
    if (status == LOCUS_OK)
        status = read_entries(&r);
    if (status == LOCUS_OK)
        status = read_tensors(&r, file);
    lab_input_close(&r.input);
    cJSON_Delete(r.header);
    free(r.entries);
    if (status != LOCUS_OK)
        lab_safetensors_close(file);
    return status;
}

void lab_safetensors_close(lab_safetensors *file) {
    free(file->storage);
    free(file->arrays);
    free(file->metadata);
    cJSON_Delete(file->header);
    *file = (lab_safetensors){0};
}

const lab_array *lab_safetensors_find(const lab_safetensors *file, const char *name) {
    for (size_t i = 0; i < file->count; i++)
        if (strcmp(file->arrays[i].name, name) == 0)
            return &file->arrays[i];
    return NULL;
}

const char *lab_safetensors_metadata(const lab_safetensors *file, const char *key) {
    for (size_t i = 0; i < file->metadata_count; i++)
        if (strcmp(file->metadata[i].key, key) == 0)
            return file->metadata[i].value;
    return NULL;
}
