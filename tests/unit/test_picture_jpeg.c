/* SPDX-License-Identifier: MIT */
/* JPEG pictures: what libjpeg's own encoder writes is read back nearly, as colour, grey and inks, baseline and
 * progressive; what is cut at any byte, damaged, coded arithmetically or of too many scans is one line. And pictures of
 * another size: a flat one stays flat, whole factors are means, the mean is kept, growing is linear, and what has the
 * size stays as it is. */
#include "io/picture/picture_formats.h"
#include "io/picture/picture_scale.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <jpeglib.h>

#include "unit/scratch_folder.h"

enum { WIDTH = 24, HEIGHT = 19, PIXELS = WIDTH * HEIGHT, NEAR = 6 };

/* Slow waves, which JPEG keeps nearly as they are. */
static uint8_t value_at(size_t x, size_t y, size_t channel) {
    return (uint8_t)(40 + 5 * x + (channel + 1) * y);
}

/* ---- writing ---- */

typedef struct recipe {
    J_COLOR_SPACE space;
    int channels;
    bool progressive, arithmetic;
    int scans;     /* of a progressive one, up to 253; 0: the usual ones */
    int flat;      /* the value everywhere, which JPEG keeps as it is; 0: waves */
    bool plain;    /* inks as they are, without the mark of Adobe's programs */
    size_t height; /* 0: HEIGHT */
} recipe;

/* From malloc. */
static unsigned char *encode(const recipe *how, unsigned long *bytes) {
    struct jpeg_compress_struct encoder;
    struct jpeg_error_mgr errors;
    unsigned char *out = NULL, row[4 * WIDTH];
    jpeg_scan_info scans[300];
    encoder.err = jpeg_std_error(&errors);
    jpeg_create_compress(&encoder);
    jpeg_mem_dest(&encoder, &out, bytes);
    encoder.image_width = WIDTH;
    const size_t height = how->height > 0 ? how->height : HEIGHT;
    encoder.image_height = (JDIMENSION)height;
    encoder.input_components = how->channels;
    encoder.in_color_space = how->space;
    jpeg_set_defaults(&encoder);
    jpeg_set_quality(&encoder, 98, TRUE);
    encoder.arith_code = how->arithmetic;
    encoder.write_Adobe_marker = encoder.write_Adobe_marker && !how->plain;
    if (how->progressive)
        jpeg_simple_progression(&encoder);
    for (int i = 0; i < how->scans; i++) { /* the mean, then each other coefficient, to four places one by one */
        const int place = i == 0 ? 1 : (i - 1) % 63 + 1, pass = i == 0 ? 0 : (i - 1) / 63;
        scans[i] = i == 0 ? (jpeg_scan_info){1, {0}, 0, 0, 0, 0}
                          : (jpeg_scan_info){1, {0}, place, place, pass == 0 ? 0 : 4 - pass, 3 - pass};
    }
    if (how->scans > 0) {
        encoder.scan_info = scans;
        encoder.num_scans = how->scans;
    }
    jpeg_start_compress(&encoder, TRUE);
    for (size_t y = 0; y < height; y++) {
        JSAMPROW from = row;
        for (size_t x = 0; x < WIDTH; x++)
            for (size_t c = 0; c < (size_t)how->channels; c++)
                row[x * (size_t)how->channels + c] = c == 3          ? 200
                                                     : how->flat > 0 ? (uint8_t)how->flat
                                                                     : value_at(x, y, how->channels == 1 ? 0 : c);
        jpeg_write_scanlines(&encoder, &from, 1);
    }
    jpeg_finish_compress(&encoder);
    jpeg_destroy_compress(&encoder);
    return out;
}

static void put(const recipe *how, unsigned long cut) {
    unsigned long bytes = 0;
    unsigned char *out = encode(how, &bytes);
    scratch_write("p.jpg", out, cut > 0 && cut < bytes ? cut : bytes);
    free(out);
}

/* ---- reading ---- */

