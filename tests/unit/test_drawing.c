/* SPDX-License-Identifier: MIT */
/* A drawing as PNG: twice its size, and every shape where it was put, as thick and in the colour that was asked for. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "figures/drawing.h"
#include "figures/figure_attention.h"
#include "figures/panels.h"
#include "golden/planted_store.h"
#include "io/file.h"
#include "io/picture/picture.h"
#include "unit/scratch_folder.h"

enum {
    PLACES = LAB_ATTENTION_MOST_TOKENS + 2,
    WIDTH = 120,
    HEIGHT = 90,
    BLACK = 0x000000,
    RED = 0xff0000,
    GREEN = 0x00ff00,
    BLUE = 0x0000ff
};

/* Pixels of the picture in a box of the drawing that are nearer to a colour than to white. */
static size_t count(const lab_picture *picture, lab_point corner, lab_point opposite, unsigned colour) {
    size_t found = 0;
    for (size_t y = 2 * (size_t)corner.y; y < 2 * (size_t)opposite.y; y++)
        for (size_t x = 2 * (size_t)corner.x; x < 2 * (size_t)opposite.x; x++) {
            const uint8_t *rgb = picture->rgb + (y * picture->width + x) * 3;
            const unsigned red = colour >> 16, green = colour >> 8 & 255, blue = colour & 255;
            found +=
                (size_t)(abs((int)rgb[0] - (int)red) + abs((int)rgb[1] - (int)green) + abs((int)rgb[2] - (int)blue) <
                         128);
        }
    return found;
}

static void expect(const char *what, size_t found, size_t least, size_t most) {
    if (found < least || found > most)
        fail_msg("%s: %zu pixels, not %zu to %zu", what, found, least, most);
}

static lab_drawing *draw(void) {
    lab_drawing *drawing = lab_drawing_create(WIDTH, HEIGHT);
    assert_non_null(drawing);
    lab_draw_segment(drawing, (lab_point){10, 10}, (lab_point){50, 10}, (lab_stroke){.colour = BLACK, .width = 4});
    lab_draw_segment(drawing, (lab_point){10, 20}, (lab_point){50, 20},
                     (lab_stroke){.colour = BLACK, .width = 1, .dashed = true});
    lab_draw_box(drawing, (lab_point){60, 5}, (lab_point){80, 25}, RED);
    lab_draw_disc(drawing, (lab_point){100, 20}, 10, BLUE, 0, 0);
    lab_draw_disc(drawing, (lab_point){100, 60}, 10, GREEN, BLACK, 3);
    lab_draw_text(drawing, (lab_point){10, 60}, (lab_label){.size = 20, .colour = BLACK}, "MMM");
    lab_draw_text(drawing, (lab_point){75, 85}, (lab_label){.size = 10, .colour = BLACK, .anchor = LAB_END}, "MMM");
    return drawing;
}

static void shapes_of_a_png(void **state) {
    (void)state;
    locus_error error = {0};
    lab_picture picture = {0};
    lab_drawing *drawing = draw();
    const locus_status status = lab_drawing_write(drawing, scratch_path("shapes.png"), &error);
    lab_drawing_free(drawing);
    if (status == LOCUS_ERROR_UNSUPPORTED)
        skip(); /* no rsvg-convert here */
    if (status != LOCUS_OK || lab_picture_read(&picture, scratch_path("shapes.png"), &error) != LOCUS_OK) {
        fail_msg("%s", error.message);
        return;
    }
    assert_int_equal(picture.width, 2 * WIDTH);
    assert_int_equal(picture.height, 2 * HEIGHT);
    expect("a line", count(&picture, (lab_point){15, 0}, (lab_point){45, 15}, BLACK), 400, 540);
    expect("a dashed line", count(&picture, (lab_point){15, 15}, (lab_point){45, 25}, BLACK), 5, 90);
    expect("a box", count(&picture, (lab_point){55, 0}, (lab_point){85, 30}, RED), 1500, 1600);
    expect("a disc", count(&picture, (lab_point){85, 5}, (lab_point){115, 35}, BLUE), 1180, 1290);
    expect("a disc in a rim", count(&picture, (lab_point){85, 45}, (lab_point){115, 75}, GREEN), 850, 1000);
    expect("a rim", count(&picture, (lab_point){85, 45}, (lab_point){115, 75}, BLACK), 650, 800);
    expect("a text", count(&picture, (lab_point){10, 42}, (lab_point){75, 61}, BLACK), 300, 2000);
    expect("left of the text", count(&picture, (lab_point){0, 42}, (lab_point){10, 61}, BLACK), 0, 0);
    expect("a text's end", count(&picture, (lab_point){40, 72}, (lab_point){76, 86}, BLACK), 50, 1000);
    expect("right of its end", count(&picture, (lab_point){76, 72}, (lab_point){84, 90}, BLACK), 0, 0);
    lab_picture_free(&picture);
}

