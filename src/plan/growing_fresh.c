/* SPDX-License-Identifier: MIT */
/* New tokens, placed (growing_inside.h). A cache writes into what nobody else has a share of, so memory that a step
 * needs is that of the step before. One lock guards the lists of all positions; it is held for a few instructions, and
 * never while anything is placed. */
#include "plan/growing_inside.h"

#include "core/error.h"
#include "spec/levels.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- shares ---- */

static void take_out(locus_fresh *fresh) {
    locus_fresh **at = (locus_fresh **)locus_positions_placed(fresh->positions);
    while (*at != fresh)
        at = &(*at)->next;
    *at = fresh->next;
}

/* Out of the list of its positions, whose share is let go of. */
static void hide(locus_fresh *fresh) {
    (void)pthread_mutex_lock(&lock);
    locus_positions *positions = fresh->positions;
    if (positions)
        take_out(fresh);
    fresh->positions = NULL;
    (void)pthread_mutex_unlock(&lock);
    locus_positions_destroy(&positions);
}

static void show(locus_fresh *fresh, const locus_positions *positions) {
    locus_fresh **first = (locus_fresh **)locus_positions_placed(positions);
    (void)pthread_mutex_lock(&lock);
    fresh->positions = locus_positions_retain(positions);
    fresh->next = *first;
    *first = fresh;
    (void)pthread_mutex_unlock(&lock);
}

/* One more owner, unless the last one is leaving. */
static bool join(locus_fresh *fresh) {
    size_t owners = atomic_load(&fresh->holder.owners);
    while (owners > 0)
        if (atomic_compare_exchange_weak(&fresh->holder.owners, &owners, owners + 1))
            return true;
    return false;
}

/* A share of what another cache has placed on the positions as this one would. */
static locus_fresh *find(const locus_growing *g, const locus_positions *positions) {
    (void)pthread_mutex_lock(&lock);
    locus_fresh *found = (locus_fresh *)*locus_positions_placed(positions);
    while (found &&
           (found->binding != g->binding || found->length != g->length || found->real != g->real || !join(found)))
        found = found->next;
    (void)pthread_mutex_unlock(&lock);
    return found;
}

/* Whether the caller's share is the only one; then nobody finds it any more. */
static bool have_alone(locus_fresh *fresh) {
    (void)pthread_mutex_lock(&lock);
    const bool alone = atomic_load(&fresh->holder.owners) == 1;
    locus_positions *positions = alone ? fresh->positions : NULL;
    if (positions) {
        take_out(fresh);
        fresh->positions = NULL;
    }
    (void)pthread_mutex_unlock(&lock);
    locus_positions_destroy(&positions);
    return alone;
}

/* ---- life ---- */

/* The holder stands first. Nobody has a share. */
static void destroy_held(locus_plan_holder *holder) {
    locus_fresh *old = (locus_fresh *)holder;
    hide(old);
    locus_fresh_release(old->idle);
    for (size_t c = 0; old->columns && c < old->coordinates; c++)
        locus_trie_destroy(&old->columns[c].trie);
    locus_plan_release_terms(&old->plan);
    locus_tables_release(&old->held);
    locus_owned_release(&old->room_memory);
    locus_owned_release(&old->memory);
    locus_group *group = (locus_group *)(uintptr_t)old->plan.places.group;
    locus_group_destroy(&group);
    locus_binding_destroy(&old->binding);
    locus_release(old, sizeof *old);
}

void locus_fresh_release(locus_fresh *fresh) {
    if (fresh && atomic_fetch_sub(&fresh->holder.owners, 1) == 1)
        destroy_held(&fresh->holder);
}

static size_t own_bytes(const locus_fresh *fresh) {
    size_t bytes = sizeof *fresh + fresh->memory.bytes + fresh->room_memory.bytes +
                   locus_plan_term_bytes(&fresh->plan) + locus_tables_bytes(&fresh->held);
    for (size_t c = 0; c < fresh->coordinates; c++)
        bytes += fresh->columns[c].trie ? locus_trie_bytes(fresh->columns[c].trie) : 0;
    return bytes;
}

