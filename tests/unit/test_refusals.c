/* SPDX-License-Identifier: MIT */
/* Calls that are refused: what the caller is told, to the letter, of positions, plans, bindings, shapes, limits and
 * texts; and calls just inside of the same limits, which are taken. Attention's are test_attention_refusals.c. */
#include "kind_of.h"
#include "property/group_positions.h"
#include "unit/told.h"

#include <float.h>
#include <stdio.h>

/* ---- positions, paths and groups ---- */

static void packings(void **state) {
    static const size_t falling[] = {0, 3, 2}, good[] = {0, 3, 5}, three_two[] = {3, 2}, three_three[] = {3, 3};
    const locus_packing none = told_packing(1, NULL, NULL), back = told_packing(2, falling, NULL),
                        long_second = told_packing(2, good, three_three), exact = told_packing(2, good, three_two),
                        huge = told_packing(SIZE_MAX, good, NULL);
    locus_positions *p = NULL;
    (void)state;
    TELLS(ARGUMENT, "positions", "positions is NULL: give a place for the result",
          locus_positions_create(NULL, NULL, &exact, NULL, &told));
    TELLS(ARGUMENT, "packing", "packing is NULL: give the sequences' offsets",
          locus_positions_create(&p, NULL, NULL, NULL, &told));
    TELLS(ARGUMENT, "packing", "packing has offsets that are NULL: give the sequences' offsets",
          locus_positions_create(&p, NULL, &none, NULL, &told));
    TELLS(ARGUMENT, "packing", "packing has 18446744073709551615 sequences: more than memory can hold",
          locus_positions_create(&p, NULL, &huge, NULL, &told));
    TELLS(ARGUMENT, "offsets", "offsets[2] = 2 is less than offsets[1] = 3: offsets may not decrease",
          locus_positions_create(&p, NULL, &back, NULL, &told));
    TELLS(ARGUMENT, "lengths", "lengths[1] = 3 is more than the 2 tokens from offsets[1] to offsets[2]",
          locus_positions_create(&p, NULL, &long_second, NULL, &told));
    TAKES(locus_positions_create(&p, NULL, &exact, NULL, &told));
    locus_path *path = NULL;
    TELLS(ARGUMENT, "path", "path is NULL: give one", locus_positions_path(p, 0, NULL, &told));
    TELLS(ARGUMENT, "positions", "positions is NULL: give one", locus_positions_path(NULL, 0, &path, &told));
    TELLS(ARGUMENT, "token", "there is no token 5: the buffer has 5", locus_positions_path(p, 5, &path, &told));
    TAKES(locus_positions_path(p, 4, &path, &told));
    locus_path_destroy(&path);
    locus_positions_destroy(&p);
}

static void values_of_positions(void **state) {
    static const size_t offsets[] = {0, 1, 3};
    const int64_t edge = (int64_t)1 << 62, far[] = {edge, -edge, edge + 1}, low[] = {0, -edge - 1, 0};
    const double real_edge = 0x1p40, reals[] = {-real_edge, real_edge, 0.5}, beyond[] = {0, 0.5, -0x1.0000000001p40};
    const locus_packing two = told_packing(2, offsets, NULL), first = told_packing(1, offsets, NULL);
    locus_group *grid = told_group("grid:2"), *tree = told_group("tree:2"), *ring = told_group("seq*cycle:4");
    locus_group *lengthy = told_group("cycle:1000000007*cycle:1000000009*cycle:1000000021*tree:1000000033");
    locus_positions *p = NULL;
    locus_path *path = NULL;
    (void)state;
    TELLS(POSITION, "values", "position 4611686018427387905 of token 2 (sequence 1) is out of range: use -2^62 to 2^62",
          locus_positions_create(&p, NULL, &two, far, &told));
    TELLS(POSITION, "values",
          "position -4611686018427387905 of token 1 (sequence 1) is out of range: use -2^62 to 2^62",
          locus_positions_create(&p, NULL, &two, low, &told));
    TELLS(ARGUMENT, "values", "'grid:2' has several coordinates: positions cannot be counted, give values",
          locus_positions_create(&p, grid, &two, NULL, &told));
    TELLS(ARGUMENT, "group",
          "'tree:2' has a tree, whose positions are words: use locus_positions_create_columns or _paths",
          locus_positions_create(&p, tree, &two, far, &told));
    TELLS(ARGUMENT, "group",
          "'cycle:1000000007*cycle:1000000009*cycle:1000000021*tree:1000000…' has a tree, whose positions are words: "
          "use locus_positions_create_columns or _paths",
          locus_positions_create(&p, lengthy, &two, far, &told));
    TELLS(POSITION, "values",
          "position -1099511627777 of token 2 (sequence 1) is out of range: use finite numbers from -2^40 to 2^40",
          locus_positions_create_real(&p, NULL, &two, beyond, &told));
    TELLS(POSITION, "values",
          "position 1099511627777 of token 0 (sequence 0) is out of range: use finite numbers from -2^40 to 2^40",
          locus_positions_create_real(&p, grid, &first, (const double[]){0, 0x1.0000000001p40}, &told));
    TELLS(ARGUMENT, "group", "'seq*cycle:4' has no real-valued positions: they need seq or a grid",
          locus_positions_create_real(&p, ring, &two, reals, &told));
    TELLS(ARGUMENT, "values", "values is NULL: give a number for each token and coordinate",
          locus_positions_create_real(&p, NULL, &two, NULL, &told));
    TAKES(locus_positions_create_real(&p, NULL, &two, reals, &told));
    TELLS(UNSUPPORTED, "positions", "these positions are real numbers, which are no paths",
          locus_positions_path(p, 0, &path, &told));
    locus_positions_destroy(&p);
    locus_group_destroy(&grid);
    locus_group_destroy(&tree);
    locus_group_destroy(&ring);
    locus_group_destroy(&lengthy);
}

static locus_status columns(const char *group_text, const locus_position_column *given) {
    static const size_t offsets[] = {0, 2};
    const locus_packing one = told_packing(1, offsets, NULL);
    locus_group *group = told_group(group_text);
    locus_positions *p = NULL;
    const locus_status status = locus_positions_create_columns(&p, group, &one, given, &told);
    locus_positions_destroy(&p);
    locus_group_destroy(&group);
    return status;
}

