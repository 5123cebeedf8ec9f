/* SPDX-License-Identifier: MIT */
/* .safetensors files: what is written comes back; headers that lie about the file are refused. */
#include "io/safetensors.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/file.h"
#include "unit/scratch_folder.h"

static locus_status read_file(lab_safetensors *file, const char *name, locus_error *error) {
    return lab_safetensors_read(file, scratch_path(name), error);
}

static void expect_failure(const char *name, const char *part) {
    lab_safetensors file;
    locus_error error = {0};
    assert_int_equal(read_file(&file, name, &error), LOCUS_ERROR_IO);
    assert_null(file.storage);
    assert_int_equal(file.count, 0);
    assert_null(strchr(error.message, '\n'));
    if (!strstr(error.message, part) || !strstr(error.message, name))
        fail_msg("expected '%s' and '%s' in: %s", part, name, error.message);
}

/* A file with this header and `bytes` bytes 1, 2, 3, … of data. */
static void write_with_header(const char *name, const char *header, size_t bytes) {
    char file[8192] = {0};
    size_t length = strlen(header);
    assert_true(8 + length + bytes <= sizeof file);
    for (int i = 0; i < 8; i++)
        file[i] = (char)((uint64_t)length >> 8 * i & 0xFF);
    memcpy(file + 8, header, length);
    for (size_t i = 0; i < bytes; i++)
        file[8 + length + i] = (char)(i + 1);
    scratch_write(name, file, 8 + length + bytes);
}

/* ---- round trips ---- */

static float floats[] = {1.5f, -2.25f, 3.0f};
static double doubles[] = {1e300, -1e-300};
static int32_t ints[] = {-7, 8, 9, 10};
static int64_t longs[] = {INT64_MIN, INT64_MAX};

static void sample_arrays(lab_array arrays[5]) {
    arrays[0] = (lab_array){"layer.0.weight", LAB_F32, 2, {3, 1}, floats}; /* 12 bytes: the next ones are misaligned */
    arrays[1] = (lab_array){"b \"quoted\" \\ ⌈p⌉\t", LAB_F64, 1, {2}, doubles};
    arrays[2] = (lab_array){"scalar", LAB_I32, 0, {0}, ints};
    arrays[3] = (lab_array){"empty", LAB_F64, 3, {4, 0, 2}, NULL};
    arrays[4] = (lab_array){"longs", LAB_I64, 2, {1, 2}, longs};
}

static const lab_metadata sample_metadata[] = {
    {"format", "locus"}, {"config", "{\"a\": 1,\n\"b\": [2]}"}, {"", "nothing"}};

