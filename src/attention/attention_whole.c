/* SPDX-License-Identifier: MIT */
/* See attention_whole.h. Streams of both sites are listed first, then run in one call or in two. */
#include "attention/attention_whole.h"

#include <assert.h>
#include <locus/memory.h>
#include <string.h>

typedef enum attention_site { SITE_QUERY_KEY = 0, SITE_VALUE = 1, SITES = 2 } attention_site;

typedef struct attention_streams {
    size_t count[SITES];
    locus_whole_stream items[SITES][LOCUS_WHOLE_STREAMS_MAX];
} attention_streams;

void locus_attention_whole_init(attention_whole *whole, const attention_job *job) {
    const bool backward = job->pass == LOCUS_PASS_BACKWARD;
    memset(whole, 0, sizeof *whole);
    whole->job = job;
    whole->query_key = job->turned ? NULL : locus_plan_query_key_whole(job->plan);
    whole->value = job->turned || job->weighs ? NULL : locus_plan_value_whole(job->plan);
    whole->learns = backward && whole->value && whole->value->class->learns(whole->value);
    whole->learns_query_key = backward && whole->query_key && whole->query_key->class->learns(whole->query_key);
}

/* ---- memory ---- */

static attention_view carve(const attention_job *job, attention_carver *carver, bool keys, size_t dim) {
    const size_t tokens = locus_plan_side(job->plan, keys)->tokens, heads = keys ? job->kv_heads : job->heads;
    attention_view view = {.token = (ptrdiff_t)dim, .head = (ptrdiff_t)(tokens * dim)};
    view.data = locus_attention_carve(carver, heads * tokens * dim, locus_dtype_size(job->dtype));
    return view;
}

size_t locus_attention_whole_place(attention_whole *whole, void *base) {
    attention_carver carver = {base, 0};
    const attention_job *job = whole->job;
    attention_whole_views *turned = &whole->turned;
    if (whole->query_key) {
        turned->query = carve(job, &carver, false, job->head_dim);
        turned->key = carve(job, &carver, true, job->head_dim);
    }
    if (whole->value)
        turned->value = carve(job, &carver, true, job->value_dim);
    if (whole->value && job->pass == LOCUS_PASS_BACKWARD)
        turned->g_output = carve(job, &carver, false, job->value_dim);
    if (whole->learns) {
        turned->output = carve(job, &carver, false, job->value_dim);
        whole->own_g_value = carve(job, &carver, true, job->value_dim);
    }
    if (whole->learns_query_key) {
        whole->own_g_query = carve(job, &carver, false, job->head_dim);
        whole->own_g_key = carve(job, &carver, true, job->head_dim);
    }
    return carver.used;
}

/* The most that a call of one site's operator with these roles needs, either way. */
static size_t call_bytes(const attention_whole *whole, const locus_whole_operator *op, const locus_role *roles,
                         size_t count) {
    size_t most = op->class->workspace_bytes(op, whole->job->dtype, roles, count, false);
    if (whole->job->pass == LOCUS_PASS_BACKWARD) {
        const size_t backward = op->class->workspace_bytes(op, whole->job->dtype, roles, count, true);
        most = backward > most ? backward : most;
    }
    return most;
}

size_t locus_attention_whole_workspace(const attention_whole *whole) {
    /* The most that one call has, with g = 0 and later: see begin. */
    static const locus_role first[] = {LOCUS_ROLE_QUERY, LOCUS_ROLE_KEY, LOCUS_ROLE_VALUE, LOCUS_ROLE_OUTPUT,
                                       LOCUS_ROLE_OUTPUT};
    static const locus_role later[] = {LOCUS_ROLE_QUERY, LOCUS_ROLE_OUTPUT, LOCUS_ROLE_OUTPUT};
    const bool one = whole->query_key == whole->value;
    const locus_whole_operator *operators[SITES] = {whole->query_key, whole->value};
    const size_t begin[SITES] = {0, one ? 0 : 2}, end[SITES] = {one ? 5 : 2, 5};
    const size_t later_begin[SITES] = {0, one ? 0 : 1}, later_end[SITES] = {one ? 3 : 1, 3};
    size_t most = 0;
    for (size_t site = 0; site < SITES; site++) {
        if (!operators[site])
            continue;
        const size_t bytes = call_bytes(whole, operators[site], first + begin[site], end[site] - begin[site]);
        const size_t others =
            call_bytes(whole, operators[site], later + later_begin[site], later_end[site] - later_begin[site]);
        most = bytes > most ? bytes : most;
        most = others > most ? others : most;
    }
    return padded(most, LOCUS_ALIGNMENT);
}