static void columns_of_positions(void **state) {
    static const char no_branches[] =
        "columns[0] is a tree without branches: give words (starts, branches) or nodes (values, parents, branches)";
    static const int64_t branches[] = {1, 3, -3, 2}, at_root[] = {0, 0}, at_two[] = {2, 0}, letters[] = {3, -1, 4};
    static const size_t starts[] = {0, 1, 3}, fall[] = {0, 2, 1}, same[] = {2, 2, 2}, parents[] = {0, 0, 1, 3};
    locus_position_column c = {.size = sizeof c};
    (void)state;
    TELLS(ARGUMENT, "columns", "columns is NULL: give one for each coordinate", columns("seq", NULL));
    TELLS(ARGUMENT, "columns", "columns[0] has no values: an axis or a cycle needs one for each token",
          columns("seq", &c));
    const locus_position_column two[] = {{.size = sizeof c, .values = at_root}, {.size = sizeof c}};
    TELLS(ARGUMENT, "columns", "columns[1] has no values: an axis or a cycle needs one for each token",
          columns("grid:2", two));
    TELLS(ARGUMENT, "columns", "a tree's column has neither starts (words) nor values and nodes: give one of them",
          columns("tree:3", &c));
    c.starts = starts;
    TELLS(ARGUMENT, "columns", no_branches, columns("tree:3", &c));
    c.branches = letters;
    TELLS(POSITION, "branches",
          "branch 4 in the word of token 1 does not exist: tree:3 has branches 1 to 3 and their inverses -1 to -3",
          columns("tree:3", &c));
    TAKES(columns("tree:4", &c));
    c.starts = fall;
    TELLS(ARGUMENT, "starts", "starts[2] = 1 is less than starts[1] = 2: starts may not decrease",
          columns("tree:4", &c));
    c = (locus_position_column){.size = sizeof c, .starts = same};
    TAKES(columns("tree:4", &c));
    c = (locus_position_column){.size = sizeof c, .values = at_two, .node_count = 3};
    TELLS(ARGUMENT, "columns", no_branches, columns("tree:3", &c));
    c.branches = branches;
    TELLS(ARGUMENT, "columns",
          "columns[0] is a tree without parents: give words (starts, branches) or nodes (values, parents, branches)",
          columns("tree:3", &c));
    c.parents = parents;
    TAKES(columns("tree:3", &c));
    TELLS(POSITION, "branches",
          "branch 3 to node 1 does not exist: tree:2 has branches 1 to 2 and their inverses -1 to -2",
          columns("tree:2", &c));
    c.node_count = 2;
    TELLS(POSITION, "values", "node 2 of token 0 does not exist: the tree has nodes 0 to 1", columns("tree:3", &c));
    c.node_count = 4;
    TELLS(ARGUMENT, "parents",
          "parents[3] = 3: a parent must stand before its child, so that no node is its own ancestor",
          columns("tree:3", &c));
    c = (locus_position_column){.size = sizeof c, .values = at_root, .node_count = 1};
    TAKES(columns("tree:3", &c));
}

static void paths_and_groups(void **state) {
    static const size_t offsets[] = {0, 1, 3};
    const locus_packing two = told_packing(2, offsets, NULL);
    locus_group *ring = told_group("cycle:4"), *wide = told_group("grid:2147483649"), *group = NULL;
    locus_path *step = NULL, *other = NULL, *path = NULL;
    locus_positions *p = NULL;
    int64_t number;
    (void)state;
    TAKES(locus_path_parse(ring, "1", &step, &told));
    TAKES(locus_path_parse(NULL, "9223372036854775807", &other, &told));
    const locus_path *given[] = {step, step, NULL};
    TELLS(ARGUMENT, "paths", "the path of token 2 (sequence 1) is NULL: give one for each token",
          locus_positions_create_paths(&p, ring, &two, given, &told));
    given[2] = other;
    TELLS(ARGUMENT, "paths", "the path of token 2 is of the group 'seq', the positions of another one",
          locus_positions_create_paths(&p, ring, &two, given, &told));
    TELLS(ARGUMENT, "b", "the paths are of different groups, 'cycle:4' and 'seq': use one",
          locus_path_compose(step, other, &path, &told));
    TELLS(ARGUMENT, "b", "the path is NULL: make one with locus_path_parse",
          locus_path_compose(step, NULL, &path, &told));
    TELLS(ARGUMENT, "a", "the path is NULL: make one with locus_path_parse",
          locus_path_relative(NULL, step, &path, &told));
    TELLS(ARGUMENT, "result", "no place for the result was given: it is NULL",
          locus_path_distance(step, step, NULL, &told));
    TELLS(POSITION, "", "the sum of the paths does not fit in 64 bits: use smaller integers",
          locus_path_compose(other, other, &path, &told));
    TELLS(ARGUMENT, "path", "path is NULL: give a place for the result", locus_path_parse(NULL, "1", NULL, &told));
    TELLS(ARGUMENT, "text", "text is NULL: give a path such as 1+2-1", locus_path_parse(NULL, NULL, &path, &told));
    TELLS(SPEC, "path", "the integer does not fit in 64 bits: use -9223372036854775808 to 9223372036854775807",
          locus_path_parse(NULL, "9223372036854775808", &path, &told));
    TELLS(UNSUPPORTED, "group", "the group has more than 2^31 axes: no path or position on it can be stored; use fewer",
          locus_path_parse(wide, "1", &path, &told));
    TELLS(ARGUMENT, "group", "group is NULL: give a place for the result", locus_group_parse("seq", NULL, &told));
    TELLS(ARGUMENT, "text", "text is NULL: give a group such as seq or tree:2", locus_group_parse(NULL, &group, &told));
    TELLS(SPEC, "group", "the number of 'tree' does not fit in 64 bits: use at most 9223372036854775807",
          locus_group_parse("tree:9223372036854775808", &group, &told));
    /* What is quoted is cut to 32 bytes and whole characters. */
    TELLS(SPEC, "group",
          "unexpected 'abcdefghijklmnopqrstuvwxyzabcdef' in the group: expected seq, cycle:n, tree:k, grid:r or '('",
          locus_group_parse("abcdefghijklmnopqrstuvwxyzabcdefg", &group, &told));
    TELLS(SPEC, "group",
          "unexpected 'abcdefghijklmnopqrstuvwxyzabcde' in the group: expected seq, cycle:n, tree:k, grid:r or '('",
          locus_group_parse("abcdefghijklmnopqrstuvwxyzabcde\xC3\xB6", &group, &told));
    TELLS(SPEC, "group", "unexpected '' in the group: expected seq, cycle:n, tree:k, grid:r or '('",
          locus_group_parse("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"
                            "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80",
                            &group, &told));
    TAKES(locus_path_length(other, &number, &told));
    locus_path_destroy(&step);
    locus_path_destroy(&other);
    locus_group_destroy(&ring);
    locus_group_destroy(&wide);
}

/* ---- applying ---- */

