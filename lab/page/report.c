/* SPDX-License-Identifier: MIT */
/* Assembles the page: head, one section for each section of the summary, and how it was made. */
#include "page/report.h"

#include "io/fail.h"
#include "io/file.h"
#include "io/json.h"
#include "page/page.h"

#include <locus/version.h>
#include <string.h>
#include <time.h>

enum { MOST_NAMED = 16 };

/* The distinct texts of a column of the summary, joined as a list: "copy, reverse and repeat". */
static void put_list(lab_page *page, const char *(*column)(const lab_summary *, size_t), size_t count) {
    size_t distinct[256], found = 0;
    for (size_t i = 0; i < count && found < 256; i++) {
        size_t j = 0;
        while (j < found && strcmp(column(page->summary, distinct[j]), column(page->summary, i)) != 0)
            j++;
        if (j == found)
            distinct[found++] = i;
    }
    const size_t named = found <= MOST_NAMED ? found : MOST_NAMED;
    for (size_t i = 0; i < named; i++) {
        fputs(i == 0 ? "" : i + 1 == found ? " and " : ", ", page->file);
        lab_page_text(page, column(page->summary, distinct[i]));
    }
    if (named < found)
        fprintf(page->file, " and %zu more", found - named);
}

static const char *task_of(const lab_summary *summary, size_t section) {
    return summary->sections[section].task;
}
static const char *budget_of(const lab_summary *summary, size_t section) {
    return summary->sections[section].budget;
}
static const char *encoding_of(const lab_summary *summary, size_t run) {
    return summary->runs[run].encoding;
}

static void put_title(lab_page *page) {
    if (page->options->title) {
        lab_page_text(page, page->options->title);
        return;
    }
    fputs("Positional encodings on ", page->file);
    put_list(page, task_of, page->summary->section_count);
}

static void put_lede(lab_page *page) {
    size_t done = 0, count = page->summary->run_count;
    for (size_t i = 0; i < count; i++)
        done += page->summary->runs[i].state == LAB_RUN_DONE;
    fprintf(
        page->file,
        "<p class=\"lede\">%sTransformers trained to the same recipe that differ in their positional encoding only: ",
        page->summary->section_count > 1 ? "In each section, " : "");
    put_list(page, encoding_of, count);
    fputs(". Budget ", page->file);
    put_list(page, budget_of, page->summary->section_count);
    fprintf(page->file, "; %zu run%s, %zu finished.</p>\n", count, count == 1 ? "" : "s", done);
}

static void put_heading(lab_page *page, const lab_summary_section *section) {
    lab_page_text(page, section->title);
    if (section->apart[0] != '\0') {
        fputs(" <span class=\"tag\">", page->file);
        lab_page_text(page, section->apart);
        fputs("</span>", page->file);
    }
    const char *const tags[] = {section->budget, section->setup, section->embedding_init};
    static const char *const words[] = {"budget", "set-up", "embeddings"};
    const size_t count = section->class->vocabulary == NULL ? 2 : 3; /* pixels have no embedding table */
    for (size_t i = 0; i < count; i++) {
        fprintf(page->file, " <span class=\"tag\">%s ", words[i]);
        lab_page_text(page, tags[i]);
        lab_page_text(page, i == 2 ? section->scales : "");
        fputs("</span>", page->file);
    }
}

static void put_contents(lab_page *page) {
    if (page->summary->section_count < 2)
        return;
    fputs("<nav aria-label=\"Sections\">", page->file);
    for (size_t i = 0; i < page->summary->section_count; i++) {
        const lab_summary_section *section = &page->summary->sections[i];
        fprintf(page->file, "<a href=\"#section%zu\">", i + 1);
        lab_page_text(page, section->title);
        fputs(" · ", page->file);
        lab_page_text(page, section->apart);
        fputs(section->apart[0] != '\0' ? " · " : "", page->file);
        lab_page_text(page, section->budget);
        if (section->class->vocabulary != NULL) {
            fputs(" · ", page->file);
            lab_page_text(page, section->embedding_init);
            lab_page_text(page, section->scales);
        }
        fputs("</a>\n", page->file); /* where the line may break */
    }
    fputs("</nav>\n", page->file);
}

