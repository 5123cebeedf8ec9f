/* SPDX-License-Identifier: MIT */
/* Products of operators: each block must do what its part does alone, to the last bit of the data and within rounding
 * of the parameters' gradients; local and whole, in all forms that executors call, in place and out of place. */
#include "../property/encoding_rig.h"
#include "whole_face.h"

#include "operators/operate.h"
#include "operators/product.h"
#include "sanitized.h"
#include "threads_only.h"

enum { HEADS = 3, PARTS_MAX = 3, SEQUENCES = 3 };

/* Two that learn have tensors of one shape, because both add to the term's first parameter. */
static const char *const specs[PARTS_MAX] = {"algebraic(group=seq)", "rope(pairs=half)",
                                             "algebraic(group=seq, side=query)"};
static const size_t dims[PARTS_MAX] = {5, 6, 5};
static const size_t query_lengths[] = {70, 1, 140}, key_lengths[] = {3, 300, 9};
static const locus_role roles[] = {LOCUS_ROLE_QUERY, LOCUS_ROLE_KEY, LOCUS_ROLE_VALUE, LOCUS_ROLE_OUTPUT};

typedef struct world {
    size_t count, dim; /* parts, and their dimensions together */
    rig rigs[PARTS_MAX];
    whole_face faces[PARTS_MAX];
    locus_operator_part parts[PARTS_MAX];
    locus_placed placed;
    locus_owned memory;
} world;

static locus_positions *make_positions(const size_t *lengths, int64_t start) {
    size_t offsets[SEQUENCES + 1] = {2};
    for (size_t s = 0; s < SEQUENCES; s++)
        offsets[s + 1] = offsets[s] + lengths[s] + 4;
    int64_t *values = calloc(offsets[SEQUENCES], sizeof *values);
    assert_non_null(values);
    for (size_t t = 0; t < offsets[SEQUENCES]; t++)
        values[t] = start + (t % 7 == 3 ? 1000 : (int64_t)t);
    const locus_packing packing = {sizeof packing, SEQUENCES, offsets, lengths};
    locus_positions *positions = NULL;
    rig_ok(locus_positions_create(&positions, NULL, &packing, values, error));
    free(values);
    return positions;
}

/* `whole`: a mask of the parts that have whole faces. */
static void open_world(world *w, size_t count, unsigned whole) {
    memset(w, 0, sizeof *w);
    w->count = count;
    for (size_t i = 0; i < count; i++) {
        rig *r = &w->rigs[i];
        rig_bind(r, specs[i], rig_shape(HEADS, dims[i], 0, 0), 7 + i);
        rig_place(r, make_positions(query_lengths, -50), make_positions(key_lengths, 11));
        w->parts[i] = (locus_operator_part){.first = w->dim, .count = dims[i], .local = r->plan->query_key};
        if (whole >> i & 1) {
            w->faces[i] = whole_face_make(r->plan->query_key, &r->plan->places, HEADS, dims[i]);
            w->parts[i].local = NULL;
            w->parts[i].whole = &w->faces[i].base;
        }
        w->dim += dims[i];
    }
    rig_ok(locus_product_place(w->parts, count, HEADS, &w->rigs[0].plan->places, &w->memory, &w->placed, error));
    assert_true((w->placed.query_key != NULL) != (w->placed.query_key_whole != NULL));
    assert_true((w->placed.query_key_whole != NULL) == (whole != 0));
}

static void close_world(world *w) {
    for (size_t i = 0; i < w->count; i++)
        rig_close(&w->rigs[i]);
    locus_owned_release(&w->memory);
}

static const locus_token_side *side_of(const world *w, locus_role role) {
    const locus_placement *placement = &w->rigs[0].plan->places.items[0];
    return role == LOCUS_ROLE_KEY || role == LOCUS_ROLE_VALUE ? &placement->key : &placement->query;
}

/* ---- one run of the product over a role's tokens ---- */

typedef struct trial {
    locus_role role;
    locus_direction direction;
    locus_dtype dtype;
    bool in_place, learns;
    size_t tokens, size; /* of the buffer; its bytes */
    char *x, *gy, *y, *gx;
    double *gradients; /* [HEADS, 1, 5, 5] */
} trial;

