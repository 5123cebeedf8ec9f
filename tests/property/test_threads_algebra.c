/* SPDX-License-Identifier: MIT */
/* Everything that operators and attention of a group compute has the same bits on any number of threads: outputs,
 * gradients of inputs and of parameters, in float32. */
#include "algebra_rig.h"
#include "sanitized.h"
#include "threads_only.h"

typedef struct threads_result {
    size_t bytes;
    float *data; /* everything that an execution writes, in a row */
} threads_result;

static threads_result run_threads(const char *spec, const char *group_text, size_t dim, size_t threads) {
    enum { COUNT = SANITIZED(300, 700), WIDE_HEADS = 3 };
    const size_t row = WIDE_HEADS * dim, all = COUNT * row;
    locus_group *group = algebra_group(group_text);
    uint64_t random = 70;
    rig r;
    rig_bind(&r, spec, rig_shape(WIDE_HEADS, dim, 0, 0), 5);
    rig_ok(locus_threads_set(threads));
    rig_place(&r, algebra_random_positions(group, (algebra_reach){300, 9}, COUNT, &random), NULL);
    double *wide = rig_normal(4 * all, &random);
    float *given = rig_narrow(wide, 4 * all);
    size_t learned = 0;
    for (size_t p = 0; p < r.count; p++)
        learned += rig_elements(&r.info[p]);
    threads_result result = {(6 * all + 2 * learned) * sizeof(float), NULL};
    result.data = calloc(1, result.bytes);
    assert_non_null(result.data);
    locus_tensor gradients[2][RIG_TENSORS];
    float *next = result.data + 6 * all;
    for (size_t g = 0; g < 2; g++)
        for (size_t p = 0; p < r.count; p++) {
            gradients[g][p] = locus_tensor_view(next, LOCUS_FLOAT32, r.info[p].rank, r.info[p].shape);
            next += rig_elements(&r.info[p]);
        }
    float *y = result.data, *gx = y + all;
    rig_apply(&r, LOCUS_ROLE_QUERY, LOCUS_FORWARD, LOCUS_FLOAT32, COUNT, given, y);
    locus_tensor x = rig_view(&r, LOCUS_ROLE_QUERY, given, LOCUS_FLOAT32, COUNT), gy = x, out = x;
    gy.data = given + all;
    out.data = gx;
    const locus_apply_gradients backward = {
        .x = &x, .gy = &gy, .gx = &out, .parameters = gradients[0], .parameter_count = r.count};
    locus_workspace workspace = rig_workspace(&r, LOCUS_ROLE_QUERY, LOCUS_FLOAT32);
    const locus_execution execution = locus_execution_in(workspace);
    rig_ok(locus_apply_backward(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &backward, &execution, error));
    rig_workspace_free(workspace);
    const algebra_attention call = {COUNT,           LOCUS_FLOAT32,   given,       given + all,
                                    given + 2 * all, given + 3 * all, gx + all,    gx + 2 * all,
                                    gx + 3 * all,    gx + 4 * all,    gradients[1]};
    algebra_attend(&r, &call);
    free(wide), free(given);
    rig_close(&r);
    locus_group_destroy(&group);
    return result;
}

static void test_threads(void **state) {
    (void)state;
    const struct {
        const char *spec, *group;
        size_t dim;
    } cases[] = {{"algebraic(group=tree:2, decay=learned:0.9)", "tree:2", 8},
                 {"algebraic(group=tree:3, values=on, generator=householder)", "tree:3", 6},
                 {"algebraic(group=grid:2, generator=householder)", "grid:2", 14},
                 {"algebraic(group=cycle:5*tree:2*seq, decay=0.9)", "cycle:5*tree:2*seq", 12},
                 {"algebraic(group=grid:2, generator=cayley, values=on)", "grid:2", 8},
                 {"algebraic(group=cycle:64, heads=shared)", "cycle:64", 8},
                 {"mixed(group=grid:2)", "grid:2", 8},
                 {"string(group=grid:2)", "grid:2", 8},
                 {"liere(group=grid:2)", "grid:2", 6}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        threads_result one = run_threads(cases[c].spec, cases[c].group, cases[c].dim, threads_alone() ? 5 : 1);
        for (size_t threads = SANITIZED(5, 2); threads <= 5 && !threads_alone(); threads += 3) {
            threads_result many = run_threads(cases[c].spec, cases[c].group, cases[c].dim, threads);
            if (memcmp(one.data, many.data, one.bytes) != 0)
                fail_msg("%s: results on %zu threads are not those on 1", cases[c].spec, threads);
            free(many.data);
        }
        free(one.data);
    }
    rig_ok(locus_threads_set(0));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
