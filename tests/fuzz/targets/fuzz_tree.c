/* SPDX-License-Identifier: MIT */
/* Trees as text: a failure points into the text; what is taken comes back from its own text and from both orders, with
 * parents and with paths. */
#include "fuzz.h"

#include "task/symbol_tree.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 256, MOST_PATH = 4096 };

static void check_orders(const lab_tree *tree, lab_tree *back) {
    int32_t tokens[MOST_NODES], parents[MOST_NODES], branches[MOST_NODES];
    const char *paths[MOST_NODES];
    locus_error error = {0};
    for (int order = LAB_ORDER_BREADTH; order <= LAB_ORDER_DEPTH; order++) {
        lab_tree_write(tree, (lab_order)order, tokens, parents, branches);
        FUZZ_REQUIRE(lab_tree_order_depth(tree->count, parents) == lab_tree_depth(tree));
        FUZZ_REQUIRE_SAYING(lab_tree_from_parents(back, tree->count, tokens, parents, branches, &error) == LOCUS_OK,
                            error.message);
        FUZZ_REQUIRE(lab_tree_equal(tree, back));
        for (size_t i = 0; i < tree->count; i++) {
            char text[MOST_PATH];
            FUZZ_REQUIRE(lab_tree_path_text(parents, branches, i, text, sizeof text) < sizeof text);
            paths[i] = strdup(text);
            FUZZ_REQUIRE(paths[i] != NULL);
        }
        FUZZ_REQUIRE_SAYING(lab_tree_from_paths(back, tree->count, tokens, paths, &error) == LOCUS_OK, error.message);
        FUZZ_REQUIRE(lab_tree_equal(tree, back));
        for (size_t i = 0; i < tree->count; i++)
            free((void *)(uintptr_t)paths[i]);
    }
}

static void check_again(lab_tree *tree) {
    lab_tree back = {0};
    char *text = lab_tree_string(tree, NULL);
    FUZZ_REQUIRE(text != NULL && strlen(text) == lab_tree_text(tree, NULL, NULL, 0));
    FUZZ_REQUIRE_SAYING(lab_tree_parse(&back, text, NULL) == LOCUS_OK, text);
    FUZZ_REQUIRE_SAYING(lab_tree_equal(tree, &back), text);
    if (tree->count <= MOST_NODES)
        check_orders(tree, &back);
    lab_tree_mirror(tree);
    lab_tree_mirror(tree);
    FUZZ_REQUIRE_SAYING(lab_tree_equal(tree, &back), text);
    lab_tree_destroy(&back);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = fuzz_text(data, size);
    lab_tree tree = {0};
    locus_error error = {0};
    const locus_status status = lab_tree_parse(&tree, text, &error);
    if (status == LOCUS_OK) {
        check_again(&tree);
    } else {
        FUZZ_REQUIRE_SAYING(status == LOCUS_ERROR_SPEC, error.message);
        fuzz_check_failure_in(status, &error, strlen(text));
    }
    lab_tree_destroy(&tree);
    free(text);
    return 0;
}
