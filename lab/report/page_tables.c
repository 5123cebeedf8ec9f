/* SPDX-License-Identifier: MIT */
/* The page's tables of scores, and what their numbers separate. */
#include "report/page.h"
#include "report/published.h"

#include <math.h>
#include <string.h>

void lab_page_text(lab_page *page, const char *text) {
    for (; *text; text++) {
        switch (*text) {
        case '<':
            fputs("&lt;", page->file);
            break;
        case '>':
            fputs("&gt;", page->file);
            break;
        case '&':
            fputs("&amp;", page->file);
            break;
        case '"':
            fputs("&quot;", page->file);
            break;
        default:
            fputc(*text, page->file);
        }
    }
}

bool lab_page_has_scores(const lab_summary_section *section) {
    for (size_t i = 0; i < section->row_count; i++) {
        if (section->rows[i].done > 0) {
            return true;
        }
    }
    return false;
}

/* ---- what the numbers separate ---- */

static bool any_single_seed(const lab_summary_section *section) {
    for (size_t i = 0; i < section->row_count; i++) {
        if (section->rows[i].accuracy.count == 1) {
            return true;
        }
    }
    return false;
}

/* The statistic of a row on the test set `which`: 0 is the trained length, then the further lengths. */
static const lab_statistic *statistic_at(const lab_summary_row *row, size_t which) {
    return which == 0 ? &row->accuracy : &row->at_length[which - 1];
}

/* Pairs of rows that the test set `which` has numbers of: all, and those that it does not separate. */
static void count_pairs(const lab_summary_section *section, size_t which, size_t *pairs, size_t *open) {
    *pairs = *open = 0;
    for (size_t i = 0; i < section->row_count; i++) {
        for (size_t j = i + 1; j < section->row_count; j++) {
            const lab_statistic *a = statistic_at(&section->rows[i], which),
                                *b = statistic_at(&section->rows[j], which);
            *pairs += a->count && b->count;
            *open += a->count && b->count && lab_statistic_overlap(a, b);
        }
    }
}

static void list_unseparated(lab_page *page, const lab_summary_section *section, size_t which) {
    size_t listed = 0;
    for (size_t i = 0; i < section->row_count; i++) {
        for (size_t j = i + 1; j < section->row_count; j++) {
            const lab_statistic *a = statistic_at(&section->rows[i], which),
                                *b = statistic_at(&section->rows[j], which);
            if (a->count == 0 || b->count == 0 || !lab_statistic_overlap(a, b)) {
                continue;
            }
            fputs(listed++ ? " · " : "", page->file);
            fputs("<span class=\"pair\">", page->file);
            lab_page_text(page, section->rows[i].encoding);
            fputs("&ensp;~&ensp;", page->file);
            lab_page_text(page, section->rows[j].encoding);
            fputs("</span>", page->file);
        }
    }
}

static void put_unseparated(lab_page *page, const lab_summary_section *section, size_t which) {
    size_t pairs, open;
    count_pairs(section, which, &pairs, &open);
    if (pairs > 0 && open == 0) {
        fputs("all encodings are <b>separated</b> from each other.", page->file);
    } else if (pairs == open) {
        fputs("no two encodings are separated: the numbers do <b>not</b> tell them apart.", page->file);
    } else {
        fputs("<b>not separated</b>: ", page->file);
        list_unseparated(page, section, which);
        fprintf(page->file, ". The other %zu of %zu pairs are separated.", pairs - open, pairs);
    }
}

/* The same pairs are separated on two test sets: they can share a sentence. */
static bool same_pairs(const lab_summary_section *section, size_t one, size_t other) {
    for (size_t i = 0; i < section->row_count; i++) {
        for (size_t j = i + 1; j < section->row_count; j++) {
            const lab_summary_row *a = &section->rows[i], *b = &section->rows[j];
            bool known = statistic_at(a, one)->count && statistic_at(b, one)->count;
            bool known_too = statistic_at(a, other)->count && statistic_at(b, other)->count;
            if (known != known_too || lab_statistic_overlap(statistic_at(a, one), statistic_at(b, one)) !=
                                          lab_statistic_overlap(statistic_at(a, other), statistic_at(b, other))) {
                return false;
            }
        }
    }
    return true;
}

/* "Test accuracy at the trained length and at mean length 32, ": `which` and all test sets that share its sentence. */
static void put_test_sets(lab_page *page, const lab_summary_section *section, size_t which) {
    const char *size = section->kind == LAB_TASK_TREES ? "depth" : "length";
    size_t named = 0;
    if (which > 0) {
        fprintf(page->file, "At mean %s ", size);
    } else if (section->kind == LAB_TASK_IMAGES) {
        fputs("Best test accuracy over all epochs", page->file);
    } else if (section->length_count == 0 && section->kind == LAB_TASK_TREES) {
        fputs("Test accuracy", page->file);
    } else {
        fprintf(page->file, "Test accuracy at the trained %s", size);
    }
    for (size_t i = which; i <= section->length_count; i++) {
        if (i == 0 || !same_pairs(section, which, i)) {
            continue;
        }
        if (named++ > 0) {
            fputs(", ", page->file);
        } else if (which == 0) {
            fprintf(page->file, " and at mean %s ", size);
        }
        fprintf(page->file, "%zu", section->lengths[i - 1]);
    }
    fputs(", ", page->file);
}

