/* SPDX-License-Identifier: MIT */
/* Asks the callbacks of a registered encoding. What they write is looked at before anybody reads it. */
#include "extension/extension_class.h"

#include "core/call.h"
#include "core/error.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define BATCH_NUMBERS ((size_t)1 << 18) /* that a callback is asked for at a time, unless one place has more */

size_t locus_extension_width(locus_extension_kind kind, size_t head_dim) {
    return kind == LOCUS_EXTENSION_ANGLES ? head_dim / 2 : kind == LOCUS_EXTENSION_MATRICES ? head_dim * head_dim : 1;
}

static size_t width_of(const locus_extension_bound *bound) {
    return locus_extension_width(bound->own->description.kind, bound->head_dim);
}

static locus_extension_positions from(const locus_extension_positions *positions, size_t first) {
    return (locus_extension_positions){positions->values ? positions->values + first : NULL,
                                       positions->words ? positions->words + first : NULL};
}

static locus_extension_batch batch_of(const locus_extension_bound *bound, const locus_extension_places *places,
                                      size_t head, size_t first, size_t count) {
    const locus_encoding_description *description = &bound->own->description;
    const size_t at = first * places->coordinates;
    return (locus_extension_batch){.size = sizeof(locus_extension_batch),
                                   .context = description->context,
                                   .heads = bound->heads,
                                   .head_dim = bound->head_dim,
                                   .head = head,
                                   .length = places->length,
                                   .option_count = description->option_count,
                                   .options = bound->options,
                                   .parameter_count = description->parameter_count,
                                   .parameters = bound->values,
                                   .count = count,
                                   .coordinates = places->coordinates,
                                   .query = from(&places->query, at),
                                   .key = from(&places->key, at),
                                   .distance = places->distance ? places->distance + first : NULL};
}

/* What a callback reports, on one line that names the encoding. */
static locus_status fail_callback(const locus_extension_bound *bound, const char *what, locus_status status,
                                  const locus_error *own, locus_error *error) {
    const char *name = bound->own->class.info.name;
    const bool known = status >= LOCUS_ERROR_ARGUMENT && status <= LOCUS_ERROR_INTERRUPTED;
    const char *reason = memchr(own->message, '\0', sizeof own->message) && own->message[0] ? own->message : NULL;
    if (!known)
        return locus_fail(error, LOCUS_ERROR_NUMERIC, name,
                          "%s of '%s' failed with status %d, which is no locus_status", what, name, (int)status);
    return locus_fail(error, status, name, "%s of '%s' failed: %s", what, name,
                      reason ? reason : locus_status_text(status));
}

/* "position 3", "query 0,2 and key 1,5": where a place is, for messages. */
static void write_place(const locus_extension_places *places, const locus_extension_positions *positions, size_t place,
                        char *text, size_t size) {
    size_t at = 0;
    text[0] = '\0';
    for (size_t c = 0; c < places->coordinates && at < size; c++) {
        const size_t index = place * places->coordinates + c;
        if (c > 0)
            at += (size_t)snprintf(text + at, size - at, ",");
        if (at < size && positions->words && positions->words[index].branches)
            at += (size_t)snprintf(text + at, size - at, "a node %zu steps deep", positions->words[index].length);
        else if (at < size)
            at += (size_t)snprintf(text + at, size - at, "%.10g", positions->values[index]);
    }
}

static locus_status fail_number(const locus_extension_bound *bound, const locus_extension_places *places, size_t head,
                                size_t place, double value, locus_error *error) {
    const char *name = bound->own->class.info.name;
    char query[96], key[96];
    write_place(places, &places->query, place, query, sizeof query);
    if (!places->key.values)
        return locus_fail(error, LOCUS_ERROR_NUMERIC, name,
                          "'%s' says %f at position %s in head %zu: it must be a finite float32", name, value, query,
                          head);
    write_place(places, &places->key, place, key, sizeof key);
    return locus_fail(error, LOCUS_ERROR_NUMERIC, name,
                      "'%s' says %f for the query at %s and the key at %s in head %zu: it must be a finite float32",
                      name, value, query, key, head);
}

