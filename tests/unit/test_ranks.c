/* SPDX-License-Identifier: MIT */
/* Ranks on threads: sums are those of one tree, however many ranks share its leaves; shares, gathers, broadcasts and
 * agreements; a rank that gives up is noticed by all; scores on several are those of one. And what the environment says
 * of ranks that are processes. */
#include "model/architecture.h"
#include "ranks/ranks_mpi.h"
#include "ranks/ranks_threads.h"
#include "task/task_class.h"
#include "task/tree_task.h"
#include "train/score.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { LEAVES = 16, NUMBERS = 1000, UNIT = 24, MOST = 16 };

/* Numbers whose sum depends on the order. */
static float leaf(size_t shard, size_t i) {
    const uint32_t word = (uint32_t)(shard * 2654435761u + i * 40503u + 977u) * 2246822519u;
    return ldexpf((float)(int32_t)word, -(int)(20 + word % 23));
}

static void tree(size_t first, size_t count, float *sum) {
    float right[NUMBERS];
    if (count == 1) {
        for (size_t i = 0; i < NUMBERS; i++)
            sum[i] = leaf(first, i);
        return;
    }
    tree(first, count / 2, sum);
    tree(first + count / 2, count / 2, right);
    for (size_t i = 0; i < NUMBERS; i++)
        sum[i] += right[i];
}

/* What the ranks have made, each where it belongs: results are looked at by the test's own thread. */
typedef struct scene {
    float sums[NUMBERS];
    bool units[MOST][(NUMBERS + UNIT - 1) / UNIT];
    float gathered[MOST][NUMBERS];
    locus_status status[MOST];
} scene;

static void fold_body(lab_ranks **ranks, void *context) {
    scene *all = context;
    const size_t rank = lab_ranks_rank(*ranks), own = LEAVES / lab_ranks_count(*ranks);
    float numbers[NUMBERS];
    locus_error error;
    tree(rank * own, own, numbers);
    locus_status status = lab_ranks_fold(*ranks, numbers, NUMBERS, UNIT, &error);
    const lab_share share = lab_ranks_share(*ranks, (NUMBERS + UNIT - 1) / UNIT);
    for (size_t u = share.first; u < share.end; u++) {
        all->units[rank][u] = true;
        for (size_t i = u * UNIT; i < (u + 1) * UNIT && i < NUMBERS; i++)
            all->sums[i] = numbers[i];
    }
    if (status == LOCUS_OK)
        status = lab_ranks_gather(*ranks, numbers, sizeof numbers, UNIT * sizeof *numbers, &error);
    memcpy(all->gathered[rank], numbers, sizeof numbers);
    all->status[rank] = status;
    lab_ranks_close(ranks);
}

static void test_fold(void **state) {
    (void)state;
    float expected[NUMBERS], straight[NUMBERS] = {0};
    tree(0, LEAVES, expected);
    for (size_t s = 0; s < LEAVES; s++)
        for (size_t i = 0; i < NUMBERS; i++)
            straight[i] += leaf(s, i);
    assert_memory_not_equal(expected, straight, sizeof expected); /* the order matters */
    for (size_t count = 1; count <= MOST; count *= 2) {
        static scene all;
        memset(&all, 0, sizeof all);
        assert_int_equal(lab_ranks_threads(count, fold_body, &all, NULL), LOCUS_OK);
        assert_memory_equal(all.sums, expected, sizeof expected);
        for (size_t u = 0; u < (NUMBERS + UNIT - 1) / UNIT; u++) {
            size_t owners = 0;
            for (size_t r = 0; r < count; r++)
                owners += all.units[r][u];
            assert_int_equal(owners, 1);
        }
        for (size_t r = 0; r < count; r++) {
            assert_int_equal(all.status[r], LOCUS_OK);
            assert_memory_equal(all.gathered[r], expected, sizeof expected);
        }
    }
}

/* Longer than what is exchanged at once, in more than one piece of an addition. */
enum { LONG = 600001 };

