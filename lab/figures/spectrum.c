/* SPDX-License-Identifier: MIT */
/* Angles of generators. Where an encoding has a normal form they are read from it; else from the operators W of single
 * steps: C = (W + Wᵀ)/2 has the eigenvalues cos θ, each twice, and its eigenvectors v give |(W − Wᵀ)/2 v| = sin θ,
 * which is exact where the cosine is blind. C by Jacobi's rotations (Golub and Van Loan 2013, section 8.5). */
#include "figures/figure.h"

#include "bound/bound.h"
#include "bound/position_list.h"
#include "io/fail.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SWEEPS 40
#define STANDS_STILL 1e-9 /* what of W − I is rounding */

void lab_spectrum_free(lab_spectrum *spectrum) {
    for (size_t i = 0; spectrum->panels && i < spectrum->count; i++)
        free(spectrum->panels[i].angles);
    free(spectrum->panels);
    *spectrum = (lab_spectrum){0};
}

bool lab_spectrum_agrees(const lab_spectrum_panel *panel) {
    for (size_t i = panel->count; i < panel->heads * panel->count; i++)
        if (fabs(panel->angles[i] - panel->angles[i % panel->count]) > 1e-6 * panel->angles[i])
            return false;
    return true;
}

lab_spectrum_range lab_spectrum_extent(const lab_spectrum *spectrum, double least) {
    lab_spectrum_range range = {2, 1e-3, 1};
    for (size_t i = 0; i < spectrum->count; i++) {
        const lab_spectrum_panel *panel = &spectrum->panels[i];
        range.pairs = fmax(range.pairs, (double)panel->count);
        for (size_t j = 0; j < panel->heads * panel->count; j++) {
            range.low = panel->angles[j] > 0 ? fmin(range.low, fmax(panel->angles[j], least)) : range.low;
            range.high = fmax(range.high, panel->angles[j]);
        }
    }
    return range;
}

