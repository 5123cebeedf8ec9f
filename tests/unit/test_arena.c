/* SPDX-License-Identifier: MIT */
/* Memory of a model: what is counted is what is handed out, one after the other, each aligned to a cache line of 64
 * bytes. */
#include "model/arena.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_taken(void **state) {
    (void)state;
    static const struct {
        size_t count, size, begins; /* the latter worked out by hand */
    } takes[] = {{3, 4, 0}, {16, 4, 64}, {17, 4, 128}, {0, 8, 256}, {1, 1, 256}, {5, 2, 320}};
    enum { TAKES = sizeof takes / sizeof *takes };
    lab_arena counted = {0};
    for (size_t i = 0; i < TAKES; i++)
        assert_null(lab_arena_take(&counted, takes[i].count, takes[i].size));
    assert_int_equal(counted.used, 384);
    lab_arena placed = {.block = lab_block_allocate(counted.used), .capacity = counted.used};
    assert_non_null(placed.block);
    for (size_t i = 0; i < TAKES; i++) {
        const unsigned char *place = lab_arena_take(&placed, takes[i].count, takes[i].size);
        assert_int_equal(place - placed.block, takes[i].begins);
        assert_int_equal((uintptr_t)place % 64, 0);
    }
    assert_int_equal(placed.used, counted.used);
    free(placed.block);
}

static void test_blocks(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 64, 65, ((size_t)1 << 21) - 1, (size_t)1 << 21, ((size_t)1 << 21) + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *block = lab_block_allocate(sizes[i]);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % (sizes[i] >> 21 != 0 ? (size_t)1 << 21 : 64), 0);
        for (size_t at = 0; at < sizes[i]; at += 4096)
            block[at] = 1;
        if (sizes[i] > 0)
            block[sizes[i] - 1] = 1;
        free(block);
    }
    assert_null(lab_block_allocate(SIZE_MAX));
    assert_null(lab_block_allocate(SIZE_MAX - ((size_t)1 << 20)));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_taken), cmocka_unit_test(test_blocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