/* rig_random, which takes longer than what is done with a number: those that all trials begin with are kept. */
static double number(uint64_t *state) {
    enum { MANY = 1 << 16 };
    static double kept[MANY];
    static uint64_t count;
    for (uint64_t at = count; count < MANY; count++)
        kept[count] = rig_random(&at);
    return *state < MANY ? kept[(*state)++] : rig_random(state);
}

static char *fill(const trial *t, size_t elements, uint64_t *state) {
    char *data = calloc(elements + 1, locus_dtype_size(t->dtype));
    assert_non_null(data);
    for (size_t i = 0; i < elements; i++)
        if (t->dtype == LOCUS_FLOAT32)
            ((float *)(void *)data)[i] = (float)number(state);
        else
            ((double *)(void *)data)[i] = number(state);
    return data;
}

static void begin(trial *t, const world *w) {
    uint64_t state = 5;
    t->tokens = side_of(w, t->role)->tokens;
    const size_t elements = t->tokens * HEADS * w->dim;
    t->size = elements * locus_dtype_size(t->dtype);
    t->x = fill(t, elements, &state);
    t->gy = fill(t, elements, &state);
    t->y = t->in_place ? t->x : fill(t, elements, &state);
    t->gx = t->in_place ? t->gy : fill(t, elements, &state);
    t->gradients = calloc(HEADS * 25, sizeof *t->gradients);
    assert_non_null(t->gradients);
}

static void finish(trial *t) {
    if (!t->in_place) {
        free(t->y);
        free(t->gx);
    }
    free(t->x);
    free(t->gy);
    free(t->gradients);
}

static locus_tensor gradient_tensor(const trial *t) {
    static const int64_t shape[] = {HEADS, 1, 5, 5};
    return locus_tensor_view(t->gradients, LOCUS_FLOAT64, 4, shape);
}

static locus_whole_stream stream_of(const trial *t, size_t dim, bool backward) {
    const ptrdiff_t row = (ptrdiff_t)(HEADS * dim), head = (ptrdiff_t)dim;
    const bool x = !backward || t->learns;
    return (locus_whole_stream){.role = t->role,
                                .direction = t->direction,
                                .x = {.data = x ? t->x : NULL, .token = row, .head = head},
                                .gy = {.data = backward ? t->gy : NULL, .token = row, .head = head},
                                .y = {.data = backward ? t->gx : t->y, .token = row, .head = head}};
}

static void *lend(size_t bytes) {
    void *workspace = locus_allocate(bytes + !bytes);
    assert_non_null(workspace);
    memset(workspace, 0xFF, bytes);
    return workspace;
}

static void run_product(const world *w, const trial *t, bool backward) {
    const locus_tensor parameter = gradient_tensor(t);
    const locus_whole_stream stream = stream_of(t, w->dim, backward);
    const locus_tensor *parameters = backward && t->learns ? &parameter : NULL;
    const locus_whole_operator *whole = w->placed.query_key_whole;
    const locus_operate operate = {.op = w->placed.query_key,
                                   .side = side_of(w, t->role),
                                   .heads = HEADS,
                                   .dim = w->dim,
                                   .dtype = t->dtype,
                                   .parameters = parameters};
    const size_t bytes = whole ? whole->class->workspace_bytes(whole, t->dtype, &t->role, 1, backward)
                               : locus_operate_bytes(&operate, parameters != NULL);
    void *workspace = lend(bytes);
    const locus_whole_call call = {t->dtype, 1, &stream, parameters, workspace};
    if (whole)
        (backward ? whole->class->backward : whole->class->forward)(whole, &call);
    else
        (backward ? locus_operate_backward : locus_operate_forward)(&operate, &stream, workspace);
    locus_release(workspace, bytes + !bytes);
}

/* ---- the parts alone, through locus_apply ---- */

static void move_columns(const world *w, const trial *t, size_t part, char *wide, char *narrow, bool into_narrow) {
    const size_t size = locus_dtype_size(t->dtype), bytes = dims[part] * size;
    for (size_t i = 0; i < t->tokens * HEADS; i++) {
        char *outer = wide + (i * w->dim + w->parts[part].first) * size, *inner = narrow + i * bytes;
        memcpy(into_narrow ? inner : outer, into_narrow ? outer : inner, bytes);
    }
}

