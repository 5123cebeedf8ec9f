/* SPDX-License-Identifier: MIT */
/* .npy files: what NumPy writes, what NumPy could read, and everything that is cut, bent or foreign. */
#include "io/npy.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/scratch_folder.h"

/* numpy.save("x.npy", numpy.arange(6, dtype="<i4").reshape(2, 3)), NumPy 2.x, byte for byte */
static const char numpy_header[] =
    "\x93NUMPY\x01\x00\x76\x00{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }"
    "                                                          \n";
enum { NUMPY_BYTES = 128 + 24 };

static void numpy_file(char bytes[NUMPY_BYTES]) {
    const int32_t values[] = {0, 1, 2, 3, 4, 5};
    assert_int_equal(sizeof numpy_header - 1, 128);
    memcpy(bytes, numpy_header, 128);
    memcpy(bytes + 128, values, sizeof values);
}

static void expect_failure(const char *name, const char *part) {
    lab_array array;
    locus_error error = {0};
    assert_int_equal(lab_npy_read(&array, scratch_path(name), &error), LOCUS_ERROR_IO);
    assert_null(array.data);
    assert_null(strchr(error.message, '\n'));
    if (!strstr(error.message, part) || !strstr(error.message, name))
        fail_msg("expected '%s' and '%s' in: %s", part, name, error.message);
}

