/* SPDX-License-Identifier: MIT */
/* Texts and numbers in a page. Whatever a text holds, it stays one: in HTML, in an attribute between double quotes, and
 * in JSON that stands between <script> tags, where "</script>" would end it. What is not printable (printable.h) stands
 * as '?'. */
#ifndef LAB_MARKUP_H
#define LAB_MARKUP_H

#include <stddef.h>
#include <stdio.h>

void lab_markup_text(FILE *page, const char *text);

/* A string with its quotes. */
void lab_markup_json_text(FILE *page, const char *text);
/* A whole JSON text as it is, made fit to stand in a page. */
void lab_markup_json(FILE *page, const char *json);
/* With so many significant digits; null for what is not finite. */
void lab_markup_json_number(FILE *page, double value, int digits);

#endif
