/* SPDX-License-Identifier: MIT */
/* Published numbers and the specs that they belong to. Percentages of the source are shares here. */
#include "report/tables/published.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))
#define B LAB_ORDER_BREADTH
#define D LAB_ORDER_DEPTH
#define FULL LAB_SPAN_FULL
#define HALF LAB_SPAN_HALF

static const char words[] = "Algebraic Positional Encodings (Kogkalidis, Bernardy, Garg 2024), Table 1";
static const char trees[] = "Algebraic Positional Encodings (Kogkalidis, Bernardy, Garg 2024), Table 2";
static const char images[] = "Algebraic Positional Encodings (Kogkalidis, Bernardy, Garg 2024), Table 3";
static const char garbled[] = "the source's stack of numbers is garbled here: equal to rope's tree-reorder";

static const char illegible[] = "its deviation is illegible in the source";

static const lab_published published[] = {
    {"copy", B, FULL, "sinusoidal", "paper", 0.1380, 0.035, words, NULL},
    {"copy", B, FULL, "relative", "paper", 1.0000, -1.0, words, illegible},
    {"copy", B, FULL, "rope", "paper", 0.9999, 0.000, words, NULL},
    {"copy", B, FULL, "algebraic (seq)", "paper", 1.0000, 0.000, words, NULL},
    {"reverse", B, FULL, "sinusoidal", "paper", 0.1330, 0.003, words, NULL},
    {"reverse", B, FULL, "relative", "paper", 0.6480, 0.028, words, NULL},
    {"reverse", B, FULL, "rope", "paper", 0.9700, 0.008, words, NULL},
    {"reverse", B, FULL, "algebraic (seq)", "paper", 0.9981, 0.001, words, NULL},
    {"repeat", B, FULL, "sinusoidal", "paper", 0.1280, 0.005, words, NULL},
    {"repeat", B, FULL, "relative", "paper", 0.9234, 0.003, words, NULL},
    {"repeat", B, FULL, "rope", "paper", 0.9976, 0.003, words, NULL},
    {"repeat", B, FULL, "algebraic (seq)", "paper", 0.9990, 0.000, words, NULL},

    {"tree-copy", B, FULL, "sinusoidal", "paper", 0.2452, 0.005, trees, NULL},
    {"tree-copy", B, FULL, "shiv-quirk", "paper", 0.9835, 0.002, trees, NULL},
    {"tree-copy", B, FULL, "rope", "paper", 1.0000, 0.000, trees, NULL},
    {"tree-copy", B, FULL, "algebraic (seq)", "paper", 0.9999, 0.000, trees, NULL},
    {"tree-copy", B, FULL, "algebraic (tree)", "paper", 0.9906, 0.001, trees, NULL},
    {"tree-copy", D, FULL, "sinusoidal", "paper", 0.2651, 0.004, trees, NULL},
    {"tree-copy", D, FULL, "shiv-quirk", "paper", 0.9986, 0.002, trees, NULL},
    {"tree-copy", D, FULL, "rope", "paper", 0.8546, 0.020, trees, garbled},
    {"tree-copy", D, FULL, "algebraic (seq)", "paper", 0.7902, 0.049, trees, NULL},
    {"tree-copy", D, FULL, "algebraic (tree)", "paper", 0.9970, 0.002, trees, NULL},
    {"tree-reorder", B, FULL, "sinusoidal", "paper", 0.2457, 0.002, trees, NULL},
    {"tree-reorder", B, FULL, "shiv-quirk", "paper", 0.9799, 0.002, trees, NULL},
    {"tree-reorder", B, FULL, "rope", "paper", 0.9119, 0.052, trees, NULL},
    {"tree-reorder", B, FULL, "algebraic (seq)", "paper", 0.9195, 0.023, trees, NULL},
    {"tree-reorder", B, FULL, "algebraic (tree)", "paper", 0.9592, 0.028, trees, NULL},
    {"tree-reorder", D, FULL, "sinusoidal", "paper", 0.2570, 0.006, trees, NULL},
    {"tree-reorder", D, FULL, "shiv-quirk", "paper", 0.9962, 0.001, trees, NULL},
    {"tree-reorder", D, FULL, "rope", "paper", 0.8546, 0.020, trees, NULL},
    {"tree-reorder", D, FULL, "algebraic (seq)", "paper", 0.7490, 0.027, trees, NULL},
    {"tree-reorder", D, FULL, "algebraic (tree)", "paper", 0.9986, 0.000, trees, NULL},
    {"tree-c3", B, FULL, "sinusoidal", "paper", 0.5364, 0.002, trees, NULL},
    {"tree-c3", B, FULL, "shiv-quirk", "paper", 0.6171, 0.036, trees, NULL},
    {"tree-c3", B, FULL, "rope", "paper", 0.6490, 0.027, trees, NULL},
    {"tree-c3", B, FULL, "algebraic (seq)", "paper", 0.8280, -1.0, trees, illegible},
    {"tree-c3", B, FULL, "algebraic (tree)", "paper", 0.8767, 0.105, trees, NULL},
    {"tree-c3", D, FULL, "sinusoidal", "paper", 0.5387, 0.005, trees, NULL},
    {"tree-c3", D, FULL, "shiv-quirk", "paper", 0.6822, 0.135, trees, NULL},
    {"tree-c3", D, FULL, "rope", "paper", 0.6353, 0.010, trees, NULL},
    {"tree-c3", D, FULL, "algebraic (seq)", "paper", 0.6419, 0.010, trees, NULL},
    {"tree-c3", D, FULL, "algebraic (tree)", "paper", 0.9883, 0.012, trees, NULL},
    {"tree-ops", B, FULL, "sinusoidal", "paper", 0.1506, 0.010, trees, NULL},
    {"tree-ops", B, FULL, "shiv-quirk", "paper", 0.3764, 0.005, trees, NULL},
    {"tree-ops", B, FULL, "rope", "paper", 0.8302, 0.008, trees, NULL},
    {"tree-ops", B, FULL, "algebraic (seq)", "paper", 0.8751, -1.0, trees, illegible},
    {"tree-ops", B, FULL, "algebraic (tree)", "paper", 0.8100, 0.003, trees, NULL},
    {"tree-ops", D, FULL, "sinusoidal", "paper", 0.1308, 0.010, trees, NULL},
    {"tree-ops", D, FULL, "shiv-quirk", "paper", 0.4311, 0.014, trees, NULL},
    {"tree-ops", D, FULL, "rope", "paper", 0.3967, 0.030, trees, NULL},
    {"tree-ops", D, FULL, "algebraic (seq)", "paper", 0.3350, 0.024, trees, NULL},
    {"tree-ops", D, FULL, "algebraic (tree)", "paper", 0.8540, 0.002, trees, NULL},

    {"cifar10", B, HALF, "sinusoidal", "paper", 0.9157, 0.000, images, NULL},
    {"cifar10", B, HALF, "learned", "paper", 0.9086, 0.002, images, NULL},
    {"cifar10", B, HALF, "algebraic (seq)", "paper", 0.8893, 0.001, images, NULL},
    {"cifar10", B, HALF, "algebraic (grid)", "paper", 0.9295, 0.000, images, NULL},
    {"cifar10", B, FULL, "sinusoidal", "paper", 0.9279, 0.001, images, NULL},
    {"cifar10", B, FULL, "learned", "paper", 0.9268, 0.002, images, NULL},
    {"cifar10", B, FULL, "algebraic (seq)", "paper", 0.9109, 0.001, images, NULL},
    {"cifar10", B, FULL, "algebraic (grid)", "paper", 0.9442, 0.001, images, NULL},
};

