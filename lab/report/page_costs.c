/* SPDX-License-Identifier: MIT */
/* What each encoding cost, the runs that do not count, and the list of all runs with their commands. */
#include "report/page.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

/* ---- cost ---- */

typedef void format_value(char *text, size_t size, double value);

static void format_large(char *text, size_t size, double value) {
    const char *unit = value >= 1e6 ? " M" : value >= 1e4 ? " k" : "";
    double scaled = value >= 1e6 ? value / 1e6 : value >= 1e4 ? value / 1e3 : value;
    snprintf(text, size, "%.*f%s", *unit ? (scaled < 10 ? 2 : 1) : 0, scaled, unit);
}

static void format_time(char *text, size_t size, double value) {
    if (value < 100)
        snprintf(text, size, "%.1f s", value);
    else if (value < 6000)
        snprintf(text, size, "%.1f min", value / 60);
    else
        snprintf(text, size, "%.1f h", value / 3600);
}

static void format_memory(char *text, size_t size, double value) {
    if (value < 0x1p30)
        snprintf(text, size, "%.0f MiB", value / 0x1p20);
    else
        snprintf(text, size, "%.2f GiB", value / 0x1p30);
}

static void put_bars(lab_page *page, const lab_summary_section *section, const char *title, size_t offset,
                     format_value *format) {
    double most = 0;
    for (size_t i = 0; i < section->row_count; i++) {
        const lab_statistic *s = (const lab_statistic *)(const void *)((const char *)&section->rows[i] + offset);
        most = fmax(most, s->mean);
    }
    if (most <= 0)
        return;
    fprintf(page->file, "<div><h4>%s</h4>\n", title);
    for (size_t i = 0; i < section->row_count; i++) {
        const lab_statistic *s = (const lab_statistic *)(const void *)((const char *)&section->rows[i] + offset);
        if (s->count == 0)
            continue;
        char text[40], spread[40];
        format(text, sizeof text, s->mean);
        fputs("<div class=\"bar\"><span title=\"", page->file);
        lab_page_text(page, section->rows[i].encoding);
        fputs("\">", page->file);
        lab_page_text(page, section->rows[i].encoding);
        fprintf(page->file, "</span><i style=\"width:%.1f%%;background:var(--s%zu)\"></i><span>%s",
                100 * s->mean / most, section->rows[i].colour % 8 + 1, text);
        if (s->count > 1 && s->deviation > 0.0005 * s->mean) {
            snprintf(spread, sizeof spread, "%.1f", 100 * s->deviation / s->mean);
            fprintf(page->file, " ±%s&thinsp;%%", spread);
        }
        fputs("</span></div>\n", page->file);
    }
    fputs("</div>\n", page->file);
}

void lab_page_costs(lab_page *page, const lab_summary_section *section) {
    static const struct {
        const char *speed, *caption;
    } words[] = {
        {"Training speed, real tokens a second",
         "Real tokens are those of inputs and targets; nothing is padded. Memory is the process's peak resident "
         "size."},
        {"Training speed, tokens a second",
         "Tokens are the places of the grid that the encoder reads. Memory is the process's peak resident size."},
        {"Training speed, tokens a second",
         "Tokens are those that the model reads; nothing is padded. Memory is the process's peak resident size."}};
    const size_t kind = section->kind == LAB_TASK_IMAGES                                     ? 1
                        : section->kind == LAB_TASK_WORDS || section->kind == LAB_TASK_TREES ? 0
                                                                                             : 2;
    fputs("<figure><div class=\"bars\">\n", page->file);
    put_bars(page, section, words[kind].speed, offsetof(lab_summary_row, tokens_per_second), format_large);
    put_bars(page, section, "Time of a run", offsetof(lab_summary_row, wall_seconds), format_time);
    put_bars(page, section, "Peak memory of the process", offsetof(lab_summary_row, peak_bytes), format_memory);
    put_bars(page, section, "Learned parameters", offsetof(lab_summary_row, parameters), format_large);
    fprintf(
        page->file,
        "</div><figcaption><b>Figure %zu.</b> What each encoding costs: means over seeds, with the deviation in per "
        "cent. %s%s</figcaption></figure>\n",
        ++page->figures, words[kind].caption,
        lab_summary_shared_machine(page->summary, section)
            ? " <b>Runs shared the machine</b>, so that speeds and times are lower and longer than those of a run "
              "that has it alone, and not comparable with each other."
            : "");
}