static void colours_of_series(void **state) {
    (void)state;
    for (size_t i = 0; i < 16; i++)
        for (size_t j = 0; j < i; j++)
            assert_int_equal(lab_series_colour(i) == lab_series_colour(j), i == j + 8);
}

/* Numbers stand at every 1st, 2nd, 5th, 10th … point of a line or a ring: the least of these at which they have 22
 * pixels. */
static void check_labels(const char *text, int64_t points, size_t seen[10]) {
    static const int64_t every[10] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000};
    locus_group *group = NULL;
    lab_layout layout;
    locus_error error = {0};
    char *page = NULL;
    size_t bytes, at = 0, found = 0;
    assert_int_equal(locus_group_parse(text, &group, &error), LOCUS_OK);
    assert_int_equal(lab_layout_open(&layout, group, &error), LOCUS_OK);
    assert_int_equal(lab_layout_fill(&layout, points, 0, &error), LOCUS_OK);
    assert_int_equal(lab_layout_measure(&layout, 200, &error), LOCUS_OK);
    const bool ring = layout.kind == LAB_PANEL_RING;
    const double step = ring ? 2 * acos(-1) * layout.step / (double)points : layout.step;
    while (at < 9 && (double)every[at] * step < 22)
        at++;
    seen[at]++;
    lab_drawing *drawing = lab_drawing_create(100, 100);
    lab_panels_labels(&layout, drawing, 3);
    assert_int_equal(lab_drawing_write(drawing, scratch_path("labels.svg"), &error), LOCUS_OK);
    assert_int_equal(lab_file_read(scratch_path("labels.svg"), &page, &bytes, &error), LOCUS_OK);
    for (char *end = strstr(page, "</text>"); end != NULL; end = strstr(end + 1, "</text>"), found++) {
        const char *begin = end;
        while (begin[-1] != '>')
            begin--;
        assert_int_equal(strtoll(begin, NULL, 10), every[at] * (int64_t)found);
    }
    assert_int_equal(found, (points - 1) / every[at] + 1);
    free(page);
    lab_drawing_free(drawing);
    lab_layout_close(&layout);
    locus_group_destroy(&group);
}

/* 0.19 of the least distance between neighbours, from 1.6 to 5 pixels; the first cycle goes twice as far round. */
static void points_of_a_torus_stand_apart(void **state) {
    lab_layout layout = {.kind = LAB_PANEL_TORUS, .count = 2, .ranges = {{.high = 7}, {.high = 3}}, .step = 40};
    (void)state;
    assert_true(fabs(lab_panels_radius(&layout) - 0.19 * 20) < 1e-12);
    layout.ranges[0].high = 15;
    assert_true(fabs(lab_panels_radius(&layout) - 0.19 * 10) < 1e-12);
    layout.ranges[1].high = 9;
    assert_true(fabs(lab_panels_radius(&layout) - 1.6) < 1e-12);
    layout.step = 1000;
    assert_true(fabs(lab_panels_radius(&layout) - 5) < 1e-12);
}