static void calls_of_apply(void **state) {
    float memory[8][64] = {{0}};
    rig r;
    (void)state;
    rig_open(&r, "rope(learned=on)", rig_shape(2, 4, 0, 0), NULL, 3);
    const locus_workspace workspace = {locus_allocate(1 << 16), 1 << 16};
    const locus_execution execution = locus_execution_in(workspace);
    locus_tensor x = rig_view(&r, LOCUS_ROLE_QUERY, memory[0], LOCUS_FLOAT32, 3),
                 y = rig_view(&r, LOCUS_ROLE_QUERY, memory[2], LOCUS_FLOAT32, 3),
                 gx = rig_view(&r, LOCUS_ROLE_QUERY, memory[4], LOCUS_FLOAT32, 3), shifted = x, wide = y;
    const locus_tensor square = locus_tensor_view(memory[2], LOCUS_FLOAT32, 3, (const int64_t[]){3, 4, 4});
    shifted.data = memory[0] + 8;
    wide.dtype = LOCUS_FLOAT64;
#define APPLY(plan, role, direction, x, y) locus_apply(plan, (locus_role)(role), direction, x, y, &execution, &told)
    TELLS(ARGUMENT, "plan", "plan is NULL", APPLY(NULL, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &x, &y));
    TELLS(ARGUMENT, "role", "there is no role 0", APPLY(r.plan, 0, LOCUS_FORWARD, &x, &y));
    TELLS(ARGUMENT, "role", "there is no role 7", APPLY(r.plan, 7, LOCUS_FORWARD, &x, &y));
    TELLS(ARGUMENT, "direction", "there is no direction 2",
          APPLY(r.plan, LOCUS_ROLE_QUERY, (locus_direction)2, &x, &y));
    TELLS(DTYPE, "y", "x and y must have one element type", APPLY(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &x, &wide));
    TELLS(ARGUMENT, "y", "y overlaps x but is not the same view: give the same view, or memory of its own",
          APPLY(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &x, &shifted));
    TELLS(SHAPE, "y", "y has size 4 in dimension 1: expected 2",
          APPLY(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &x, &square));
    TELLS(ARGUMENT, "x", "x is NULL; this call needs it", APPLY(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, NULL, &y));
    TELLS(ARGUMENT, "y", "y is NULL; this call needs it", APPLY(r.plan, LOCUS_ROLE_KEY, LOCUS_FORWARD, &x, NULL));
    TAKES(APPLY(r.plan, LOCUS_ROLE_QUERY, LOCUS_INVERSE, &x, &x));
    for (int role = LOCUS_ROLE_QUERY; role <= LOCUS_ROLE_OUTPUT; role++)
        TAKES(APPLY(r.plan, role, LOCUS_FORWARD, &x, &y));

    locus_apply_gradients g = {.size = sizeof g, .x = &x, .gy = &y, .gx = &gx};
#define BACK(...) (__VA_ARGS__, locus_apply_backward(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &g, &execution, &told))
    const locus_apply_gradients plain = g;
    TELLS(ARGUMENT, "gradients", "gradients is NULL",
          locus_apply_backward(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, NULL, &execution, &told));
    TAKES(BACK(g = plain, g.x = NULL));
    TAKES(BACK(g = plain, g.gx = &y));
    TELLS(ARGUMENT, "gx", "gx overlaps gy but is not the same view: give the same view, or memory of its own",
          BACK(g = plain, g.gy = &x, g.gx = &shifted));
    TELLS(ARGUMENT, "gradients", "3 tensors of gradients are given: the encoding has 1",
          BACK(g = plain, g.parameters = r.gradients, g.parameter_count = 3));
#define LEARNS g = plain, g.parameters = r.gradients, g.parameter_count = 1
    TAKES(BACK(LEARNS));
    TELLS(ARGUMENT, "x", "x is NULL: the gradients of the parameters need the input of locus_apply",
          BACK(LEARNS, g.x = NULL));
    TELLS(DTYPE, "x", "gy and x must have one element type", BACK(LEARNS, g.x = &wide, g.gy = &x));
    TELLS(ARGUMENT, "gx", "gx overlaps x, which the gradients of the parameters need: give it memory of its own",
          BACK(LEARNS, g.gx = &x));
    TAKES(BACK(g = plain, g.gx = &x));

    char says[160];
    assert_int_equal(locus_threads_set(1), LOCUS_OK);
    const size_t bytes = locus_apply_workspace(r.plan, LOCUS_ROLE_QUERY, LOCUS_FLOAT32, NULL);
    const locus_execution exact = locus_execution_in((locus_workspace){workspace.data, bytes}),
                          odd = locus_execution_in((locus_workspace){(char *)workspace.data + 8, bytes}),
                          none = locus_execution_in((locus_workspace){NULL, bytes});
    g = plain;
    g.parameters = r.gradients;
    g.parameter_count = 1;
    TAKES(locus_apply_backward(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &g, &exact, &told));
    (void)snprintf(says, sizeof says,
                   "the workspace has 0 bytes, but at least %zu are needed, for one thread; ask locus_apply_workspace",
                   bytes);
    TELLS(MEMORY, "workspace", says, locus_apply_backward(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &g, &none, &told));
    TELLS(ARGUMENT, "workspace", "the workspace is not aligned to 64 bytes; get it from locus_allocate",
          locus_apply_backward(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &g, &odd, &told));
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
    locus_release(workspace.data, 1 << 16);
    rig_close(&r);
}

/* The input is needed where generators learn, not where the decay alone does: by products of parts that are called with
 * tokens and of some that are called with all of them. */
static void inputs_of_what_learns(void **state) {
    static const char *const groups[] = {"grid:2", "seq*tree:2", "tree:2*tree:2", "cycle:5*tree:2"};
    enum { TOKENS = 4, HEADS = 2, DIM = 4 };
    const size_t length = TOKENS - 1;
    (void)state;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        for (int fixed = 0; fixed < 2; fixed++) {
            double gy[TOKENS * HEADS * DIM] = {1, -2, 3, 5, 4, 2, -1}, gx[TOKENS * HEADS * DIM];
            char spec[120];
            uint64_t random = 5;
            rig r;
            (void)snprintf(spec, sizeof spec, "algebraic(group=%s, generator=%s, decay=learned:0.9)", groups[i],
                           fixed ? "fixed" : "skew");
            rig_bind(&r, spec, rig_shape(HEADS, DIM, 0, 0), 1);
            rig_place(&r, group_positions(&(group_drawing){groups[i], 1, &length, 3, false}, &random), NULL);
            const locus_tensor given = rig_view(&r, LOCUS_ROLE_QUERY, gy, LOCUS_FLOAT64, TOKENS),
                               taken = rig_view(&r, LOCUS_ROLE_QUERY, gx, LOCUS_FLOAT64, TOKENS);
            const locus_apply_gradients g = {
                .size = sizeof g, .gy = &given, .gx = &taken, .parameters = r.gradients, .parameter_count = r.count};
            const locus_workspace workspace = rig_workspace(&r, LOCUS_ROLE_QUERY, LOCUS_FLOAT64);
            const locus_execution execution = locus_execution_in(workspace);
            if (fixed)
                TAKES(locus_apply_backward(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &g, &execution, &told));
            else
                TELLS(ARGUMENT, "x", "x is NULL: the gradients of the parameters need the input of locus_apply",
                      locus_apply_backward(r.plan, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &g, &execution, &told));
            rig_workspace_free(workspace);
            rig_close(&r);
        }
}

/* ---- plans and bindings ---- */

static void plans(void **state) {
    static const size_t offsets[] = {0, 1, 3};
    const locus_packing two = told_packing(2, offsets, NULL), one = told_packing(1, offsets, NULL);
    locus_group *ring = told_group("cycle:4");
    locus_positions *on_ring = NULL, *pair = NULL, *single = NULL;
    locus_plan *plan = NULL;
    rig r, other, any;
    (void)state;
    rig_bind(&r, "rope", rig_shape(2, 4, 0, 0), 1);
    rig_bind(&other, "rope", rig_shape(4, 4, 0, 0), 1);
    rig_bind(&any, "none", rig_shape(2, 4, 0, 0), 1);
    TAKES(locus_positions_create(&on_ring, ring, &two, NULL, &told));
    TAKES(locus_positions_create(&pair, NULL, &two, NULL, &told));
    TAKES(locus_positions_create(&single, NULL, &one, NULL, &told));
    TELLS(ARGUMENT, "queries", "queries is NULL: give the queries' positions",
          locus_plan_create(&plan, r.binding, NULL, pair, &told));
    TELLS(ARGUMENT, "binding", "binding is NULL", locus_plan_create(&plan, NULL, pair, NULL, &told));
    TELLS(ARGUMENT, "plan", "plan is NULL", locus_plan_create(NULL, r.binding, pair, NULL, &told));
    TELLS(POSITION, "queries", "the positions of queries are on 'cycle:4', the encoding acts on 'seq'",
          locus_plan_create(&plan, r.binding, on_ring, NULL, &told));
    TELLS(POSITION, "keys", "the positions of keys are on 'cycle:4', those of queries on 'seq'",
          locus_plan_create(&plan, r.binding, pair, on_ring, &told));
    TELLS(POSITION, "keys", "the positions of keys are on 'seq', those of queries on 'cycle:4'",
          locus_plan_create(&plan, any.binding, on_ring, pair, &told));
    TELLS(ARGUMENT, "keys", "keys have 1 sequences, queries 2: give as many",
          locus_plan_create(&plan, r.binding, pair, single, &told));
    TAKES(locus_plan_create(&plan, any.binding, on_ring, NULL, &told));
    locus_plan_destroy(&plan);
    TAKES(locus_plan_create(&plan, r.binding, pair, NULL, &told));
    TELLS(ARGUMENT, "binding", "the binding is of another encoding or shape than the plan's: create a plan",
          locus_plan_refresh(&plan, other.binding, NULL, &told));
    TELLS(ARGUMENT, "binding", "the binding is of another encoding or shape than the plan's: create a plan",
          locus_plan_refresh(&plan, any.binding, NULL, &told));
    TELLS(ARGUMENT, "binding", "binding is NULL", locus_plan_refresh(&plan, NULL, NULL, &told));
    TELLS(ARGUMENT, "plan", "plan is NULL", locus_plan_refresh(NULL, r.binding, NULL, &told));
    locus_plan_destroy(&plan);
    locus_positions_destroy(&on_ring);
    locus_positions_destroy(&pair);
    locus_positions_destroy(&single);
    locus_group_destroy(&ring);
    rig_close(&r), rig_close(&other), rig_close(&any);
}