static void long_body(lab_ranks **ranks, void *context) {
    scene *all = context;
    const size_t rank = lab_ranks_rank(*ranks), count = lab_ranks_count(*ranks);
    float *numbers = malloc(LONG * sizeof *numbers);
    bool right = numbers != NULL;
    locus_error error;
    for (size_t i = 0; right && i < LONG; i++)
        numbers[i] = (float)(i % 1009 + rank);
    locus_status status = right ? lab_ranks_fold(*ranks, numbers, LONG, 1, &error) : LOCUS_ERROR_MEMORY;
    for (size_t turn = 0; turn < 2 && status == LOCUS_OK; turn++) {
        const lab_share share = turn == 0 ? lab_ranks_share(*ranks, LONG) : (lab_share){0, LONG};
        for (size_t i = share.first; i < share.end; i++)
            right = right && numbers[i] == (float)(count * (i % 1009) + count * (count - 1) / 2);
        if (turn == 0)
            status = lab_ranks_gather(*ranks, numbers, LONG * sizeof *numbers, sizeof *numbers, &error);
    }
    all->units[rank][0] = right;
    all->units[rank][1] = count != 2 || lab_ranks_sent(*ranks) == LONG * sizeof *numbers;
    all->status[rank] = status;
    free(numbers);
    lab_ranks_close(ranks);
}

/* Sums of whole numbers are exact. Of two ranks each sends one half to be added and the other as it has become. */
static void test_long(void **state) {
    (void)state;
    for (size_t count = 1; count <= 4; count *= 2) {
        static scene all;
        memset(&all, 0, sizeof all);
        assert_int_equal(lab_ranks_threads(count, long_body, &all, NULL), LOCUS_OK);
        for (size_t r = 0; r < count; r++) {
            assert_int_equal(all.status[r], LOCUS_OK);
            assert_true(all.units[r][0] && all.units[r][1]);
        }
    }
}

typedef struct talk {
    size_t failing, place; /* rank that fails; its place */
    bool lost;             /* it says nothing at all */
    locus_status status[MOST];
    lab_vote votes[MOST];
    char messages[MOST][100];
    size_t words[MOST], collected;
} talk;

static void talk_body(lab_ranks **ranks, void *context) {
    talk *all = context;
    const size_t rank = lab_ranks_rank(*ranks);
    size_t word = rank == 0 ? 4711 : 0, record = 3 * rank + 1, records[MOST] = {0};
    lab_vote vote = {.sum = 0.1 * (double)(rank + 1), .counts = {rank, 1}, .flags = 1u << rank, .place = all->place};
    locus_error error = {0};
    locus_status status = lab_ranks_broadcast(*ranks, &word, sizeof word, &error);
    all->words[rank] = word;
    if (status == LOCUS_OK)
        status = lab_ranks_collect(*ranks, &record, sizeof record, records, &error);
    for (size_t r = 0; rank == 0 && r < lab_ranks_count(*ranks); r++)
        all->collected += records[r] == 3 * r + 1;
    if (status == LOCUS_OK)
        status = lab_ranks_barrier(*ranks, &error);
    if (status == LOCUS_OK && rank == all->failing) {
        status = error.status = LOCUS_ERROR_MEMORY;
        snprintf(error.message, sizeof error.message, "no room");
    }
    if (lab_is_power_of_two(lab_ranks_count(*ranks)))
        status = lab_ranks_agree(*ranks, status, &vote, &error);
    all->votes[rank] = vote;
    all->status[rank] = status;
    snprintf(all->messages[rank], sizeof all->messages[rank], "%.99s", error.message);
    lab_ranks_close(ranks);
}