static void what_numpy_writes_is_read(void **state) {
    (void)state;
    char bytes[NUMPY_BYTES];
    lab_array array;
    locus_error error = {0};
    numpy_file(bytes);
    scratch_write("numpy", bytes, sizeof bytes);
    if (lab_npy_read(&array, scratch_path("numpy"), &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(array.dtype, LAB_I32);
    assert_int_equal(array.rank, 2);
    assert_int_equal(array.shape[0], 2);
    assert_int_equal(array.shape[1], 3);
    assert_memory_equal(array.data, bytes + 128, 24);
    assert_int_equal(lab_npy_write(&array, scratch_path("again"), NULL), LOCUS_OK);
    lab_array_free(&array);
    FILE *file = fopen(scratch_path("again"), "rb");
    char written[NUMPY_BYTES + 1];
    assert_non_null(file);
    assert_int_equal(fread(written, 1, sizeof written, file), sizeof bytes);
    fclose(file);
    assert_memory_equal(written, bytes, sizeof bytes);
}

static void every_type_and_rank_comes_back(void **state) {
    (void)state;
    const lab_dtype types[] = {LAB_F32, LAB_F64, LAB_I32, LAB_I64};
    for (size_t t = 0; t < 4; t++)
        for (size_t rank = 0; rank <= LAB_MAX_RANK; rank++)
            for (int empty = 0; empty < (rank > 0 ? 2 : 1); empty++) {
                lab_array array = {.dtype = types[t], .rank = rank}, back;
                for (size_t i = 0; i < rank; i++)
                    array.shape[i] = empty && i == rank / 2 ? 0 : 1 + (int64_t)(i % 3);
                size_t bytes = lab_array_count(&array) * lab_dtype_size(types[t]);
                array.data = malloc(bytes + 1);
                assert_non_null(array.data);
                for (size_t i = 0; i < bytes; i++)
                    ((char *)array.data)[i] = (char)(i * 31 + rank);
                locus_error error = {0};
                if (lab_npy_write(&array, scratch_path("round"), &error) != LOCUS_OK ||
                    lab_npy_read(&back, scratch_path("round"), &error) != LOCUS_OK)
                    fail_msg("%s", error.message);
                assert_int_equal(back.dtype, types[t]);
                assert_int_equal(back.rank, rank);
                assert_memory_equal(back.shape, array.shape, sizeof array.shape);
                assert_memory_equal(back.data, array.data, bytes);
                lab_array_free(&array);
                lab_array_free(&back);
            }
}

/* A file of version `major` with this header text and `bytes` zero bytes of data. */
static void write_with_header(const char *name, int major, const char *header, size_t bytes) {
    char file[2048] = "\x93NUMPY";
    size_t length = strlen(header), at = 8;
    assert_true(length + bytes < 2000);
    file[6] = (char)major;
    for (int i = 0; i < (major == 1 ? 2 : 4); i++)
        file[at++] = (char)(length >> 8 * i & 0xFF);
    memcpy(file + at, header, length);
    scratch_write(name, file, at + length + bytes);
}

static void expect_header(const char *header, int major, size_t bytes, size_t rank) {
    lab_array array;
    locus_error error = {0};
    write_with_header("header", major, header, bytes);
    if (lab_npy_read(&array, scratch_path("header"), &error) != LOCUS_OK)
        fail_msg("%s: %s", header, error.message);
    assert_int_equal(array.rank, rank);
    lab_array_free(&array);
}

static void headers_may_be_written_in_several_ways(void **state) {
    (void)state;
    expect_header("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }\n", 1, 24, 1);
    expect_header("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }\n", 2, 24, 1);
    expect_header("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }\n", 3, 24, 1);
    expect_header("{\"shape\":(2,2),\"fortran_order\":False,\"descr\":\"<f4\"}", 1, 16, 2);
    expect_header("{'descr': '<i8', 'fortran_order': False, 'shape': (), }", 1, 8, 0);
    expect_header("{'descr': '<i8', 'fortran_order': True, 'shape': (4,), }", 1, 32, 1);
    expect_header("{'descr': '<i8', 'fortran_order': False, 'shape': (0, 999999999999999999), }", 1, 0, 2);
}

static void bad_headers_are_refused(void **state) {
    (void)state;
    const struct {
        const char *header, *part;
    } cases[] = {
        {"", "not a dictionary"},
        {"[1, 2]", "not a dictionary"},
        {"{", "expected the keys"},
        {"{'descr'", "expected the keys"},
        {"{'descr': ", "not a simple element type"},
        {"{'descr': '<f4', 'fortran_order': False}", "is missing"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'extra': 1}", "should not be there"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "comes twice"},
        {"{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}", "commas"},
        {"{'descr': '<f4', 'fortran_order': false, 'shape': (1,)}", "neither True nor False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 1}", "not a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "whole numbers"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1.5,)}", "not closed"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", "whole numbers"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}", "not closed"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1", "not closed"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999999999,)}", "too large"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (999999999999999999, 999999999999999999)}", "no memory"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1073741824, 1073741824)}",
         "has a shape that no memory could hold"}, /* 2⁶³ bytes, one less can at least be counted */
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2147483647, 1073741824)}",
         "is cut: its shape needs 9223372032559808512 bytes, 4 are there"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", "more than 8 dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", "after the dictionary"},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}", "type '>f4'"},
        {"{'descr': '>f2', 'fortran_order': False, 'shape': (2,)}", "type '>f2'"},
        {"{'descr': '<f2', 'fortran_order': False, 'shape': (3,)}", "is cut: its shape needs 6 bytes, 4 are there"},
        {"{'descr': '<f2', 'fortran_order': False, 'shape': (1,)}", "has more bytes than its shape needs (2)"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (2,)}", "type '|O'"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "not a simple element type"},
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1)}", "Fortran order"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "is cut: its shape needs 8 bytes, 4 are there"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (0,)}", "has more bytes than its shape needs (0)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_with_header("bad", 1, cases[i].header, 4);
        expect_failure("bad", cases[i].part);
    }
    write_with_header("bad", 4, "{}", 0);
    expect_failure("bad", "version 4.0");
    scratch_write("bad", "\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF", 12);
    expect_failure("bad", "4294967295 bytes");
    scratch_write("bad", "PK\x03\x04 a zip file", 16);
    expect_failure("bad", "is not a .npy file");
    scratch_write("bad", "\x93NUMPY\x01\x00\x04\x00{\0 }", 14);
    expect_failure("bad", "NUL");
    expect_failure("missing", "No such file");
}

