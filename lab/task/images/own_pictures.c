/* SPDX-License-Identifier: MIT */
/* See own_pictures.h. */
#include "task/images/own_pictures.h"

#include "io/digest.h"
#include "io/fail.h"
#include "io/json.h"
#include "task/images/picture_options.h"
#include "task/images/picture_pixels.h"

#include <stdlib.h>
#include <string.h>

/* Everything that was read; `sets` says which set each file is of. */
typedef struct collection {
    lab_picture_files files;
    lab_word_index classes;
    lab_picture_pixels pixels;
    lab_set *sets;
    uint64_t digest;
} collection;

static void collection_free(collection *all) {
    lab_picture_files_free(&all->files);
    lab_word_index_free(&all->classes);
    lab_picture_pixels_release(&all->pixels);
    free(all->sets);
}

/* ---- reading ---- */

static locus_status list_files(collection *all, const lab_task_options *options, locus_error *error) {
    const bool kept = lab_own_only_test(options);
    const char *const folders[] = {options->path, options->dev, options->test};
    if (!kept && options->path == NULL)
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "data", "pictures are read from a folder: --data FOLDER");
    locus_status status = kept ? lab_pictures_recall(&all->classes, options->kept, error) : LOCUS_OK;
    for (size_t i = 0; status == LOCUS_OK && i < 3; i++)
        if (folders[i] != NULL)
            status = lab_picture_files_read(&all->files, &all->classes, folders[i], (lab_set)i, error);
    return status;
}

/* The files of the first folder come first. */
static locus_status part(collection *all, const lab_task_options *options, uint64_t seed, locus_error *error) {
    size_t first = 0;
    all->sets = calloc(all->files.count + 1, sizeof *all->sets);
    if (all->sets == NULL)
        return lab_fail_memory(error, "pictures");
    for (size_t i = 0; i < all->files.count; i++) {
        all->sets[i] = all->files.files[i].set;
        first += all->sets[i] == LAB_SET_TRAIN;
    }
    return options->path != NULL && (options->dev == NULL || options->test == NULL)
               ? lab_own_split(options, seed, first, all->sets, error)
               : LOCUS_OK;
}

/* Names, and the files' own sums. */
static locus_status add_up(collection *all, locus_error *error) {
    lab_digest sum = lab_digest_begin(LAB_DIGEST_SHA256);
    for (size_t i = 0; i < all->files.count; i++) {
        const lab_picture_file *file = &all->files.files[i];
        const char *class = all->classes.words[file->class], *name = strrchr(file->path, '/') + 1;
        const unsigned char set = (unsigned char)file->set;
        lab_digest_add(&sum, &set, 1);
        lab_digest_add(&sum, class, strlen(class) + 1);
        lab_digest_add(&sum, name, strlen(name) + 1);
        lab_digest_add(&sum, &all->pixels.sums[i], sizeof all->pixels.sums[i]);
    }
    return lab_digest_close_number(&sum, &all->digest, error);
}

static locus_status collect(collection *all, const lab_task_options *options, uint64_t seed, locus_error *error) {
    *all = (collection){.digest = 0};
    locus_status status = list_files(all, options, error);
    if (status == LOCUS_OK)
        status = part(all, options, seed, error);
    if (status == LOCUS_OK)
        status = lab_picture_pixels_get(&all->pixels, &all->files, LAB_PICTURES(options)->side, error);
    if (status == LOCUS_OK)
        status = add_up(all, error);
    if (status == LOCUS_OK)
        status = lab_own_check_digest(options, &all->digest, error);
    if (status != LOCUS_OK)
        collection_free(all);
    return status;
}

/* ---- sets ---- */

static bool lend_names(lab_dataset *set, const lab_word_index *classes) {
    set->names = calloc(classes->count + 1, sizeof *set->names);
    for (size_t i = 0; set->names != NULL && i < classes->count; i++, set->name_count++)
        if ((set->names[i] = strdup(classes->words[i])) == NULL)
            return false;
    return set->names != NULL;
}

static size_t count_set(const collection *all, lab_set which) {
    size_t count = 0;
    for (size_t i = 0; i < all->files.count; i++)
        count += all->sets[i] == which;
    return count;
}