static void test_talk(void **state) {
    (void)state;
    for (size_t count = 1; count <= MOST; count += count < 9 ? 1 : 7) {
        static talk all;
        memset(&all, 0, sizeof all);
        all.failing = MOST;
        assert_int_equal(lab_ranks_threads(count, talk_body, &all, NULL), LOCUS_OK);
        assert_int_equal(all.collected, count);
        for (size_t r = 0; r < count; r++) {
            assert_int_equal(all.status[r], LOCUS_OK);
            assert_int_equal(all.words[r], 4711);
            if (!lab_is_power_of_two(count))
                continue;
            assert_int_equal(all.votes[r].counts[0], count * (count - 1) / 2);
            assert_int_equal(all.votes[r].counts[1], count);
            assert_int_equal(all.votes[r].flags, (1u << count) - 1);
            assert_memory_equal(&all.votes[r].sum, &all.votes[0].sum, sizeof(double));
        }
    }
    static talk two;
    two.failing = MOST;
    assert_int_equal(lab_ranks_threads(4, talk_body, &two, NULL), LOCUS_OK);
    const double expected = (0.1 * 1 + 0.1 * 2) + (0.1 * 3 + 0.1 * 4);
    assert_memory_equal(&two.votes[3].sum, &expected, sizeof expected);
}

static void test_failure_is_common(void **state) {
    (void)state;
    for (size_t failing = 0; failing < 4; failing++) {
        static talk all;
        char expected[32];
        memset(&all, 0, sizeof all);
        all.failing = failing;
        snprintf(expected, sizeof expected, failing == 0 ? "no room" : "rank %zu: no room", failing);
        assert_int_equal(lab_ranks_threads(4, talk_body, &all, NULL), LOCUS_OK);
        for (size_t r = 0; r < 4; r++) {
            assert_int_equal(all.status[r], LOCUS_ERROR_MEMORY);
            assert_string_equal(all.messages[r], expected);
        }
    }
}

/* Two ranks fail at units of common work: the earlier unit's failure is told, by whichever rank it was found. */
static void place_body(lab_ranks **ranks, void *context) {
    talk *all = context;
    const size_t rank = lab_ranks_rank(*ranks);
    const lab_share share = lab_ranks_share(*ranks, 8);
    lab_vote vote = {0};
    locus_error error = {0};
    locus_status status = LOCUS_OK;
    for (size_t unit = share.first; status == LOCUS_OK && unit < share.end; unit++) {
        vote.place = unit + 1;
        if (unit == 2 || unit >= 5) {
            status = error.status = LOCUS_ERROR_POSITION;
            snprintf(error.message, sizeof error.message, "unit %zu", unit);
        }
    }
    all->status[rank] = lab_ranks_agree(*ranks, status, &vote, &error);
    snprintf(all->messages[rank], sizeof all->messages[rank], "%.99s", error.message);
    lab_ranks_close(ranks);
}

static void test_first_unit(void **state) {
    (void)state;
    for (size_t count = 1; count <= 8; count *= 2) {
        static talk all;
        memset(&all, 0, sizeof all);
        assert_int_equal(lab_ranks_threads(count, place_body, &all, NULL), LOCUS_OK);
        for (size_t r = 0; r < count; r++) {
            assert_int_equal(all.status[r], LOCUS_ERROR_POSITION);
            assert_string_equal(all.messages[r], "unit 2");
        }
    }
}

/* Rank 2 sees an exchange of sizes that do not fit, and closes broken. */
static void broken_body(lab_ranks **ranks, void *context) {
    talk *all = context;
    const size_t rank = lab_ranks_rank(*ranks);
    size_t small = 1;
    char large[64] = {0};
    locus_error error = {0};
    locus_status status = rank == 0 ? lab_ranks_broadcast(*ranks, &small, sizeof small, &error)
                                    : lab_ranks_broadcast(*ranks, large, sizeof large, &error);
    if (status == LOCUS_OK)
        status = lab_ranks_barrier(*ranks, &error);
    all->status[rank] = status;
    if (status != LOCUS_OK)
        assert_true(lab_ranks_broken(*ranks));
    lab_ranks_close(ranks);
}

