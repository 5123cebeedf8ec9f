/* SPDX-License-Identifier: MIT */
/* Checks of attention's arguments: options, shapes, types, strides, overlaps, workspace. */
#include "attention/attention_check.h"

#include "attention/attention_bias.h"
#include "core/error.h"
#include "core/sized.h"
#include "kernels/half_rows.h"
#include "plan/plan_sites.h"
#include "spec/class.h"
#include "spec/row_check.h"

#include <locus/memory.h>
#include <math.h>
#include <string.h>

/* ---- options ---- */

static locus_status check_prefix(const locus_plan *plan, const locus_attention_options *options, locus_error *error) {
    if (!options->prefix)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "prefix",
                          "the prefix mask needs a prefix length for each of the %zu sequences; prefix is NULL",
                          locus_plan_sequences(plan));
    for (size_t s = 0; s < locus_plan_sequences(plan); s++) {
        locus_sequence_span span = locus_plan_span(plan, s);
        if (options->prefix[s] > span.key_count)
            return locus_fail(error, LOCUS_ERROR_ARGUMENT, "prefix",
                              "prefix of sequence %zu is %zu, but it has only %zu keys; give at most that", s,
                              options->prefix[s], span.key_count);
    }
    return LOCUS_OK;
}

static locus_status check_cap_and_window(const locus_plan *plan, const locus_attention_options *options,
                                         locus_error *error) {
    if (!(isfinite(options->cap) && options->cap >= 0.0))
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "cap",
                          "cap is %g; give a positive number, or 0 for scores without a cap", options->cap);
    if (options->keep > 0 && locus_attention_settle(plan, options).window == 0)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "keep",
                          "keep is %zu, but there is no window outside of which keys could be kept; give one, or leave "
                          "keep 0",
                          options->keep);
    return LOCUS_OK;
}

/* Whether `document`, which begins a run at token `first + at`, has been in the sequence before. Ascending numbers, the
 * common case, are not looked for. */
static bool seen_before(const int32_t *documents, size_t at, int32_t *largest) {
    const int32_t document = documents[at];
    if (at == 0 || document > *largest) {
        *largest = document;
        return false;
    }
    for (size_t i = 0; i < at; i++)
        if (documents[i] == document)
            return true;
    return false;
}

static locus_status check_runs(const char *argument, const int32_t *documents, size_t count, size_t sequence,
                               locus_error *error) {
    int32_t largest = 0;
    for (size_t i = 0; i < count; i++)
        if ((i == 0 || documents[i] != documents[i - 1]) && seen_before(documents, i, &largest))
            return locus_fail(error, LOCUS_ERROR_ARGUMENT, argument,
                              "document %d comes again at token %zu of sequence %zu, after others; tokens of one "
                              "document must lie side by side",
                              (int)documents[i], i, sequence);
    return LOCUS_OK;
}

static locus_status check_documents(const locus_plan *plan, const locus_attention_options *options,
                                    locus_error *error) {
    const int32_t *queries = options->query_documents, *keys = options->key_documents;
    if (!queries && !keys)
        return LOCUS_OK;
    if (!queries || !keys)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, queries ? "key_documents" : "query_documents",
                          "%s is NULL, but %s is not; give the documents of both, or of neither",
                          queries ? "key_documents" : "query_documents", queries ? "query_documents" : "key_documents");
    for (size_t s = 0; s < locus_plan_sequences(plan); s++) {
        const locus_sequence_span span = locus_plan_span(plan, s);
        locus_status status = check_runs("query_documents", queries + span.query_first, span.query_count, s, error);
        if (status == LOCUS_OK)
            status = check_runs("key_documents", keys + span.key_first, span.key_count, s, error);
        if (status != LOCUS_OK)
            return status;
    }
    return LOCUS_OK;
}

locus_status locus_attention_check_mask(const locus_plan *plan, locus_mask mask, locus_error *error) {
    if (mask == LOCUS_MASK_CAUSAL || !locus_plan_needs_causal(plan))
        return LOCUS_OK;
    return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "mask",
                      "the encoding (xpos) grows with the distance of later keys: every attention that it acts in must "
                      "have the causal mask");
}

/* What the encoding asks of the call. */
static locus_status check_encoding(const locus_plan *plan, const locus_attention_options *options, locus_error *error) {
    const bool whole = locus_plan_query_key_whole(plan) || locus_plan_value_whole(plan);
    if (locus_plan_content_table(plan) && whole)
        return locus_fail(
            error, LOCUS_ERROR_UNSUPPORTED, "plan",
            "'relative' cannot be combined with an operator that acts on whole tensors (liere, trees); use "
            "one of them alone");
    if (options->turned && (locus_plan_content_table(plan) || locus_plan_contextual_table(plan)) &&
        (whole || locus_plan_query_key_operator(plan) || locus_plan_value_operator(plan)))
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "turned",
                          "the plan has a content term (relative, cope), which needs queries before any operator has "
                          "turned them; give them as they are, without turned");
    return locus_attention_check_mask(plan, options->mask, error);
}

