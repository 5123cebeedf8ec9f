/* SPDX-License-Identifier: MIT */
/* The page's figures: learning curves, accuracy against test length, score kernels. */
#include "io/fail.h"
#include "report/kernel.h"
#include "report/page.h"
#include "report/plot.h"

#include "train/train.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 64, WIDTH = 460, HEIGHT = 300 };

static void put_legend(lab_page *page, const lab_summary_section *section) {
    fputs("<ul class=\"legend\">", page->file);
    for (size_t i = 0; i < section->row_count; i++) {
        fprintf(page->file, "<li><i style=\"border-color:var(--s%zu)\"></i>", i % LAB_PLOT_COLOURS + 1);
        lab_page_text(page, section->rows[i].encoding);
        fputs("</li>", page->file);
    }
    fputs("</ul>\n", page->file);
}

/* ---- learning curves ---- */

typedef struct curve {
    size_t count;
    double *x, *y, *low, *high; /* one block, from x */
} curve;

/* Mean, lowest and highest over the finished seeds of a row, at the steps of its first one. */
static locus_status gather_curve(curve *c, lab_store *store, const lab_summary_row *row, const char *metric,
                                 double factor, locus_error *error) {
    double *seeds = NULL;
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < row->run_count && status == LOCUS_OK; i++) {
        lab_metric *points = NULL;
        size_t count = 0;
        if (row->runs[i]->state != LAB_RUN_DONE) {
            continue;
        }
        status = lab_store_metrics(store, row->runs[i]->id, metric, &points, &count, error);
        if (status == LOCUS_OK && !c->x) {
            c->x = calloc(4 * count + 1, sizeof *c->x);
            seeds = calloc(count + 1, sizeof *seeds);
            if (!c->x || !seeds) {
                status = lab_fail_memory(error, "a learning curve");
                count = 0;
            }
            c->count = count;
            c->y = c->x + count;
            c->low = c->y + count;
            c->high = c->low + count;
        }
        for (size_t j = 0, at = 0; status == LOCUS_OK && j < count; j++) {
            double step = (double)points[j].step, value = factor * points[j].value;
            while (at < c->count && c->x[at] < step && seeds[at] > 0) {
                at++;
            }
            if (at < c->count && isfinite(value) && (seeds[at] == 0 || c->x[at] == step)) {
                c->low[at] = seeds[at] > 0 ? fmin(c->low[at], value) : value;
                c->high[at] = seeds[at] > 0 ? fmax(c->high[at], value) : value;
                c->x[at] = step;
                c->y[at] += value;
                seeds[at] += 1;
            }
        }
        free(points);
    }
    size_t kept = 0;
    for (size_t i = 0; i < c->count && status == LOCUS_OK; i++) {
        if (seeds[i] > 0) {
            c->x[kept] = c->x[i];
            c->y[kept] = c->y[i] / seeds[i];
            c->low[kept] = c->low[i];
            c->high[kept++] = c->high[i];
        }
    }
    c->count = kept;
    free(seeds);
    return status;
}

/* Steps from 0; on a logarithmic axis a little more than the data. */
static void fit_axes(lab_chart *chart) {
    double lowest = HUGE_VAL, highest = 0, last = 0;
    for (size_t i = 0; i < chart->series_count; i++) {
        const lab_series *s = &chart->series[i];
        for (size_t j = 0; j < s->count; j++) {
            lowest = fmin(lowest, s->low ? s->low[j] : s->y[j]);
            highest = fmax(highest, s->high ? s->high[j] : s->y[j]);
        }
        last = fmax(last, s->x[s->count - 1]);
    }
    chart->x_high = last;
    if (chart->log_y && lowest > 0 && highest > lowest) {
        chart->y_low = lowest / 1.15;
        chart->y_high = highest * 1.15;
    }
}

static locus_status draw_curves(lab_page *page, const lab_summary_section *section, const lab_chart *frame,
                                const char *metric, double factor, locus_error *error) {
    curve curves[MOST_ROWS] = {0};
    lab_series series[MOST_ROWS];
    lab_chart chart = *frame;
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < section->row_count && i < MOST_ROWS && status == LOCUS_OK; i++) {
        const lab_summary_row *row = &section->rows[i];
        status = gather_curve(&curves[i], page->store, row, metric, factor, error);
        if (status == LOCUS_OK && curves[i].count > 0) {
            series[chart.series_count++] = (lab_series){
                .name = row->encoding,
                .colour = i,
                .count = curves[i].count,
                .x = curves[i].x,
                .y = curves[i].y,
                .low = row->done > 1 ? curves[i].low : NULL,
                .high = row->done > 1 ? curves[i].high : NULL,
            };
        }
    }
    chart.series = series;
    if (status == LOCUS_OK && chart.series_count > 0) {
        fit_axes(&chart);
        fputs("<div class=\"cell\">", page->file);
        status = lab_chart_draw(&chart, page->file, error);
        fputs("</div>\n", page->file);
    }
    for (size_t i = 0; i < MOST_ROWS; i++) {
        free(curves[i].x);
    }
    return status;
}

