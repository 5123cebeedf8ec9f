/* SPDX-License-Identifier: MIT */
/* Writes plans' forms beside what the library computes with these plans, all in double, for rebuild.py, which computes
 * the same from the forms alone. Cases are drawn from the registry (tests/reference/drawn_world.h); a few are named
 * here: what drawing leaves out, and positions for which no small table of scores is known.
 *
 * With `evaluated` no object has a form of its own, as those that a program registers, and all are evaluated.
 *
 * With `gradients` the library's gradients follow, of ⟨go, attention⟩ + Σ ⟨gy, x with vectors added⟩ (autograd.py).
 *
 *   form_cases SEED CASES [evaluated|gradients]      to standard output, a stream of lines and arrays:
 *     names NAME…                                            of the registry
 *     case SPEC
 *     form KIND TERM ROLES FIRST COUNT MULTIPLIES [LAW]      then its arrays
 *     array NAME TYPE PARAMETER FIRST RANK NUMBERS…          then its elements, as they lie in memory, and a line end
 *     given                                                  then shape, spans, parameters, inputs, results as arrays
 *     end */
#include "reference/drawn_world.h"
#include "registered_case.h"

#include "plan/plan_access.h"

#include <locus/extension.h>
#include <locus/form.h>
#include <locus/memory.h>
#include <locus/parallel.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what, const char *message) {
    (void)fprintf(stderr, "form_cases: %s: %s\n", what, message);
    exit(1);
}

/* ---- writing ---- */

static void write_array(const locus_form_array *array) {
    static const char *const types[] = {"", "float64", "int64", "uint32"};
    const size_t size = array->type == LOCUS_FORM_UINT32 ? 4 : 8;
    size_t count = 1;
    printf("array %s %s %lld %zu %zu", array->name, types[array->type], (long long)(ptrdiff_t)array->parameter,
           array->parameter_first, array->rank);
    for (size_t i = 0; i < array->rank; i++) {
        printf(" %lld", (long long)array->shape[i]);
        count *= (size_t)array->shape[i];
    }
    printf("\n");
    if (fwrite(array->data, size, count, stdout) != count)
        fail("output", "cannot be written");
    printf("\n");
}

static void write_numbers(const char *name, const void *data, locus_form_type type, size_t rank, const size_t *shape) {
    locus_form_array array = {.name = name, .data = data, .type = type, .rank = rank, .parameter = LOCUS_FORM_FIXED};
    for (size_t i = 0; i < rank; i++)
        array.shape[i] = (int64_t)shape[i];
    write_array(&array);
}

static void write_forms(const locus_plan *plan) {
    locus_error error;
    locus_plan_forms *forms = NULL;
    if (locus_plan_forms_create(&forms, plan, NULL, &error) != LOCUS_OK)
        fail("forms", error.message);
    for (size_t i = 0; i < locus_plan_form_count(forms); i++) {
        const locus_form *form = locus_plan_form_at(forms, i);
        printf("form %d %zu %u %zu %zu %d %s\n", (int)form->kind, form->term, form->roles, form->first, form->count,
               form->multiplies, form->law);
        for (size_t j = 0; j < form->array_count; j++)
            write_array(locus_plan_form_array(forms, i, j));
    }
    locus_plan_forms_destroy(&forms);
}

/* ---- objects without forms ---- */

static bool evaluated;

static void *copies[LOCUS_TERMS_MAX * 7]; /* of classes, until the case's end */
static size_t copy_count;

/* An object's class is replaced by a copy that has no form. */
#define WITHOUT_FORM(type, class_type, object) \
    do { \
        type *own = (type *)(uintptr_t)(object); \
        if (own && own->class->form) { \
            class_type *copy = copies[copy_count++] = reference_zeros(1, sizeof *copy); \
            *copy = *own->class; \
            copy->form = NULL; \
            own->class = copy; \
        } \
    } while (0)

static void forget_forms(const locus_plan *plan) {
    for (size_t i = 0; i < plan->term_count; i++) {
        const locus_placed *placed = &plan->terms[i]->placed;
        WITHOUT_FORM(locus_operator, locus_operator_class, placed->query_key);
        WITHOUT_FORM(locus_operator, locus_operator_class, placed->value);
        WITHOUT_FORM(locus_whole_operator, locus_whole_class, placed->query_key_whole);
        WITHOUT_FORM(locus_whole_operator, locus_whole_class, placed->value_whole);
        WITHOUT_FORM(locus_score_term, locus_score_class, placed->score);
        WITHOUT_FORM(locus_embedding, locus_embedding_class, placed->embedding);
        WITHOUT_FORM(locus_embedding, locus_embedding_class, placed->encoded);
    }
}

