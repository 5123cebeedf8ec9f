/* SPDX-License-Identifier: MIT */
/* CIFAR-10 (Krizhevsky 2009), the binary version: 60,000 photographs of 32×32 pixels in ten classes.
 *
 *   record | label | 1,024 red | 1,024 green | 1,024 blue |      3,073 bytes, planes row by row, red first
 *
 * Five files of 10,000 records for training, one for testing. The development set is the test set: the published score
 * is the best test accuracy of all epochs (Kogkalidis et al. 2024, Table 3). Options may bring them to another side.
 * Files that are complete but smaller are read, too. Sums are checked when the files are fetched and inspected
 * (io/published/published_set.h), not each time they are read: that would cost every training a second, and sizes and
 * labels are checked anyway. */
#ifndef LAB_CIFAR10_H
#define LAB_CIFAR10_H

#include "io/published/published_set.h"
#include "task/task.h"

#define LAB_CIFAR10_SIDE 32
#define LAB_CIFAR10_CLASSES 10
#define LAB_CIFAR10_RECORD (1 + 3 * LAB_CIFAR10_SIDE * LAB_CIFAR10_SIDE)
#define LAB_CIFAR10_PATH "data/cifar10" /* where it is looked for unless a path is given */

/* data_batch_1.bin … data_batch_5.bin, test_batch.bin. */
extern const lab_published_set lab_cifar10_published;
extern const char *const lab_cifar10_class_names[LAB_CIFAR10_CLASSES];

lab_draw_function lab_cifar10_generate;

#endif
