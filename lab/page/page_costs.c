/* SPDX-License-Identifier: MIT */
/* What each encoding cost, the runs that do not count, and the list of all runs with their commands. */
#include "page/cost_columns.h"
#include "page/page.h"

#include <inttypes.h>

/* ---- cost ---- */

/* `most`: what a bar as wide as the column stands for; 0: there are no bars. */
static void put_cost(lab_page *page, const lab_summary_row *row, const lab_cost *column, double most) {
    const lab_statistic *s = lab_cost_of(row, column);
    char text[40];
    if (s->count == 0) {
        fputs("<td>—</td>", page->file);
        return;
    }
    column->format(text, sizeof text, s->mean);
    fprintf(page->file, "<td data-value=\"%.9g\">%s", s->mean, text);
    if (lab_cost_spread(s) > 0)
        fprintf(page->file, " <small>±%.1f&thinsp;%%</small>", lab_cost_spread(s));
    if (most > 0) {
        fprintf(page->file,
                "<svg class=\"bar\" viewBox=\"0 0 100 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect "
                "width=\"%.1f\" height=\"1\" fill=\"var(--c%zu)\"/></svg>",
                100 * s->mean / most, row->colour);
    }
    fputs("</td>", page->file);
}

static void put_costs(lab_page *page, const lab_summary_section *section) {
    const bool shared = lab_summary_shared_machine(page->summary, section);
    fputs("<thead><tr><th class=\"left\" scope=\"col\">encoding</th>", page->file);
    for (size_t c = 0; c < LAB_COSTS; c++)
        fprintf(page->file, "<th scope=\"col\">%s<small>%s</small></th>", lab_costs[c].name, lab_costs[c].unit);
    fputs("</tr></thead>\n<tbody>\n", page->file);
    for (size_t i = 0; i < section->row_count; i++) {
        const lab_summary_row *row = &section->rows[i];
        if (row->done == 0)
            continue;
        lab_page_row(page, row->encoding);
        for (size_t c = 0; c < LAB_COSTS; c++)
            put_cost(page, row, &lab_costs[c], shared ? 0 : lab_cost_most(section, &lab_costs[c]));
        fputs("</tr>\n", page->file);
    }
    fputs("</tbody></table></div></figure>\n", page->file);
}

/* What was measured while other runs had a part of the machine is not comparable: it is told, not drawn. */
void lab_page_costs(lab_page *page, const lab_summary_section *section) {
    char label[LAB_PAGE_LABEL];
    fputs("<figure data-save=\"scores\">", page->file);
    lab_page_table_number(page, label);
    fprintf(page->file,
            "What each encoding costs: means over seeds, with the deviation in per cent. %s%s</figcaption>\n",
            section->class->speed_note,
            lab_summary_shared_machine(page->summary, section)
                ? " <b>Runs were trained at the same time</b>, on one machine or several of a kind. Where they shared "
                  "it, speeds are lower and times longer than those of a run that has it alone, and not comparable."
                : "");
    lab_page_table(page, label);
    put_costs(page, section);
}

/* ---- runs ---- */

static const char *state_text(lab_run_state state) {
    return state == LAB_RUN_STARTED ? "not finished" : lab_run_state_name(state);
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

static void put_run(lab_page *page, const lab_run *run) {
    char time[40], memory[40] = "—";
    lab_cost_time(time, sizeof time, run->wall_seconds);
    if (run->peak_bytes > 0)
        lab_cost_memory(memory, sizeof memory, (double)run->peak_bytes);
    fputs("<tr><th scope=\"row\"><code>", page->file);
    lab_page_text(page, run->name ? run->name : "?");
    if (run->parent != NULL && run->parent[0] != '\0') {
        fputs("</code> <small>goes on from</small> <code>", page->file);
        lab_page_text(page, run->parent);
    }
    fprintf(page->file,
            "</code></th><td>%" PRIu64 "</td><td class=\"left\">%s</td><td>%" PRIu64
            "</td><td data-value=\"%.9g\">%s</td>"
            "<td",
            run->seed, state_text(run->state), run->steps_done, run->wall_seconds, time);
    if (run->peak_bytes > 0)
        fprintf(page->file, " data-value=\"%" PRId64 "\"", run->peak_bytes);
    fprintf(page->file, ">%s</td><td class=\"left\">", memory);
    lab_page_text(page, run->started ? run->started : "");
    fputs("</td><td class=\"left\"><code>", page->file);
    lab_page_text(page, run->command ? run->command : "");
    fputs("</code></td></tr>\n", page->file);
}

void lab_page_runs(lab_page *page, const lab_summary_section *section) {
    static const struct {
        const char *name;
        bool left;
    } heads[] = {{"run", true},   {"seed", false},        {"state", true},         {"steps", false},
                 {"time", false}, {"peak memory", false}, {"started (UTC)", true}, {"command", true}};
    const size_t number = (size_t)(section - page->summary->sections) + 1;
    char label[LAB_PAGE_LABEL];
    size_t count = 0;
    for (size_t i = 0; i < section->row_count; i++)
        count += section->rows[i].run_count;
    snprintf(label, sizeof label, "runs%zu", number);
    fprintf(page->file,
            "<details data-save=\"runs\"><summary id=\"%s\">The %zu run%s of this section, with memory and "
            "commands</summary>",
            label, count, count == 1 ? "" : "s");
    lab_page_table(page, label);
    fputs("<thead><tr>", page->file);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        fprintf(page->file, "<th%s scope=\"col\">%s</th>", heads[i].left ? " class=\"left\"" : "", heads[i].name);
    fputs("</tr></thead><tbody>\n", page->file);
    for (size_t i = 0; i < section->row_count; i++)
        for (size_t j = 0; j < section->rows[i].run_count; j++)
            put_run(page, section->rows[i].runs[j]);
    fputs("</tbody></table></div></details>\n", page->file);
}
