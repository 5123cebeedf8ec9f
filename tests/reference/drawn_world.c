/* SPDX-License-Identifier: MIT */
/* See drawn_world.h. */
#include "reference/drawn_world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- shape ---- */

static void draw_shape(drawn_world *world, chooser *choices) {
    static const size_t heads[] = {2, 1, 3, 4, 6}, dims[] = {8, 4, 6, 2, 12, 16, 5, 20, 3, 32};
    locus_shape *shape = &world->shape;
    shape->heads = heads[choose(choices, sizeof heads / sizeof heads[0])];
    shape->head_dim = dims[choose(choices, choose_chance(choices, 50) ? sizeof dims / sizeof dims[0] : 5)];
    shape->value_dim = choose_chance(choices, 35) ? 1 + choose(choices, 20) : shape->head_dim;
    shape->model_dim = choose_chance(choices, 30) ? 1 + choose(choices, 40) : 2 * (1 + choose(choices, 20));
    do
        shape->kv_heads = choose_chance(choices, 40) ? 1 + choose(choices, shape->heads) : shape->heads;
    while (shape->heads % shape->kv_heads != 0 && choices->left > 0);
    if (shape->heads % shape->kv_heads != 0)
        shape->kv_heads = shape->heads;
}

/* ---- parameters ---- */

static const char *last_name(const char *name) {
    const char *found = name;
    for (const char *at = name; *at; at++)
        if (*at == '.' && (at[1] < '0' || at[1] > '9'))
            found = at + 1;
    return found;
}

/* What must stay above 0 is stretched, the rest moved. */
static void disturb(drawn_world *world, chooser *choices, double size) {
    static const char *const positive[] = {"a", "b", "c", "L", "rate", "decays"};
    for (size_t i = 0; i < world->tensor_count; i++) {
        bool stretched = false;
        for (size_t n = 0; n < sizeof positive / sizeof positive[0]; n++)
            stretched = stretched || strcmp(last_name(world->info[i].name), positive[n]) == 0;
        for (size_t e = 0; e < world->elements[i]; e++) {
            double *value = &world->values[i][e], by = size * choose_normal(choices);
            *value = (double)(float)(stretched ? *value * exp(by / 4) : *value + by);
            if (strcmp(last_name(world->info[i].name), "rate") == 0)
                *value = fmin(*value, 1);
        }
    }
}

static bool take_parameters(drawn_world *world, chooser *choices, locus_error *error) {
    locus_tensor tensors[REFERENCE_TENSORS];
    if (locus_encoding_parameter_count(world->spec.encoding, &world->asked, &world->tensor_count, error) != LOCUS_OK ||
        world->tensor_count > REFERENCE_TENSORS) {
        world->tensor_count = 0;
        return false;
    }
    for (size_t i = 0; i < world->tensor_count; i++) {
        locus_parameter *info = &world->info[i];
        info->size = sizeof *info;
        if (locus_encoding_parameter(world->spec.encoding, &world->asked, i, info, error) != LOCUS_OK)
            return false;
        world->elements[i] = 1;
        for (size_t r = 0; r < info->rank; r++)
            world->elements[i] *= (size_t)info->shape[r];
        world->values[i] = reference_zeros(world->elements[i], sizeof **world->values);
        tensors[i] = locus_tensor_view(world->values[i], LOCUS_FLOAT64, info->rank, info->shape);
    }
    const uint64_t seed = choose(choices, 256);
    if (locus_encoding_initialise(world->spec.encoding, &world->asked, seed, tensors, world->tensor_count, error) !=
        LOCUS_OK)
        return false;
    chooser stream = chooser_stream(choices);
    disturb(world, &stream, choose_chance(choices, 50) ? 0.3 : 0.02);
    return true;
}

static bool bind(drawn_world *world, locus_error *error) {
    locus_tensor tensors[REFERENCE_TENSORS];
    for (size_t i = 0; i < world->tensor_count; i++)
        tensors[i] = locus_tensor_view(world->values[i], LOCUS_FLOAT64, world->info[i].rank, world->info[i].shape);
    return world->binding ? locus_binding_update(&world->binding, tensors, world->tensor_count, error) == LOCUS_OK
                          : locus_binding_create(&world->binding, world->spec.encoding, &world->asked, tensors,
                                                 world->tensor_count, error) == LOCUS_OK;
}

static bool plan(drawn_world *world, locus_error *error) {
    locus_plan_options options = locus_plan_options_default();
    options.length = world->length;
    return locus_plan_create_with(&world->plan, world->binding, world->queries.positions,
                                  world->self ? NULL : world->keys.positions, &options, error) == LOCUS_OK;
}

/* ---- positions ---- */

static bool place(drawn_world *world, chooser *choices, const drawn_limits *limits, int64_t reach, locus_error *error) {
    const size_t sequences = choose_chance(choices, 60) ? choose(choices, DRAWN_SEQUENCES + 1) : 1;
    size_t lengths[2][DRAWN_SEQUENCES] = {{0}};
    for (size_t s = 0; s < sequences; s++) {
        const size_t most = choose_chance(choices, 6) ? limits->longest : limits->longest / 4 + 1;
        lengths[0][s] = choose_chance(choices, 10) ? 0 : 1 + choose(choices, most);
        lengths[1][s] = choose_chance(choices, 10) ? 0 : 1 + choose(choices, most);
    }
    world->self = choose_chance(choices, 60);
    if (!drawn_side_make(&world->queries, world->group, choices, sequences, lengths[0], reach, error))
        return false;
    if (!world->self)
        return drawn_side_make(&world->keys, world->group, choices, sequences, lengths[1], reach, error);
    world->keys = world->queries;
    world->keys.positions = NULL;
    return true;
}