void lab_page_findings(lab_page *page, const lab_summary_section *section) {
    if (section->row_count < 2 || !lab_page_has_scores(section)) {
        return;
    }
    fputs("<div class=\"finding\">\n", page->file);
    for (size_t which = 0; which <= section->length_count; which++) {
        bool told = false;
        for (size_t before = 0; before < which; before++) {
            told = told || same_pairs(section, before, which);
        }
        if (!told) {
            fputs("<p>", page->file);
            put_test_sets(page, section, which);
            put_unseparated(page, section, which);
            fputs("</p>\n", page->file);
        }
    }
    fputs("<p class=\"small\">Two encodings count as separated when the 95 % confidence intervals of their means over "
          "seeds, "
          "mean&nbsp;±&nbsp;t·s/√<i>n</i>, do not overlap.",
          page->file);
    if (any_single_seed(section)) {
        fputs(" One seed gives no interval: it separates nothing.", page->file);
    }
    fputs("</p></div>\n", page->file);
}

/* ---- scores ---- */

static void put_share(lab_page *page, const lab_statistic *s, bool best) {
    if (s->count == 0) {
        fputs("<td>—</td>", page->file);
        return;
    }
    fprintf(page->file, "<td%s>%.2f", best ? " class=\"best\"" : "", 100 * s->mean);
    if (s->count > 1) {
        fprintf(page->file, " <small>±%.2f</small>", 100 * s->deviation);
    }
    fputs("</td>", page->file);
}

/* Not separated from the highest mean of its column, which is known from at least two seeds each. */
static bool is_best(const lab_summary_section *section, const lab_statistic *s, size_t which) {
    const lab_statistic *best = NULL;
    size_t others = 0;
    for (size_t i = 0; i < section->row_count; i++) {
        const lab_statistic *other = statistic_at(&section->rows[i], which);
        if (other->count > 0 && (!best || other->mean > best->mean)) {
            best = other;
        }
        others += other->count > 1 && other != s;
    }
    return best && s->count > 1 && best->count > 1 && others > 0 && lab_statistic_overlap(s, best);
}

static void put_steps(lab_page *page, const lab_summary_row *row) {
    const lab_statistic *s = &row->steps_to_99;
    if (s->count == 0) {
        fputs(row->done ? "<td>never</td>" : "<td>—</td>", page->file);
        return;
    }
    fprintf(page->file, "<td>%.0f", s->mean);
    if (s->count > 1) {
        fprintf(page->file, " <small>±%.0f</small>", s->deviation);
    }
    if (s->count < row->done) {
        fprintf(page->file, " <small>(%zu of %zu)</small>", s->count, row->done);
    }
    fputs("</td>", page->file);
}

static const lab_published *published_of(const lab_summary_section *section, const lab_summary_row *row,
                                         lab_span span) {
    return lab_published_look(section->task, section->order, span, row->encoding);
}

static bool any_published(const lab_summary_section *section) {
    for (size_t i = 0; i < section->row_count; i++) {
        if (section->rows[i].has_published) {
            return true;
        }
    }
    return false;
}

static void put_published(lab_page *page, const lab_published *published) {
    if (!published) {
        fputs("<td class=\"pub\">—</td>", page->file);
        return;
    }
    fprintf(page->file, "<td class=\"pub\">%.2f%s", 100 * published->accuracy, published->doubt ? "†" : "");
    if (published->deviation >= 0) {
        fprintf(page->file, " <small>±%.1f</small>", 100 * published->deviation);
    }
    fputs("</td>", page->file);
}

static void put_text_row(lab_page *page, const lab_summary_section *section, const lab_summary_row *row) {
    put_share(page, &row->accuracy, is_best(section, &row->accuracy, 0));
    put_share(page, &row->exact, false);
    put_share(page, &row->greedy_exact, false);
    for (size_t i = 0; i < section->length_count; i++) {
        put_share(page, &row->at_length[i], is_best(section, &row->at_length[i], i + 1));
    }
    put_steps(page, row);
    fprintf(page->file, "<td>%zu</td>", row->done);
    if (any_published(section)) {
        put_published(page, published_of(section, row, LAB_SPAN_FULL));
    }
}

static void put_image_row(lab_page *page, const lab_summary_section *section, const lab_summary_row *row) {
    put_share(page, &row->accuracy_half, false);
    put_share(page, &row->accuracy, is_best(section, &row->accuracy, 0));
    put_share(page, &row->accuracy_last, false);
    fprintf(page->file, "<td>%zu</td>", row->done);
    if (any_published(section)) {
        put_published(page, published_of(section, row, LAB_SPAN_HALF));
        put_published(page, published_of(section, row, LAB_SPAN_FULL));
    }
}

