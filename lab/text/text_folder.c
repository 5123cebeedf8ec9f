/* SPDX-License-Identifier: MIT */
/* Everything is made before the folder is touched; files are then written beside their places and renamed. */
#include "text/text_folder.h"

#include "io/fail.h"
#include "io/file.h"
#include "io/temporary.h"
#include "io/text_stream.h"
#include "text/child.h"
#include "text/token_file.h"
#include "text/tokenizer_kinds.h"
#include "text/utf8.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *const lab_text_set_names[LAB_TEXT_SETS] = {"train", "dev", "test"};

/* What is made, before it is written. */
typedef struct making {
    const lab_text_source *source;
    char *files[LAB_TEXT_SETS]; /* contents; NULL: the set is a part of train */
    const char *texts[LAB_TEXT_SETS];
    size_t bytes[LAB_TEXT_SETS];
    lab_child_folder work; /* has the model that was trained */
    lab_tokenizer *tokenizer;
    int32_t *tokens[LAB_TEXT_SETS];
    size_t counts[LAB_TEXT_SETS];
} making;

/* ---- texts ---- */

static locus_status read_text(making *made, int set, locus_error *error) {
    const char *path = made->source->texts[set];
    char place[256];
    locus_status status = lab_file_read(path, &made->files[set], &made->bytes[set], error);
    if (status != LOCUS_OK)
        return status;
    made->texts[set] = made->files[set];
    if (made->bytes[set] == 0)
        return lab_fail_file(error, path, "is empty: there is nothing to make tokens of");
    snprintf(place, sizeof place, "'%s'", path);
    return lab_utf8_require(made->files[set], made->bytes[set], place, error);
}

/* A set that has no file gets the end of the training text: what begins with the first line behind the place that
 * leaves it a twentieth of the whole. The later set first. */
static locus_status part_text(making *made, int set, size_t whole, locus_error *error) {
    const char *train = made->texts[0];
    const size_t bytes = made->bytes[0], share = whole / 20;
    const char *end = share > 0 ? memchr(train + bytes - share - 1, '\n', share) : NULL;
    if (end == NULL) {
        return lab_fail_file(error, made->source->texts[0],
                             "has too few lines to take the %s set from its end: give a text for it",
                             lab_text_set_names[set]);
    }
    made->texts[set] = end + 1;
    made->bytes[set] = (size_t)(train + bytes - made->texts[set]);
    made->bytes[0] = bytes - made->bytes[set];
    return LOCUS_OK;
}

static locus_status read_texts(making *made, locus_error *error) {
    locus_status status = LOCUS_OK;
    for (int s = 0; status == LOCUS_OK && s < LAB_TEXT_SETS; s++)
        status = made->source->texts[s] != NULL ? read_text(made, s, error) : LOCUS_OK;
    const size_t whole = made->bytes[0];
    for (int s = LAB_TEXT_SETS - 1; status == LOCUS_OK && s > 0; s--)
        status = made->source->texts[s] == NULL ? part_text(made, s, whole, error) : LOCUS_OK;
    return status;
}

/* ---- tokens ---- */

static locus_status train_tokenizer(making *made, locus_error *error) {
    char *model = NULL, *path = NULL;
    size_t bytes;
    locus_status status =
        lab_sentencepiece_train(made->texts[0], made->bytes[0], made->source->vocabulary, &model, &bytes, error);
    if (status == LOCUS_OK)
        status = lab_child_open(&made->work, error);
    if (status == LOCUS_OK)
        status = lab_child_write(&made->work, LAB_TOKENIZER_MODEL, model, bytes, error);
    if (status == LOCUS_OK) {
        path = lab_text_print("%s/" LAB_TOKENIZER_MODEL, made->work.path);
        status = path != NULL ? lab_tokenizer_open_sentencepiece(&made->tokenizer, path, error)
                              : lab_fail_memory(error, "a file name");
    }
    free(path);
    free(model);
    return status;
}

static locus_status open_tokenizer(making *made, locus_error *error) {
    if (made->source->vocabulary > 0)
        return train_tokenizer(made, error);
    return made->source->model != NULL ? lab_tokenizer_open_sentencepiece(&made->tokenizer, made->source->model, error)
                                       : lab_tokenizer_open_bytes(&made->tokenizer, error);
}