size_t locus_fresh_bytes(const locus_fresh *fresh) {
    if (!fresh)
        return 0;
    size_t bytes = own_bytes(fresh);
    (void)pthread_mutex_lock(&lock); /* nobody uses what is idle, or takes it meanwhile */
    bytes += fresh->idle ? own_bytes(fresh->idle) : 0;
    (void)pthread_mutex_unlock(&lock);
    return bytes;
}

static void begin_plan(const locus_growing *g, locus_fresh *fresh) {
    fresh->plan.holder = &fresh->holder;
    fresh->plan.binding = fresh->binding;
    fresh->plan.term_count = g->binding->encoding->term_count;
    fresh->plan.places = (locus_places){.group = locus_group_retain(g->group),
                                        .count = g->coordinates,
                                        .items = fresh->items,
                                        .shared = true,
                                        .length = g->length,
                                        .workspace = locus_plan_options_default().workspace,
                                        .grows = true,
                                        .left_out = LOCUS_SITE_SCORE};
}

static locus_fresh *create(const locus_growing *g, locus_error *error) {
    locus_fresh *fresh = locus_allocate(sizeof *fresh);
    if (!fresh) {
        (void)locus_fail_memory(error, sizeof *fresh);
        return NULL;
    }
    memset(fresh, 0, sizeof *fresh);
    fresh->holder.destroy = destroy_held;
    atomic_init(&fresh->holder.owners, 1);
    fresh->binding = locus_binding_retain(g->binding);
    fresh->coordinates = g->coordinates;
    fresh->length = g->length;
    fresh->runs = locus_owned_get(&fresh->memory, g->sequences, sizeof *fresh->runs);
    fresh->spans = locus_owned_get(&fresh->memory, g->sequences, sizeof *fresh->spans);
    fresh->columns = locus_owned_get(&fresh->memory, g->coordinates, sizeof *fresh->columns);
    fresh->items = locus_owned_get(&fresh->memory, g->coordinates, sizeof *fresh->items);
    begin_plan(g, fresh);
    if (fresh->runs && fresh->spans && fresh->columns && fresh->items)
        return fresh;
    (void)locus_owned_fail(error);
    locus_fresh_release(fresh);
    return NULL;
}

static locus_status take_room(const locus_growing *g, locus_fresh *fresh, locus_error *error) {
    const size_t room = g->room;
    if (room <= fresh->room)
        return LOCUS_OK;
    locus_owned memory = {0};
    bool all = true;
    for (size_t c = 0; c < g->coordinates; c++) {
        locus_fresh_column *column = &fresh->columns[c];
        *column = (locus_fresh_column){.values = locus_owned_get(&memory, room, sizeof *column->values),
                                       .reals = locus_owned_get(&memory, room, sizeof *column->reals),
                                       .coarse_reals = locus_owned_get(&memory, room, sizeof *column->coarse_reals),
                                       .coarse = locus_owned_get(&memory, room, sizeof *column->coarse),
                                       .fine = locus_owned_get(&memory, room, sizeof *column->fine),
                                       .ahead = locus_owned_get(&memory, room, sizeof *column->ahead),
                                       .blocks = locus_owned_get(&memory, room, sizeof *column->blocks),
                                       .trie = column->trie};
        all = all && column->values && column->reals && column->coarse_reals && column->coarse && column->fine &&
              column->ahead && column->blocks;
    }
    locus_owned_release(&fresh->room_memory);
    fresh->room_memory = memory;
    fresh->room = all ? room : 0;
    return all ? LOCUS_OK : locus_owned_fail(error);
}

/* ---- placing ---- */

/* `view` may be of `to` itself: all letters are read before a node is added. */
locus_status locus_growing_word(const locus_trie_view *view, uint32_t node, locus_trie *to, uint32_t at,
                                int64_t *result, locus_error *error) {
    const size_t count = view->depth[node], bytes = (count + 1) * sizeof(int64_t);
    int64_t *letters = locus_allocate(bytes);
    if (!letters)
        return locus_fail_memory(error, bytes);
    for (size_t i = count; i-- > 0; node = view->parent[node])
        letters[i] = view->branch[node];
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < count && status == LOCUS_OK; i++)
        status = locus_trie_step(to, at, letters[i], &at, error);
    *result = at;
    locus_release(letters, bytes);
    return status;
}