/* ---- runs ---- */

static const char *state_text(lab_run_state state) {
    static const char *const names[] = {"not finished", "done", "stopped", "failed"};
    return (unsigned)state < 4 ? names[state] : "unknown";
}

/* The runs that did not finish, or those that did and left a message, under a heading if there are any. */
static void put_notes(lab_page *page, const lab_summary_section *section, const char *heading, bool done) {
    size_t found = 0;
    for (size_t i = 0; i < section->row_count; i++) {
        for (size_t j = 0; j < section->rows[i].run_count; j++) {
            const lab_run *run = section->rows[i].runs[j];
            bool has_message = run->message && run->message[0];
            if ((run->state == LAB_RUN_DONE) != done || (done && !has_message))
                continue;
            fputs(found++ ? "" : heading, page->file);
            fputs("<li><code>", page->file);
            lab_page_text(page, run->name ? run->name : "?");
            fputs("</code>: ", page->file);
            if (!done) {
                fprintf(page->file, "%s at step %" PRIu64 " of %" PRIu64 "%s", state_text(run->state), run->steps_done,
                        run->steps_total, has_message ? "; " : "");
            }
            lab_page_text(page, has_message ? run->message : "");
            fputs("</li>\n", page->file);
        }
    }
    fputs(found ? "</ul></div>\n" : "", page->file);
}

void lab_page_unfinished(lab_page *page, const lab_summary_section *section) {
    put_notes(page, section,
              "<div class=\"finding warn\"><p><b>Not counted above</b>, because they did not finish:</p><ul>\n", false);
    put_notes(page, section, "<div class=\"finding warn\"><p><b>Notes</b> on finished runs:</p><ul>\n", true);
}

void lab_page_runs(lab_page *page, const lab_summary_section *section) {
    size_t count = 0;
    for (size_t i = 0; i < section->row_count; i++)
        count += section->rows[i].run_count;
    fprintf(
        page->file,
        "<details><summary>The %zu run%s of this section, with memory and commands</summary><div class=\"wide\"><table>"
        "<thead><tr><th class=\"left\">run</th><th>seed</th><th class=\"left\">state</th><th>steps</th><th>time</th>"
        "<th>peak memory</th><th class=\"left\">started (UTC)</th><th "
        "class=\"left\">command</th></tr></thead><tbody>\n",
        count, count == 1 ? "" : "s");
    for (size_t i = 0; i < section->row_count; i++) {
        for (size_t j = 0; j < section->rows[i].run_count; j++) {
            const lab_run *run = section->rows[i].runs[j];
            char time[40], memory[40] = "—";
            format_time(time, sizeof time, run->wall_seconds);
            if (run->peak_bytes > 0)
                format_memory(memory, sizeof memory, (double)run->peak_bytes);
            fputs("<tr><td><code>", page->file);
            lab_page_text(page, run->name ? run->name : "?");
            fprintf(page->file,
                    "</code></td><td>%" PRIu64 "</td><td class=\"left\">%s</td><td>%" PRIu64 "</td><td>%s</td>"
                    "<td>%s</td><td class=\"left\">",
                    run->seed, state_text(run->state), run->steps_done, time, memory);
            lab_page_text(page, run->started ? run->started : "");
            fputs("</td><td class=\"left\"><code>", page->file);
            lab_page_text(page, run->command ? run->command : "");
            fputs("</code></td></tr>\n", page->file);
        }
    }
    fputs("</tbody></table></div></details>\n", page->file);
}