static void expect_near(const recipe *how) {
    lab_picture picture;
    locus_error error = {0};
    put(how, 0);
    if (lab_picture_read(&picture, scratch_path("p.jpg"), &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    assert_true(picture.width == WIDTH && picture.height == HEIGHT);
    for (size_t i = 0; i < 3 * PIXELS; i++) {
        const size_t x = i / 3 % WIDTH, y = i / 3 / WIDTH, channel = i % 3;
        int wanted = value_at(x, y, how->channels == 1 ? 0 : channel);
        if (how->channels == 4) /* Adobe's inks are inverted: 255 is none of it */
            wanted = wanted * 200 / 255;
        if (abs(picture.rgb[i] - wanted) > NEAR)
            fail_msg("%zu, %zu, channel %zu: %d, not %d", x, y, channel, picture.rgb[i], wanted);
    }
    lab_picture_free(&picture);
}

static void test_kinds(void **state) {
    (void)state;
    static const recipe recipes[] = {
        {JCS_RGB, 3, false, false, 0, 0, false, 0},
        {JCS_RGB, 3, true, false, 0, 0, false, 0},
        {JCS_GRAYSCALE, 1, false, false, 0, 0, false, 0},
        {JCS_CMYK, 4, false, false, 0, 0, false, 0},
    };
    for (size_t i = 0; i < sizeof recipes / sizeof *recipes; i++)
        expect_near(&recipes[i]);
}

/* A limit that the environment sets the library's memory to, in thousands of bytes, is not ours: of a progressive
 * picture all coefficients are kept. */
static void test_memory(void **state) {
    (void)state;
    const recipe how = {JCS_RGB, 3, true, false, 0, 100, false, 400};
    lab_picture picture;
    locus_error error = {0};
    put(&how, 0);
    assert_int_equal(setenv("JPEGMEM", "1", 1), 0);
    const locus_status status = lab_picture_read(&picture, scratch_path("p.jpg"), &error);
    assert_int_equal(unsetenv("JPEGMEM"), 0);
    if (status != LOCUS_OK)
        fail_msg("%s", error.message);
    assert_true(picture.width == WIDTH && picture.height == how.height);
    for (size_t i = 0; i < 3 * WIDTH * how.height; i++)
        assert_int_equal(picture.rgb[i], how.flat);
    lab_picture_free(&picture);
}

/* Ink times what black leaves of it, rounded. */
static void test_inks(void **state) {
    (void)state;
    static const int inks[][3] = {{1, 1, 55},    {2, 2, 55},    {50, 39, 44}, {100, 78, 33},
                                  {101, 79, 33}, {254, 199, 0}, {255, 200, 0}};
    for (size_t i = 0; i < 2 * (sizeof inks / sizeof *inks); i++) {
        lab_picture picture;
        put(&(recipe){.space = JCS_CMYK, .channels = 4, .flat = inks[i / 2][0], .plain = i % 2}, 0);
        assert_int_equal(lab_picture_read(&picture, scratch_path("p.jpg"), NULL), LOCUS_OK);
        for (size_t v = 0; v < 3 * PIXELS; v++)
            assert_int_equal(picture.rgb[v], inks[i / 2][1 + i % 2]);
        lab_picture_free(&picture);
    }
}

static void expect_failure(const char *says) {
    lab_picture picture;
    locus_error error = {0};
    assert_int_equal(lab_picture_read(&picture, scratch_path("p.jpg"), &error), LOCUS_ERROR_IO);
    assert_null(picture.rgb);
    assert_null(strchr(error.message, '\n'));
    if (strstr(error.message, says) == NULL || strstr(error.message, "p.jpg") == NULL)
        fail_msg("'%s' is not in: %s", says, error.message);
}

static void test_cut(void **state) {
    (void)state;
    static const recipe recipes[] = {{JCS_RGB, 3, false, false, 0, 0, false, 0},
                                     {JCS_RGB, 3, true, false, 0, 0, false, 0}};
    for (size_t i = 0; i < 2; i++) {
        unsigned long bytes = 0;
        free(encode(&recipes[i], &bytes));
        for (unsigned long cut = 3; cut < bytes - 2; cut += 1 + cut / 40) { /* the last two say that it ends */
            put(&recipes[i], cut);
            expect_failure("is cut or damaged: ");
        }
    }
    scratch_write("p.jpg", "\xff\xd8", 2);
    expect_failure("is neither a PNG, JPEG nor");
}

static void test_refused(void **state) {
    (void)state;
    const recipe many = {JCS_GRAYSCALE, 1, false, false, 201, 0, false, 0},
                 some = {JCS_GRAYSCALE, 1, false, false, 200, 0, false, 0};
    lab_picture picture;
    locus_error error = {0};
    put(&some, 0);
    assert_int_equal(lab_picture_read(&picture, scratch_path("p.jpg"), &error), LOCUS_OK);
    lab_picture_free(&picture);
    put(&many, 0);
    expect_failure("it has more than 200 scans");
#ifdef C_ARITH_CODING_SUPPORTED
    const recipe arithmetic = {JCS_RGB, 3, false, true, 0, 0, false, 0};
    put(&arithmetic, 0);
    expect_failure("it is coded arithmetically");
#endif
}

/* A picture of `bytes` bytes whose head promises other sizes. */
static void promise(unsigned char *out, unsigned long bytes, unsigned long width, unsigned long height) {
    for (unsigned long i = 0; i + 9 < bytes; i++) {
        if (out[i] == 0xFF && out[i + 1] == 0xC0) { /* the frame: length, depth, height, width */
            out[i + 5] = (unsigned char)(height >> 8);
            out[i + 6] = (unsigned char)(height & 0xFF);
            out[i + 7] = (unsigned char)(width >> 8);
            out[i + 8] = (unsigned char)(width & 0xFF);
            break;
        }
    }
    scratch_write("p.jpg", out, bytes);
}

/* What the library stops at, not warns of: twelve bits. */
static void test_errors(void **state) {
    (void)state;
    unsigned long bytes = 0;
    const recipe how = {JCS_RGB, 3, false, false, 0, 0, false, 0};
    unsigned char *out = encode(&how, &bytes);
    for (unsigned long i = 0; i + 9 < bytes; i++)
        if (out[i] == 0xFF && out[i + 1] == 0xC0)
            out[i + 4] = 12;
    scratch_write("p.jpg", out, bytes);
    expect_failure("is cut or damaged: Unsupported JPEG data precision 12");
    free(out);
}

/* Of more than 1,024 pixels for each byte, as 16,000 × 16,000 are, nothing is allocated. */
static void test_promise(void **state) {
    (void)state;
    unsigned long bytes = 0;
    const recipe how = {JCS_RGB, 3, false, false, 0, 0, false, 0};
    unsigned char *out = encode(&how, &bytes);
    lab_picture picture;
    locus_error error = {0};
    promise(out, bytes, 16000, 16000);
    expect_failure("so few bytes cannot hold so many pixels");
    promise(out, bytes, 1024, bytes + 1);
    expect_failure("so few bytes cannot hold so many pixels");
    promise(out, bytes, 1024, bytes);
    assert_int_not_equal(lab_picture_read(&picture, scratch_path("p.jpg"), &error), LOCUS_OK);
    assert_null(strstr(error.message, "so few bytes"));
    free(out);
}

/* ---- other sizes ---- */

static void scaled(const uint8_t *rgb, size_t width, size_t height, size_t side, uint8_t *planes) {
    uint8_t *own = malloc(3 * width * height);
    assert_non_null(own);
    memcpy(own, rgb, 3 * width * height);
    const lab_picture picture = {width, height, own};
    assert_int_equal(lab_picture_scale(&picture, side, planes, NULL), LOCUS_OK);
    free(own);
}

static void test_flat_and_same(void **state) {
    (void)state;
    uint8_t flat[3 * 7 * 11], planes[3 * 20 * 20], square[3 * 5 * 5];
    memset(flat, 137, sizeof flat);
    for (size_t side = 1; side <= 20; side++) {
        scaled(flat, 7, 11, side, planes);
        for (size_t i = 0; i < 3 * side * side; i++)
            assert_int_equal(planes[i], 137);
    }
    for (size_t i = 0; i < sizeof square; i++)
        square[i] = (uint8_t)(i * 37);
    scaled(square, 5, 5, 5, planes);
    for (size_t i = 0; i < sizeof square; i++)
        assert_int_equal(planes[i % 3 * 25 + i / 3], square[i]);
}

static void test_means(void **state) {
    (void)state;
    uint8_t rgb[3 * 12 * 6], planes[3 * 3 * 3];
    for (size_t i = 0; i < sizeof rgb; i++)
        rgb[i] = (uint8_t)(i * 91 % 251);
    scaled(rgb, 12, 6, 3, planes); /* areas of 4 × 2 */
    for (size_t c = 0; c < 3; c++) {
        for (size_t y = 0; y < 3; y++) {
            for (size_t x = 0; x < 3; x++) {
                size_t sum = 0;
                for (size_t i = 0; i < 8; i++)
                    sum += rgb[3 * ((2 * y + i / 4) * 12 + 4 * x + i % 4) + c];
                assert_in_range(planes[(c * 3 + y) * 3 + x], sum / 8, sum / 8 + 1);
            }
        }
    }
    const uint8_t line[3 * 3] = {0, 0, 0, 90, 90, 90, 240, 240, 240};
    scaled(line, 3, 1, 2, planes); /* areas of 1.5: (0 + 90/2)/1.5, (90/2 + 240)/1.5 */
    assert_int_equal(planes[0], 30);
    assert_int_equal(planes[1], 190);
}

static void test_growing(void **state) {
    (void)state;
    const uint8_t line[3 * 2] = {0, 0, 0, 200, 200, 200};
    uint8_t planes[3 * 4 * 4];
    scaled(line, 2, 1, 4, planes); /* centres at −0.25, 0.25, 0.75, 1.25 of the two */
    const uint8_t wanted[] = {0, 50, 150, 200};
    for (size_t y = 0; y < 4; y++)
        assert_memory_equal(planes + 4 * y, wanted, 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),   cmocka_unit_test(test_cut),           cmocka_unit_test(test_refused),
        cmocka_unit_test(test_promise), cmocka_unit_test(test_flat_and_same), cmocka_unit_test(test_means),
        cmocka_unit_test(test_growing), cmocka_unit_test(test_inks),          cmocka_unit_test(test_memory),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
