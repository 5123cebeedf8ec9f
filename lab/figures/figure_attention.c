/* SPDX-License-Identifier: MIT */
/* See figure_attention.h. Weights are drawn in steps of a twentieth, all cells of a step as one path: a field takes as
 * many bytes as it has cells that are seen. */
#include "figures/figure_attention.h"

#include "figures/drawing.h"
#include "figures/svg_file.h"
#include "io/fail.h"
#include "io/text_stream.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    STEPS = 20,
    MARGIN = 24,
    GAP = 14,
    TITLE = 44,
    HEADING = 40,
    NAME = 7,
    LARGE = 14,
    SMALL = 9,
    PLACE = 4,
    FEW = 20
};
#define DARK 0x14488f

/* The attentions of one kind, and how large their fields are. */
typedef struct block {
    const char *heading;
    bool decoder, cross;
    const lab_token_name *queries, *keys;
    size_t layers, heads, rows, columns;
    double cell, left, bottom; /* left of the fields, below the last: room for names */
    bool places;               /* of a picture, of which there are many: each field has a scale of its own */
} block;

typedef struct picture {
    FILE *out;
    double top;
} picture;

/* ---- texts ---- */

static size_t longest(const lab_token_name *names, size_t count) {
    size_t most = 1;
    for (size_t i = 0; i < count; i++) {
        size_t characters = 0;
        for (const char *c = names[i].text; *c != '\0'; c++)
            characters += ((unsigned char)*c & 0xC0) != 0x80;
        most = characters > most ? characters : most;
    }
    return most;
}

/* ---- fields ---- */

static int step_of(float weight) {
    const int step = (int)(weight * STEPS + 0.5f);
    return step > STEPS ? STEPS : step;
}

/* Of a token's weights most are near 0 where keys are many. */
static float largest(const block *b, const float *weights) {
    float most = 0;
    for (size_t i = 0; i < b->rows * b->columns; i++)
        most = weights[i] > most ? weights[i] : most;
    return most;
}

/* Cells beside this one in its row that are drawn with it. */
static size_t run_length(const block *b, const float *weights, float scale, size_t i) {
    size_t length = 1;
    while (b->places && (i + length) % b->columns != 0 &&
           step_of(weights[i + length] / scale) == step_of(weights[i] / scale))
        length++;
    return length;
}

static void draw_field(FILE *out, const block *b, const float *weights) {
    fprintf(out, "<rect width=\"%zu\" height=\"%zu\" fill=\"none\" stroke=\"#%06x\" stroke-width=\"%.3g\"/>",
            b->columns, b->rows, LAB_FAINT, 1 / b->cell);
    const float scale = b->places ? largest(b, weights) : 1;
    for (int step = 1; step <= STEPS; step++) {
        bool any = false;
        for (size_t i = 0, length = 1; i < b->rows * b->columns; i += length) {
            length = run_length(b, weights, scale, i);
            if (step_of(weights[i] / scale) != step)
                continue;
            if (!any)
                fprintf(out, "<path fill-opacity=\"%.3g\" d=\"", (double)step / STEPS);
            fprintf(out, "M%zu %zuh%zuv1h-%zuz", i % b->columns, i / b->columns, length, length);
            any = true;
        }
        fputs(any ? "\"/>" : "", out);
    }
}

static void name_queries(FILE *out, const block *b) {
    for (size_t i = 0; i < b->rows; i++) {
        if (b->queries[i].text[0] == '\0')
            continue;
        fprintf(out, "<text x=\"-5\" y=\"%.2f\" text-anchor=\"end\">", b->cell * ((double)i + 0.5) + 3);
        lab_svg_text(out, b->queries[i].text);
        fputs("</text>", out);
    }
}

static void name_keys(FILE *out, const block *b) {
    for (size_t i = 0; i < b->columns; i++) {
        const double x = b->cell * ((double)i + 0.5) + 3, y = b->cell * (double)b->rows + 5;
        if (b->keys[i].text[0] == '\0')
            continue;
        fprintf(out, "<text transform=\"translate(%.2f %.2f) rotate(-90)\" text-anchor=\"end\">", x, y);
        lab_svg_text(out, b->keys[i].text);
        fputs("</text>", out);
    }
}

/* ---- blocks ---- */

static double row_height(const block *b) {
    return b->cell * (double)b->rows + GAP;
}

static double block_width(const block *b) {
    return b->left + (double)b->heads * (b->cell * (double)b->columns + GAP) + MARGIN;
}

static double block_height(const block *b) {
    return HEADING + (double)b->layers * row_height(b) + b->bottom;
}

static void draw_layer(const picture *p, const block *b, const lab_attention_map *map) {
    const double top = p->top + HEADING + (double)map->layer * row_height(b);
    for (size_t h = 0; h < map->heads; h++) {
        const double left = b->left + (double)h * (b->cell * (double)b->columns + GAP);
        fprintf(p->out, "<g transform=\"translate(%.2f %.2f)\"><title>%s, layer %zu, head %zu</title>", left, top,
                b->heading, map->layer + 1, h + 1);
        if (h == 0)
            name_queries(p->out, b);
        if (b->places) {
            fprintf(p->out, "<text x=\"%.2f\" y=\"-3\" text-anchor=\"end\" fill=\"#%06x\">to %.2g</text>",
                    b->cell * (double)b->columns, LAB_MUTED,
                    (double)largest(b, map->weights + h * map->queries * map->keys));
        }
        if (map->layer + 1 == b->layers)
            name_keys(p->out, b);
        fprintf(p->out, "<g transform=\"scale(%g)\" fill=\"#%06x\">", b->cell, DARK);
        draw_field(p->out, b, map->weights + h * map->queries * map->keys);
        fputs("</g></g>\n", p->out);
    }
    fprintf(p->out, "<text x=\"%d\" y=\"%.2f\" fill=\"#%06x\">layer %zu</text>\n", MARGIN, top + 10, LAB_MUTED,
            map->layer + 1);
}

