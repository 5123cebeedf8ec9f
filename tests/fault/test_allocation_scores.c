/* SPDX-License-Identifier: MIT */
/* Every allocation of a plan with terms at the score refused in turn, on groups whose rows come from tables by
 * difference, by pair, and from nowhere: the status is MEMORY and every block is given back. The same of encodings from
 * outside, and of their registration. */
#include "../property/group_positions.h"
#include "../registered_case.h"
#include "refusing_ledger.h"
#include "sanitized.h"

static void refuse_all(rig *r, ledger *books, const char *group) {
    locus_plan_destroy(&r->plan); /* else its tables would be found */
    const size_t before = books->blocks;
    for (size_t refuse = 1;; refuse++) {
        locus_plan *plan = NULL;
        locus_error error = {0};
        books->asked = 0;
        books->refuse = refuse;
        const locus_status status = locus_plan_create(&plan, r->binding, r->queries, r->keys, &error);
        books->refuse = 0;
        locus_plan_destroy(&plan);
        if (books->blocks != before)
            fail_msg("%s, allocation %zu: %zu blocks are left", group, refuse, books->blocks - before);
        if (status == LOCUS_OK) {
            assert_true(refuse > 5 && books->asked < refuse);
            return;
        }
        assert_refused(books, status, &error);
    }
}

/* Terms that act on `seq` or on anything. */
static void test_scores_on_line(void **state) {
    (void)state;
    ledger books = {0};
    const locus_allocator allocator = {sizeof allocator, book_allocate, book_release, &books};
    rig r;
    assert_int_equal(locus_allocator_set(&allocator, NULL), LOCUS_OK);
    rig_open(&r, "fire(hidden=5) + cope(max=3) + temperature + scores(window=4, chunk=9, sinks=on)",
             rig_shape(2, 4, 0, 0), NULL, 9);
    refuse_all(&r, &books, "seq");
    rig_close(&r);
    assert_int_equal(books.blocks, 0);
    assert_int_equal(locus_allocator_set(NULL, NULL), LOCUS_OK);
}

static void test_scores(void **state) {
    (void)state;
    static const char *const groups[] = {"seq", "cycle:9", "grid:2", "tree:3", "seq*tree:2"};
    const size_t short_one[] = {7, 9}, long_one[] = {SANITIZED(300, 1500), 9};
    ledger books = {0};
    const locus_allocator allocator = {sizeof allocator, book_allocate, book_release, &books};
    assert_int_equal(locus_allocator_set(&allocator, NULL), LOCUS_OK);
    for (size_t g = 0; g < sizeof groups / sizeof groups[0]; g++)
        for (int way = 0; way < 6; way++) {
            const bool size = way % 2 == 1;
            if (size && way > 3 && g > 2)
                continue; /* the words of so many tokens are long to make again and again */
            char spec[96];
            uint64_t random = 0;
            rig r;
            const group_drawing queries = {groups[g], 2, size ? long_one : short_one, 1 << 20, false};
            const group_drawing keys = {groups[g], 2, short_one, 1 << 20, false};
            (void)snprintf(spec, sizeof spec,
                           way < 2   ? "decay(group=%s) + alibi(group=%s)"
                           : way < 4 ? "t5(group=%s) + kerple(group=%s)"
                           : g % 2   ? "own-kerple(group=%s) + own-turn(group=%s)"
                                     : "own-kerple(group=%s) + own-shear(group=%s)",
                           groups[g], groups[g]);
            rig_bind(&r, spec, rig_shape(2, 4, 0, 0), 1);
            rig_place(&r, group_positions(&queries, &random), size ? NULL : group_positions(&keys, &random));
            refuse_all(&r, &books, groups[g]);
            rig_close(&r);
        }
    assert_int_equal(books.blocks, 0);
    assert_int_equal(locus_allocator_set(NULL, NULL), LOCUS_OK);
}

/* What terms keep of their parameters, each allocation of it refused. */
static void refuse_binding(const char *spec, ledger *books) {
    rig r;
    rig_bind(&r, spec, rig_shape(2, 4, 0, 0), 1);
    const size_t before = books->blocks;
    for (size_t refuse = 1;; refuse++) {
        locus_binding *binding = NULL;
        locus_error error = {0};
        books->asked = 0;
        books->refuse = refuse;
        const locus_status status = locus_binding_create(&binding, r.encoding, &r.shape, r.values, r.count, &error);
        books->refuse = 0;
        assert_true(status == LOCUS_OK || !binding);
        locus_binding_destroy(&binding);
        if (books->blocks != before)
            fail_msg("%s, allocation %zu: %zu blocks are left", spec, refuse, books->blocks - before);
        if (status == LOCUS_OK) {
            assert_true(refuse > 2 && books->asked < refuse);
            break;
        }
        assert_refused(books, status, &error);
    }
    rig_close(&r);
}