static int falling(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* ---- generators: which coordinate, which branch ---- */

typedef struct generator {
    size_t coordinate;
    int64_t branch; /* of a tree, from 1 */
} generator;

static size_t list_generators(const locus_group *group, size_t most, generator *list) {
    size_t count = 0;
    for (size_t c = 0; c < locus_group_coordinates(group); c++) {
        locus_coordinate coordinate = locus_group_coordinate(group, c);
        int64_t branches = coordinate.kind == LOCUS_COORDINATE_TREE ? coordinate.size : 1;
        for (int64_t b = 1; b <= branches && count < most; b++)
            list[count++] = (generator){c, b};
    }
    return count;
}

static void title_of(const locus_group *group, generator own, char *title, size_t size) {
    const size_t count = locus_group_coordinates(group);
    const locus_coordinate coordinate = locus_group_coordinate(group, own.coordinate);
    char where[40] = "";
    if (count > 1)
        snprintf(where, sizeof where, "coordinate %zu: ", own.coordinate + 1);
    if (coordinate.kind == LOCUS_COORDINATE_TREE)
        snprintf(title, size, "%sbranch %" PRId64, where, own.branch);
    else if (coordinate.kind == LOCUS_COORDINATE_CYCLE)
        snprintf(title, size, "%scycle of %" PRId64, where, coordinate.size);
    else
        snprintf(title, size, "%s%s", where, count > 1 ? "axis" : "sequence");
}

/* ---- from the normal form ---- */

/* The pairs that follow a coordinate. */
static locus_status take_angles(lab_spectrum_panel *panel, const locus_fold_shape *shape, const double *angles,
                                size_t coordinate, locus_error *error) {
    const size_t row = shape->coordinates * shape->pairs;
    panel->heads = shape->heads;
    panel->angles = calloc(shape->heads * shape->pairs + 1, sizeof *panel->angles);
    if (!panel->angles)
        return lab_fail_memory(error, "a spectrum");
    bool *follows = calloc(shape->pairs + 1, sizeof *follows);
    for (size_t i = 0; follows && i < shape->pairs; i++) {
        for (size_t h = 0; h < shape->heads; h++)
            follows[i] = follows[i] || angles[h * row + coordinate * shape->pairs + i] != 0;
        panel->count += follows[i];
    }
    for (size_t h = 0; follows && h < shape->heads; h++) {
        double *out = panel->angles + h * panel->count;
        for (size_t i = 0; i < shape->pairs; i++)
            if (follows[i])
                *out++ = fabs(angles[h * row + coordinate * shape->pairs + i]);
        qsort(panel->angles + h * panel->count, panel->count, sizeof *out, falling);
    }
    locus_status status = follows ? LOCUS_OK : lab_fail_memory(error, "a spectrum");
    free(follows);
    return status;
}

static locus_status from_normal_form(lab_spectrum *spectrum, const locus_binding *binding,
                                     const locus_fold_shape *shape, const generator *generators, locus_error *error) {
    double *angles = calloc(shape->heads * shape->coordinates * shape->pairs + 1, sizeof *angles);
    locus_status status = angles ? LOCUS_OK : lab_fail_memory(error, "a spectrum");
    if (status == LOCUS_OK)
        status = locus_fold(binding, NULL, angles, NULL, error);
    for (size_t i = 0; i < spectrum->count && status == LOCUS_OK; i++)
        status = take_angles(&spectrum->panels[i], shape, angles, generators[i].coordinate, error);
    free(angles);
    return status;
}

/* ---- from operators ---- */

/* Turns rows and columns p and q of C so that C[p][q] = 0; V gathers the turns in its rows. */
static void jacobi_turn(size_t n, double *C, double *V, size_t p, size_t q) {
    double apart = C[q * n + q] - C[p * n + p], t, c, s;
    if (C[p * n + q] == 0)
        return;
    double ratio = apart / (2 * C[p * n + q]);
    t = (ratio < 0 ? -1 : 1) / (fabs(ratio) + sqrt(1 + ratio * ratio));
    c = 1 / sqrt(1 + t * t);
    s = t * c;
    for (size_t k = 0; k < n; k++) {
        double x = C[k * n + p], y = C[k * n + q];
        C[k * n + p] = c * x - s * y;
        C[k * n + q] = s * x + c * y;
    }
    for (size_t k = 0; k < n; k++) {
        double x = C[p * n + k], y = C[q * n + k], u = V[p * n + k], v = V[q * n + k];
        C[p * n + k] = c * x - s * y;
        C[q * n + k] = s * x + c * y;
        V[p * n + k] = c * u - s * v;
        V[q * n + k] = s * u + c * v;
    }
}

static double off_diagonal(size_t n, const double *C) {
    double most = 0;
    for (size_t i = 0; i < n * n; i++)
        most = i / n != i % n && fabs(C[i]) > most ? fabs(C[i]) : most;
    return most;
}

/* The angles of an orthogonal W [n, n] with row stride `stride`: ⌈n/2⌉ of them, falling. `work` holds 2n² + n. */
static void angles_of(size_t n, const double *W, size_t stride, double *angles, double *work) {
    double *C = work, *V = C + n * n, *all = V + n * n;
    for (size_t i = 0; i < n * n; i++) {
        C[i] = (W[i / n * stride + i % n] + W[i % n * stride + i / n]) / 2;
        V[i] = i / n == i % n;
    }
    for (size_t sweep = 0; sweep < SWEEPS && off_diagonal(n, C) > 1e-15; sweep++) {
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++)
                jacobi_turn(n, C, V, p, q);
    }
    for (size_t v = 0; v < n; v++) {
        double sine = 0;
        for (size_t i = 0; i < n; i++) {
            double sum = 0;
            for (size_t j = 0; j < n; j++)
                sum += (W[i * stride + j] - W[j * stride + i]) / 2 * V[v * n + j];
            sine += sum * sum;
        }
        all[v] = atan2(sqrt(sine), C[v * n + v]);
    }
    qsort(all, n, sizeof *all, falling);
    for (size_t i = 0; i < n; i += 2)
        angles[i / 2] = all[i];
}

/* One step of a generator as a path: "(0,1,0)". */
static locus_status step_path(const locus_group *group, generator own, locus_path **path, locus_error *error) {
    const size_t count = locus_group_coordinates(group);
    char text[1024];
    size_t used = (size_t)snprintf(text, sizeof text, count > 1 ? "(" : "");
    for (size_t c = 0; c < count && used + 32 < sizeof text; c++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRId64, c ? "," : "",
                                 c == own.coordinate ? own.branch : 0);
    }
    snprintf(text + used, sizeof text - used, count > 1 ? ")" : "");
    return locus_path_parse(group, text, path, error);
}

