/* SPDX-License-Identifier: MIT */
/* Memory that a thing owns (owned.h): what is got is zero, aligned, apart, counted to the byte, given back as it was
 * asked for; spare blocks are taken up where they fit. Tables (tables.h) are made once for each kind and key, and leave
 * nothing where they fail. */
#include "sanitized.h"
#include "spec/tables.h"
#include "unit/told.h"

#include <locus/memory.h>

/* ---- an allocator that counts, refuses, and fills what it gives ---- */

enum { MOST_BLOCKS = 64, LINK = LOCUS_ALIGNMENT };

static struct {
    void *block[MOST_BLOCKS];
    size_t bytes[MOST_BLOCKS], count, held, allocations, allowed;
} books;

static void *book(void *own, size_t bytes, size_t alignment) {
    (void)own;
    if (books.allowed == 0 || books.count == MOST_BLOCKS)
        return NULL;
    books.allowed--;
    void *block = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    assert_non_null(block);
    memset(block, 0xA5, bytes);
    books.block[books.count] = block;
    books.bytes[books.count++] = bytes;
    books.held += bytes;
    books.allocations++;
    return block;
}

static void unbook(void *own, void *block, size_t bytes) {
    size_t i = 0;
    (void)own;
    while (i < books.count && books.block[i] != block)
        i++;
    assert_true(i < books.count);
    assert_int_equal(books.bytes[i], bytes);
    books.count--;
    books.held -= bytes;
    books.block[i] = books.block[books.count];
    books.bytes[i] = books.bytes[books.count];
    free(block);
}

static int open_books(void **state) {
    const locus_allocator counting = {sizeof counting, book, unbook, NULL};
    (void)state;
    memset(&books, 0, sizeof books);
    books.allowed = SIZE_MAX;
    return locus_allocator_set(&counting, NULL) != LOCUS_OK;
}

static int close_books(void **state) {
    const int left = books.count > 0;
    (void)state;
    return locus_allocator_set(NULL, NULL) != LOCUS_OK || left;
}

/* ---- arrays ---- */

static void arrays_are_zero_and_apart(void **state) {
    static const size_t sizes[] = {0, 1, 63, 64, 65, 200, 1023, 1024, 1025, 4032, 4096, 5000, 0, 900, 900, 900, 900};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    unsigned char *got[COUNT];
    locus_owned owned = {0};
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        got[i] = locus_owned_get(&owned, sizes[i], 1);
        assert_non_null(got[i]);
        assert_int_equal((uintptr_t)got[i] % LOCUS_ALIGNMENT, 0);
        for (size_t b = 0; b < sizes[i]; b++)
            assert_int_equal(got[i][b], 0);
        memset(got[i], (int)i + 1, sizes[i]);
        assert_int_equal(owned.bytes, books.held);
    }
    for (size_t i = 0; i < COUNT; i++)
        for (size_t b = 0; b < sizes[i]; b++)
            assert_int_equal(got[i][b], i + 1);
    locus_owned_release(&owned);
    assert_true(owned.bytes == 0 && !owned.last && !owned.spare && !owned.free);
    assert_int_equal(books.count, 0);
}

/* Small arrays share chunks of 4,096 bytes, the link included: 1,024 bytes three times, then the rest. Larger ones have
 * blocks of their own. */
static void small_arrays_share(void **state) {
    locus_owned owned = {0};
    (void)state;
    if (SANITIZED(1, 0))
        skip(); /* every array is on its own, so that what lies beside it is watched */
    for (size_t i = 0; i < 3; i++)
        assert_non_null(locus_owned_take(&owned, 256, 4));
    assert_int_equal(books.allocations, 1);
    assert_int_equal(owned.bytes, 4096);
    for (size_t left = 4096 - LINK - 3 * 1024; left >= LOCUS_ALIGNMENT; left -= LOCUS_ALIGNMENT)
        assert_non_null(locus_owned_take(&owned, 1, 1));
    assert_int_equal(books.allocations, 1);
    assert_non_null(locus_owned_take(&owned, 0, 1));
    assert_int_equal(books.allocations, 2);
    assert_int_equal(owned.bytes, 8192);
    assert_non_null(locus_owned_take(&owned, 1025, 1));
    assert_int_equal(books.allocations, 3);
    assert_int_equal(owned.bytes, 8192 + LINK + 1025);
    locus_owned_release(&owned);
}