locus_status lab_page_curves(lab_page *page, const lab_summary_section *section, size_t number, locus_error *error) {
    char id[2][32];
    snprintf(id[0], sizeof id[0], "accuracy%zu", number);
    snprintf(id[1], sizeof id[1], "loss%zu", number);
    const lab_chart accuracy = {.id = id[0],
                                .title = "Accuracy on the development set against training steps",
                                .x_label = "training steps",
                                .y_label = "development accuracy, %",
                                .width = WIDTH,
                                .height = HEIGHT,
                                .y_high = 100,
                                .count_x = true};
    const lab_chart loss = {.id = id[1],
                            .title = "Training loss against training steps",
                            .x_label = "training steps",
                            .y_label = "training loss, nats a token",
                            .width = WIDTH,
                            .height = HEIGHT,
                            .log_y = true,
                            .count_x = true};
    fputs("<figure>", page->file);
    put_legend(page, section);
    fputs("<div class=\"grid\">\n", page->file);
    locus_status status = draw_curves(page, section, &accuracy, "dev.accuracy", 100, error);
    if (status == LOCUS_OK) {
        status = draw_curves(page, section, &loss, "train.loss", 1, error);
    }
    fprintf(page->file,
            "</div><figcaption><b>Figure %zu.</b> Learning curves: mean over seeds, the band from the lowest to the "
            "highest. Left: token accuracy on the development set; right: training loss (with dropout), logarithmic."
            "</figcaption></figure>\n",
            ++page->figures);
    return status;
}

/* ---- accuracy against length ---- */

typedef struct length_line {
    double x[LAB_SUMMARY_MAX_LENGTHS + 1], y[LAB_SUMMARY_MAX_LENGTHS + 1];
    double low[LAB_SUMMARY_MAX_LENGTHS + 1], high[LAB_SUMMARY_MAX_LENGTHS + 1];
    size_t count;
} length_line;

static void add_length(length_line *line, double length, const lab_statistic *s) {
    size_t at = line->count;
    if (s->count == 0 || !(length > 0)) {
        return;
    }
    while (at > 0 && line->x[at - 1] > length) { /* the trained length comes first, wherever it belongs */
        line->x[at] = line->x[at - 1];
        line->y[at] = line->y[at - 1];
        line->low[at] = line->low[at - 1];
        line->high[at] = line->high[at - 1];
        at--;
    }
    line->x[at] = length;
    line->y[at] = 100 * s->mean;
    line->low[at] = 100 * fmax(s->mean - s->deviation, 0);
    line->high[at] = 100 * fmin(s->mean + s->deviation, 1);
    line->count++;
}

/* One panel: token accuracy, or greedy exact matches. False if there is nothing to draw. */
static bool length_panel(lab_chart *chart, length_line *lines, lab_series *series, const lab_summary_section *section,
                         bool greedy) {
    double last = 0;
    size_t count = section->row_count < MOST_ROWS ? section->row_count : MOST_ROWS;
    for (size_t i = 0; i < count; i++) {
        const lab_summary_row *row = &section->rows[i];
        add_length(&lines[i], section->trained_length, greedy ? &row->greedy_exact : &row->accuracy);
        for (size_t j = 0; j < section->length_count; j++) {
            add_length(&lines[i], (double)section->lengths[j], greedy ? &row->greedy_at_length[j] : &row->at_length[j]);
        }
        last = lines[i].count > 0 ? fmax(last, lines[i].x[lines[i].count - 1]) : last;
    }
    for (size_t i = 0; i < count; i++) {
        length_line *line = &lines[i];
        for (size_t j = 0; j < line->count; j++) { /* bars side by side, not on top of each other */
            line->x[j] += 0.006 * last * ((double)i - 0.5 * (double)(count - 1));
        }
        if (line->count > 0) {
            series[chart->series_count++] = (lab_series){.name = section->rows[i].encoding,
                                                         .colour = i,
                                                         .count = line->count,
                                                         .x = line->x,
                                                         .y = line->y,
                                                         .low = section->rows[i].done > 1 ? line->low : NULL,
                                                         .high = line->high,
                                                         .points = true};
        }
    }
    chart->x_high = 1.06 * last;
    return chart->series_count > 0;
}

