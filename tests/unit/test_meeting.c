/* SPDX-License-Identifier: MIT */
/* What ranks say to each other before a training: whoever has failed or differs is named, to all alike; that all are
 * well; and the digest of the parameters, which is rank 0's. */
#include "ranks/ranks_threads.h"
#include "task/task_class.h"
#include "train/configuration/budgets.h"
#include "train/meeting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 8 };

/* What a rank brings along, and what it hears. */
typedef struct member {
    lab_train_config config;
    locus_error failure;
    const char *declines;
    locus_status heard;
    locus_error said;
} member;

static member members[MOST];

static void meet(lab_ranks **ranks, void *context) {
    (void)context;
    member *own = &members[lab_ranks_rank(*ranks)];
    own->said = own->failure;
    own->heard = own->declines != NULL ? lab_meeting_decline(*ranks, own->declines, &own->said)
                                       : lab_meeting(*ranks, own->failure.status, &own->config, &own->said);
    lab_ranks_close(ranks);
}

static void prepare(const char *task, size_t shards) {
    for (size_t r = 0; r < MOST; r++) {
        lab_train_config config;
        assert_int_equal(lab_train_config_budget(&config, lab_task_find(task), "smoke", LAB_SETUP_PAPER, NULL),
                         LOCUS_OK);
        config.encoding = config.model.encoding = "rope";
        config.budget = "smoke";
        config.test_length_count = 2;
        config.test_lengths[0] = 9;
        config.test_lengths[1] = 12;
        config.data.digest = 77;
        config.shards = shards;
        config.init_digest = 5 + r;
        members[r] = (member){.config = config};
    }
}

/* All hear the same. */
static void expect(size_t count, locus_status status, const char *line) {
    assert_int_equal(lab_ranks_threads(count, meet, NULL, NULL), LOCUS_OK);
    for (size_t r = 0; r < count; r++) {
        assert_int_equal(members[r].heard, status);
        if (line != NULL)
            assert_string_equal(members[r].said.message, line);
    }
}

static void test_well(void **state) {
    (void)state;
    for (size_t count = 1; count <= MOST; count *= 2) {
        prepare("copy", MOST);
        expect(count, LOCUS_OK, NULL);
        for (size_t r = 0; r < count; r++)
            assert_int_equal(members[r].config.init_digest, 5);
    }
}

typedef void change_function(lab_train_config *config);

static void change_seed(lab_train_config *config) {
    config->seed++;
}

static void change_encoding(lab_train_config *config) {
    config->encoding = config->model.encoding = "alibi";
}

static void change_data(lab_train_config *config) {
    config->data.digest++;
}

static void change_lengths(lab_train_config *config) {
    config->test_length_count = 1;
}

static void change_last_length(lab_train_config *config) {
    config->test_lengths[1] = 13;
}

/* The first of those that differ is named. */
static void test_other_options(void **state) {
    static const struct {
        const char *task;
        change_function *change;
        const char *says;
    } cases[] = {
        {"copy", change_seed, "was started with another seed than rank 0"},
        {"copy", change_encoding, "was started with another encoding than rank 0"},
        {"listops", change_data, "reads other data than rank 0: their digests differ"},
        {"copy", change_lengths, "was started with another test_lengths than rank 0"},
        {"copy", change_last_length, "was started with another test_lengths than rank 0"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t count = 2; count <= 4; count *= 2)
            for (size_t other = 1; other < count; other++) {
                char line[160];
                prepare(cases[i].task, MOST);
                for (size_t r = other; r < count; r++)
                    cases[i].change(&members[r].config);
                snprintf(line, sizeof line, "rank %zu: %s", other, cases[i].says);
                expect(count, LOCUS_ERROR_ARGUMENT, line);
            }
}

/* A failure of rank 0's is told as it is, before anything else. */
static void test_failures(void **state) {
    (void)state;
    for (size_t failing = 0; failing < 4; failing++) {
        char line[64];
        prepare("copy", MOST);
        members[failing].failure = (locus_error){.status = LOCUS_ERROR_IO, .message = "there is no such file"};
        change_seed(&members[3].config);
        snprintf(line, sizeof line, failing == 0 ? "there is no such file" : "rank %zu: there is no such file",
                 failing);
        expect(4, LOCUS_ERROR_IO, line);
        prepare("copy", MOST);
        members[failing].declines = "a word is wrong";
        snprintf(line, sizeof line, failing == 0 ? "a word is wrong" : "rank %zu: a word is wrong", failing);
        expect(4, LOCUS_ERROR_ARGUMENT, line);
    }
}

static void test_counts(void **state) {
    static const struct {
        size_t count, shards;
        const char *says;
    } cases[] = {
        {3, 8, "--shards: 8 shards cannot be dealt to 3 ranks: their number must be a power of two, up to 8"},
        {8, 4, "--shards: 4 shards cannot be dealt to 8 ranks: their number must be a power of two, up to 4"},
        {2, 0,
         "--shards: 2 ranks need a batch that is dealt to shards: give --shards with a power of two of at least 2"},
        {4, 1,
         "--shards: 4 ranks need a batch that is dealt to shards: give --shards with a power of two of at least 4"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        prepare("copy", cases[i].shards);
        expect(cases[i].count, LOCUS_ERROR_ARGUMENT, cases[i].says);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_well), cmocka_unit_test(test_other_options),
                                       cmocka_unit_test(test_failures), cmocka_unit_test(test_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