static void what_overflows_is_refused(void **state) {
    locus_owned owned = {0};
    (void)state;
    assert_null(locus_owned_get(&owned, SIZE_MAX / 2, 4));
    assert_null(locus_owned_get(&owned, (SIZE_MAX - 2 * LOCUS_ALIGNMENT) / 8 + 1, 8));
    assert_null(locus_owned_get(&owned, SIZE_MAX - LOCUS_ALIGNMENT, 1));
    assert_int_equal(books.allocations, 0);
    TELLS(MEMORY, "", "out of memory: 18446744073709551615 bytes were refused", locus_owned_fail(&told));
    books.allowed = 0;
    assert_null(locus_owned_take(&owned, 3, 8));
    TELLS(MEMORY, "", "out of memory: 24 bytes were refused", locus_owned_fail(&told));
    assert_null(locus_owned_take(&owned, 5, 0));
    TELLS(MEMORY, "", "out of memory: 0 bytes were refused", locus_owned_fail(&told));
    const double values[] = {1.5, 0.1};
    assert_null(locus_owned_take(&owned, 2000, 1));
    assert_null(locus_owned_round(&owned, values, 2, &told));
    assert_string_equal(told.message, "out of memory: 8 bytes were refused");
    books.allowed = SIZE_MAX;
    const float *rounded = locus_owned_round(&owned, values, 2, &told);
    assert_true(rounded[0] == 1.5f && rounded[1] == 0.1f);
    locus_owned_release(&owned);
}

/* Of blocks that were given up the smallest that is large enough is taken, if it is not more than four times as
 * large. */
static void spare_blocks_are_taken_up(void **state) {
    locus_owned owned = {0};
    (void)state;
    char *large = locus_owned_take(&owned, 40000, 1), *middle = locus_owned_take(&owned, 20000, 1),
         *little = locus_owned_take(&owned, 8000, 1);
    const size_t all = owned.bytes;
    assert_int_equal(all, 68000 + 3 * LINK);
    locus_owned_recycle(&owned);
    assert_int_equal(owned.bytes, all);
    assert_ptr_equal(locus_owned_take(&owned, 8001, 1), middle);
    assert_ptr_equal(locus_owned_take(&owned, 8000, 1), little);
    assert_ptr_equal(locus_owned_take(&owned, 40000, 1), large);
    assert_int_equal(books.allocations, 3);
    locus_owned_recycle(&owned);
    assert_ptr_equal(locus_owned_take(&owned, 20000, 1), middle);
    assert_non_null(locus_owned_take(&owned, 1500, 1)); /* 8064/4 are more than 1564 */
    assert_int_equal(books.allocations, 4);
    assert_int_equal(owned.bytes, all + 1500 + LINK);
    assert_ptr_equal(locus_owned_take(&owned, 1953, 1), little); /* 8064/4 are 2016, with the link 2017 */
    assert_ptr_equal(locus_owned_take(&owned, 10000, 1), large);
    locus_owned_release(&owned);
    assert_int_equal(books.held, 0);
}

/* What nobody wanted this time goes, once it is more than what was wanted. */
static void unwanted_blocks_go(void **state) {
    locus_owned owned = {0};
    (void)state;
    char *half = locus_owned_take(&owned, 10000, 1);
    assert_non_null(locus_owned_take(&owned, 10000, 1));
    locus_owned_recycle(&owned);
    assert_non_null(locus_owned_take(&owned, 10000, 1)); /* as much as what stays spare */
    locus_owned_recycle(&owned);
    assert_int_equal(owned.bytes, 2 * (10000 + LINK));
    assert_int_equal(books.held, owned.bytes);
    assert_non_null(locus_owned_take(&owned, 9000, 1));
    half = locus_owned_take(&owned, 4000, 1);
    assert_non_null(half);
    locus_owned_recycle(&owned);
    assert_int_equal(books.count, 2);
    assert_non_null(locus_owned_take(&owned, 45000, 1)); /* spare are 20128, wanted 45064 */
    locus_owned_recycle(&owned);
    assert_int_equal(owned.bytes, 2 * (10000 + LINK) + 45000 + LINK);
    half = locus_owned_take(&owned, 9999, 1);
    locus_owned_recycle(&owned); /* spare are 55128, wanted 10064 */
    assert_int_equal(owned.bytes, 10000 + LINK);
    assert_int_equal(books.held, owned.bytes);
    assert_ptr_equal(locus_owned_take(&owned, 10000, 1), half);
    locus_owned_release(&owned);
    assert_int_equal(books.count, 0);
}

