/* SPDX-License-Identifier: MIT */
/* Every allocation of a key–value cache's life refused in turn: the status is MEMORY, what was kept is as it was, and
 * every block is given back; or it is done without, and what comes out has the same bits. */
#include "../unit/cache_case.h"
#include "refusing_ledger.h"

enum { TOKENS = 40, PIECES = 4 };

typedef struct life {
    cache_case c;
    locus_positions *positions[PIECES];
    locus_tensor q, k[PIECES], v[PIECES], o;
    cache_part parts[PIECES];
    locus_path *shift;
    void *right; /* what `o` is where nothing is refused; NULL: not known yet */
} life;

static size_t output_bytes(const life *l) {
    return locus_tensor_count(&l->o) * sizeof(float);
}

/* Fails with the first refusal; how far it came is in `steps`. */
static locus_status live(life *l, size_t *steps, locus_error *error) {
    locus_cache_options options = locus_cache_options_default();
    locus_cache *cache = NULL;
    options.capacity = 2 * TOKENS;
    options.dtype = LOCUS_FLOAT16;
    *steps = 0;
    locus_status status = locus_cache_create(&cache, l->c.binding, &options, error);
    for (size_t i = 0; i < PIECES && status == LOCUS_OK; i++) {
        const size_t before = locus_cache_length(cache, 0);
        status = locus_cache_append(cache, l->positions[i], &l->k[i], &l->v[i], NULL, error);
        assert_int_equal(locus_cache_length(cache, 0), before + (status == LOCUS_OK ? l->parts[i].count[0] : 0));
        *steps += status == LOCUS_OK;
    }
    memset(l->o.data, 0, output_bytes(l));
    if (status == LOCUS_OK)
        status = locus_cache_attend(cache, NULL, &l->q, &l->o, NULL, error);
    if (status == LOCUS_OK && l->right != NULL)
        assert_memory_equal(l->o.data, l->right, output_bytes(l));
    *steps += status == LOCUS_OK;
    if (status == LOCUS_OK) {
        status = locus_cache_evict(cache, 0, 3, 4, l->shift, NULL, error);
        assert_int_equal(locus_cache_length(cache, 0), status == LOCUS_OK ? TOKENS - 4 : TOKENS);
    }
    const locus_cache_fragment fragment = {sizeof fragment, cache, 0, 1, 9, l->shift};
    if (status == LOCUS_OK) {
        status = locus_cache_insert(cache, 0, &fragment, NULL, error);
        assert_int_equal(locus_cache_length(cache, 0), status == LOCUS_OK ? TOKENS + 5 : TOKENS - 4);
    }
    locus_cache_destroy(&cache);
    return status;
}

static void refuse_all(life *l, ledger *books) {
    const size_t before = books->blocks;
    for (size_t refuse = 1;; refuse++) {
        locus_error error = {0};
        size_t steps = 0;
        books->asked = 0;
        books->refuse = refuse;
        const locus_status status = live(l, &steps, &error);
        books->refuse = 0;
        if (books->blocks != before)
            fail_msg("%s, allocation %zu: %zu blocks are left", l->c.spec, refuse, books->blocks - before);
        if (status == LOCUS_OK && books->asked < refuse) {
            assert_true(refuse > 20);
            return;
        }
        if (status == LOCUS_OK)
            continue; /* what can be done without: remembered angles, new tokens that follow a move */
        assert_refused(books, status, &error);
    }
}

static void run_life(const char *spec, const char *shift, ledger *books) {
    life l = {.c = {.spec = spec, .dtype = LOCUS_FLOAT32, .sequences = 1, .lengths = {TOKENS}}};
    cache_case_open(&l.c);
    static const size_t counts[PIECES] = {3, 20, 1, 16};
    size_t first = 0;
    for (size_t i = 0; i < PIECES; first += counts[i++]) {
        l.parts[i] = (cache_part){{first}, {counts[i]}, {0, counts[i]}};
        l.positions[i] = cache_case_positions(&l.c, &l.parts[i]);
        l.k[i] = cache_case_rows(&l.c, &l.parts[i], 'k', LOCUS_FLOAT32);
        l.v[i] = cache_case_rows(&l.c, &l.parts[i], 'v', LOCUS_FLOAT16);
    }
    l.q = cache_case_rows(&l.c, &l.parts[PIECES - 1], 'q', LOCUS_FLOAT32);
    l.o = cache_case_zeros(counts[PIECES - 1], l.c.heads, l.c.value_dim, LOCUS_FLOAT32);
    assert_int_equal(locus_path_parse(l.c.group, shift, &l.shift, NULL), LOCUS_OK);
    size_t steps;
    locus_error error;
    assert_int_equal(live(&l, &steps, &error), LOCUS_OK);
    l.right = malloc(output_bytes(&l));
    assert_non_null(l.right);
    memcpy(l.right, l.o.data, output_bytes(&l));
    refuse_all(&l, books);
    free(l.right);
    locus_path_destroy(&l.shift);
    for (size_t i = 0; i < PIECES; i++) {
        locus_positions_destroy(&l.positions[i]);
        cache_case_free(&l.k[i]);
        cache_case_free(&l.v[i]);
    }
    cache_case_free(&l.q);
    cache_case_free(&l.o);
    cache_case_close(&l.c);
}

static void refused_memory_changes_nothing(void **state) {
    (void)state;
    ledger books = {0};
    const locus_allocator allocator = {sizeof allocator, book_allocate, book_release, &books};
    assert_int_equal(locus_allocator_set(&allocator, NULL), LOCUS_OK);
    run_life("roper + alibi", "-3", &books);
    run_life("algebraic(group=seq, decay=0.9)", "-3", &books);
    run_life("algebraic(group=grid:2, values=on)", "(1,-2)", &books);
    run_life("algebraic(group=tree:2, decay=0.9)", "1-2", &books);
    assert_int_equal(books.blocks, 0);
    assert_int_equal(locus_allocator_set(NULL, NULL), LOCUS_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(refused_memory_changes_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
