/* SPDX-License-Identifier: MIT */
/* Example 1: from a text to turned vectors. Five calls: parse, bind, positions, plan, apply.
 *
 * Two sequences of 3 and 2 tokens lie end to end, with no padding; every token has 2 heads of dimension 4. */
#include <locus/locus.h>

#include <math.h>
#include <stdio.h>

#define TOKENS 5
#define HEADS 2
#define HEAD_DIM 4

/* An example's way with errors: say what the library says, and stop. */
static int failed(locus_status status, const locus_error *error) {
    if (status != LOCUS_OK)
        (void)fprintf(stderr, "%s\n", error->message);
    return status != LOCUS_OK;
}

int main(void) {
    locus_error error;
    locus_encoding *encoding = NULL;
    locus_binding *binding = NULL;
    locus_positions *positions = NULL;
    locus_plan *plan = NULL;
    locus_shape shape = locus_shape_default();
    shape.heads = HEADS;
    shape.head_dim = HEAD_DIM;
    const size_t offsets[] = {0, 3, TOKENS};
    const locus_packing packing = {sizeof packing, 2, offsets, NULL};

    if (failed(locus_encoding_parse("rope(base=10000, pairs=half)", &encoding, &error), &error) ||
        failed(locus_binding_create(&binding, encoding, &shape, NULL, 0, &error), &error) ||
        failed(locus_positions_create(&positions, NULL, &packing, NULL, &error), &error) ||
        failed(locus_plan_create(&plan, binding, positions, NULL, &error), &error))
        return 1;

    float x[TOKENS][HEADS][HEAD_DIM], y[TOKENS][HEADS][HEAD_DIM];
    for (int i = 0; i < TOKENS * HEADS * HEAD_DIM; i++)
        (&x[0][0][0])[i] = 1;
    const int64_t extents[] = {TOKENS, HEADS, HEAD_DIM};
    const locus_tensor in = locus_tensor_view(x, LOCUS_FLOAT32, 3, extents);
    const locus_tensor out = locus_tensor_view(y, LOCUS_FLOAT32, 3, extents);
    locus_workspace workspace = {NULL, locus_apply_workspace(plan, LOCUS_ROLE_QUERY, LOCUS_FLOAT32, NULL)};
    workspace.data = workspace.bytes > 0 ? locus_allocate(workspace.bytes) : NULL;
    const locus_execution execution = locus_execution_in(workspace);
    if (failed(locus_apply(plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &in, &out, &execution, &error), &error))
        return 1;

    int wrong = 0;
    for (int t = 0; t < TOKENS; t++) {
        const float *row = y[t][0];
        double norm = sqrt((double)(row[0] * row[0] + row[1] * row[1] + row[2] * row[2] + row[3] * row[3]));
        (void)printf("token %d: % .4f % .4f % .4f % .4f   norm %.6f\n", t, (double)row[0], (double)row[1],
                     (double)row[2], (double)row[3], norm);
        wrong |= fabs(norm - 2) > 1e-5; /* operators are orthogonal: no norm changes */
    }
    locus_release(workspace.data, workspace.bytes);
    locus_plan_destroy(&plan);
    locus_positions_destroy(&positions);
    locus_binding_destroy(&binding);
    locus_encoding_destroy(&encoding);
    return wrong;
}
