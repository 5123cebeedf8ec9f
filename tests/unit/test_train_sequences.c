/* SPDX-License-Identifier: MIT */
/* Decoders and classifiers of expressions through the training loop: resume, early ends, scores against what is
 * computed by hand from the model's own passes, parameters of other models. */
#include "sanitized.h"
#include "task/problem.h"
#include "task/text_task.h"
#include "text/token_file.h"
#include "train/checkpoint.h"
#include "train/configuration/config.h"
#include "train/outcome.h"
#include "unit/training_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* To a sanitizer one step is like another: there nothing is learned. */
enum { SOLVER_STEPS = SANITIZED(40, 400) };

static char text_path[96];

/* Words that the same few letters make, so that something can be learned. */
static void write_tokens(const char *set, size_t count, uint32_t random) {
    int32_t *tokens = calloc(count, sizeof *tokens);
    char *path = lab_token_file_path(text_path, set);
    locus_error error;
    assert_non_null(tokens);
    for (size_t i = 0; i < count; i++) {
        random = random * 1664525u + 1013904223u;
        tokens[i] = i % 4 == 0 ? 3 : (int32_t)(4 + (random >> 28) % 5);
    }
    const lab_token_file_content content = {12, count, tokens, 2 * (count - 1)};
    assert_int_equal(lab_token_file_write(path, &content, &error), LOCUS_OK);
    free(path);
    free(tokens);
}

static int setup(void **state) {
    if (training_setup(state) != 0)
        return 1;
    snprintf(text_path, sizeof text_path, "%s/text", training_folder());
    if (mkdir(text_path, 0777) != 0)
        return 1;
    write_tokens("train", 401, 1);
    write_tokens("dev", 90, 2);
    write_tokens("test", 137, 3);
    return 0;
}

/* 23 steps of 4 samples: an epoch of 30 ends in the middle of evaluations, with a smaller batch. */
static lab_train_config tiny(const char *task, const char *encoding) {
    lab_train_config config;
    locus_error error;
    assert_int_equal(lab_train_config_budget(&config, lab_task_find(task), "smoke", LAB_SETUP_PAPER, &error), LOCUS_OK);
    config.encoding = encoding;
    config.budget = "custom";
    config.model.dim = config.model.feed_forward = 16;
    config.model.heads = 2;
    config.model.encoder_layers = config.model.encoder_layers > 0;
    config.model.decoder_layers = config.model.decoder_layers > 0;
    config.model.dropout = config.model.attention_dropout = 0.1; /* drawn anew after a resume */
    if (strcmp(task, "text") == 0)
        LAB_TEXT(&config.data)->sequence = 24;
    else if (config.task->open_sequences != NULL)
        LAB_PROBLEMS(&config.data)->sequence = 24;
    config.data.path = strcmp(task, "text") == 0 ? text_path : NULL;
    config.train_samples = strcmp(task, "listops") == 0 ? 30 : 0;
    config.dev_samples = 9;
    config.test_samples = 10;
    config.greedy_samples = config.greedy_samples > 0 ? 5 : 0;
    config.batch = 4;
    config.steps = 23;
    config.evaluate_every = 5;
    config.rate_peak = 3e-3;
    config.checkpoint_seconds = 0; /* after every step */
    return config;
}

/* ---- resume ---- */

static void test_resume(void **state) {
    (void)state;
    const lab_train_config problems = tiny("addition", "rope"), text = tiny("text", "algebraic(group=seq)"),
                           expressions = tiny("listops", "algebraic(group=tree:4)");
    lab_train_config finite = tiny("substring-search", "rope(values=on)");
    finite.train_samples = 30;
    training_assert_resumes(&problems, "addition");
    training_assert_resumes(&finite, "search");
    training_assert_resumes(&text, "text");
    training_assert_resumes(&expressions, "listops");
}

/* ---- early ends ---- */

/* A rate that ruins what was learned: the first score stays the best, and the third after it is the last. Stopped in
 * between or not. */
