/* SPDX-License-Identifier: MIT */
/* What a section's numbers separate. */
#include "page/page.h"

static bool any_single_seed(const lab_summary_section *section) {
    for (size_t i = 0; i < section->row_count; i++)
        if (lab_summary_score(section, &section->rows[i])->count == 1)
            return true;
    return false;
}

/* A test set has no numbers of two rows, does not tell them apart, or does. */
typedef enum separation { UNKNOWN, OPEN, APART } separation;

static separation told_apart(const lab_summary_section *section, size_t i, size_t j, size_t which) {
    if (lab_summary_at(section, i, which)->count == 0 || lab_summary_at(section, j, which)->count == 0)
        return UNKNOWN;
    return lab_summary_tells(section, i, j, which) ? APART : OPEN;
}

/* Pairs of rows that the test set `which` has numbers of: all, and those that it does not separate. */
static void count_pairs(const lab_summary_section *section, size_t which, size_t *pairs, size_t *open) {
    *pairs = *open = 0;
    for (size_t i = 0; i < section->row_count; i++) {
        for (size_t j = i + 1; j < section->row_count; j++) {
            const separation said = told_apart(section, i, j, which);
            *pairs += said != UNKNOWN;
            *open += said == OPEN;
        }
    }
}

static void list_unseparated(lab_page *page, const lab_summary_section *section, size_t which) {
    size_t listed = 0;
    for (size_t i = 0; i < section->row_count; i++) {
        for (size_t j = i + 1; j < section->row_count; j++) {
            if (told_apart(section, i, j, which) != OPEN)
                continue;
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
    if (open == 0) {
        fputs("all encodings are <b>separated</b> from each other.", page->file);
    } else if (pairs == open) {
        fputs("no two encodings are separated: the numbers do <b>not</b> tell them apart.", page->file);
    } else {
        fputs("<b>not separated</b>: ", page->file);
        list_unseparated(page, section, which);
        if (pairs - open == 1)
            fprintf(page->file, ". The other one of %zu pairs is separated.", pairs);
        else
            fprintf(page->file, ". The other %zu of %zu pairs are separated.", pairs - open, pairs);
    }
}

/* The same pairs are separated on two test sets: they can share a sentence. */
static bool same_pairs(const lab_summary_section *section, size_t one, size_t other) {
    for (size_t i = 0; i < section->row_count; i++) {
        for (size_t j = i + 1; j < section->row_count; j++)
            if (told_apart(section, i, j, one) != told_apart(section, i, j, other))
                return false;
    }
    return true;
}

/* "Test accuracy at the trained length and at mean length 32, ": `which` and all test sets that share its sentence. */
static void put_test_sets(lab_page *page, const lab_summary_section *section, size_t which) {
    const lab_task_class *class = section->class;
    const char *size = class->size != NULL ? class->size->name : "";
    size_t named = 0;
    if (which > 0)
        fprintf(page->file, "At mean %s ", size);
    else if (class->develops_on_test)
        fputs("Best test accuracy over all epochs", page->file);
    else if (section->measure == LAB_MEASURE_SOLVED)
        fputs("Problems solved", page->file);
    else if (section->measure == LAB_MEASURE_LOSS)
        fputs("Test loss", page->file);
    else if (class->size == NULL || (lab_summary_length_columns(section) == 0 && !class->ordered))
        fputs("Test accuracy", page->file);
    else
        fprintf(page->file, "Test accuracy at the trained %s", size);
    for (size_t i = which; i <= lab_summary_length_columns(section); i++) {
        if (i == 0 || !same_pairs(section, which, i))
            continue;
        if (named++ > 0)
            fputs(", ", page->file);
        else if (which == 0)
            fprintf(page->file, " and at mean %s ", size);
        fprintf(page->file, "%zu", section->lengths[i - 1]);
    }
    fputs(", ", page->file);
}

void lab_page_findings(lab_page *page, const lab_summary_section *section) {
    if (section->row_count < 2 || !lab_summary_has_scores(section))
        return;
    fputs("<div class=\"finding\">\n", page->file);
    for (size_t which = 0; which <= lab_summary_length_columns(section); which++) {
        bool told = false;
        size_t pairs, open;
        for (size_t before = 0; before < which; before++)
            told = told || same_pairs(section, before, which);
        count_pairs(section, which, &pairs, &open);
        if (!told && pairs > 0) {
            fputs("<p>", page->file);
            put_test_sets(page, section, which);
            put_unseparated(page, section, which);
            fputs("</p>\n", page->file);
        }
    }
    fputs("<p class=\"small\">Two encodings count as separated when Welch’s interval of the difference of their means "
          "over seeds does not hold 0; all pairs together miss with 5 % at most.",
          page->file);
    if (any_single_seed(section))
        fputs(" One seed gives no interval: it separates nothing.", page->file);
    fputs("</p></div>\n", page->file);
}