/* ---- what the library computes ---- */

typedef struct case_tensor {
    locus_tensor view;
    double *values;
    size_t count;
} case_tensor;

/* [tokens, heads, dim], or [tokens, dim] for heads 0. */
static case_tensor tensor_of(size_t tokens, size_t heads, size_t dim, chooser *noise) {
    const int64_t shape[] = {(int64_t)tokens, (int64_t)(heads ? heads : dim), (int64_t)dim};
    case_tensor tensor = {.count = tokens * (heads ? heads : 1) * dim};
    tensor.values = reference_zeros(tensor.count, sizeof *tensor.values);
    for (size_t i = 0; noise && i < tensor.count; i++)
        tensor.values[i] = choose_normal(noise);
    tensor.view = locus_tensor_view(tensor.values, LOCUS_FLOAT64, heads ? 3 : 2, shape);
    return tensor;
}

static void write_tensor(const char *name, const case_tensor *tensor) {
    size_t shape[LOCUS_MAX_RANK];
    for (size_t i = 0; i < tensor->view.rank; i++)
        shape[i] = (size_t)tensor->view.shape[i];
    write_numbers(name, tensor->values, LOCUS_FORM_FLOAT64, tensor->view.rank, shape);
}

/* A plan, and what it was made for; kv_heads and value_dim are said. */
typedef struct form_case {
    const char *spec;
    const locus_plan *plan;
    locus_shape shape;
    size_t sequences, queries, keys; /* tokens of the buffers */
    const size_t *spans;             /* [sequences, 4]: query first, count, key first, count */
    size_t parameter_count;
    const locus_parameter *parameters;
    double *const *values;
    bool causal;
    chooser *noise;
} form_case;

static locus_execution lend(size_t bytes) {
    const locus_workspace workspace = {bytes ? locus_allocate(bytes) : NULL, bytes};
    if (bytes && !workspace.data)
        fail("memory", "none is left");
    return locus_execution_in(workspace);
}

static void give_back(const locus_execution *execution) {
    if (execution->workspace.data)
        locus_release(execution->workspace.data, execution->workspace.bytes);
}

/* ---- gradients ---- */

static bool gradients;
static locus_tensor sums[REFERENCE_TENSORS]; /* of the case's parameters */

static void begin_sums(const form_case *own) {
    for (size_t i = 0; i < own->parameter_count; i++) {
        const locus_parameter *info = &own->parameters[i];
        sums[i] = locus_tensor_view(NULL, LOCUS_FLOAT64, info->rank, info->shape);
        sums[i].data = reference_zeros(locus_tensor_count(&sums[i]), sizeof(double));
    }
}

static void write_sums(const form_case *own) {
    for (size_t i = 0; i < own->parameter_count; i++) {
        const case_tensor sum = {.view = sums[i], .values = sums[i].data};
        char name[32];
        (void)snprintf(name, sizeof name, "dp%zu", i);
        write_tensor(name, &sum);
        free(sums[i].data);
    }
}

static void write_attention_gradients(const form_case *own, const locus_attention_options *options,
                                      const locus_attention_tensors *tensors) {
    const locus_shape *shape = &own->shape;
    locus_error error;
    case_tensor go = tensor_of(own->queries, shape->heads, shape->value_dim, own->noise);
    case_tensor dq = tensor_of(own->queries, shape->heads, shape->head_dim, NULL);
    case_tensor dk = tensor_of(own->keys, shape->kv_heads, shape->head_dim, NULL);
    case_tensor dv = tensor_of(own->keys, shape->kv_heads, shape->value_dim, NULL);
    const locus_attention_gradients wanted = {.size = sizeof wanted,
                                              .output = &go.view,
                                              .query = &dq.view,
                                              .key = &dk.view,
                                              .value = &dv.view,
                                              .parameters = sums,
                                              .parameter_count = own->parameter_count};
    const locus_execution execution =
        lend(locus_attention_workspace(own->plan, options, LOCUS_FLOAT64, LOCUS_PASS_BACKWARD, NULL));
    if (locus_attention_backward(own->plan, options, tensors, &wanted, &execution, &error) != LOCUS_OK)
        fail(own->spec, error.message);
    const char *const names[] = {"go", "dq", "dk", "dv"};
    const case_tensor *const all[] = {&go, &dq, &dk, &dv};
    for (size_t i = 0; i < 4; i++) {
        write_tensor(names[i], all[i]);
        free(all[i]->values);
    }
    give_back(&execution);
}

