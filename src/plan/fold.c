/* SPDX-License-Identifier: MIT */
/* Normal forms of encodings whose operators are rotations in a basis, as their classes write them, block by block. */
#include "plan/binding.h"

#include "core/error.h"
#include "core/sized.h"

#include <locus/fold.h>

typedef struct locus_fold_parts {
    locus_fold_shape shape;
    locus_normal_part items[LOCUS_COORDINATES_MAX];
    size_t count;
} locus_fold_parts;

static locus_status find_term(const locus_binding *binding, size_t *found, locus_error *error) {
    size_t count = 0;
    for (size_t i = 0; i < binding->encoding->term_count; i++)
        if (locus_term_sites(&binding->encoding->terms[i]) & LOCUS_SITE_QUERY_KEY) {
            *found = i;
            count++;
        }
    if (count == 1)
        return LOCUS_OK;
    return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "encoding",
                      count ? "two terms act on queries and keys: a normal form is of one"
                            : "nothing acts on queries and keys, so there is nothing to fold");
}

static locus_status find_parts(const locus_binding *binding, locus_fold_parts *parts, locus_error *error) {
    size_t found = 0;
    *parts = (locus_fold_parts){0};
    if (!binding)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "binding", "binding is NULL");
    locus_status status = find_term(binding, &found, error);
    if (status != LOCUS_OK)
        return status;
    const locus_term *term = &binding->encoding->terms[found];
    const char *name = term->class->info.name;
    if (!term->class->normal)
        return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "encoding",
                          "'%s' has no normal form: its operators are no rotations in one basis", name);
    parts->count = term->class->normal(locus_binding_state(binding, found), parts->items);
    parts->shape = (locus_fold_shape){.term = found,
                                      .heads = binding->shape.heads,
                                      .head_dim = binding->shape.head_dim,
                                      .coordinates = locus_group_coordinates(locus_term_group(term))};
    for (size_t i = 0; i < parts->count; i++) {
        if (parts->items[i].refused)
            return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "encoding", "'%s' has no normal form: %s", name,
                              parts->items[i].refused);
        parts->shape.pairs += parts->items[i].pairs;
    }
    return LOCUS_OK;
}

locus_status locus_fold_measure(const locus_binding *binding, locus_fold_shape *shape, locus_error *error) {
    static const locus_sized kind = {sizeof *shape, sizeof *shape, "shape"};
    locus_fold_parts parts;
    if (!shape)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "shape", "shape is NULL: give a place for the result");
    const locus_status status = find_parts(binding, &parts, error);
    const locus_status written = locus_sized_write(shape, &kind, &parts.shape, status == LOCUS_OK ? error : NULL);
    return status == LOCUS_OK ? written : status;
}

/* ---- all heads ---- */

locus_status locus_fold(const locus_binding *binding, double *basis, double *angles, double *signs,
                        locus_error *error) {
    locus_fold_parts parts;
    locus_status status = find_parts(binding, &parts, error);
    if (status != LOCUS_OK)
        return status;
    const locus_fold_shape *shape = &parts.shape;
    const size_t square = shape->head_dim * shape->head_dim, turns = shape->coordinates * shape->pairs;
    const size_t alone = shape->coordinates * (shape->head_dim - 2 * shape->pairs);
    for (size_t i = 0; basis && i < shape->heads * square; i++)
        basis[i] = 0;
    for (size_t i = 0; angles && i < shape->heads * turns; i++)
        angles[i] = 0;
    for (size_t i = 0; signs && i < shape->heads * alone; i++)
        signs[i] = 1;
    const size_t group = shape->heads / binding->shape.kv_heads; /* an operator serves the queries of a key's head */
    for (size_t head = 0; head < shape->heads; head++) {
        locus_normal_target target = {.head_dim = shape->head_dim,
                                      .all_pairs = shape->pairs,
                                      .basis = basis ? basis + head * square : NULL,
                                      .angles = angles ? angles + head * turns : NULL,
                                      .signs = signs ? signs + head * alone : NULL};
        for (size_t i = 0; i < parts.count; i++) {
            parts.items[i].write(&parts.items[i], head / group, &target);
            target.pair += parts.items[i].pairs;
            target.alone += parts.items[i].count - 2 * parts.items[i].pairs;
        }
    }
    return LOCUS_OK;
}