/* Generators that give no orthogonal matrix are refused when they are bound, not when a token first needs them. */
static void generators_without_a_matrix(void **state) {
    static const char *const generators[] = {"skew", "cayley", "householder"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char spec[80];
        rig r;
        locus_binding *binding = NULL;
        const locus_shape shape = rig_shape(2, 4, 0, 0);
        (void)snprintf(spec, sizeof spec, "algebraic(group=tree:3, generator=%s)", generators[i]);
        rig_bind(&r, spec, shape, 1);
        double *first = r.values[0].data; /* [heads, branches, 4, 4] */
        double *other = &first[(1 * 3 + 1) * 16];
        if (i < 2) { /* A - A' is beyond a double */
            other[6] = DBL_MAX;
            other[9] = -DBL_MAX;
        } else {
            memset(other + 8, 0, 4 * sizeof *other);
        }
        TELLS(NUMERIC, "generators",
              "the generator of branch 2 of head 1 gives no orthogonal matrix: its parameters must be finite, and "
              "reflection vectors not zero",
              locus_binding_create(&binding, r.encoding, &shape, r.values, r.count, &told));
        rig_close(&r);
    }
}

/* Where nothing is made, nothing stands where it would have been. */
static void nothing_is_left(void **state) {
    static const size_t offsets[] = {0, 2}, falling[] = {2, 0};
    static const double reals[] = {0, (double)NAN};
    const locus_packing two = told_packing(1, offsets, NULL), wrong = told_packing(1, falling, NULL);
    const locus_shape shape = rig_shape(2, 4, 0, 0);
    locus_group *seq = told_group("seq"), *tree = told_group("tree:2");
    locus_path *path = NULL;
    rig r;
    (void)state;
    TAKES(locus_path_parse(tree, "1+2", &path, &told));
    rig_bind(&r, "rope", shape, 1);
#define LEAVES_NOTHING(type, call) \
    do { \
        type *made = (type *)(void *)&told; /* any address */ \
        assert_int_not_equal(call, LOCUS_OK); \
        assert_null(made); \
    } while (0)
    LEAVES_NOTHING(locus_encoding, locus_encoding_parse("rop", &made, &told));
    LEAVES_NOTHING(locus_binding, locus_binding_create(&made, NULL, &shape, NULL, 0, &told));
    LEAVES_NOTHING(locus_binding, locus_binding_create(&made, r.encoding, NULL, NULL, 0, &told));
    LEAVES_NOTHING(locus_binding, locus_binding_create(&made, r.encoding, &shape, NULL, 2, &told));
    LEAVES_NOTHING(locus_plan, locus_plan_create(&made, NULL, NULL, NULL, &told));
    LEAVES_NOTHING(locus_plan, locus_plan_create(&made, r.binding, NULL, NULL, &told));
    LEAVES_NOTHING(locus_plan_forms, locus_plan_forms_create(&made, NULL, NULL, &told));
    LEAVES_NOTHING(locus_cache, locus_cache_create(&made, NULL, NULL, &told));
    LEAVES_NOTHING(locus_cache, locus_cache_create(&made, r.binding, NULL, &told));
    LEAVES_NOTHING(locus_attention_kind, locus_attention_kind_parse("sof", &made, &told));
    LEAVES_NOTHING(locus_pattern, locus_pattern_parse("causa", &made, &told));
    LEAVES_NOTHING(locus_group, locus_group_parse("sequ", &made, &told));
    LEAVES_NOTHING(locus_path, locus_path_parse(seq, "x", &made, &told));
    LEAVES_NOTHING(locus_path, locus_path_parse(NULL, "x", &made, &told));
    LEAVES_NOTHING(locus_path, locus_path_compose(path, NULL, &made, &told));
    LEAVES_NOTHING(locus_path, locus_path_inverse(NULL, &made, &told));
    LEAVES_NOTHING(locus_path, locus_path_relative(NULL, path, &made, &told));
    LEAVES_NOTHING(locus_path, locus_positions_path(NULL, 0, &made, &told));
    LEAVES_NOTHING(locus_positions, locus_positions_create(&made, NULL, NULL, NULL, &told));
    LEAVES_NOTHING(locus_positions, locus_positions_create(&made, NULL, &wrong, NULL, &told));
    LEAVES_NOTHING(locus_positions, locus_positions_create(&made, tree, &two, NULL, &told));
    LEAVES_NOTHING(locus_positions, locus_positions_create_real(&made, NULL, &two, reals, &told));
    LEAVES_NOTHING(locus_positions, locus_positions_create_columns(&made, NULL, &two, NULL, &told));
    LEAVES_NOTHING(locus_positions, locus_positions_create_paths(&made, tree, &two, NULL, &told));
#undef LEAVES_NOTHING
    rig_close(&r);
    locus_path_destroy(&path);
    locus_group_destroy(&seq);
    locus_group_destroy(&tree);
}

