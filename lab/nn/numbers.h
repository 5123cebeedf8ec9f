/* SPDX-License-Identifier: MIT */
/* The numbers of an activation: float32, or bfloat16 as their bits, where products and attention of bfloat16 are all
 * that reads them. */
#ifndef LAB_NUMBERS_H
#define LAB_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lab_numbers {
    void *data; /* NULL: there are none */
    bool half;  /* bfloat16 */
} lab_numbers;

/* Whoever gets numbers says whether they are written. */
static inline lab_numbers lab_floats(const float *data) {
    return (lab_numbers){(void *)(uintptr_t)data, false};
}

static inline size_t lab_number_size(bool half) {
    return half ? sizeof(uint16_t) : sizeof(float);
}

/* Those from number `first` on. */
static inline lab_numbers lab_numbers_from(lab_numbers numbers, size_t first) {
    return (lab_numbers){(char *)numbers.data + first * lab_number_size(numbers.half), numbers.half};
}

#endif
