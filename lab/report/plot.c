/* SPDX-License-Identifier: MIT */
/* Charts by gnuplot. It is told colours that stand for roles (rgb(192, k, 1) is series k), and the picture's colours
 * are then replaced by CSS variables, so that one SVG serves light and dark. */
#include "report/plot.h"

#include "io/fail.h"
#include "io/file.h"
#include "report/gnuplot.h"

#include <stdlib.h>
#include <string.h>

/* ---- the script ---- */

const char *lab_plot_dash(unsigned dash) {
    static const char *const patterns[LAB_PLOT_DASHES] = {"", "8,4", "2,3", "10,3,2,3", "14,4", "5,3,1,3,1,3"};
    return patterns[dash % LAB_PLOT_DASHES];
}

/* Names instead of numbers, on as many lines as the tallest has. */
static void put_names(FILE *script, const lab_chart *chart) {
    bool tall = false;
    for (size_t i = 0; chart->x_names && i < chart->x_name_count; i++) {
        tall = tall || strchr(chart->x_names[i], '\n') != NULL;
        fputs(i ? ", " : "set xtics (", script);
        lab_gnuplot_tick(script, chart->x_names[i]);
        fprintf(script, " %zu", i);
    }
    fputs(chart->x_names && chart->x_name_count ? ")\n" : "", script);
    fputs(tall ? "set bmargin 5\nset xlabel offset 0,-0.5\n" : "", script);
}

/* The least and the greatest of what is drawn. */
static void data_range(const lab_chart *chart, double *low, double *high) {
    *low = chart->y_low, *high = chart->y_high;
    for (size_t i = 0; !(chart->y_low < chart->y_high) && i < chart->series_count; i++) {
        const lab_series *s = &chart->series[i];
        for (size_t j = 0; j < s->count; j++) {
            *low = *low > 0 && *low < s->y[j] ? *low : s->y[j];
            *high = *high > s->y[j] ? *high : s->y[j];
        }
    }
}

/* Ticks at 1, 2, 5 of every decade; at powers of ten only where there are many, and closer ones where there are few. */
static void put_decades(FILE *script, const lab_chart *chart) {
    static const double wide[] = {1, 2, 5}, close[] = {1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8};
    double low, high;
    data_range(chart, &low, &high);
    const bool many = low > 0 && high > 300 * low, few = low > 0 && high < 5 * low;
    const double *ticks = few ? close : wide;
    const size_t count = many ? 1 : few ? sizeof close / sizeof *close : sizeof wide / sizeof *wide;
    fputs("set logscale y\nset ytics (", script);
    for (int decade = -9; decade <= 3; decade++) {
        for (size_t i = 0; i < count; i++) {
            fputs(decade > -9 || i > 0 ? ", " : "", script);
            if (many && decade < -3)
                fprintf(script, "'1e%d' ", decade);
            fprintf(script, "%ge%d", ticks[i], decade);
        }
    }
    fputs(")\nset format y '%g'\n", script);
}

static void put_axes(FILE *script, const lab_chart *chart) {
    fprintf(script, "set border 3 lc rgb '#808001' lw 1\n"
                    "set tics nomirror out scale 0.5 textcolor rgb '#808003'\n"
                    "set grid ytics lt 1 lc rgb '#808002' lw 1\n"
                    "set style fill solid 0.15 noborder\nunset key\nset samples 2\n"
                    "set bmargin 3.4\nset tmargin 1.2\nset rmargin 2.2\nset lmargin 8.2\n");
    fprintf(script, "set xlabel ");
    lab_gnuplot_text(script, chart->x_label);
    fprintf(script, " textcolor rgb '#808003' offset 0,0.3\nset ylabel ");
    lab_gnuplot_text(script, chart->y_label);
    fprintf(script, " textcolor rgb '#808003' offset 0.6,0\n");
    if (chart->x_low < chart->x_high)
        fprintf(script, "set xrange [%.9g:%.9g]\n", chart->x_low, chart->x_high);
    if (chart->y_low < chart->y_high)
        fprintf(script, "set yrange [%.9g:%.9g]\n", chart->y_low, chart->y_high);
    if (chart->log_y)
        put_decades(script, chart);
    if (chart->whole_x && chart->x_high - chart->x_low <= 13) /* gnuplot halves such steps */
        fputs("set xtics 1\n", script);
    put_names(script, chart);
    fputs(chart->count_x ? "set format x '%.0f'\n" : "", script);
}

static void put_data(FILE *script, const lab_chart *chart) {
    for (size_t i = 0; i < chart->series_count; i++) {
        const lab_series *s = &chart->series[i];
        char name[24];
        snprintf(name, sizeof name, "d%zu", i);
        lab_gnuplot_begin_data(script, name);
        for (size_t j = 0; j < s->count; j++) {
            fprintf(script, "%.9g %.9g %.9g %.9g\n", s->x[j], s->y[j], s->low ? s->low[j] : s->y[j],
                    s->high ? s->high[j] : s->y[j]);
        }
        lab_gnuplot_end_data(script, name, s->count);
    }
}

