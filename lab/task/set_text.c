/* SPDX-License-Identifier: MIT */
/* See set_text.h. */
#include "task/set_text.h"

#include "io/fail.h"
#include "task/symbol_tree.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBER = 12 };

static char *sequence_text(const lab_dataset *set, const int32_t *tokens, size_t count) {
    size_t room = 1, used = 0;
    for (size_t i = 0; i < count; i++)
        room += 1 + (set->names != NULL ? strlen(set->names[tokens[i]]) : NUMBER);
    char *text = malloc(room);
    if (text == NULL)
        return NULL;
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const char *between = i == 0 || set->joined ? "" : " ";
        used += (size_t)(set->names != NULL ? snprintf(text + used, room - used, "%s%s", between, set->names[tokens[i]])
                                            : snprintf(text + used, room - used, "%s%d", between, (int)tokens[i]));
    }
    return text;
}

char *lab_set_text(const lab_dataset *set, const int32_t *tokens, const lab_tree_nodes *nodes, size_t count,
                   locus_error *error) {
    lab_tree tree = {0};
    char *text = NULL;
    locus_status status = LOCUS_OK;
    if (nodes->parents == NULL)
        text = sequence_text(set, tokens, count);
    else
        status = lab_tree_from_parents(&tree, count, tokens, nodes->parents, nodes->branches, error);
    if (status == LOCUS_OK && nodes->parents != NULL)
        text = lab_tree_string(&tree, set->names);
    lab_tree_destroy(&tree);
    if (status == LOCUS_OK && text == NULL)
        (void)lab_fail_memory(error, "the text of a sample");
    return text;
}
