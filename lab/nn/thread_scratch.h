/* SPDX-License-Identifier: MIT */
/* Memory that a thread lends the pieces of parallel loops that it runs. */
#ifndef LAB_THREAD_SCRATCH_H
#define LAB_THREAD_SCRATCH_H

#include <stddef.h>

/* Whose it is: two of a thread's may be in use at once. */
typedef enum lab_scratch_use {
    LAB_SCRATCH_LEFT,      /* bfloat16 left operands */
    LAB_SCRATCH_RESULT,    /* rows that are not all a result's; operands as floats */
    LAB_SCRATCH_PANEL,     /* floats that become a result of bfloat16 */
    LAB_SCRATCH_PRIMITIVE, /* oneDNN's */
    LAB_SCRATCH_OPERANDS,  /* of products that all threads work on: of the thread that asked for them */
    LAB_SCRATCH_USES
} lab_scratch_use;

/* At least `bytes` bytes, aligned to a cache line, that stand until the thread asks for more of that use; freed when
 * the thread ends. NULL: there is no memory. */
void *lab_thread_scratch(lab_scratch_use use, size_t bytes);

#endif