/* Turns `t` into what the parts make of it. */
static void run_alone(const world *w, trial *t, bool backward) {
    for (size_t i = 0; i < w->count; i++) {
        const rig *r = &w->rigs[i];
        const int64_t shape[] = {(int64_t)t->tokens, HEADS, (int64_t)dims[i]};
        trial own = *t;
        char *narrow[3];
        char *wide[] = {t->x, backward ? t->gy : t->x, backward ? t->gx : t->y};
        locus_tensor tensors[3];
        for (size_t j = 0; j < 3; j++) {
            narrow[j] = calloc(t->tokens * HEADS * dims[i] + 1, locus_dtype_size(t->dtype));
            assert_non_null(narrow[j]);
            tensors[j] = locus_tensor_view(narrow[j], t->dtype, 3, shape);
            move_columns(w, t, i, wide[j], narrow[j], true);
        }
        const locus_tensor parameter = gradient_tensor(&own);
        const locus_apply_gradients gradients = {.x = &tensors[0],
                                                 .gy = &tensors[1],
                                                 .gx = &tensors[2],
                                                 .parameters = t->learns ? &parameter : NULL,
                                                 .parameter_count = r->count};
        /* Values and outputs are turned by the plan's query-key operator here, as a product's are. */
        locus_plan plan = *r->plan;
        plan.value = plan.query_key;
        plan.value_term = plan.query_key_term;
        locus_workspace workspace = {NULL, locus_apply_workspace(&plan, t->role, t->dtype, NULL)};
        workspace.data = lend(workspace.bytes);
        const locus_execution execution = locus_execution_in(workspace);
        if (backward)
            rig_ok(locus_apply_backward(&plan, t->role, t->direction, &gradients, &execution, error));
        else
            rig_ok(locus_apply(&plan, t->role, t->direction, &tensors[0], &tensors[2], &execution, error));
        locus_release(workspace.data, workspace.bytes + !workspace.bytes);
        move_columns(w, t, i, wide[2], narrow[2], false);
        for (size_t j = 0; j < 3; j++)
            free(narrow[j]);
    }
}

static void compare_gradients(const trial *got, const trial *want, double tolerance) {
    double largest = 0;
    for (size_t i = 0; i < HEADS * 25; i++)
        largest = fmax(largest, fabs(want->gradients[i]));
    for (size_t i = 0; i < HEADS * 25; i++)
        assert_true(fabs(got->gradients[i] - want->gradients[i]) <= tolerance * largest);
}

static void compare(const world *w, trial t) {
    const double tolerance = t.dtype == LOCUS_FLOAT64 ? 1e-13 : 1e-6; /* blocks are folded at other places */
    trial want = t;
    for (int backward = 0; backward < 2; backward++) {
        begin(&t, w);
        begin(&want, w);
        run_product(w, &t, backward);
        run_alone(w, &want, backward);
        assert_memory_equal(t.y, want.y, t.size);
        assert_memory_equal(t.gx, want.gx, t.size);
        if (t.learns && backward)
            compare_gradients(&t, &want, tolerance);
        finish(&t);
        finish(&want);
    }
}

static void compare_all(size_t count, unsigned whole) {
    static size_t number;
    world w;
    open_world(&w, count, whole);
    for (size_t role = 0; role < 4; role++)
        for (unsigned bits = 0; bits < 16; bits++)
            if (!left_out(number++, 6))
                compare(&w, (trial){.role = roles[role],
                                    .direction = bits & 1 ? LOCUS_INVERSE : LOCUS_FORWARD,
                                    .dtype = bits & 2 ? LOCUS_FLOAT32 : LOCUS_FLOAT64,
                                    .in_place = (bits & 4) != 0,
                                    .learns = (bits & 8) != 0});
    close_world(&w);
}

static void test_local_products(void **state) {
    (void)state;
    compare_all(2, 0);
    compare_all(3, 0);
}

static void test_whole_products(void **state) {
    (void)state;
    compare_all(2, 2);
    compare_all(3, 1);
    compare_all(3, 7);
}

/* ---- forms ---- */

static void test_one_part_is_the_part(void **state) {
    world w;
    (void)state;
    open_world(&w, 1, 0);
    assert_ptr_equal(w.placed.query_key, w.parts[0].local);
    close_world(&w);
    open_world(&w, 1, 1);
    assert_ptr_equal(w.placed.query_key_whole, w.parts[0].whole);
    close_world(&w);
}