static locus_status encode_set(making *made, int set, locus_error *error) {
    const locus_status status = lab_tokenizer_encode(made->tokenizer, made->texts[set], made->bytes[set],
                                                     &made->tokens[set], &made->counts[set], error);
    if (status == LOCUS_ERROR_IO) {
        const locus_error said = error != NULL ? *error : (locus_error){.message = ""};
        return lab_fail(error, status, said.argument, "%s set: %s", lab_text_set_names[set], said.message);
    }
    if (status == LOCUS_OK && made->counts[set] < LAB_TOKEN_FILE_LEAST) {
        return lab_fail(error, LOCUS_ERROR_IO, NULL,
                        "%s set: %zu tokens are too few: one to read and one to predict are needed; give a longer text",
                        lab_text_set_names[set], made->counts[set]);
    }
    return status;
}

/* Bytes that a text's first token stands for; the space that a model adds before a line is none of the text. */
static uint64_t first_token_bytes(const lab_tokenizer *tokenizer, int32_t token) {
    if (lab_tokenizer_get_kind(tokenizer) != LAB_TOKENIZER_SENTENCEPIECE)
        return 1;
    const lab_sentencepiece_model *model = &tokenizer->pieces;
    const lab_piece *piece = &model->pieces[token];
    const bool space = model->dummy_prefix && piece->length > 0 && model->texts[piece->start] == ' ';
    return piece->length - (size_t)space;
}

static uint64_t first_bytes(const making *made, int set) {
    const uint64_t length = made->counts[set] > 0 ? first_token_bytes(made->tokenizer, made->tokens[set][0]) : 0;
    return length < made->bytes[set] ? length : made->bytes[set];
}

static void tell_facts(const making *made, lab_text_facts *facts) {
    *facts = (lab_text_facts){.kind = lab_tokenizer_get_kind(made->tokenizer),
                              .vocabulary = lab_tokenizer_vocabulary(made->tokenizer)};
    for (int s = 0; s < LAB_TEXT_SETS; s++) {
        facts->tokens[s] = made->counts[s];
        facts->bytes[s] = made->bytes[s];
        facts->predicted_bytes[s] = made->bytes[s] - first_bytes(made, s);
    }
}

static locus_status make(making *made, const lab_watch *watch, lab_text_facts *facts, locus_error *error) {
    locus_status status = read_texts(made, error);
    bool goes_on = true;
    if (status == LOCUS_OK) {
        goes_on = lab_watch_tell(watch, made->source->vocabulary > 0 ? "training a vocabulary" : "opening a vocabulary",
                                 0, made->bytes[0]);
        status = goes_on ? open_tokenizer(made, error) : LOCUS_OK;
    }
    for (int s = 0; goes_on && status == LOCUS_OK && s < LAB_TEXT_SETS; s++) {
        goes_on = lab_watch_tell(watch, "making tokens", (uint64_t)s, LAB_TEXT_SETS);
        status = goes_on ? encode_set(made, s, error) : LOCUS_OK;
    }
    if (!goes_on)
        return lab_fail(error, LOCUS_ERROR_INTERRUPTED, NULL, "stopped before the token files were made");
    if (status == LOCUS_OK)
        tell_facts(made, facts);
    return status;
}

static void forget(making *made) {
    for (int s = 0; s < LAB_TEXT_SETS; s++) {
        free(made->files[s]);
        free(made->tokens[s]);
    }
    lab_tokenizer_close(&made->tokenizer);
    lab_child_close(&made->work);
}

/* ---- the folder ---- */

enum { FILES = LAB_TEXT_SETS + 1 };
static const char *const file_names[FILES] = {"train.tokens", "dev.tokens", "test.tokens", LAB_TOKENIZER_MODEL};

static locus_status write_files(const making *made, const lab_text_facts *facts, const char *folder,
                                locus_error *error) {
    locus_status status = LOCUS_OK;
    for (int s = 0; status == LOCUS_OK && s < LAB_TEXT_SETS; s++) {
        char *path = lab_token_file_path(folder, lab_text_set_names[s]);
        const lab_token_file_content content = {facts->vocabulary, made->counts[s], made->tokens[s],
                                                facts->predicted_bytes[s]};
        status = path != NULL ? lab_token_file_write(path, &content, error) : lab_fail_memory(error, "a file name");
        free(path);
    }
    return status == LOCUS_OK ? lab_tokenizer_copy(made->tokenizer, folder, error) : status;
}

/* The files in a folder, named before anything happens there. */
typedef struct names {
    char *paths[FILES], *folder;
} names;

static bool name_files(names *of, const char *folder) {
    bool good = (of->folder = strdup(folder)) != NULL;
    for (int f = 0; f < FILES; f++) {
        of->paths[f] = lab_text_print("%s/%s", folder, file_names[f]);
        good = good && of->paths[f] != NULL;
    }
    return good;
}