/* ---- tables ---- */

typedef struct counted {
    int number, *times;
} counted;

static int refused;

static locus_status make_counted(const void *request, void *table, locus_owned *memory, locus_error *error) {
    counted *own = table;
    assert_true(own->number == 0 && !own->times);
    own->number = *(const int *)request;
    own->times = locus_owned_get(memory, 3000, 1);
    return refused || !own->times ? locus_owned_fail(error) : LOCUS_OK;
}

static const locus_table_kind one_kind = {sizeof(counted), make_counted}, other_kind = {sizeof(counted), make_counted};

static const counted *get(locus_tables *tables, const locus_table_kind *kind, const size_t *key, size_t numbers,
                          int request, locus_owned *memory) {
    const locus_table_asked asked = {kind, key, numbers * sizeof *key, &request};
    const void *found = NULL;
    const locus_status status = locus_tables_get(tables, &asked, memory, &found, &told);
    assert_int_equal(status, refused ? LOCUS_ERROR_MEMORY : LOCUS_OK);
    return status == LOCUS_OK ? found : NULL;
}

static void tables_are_made_once(void **state) {
    const size_t first[] = {1, 2}, second[] = {1, 3};
    locus_tables tables = {NULL};
    locus_owned memory = {0};
    (void)state;
    const counted *a = get(&tables, &one_kind, first, 2, 11, NULL), *b = get(&tables, &one_kind, second, 2, 12, NULL),
                  *c = get(&tables, &one_kind, first, 1, 13, NULL), *d = get(&tables, &other_kind, first, 2, 14, NULL),
                  *e = get(&tables, &one_kind, NULL, 0, 15, NULL), *f = get(&tables, &other_kind, NULL, 0, 16, NULL);
    const counted *const all[] = {a, b, c, d, e, f};
    const size_t held = books.held, allocations = books.allocations;
    for (int i = 0; i < 6; i++)
        assert_int_equal(all[i]->number, 11 + i);
    assert_ptr_equal(get(&tables, &one_kind, first, 2, 99, NULL), a);
    assert_ptr_equal(get(&tables, &one_kind, second, 2, 99, NULL), b);
    assert_ptr_equal(get(&tables, &one_kind, second, 1, 99, NULL), c);
    assert_ptr_equal(get(&tables, &other_kind, first, 2, 99, NULL), d);
    assert_ptr_equal(get(&tables, &one_kind, NULL, 0, 99, NULL), e);
    assert_ptr_equal(get(&tables, &other_kind, NULL, 0, 99, NULL), f);
    assert_int_equal(books.allocations, allocations);
    assert_int_equal(locus_tables_bytes(&tables), held);
    refused = 1;
    assert_null(get(&tables, &other_kind, second, 2, 17, NULL));
    assert_int_equal(books.held, held);
    refused = 0;
    assert_int_equal(get(&tables, &other_kind, second, 2, 18, NULL)->number, 18);
    for (size_t allowed = 0; allowed < 2; allowed++) { /* the key's and the table's chunk, what the table points to */
        books.allowed = allowed;
        refused = 1;
        assert_null(get(&tables, &other_kind, second, 1, 19, NULL));
        refused = 0;
        books.allowed = SIZE_MAX;
    }
    const counted *g = get(NULL, &one_kind, first, 2, 21, &memory), *h = get(NULL, &one_kind, first, 2, 22, &memory);
    assert_true(g != h && g->number == 21 && h->number == 22);
    locus_tables_release(&tables);
    assert_int_equal(locus_tables_bytes(&tables), 0);
    assert_int_equal(books.held, memory.bytes);
    locus_owned_release(&memory);
    assert_int_equal(books.held, 0);
}

#define WITH_BOOKS(test) cmocka_unit_test_setup_teardown(test, open_books, close_books)

int main(void) {
    const struct CMUnitTest tests[] = {WITH_BOOKS(arrays_are_zero_and_apart), WITH_BOOKS(small_arrays_share),
                                       WITH_BOOKS(what_overflows_is_refused), WITH_BOOKS(spare_blocks_are_taken_up),
                                       WITH_BOOKS(unwanted_blocks_go),        WITH_BOOKS(tables_are_made_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
