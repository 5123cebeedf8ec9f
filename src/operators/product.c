/* SPDX-License-Identifier: MIT */
/* See product.h. A local product calls its parts one after the other on runs of tokens whose rows stay in cache, with
 * one gradient slot for each part, side by side in the product's slot. A whole product runs its parts one after the
 * other over all tokens; local parts go through operate.c. Coordinates pass through: a part's INNER basis cancels
 * against the same part's. */
#include "operators/product.h"

#include "operators/operate.h"
#include "spec/form_writer.h"

#include <string.h>

#define RUN_TOKENS 64           /* walked by all parts before the next run */
#define GRADIENT_RUN_TOKENS 256 /* the same where parts sum gradients, which they fold at the end of a run */

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

/* data + elements, NULL for NULL. */
static void *shifted(const void *data, ptrdiff_t elements, locus_dtype dtype) {
    return data ? (char *)data + elements * (ptrdiff_t)locus_dtype_size(dtype) : NULL;
}

/* Each part is a form of its own dimensions. All operators that are parts have forms. */
static void write_parts(const locus_operator_part *parts, size_t count, locus_form_writer *writer) {
    const size_t first = writer->first;
    for (size_t i = 0; i < count; i++) {
        writer->first = first + parts[i].first;
        if (parts[i].local)
            parts[i].local->class->form(parts[i].local, writer);
        else
            parts[i].whole->class->form(parts[i].whole, writer);
    }
    writer->first = first;
}

/* ---- local products ---- */

typedef struct locus_product {
    locus_operator base;
    size_t count;
    const locus_operator_part *parts;
    size_t *slots; /* [count] where each part's begins in the product's slot */
    size_t slot_bytes;
} locus_product;

static size_t local_scratch_bytes(const locus_operator *op, locus_dtype dtype, size_t count) {
    const locus_product *own = (const locus_product *)op;
    const size_t rows = count < GRADIENT_RUN_TOKENS ? count : GRADIENT_RUN_TOKENS;
    size_t bytes = 0;
    for (size_t i = 0; i < own->count; i++) {
        const locus_operator *part = own->parts[i].local;
        bytes = larger(bytes, part->class->scratch_bytes(part, dtype, rows));
    }
    return bytes;
}

static size_t local_heads_scratch_bytes(const locus_operator *op, locus_dtype dtype, size_t heads) {
    const locus_product *own = (const locus_product *)op;
    size_t bytes = 0;
    for (size_t i = 0; i < own->count; i++) {
        const locus_operator *part = own->parts[i].local;
        bytes = larger(bytes, part->class->heads_scratch_bytes(part, dtype, heads));
    }
    return bytes;
}

/* The call that a part sees for `count` tokens from number `done` of the product's call on. */
static locus_operator_call part_call(const locus_operator_call *call, const locus_operator_part *part, size_t done,
                                     size_t count) {
    locus_operator_call own = *call;
    own.first += done;
    own.count = count;
    own.x = shifted(call->x, (ptrdiff_t)done * call->x_stride + (ptrdiff_t)part->first, call->dtype);
    own.entered = shifted(call->entered, (ptrdiff_t)done * call->entered_stride + (ptrdiff_t)part->first, call->dtype);
    return own;
}

static void local_forward(const locus_operator *op, const locus_operator_call *call, void *y, ptrdiff_t y_stride) {
    const locus_product *product = (const locus_product *)op;
    for (size_t done = 0; done < call->count; done += RUN_TOKENS) {
        const size_t left = call->count - done, count = left < RUN_TOKENS ? left : RUN_TOKENS;
        for (size_t i = 0; i < product->count; i++) {
            const locus_operator_part *part = &product->parts[i];
            const locus_operator_call own = part_call(call, part, done, count);
            const ptrdiff_t at = (ptrdiff_t)done * y_stride + (ptrdiff_t)part->first;
            part->local->class->forward(part->local, &own, shifted(y, at, call->dtype), y_stride);
        }
    }
}