/* 1, −2, the smallest subnormal, infinity: float32 in memory. */
static void float16_is_widened(void **state) {
    (void)state;
    const unsigned char halves[] = {0x00, 0x3c, 0x00, 0xc0, 0x01, 0x00, 0x00, 0x7c};
    const float want[] = {1, -2, 0x1p-24f, INFINITY};
    char bytes[64 + 128];
    const char header[] = "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 2), }\n";
    memcpy(bytes, "\x93NUMPY\x01\x00", 8);
    bytes[8] = (char)(sizeof header - 1), bytes[9] = 0;
    memcpy(bytes + 10, header, sizeof header - 1);
    memcpy(bytes + 10 + sizeof header - 1, halves, sizeof halves);
    scratch_write("half", bytes, 10 + sizeof header - 1 + sizeof halves);
    lab_array array;
    assert_int_equal(lab_npy_read(&array, scratch_path("half"), NULL), LOCUS_OK);
    assert_int_equal(array.dtype, LAB_F32);
    assert_int_equal(array.rank, 2);
    assert_memory_equal(array.data, want, sizeof want);
    lab_array_free(&array);
}

static void every_prefix_is_refused(void **state) {
    (void)state;
    char bytes[NUMPY_BYTES + 1] = {0};
    numpy_file(bytes);
    for (size_t length = 0; length < NUMPY_BYTES; length++) {
        scratch_write("prefix", bytes, length);
        expect_failure("prefix", length >= 128 || length < 12 ? "is cut" : "");
    }
    scratch_write("prefix", bytes, NUMPY_BYTES + 1);
    expect_failure("prefix", "has more bytes than its shape needs (24)");
}

/* Every third bit of the header: refused, or read as the array that the changed header describes. */
static void flipped_bits_never_crash(void **state) {
    (void)state;
    char bytes[NUMPY_BYTES];
    size_t refused = 0;
    for (size_t bit = 0; bit < 8 * 128; bit += 3) {
        numpy_file(bytes);
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
        scratch_write("flipped", bytes, sizeof bytes);
        lab_array array;
        locus_error error = {0};
        locus_status status = lab_npy_read(&array, scratch_path("flipped"), &error);
        if (status == LOCUS_OK) {
            assert_int_equal(lab_array_count(&array) * lab_dtype_size(array.dtype), 24);
        } else {
            assert_int_equal(status, LOCUS_ERROR_IO);
            assert_true(strlen(error.message) > 10 && !strchr(error.message, '\n'));
            refused++;
        }
        lab_array_free(&array);
    }
    assert_true(refused > 300);
}

static void writing_refuses_what_it_cannot_describe(void **state) {
    (void)state;
    locus_error error = {0};
    lab_array array = {.dtype = (lab_dtype)77};
    assert_int_equal(lab_npy_write(&array, scratch_path("never"), &error), LOCUS_ERROR_ARGUMENT);
    array = (lab_array){.dtype = LAB_F32, .rank = LAB_MAX_RANK + 1};
    assert_int_equal(lab_npy_write(&array, scratch_path("never"), &error), LOCUS_ERROR_ARGUMENT);
    float value = 1;
    array = (lab_array){.dtype = LAB_F32, .data = &value};
    assert_int_equal(lab_npy_write(&array, scratch_path("no/folder"), &error), LOCUS_ERROR_IO);
}

/* ---- arrays ---- */

static void arrays_and_their_shapes(void **state) {
    (void)state;
    static const int64_t shape[] = {2, 3, 5, 7, 1, 1, 9223372036854775807, -1};
    char text[LAB_SHAPE_TEXT];
    lab_shape_text(0, shape, text);
    assert_string_equal(text, "[]");
    lab_shape_text(1, shape, text);
    assert_string_equal(text, "[2]");
    lab_shape_text(8, shape, text);
    assert_string_equal(text, "[2, 3, 5, 7, 1, 1, 9223372036854775807, -1]");
    lab_array array = {.rank = 4, .shape = {2, 3, 5, 7}};
    assert_int_equal(lab_array_count(&array), 210);
    array.shape[2] = 0;
    assert_int_equal(lab_array_count(&array), 0);
    array.rank = 0;
    assert_int_equal(lab_array_count(&array), 1);
    array = (lab_array){.rank = 3, .shape = {INT64_MAX, 2, 1}};
    assert_true(lab_array_count(&array) == SIZE_MAX - 1);
    array.shape[2] = 2;
    assert_true(lab_array_count(&array) == SIZE_MAX);
    array.shape[2] = -1;
    assert_int_equal(lab_array_count(&array), 0);
    locus_error error = {0};
    const int64_t large[] = {4194304, 2097152}; /* 2⁴⁶ bytes */
    assert_int_equal(lab_array_create(&array, LAB_F64, 2, large, &error), LOCUS_ERROR_MEMORY);
    assert_string_equal(error.message, "out of memory: an array of shape [4194304, 2097152] takes 6.711e+07 MiB");
    assert_null(array.data);
}

