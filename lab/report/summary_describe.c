/* SPDX-License-Identifier: MIT */
/* What a section is about, in words and sizes: read from its task and from the configuration that its runs share.
 * Fields that a configuration does not write have the value that earlier versions had. */
#include "report/summary_parts.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static double number_of(const cJSON *config, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(config, name);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static const char *text_of(const cJSON *config, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(config, name);
    return cJSON_IsString(item) ? item->valuestring : NULL;
}

/* 50000 as "50,000". */
static const char *grouped(double value, char *text, size_t size) {
    char digits[32];
    const int count = snprintf(digits, sizeof digits, "%.0f", value);
    size_t used = 0;
    for (int i = 0; i < count && used + 2 < size; i++) {
        if (i > 0 && (count - i) % 3 == 0)
            text[used++] = ',';
        text[used++] = digits[i];
    }
    text[used] = '\0';
    return text;
}

static void describe_words(lab_summary_section *section, const cJSON *config) {
    const double mean = number_of(config, "length_mean"), symbols = number_of(config, "symbols");
    if (mean > 0 && symbols > 0) {
        section->trained_length = mean;
        snprintf(section->data, sizeof section->data, "words of length N(%g, %g) over %g symbols", mean,
                 number_of(config, "length_deviation"), symbols);
    }
}

static void describe_trees(lab_summary_section *section, const cJSON *config) {
    const double mean = number_of(config, "depth_mean"), arity = number_of(config, "arity");
    const char *order = text_of(config, "order");      /* breadth is not written */
    const char *paths = text_of(config, "tree_paths"); /* own is not written */
    char kind[64] = "binary trees";
    section->order = order && strcmp(order, "depth") == 0 ? LAB_ORDER_DEPTH : LAB_ORDER_BREADTH;
    snprintf(section->title, sizeof section->title, "%.40s, %s first", section->task,
             section->order == LAB_ORDER_DEPTH ? "depth" : "breadth");
    section->other_trees = arity > 0 && arity != 2;
    if (section->other_trees)
        snprintf(kind, sizeof kind, "trees with %g children to a node,", arity);
    if (mean > 0) {
        section->trained_length = mean;
        snprintf(section->data, sizeof section->data, "%s of depth N(%g, %g), %g symbols%s", kind, mean,
                 number_of(config, "depth_deviation"), number_of(config, "symbols"),
                 !paths                       ? ""
                 : strcmp(paths, "next") == 0 ? ", paths of the next nodes"
                                              : ", paths as in the authors' code");
    }
}

static void describe_images(lab_summary_section *section, const cJSON *config) {
    const double train = number_of(config, "train_samples"), batch = number_of(config, "batch");
    const double steps = number_of(config, "steps");
    char count[48];
    if (train > 0) {
        snprintf(section->data, sizeof section->data, "%.40s, %s training images",
                 strcmp(section->task, "cifar10") == 0 ? "CIFAR-10" : section->task,
                 grouped(train, count, sizeof count));
    }
    if (train > 0 && batch > 0) {
        section->epoch_steps = (uint64_t)ceil(train / batch);
        section->epochs = steps > 0 ? steps / (double)section->epoch_steps : number_of(config, "epochs");
    }
}

/* Characters that stand end to end in a sequence of which all but the first are predicted. */
static void describe_problems(lab_summary_section *section, const cJSON *config) {
    const double digits = number_of(config, "digits"), mean = number_of(config, "length_mean");
    const double sequence = number_of(config, "sequence");
    char what[96] = "";
    if (digits > 0) {
        snprintf(what, sizeof what, "numbers of up to %g digits", digits);
    } else if (mean > 0) {
        snprintf(what, sizeof what, "%s of length N(%g, %g) over %g letters",
                 strcmp(section->task, "substring-search") == 0 ? "pieces" : "strings", mean,
                 number_of(config, "length_deviation"), number_of(config, "symbols"));
    }
    if (what[0] != '\0')
        snprintf(section->data, sizeof section->data, "%s, sequences of %g characters", what, sequence);
}

static void describe_text(lab_summary_section *section, const cJSON *config) {
    char count[48];
    if (number_of(config, "symbols") > 0) {
        snprintf(section->data, sizeof section->data, "a vocabulary of %s tokens, windows of %g",
                 grouped(number_of(config, "symbols"), count, sizeof count), number_of(config, "sequence"));
    }
}

static void describe_expressions(lab_summary_section *section, const cJSON *config) {
    const char *asked = text_of(config, "asked"); /* digit is not written */
    const double pieces = number_of(config, "sequence");
    snprintf(section->title, sizeof section->title, "%.30s, %.16s%s", section->task, asked ? asked : "digit",
             pieces > 0 ? ", pretrained" : "");
    if (number_of(config, "longest") > 0) {
        snprintf(section->data, sizeof section->data,
                 "expressions of %g to %g tokens, at most %g deep, with up to %g arguments%s",
                 number_of(config, "shortest") + 1, number_of(config, "longest") - 1,
                 number_of(config, "expression_depth"), number_of(config, "arity"),
                 pieces > 0 ? "; read as word pieces by a pretrained encoder" : "");
    }
}

/* Softmax, and as many heads of keys as of queries, are not written. */
static void describe_attention(lab_summary_section *section, const cJSON *config) {
    const char *attention = text_of(config, "attention");
    size_t used = strlen(section->data);
    if (used > 0 && attention) {
        snprintf(section->data + used, sizeof section->data - used, ", attention %.95s", attention);
        used = strlen(section->data);
    }
    if (used > 0 && number_of(config, "kv_heads") > 0) {
        snprintf(section->data + used, sizeof section->data - used, ", %g key-value heads",
                 number_of(config, "kv_heads"));
    }
}

/* Neither is written where it is not scaled. */
static void describe_scales(lab_summary_section *section, const cJSON *config) {
    snprintf(section->scales, sizeof section->scales, "%s%s",
             text_of(config, "position_scale") ? ", positions times √D" : "",
             text_of(config, "logit_scale") ? ", logits over √D" : "");
}

void lab_summary_describe(lab_summary_section *section) {
    const lab_task *task = lab_task_find(section->task);
    cJSON *config = cJSON_Parse(section->config ? section->config : "");
    section->kind = task ? task->kind : LAB_TASK_WORDS;
    snprintf(section->title, sizeof section->title, "%.60s", section->task);
    switch (section->kind) {
    case LAB_TASK_WORDS:
        describe_words(section, config);
        break;
    case LAB_TASK_TREES:
        describe_trees(section, config);
        break;
    case LAB_TASK_IMAGES:
        describe_images(section, config);
        break;
    case LAB_TASK_PROBLEMS:
        describe_problems(section, config);
        break;
    case LAB_TASK_TEXT:
        describe_text(section, config);
        break;
    case LAB_TASK_EXPRESSIONS:
        describe_expressions(section, config);
        break;
    }
    describe_attention(section, config);
    describe_scales(section, config);
    cJSON_Delete(config);
}