static void write_sample(const char *name, size_t metadata_count) {
    lab_array arrays[5];
    locus_error error = {0};
    sample_arrays(arrays);
    if (lab_safetensors_write(scratch_path(name), arrays, 5, sample_metadata, metadata_count, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
}

static void what_is_written_comes_back(void **state) {
    (void)state;
    lab_array want[5];
    lab_safetensors file;
    locus_error error = {0};
    sample_arrays(want);
    for (size_t metadata = 0; metadata <= 3; metadata += 3) {
        write_sample("sample", metadata);
        if (read_file(&file, "sample", &error) != LOCUS_OK)
            fail_msg("%s", error.message);
        assert_int_equal(file.count, 5);
        assert_int_equal(file.metadata_count, metadata);
        for (size_t i = 0; i < 5; i++) {
            const lab_array *array = lab_safetensors_find(&file, want[i].name);
            assert_non_null(array);
            assert_int_equal(array->dtype, want[i].dtype);
            assert_int_equal(array->rank, want[i].rank);
            assert_memory_equal(array->shape, want[i].shape, sizeof want[i].shape);
            assert_int_equal((uintptr_t)array->data % 64, 0);
            size_t bytes = lab_array_count(array) * lab_dtype_size(array->dtype);
            if (bytes > 0)
                assert_memory_equal(array->data, want[i].data, bytes);
        }
        for (size_t i = 0; i < metadata; i++)
            assert_string_equal(lab_safetensors_metadata(&file, sample_metadata[i].key), sample_metadata[i].value);
        assert_null(lab_safetensors_find(&file, "weight"));
        assert_null(lab_safetensors_metadata(&file, "none"));
        lab_safetensors_close(&file);
        lab_safetensors_close(&file);
    }
}

static void the_same_content_gives_the_same_bytes(void **state) {
    (void)state;
    char *a, *b;
    size_t a_bytes, b_bytes;
    write_sample("one", 3);
    write_sample("two", 3);
    assert_int_equal(lab_file_read(scratch_path("one"), &a, &a_bytes, NULL), LOCUS_OK);
    assert_int_equal(lab_file_read(scratch_path("two"), &b, &b_bytes, NULL), LOCUS_OK);
    assert_int_equal(a_bytes, b_bytes);
    assert_memory_equal(a, b, a_bytes);
    assert_int_equal(a[0] % 8, 0); /* the data begins at a multiple of 8 */
    free(a);
    free(b);
}

static void files_without_tensors_are_fine(void **state) {
    (void)state;
    lab_safetensors file;
    assert_int_equal(lab_safetensors_write(scratch_path("none"), NULL, 0, sample_metadata, 1, NULL), LOCUS_OK);
    assert_int_equal(read_file(&file, "none", NULL), LOCUS_OK);
    assert_int_equal(file.count, 0);
    assert_string_equal(lab_safetensors_metadata(&file, "format"), "locus");
    lab_safetensors_close(&file);
    assert_int_equal(lab_safetensors_write(scratch_path("none"), NULL, 0, NULL, 0, NULL), LOCUS_OK);
    assert_int_equal(read_file(&file, "none", NULL), LOCUS_OK);
    lab_safetensors_close(&file);
}

static void writing_refuses_what_reading_would(void **state) {
    (void)state;
    locus_error error = {0};
    lab_array bad[][2] = {
        {{"same", LAB_F32, 1, {1}, floats}, {"same", LAB_F32, 1, {1}, floats}},
        {{"a", LAB_F32, 1, {1}, floats}, {"", LAB_F32, 1, {1}, floats}},
        {{"a", LAB_F32, 1, {1}, floats}, {"__metadata__", LAB_F32, 1, {1}, floats}},
        {{"a", LAB_F32, 1, {1}, floats}, {"b", (lab_dtype)9, 1, {1}, floats}},
        {{"a", LAB_F32, 1, {1}, floats}, {"b", LAB_F32, 9, {1}, floats}},
    };
    size_t before = scratch_count();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(lab_safetensors_write(scratch_path("bad"), bad[i], 2, NULL, 0, &error), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(scratch_count(), before);
    lab_array apart[3] = {bad[0][0], bad[0][0], bad[0][0]}; /* two of a name with another between them */
    snprintf(apart[0].name, sizeof apart[0].name, "a");
    snprintf(apart[1].name, sizeof apart[1].name, "b");
    snprintf(apart[2].name, sizeof apart[2].name, "a");
    assert_int_equal(lab_safetensors_write(scratch_path("bad"), apart, 3, NULL, 0, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "tensor 'a' comes twice"));
    assert_int_equal(lab_safetensors_write(scratch_path("no/folder"), bad[0], 1, NULL, 0, &error), LOCUS_ERROR_IO);
}

/* ---- lying files ---- */

static void tensors_may_come_in_any_order(void **state) {
    (void)state;
    lab_safetensors file;
    locus_error error = {0};
    write_with_header(
        "order",
        " {\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[4,12]},\"e\":{\"dtype\":\"F32\",\"shape\":[0],"
        "\"data_offsets\":[4,4]},\"a\":{\"shape\":[1],\"data_offsets\":[0,4],\"dtype\":\"I32\"}}  \n ",
        12);
    if (read_file(&file, "order", &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(file.count, 3);
    const unsigned char a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8, 9, 10, 11, 12};
    assert_memory_equal(lab_safetensors_find(&file, "a")->data, a, sizeof a);
    assert_memory_equal(lab_safetensors_find(&file, "b")->data, b, sizeof b);
    lab_safetensors_close(&file);
}

#define TENSOR(name, type, shape, offsets) \
    "\"" name "\":{\"dtype\":\"" type "\",\"shape\":[" shape "],\"data_offsets\":[" offsets "]}"

/* Bytes 1, 2, … as halves: 0201, 0403 of float16, 0605 of bfloat16, then four bytes as they are. */
static void half_types_are_widened(void **state) {
    (void)state;
    lab_safetensors file;
    locus_error error = {0};
    write_with_header("half",
                      "{" TENSOR("a", "F16", "2", "0,4") "," TENSOR("b", "BF16", "1,1",
                                                                    "4,6") "," TENSOR("c", "I32", "1", "6,10") "}",
                      10);
    if (read_file(&file, "half", &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    const lab_array *a = lab_safetensors_find(&file, "a"), *b = lab_safetensors_find(&file, "b");
    const float halves[] = {513 * 0x1p-24f, 1027 * 0x1p-24f};
    const uint32_t bits = 0x06050000u;
    const unsigned char c[] = {7, 8, 9, 10};
    assert_true(a->dtype == LAB_F32 && b->dtype == LAB_F32);
    assert_memory_equal(a->data, halves, sizeof halves);
    assert_int_equal(b->rank, 2);
    assert_memory_equal(b->data, &bits, sizeof bits);
    assert_memory_equal(lab_safetensors_find(&file, "c")->data, c, sizeof c);
    lab_safetensors_close(&file);
}

static void bad_headers_are_refused(void **state) {
    (void)state;
    const struct {
        const char *header, *part;
    } cases[] = {
        {"[]", "not a JSON object"},
        {"{\"a\":", "not JSON"},
        {"{} x", "after its end"},
        {"12", "not a JSON object"},
        {"{\"a\":1}", "not described by an object"},
        {"{\"a\":{}}", "no 'dtype'"},
        {"{\"a\":{\"dtype\":1}}", "no 'dtype'"},
        {"{\"a\":{\"dtype\":\"F32\"}}", "no 'shape'"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", "no proper 'data_offsets'"},
        {"{" TENSOR("a", "F8_E4M3", "8", "0,8") "}", "of type 'F8_E4M3'"},
        {"{" TENSOR("a", "BF16", "2", "0,8") "}", "another number of bytes"},
        {"{" TENSOR("a", "F16", "5", "0,10") "}", "is cut: its tensors need 10 bytes, 8 are there"},
        {"{" TENSOR("a", "F32", "-2", "0,8") "}", "whole numbers"},
        {"{" TENSOR("a", "F32", "2.5", "0,8") "}", "whole numbers"},
        {"{" TENSOR("a", "F32", "\"2\"", "0,8") "}", "whole numbers"},
        {"{" TENSOR("a", "F32", "1e300", "0,8") "}", "whole numbers"},
        {"{" TENSOR("a", "F32", "1,1,1,1,1,1,1,1,2", "0,8") "}", "more than 8 dimensions"},
        {"{" TENSOR("a", "F32", "4294967296,4294967296,4294967296", "0,8") "}", "another number of bytes"},
        {"{" TENSOR("a", "F32", "4611686018427387904", "0,8") "}", "whole numbers"},
        {"{" TENSOR("a", "F32", "2", "0") "}", "no proper 'data_offsets'"},
        {"{" TENSOR("a", "F32", "2", "0,4,8") "}", "no proper 'data_offsets'"},
        {"{" TENSOR("a", "F32", "2", "8,0") "}", "no proper 'data_offsets'"},
        {"{" TENSOR("a", "F32", "2", "-8,0") "}", "no proper 'data_offsets'"},
        {"{" TENSOR("a", "F32", "2", "0,4") "}", "another number of bytes"},
        {"{" TENSOR("a", "F64", "2", "0,8") "}", "another number of bytes"},
        {"{" TENSOR("a", "F32", "4", "0,16") "}", "is cut: its tensors need 16 bytes, 8 are there"},
        {"{" TENSOR("a", "F32", "1", "0,4") "}", "belong to no tensor"},
        {"{" TENSOR("a", "F32", "1", "4,8") "}", "begins after a hole"},
        {"{" TENSOR("a", "F32", "1", "0,4") "," TENSOR("b", "F32", "1", "2,6") "}", "overlaps"},
        {"{" TENSOR("a", "F32", "2", "0,8") "," TENSOR("b", "F32", "2", "0,8") "}", "overlaps"},
        {"{" TENSOR("a", "F32", "1", "0,4") "," TENSOR("a", "F32", "1", "4,8") "}", "comes twice"},
        {"{" TENSOR("", "F32", "2", "0,8") "}", "empty name"},
        {"{\"__metadata__\":[]," TENSOR("a", "F32", "2", "0,8") "}", "not an object"},
        {"{\"__metadata__\":{\"a\":1}," TENSOR("a", "F32", "2", "0,8") "}", "other than strings"},
        {"{" TENSOR("b", "F32", "1", "0,4") "," TENSOR("a", "F32", "0", "4,4") "," TENSOR("b", "F32", "1", "4,8") "}",
         "comes twice"},
        {"{\"__metadata__\":{},\"__metadata__\":{}," TENSOR("a", "F32", "2", "0,8") "}", "comes twice"},
        {"{}", "belong to no tensor"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_with_header("bad", cases[i].header, 8);
        expect_failure("bad", cases[i].part);
    }
}

static void names_must_fit(void **state) {
    (void)state;
    char header[512], name[200];
    lab_safetensors file;
    for (size_t length = 126; length <= 129; length++) {
        memset(name, 'n', length);
        name[length] = '\0';
        snprintf(header, sizeof header, "{\"%s\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", name);
        write_with_header("name", header, 8);
        if (length > 127) {
            expect_failure("name", "more than 127 bytes");
            continue;
        }
        assert_int_equal(read_file(&file, "name", NULL), LOCUS_OK);
        assert_string_equal(file.arrays[0].name, name);
        lab_safetensors_close(&file);
    }
}

static void bad_lengths_are_refused(void **state) {
    (void)state;
    scratch_write("length", "\x01\0\0\0\0\0\0\0{", 9);
    expect_failure("length", "1 bytes makes no sense");
    scratch_write("length", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF{}", 10);
    expect_failure("length", "18446744073709551615 bytes makes no sense");
    scratch_write("length", "\x00\x00\x00\x05\0\0\0\0{}", 10);
    expect_failure("length", "its header needs 83886080 bytes, 2 are there");
    expect_failure("missing", "No such file");
}

static void deep_json_is_refused(void **state) {
    (void)state;
    char header[6001];
    memset(header, '[', 6000);
    header[6000] = '\0';
    write_with_header("deep", header, 0);
    expect_failure("deep", "not JSON");
}

static void every_prefix_is_refused(void **state) {
    (void)state;
    char *bytes;
    size_t count;
    write_sample("whole", 3);
    assert_int_equal(lab_file_read(scratch_path("whole"), &bytes, &count, NULL), LOCUS_OK);
    for (size_t length = 0; length < count; length++) {
        scratch_write("prefix", bytes, length);
        expect_failure("prefix", "is cut");
    }
    scratch_write("prefix", bytes, count + 1); /* the NUL that the reader appends */
    expect_failure("prefix", "belong to no tensor");
    free(bytes);
}

/* Bits of length and header, in every place of a byte: refused, or read as what the changed header describes, which
 * fills the file exactly. */
static void flipped_bits_never_crash(void **state) {
    (void)state;
    char *bytes;
    size_t count, refused = 0, header;
    write_sample("whole", 3);
    assert_int_equal(lab_file_read(scratch_path("whole"), &bytes, &count, NULL), LOCUS_OK);
    header = 8 + (size_t)(unsigned char)bytes[0] + 256 * (size_t)(unsigned char)bytes[1];
    for (size_t bit = 0; bit < 8 * header; bit += 11) {
        char changed = (char)(bytes[bit / 8] ^ 1 << bit % 8), old = bytes[bit / 8];
        bytes[bit / 8] = changed;
        scratch_write("flipped", bytes, count);
        bytes[bit / 8] = old;
        lab_safetensors file;
        locus_error error = {0};
        locus_status status = read_file(&file, "flipped", &error);
        size_t total = 0;
        for (size_t i = 0; i < file.count; i++)
            total += lab_array_count(&file.arrays[i]) * lab_dtype_size(file.arrays[i].dtype);
        if (status == LOCUS_OK) {
            assert_int_equal(total, count - header);
        } else {
            assert_int_equal(status, LOCUS_ERROR_IO);
            assert_true(strlen(error.message) > 10 && !strchr(error.message, '\n'));
            refused++;
        }
        lab_safetensors_close(&file);
    }
    assert_true(refused > 8 * header / 11 / 3);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_comes_back),     cmocka_unit_test(the_same_content_gives_the_same_bytes),
        cmocka_unit_test(files_without_tensors_are_fine), cmocka_unit_test(writing_refuses_what_reading_would),
        cmocka_unit_test(tensors_may_come_in_any_order),  cmocka_unit_test(half_types_are_widened),
        cmocka_unit_test(bad_headers_are_refused),        cmocka_unit_test(names_must_fit),
        cmocka_unit_test(bad_lengths_are_refused),        cmocka_unit_test(deep_json_is_refused),
        cmocka_unit_test(every_prefix_is_refused),        cmocka_unit_test(flipped_bits_never_crash),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
