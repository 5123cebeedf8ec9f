/* SPDX-License-Identifier: MIT */
/* Where tokens stand, held against what each number is said to be (placement.h), token by token: runs, what rises
 * by one, two levels, extremes, spans, distinct positions; tokens that are walked over and found. Drawn positions on a
 * line and a grid, whole and real, in sequences with gaps, of no tokens, side by side. */
#include "../kernels/kernel_guard.h"
#include "../property/encoding_rig.h"
#include "operators/rotary/rotary.h"
#include "plan/ground.h"
#include "plan/placing.h"
#include "spec/distinct.h"
#include "spec/levels.h"

enum { SEQUENCES = 5, MOST = 400, AXES = 2 };

/* Sequences in a buffer. */
typedef struct laid {
    size_t first[SEQUENCES + 1], count[SEQUENCES], tokens;
    int64_t values[MOST * AXES]; /* [tokens, axes] */
    double reals[MOST * AXES];
    locus_positions *positions;
} laid;

static uint64_t draws;

static size_t below(size_t count) {
    const locus_random stream = {.seed = 5, .purpose = LOCUS_RANDOM_USER};
    return (size_t)(locus_random_uniform(&stream, draws++) * (double)count);
}

/* Runs that rise by one, and jumps between them. */
static void draw_values(laid *l, size_t axes, int64_t reach, size_t jump, bool real) {
    for (size_t axis = 0; axis < axes; axis++)
        for (size_t t = 0; t < l->tokens; t++) {
            const bool jumps = t == 0 || below(100) < jump;
            l->values[t * axes + axis] =
                jumps ? (int64_t)below(2 * (size_t)reach + 1) - reach : l->values[(t - 1) * axes + axis] + 1;
        }
    for (size_t i = 0; i < l->tokens * axes; i++)
        l->reals[i] = (double)l->values[i] + (real ? (double)below(3) / 2 : 0);
}

static void draw(laid *l, const locus_group *group, size_t axes, int64_t reach, size_t jump, bool real) {
    const bool gaps = below(2) == 1;
    *l = (laid){.tokens = 0};
    for (size_t s = 0; s < SEQUENCES; s++) {
        l->first[s] = l->tokens;
        l->count[s] = below(4) == 0 ? 0 : 1 + below(below(2) ? 5 : 70);
        l->tokens += l->count[s] + (gaps ? below(3) : 0);
    }
    l->first[SEQUENCES] = l->tokens;
    draw_values(l, axes, reach, jump, real);
    const locus_packing packing = {sizeof packing, SEQUENCES, l->first, l->count};
    if (real)
        rig_ok(locus_positions_create_real(&l->positions, group, &packing, l->reals, error));
    else
        rig_ok(locus_positions_create(&l->positions, group, &packing, l->values, error));
}

/* Whether a token is in a sequence, and in which. */
static bool is_used(const laid *l, size_t token, size_t *sequence) {
    for (*sequence = 0; *sequence < SEQUENCES; ++*sequence)
        if (token >= l->first[*sequence] && token < l->first[*sequence] + l->count[*sequence])
            return true;
    return false;
}

static size_t rising(const laid *l, size_t axes, size_t axis, size_t token, size_t sequence, bool real) {
    const size_t end = l->first[sequence] + l->count[sequence];
    size_t count = 1;
    while (!real && token + count < end &&
           l->values[(token + count) * axes + axis] == l->values[token * axes + axis] + (int64_t)count)
        count++;
    return count;
}

static void check_runs(const laid *l, const locus_token_side *side) {
    size_t used = 0, run = 0, sequence;
    for (size_t t = 0; t < l->tokens; t++) {
        if (!is_used(l, t, &sequence))
            continue;
        if (t == 0 || !is_used(l, t - 1, &sequence)) {
            assert_true(run < side->run_count);
            assert_int_equal(side->runs[run].first, t);
            assert_int_equal(side->runs[run++].before, used);
        }
        used++;
        if (t + 1 == l->tokens || !is_used(l, t + 1, &sequence))
            assert_int_equal(side->runs[run - 1].count, t + 1 - side->runs[run - 1].first);
    }
    assert_int_equal(side->run_count, run);
    assert_int_equal(side->used, used);
    assert_int_equal(side->tokens, l->tokens);
}