static void test_bindings(void **state) {
    (void)state;
    static const char *const specs[] = {"fire(hidden=5)",
                                        "cope(max=3)",
                                        "kerple",
                                        "t5",
                                        "temperature + alibi",
                                        "scores(sinks=on)",
                                        "own-branches(most=3)",
                                        "own-turn",
                                        "relative(window=2, values=on)"};
    ledger books = {0};
    const locus_allocator allocator = {sizeof allocator, book_allocate, book_release, &books};
    assert_int_equal(locus_allocator_set(&allocator, NULL), LOCUS_OK);
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++)
        refuse_binding(specs[i], &books);
    assert_int_equal(books.blocks, 0);
    assert_int_equal(locus_allocator_set(NULL, NULL), LOCUS_OK);
}

/* So much to copy that it takes several chunks, and that the options are too many for one. */
enum { WORDY = 201, MANY_OPTIONS = 32 };

static void fill_options(locus_option_info options[MANY_OPTIONS], const char *wordy) {
    static char names[MANY_OPTIONS][8];
    options[0] = (locus_option_info)OWN_GROUP("seq");
    options[1] = (locus_option_info){"most", wordy, "3", wordy, LOCUS_OPTION_INTEGER, 1, 9, false};
    for (size_t i = 2; i < MANY_OPTIONS; i++) {
        (void)snprintf(names[i], sizeof names[i], "o%zu", i);
        options[i] = (locus_option_info){names[i], wordy, "0.5", wordy, LOCUS_OPTION_NUMBER, 0, 1, false};
    }
}

/* Nothing is registered until all of it is copied. What was registered stays. */
static void test_registration(void **state) {
    (void)state;
    ledger books = {0};
    const locus_allocator allocator = {sizeof allocator, book_allocate, book_release, &books};
    const size_t before = locus_encoding_registry_size();
    static char wordy[WORDY];
    static locus_option_info options[MANY_OPTIONS];
    locus_status status = LOCUS_ERROR_MEMORY;
    size_t refuse = 0;
    memset(wordy, 'w', sizeof wordy - 1);
    fill_options(options, wordy);
    assert_int_equal(locus_allocator_set(&allocator, NULL), LOCUS_OK);
    while (status != LOCUS_OK) {
        static const locus_extension_parameter lengths[] = {
            {sizeof *lengths, "lengths", 1, {LOCUS_EXTENT_OPTION(1)}, 0, 0, LOCUS_CONSTRAINT_NONE}};
        static const locus_encoding_description one = {.size = sizeof one,
                                                       .name = "own-fault",
                                                       .summary = wordy,
                                                       .source = wordy,
                                                       .kind = LOCUS_EXTENSION_BIAS,
                                                       .option_count = MANY_OPTIONS,
                                                       .options = options,
                                                       .parameter_count = 1,
                                                       .parameters = lengths,
                                                       .values = own_branches,
                                                       .gradient = own_branches_gradient};
        static const locus_encoding_description other = {.size = sizeof other,
                                                         .name = "own-fault-2",
                                                         .summary = "the other one",
                                                         .group = "tree:2",
                                                         .kind = LOCUS_EXTENSION_BIAS,
                                                         .values = own_alibi};
        static const locus_encoding_description *const both[] = {&one, &other};
        const locus_plugin plugin = {LOCUS_ABI_VERSION, 2, both};
        locus_error error = {0};
        books.asked = 0;
        books.refuse = ++refuse;
        status = locus_plugin_register(&plugin, &error);
        assert_true(books.asked >= refuse || status == LOCUS_OK);
        assert_true(status != LOCUS_OK || books.asked < refuse);
        books.refuse = 0;
        assert_true(status == LOCUS_OK || (status == LOCUS_ERROR_MEMORY && error.status == status));
        if (status != LOCUS_OK)
            assert_true(books.blocks == 0 && locus_encoding_registry_size() == before);
    }
    assert_true(refuse > 12);
    assert_int_equal(locus_encoding_registry_size(), before + 2);
    assert_int_equal(locus_allocator_set(NULL, NULL), LOCUS_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_scores), cmocka_unit_test(test_scores_on_line),
                                       cmocka_unit_test(test_bindings), cmocka_unit_test(test_registration)};
    locus_error error;
    if (own_register(&error) != LOCUS_OK)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