static void write_apply_gradients(const form_case *own, locus_role role, const case_tensor *x) {
    const size_t tokens = own->queries, dim = own->shape.model_dim;
    char name[16];
    locus_error error;
    case_tensor gy = tensor_of(tokens, 0, dim, own->noise), gx = tensor_of(tokens, 0, dim, NULL);
    const locus_apply_gradients wanted = {.size = sizeof wanted,
                                          .x = &x->view,
                                          .gy = &gy.view,
                                          .gx = &gx.view,
                                          .parameters = sums,
                                          .parameter_count = own->parameter_count};
    const locus_execution execution = lend(locus_apply_workspace(own->plan, role, LOCUS_FLOAT64, NULL));
    if (locus_apply_backward(own->plan, role, LOCUS_FORWARD, &wanted, &execution, &error) != LOCUS_OK)
        fail(own->spec, error.message);
    (void)snprintf(name, sizeof name, "gy%d", (int)role);
    write_tensor(name, &gy);
    give_back(&execution);
    free(gy.values);
    free(gx.values);
}

/* ---- results ---- */

static void write_apply(const form_case *own, locus_role role, size_t tokens, size_t heads, size_t dim) {
    char name[16];
    locus_error error;
    case_tensor x = tensor_of(tokens, heads, dim, own->noise), y = tensor_of(tokens, heads, dim, NULL);
    const locus_execution execution = lend(locus_apply_workspace(own->plan, role, LOCUS_FLOAT64, NULL));
    memcpy(y.values, x.values, x.count * sizeof *x.values); /* gaps are not touched */
    if (locus_apply(own->plan, role, LOCUS_FORWARD, &x.view, &y.view, &execution, &error) != LOCUS_OK)
        fail(own->spec, error.message);
    (void)snprintf(name, sizeof name, "x%d", (int)role);
    write_tensor(name, &x);
    (void)snprintf(name, sizeof name, "y%d", (int)role);
    write_tensor(name, &y);
    if (gradients && heads == 0)
        write_apply_gradients(own, role, &x);
    give_back(&execution);
    free(x.values);
    free(y.values);
}

/* False where the library refuses (a mask that the encoding cannot have). */
static bool write_attention(const form_case *own) {
    const locus_shape *shape = &own->shape;
    locus_error error;
    case_tensor q = tensor_of(own->queries, shape->heads, shape->head_dim, own->noise);
    case_tensor k = tensor_of(own->keys, shape->kv_heads, shape->head_dim, own->noise);
    case_tensor v = tensor_of(own->keys, shape->kv_heads, shape->value_dim, own->noise);
    case_tensor o = tensor_of(own->queries, shape->heads, shape->value_dim, NULL);
    case_tensor lse = tensor_of(own->queries, 0, shape->heads, NULL);
    const locus_attention_tensors tensors = {.size = sizeof tensors,
                                             .query = &q.view,
                                             .key = &k.view,
                                             .value = &v.view,
                                             .output = &o.view,
                                             .log_sum_exp = &lse.view};
    locus_attention_options options = locus_attention_default();
    options.mask = own->causal ? LOCUS_MASK_CAUSAL : LOCUS_MASK_FULL;
    const locus_execution execution =
        lend(locus_attention_workspace(own->plan, &options, LOCUS_FLOAT64, LOCUS_PASS_FORWARD, NULL));
    const bool done = locus_attention_forward(own->plan, &options, &tensors, &execution, &error) == LOCUS_OK;
    if (done && gradients)
        write_attention_gradients(own, &options, &tensors);
    const char *const names[] = {"q", "k", "v", "o", "lse"};
    const case_tensor *const all[] = {&q, &k, &v, &o, &lse};
    for (size_t i = 0; i < 5; i++) {
        if (done)
            write_tensor(names[i], all[i]);
        free(all[i]->values);
    }
    give_back(&execution);
    return done;
}

static void write_parameters(const form_case *own) {
    for (size_t i = 0; i < own->parameter_count; i++) {
        size_t shape[LOCUS_MAX_RANK];
        char name[32];
        for (size_t r = 0; r < own->parameters[i].rank; r++)
            shape[r] = (size_t)own->parameters[i].shape[r];
        (void)snprintf(name, sizeof name, "p%zu", i);
        write_numbers(name, own->values[i], LOCUS_FORM_FLOAT64, own->parameters[i].rank, shape);
    }
}