static void check_side(const laid *l, size_t axes, size_t axis, bool real, const locus_placement *placement,
                       const locus_token_side *side, bool *seen) {
    bool rises = !real;
    check_runs(l, side);
    for (size_t t = 0, s; t < l->tokens; t++)
        if (is_used(l, t, &s))
            rises = rises && rising(l, axes, axis, t, s, real) == l->first[s] + l->count[s] - t;
    assert_int_equal(side->consecutive, rises);
    for (size_t t = 0, s; t < l->tokens; t++) {
        if (!is_used(l, t, &s))
            continue;
        const double position = l->reals[t * axes + axis];
        assert_true(locus_token_position(side, t) == position);
        if (!rises)
            assert_int_equal(side->ahead[t], rising(l, axes, axis, t, s, real));
        assert_true(side->coarse[t] < placement->coarse_count && side->fine[t] < LOCUS_FINE);
        const double coarse =
            real ? placement->coarse_reals[side->coarse[t]] : 64.0 * (double)placement->coarse[side->coarse[t]];
        assert_true(coarse + (double)side->fine[t] == position);
        assert_true(position == floor(position) ? fmod(coarse, 64) == 0 : side->fine[t] == 0);
        seen[side->coarse[t]] = true;
    }
    assert_true(side->sequences == SEQUENCES && side->spans == placement->spans);
}

static void check_extremes(const laid *queries, const laid *keys, size_t axes, size_t axis,
                           const locus_placement *placement) {
    double near = INFINITY, far = -INFINITY, reach = 0, highest = 0;
    for (size_t s = 0; s < SEQUENCES; s++)
        for (size_t i = 0; i < queries->count[s]; i++)
            for (size_t j = 0; j < keys->count[s]; j++) {
                const double apart = keys->reals[(keys->first[s] + j) * axes + axis] -
                                     queries->reals[(queries->first[s] + i) * axes + axis];
                near = fmin(near, apart);
                far = fmax(far, apart);
            }
    assert_true((double)placement->nearest_apart == (near < INFINITY ? floor(near) : 0));
    assert_true((double)placement->farthest_apart == (far > -INFINITY ? ceil(far) : 0));
    const laid *const both[] = {queries, keys};
    for (size_t i = 0; i < 2; i++)
        for (size_t t = 0, s; t < both[i]->tokens; t++)
            if (is_used(both[i], t, &s)) {
                const double position = both[i]->reals[t * axes + axis];
                highest = fmax(highest, position);
                reach = fmax(reach, fmax(fabs(floor(position)), fabs(position))); /* rounded down where it is below 0 */
            }
    assert_true(placement->highest == highest);
    assert_true(placement->reach >= reach - 1 && placement->reach <= reach);
    assert_true(placement->query.reals || placement->reach == reach);
}

static void check_spans(const laid *queries, const laid *keys, const locus_placement *placement) {
    size_t longest = 0;
    for (size_t s = 0; s < SEQUENCES; s++) {
        const locus_sequence_span *span = &placement->spans[s];
        assert_true(span->query_first == queries->first[s] && span->query_count == queries->count[s]);
        assert_true(span->key_first == keys->first[s] && span->key_count == keys->count[s]);
        longest = keys->count[s] > longest ? keys->count[s] : longest;
    }
    assert_int_equal(locus_token_side_longest(&placement->key), longest);
    for (size_t t = 0, s; t < keys->tokens; t++)
        if (is_used(keys, t, &s)) {
            const locus_token_sequence found = locus_token_side_find(&placement->key, t);
            assert_true(found.number == s && found.first == keys->first[s]);
            assert_int_equal(found.end, keys->first[s] + keys->count[s]);
        }
}

typedef struct walked {
    const laid *l;
    size_t number; /* of the next token in use */
} walked;

static size_t token_number(const laid *l, size_t number) {
    size_t t = 0, s;
    for (; !is_used(l, t, &s) || number > 0; t++)
        number -= is_used(l, t, &s);
    return t;
}

static void visit(void *context, size_t first, size_t count) {
    walked *w = context;
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(first + i, token_number(w->l, w->number++));
}

static void check_walks(const laid *l, const locus_token_side *side) {
    for (size_t n = 0; n < 20 && side->used > 0; n++) {
        const size_t begin = below(side->used), end = begin + below(side->used - begin + 1);
        walked w = {l, begin};
        locus_token_side_walk(side, begin, end, visit, &w);
        assert_int_equal(w.number, end);
    }
}

/* ---- distinct positions ---- */

static bool same_place(const laid *a, size_t t, const laid *b, size_t u, size_t axes) {
    return memcmp(a->reals + t * axes, b->reals + u * axes, axes * sizeof *a->reals) == 0;
}

