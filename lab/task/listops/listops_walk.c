/* SPDX-License-Identifier: MIT */
/* Structure and value of expressions: one walk through the tokens with a stack of the operators that are open. An
 * operator's arguments are digits, so their counts by value say everything: minimum, maximum, sum, and the median as
 * the mean of the two in the middle, cut (the same one twice if their number is odd). */
#include "task/listops/listops.h"

#include <string.h>

/* The value whose place in the sorted arguments is `place`. */
static int32_t sorted_at(const lab_listops_frame *frame, int32_t place) {
    int32_t value = 0;
    for (int32_t behind = frame->counts[0]; behind <= place; behind += frame->counts[value])
        value++;
    return value;
}

static int32_t evaluate(const lab_listops_frame *frame, int32_t operation) {
    const int32_t n = frame->arguments;
    switch (operation) {
    case LAB_LISTOPS_MIN:
        return sorted_at(frame, 0);
    case LAB_LISTOPS_MAX:
        return sorted_at(frame, n - 1);
    case LAB_LISTOPS_MED:
        return (sorted_at(frame, (n - 1) / 2) + sorted_at(frame, n / 2)) / 2;
    default:
        return frame->sum;
    }
}

typedef struct walker {
    lab_listops_frame *frames;
    size_t open;
    bool complete;
    lab_listops_findings found;
} walker;

/* A value has been read: of an argument, or of the whole. */
static void take(walker *w, int32_t value) {
    if (w->open == 0) {
        w->complete = true;
        w->found.value = value;
        return;
    }
    lab_listops_frame *frame = &w->frames[w->open - 1];
    frame->counts[value]++;
    frame->sum = (frame->sum + value) % 10;
}

/* The node of an argument, or of the outermost operator or digit, which stands where the start token does. */
static void place(walker *w, int32_t *parent, int32_t *branch) {
    lab_listops_frame *frame = w->open > 0 ? &w->frames[w->open - 1] : NULL;
    *parent = frame != NULL ? frame->operator_at : 0;
    *branch = frame != NULL ? ++frame->arguments : 0;
    if (frame != NULL && (size_t)frame->arguments > w->found.arguments)
        w->found.arguments = (size_t)frame->arguments;
}

static lab_listops_flaw step(walker *w, size_t at, int32_t token, int32_t *parent, int32_t *branch) {
    if (token == LAB_LISTOPS_END) {
        if (w->open == 0)
            return LAB_LISTOPS_STRAY_END;
        const lab_listops_frame *frame = &w->frames[w->open - 1];
        *parent = frame->operator_at;
        *branch = 0;
        if (frame->arguments == 0)
            return LAB_LISTOPS_NO_ARGUMENT;
        const int32_t value = evaluate(frame, frame->operation);
        w->open--;
        take(w, value);
        return LAB_LISTOPS_FINE;
    }
    if (w->complete)
        return LAB_LISTOPS_BEHIND;
    place(w, parent, branch);
    if (lab_listops_is_operator(token)) {
        w->frames[w->open++] = (lab_listops_frame){.operator_at = (int32_t)at, .operation = token};
        w->found.depth = w->open > w->found.depth ? w->open : w->found.depth;
    } else {
        take(w, token - LAB_LISTOPS_ZERO);
    }
    return LAB_LISTOPS_FINE;
}

static lab_listops_findings flawed(const walker *w, lab_listops_flaw flaw, size_t at) {
    lab_listops_findings found = w->found;
    found.flaw = flaw;
    found.at = at;
    return found;
}

lab_listops_findings lab_listops_walk(size_t n, const int32_t *tokens, int32_t *parents, int32_t *branches,
                                      lab_listops_frame *frames) {
    walker w = {.frames = frames};
    if (n > 0) {
        parents[0] = -1;
        branches[0] = 0;
    }
    for (size_t t = 1; t < n; t++) {
        const lab_listops_flaw flaw = step(&w, t, tokens[t], &parents[t], &branches[t]);
        if (flaw != LAB_LISTOPS_FINE)
            return flawed(&w, flaw, t);
    }
    if (w.open > 0)
        return flawed(&w, LAB_LISTOPS_UNCLOSED, (size_t)frames[w.open - 1].operator_at);
    return w.complete ? w.found : flawed(&w, LAB_LISTOPS_EMPTY, 0);
}
