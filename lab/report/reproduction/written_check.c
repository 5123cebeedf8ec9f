/* SPDX-License-Identifier: MIT */
#include "report/reproduction/written_check.h"

#include "io/fail.h"
#include "report/reproduction/written_generated.h"
#include "report/reproduction/written_number.h"
#include "report/reproduction/written_value.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct checker {
    const lab_written_page *page;
    lab_written_tell *tell;
    void *context;
    size_t told;
    const char *at; /* in page->own */
} checker;

LAB_PRINTF(2, 3)
static void complain(checker *check, const char *format, ...) {
    char text[512];
    size_t line = check->page->first_line;
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    for (const char *c = check->page->own; c < check->at; c++)
        line += *c == '\n';
    check->told++;
    check->tell(check->context, line, text);
}

/* ---- counts ---- */

static bool is_counted(const checker *check, const lab_written_number *first, const lab_written_number *second) {
    const lab_findings *findings = check->page->view->findings;
    const size_t part = strtoul(first->digits, NULL, 10), whole = strtoul(second->digits, NULL, 10);
    lab_written_number one, other;
    const char *start = check->page->generated;
    for (const char *at = start; lab_written_number_next(start, at, &one); at = one.end)
        if (lab_written_number_counts(start, &one, &other) && strcmp(one.digits, first->digits) == 0 &&
            strcmp(other.digits, second->digits) == 0)
            return true;
    for (size_t i = 0; i < findings->count; i++) {
        for (size_t v = 0; v < 3; v++)
            if (findings->findings[i].item_count == whole && findings->findings[i].counts[v] == part)
                return true;
    }
    return false;
}

/* ---- verdicts ---- */

/* The verdict whose name stands at `text` as a word, or −1. */
static int verdict_at(const char *text, bool any_case) {
    for (int verdict = 0; verdict < 3; verdict++) {
        const char *name = lab_verdict_name((lab_verdict)verdict);
        const size_t length = strlen(name);
        if ((any_case ? strncasecmp : strncmp)(text, name, length) == 0 && !lab_written_is_word(text[length]))
            return verdict;
    }
    return -1;
}

static bool is_everywhere(const lab_findings *findings, int verdict) {
    for (size_t i = 0; i < findings->count; i++)
        if ((int)findings->findings[i].verdict != verdict)
            return false;
    return findings->count > 0;
}

/* ---- links ---- */

static bool begins_with(const char *text, const char *word) {
    return strncmp(text, word, strlen(word)) == 0;
}

typedef struct link {
    char text[256], target[512];
    const char *end;
} link;

/* [text](target) at `at`; what does not fit into the record is no link. */
static bool read_link(const char *at, link *found) {
    const size_t text = strcspn(at + 1, "]["), longest_text = sizeof found->text - 1;
    const char *middle = at + 1 + text;
    if (text > longest_text || !begins_with(middle, "]("))
        return false;
    const size_t target = strcspn(middle + 2, ") \n");
    if (target >= sizeof found->target || middle[2 + target] != ')')
        return false;
    snprintf(found->text, sizeof found->text, "%.*s", (int)text, at + 1);
    snprintf(found->target, sizeof found->target, "%.*s", (int)target, middle + 2);
    found->end = middle + 2 + target + 1;
    return true;
}

/* Whether a number as it is written is this value, rounded. */
static bool says(const lab_written_number *written, double value) {
    char text[64];
    snprintf(text, sizeof text, "%.*f", (int)written->decimals, fabs(value));
    const bool zero = strspn(text, "0.") == strlen(text);
    const bool negative = value < 0 && !zero;
    return strcmp(text, written->digits) == 0 && (zero || negative == (written->sign == '-'));
}

/* "52 of 128" says a share. */
static bool says_count(const lab_written_number *first, const lab_written_number *second, double percent) {
    return fabs(percent / 100 * strtod(second->digits, NULL) - strtod(first->digits, NULL)) < 0.5;
}