static void test_broken(void **state) {
    (void)state;
    static talk all;
    assert_int_equal(lab_ranks_threads(4, broken_body, &all, NULL), LOCUS_OK);
    for (size_t r = 0; r < 4; r++)
        assert_int_equal(all.status[r], LOCUS_ERROR_IO);
}

/* No rank goes on before the last has come, whichever that is. */
typedef struct gate {
    atomic_size_t arrived;
    size_t late, found[MOST];
    locus_status status[MOST];
} gate;

static void gate_body(lab_ranks **ranks, void *context) {
    gate *all = context;
    const size_t rank = lab_ranks_rank(*ranks);
    if (rank == all->late)
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    atomic_fetch_add(&all->arrived, 1);
    all->status[rank] = lab_ranks_barrier(*ranks, NULL);
    all->found[rank] = atomic_load(&all->arrived);
    lab_ranks_close(ranks);
}

static void test_barrier(void **state) {
    (void)state;
    for (size_t count = 1; count <= 5; count += 2)
        for (size_t late = 0; late < count; late++) {
            static gate all;
            memset(&all, 0, sizeof all);
            all.late = late;
            assert_int_equal(lab_ranks_threads(count, gate_body, &all, NULL), LOCUS_OK);
            for (size_t r = 0; r < count; r++) {
                assert_int_equal(all.status[r], LOCUS_OK);
                assert_int_equal(all.found[r], count);
            }
        }
}

static void test_alone(void **state) {
    (void)state;
    float numbers[3] = {1, 2, 3};
    lab_vote vote = {.sum = 2.5, .flags = 9};
    locus_error error = {.status = LOCUS_ERROR_IO};
    assert_int_equal(lab_ranks_rank(NULL), 0);
    assert_int_equal(lab_ranks_count(NULL), 1);
    assert_int_equal(lab_ranks_fold(NULL, numbers, 3, 1, &error), LOCUS_OK);
    assert_int_equal(lab_ranks_gather(NULL, numbers, sizeof numbers, 4, &error), LOCUS_OK);
    assert_int_equal(lab_ranks_broadcast(NULL, numbers, sizeof numbers, &error), LOCUS_OK);
    assert_int_equal(lab_ranks_agree(NULL, LOCUS_ERROR_IO, &vote, &error), LOCUS_ERROR_IO);
    assert_true(vote.flags == 9 && numbers[2] > 2.9f);
    const lab_share share = lab_ranks_share(NULL, 7);
    assert_true(share.first == 0 && share.end == 7);
}

enum { TREES = 11 };

/* Trees that are scored in batches of two, the first `decoded` of them greedily, too; what each rank then has. */
typedef struct scoring {
    const lab_dataset *set;
    const lab_draw *draw;
    size_t decoded;
    const char *stop; /* the phase in which the last rank is stopped; NULL: none */
    locus_status status[MOST];
    lab_score score[MOST];
    double exact[MOST];
    uint32_t correct[MOST][TREES];
    uint8_t greedy[MOST][TREES];
    char told[MOST][160]; /* how far it is */
} scoring;

/* A rank, as what is told of it. */
typedef struct listener {
    scoring *all;
    size_t rank;
    bool stops;
} listener;

static bool tell(void *context, const char *phase, size_t done, size_t total) {
    const listener *here = context;
    char *told = here->all->told[here->rank];
    const size_t used = strlen(told);
    snprintf(told + used, sizeof here->all->told[0] - used, "%s %zu/%zu ", phase, done, total);
    return !here->stops || strcmp(phase, here->all->stop) != 0;
}

