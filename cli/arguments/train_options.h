/* SPDX-License-Identifier: MIT */
/* The options that decide a training; shared by `train` and `compare`. */
#ifndef CLI_TRAIN_OPTIONS_H
#define CLI_TRAIN_OPTIONS_H

#include "options.h"
#include "task/tree_random.h"
#include "train/train.h"

/* The names of all tasks are put behind the help of an option whose value is called so (usage.c). */
#define CLI_TASK_VALUE "TASK"
#define CLI_TASKS_VALUE "TASK,TASK,…"

#define CLI_DATA_HELP "images: data/cifar10, say; text: a folder of token files (data/text); expressions: .tsv"

#define CLI_TREE_PATHS_HELP \
    "trees: tokens stand at their nodes' paths, or the next nodes' (code: but for added vectors)"

#define CLI_TRAIN_OPTIONS \
    {"budget", 0, CLI_CHOICE, "smoke|quick|paper", NULL, "sizes and steps: docs/budgets.md", 0, 0}, \
        {"setup", 0, CLI_CHOICE, "paper|code", NULL, "as the paper says, or partly as its authors' code", 0, 0}, \
        {"position-scale", \
         0, \
         CLI_CHOICE, \
         "none|sqrt-dim", \
         NULL, \
         "what the encoding adds to tokens: as it is, or times √D as embeddings are", \
         0, \
         0}, \
        {"logit-scale", \
         0, \
         CLI_CHOICE, \
         "none|inverse-sqrt-dim", \
         NULL, \
         "logits that the embedding makes: as they are, or divided by √D", \
         0, \
         0}, \
        {"steps", 0, CLI_INTEGER, "N", NULL, "training steps", 1, 4294967295.0}, \
        {"epochs", 0, CLI_INTEGER, "N", NULL, "passes over the training set, instead of steps", 1, 1e6}, \
        {"batch", 0, CLI_INTEGER, "N", NULL, "samples of a step", 1, 1e6}, \
        {"dim", 0, CLI_INTEGER, "D", NULL, "dimension of the model", 1, 65536}, \
        {"heads", 0, CLI_INTEGER, "H", NULL, "heads; D must be divisible by it", 1, 65536}, \
        {"kv-heads", 0, CLI_INTEGER, "N", NULL, "heads of keys and values, which divide H; H if not given", 1, 65536}, \
        {"attention", 0,    CLI_TEXT, \
         "KIND",      NULL, "how weights are made of scores, where it can be: linear, 'soft(landmarks=32)', …", \
         0,           0}, \
        {"layers", 0, CLI_INTEGER, "N", NULL, "layers of the encoder, and of the decoder, where there are", 1, 1000}, \
        {"feed-forward", 0, CLI_INTEGER, "F", NULL, "hidden units of the feed-forward blocks", 1, 1e6}, \
        {"dropout", 0, CLI_NUMBER, "P", NULL, "probability, on activations and attention", 0, 0.999}, \
        {"norm", 0, CLI_CHOICE, "before|after", NULL, "where LayerNorm stands (as set-up and task say)", 0, 0}, \
        {"output", 0, CLI_CHOICE, "own|tied", NULL, "decoders: weights of the output, or the embedding's", 0, 0}, \
        {"pool", 0, CLI_CHOICE, "first|mean", NULL, "expressions: what is classified, of all tokens' rows", 0, 0}, \
        {"pretrained", 0, CLI_TEXT, "DIR", NULL, "expressions: fine-tunes the encoder that lies there", 0, 0}, \
        {"length", 'l', CLI_NUMBER, "MEAN", NULL, "words: mean length; substring tasks: of a string", 1, 1e6}, \
        {"length-deviation", \
         0, \
         CLI_NUMBER, \
         "SD", \
         NULL, \
         "words: its standard deviation (a tenth, as published)", \
         0, \
         1e6}, \
        {"symbols", 0,  CLI_INTEGER, "N", NULL, "words, tree-copy, tree-reorder, substrings: how many there are", \
         1,         1e6}, \
        {"digits", 0, CLI_INTEGER, "N", NULL, "addition: digits of the longest numbers", 1, 1e6}, \
        {"sequence", 0,  CLI_INTEGER, "N", NULL, "problems, text: tokens of a sequence; a decoder reads all but one", \
         2,          1e9}, \
        {"order", 0, CLI_CHOICE, "breadth|depth", NULL, "trees: in which order the output is written", 0, 0}, \
        {"depth", 0, CLI_NUMBER, "MEAN", NULL, "trees: mean depth", 0, LAB_TREE_MOST_DEPTH}, \
        {"depth-deviation", 0, CLI_NUMBER, "SD", NULL, "trees: its standard deviation (1, as published)", 0, 1e6}, \
        {"arity",     0, \
         CLI_INTEGER, "K", \
         NULL,        "trees: children of a node that is no leaf (2, as published)", \
         1,           LAB_TREE_MOST_ARITY}, \
        {"tree-paths", 0, CLI_CHOICE, "own|next|code", NULL, CLI_TREE_PATHS_HELP, 0, 0}, \
        {"target", 0, CLI_CHOICE, "digit|parity", NULL, "expressions: their value, or whether it is odd", 0, 0}, \
        {"preset", 0, CLI_CHOICE, "seed|lra", NULL, "expressions: sizes as published, or Long Range Arena's", 0, 0}, \
        {"expression-depth", 0, CLI_INTEGER, "N", NULL, "expressions: at this depth there are only digits", 1, 1e6}, \
        {"arguments", 0, CLI_INTEGER, "N", NULL, "expressions: most arguments of an operator", 2, 1e6}, \
        {"shortest", 0, CLI_INTEGER, "N", NULL, "expressions: with more tokens than this", 0, 1e9}, \
        {"longest", 0, CLI_INTEGER, "N", NULL, "expressions: with fewer tokens than this", 1, 1e9}, \
        {"data", 0, CLI_TEXT, "PATH", NULL, CLI_DATA_HELP, 0, 0}, \
        {"augment", 0, CLI_CHOICE, "autoaugment|none", NULL, "images: policy, crop and flip, or as they are", 0, 0}, \
        {"train-samples", 0, CLI_INTEGER, "N", NULL, "training set; of problems and text sequences", 1, 1e9}, \
        {"dev-samples", 0, CLI_INTEGER, "N", NULL, "development set", 1, 1e9}, \
        {"test-samples", 0, CLI_INTEGER, "N", NULL, "every test set", 1, 1e9}, \
        {"greedy-samples", 0, CLI_INTEGER, "N", NULL, "samples of a test set that are decoded greedily", 0, 1e9}, \
        {"test-lengths", 0, CLI_LIST, "L,L,…", NULL, "words: further test sets of these mean lengths", 0, 0}, \
        {"test-depths", 0, CLI_LIST, "D,D,…", NULL, "trees: further test sets of these mean depths", 0, 0}, \
        {"rate", 0, CLI_NUMBER, "R", NULL, "peak learning rate", 0, 1e6}, \
        {"warmup", 0, CLI_NUMBER, "SHARE", NULL, "share of the steps in which the rate rises", 0, 1}, \
        {"weight-decay", 0, CLI_NUMBER, "R", NULL, "weight decay; decoupled but of pretrained encoders", 0, 1e3}, \
        {"patience", 0,  CLI_INTEGER, "N", NULL, "development scores without a better one that end it; 0: any number", \
         0,          1e9}, \
        {"clip", 0, CLI_NUMBER, "NORM", NULL, "largest gradient norm; 0: no clipping", 0, 1e12}, \
        {"evaluate-every", 0, CLI_INTEGER, "N", NULL, "steps between development scores", 1, 1e9}, \
        {"checkpoint-seconds", 0, CLI_INTEGER, "N", NULL, "time between checkpoints", 0, 1e9}, { \
        "data-seed", 0, CLI_INTEGER, "S", "0", "seed of the data", 0, 9007199254740991.0 \
    }

/* Reads them over the values that the budget has for the task. A size that differs from the budget's makes the budget
 * "custom". Encoding, seed and embedding initialisation are the command's own. 0; 1 or 2 after one line on standard
 * error. */
int cli_train_config(lab_train_config *config, cli_arguments *arguments, const char *task);

/* 2 after one line, if an option is given that belongs to another kind of task; else 0. */
int cli_refuse_other_kinds(const cli_arguments *arguments, const lab_task *task);

/* 2 after one line, if a pretrained encoder is given and with it what it decides itself; else 0. */
int cli_refuse_pretrained(const cli_arguments *arguments, const lab_task *task);

/* Sets it, unless a pretrained encoder has embeddings of its own. */
void cli_train_embedding(lab_train_config *config, lab_embedding_init init);

/* Checks the encoding's text; `text` receives its canonical form, which `config` then points to. */
int cli_train_encoding(lab_train_config *config, const char *encoding, char *text, size_t size);

/* One line, `before` and the command that goes on: the same, without --restart. 1. */
int cli_train_resume(const cli_arguments *arguments, const char *before);

#endif
