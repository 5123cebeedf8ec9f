/* SPDX-License-Identifier: MIT */
/* Calls on caches that are cancelled, wherever they ask: the cache keeps the tokens that it had, bit for bit, and what
 * is done again, or goes on from there, has the bits of a cache that nobody disturbed. */
#include "unit/cache_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct questions {
    size_t asked, at; /* `at`: the one that is answered with yes, from 1 on; 0: none */
} questions;

static int32_t answer(void *context) {
    questions *q = context;
    return ++q->asked == q->at;
}

static locus_execution asking(questions *q) {
    locus_execution execution = locus_execution_default();
    execution.threads = 1;
    execution.cancelled = answer;
    execution.context = q;
    return execution;
}

static const char *const specs[] = {"rope + alibi",
                                    "algebraic(group=tree:2, values=on, decay=0.98)",
                                    "liere(group=seq)",
                                    "algebraic(group=grid:2)",
                                    "cope",
                                    "relative(window=8)"};

static cache_case open_case(size_t i, locus_dtype dtype) {
    cache_case c = {.spec = specs[i], .dtype = dtype, .sequences = 2, .lengths = {90, 40}, .room = 120};
    cache_case_open(&c);
    return c;
}

/* Tokens before, and those of the call. */
static void split(const cache_case *c, cache_part *before, cache_part *next) {
    *before = *next = (cache_part){.offsets = {0}};
    for (size_t s = 0; s < c->sequences; s++) {
        before->count[s] = c->lengths[s] / 2;
        next->first[s] = before->count[s];
        next->count[s] = c->lengths[s] - before->count[s];
        before->offsets[s + 1] = before->offsets[s] + before->count[s];
        next->offsets[s + 1] = next->offsets[s] + next->count[s];
    }
}

/* ---- what is kept ---- */

typedef struct kept {
    size_t lengths[CACHE_CASE_SEQUENCES], bytes;
    char *rows;
} kept;

static void copy_rows(const locus_tensor *rows, kept *k) {
    const size_t row = (size_t)rows->shape[2] * locus_dtype_size(rows->dtype);
    k->rows = realloc(k->rows, k->bytes + locus_tensor_count(rows) * locus_dtype_size(rows->dtype) + 1);
    assert_non_null(k->rows);
    for (int64_t t = 0; t < rows->shape[0]; t++)
        for (int64_t h = 0; h < rows->shape[1]; h++, k->bytes += row)
            memcpy(k->rows + k->bytes,
                   (const char *)rows->data +
                       (t * rows->stride[0] + h * rows->stride[1]) * (int64_t)locus_dtype_size(rows->dtype),
                   row);
}

static kept look(const cache_case *c) {
    kept k = {.bytes = 0};
    for (size_t s = 0; s < c->sequences; s++) {
        const locus_tensor keys = locus_cache_keys(c->cache, s), values = locus_cache_values(c->cache, s);
        k.lengths[s] = locus_cache_length(c->cache, s);
        copy_rows(&keys, &k);
        copy_rows(&values, &k);
    }
    return k;
}

static void same(const kept *a, const kept *b) {
    assert_memory_equal(a->lengths, b->lengths, sizeof a->lengths);
    assert_int_equal(a->bytes, b->bytes);
    assert_memory_equal(a->rows, b->rows, a->bytes);
}

static size_t next_question(size_t at, size_t count) {
    return at < 12 || at + 2 >= count ? at + 1 : at + 1 + count / 16 < count ? at + 1 + count / 16 : count - 1;
}

/* ---- appending, attending, other queries ---- */

typedef struct step {
    cache_case c;
    cache_part before, next;
    locus_positions *positions;
    locus_tensor q, k, v, o;
} step;

static void step_open(step *s, size_t i, locus_dtype dtype) {
    s->c = open_case(i, dtype);
    split(&s->c, &s->before, &s->next);
    cache_case_append(&s->c, &s->before);
    s->positions = cache_case_positions(&s->c, &s->next);
    s->q = cache_case_rows(&s->c, &s->next, 'q', dtype);
    s->k = cache_case_rows(&s->c, &s->next, 'k', dtype);
    s->v = cache_case_rows(&s->c, &s->next, 'v', dtype);
    s->o = cache_case_zeros(s->next.offsets[s->c.sequences], s->c.heads, s->c.value_dim, dtype);
}

static void step_close(step *s) {
    cache_case_free(&s->q);
    cache_case_free(&s->k);
    cache_case_free(&s->v);
    cache_case_free(&s->o);
    locus_positions_destroy(&s->positions);
    cache_case_close(&s->c);
}

static locus_status append(step *s, const locus_execution *execution) {
    return locus_cache_append(s->c.cache, s->positions, &s->k, &s->v, execution, NULL);
}

static locus_status attend(step *s, const locus_execution *execution) {
    return locus_cache_attend(s->c.cache, NULL, &s->q, &s->o, execution, NULL);
}

static locus_status ask_elsewhere(step *s, const locus_execution *execution) {
    return locus_cache_queries(s->c.cache, s->positions, execution, NULL);
}

/* How often a call asks that nobody cancels. */
static size_t count_questions(step *s, locus_status (*call)(step *, const locus_execution *)) {
    questions q = {0};
    const locus_execution execution = asking(&q);
    assert_int_equal(call(s, &execution), LOCUS_OK);
    assert_true(q.asked >= 1);
    return q.asked;
}

/* false: it asked less often, since what an earlier one prepared is still there, and was done. */
static bool cancel(step *s, locus_status (*call)(step *, const locus_execution *), size_t at) {
    questions q = {.at = at};
    const locus_execution execution = asking(&q);
    const locus_status status = call(s, &execution);
    assert_int_equal(status, q.asked < at ? LOCUS_OK : LOCUS_ERROR_INTERRUPTED);
    return status != LOCUS_OK;
}