locus_token_side locus_growing_runs(const locus_growing *g, locus_token_run *runs) {
    locus_token_side side = {.tokens = g->tokens, .runs = runs, .sequences = g->sequences};
    for (size_t s = 0; s < g->sequences; s++) {
        const locus_positions_run run = g->runs[s];
        if (run.count == 0)
            continue;
        runs[side.run_count++] = (locus_token_run){run.first, run.count, side.used};
        side.used += run.count;
    }
    return side;
}

static locus_status make_trie(const locus_growing *g, const locus_growing_column *from, locus_fresh_column *column,
                              locus_error *error) {
    const locus_trie_view view = locus_trie_look(from->trie);
    locus_trie_destroy(&column->trie);
    locus_status status = locus_trie_create(&column->trie, error);
    memset(column->values, 0, g->tokens * sizeof *column->values);
    for (size_t s = 0; s < g->sequences; s++)
        for (size_t i = 0; i < g->runs[s].count && status == LOCUS_OK; i++) {
            const size_t t = g->runs[s].first + i;
            status = locus_growing_word(&view, (uint32_t)from->queries[t], column->trie, LOCUS_TRIE_ROOT,
                                        &column->values[t], error);
        }
    return status;
}

/* Returns the number of blocks, at least one so that tables are never empty. */
static size_t split_values(const locus_growing *g, locus_fresh_column *column) {
    size_t count = 0;
    for (size_t s = 0; s < g->sequences; s++)
        for (size_t i = 0; i < g->runs[s].count; i++) {
            const int64_t block = locus_block_of(column->values[g->runs[s].first + i]);
            if (count == 0 || column->blocks[count - 1] != block)
                column->blocks[count++] = block;
        }
    if (count == 0)
        column->blocks[count++] = 0;
    count = locus_blocks_sort(column->blocks, count);
    uint32_t last = 0;
    for (size_t s = 0; s < g->sequences; s++)
        for (size_t i = 0; i < g->runs[s].count; i++) {
            const size_t t = g->runs[s].first + i;
            const int64_t block = locus_block_of(column->values[t]);
            if (column->blocks[last] != block)
                last = locus_blocks_find(column->blocks, count, block);
            column->coarse[t] = last;
            column->fine[t] = (uint32_t)(column->values[t] - block * LOCUS_FINE);
        }
    return count;
}

/* Real positions: each token has a row of its own, whole ones that of their block. */
static size_t number_reals(const locus_growing *g, locus_fresh_column *column) {
    for (size_t t = 0; t < g->tokens; t++) {
        column->coarse[t] = (uint32_t)t;
        column->coarse_reals[t] = locus_real_split(column->reals[t], &column->fine[t]);
    }
    return g->tokens > 0 ? g->tokens : 1;
}

static void measure_ahead(const locus_growing *g, locus_fresh_column *column) {
    for (size_t s = 0; s < g->sequences; s++)
        for (size_t i = g->runs[s].count; i-- > 0;) {
            const size_t t = g->runs[s].first + i;
            const bool follows = i + 1 < g->runs[s].count && column->values[t + 1] - column->values[t] == 1;
            column->ahead[t] = follows && column->ahead[t + 1] < UINT32_MAX ? column->ahead[t + 1] + 1 : 1;
        }
}

/* Of the new tokens alone. */
static void measure_reach(const locus_growing *g, const locus_fresh_column *column, locus_placement *item) {
    int64_t low = 0, high = 0;
    bool any = false;
    for (size_t s = 0; s < g->sequences; s++)
        for (size_t i = 0; i < g->runs[s].count; i++) {
            const int64_t value = column->values[g->runs[s].first + i];
            low = any && low < value ? low : value;
            high = any && high > value ? high : value;
            any = true;
        }
    item->reach = fmax(fabs((double)low), fabs((double)high)) + (double)g->real;
}