static void write_case(const form_case *own) {
    const locus_shape *shape = &own->shape;
    const int64_t sizes[] = {(int64_t)shape->heads, (int64_t)shape->kv_heads, (int64_t)shape->head_dim,
                             (int64_t)shape->value_dim, own->causal};
    if (evaluated)
        forget_forms(own->plan);
    printf("case %s\n", own->spec);
    write_forms(own->plan);
    printf("given\n");
    write_numbers("sizes", sizes, LOCUS_FORM_INT64, 1, (const size_t[]){5});
    write_numbers("spans", own->spans, LOCUS_FORM_INT64, 2, (const size_t[]){own->sequences, 4});
    write_parameters(own);
    begin_sums(own);
    (void)write_attention(own);
    write_apply(own, LOCUS_ROLE_QUERY, own->queries, shape->heads, shape->head_dim);
    write_apply(own, LOCUS_ROLE_KEY, own->keys, shape->kv_heads, shape->head_dim);
    write_apply(own, LOCUS_ROLE_VALUE, own->keys, shape->kv_heads, shape->value_dim);
    write_apply(own, LOCUS_ROLE_OUTPUT, own->queries, shape->heads, shape->value_dim);
    write_apply(own, LOCUS_ROLE_TOKEN, own->queries, 0, shape->model_dim);
    write_apply(own, LOCUS_ROLE_ENCODED, own->queries, 0, shape->model_dim);
    write_sums(own);
    printf("end\n");
    while (copy_count > 0)
        free(copies[--copy_count]);
}

/* ---- drawn cases ---- */

static void write_drawn(uint64_t seed, uint64_t number) {
    static const drawn_limits limits = {.longest = 60, .threads = false};
    size_t spans[DRAWN_SEQUENCES * 4];
    chooser choices = chooser_of_seed(seed * 0x2545f4914f6cdd1du + number);
    drawn_world world;
    if (drawn_world_make(&world, &choices, &limits)) {
        const size_t sequences = world.queries.tokens.sequences;
        for (size_t s = 0; s < sequences; s++) {
            spans[4 * s] = world.queries.first[s];
            spans[4 * s + 1] = world.queries.count[s];
            spans[4 * s + 2] = world.keys.first[s];
            spans[4 * s + 3] = world.keys.count[s];
        }
        write_case(&(form_case){.spec = world.spec.text,
                                .plan = world.plan,
                                .shape = world.shape,
                                .sequences = sequences,
                                .queries = world.queries.tokens.tokens,
                                .keys = world.keys.tokens.tokens,
                                .spans = spans,
                                .parameter_count = world.tensor_count,
                                .parameters = world.info,
                                .values = world.values,
                                .causal = (locus_encoding_traits(world.spec.encoding) & LOCUS_TRAIT_CAUSAL) ||
                                          choose_chance(&choices, 40),
                                .noise = &choices});
    }
    drawn_world_free(&world);
}

/* ---- named cases ---- */

enum { FAR_TOKENS = 700 };

/* Initial values of seed 3. */
typedef struct named_values {
    size_t count;
    locus_parameter info[REFERENCE_TENSORS];
    double *values[REFERENCE_TENSORS];
} named_values;

static locus_binding *bind(const locus_encoding *encoding, const locus_shape *shape, named_values *own) {
    locus_tensor tensors[REFERENCE_TENSORS];
    locus_binding *binding = NULL;
    locus_error error;
    if (locus_encoding_parameter_count(encoding, shape, &own->count, &error) != LOCUS_OK ||
        own->count > REFERENCE_TENSORS)
        fail("parameters", error.message);
    for (size_t i = 0; i < own->count; i++) {
        locus_parameter *info = &own->info[i];
        info->size = sizeof *info;
        if (locus_encoding_parameter(encoding, shape, i, info, &error) != LOCUS_OK)
            fail("parameters", error.message);
        tensors[i] = locus_tensor_view(NULL, LOCUS_FLOAT64, info->rank, info->shape);
        tensors[i].data = own->values[i] = reference_zeros(locus_tensor_count(&tensors[i]), sizeof(double));
    }
    if (locus_encoding_initialise(encoding, shape, 3, tensors, own->count, &error) != LOCUS_OK ||
        locus_binding_create(&binding, encoding, shape, tensors, own->count, &error) != LOCUS_OK)
        fail("binding", error.message);
    return binding;
}