static const char listops[] =
    "Chebychev Positional Encoding in Transformers and Long Term Dependencies (Hastings 2024), Table 2; all but "
    "Chebyshev's from Zimerman and Wolf 2023";
static const char two_classes[] =
    "a number among those of ten classes, but of a model that its code trains and scores on two, the value modulo 2: "
    "49.51 % is what guessing scores there. The encoding is added behind a pretrained encoder of which only token 0 is "
    "read, and there it is the same for every input";

static const lab_published_model listops_models[] = {
    {"LAS", 0.5305, listops, NULL},
    {"Chebyshev", 0.4951, listops, two_classes},
    {"LAS-chunk", 0.4621, listops, NULL},
    {"Luna-256", 0.3798, listops, NULL},
    {"Reformer", 0.3727, listops, NULL},
    {"XFM", 0.3711, listops, NULL},
    {"Transformer", 0.3637, listops, NULL},
    {"BigBird", 0.3605, listops, NULL},
    {"Linformer", 0.3570, listops, NULL},
    {"Performer", 0.1801, listops, NULL},
    {"Local Attention", 0.1582, listops, NULL},
};

/* Specs as `normal` makes them: without spaces, the numbers of a window and of a depth as '#'. */
static const struct {
    const char *spec, *scheme;
} schemes[] = {
    {"sinusoidal", "sinusoidal"},
    {"relative", "relative"},
    {"relative(window=#)", "relative"},
    {"rope", "rope"},
    {"rope(learned=on)", "rope"},
    {"shiv-quirk", "shiv-quirk"},
    {"shiv-quirk(k=2)", "shiv-quirk"},
    {"shiv-quirk(depth=#)", "shiv-quirk"},
    {"shiv-quirk(k=2,depth=#)", "shiv-quirk"},
    {"learned(size=100)", "learned"}, /* as of version 0.1, and the shorthand */
    {"learned(size=100,deviation=1)", "learned"},
    {"algebraic", "algebraic (seq)"},
    {"algebraic(decay=0.98)", "algebraic (seq)"},
    {"algebraic(group=seq)", "algebraic (seq)"},
    {"algebraic(group=seq,decay=0.98)", "algebraic (seq)"},
    {"algebraic(group=tree:2)", "algebraic (tree)"},
    {"algebraic(group=tree:2,decay=0.98)", "algebraic (tree)"},
    {"algebraic(group=grid:2)", "algebraic (grid)"},
    {"algebraic(group=grid:2,decay=0.98)", "algebraic (grid)"},
};

