/* SPDX-License-Identifier: MIT */
/* A diagram's axes: ticks at round numbers, and an end of them where a step is lost in the values' rounding. */
#include "figures/axes.h"
#include "unit/scratch_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The texts of the axes from (0, low) to (4, high), one after the other, each in brackets. */
static void read_texts(double low, double high, char *texts, size_t size) {
    const char *path = scratch_path("axes.svg");
    char line[4096];
    const lab_axes axes = {.corner = {50, 20}, .opposite = {350, 220}, .x_high = 4, .y_low = low, .y_high = high};
    lab_drawing *drawing = lab_drawing_create(400, 250);
    assert_non_null(drawing);
    lab_axes_draw(&axes, drawing);
    assert_int_equal(lab_drawing_write(drawing, path, NULL), LOCUS_OK);
    lab_drawing_free(drawing);

    FILE *file = fopen(path, "r");
    assert_non_null(file);
    texts[0] = '\0';
    while (fgets(line, sizeof line, file)) {
        char *text = strstr(line, "<text"), *end = text ? strstr(text, "</text>") : NULL;
        if (end) {
            *end = '\0';
            text = strchr(text, '>') + 1;
            assert_true(strlen(texts) + strlen(text) + 3 < size);
            snprintf(texts + strlen(texts), size - strlen(texts), "[%s]", text);
        }
    }
    fclose(file);
}

static void test_round_numbers(void **state) {
    (void)state;
    char texts[4096];
    read_texts(-0.31, 0.52, texts, sizeof texts);
    assert_string_equal(texts, "[−0.2][0.0][0.2][0.4][0][1][2][3][4]");
    read_texts(10, 30, texts, sizeof texts);
    assert_string_equal(texts, "[10][15][20][25][30][0][1][2][3][4]");
}

/* Added to 10¹⁰, a fifth of the range is nothing: the ticks must end all the same. */
static void test_lost_steps(void **state) {
    (void)state;
    char texts[4096];
    alarm(20);
    read_texts(1e10, 1e10 + 2e-6, texts, sizeof texts);
    assert_non_null(strstr(texts, "[0][1][2][3][4]"));
    alarm(0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_numbers), cmocka_unit_test(test_lost_steps)};
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
