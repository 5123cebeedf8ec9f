/* SPDX-License-Identifier: MIT */
/* Reads CIFAR-10 from a folder or straight from an archive. Pixels are read record by record through a small buffer
 * into the set's own memory, which grows by whole files: nothing is held twice.
 *
 * Archives keep their files in any order (the public one begins 1, 3, 4, test, 5, 2). They are read as they come, and
 * put in order afterwards. */
#include "task/images/cifar10.h"

#include "io/fail.h"
#include "io/picture/picture_scale.h"
#include "task/images/picture_options.h"
#include "task/images/picture_pixels.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PIXELS (LAB_CIFAR10_RECORD - 1)
#define CHUNK 64 /* records in the buffer */
#define TRAIN_FILES 5
#define FULL_FILE ((size_t)10000 * LAB_CIFAR10_RECORD)

static const lab_published_file files[] = {
    {"data_batch_1.bin", FULL_FILE, "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"},
    {"data_batch_2.bin", FULL_FILE, "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"},
    {"data_batch_3.bin", FULL_FILE, "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"},
    {"data_batch_4.bin", FULL_FILE, "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"},
    {"data_batch_5.bin", FULL_FILE, "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"},
    {"test_batch.bin", FULL_FILE, "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"},
};

const lab_published_set lab_cifar10_published = {
    .name = "cifar10",
    .folder = LAB_CIFAR10_PATH,
    .inner = "cifar-10-batches-bin",
    .url = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    .archive = "cifar-10-binary.tar.gz",
    .archive_md5 = "c32a1d4ab5d03f1284b67883e8d87530",
    .files = files,
    .file_count = sizeof files / sizeof *files,
};

const char *const lab_cifar10_class_names[LAB_CIFAR10_CLASSES] = {
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
};

/* ---- one file of records ---- */

static locus_status check_size(const lab_published_source *from, locus_error *error) {
    if (from->bytes > 0 && from->bytes % LAB_CIFAR10_RECORD == 0)
        return LOCUS_OK;
    return lab_fail_file(error, from->path,
                         "is truncated: %zu bytes are not whole records of %d (the public file has %zu); fetch it "
                         "again with 'locus data get cifar10'",
                         from->bytes, LAB_CIFAR10_RECORD, FULL_FILE);
}

static locus_status grow(lab_images *images, size_t count, locus_error *error) {
    uint8_t *labels = realloc(images->labels, count);
    images->labels = labels != NULL ? labels : images->labels;
    uint8_t *pixels = labels != NULL ? realloc(images->pixels, count * PIXELS) : NULL;
    images->pixels = pixels != NULL ? pixels : images->pixels;
    return pixels != NULL ? LOCUS_OK : lab_fail_memory(error, "the images of CIFAR-10");
}

/* Puts the records of `buffer` behind the images that are there; `first` is the number of its first record. */
static locus_status push(lab_images *images, const lab_published_source *from, const uint8_t *buffer, size_t first,
                         size_t count, locus_error *error) {
    for (size_t i = 0; i < count; i++) {
        const uint8_t *record = buffer + i * LAB_CIFAR10_RECORD;
        if (record[0] >= LAB_CIFAR10_CLASSES) {
            return lab_fail_file(error, from->path,
                                 "has the label %d in record %zu (counted from 0); labels are 0 to %d", (int)record[0],
                                 first + i, LAB_CIFAR10_CLASSES - 1);
        }
        images->labels[images->count] = record[0];
        memcpy(images->pixels + images->count * PIXELS, record + 1, PIXELS);
        images->count++;
    }
    return LOCUS_OK;
}

/* Appends the file's records. */
static locus_status read_records(lab_images *images, const lab_published_source *from, locus_error *error) {
    locus_status status = check_size(from, error);
    size_t count = from->bytes / LAB_CIFAR10_RECORD;
    if (status == LOCUS_OK)
        status = grow(images, images->count + count, error);
    uint8_t *buffer = status == LOCUS_OK ? malloc((size_t)CHUNK * LAB_CIFAR10_RECORD) : NULL;
    if (status == LOCUS_OK && buffer == NULL)
        status = lab_fail_memory(error, "records of CIFAR-10");
    for (size_t done = 0; status == LOCUS_OK && done < count; done += CHUNK) {
        size_t now = count - done < CHUNK ? count - done : CHUNK;
        status = lab_published_read(from, buffer, now * LAB_CIFAR10_RECORD, error);
        if (status == LOCUS_OK)
            status = push(images, from, buffer, done, now, error);
    }
    free(buffer);
    return status;
}

/* ---- the files of a set ---- */

/* Where a file's images stand among those read so far. */
typedef struct block {
    size_t start, count;
} block;

static void reverse(uint8_t *bytes, size_t count) {
    for (size_t i = 0, j = count; i + 1 < j; i++) {
        uint8_t kept = bytes[i];
        bytes[i] = bytes[--j];
        bytes[j] = kept;
    }
}

/* (a, b) → (b, a), where a has `head` bytes and b `tail`, in place. */
static void rotate(uint8_t *bytes, size_t head, size_t tail) {
    reverse(bytes, head);
    reverse(bytes + head, tail);
    reverse(bytes, head + tail);
}

