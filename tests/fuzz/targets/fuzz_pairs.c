/* SPDX-License-Identifier: MIT */
/* Pairs of one's own: the input as the file of all three sets, cut in each way. What is taken has tokens below its
 * vocabulary, parents before their children, and a text for every sample; it is the same by the vocabulary that is
 * kept; where outputs grow, each target does so from its own symbols. A failure is one line. */
#include "fuzz.h"

#include "task/growth.h"
#include "task/own/pairs.h"
#include "task/set_text.h"
#include "task/task_class.h"

#include <stdlib.h>
#include <string.h>

static locus_status draw(lab_dataset *set, const lab_task_options *options, locus_error *error) {
    const lab_draw wanted = {lab_task_find("pairs"), options, LAB_SET_TEST, 0, 0};
    return lab_dataset_generate(set, &wanted, error);
}

static void check_side(const lab_dataset *set, const size_t *offsets, const int32_t *tokens,
                       const lab_tree_nodes *nodes) {
    for (size_t s = 0; s < set->samples; s++) {
        const size_t start = offsets[s], count = offsets[s + 1] - start;
        const bool trees = nodes->parents != NULL;
        const lab_tree_nodes own = {trees ? nodes->parents + start : NULL, trees ? nodes->branches + start : NULL};
        for (size_t i = 0; i < count; i++) {
            FUZZ_REQUIRE(tokens[start + i] > 0 && (size_t)tokens[start + i] < set->name_count);
            FUZZ_REQUIRE(!trees || own.parents[i] < (int32_t)i);
        }
        locus_error error = {0};
        char *text = lab_set_text(set, tokens + start, &own, count, &error);
        FUZZ_REQUIRE_SAYING(text != NULL, error.message);
        free(text);
    }
}

static void check_growth(const lab_dataset *set, const lab_task_options *options) {
    size_t *limits = calloc(set->samples, sizeof *limits);
    lab_grower *grower;
    FUZZ_REQUIRE(limits != NULL);
    for (size_t s = 0; s < set->samples; s++)
        limits[s] = set->target_offsets[s + 1] - set->target_offsets[s];
    const lab_grower_input input = {.task = lab_task_find("pairs"),
                                    .options = options,
                                    .table = set->children,
                                    .samples = set->samples,
                                    .input_offsets = set->input_offsets,
                                    .input = set->input,
                                    .limits = limits};
    FUZZ_REQUIRE(lab_grower_create(&grower, &input, NULL) == LOCUS_OK);
    for (size_t s = 0; s < set->samples; s++) {
        for (size_t i = set->target_offsets[s]; i < set->target_offsets[s + 1]; i++) {
            int32_t parent, branch;
            lab_grower_grow(grower, s, set->target[i], &parent, &branch);
            FUZZ_REQUIRE(parent == set->target_tree.parents[i] && branch == set->target_tree.branches[i]);
        }
    }
    lab_grower_destroy(&grower);
    free(limits);
}

static void check_kept(const lab_dataset *set, const lab_task_options *options) {
    static char folder[512];
    lab_dataset back;
    locus_error error = {0};
    if (folder[0] == '\0')
        snprintf(folder, sizeof folder, "%s", fuzz_path("."));
    const lab_task_options alone = {.test = options->test, .kept = folder};
    FUZZ_REQUIRE_SAYING(lab_pairs_keep(options, 0, folder, &error) == LOCUS_OK, error.message);
    FUZZ_REQUIRE_SAYING(draw(&back, &alone, &error) == LOCUS_OK, error.message);
    FUZZ_REQUIRE(back.samples == set->samples && back.name_count == set->name_count);
    FUZZ_REQUIRE(memcmp(back.input, set->input, set->input_offsets[set->samples] * sizeof *set->input) == 0);
    FUZZ_REQUIRE(memcmp(back.target, set->target, set->target_offsets[set->samples] * sizeof *set->target) == 0);
    FUZZ_REQUIRE((back.children == NULL) == (set->children == NULL));
    lab_dataset_destroy(&back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *path = fuzz_file("input.jsonl", data, size);
    for (int kind = LAB_TOKENS_WORDS; kind <= LAB_TOKENS_BYTES; kind++) {
        lab_task_options options = {.path = path, .dev = path, .test = path};
        LAB_PAIRS(&options)->tokens = (lab_token_kind)kind;
        lab_dataset set;
        lab_pair_facts facts;
        locus_error error = {0};
        const locus_status status = draw(&set, &options, &error);
        if (status != LOCUS_OK) {
            FUZZ_REQUIRE_SAYING(status == LOCUS_ERROR_IO, error.message);
            fuzz_check_failure(status, &error);
            continue;
        }
        FUZZ_REQUIRE(lab_pairs_look(&options, 0, &facts, NULL) == LOCUS_OK);
        FUZZ_REQUIRE(facts.vocabulary == set.name_count && facts.samples[LAB_SET_TEST] == set.samples);
        FUZZ_REQUIRE(facts.shared[LAB_SET_DEV] == set.samples); /* all three are the same */
        check_side(&set, set.input_offsets, set.input, &set.input_tree);
        check_side(&set, set.target_offsets, set.target, &set.target_tree);
        check_kept(&set, &options);
        LAB_PAIRS(&options)->order = facts.order;
        LAB_PAIRS(&options)->arity = facts.arity;
        if (set.children != NULL)
            check_growth(&set, &options);
        lab_dataset_destroy(&set);
    }
    return 0;
}
