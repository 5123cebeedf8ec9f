/* SPDX-License-Identifier: MIT */
/* Plain values of a configuration: looked up, compared, and as messages show them. */
#include "rope/rope_value.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* {"a": [1, 0.1], "b": null, "a": true} */
static lab_value tenth = {.kind = LAB_VALUE_NUMBER, .number = 0.1};
static lab_value one = {.kind = LAB_VALUE_NUMBER, .number = 1, .next = &tenth};
static lab_value again = {.kind = LAB_VALUE_TRUE, .key = "a"};
static lab_value nothing = {.kind = LAB_VALUE_NULL, .key = "b", .next = &again};
static lab_value list = {.kind = LAB_VALUE_LIST, .key = "a", .child = &one, .next = &nothing};
static lab_value object = {.kind = LAB_VALUE_OBJECT, .child = &list};

static void members(void **state) {
    (void)state;
    assert_ptr_equal(lab_value_member(&object, "a"), &list);
    assert_ptr_equal(lab_value_member(&object, "b"), &nothing);
    assert_null(lab_value_member(&object, "c"));
    assert_null(lab_value_member(&list, "a"));
    assert_null(lab_value_member(NULL, "a"));
    assert_int_equal(lab_value_count(&object), 3);
    assert_int_equal(lab_value_count(&one), 0);
    assert_null(lab_value_text(&one));
}

static lab_value number(double value) {
    return (lab_value){.kind = LAB_VALUE_NUMBER, .number = value};
}

static void shows(const lab_value *value, const char *wanted) {
    char text[LAB_VALUE_SHOWN];
    memset(text, 'x', sizeof text);
    lab_value_print(value, text);
    assert_string_equal(text, wanted);
}

static void printed(void **state) {
    (void)state;
    shows(&object, "{\"a\":[1,0.1],\"b\":null,\"a\":true}");
    const double numbers[] = {500000, 1e300, 1.0 / 3, -0.5, HUGE_VAL};
    const char *const texts[] = {"500000", "1e+300", "0.33333333333333331", "-0.5", "null"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const lab_value value = number(numbers[i]);
        shows(&value, texts[i]);
    }
    lab_value text = {.kind = LAB_VALUE_TEXT, .text = "tw\"o\n\x01ü"};
    shows(&text, "\"tw\\\"o\\n\\u0001ü\"");
    /* A quote and 38 letters, then a character of two bytes: the first 40 bytes would end inside of it. */
    text.text = "01234567890123456789012345678901234567üü";
    shows(&text, "\"01234567890123456789012345678901234567…");
    text.text = "012345678901234567890123456789012345678901234567890123456789";
    shows(&text, "\"012345678901234567890123456789012345678…");
}

static void the_same(void **state) {
    (void)state;
    lab_value a = number(0.1), b = number(0.1 * (1 + 1e-16)), c = number(0.1 * (1 + 1e-15));
    assert_true(lab_value_same(&a, &b));
    assert_false(lab_value_same(&a, &c));
    assert_false(lab_value_same(&a, NULL));
    lab_value first = {.kind = LAB_VALUE_TEXT, .text = "x", .key = "x"};
    lab_value second = {.kind = LAB_VALUE_FALSE, .key = "y", .next = &first}, last = second;
    lab_value x = first;
    last.next = NULL;
    x.next = &last;
    lab_value one_way = {.kind = LAB_VALUE_OBJECT, .child = &second},
              other_way = {.kind = LAB_VALUE_OBJECT, .child = &x};
    assert_true(lab_value_same(&one_way, &other_way)); /* members in any order */
    one_way.kind = other_way.kind = LAB_VALUE_LIST;
    assert_false(lab_value_same(&one_way, &other_way)); /* items not */
    one_way.kind = other_way.kind = LAB_VALUE_OBJECT;
    one_way.child = &first;
    assert_false(lab_value_same(&one_way, &other_way));
    assert_false(lab_value_same(&other_way, &one_way));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(members), cmocka_unit_test(printed),
                                       cmocka_unit_test(the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