static void put_score_row(lab_page *page, const lab_summary_section *section, const lab_summary_row *row) {
    fputs("<tr><th scope=\"row\"><code>", page->file);
    lab_page_text(page, row->encoding);
    fputs("</code></th>", page->file);
    if (section->kind == LAB_TASK_IMAGES) {
        put_image_row(page, section, row);
    } else {
        put_text_row(page, section, row);
    }
    fputs("</tr>\n", page->file);
}

static void put_text_head(lab_page *page, const lab_summary_section *section) {
    fprintf(page->file,
            "<th>accuracy<small>%s, %%</small></th><th>exact<small>whole, %%</small></th>"
            "<th>greedy<small>exact, %%</small></th>",
            section->kind == LAB_TASK_TREES ? "nodes" : "tokens");
    for (size_t i = 0; i < section->length_count; i++) {
        fprintf(page->file,
                section->kind == LAB_TASK_TREES ? "<th>depth %zu<small>nodes, %%</small></th>"
                                                : "<th>length %zu<small>tokens, %%</small></th>",
                section->lengths[i]);
    }
    fputs("<th>steps<small>to 99 %</small></th><th>seeds</th>", page->file);
    if (any_published(section)) {
        fputs("<th>published<small>budget paper</small></th>", page->file);
    }
}

static void put_image_head(lab_page *page, const lab_summary_section *section) {
    if (section->epochs > 0) {
        fprintf(page->file,
                "<th>best up to half<small>epoch %g, %%</small></th><th>best of all<small>%g epochs, %%</small></th>"
                "<th>at the end<small>%%</small></th>",
                floor(section->epochs / 2), section->epochs);
    } else {
        fputs("<th>best up to half<small>%</small></th><th>best of all<small>%</small></th><th>at the "
              "end<small>%</small></th>",
              page->file);
    }
    fputs("<th>seeds</th>", page->file);
    if (any_published(section)) {
        fputs("<th>published<small>up to epoch 150</small></th><th>published<small>up to epoch 300</small></th>",
              page->file);
    }
}

static void put_score_caption(lab_page *page, const lab_summary_section *section) {
    fprintf(page->file, "<figcaption><b>Table %zu.</b> Scores on the test set of <i>", ++page->tables);
    lab_page_text(page, section->title);
    fputs("</i>, budget <i>", page->file);
    lab_page_text(page, section->budget);
    fputs("</i>, mean ± standard deviation over seeds. ", page->file);
    if (section->kind == LAB_TASK_IMAGES) {
        fputs("The score is the best accuracy on the test images up to half, and up to all, of the epochs, as in the "
              "published experiments: it is chosen on the test set. ",
              page->file);
    } else {
        fprintf(page->file,
                "<i>accuracy</i> and <i>exact</i> are teacher-forced; <i>greedy</i> is decoded token by token%s. "
                "<i>steps</i>: until 99 %% accuracy on the development set. ",
                section->kind == LAB_TASK_TREES ? ", along the tree that the emitted symbols build" : "");
    }
    fputs("Bold: not separated from the column's highest mean.", page->file);
    const lab_published *source = NULL;
    for (size_t i = 0; i < section->row_count && !source; i++) {
        source = published_of(section, &section->rows[i], LAB_SPAN_FULL);
    }
    if (source) {
        fputs(" Published: accuracy of ", page->file);
        lab_page_text(page, source->source);
        fprintf(page->file, ", trained at budget <i>%s</i>%s", source->budget,
                strcmp(source->budget, section->budget) ? "; not comparable with this budget." : ".");
    }
    for (size_t i = 0; i < section->row_count; i++) {
        const lab_published *published = published_of(section, &section->rows[i], LAB_SPAN_FULL);
        if (published && published->doubt) {
            fputs(" †&thinsp;<code>", page->file);
            lab_page_text(page, section->rows[i].encoding);
            fputs("</code>: ", page->file);
            lab_page_text(page, published->doubt);
            fputs(".", page->file);
        }
    }
    fputs("</figcaption>\n", page->file);
}

void lab_page_scores(lab_page *page, const lab_summary_section *section) {
    fputs("<figure>", page->file);
    put_score_caption(page, section);
    fputs("<div class=\"wide\"><table>\n<thead><tr><th class=\"left\">encoding</th>", page->file);
    if (section->kind == LAB_TASK_IMAGES) {
        put_image_head(page, section);
    } else {
        put_text_head(page, section);
    }
    fputs("</tr></thead>\n<tbody>\n", page->file);
    for (size_t i = 0; i < section->row_count; i++) {
        put_score_row(page, section, &section->rows[i]);
    }
    fputs("</tbody></table></div></figure>\n", page->file);
}
