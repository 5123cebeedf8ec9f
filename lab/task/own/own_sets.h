/* SPDX-License-Identifier: MIT */
/* What data of one's own have in common, whatever they hold: up to three sources, one for each set. A set without one
 * is a tenth of the first source, drawn by the data's seed; a digest of all of them tells whether a run goes on with
 * what it was made with. */
#ifndef LAB_OWN_SETS_H
#define LAB_OWN_SETS_H

#include "task/own/word_index.h"
#include "task/task.h"

#include <locus/random.h>

/* Whether a test set alone is read, by what a run has kept. */
bool lab_own_only_test(const lab_task_options *options);

/* Writes which set each of `count` samples of the first source is of. ARGUMENT: too few. */
locus_status lab_own_split(const lab_task_options *options, uint64_t seed, size_t count, lab_set *sets,
                           locus_error *error);

/* What files of labelled samples say. */
enum { LAB_OWN_MOST_CLASSES = 256 };
typedef struct lab_class_facts {
    lab_word_index classes;
    size_t samples[3];                        /* by lab_set */
    size_t shared[3];                         /* of development and test samples those whose input, or very file, is in
                                                 the training set, too */
    size_t of_class[3][LAB_OWN_MOST_CLASSES]; /* samples, by set and class */
    uint64_t digest;                          /* of the files; never 0 */
    size_t vocabulary, shortest, longest;     /* of sequences: tokens of a sample, the start token not counted */
    size_t trained;                           /* of sequences: the longest of the training set */
} lab_class_facts;
void lab_class_facts_free(lab_class_facts *facts);

/* A sample by its set and what tells it from others, from malloc; false: no memory. */
typedef bool lab_own_key(const void *all, size_t sample, lab_set *set, char **key, size_t *bytes);
/* How many development and test samples are in the training set, too. */
locus_status lab_own_count_shared(const void *all, size_t count, lab_own_key *key_of, size_t shared[3],
                                  locus_error *error);

/* The digest of the files' bytes. */
locus_status lab_own_digest(const lab_task_options *options, uint64_t *digest, locus_error *error);
/* IO unless a digest that is given is that of what is there; nothing is looked at where none is given, or no first
 * source. `now` (may be NULL): the digest, where it is known already. */
locus_status lab_own_check_digest(const lab_task_options *options, const uint64_t *now, locus_error *error);

/* What is kept beside a run, as JSON. */
struct cJSON;
#define LAB_OWN_KEPT "vocabulary.json"
/* Takes over `root`; `losses` is what lab_json_losses said before it was made. */
locus_status lab_own_keep(struct cJSON *root, size_t losses, const char *folder, locus_error *error);
/* *root to be deleted. IO where it is missing, or no JSON object. */
locus_status lab_own_recall(struct cJSON **root, const char *folder, locus_error *error);
/* Adds the texts of an array, which may be NULL, to an index. MEMORY; IO, without a message: there is something else in
 * it. */
locus_status lab_own_recall_words(lab_word_index *words, const struct cJSON *array, locus_error *error);
/* What is kept is nothing that `what` can be read from; hands on a status that is neither OK nor IO. */
locus_status lab_own_fail_kept(locus_status status, const char *folder, const char *what, locus_error *error);
struct cJSON *lab_own_words_json(const lab_word_index *words);

/* Which samples of a set are taken: with less than it has a part that is drawn by the data's seed, since files are
 * often sorted by class. */
typedef struct lab_own_choice {
    locus_random random;
    size_t at, left, wanted; /* samples that were asked for; those that were not yet; those to be taken of these */
} lab_own_choice;
lab_own_choice lab_own_choice_of(const lab_draw *draw, size_t have, size_t wanted);
/* Whether the next one, in their order, is taken. */
bool lab_own_chosen(lab_own_choice *choice);

/* How many samples a set has that has `have` of them: as many as are drawn, or all. */
locus_status lab_own_take(lab_dataset *set, const lab_draw *draw, size_t have, locus_error *error);

#endif
