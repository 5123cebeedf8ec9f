/* SPDX-License-Identifier: MIT */
/* Groups as text.
 *
 *   group := "seq" | "cycle:" n | "tree:" k | "grid:" r | group "*" group | "(" group ")"      n, k, r: 1 … 2^63 − 1
 *
 * Spaces may stand between tokens. The direct product is associative, so a group is stored, compared and printed as the
 * list of its factors, without parentheses, and an unbroken run of sequences in it is one grid: the canonical text of
 * seq*seq and of (seq)*(grid:1) is `grid:2`, that of grid:1 is `seq`, and seq*tree:2*seq stays what it is. Factors that
 * are isomorphic but write their paths differently (tree:1 and seq) stay apart. Since parentheses dissolve, the parser
 * is a loop, not a recursion: no text can exhaust the stack, and LOCUS_MAX_NESTING only refuses texts that nobody
 * meant.
 *
 * A group is immutable and counts its owners. Coordinates are found by binary search over each factor's first one,
 * which saturates: a group of absurdly many axes can be parsed and printed; it is refused where something would be
 * stored. */
#include <locus/memory.h>

#include "algebra/blame.h"
#include "algebra/group_access.h"
#include "core/error.h"
#include "core/hash.h"
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { LOCUS_MAX_NESTING = 1000 };

#define LOCUS_MOST_COORDINATES ((size_t)1 << 31)

struct locus_group {
    atomic_size_t owners;
    size_t bytes, count, coordinates;
    bool has_tree;
    const locus_group_factor *factors; /* [count] */
    const size_t *first;               /* [count] each factor's first coordinate, SIZE_MAX where there are too many */
};

static const locus_group_factor sequence_factor = {LOCUS_FACTOR_GRID, 1};
static const size_t sequence_first = 0;
static const locus_group sequence = {
    .count = 1, .coordinates = 1, .factors = &sequence_factor, .first = &sequence_first};

static const locus_group *or_sequence(const locus_group *group) {
    return group ? group : &sequence;
}

/* ---- parsing ---- */

typedef struct parser {
    const char *text;
    size_t at, depth, count;
    locus_group_factor *factors;
    locus_error *error;
} parser;

typedef struct factor_name {
    const char *name;
    locus_factor_kind kind;
    bool sized;
} factor_name;

static const factor_name factor_names[] = {{"seq", LOCUS_FACTOR_GRID, false},
                                           {"cycle", LOCUS_FACTOR_CYCLE, true},
                                           {"tree", LOCUS_FACTOR_TREE, true},
                                           {"grid", LOCUS_FACTOR_GRID, true}};

static void skip_spaces(parser *p) {
    p->at += strspn(p->text + p->at, " \t");
}

/* Bytes of the word or the single character at `at`, to blame; 0 at the end. */
static size_t token_length(const parser *p, size_t at) {
    size_t length = strcspn(p->text + at, " \t()*:,=");
    return length ? length : p->text[at] != '\0';
}

static locus_status fail_at(const parser *p, size_t at, const char *expected) {
    size_t length = token_length(p, at);
    if (length == 0)
        return locus_fail_at(p->error, LOCUS_ERROR_SPEC, "group", (ptrdiff_t)at, 1,
                             "the group ends too early: expected %s", expected);
    return locus_fail_at(p->error, LOCUS_ERROR_SPEC, "group", (ptrdiff_t)at, (ptrdiff_t)length,
                         "unexpected '%.*s' in the group: expected %s", locus_blame_quoted(p->text + at, length),
                         p->text + at, expected);
}

static const factor_name *find_name(const char *word, size_t length) {
    for (size_t i = 0; i < sizeof factor_names / sizeof *factor_names; i++)
        if (strlen(factor_names[i].name) == length && memcmp(factor_names[i].name, word, length) == 0)
            return &factor_names[i];
    return NULL;
}

static locus_status parse_size(parser *p, const char *name, int64_t *size) {
    const char *digits = p->text + p->at;
    size_t length = strspn(digits, "0123456789");
    if (length == 0)
        return fail_at(p, p->at, "a whole number from 1");
    int64_t value = 0;
    for (size_t i = 0; i < length; i++) {
        int64_t digit = digits[i] - '0';
        if (value > (INT64_MAX - digit) / 10)
            return locus_fail_at(p->error, LOCUS_ERROR_SPEC, "group", (ptrdiff_t)p->at, (ptrdiff_t)length,
                                 "the number of '%s' does not fit in 64 bits: use at most %lld", name,
                                 (long long)INT64_MAX);
        value = 10 * value + digit;
    }
    if (value == 0)
        return locus_fail_at(p->error, LOCUS_ERROR_SPEC, "group", (ptrdiff_t)p->at, (ptrdiff_t)length,
                             "'%s:0' has no elements: use a number from 1", name);
    p->at += length;
    *size = value;
    return LOCUS_OK;
}