locus_status lab_page_lengths(lab_page *page, const lab_summary_section *section, size_t number, locus_error *error) {
    static const char *const titles[] = {"Test accuracy against the mean length of the words",
                                         "Greedy exact matches against the mean length of the words"};
    static const char *const labels[] = {"test accuracy, %", "greedy exact matches, %"};
    locus_status status = LOCUS_OK;
    if (section->length_count == 0 || !(section->trained_length > 0)) {
        return LOCUS_OK;
    }
    fputs("<figure>", page->file);
    put_legend(page, section);
    fputs("<div class=\"grid\">\n", page->file);
    for (size_t panel = 0; panel < 2 && status == LOCUS_OK; panel++) {
        length_line lines[MOST_ROWS] = {0};
        lab_series series[MOST_ROWS];
        char id[32];
        snprintf(id, sizeof id, "lengths%zu_%zu", number, panel);
        lab_chart chart = {.id = id,
                           .title = titles[panel],
                           .x_label = "mean length of the test words",
                           .y_label = labels[panel],
                           .width = WIDTH,
                           .height = HEIGHT,
                           .y_high = 104,
                           .series = series};
        if (length_panel(&chart, lines, series, section, panel == 1)) {
            fputs("<div class=\"cell\">", page->file);
            status = lab_chart_draw(&chart, page->file, error);
            fputs("</div>\n", page->file);
        }
    }
    fprintf(
        page->file,
        "</div><figcaption><b>Figure %zu.</b> Length extrapolation: test sets of other lengths than the trained one, "
        "%g. "
        "Left: token accuracy, teacher-forced; right: whole outputs right by greedy decoding. Bars are ± one standard "
        "deviation over seeds.</figcaption></figure>\n",
        ++page->figures, section->trained_length);
    return status;
}

/* ---- score kernels ---- */

static void describe_terms(lab_page *page, const char *spec) {
    size_t named = 0;
    for (const char *at = spec; *at;) {
        at += strspn(at, " +/*0123456789"); /* of a pattern over layers, too */
        size_t length = strcspn(at, "(+/ "), depth = 0;
        const locus_encoding_info *info;
        for (size_t i = 0; (info = locus_encoding_registry_at(i)) != NULL; i++) {
            if (strlen(info->name) == length && strncmp(info->name, at, length) == 0) {
                char first[2] = {info->summary[0], 0};
                first[0] = (char)toupper((unsigned char)first[0]);
                fputs(named++ ? ". " : "", page->file);
                lab_page_text(page, first);
                lab_page_text(page, info->summary + 1);
            }
        }
        for (at += length; *at && (depth > 0 || (*at != '+' && *at != '/')); at++) {
            depth += *at == '(';
            depth -= *at == ')' && depth > 0;
        }
    }
}

static void describe_kernel(lab_page *page, const lab_kernel *kernel, const char *spec) {
    size_t middle = kernel->count / 2, half = 0;
    const char *decay = strstr(spec, "decay=");
    fputs("<p>", page->file);
    describe_terms(page, spec);
    fputs(". ", page->file);
    if (strstr(spec, " / ")) {
        fputs("Drawn is the first layer's encoding. ", page->file);
    }
    if (decay && strtod(decay + 6, NULL) > 0) {
        fprintf(page->file, "The score is multiplied by %g to the power of the distance. ", strtod(decay + 6, NULL));
    }
    if (kernel->embedding) {
        fputs("Acts on the embedding only: drawn is the cosine between two rows of its table. ", page->file);
    }
    for (size_t i = middle; i < kernel->count && !half; i++) {
        half = kernel->mean[i] < 0.5 * kernel->mean[middle] ? i - middle : 0;
    }
    if (half > 0) {
        fprintf(page->file, "Falls below half at distance %zu.", half);
    } else {
        fprintf(page->file, "Stays above half up to distance %zu.", kernel->count - 1 - middle);
    }
    fputs("</p>", page->file);
}