/* Numbers of a side's tokens, which begin with `*count` known ones, `stands` where each was met first. */
static void check_numbers(const laid *l, size_t axes, const locus_position_tokens *tokens, size_t *count,
                          const laid **of, size_t *stands) {
    for (size_t t = 0, s; t < l->tokens; t++) {
        if (!is_used(l, t, &s))
            continue;
        size_t number = 0;
        while (number < *count && !same_place(l, t, of[number], stands[number], axes))
            number++;
        if (number == *count) {
            of[number] = l;
            stands[number] = t;
            ++*count;
        }
        assert_int_equal(tokens->numbers[t], number);
    }
}

static void check_groups(const laid *l, const locus_token_side *side, const locus_position_tokens *tokens,
                         size_t count) {
    size_t at = 0, s;
    for (size_t number = 0; number < count; number++) {
        assert_int_equal(tokens->first[number], at);
        for (size_t t = 0; t < l->tokens; t++)
            if (is_used(l, t, &s) && tokens->numbers[t] == number)
                assert_int_equal(tokens->tokens[at++], t);
    }
    assert_int_equal(tokens->first[count], at);
    assert_int_equal(at, side->used);
}

static void check_distinct(const laid *queries, const laid *keys, size_t axes, const locus_places *places,
                           locus_owned *memory) {
    static const laid *of[2 * MOST];
    static size_t stands[2 * MOST];
    locus_distinct_positions distinct;
    size_t count = 0;
    rig_ok(locus_distinct_positions_find(places, &distinct, memory, error));
    check_numbers(queries, axes, &distinct.query, &count, of, stands);
    check_numbers(keys, axes, &distinct.key, &count, of, stands);
    assert_int_equal(distinct.count, count);
    check_groups(queries, &places->items[0].query, &distinct.query, count);
    check_groups(keys, &places->items[0].key, &distinct.key, count);
    for (size_t i = 0; i < count * axes; i++) {
        const double want = of[i / axes]->reals[stands[i / axes] * axes + i % axes];
        int64_t bits;
        memcpy(&bits, &want, sizeof bits);
        assert_true(distinct.values[i] == (places->items[i % axes].query.reals ? bits : (int64_t)want));
    }
}

static void check_case(const locus_group *group, size_t axes, int64_t reach, size_t jump, unsigned real, bool shared) {
    laid queries, keys;
    locus_places places;
    locus_owned memory = {0};
    draw(&queries, group, axes, reach, jump, real & 1u);
    draw(&keys, group, axes, reach, jump, real >> 1);
    const laid *second = shared ? &queries : &keys;
    rig_ok(locus_places_create(&places, queries.positions, second->positions, &memory, error));
    assert_true(places.count == axes && places.shared == shared);
    const locus_placement *split = NULL;
    rig_ok(locus_levels_get(&places, &split, &memory, error));
    for (size_t axis = 0; axis < axes; axis++) {
        const locus_placement *placement = &split[axis];
        assert_null(places.items[axis].coarse);
        const bool is_real = placement->query.reals != NULL;
        bool seen[2 * MOST + 1] = {false};
        check_side(&queries, axes, axis, is_real, placement, &placement->query, seen);
        check_side(second, axes, axis, is_real, placement, &placement->key, seen);
        assert_true(placement->key.keys || shared);
        for (size_t i = 0; i + 1 < placement->coarse_count; i++)
            assert_true(is_real ? placement->coarse_reals[i] < placement->coarse_reals[i + 1]
                                : placement->coarse[i] < placement->coarse[i + 1]);
        const bool none = placement->query.used + placement->key.used == 0;
        for (size_t i = 0; i < placement->coarse_count && !none; i++)
            assert_true(seen[i]);
        assert_true(placement->coarse_count > 0);
        check_extremes(&queries, second, axes, axis, placement);
        check_spans(&queries, second, placement);
        check_walks(second, &placement->key);
    }
    check_distinct(&queries, second, axes, &places, &memory);
    locus_owned_release(&memory);
    locus_positions_destroy(&queries.positions);
    locus_positions_destroy(&keys.positions);
}

static void places_are_what_they_are_said_to_be(void **state) {
    static const int64_t reaches[] = {3, 100, 20000};
    static const size_t jumps[] = {0, 3, 40, 100};
    locus_group *grid = NULL;
    (void)state;
    rig_ok(locus_group_parse("grid:2", &grid, error));
    for (size_t r = 0; r < 3; r++)
        for (size_t j = 0; j < 4; j++)
            for (unsigned real = 0; real < 4; real++) {
                check_case(NULL, 1, reaches[r], jumps[j], real, false);
                check_case(NULL, 1, reaches[r], jumps[j], real, true);
                check_case(grid, 2, reaches[r], jumps[j], real, false);
            }
    locus_group_destroy(&grid);
}