static void elements_of_arrays(void **state) {
    (void)state;
    static const lab_dtype dtypes[] = {LAB_F32, LAB_F64};
    static const double values[] = {0.1, -2, 1e30, 5, 0.7, -0.25};
    const int64_t shape[] = {2, 3};
    for (size_t d = 0; d < 2; d++) {
        lab_array array;
        assert_int_equal(lab_array_create(&array, dtypes[d], 2, shape, NULL), LOCUS_OK);
        snprintf(array.name, sizeof array.name, "named");
        for (size_t i = 0; i < 6; i++) {
            assert_true(lab_array_at(&array, i) == 0);
            lab_array_set(&array, i, values[i]);
        }
        for (size_t turn = 0; turn < 2; turn++) { /* as it is, and wide */
            for (size_t i = 0; i < 6; i++)
                assert_true(lab_array_at(&array, i) == (d == 0 ? (double)(float)values[i] : values[i]));
            const locus_tensor tensor = lab_array_tensor(&array);
            assert_true(tensor.data == array.data && tensor.rank == 2 && tensor.shape[0] == 2 && tensor.shape[1] == 3);
            assert_int_equal(tensor.dtype, d + turn > 0 ? LOCUS_FLOAT64 : LOCUS_FLOAT32);
            assert_int_equal(lab_array_widen(&array, NULL), LOCUS_OK);
            assert_int_equal(array.dtype, LAB_F64);
            assert_string_equal(array.name, "named");
            assert_true(array.rank == 2 && array.shape[0] == 2 && array.shape[1] == 3);
        }
        lab_array_free(&array);
        assert_null(array.data);
        assert_int_equal(lab_array_create(&array, dtypes[d], 2, shape, NULL), LOCUS_OK);
        for (size_t i = 0; i < 6; i++) {
            assert_true(lab_array_finite(&array));
            lab_array_set(&array, i, i % 2 == 0 ? (double)NAN : -HUGE_VAL);
            assert_false(lab_array_finite(&array));
            lab_array_set(&array, i, 1);
        }
        lab_array_free(&array);
    }
    int32_t narrow[] = {1, INT32_MIN};
    int64_t wide[] = {2, INT64_MIN};
    const lab_array integers[] = {{.dtype = LAB_I32, .data = narrow}, {.dtype = LAB_I64, .data = wide}};
    assert_true(lab_array_integer(&integers[0], 0) == 1 && lab_array_integer(&integers[0], 1) == INT32_MIN);
    assert_true(lab_array_integer(&integers[1], 0) == 2 && lab_array_integer(&integers[1], 1) == INT64_MIN);
    assert_true(lab_dtype_size(LAB_F32) == 4 && lab_dtype_size(LAB_F64) == 8 && lab_dtype_size(LAB_I32) == 4 &&
                lab_dtype_size(LAB_I64) == 8);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_and_their_shapes),
        cmocka_unit_test(elements_of_arrays),
        cmocka_unit_test(what_numpy_writes_is_read),
        cmocka_unit_test(every_type_and_rank_comes_back),
        cmocka_unit_test(headers_may_be_written_in_several_ways),
        cmocka_unit_test(bad_headers_are_refused),
        cmocka_unit_test(float16_is_widened),
        cmocka_unit_test(every_prefix_is_refused),
        cmocka_unit_test(flipped_bits_never_crash),
        cmocka_unit_test(writing_refuses_what_it_cannot_describe),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