static void parameters_of_bindings(void **state) {
    const locus_shape shape = rig_shape(2, 4, 0, 0);
    double room[8] = {0};
    locus_binding *binding = NULL;
    locus_parameter info = {.size = sizeof info};
    size_t count;
    rig r;
    (void)state;
    rig_bind(&r, "kerple + rope(learned=on)", shape, 1);
    assert_int_equal(r.count, 3);
#define BIND(...) (__VA_ARGS__, locus_binding_create(&binding, r.encoding, &shape, given, 3, &told))
#define GIVEN given[0] = r.values[0], given[1] = r.values[1], given[2] = r.values[2]
    locus_tensor given[3];
    double *a = r.values[0].data, *theta = r.values[2].data;
    TELLS(ARGUMENT, "parameters", "2 tensors of parameters are given: the encoding has 3",
          locus_binding_create(&binding, r.encoding, &shape, r.values, 2, &told));
    TELLS(ARGUMENT, "parameters", "parameters is NULL: the encoding has 3",
          locus_binding_create(&binding, r.encoding, &shape, NULL, 3, &told));
    TELLS(ARGUMENT, "binding", "binding is NULL: give a place for the result",
          locus_binding_create(NULL, r.encoding, &shape, NULL, 3, &told));
    TELLS(ARGUMENT, "encoding", "encoding is NULL", locus_binding_create(&binding, NULL, &shape, NULL, 0, &told));
    TELLS(ARGUMENT, "shape", "shape is NULL", locus_binding_create(&binding, r.encoding, NULL, NULL, 3, &told));
    TELLS(ARGUMENT, "binding", "binding is NULL", locus_binding_update(NULL, r.values, 3, &told));
    TELLS(ARGUMENT, "1.frequencies", "the tensor '1.frequencies' of parameters has no data",
          BIND(GIVEN, given[2].data = NULL));
    TELLS(SHAPE, "1.frequencies", "the tensor '1.frequencies' of parameters has rank 2: expected 1",
          BIND(GIVEN, given[2].rank = 2));
    TELLS(SHAPE, "0.b", "the tensor '0.b' of parameters has size 3 in dimension 0: expected 2",
          BIND(GIVEN, given[1].shape[0] = 3));
    TELLS(SHAPE, "0.a", "the tensor '0.a' of parameters must be contiguous",
          BIND(GIVEN, given[0].data = room, given[0].stride[0] = 2));
    TELLS(DTYPE, "0.a", "0.a is of unknown element type 9; use float32, float64, float16 or bfloat16",
          BIND(GIVEN, given[0].dtype = (locus_dtype)9));
    a[1] = -0.5;
    TELLS(NUMERIC, "0.a", "the parameter '0.a' is -0.5 at element 1: it must be above 0", BIND(GIVEN));
    a[1] = 0;
    TELLS(NUMERIC, "0.a", "the parameter '0.a' is 0 at element 1: it must be above 0", BIND(GIVEN));
    a[1] = NAN;
    TELLS(NUMERIC, "0.a", "the parameter '0.a' is not finite at element 1", BIND(GIVEN));
    a[1] = DBL_MIN;
    theta[1] = -INFINITY;
    TELLS(NUMERIC, "1.frequencies", "the parameter '1.frequencies' is not finite at element 1", BIND(GIVEN));
    theta[1] = -1;
    TAKES(BIND(GIVEN));
    locus_binding_destroy(&binding);
    TELLS(ARGUMENT, "count", "count is NULL: give a place for the result",
          locus_encoding_parameter_count(r.encoding, &shape, NULL, &told));
    TELLS(ARGUMENT, "encoding", "encoding is NULL", locus_encoding_parameter_count(NULL, &shape, &count, &told));
    TELLS(ARGUMENT, "parameter", "parameter is NULL: give a place for the result",
          locus_encoding_parameter(r.encoding, &shape, 0, NULL, &told));
    TELLS(ARGUMENT, "encoding", "encoding is NULL", locus_encoding_parameter(NULL, &shape, 0, &info, &told));
    TELLS(ARGUMENT, "encoding", "encoding is NULL", locus_encoding_initialise(NULL, &shape, 1, given, 3, &told));
    TELLS(ARGUMENT, "index", "there is no parameter 3: the encoding has 3",
          locus_encoding_parameter(r.encoding, &shape, 3, &info, &told));
    TAKES(locus_encoding_parameter(r.encoding, &shape, 2, &info, &told));
    TAKES(locus_encoding_parameter_count(r.encoding, &shape, &count, &told));
    assert_int_equal(count, 3);
    rig_close(&r);
    rig_bind(&r, "fire", rig_shape(2, 4, 0, 0), 1);
    double *c = NULL, *far = NULL;
    for (size_t i = 0; i < r.count; i++) {
        c = strcmp(r.info[i].name, "c") == 0 ? r.values[i].data : c;
        far = strcmp(r.info[i].name, "L") == 0 ? r.values[i].data : far;
    }
    assert_true(c && far);
    *c = 0;
    TELLS(NUMERIC, "c", "the parameter 'c' is 0 at element 0: it must be another number than 0",
          locus_binding_update(&r.binding, r.values, r.count, &told));
    *c = -1;
    TAKES(locus_binding_update(&r.binding, r.values, r.count, &told));
    *c = 1e-200;
    *far = -1e-200;
    TELLS(NUMERIC, "L", "'L' of 'fire' is -1e-200: distances are divided by ln(1 + |c·L|), which must be above 0",
          locus_binding_update(&r.binding, r.values, r.count, &told));
    *far = 0;
    TELLS(NUMERIC, "L", "the parameter 'L' is 0 at element 0: it must be another number than 0",
          locus_binding_update(&r.binding, r.values, r.count, &told));
    rig_close(&r);
}

/* ---- shapes ---- */

static locus_status shaped(const char *spec, locus_shape shape) {
    locus_encoding *encoding = NULL;
    size_t count;
    TAKES(locus_encoding_parse(spec, &encoding, &told));
    const locus_status status = locus_encoding_parameter_count(encoding, &shape, &count, &told);
    locus_encoding_destroy(&encoding);
    return status;
}

