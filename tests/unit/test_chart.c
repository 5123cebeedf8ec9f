/* SPDX-License-Identifier: MIT */
/* Charts of a page: places of values, lines that lose points but not their shape, numbers that are read back; texts
 * that stay texts; colours of encodings. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "figures/encoding_colour.h"
#include "golden/planted_store.h"
#include "page/chart_data.h"
#include "page/chart_draw.h"
#include "page/chart_frame.h"
#include "page/chart_path.h"
#include "page/markup.h"

#include <cjson/cJSON.h>

enum { MANY = 1000 };

/* What a function writes; from malloc. */
typedef struct written {
    char *text;
    size_t bytes;
    FILE *stream;
} written;

static FILE *begin(written *w) {
    w->stream = open_memstream(&w->text, &w->bytes);
    assert_non_null(w->stream);
    return w->stream;
}

static char *end(written *w) {
    assert_int_equal(fclose(w->stream), 0);
    return w->text;
}

static double noise(size_t i) {
    const double x = sin(12.9898 * (double)i) * 43758.5453;
    return x - floor(x);
}

/* ---- places ---- */

static void values_have_places(void **state) {
    (void)state;
    const double x[] = {10, 30}, y[] = {0.01, 100};
    const lab_series series = {.name = "s", .count = 2, .x = x, .y = y};
    lab_chart chart = {.id = "c", .width = 460, .height = 300, .log_y = true, .series = &series, .series_count = 1};
    lab_frame frame = lab_frame_of(&chart);
    assert_true(frame.x_low == 10 && frame.x_high == 30);
    assert_true(frame.y_low < 0.01 && frame.y_high > 100);
    frame.y_low = 0.01, frame.y_high = 100;
    assert_float_equal(lab_frame_x(&frame, 20), (frame.left + frame.right) / 2, 1e-9);
    assert_float_equal(lab_frame_y(&frame, 1), (frame.top + frame.bottom) / 2, 1e-9);
    assert_float_equal(lab_frame_y(&frame, 1e9), frame.top, 1e-9);
    assert_float_equal(lab_frame_y(&frame, 1e-9), frame.bottom, 1e-9);
    assert_false(lab_frame_has(&frame, 0));
    assert_false(lab_frame_has(&frame, NAN));
    assert_true(lab_frame_has(&frame, 5));
    chart.log_y = false, chart.y_low = -1, chart.y_high = 3;
    frame = lab_frame_of(&chart);
    assert_true(lab_frame_has(&frame, 0));
    assert_float_equal(lab_frame_y(&frame, 1), (frame.top + frame.bottom) / 2, 1e-9);
}

/* A chart of nothing, and of one value, has a field all the same. */
static void few_values_have_places(void **state) {
    (void)state;
    const double one[] = {5};
    const lab_series series = {.name = "s", .count = 1, .x = one, .y = one};
    for (size_t count = 0; count < 2; count++) {
        for (int log_y = 0; log_y < 2; log_y++) {
            const lab_chart chart = {
                .id = "c", .width = 460, .height = 300, .log_y = log_y, .series = &series, .series_count = count};
            const lab_frame frame = lab_frame_of(&chart);
            assert_true(frame.x_low < frame.x_high && frame.y_low < frame.y_high);
            assert_true(isfinite(lab_frame_x(&frame, 5)) && isfinite(lab_frame_y(&frame, 5)));
        }
    }
}

static void assert_frame(const lab_chart *chart, const double wanted[4]) {
    const lab_frame frame = lab_frame_of(chart);
    const double got[4] = {frame.x_low, frame.x_high, frame.y_low, frame.y_high};
    for (size_t i = 0; i < 4; i++)
        if (!(fabs(got[i] - wanted[i]) < 1e-12))
            fail_msg("%s: %.15g, not %.15g", (const char *const[]){"x_low", "x_high", "y_low", "y_high"}[i], got[i],
                     wanted[i]);
}