locus_status locus_extension_ask(const locus_extension_bound *bound, const locus_extension_places *places, size_t head,
                                 double *values, locus_error *error) {
    const size_t width = width_of(bound), most = width < BATCH_NUMBERS ? BATCH_NUMBERS / (width + !width) : 1;
    for (size_t first = 0; first < places->count && width > 0; first += most) {
        const size_t left = places->count - first, count = left < most ? left : most;
        const locus_extension_batch batch = batch_of(bound, places, head, first, count);
        double *own = values + first * width;
        locus_error reason = {.offset = -1};
        for (size_t i = 0; i < count * width; i++)
            own[i] = NAN; /* what is not written is found */
        locus_status status = bound->own->description.values(&batch, own, &reason);
        if (status != LOCUS_OK)
            return fail_callback(bound, "the callback", status, &reason, error);
        for (size_t i = 0; i < count * width; i++)
            if (!(fabs(own[i]) <= FLT_MAX))
                return fail_number(bound, places, head, first + i / width, own[i], error);
        status = locus_call_check(error);
        if (status != LOCUS_OK)
            return status;
    }
    return LOCUS_OK;
}

/* ---- gradients ---- */

static bool are_finite(const double *numbers, size_t count) {
    bool finite = true;
    for (size_t i = 0; i < count; i++)
        finite = finite && isfinite(numbers[i]);
    return finite;
}

static locus_status learn_batch(const locus_extension_bound *bound, const locus_extension_batch *batch,
                                const double *upstream, double *const *gradients, locus_error *error) {
    locus_error reason = {.offset = -1};
    const locus_status status = bound->own->description.gradient(batch, upstream, gradients, &reason);
    return status == LOCUS_OK ? LOCUS_OK : fail_callback(bound, "the gradient", status, &reason, error);
}

/* Numbers that come in not finite (a training that diverged) may go out so. */
static locus_status learn(const locus_extension_bound *bound, const locus_extension_places *places, size_t head,
                          const double *upstream, double *work, locus_error *error) {
    const size_t width = width_of(bound), most = width < BATCH_NUMBERS ? BATCH_NUMBERS / (width + !width) : 1;
    double *each[LOCUS_EXTENSION_PARAMETERS_MAX];
    locus_status status = LOCUS_OK;
    memset(work, 0, bound->elements * sizeof *work);
    for (size_t p = 0, at = 0; p < bound->own->description.parameter_count; at += bound->counts[p++])
        each[p] = work + at;
    for (size_t first = 0; first < places->count && status == LOCUS_OK && width > 0; first += most) {
        const size_t left = places->count - first;
        const locus_extension_batch batch = batch_of(bound, places, head, first, left < most ? left : most);
        status = learn_batch(bound, &batch, upstream + first * width, each, error);
        status = status == LOCUS_OK ? locus_call_check(error) : status;
    }
    if (status == LOCUS_OK && !are_finite(work, bound->elements) && are_finite(upstream, places->count * width)) {
        const char *name = bound->own->class.info.name;
        status = locus_fail(error, LOCUS_ERROR_NUMERIC, name,
                            "the gradient of '%s' in head %zu is not finite, though what came in was", name, head);
    }
    return status;
}

void locus_extension_learn(const locus_extension_bound *bound, const locus_extension_places *places, size_t head,
                           const double *upstream, double *work, const locus_tensor *gradients) {
    locus_error error = {.offset = -1};
    if (learn(bound, places, head, upstream, work, &error) != LOCUS_OK) {
        locus_call_fail(&error);
        return;
    }
    for (size_t p = 0; p < bound->own->description.parameter_count; p++)
        for (size_t i = 0; i < bound->counts[p]; i++, work++)
            if (*work != 0)
                locus_tensor_add(&gradients[p], i, *work);
}

/* ---- initial values ---- */

locus_status locus_extension_draw(const locus_extension_bound *bound, size_t parameter, size_t elements, double *values,
                                  locus_error *error) {
    const locus_encoding_description *description = &bound->own->description;
    const locus_extension_places nowhere = {.coordinates = 0};
    locus_extension_batch batch = batch_of(bound, &nowhere, 0, 0, 0);
    locus_error reason = {.offset = -1};
    batch.parameter_count = 0;
    batch.parameters = NULL;
    const locus_status status = description->initialise(&batch, parameter, elements, values, &reason);
    if (status != LOCUS_OK)
        return fail_callback(bound, "the initial value", status, &reason, error);
    if (are_finite(values, elements))
        return LOCUS_OK;
    return locus_fail(error, LOCUS_ERROR_NUMERIC, description->parameters[parameter].name,
                      "'%s' begins with values of its parameter '%s' that are not finite", description->name,
                      description->parameters[parameter].name);
}