static void local_backward(const locus_operator *op, const locus_operator_call *call, const void *gy,
                           ptrdiff_t gy_stride, void *gx, ptrdiff_t gx_stride, void *slot) {
    const locus_product *product = (const locus_product *)op;
    const size_t run = slot ? GRADIENT_RUN_TOKENS : RUN_TOKENS;
    for (size_t done = 0; done < call->count; done += run) {
        const size_t left = call->count - done, count = left < run ? left : run;
        for (size_t i = 0; i < product->count; i++) {
            const locus_operator_part *part = &product->parts[i];
            const locus_operator_call own = part_call(call, part, done, count);
            const ptrdiff_t from = (ptrdiff_t)done * gy_stride + (ptrdiff_t)part->first;
            const ptrdiff_t to = (ptrdiff_t)done * gx_stride + (ptrdiff_t)part->first;
            part->local->class->backward(part->local, &own, shifted(gy, from, call->dtype), gy_stride,
                                         shifted(gx, to, call->dtype), gx_stride,
                                         slot ? (char *)slot + product->slots[i] : NULL);
        }
    }
}

static locus_operator_heads part_heads(const locus_operator_heads *heads, const locus_operator_part *part, size_t done,
                                       locus_dtype dtype) {
    locus_operator_heads own = *heads;
    own.gy = shifted(heads->gy, (ptrdiff_t)done * heads->gy_stride + (ptrdiff_t)part->first, dtype);
    own.y = shifted(heads->y, (ptrdiff_t)done * heads->y_stride + (ptrdiff_t)part->first, dtype);
    return own;
}

static void local_forward_heads(const locus_operator *op, const locus_operator_call *call,
                                const locus_operator_heads *heads) {
    const locus_product *product = (const locus_product *)op;
    for (size_t done = 0; done < call->count; done += RUN_TOKENS) {
        const size_t left = call->count - done, count = left < RUN_TOKENS ? left : RUN_TOKENS;
        for (size_t i = 0; i < product->count; i++) {
            const locus_operator_part *part = &product->parts[i];
            const locus_operator_call own = part_call(call, part, done, count);
            const locus_operator_heads own_heads = part_heads(heads, part, done, call->dtype);
            part->local->class->forward_heads(part->local, &own, &own_heads);
        }
    }
}

static void local_backward_heads(const locus_operator *op, const locus_operator_call *call,
                                 const locus_operator_heads *heads) {
    const locus_product *product = (const locus_product *)op;
    const size_t run = heads->slots ? GRADIENT_RUN_TOKENS : RUN_TOKENS;
    for (size_t done = 0; done < call->count; done += run) {
        const size_t left = call->count - done, count = left < run ? left : run;
        for (size_t i = 0; i < product->count; i++) {
            const locus_operator_part *part = &product->parts[i];
            const locus_operator_call own = part_call(call, part, done, count);
            locus_operator_heads own_heads = part_heads(heads, part, done, call->dtype);
            own_heads.slots = heads->slots ? (char *)heads->slots + product->slots[i] : NULL;
            part->local->class->backward_heads(part->local, &own, &own_heads);
        }
    }
}

static void place_slots(locus_product *own) {
    own->slot_bytes = 0;
    for (size_t i = 0; i < own->count; i++) {
        const locus_operator *part = own->parts[i].local;
        own->slots[i] = own->slot_bytes;
        own->slot_bytes += locus_aligned(locus_operator_slot_bytes(part));
    }
}

static void widen_part(const locus_operator_part *part, const locus_limits *limits) {
    if (part->whole && part->whole->class->widen)
        part->whole->class->widen((locus_whole_operator *)(uintptr_t)part->whole, limits);
    if (part->local && part->local->class->widen)
        part->local->class->widen((locus_operator *)(uintptr_t)part->local, limits);
}

static void local_widen(locus_operator *op, const locus_limits *limits) {
    locus_product *own = (locus_product *)op;
    for (size_t i = 0; i < own->count; i++)
        widen_part(&own->parts[i], limits);
    place_slots(own);
}