/* Ranges hold all values and their bands with 6 % of room, or a factor of 1.15, unless the chart says them; what is no
 * number, and on a logarithmic axis what is not above 0, is passed over. */
static void ranges_fit(void **state) {
    (void)state;
    const double x[] = {3, -2, 5}, y[] = {2, 4, 12}, low[] = {1, (double)NAN, 11}, high[] = {3, (double)NAN, 21};
    const double wild[] = {-1, 0, 10}, one[] = {7, 7, 7};
    lab_series series[2] = {{.name = "a", .count = 3, .x = x, .y = y}, {.name = "b", .count = 1, .x = wild, .y = wild}};
    lab_chart chart = {.id = "c", .width = 460, .height = 300, .series = series, .series_count = 1};
    lab_frame frame = lab_frame_of(&chart);
    assert_true(frame.left == 50 && frame.right == 446 && frame.top == 28 && frame.bottom == 258 && !frame.log_y);
    assert_frame(&chart, (const double[]){-2, 5, 1.4, 12.6});
    series[0].low = low;
    series[0].high = high;
    assert_frame(&chart, (const double[]){-2, 5, -0.2, 22.2});
    series[0].count = 2; /* the second has a value and no band */
    assert_frame(&chart, (const double[]){-2, 3, 1 - 0.18, 4 + 0.18});
    chart.log_y = true;
    assert_frame(&chart, (const double[]){-2, 3, 1 / 1.15, 4 * 1.15});
    chart.series_count = 2; /* the other's -1 is no value of this axis */
    assert_frame(&chart, (const double[]){-2, 3, 1 / 1.15, 4 * 1.15});
    chart.log_y = false;
    assert_frame(&chart, (const double[]){-2, 3, -1.3, 4.3});
    chart.series = &series[1];
    chart.series_count = 1;
    series[1].count = 3;
    chart.log_y = true;
    assert_frame(&chart, (const double[]){-1, 10, 10 / 1.15, 11.5});
    series[1].x = series[1].y = one;
    assert_frame(&chart, (const double[]){7, 8, 7 / 1.15, 7 * 1.15});
    chart.log_y = false;
    assert_frame(&chart, (const double[]){7, 8, 6.5, 7.5});
    chart.x_low = 1;
    chart.x_high = 2;
    assert_frame(&chart, (const double[]){1, 2, 6.5, 7.5});
    chart.y_low = -3;
    chart.y_high = -2;
    assert_frame(&chart, (const double[]){1, 2, -3, -2});
    chart = (lab_chart){.id = "c", .width = 460, .height = 300};
    assert_frame(&chart, (const double[]){0, 1, 0.5, 1.5});
    chart.log_y = true;
    assert_frame(&chart, (const double[]){0, 1, 1 / 1.15, 1.15});
    static const char *const names[] = {"one", "two\nlines"};
    chart.x_names = names;
    chart.x_name_count = 1;
    assert_true(lab_frame_of(&chart).bottom == 258);
    chart.x_name_count = 2;
    assert_true(lab_frame_of(&chart).bottom == 244);
}

/* ---- lines ---- */

static double off_line(lab_point at, const lab_point *line, size_t count) {
    double least = HUGE_VAL;
    for (size_t i = 0; i + 1 < count; i++) {
        const double x = line[i + 1].x - line[i].x, y = line[i + 1].y - line[i].y, square = x * x + y * y;
        const double along = square > 0 ? ((at.x - line[i].x) * x + (at.y - line[i].y) * y) / square : 0;
        const double share = fmin(fmax(along, 0), 1);
        least = fmin(least, hypot(at.x - line[i].x - share * x, at.y - line[i].y - share * y));
    }
    return least;
}

static void fill(lab_point *points, double roughness) {
    for (size_t i = 0; i < MANY; i++)
        points[i] = (lab_point){0.4 * (double)i, 200 * exp(-0.005 * (double)i) + roughness * noise(i)};
}