static void score_body(lab_ranks **ranks, void *context) {
    scoring *all = context;
    const size_t rank = lab_ranks_rank(*ranks);
    listener here = {all, rank, all->stop != NULL && rank + 1 == lab_ranks_count(*ranks)};
    lab_model_config config = lab_encoder_decoder.defaults;
    lab_model *model = NULL;
    locus_error error;
    config.vocabulary = lab_task_vocabulary(all->draw->task, all->draw->options);
    config.tree_arity = LAB_TREES(all->draw->options)->arity;
    config.dim = 24, config.heads = 2, config.feed_forward = 16;
    config.encoding = "algebraic(group=tree:2)";
    memset(all->correct[rank], 0xEE, sizeof all->correct[rank]);
    memset(all->greedy[rank], 0xEE, sizeof all->greedy[rank]);
    const lab_scoring how = {.task = all->draw->task,
                             .options = all->draw->options,
                             .batch = 2,
                             .greedy_samples = all->decoded,
                             .sample_correct = all->correct[rank],
                             .sample_greedy = all->greedy[rank],
                             .look = tell,
                             .context = &here,
                             .phase = "test",
                             .ranks = *ranks};
    locus_status status = lab_model_create(&model, &config, 1, &error);
    if (status == LOCUS_OK)
        status = lab_train_score(model, all->set, &how, &all->score[rank], &all->exact[rank], &error);
    all->status[rank] = status;
    lab_model_destroy(&model);
    lab_ranks_close(ranks);
}

static void score_on(scoring *all, size_t count) {
    assert_int_equal(lab_ranks_threads(count, score_body, all, NULL), LOCUS_OK);
    for (size_t r = 0; r < count; r++)
        assert_int_equal(all->status[r], all->stop != NULL ? LOCUS_ERROR_INTERRUPTED : LOCUS_OK);
}

/* Every rank gets what one alone has, of each sample too. */
static void test_scores(void **state) {
    (void)state;
    static const size_t decoded[] = {7, 0, 1, TREES, TREES + 5};
    static scoring alone, shared;
    const lab_task *task = lab_task_find("tree-copy");
    lab_task_options options = lab_task_default(task);
    LAB_TREES(&options)->depth_mean = 1.0;
    const lab_draw draw = {task, &options, LAB_SET_TEST, TREES, 5};
    lab_dataset set;
    assert_int_equal(lab_dataset_generate(&set, &draw, NULL), LOCUS_OK);
    for (size_t i = 0; i < sizeof decoded / sizeof *decoded; i++) {
        const size_t most = decoded[i] < TREES ? decoded[i] : TREES;
        size_t right = 0, whole = 0;
        alone = shared = (scoring){.set = &set, .draw = &draw, .decoded = decoded[i]};
        score_on(&alone, 1);
        for (size_t s = 0; s < TREES; s++) {
            right += alone.correct[0][s];
            whole += s < most ? alone.greedy[0][s] : 0;
            assert_int_equal(alone.greedy[0][s] <= 1, s < most);
        }
        assert_true(right > 0 && alone.score[0].correct == right && alone.score[0].samples == TREES);
        assert_true(fabs(alone.exact[0] - (most > 0 ? (double)whole / (double)most : 0)) <= 0);
        if (i == 0)
            assert_string_equal(alone.told[0], "test 2/11 test 4/11 test 6/11 test 8/11 test 10/11 test 11/11 "
                                               "greedy 2/7 greedy 4/7 greedy 6/7 greedy 7/7 ");
        for (size_t count = 2; count <= 4; count *= 2) {
            memset(shared.told, 0, sizeof shared.told);
            score_on(&shared, count);
            for (size_t r = 0; r < count; r++) {
                assert_memory_equal(&shared.score[r], &alone.score[0], sizeof alone.score[0]);
                assert_memory_equal(&shared.exact[r], &alone.exact[0], sizeof alone.exact[0]);
                assert_memory_equal(shared.correct[r], alone.correct[0], sizeof alone.correct[0]);
                assert_memory_equal(shared.greedy[r], alone.greedy[0], sizeof alone.greedy[0]);
            }
        }
    }
    for (int phase = 0; phase < 2; phase++) {
        shared = (scoring){.set = &set, .draw = &draw, .decoded = 7, .stop = phase == 0 ? "test" : "greedy"};
        score_on(&shared, 2);
    }
    lab_dataset_destroy(&set);
}

