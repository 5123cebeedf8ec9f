/* SPDX-License-Identifier: MIT */
/* Finished runs in forms that other programs read: a table of all their values, and what TensorBoard draws. As JSON
 * (run_file.h) they can come back; from these they cannot. */
#ifndef LAB_RUN_EXPORT_H
#define LAB_RUN_EXPORT_H

#include "train/store/store.h"

/* One file of comma-separated lines, a line for each value of those of `runs` that are done:
 *
 *   run,task,encoding,budget,setup,embedding_init,seed,kind,set,name,step,value
 *   copy-rope-…,copy,rope,smoke,paper,scaled,0,score,test,accuracy,,0.99
 *   copy-rope-…,copy,rope,smoke,paper,scaled,0,curve,dev,loss,100,1.5
 *
 * Scores first, then curves, both in the order of their names; a value that is not finite is empty. Whole or not at
 * all. */
locus_status lab_run_export_csv(lab_store *store, const lab_run *runs, size_t count, const char *path,
                                locus_error *error);

/* A folder with a folder of each run's name, and in it one event file: scalars "dev/loss" by step, and the scores as
 * "final/test/accuracy" at the last step, whose wall time is the run's beginning, since a store keeps no time of a
 * step. A file that was written so before is replaced. Values are float32 there.
 *
 * The file is TFRecord (io/record.h); each record is a message Event of tensorflow/core/util/event.proto:
 *   double wall_time = 1; int64 step = 2; string file_version = 3 ("brain.Event:2", in the first one); Summary summary
 * = 5, with Summary.Value of tensorflow/core/framework/summary.proto: Value value = 1 { string tag = 1; float
 * simple_value = 2 }, in the encoding of protobuf.dev/programming-guides/encoding. */
locus_status lab_run_export_events(lab_store *store, const lab_run *runs, size_t count, const char *folder,
                                   locus_error *error);

#endif