/* ---- streams ---- */

static void add_forward(attention_streams *streams, attention_site site, locus_role role, locus_direction direction,
                        const attention_view *x, const attention_view *y) {
    streams->items[site][streams->count[site]++] =
        (locus_whole_stream){.role = role, .direction = direction, .x = *x, .y = *y};
}

static void add_backward(attention_streams *streams, attention_site site, locus_role role, const attention_view *x,
                         const attention_view *gy, const attention_view *gx) {
    add_forward(streams, site, role, LOCUS_FORWARD, x, gx);
    streams->items[site][streams->count[site] - 1].gy = *gy;
}

/* parameters NULL in a backward: their gradients are not wanted. */
static void run_operator(const attention_whole *whole, const locus_whole_operator *op, locus_whole_stream *streams,
                         size_t count, const locus_tensor *parameters) {
    assert(op != NULL);
    bool backward = false;
    const bool learns = parameters && op->class->learns(op);
    for (size_t i = 0; i < count; i++) /* a side without tokens may have no data */
        backward = backward || streams[i].gy.data != NULL;
    for (size_t i = 0; backward && !learns && i < count; i++)
        streams[i].x = (attention_view){0};
    const locus_whole_call call = {.dtype = whole->job->dtype,
                                   .count = count,
                                   .streams = streams,
                                   .parameters = learns ? parameters : NULL,
                                   .workspace = whole->workspace};
    if (backward)
        op->class->backward(op, &call);
    else
        op->class->forward(op, &call);
}

static void run_streams(const attention_whole *whole, attention_streams *streams, const locus_tensor *parameters) {
    const locus_whole_operator *operators[SITES] = {whole->query_key, whole->value};
    const size_t own[SITES] = {locus_plan_query_key_parameters(whole->job->plan),
                               locus_plan_value_parameters(whole->job->plan)};
    if (operators[SITE_QUERY_KEY] == operators[SITE_VALUE]) {
        const size_t first = streams->count[SITE_QUERY_KEY];
        memcpy(streams->items[SITE_QUERY_KEY] + first, streams->items[SITE_VALUE],
               streams->count[SITE_VALUE] * sizeof streams->items[0][0]);
        streams->count[SITE_QUERY_KEY] += streams->count[SITE_VALUE];
        streams->count[SITE_VALUE] = 0;
    }
    for (size_t site = 0; site < SITES; site++)
        if (streams->count[site] > 0)
            run_operator(whole, operators[site], streams->items[site], streams->count[site],
                         parameters ? parameters + own[site] : NULL);
}

/* ---- before and after the loops ---- */

/* Leaves the heads g, group + g, 2·group + g, … */
static void keep_group(const attention_whole *whole, attention_view *view, size_t g) {
    if (!view->data)
        return;
    view->data = (char *)view->data + (ptrdiff_t)g * view->head * (ptrdiff_t)locus_dtype_size(whole->job->dtype);
    view->head *= (ptrdiff_t)whole->job->group;
}

static void keep_groups(const attention_whole *whole, attention_whole_views *views, size_t g) {
    keep_group(whole, &views->query, g);
    keep_group(whole, &views->output, g);
    keep_group(whole, &views->g_output, g);
}

/* Operators that learn need gradients of what they have turned, wanted or not. */
static void want(bool learned, const attention_view *own, attention_view *view, bool *wants) {
    if (learned && !*wants) {
        *view = *own;
        *wants = true;
    }
}

static void settle(const attention_whole *whole, const attention_view *view, bool keys, attention_view *settled) {
    *settled = *view;
    locus_token_rows_settle(settled, locus_plan_side(whole->job->plan, keys));
}

static void keep_given(attention_whole *whole, attention_job *job, bool parameters) {
    want(parameters && whole->learns_query_key, &whole->own_g_query, &job->g_query, &job->wants_query);
    want(parameters && whole->learns_query_key, &whole->own_g_key, &job->g_key, &job->wants_key);
    want(parameters && whole->learns, &whole->own_g_value, &job->g_value, &job->wants_value);
    settle(whole, &job->query, false, &whole->given.query);
    settle(whole, &job->key, true, &whole->given.key);
    settle(whole, &job->value, true, &whole->given.value);
    settle(whole, &job->output, false, &whole->given.output);
    settle(whole, &job->g_output, false, &whole->given.g_output);
    whole->wants_query = job->wants_query;
    whole->wants_key = job->wants_key;
    whole->wants_value = job->wants_value;
    settle(whole, &job->g_query, false, &whole->g_query);
    settle(whole, &job->g_key, true, &whole->g_key);
    settle(whole, &job->g_value, true, &whole->g_value);
}