static bool ends_with(const char *text, size_t used, const char *end) {
    size_t length = strlen(end);
    return used >= length && memcmp(text + used - length, end, length) == 0;
}

static bool normal(const char *spec, char *text, size_t size) {
    size_t used = 0;
    for (; *spec != '\0'; spec++) {
        if (isspace((unsigned char)*spec))
            continue;
        if (used + 2 >= size)
            return false;
        text[used++] = *spec;
        size_t digits = strspn(spec + 1, "0123456789");
        bool any =
            ends_with(text, used, "(window=") || ends_with(text, used, "(depth=") || ends_with(text, used, ",depth=");
        if (any && digits > 0) {
            text[used++] = '#';
            spec += digits;
        }
    }
    text[used] = '\0';
    return true;
}

const lab_published *lab_published_look(const char *task, lab_order order, lab_span span, const char *encoding) {
    char text[64];
    if (task == NULL || encoding == NULL || !normal(encoding, text, sizeof text))
        return NULL;
    for (size_t i = 0; i < COUNT(schemes); i++) {
        if (strcmp(schemes[i].spec, text) != 0)
            continue;
        for (size_t j = 0; j < COUNT(published); j++) {
            const lab_published *one = &published[j];
            if (strcmp(one->task, task) == 0 && one->order == order && one->span == span &&
                strcmp(one->scheme, schemes[i].scheme) == 0)
                return one;
        }
    }
    return NULL;
}

size_t lab_published_count(void) {
    return COUNT(published);
}

const lab_published *lab_published_at(size_t index) {
    return index < COUNT(published) ? &published[index] : NULL;
}

size_t lab_published_listops_count(void) {
    return COUNT(listops_models);
}

const lab_published_model *lab_published_listops_at(size_t index) {
    return index < COUNT(listops_models) ? &listops_models[index] : NULL;
}