static void shapes(void **state) {
    static const char *const names[] = {"heads", "head_dim", "value_dim", "model_dim", "kv_heads"};
    char says[100];
    (void)state;
    for (size_t i = 0; i < 5; i++) {
        locus_shape shape = {.heads = 65536};
        size_t *const sizes[] = {&shape.heads, &shape.head_dim, &shape.value_dim, &shape.model_dim, &shape.kv_heads};
        *sizes[i] = 65536;
        TAKES(shaped("none", shape));
        *sizes[i] = 65537;
        (void)snprintf(says, sizeof says, "%s is 65537: at most 65536 is possible", names[i]);
        TELLS(SHAPE, names[i], says, shaped("none", shape));
    }
    locus_shape shared = rig_shape(6, 8, 0, 0);
    shared.kv_heads = 4;
    TELLS(SHAPE, "kv_heads", "6 query heads cannot share 4 key and value heads: kv_heads must divide heads",
          shaped("none", shared));
    shared.kv_heads = 3;
    TAKES(shaped("none", shared));
    shared.heads = 0;
    TELLS(SHAPE, "kv_heads", "0 query heads cannot share 3 key and value heads: kv_heads must divide heads",
          shaped("none", shared));
    const struct {
        const char *spec, *argument, *message;
        size_t heads, head_dim, value_dim, model_dim;
    } cases[] = {
        {"rope", "heads", "'rope' acts on heads: give the shape's heads (now 0) and head_dim (now 8)", 0, 8, 0, 0},
        {"rope", "head_dim", "'rope' acts on heads: give the shape's heads (now 2) and head_dim (now 0)", 2, 0, 0, 0},
        {"rope", "head_dim", "'rope' turns pairs: head_dim must be even, not 7 (or give rotate=6)", 2, 7, 0, 0},
        {"rope(rotate=10)", "rotate", "'rope' cannot turn 10 of 8 head dimensions", 2, 8, 0, 0},
        {"roper", "value_dim", "'roper' turns values as it turns queries: value_dim must be head_dim (8), not 6", 2, 8,
         6, 0},
        {"rope(sections=1:2)", "sections",
         "the sections of 'rope' add up to 3 pairs: 8 dimensions turn, which are 4 pairs", 2, 8, 0, 0},
        {"rope(scaling=longrope, factor=2, original=64, short=1:1, long=1:2)", "short",
         "the lists short and long of 'rope' have 2 numbers: 8 dimensions turn, so 4 are needed", 2, 8, 0, 0},
        {"rope(axes=2, scaling=longrope, factor=2, original=64, short=1:1:1, long=1:2:3)", "short",
         "the lists short and long of 'rope' have 3 numbers: 4 dimensions turn with an axis, so 2 are needed", 2, 8, 0,
         0},
        {"sinusoidal", "model_dim", "'sinusoidal' needs an even model_dim, not 7", 0, 0, 0, 7},
        {"sinusoidal", "model_dim", "'sinusoidal' acts on embeddings: give the shape's model_dim", 2, 8, 0, 0},
        {"shiv-quirk(depth=3)", "model_dim",
         "'shiv-quirk' with depth=3 and k=2 needs a model_dim of 6 at least, not 5: lower 'depth'", 0, 0, 0, 5},
        {"mixed", "head_dim", "'mixed' turns pairs: head_dim must be even, not 9", 2, 9, 0, 0},
        {"algebraic(values=on)", "value_dim",
         "'algebraic(values=on)' acts on values as on queries: value_dim must be head_dim (8), not 6", 2, 8, 6, 0},
        {"algebraic(generator=angles)", "head_dim",
         "'algebraic(generator=angles)' turns pairs: head_dim must be even, not 7 (generator=skew takes odd ones)", 2,
         7, 0, 0},
        {"algebraic(group=cycle:4)", "head_dim", "'algebraic(group=cycle:n)' turns pairs: head_dim must be even, not 7",
         2, 7, 0, 0},
        {"algebraic(group=grid:3)", "head_dim",
         "'algebraic(group=grid:3)' cuts a head into 3 equal blocks, one for each coordinate, and head_dim is 8: give "
         "head_dim=12, or split=3:3:2",
         2, 8, 0, 0},
        {"algebraic(group=grid:3)", "head_dim",
         "'algebraic(group=grid:3)' cuts a head into 3 blocks, one for each coordinate, and head_dim is only 2: give "
         "head_dim=6",
         2, 2, 0, 0},
        {"algebraic(group=grid:3, generator=angles)", "head_dim",
         "'algebraic(group=grid:3)' cuts a head into 3 equal blocks, one for each coordinate, and head_dim is 10: give "
         "head_dim=12, or split=4:4:2",
         2, 10, 0, 0},
        {"algebraic(group=seq*cycle:4*tree:2)", "head_dim",
         "'algebraic(group=seq*cycle:4*tree:2)' cuts a head into 3 equal blocks, one for each coordinate, and head_dim "
         "is 13: give head_dim=18, or split=5:4:4",
         2, 13, 0, 0},
        {"algebraic(group=grid:3, split=4:4)", "split",
         "split has 2 blocks, but 'grid:3' has 3 coordinates: give a number for each", 2, 8, 0, 0},
        {"algebraic(group=cycle:6*cycle:5, split=3:4)", "split",
         "block 0 of the head, for a coordinate whose generator turns pairs, has 3 of 7 dimensions: give an even "
         "number",
         2, 7, 0, 0},
        {"algebraic(split=4:4)", "split", "split has 2 blocks, but 'seq' has 1 coordinate: give a number for each", 2,
         8, 0, 0},
        {"algebraic(group=grid:2, split=2:4)", "split",
         "the blocks of split add up to 6, but head_dim is 8: they must share all of it", 2, 8, 0, 0},
        {"algebraic(group=seq*cycle:4, split=5:3)", "split",
         "block 1 of the head, for a coordinate whose generator turns pairs, has 3 of 8 dimensions: give an even "
         "number, for example split=4:4",
         2, 8, 0, 0},
        {"algebraic(group=tree:2097153)", "group",
         "2097153 generators of 64 numbers in 2 tables are more than memory is meant to hold (2^28 numbers): give "
         "fewer branches, a smaller head_dim, or heads=shared",
         2, 8, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        TELLS(SHAPE, cases[i].argument, cases[i].message,
              shaped(cases[i].spec,
                     rig_shape(cases[i].heads, cases[i].head_dim, cases[i].value_dim, cases[i].model_dim)));
    TAKES(shaped("algebraic(group=tree:2097152)", rig_shape(2, 8, 0, 0)));
    TAKES(shaped("algebraic(generator=skew)", rig_shape(2, 7, 0, 0)));
    TAKES(shaped("rope(rotate=8)", rig_shape(2, 8, 0, 0)));
    TAKES(shaped("shiv-quirk(depth=3)", rig_shape(0, 0, 0, 6)));
}

/* ---- positions that encodings do not take ---- */

static locus_status placed(const char *spec, size_t model_dim, const int64_t *values, size_t count) {
    locus_plan *plan = NULL;
    rig r;
    rig_bind(&r, spec, rig_shape(2, 8, 0, model_dim), 1);
    r.queries = rig_positions(values, count);
    const locus_status status = locus_plan_create(&plan, r.binding, r.queries, NULL, &told);
    locus_plan_destroy(&plan);
    rig_close(&r);
    return status;
}

static void positions_of_encodings(void **state) {
    static const int64_t ends[] = {0, 6, 3}, beyond[] = {0, 6, 7}, below[] = {0, -1, 3};
    (void)state;
    TAKES(placed("learned(size=7)", 8, ends, 3));
    TELLS(POSITION, "positions",
          "position 7 of token 2 is outside the learned table of 7 rows (0 … 6): raise 'size' or move the positions",
          placed("learned(size=7)", 8, beyond, 3));
    TELLS(POSITION, "positions",
          "position -1 of token 1 is outside the learned table of 7 rows (0 … 6): raise 'size' or move the positions",
          placed("learned(size=7)", 8, below, 3));
    TAKES(placed("chebyshev(size=7)", 8, ends, 3));
    TELLS(POSITION, "positions",
          "position 7 of token 2 is outside of 'chebyshev', which spans 0 … 6: raise 'size' or move the positions",
          placed("chebyshev(size=7)", 8, beyond, 3));
    TELLS(POSITION, "positions",
          "position -1 of token 1 is outside of 'chebyshev', which spans 0 … 6: raise 'size' or move the positions",
          placed("chebyshev(size=7)", 8, below, 3));
}

/* ---- keys that are shifted ---- */

static void keys_that_are_shifted(void **state) {
    float keys[24] = {0};
    const int64_t sizes[] = {3, 2, 4};
    locus_tensor tensor = locus_tensor_view(keys, LOCUS_FLOAT32, 3, sizes);
    locus_plan_options options = locus_plan_options_default();
    locus_path *step = NULL;
    char says[100];
    rig r;
    (void)state;
    rig_bind(&r, "rope", rig_shape(2, 4, 0, 0), 1);
    TAKES(locus_path_parse(NULL, "5", &step, &told));
#define SHIFT(binding, a, role, keys) locus_keys_shift(binding, a, &options, (locus_role)(role), keys, &told)
    TELLS(ARGUMENT, "binding", "binding is NULL", SHIFT(NULL, NULL, LOCUS_ROLE_KEY, NULL));
    TELLS(ARGUMENT, "a", "a is NULL", SHIFT(r.binding, NULL, LOCUS_ROLE_KEY, &tensor));
    TELLS(ARGUMENT, "keys", "keys is NULL", SHIFT(r.binding, step, LOCUS_ROLE_KEY, NULL));
    TELLS(ARGUMENT, "role", "only keys and values are shifted, not role 2", SHIFT(r.binding, step, 2, &tensor));
    options.size = 8;
    (void)snprintf(says, sizeof says, "options.size is 8: set it to the size of the struct, at least %zu bytes",
                   sizeof options);
    TELLS(ARGUMENT, "options", says, SHIFT(r.binding, step, LOCUS_ROLE_KEY, &tensor));
    options = locus_plan_options_default();
    TAKES(SHIFT(r.binding, step, LOCUS_ROLE_KEY, &tensor));
    TAKES(SHIFT(r.binding, step, LOCUS_ROLE_VALUE, &tensor));
    locus_path_destroy(&step);
    rig_close(&r);
}

/* ---- normal forms, forms, limits ---- */

static locus_status folded(const char *spec) {
    locus_fold_shape shape = {.size = sizeof shape};
    rig r;
    rig_bind(&r, spec, rig_shape(2, 8, 0, 0), 1);
    const locus_status status = locus_fold_measure(r.binding, &shape, &told);
    rig_close(&r);
    return status;
}

static void normal_forms(void **state) {
    locus_fold_shape shape = {.size = sizeof shape};
    (void)state;
    TAKES(folded("rope"));
    TELLS(UNSUPPORTED, "encoding", "nothing acts on queries and keys, so there is nothing to fold", folded("alibi"));
    TELLS(UNSUPPORTED, "encoding", "'liere' has no normal form: its operators are no rotations in one basis",
          folded("alibi + liere(group=seq)"));
    TELLS(UNSUPPORTED, "encoding", "'rope' has no normal form: xpos stretches, so its operators are no rotations",
          folded("rope(xpos=512)"));
    TELLS(UNSUPPORTED, "encoding",
          "'rope' has no normal form: its attention factor stretches, so its operators are no rotations (fold with "
          "attention=1, and multiply the score's scale by the factor's square)",
          folded("rope(scaling=yarn, factor=4, original=64)"));
    TELLS(UNSUPPORTED, "encoding", "'rope' has no normal form: its frequencies depend on the length",
          folded("rope(scaling=dynamic, factor=2, original=64)"));
    TELLS(ARGUMENT, "binding", "binding is NULL", locus_fold_measure(NULL, &shape, &told));
    TELLS(ARGUMENT, "shape", "shape is NULL: give a place for the result", locus_fold_measure(NULL, NULL, &told));
    TELLS(ARGUMENT, "binding", "binding is NULL", locus_fold(NULL, NULL, NULL, NULL, &told));
}

static void limits_of_workspaces(void **state) {
    const locus_shape shape = rig_shape(2, 8, 0, 0), headless = rig_shape(0, 0, 0, 8);
    const locus_workspace_limits base = {.size = sizeof base, .shape = &shape, .dtype = LOCUS_FLOAT32, .queries = 10};
    const locus_attention_options options = locus_attention_default();
    locus_workspace_limits limits = base;
    locus_encoding *rope = NULL, *tree = NULL, *none = NULL, *single = NULL;
    size_t bytes = 1;
    (void)state;
    TAKES(locus_encoding_parse("rope", &rope, &told));
    TAKES(locus_encoding_parse("algebraic(group=tree:2)", &tree, &told));
    TAKES(locus_encoding_parse("none", &none, &told));
#define BOUND(encoding, role) locus_apply_workspace_bound(encoding, &limits, (locus_role)(role), &bytes, &told)
    TELLS(ARGUMENT, "bytes", "bytes is NULL: give a place for the result",
          locus_apply_workspace_bound(rope, &limits, LOCUS_ROLE_QUERY, NULL, &told));
    TELLS(ARGUMENT, "limits", "limits is NULL: say how large batches get",
          locus_apply_workspace_bound(rope, NULL, LOCUS_ROLE_QUERY, &bytes, &told));
    assert_int_equal(bytes, 0);
    TELLS(ARGUMENT, "role", "there is no role 0", BOUND(rope, 0));
    TELLS(ARGUMENT, "role", "there is no role 7", BOUND(rope, LOCUS_ROLE_ENCODED + 1));
    TAKES(BOUND(rope, LOCUS_ROLE_ENCODED));
    TELLS(ARGUMENT, "depth",
          "limits.depth is 0: positions on a tree are words; say how many letters the longest one has",
          BOUND(tree, LOCUS_ROLE_QUERY));
    limits.depth = 1;
    TAKES(BOUND(tree, LOCUS_ROLE_QUERY));
    limits.depth = (size_t)1 << 32;
    TELLS(ARGUMENT, "depth", "limits.depth is 4294967296: words have at most 2^32 - 1 letters",
          BOUND(tree, LOCUS_ROLE_QUERY));
    limits.depth = UINT32_MAX; /* without a choice of letters */
    TAKES(locus_encoding_parse("algebraic(group=tree:1)", &single, &told));
    TAKES(BOUND(single, LOCUS_ROLE_QUERY));
    limits = base;
    limits.queries = limits.keys = UINT32_MAX;
    const locus_shape large = rig_shape(65536, 4096, 0, 0);
    limits.shape = &large;
    TELLS(UNSUPPORTED, "limits",
          "batches of 4294967295 queries and 4294967295 keys of this shape are more than memory can hold",
          BOUND(rope, LOCUS_ROLE_QUERY));
    limits = base;
    limits.sequences = 1;
    limits.queries = limits.keys = (size_t)1 << 31;
    locus_attention_options landmarks = locus_attention_default();
    landmarks.kind = kind_of("soft(landmarks=1000000000000)");
    TELLS(UNSUPPORTED, "limits",
          "soft attention within these limits takes more memory than there can be: give it smaller options, or fewer "
          "tokens",
          locus_attention_workspace_bound(none, &limits, &landmarks, LOCUS_PASS_BACKWARD, &bytes, &told));
    assert_int_equal(bytes, 0);
    limits = base;
    limits.shape = NULL;
    TELLS(ARGUMENT, "shape", "shape is NULL", BOUND(rope, LOCUS_ROLE_QUERY));
    limits.shape = &headless;
    TELLS(SHAPE, "shape", "attention needs heads and head_dim; the shape has 0 heads of 0",
          locus_attention_workspace_bound(none, &limits, &options, LOCUS_PASS_FORWARD, &bytes, &told));
    TELLS(ARGUMENT, "bytes", "bytes is NULL: give a place for the result",
          locus_attention_workspace_bound(none, &limits, &options, LOCUS_PASS_FORWARD, NULL, &told));
    locus_encoding_destroy(&rope);
    locus_encoding_destroy(&tree);
    locus_encoding_destroy(&none);
    locus_encoding_destroy(&single);
}

/* 64·(queries + keys + sequences + 64·threads)·((heads + 1)·(the larger dimension + 1)² + model_dim) is 2^62, which is
 * refused, and with one key, thread, sequence, head or number less is not. */
static void limits_of_products(void **state) {
    static const struct {
        size_t heads, head_dim, value_dim, model_dim, queries, keys;
    } cases[] = {{65535, 255, 1, 0, 1 << 23, (1 << 23) - 193},
                 {65535, 1, 255, 0, 1 << 23, (1 << 23) - 193},
                 {65535, 255, 255, 0, 5, (1 << 24) - 198},
                 {65279, 15, 15, 65536, (size_t)1 << 31, ((size_t)1 << 31) - 193}};
    locus_encoding *none = NULL;
    (void)state;
    TAKES(locus_encoding_parse("none", &none, &told));
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int less = 0; less < 8; less++) {
            const locus_shape shape = {.heads = cases[c].heads - (less == 5),
                                       .head_dim = cases[c].head_dim - (less == 6),
                                       .value_dim = cases[c].value_dim - (less == 6),
                                       .model_dim = cases[c].model_dim - (less == 7 && cases[c].model_dim > 0)};
            const locus_workspace_limits limits = {.size = sizeof limits,
                                                   .shape = &shape,
                                                   .dtype = LOCUS_FLOAT32,
                                                   .threads = 3 - (size_t)(less == 1),
                                                   .sequences = less == 2 ? 2 : 1,
                                                   .queries = cases[c].queries - (less == 2 || less == 3),
                                                   .keys = cases[c].keys - (less == 4)};
            size_t bytes = 1;
            const bool fits = less > 0 && less != 2 && (less != 7 || cases[c].model_dim > 0);
            locus_error error = {0};
            assert_int_equal(locus_apply_workspace_bound(none, &limits, LOCUS_ROLE_QUERY, &bytes, &error),
                             fits ? LOCUS_OK : LOCUS_ERROR_UNSUPPORTED);
        }
    locus_encoding_destroy(&none);
}

/* ---- the core ---- */

static void *no_memory(void *own, size_t bytes, size_t alignment) {
    (void)own, (void)bytes, (void)alignment;
    return NULL;
}

static void give_back(void *own, void *block, size_t bytes) {
    (void)own, (void)block, (void)bytes;
}

static void core_calls(void **state) {
    float memory[64] = {0};
    const int64_t shape[] = {4, 2, 1, 1};
    const locus_tensor flat = locus_tensor_view(memory, LOCUS_FLOAT32, 1, shape),
                       square = locus_tensor_view(memory, LOCUS_FLOAT32, 2, shape);
    locus_tensor other = square;
    locus_allocator allocator = {sizeof allocator, no_memory, NULL, NULL};
    locus_executor executor = {.size = sizeof executor, .concurrency = 2};
    (void)state;
    TELLS(SHAPE, "to", "from has rank 1, to 2: give one shape", locus_tensor_convert(&flat, &square, &told));
    other.shape[1] = 3;
    TELLS(SHAPE, "to", "to has size 3 in dimension 1, from 2", locus_tensor_convert(&square, &other, &told));
    other = square;
    other.rank = 5;
    TELLS(SHAPE, "from", "from has rank 5: at most 4", locus_tensor_convert(&other, &square, &told));
    TELLS(SHAPE, "to", "to has rank 5: at most 4", locus_tensor_convert(&square, &other, &told));
    other.rank = 4;
    TELLS(SHAPE, "to", "from has rank 2, to 4: give one shape", locus_tensor_convert(&square, &other, &told));
    other = square;
    other.data = NULL;
    TELLS(ARGUMENT, "to", "to has no data; its data pointer is NULL", locus_tensor_convert(&square, &other, &told));
    other = square;
    other.device = (locus_device)3;
    TELLS(UNSUPPORTED, "from", "from is on device 3: the library computes in the host's memory, device 0",
          locus_tensor_convert(&other, &square, &told));
    TELLS(ARGUMENT, "allocator", "allocator.release is NULL: give a function", locus_allocator_set(&allocator, &told));
    allocator = (locus_allocator){sizeof allocator, NULL, give_back, NULL};
    TELLS(ARGUMENT, "allocator", "allocator.allocate is NULL: give a function", locus_allocator_set(&allocator, &told));
    TELLS(ARGUMENT, "executor", "executor has no function to run loops, or a concurrency of 0",
          locus_executor_set(&executor, &told));
}

/* ---- texts ---- */

static void specs(void **state) {
    (void)state;
    locus_encoding *encoding = NULL;
    locus_pattern *pattern = NULL;
    locus_attention_kind *kind = NULL;
    const struct {
        const char *spec, *argument, *message;
    } cases[] = {
        {"", "spec", "the spec ends where the name of an encoding was expected"},
        {"rope + ?", "spec", "expected the name of an encoding, not '?'"},
        {"rope(base=(1", "spec", "this '(' is not closed: expected ')'"},
        {"rope(base=1", "spec", "this '(' is not closed: expected ',' or ')' at the end"},
        {"none(a=1)", "spec", "'none' has no options, so no 'a'"},
        {"alibi(grop=seq)", "spec",
         "'alibi' has no option 'grop' (did you mean 'group'?): expected one of scaled group"},
        {"rope + algebraic", "spec",
         "'rope' and 'algebraic' both put an operator on queries and keys: a sum can have one such term"},
        {"rope + alibi(group=tree:2)", "spec",
         "'alibi' acts on 'tree:2', the terms before it on 'seq': a sum needs one group, say group=seq"},
        {"algebraic(group=tree:2) + sinusoidal", "spec",
         "'sinusoidal' acts on 'seq', the terms before it on 'tree:2': a sum needs one group"},
        {"alibi+alibi+alibi+alibi+alibi+alibi+alibi+alibi+alibi", "spec", "a sum has at most 8 terms"},
        {"mixed(group=tree:2)", "group", "option 'group' of 'mixed' cannot be 'tree:2': expected seq or grid:r"},
        {"algebraic(group=tree:0)", "group",
         "option 'group' of 'algebraic': 'tree:0' has no elements: use a number from 1"},
        {"rope(pairs=haf)", "pairs",
         "option 'pairs' of 'rope' cannot be 'haf': expected interleaved|half (did you mean 'half'?)"},
        {"rope(base=0)", "base", "option 'base' of 'rope' cannot be '0': expected number > 0"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        TELLS(SPEC, cases[i].argument, cases[i].message, locus_encoding_parse(cases[i].spec, &encoding, &told));
    TELLS(UNSUPPORTED, "group",
          "option 'group' of 'algebraic': the group 'grid:33' has more than 32 axes, cycles and trees",
          locus_encoding_parse("algebraic(group=grid:33)", &encoding, &told));
    TAKES(locus_encoding_parse("algebraic(group=grid:32)", &encoding, &told));
    locus_encoding_destroy(&encoding);
    char long_group[300] = "algebraic(group=cycle:";
    memset(long_group + 22, '0', 248);
    memcpy(long_group + 270, "7)", 3); /* 6 + 248 + 1 bytes */
    TAKES(locus_encoding_parse(long_group, &encoding, &told));
    locus_encoding_destroy(&encoding);
    memcpy(long_group + 270, "07)", 4);
    TELLS(SPEC, "group", "option 'group' of 'algebraic': a group's text is at most 255 bytes long",
          locus_encoding_parse(long_group, &encoding, &told));
    TELLS(ARGUMENT, "encoding", "encoding is NULL: give a place for the result",
          locus_encoding_parse("rope", NULL, &told));
    TELLS(ARGUMENT, "spec", "spec is NULL: give a text such as \"rope\"", locus_encoding_parse(NULL, &encoding, &told));
    const struct {
        const char *text, *message;
    } patterns[] = {
        {"*rope", "expected the number of layers before '*', as in 3*rope"},
        {"0*rope", "a pattern repeats an encoding for 1 to 65536 layers"},
        {"65536*rope / none", "a pattern has at most 65536 layers before it begins again"},
        {"none / sinusoidal",
         "vectors are added once, before the first layer or behind the last: only the first encoding of a pattern can "
         "do it"},
        {"alibi / decay(group=tree:2)",
         "this encoding acts on 'tree:2', those before it on 'seq': a pattern needs one group"}};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        TELLS(SPEC, "pattern", patterns[i].message, locus_pattern_parse(patterns[i].text, &pattern, &told));
    TELLS(ARGUMENT, "pattern", "pattern is NULL: give a place for the result",
          locus_pattern_parse("rope", NULL, &told));
    TELLS(ARGUMENT, "text", "text is NULL: give a text such as \"3*rope / none\"",
          locus_pattern_parse(NULL, &pattern, &told));
    TELLS(ARGUMENT, "kind", "kind is NULL: give a place for the result",
          locus_attention_kind_parse("soft", NULL, &told));
    TELLS(ARGUMENT, "text", "text is NULL: give a text such as \"linear\"",
          locus_attention_kind_parse(NULL, &kind, &told));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packings),
        cmocka_unit_test(values_of_positions),
        cmocka_unit_test(columns_of_positions),
        cmocka_unit_test(paths_and_groups),
        cmocka_unit_test(calls_of_apply),
        cmocka_unit_test(inputs_of_what_learns),
        cmocka_unit_test(plans),
        cmocka_unit_test(parameters_of_bindings),
        cmocka_unit_test(nothing_is_left),
        cmocka_unit_test(generators_without_a_matrix),
        cmocka_unit_test(shapes),
        cmocka_unit_test(positions_of_encodings),
        cmocka_unit_test(normal_forms),
        cmocka_unit_test(keys_that_are_shifted),
        cmocka_unit_test(limits_of_workspaces),
        cmocka_unit_test(limits_of_products),
        cmocka_unit_test(core_calls),
        cmocka_unit_test(specs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
