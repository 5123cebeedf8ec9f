/* SPDX-License-Identifier: MIT */
/* Student's t distribution at any level, for any positive number of degrees of freedom:
 *
 *   P(|T| > t) = I_x(ν/2, 1/2),  x = ν / (ν + t²),   I the regularised incomplete beta function
 *
 * by its continued fraction (DLMF 8.17.22). */
#ifndef LAB_STUDENT_H
#define LAB_STUDENT_H

/* P(|T| > t), t ≥ 0. */
double lab_student_tails(double t, double degrees);
/* The t that |T| exceeds with probability `miss`, 0 < miss < 1: half the width of a two-sided interval that misses with
 * it. Infinite without degrees of freedom. */
double lab_student(double miss, double degrees);

#endif
