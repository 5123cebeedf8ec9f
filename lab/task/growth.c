/* SPDX-License-Identifier: MIT */
/* Open nodes of the trees that are being decoded: one window of `limits[s]` entries for each sample, [first, last) of
 * which are open. In depth order first is 0 and the window is a stack; in breadth order it is a queue that never wraps,
 * since a token enters at most once. */
#include "task/growth.h"

#include "io/fail.h"
#include "task/task_class.h"

#include <stdlib.h>

typedef struct open_node {
    int32_t token;   /* its index in the output */
    size_t children; /* that it has, and how many of them stand */
    size_t filled;
} open_node;

typedef struct sprout {
    open_node *window;
    size_t first, last, tokens;
} sprout;

struct lab_grower {
    lab_grower_input input;
    lab_order order;
    sprout *sprouts; /* [samples] */
    open_node *nodes;
};

locus_status lab_grower_create(lab_grower **grower, const lab_grower_input *input, locus_error *error) {
    *grower = NULL;
    if (input->task == NULL || (input->task->children == NULL && input->table == NULL))
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "task", "only outputs that are trees, and say how they grow, do");
    lab_grower *made = calloc(1, sizeof *made);
    size_t total = 0;
    for (size_t s = 0; s < input->samples; s++) {
        if (input->limits[s] > INT32_MAX) {
            free(made);
            return lab_fail(error, LOCUS_ERROR_ARGUMENT, "limits", "sample %zu may get %zu tokens: that is too many", s,
                            input->limits[s]);
        }
        total += input->limits[s];
    }
    if (made != NULL) {
        made->input = *input;
        made->order = lab_task_order(input->task, input->options);
        made->sprouts = calloc(input->samples + 1, sizeof *made->sprouts);
        made->nodes = calloc(total + 1, sizeof *made->nodes);
    }
    if (made == NULL || made->sprouts == NULL || made->nodes == NULL) {
        lab_grower_destroy(&made);
        return lab_fail_memory(error, "trees that grow");
    }
    open_node *window = made->nodes;
    for (size_t s = 0; s < input->samples; s++) {
        made->sprouts[s].window = window;
        window += input->limits[s];
    }
    *grower = made;
    return LOCUS_OK;
}

void lab_grower_destroy(lab_grower **grower) {
    if (grower == NULL || *grower == NULL)
        return;
    free((*grower)->sprouts);
    free((*grower)->nodes);
    free(*grower);
    *grower = NULL;
}

void lab_grower_restart(lab_grower *grower) {
    for (size_t s = 0; s < grower->input.samples; s++) {
        sprout *sample = &grower->sprouts[s];
        sample->first = sample->last = sample->tokens = 0;
    }
}

/* The next open place is taken: by the token, which is not yet counted. */
static void take_place(sprout *sample, lab_order order, int32_t *parent, int32_t *branch) {
    open_node *open = &sample->window[order == LAB_ORDER_DEPTH ? sample->last - 1 : sample->first];
    *parent = open->token;
    *branch = (int32_t)++open->filled;
    if (open->filled == open->children) {
        if (order == LAB_ORDER_DEPTH)
            sample->last--;
        else
            sample->first++;
    }
}

static size_t children_of(const lab_grower_input *input, size_t sample, int32_t token) {
    const size_t *offsets = input->input_offsets + sample;
    return input->table != NULL
               ? (size_t)input->table[token]
               : input->task->children(input->options, offsets[1] - offsets[0], input->input + offsets[0], token);
}

bool lab_grower_grow(void *context, size_t sample, int32_t token, int32_t *parent, int32_t *branch) {
    lab_grower *grower = context;
    const lab_grower_input *input = &grower->input;
    sprout *now = &grower->sprouts[sample];
    *parent = -1;
    *branch = 0;
    if (now->tokens >= input->limits[sample] || (now->tokens > 0 && now->first == now->last))
        return false;
    if (now->tokens > 0)
        take_place(now, grower->order, parent, branch);
    const size_t children = children_of(input, sample, token);
    if (children > 0)
        now->window[now->last++] = (open_node){(int32_t)now->tokens, children, 0};
    now->tokens++;
    return now->first < now->last && now->tokens < input->limits[sample];
}