static void lines_keep_their_shape(void **state) {
    (void)state;
    static const double roughness[] = {0, 0.3, 5, 100};
    static const size_t most[] = {MANY, 100, 2};
    lab_point all[MANY], left[MANY];
    unsigned char room[MANY + 1];
    room[MANY] = 7; /* not the path's */
    for (size_t r = 0; r < sizeof roughness / sizeof *roughness; r++) {
        for (size_t m = 0; m < sizeof most / sizeof *most; m++) {
            fill(all, roughness[r]);
            memcpy(left, all, sizeof all);
            const size_t count = lab_path_simplify(left, MANY, 0.2, most[m], room);
            assert_in_range(count, 2, most[m] == 2 ? MANY : most[m]);
            assert_memory_equal(&left[0], &all[0], sizeof *all);
            assert_memory_equal(&left[count - 1], &all[MANY - 1], sizeof *all);
            for (size_t i = 0; most[m] == MANY && i < MANY; i++)
                assert_true(off_line(all[i], left, count) <= 0.2 + 1e-9);
        }
        fill(all, roughness[r]);
        assert_true(roughness[r] > 1 || lab_path_simplify(all, MANY, 0.2, MANY, room) < MANY / 2);
        assert_int_equal(room[MANY], 7);
    }
}

/* Of three points in a line the middle one goes; a corner stays. */
static void three_points_may_be_two(void **state) {
    (void)state;
    lab_point straight[] = {{0, 0}, {1, 1}, {4, 4}}, corner[] = {{0, 0}, {1, 1}, {4, 0}};
    unsigned char room[3];
    assert_int_equal(lab_path_simplify(straight, 3, 0.2, 3, room), 2);
    assert_true(straight[1].x == 4 && straight[1].y == 4);
    assert_int_equal(lab_path_simplify(corner, 3, 0.2, 3, room), 3);
}

/* What a path says is where the points are, to a tenth. */
static void paths_are_read_back(void **state) {
    (void)state;
    lab_point all[MANY];
    written w;
    fill(all, 50);
    lab_path_write(begin(&w), all, MANY, false);
    char *at = end(&w);
    double x = 0, y = 0;
    assert_int_equal(*at++, 'M');
    for (size_t i = 0; i < MANY; i++) {
        at += *at == 'l';
        x += strtod(at, &at);
        y += strtod(at, &at);
        assert_float_equal(x, all[i].x, 0.0501);
        assert_float_equal(y, all[i].y, 0.0501);
    }
    assert_int_equal(*at, '\0');
    free(w.text);
}

