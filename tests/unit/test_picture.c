/* SPDX-License-Identifier: MIT */
/* Pictures: every kind of PNG and any-map becomes the same RGB; what is cut, bent or no picture is refused with one
 * line. */
#include "io/picture/picture.h"
#include <png.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/scratch_folder.h"

enum { WIDTH = 7, HEIGHT = 5, VALUES = WIDTH * HEIGHT * 3 };

static uint8_t sample[VALUES];

static void fill(void) {
    for (size_t i = 0; i < VALUES; i++)
        sample[i] = (uint8_t)(i * 89 + i / 3 * 41 + 7);
    memset(sample, 0, 3);
    memset(sample + 3, 255, 3);
}

static void expect_picture(const char *name, size_t width, size_t height, const uint8_t *rgb) {
    lab_picture picture;
    locus_error error = {0};
    if (lab_picture_read(&picture, scratch_path(name), &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(picture.width, width);
    assert_int_equal(picture.height, height);
    assert_memory_equal(picture.rgb, rgb, width * height * 3);
    lab_picture_free(&picture);
    assert_null(picture.rgb);
}

static void expect_failure(const char *name, const char *part) {
    lab_picture picture;
    locus_error error = {0};
    assert_int_equal(lab_picture_read(&picture, scratch_path(name), &error), LOCUS_ERROR_IO);
    assert_null(picture.rgb);
    assert_int_equal(picture.width, 0);
    assert_null(strchr(error.message, '\n'));
    if (!strstr(error.message, part) || !strstr(error.message, name))
        fail_msg("expected '%s' and '%s' in: %s", part, name, error.message);
}

/* A new file each time: some file systems wait for the disk when an old one is written over. */
static void write_anew(const char *name, const void *bytes, size_t count) {
    remove(scratch_path(name));
    scratch_write(name, bytes, count);
}

static size_t slurp(const char *name, unsigned char *bytes, size_t room) {
    FILE *file = fopen(scratch_path(name), "rb");
    assert_non_null(file);
    size_t count = fread(bytes, 1, room, file);
    fclose(file);
    assert_in_range(count, 1, room - 1);
    return count;
}

/* ---- any-maps ---- */

static void text(const char *name, const char *content) {
    scratch_write(name, content, strlen(content));
}

static void anymaps_of_all_kinds(void **state) {
    char bytes[64 + 2 * VALUES], *at = bytes;
    (void)state;
    size_t head = (size_t)sprintf(bytes, "P6\n%d %d\n255\n", WIDTH, HEIGHT);
    memcpy(bytes + head, sample, VALUES);
    scratch_write("p6", bytes, head + VALUES);
    expect_picture("p6", WIDTH, HEIGHT, sample);
    scratch_write("p6.more", bytes, head + VALUES + 3); /* what follows is another picture */
    expect_picture("p6.more", WIDTH, HEIGHT, sample);

    at += sprintf(at, "P6 # a comment\n#another\n%d\t%d # 9 9\n65535\n", WIDTH, HEIGHT);
    for (size_t i = 0; i < VALUES; i++, at += 2) { /* 257·v, and a little that rounding takes away */
        unsigned value = 257u * sample[i] + (sample[i] < 255 ? 100u : 0);
        at[0] = (char)(value >> 8);
        at[1] = (char)(value & 255);
    }
    scratch_write("p6.16", bytes, (size_t)(at - bytes));
    expect_picture("p6.16", WIDTH, HEIGHT, sample);

    static char plain[16 * VALUES];
    at = plain + sprintf(plain, "P3\n%d %d\n255\n", WIDTH, HEIGHT);
    for (size_t i = 0; i < VALUES; i++)
        at += sprintf(at, "%u%s", (unsigned)sample[i], i % 5 == 4 ? "\r\n# rest\n" : " ");
    scratch_write("p3", plain, (size_t)(at - plain));
    expect_picture("p3", WIDTH, HEIGHT, sample);
}

static void grey_and_other_scales(void **state) {
    static const uint8_t wanted[] = {0, 0, 0, 85, 85, 85, 170, 170, 170, 255, 255, 255};
    static const uint8_t halves[] = {0, 0, 0, 128, 128, 128, 255, 255, 255};
    (void)state;
    text("p2", "P2 2 2 3 0 1 2 3");
    expect_picture("p2", 2, 2, wanted);
    scratch_write("p5", "P5\n4 1\n3\n\0\1\2\3", 13);
    expect_picture("p5", 4, 1, wanted);
    scratch_write("p5.16", "P5 1 4 600 \0\0\0\310\1\220\2\130", 19);
    expect_picture("p5.16", 1, 4, wanted);
    scratch_write("p5.256", "P5 1 2 256 \0\0\1\0", 15); /* the least of two bytes each */
    expect_picture("p5.256", 1, 2, (const uint8_t[]){0, 0, 0, 255, 255, 255});
    text("p2.2", "P2\n#half\n1 3\n2\n0\n1\n2\n");
    expect_picture("p2.2", 1, 3, halves);
    text("p3.1", "P3 1 1 1 1 0 1");
    expect_picture("p3.1", 1, 1, (const uint8_t[]){255, 0, 255});
}

static void bent_anymaps(void **state) {
    (void)state;
    text("none", "P6\n7\n");
    expect_failure("none", "width, height and largest value");
    text("word", "P2 2 x 3 0 1 2 3");
    expect_failure("word", "width, height");
    text("zero", "P2 0 2 3 0");
    expect_failure("zero", "0×2 pixels");
    text("wide", "P6 16385 1 255 ");
    expect_failure("wide", "16385×1 pixels");
    text("absurd", "P6 99999999999999999999999999 2 255 ");
    expect_failure("absurd", "a side may have 1 to 16384");
    text("huge", "P6 16384 16384 255\n12345"); /* no memory is asked for it */
    expect_failure("huge", "is cut: 805306363 bytes");
    scratch_write("short", "P5 1 2 256 \0\0\1", 14);
    expect_failure("short", "is cut: 1 bytes of 1×2 pixels are missing at least");
    text("scale", "P2 1 1 65536 0");
    expect_failure("scale", "largest value");
    text("scale0", "P2 1 1 0 0");
    expect_failure("scale0", "largest value");
    text("above", "P2 2 1 3 1 4");
    expect_failure("above", "value 2 of 2 is above its largest value, 3");
    text("letter", "P2 2 1 3 1 y");
    expect_failure("letter", "value 2 of 2 is no number");
    text("minus", "P2 2 1 3 1 -1");
    expect_failure("minus", "no number");
    text("glued", "P5 1 1 255x");
    expect_failure("glued", "no space");
}

/* ---- PNG ---- */

typedef struct kind {
    int depth, colour;
    bool interlaced, transparent; /* transparent: one colour or palette entry is, by a tRNS chunk */
} kind;

/* The 8-bit value that pixel (x, y) has in channel c, 3 being alpha. */
static unsigned value_of(const kind *of, size_t x, size_t y, size_t c) {
    bool grey = (of->colour & PNG_COLOR_MASK_COLOR) == 0;
    return c == 3 ? (x + y) % 2 * 255u : sample[(y * WIDTH + x) * 3 + (grey ? 0 : c)];
}

static void fill_row(const kind *of, size_t y, unsigned char *row) {
    size_t at = 0;
    for (size_t x = 0; x < WIDTH; x++) {
        if (of->colour == PNG_COLOR_TYPE_PALETTE) {
            row[at++] = (unsigned char)(y * WIDTH + x);
            continue;
        }
        for (size_t c = 0; c < 4; c++) {
            bool there = c == 3   ? (of->colour & PNG_COLOR_MASK_ALPHA) != 0
                         : c == 0 ? true
                                  : (of->colour & PNG_COLOR_MASK_COLOR) != 0;
            for (int b = 0; there && b < of->depth / 8; b++) /* 257·v has the byte v twice */
                row[at++] = (unsigned char)value_of(of, x, y, c);
        }
    }
}

static void write_rows(png_structp writer, const kind *of) {
    int passes = png_set_interlace_handling(writer);
    for (int pass = 0; pass < passes; pass++)
        for (size_t y = 0; y < HEIGHT; y++) {
            unsigned char row[WIDTH * 8];
            fill_row(of, y, row);
            png_write_row(writer, row);
        }
}

static void write_png(const char *name, const kind *of) {
    FILE *file = fopen(scratch_path(name), "wb");
    png_structp writer = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(writer);
    assert_non_null(file);
    png_init_io(writer, file);
    png_set_IHDR(writer, info, WIDTH, HEIGHT, of->depth, of->colour,
                 of->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    if (of->colour == PNG_COLOR_TYPE_PALETTE) {
        png_color palette[WIDTH * HEIGHT];
        for (size_t i = 0; i < WIDTH * HEIGHT; i++)
            palette[i] = (png_color){sample[3 * i], sample[3 * i + 1], sample[3 * i + 2]};
        png_set_PLTE(writer, info, palette, WIDTH * HEIGHT);
        if (of->transparent)
            png_set_tRNS(writer, info, (const unsigned char[]){0}, 1, NULL);
    } else if (of->transparent) {
        png_set_tRNS(writer, info, NULL, 0, &(const png_color_16){0, 0, 0, 0, 0}); /* the first pixel's colour */
    }
    png_write_info(writer, info);
    write_rows(writer, of);
    png_write_end(writer, NULL);
    png_destroy_write_struct(&writer, &info);
    assert_int_equal(fclose(file), 0);
}

static void expected_picture(const kind *of, uint8_t rgb[VALUES]) {
    for (size_t y = 0; y < HEIGHT; y++)
        for (size_t x = 0; x < WIDTH; x++) {
            bool clear = (of->colour & PNG_COLOR_MASK_ALPHA) != 0 && of->colour != PNG_COLOR_TYPE_PALETTE &&
                         value_of(of, x, y, 3) == 0;
            bool first = of->transparent && x == 0 && y == 0;
            for (size_t c = 0; c < 3; c++)
                rgb[(y * WIDTH + x) * 3 + c] = (uint8_t)(clear || first ? 255 : value_of(of, x, y, c));
        }
}

static void png_of_all_kinds(void **state) {
    static const kind kinds[] = {
        {8, PNG_COLOR_TYPE_GRAY, false, false},      {16, PNG_COLOR_TYPE_GRAY, false, false},
        {8, PNG_COLOR_TYPE_RGB, false, false},       {16, PNG_COLOR_TYPE_RGB, false, false},
        {8, PNG_COLOR_TYPE_RGB, true, false},        {8, PNG_COLOR_TYPE_PALETTE, false, false},
        {8, PNG_COLOR_TYPE_PALETTE, false, true},    {8, PNG_COLOR_TYPE_PALETTE, true, false},
        {8, PNG_COLOR_TYPE_GRAY, false, true},       {8, PNG_COLOR_TYPE_RGB, false, true},
        {8, PNG_COLOR_TYPE_RGB_ALPHA, false, false}, {16, PNG_COLOR_TYPE_RGB_ALPHA, true, false},
        {8, PNG_COLOR_TYPE_GRAY_ALPHA, true, false}, {16, PNG_COLOR_TYPE_GRAY_ALPHA, false, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        uint8_t wanted[VALUES];
        write_png("kind", &kinds[i]);
        expected_picture(&kinds[i], wanted);
        expect_picture("kind", WIDTH, HEIGHT, wanted);
    }
}

static void what_is_written_is_read(void **state) {
    const lab_picture picture = {WIDTH, HEIGHT, sample}, flat = {1, VALUES / 3, sample};
    const lab_picture wide = {LAB_PICTURE_MOST, 1, calloc(LAB_PICTURE_MOST, 3)};
    lab_picture wider = {LAB_PICTURE_MOST + 1, 1, wide.rgb}, none = {0, 0, NULL};
    (void)state;
    assert_int_equal(lab_picture_write(&picture, scratch_path("round"), NULL), LOCUS_OK);
    expect_picture("round", WIDTH, HEIGHT, sample);
    assert_int_equal(lab_picture_write(&flat, scratch_path("round"), NULL), LOCUS_OK);
    expect_picture("round", 1, VALUES / 3, sample);
    assert_int_equal(lab_picture_write(&wide, scratch_path("round"), NULL), LOCUS_OK);
    expect_picture("round", LAB_PICTURE_MOST, 1, wide.rgb);
    assert_int_equal(lab_picture_write(&picture, scratch_path("round.ppm"), NULL), LOCUS_OK);
    expect_picture("round.ppm", WIDTH, HEIGHT, sample);
    assert_int_equal(lab_picture_write(&wider, scratch_path("round"), NULL), LOCUS_ERROR_IO);
    assert_int_equal(lab_picture_write(&none, scratch_path("round"), NULL), LOCUS_ERROR_IO);
    assert_int_equal(lab_picture_write(&picture, scratch_path("no/folder"), NULL), LOCUS_ERROR_IO);
    free(wide.rgb);
    lab_picture_free(&none);
}

static void too_wide_a_png(void **state) {
    FILE *file = fopen(scratch_path("wide.png"), "wb");
    png_structp writer = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(writer);
    (void)state;
    assert_non_null(file);
    png_init_io(writer, file);
    png_set_IHDR(writer, info, LAB_PICTURE_MOST + 1, 3, 8, PNG_COLOR_TYPE_RGB, 0, 0, 0);
    png_write_info(writer, info);
    png_destroy_write_struct(&writer, &info);
    fclose(file);
    expect_failure("wide.png", "16385×3 pixels");
}

static void write_head(unsigned width, unsigned height) {
    FILE *file = fopen(scratch_path("large.png"), "wb");
    png_structp writer = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(writer);
    assert_non_null(file);
    assert_int_equal(setjmp(png_jmpbuf(writer)), 0);
    png_init_io(writer, file);
    png_set_IHDR(writer, info, width, height, 8, PNG_COLOR_TYPE_RGB, 0, 0, 0);
    png_write_info(writer, info);
    png_destroy_write_struct(&writer, &info);
    assert_int_equal(fclose(file), 0);
}

/* The first would have asked for a gigabyte. */
static void a_png_that_states_more_than_it_can_hold(void **state) {
    (void)state;
    write_head(LAB_PICTURE_MOST, LAB_PICTURE_MOST);
    expect_failure("large.png", "33 bytes cannot hold 16384×16384 pixels");
    write_head(344, 34); /* 1,032 bytes a row: one more than there are */
    expect_failure("large.png", "33 bytes cannot hold 344×34 pixels");
    write_head(344, 33);
    expect_failure("large.png", "the file ends too early");
}

/* A chunk that libpng skips, before the head, with a smaller size where the head's should be. */
static void a_png_that_states_two_sizes(void **state) {
    static const unsigned char early[] = {0, 0, 0, 8, 'e', 'a', 'R', 'y', 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0};
    static unsigned char bytes[4096];
    const kind plain = {8, PNG_COLOR_TYPE_RGB, false, false};
    (void)state;
    write_png("two.png", &plain);
    size_t count = slurp("two.png", bytes, sizeof bytes - sizeof early);
    memmove(bytes + 8 + sizeof early, bytes + 8, count - 8);
    memcpy(bytes + 8, early, sizeof early);
    write_anew("two.png", bytes, count + sizeof early);
    expect_failure("two.png", "its head does not come first");
}

/* ---- damage ---- */

/* Reads it whatever comes of it: the sanitizers watch. true: it was taken. */
static bool survives(const char *name) {
    lab_picture picture;
    locus_error error = {0};
    locus_status status = lab_picture_read(&picture, scratch_path(name), &error);
    if (status != LOCUS_OK) {
        assert_int_equal(status, LOCUS_ERROR_IO);
        assert_null(picture.rgb);
        assert_non_null(strstr(error.message, name));
    }
    lab_picture_free(&picture);
    return status == LOCUS_OK;
}

static void cut_at_every_byte(void **state) {
    static unsigned char bytes[4096];
    char plain[8 * VALUES], *at = plain;
    const kind kinds[] = {{8, PNG_COLOR_TYPE_RGB, false, false},
                          {16, PNG_COLOR_TYPE_RGB_ALPHA, true, false},
                          {8, PNG_COLOR_TYPE_PALETTE, false, true}};
    (void)state;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        write_png("cut.png", &kinds[k]);
        size_t count = slurp("cut.png", bytes, sizeof bytes);
        assert_true(survives("cut.png"));
        for (size_t n = 0; n < count; n++) {
            write_anew("cut.png", bytes, n);
            assert_false(survives("cut.png"));
        }
    }
    size_t head = (size_t)sprintf((char *)bytes, "P6\n%d %d\n255\n", WIDTH, HEIGHT);
    memcpy(bytes + head, sample, VALUES);
    for (size_t n = 0; n < head + VALUES; n++) {
        write_anew("cut.ppm", bytes, n);
        assert_false(survives("cut.ppm"));
    }
    at += sprintf(at, "P2 # grey\n%d %d\n65535\n", WIDTH, HEIGHT);
    for (size_t i = 0; i < WIDTH * HEIGHT; i++)
        at += sprintf(at, "%u\n", 10000 + 257u * sample[i] / 2);
    for (size_t n = 0; n + 7 < (size_t)(at - plain); n++) { /* not within the last number */
        write_anew("cut.pgm", plain, n);
        assert_false(survives("cut.pgm"));
    }
}

static void bent_at_every_byte(void **state) {
    static const unsigned char flips[] = {0x10, 0xFF};
    static unsigned char bytes[4096];
    const kind palette = {8, PNG_COLOR_TYPE_PALETTE, false, true};
    size_t refused = 0, tried = 0;
    (void)state;
    write_png("bent", &palette);
    size_t counts[2] = {slurp("bent", bytes, sizeof bytes), 0};
    counts[1] = (size_t)sprintf((char *)bytes + 2048, "P6\n%d %d\n255\n", WIDTH, HEIGHT);
    memcpy(bytes + 2048 + counts[1], sample, VALUES);
    counts[1] += VALUES;
    for (size_t f = 0; f < 2; f++)
        for (size_t n = 0; n < counts[f]; n++)
            for (size_t i = 0; i < sizeof flips; i++) {
                unsigned char *content = bytes + 2048 * f;
                content[n] ^= flips[i];
                write_anew("bent", content, counts[f]);
                content[n] ^= flips[i];
                refused += !survives("bent");
                tried++;
            }
    assert_in_range(refused, tried / 10, tried);
}

static void what_is_no_picture(void **state) {
    lab_picture picture;
    locus_error error = {0};
    (void)state;
    text("text", "Pick a picture");
    expect_failure("text", "is neither a PNG, JPEG nor PPM or PGM picture");
    text("p", "P6");
    expect_failure("p", "is neither");
    text("p4", "P4 1 1 0");
    expect_failure("p4", "is neither");
    text("void", "");
    expect_failure("void", "is empty");
    text("begun", "\x89PNG\r\n\x1a\n"); /* a PNG file, of which nothing else is there */
    expect_failure("begun", "is cut or damaged");
    expect_failure("missing", "cannot read");
    assert_int_equal(lab_picture_read(&picture, scratch_path("."), &error), LOCUS_ERROR_IO);
    assert_non_null(strstr(error.message, "cannot read"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(anymaps_of_all_kinds),
        cmocka_unit_test(grey_and_other_scales),
        cmocka_unit_test(bent_anymaps),
        cmocka_unit_test(png_of_all_kinds),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(too_wide_a_png),
        cmocka_unit_test(a_png_that_states_more_than_it_can_hold),
        cmocka_unit_test(a_png_that_states_two_sizes),
        cmocka_unit_test(cut_at_every_byte),
        cmocka_unit_test(bent_at_every_byte),
        cmocka_unit_test(what_is_no_picture),
    };
    fill();
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