static size_t local_slot_bytes(const locus_operator *op) {
    return ((const locus_product *)op)->slot_bytes;
}

static void local_reduce(const locus_operator *op, size_t head, void *slots, size_t slot_count, size_t slot_stride,
                         const locus_tensor *parameters) {
    const locus_product *product = (const locus_product *)op;
    for (size_t i = 0; i < product->count; i++) {
        const locus_operator *part = product->parts[i].local;
        if (locus_operator_slot_bytes(part) > 0)
            part->class->reduce(part, head, (char *)slots + product->slots[i], slot_count, slot_stride, parameters);
    }
}

static void local_form(const locus_operator *op, locus_form_writer *writer) {
    const locus_product *product = (const locus_product *)op;
    write_parts(product->parts, product->count, writer);
}

static const locus_operator_class local_class = {
    .scratch_bytes = local_scratch_bytes,
    .forward = local_forward,
    .backward = local_backward,
    .slot_bytes = local_slot_bytes,
    .reduce = local_reduce,
    .heads_scratch_bytes = local_heads_scratch_bytes,
    .forward_heads = local_forward_heads,
    .backward_heads = local_backward_heads,
    .form = local_form,
    .widen = local_widen,
};

static locus_status place_local(const locus_operator_part *parts, size_t count, locus_owned *memory,
                                locus_placed *placed, locus_error *error) {
    locus_product *own = locus_owned_get(memory, 1, sizeof *own);
    size_t *slots = locus_owned_get(memory, count, sizeof *slots);
    if (!own || !slots)
        return locus_owned_fail(error);
    *own = (locus_product){
        .base = {.class = &local_class, .heads_apart = true}, .count = count, .parts = parts, .slots = slots};
    place_slots(own);
    for (size_t i = 0; i < count; i++) {
        own->base.heads_apart = own->base.heads_apart && parts[i].local->heads_apart;
        own->base.enters = own->base.enters || parts[i].local->enters;
    }
    placed->query_key = &own->base;
    return LOCUS_OK;
}

/* ---- whole products ---- */

typedef struct locus_whole_product {
    locus_whole_operator base;
    size_t heads, count;
    const locus_operator_part *parts;
    const locus_token_side *query, *key;
} locus_whole_product;

static locus_operate operate_of(const locus_whole_product *product, const locus_operator_part *part, locus_role role,
                                locus_dtype dtype) {
    const bool keys = role == LOCUS_ROLE_KEY || role == LOCUS_ROLE_VALUE;
    return (locus_operate){.op = part->local,
                           .side = keys ? product->key : product->query,
                           .heads = product->heads,
                           .dim = part->count,
                           .dtype = dtype};
}

static size_t whole_workspace_bytes(const locus_whole_operator *op, locus_dtype dtype, const locus_role *roles,
                                    size_t count, bool backward) {
    const locus_whole_product *product = (const locus_whole_product *)op;
    size_t bytes = 0;
    for (size_t i = 0; i < product->count; i++) {
        const locus_operator_part *part = &product->parts[i];
        if (part->whole)
            bytes = larger(bytes, part->whole->class->workspace_bytes(part->whole, dtype, roles, count, backward));
        for (size_t s = 0; part->local && s < count; s++) {
            const locus_operate operate = operate_of(product, part, roles[s], dtype);
            bytes =
                larger(bytes, larger(locus_operate_bytes(&operate, false), locus_operate_bytes(&operate, backward)));
        }
    }
    return locus_aligned(bytes);
}

static locus_whole_stream part_stream(const locus_whole_stream *stream, const locus_operator_part *part,
                                      locus_dtype dtype) {
    locus_whole_stream own = *stream;
    own.x.data = shifted(stream->x.data, (ptrdiff_t)part->first, dtype);
    own.gy.data = shifted(stream->gy.data, (ptrdiff_t)part->first, dtype);
    own.y.data = shifted(stream->y.data, (ptrdiff_t)part->first, dtype);
    return own;
}

