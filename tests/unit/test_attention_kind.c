/* SPDX-License-Identifier: MIT */
/* Kinds of attention as text: what is taken, its canonical form, where a failure points; owners; the registry; and that
 * options of another version of their struct are read as far as they go. */
#include "kind_of.h"

#include <locus/locus.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void check_text(const char *given, const char *canonical) {
    locus_attention_kind *kind = NULL, *again = NULL;
    locus_error error = {0};
    char text[96], back[96], cut[5];
    if (locus_attention_kind_parse(given, &kind, &error) != LOCUS_OK)
        fail_msg("'%s': %s", given, error.message);
    assert_int_equal(locus_attention_kind_text(kind, text, sizeof text), strlen(canonical));
    assert_string_equal(text, canonical);
    assert_int_equal(locus_attention_kind_text(kind, cut, sizeof cut), strlen(canonical));
    assert_memory_equal(cut, canonical, 4);
    assert_int_equal(cut[4], '\0');
    assert_int_equal(locus_attention_kind_text(kind, NULL, 0), strlen(canonical));
    assert_int_equal(locus_attention_kind_parse(text, &again, &error), LOCUS_OK);
    locus_attention_kind_text(again, back, sizeof back);
    assert_string_equal(back, canonical);
    locus_attention_kind_destroy(&again);
    locus_attention_kind_destroy(&kind);
    assert_null(kind);
}

static void test_texts(void **state) {
    (void)state;
    check_text("softmax", "softmax");
    check_text(" linear ", "linear");
    check_text("soft", "soft");
    check_text("soft(landmarks=64, iterations=20)", "soft");
    check_text("soft ( iterations = 3 , landmarks=32 )", "soft(landmarks=32, iterations=3)");
    check_text("clustered(clusters=5)", "clustered(clusters=5)");
    check_text("clustered(iterations=1e1,clusters=1e14)", "clustered(clusters=100000000000000)");
    check_text("clustered(clusters=1, iterations=1)", "clustered(clusters=1, iterations=1)");
    check_text("soft(landmarks=1, iterations=1)", "soft(landmarks=1, iterations=1)");
}

static void check_refused(const char *text, ptrdiff_t offset, ptrdiff_t length, const char *word) {
    static int nothing;
    locus_attention_kind *kind = (locus_attention_kind *)(void *)&nothing;
    locus_error error = {0};
    assert_int_equal(locus_attention_kind_parse(text, &kind, &error), LOCUS_ERROR_SPEC);
    assert_null(kind);
    if (error.offset != offset || error.length != length || !strstr(error.message, word))
        fail_msg("'%s': %td, %td: '%s', not %td, %td: '%s'", text, error.offset, error.length, error.message, offset,
                 length, word);
    assert_null(strchr(error.message, '\n'));
}

static void test_failures(void **state) {
    (void)state;
    check_refused("", 0, 1, "the name of a kind of attention");
    check_refused("sotfmax", 0, 7, "did you mean 'softmax'?");
    check_refused("rope", 0, 4, "there is no kind of attention 'rope': expected one of softmax linear soft clustered");
    check_refused("soft(landmark=3)", 5, 8, "did you mean 'landmarks'?");
    check_refused("soft(clusters=3)", 5, 8, "expected one of landmarks iterations");
    check_refused("soft(landmarks=0)", 15, 1, "integer ≥ 1");
    check_refused("clustered(clusters=0)", 19, 1, "integer ≥ 1");
    check_refused("clustered(iterations=0)", 21, 1, "integer ≥ 1");
    check_refused("soft(landmarks=1.5)", 15, 3, "integer ≥ 1");
    check_refused("soft(iterations=1000001)", 16, 7, "at most 1000000");
    check_refused("soft(landmarks=3, landmarks=4)", 18, 9, "given twice");
    check_refused("soft(landmarks)", 14, 1, "expected '=' and a value");
    check_refused("soft(landmarks=3", 4, 1, "not closed");
    check_refused("linear(scale=3)", 7, 5, "has no options");
    check_refused("linear + soft", 7, 1, "expected '(' or the end");
    check_refused("soft(landmarks=3) x", 18, 1, "expected the end");
}