/* ---- grounds: places that plans share ---- */

static locus_ground *ground_of(const locus_positions *queries, const locus_positions *keys, size_t owners) {
    locus_ground *ground = NULL;
    rig_ok(locus_ground_get(&ground, queries, keys, error));
    assert_int_equal(atomic_load(&ground->owners), owners);
    assert_true(ground->queries == queries && ground->keys == (keys ? keys : queries));
    return ground;
}

/* Three on the same queries: each is found as long as it is held, whichever of them goes first. */
static void grounds_are_found_while_they_are_held(void **state) {
    static const int64_t at[] = {3, 9, 5}, near[] = {14, 2}, far[] = {-70};
    locus_positions *queries = rig_positions(at, 3), *keys[] = {NULL, rig_positions(near, 2), rig_positions(far, 1)};
    static const size_t lengths[] = {10, 15, 10};
    (void)state;
    for (size_t gone = 0; gone < 3; gone++) {
        locus_ground *grounds[3];
        for (size_t i = 0; i < 3; i++) {
            grounds[i] = ground_of(queries, keys[i], 1);
            assert_int_equal(grounds[i]->length, lengths[i]);
            assert_ptr_equal(grounds[i]->places.tables, &grounds[i]->tables);
            const size_t bytes = sizeof *grounds[i] + grounds[i]->memory.bytes + locus_positions_bytes(queries) +
                                 (i > 0 ? locus_positions_bytes(keys[i]) : 0);
            assert_int_equal(locus_ground_bytes(grounds[i]), bytes);
        }
        locus_ground_release(grounds[gone]);
        for (size_t i = 0; i < 3; i++) {
            locus_ground *found = ground_of(queries, keys[i], i == gone ? 1 : 2);
            assert_true(i == gone || found == grounds[i]);
            locus_ground_release(found);
        }
        for (size_t i = 0; i < 3; i++)
            if (i != gone) {
                assert_ptr_equal(locus_ground_retain(grounds[i]), grounds[i]);
                locus_ground_release(grounds[i]);
                assert_int_equal(atomic_load(&grounds[i]->owners), 1);
                locus_ground_release(grounds[i]);
            }
    }
    locus_ground_release(NULL);
    locus_positions_destroy(&queries);
    locus_positions_destroy(&keys[1]);
    locus_positions_destroy(&keys[2]);
}

/* Levels are made for the first plan that turns something, and are the same for all. */
static void levels_are_made_when_somebody_asks(void **state) {
    static const int64_t at[] = {3, 900, 5, -70};
    static const char *const specs[] = {"alibi", "rope", "alibi + rope"};
    const locus_shape shape = {.heads = 2, .head_dim = 4, .model_dim = 8};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        locus_positions *positions = rig_positions(at, 4);
        locus_ground *ground = ground_of(positions, NULL, 1);
        locus_encoding *encoding = NULL;
        locus_binding *binding = NULL;
        locus_plan *plan = NULL;
        const locus_placement *levels = NULL, *again = NULL;
        rig_ok(locus_encoding_parse(specs[i], &encoding, error));
        rig_ok(locus_binding_create(&binding, encoding, &shape, NULL, 0, error));
        rig_ok(locus_plan_create(&plan, binding, positions, NULL, error));
        const size_t bytes = locus_ground_bytes(ground);
        rig_ok(locus_levels_get(&ground->places, &levels, NULL, error));
        assert_true((locus_ground_bytes(ground) > bytes) == (i == 0));
        rig_ok(locus_levels_get(&ground->places, &again, NULL, error));
        assert_true(levels == again && levels != ground->places.items);
        assert_null(ground->places.items[0].coarse);
        assert_int_equal(levels[0].coarse_count, 3); /* 64 times −2, 0 and 14 */
        locus_plan_destroy(&plan);
        locus_binding_destroy(&binding);
        locus_encoding_destroy(&encoding);
        locus_ground_release(ground);
        locus_positions_destroy(&positions);
    }
}

/* ---- blocks ---- */

static void check_blocks(int64_t *blocks, const int64_t *given, size_t count) {
    memcpy(blocks, given, count * sizeof *blocks);
    const size_t kept = locus_blocks_sort(blocks, count);
    assert_true(kept > 0 && kept <= count);
    for (size_t i = 1; i < kept; i++)
        assert_true(blocks[i - 1] < blocks[i]);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(blocks[locus_blocks_find(blocks, kept, given[i])], given[i]);
    for (size_t i = 0, at = 0; i < kept; i++, at = 0) { /* there is none that was not given */
        while (at < count && given[at] != blocks[i])
            at++;
        assert_true(at < count);
    }
}

