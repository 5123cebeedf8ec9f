/* SPDX-License-Identifier: MIT */
/* A pretrained encoder through the training loop: a small one (tools/golden_bert.py) on pieces of expressions. */
#include "golden/bert_case.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "model/architecture.h"
#include "text/wordpiece.h"
#include "train/configuration/config.h"
#include "train/feed/pieces.h"
#include "train/feed/train_data.h"
#include "unit/scratch_folder.h"
#include "unit/training_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int setup(void **state) {
    return training_setup(state) | scratch_create(state);
}

static int teardown(void **state) {
    return training_teardown(state) | scratch_remove(state);
}

static const char *const pieces[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "(", ")", "[",
                                     "]",     "min",   "max",   "med",   "sm",     "0", "1", "2",
                                     "3",     "4",     "5",     "6",     "7",      "8", "9"};

/* The vocabulary, of which one word is another. */
static void write_pieces(size_t other) {
    char words[512] = "";
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        snprintf(words + strlen(words), sizeof words - strlen(words), "%s%s\n", i == other ? "x" : "", pieces[i]);
    scratch_write("vocab.txt", words, strlen(words));
}

static const char *pretrained_folder(void) {
    write_pieces(SIZE_MAX);
    return bert_case_folder("plain");
}

static lab_train_config fine_tuning(const char *encoding, char text[LAB_SPEC_SIZE]) {
    lab_train_config config;
    locus_error error = {0};
    if (lab_train_config_budget(&config, lab_task_find("listops"), "smoke", LAB_SETUP_PAPER, &error) != LOCUS_OK ||
        lab_train_config_pretrained(&config, pretrained_folder(), &error) != LOCUS_OK ||
        lab_train_pretrained_encoding(config.pretrained, encoding, text, LAB_SPEC_SIZE, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    config.encoding = text;
    config.train_samples = 25;
    config.dev_samples = config.test_samples = 9;
    config.checkpoint_seconds = 0;
    return config;
}

static void test_fine_tuning(void **state) {
    (void)state;
    char encoding[LAB_SPEC_SIZE];
    lab_train_config config = fine_tuning("chebyshev(site=output)", encoding);
    assert_non_null(strstr(encoding, "learned(size=16"));
    assert_non_null(strstr(encoding, "chebyshev(site=output"));
    assert_int_equal(config.data.most_pieces, 16);
    assert_int_equal(config.data.pieces, 37);
    assert_int_equal(config.model.vocabulary, 37);
    assert_int_equal(config.model.tree_arity, 0);
    assert_int_equal(config.optimizer.decay, LAB_DECAY_COUPLED);
    assert_int_equal(lab_config_steps(&config), 7 * 4);
    assert_int_equal(lab_config_schedule(&config).every, 3 * 4);
    assert_true(fabs(lab_schedule_rate(&(lab_schedule){.peak = 1e-4, .every = 12, .factor = 0.1}, 24) - 1e-6) < 1e-18);
    training_assert_resumes(&config, "tuned");

    /* The vocabulary lies beside the parameters; another encoder is another run. */
    char path[160];
    snprintf(path, sizeof path, "%s/whole-tuned/vocab.txt", training_folder());
    assert_int_equal(access(path, F_OK), 0);
    lab_train_config other = config;
    other.pretrained_digest++;
    assert_string_equal(lab_config_difference(&config, &other), "pretrained_digest");
}

static uint64_t digest_now(const char *folder) {
    lab_train_config config;
    locus_error error = {0};
    assert_int_equal(lab_train_config_budget(&config, lab_task_find("listops"), "smoke", LAB_SETUP_PAPER, &error),
                     LOCUS_OK);
    assert_int_equal(lab_train_config_pretrained(&config, folder, &error), LOCUS_OK);
    return config.pretrained_digest;
}

/* The same weights with other words, or with words read otherwise, are another training. */
static void test_vocabulary_is_identity(void **state) {
    (void)state;
    static const char cased[] = "{\"do_lower_case\": false}", uncased[] = "{\"do_lower_case\": true}";
    static const char words[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    const char *folder = pretrained_folder();
    const uint64_t first = digest_now(folder);
    assert_true(first != 0);
    scratch_write("tokenizer_config.json", cased, strlen(cased));
    assert_true(digest_now(folder) != first);
    scratch_write("tokenizer_config.json", uncased, strlen(uncased));
    assert_true(digest_now(folder) == first);
    scratch_write("vocab.txt", words, strlen(words));
    assert_true(digest_now(folder) != first);
    for (size_t other = 0; other < 5; other += 4) { /* [PAD] or [MASK] */
        write_pieces(other);
        assert_true(digest_now(folder) != first);
    }
    assert_true(digest_now(pretrained_folder()) == first);
}

/* The first step begins at the file's weights: the best parameters of one step at rate 0 are those. */
static void test_begins_there(void **state) {
    (void)state;
    char encoding[LAB_SPEC_SIZE];
    training_plan p = {.config = fine_tuning("none", encoding), .name = "still", .threads = 1};
    p.config.rate_peak = p.config.rate_initial = 1e-30;
    p.config.epochs = 1;
    assert_int_equal(training_run(&p), LOCUS_OK);
    training_remains r = training_look("still");
    lab_train_config config;
    lab_model *trained;
    locus_error error;
    assert_int_equal(lab_train_load(&r.run, training_folder(), &config, &trained, &error), LOCUS_OK);
    lab_safetensors file;
    assert_int_equal(lab_safetensors_read(&file, scratch_path("model.safetensors"), &error), LOCUS_OK);
    const lab_array *words = lab_safetensors_find(&file, "embeddings.word_embeddings.weight");
    assert_non_null(words);
    const lab_parameter *embedding = lab_model_parameter(trained, 0);
    assert_string_equal(embedding->name, "embedding.weight");
    assert_int_equal(embedding->count, lab_array_count(words));
    assert_memory_equal(embedding->value, words->data, embedding->count * sizeof(float));
    lab_safetensors_close(&file);
    lab_model_destroy(&trained);
    training_forget(&r);
}

/* The text with its round brackets, cut behind so many pieces. */
static void test_pieces(void **state) {
    (void)state;
    pretrained_folder();
    /* ^ [MAX 2 7 ] */
    static size_t offsets[] = {0, 5};
    static const int32_t tokens[] = {0, 12, 3, 8, 15}, parents[] = {-1, 0, 1, 1, 1}, branches[] = {0, 0, 1, 2, 0};
    static const char *const wanted[] = {"[CLS]", "(", "(", "(", "[", "max", "2", ")", "7", ")", "]", ")", "[SEP]"};
    lab_tokenizer *tokenizer;
    locus_error error;
    assert_int_equal(lab_tokenizer_open_folder(&tokenizer, scratch_path("."), &error), LOCUS_OK);
    for (size_t most = 6; most <= 16; most += 5) {
        lab_dataset set = {.samples = 1};
        const lab_task_options options = {.most_pieces = most};
        const lab_draw draw = {.task = lab_task_find("listops"), .options = &options};
        set.input_offsets = memcpy(malloc(sizeof offsets), offsets, sizeof offsets);
        set.input = memcpy(malloc(sizeof tokens), tokens, sizeof tokens);
        set.input_tree.parents = memcpy(malloc(sizeof parents), parents, sizeof parents);
        set.input_tree.branches = memcpy(malloc(sizeof branches), branches, sizeof branches);
        assert_int_equal(lab_pieces_make(&set, tokenizer, &draw, &error), LOCUS_OK);
        const size_t count = most < 13 ? most : 13;
        assert_int_equal(set.input_offsets[1], count);
        assert_null(set.input_tree.parents);
        const lab_wordpiece *words = lab_tokenizer_words(tokenizer);
        for (size_t i = 0; i + 1 < count; i++)
            assert_string_equal(lab_wordpiece_text(words, set.input[i]), wanted[i]);
        assert_string_equal(lab_wordpiece_text(words, set.input[count - 1]), "[SEP]");
        lab_dataset_destroy(&set);
    }
    lab_tokenizer_close(&tokenizer);
}

/* Bytes are no pieces; and what expressions are written with must be known. */
static void test_no_pieces(void **state) {
    (void)state;
    static const char *const lack[] = {"(", "]", "7", "[", "max"};
    const lab_task *listops = lab_task_find("listops");
    const lab_task_options options = {.most_pieces = 16};
    const lab_draw draw = {.task = listops, .options = &options};
    lab_tokenizer *tokenizer;
    lab_dataset set = {0};
    locus_error error = {0};
    assert_int_equal(lab_tokenizer_open_bytes(&tokenizer, &error), LOCUS_OK);
    assert_int_equal(lab_pieces_make(&set, tokenizer, &draw, &error), LOCUS_ERROR_IO);
    assert_string_equal(error.message,
                        "a pretrained encoder reads word pieces: its folder, or the run's, needs a vocab.txt");
    assert_string_equal(error.argument, "pretrained");
    assert_int_equal(lab_pieces_check(tokenizer, listops->class, "a/folder", &error), LOCUS_ERROR_IO);
    assert_string_equal(error.message, "'a/folder' has no vocab.txt: a pretrained encoder reads word pieces");
    lab_tokenizer_close(&tokenizer);
    for (size_t i = 0; i <= sizeof lack / sizeof *lack; i++) {
        const char *without = i < sizeof lack / sizeof *lack ? lack[i] : "";
        char words[512] = "", says[200];
        for (size_t j = 0; j < sizeof pieces / sizeof *pieces; j++)
            if (strcmp(pieces[j], without) != 0)
                snprintf(words + strlen(words), sizeof words - strlen(words), "%s\n", pieces[j]);
        scratch_write("vocab.txt", words, strlen(words));
        error = (locus_error){0};
        assert_int_equal(lab_tokenizer_open_folder(&tokenizer, scratch_path("."), &error), LOCUS_OK);
        snprintf(says, sizeof says,
                 "'a/folder' has a vocabulary that lacks the characters of '%s', which expressions "
                 "are written with",
                 strcmp(without, "[") == 0     ? "[MIN"
                 : strcmp(without, "max") == 0 ? "[MAX"
                                               : without);
        assert_int_equal(lab_pieces_check(tokenizer, listops->class, "a/folder", &error),
                         without[0] != '\0' ? LOCUS_ERROR_IO : LOCUS_OK);
        assert_string_equal(error.message, without[0] != '\0' ? says : "");
        lab_tokenizer_close(&tokenizer);
    }
}

/* A vocabulary with more entries than the encoder has rows is not its own. */
static void test_refusals(void **state) {
    (void)state;
    char encoding[LAB_SPEC_SIZE];
    training_plan p = {.config = fine_tuning("none", encoding), .name = "refused", .threads = 1};
    char words[256] = "";
    for (size_t i = 0; i < 38; i++)
        snprintf(words + strlen(words), sizeof words - strlen(words), "%s\n",
                 i < sizeof pieces / sizeof *pieces ? pieces[i] : "a");
    char more[1200];
    snprintf(more, sizeof more, "'%s' has a vocabulary of 38 pieces, but an encoder of 37", p.config.pretrained);
    scratch_write("vocab.txt", words, strlen(words));
    p.says = more;
    assert_int_equal(training_run(&p), LOCUS_ERROR_IO);
    p.config.pretrained = NULL;
    p.says = "the run began from a pretrained encoder: --pretrained names its folder";
    assert_int_equal(training_run(&p), LOCUS_ERROR_ARGUMENT);
    training_remains r = training_look("refused");
    assert_int_equal(r.run.id, 0);
    training_forget(&r);
    lab_train_config addition;
    locus_error error;
    assert_int_equal(lab_train_config_budget(&addition, lab_task_find("addition"), "smoke", LAB_SETUP_PAPER, &error),
                     LOCUS_OK);
    assert_int_equal(lab_train_config_pretrained(&addition, pretrained_folder(), &error), LOCUS_ERROR_ARGUMENT);
    /* An encoder, or parameters, that are not there are missed before anything is made. */
    char nowhere[1024], says[1200];
    snprintf(nowhere, sizeof nowhere, "%s", scratch_path("nowhere"));
    for (int pretrained = 0; pretrained < 2; pretrained++) {
        lab_train_config lost = p.config;
        lost.pretrained = pretrained ? nowhere : NULL;
        lost.init_from = pretrained ? NULL : nowhere;
        lost.pretrained_digest = lost.init_digest = 0;
        snprintf(says, sizeof says, "cannot read '%s%s': No such file or directory", nowhere,
                 pretrained ? "/config.json" : "");
        assert_int_equal(lab_train_look(&lost, &error), LOCUS_ERROR_IO);
        assert_string_equal(error.message, says);
        assert_true(lost.pretrained_digest == 0 && lost.init_digest == 0);
    }
}

/* What is published of the fine-tuning stands in the place of whatever the configuration had; budgets take fewer
 * samples. */
static void test_published(void **state) {
    (void)state;
    static const struct {
        const char *budget;
        size_t samples[3];
    } budgets[] = {{"smoke", {96, 32, 128}}, {"quick", {800, 200, 500}}, {"paper", {7, 8, 9}}};
    for (size_t i = 0; i < 3; i++) {
        lab_train_config config;
        const char *folder = pretrained_folder();
        assert_int_equal(
            lab_train_config_budget(&config, lab_task_find("listops"), budgets[i].budget, LAB_SETUP_PAPER, NULL),
            LOCUS_OK);
        config.train_samples = 7, config.dev_samples = 8, config.test_samples = 9;
        config.optimizer = (lab_optimizer_config){0.5, 0.5, 0.5, 0.5, LAB_DECAY_DECOUPLED, 0.5};
        config.rate_peak = config.rate_initial = config.rate_final = config.rate_factor = config.warmup_share = 0.5;
        config.steps = config.epochs = config.evaluate_every = config.rate_epochs = config.patience = 77;
        config.batch = 77;
        config.model.attention_dropout_on = LOCUS_DROPOUT_LOGITS;
        config.pretrained_digest = 1;
        assert_int_equal(lab_train_config_pretrained(&config, folder, NULL), LOCUS_OK);
        const size_t samples[] = {config.train_samples, config.dev_samples, config.test_samples};
        assert_memory_equal(samples, budgets[i].samples, sizeof samples);
        const lab_optimizer_config *o = &config.optimizer;
        const double found[] = {o->beta1,
                                o->beta2,
                                o->epsilon,
                                o->weight_decay,
                                o->clip,
                                config.rate_peak,
                                config.rate_initial,
                                config.rate_final,
                                config.rate_factor,
                                config.warmup_share};
        static const double wanted[] = {0.9, 0.999, 1e-8, 1e-5, 1, 1e-4, 1e-4, 0, 0.1, 0};
        for (size_t f = 0; f < sizeof wanted / sizeof *wanted; f++)
            assert_true(fabs(found[f] - wanted[f]) < 1e-15);
        assert_int_equal(o->decay, LAB_DECAY_COUPLED);
        assert_int_equal(config.schedule, LAB_SCHEDULE_STEPS);
        assert_true(config.batch == 8 && config.steps == 0 && config.epochs == 7 && config.evaluate_every == 0);
        assert_true(config.rate_epochs == 3 && config.patience == 3);
        assert_ptr_equal(config.pretrained, folder);
        assert_true(config.pretrained_digest > 1 && config.pretrained_digest == digest_now(folder));
        assert_ptr_equal(config.model.architecture, &lab_text_classifier);
        assert_int_equal(config.model.classes, 10);
        assert_int_equal(config.model.attention_dropout_on, LOCUS_DROPOUT_LOGITS);
        assert_int_equal(config.data.most_pieces, 16); /* the encoder's places */
    }
    static const size_t places[][2] = {{511, 511}, {512, 512}, {513, 512}};
    for (size_t i = 0; i < 3; i++) {
        lab_train_config config;
        const char *folder = pretrained_folder();
        char *text, *changed;
        size_t bytes;
        assert_int_equal(lab_train_config_budget(&config, lab_task_find("listops"), "smoke", LAB_SETUP_PAPER, NULL),
                         LOCUS_OK);
        assert_int_equal(lab_file_read(scratch_path("config.json"), &text, &bytes, NULL), LOCUS_OK);
        char *at = strstr(text, "_embeddings\": 16");
        changed = malloc(bytes + 8);
        assert_true(at != NULL && changed != NULL);
        at += strlen("_embeddings\": ");
        const int length = snprintf(changed, bytes + 8, "%.*s%zu%s", (int)(at - text), text, places[i][0], at + 2);
        scratch_write("config.json", changed, (size_t)length);
        assert_int_equal(lab_train_config_pretrained(&config, folder, NULL), LOCUS_OK);
        assert_int_equal(config.data.most_pieces, places[i][1]);
        free(text);
        free(changed);
    }
    lab_train_config words;
    locus_error error = {0};
    assert_int_equal(lab_train_config_budget(&words, lab_task_find("copy"), "smoke", LAB_SETUP_PAPER, NULL), LOCUS_OK);
    assert_int_equal(lab_train_config_pretrained(&words, pretrained_folder(), &error), LOCUS_ERROR_ARGUMENT);
    assert_string_equal(error.message, "copy has no classes for a pretrained encoder to tell");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fine_tuning),  cmocka_unit_test(test_vocabulary_is_identity),
        cmocka_unit_test(test_begins_there), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_no_pieces),    cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_published),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
