/* SPDX-License-Identifier: MIT */
/* See meeting.h. */
#include "train/meeting.h"

#include "io/fail.h"
#include "nn/gemm.h"
#include "train/configuration/config.h"
#include "train/machine.h"
#include "train/store/store.h"

#include <cjson/cJSON.h>
#include <locus/cpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JSON_SIZE = 12288 };

/* What a rank says of itself. */
typedef struct facts {
    locus_error error;
    char version[96], kernels[32];
    int32_t products; /* lab_products_level */
    char task[64], encoding[LAB_SPEC_SIZE], budget[64], json[JSON_SIZE];
} facts;

typedef struct verdict {
    locus_error error;
    size_t rank; /* that it is about */
    uint64_t init_digest;
} verdict;

static void copy(char *to, size_t size, const char *from) {
    snprintf(to, size, "%s", from == NULL ? "" : from);
}

static void fill(facts *own, const lab_train_config *config) {
    char *json = lab_config_json(config);
    lab_version_text(own->version, sizeof own->version);
    copy(own->kernels, sizeof own->kernels, locus_isa_name(locus_cpu_isa()));
    own->products = lab_products_level();
    // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there is none only where there is a failure
    copy(own->task, sizeof own->task, config->task->name);
    copy(own->encoding, sizeof own->encoding, config->encoding);
    copy(own->budget, sizeof own->budget, config->budget);
    if (json == NULL || strlen(json) >= sizeof own->json)
        own->error.status = lab_fail(&own->error, LOCUS_ERROR_MEMORY, "config", "no room for the configuration");
    else
        copy(own->json, sizeof own->json, json);
    cJSON_free(json);
}

/* ---- comparing ---- */

static locus_status parse(facts *of, lab_train_config *config, locus_error *error) {
    const lab_run texts = {.task = of->task, .encoding = of->encoding, .budget = of->budget};
    return lab_config_parse(config, of->json, &texts, "a rank's options", error);
}

/* The name of the option that two ranks have different values of; NULL: none. */
static const char *difference(const lab_train_config *first, const lab_train_config *other) {
    lab_train_config same = *other;
    same.init_digest = first->init_digest;
    if (strcmp(first->encoding, other->encoding) != 0)
        return "encoding";
    if (first->data.digest != other->data.digest)
        return "data";
    if (first->test_length_count != other->test_length_count ||
        memcmp(first->test_lengths, other->test_lengths, first->test_length_count * sizeof *first->test_lengths) != 0)
        return "test_lengths";
    return lab_config_difference(first, &same);
}

static locus_status compare(facts *first, facts *other, locus_error *error) {
    lab_train_config here, there;
    if (other->error.status != LOCUS_OK) {
        *error = other->error;
        return error->status;
    }
    if (strcmp(first->version, other->version) != 0) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "ranks", "runs locus %s, rank 0 locus %s: all must run the same",
                        other->version, first->version);
    }
    if (strcmp(first->kernels, other->kernels) != 0) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "ranks",
                        "computes with %s, rank 0 with %s, which gives other bits: set LOCUS_ISA to what all have",
                        other->kernels, first->kernels);
    }
    if (first->products != other->products) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "ranks",
                        "has another instruction set for matrix products than rank 0, which gives other bits: set "
                        "ONEDNN_MAX_CPU_ISA to what all have");
    }
    locus_status status = parse(first, &here, error);
    if (status == LOCUS_OK)
        status = parse(other, &there, error);
    if (status != LOCUS_OK)
        return status;
    const char *option = difference(&here, &there);
    if (option == NULL)
        return LOCUS_OK;
    return strcmp(option, "data") == 0
               ? lab_fail(error, LOCUS_ERROR_ARGUMENT, "ranks", "reads other data than rank 0: their digests differ")
               : lab_fail(error, LOCUS_ERROR_ARGUMENT, "ranks", "was started with another %s than rank 0", option);
}

static locus_status check_count(size_t shards, size_t count, locus_error *error) {
    if (count <= shards && lab_is_power_of_two(count))
        return LOCUS_OK;
    if (shards == 1) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "shards",
                        "--shards: %zu ranks need a batch that is dealt to shards: give --shards with a power of two "
                        "of at least %zu",
                        count, count);
    }
    return lab_fail(error, LOCUS_ERROR_ARGUMENT, "shards",
                    "--shards: %zu shards cannot be dealt to %zu ranks: their number must be a power of two, up to %zu",
                    shards, count, shards);
}

/* Rank 0: the first that fails or differs. */
static void judge(facts *all, size_t count, const lab_train_config *config, verdict *said) {
    locus_status status = all[0].error.status;
    said->error = all[0].error;
    if (status == LOCUS_OK && config != NULL)
        status = check_count(lab_config_shards(config), count, &said->error);
    for (size_t r = 1; status == LOCUS_OK && r < count; r++) {
        said->rank = r;
        status = compare(&all[0], &all[r], &said->error);
    }
    said->error.status = status;
    said->init_digest = config == NULL ? 0 : config->init_digest;
}

/* ---- meeting ---- */

static locus_status meet(lab_ranks *ranks, facts *own, lab_train_config *config, locus_error *error) {
    const size_t count = lab_ranks_count(ranks);
    const bool leads = lab_ranks_rank(ranks) == 0;
    facts *all = leads ? calloc(count, sizeof *all) : NULL;
    verdict said;
    memset(&said, 0, sizeof said);
    locus_status status = leads && all == NULL ? lab_fail_memory(error, "the ranks' meeting") : LOCUS_OK;
    if (status == LOCUS_OK)
        status = lab_ranks_collect(ranks, own, sizeof *own, all, error);
    if (status == LOCUS_OK && leads)
        judge(all, count, config, &said);
    free(all);
    if (status == LOCUS_OK)
        status = lab_ranks_broadcast(ranks, &said, sizeof said, error);
    if (status != LOCUS_OK)
        return status;
    if (config != NULL)
        config->init_digest = said.init_digest;
    if (said.error.status == LOCUS_OK || said.rank == 0) {
        if (error != NULL && said.error.status != LOCUS_OK)
            *error = said.error;
        return said.error.status;
    }
    return lab_fail(error, said.error.status, said.error.argument, "rank %zu: %s", said.rank, said.error.message);
}

static locus_status meet_with(lab_ranks *ranks, const locus_error *failure, lab_train_config *config,
                              locus_error *error) {
    facts *own = calloc(1, sizeof *own);
    if (own == NULL)
        return lab_fail_memory(error, "the ranks' meeting");
    if (failure->status != LOCUS_OK)
        own->error = *failure;
    else
        fill(own, config);
    const locus_status status = meet(ranks, own, config, error);
    free(own);
    return status;
}

locus_status lab_meeting(lab_ranks *ranks, locus_status status, lab_train_config *config, locus_error *error) {
    locus_error failure = {.status = status};
    if (status != LOCUS_OK && error != NULL)
        failure = *error;
    failure.status = status;
    return meet_with(ranks, &failure, config, error);
}

locus_status lab_meeting_decline(lab_ranks *ranks, const char *line, locus_error *error) {
    locus_error failure = {.status = LOCUS_ERROR_ARGUMENT};
    copy(failure.message, sizeof failure.message, line);
    return meet_with(ranks, &failure, NULL, error);
}
