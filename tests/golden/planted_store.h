/* SPDX-License-Identifier: MIT */
/* A run store that is filled by hand, with runs of every kind of task whose numbers no two places share
 * (tests/golden/report_runs.json, made by tools/golden_report.py), and expected texts beside it. */
#ifndef TESTS_PLANTED_STORE_H
#define TESTS_PLANTED_STORE_H

#include "train/store/store.h"

struct cJSON;

/* Opens a new store at `path` and writes every run of the file. */
void planted_store_open(lab_store **store, const char *path);

/* A file of tests/golden: its text, from malloc. */
char *planted_text(const char *name);

/* Both fail with what differs first; all that was made is then left beside the built tests, from where it can take the
 * expected file's place if it is right. JSON: the same keys in the same order, and numbers to 1e-12 of their size. */
void planted_text_is(const char *made, const char *expected_name);
void planted_json_is(const struct cJSON *made, const char *expected_name);

#endif