/* Open MPI, MPICH and Slurm each say it in their own way; what is no rank of several is alone. */
static void test_started(void **state) {
    (void)state;
    enum { OMPI_RANK, OMPI_SIZE, PMI_RANK, PMI_SIZE, PMIX_RANK, SLURM_SIZE, NAMED, VARIABLES };
    static const char *const names[VARIABLES] = {"OMPI_COMM_WORLD_RANK",
                                                 "OMPI_COMM_WORLD_SIZE",
                                                 "PMI_RANK",
                                                 "PMI_SIZE",
                                                 "PMIX_RANK",
                                                 "SLURM_STEP_NUM_TASKS",
                                                 "LOCUS_MPI"};
    static const struct {
        const char *values[VARIABLES]; /* NULL: not set */
        lab_mpi_start wanted;
    } cases[] = {
        {{NULL}, {0, 1, "openmpi"}},
        {{[OMPI_RANK] = "1", [OMPI_SIZE] = "4"}, {1, 4, "openmpi"}},
        {{[PMI_RANK] = "2", [PMI_SIZE] = "3"}, {2, 3, "mpich"}},
        {{[PMIX_RANK] = "0", [SLURM_SIZE] = "2"}, {0, 2, "openmpi"}},
        {{[OMPI_RANK] = "3", [OMPI_SIZE] = "4", [PMI_RANK] = "1", [PMI_SIZE] = "2"}, {3, 4, "openmpi"}},
        {{[OMPI_RANK] = "0", [OMPI_SIZE] = "1", [PMI_RANK] = "1", [PMI_SIZE] = "2"}, {1, 2, "mpich"}},
        {{[PMI_RANK] = "0", [PMI_SIZE] = "1"}, {0, 1, "openmpi"}},
        {{[PMI_RANK] = "3", [PMI_SIZE] = "3"}, {0, 1, "openmpi"}},
        {{[PMI_RANK] = "1"}, {0, 1, "openmpi"}},
        {{[PMI_RANK] = "1x", [PMI_SIZE] = "3"}, {0, 1, "openmpi"}},
        {{[PMI_RANK] = "1", [PMI_SIZE] = ""}, {0, 1, "openmpi"}},
        {{[PMI_RANK] = "1", [PMI_SIZE] = "99999999999999999999"}, {0, 1, "openmpi"}},
        {{[PMI_RANK] = "1", [PMI_SIZE] = "2", [NAMED] = "openmpi"}, {1, 2, "openmpi"}},
        {{[PMI_RANK] = "1", [PMI_SIZE] = "2", [NAMED] = ""}, {1, 2, "mpich"}},
        {{[PMI_RANK] = "1", [PMI_SIZE] = "2", [NAMED] = "none"}, {0, 1, "openmpi"}},
        {{[NAMED] = "mpich"}, {0, 1, "openmpi"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t v = 0; v < VARIABLES; v++)
            assert_int_equal(cases[i].values[v] != NULL ? setenv(names[v], cases[i].values[v], 1) : unsetenv(names[v]),
                             0);
        const lab_mpi_start got = lab_mpi_started();
        assert_int_equal(got.rank, cases[i].wanted.rank);
        assert_int_equal(got.count, cases[i].wanted.count);
        assert_string_equal(got.library, cases[i].wanted.library);
    }
    for (size_t v = 0; v < VARIABLES; v++)
        assert_int_equal(unsetenv(names[v]), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fold),       cmocka_unit_test(test_talk),    cmocka_unit_test(test_failure_is_common),
        cmocka_unit_test(test_first_unit), cmocka_unit_test(test_broken),  cmocka_unit_test(test_barrier),
        cmocka_unit_test(test_alone),      cmocka_unit_test(test_started), cmocka_unit_test(test_long),
        cmocka_unit_test(test_scores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
