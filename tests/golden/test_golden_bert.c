/* SPDX-License-Identifier: MIT */
/* Pretrained encoders as the transformers package saves them (tools/golden_bert.py), read from a folder, against what
 * it computes with them in float64 and without a batch: plain; with heads, a prefix, the old names of LayerNorm and a
 * buffer of positions; in both half types. Sizes, epsilons, activations and token types differ. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bert_case.h"
#include "unit/scratch_folder.h"

#define TOLERANCE 5e-6

static void test_small_encoders(void **state) {
    (void)state;
    golden_file golden;
    golden_open(&golden, "bert");
    assert_int_equal(golden.count, 4);
    for (size_t index = 0; index < golden.count; index++) {
        const char *name = golden_text(&golden, index, "name");
        lab_model *model = bert_case_open(bert_case_folder(name), NULL);
        const bert_differences found = bert_case_compare(&golden, index, model, TOLERANCE);
        print_message("%s: last_hidden_state %.2g, pooler_output %.2g\n", name, found.hidden, found.pooled);
        lab_model_destroy(&model);
    }
    golden_close(&golden);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_small_encoders)};
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
