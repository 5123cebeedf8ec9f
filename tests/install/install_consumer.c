/* SPDX-License-Identifier: MIT */
/* An engine that embeds locus, as C and as C++: built against the installed tree by install.sh. Rotates three tokens by
 * rope and by an algebraic encoding, checks that norms are kept, and returns 0 if all is well. */
#include <locus/locus.h>
#include <math.h>
#include <stdio.h>

static int failed(const locus_error *error) {
    fprintf(stderr, "install_consumer: %s\n", error->message);
    return 1;
}

static int same_interface(void) {
    return locus_abi_version() == LOCUS_ABI_VERSION;
}

static int rotate(const char *spec) {
    float x[3 * 8], y[3 * 8];
    const int64_t dimensions[3] = {3, 1, 8};
    const size_t offsets[2] = {0, 3};
    locus_encoding *encoding = NULL;
    locus_binding *binding = NULL;
    locus_positions *positions = NULL;
    locus_plan *plan = NULL;
    locus_parameter parameter = {.size = sizeof parameter};
    locus_tensor values;
    float learned[64];
    size_t count = 0;
    locus_error error;
    locus_packing packing = {sizeof packing, 1, offsets, NULL};
    locus_shape shape = locus_shape_default();
    locus_workspace workspace;
    shape.heads = 1;
    shape.head_dim = 8;
    for (int i = 0; i < 24; i++)
        x[i] = (float)(i % 7) - 3.0f;
    if (locus_encoding_parse(spec, &encoding, &error) ||
        locus_encoding_parameter_count(encoding, &shape, &count, &error))
        return failed(&error);
    if (count == 1) {
        if (locus_encoding_parameter(encoding, &shape, 0, &parameter, &error))
            return failed(&error);
        values = locus_tensor_view(learned, LOCUS_FLOAT32, parameter.rank, parameter.shape);
        if (locus_tensor_count(&values) > 64 || locus_encoding_initialise(encoding, &shape, 1, &values, count, &error))
            return failed(&error);
    }
    if (locus_binding_create(&binding, encoding, &shape, count ? &values : NULL, count, &error) ||
        locus_positions_create(&positions, NULL, &packing, NULL, &error) ||
        locus_plan_create(&plan, binding, positions, NULL, &error))
        return failed(&error);
    locus_tensor from = locus_tensor_view(x, LOCUS_FLOAT32, 3, dimensions);
    locus_tensor to = locus_tensor_view(y, LOCUS_FLOAT32, 3, dimensions);
    workspace.bytes = locus_apply_workspace(plan, LOCUS_ROLE_QUERY, LOCUS_FLOAT32, NULL);
    workspace.data = workspace.bytes ? locus_allocate(workspace.bytes) : NULL;
    const locus_execution execution = locus_execution_in(workspace);
    if (locus_apply(plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &from, &to, &execution, &error))
        return failed(&error);
    int wrong = 0, moved = 0;
    for (int token = 0; token < 3; token++) {
        double before = 0, after = 0;
        for (int i = token * 8; i < token * 8 + 8; i++) {
            before += (double)x[i] * (double)x[i];
            after += (double)y[i] * (double)y[i];
            moved |= fabs((double)x[i] - (double)y[i]) > 1e-6;
        }
        wrong |= fabs(after - before) > 1e-5 * before;
    }
    locus_release(workspace.data, workspace.bytes);
    locus_plan_destroy(&plan);
    locus_positions_destroy(&positions);
    locus_binding_destroy(&binding);
    locus_encoding_destroy(&encoding);
    if (wrong || !moved) {
        fprintf(stderr, "install_consumer: %s %s\n", spec, wrong ? "changed a norm" : "did nothing");
        return 1;
    }
    return 0;
}

int main(void) {
    if (!same_interface() || rotate("rope") || rotate("algebraic(group=seq)"))
        return 1;
    printf("%s\n", locus_version());
    return 0;
}