/* Brings each file's images to the front of those that follow in the list. */
static void put_in_order(lab_images *images, block *blocks, size_t count) {
    for (size_t i = 0, front = 0; i < count; front += blocks[i++].count) {
        size_t head = blocks[i].start - front, tail = blocks[i].count;
        if (head > 0) {
            rotate(images->pixels + front * PIXELS, head * PIXELS, tail * PIXELS);
            rotate(images->labels + front, head, tail);
        }
        for (size_t j = i + 1; j < count; j++)
            blocks[j].start += blocks[j].start < blocks[i].start ? tail : 0;
    }
}

typedef struct reading {
    lab_images *images;
    block blocks[TRAIN_FILES];
} reading;

static locus_status visit(void *context, size_t index, const lab_published_source *from, locus_error *error) {
    reading *now = context;
    size_t start = now->images->count;
    locus_status status = read_records(now->images, from, error);
    now->blocks[index] = (block){start, now->images->count - start};
    return status;
}

/* ---- the task ---- */

/* errno is that of the last file that was looked for. */
static locus_status fail_missing(const char *path, locus_error *error) {
    if (errno == EACCES) {
        return lab_fail(error, LOCUS_ERROR_IO, "data",
                        "cannot read '%s': %s; change its permissions, or name a folder or an archive with --data",
                        path, strerror(EACCES));
    }
    return lab_fail(error, LOCUS_ERROR_IO, "data",
                    "there is no CIFAR-10 at '%s' (neither data_batch_1.bin … test_batch.bin, nor %s/, nor an "
                    "archive): run 'locus data get cifar10', or name a folder or an archive with --data",
                    path, lab_cifar10_published.inner);
}

static locus_status read_set(lab_images *images, const char *path, lab_set which, locus_error *error) {
    struct stat facts;
    reading now = {.images = images};
    const lab_published_visitor train = {0, TRAIN_FILES, visit, &now}, test = {TRAIN_FILES, 1, visit, &now};
    const lab_published_visitor *visitor = which == LAB_SET_TRAIN ? &train : &test;
    errno = 0;
    bool exists = stat(path, &facts) == 0;
    if (exists && S_ISDIR(facts.st_mode)) {
        char *folder;
        locus_status located = lab_published_locate(&lab_cifar10_published, path, &folder, error);
        exists = folder != NULL;
        free(folder);
        if (located != LOCUS_OK)
            return located;
    }
    if (!exists)
        return fail_missing(path, error);
    locus_status status = lab_published_visit(&lab_cifar10_published, path, visitor, error);
    if (status == LOCUS_OK)
        put_in_order(images, now.blocks, visitor->count);
    return status;
}

/* ---- another side ---- */

static locus_status scale_image(lab_picture *picture, const uint8_t *from, size_t side, uint8_t *to,
                                locus_error *error) {
    for (size_t channel = 0; channel < 3; channel++)
        for (size_t i = 0; i < PIXELS / 3; i++)
            picture->rgb[3 * i + channel] = from[channel * (PIXELS / 3) + i];
    return lab_picture_scale(picture, side, to, error);
}

static locus_status scale_images(lab_images *images, size_t side, locus_error *error) {
    const size_t bytes = 3 * side * side;
    lab_picture picture = {0};
    if (images->count > LAB_PICTURES_MOST_BYTES / bytes) {
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "n", "%zu images of side %zu are more than %zu GiB: score fewer",
                        images->count, side, LAB_PICTURES_MOST_BYTES >> 30);
    }
    uint8_t *scaled = malloc(images->count * bytes + 1);
    locus_status status = scaled != NULL ? lab_picture_allocate(&picture, LAB_CIFAR10_SIDE, LAB_CIFAR10_SIDE, error)
                                         : lab_fail_memory(error, "the images of CIFAR-10");
    for (size_t i = 0; status == LOCUS_OK && i < images->count; i++)
        status = scale_image(&picture, images->pixels + i * PIXELS, side, scaled + i * bytes, error);
    lab_picture_free(&picture);
    if (status != LOCUS_OK) {
        free(scaled);
        return status;
    }
    free(images->pixels);
    images->pixels = scaled;
    images->side = side;
    return LOCUS_OK;
}

locus_status lab_cifar10_generate(lab_dataset *set, const lab_draw *draw, locus_error *error) {
    static const char *const names[] = {"training", "test", "test"};
    const char *given = draw->options->path;
    lab_images *images = &set->images;
    *images = (lab_images){.channels = 3,
                           .side = LAB_CIFAR10_SIDE,
                           .classes = LAB_CIFAR10_CLASSES,
                           .class_names = lab_cifar10_class_names};
    locus_status status = read_set(images, given != NULL ? given : LAB_CIFAR10_PATH, draw->which, error);
    if (status == LOCUS_OK && draw->samples > images->count) {
        status = lab_fail(error, LOCUS_ERROR_ARGUMENT, "n", "cifar10: %zu %s images were asked for, there are %zu",
                          draw->samples, names[draw->which], images->count);
    }
    if (status == LOCUS_OK && draw->samples > 0 && draw->samples < images->count) {
        images->count = draw->samples;
        status = grow(images, images->count, error); /* gives back what is behind them */
    }
    const size_t side = LAB_PICTURES(draw->options)->side;
    if (status == LOCUS_OK && side != 0 && side != LAB_CIFAR10_SIDE)
        status = scale_images(images, side, error);
    set->samples = images->count;
    return status;
}