static void a_step_can_be_cancelled(void **state) {
    const locus_dtype types[] = {LOCUS_FLOAT32, LOCUS_FLOAT16};
    (void)state;
    for (size_t i = 0; i < 2 * (sizeof specs / sizeof *specs); i++) {
        step reference, s;
        step_open(&reference, i / 2, types[i % 2]);
        const size_t appending = count_questions(&reference, append), attending = count_questions(&reference, attend);
        step_open(&s, i / 2, types[i % 2]);
        kept before = look(&s.c);
        bool appended = false;
        for (size_t at = 1; at <= appending; at = next_question(at, appending)) {
            appended = !cancel(&s, append, at);
            assert_true(!appended || at > 4);
            if (appended)
                break;
            kept after = look(&s.c);
            same(&before, &after);
            free(after.rows);
            if (at > 1) /* the first question comes before anything is done: then the tokens before are still new */
                assert_int_equal(attend(&s, NULL), LOCUS_ERROR_ARGUMENT);
        }
        if (!appended)
            assert_int_equal(append(&s, NULL), LOCUS_OK);
        for (size_t at = 1; at <= attending; at = next_question(at, attending))
            assert_true(cancel(&s, attend, at));
        assert_int_equal(attend(&s, NULL), LOCUS_OK);
        kept wanted = look(&reference.c), found = look(&s.c);
        same(&wanted, &found);
        assert_memory_equal(reference.o.data, s.o.data, locus_tensor_count(&s.o) * locus_dtype_size(s.o.dtype));
        free(before.rows);
        free(wanted.rows);
        free(found.rows);
        step_close(&s);
        step_close(&reference);
    }
}

static void queries_can_be_cancelled(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        step reference, s;
        step_open(&reference, i, LOCUS_FLOAT32);
        const size_t count = count_questions(&reference, ask_elsewhere);
        assert_int_equal(attend(&reference, NULL), LOCUS_OK);
        step_open(&s, i, LOCUS_FLOAT32);
        for (size_t at = 1; at <= count; at = next_question(at, count))
            (void)cancel(&s, ask_elsewhere, at);
        assert_int_equal(ask_elsewhere(&s, NULL), LOCUS_OK);
        assert_int_equal(attend(&s, NULL), LOCUS_OK);
        assert_memory_equal(reference.o.data, s.o.data, locus_tensor_count(&s.o) * sizeof(float));
        step_close(&s);
        step_close(&reference);
    }
}

/* ---- moving: as long as it prepares ---- */

static locus_path *shift_of(const cache_case *c) {
    locus_path *shift = NULL;
    locus_error error;
    cache_case_need(c, locus_path_parse(c->group, "-3", &shift, &error), &error);
    return shift;
}

static locus_status evict(step *s, const locus_execution *execution) {
    locus_path *shift = shift_of(&s->c);
    const locus_status status = locus_cache_evict(s->c.cache, 0, 5, 3, shift, execution, NULL);
    locus_path_destroy(&shift);
    return status;
}

static locus_status insert(step *s, const locus_execution *execution) {
    locus_path *shift = shift_of(&s->c);
    const locus_cache_fragment fragment = {
        .size = sizeof fragment, .source = s->c.cache, .sequence = 0, .first = 4, .count = 9, .shift = shift};
    const locus_status status = locus_cache_insert(s->c.cache, 1, &fragment, execution, NULL);
    locus_path_destroy(&shift);
    return status;
}

static void moving_is_whole_or_not_at_all(void **state) {
    locus_status (*const moves[])(step *, const locus_execution *) = {evict, insert};
    (void)state;
    for (size_t m = 0; m < 2; m++) {
        step reference, s;
        step_open(&reference, 0, LOCUS_FLOAT32);
        const size_t count = count_questions(&reference, moves[m]);
        step_open(&s, 0, LOCUS_FLOAT32);
        kept before = look(&s.c), wanted = look(&reference.c);
        for (size_t at = 1; at <= count; at++) {
            assert_true(cancel(&s, moves[m], at));
            kept after = look(&s.c);
            same(&before, &after);
            free(after.rows);
        }
        assert_int_equal(moves[m](&s, NULL), LOCUS_OK);
        kept found = look(&s.c);
        same(&wanted, &found);
        free(before.rows);
        free(wanted.rows);
        free(found.rows);
        step_close(&s);
        step_close(&reference);
    }
}

static void shifted_keys(void **state) {
    step s;
    questions q = {0};
    const locus_execution execution = asking(&q);
    locus_plan_options options = locus_plan_options_default();
    (void)state;
    step_open(&s, 0, LOCUS_FLOAT32);
    locus_path *shift = shift_of(&s.c);
    options.execution = &execution;
    options.length = 400;
    assert_int_equal(locus_keys_shift(s.c.binding, shift, &options, LOCUS_ROLE_KEY, &s.k, NULL), LOCUS_OK);
    const size_t count = q.asked;
    for (size_t at = 1; at <= count; at++) {
        q = (questions){.at = at};
        assert_int_equal(locus_keys_shift(s.c.binding, shift, &options, LOCUS_ROLE_KEY, &s.k, NULL),
                         LOCUS_ERROR_INTERRUPTED);
    }
    locus_path_destroy(&shift);
    step_close(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_can_be_cancelled),
        cmocka_unit_test(queries_can_be_cancelled),
        cmocka_unit_test(moving_is_whole_or_not_at_all),
        cmocka_unit_test(shifted_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