static locus_status fill(const collection *all, lab_dataset *set, const lab_draw *draw, locus_error *error) {
    lab_images *images = &set->images;
    const size_t side = LAB_PICTURES(draw->options)->side, bytes = 3 * side * side;
    images->pixels = malloc(set->samples * bytes + 1);
    images->labels = malloc(set->samples + 1);
    if (images->pixels == NULL || images->labels == NULL || !lend_names(set, &all->classes))
        return lab_fail_memory(error, "pictures");
    images->channels = 3;
    images->side = side;
    images->classes = all->classes.count;
    images->class_names = (const char *const *)set->names;
    lab_own_choice choice = lab_own_choice_of(draw, count_set(all, draw->which), set->samples);
    for (size_t i = 0; i < all->files.count; i++) {
        if (all->sets[i] == draw->which && lab_own_chosen(&choice)) {
            memcpy(images->pixels + images->count * bytes, all->pixels.bytes + i * bytes, bytes);
            images->labels[images->count++] = (uint8_t)all->files.files[i].class;
        }
    }
    return LOCUS_OK;
}

locus_status lab_pictures_generate(lab_dataset *set, const lab_draw *draw, locus_error *error) {
    collection all;
    locus_status status = collect(&all, draw->options, draw->seed, error);
    if (status != LOCUS_OK)
        return status;
    const size_t have = count_set(&all, draw->which);
    set->samples = draw->samples > 0 ? draw->samples : have;
    if (set->samples > have || have == 0) {
        status = lab_fail(error, LOCUS_ERROR_ARGUMENT, "n", "%zu pictures are asked for, the set has %zu", set->samples,
                          have);
    }
    if (status == LOCUS_OK)
        status = fill(&all, set, draw, error);
    collection_free(&all);
    return status;
}

locus_status lab_pictures_paths(const lab_draw *draw, char ***paths, size_t *count, locus_error *error) {
    collection all = {.digest = 0};
    locus_status status = list_files(&all, draw->options, error);
    *count = 0;
    *paths = NULL;
    if (status == LOCUS_OK)
        status = part(&all, draw->options, draw->seed, error);
    if (status == LOCUS_OK && (*paths = calloc(all.files.count + 1, sizeof **paths)) == NULL)
        status = lab_fail_memory(error, "names of files");
    for (size_t i = 0; status == LOCUS_OK && i < all.files.count; i++) {
        if (all.sets[i] == draw->which) {
            (*paths)[(*count)++] = all.files.files[i].path;
            all.files.files[i].path = NULL;
        }
    }
    collection_free(&all);
    return status;
}

/* ---- what the folders say ---- */

/* Two pictures are one if their files are. */
static bool key_of(const void *context, size_t sample, lab_set *set, char **key, size_t *bytes) {
    const collection *all = context;
    *set = all->sets[sample];
    *bytes = sizeof all->pixels.sums[sample];
    *key = malloc(*bytes);
    if (*key != NULL)
        memcpy(*key, &all->pixels.sums[sample], *bytes);
    return *key != NULL;
}

locus_status lab_pictures_look(const lab_task_options *options, uint64_t seed, lab_class_facts *facts,
                               locus_error *error) {
    collection all;
    *facts = (lab_class_facts){.digest = 0};
    locus_status status = collect(&all, options, seed, error);
    if (status != LOCUS_OK)
        return status;
    for (size_t i = 0; i < all.files.count; i++) {
        facts->samples[all.sets[i]]++;
        facts->of_class[all.sets[i]][all.files.files[i].class]++;
    }
    status = lab_own_count_shared(&all, all.files.count, key_of, facts->shared, error);
    facts->digest = all.digest;
    facts->classes = all.classes;
    all.classes = (lab_word_index){0};
    collection_free(&all);
    if (status != LOCUS_OK)
        lab_class_facts_free(facts);
    return status;
}

/* ---- kept ---- */

locus_status lab_pictures_keep(const lab_task_options *options, uint64_t seed, const char *folder, locus_error *error) {
    collection all = {.digest = 0};
    locus_status status = list_files(&all, options, error);
    (void)seed; /* classes don't depend on how the pictures are parted */
    if (status == LOCUS_OK) {
        const size_t losses = lab_json_losses();
        cJSON *root = cJSON_CreateObject();
        lab_json_put(root, "classes", lab_own_words_json(&all.classes));
        status = lab_own_keep(root, losses, folder, error);
    }
    collection_free(&all);
    return status;
}

locus_status lab_pictures_recall(lab_word_index *classes, const char *folder, locus_error *error) {
    cJSON *root;
    locus_status status = lab_own_recall(&root, folder, error);
    if (status != LOCUS_OK)
        return status;
    status = lab_own_recall_words(classes, cJSON_GetObjectItemCaseSensitive(root, "classes"), error);
    cJSON_Delete(root);
    return status == LOCUS_OK && classes->count >= 2 && classes->count <= LAB_PICTURE_MOST_CLASSES
               ? LOCUS_OK
               : lab_own_fail_kept(status, folder, "list of classes", error);
}