/* matrices [dim (column), heads, dim (row)] of the operator of a path. */
static locus_status operator_of(const lab_figure_subject *subject, const locus_path *path, double *columns,
                                locus_error *error) {
    const size_t dim = subject->shape->head_dim, heads = subject->shape->heads;
    const int64_t sizes[3] = {(int64_t)dim, (int64_t)heads, (int64_t)dim};
    const locus_tensor x = locus_tensor_view(columns, LOCUS_FLOAT64, 3, sizes);
    locus_positions *positions = NULL;
    locus_plan *plan = NULL;
    memset(columns, 0, dim * heads * dim * sizeof *columns);
    for (size_t i = 0; i < dim * heads; i++)
        columns[i * dim + i / heads] = 1;
    locus_status status = lab_path_positions(&path, 1, locus_path_group(path), dim, false, &positions, error);
    if (status == LOCUS_OK)
        status = lab_figure_plan(&plan, subject, positions, NULL, error);
    if (status == LOCUS_OK)
        status = lab_apply(plan, LOCUS_ROLE_KEY, LOCUS_FORWARD, &x, NULL, error);
    locus_plan_destroy(&plan);
    locus_positions_destroy(&positions);
    return status;
}

/* The dimensions that the operator moves, in any head: its block. */
static void find_block(size_t dim, size_t heads, const double *columns, size_t *first, size_t *count) {
    size_t low = dim, high = 0;
    for (size_t i = 0; i < dim * heads * dim; i++) {
        size_t column = i / dim / heads, row = i % dim;
        if (fabs(columns[i] - (row == column)) > STANDS_STILL) {
            low = column < low ? column : low;
            high = column + 1 > high ? column + 1 : high;
        }
    }
    *first = low < high ? low : 0;
    *count = low < high ? high - low : 0;
}

static locus_status take_eigenvalues(lab_spectrum_panel *panel, const locus_shape *shape, const double *columns,
                                     locus_error *error) {
    const size_t dim = shape->head_dim, heads = shape->heads;
    size_t first = 0, block = 0;
    find_block(dim, heads, columns, &first, &block);
    panel->heads = heads;
    panel->count = (block + 1) / 2;
    panel->angles = calloc(heads * panel->count + 1, sizeof *panel->angles);
    double *work = calloc(3 * dim * dim + dim, sizeof *work);
    if (!panel->angles || !work) {
        free(work);
        return lab_fail_memory(error, "a spectrum");
    }
    for (size_t h = 0; h < heads; h++) {
        double *W = work + 2 * dim * dim + dim;
        for (size_t i = 0; i < block * block; i++)
            W[i] = columns[((first + i % block) * heads + h) * dim + first + i / block];
        angles_of(block, W, block, panel->angles + h * panel->count, work);
    }
    free(work);
    return LOCUS_OK;
}

static locus_status from_operators(lab_spectrum *spectrum, const lab_figure_subject *subject,
                                   const generator *generators, locus_error *error) {
    const locus_group *group = locus_encoding_group(subject->encoding);
    const locus_shape *shape = subject->shape;
    double *columns = calloc(shape->head_dim * shape->heads * shape->head_dim, sizeof *columns);
    locus_status status = columns ? LOCUS_OK : lab_fail_memory(error, "an operator");
    for (size_t i = 0; i < spectrum->count && status == LOCUS_OK; i++) {
        locus_path *path = NULL;
        status = step_path(group, generators[i], &path, error);
        if (status == LOCUS_OK)
            status = operator_of(subject, path, columns, error);
        if (status == LOCUS_OK)
            status = take_eigenvalues(&spectrum->panels[i], shape, columns, error);
        locus_path_destroy(&path);
    }
    free(columns);
    return status;
}

locus_status lab_spectrum_compute(lab_spectrum *spectrum, const lab_figure_subject *subject, size_t most,
                                  locus_error *error) {
    const locus_group *group = locus_encoding_group(subject->encoding);
    generator *generators = calloc(most + 1, sizeof *generators);
    locus_fold_shape normal = {.size = sizeof normal};
    *spectrum = (lab_spectrum){.panels = calloc(most + 1, sizeof *spectrum->panels)};
    if (!generators || !spectrum->panels) {
        free(generators);
        return lab_fail_memory(error, "a spectrum");
    }
    spectrum->count = list_generators(group, most, generators);
    for (size_t i = 0; i < spectrum->count; i++)
        title_of(group, generators[i], spectrum->panels[i].title, sizeof spectrum->panels[i].title);
    locus_status status = locus_fold_measure(subject->binding, &normal, NULL) == LOCUS_OK
                              ? from_normal_form(spectrum, subject->binding, &normal, generators, error)
                              : from_operators(spectrum, subject, generators, error);
    free(generators);
    if (status != LOCUS_OK)
        lab_spectrum_free(spectrum);
    return status;
}
