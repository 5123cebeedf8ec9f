/* SPDX-License-Identifier: MIT */
/* Figures: a group and a relative path in it, the similarity of positions to one of them, the spectrum of generators.
 * Written as SVG, PNG or PDF by the file's name (svg_file.h). */
#ifndef LAB_FIGURE_H
#define LAB_FIGURE_H

#include "figures/layout.h"
#include <locus/locus.h>

/* The group's points, and the path from `from` to `to` (both NULL: none). */
locus_status lab_figure_group(const locus_group *group, const locus_path *from, const locus_path *to, const char *path,
                              locus_error *error);

/* An encoding as figures look at it. */
typedef struct lab_figure_subject {
    const locus_encoding *encoding;
    const locus_binding *binding; /* of `shape` */
    const locus_shape *shape;
    size_t length; /* of the sequence, for encodings that depend on it; 0: the largest position + 1 */
} lab_figure_subject;

/* A plan of the subject; `keys` NULL: they stand where the queries stand. */
locus_status lab_figure_plan(locus_plan **plan, const lab_figure_subject *subject, const locus_positions *queries,
                             const locus_positions *keys, locus_error *error);

/* How similar position i is to the origin: mean and deviation over heads and random directions. */
typedef struct lab_similarity {
    size_t count;
    double *mean, *deviation; /* [count], one block, from `mean` */
    bool embedding;           /* the cosine between two rows of a table, not a score */
} lab_similarity;

/*   s = qᵀ ⌈−o + p⌉ k with factors and biases, q = k of length 1, scale 1
 *
 * Encodings that only add vectors, to the embedding or to what the encoder gives: e_o·e_p / |e_o||e_p|. */
locus_status lab_similarity_compute(lab_similarity *similarity, const lab_figure_subject *subject,
                                    const locus_path *const *paths, size_t count, const locus_path *origin,
                                    locus_error *error);
void lab_similarity_free(lab_similarity *similarity);

/* A curve on a sequence, coloured points and fields on all else. */
locus_status lab_figure_similarity(const lab_similarity *similarity, const locus_path *const *paths,
                                   const locus_path *origin, const char *title, const char *path, locus_error *error);

/* Angles of one generator. */
typedef struct lab_spectrum_panel {
    char title[96];
    size_t heads, count;
    double *angles; /* [heads, count], radians, each head's falling by size; owned */
} lab_spectrum_panel;

typedef struct lab_spectrum {
    size_t count;
    lab_spectrum_panel *panels;
} lab_spectrum;

/* Of every generator, in their order: from the encoding's normal form where it has one, else the eigenvalues of its
 * operators. At most `most` generators. */
locus_status lab_spectrum_compute(lab_spectrum *spectrum, const lab_figure_subject *subject, size_t most,
                                  locus_error *error);
void lab_spectrum_free(lab_spectrum *spectrum);

/* All heads of a generator turn by the same angles. */
bool lab_spectrum_agrees(const lab_spectrum_panel *panel);
/* The most pairs of a generator, the least angle, 0.001 or lower, and the largest, 1 or higher. Angles between 0 and
 * `least` count as so much. */
typedef struct lab_spectrum_range {
    double pairs, low, high;
} lab_spectrum_range;
lab_spectrum_range lab_spectrum_extent(const lab_spectrum *spectrum, double least);

locus_status lab_figure_spectrum(const lab_spectrum *spectrum, const char *title, const char *path, locus_error *error);

/* Named curves over 0, 1, 2, …, the values on a logarithmic scale; 0 stands on the lower edge. */
typedef struct lab_curve {
    const char *name;
    size_t count;
    const double *values; /* not below 0 */
} lab_curve;
typedef struct lab_curve_labels {
    const char *title, *x, *y;
} lab_curve_labels;
locus_status lab_figure_curves(const lab_curve *curves, size_t count, const lab_curve_labels *labels, const char *path,
                               locus_error *error);

/* Vectors of positions as a field of colours. */
typedef struct lab_table_values {
    size_t rows, columns;
    const double *values; /* [rows, columns] */
} lab_table_values;
locus_status lab_figure_table(const lab_table_values *table, const char *title, const char *path, locus_error *error);

#endif