static void labels_are_thinned(void **state) {
    (void)state;
    static const int64_t points[] = {4, 7, 12, 30, 60, 99, 150, 300, 700, 1500};
    size_t seen[10] = {0};
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        char text[32];
        snprintf(text, sizeof text, "cycle:%d", (int)points[i]);
        check_labels(text, points[i], seen);
        check_labels("seq", points[i], seen);
    }
    for (size_t at = 0; at < 7; at++)
        assert_true(seen[at] > 0);
}

/* Cell (query, key) of a head has a weight of its own: below the first step, at steps, between them, above the last. */
static void fill_weights(float *weights, size_t heads, size_t queries, size_t keys) {
    for (size_t h = 0; h < heads; h++)
        for (size_t i = 0; i < queries * keys; i++)
            weights[h * queries * keys + i] = h == 0 ? (float)i / (float)(queries * keys - 1) : i == 0 ? 1.2f : 0.024f;
}

static void add_picture(FILE *to, const lab_attention_maps *maps, const lab_attention_input *input) {
    char *text = NULL;
    size_t bytes;
    locus_error error = {0};
    assert_int_equal(lab_figure_attention(maps, input, "a < b & c", scratch_path("maps.svg"), &error), LOCUS_OK);
    assert_int_equal(lab_file_read(scratch_path("maps.svg"), &text, &bytes, &error), LOCUS_OK);
    fputs(text, to);
    free(text);
}

/* The three attentions of an encoder–decoder, one of them without its first layer; and a decoder alone that reads more
 * tokens than large cells have room for. As tests/golden/attention_maps.txt has them. */
static void attentions(void **state) {
    (void)state;
    float own[2 * 9], made[2 * 4], cross[2 * 6], alone[21 * 21];
    lab_token_name read[21] = {{"a"}, {"<é>"}, {"&"}}, start[2] = {{"start"}, {"x"}};
    const lab_attention_map pair[] = {
        {.heads = 2, .queries = 3, .keys = 3, .weights = own},
        {.decoder = true, .layer = 0, .heads = 2, .queries = 2, .keys = 2, .weights = made},
        {.decoder = true, .layer = 1, .heads = 2, .queries = 2, .keys = 2, .weights = made},
        {.decoder = true, .cross = true, .layer = 1, .heads = 2, .queries = 2, .keys = 3, .weights = cross}};
    lab_attention_map wide[] = {{.decoder = true, .heads = 1, .queries = 21, .keys = 21, .weights = alone}};
    char *text = NULL;
    size_t bytes;
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    fill_weights(own, 2, 3, 3);
    fill_weights(made, 2, 2, 2);
    fill_weights(cross, 2, 2, 3);
    fill_weights(alone, 1, 21, 21);
    lab_attention_input input = {.read = read, .made = start, .read_count = 3, .made_count = 2};
    add_picture(stream, &(lab_attention_maps){.count = 4, .maps = (lab_attention_map *)(uintptr_t)pair}, &input);
    for (size_t i = 0; i < 21; i++)
        snprintf(read[i].text, sizeof read[i].text, "%zu", i);
    input = (lab_attention_input){.read = read, .read_count = 21};
    add_picture(stream, &(lab_attention_maps){.count = 1, .maps = wide}, &input);
    wide[0].queries = wide[0].keys = 20;
    add_picture(stream, &(lab_attention_maps){.count = 1, .maps = wide}, &input);
    /* More than there are tokens of a text: places, of which those alike in a row are drawn as one. */
    lab_token_name many[PLACES] = {{"p"}};
    float field[2 * PLACES];
    for (size_t i = 0; i < 2 * PLACES; i++)
        field[i] = (float)(i / 4 * 5 % 7) / 20;
    const lab_attention_map places[] = {
        {.decoder = true, .cross = true, .heads = 1, .queries = 2, .keys = PLACES, .weights = field}};
    input = (lab_attention_input){.read = many, .made = start, .read_count = PLACES, .made_count = 2};
    add_picture(stream, &(lab_attention_maps){.count = 1, .maps = (lab_attention_map *)(uintptr_t)places}, &input);
    assert_int_equal(fclose(stream), 0);
    planted_text_is(text, "attention_maps.txt");
    free(text);
}