/* Numbers that are enumerators. */
static locus_status check_choices(const locus_attention_options *options, locus_error *error) {
    if (options->mask != LOCUS_MASK_FULL && options->mask != LOCUS_MASK_CAUSAL && options->mask != LOCUS_MASK_PREFIX)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "mask", "mask %d is not a locus_mask", (int)options->mask);
    if (options->dropout_on != LOCUS_DROPOUT_WEIGHTS && options->dropout_on != LOCUS_DROPOUT_LOGITS)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "dropout_on", "dropout_on %d is not a locus_dropout",
                          (int)options->dropout_on);
    return LOCUS_OK;
}

static locus_status check_numbers(const locus_plan *plan, const locus_attention_options *options, locus_error *error) {
    if (!isfinite(options->scale))
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "scale",
                          "scale is %g; give a finite number, or 0 for 1/sqrt(%zu)", options->scale,
                          locus_plan_shape(plan)->head_dim);
    if (!(options->dropout >= 0.0 && options->dropout < 1.0))
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "dropout", "dropout is %g; give a probability in [0, 1)",
                          options->dropout);
    return check_cap_and_window(plan, options, error);
}

locus_attention_options locus_attention_default(void) {
    locus_attention_options options = {
        .size = sizeof options, .mask = LOCUS_MASK_FULL, .dropout_on = LOCUS_DROPOUT_WEIGHTS};
    return options;
}

locus_status locus_attention_options_read(locus_attention_options *own, const locus_attention_options *given,
                                          locus_error *error) {
    static const locus_sized kind = {sizeof *own, sizeof *own, "options"};
    if (!given)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "options",
                          "options is NULL; start from locus_attention_default()");
    *own = locus_attention_default();
    return locus_sized_read(own, &kind, given, error);
}

locus_status locus_attention_check_options(const locus_plan *plan, const locus_attention_options *options,
                                           locus_error *error) {
    if (!plan)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "plan", "plan is NULL; make one with locus_plan_create");
    const locus_shape *shape = locus_plan_shape(plan);
    if (shape->heads == 0 || shape->head_dim == 0)
        return locus_fail(error, LOCUS_ERROR_SHAPE, "plan",
                          "the plan was bound with %zu heads of dimension %zu; attention needs both to be at least 1",
                          shape->heads, shape->head_dim);
    locus_status status = check_choices(options, error);
    if (status == LOCUS_OK)
        status = check_numbers(plan, options, error);
    if (status == LOCUS_OK)
        status = check_encoding(plan, options, error);
    if (status == LOCUS_OK && options->mask == LOCUS_MASK_PREFIX)
        status = check_prefix(plan, options, error);
    if (status == LOCUS_OK)
        status = check_documents(plan, options, error);
    return status == LOCUS_OK ? locus_attention_bias_check(plan, options->bias, error) : status;
}

/* ---- one tensor ---- */

typedef struct wanted {
    locus_rows_wanted rows;
    bool exact; /* float32 where the others are of a half type */
} wanted;

static const char *dtype_name(locus_dtype dtype) {
    switch (dtype) {
    case LOCUS_FLOAT32:
        return "float32";
    case LOCUS_FLOAT64:
        return "float64";
    case LOCUS_FLOAT16:
        return "float16";
    case LOCUS_BFLOAT16:
        return "bfloat16";
    }
    return "of unknown type";
}

static locus_status check_wanted(const wanted *w, locus_dtype query, locus_error *error) {
    const char *name = w->rows.name;
    const locus_tensor *tensor = w->rows.tensor;
    const locus_dtype dtype = w->exact ? locus_dtype_working(query) : query;
    const locus_status status = locus_rows_check(&w->rows, error);
    if (status != LOCUS_OK || tensor->dtype == dtype)
        return status;
    if (dtype != query)
        return locus_fail(error, LOCUS_ERROR_DTYPE, name, "%s is %s; beside tensors of %s it must be float32", name,
                          dtype_name(tensor->dtype), dtype_name(query));
    return locus_fail(error, LOCUS_ERROR_DTYPE, name, "%s is %s, but the query is %s; use one type for all", name,
                      dtype_name(tensor->dtype), dtype_name(dtype));
}

static locus_status check_overlaps(const wanted *list, size_t count, locus_error *error) {
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++)
            if (list[i].rows.written && i != j && locus_rows_overlap(&list[i].rows, &list[j].rows))
                return locus_fail(error, LOCUS_ERROR_ARGUMENT, list[i].rows.name,
                                  "%s overlaps %s; what is written needs memory of its own", list[i].rows.name,
                                  list[j].rows.name);
    return LOCUS_OK;
}