static void check_link(checker *check, const link *seen) {
    const char *path = strstr(seen->target, ".json#");
    char why[160];
    lab_written_value value;
    lab_written_number written, second;
    if (path == NULL)
        return; /* from elsewhere, and it says where */
    path = strchr(path, '#') + 1;
    if (strncmp(seen->target, check->page->runs, (size_t)(path - 1 - seen->target)) != 0 ||
        strlen(check->page->runs) != (size_t)(path - 1 - seen->target)) {
        complain(check, "'%s' is not of this page's runs, '%s'", seen->target, check->page->runs);
    } else if (!lab_written_find(check->page->view, check->page->store, path, &value, why)) {
        complain(check, "'%s': %s", path, why);
    } else if (value.word != NULL) {
        const char *at = seen->text;
        while (*at != '\0' && verdict_at(at, true) < 0)
            at++;
        if (*at == '\0' || strncasecmp(at, value.word, strlen(value.word)) != 0)
            complain(check, "'%s' is said of '%s', whose verdict is %s", seen->text, path, value.word);
    } else if (!lab_written_number_next(seen->text, seen->text, &written)) {
        complain(check, "'%s' says no number of '%s', which is %g", seen->text, path, value.value);
    } else if (!(lab_written_number_counts(seen->text, &written, &second) ? says_count(&written, &second, value.value)
                                                                          : says(&written, value.value))) {
        complain(check, "'%s' is said of '%s', which is %.10g", seen->text, path, value.value);
    }
}

/* ---- the text ---- */

/* The paragraph, item of a list or row of a table that a number stands in. */
static char *passage_of(const char *start, const char *at) {
    const char *begin = at, *end = at;
    while (begin > start && !(begin[-1] == '\n' && (*begin == '\n' || *begin == '-' || *begin == '|')))
        begin--;
    end += strcspn(end, "\n");
    while (*end == '\n' && end[1] != '\n' && end[1] != '-' && end[1] != '|' && end[1] != '\0')
        end += 1 + strcspn(end + 1, "\n");
    return strndup(begin, (size_t)(end - begin));
}

/* Without memory nothing stands anywhere. */
static bool stands(const checker *check, const lab_written_number *seen) {
    char *passage = passage_of(check->page->own, seen->begin);
    const bool found =
        passage != NULL && lab_written_stands(check->page->generated, check->page->view->table, passage, seen);
    free(passage);
    return found;
}

/* Checks a number and returns where to go on. */
static const char *check_number(checker *check, const lab_written_number *seen) {
    const char *start = check->page->own;
    lab_written_number second;
    if (lab_written_number_counts(start, seen, &second) && !seen->percent) {
        if (!is_counted(check, seen, &second)) {
            complain(check, "%s of %s is no count of the generated part, and links to no run", seen->digits,
                     second.digits);
        }
        return second.end;
    }
    if ((seen->decimals > 0 || lab_written_number_is_percent(start, seen)) && !stands(check, seen)) {
        complain(check,
                 "%.*s%s does not stand so in the generated part, of a scheme and column that are named here, and "
                 "links to no run",
                 seen->sign != 0, &seen->sign, seen->digits);
    }
    return seen->end;
}

static const char *check_word(checker *check) {
    const char *at = check->at;
    const int verdict = verdict_at(at, false);
    if (verdict >= 0 && !is_everywhere(check->page->view->findings, verdict)) {
        complain(check, "%s is not the verdict of every claim: link it to the one that is meant",
                 lab_verdict_name((lab_verdict)verdict));
    }
    while (lab_written_is_word(*at))
        at++;
    return at;
}

/* Behind a `word` in code; a mark without an end is none. */
static const char *skip_code(const char *at) {
    const char *end = strchr(at + 1, '`');
    return end != NULL ? end + 1 : at + 1;
}

size_t lab_written_check(const lab_written_page *page, lab_written_tell *tell, void *context) {
    checker check = {.page = page, .tell = tell, .context = context, .at = page->own};
    while (*check.at != '\0') {
        const char *at = check.at;
        link seen;
        lab_written_number digits;
        if (*at == '`') {
            check.at = skip_code(at);
        } else if (*at == '[' && read_link(at, &seen)) {
            check_link(&check, &seen);
            check.at = seen.end;
        } else if (isdigit((unsigned char)*at)) {
            check.at = lab_written_number_read(page->own, at, &digits) ? check_number(&check, &digits) : digits.end;
        } else if (lab_written_is_word(*at)) {
            check.at = check_word(&check);
        } else {
            check.at++;
        }
    }
    return check.told;
}