/* Drawn ones and rising ones, beside memory that may not be touched: what is read there kills the test. */
static void blocks_are_sorted_and_found(void **state) {
    (void)state;
    enum { MOST_BLOCKS = 24 };
    for (size_t count = 1; count <= MOST_BLOCKS; count++)
        for (int c = 0; c < 8; c++) {
            int64_t given[MOST_BLOCKS];
            for (size_t i = 0; i < count; i++)
                given[i] = c / 2 == 0 ? (int64_t)i - 7 : (int64_t)floor((c * c - 3) * test_uniform());
            check_blocks(guard_place(0, count * sizeof *given, c % 2), given, count);
        }
}

/* ---- runs of steps ---- */

/* Token `token` of those of axis 1, which rise or stand, against the one before; axis 0 stands. */
static bool goes_on(const locus_placement *axes, size_t count, size_t token, bool rises) {
    for (size_t axis = 0; axis < count; axis++) {
        const locus_token_side *side = &axes[axis].query;
        const double by = locus_token_position(side, token) - locus_token_position(side, token - 1);
        if (by != (rises && axis + 1 == count ? 1 : 0))
            return false;
    }
    return true;
}

static void check_steps(const locus_placement *axes, size_t count, size_t first, size_t end) {
    const locus_rotary rotary = {.axes = count};
    const locus_rotary_operator op = {.rotary = &rotary, .placement = axes};
    const locus_rotary_walk walk = {.op = &op, .queries = true};
    const locus_step_runs runs = locus_step_runs_find(&walk, first, end - first);
    const locus_token_side *last = &axes[count - 1].query;
    size_t at = first;
    for (size_t n = 0; n < runs.count; n++) {
        const locus_rotation_run run = runs.run[n];
        const size_t step = last->fine[at] % 8;
        const bool rises = !last->reals && (at + 1 == end || last->values[at + 1] != last->values[at]);
        size_t rows = 1;
        while (at + rows < end && (!rises || step + rows < 8) && goes_on(axes, count, at + rows, rises))
            rows++;
        assert_int_equal(runs.first[n], at);
        assert_int_equal(run.step, step);
        assert_int_equal(run.stands, !rises);
        assert_int_equal(run.rows, rows);
        at += rows;
    }
    assert_int_equal(runs.rows, at - first);
    assert_true(at == end || runs.count == 8);
}

/* Each run is as long as it can be; nothing behind the last token is read. */
static void runs_of_steps_are_as_long_as_they_can_be(void **state) {
    enum { STEPS = 40 };
    (void)state;
    for (size_t drawn = 0; drawn < 400; drawn++) {
        locus_placement axes[AXES] = {{.reach = 0}, {.reach = 0}};
        const size_t tokens = 1 + below(STEPS), count = 1 + drawn % 2;
        uint32_t *fine = guard_place(0, tokens * sizeof *fine, 1), *ahead = guard_place(1, tokens * sizeof *ahead, 1);
        double *reals = guard_place(2, tokens * sizeof *reals, 1);
        for (size_t axis = 0; axis < count; axis++) {
            int64_t *values = guard_place(3 + (int)axis, tokens * sizeof *values, 1);
            for (size_t t = 0; t < tokens; t++)
                values[t] = t == 0 ? (int64_t)below(100)
                                   : values[t - 1] + (axis + 1 < count ? below(9) == 0 : (int64_t)below(6) % 4 % 3);
            axes[axis].query = (locus_token_side){.values = values, .tokens = tokens};
        }
        locus_token_side *last = &axes[count - 1].query;
        for (size_t t = tokens; t-- > 0;) {
            fine[t] = (uint32_t)(last->values[t] % 64);
            reals[t] = (double)last->values[t] / 2;
            ahead[t] = t + 1 < tokens && last->values[t + 1] - last->values[t] == 1 ? ahead[t + 1] + 1 : 1;
        }
        last->fine = fine;
        last->ahead = drawn % 4 < 2 ? ahead : NULL;
        last->reals = drawn % 5 == 0 ? reals : NULL;
        for (size_t first = 0; first < tokens; first += 1 + below(4))
            check_steps(axes, count, first, tokens);
    }
}

int main(void) {
    guard_open();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_what_they_are_said_to_be), cmocka_unit_test(levels_are_made_when_somebody_asks),
        cmocka_unit_test(blocks_are_sorted_and_found), cmocka_unit_test(grounds_are_found_while_they_are_held),
        cmocka_unit_test(runs_of_steps_are_as_long_as_they_can_be)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
