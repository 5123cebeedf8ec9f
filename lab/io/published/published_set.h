/* SPDX-License-Identifier: MIT */
/* Data sets that are published as an archive of a few files with known sums. */
#ifndef LAB_PUBLISHED_SET_H
#define LAB_PUBLISHED_SET_H

#include "io/watch.h"
#include <locus/status.h>
#include <stdbool.h>

typedef struct lab_published_file {
    const char *name;
    size_t bytes;
    const char *sha256; /* 64 lower-case hexadecimal digits */
} lab_published_file;

typedef struct lab_published_set {
    const char *name;                        /* "cifar10" */
    const char *folder;                      /* where it is kept unless told otherwise, "data/cifar10" */
    const char *inner;                       /* the folder inside the archive */
    const char *url, *archive, *archive_md5; /* where it comes from, the archive's file name, its sum */
    const lab_published_file *files;
    size_t file_count;
} lab_published_set;

/* Where the set's files stand: the folder `path` or its inner folder, whichever holds one of them. *folder is from
 * malloc; NULL with OK: neither. Fails for want of memory only. */
locus_status lab_published_locate(const lab_published_set *set, const char *path, char **folder, locus_error *error);

/* A file of the set, from a folder or inside an archive, ready to be read from its beginning. */
typedef struct lab_published_source {
    const char *path; /* for messages: "data/cifar10/test_batch.bin", "cifar.tar.gz/test_batch.bin" */
    size_t bytes;
    struct lab_input *input; /* NULL: from the archive */
    struct lab_archive *archive;
} lab_published_source;
/* Exactly `bytes`; IO if the file ends before. */
locus_status lab_published_read(const lab_published_source *from, void *target, size_t bytes, locus_error *error);

/* What is done with files [first, first + count) of the set: `visit` is called once for each, in their order if they
 * are in a folder, in the archive's if they are in one. `index` counts from `first`. */
typedef struct lab_published_visitor {
    size_t first, count;
    locus_status (*visit)(void *context, size_t index, const lab_published_source *from, locus_error *error);
    void *context;
} lab_published_visitor;

/* `path`: the folder, or one that has the inner folder, or an archive. IO where one of the files is missing or, in an
 * archive, there twice. */
locus_status lab_published_visit(const lab_published_set *set, const char *path, const lab_published_visitor *visitor,
                                 locus_error *error);

/* Checks sizes and sums of all files at `path`. IO, naming the file, what was expected and what was found. */
locus_status lab_published_check(const lab_published_set *set, const char *path, const lab_watch *watch,
                                 locus_error *error);

/* Copies the files from a folder or an archive to the folder `to`, checking them on the way: in `to` there is
 * afterwards the whole set, or what was there before. */
locus_status lab_published_take(const lab_published_set *set, const char *path, const char *to, const lab_watch *watch,
                                locus_error *error);

/* IO where `to` is there and no folder, so that nothing can be put into it. */
locus_status lab_published_check_target(const char *to, bool *exists, locus_error *error);

/* Downloads the archive to <to>.part, checks it and unpacks it to the folder `to`. A .part that an earlier call left is
 * continued; one that turns out not to fit is fetched anew, once. The argument of a failure is "url" if it is for what
 * came from there, or did not come. */
locus_status lab_published_fetch(const lab_published_set *set, const char *url, const char *to, const lab_watch *watch,
                                 locus_error *error);

#endif