static void run_local_part(const locus_whole_product *product, const locus_operator_part *part,
                           const locus_whole_call *call, bool backward) {
    for (size_t s = 0; s < call->count; s++) {
        const locus_whole_stream own = part_stream(&call->streams[s], part, call->dtype);
        locus_operate operate = operate_of(product, part, own.role, call->dtype);
        operate.parameters = call->parameters;
        if (backward)
            locus_operate_backward(&operate, &own, call->workspace);
        else
            locus_operate_forward(&operate, &own, call->workspace);
    }
}

static void run_whole_part(const locus_operator_part *part, const locus_whole_call *call, bool backward) {
    locus_whole_stream streams[LOCUS_WHOLE_STREAMS_MAX];
    locus_whole_call own = *call;
    const bool learns = call->parameters && part->whole->class->learns(part->whole);
    for (size_t s = 0; s < call->count; s++) {
        streams[s] = part_stream(&call->streams[s], part, call->dtype);
        if (backward && !learns)
            streams[s].x = (locus_token_rows){0};
    }
    own.streams = streams;
    own.parameters = learns ? call->parameters : NULL;
    if (backward)
        part->whole->class->backward(part->whole, &own);
    else
        part->whole->class->forward(part->whole, &own);
}

static void run_parts(const locus_whole_operator *op, const locus_whole_call *call, bool backward) {
    const locus_whole_product *product = (const locus_whole_product *)op;
    for (size_t i = 0; i < product->count; i++)
        if (product->parts[i].whole)
            run_whole_part(&product->parts[i], call, backward);
        else
            run_local_part(product, &product->parts[i], call, backward);
}

static void whole_forward(const locus_whole_operator *op, const locus_whole_call *call) {
    run_parts(op, call, false);
}

static void whole_backward(const locus_whole_operator *op, const locus_whole_call *call) {
    run_parts(op, call, true);
}

static bool whole_learns(const locus_whole_operator *op) {
    const locus_whole_product *product = (const locus_whole_product *)op;
    for (size_t i = 0; i < product->count; i++)
        if (locus_operator_learns(product->parts[i].local, product->parts[i].whole))
            return true;
    return false;
}

static void whole_form(const locus_whole_operator *op, locus_form_writer *writer) {
    const locus_whole_product *product = (const locus_whole_product *)op;
    write_parts(product->parts, product->count, writer);
}

static void whole_widen(locus_whole_operator *op, const locus_limits *limits) {
    const locus_whole_product *product = (const locus_whole_product *)op;
    for (size_t i = 0; i < product->count; i++)
        widen_part(&product->parts[i], limits);
}

static const locus_whole_class whole_class = {
    .workspace_bytes = whole_workspace_bytes,
    .forward = whole_forward,
    .backward = whole_backward,
    .learns = whole_learns,
    .form = whole_form,
    .widen = whole_widen,
};

static locus_status place_whole(locus_whole_product product, locus_owned *memory, locus_placed *placed,
                                locus_error *error) {
    locus_whole_product *own = locus_owned_get(memory, 1, sizeof *own);
    if (!own)
        return locus_owned_fail(error);
    *own = product;
    own->base.class = &whole_class;
    placed->query_key_whole = &own->base;
    return LOCUS_OK;
}

/* ---- both ---- */

locus_status locus_product_place(const locus_operator_part *parts, size_t count, size_t heads,
                                 const locus_places *places, locus_owned *memory, locus_placed *placed,
                                 locus_error *error) {
    bool local = true;
    if (count == 1) {
        placed->query_key = parts[0].local;
        placed->query_key_whole = parts[0].whole;
        return LOCUS_OK;
    }
    locus_operator_part *own = locus_owned_get(memory, count, sizeof *own);
    if (!own)
        return locus_owned_fail(error);
    memcpy(own, parts, count * sizeof *own);
    for (size_t i = 0; i < count; i++)
        local = local && parts[i].local;
    if (local)
        return place_local(own, count, memory, placed, error);
    const locus_whole_product product = {
        .heads = heads, .count = count, .parts = own, .query = &places->items[0].query, .key = &places->items[0].key};
    return place_whole(product, memory, placed, error);
}
