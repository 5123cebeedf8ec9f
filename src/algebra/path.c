/* SPDX-License-Identifier: MIT */
/* Arithmetic of paths: composition, inverse, relative path, length, distance.
 *
 *   axis     a + b, −a, b − a in 64 bits; overflow is refused     cycle    the same mod n
 *   tree     a + b: the longest tail of a that is the inverse of a head of b falls away, the rest is concatenated.
 *            Both words are reduced, so nothing else can cancel, and the result's size is known before it is written.
 *            −a is read through a view that runs backwards with signs turned, so −a + b is the same joint.
 *
 * Distance on a grid is ⌊√(Σ dᵢ²)⌋ in 128-bit integers: each |dᵢ| and the root must be below 2^63, so the sum is below
 * 2^126 wherever the answer can be told. */
#include <locus/memory.h>

#include "algebra/group_access.h"
#include "algebra/path_access.h"
#include "core/error.h"
#include <string.h>

__extension__ typedef unsigned __int128 wide;

/* ---- memory ---- */

locus_status locus_path_allocate(locus_path **path, const locus_group *group, size_t parts, size_t letters,
                                 locus_error *error) {
    *path = NULL;
    const size_t most = SIZE_MAX / 4;
    if (parts > most / sizeof(locus_path_part) || letters > most / sizeof(int64_t))
        return locus_fail_memory(error, SIZE_MAX);
    size_t bytes = sizeof(locus_path) + parts * sizeof(locus_path_part) + letters * sizeof(int64_t);
    locus_path *fresh = locus_allocate(bytes);
    if (!fresh)
        return locus_fail_memory(error, bytes);
    fresh->group = locus_group_retain(group);
    fresh->bytes = bytes;
    fresh->parts = (locus_path_part *)(fresh + 1);
    fresh->letters = (int64_t *)(fresh->parts + parts);
    memset(fresh->parts, 0, parts * sizeof *fresh->parts);
    *path = fresh;
    return LOCUS_OK;
}

void locus_path_destroy(locus_path **path) {
    if (!path || !*path)
        return;
    locus_group_destroy(&(*path)->group);
    locus_release(*path, (*path)->bytes);
    *path = NULL;
}

const locus_group *locus_path_group(const locus_path *path) {
    return path->group;
}

/* ---- checks ---- */

static locus_status check_operands(const locus_path *a, const locus_path *b, const void *result, locus_error *error) {
    if (!result)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "result", "no place for the result was given: it is NULL");
    if (!a || !b)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, a ? "b" : "a",
                          "the path is NULL: make one with locus_path_parse");
    if (locus_group_equal(a->group, b->group))
        return LOCUS_OK;
    char left[64], right[64];
    locus_group_text(a->group, left, sizeof left);
    locus_group_text(b->group, right, sizeof right);
    return locus_fail(error, LOCUS_ERROR_ARGUMENT, "b", "the paths are of different groups, '%s' and '%s': use one",
                      left, right);
}

static locus_status overflow(locus_error *error, const char *what) {
    return locus_fail(error, LOCUS_ERROR_POSITION, NULL, "the %s does not fit in 64 bits: use smaller integers", what);
}

/* ---- integers ---- */

int64_t locus_residue(int64_t value, int64_t size) {
    int64_t rest = value % size;
    return rest < 0 ? rest + size : rest;
}

static bool add(int64_t a, int64_t b, int64_t *sum) {
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b)
        return false;
    *sum = a + b;
    return true;
}

static bool subtract(int64_t a, int64_t b, int64_t *difference) {
    if (b > 0 ? a < INT64_MIN + b : a > INT64_MAX + b)
        return false;
    *difference = a - b;
    return true;
}