static void free_names(names *of) {
    for (int f = 0; f < FILES; f++)
        free(of->paths[f]);
    free(of->folder);
}

/* Removes what is there of the files, and the folder if nothing else is in it. */
static void remove_files(const names *of) {
    for (int f = 0; f < FILES; f++)
        unlink(of->paths[f]);
    rmdir(of->folder);
}

/* A model that stood there from earlier goes if the tokens are bytes now. */
static locus_status move_files(const names *from, const names *to, bool model, locus_error *error) {
    for (int f = 0; f < FILES; f++)
        if (f == LAB_TEXT_SETS && !model)
            unlink(to->paths[f]);
        else if (rename(from->paths[f], to->paths[f]) != 0)
            return lab_fail_system(error, "write", to->paths[f], errno);
    return LOCUS_OK;
}

#define STAGING ".making"

static const char *file_name(const void *of, size_t index) {
    (void)of;
    return index < FILES ? file_names[index] : NULL;
}

/* A folder beside the places of the files, held as long as its descriptor is open. */
static locus_status open_staging(const char *folder, char **aside, int *held, locus_error *error) {
    char *start = lab_text_print("%s/" STAGING, folder);
    locus_status status = start != NULL ? lab_directory_create(folder, error) : lab_fail_memory(error, "file names");
    if (status == LOCUS_OK) {
        lab_temporary_sweep(folder, STAGING, &(lab_temporary_content){.name = file_name});
        *held = lab_temporary_folder(start, aside);
        status = *held >= 0 ? LOCUS_OK : lab_fail_system(error, "make a folder in", folder, errno);
    }
    free(start);
    return status;
}

static locus_status write_folder(const making *made, const lab_text_facts *facts, const char *folder,
                                 locus_error *error) {
    names staging = {0}, places = {0};
    char *aside = NULL;
    int held = -1;
    const bool there = access(folder, F_OK) == 0;
    const bool named = name_files(&places, folder);
    locus_status status = named ? open_staging(folder, &aside, &held, error) : lab_fail_memory(error, "file names");
    if (status == LOCUS_OK && !name_files(&staging, aside)) {
        status = lab_fail_memory(error, "file names");
        rmdir(aside);
    } else if (status == LOCUS_OK) {
        status = write_files(made, facts, aside, error);
        if (status == LOCUS_OK)
            status = move_files(&staging, &places, facts->kind == LAB_TOKENIZER_SENTENCEPIECE, error);
        remove_files(&staging);
    }
    if (status != LOCUS_OK && named && !there)
        remove_files(&places);
    if (held >= 0)
        close(held);
    free_names(&staging);
    free_names(&places);
    free(aside);
    return status;
}

locus_status lab_text_make(const char *folder, const lab_text_source *source, const lab_watch *watch,
                           lab_text_facts *facts, locus_error *error) {
    making made = {.source = source};
    locus_status status = make(&made, watch, facts, error);
    if (status == LOCUS_OK)
        status = write_folder(&made, facts, folder, error);
    forget(&made);
    return status;
}

/* ---- looking ---- */

locus_status lab_text_look(const char *folder, lab_text_facts *facts, locus_error *error) {
    lab_tokenizer *tokenizer = NULL;
    locus_status status = lab_tokenizer_open_folder(&tokenizer, folder, error);
    if (status != LOCUS_OK)
        return status;
    *facts = (lab_text_facts){.kind = lab_tokenizer_get_kind(tokenizer)};
    const size_t known = lab_tokenizer_vocabulary(tokenizer);
    for (int s = 0; status == LOCUS_OK && s < LAB_TEXT_SETS; s++) {
        lab_token_file file = {0};
        char *path = lab_token_file_path(folder, lab_text_set_names[s]);
        status = path != NULL ? lab_token_file_open(&file, path, error) : lab_fail_memory(error, "a file name");
        if (status == LOCUS_OK && file.vocabulary != known) {
            status = lab_fail_file(error, path, "has a vocabulary of %zu, and the folder's tokenizer one of %zu",
                                   file.vocabulary, known);
        }
        facts->vocabulary = known;
        facts->tokens[s] = file.tokens;
        facts->bytes[s] = facts->predicted_bytes[s] = file.predicted_bytes;
        if (status == LOCUS_OK && file.tokens > 0) {
            int32_t first;
            lab_token_file_read(&file, 0, 1, &first);
            facts->bytes[s] += (size_t)first < known ? first_token_bytes(tokenizer, first) : 0;
        }
        lab_token_file_close(&file);
        free(path);
    }
    lab_tokenizer_close(&tokenizer);
    return status;
}