/* Points that round to the place of the one before are left out; but two points are a line, even of no length. */
static void paths_say_no_point_twice(void **state) {
    (void)state;
    static const lab_point points[] = {{2, 3}, {2.01, 3}, {1, 3}, {1.01, 2.99}, {1, 3}}, still[] = {{2, 3}, {2.01, 3}};
    static const struct {
        const lab_point *points;
        size_t count;
        bool joined;
        const char *text;
    } cases[] = {{points, 5, false, "M2 3l-1 0"},
                 {points, 1, false, "M2 3"},
                 {still, 2, false, "M2 3l0 0"},
                 {points, 3, true, "L2 3l-1 0"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        written w;
        lab_path_write(begin(&w), cases[i].points, cases[i].count, cases[i].joined);
        assert_string_equal(end(&w), cases[i].text);
        free(w.text);
    }
}

/* ---- numbers ---- */

static const cJSON *part(const cJSON *object, const char *name) {
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static cJSON *data_of(const lab_chart *chart) {
    written w;
    const lab_frame frame = lab_frame_of(chart);
    lab_chart_data(chart, &frame, begin(&w));
    cJSON *data = cJSON_Parse(end(&w));
    free(w.text);
    assert_non_null(data);
    return data;
}

static void numbers_are_read_back(void **state) {
    (void)state;
    const double x[] = {1, 2, 1e6}, y[] = {0.123456, NAN, 99.4271}, low[] = {0.1, 0, 99};
    const lab_series series[] = {{.name = "a \"<b>", .count = 3, .x = x, .y = y, .low = low, .high = y, .mark = 4},
                                 {.name = "c", .count = 3, .x = x, .y = low, .mark = 5}};
    const lab_chart chart = {.id = "c",
                             .title = "t",
                             .x_label = "x",
                             .y_label = "y",
                             .width = 460,
                             .height = 300,
                             .series = series,
                             .series_count = 2};
    cJSON *data = data_of(&chart);
    const cJSON *first = part(data, "series")->child, *second = first->next;
    assert_string_equal(part(first, "name")->valuestring, "a \"<b>");
    assert_true(part(first, "x")->child->next->next->valuedouble == 1e6);
    assert_float_equal(part(first, "y")->child->valuedouble, 0.123456, 1e-5);
    assert_true(cJSON_IsNull(part(first, "y")->child->next));
    assert_int_equal(cJSON_GetArraySize(part(first, "low")), 3);
    assert_null(part(second, "x")); /* as above */
    assert_null(part(second, "low"));
    assert_null(part(data, "every"));
    cJSON_Delete(data);
}

/* Of very many points every second is written, the last among them. */
static void many_numbers_are_thinned(void **state) {
    (void)state;
    enum { LONG = 120001 };
    double *x = calloc(LONG, sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < LONG; i++)
        x[i] = (double)i;
    const lab_series series = {.name = "s", .count = LONG, .x = x, .y = x};
    const lab_chart chart = {.id = "c",
                             .title = "t",
                             .x_label = "x",
                             .y_label = "y",
                             .width = 460,
                             .height = 300,
                             .series = &series,
                             .series_count = 1};
    cJSON *data = data_of(&chart);
    const cJSON *places = part(part(data, "series")->child, "x");
    assert_int_equal(part(data, "every")->valueint, 2);
    assert_int_equal(cJSON_GetArraySize(places), LONG / 2 + 1);
    assert_true(places->child->valuedouble == 0 && places->child->prev->valuedouble == LONG - 1);
    cJSON_Delete(data);
    free(x);
}

/* Lines, markers and numbers of a chart; what a logarithm has no place for is left out of the picture. */
static void charts_are_whole(void **state) {
    (void)state;
    const double x[] = {1, 2, 3}, y[] = {1, 0, 10};
    const lab_series series[] = {{.name = "a & b", .count = 3, .x = x, .y = y, .colour = 3, .mark = 1, .points = true},
                                 {.name = "rope", .count = 3, .x = x, .y = y, .reference = true}};
    const lab_chart chart = {.id = "c",
                             .title = "t",
                             .x_label = "x",
                             .y_label = "y",
                             .width = 460,
                             .height = 300,
                             .log_y = true,
                             .series = series,
                             .series_count = 2};
    locus_error error;
    written w;
    assert_int_equal(lab_chart_draw(&chart, begin(&w), &error), LOCUS_OK);
    const char *html = end(&w);
    assert_non_null(strstr(html, "data-mark=\"1\" stroke=\"var(--c3)\""));
    assert_non_null(strstr(html, "a &amp; b: 10 at 3, the last of 3."));
    assert_non_null(strstr(html, "<g class=\"series reference\">"));
    assert_null(strstr(html, "nan"));
    assert_null(strstr(html, "inf"));
    const char *marks = strstr(html, "class=\"marks\" d=\"");
    assert_non_null(marks);
    size_t moves = 0;
    for (marks += strlen("class=\"marks\" d=\""); *marks != '"'; marks++)
        moves += *marks == 'M';
    assert_int_equal(moves, 2);
    free(w.text);
}

static void add_chart(FILE *to, lab_chart chart) {
    locus_error error;
    chart.id = "c", chart.title = "A <title>", chart.x_label = "x", chart.y_label = "y";
    chart.width = 460, chart.height = 300;
    assert_int_equal(lab_chart_draw(&chart, to, &error), LOCUS_OK);
}

/* From 1 to 100 the axis is marked at both ends. */
static void decades_have_both_ends(void **state) {
    (void)state;
    static const char *const ticks[] = {">1<", ">2<", ">5<", ">10<", ">20<", ">50<", ">100<"};
    const double x[] = {1, 2}, y[] = {1, 100};
    const lab_series series = {.name = "a", .count = 2, .x = x, .y = y};
    written w;
    add_chart(begin(&w), (lab_chart){.series = &series, .series_count = 1, .y_low = 1, .y_high = 100, .log_y = true});
    const char *html = end(&w);
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++)
        assert_non_null(strstr(html, ticks[i]));
    free(w.text);
}

/* Of two points there is a band, of one there is none. */
static void bands_need_two_points(void **state) {
    (void)state;
    const double x[] = {1, 2}, y[] = {1, 2}, low[] = {0, 1}, high[] = {2, 3};
    lab_series series = {.name = "a", .count = 2, .x = x, .y = y, .low = low, .high = high};
    written w;
    add_chart(begin(&w), (lab_chart){.series = &series, .series_count = 1});
    assert_non_null(strstr(end(&w), "class=\"band\""));
    free(w.text);
    series.count = 1;
    add_chart(begin(&w), (lab_chart){.series = &series, .series_count = 1});
    assert_null(strstr(end(&w), "class=\"band\""));
    free(w.text);
}

/* Bands, bars, lines of many points, gaps; logarithms; names; what was trained: as tests/golden/charts.txt has them,
 * pictures and numbers. */
static void charts_of_all_kinds(void **state) {
    (void)state;
    enum { POINTS = 40, FEW = 4 };
    double x[POINTS], y[POINTS], low[POINTS], high[POINTS];
    static const double at[FEW] = {0, 1, 2, 3}, value[FEW] = {0.02, 0.5, 7, 300}, below[FEW] = {0.01, -1, 3, 200},
                        above[FEW] = {0.04, 2, NAN, 500}, holes[FEW] = {NAN, 1, -2, 4};
    static const char *const names[FEW] = {"one", "two\nlines", "<three>", "four"};
    for (size_t i = 0; i < POINTS; i++) {
        x[i] = (double)i * 25;
        y[i] = (double)(i * i % 17) / 17;
        low[i] = y[i] - 0.25;
        high[i] = y[i] + (double)i / 64;
    }
    const lab_series band[] = {
        {.name = "band", .count = POINTS, .x = x, .y = y, .low = low, .high = high, .mark = 2, .colour = 5},
        {.name = "line", .count = POINTS, .x = x, .y = high, .mark = 11, .colour = 1},
        {.name = "base", .count = 2, .x = at, .y = at, .reference = true}};
    const lab_series bars[] = {
        {.name = "a", .count = FEW, .x = at, .y = value, .low = below, .high = above, .points = true},
        {.name = "b", .count = FEW, .x = at, .y = holes, .points = true, .mark = 3, .colour = 7},
        {.name = "none", .x = at, .y = at, .mark = 4}};
    written w;
    FILE *out = begin(&w);
    add_chart(out, (lab_chart){.series = band, .series_count = 3});
    add_chart(
        out, (lab_chart){.series = band, .series_count = 1, .y_low = -1, .y_high = 2, .trained = 500, .whole_x = true});
    add_chart(out, (lab_chart){.series = bars, .series_count = 3, .log_y = true, .dodge = true});
    add_chart(out, (lab_chart){.series = bars,
                               .series_count = 2,
                               .dodge = true,
                               .x_names = names,
                               .x_name_count = FEW,
                               .x_low = -0.5,
                               .x_high = 3.5});
    add_chart(out, (lab_chart){.series = bars, .series_count = 0});
    planted_text_is(end(&w), "charts.txt");
    free(w.text);
}

/* ---- texts ---- */

static void texts_stay_texts(void **state) {
    (void)state;
    static const char text[] = "</script><!-- \"q\" & \\u003c é\n\t";
    written w;
    lab_markup_json_text(begin(&w), text);
    char *json = end(&w);
    assert_null(strpbrk(json, "<>&\n\t"));
    cJSON *back = cJSON_Parse(json);
    assert_string_equal(back->valuestring, text);
    cJSON_Delete(back);
    free(json);
    lab_markup_text(begin(&w), "<a b=\"c\">&\x7F\xFF");
    assert_string_equal(end(&w), "&lt;a b=&quot;c&quot;&gt;&amp;??");
    free(w.text);
    lab_markup_json(begin(&w), "{\"a\":\"<\\\"&\x01\"}");
    assert_string_equal(end(&w), "{\"a\":\"\\u003c\\\"\\u0026?\"}");
    free(w.text);
}

/* ---- colours ---- */

static void encodings_have_colours(void **state) {
    (void)state;
    static const char *const apart[] = {"none",
                                        "rope",
                                        "algebraic(group=seq)",
                                        "algebraic(group=tree:2)",
                                        "alibi",
                                        "sinusoidal",
                                        "relative(window=16)",
                                        "algebraic(group=grid:2)",
                                        "roper",
                                        "chebyshev",
                                        "shiv-quirk"};
    const size_t count = sizeof apart / sizeof *apart;
    for (size_t i = 0; i < count; i++) {
        assert_true(lab_encoding_colour(apart[i]) < LAB_COLOURS);
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(lab_encoding_colour(apart[i]) / LAB_COLOUR_TONES,
                                 lab_encoding_colour(apart[j]) / LAB_COLOUR_TONES);
    }
    /* Options choose a tone of the same hue; a sum, and what nobody knows, any colour. */
    assert_int_equal(lab_encoding_colour("rope(base=500)") / LAB_COLOUR_TONES,
                     lab_encoding_colour("rope") / LAB_COLOUR_TONES);
    assert_int_equal(lab_encoding_colour("rope(values=on)") / LAB_COLOUR_TONES,
                     lab_encoding_colour("roper") / LAB_COLOUR_TONES);
    static const char *const any[] = {"rope + alibi", "alibi + rope", "ropes", "", "(", "x)y", "rope; alibi"};
    for (size_t i = 0; i < sizeof any / sizeof *any; i++)
        assert_true(lab_encoding_colour(any[i]) < LAB_COLOURS);
    assert_int_not_equal(lab_encoding_colour("rope + alibi"), lab_encoding_colour("rope"));
    assert_int_not_equal(lab_encoding_colour("alibi"), lab_encoding_colour("string"));
}

/* Python's figures have the same colours: python/tests/test_lab.py reads this file, too. */
static void colours_are_the_recorded_ones(void **state) {
    (void)state;
    char line[256];
    size_t lines = 0;
    FILE *file = fopen(LOCUS_SOURCE_DIR "/tests/golden/encoding_colours.txt", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        char *encoding = strchr(line, ' ');
        assert_non_null(encoding);
        encoding[strcspn(encoding, "\n")] = '\0';
        assert_int_equal(lab_encoding_colour(encoding + 1), strtoul(line, NULL, 10));
        lines++;
    }
    fclose(file);
    assert_true(lines > 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_have_places),
        cmocka_unit_test(few_values_have_places),
        cmocka_unit_test(ranges_fit),
        cmocka_unit_test(lines_keep_their_shape),
        cmocka_unit_test(three_points_may_be_two),
        cmocka_unit_test(decades_have_both_ends),
        cmocka_unit_test(paths_are_read_back),
        cmocka_unit_test(paths_say_no_point_twice),
        cmocka_unit_test(numbers_are_read_back),
        cmocka_unit_test(many_numbers_are_thinned),
        cmocka_unit_test(charts_are_whole),
        cmocka_unit_test(bands_need_two_points),
        cmocka_unit_test(charts_of_all_kinds),
        cmocka_unit_test(texts_stay_texts),
        cmocka_unit_test(encodings_have_colours),
        cmocka_unit_test(colours_are_the_recorded_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
