/* SPDX-License-Identifier: MIT */
/* Orthogonal matrices of every kind and spectrum for tests, and plain oracles in long double that share nothing with
 * the library: a Taylor series for the exponential, Gauss and Jordan for Cayley's quotient, reflections one by one. */
#ifndef ORTHOGONAL_CASE_H
#define ORTHOGONAL_CASE_H

#include "linalg/orthogonal.h"
#include "reference/dense_matrix.h"

enum { KINDS = 3 };

/* Spectra: angles all different, equal, zero; nearly equal (1e-12 … 1e-1); near 0; near π (exactly π among them, but
 * for Cayley's); zero and π in turn; within 1e-9 … 1e-2 of π/2 on both sides; RoPE's; even steps over the half circle;
 * and parameters drawn at random instead. */
enum {
    DIFFERENT,
    EQUAL,
    ZERO,
    NEARLY_EQUAL,
    NEAR_ZERO,
    NEAR_PI,
    ZERO_AND_PI,
    NEAR_QUARTER,
    ROPE,
    EVEN,
    RANDOM,
    SPECTRA
};

void *case_grab(size_t count, size_t size);
double *case_numbers(size_t count);
double case_normal(void);
double case_size(size_t count, const double *x); /* Euclidean norm */

/* W is an orthogonal matrix with det +1. */
void case_basis(size_t n, double *W);
void case_angles(locus_orthogonal_kind kind, int spectrum, size_t n, double *theta);

/* Parameters with that spectrum: their redundant part (symmetric part, lengths of vectors) is drawn at random. */
void case_parameters(locus_orthogonal_kind kind, int spectrum, size_t n, double *A);

/* ---- oracles ---- */

void oracle_exp(size_t n, const long double *X, long double *W);
void oracle_make(locus_orthogonal_kind kind, size_t n, const double *A, long double *W);
int oracle_determinant_sign(size_t n, const double *W);

/* |UᵀU − I| */
double orthogonality_error(size_t n, const double *U);

/* ---- block forms of powers ---- */

typedef struct power_form {
    size_t n, flip;
    double *U, *theta, *sigma;
} power_form;

power_form power_form_create(locus_orthogonal_kind kind, size_t n, const double *A);
void power_form_free(power_form *form);
void power_form_turn(const power_form *form, double p, const double *x, double *y);      /* y = R(p) x, for whole p */
void power_form_half_turn(const power_form *form, double p, const double *x, double *y); /* without flips */
/* (−1)^p where a coordinate is flipped, else 1 */
double power_form_sign(const power_form *form, double p, size_t coordinate);

#endif