static void forget_places(drawn_world *world) {
    if (world->self)
        world->keys.at = NULL;
    drawn_side_free(&world->queries);
    drawn_side_free(&world->keys);
}

/* First as far as drawn, then near the origin, for encodings that end somewhere. */
static bool place_and_plan(drawn_world *world, chooser *choices, const drawn_limits *limits, locus_error *error) {
    static const int64_t reaches[] = {0, 8, 0, 60, 1000, 100000};
    const int64_t reach = reaches[choose(choices, sizeof reaches / sizeof reaches[0])];
    world->length = choose_chance(choices, 20) ? 1 + choose(choices, 300) : 0;
    if (place(world, choices, limits, reach, error) && plan(world, error))
        return true;
    if (error->status != LOCUS_ERROR_POSITION)
        return false;
    const drawn_limits few = {.longest = 3};
    forget_places(world);
    return place(world, choices, &few, 0, error) && plan(world, error);
}

/* ---- the whole ---- */

static void draw_machine(chooser *choices) {
    static const unsigned masks[] = {~0u, LOCUS_ISA_SCALAR, LOCUS_ISA_AVX2, ~(unsigned)LOCUS_ISA_AMX};
    locus_cpu_mask_set(masks[choose(choices, sizeof masks / sizeof masks[0])]);
    if (locus_threads_set(1 + choose(choices, 3)) != LOCUS_OK)
        abort();
}

static void introduce(drawn_world *world) {
    world->queries.tokens.first = world->queries.first;
    world->queries.tokens.count = world->queries.count;
    world->keys.tokens.first = world->keys.first;
    world->keys.tokens.count = world->keys.count;
    world->model = (reference_model){.encoding = world->spec.encoding,
                                     .group = world->group,
                                     .shape = world->shape,
                                     .tensor_count = world->tensor_count,
                                     .info = world->info,
                                     .values = world->values,
                                     .length = world->length,
                                     .queries = &world->queries.tokens,
                                     .keys = &world->keys.tokens};
    world->operators = reference_operators_make(&world->model);
}

/* What the library is told leaves out what is the default, now and then. */
static void ask(drawn_world *world, chooser *choices) {
    world->asked = world->shape;
    if (world->shape.value_dim == world->shape.head_dim && choose_chance(choices, 50))
        world->asked.value_dim = 0;
    if (world->shape.kv_heads == world->shape.heads && choose_chance(choices, 50))
        world->asked.kv_heads = 0;
}

bool drawn_world_make(drawn_world *world, chooser *choices, const drawn_limits *limits) {
    locus_error error = {.status = LOCUS_ERROR_SPEC, .message = "no spec could be drawn"};
    memset(world, 0, sizeof *world);
    if (limits->threads)
        draw_machine(choices);
    draw_shape(world, choices);
    bool made = drawn_spec_make(choices, &world->shape, &world->spec);
    if (made) {
        const locus_group *own = locus_encoding_group(world->spec.encoding);
        char text[64];
        if (own)
            (void)locus_group_text(own, text, sizeof text);
        made = locus_group_parse(own ? text : world->spec.group, &world->group, &error) == LOCUS_OK &&
               locus_group_coordinates(world->group) <= REFERENCE_AXES;
    }
    if (made)
        ask(world, choices);
    made = made && take_parameters(world, choices, &error) && bind(world, &error) &&
           place_and_plan(world, choices, limits, &error);
    world->status = made ? LOCUS_OK : error.status;
    if (made)
        introduce(world);
    else
        (void)snprintf(world->refusal, sizeof world->refusal, "%s: %s", world->spec.text, error.message);
    return made;
}

bool drawn_world_update(drawn_world *world) {
    locus_error error;
    locus_plan_destroy(&world->plan);
    return bind(world, &error) && plan(world, &error);
}

void drawn_world_free(drawn_world *world) {
    reference_operators_free(&world->operators);
    locus_plan_destroy(&world->plan);
    locus_binding_destroy(&world->binding);
    forget_places(world);
    locus_group_destroy(&world->group);
    locus_encoding_destroy(&world->spec.encoding);
    for (size_t i = 0; i < world->tensor_count; i++)
        free(world->values[i]);
    memset(world, 0, sizeof *world);
}

void drawn_world_text(const drawn_world *world, char *text, size_t size) {
    const locus_shape *shape = &world->shape;
    size_t at = (size_t)snprintf(text, size, "%s; %zu/%zu heads of %zu/%zu, model %zu, %s; lengths", world->spec.text,
                                 shape->heads, shape->kv_heads, shape->head_dim, shape->value_dim, shape->model_dim,
                                 locus_isa_name(locus_cpu_isa()));
    for (size_t s = 0; s < world->queries.tokens.sequences && at < size; s++)
        at += (size_t)snprintf(text + at, size - at, " %zu:%zu", world->queries.count[s], world->keys.count[s]);
}