/* What attention calls: one head, runs of tokens, either coordinates, with a scale. */
static void test_single_heads(void **state) {
    enum { FIRST = 2, COUNT = 70 };
    static const locus_coordinates coordinates[] = {LOCUS_OUTER, LOCUS_INNER};
    world w;
    (void)state;
    open_world(&w, 3, 0);
    const locus_operator *op = w.placed.query_key;
    const size_t dim = w.dim, elements = COUNT * dim;
    uint64_t draw = 3;
    double *x = rig_normal(elements, &draw), *g = rig_normal(elements, &draw);
    double *y = rig_normal(elements, &draw), *want = rig_normal(elements, &draw);
    const size_t slot_bytes = op->class->slot_bytes(op);
    void *scratch = lend(op->class->scratch_bytes(op, LOCUS_FLOAT64, COUNT)), *slot = lend(slot_bytes);
    for (size_t c = 0; c < 2; c++)
        for (size_t head = 0; head < HEADS; head++)
            for (size_t role = 0; role < 2; role++) {
                locus_operator_call call = {.role = roles[role],
                                            .coordinates = coordinates[c],
                                            .dtype = LOCUS_FLOAT64,
                                            .head = head,
                                            .first = FIRST,
                                            .count = COUNT,
                                            .x = x,
                                            .x_stride = (ptrdiff_t)dim,
                                            .scale = 0.25,
                                            .scratch = scratch};
                op->class->forward(op, &call, y, (ptrdiff_t)dim);
                for (size_t i = 0; i < w.count; i++) {
                    locus_operator_call own = call;
                    own.x = x + w.parts[i].first;
                    w.parts[i].local->class->forward(w.parts[i].local, &own, want + w.parts[i].first, (ptrdiff_t)dim);
                }
                assert_memory_equal(y, want, elements * sizeof(double));
                memset(slot, 0, slot_bytes);
                op->class->backward(op, &call, g, (ptrdiff_t)dim, y, (ptrdiff_t)dim, slot);
                for (size_t i = 0; i < w.count; i++) {
                    locus_operator_call own = call;
                    own.x = x + w.parts[i].first;
                    w.parts[i].local->class->backward(w.parts[i].local, &own, g + w.parts[i].first, (ptrdiff_t)dim,
                                                      want + w.parts[i].first, (ptrdiff_t)dim, NULL);
                }
                assert_memory_equal(y, want, elements * sizeof(double));
            }
    locus_release(scratch, op->class->scratch_bytes(op, LOCUS_FLOAT64, COUNT));
    locus_release(slot, slot_bytes);
    free(x), free(g), free(y), free(want);
    close_world(&w);
}

static void test_heads_apart(void **state) {
    world w;
    (void)state;
    open_world(&w, 2, 0); /* rope has one table for all heads */
    assert_false(w.placed.query_key->heads_apart);
    const locus_operator_part own[] = {{0, 5, w.parts[0].local, NULL}, {5, 5, w.parts[0].local, NULL}};
    locus_placed placed = {0};
    rig_ok(locus_product_place(own, 2, HEADS, &w.rigs[0].plan->places, &w.memory, &placed, error));
    assert_true(placed.query_key->heads_apart);
    close_world(&w);
}

static void test_any_number_of_threads(void **state) {
    trial first = {.role = LOCUS_ROLE_QUERY, .dtype = LOCUS_FLOAT32, .learns = true};
    world w;
    (void)state;
    for (unsigned whole = 0; whole < 2; whole++) {
        assert_int_equal(locus_threads_set(1), LOCUS_OK);
        open_world(&w, 3, whole);
        begin(&first, &w);
        run_product(&w, &first, true);
        for (size_t threads = 2; threads < 5; threads++) {
            trial again = first;
            assert_int_equal(locus_threads_set(threads), LOCUS_OK);
            begin(&again, &w);
            run_product(&w, &again, true);
            assert_memory_equal(again.gx, first.gx, first.size);
            assert_memory_equal(again.gradients, first.gradients, HEADS * 25 * sizeof(double));
            finish(&again);
        }
        finish(&first);
        close_world(&w);
    }
    assert_int_equal(locus_threads_set(0), LOCUS_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_local_products),       cmocka_unit_test(test_whole_products),
        cmocka_unit_test(test_one_part_is_the_part), cmocka_unit_test(test_single_heads),
        cmocka_unit_test(test_heads_apart),          cmocka_unit_test(test_any_number_of_threads),
    };
    threads_only("test_any_number_of_threads");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