static locus_status put_results(lab_page *page, const lab_summary_section *section, size_t number, locus_error *error) {
    typedef locus_status part(lab_page *, const lab_summary_section *, size_t, locus_error *);
    static part *const figures[] = {lab_page_curves, lab_page_lengths, lab_page_bins};
    static part *const encodings[] = {lab_page_kernels, lab_page_angles};
    locus_status status = LOCUS_OK;
    lab_page_scores(page, section);
    lab_page_findings(page, section);
    lab_page_unfinished(page, section);
    for (size_t i = 0; i < sizeof figures / sizeof *figures && status == LOCUS_OK; i++)
        status = figures[i](page, section, number, error);
    lab_page_costs(page, section);
    for (size_t i = 0; i < sizeof encodings / sizeof *encodings && status == LOCUS_OK; i++)
        status = encodings[i](page, section, number, error);
    return status;
}

static locus_status put_section(lab_page *page, size_t number, locus_error *error) {
    const lab_summary_section *section = &page->summary->sections[number];
    locus_status status = LOCUS_OK;
    fprintf(page->file, "<section id=\"section%zu\">\n<h2>", number + 1);
    put_heading(page, section);
    fputs("</h2>\n", page->file);
    if (lab_summary_has_scores(section)) {
        status = put_results(page, section, number + 1, error);
    } else {
        fputs("<p>No run of this section has finished yet.</p>\n", page->file);
        lab_page_unfinished(page, section);
    }
    fputs("<h3>What was run</h3>\n", page->file);
    if (status == LOCUS_OK)
        status = lab_page_setting(page, section, error);
    lab_page_runs(page, section);
    fputs("</section>\n", page->file);
    return status;
}

static void put_footer(lab_page *page) {
    char date[40] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc))
        strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC", &utc);
    fprintf(page->file, "<footer data-save=\"page\"><h3>How this page was made</h3><p>By locus %s on %s",
            locus_version(), date);
    if (page->options->command) {
        fputs(", with</p><pre>", page->file);
        lab_page_text(page, page->options->command);
        fputs("</pre>\n<p>", page->file);
    } else {
        fputs(". ", page->file);
    }
    fputs("Sections are never mixed: runs of another task, order, budget, set-up, embedding initialisation or model "
          "stand in a table of their own. Only finished runs are counted.</p></footer>\n",
          page->file);
}

static locus_status put_page(lab_page *page, locus_error *error) {
    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
          page->file);
    put_title(page);
    fputs("</title>\n", page->file);
    locus_status status = lab_page_policy(page, error);
    fputs("</head>\n<body>\n<main>\n<header><h1>", page->file);
    put_title(page);
    fputs("</h1>\n", page->file);
    put_lede(page);
    put_contents(page);
    fputs("</header>\n", page->file);
    for (size_t i = 0; i < page->summary->section_count && status == LOCUS_OK; i++)
        status = put_section(page, i, error);
    put_footer(page);
    fputs("</main>\n", page->file);
    if (status == LOCUS_OK)
        status = lab_page_data(page, error);
    lab_page_run(page);
    fputs("</body>\n</html>\n", page->file);
    return status;
}

locus_status lab_report_write(lab_store *store, const lab_report_options *options, const char *path,
                              locus_error *error) {
    lab_summary summary;
    lab_output output;
    const size_t losses = lab_json_losses();
    locus_status status = lab_summary_create(&summary, store, &options->filter, error);
    if (status != LOCUS_OK)
        return status;
    if (summary.run_count == 0) {
        lab_summary_free(&summary);
        return lab_fail(error, LOCUS_ERROR_ARGUMENT, "filter", "no run matches: 'locus runs' lists what the store has");
    }
    status = lab_output_open(&output, path, error);
    if (status == LOCUS_OK) {
        lab_page page = {.file = output.stream, .store = store, .options = options, .summary = &summary};
        status = put_page(&page, error);
        if (status == LOCUS_OK && lab_json_losses() != losses) /* a configuration that is not shown */
            status = lab_fail_memory(error, "a page");
        if (status == LOCUS_OK)
            status = lab_output_commit(&output, error);
        lab_output_discard(&output);
    }
    lab_summary_free(&summary);
    return status;
}