/* |a − b|; every such number fits in 64 bits without a sign. */
static uint64_t gap(int64_t a, int64_t b) {
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

/* (±a + b) mod n for residues a and b. */
static int64_t turn(int64_t a, bool inverted, int64_t b, int64_t n) {
    uint64_t first = inverted && a > 0 ? (uint64_t)(n - a) : (uint64_t)a;
    return (int64_t)((first + (uint64_t)b) % (uint64_t)n);
}

/* ⌊√value⌋, bit by bit (Woo's abacus): integers only, nothing rounds. value < 2^126. */
static uint64_t root(wide value) {
    wide result = 0, bit = (wide)1 << 124;
    while (bit > value)
        bit >>= 2;
    for (; bit; bit >>= 2) {
        if (value >= result + bit) {
            value -= result + bit;
            result = (result >> 1) + bit;
        } else {
            result >>= 1;
        }
    }
    return (uint64_t)result;
}

/* ---- words ---- */

typedef struct word {
    const int64_t *letters;
    size_t count;
    bool inverted;
} word;

static word word_of(const locus_path *path, size_t coordinate, bool inverted) {
    const locus_path_part *part = &path->parts[coordinate];
    return (word){path->letters + part->start, (size_t)part->value, inverted};
}

static int64_t letter(word w, size_t index) {
    return w.inverted ? -w.letters[w.count - 1 - index] : w.letters[index];
}

static size_t shorter(word a, word b) {
    return a.count < b.count ? a.count : b.count;
}

/* How many letters of a's end and b's beginning cancel in a + b. */
static size_t cancelled(word a, word b) {
    size_t count = 0, most = shorter(a, b);
    while (count < most && letter(a, a.count - 1 - count) == -letter(b, count))
        count++;
    return count;
}

/* Writes a + b; returns its number of letters. */
static size_t join(word a, word b, int64_t *letters) {
    size_t lost = cancelled(a, b), count = 0;
    for (size_t i = 0; i + lost < a.count; i++)
        letters[count++] = letter(a, i);
    for (size_t i = lost; i < b.count; i++)
        letters[count++] = letter(b, i);
    return count;
}

/* ---- compose, inverse, relative ---- */

/* ±a + b; b may be NULL, the identity. */
typedef struct sum {
    const locus_path *a, *b;
    bool inverted;
    const char *name; /* what overflows */
} sum;

static word second_word(const sum *s, size_t coordinate) {
    return s->b ? word_of(s->b, coordinate, false) : (word){NULL, 0, false};
}

static size_t letters_of_sum(const sum *s, size_t coordinates) {
    size_t letters = 0;
    for (size_t c = 0; c < coordinates; c++)
        if (locus_group_coordinate(s->a->group, c).kind == LOCUS_COORDINATE_TREE) {
            word a = word_of(s->a, c, s->inverted), b = second_word(s, c);
            letters += a.count + b.count - 2 * cancelled(a, b);
        }
    return letters;
}

static bool add_integers(const sum *s, size_t c, locus_coordinate coordinate, int64_t *value) {
    int64_t a = s->a->parts[c].value, b = s->b ? s->b->parts[c].value : 0;
    if (coordinate.kind == LOCUS_COORDINATE_CYCLE) {
        *value = turn(a, s->inverted, b, coordinate.size);
        return true;
    }
    return s->inverted ? subtract(b, a, value) : add(a, b, value);
}

static locus_status evaluate(const sum *s, locus_path **result, locus_error *error) {
    size_t coordinates = locus_group_coordinates(s->a->group), used = 0;
    bool trees = locus_group_has_tree(s->a->group);
    locus_path *fresh;
    locus_status status =
        locus_path_allocate(&fresh, s->a->group, coordinates, trees ? letters_of_sum(s, coordinates) : 0, error);
    for (size_t c = 0; status == LOCUS_OK && c < coordinates; c++) {
        locus_coordinate coordinate = locus_group_coordinate(s->a->group, c);
        locus_path_part *part = &fresh->parts[c];
        if (coordinate.kind == LOCUS_COORDINATE_TREE) {
            size_t count = join(word_of(s->a, c, s->inverted), second_word(s, c), fresh->letters + used);
            *part = (locus_path_part){(int64_t)count, used};
            used += count;
        } else if (!add_integers(s, c, coordinate, &part->value)) {
            status = overflow(error, s->name);
        }
    }
    if (status != LOCUS_OK)
        locus_path_destroy(&fresh);
    *result = fresh;
    return status;
}

static locus_status evaluate_checked(const sum *s, locus_path **result, locus_error *error) {
    if (result)
        *result = NULL;
    locus_status status = check_operands(s->a, s->b, result, error);
    return status == LOCUS_OK ? evaluate(s, result, error) : status;
}

locus_status locus_path_compose(const locus_path *a, const locus_path *b, locus_path **result, locus_error *error) {
    return evaluate_checked(&(sum){a, b, false, "sum of the paths"}, result, error);
}

locus_status locus_path_relative(const locus_path *a, const locus_path *b, locus_path **result, locus_error *error) {
    return evaluate_checked(&(sum){a, b, true, "relative path"}, result, error);
}

locus_status locus_path_inverse(const locus_path *a, locus_path **result, locus_error *error) {
    if (result)
        *result = NULL;
    locus_status status = check_operands(a, a, result, error);
    return status == LOCUS_OK ? evaluate(&(sum){a, NULL, true, "inverse"}, result, error) : status;
}

/* ---- equality, length, distance ---- */

int locus_path_equal(const locus_path *a, const locus_path *b) {
    if (!locus_group_equal(a->group, b->group))
        return 0;
    size_t coordinates = locus_group_coordinates(a->group);
    bool trees = locus_group_has_tree(a->group);
    for (size_t c = 0; c < coordinates; c++) {
        if (a->parts[c].value != b->parts[c].value)
            return 0;
        if (trees && locus_group_coordinate(a->group, c).kind == LOCUS_COORDINATE_TREE) {
            word x = word_of(a, c, false), y = word_of(b, c, false);
            if (x.count && memcmp(x.letters, y.letters, x.count * sizeof *x.letters) != 0)
                return 0;
        }
    }
    return 1;
}

/* Adds to a total that must stay an int64. */
static bool accumulate(uint64_t *total, uint64_t more) {
    if (more > (uint64_t)INT64_MAX - *total)
        return false;
    *total += more;
    return true;
}

locus_status locus_path_length(const locus_path *path, int64_t *length, locus_error *error) {
    locus_status status = check_operands(path, path, length, error);
    if (status != LOCUS_OK)
        return status;
    uint64_t total = 0;
    for (size_t c = 0; c < locus_group_coordinates(path->group); c++)
        if (!accumulate(&total, gap(path->parts[c].value, 0)))
            return overflow(error, "length");
    *length = (int64_t)total;
    return LOCUS_OK;
}

/* ⌊√(Σ dᵢ²)⌋ over `axes` axes; false if it does not fit in 63 bits. */
static bool grid_distance(const locus_path_part *a, const locus_path_part *b, size_t axes, uint64_t *distance) {
    const wide end = (wide)1 << 126;
    wide squares = 0;
    for (size_t i = 0; i < axes; i++) {
        uint64_t d = gap(a[i].value, b[i].value);
        if (d > INT64_MAX)
            return false;
        squares += (wide)d * d;
        if (squares >= end)
            return false;
    }
    *distance = axes == 1 ? gap(a->value, b->value) : root(squares);
    return true;
}

/* Through the last common prefix: every letter behind it is a step. */
static uint64_t tree_distance(word a, word b) {
    size_t common = 0, most = shorter(a, b);
    while (common < most && a.letters[common] == b.letters[common])
        common++;
    return (uint64_t)(a.count - common) + (uint64_t)(b.count - common);
}

locus_status locus_path_distance(const locus_path *a, const locus_path *b, int64_t *distance, locus_error *error) {
    locus_status status = check_operands(a, b, distance, error);
    if (status != LOCUS_OK)
        return status;
    uint64_t total = 0, part = 0;
    for (size_t f = 0, c = 0; f < locus_group_factor_count(a->group); f++) {
        locus_group_factor factor = locus_group_factor_at(a->group, f);
        size_t width = factor.kind == LOCUS_FACTOR_GRID ? (size_t)factor.size : 1;
        bool fits = true;
        if (factor.kind == LOCUS_FACTOR_GRID) {
            fits = grid_distance(&a->parts[c], &b->parts[c], width, &part);
        } else if (factor.kind == LOCUS_FACTOR_CYCLE) {
            part = gap(a->parts[c].value, b->parts[c].value);
            part = part < (uint64_t)factor.size - part ? part : (uint64_t)factor.size - part;
        } else {
            part = tree_distance(word_of(a, c, false), word_of(b, c, false));
        }
        if (!fits || !accumulate(&total, part))
            return overflow(error, "distance");
        c += width;
    }
    *distance = (int64_t)total;
    return LOCUS_OK;
}