static void put_plots(FILE *script, const lab_chart *chart) {
    const char *comma = "plot ";
    for (size_t i = 0; i < chart->series_count; i++) { /* bands lie under all lines */
        const lab_series *s = &chart->series[i];
        if (s->low && !s->points && s->count > 1) {
            fprintf(script, "%s$d%zu using 1:3:4 with filledcurves lc rgb '#c0%02x01' title ", comma, i,
                    (unsigned)(s->colour % LAB_PLOT_COLOURS + 1));
            lab_gnuplot_text(script, s->name);
            comma = ", \\\n ";
        }
    }
    for (size_t i = 0; i < chart->series_count; i++) {
        const lab_series *s = &chart->series[i];
        unsigned colour = (unsigned)(s->colour % LAB_PLOT_COLOURS + 1);
        if (s->reference) {
            fprintf(script, "%s$d%zu using 1:2 with lines lw 1.2 dt (3,4) lc rgb '#808001' title ", comma, i);
            lab_gnuplot_text(script, s->name);
            comma = ", \\\n ";
            continue;
        }
        if (s->points && s->low) {
            fprintf(script, "%s$d%zu using 1:2:3:4 with yerrorbars pt 7 ps 0.01 lw 1.2 lc rgb '#c0%02x01' notitle",
                    comma, i, colour);
            comma = ", \\\n ";
        }
        fprintf(script, "%s$d%zu using 1:2 with %s lw 2", comma, i, s->points ? "linespoints pt 7 ps 0.55" : "lines");
        if (s->dash % LAB_PLOT_DASHES > 0)
            fprintf(script, " dt (%s)", lab_plot_dash(s->dash));
        fprintf(script, " lc rgb '#c0%02x01' title ", colour);
        lab_gnuplot_text(script, s->name);
        comma = ", \\\n ";
    }
    fputc('\n', script);
}

static void write_script(const lab_chart *chart, FILE *script) {
    fprintf(script,
            "set encoding utf8\nset terminal svg noenhanced dynamic size %zu,%zu font 'sans-serif,12' name '%s'\n",
            chart->width, chart->height, chart->id);
    put_axes(script, chart);
    put_data(script, chart);
    put_plots(script, chart);
}

/* ---- the picture ---- */

/* The role of a colour that write_script chose. */
static const char *colour_role(unsigned red, unsigned green, unsigned blue, char *text, size_t size) {
    static const char *const roles[] = {"axis", "grid", "text"};
    if (red == 192 && blue == 1 && green >= 1 && green <= LAB_PLOT_COLOURS)
        snprintf(text, size, "var(--s%u)", green);
    else if (red == 128 && green == 128 && blue >= 1 && blue <= 3)
        snprintf(text, size, "var(--%s)", roles[blue - 1]);
    else
        snprintf(text, size, "currentColor");
    return text;
}

/* Copies SVG from `at` up to `end`; colours become variables, fonts the page's, trailing blanks go. */
static void copy_picture(const char *at, const char *end, FILE *page) {
    while (at < end) {
        unsigned red, green, blue;
        int used = 0;
        char role[32];
        // NOLINTNEXTLINE(cert-err34-c): gnuplot wrote it; three digits don't overflow
        if (sscanf(at, "rgb(%3u,%3u,%3u)%n", &red, &green, &blue, &used) == 3 && used > 0) {
            fputs(colour_role(red, green, blue, role, sizeof role), page);
            at += used;
        } else if (strncmp(at, "color='white'", 13) == 0) {
            fputs("color='var(--page)'", page);
            at += 13;
        } else if (strncmp(at, "font-family=\"sans-serif\"", 24) == 0) {
            at += 24;
        } else {
            fputc(*at++, page);
        }
    }
}

/* gnuplot emits many groups that hold nothing; a page has enough to carry. Works in place. */
static void drop_empty_groups(char *svg) {
    char *to = svg;
    for (char *at = svg; *at;) {
        const char *close = strncmp(at, "<g ", 3) == 0 ? strchr(at, '>') : NULL;
        size_t blanks = close ? strspn(close + 1, " \t\r\n") : 0;
        if (close && strncmp(close + 1 + blanks, "</g>", 4) == 0) {
            at += (size_t)(close - at) + 1 + blanks + 4;
            at += strspn(at, "\n");
        } else {
            *to++ = *at++;
        }
    }
    *to = '\0';
}

static locus_status copy_svg(const lab_chart *chart, char *svg, FILE *page, locus_error *error) {
    char *begin = strstr(svg, "</defs>"), *end = begin ? strstr(begin, "</g>\n</svg>") : NULL;
    if (!begin || !end)
        return lab_fail(error, LOCUS_ERROR_IO, "gnuplot", "gnuplot wrote no picture that can be read");
    *end = '\0';
    drop_empty_groups(begin);
    fprintf(page, "<svg viewBox=\"0 0 %zu %zu\" role=\"img\" aria-label=\"%s\">", chart->width, chart->height,
            chart->title);
    copy_picture(begin + strlen("</defs>"), begin + strlen(begin), page);
    fputs("</svg>\n", page);
    return LOCUS_OK;
}

locus_status lab_chart_draw(const lab_chart *chart, FILE *page, locus_error *error) {
    lab_gnuplot plot;
    char *svg = NULL;
    size_t bytes;
    locus_status status = lab_gnuplot_open(&plot, error);
    if (status == LOCUS_OK) {
        write_script(chart, plot.script);
        status = lab_gnuplot_run(&plot, &svg, &bytes, error);
    }
    if (status == LOCUS_OK)
        status = copy_svg(chart, svg, page, error);
    free(svg);
    lab_gnuplot_close(&plot);
    return status;
}

void lab_chart_shapes(FILE *page) {
    fputs("<svg width=\"0\" height=\"0\" class=\"shapes\" aria-hidden=\"true\"><defs>"
          "<circle id=\"gpDot\" r=\"0.5\" stroke-width=\"0.5\" stroke=\"currentColor\"/>"
          "<circle id=\"gpPt6\" r=\"1\" fill=\"currentColor\" stroke=\"none\"/></defs></svg>\n",
          page);
}
