/* SPDX-License-Identifier: MIT */
/* Paths. The input is a group and two elements of it, parted by the byte 0x1F. A failure points into the text; the text
 * of what is taken parses to an equal path; and, where 64 bits hold all that is needed, the laws of a group hold:
 * a − a is empty, −(−a) is a, a + (−a + b) is b, −(a + b) is −b + −a, the distance is that of both directions. */
#include "fuzz.h"

#include <locus/path.h>
#include <stdlib.h>
#include <string.h>

/* Longer words take time without end, which is the caller's affair. */
enum { MOST_TEXT = 4096 };

static locus_path *parse(const locus_group *group, const char *text) {
    locus_path *path = NULL;
    locus_error error = {0};
    const locus_status status = locus_path_parse(group, text, &path, &error);
    if (status == LOCUS_OK)
        return path;
    FUZZ_REQUIRE(path == NULL);
    FUZZ_REQUIRE_SAYING(status == LOCUS_ERROR_SPEC || status == LOCUS_ERROR_POSITION, error.message);
    fuzz_check_failure_in(status, &error, strlen(text));
    return NULL;
}

static void check_again(const locus_group *group, const locus_path *path) {
    const size_t size = locus_path_text(path, NULL, 0) + 1;
    char *text = malloc(size);
    locus_path *again = NULL;
    locus_error error = {0};
    FUZZ_REQUIRE(text != NULL && locus_path_text(path, text, size) + 1 == size);
    fuzz_check_line(text);
    FUZZ_REQUIRE_SAYING(locus_path_parse(group, text, &again, &error) == LOCUS_OK, text);
    FUZZ_REQUIRE_SAYING(locus_path_equal(path, again), text);
    locus_path_destroy(&again);
    free(text);
}

typedef locus_status (*binary)(const locus_path *a, const locus_path *b, locus_path **result, locus_error *error);

/* NULL where 64 bits overflow, which is all that may go wrong. */
static locus_path *apply(binary operation, const locus_path *a, const locus_path *b) {
    locus_path *result = NULL;
    locus_error error = {0};
    const locus_status status = a != NULL && b != NULL ? operation(a, b, &result, &error) : LOCUS_ERROR_POSITION;
    if (status != LOCUS_OK && a != NULL && b != NULL) {
        FUZZ_REQUIRE_SAYING(status == LOCUS_ERROR_POSITION && result == NULL, error.message);
        fuzz_check_failure(status, &error);
    }
    return result;
}

static locus_status invert(const locus_path *a, const locus_path *unused, locus_path **result, locus_error *error) {
    (void)unused;
    return locus_path_inverse(a, result, error);
}

static void check_empty(const locus_path *path) {
    char text[MOST_TEXT];
    (void)locus_path_text(path, text, sizeof text);
    FUZZ_REQUIRE_SAYING(strspn(text, "(0,)") == strlen(text), text);
}

static void check_inverse(const locus_path *a, const locus_path *inverse) {
    locus_path *back = apply(invert, inverse, inverse), *sum = apply(locus_path_compose, a, inverse);
    if (inverse != NULL) {
        FUZZ_REQUIRE(back != NULL && locus_path_equal(back, a));
        FUZZ_REQUIRE(sum != NULL);
        check_empty(sum);
    }
    locus_path_destroy(&back);
    locus_path_destroy(&sum);
}

static void check_pair(const locus_path *a, const locus_path *b) {
    locus_path *minus_a = apply(invert, a, a), *minus_b = apply(invert, b, b);
    locus_path *sum = apply(locus_path_compose, a, b), *relative = apply(locus_path_relative, a, b);
    locus_path *back = apply(locus_path_compose, a, relative), *minus_sum = apply(invert, sum, sum);
    locus_path *turned = apply(locus_path_compose, minus_b, minus_a), *nothing = apply(locus_path_relative, a, a);
    FUZZ_REQUIRE(nothing != NULL);
    check_empty(nothing);
    check_inverse(a, minus_a);
    FUZZ_REQUIRE(relative == NULL || (back != NULL && locus_path_equal(back, b)));
    FUZZ_REQUIRE(minus_sum == NULL || turned == NULL || locus_path_equal(minus_sum, turned));
    locus_path **const all[] = {&minus_a, &minus_b, &sum, &relative, &back, &minus_sum, &turned, &nothing};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        locus_path_destroy(all[i]);
}

static void check_lengths(const locus_path *a, const locus_path *b) {
    int64_t there = 0, back = 0, length = 0;
    const locus_status status = locus_path_distance(a, b, &there, NULL);
    FUZZ_REQUIRE(locus_path_distance(b, a, &back, NULL) == status);
    FUZZ_REQUIRE(status == LOCUS_ERROR_POSITION || (status == LOCUS_OK && there == back && there >= 0));
    FUZZ_REQUIRE(status != LOCUS_OK || !locus_path_equal(a, b) || there == 0);
    FUZZ_REQUIRE(locus_path_length(a, &length, NULL) != LOCUS_OK || length >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_parts parts = {data, data + (size < MOST_TEXT ? size : MOST_TEXT)};
    char *texts[3];
    for (size_t i = 0; i < 3; i++)
        texts[i] = fuzz_next_part(&parts);
    locus_group *group = NULL;
    locus_path *a = NULL, *b = NULL;
    /* Tuples of more axes are as long as the group says, not the text. */
    if (locus_group_parse(texts[0], &group, NULL) == LOCUS_OK && locus_group_coordinates(group) <= 64) {
        a = parse(group, texts[1]);
        b = parse(group, texts[2]);
    }
    if (a != NULL)
        check_again(group, a);
    if (a != NULL && b != NULL) {
        check_pair(a, b);
        check_lengths(a, b);
    }
    locus_path_destroy(&a);
    locus_path_destroy(&b);
    locus_group_destroy(&group);
    for (size_t i = 0; i < 3; i++)
        free(texts[i]);
    return 0;
}
