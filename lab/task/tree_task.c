/* SPDX-License-Identifier: MIT */
#include "task/family.h"

const lab_task_family lab_task_tree = {NULL, 0};