static locus_status draw_kernel(lab_page *page, const lab_summary_row *row, const lab_kernel *kernel, size_t colour,
                                const char *id, size_t width, locus_error *error) {
    bool band = false;
    double lowest = 0, highest = 1;
    for (size_t i = 0; i < kernel->count; i++) {
        band = band || kernel->high[i] - kernel->low[i] > 1e-6;
        lowest = fmin(lowest, kernel->low[i]);
        highest = fmax(highest, kernel->high[i]);
    }
    const lab_series series = {.name = row->encoding,
                               .colour = colour,
                               .count = kernel->count,
                               .x = kernel->distance,
                               .y = kernel->mean,
                               .low = band ? kernel->low : NULL,
                               .high = band ? kernel->high : NULL};
    const lab_chart chart = {.id = id,
                             .title = "Score of identical query and key against distance",
                             .x_label = "distance n − m",
                             .y_label = "score",
                             .width = width,
                             .height = 240,
                             .x_low = kernel->distance[0],
                             .x_high = kernel->distance[kernel->count - 1],
                             .y_low = lowest - 0.06 * (highest - lowest),
                             .y_high = highest + 0.06 * (highest - lowest),
                             .series = &series,
                             .series_count = 1};
    fputs("<div class=\"cell\"><h4><code>", page->file);
    lab_page_text(page, row->encoding);
    fputs("</code></h4>\n", page->file);
    locus_status status = lab_chart_draw(&chart, page->file, error);
    describe_kernel(page, kernel, row->encoding);
    fputs("</div>\n", page->file);
    return status;
}

/* From the trained model of the row's first finished run. */
static locus_status trained_kernel(lab_kernel *kernel, const lab_summary_row *row, const char *folder, size_t reach,
                                   locus_error *error) {
    const lab_run *run = row->runs[0];
    for (size_t i = 0; i < row->run_count && run->state != LAB_RUN_DONE; i++) {
        run = row->runs[i];
    }
    lab_train_config config;
    lab_model *model = NULL;
    locus_status status = folder ? lab_train_load(run, folder, &config, &model, error)
                                 : lab_fail(error, LOCUS_ERROR_IO, "folder", "no folder of checkpoints was given");
    if (status == LOCUS_OK) { /* of a pattern, the first layer's */
        const lab_model_config *sizes = lab_model_get_config(model);
        const locus_shape shape = {.heads = sizes->heads,
                                   .head_dim = sizes->dim / sizes->heads,
                                   .model_dim = sizes->dim,
                                   .kv_heads = sizes->kv_heads};
        const unsigned sites = locus_encoding_sites(lab_model_encoding(model, 0));
        status = lab_kernel_compute(kernel, lab_model_binding(model), sites, &shape, reach, error);
    }
    lab_model_destroy(&model);
    return status;
}

locus_status lab_page_kernels(lab_page *page, const lab_summary_section *section, size_t number, locus_error *error) {
    double longest = fmax(section->trained_length, 16);
    size_t reach = (size_t)fmin(2 * longest, 128);
    locus_status status = LOCUS_OK;
    bool pairs = section->row_count == 2 || section->row_count == 4; /* two columns of panels, else three */
    fprintf(page->file, "<figure><div class=\"grid%s\">\n", pairs ? "" : " three");
    for (size_t i = 0; i < section->row_count && status == LOCUS_OK; i++) {
        const lab_summary_row *row = &section->rows[i];
        lab_kernel kernel = {0};
        locus_error reason = {0};
        char id[32];
        if (row->done == 0) {
            continue;
        }
        snprintf(id, sizeof id, "kernel%zu_%zu", number, i);
        if (trained_kernel(&kernel, row, page->options->folder, reach, &reason) == LOCUS_OK) {
            status = draw_kernel(page, row, &kernel, i, id, pairs ? WIDTH : 380, error);
        } else { /* a lost checkpoint costs its picture, not the page */
            fputs("<div class=\"cell\"><h4><code>", page->file);
            lab_page_text(page, row->encoding);
            fputs("</code></h4><p>No picture: ", page->file);
            lab_page_text(page, reason.message);
            fputs("</p></div>\n", page->file);
        }
        lab_kernel_free(&kernel);
    }
    fprintf(
        page->file,
        "</div><figcaption><b>Figure %zu.</b> The score kernel <i>q</i>ᵀ⌈−<i>m</i>+<i>n</i>⌉<i>k</i> of the trained "
        "encodings against the distance <i>n</i>−<i>m</i>, factors and biases included, for <i>q</i> = <i>k</i> of "
        "length 1 and scale 1: without positions it is 1 everywhere. Line and band: mean and ± one deviation over "
        "heads "
        "and random directions; first finished seed.</figcaption></figure>\n",
        ++page->figures);
    return status;
}
