/* SPDX-License-Identifier: MIT */
/* The page's table of scores: a row for each encoding, columns by the kind of task, published numbers beside them. */
#include "report/page.h"
#include "report/published.h"

#include <math.h>
#include <string.h>

/* ---- cells ---- */

static void put_number(lab_page *page, lab_measure measure, const lab_statistic *s, bool best) {
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

static void put_share(lab_page *page, const lab_statistic *s, bool best) {
    put_number(page, LAB_MEASURE_ACCURACY, s, best);
}

/* Not separated from the best mean of its column, which is known from at least two seeds each. */
static bool is_best(const lab_summary_section *section, const lab_statistic *s, size_t which) {
    const double sign = lab_measure_sign(which == 0 ? section->measure : LAB_MEASURE_ACCURACY);
    const lab_statistic *best = NULL;
    size_t others = 0, own = 0, at = 0;
    for (size_t i = 0; i < section->row_count; i++) {
        const lab_statistic *other = lab_summary_at(section, i, which);
        if (other->count > 0 && (!best || sign * (other->mean - best->mean) > 0)) {
            best = other;
            at = i;
        }
        own = other == s ? i : own;
        others += other->count > 1 && other != s;
    }
    return best && s->count > 1 && best->count > 1 && others > 0 &&
           (own == at || !lab_summary_tells(section, own, at, which));
}

static void put_steps(lab_page *page, const lab_summary_row *row) {
    const lab_statistic *s = &row->steps_to_99;
    if (s->count == 0) {
        fputs(row->done ? "<td>never</td>" : "<td>—</td>", page->file);
        return;
    }
    fprintf(page->file, "<td>%.0f", s->mean);
    if (s->count > 1)
        fprintf(page->file, " <small>±%.0f</small>", s->deviation);
    if (s->count < row->done)
        fprintf(page->file, " <small>(%zu of %zu)</small>", s->count, row->done);
    fputs("</td>", page->file);
}

/* Nothing is published of trees of more or fewer children than two. */
static const lab_published *published_of(const lab_summary_section *section, const lab_summary_row *row,
                                         lab_span span) {
    return section->other_trees ? NULL : lab_published_look(section->task, section->order, span, row->encoding);
}

static bool any_published(const lab_summary_section *section) {
    for (size_t i = 0; i < section->row_count; i++)
        if (section->rows[i].has_published)
            return true;
    return false;
}

static void put_published(lab_page *page, const lab_published *published) {
    if (!published) {
        fputs("<td class=\"pub\">—</td>", page->file);
        return;
    }
    fprintf(page->file, "<td class=\"pub\">%.2f%s", 100 * published->accuracy, published->doubt ? "†" : "");
    if (published->deviation >= 0)
        fprintf(page->file, " <small>±%.1f</small>", 100 * published->deviation);
    fputs("</td>", page->file);
}

/* ---- rows ---- */

static void put_pair_row(lab_page *page, const lab_summary_section *section, const lab_summary_row *row) {
    put_share(page, &row->accuracy, is_best(section, &row->accuracy, 0));
    put_share(page, &row->exact, false);
    put_share(page, &row->greedy_exact, false);
    for (size_t i = 0; i < section->length_count; i++)
        put_share(page, &row->at_length[i], is_best(section, &row->at_length[i], i + 1));
    put_steps(page, row);
    fprintf(page->file, "<td>%zu</td>", row->done);
    if (any_published(section))
        put_published(page, published_of(section, row, LAB_SPAN_FULL));
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

/* What a decoder says of sequences: problems solved, or how well it predicts. */
static void put_sequence_row(lab_page *page, const lab_summary_section *section, const lab_summary_row *row) {
    const bool solved = section->measure == LAB_MEASURE_SOLVED;
    if (solved)
        put_number(page, LAB_MEASURE_SOLVED, &row->greedy_exact, is_best(section, &row->greedy_exact, 0));
    put_number(page, LAB_MEASURE_LOSS, &row->loss, !solved && is_best(section, &row->loss, 0));
    if (section->kind == LAB_TASK_TEXT) {
        put_number(page, LAB_MEASURE_PERPLEXITY, &row->perplexity, false);
        put_number(page, LAB_MEASURE_LOSS, &row->bits_per_byte, false);
    }
    put_share(page, &row->accuracy, false);
    fprintf(page->file, "<td>%zu</td>", row->done);
}

static void put_expression_row(lab_page *page, const lab_summary_section *section, const lab_summary_row *row) {
    put_share(page, &row->accuracy, is_best(section, &row->accuracy, 0));
    put_number(page, LAB_MEASURE_LOSS, &row->loss, false);
    fprintf(page->file, "<td>%zu</td>", row->done);
}

static void put_score_row(lab_page *page, const lab_summary_section *section, const lab_summary_row *row) {
    typedef void put_row(lab_page *, const lab_summary_section *, const lab_summary_row *);
    static put_row *const rows[LAB_TASK_KINDS] = {
        [LAB_TASK_WORDS] = put_pair_row,    [LAB_TASK_TREES] = put_pair_row,
        [LAB_TASK_IMAGES] = put_image_row,  [LAB_TASK_PROBLEMS] = put_sequence_row,
        [LAB_TASK_TEXT] = put_sequence_row, [LAB_TASK_EXPRESSIONS] = put_expression_row,
    };
    fputs("<tr><th scope=\"row\"><code>", page->file);
    lab_page_text(page, row->encoding);
    fputs("</code></th>", page->file);
    rows[section->kind](page, section, row);
    fputs("</tr>\n", page->file);
}

/* What needs no training. */
static void put_guess_row(lab_page *page, const char *name, double share) {
    if (share > 0) {
        fprintf(page->file, "<tr><th scope=\"row\"><i>%s</i></th><td>%.2f</td><td>—</td><td>—</td></tr>\n", name,
                100 * share);
    }
}

/* ---- heads ---- */

static void put_pair_head(lab_page *page, const lab_summary_section *section) {
    fprintf(page->file,
            "<th scope=\"col\">accuracy<small>%s, %%</small></th><th scope=\"col\">exact<small>whole, %%</small></th>"
            "<th scope=\"col\">greedy<small>exact, %%</small></th>",
            section->kind == LAB_TASK_TREES ? "nodes" : "tokens");
    for (size_t i = 0; i < section->length_count; i++) {
        fprintf(page->file,
                section->kind == LAB_TASK_TREES ? "<th scope=\"col\">depth %zu<small>nodes, %%</small></th>"
                                                : "<th scope=\"col\">length %zu<small>tokens, %%</small></th>",
                section->lengths[i]);
    }
    fputs("<th scope=\"col\">steps<small>to 99 %</small></th><th scope=\"col\">seeds</th>", page->file);
    if (any_published(section))
        fputs("<th scope=\"col\">published<small>budget paper</small></th>", page->file);
}

static void put_image_head(lab_page *page, const lab_summary_section *section) {
    if (section->epochs > 0) {
        fprintf(page->file,
                "<th scope=\"col\">best up to half<small>epoch %g, %%</small></th><th scope=\"col\">best of "
                "all<small>%g epochs, %%</small></th>"
                "<th scope=\"col\">at the end<small>%%</small></th>",
                floor(section->epochs / 2), section->epochs);
    } else {
        fputs("<th scope=\"col\">best up to half<small>%</small></th><th scope=\"col\">best of "
              "all<small>%</small></th><th scope=\"col\">at the "
              "end<small>%</small></th>",
              page->file);
    }
    fputs("<th scope=\"col\">seeds</th>", page->file);
    if (any_published(section)) {
        fputs("<th scope=\"col\">published<small>up to epoch 150</small></th><th scope=\"col\">published<small>up to "
              "epoch 300</small></th>",
              page->file);
    }
}

static void put_sequence_head(lab_page *page, const lab_summary_section *section) {
    const char *token = section->kind == LAB_TASK_TEXT ? "token" : "character";
    if (section->measure == LAB_MEASURE_SOLVED)
        fputs("<th scope=\"col\">solved<small>problems, %</small></th>", page->file);
    fprintf(page->file, "<th scope=\"col\">loss<small>nats a %s, lower is better</small></th>", token);
    if (section->kind == LAB_TASK_TEXT) {
        fputs("<th scope=\"col\">perplexity<small>lower is better</small></th><th scope=\"col\">bits per "
              "byte<small>lower is better</small></th>",
              page->file);
    }
    fprintf(page->file, "<th scope=\"col\">accuracy<small>%ss, %%</small></th><th scope=\"col\">seeds</th>", token);
}

static void put_expression_head(lab_page *page, const lab_summary_section *section) {
    fprintf(page->file,
            "<th scope=\"col\">accuracy<small>%s, %%</small></th><th scope=\"col\">loss<small>nats, lower is "
            "better</small></th><th scope=\"col\">seeds</th>",
            section->chance > 0.3 ? "of two classes" : "of ten classes");
}

static void put_head(lab_page *page, const lab_summary_section *section, const char *label) {
    typedef void put(lab_page *, const lab_summary_section *);
    static put *const heads[LAB_TASK_KINDS] = {
        [LAB_TASK_WORDS] = put_pair_head,    [LAB_TASK_TREES] = put_pair_head,
        [LAB_TASK_IMAGES] = put_image_head,  [LAB_TASK_PROBLEMS] = put_sequence_head,
        [LAB_TASK_TEXT] = put_sequence_head, [LAB_TASK_EXPRESSIONS] = put_expression_head,
    };
    lab_page_table(page, label);
    fputs("<thead><tr><th class=\"left\" scope=\"col\">encoding</th>", page->file);
    heads[section->kind](page, section);
    fputs("</tr></thead>\n<tbody>\n", page->file);
}

/* ---- caption ---- */

static void put_meaning(lab_page *page, const lab_summary_section *section) {
    switch (section->kind) {
    case LAB_TASK_IMAGES:
        fputs("The score is the best accuracy on the test images up to half, and up to all, of the epochs, as in the "
              "published experiments: it is chosen on the test set. ",
              page->file);
        break;
    case LAB_TASK_WORDS:
    case LAB_TASK_TREES:
        fprintf(page->file,
                "<i>accuracy</i> and <i>exact</i> are teacher-forced; <i>greedy</i> is decoded token by token%s. "
                "<i>steps</i>: until 99 %% accuracy on the development set. ",
                section->kind == LAB_TASK_TREES ? ", along the tree that the emitted symbols build" : "");
        break;
    case LAB_TASK_PROBLEMS:
        fprintf(page->file, "%s<i>loss</i> and <i>accuracy</i> are teacher-forced, of every character. ",
                section->measure == LAB_MEASURE_SOLVED
                    ? "<i>solved</i>: random problems that greedy decoding gets to the letter. "
                    : "");
        break;
    case LAB_TASK_TEXT:
        fputs(
            "<i>perplexity</i>: e to the loss, of each seed; <i>bits per byte</i> is comparable between vocabularies. ",
            page->file);
        break;
    case LAB_TASK_EXPRESSIONS:
        fputs("<i>majority</i>: always the most common class of the test set; <i>chance</i>: any class, at random. ",
              page->file);
        break;
    }
}

static void put_source(lab_page *page, const lab_summary_section *section) {
    const lab_published *source = NULL;
    for (size_t i = 0; i < section->row_count && !source; i++)
        source = published_of(section, &section->rows[i], LAB_SPAN_FULL);
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
}

static void put_score_caption(lab_page *page, const lab_summary_section *section, char label[LAB_PAGE_LABEL]) {
    lab_page_table_number(page, label);
    fputs("Scores on the test set of <i>", page->file);
    lab_page_text(page, section->title);
    fputs("</i>, budget <i>", page->file);
    lab_page_text(page, section->budget);
    fputs("</i>, mean ± standard deviation over seeds. ", page->file);
    put_meaning(page, section);
    fprintf(page->file, "Bold: not separated from the column's %s mean.",
            lab_measure_sign(section->measure) > 0 ? "highest" : "lowest");
    put_source(page, section);
    fputs("</figcaption>\n", page->file);
}

void lab_page_scores(lab_page *page, const lab_summary_section *section) {
    char label[LAB_PAGE_LABEL];
    fputs("<figure data-save=\"scores\">", page->file);
    put_score_caption(page, section, label);
    put_head(page, section, label);
    for (size_t i = 0; i < section->row_count; i++)
        put_score_row(page, section, &section->rows[i]);
    fputs("</tbody>\n<tfoot>", page->file);
    put_guess_row(page, "majority", section->majority);
    put_guess_row(page, "chance", section->chance);
    fputs("</tfoot></table></div></figure>\n", page->file);
}
