/* SPDX-License-Identifier: MIT */
/* Folders of labelled pictures, one folder for each class:
 *
 *   F/cat/a.png  F/cat/b.jpg  F/dog/c.ppm
 *
 * Classes and the files of a class come in the order of their names' bytes. Names that begin with a dot are passed
 * over, and so are files beside the folders of classes. */
#ifndef LAB_PICTURE_FOLDER_H
#define LAB_PICTURE_FOLDER_H

#include "task/own/word_index.h"
#include "task/task.h"

enum { LAB_PICTURE_MOST_CLASSES = 256 };

typedef struct lab_picture_file {
    char *path; /* from malloc */
    size_t class;
    lab_set set;
} lab_picture_file;

/* {0} is empty. */
typedef struct lab_picture_files {
    lab_picture_file *files;
    size_t count, room;
    uint64_t trace; /* of all files: path, size, time of change; as long as it stays, they are taken to be the same */
} lab_picture_files;

/* Appends the files of a folder. `classes` receives its classes if it has none yet, which takes two of them with a
 * picture each; else each class must be among them. IO, naming the place: what is no such folder. */
locus_status lab_picture_files_read(lab_picture_files *files, lab_word_index *classes, const char *folder, lab_set set,
                                    locus_error *error);
void lab_picture_files_free(lab_picture_files *files);

#endif
