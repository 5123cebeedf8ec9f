/* SPDX-License-Identifier: MIT */
/* The page's data: {"format": "locus-page", "version": 1, "sections": […], "runs": […]}. Sections are those of
 * summary_json.c; runs have the number of their section, what the store says of them and all of their scores. The
 * numbers of charts stand beside these (chart_data.h). */
#include "io/fail.h"
#include "page/markup.h"
#include "page/page.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>

static void put_text(lab_page *page, const char *name, const char *text) {
    fprintf(page->file, ",\"%s\":", name);
    lab_markup_json_text(page->file, text != NULL ? text : "");
}

static void put_number(lab_page *page, const char *name, double value) {
    fprintf(page->file, ",\"%s\":", name);
    lab_markup_json_number(page->file, value, 9);
}

/* "test:32.accuracy": 0.5 */
static locus_status put_scores(lab_page *page, const lab_run *run, locus_error *error) {
    lab_final *finals = NULL;
    size_t count = 0;
    const locus_status status = lab_store_finals(page->store, run->id, &finals, &count, error);
    fputs(",\"scores\":{", page->file);
    for (size_t i = 0; i < count; i++) {
        char name[256];
        snprintf(name, sizeof name, "%s.%s", finals[i].set, finals[i].name);
        fputs(i > 0 ? "," : "", page->file);
        lab_markup_json_text(page->file, name);
        fputc(':', page->file);
        lab_markup_json_number(page->file, finals[i].value, 17);
    }
    fputs("}", page->file);
    free(finals);
    return status;
}

static locus_status put_run(lab_page *page, size_t section, const lab_run *run, locus_error *error) {
    fprintf(page->file, "{\"section\":%zu", section);
    put_text(page, "name", run->name);
    put_text(page, "task", run->task);
    put_text(page, "encoding", run->encoding);
    fprintf(page->file, ",\"seed\":%" PRIu64, run->seed);
    put_text(page, "state", lab_run_state_name(run->state));
    fprintf(page->file, ",\"steps\":%" PRIu64 ",\"steps_of\":%" PRIu64, run->steps_done, run->steps_total);
    put_number(page, "wall_seconds", run->wall_seconds);
    put_number(page, "tokens_per_second", run->tokens_per_second);
    fprintf(page->file, ",\"peak_bytes\":%" PRId64 ",\"parameters\":%" PRId64, run->peak_bytes, run->parameters);
    put_text(page, "machine", run->machine);
    put_text(page, "version", run->version);
    put_text(page, "started", run->started);
    put_text(page, "ended", run->ended);
    put_text(page, "command", run->command);
    if (run->parent != NULL && run->parent[0] != '\0')
        put_text(page, "parent", run->parent);
    const locus_status status = put_scores(page, run, error);
    fputs("}", page->file);
    return status;
}

static locus_status put_runs(lab_page *page, locus_error *error) {
    locus_status status = LOCUS_OK;
    const char *between = "\n";
    for (size_t s = 0; s < page->summary->section_count; s++) {
        const lab_summary_section *section = &page->summary->sections[s];
        for (size_t i = 0; i < section->row_count; i++) {
            for (size_t j = 0; j < section->rows[i].run_count && status == LOCUS_OK; j++) {
                fputs(between, page->file);
                status = put_run(page, s + 1, section->rows[i].runs[j], error);
                between = ",\n";
            }
        }
    }
    return status;
}

locus_status lab_page_data(lab_page *page, locus_error *error) {
    cJSON *summary = lab_summary_json(page->summary);
    char *sections = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(summary, "sections"));
    locus_status status = sections != NULL ? LOCUS_OK : lab_fail_memory(error, "a page");
    fputs("<script type=\"application/json\" id=\"data\">{\"format\":\"locus-page\",\"version\":1,\"sections\":",
          page->file);
    if (status == LOCUS_OK)
        lab_markup_json(page->file, sections);
    fputs(",\"runs\":[", page->file);
    if (status == LOCUS_OK)
        status = put_runs(page, error);
    fputs("]}</script>\n", page->file);
    cJSON_free(sections);
    cJSON_Delete(summary);
    return status;
}