static void place_values(const locus_growing *g, const locus_growing_column *from, locus_fresh_column *column,
                         locus_placement *item) {
    memcpy(column->values, from->queries, g->tokens * sizeof *column->values);
    if (g->real)
        memcpy(column->reals, from->query_reals, g->tokens * sizeof *column->reals);
    measure_ahead(g, column);
    measure_reach(g, column, item);
    item->query.ahead = column->ahead;
    item->query.coarse = column->coarse;
    item->query.fine = column->fine;
    item->coarse_count = g->real ? number_reals(g, column) : split_values(g, column);
    item->coarse = column->blocks;
    item->coarse_reals = g->real ? column->coarse_reals : NULL;
}

static locus_status place_column(const locus_growing *g, locus_fresh *fresh, size_t c, locus_error *error) {
    const locus_growing_column *from = &g->columns[c];
    locus_fresh_column *column = &fresh->columns[c];
    locus_placement *item = &fresh->items[c];
    *item = (locus_placement){.coordinate = from->coordinate,
                              .sequences = g->sequences,
                              .spans = fresh->spans,
                              .held = &fresh->held,
                              .query = locus_growing_runs(g, fresh->runs)};
    item->query.values = column->values;
    item->query.reals = g->real ? column->reals : NULL;
    item->query.spans = fresh->spans;
    if (from->trie) {
        const locus_status status = make_trie(g, from, column, error);
        if (status != LOCUS_OK)
            return status;
        item->trie = locus_trie_look(column->trie);
    } else {
        place_values(g, from, column, item);
    }
    item->key = item->query;
    return LOCUS_OK;
}

static locus_status place(const locus_growing *g, locus_fresh *fresh, locus_error *error) {
    locus_status status = take_room(g, fresh, error);
    for (size_t s = 0; s < g->sequences; s++) {
        const locus_positions_run run = g->runs[s];
        fresh->spans[s] = (locus_sequence_span){run.first, run.count, run.first, run.count};
    }
    for (size_t c = 0; c < g->coordinates && status == LOCUS_OK; c++)
        status = place_column(g, fresh, c, error);
    fresh->real = g->real;
    return status == LOCUS_OK ? locus_plan_place(&fresh->plan, error) : status;
}

static locus_fresh *take_idle(locus_fresh *fresh) {
    (void)pthread_mutex_lock(&lock);
    locus_fresh *idle = fresh ? fresh->idle : NULL;
    if (idle)
        fresh->idle = NULL;
    (void)pthread_mutex_unlock(&lock);
    return idle;
}

/* growing->fresh becomes `next`. The last one that leaves the old one leaves its memory to those of the new one; what
 * was idle beside the old one goes, so that no more than one is. */
static void change(locus_growing *g, locus_fresh *next) {
    locus_fresh *old = g->fresh;
    g->fresh = next;
    if (!old || !have_alone(old)) {
        locus_fresh_release(old);
        return;
    }
    locus_fresh_release(take_idle(old));
    (void)pthread_mutex_lock(&lock);
    locus_fresh *idle = next->idle;
    next->idle = old;
    (void)pthread_mutex_unlock(&lock);
    locus_fresh_release(idle);
}

/* Makes growing->fresh one that nobody else has. */
static locus_status have_own(locus_growing *g, locus_error *error) {
    if (g->fresh && have_alone(g->fresh))
        return LOCUS_OK;
    locus_fresh *own = take_idle(g->fresh);
    own = own ? own : create(g, error);
    if (!own)
        return LOCUS_ERROR_MEMORY;
    change(g, own);
    return LOCUS_OK;
}

locus_status locus_fresh_place(locus_growing *g, const locus_positions *positions, locus_error *error) {
    locus_fresh *found = positions ? find(g, positions) : NULL;
    if (found) {
        change(g, found);
        return LOCUS_OK;
    }
    locus_status status = have_own(g, error);
    if (status == LOCUS_OK)
        status = place(g, g->fresh, error);
    if (status == LOCUS_OK && positions)
        show(g->fresh, positions);
    return status;
}