static void test_patience(void **state) {
    (void)state;
    training_plan p = {.config = tiny("listops", "none"), .name = "patient", .threads = 1};
    p.config.rate_initial = 1e-3;
    p.config.rate_peak = 3.0;
    p.config.warmup_share = 0.5;
    p.config.steps = 400;
    p.config.patience = 3;
    assert_int_equal(training_run(&p), LOCUS_OK);
    training_remains r = training_look("patient");
    size_t best = 0;
    for (size_t i = 1; i < r.counts[3]; i++) {
        best = r.metrics[3][i].value < r.metrics[3][best].value ? i : best;
        assert_true(i - best <= 3);
    }
    assert_int_equal(r.counts[3], best + 4);
    assert_int_equal(r.run.steps_done, 5 * (best + 4));
    assert_true(r.run.steps_done < 400);
    assert_int_equal(r.run.state, LAB_RUN_DONE);
    assert_non_null(strstr(r.run.message, "ended early: 3 development scores"));
    assert_int_equal(lround(training_final(&r, "dev", "best_step")), 5 * (best + 1));
    const uint64_t last = r.run.steps_done;
    training_forget(&r);
    p.name = "patient-parts";
    p.stop_at = last; /* asked to stop where it ends: what is left are the scores */
    assert_int_equal(training_run(&p), LOCUS_ERROR_INTERRUPTED);
    p.stop_at = 0;
    assert_int_equal(training_run(&p), LOCUS_OK);
    training_assert_same("patient", "patient-parts");
}

/* ---- scores: in this process, so behind all trainings ---- */