static locus_status check_list(const wanted *list, size_t count, locus_error *error) {
    const locus_dtype dtype = list[0].rows.tensor ? list[0].rows.tensor->dtype : LOCUS_FLOAT32;
    for (size_t i = 0; i < count; i++) {
        locus_status status = check_wanted(&list[i], dtype, error);
        if (status != LOCUS_OK)
            return status;
    }
    return check_overlaps(list, count, error);
}

/* ---- the calls' tensors ---- */

/* `dim` 0: numbers. */
static wanted rows_wanted(const locus_plan *plan, const char *name, const locus_tensor *tensor, bool keys, size_t dim) {
    const locus_token_side *side = locus_plan_side(plan, keys);
    const locus_rows_kind kind = dim ? LOCUS_ROWS_HEADS : LOCUS_ROWS_NUMBERS;
    return (wanted){.exact = !dim,
                    .rows = {.name = name,
                             .tensor = tensor,
                             .kind = kind,
                             .tokens = keys ? locus_plan_key_tokens(plan) : locus_plan_query_tokens(plan),
                             .heads = keys ? locus_plan_kv_heads(plan) : locus_plan_shape(plan)->heads,
                             .dim = dim,
                             .sequences = side->sequences,
                             .longest = locus_rows_apart(tensor, kind) ? locus_token_side_longest(side) : 0}};
}

/* Fills in query, key, value, output and, if there is one, log_sum_exp; returns how many. */
static size_t forward_list(const locus_plan *plan, const locus_attention_tensors *tensors, locus_pass pass,
                           wanted *list) {
    const locus_shape *shape = locus_plan_shape(plan);
    const size_t value_dim = locus_shape_value_dim(shape);
    const bool written = pass == LOCUS_PASS_FORWARD;
    size_t count = 0;
    list[count++] = rows_wanted(plan, "query", tensors->query, false, shape->head_dim);
    list[count++] = rows_wanted(plan, "key", tensors->key, true, shape->head_dim);
    list[count++] = rows_wanted(plan, "value", tensors->value, true, value_dim);
    list[count++] = rows_wanted(plan, "output", tensors->output, false, value_dim);
    if (!written || tensors->log_sum_exp)
        list[count++] = rows_wanted(plan, "log_sum_exp", tensors->log_sum_exp, false, 0);
    for (size_t i = 3; i < count; i++)
        list[i].rows.written = written;
    return count;
}

locus_status locus_attention_check_tensors(const locus_plan *plan, const locus_attention_tensors *tensors,
                                           locus_pass pass, locus_error *error) {
    wanted list[5];
    return check_list(list, forward_list(plan, tensors, pass, list), error);
}

locus_status locus_attention_check_weights(const locus_plan *plan, const locus_attention_weights_call *call,
                                           locus_error *error) {
    const locus_attention_tensors tensors = {.query = call->query, .key = call->key};
    wanted list[5];
    (void)forward_list(plan, &tensors, LOCUS_PASS_FORWARD, list);
    return check_list(list, 2, error); /* these come first */
}

static locus_status check_parameters(const locus_plan *plan, const locus_attention_gradients *gradients,
                                     locus_error *error) {
    if (!gradients->parameters)
        return LOCUS_OK;
    const locus_parameter_list *list = locus_plan_parameter_list(plan);
    const size_t needed = list->count;
    if (gradients->parameter_count != needed)
        return locus_fail(error, LOCUS_ERROR_SHAPE, "parameters",
                          "%zu parameter gradients were given, but the encoding has %zu parameters",
                          gradients->parameter_count, needed);
    return locus_parameter_list_check(list, gradients->parameters, needed, "gradients.parameters", error);
}

locus_status locus_attention_check_gradients(const locus_plan *plan, const locus_attention_tensors *tensors,
                                             const locus_attention_gradients *gradients, locus_error *error) {
    wanted list[10];
    size_t count = forward_list(plan, tensors, LOCUS_PASS_BACKWARD, list);
    const size_t dim = locus_plan_shape(plan)->head_dim, value_dim = locus_shape_value_dim(locus_plan_shape(plan));
    list[count++] = rows_wanted(plan, "gradients.output", gradients->output, false, value_dim);
    const size_t first = count;
    if (gradients->query)
        list[count++] = rows_wanted(plan, "gradients.query", gradients->query, false, dim);
    if (gradients->key)
        list[count++] = rows_wanted(plan, "gradients.key", gradients->key, true, dim);
    if (gradients->value)
        list[count++] = rows_wanted(plan, "gradients.value", gradients->value, true, value_dim);
    for (size_t i = first; i < count; i++)
        list[i].rows.written = true;
    if (gradients->log_sum_exp)
        list[count++] = rows_wanted(plan, "gradients.log_sum_exp", gradients->log_sum_exp, false, 0);
    locus_status status = check_list(list, count, error);
    return status != LOCUS_OK ? status : check_parameters(plan, gradients, error);
}
