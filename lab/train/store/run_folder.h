/* SPDX-License-Identifier: MIT */
/* Where a run's files lie: in a folder of the run's name, beside the store. A name that was read from a store is
 * somebody else's text: it becomes a path here only, where it is checked. */
#ifndef LAB_RUN_FOLDER_H
#define LAB_RUN_FOLDER_H

#include <locus/status.h>
#include <stdbool.h>

/* Whether a folder may have this name. */
#define LAB_RUN_NAME_RULE "at most 200 bytes, no '/', no '.' in front, nothing that a terminal would not show"
bool lab_run_name_fits(const char *name);
/* ARGUMENT with a clear line if it does not. */
locus_status lab_run_name_check(const char *name, locus_error *error);

/* "folder/name/file", or "folder/name" if `file` is NULL; from malloc, NULL: out of memory. The name must fit. */
char *lab_run_path(const char *folder, const char *name, const char *file);

/* Whether the run has a folder of its own: a name that does not fit has none, and a link is not one. */
bool lab_run_has_folder(const char *folder, const char *name);

/* Gives a run's folder the name of another run, which must have none. One that is called so already, because a process
 * was killed between this and the store's row, will do; a run without a folder has nothing to move. */
locus_status lab_run_move(const char *folder, const char *from, const char *to, locus_error *error);

/* Removes the files that runs have, the tokenizer's too, what killed processes left of them, and the folder, unless it
 * holds more. */
void lab_run_remove(const char *folder, const char *name);
/* Of these the tokenizer's: another tokenizer, or none, takes their place. */
void lab_run_remove_tokenizer(const char *folder, const char *name);
/* Removes what killed processes left of a run's files. */
void lab_run_clean(const char *folder, const char *name);

/* What a training goes on from, and what a finished one is asked for. */
#define LAB_RUN_LAST "last.safetensors"
#define LAB_RUN_BEST "best.safetensors"

void lab_run_remove_file(const char *folder, const char *name, const char *file);

/* A run's files, from beside one store to beside another; both names fit. */
typedef struct lab_run_copy {
    const char *from_folder, *from, *to_folder, *to;
    bool finished; /* a finished run needs no checkpoint to go on from */
    bool anew;     /* also what is there already */
} lab_run_copy;

/* Each file is whole or not there. *whole: the run has then what `finished` asks for. */
locus_status lab_run_copy_files(const lab_run_copy *copy, bool *whole, locus_error *error);

/* Takes the run's lock, or fails naming the process that has it. *descriptor is closed with close(). */
locus_status lab_run_lock(const char *path, int *descriptor, locus_error *error);
/* The same of a run by name; −1 where there is no folder to lock. */
locus_status lab_run_hold(const char *folder, const char *name, int *descriptor, locus_error *error);

/* The state of a finished run, if it was kept: what a checkpoint holds. */
#define LAB_RUN_STATE "state.safetensors"

#endif