/* Both ends and the middle have their own; beyond the ends is as at them, and what is no number in the middle. */
static void diverging_colours(void **state) {
    (void)state;
    assert_int_equal(lab_diverging_colour(-1), 0x8e1b27);
    assert_int_equal(lab_diverging_colour(-3), 0x8e1b27);
    assert_int_equal(lab_diverging_colour(0), 0xf7f7f7);
    assert_int_equal(lab_diverging_colour((double)NAN), 0xf7f7f7);
    assert_int_equal(lab_diverging_colour(0.5), 0x85bcdb);
    assert_int_equal(lab_diverging_colour(0.125), 0xe1edf3);
    assert_int_equal(lab_diverging_colour(1), 0x144d85);
    assert_int_equal(lab_diverging_colour(INFINITY), 0x144d85);
}

static void draw_arrow(const lab_point *points, size_t many, double width, const char *name) {
    locus_error error = {0};
    lab_drawing *drawing = lab_drawing_create(WIDTH, HEIGHT);
    assert_non_null(drawing);
    lab_draw_line(drawing, points, many, (lab_stroke){.colour = BLACK, .width = width, .arrow = true});
    if (lab_drawing_write(drawing, scratch_path(name), &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    lab_drawing_free(drawing);
}

/* The line ends where its head begins, however many points lie inside of that; a line shorter than its head stays. */
static void arrows(void **state) {
    (void)state;
    static const lab_point points[] = {{10, 10},
                                       {60, 10},
                                       {60, 50},
                                       {62, 51},
                                       {63, 51},
                                       /* the last three are a line whose head reaches back over the two before */
                                       {60, 10},
                                       {61, 49},
                                       {62, 50},
                                       {60, 50},
                                       {62, 51},
                                       {63, 51}};
    static const struct {
        size_t first, many;
        double width;
        const char *line, *head;
    } cases[] = {
        {0, 3, 2, "10.00,10.00 60.00,10.00 60.00,44.12", "60.00,50.00 56.47,41.60 63.53,41.60"},
        {1, 2, 2, "60.00,10.00 60.00,44.12", "60.00,50.00 56.47,41.60 63.53,41.60"},
        {0, 5, 2, "10.00,10.00 60.00,10.00 62.57,45.14 62.57,45.14 62.57,45.14", "63.00,51.00 58.87,42.88 65.91,42.36"},
        {0, 5, 1, "10.00,10.00 60.00,10.00 62.59,45.41 62.59,45.41 62.59,45.41", "63.00,51.00 59.07,43.27 65.77,42.78"},
        {8, 3, 2, "60.00,50.00 62.00,51.00 63.00,51.00", "63.00,51.00 53.92,51.69 56.15,45.00"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = NULL, lines[400];
        size_t bytes;
        draw_arrow(points + cases[i].first, cases[i].many, cases[i].width, "arrow.svg");
        assert_int_equal(lab_file_read(scratch_path("arrow.svg"), &text, &bytes, NULL), LOCUS_OK);
        snprintf(lines, sizeof lines,
                 "<polyline points=\"%s\" fill=\"none\" stroke=\"#000000\" stroke-width=\"%g\"/>\n"
                 "<polygon points=\"%s\" fill=\"#000000\"/>\n",
                 cases[i].line, cases[i].width, cases[i].head);
        if (strstr(text, lines) == NULL)
            fail_msg("%s has not:\n%s", text, lines);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(attentions),
                                       cmocka_unit_test(arrows),
                                       cmocka_unit_test(shapes_of_a_png),
                                       cmocka_unit_test(colours_of_series),
                                       cmocka_unit_test(diverging_colours),
                                       cmocka_unit_test(labels_are_thinned),
                                       cmocka_unit_test(points_of_a_torus_stand_apart)};
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
