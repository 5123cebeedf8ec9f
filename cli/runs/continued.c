/* SPDX-License-Identifier: MIT */
/* See continued.h. Everything but the number of steps is the parent's: a run with other settings is another training,
 * which --init-from begins. Its data must be what they were. */
#include "continued.h"

#include "io/fail.h"
#include "output.h"
#include "train/feed/train_data.h"
#include "train/store/run_folder.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What may be said beside --continue. */
static int refuse_settings(const cli_arguments *arguments) {
    const char *other =
        cli_given_beside(arguments, "continue steps name store restart keep-optimizer data dev test json "
                                    "format quiet threads checkpoint-seconds checkpoint-every-minutes");
    if (other != NULL) {
        return cli_usage_error(
            "--%s: a run that goes on has its parent's; --init-from begins another training with the weights of one",
            other);
    }
    return cli_given_by_user(arguments, "steps") ? 0
                                                 : cli_usage_error("--continue: how far? --steps N says how many more");
}

static int check_parent(const cli_continued *from, const char *path) {
    const lab_run *run = &from->run;
    if (run->state != LAB_RUN_DONE) {
        return cli_failure("the run '%s' is %s, not done: its own command goes on with it", run->name,
                           lab_run_state_name(run->state));
    }
    if (!lab_run_name_fits(run->name))
        return cli_failure("the state of '%s' cannot be found", run->name);
    return access(path, R_OK) == 0
               ? 0
               : cli_failure(
                     "the run '%s' has kept no state of its optimiser: 'locus train … --keep-optimizer' keeps it; "
                     "--init-from %s begins anew with its weights",
                     run->name, run->name);
}

/* Files that changed since make another training. */
static int check_data(cli_continued *from, lab_train_config *config, const cli_arguments *arguments) {
    const uint64_t digest = config->data.digest;
    config->data.path = cli_text(arguments, "data");
    config->data.dev = cli_text(arguments, "dev");
    config->data.test = cli_text(arguments, "test");
    if (digest != 0 && config->data.path == NULL && config->task->class->tokenizer == NULL) {
        return cli_usage_error("--continue: '%s' read its %s from files: --data says where they are", from->run.name,
                               config->task->class->name);
    }
    config->data.digest = 0;
    if (lab_train_look(config, &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    return config->data.digest == digest
               ? 0
               : cli_failure("the data of '%s' have changed since it was trained: go on with those that it read, or "
                             "--init-from %s begins anew with its weights",
                             from->run.name, from->run.name);
}

/* By which runs of different parents differ, but for what tells the rows and the seeds of one table apart. */
static uint64_t origin(const lab_train_config *parent) {
    lab_train_config own = *parent;
    own.encoding = "none";
    own.seed = 0;
    own.checkpoint_seconds = 0;
    own.test_length_count = 0;
    return lab_config_older_hash(&own);
}

static int fill(cli_continued *from, lab_train_config *config, const cli_arguments *arguments) {
    if (lab_config_parse(&from->config, from->run.config, &from->run, "the run store", &cli_fault) != LOCUS_OK)
        return cli_error(&cli_fault);
    if (from->config.numerics != LAB_NUMERICS) {
        return cli_failure("the run '%s' was trained by a version whose arithmetic differs: its bits cannot be gone on "
                           "with; --init-from %s begins anew with its weights",
                           from->run.name, from->run.name);
    }
    *config = from->config;
    config->pretrained = from->config.pretrained_digest != 0 ? from->folder : NULL;
    const int status = check_data(from, config, arguments);
    if (status != 0)
        return status;
    config->budget = "custom";
    if (from->config.patience > 0 && from->run.steps_done < from->run.steps_total) {
        return cli_failure("the run '%s' ended because it got no better for long (its patience): going on would end at "
                           "once; --init-from %s begins anew with its weights",
                           from->run.name, from->run.name);
    }
    config->continued_at = from->run.steps_done;
    config->continued_from = origin(&from->config);
    config->steps = from->run.steps_done + (uint64_t)cli_integer(arguments, "steps");
    config->epochs = 0;
    if (cli_given_by_user(arguments, "checkpoint-seconds"))
        config->checkpoint_seconds = (uint64_t)cli_integer(arguments, "checkpoint-seconds");
    if (cli_given_by_user(arguments, "checkpoint-every-minutes"))
        config->checkpoint_seconds = 60 * (uint64_t)cli_integer(arguments, "checkpoint-every-minutes");
    return 0;
}

/* Another run than the one that it goes on from, which --restart would throw away. */
static int check_name(const cli_continued *from, const lab_train_config *config, const cli_arguments *arguments) {
    char name[256];
    lab_train_name(config, name, sizeof name);
    const char *own = cli_given_by_user(arguments, "name") ? cli_text(arguments, "name") : name;
    return strcmp(own, from->run.name) != 0
               ? 0
               : cli_usage_error("--name: '%s' is the run that this one goes on from: choose another name", own);
}

int cli_continued_open(cli_continued *from, lab_train_config *config, cli_arguments *arguments,
                       const cli_store *store) {
    *from = (cli_continued){.folder = NULL};
    int status = refuse_settings(arguments);
    status = status ? status : cli_store_find(store, cli_text(arguments, "continue"), &from->run);
    if (status != 0)
        return status;
    from->folder = lab_run_path(store->folder, from->run.name, NULL);
    from->state = lab_run_path(store->folder, from->run.name, LAB_RUN_STATE);
    if (from->folder == NULL || from->state == NULL)
        return cli_done(lab_fail_memory(&cli_fault, "a path"));
    status = check_parent(from, from->state);
    status = status ? status : fill(from, config, arguments);
    status = status ? status : check_name(from, config, arguments);
    from->parent = (lab_train_parent){from->run.name, from->state, &from->config, from->run.id};
    return status;
}

void cli_continued_close(cli_continued *from) {
    lab_run_free(&from->run);
    free(from->folder);
    free(from->state);
    *from = (cli_continued){.folder = NULL};
}