static lab_model *trained_model(const char *name, lab_train_config *config, training_remains *r) {
    lab_model *model;
    locus_error error = {0};
    *r = training_look(name);
    if (lab_train_load(&r->run, training_folder(), config, &model, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    config->data.path = strcmp(config->task->name, "text") == 0 ? text_path : NULL;
    return model;
}

/* The loss of one sequence alone: nats and tokens. */
static lab_score score_alone(lab_model *model, const int32_t *tokens, size_t count) {
    const size_t offsets[] = {0, count};
    const lab_batch batch = {.samples = 1, .input_offsets = offsets, .input = tokens};
    lab_score score = {0};
    locus_error error;
    assert_int_equal(lab_model_evaluate(model, &batch, &score, &error), LOCUS_OK);
    return score;
}

static void test_text_scores(void **state) {
    (void)state;
    training_remains r;
    lab_train_config config;
    lab_model *model = trained_model("whole-text", &config, &r);
    char *path = lab_token_file_path(text_path, "test");
    lab_token_file file;
    locus_error error;
    double nats = 0.0;
    size_t tokens = 0, correct = 0;
    assert_int_equal(lab_token_file_open(&file, path, &error), LOCUS_OK);
    for (size_t first = 0; first + 1 < file.tokens && tokens < 10 * 23; first += 23) {
        const size_t left = file.tokens - first, count = left < 24 ? left : 24;
        int32_t window[24];
        lab_token_file_read(&file, first, count, window);
        const lab_score score = score_alone(model, window, count);
        nats += score.loss;
        tokens += score.tokens;
        correct += score.correct;
    }
    assert_int_equal(tokens, 136); /* fewer windows than the 10 that were asked for */
    const double loss = nats / (double)tokens;
    assert_true(fabs(training_final(&r, "test", "loss") - loss) < 1e-5);
    assert_true(fabs(training_final(&r, "test", "accuracy") - (double)correct / (double)tokens) < 1e-12);
    assert_true(fabs(training_final(&r, "test", "perplexity") - exp(loss)) < 1e-4);
    assert_true(fabs(training_final(&r, "test", "bits_per_byte") - nats / (log(2.0) * 2.0 * 136.0)) < 1e-5);
    assert_int_equal(r.run.tokens_seen, 4 * 400 + 3 * 4 * 23); /* four epochs of five steps, three whole batches */
    lab_token_file_close(&file);
    free(path);
    lab_model_destroy(&model);
    training_forget(&r);
}

/* Greedy decoding by hand: the whole sequence is read again for each character. */
static bool solves(lab_model *model, const lab_dataset *problems, size_t p, int32_t vocabulary) {
    int32_t tokens[256];
    const size_t prompt = problems->input_offsets[p + 1] - problems->input_offsets[p];
    const size_t answer = problems->target_offsets[p + 1] - problems->target_offsets[p];
    const int32_t *target = problems->target + problems->target_offsets[p];
    memcpy(tokens, problems->input + problems->input_offsets[p], prompt * sizeof *tokens);
    for (size_t i = 0; i < answer; i++) {
        double least = INFINITY, before = prompt + i > 1 ? score_alone(model, tokens, prompt + i).loss : 0.0;
        int32_t best = -1;
        for (int32_t v = 0; v < vocabulary; v++) {
            tokens[prompt + i] = v;
            const double nats = score_alone(model, tokens, prompt + i + 1).loss - before;
            best = nats < least ? v : best;
            least = nats < least ? nats : least;
        }
        if (best != target[i])
            return false;
        tokens[prompt + i] = best;
    }
    return true;
}

/* A model that has learned to solve some: sums of two digits. */
static void test_problem_scores(void **state) {
    (void)state;
    training_remains r;
    lab_train_config config;
    lab_model *model = trained_model("solver", &config, &r);
    const lab_draw draw = {lab_task_find("addition"), &config.data, LAB_SET_TEST, config.greedy_samples, 0};
    lab_dataset problems, sequences;
    locus_error error;
    size_t solved = 0;
    assert_int_equal(lab_dataset_generate(&problems, &draw, &error), LOCUS_OK);
    for (size_t p = 0; p < problems.samples; p++)
        solved += solves(model, &problems, p, (int32_t)config.model.vocabulary);
    assert_in_range(solved, SANITIZED(0, 1), problems.samples - 1);
    assert_true(fabs(training_final(&r, "test", "greedy_exact") - (double)solved / (double)problems.samples) < 1e-12);
    const lab_draw whole = {draw.task, &config.data, LAB_SET_TEST, config.test_samples, 0};
    assert_int_equal(lab_dataset_sequences(&sequences, &whole, &error), LOCUS_OK);
    double nats = 0.0;
    size_t tokens = 0;
    for (size_t s = 0; s < config.test_samples; s++) {
        int32_t sequence[64];
        const size_t count = sequences.sequences.read(&sequences.sequences, s, sequence);
        const lab_score score = score_alone(model, sequence, count);
        nats += score.loss;
        tokens += score.tokens;
    }
    assert_int_equal(tokens, config.test_samples * (LAB_PROBLEMS(&config.data)->sequence - 1));
    assert_true(fabs(training_final(&r, "test", "loss") - nats / (double)tokens) < 1e-5);
    assert_true(training_final(&r, "test", "exact") < 0);
    lab_dataset_destroy(&problems);
    lab_dataset_destroy(&sequences);
    lab_model_destroy(&model);
    training_forget(&r);
}

static void train_solver(void **state) {
    (void)state;
    training_plan p = {.config = tiny("addition", "rope"), .name = "solver", .threads = 2};
    LAB_PROBLEMS(&p.config.data)->digits = 1;
    LAB_PROBLEMS(&p.config.data)->sequence = 48;
    p.config.model.dim = 32;
    p.config.model.feed_forward = 64;
    p.config.model.decoder_layers = 2;
    p.config.model.dropout = p.config.model.attention_dropout = 0.0;
    p.config.greedy_samples = 12;
    p.config.batch = 8;
    p.config.steps = SOLVER_STEPS;
    p.config.evaluate_every = SOLVER_STEPS / 8;
    p.config.rate_peak = 5e-3;
    p.config.checkpoint_seconds = 60;
    assert_int_equal(training_run(&p), LOCUS_OK);
}

static void test_expression_scores(void **state) {
    (void)state;
    training_remains r;
    lab_train_config config;
    lab_model *model = trained_model("whole-listops", &config, &r);
    const lab_outcome_request request = {.set = lab_train_set_ask(&config, LAB_SET_TEST), .groups = true};
    lab_outcome outcome;
    lab_dataset set;
    locus_error error;
    assert_int_equal(lab_train_set(&set, &config, &request.set, &error), LOCUS_OK);
    size_t counts[10] = {0}, most = 0, right = 0;
    for (size_t s = 0; s < set.samples; s++) {
        const size_t start = set.input_offsets[s], offsets[] = {0, set.input_offsets[s + 1] - start};
        const lab_batch batch = {.samples = 1,
                                 .input_offsets = offsets,
                                 .input = set.input + start,
                                 .input_tree = {set.input_tree.parents + start, set.input_tree.branches + start}};
        float shares[10];
        size_t best = 0;
        assert_int_equal(lab_model_classify(model, &batch, shares, &error), LOCUS_OK);
        for (size_t c = 1; c < 10; c++)
            best = shares[c] > shares[best] ? c : best;
        right += (int32_t)best == set.labels[s];
        most = ++counts[set.labels[s]] > most ? counts[set.labels[s]] : most;
    }
    assert_true(fabs(training_final(&r, "test", "accuracy") - (double)right / 10.0) < 1e-12);
    assert_true(fabs(training_final(&r, "test", "majority") - (double)most / 10.0) < 1e-12);
    assert_true(fabs(training_final(&r, "test", "chance") - 0.1) < 1e-12);
    assert_true(training_final(&r, "test", "exact") < 0);
    assert_int_equal(lab_outcome_make(&outcome, model, &config, &request, &error), LOCUS_OK);
    size_t depths = 0, lengths = 0, depth_right = 0;
    for (size_t g = 0; g < outcome.group_count; g++) {
        const lab_tree_group *group = &outcome.groups[g];
        const bool depth = strncmp(group->set, "depth:", 6) == 0;
        assert_true(depth || strncmp(group->set, "length:", 7) == 0);
        depths += depth ? group->samples : 0;
        lengths += depth ? 0 : group->samples;
        depth_right += depth ? group->correct : 0;
        assert_true(fabs(training_final(&r, group->set, "samples") - (double)group->samples) < 1e-12);
    }
    assert_true(depths == 10 && lengths == 10 && depth_right == right);
    lab_outcome_free(&outcome);
    lab_dataset_destroy(&set);
    lab_model_destroy(&model);
    training_forget(&r);
}

/* ---- refusals ---- */

static void assert_refused(const lab_train_config *config, const char *said) {
    locus_error error = {0};
    assert_int_equal(lab_config_check(config, &error), LOCUS_ERROR_ARGUMENT);
    if (strstr(error.message, said) == NULL)
        fail_msg("'%s' is not '%s'", error.message, said);
}

static void test_refusals(void **state) {
    (void)state;
    lab_train_config config = tiny("addition", "rope");
    config.steps = 0;
    config.epochs = 3;
    assert_refused(&config, "--epochs");
    config = tiny("text", "rope");
    config.evaluate_every = 0;
    assert_refused(&config, "--evaluate-every");
    config = tiny("substring-search", "rope");
    config.greedy_samples = 3;
    assert_refused(&config, "--greedy-samples");
    config = tiny("listops", "rope");
    config.schedule = LAB_SCHEDULE_STEPS;
    assert_refused(&config, "--rate");
    config = tiny("listops", "rope");
    config.test_length_count = 1;
    assert_refused(&config, "--test-lengths");

    /* Neither a row nor a folder where there is no text, or another encoder's vocabulary. */
    training_plan p = {.config = tiny("text", "rope"), .name = "refused", .threads = 1};
    p.config.data.path = "/nowhere";
    assert_int_equal(training_run(&p), LOCUS_ERROR_IO);
    p.config.data.path = text_path;
    p.config.data.digest = 5;
    assert_int_equal(training_run(&p), LOCUS_ERROR_ARGUMENT);
    p.config = tiny("listops", "algebraic(group=grid:2)");
    assert_int_not_equal(training_run(&p), LOCUS_OK);
    training_remains r = training_look("refused");
    assert_int_equal(r.run.id, 0);
    training_forget(&r);
    char path[160];
    snprintf(path, sizeof path, "%s/refused", training_folder());
    assert_int_not_equal(access(path, F_OK), 0);
}

/* ---- parameters of another model ---- */

static void assert_no_fit(const char *name, const lab_model_config *config, const char *said) {
    char path[200];
    lab_model *model;
    locus_error error = {0};
    snprintf(path, sizeof path, "%s/%s/best.safetensors", training_folder(), name);
    assert_int_equal(lab_model_create(&model, config, 1, &error), LOCUS_OK);
    const float first = lab_model_values(model)[0];
    assert_int_equal(lab_best_read(model, path, &error), LOCUS_ERROR_IO);
    if (strstr(error.message, said) == NULL || strstr(error.message, path) == NULL)
        fail_msg("'%s' does not say '%s'", error.message, said);
    assert_memory_equal(&first, lab_model_values(model), sizeof first); /* nothing was changed */
    lab_model_destroy(&model);
}

/* The first tensor that the other one has not, or has in another shape, is named. */
static void test_other_models(void **state) {
    (void)state;
    lab_train_config config = tiny("addition", "rope");
    lab_config_fill(&config);
    lab_model_config other = config.model;
    other.encoding = "learned(size=30)";
    assert_no_fit("whole-addition", &other, "table is not in it");
    other.encoding = "rope";
    other.output = LAB_OUTPUT_TIED;
    assert_no_fit("whole-addition", &other, "output.weight is not in the model");
    other = config.model;
    other.encoding = "rope";
    other.vocabulary++;
    assert_no_fit("whole-addition", &other, "embedding.weight is [");
    assert_no_fit("whole-text", &config.model, "embedding.weight is [12, 16] there and [");
    assert_no_fit("whole-listops", &config.model, "embedding.weight is [16, 16] there");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resume),
        cmocka_unit_test(test_patience),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(train_solver),
        cmocka_unit_test(test_text_scores),
        cmocka_unit_test(test_problem_scores),
        cmocka_unit_test(test_expression_scores),
        cmocka_unit_test(test_other_models),
    };
    return cmocka_run_group_tests(tests, setup, training_teardown);
}
