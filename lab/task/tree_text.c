/* SPDX-License-Identifier: MIT */
/* Trees and paths as text, and trees back from it. */
#include "task/symbol_tree.h"

#include "io/fail.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Text of which only what fits is kept, while its full length is counted. */
typedef struct slip {
    char *text;
    size_t size, length;
} slip;

static void put(slip *out, const char *format, ...) {
    va_list values;
    va_start(values, format);
    bool fits = out->length < out->size;
    int wrote = vsnprintf(fits ? out->text + out->length : NULL, fits ? out->size - out->length : 0, format, values);
    va_end(values);
    out->length += wrote > 0 ? (size_t)wrote : 0;
}

size_t lab_tree_path_text(const int32_t *parents, const int32_t *branches, size_t i, char *text, size_t size) {
    slip out = {text, size, 0};
    size_t steps = 0;
    for (int32_t node = (int32_t)i; parents[node] >= 0; node = parents[node])
        steps++;
    if (steps == 0)
        put(&out, "0");
    for (size_t step = 0; step < steps; step++) {
        int32_t node = (int32_t)i;
        for (size_t up = steps - 1; up > step; up--)
            node = parents[node];
        put(&out, step == 0 ? "%d" : "+%d", (int)branches[node]);
    }
    return out.length;
}

size_t lab_tree_text(const lab_tree *tree, char *const *names, char *text, size_t size) {
    slip out = {text, size, 0};
    put(&out, "");
    for (int32_t node = tree->count > 0 ? 0 : LAB_TREE_NONE; node >= 0;) {
        const lab_tree_node *now = &tree->nodes[node];
        put(&out, now->branch > 0 ? " %s" : "%s", now->first >= 0 ? "(" : "");
        if (names != NULL)
            put(&out, "%s", names[now->symbol]);
        else
            put(&out, "%d", (int)now->symbol);
        if (now->first >= 0) {
            node = now->first;
            continue;
        }
        for (; node > 0 && tree->nodes[node].next < 0; node = tree->nodes[node].parent)
            put(&out, ")");
        node = tree->nodes[node].next;
    }
    return out.length;
}

char *lab_tree_string(const lab_tree *tree, char *const *names) {
    const size_t size = lab_tree_text(tree, names, NULL, 0) + 1;
    char *text = malloc(size);
    if (text != NULL)
        lab_tree_text(tree, names, text, size);
    return text;
}

static locus_status fail_at(locus_error *error, const char *text, const char *at, const char *wanted) {
    ptrdiff_t offset = at - text;
    lab_fail(error, LOCUS_ERROR_SPEC, "tree", "character %zu of a tree: expected %s", (size_t)offset + 1, wanted);
    if (error != NULL) {
        error->offset = offset;
        error->length = 1;
    }
    return LOCUS_ERROR_SPEC;
}

/* A symbol at *text, which then points behind it; NONE: there is none, or it is too large. */
static int32_t read_number(const char **text) {
    const char *at = *text;
    int64_t value = 0;
    while (*at >= '0' && *at <= '9' && value <= INT32_MAX)
        value = 10 * value + (*at++ - '0');
    bool good = at != *text && value <= INT32_MAX;
    *text = good ? at : *text;
    return good ? (int32_t)value : LAB_TREE_NONE;
}

static int32_t read_symbol(const char **text, const lab_tree_names *names) {
    const size_t bytes = strcspn(*text, " \t\r\n()");
    if (names == NULL)
        return read_number(text);
    const int32_t symbol = bytes > 0 ? names->find(names->context, *text, bytes) : LAB_TREE_NONE;
    *text += symbol >= 0 ? bytes : 0;
    return symbol;
}

static const char *skip(const char *text) {
    while (*text == ' ' || *text == '\t' || *text == '\r' || *text == '\n')
        text++;
    return text;
}

/* `open` is the inner node whose children are being read; one that has been opened and not been given its symbol yet is
 * never in the tree, since the symbol comes right behind the parenthesis. */
locus_status lab_tree_parse_named(lab_tree *tree, const char *text, const lab_tree_names *names, locus_error *error) {
    const char *at = skip(text);
    int32_t open = LAB_TREE_NONE;
    lab_tree_clear(tree);
    do {
        if (open >= 0 && *at == ')') {
            if (tree->nodes[open].first < 0)
                return fail_at(error, text, at, "a child: a leaf has no parentheses");
            open = tree->nodes[open].parent;
            at = skip(at + 1);
            continue;
        }
        bool inner = *at == '(';
        at = inner ? skip(at + 1) : at;
        int32_t symbol = read_symbol(&at, names);
        if (symbol < 0)
            return fail_at(error, text, at, inner || open < 0 ? "a symbol" : "a child or ')'");
        int32_t made = lab_tree_add(tree, open, symbol);
        if (made < 0)
            return lab_fail_memory(error, "a tree");
        open = inner ? made : open;
        at = skip(at);
    } while (open >= 0);
    return *at == '\0' ? LOCUS_OK : fail_at(error, text, at, "the end: a tree has one root");
}

locus_status lab_tree_parse(lab_tree *tree, const char *text, locus_error *error) {
    return lab_tree_parse_named(tree, text, NULL, error);
}