/* One sequence on seq, heads of `dim`: 0, 1, 2, … if `step` is 1; farther apart than cells by difference go, in no
 * order, else. */
static void write_named(const char *spec, size_t tokens, size_t dim, int64_t step) {
    const locus_shape shape = {
        .size = sizeof shape, .heads = 8, .kv_heads = 8, .head_dim = dim, .value_dim = dim, .model_dim = 8};
    const size_t offsets[] = {0, tokens}, spans[] = {0, tokens, 0, tokens};
    const locus_packing packing = {sizeof packing, 1, offsets, NULL};
    int64_t *values = reference_zeros(tokens, sizeof *values);
    chooser noise = chooser_of_seed(tokens);
    locus_encoding *encoding = NULL;
    locus_positions *positions = NULL;
    locus_plan *plan = NULL;
    locus_error error;
    named_values own;
    for (size_t t = 0; t < tokens; t++)
        values[t] = (int64_t)(step == 1 ? t : t * 271 % tokens) * step;
    if (locus_encoding_parse(spec, &encoding, &error) != LOCUS_OK)
        fail(spec, error.message);
    locus_binding *binding = bind(encoding, &shape, &own);
    if (locus_positions_create(&positions, NULL, &packing, values, &error) != LOCUS_OK ||
        locus_plan_create(&plan, binding, positions, NULL, &error) != LOCUS_OK)
        fail(spec, error.message);
    write_case(&(form_case){.spec = spec,
                            .plan = plan,
                            .shape = shape,
                            .sequences = 1,
                            .queries = tokens,
                            .keys = tokens,
                            .spans = spans,
                            .parameter_count = own.count,
                            .parameters = own.info,
                            .values = own.values,
                            .causal = true,
                            .noise = &noise});
    locus_plan_destroy(&plan);
    locus_positions_destroy(&positions);
    locus_binding_destroy(&binding);
    locus_encoding_destroy(&encoding);
    for (size_t i = 0; i < own.count; i++)
        free(own.values[i]);
    free(values);
}

int main(int count, char **arguments) {
    static const char *const odd[] = {"algebraic(generator=fixed, values=on)",
                                      "algebraic(generator=householder, values=on)",
                                      "algebraic(generator=cayley, side=key)"};
    static const char *const from_outside[] = {
        "own-kerple + own-wave",  "own-turn", "own-rope + own-alibi", "own-roper", "own-dense",
        "own-shear + own-kerple", "own-spin"};
    static const char *const far[] = {"alibi", "t5", "kerple", "fire", "decay(rate=0.999)", "temperature + alibi"};
    static const char *const rows[] = {"alibi", "kerple + decay(rate=0.99)"};
    if (locus_threads_set(1) != LOCUS_OK) /* small cases: threads would only wait for one another */
        fail("threads", "there is not one");
    evaluated = count == 4 && strcmp(arguments[3], "evaluated") == 0;
    gradients = count == 4 && strcmp(arguments[3], "gradients") == 0;
    if (count != 3 && !evaluated && !gradients)
        fail("usage", "form_cases SEED CASES [evaluated|gradients]");
    const uint64_t seed = strtoull(arguments[1], NULL, 0), cases = strtoull(arguments[2], NULL, 0);
    printf("names");
    for (size_t i = 0; i < locus_encoding_registry_size(); i++)
        printf(" %s", locus_encoding_registry_at(i)->name);
    printf("\n");
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++)
        write_named(odd[i], 80, 5, 1);
    for (size_t i = 0; i < sizeof far / sizeof far[0] && count == 3; i++)
        write_named(far[i], FAR_TOKENS, 4, 1000003);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0] && evaluated; i++) /* rows of three pieces */
        write_named(rows[i], 257, 2, i == 0 ? 1 : 1000003);
    for (uint64_t number = 0; number < cases; number++)
        write_drawn(seed, number);
    locus_error error;
    if (own_register(&error) != LOCUS_OK) /* last: nothing of it is to be drawn */
        fail("registration", error.message);
    for (size_t i = 0; i < sizeof from_outside / sizeof from_outside[0] && !gradients; i++) /* they have no laws */
        write_named(from_outside[i], 80, 5, 1);
    for (size_t i = 0; i < 2 && count == 3; i++)
        write_named(from_outside[i], FAR_TOKENS, 4, 1000003);
    return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