static void test_arguments(void **state) {
    (void)state;
    locus_attention_kind *kind = NULL;
    locus_error error = {0};
    char text[16];
    assert_int_equal(locus_attention_kind_parse("soft", NULL, &error), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(locus_attention_kind_parse(NULL, &kind, &error), LOCUS_ERROR_ARGUMENT);
    assert_null(kind);
    locus_attention_kind_destroy(&kind);
    locus_attention_kind_destroy(NULL);
    assert_null(locus_attention_kind_retain(NULL));
    assert_int_equal(locus_attention_kind_text(NULL, text, sizeof text), 7);
    assert_string_equal(text, "softmax");
    assert_ptr_equal(locus_attention_kind_entry(NULL), locus_attention_registry_at(0));
}

static void test_owners(void **state) {
    (void)state;
    locus_attention_kind *kind = NULL;
    locus_error error;
    char text[32];
    assert_int_equal(locus_attention_kind_parse("soft(landmarks=7)", &kind, &error), LOCUS_OK);
    locus_attention_kind *other = locus_attention_kind_retain(kind);
    assert_ptr_equal(other, kind);
    locus_attention_kind_destroy(&kind);
    locus_attention_kind_text(other, text, sizeof text);
    assert_string_equal(text, "soft(landmarks=7)");
    locus_attention_kind_destroy(&other);
}

/* Every entry's name parses to it, and every option takes its default as text. */
static void test_registry(void **state) {
    (void)state;
    const size_t size = locus_attention_registry_size();
    assert_int_equal(size, 4);
    assert_null(locus_attention_registry_at(size));
    for (size_t i = 0; i < size; i++) {
        const locus_attention_kind_info *info = locus_attention_registry_at(i);
        locus_attention_kind *kind = NULL;
        locus_error error;
        assert_int_equal(locus_attention_kind_parse(info->name, &kind, &error), LOCUS_OK);
        assert_ptr_equal(locus_attention_kind_entry(kind), info);
        assert_true(*info->summary && *info->source);
        locus_attention_kind_destroy(&kind);
        for (size_t o = 0; o < info->option_count; o++) {
            char text[96];
            snprintf(text, sizeof text, "%s(%s=%s)", info->name, info->options[o].name, info->options[o].initial);
            check_text(text, info->name);
        }
    }
}

/* docs/encodings.md has a row for each option, with its values, default and meaning. */
static void test_page(void **state) {
    (void)state;
    static char page[1 << 20];
    FILE *file = fopen(LOCUS_SOURCE_DIR "/docs/encodings.md", "r");
    assert_non_null(file);
    page[fread(page, 1, sizeof page - 1, file)] = '\0';
    fclose(file);
    for (size_t i = 0; i < locus_attention_registry_size(); i++) {
        const locus_attention_kind_info *info = locus_attention_registry_at(i);
        for (size_t o = 0; o < info->option_count; o++) {
            const locus_option_info *option = &info->options[o];
            char row[256];
            snprintf(row, sizeof row, "\n| `%s` | `%s` | %s | `%s` | %s |\n", info->name, option->name, option->values,
                     option->initial, option->meaning);
            if (!strstr(page, row))
                fail_msg("docs/encodings.md has no row %s", row + 1);
        }
    }
}

/* A head of four tokens without positions. */
static locus_status attend(const locus_attention_options *options, locus_error *error) {
    enum { TOKENS = 4, DIM = 2 };
    static float data[4][TOKENS * DIM];
    const int64_t shape[] = {TOKENS, 1, DIM};
    const size_t offsets[] = {0, TOKENS};
    const locus_shape heads = {.heads = 1, .head_dim = DIM};
    locus_encoding *encoding = NULL;
    locus_binding *binding = NULL;
    locus_positions *positions = NULL;
    locus_plan *plan = NULL;
    locus_tensor t[4];
    for (size_t i = 0; i < 4; i++)
        t[i] = locus_tensor_view(data[i], LOCUS_FLOAT32, 3, shape);
    const locus_attention_tensors tensors = {
        .size = sizeof tensors, .query = &t[0], .key = &t[1], .value = &t[2], .output = &t[3]};
    assert_int_equal(locus_encoding_parse("none", &encoding, error), LOCUS_OK);
    assert_int_equal(locus_binding_create(&binding, encoding, &heads, NULL, 0, error), LOCUS_OK);
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    assert_int_equal(locus_positions_create(&positions, NULL, &packing, NULL, error), LOCUS_OK);
    assert_int_equal(locus_plan_create(&plan, binding, positions, NULL, error), LOCUS_OK);
    const size_t bytes = locus_attention_workspace(plan, options, LOCUS_FLOAT32, LOCUS_PASS_FORWARD, NULL);
    locus_execution execution = locus_execution_default();
    execution.workspace = (locus_workspace){locus_allocate(bytes + 1), bytes};
    const locus_status status = locus_attention_forward(plan, options, &tensors, &execution, error);
    locus_release(execution.workspace.data, bytes + 1);
    locus_plan_destroy(&plan);
    locus_positions_destroy(&positions);
    locus_binding_destroy(&binding);
    locus_encoding_destroy(&encoding);
    return status;
}

static void test_sizes_of_options(void **state) {
    (void)state;
    struct {
        locus_attention_options known;
        char later[16];
    } newer;
    locus_error error = {0};
    memset(&newer, 0, sizeof newer);
    newer.known.size = sizeof newer;
    assert_int_equal(attend(&newer.known, &error), LOCUS_OK);
    newer.later[3] = 1;
    assert_int_equal(attend(&newer.known, &error), LOCUS_ERROR_UNSUPPORTED);
    assert_non_null(strstr(error.message, "newer version"));
    newer.known.size = sizeof newer.known;
    assert_int_equal(attend(&newer.known, &error), LOCUS_OK);
    newer.known.size = 0;
    assert_int_equal(attend(&newer.known, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "options.size is 0"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_owners),
        cmocka_unit_test(test_registry),
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_sizes_of_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