/* Joins a grid to a grid on its left. */
static locus_status append(parser *p, locus_group_factor factor, size_t start) {
    if (p->count == 0 || p->factors[p->count - 1].kind != LOCUS_FACTOR_GRID || factor.kind != LOCUS_FACTOR_GRID) {
        p->factors[p->count++] = factor;
        return LOCUS_OK;
    }
    locus_group_factor *last = &p->factors[p->count - 1];
    if (last->size > INT64_MAX - factor.size)
        return locus_fail_at(p->error, LOCUS_ERROR_SPEC, "group", (ptrdiff_t)start, (ptrdiff_t)(p->at - start),
                             "the axes of the neighbouring grids together do not fit in 64 bits: use fewer");
    last->size += factor.size;
    return LOCUS_OK;
}

static locus_status parse_factor(parser *p) {
    size_t start = p->at, length = strcspn(p->text + start, " \t()*:,=");
    const factor_name *found = find_name(p->text + start, length);
    if (!found)
        return fail_at(p, start, "seq, cycle:n, tree:k, grid:r or '('");
    locus_group_factor factor = {found->kind, 1};
    p->at += length;
    if (found->sized) {
        if (p->text[p->at] != ':')
            return locus_fail_at(p->error, LOCUS_ERROR_SPEC, "group", (ptrdiff_t)start, (ptrdiff_t)length,
                                 "'%s' needs a number: write %s:2, for example", found->name, found->name);
        p->at++;
        locus_status status = parse_size(p, found->name, &factor.size);
        if (status != LOCUS_OK)
            return status;
    }
    return append(p, factor, start);
}

/* An operand with the parentheses that open before it. */
static locus_status parse_operand(parser *p) {
    for (skip_spaces(p); p->text[p->at] == '('; skip_spaces(p)) {
        if (++p->depth > LOCUS_MAX_NESTING)
            return locus_fail_at(p->error, LOCUS_ERROR_SPEC, "group", (ptrdiff_t)p->at, 1,
                                 "the group is nested more than %d deep: leave parentheses out, they change nothing",
                                 LOCUS_MAX_NESTING);
        p->at++;
    }
    return parse_factor(p);
}

static locus_status parse_group(parser *p) {
    for (;;) {
        locus_status status = parse_operand(p);
        if (status != LOCUS_OK)
            return status;
        for (skip_spaces(p); p->text[p->at] == ')' && p->depth > 0; skip_spaces(p)) {
            p->depth--;
            p->at++;
        }
        if (p->text[p->at] == '\0' && p->depth == 0)
            return LOCUS_OK;
        if (p->text[p->at] == '\0')
            return locus_fail_at(p->error, LOCUS_ERROR_SPEC, "group", (ptrdiff_t)locus_blame_open(p->text, p->at), 1,
                                 "this '(' is never closed: add a ')'");
        if (p->text[p->at] != '*')
            return fail_at(p, p->at, p->depth ? "'*' or ')'" : "'*' or the end");
        p->at++;
    }
}

/* One block: the record, the factors, their first coordinates. */
static locus_status allocate(locus_group **group, size_t capacity, locus_error *error) {
    const size_t each = sizeof(locus_group_factor) + sizeof(size_t);
    if (capacity > (SIZE_MAX - sizeof(locus_group)) / each)
        return locus_fail_memory(error, SIZE_MAX);
    size_t bytes = sizeof(locus_group) + capacity * each;
    locus_group *fresh = locus_allocate(bytes);
    if (!fresh)
        return locus_fail_memory(error, bytes);
    *fresh = (locus_group){.bytes = bytes};
    atomic_init(&fresh->owners, 1);
    *group = fresh;
    return LOCUS_OK;
}

/* Numbers the coordinates of the factors that were parsed. */
static void finish(locus_group *group, const parser *p, size_t capacity) {
    size_t *first = (size_t *)(p->factors + capacity), next = 0;
    for (size_t i = 0; i < p->count; i++) {
        uint64_t more = p->factors[i].kind == LOCUS_FACTOR_GRID ? (uint64_t)p->factors[i].size : 1;
        first[i] = next;
        next = more > LOCUS_MOST_COORDINATES || next > LOCUS_MOST_COORDINATES ? SIZE_MAX : next + (size_t)more;
        group->has_tree = group->has_tree || p->factors[i].kind == LOCUS_FACTOR_TREE;
    }
    group->coordinates = next > LOCUS_MOST_COORDINATES ? SIZE_MAX : next;
    group->count = p->count;
    group->factors = p->factors;
    group->first = first;
}