static void begin_group(const attention_whole *whole, size_t g, bool parameters) {
    attention_whole_views given = whole->given, turned = whole->turned;
    attention_streams streams;
    streams.count[SITE_QUERY_KEY] = streams.count[SITE_VALUE] = 0;
    keep_groups(whole, &given, g);
    keep_groups(whole, &turned, g);
    if (whole->query_key)
        add_forward(&streams, SITE_QUERY_KEY, LOCUS_ROLE_QUERY, LOCUS_FORWARD, &given.query, &turned.query);
    if (whole->query_key && g == 0)
        add_forward(&streams, SITE_QUERY_KEY, LOCUS_ROLE_KEY, LOCUS_FORWARD, &given.key, &turned.key);
    if (whole->value && g == 0)
        add_forward(&streams, SITE_VALUE, LOCUS_ROLE_VALUE, LOCUS_FORWARD, &given.value, &turned.value);
    if (whole->value && whole->job->pass == LOCUS_PASS_BACKWARD) {
        if (whole->learns && parameters)
            add_forward(&streams, SITE_VALUE, LOCUS_ROLE_OUTPUT, LOCUS_INVERSE, &given.output, &turned.output);
        add_forward(&streams, SITE_VALUE, LOCUS_ROLE_OUTPUT, LOCUS_INVERSE, &given.g_output, &turned.g_output);
    }
    run_streams(whole, &streams, NULL);
}

void locus_attention_whole_begin(attention_whole *whole, attention_job *job, bool parameters) {
    const attention_whole_views *turned = &whole->turned;
    if (!whole->query_key && !whole->value)
        return;
    keep_given(whole, job, parameters);
    for (size_t g = 0; g < whole->job->group; g++)
        begin_group(whole, g, parameters);
    if (whole->query_key) {
        job->query = turned->query;
        job->key = turned->key;
    }
    if (whole->value)
        job->value = turned->value;
    if (whole->value && whole->job->pass == LOCUS_PASS_BACKWARD)
        job->g_output = turned->g_output;
}

void locus_attention_whole_end_forward(const attention_whole *whole) {
    for (size_t g = 0; whole->value && g < whole->job->group; g++) {
        attention_view output = whole->given.output;
        attention_streams streams;
        streams.count[SITE_QUERY_KEY] = streams.count[SITE_VALUE] = 0;
        keep_group(whole, &output, g);
        add_forward(&streams, SITE_VALUE, LOCUS_ROLE_OUTPUT, LOCUS_FORWARD, &output, &output);
        run_streams(whole, &streams, NULL);
    }
}

/* The output's gradient do' is known by now, and made again over itself: this stream is there for the parameters. */
static void end_group(const attention_whole *whole, size_t g, const locus_tensor *parameters) {
    attention_whole_views given = whole->given, turned = whole->turned;
    attention_view g_query = whole->g_query;
    attention_streams streams;
    streams.count[SITE_QUERY_KEY] = streams.count[SITE_VALUE] = 0;
    keep_groups(whole, &given, g);
    keep_groups(whole, &turned, g);
    keep_group(whole, &g_query, g);
    if (whole->query_key && whole->wants_query)
        add_backward(&streams, SITE_QUERY_KEY, LOCUS_ROLE_QUERY, &given.query, &g_query, &g_query);
    if (whole->query_key && g == 0 && whole->wants_key)
        add_backward(&streams, SITE_QUERY_KEY, LOCUS_ROLE_KEY, &given.key, &whole->g_key, &whole->g_key);
    if (whole->value && g == 0 && whole->wants_value)
        add_backward(&streams, SITE_VALUE, LOCUS_ROLE_VALUE, &given.value, &whole->g_value, &whole->g_value);
    if (whole->learns && parameters)
        add_backward(&streams, SITE_VALUE, LOCUS_ROLE_OUTPUT, &turned.output, &given.g_output, &turned.g_output);
    run_streams(whole, &streams, parameters);
}

void locus_attention_whole_end_backward(const attention_whole *whole, const locus_tensor *parameters) {
    for (size_t g = 0; (whole->query_key || whole->value) && g < whole->job->group; g++)
        end_group(whole, g, parameters);
}
