/* SPDX-License-Identifier: MIT */
/* What parts of the page have in common: head and end with what may run there, legends, tables. */
#include "io/fail.h"
#include "page/chart_draw.h"
#include "page/markup.h"
#include "page/page.h"
#include "page/page_texts.h"

#include <openssl/evp.h>
#include <string.h>

/* ---- what may run ---- */

/* "'sha256-…'" of a text. */
static locus_status put_source(lab_page *page, const char *text, locus_error *error) {
    unsigned char digest[EVP_MAX_MD_SIZE], base64[2 * EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (EVP_Digest(text, strlen(text), digest, &size, EVP_sha256(), NULL) != 1)
        return lab_fail_memory(error, "a page");
    EVP_EncodeBlock(base64, digest, (int)size);
    fprintf(page->file, "'sha256-%s'", (const char *)base64);
    return LOCUS_OK;
}

/* Of all that stands in the page the browser takes only these two for script and style, and it fetches nothing. */
locus_status lab_page_policy(lab_page *page, locus_error *error) {
    fputs("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; base-uri 'none'; form-action "
          "'none'; img-src data:; script-src ",
          page->file);
    locus_status status = put_source(page, lab_page_script, error);
    fputs("; style-src ", page->file);
    status = status == LOCUS_OK ? put_source(page, lab_page_style, error) : status;
    fprintf(page->file, "\">\n<link rel=\"icon\" href=\"data:,\">\n<style>%s</style>\n", lab_page_style);
    return status;
}

void lab_page_run(lab_page *page) {
    fprintf(page->file, "<script>%s</script>\n", lab_page_script);
}

/* ---- texts, legends, tables ---- */

void lab_page_text(lab_page *page, const char *text) {
    lab_markup_text(page->file, text);
}

void lab_page_legend(lab_page *page, const lab_summary_section *section) {
    if (section->row_count > LAB_PAGE_MOST_ROWS) {
        fprintf(page->file, "<p class=\"small\">Drawn are the first %d of %zu encodings; the tables have all.</p>\n",
                LAB_PAGE_MOST_ROWS, section->row_count);
    }
    fputs("<ul class=\"legend\">", page->file);
    for (size_t i = 0; i < section->row_count && i < LAB_PAGE_MOST_ROWS; i++) {
        const lab_summary_row *row = &section->rows[i];
        fprintf(page->file, "<li data-mark=\"%zu\">", row->mark);
        lab_chart_swatch(page->file, row->colour, row->mark);
        lab_page_text(page, row->encoding);
        fputs("</li>\n", page->file);
    }
    fputs("</ul>\n", page->file);
}

void lab_page_figure(lab_page *page) {
    page->figures++;
    fprintf(page->file, "<figcaption id=\"figure%zu\"><b>Figure %zu.</b> ", page->figures, page->figures);
}

void lab_page_table_number(lab_page *page, char label[LAB_PAGE_LABEL]) {
    page->tables++;
    snprintf(label, LAB_PAGE_LABEL, "table%zu", page->tables);
    fprintf(page->file, "<figcaption id=\"%s\"><b>Table %zu.</b> ", label, page->tables);
}

void lab_page_table(lab_page *page, const char *label) {
    fprintf(page->file,
            "<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-labelledby=\"%s\"><table class=\"sortable\" "
            "aria-labelledby=\"%s\">\n",
            label, label);
}

void lab_page_row(lab_page *page, const char *encoding) {
    fputs("<tr><th scope=\"row\"><code>", page->file);
    lab_page_text(page, encoding);
    fputs("</code></th>", page->file);
}

void lab_page_cell(lab_page *page, lab_measure measure, const lab_statistic *s, bool best) {
    const double scale = lab_measure_scale(measure);
    const int decimals = lab_measure_decimals(measure);
    if (s->count == 0) {
        fputs("<td>—</td>", page->file);
        return;
    }
    fprintf(page->file, "<td%s>%.*f", best ? " class=\"best\"" : "", decimals, scale * s->mean);
    if (s->count > 1)
        fprintf(page->file, " <small>±%.*f</small>", decimals, scale * s->deviation);
    fputs("</td>", page->file);
}