locus_status locus_group_parse(const char *text, locus_group **group, locus_error *error) {
    if (!group)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "group", "group is NULL: give a place for the result");
    *group = NULL;
    if (!text)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "text", "text is NULL: give a group such as seq or tree:2");
    size_t capacity = 1;
    for (const char *c = text; *c; c++)
        capacity += *c == '*';
    locus_group *fresh = NULL;
    locus_status status = allocate(&fresh, capacity, error);
    if (status != LOCUS_OK)
        return status;
    parser p = {.text = text, .factors = (locus_group_factor *)(fresh + 1), .error = error};
    status = parse_group(&p);
    if (status == LOCUS_OK) {
        finish(fresh, &p, capacity);
        *group = fresh;
    } else {
        locus_group_destroy(&fresh);
    }
    return status;
}

/* ---- ownership ---- */

void locus_group_destroy(locus_group **group) {
    if (!group || !*group)
        return;
    if (*group != &sequence && atomic_fetch_sub(&(*group)->owners, 1) == 1)
        locus_release(*group, (*group)->bytes);
    *group = NULL;
}

const locus_group *locus_group_sequence(void) {
    return &sequence;
}

/* The count of owners is the one thing about a group that changes, and `sequence`, which may be read-only memory, has
 * none. */
locus_group *locus_group_retain(const locus_group *group) {
    locus_group *shared = (locus_group *)(uintptr_t)or_sequence(group);
    if (shared != &sequence)
        atomic_fetch_add(&shared->owners, 1);
    return shared;
}

/* ---- printing and reading ---- */

static int factor_text(locus_group_factor factor, char *text, size_t size) {
    switch (factor.kind) {
    case LOCUS_FACTOR_GRID:
        return factor.size == 1 ? snprintf(text, size, "seq")
                                : snprintf(text, size, "grid:%lld", (long long)factor.size);
    case LOCUS_FACTOR_CYCLE:
        return snprintf(text, size, "cycle:%lld", (long long)factor.size);
    case LOCUS_FACTOR_TREE:
        return snprintf(text, size, "tree:%lld", (long long)factor.size);
    }
    return 0;
}

size_t locus_group_text(const locus_group *group, char *text, size_t size) {
    size_t length = 0;
    char piece[40];
    group = or_sequence(group);
    if (size > 0)
        text[0] = '\0';
    for (size_t i = 0; i < group->count; i++) {
        if (i > 0)
            piece[0] = '*';
        int added = factor_text(group->factors[i], piece + (i > 0), sizeof piece - 1) + (i > 0);
        if (length < size)
            snprintf(text + length, size - length, "%s", piece);
        length += (size_t)added;
    }
    return length;
}

size_t locus_group_factor_count(const locus_group *group) {
    return or_sequence(group)->count;
}

locus_group_factor locus_group_factor_at(const locus_group *group, size_t index) {
    return or_sequence(group)->factors[index];
}

bool locus_group_has_tree(const locus_group *group) {
    return or_sequence(group)->has_tree;
}

int locus_group_equal(const locus_group *a, const locus_group *b) {
    a = or_sequence(a);
    b = or_sequence(b);
    if (a->count != b->count)
        return 0;
    for (size_t i = 0; i < a->count; i++)
        if (a->factors[i].kind != b->factors[i].kind || a->factors[i].size != b->factors[i].size)
            return 0;
    return 1;
}

uint64_t locus_group_hash(const locus_group *group) {
    uint64_t hash = 0;
    group = or_sequence(group);
    for (size_t i = 0; i < group->count; i++)
        hash = locus_hash_word(locus_hash_word(hash, group->factors[i].kind), (uint64_t)group->factors[i].size);
    return hash;
}

size_t locus_group_coordinates(const locus_group *group) {
    return or_sequence(group)->coordinates;
}

locus_coordinate locus_group_coordinate(const locus_group *group, size_t index) {
    group = or_sequence(group);
    size_t low = 0, high = group->count; /* the factor is in low … high − 1 */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (group->first[middle] <= index)
            low = middle;
        else
            high = middle;
    }
    locus_group_factor factor = group->factors[low];
    switch (factor.kind) {
    case LOCUS_FACTOR_CYCLE:
        return (locus_coordinate){LOCUS_COORDINATE_CYCLE, factor.size, low};
    case LOCUS_FACTOR_TREE:
        return (locus_coordinate){LOCUS_COORDINATE_TREE, factor.size, low};
    case LOCUS_FACTOR_GRID:
        break;
    }
    return (locus_coordinate){LOCUS_COORDINATE_AXIS, 0, low};
}

locus_status locus_group_check_size(const locus_group *group, locus_error *error) {
    if (locus_group_coordinates(group) != SIZE_MAX)
        return LOCUS_OK;
    return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "group",
                      "the group has more than 2^31 axes: no path or position on it can be stored; use fewer");
}