static void draw_block(picture *p, const block *b, const lab_attention_maps *maps) {
    fprintf(p->out, "<text class=\"heading\" x=\"%d\" y=\"%.2f\">%s</text>\n", MARGIN, p->top + 14, b->heading);
    for (size_t h = 0; h < b->heads; h++) {
        fprintf(p->out, "<text x=\"%.2f\" y=\"%.2f\" fill=\"#%06x\">head %zu</text>",
                b->left + (double)h * (b->cell * (double)b->columns + GAP), p->top + HEADING - 6, LAB_MUTED, h + 1);
    }
    for (size_t i = 0; i < maps->count; i++)
        if (maps->maps[i].decoder == b->decoder && maps->maps[i].cross == b->cross)
            draw_layer(p, b, &maps->maps[i]);
    p->top += block_height(b);
}

/* False: there are no such attentions. */
static bool measure(block *b, const lab_attention_maps *maps) {
    b->layers = 0;
    for (size_t i = 0; i < maps->count; i++) {
        const lab_attention_map *map = &maps->maps[i];
        if (map->decoder != b->decoder || map->cross != b->cross)
            continue;
        b->layers = map->layer + 1 > b->layers ? map->layer + 1 : b->layers;
        b->heads = map->heads;
        b->rows = map->queries;
        b->columns = map->keys;
    }
    if (b->layers == 0)
        return false;
    const size_t most = b->rows > b->columns ? b->rows : b->columns;
    b->places = most > LAB_ATTENTION_MOST_TOKENS;
    b->cell = most <= FEW ? LARGE : b->places ? PLACE : SMALL;
    b->left = MARGIN + 54 + NAME * (double)longest(b->queries, b->rows);
    b->bottom = 10 + NAME * (double)longest(b->keys, b->columns) + 16;
    return true;
}

/* ---- the picture ---- */

static void draw_scale(const picture *p, bool places) {
    fprintf(p->out, "<text x=\"%d\" y=\"%g\">rows: queries, columns: keys; weight 0</text>", MARGIN, p->top + 13);
    for (int step = 0; step <= STEPS; step++) {
        fprintf(p->out, "<rect x=\"%d\" y=\"%g\" width=\"6\" height=\"10\" fill=\"#%06x\" fill-opacity=\"%.3g\"/>",
                MARGIN + 226 + 6 * step, p->top + 5, DARK, (double)step / STEPS);
    }
    fprintf(p->out, "<text x=\"%d\" y=\"%g\">%s</text>\n", MARGIN + 232 + 6 * (STEPS + 1), p->top + 13,
            places ? "the number above the field" : "1");
}

static void draw(FILE *out, const lab_attention_maps *maps, block *blocks, size_t count, const char *title) {
    picture p = {out, TITLE};
    double width = 440, height = TITLE + 2 * MARGIN;
    bool there[3], places = false;
    for (size_t i = 0; i < count; i++) {
        there[i] = measure(&blocks[i], maps);
        width = there[i] && block_width(&blocks[i]) > width ? block_width(&blocks[i]) : width;
        height += there[i] ? block_height(&blocks[i]) : 0;
        places = places || (there[i] && blocks[i].places);
    }
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
            "role=\"img\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"9\" fill=\"#%06x\">\n"
            "<style>.heading { font-size: 13px; font-weight: bold; }</style>\n<title>",
            width, height, width, height, LAB_INK);
    lab_svg_text(out, title);
    fprintf(out,
            "</title>\n<rect width=\"100%%\" height=\"100%%\" fill=\"#%06x\"/>\n<text class=\"heading\" x=\"%d\" "
            "y=\"26\">",
            LAB_PAPER, MARGIN);
    lab_svg_text(out, title);
    fputs("</text>\n", out);
    for (size_t i = 0; i < count; i++)
        if (there[i])
            draw_block(&p, &blocks[i], maps);
    draw_scale(&p, places);
    fputs("</svg>\n", out);
}

/* A decoder alone reads what else an encoder does. */
locus_status lab_figure_attention(const lab_attention_maps *maps, const lab_attention_input *input, const char *title,
                                  const char *path, locus_error *error) {
    const lab_token_name *made = input->made_count > 0 ? input->made : input->read;
    block blocks[] = {
        {.heading = "encoder", .queries = input->read, .keys = input->read},
        {.heading = "decoder", .decoder = true, .queries = made, .keys = made},
        {.heading = "decoder, of what the encoder gives",
         .decoder = true,
         .cross = true,
         .queries = made,
         .keys = input->read},
    };
    char *svg = NULL;
    size_t bytes = 0;
    FILE *out = lab_text_stream(&svg, &bytes);
    if (out != NULL)
        draw(out, maps, blocks, sizeof blocks / sizeof *blocks, title);
    const locus_status status =
        lab_text_close(out, &svg) ? lab_svg_write(svg, bytes, path, error) : lab_fail_memory(error, "a picture");
    free(svg);
    return status;
}
