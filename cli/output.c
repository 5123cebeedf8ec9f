/* SPDX-License-Identifier: MIT */
/* Text, error lines, tables, JSON and the progress bar. Nothing here decides anything; it only says it. */
#include "output.h"

#include "io/json.h"
#include "io/printable.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool cli_quiet = false;
lab_table_format cli_form = LAB_TABLE_TEXT;
locus_error cli_fault = {.offset = -1};

static void *grow(void *block, size_t bytes) {
    block = realloc(block, bytes);
    if (!block)
        exit(cli_failure("out of memory"));
    return block;
}

/* ---- text ---- */

void cli_write_bytes(FILE *stream, const char *text, size_t bytes) {
    for (size_t at = 0, length; at < bytes; at += length) {
        bool shown;
        length = lab_printable_at(text + at, bytes - at, &shown);
        if (shown || text[at] == '\n' || text[at] == '\t')
            fwrite(text + at, 1, length, stream);
        else
            fputc('?', stream);
    }
}

static void write_list(FILE *stream, const char *format, va_list list) {
    va_list again;
    va_copy(again, list);
    const int length = vsnprintf(NULL, 0, format, list);
    if (length >= 0) {
        char *text = grow(NULL, (size_t)length + 1);
        vsnprintf(text, (size_t)length + 1, format, again);
        cli_write_bytes(stream, text, (size_t)length);
        free(text);
    }
    va_end(again);
}

void cli_write(FILE *stream, const char *format, ...) {
    va_list list;
    va_start(list, format);
    write_list(stream, format, list);
    va_end(list);
}

void cli_print(const char *format, ...) {
    va_list list;
    va_start(list, format);
    write_list(stdout, format, list);
    va_end(list);
}

/* ---- errors ---- */

static bool follows;
static char kept[2048];

static void print_line(const char *format, va_list list) {
    /* Built first and written at once, so that lines of several processes do not mix. It is one line, whatever the
     * name of a file is. */
    char line[2048];
    int length = snprintf(line, sizeof line, "locus: ");
    if (vsnprintf(line + length, sizeof line - (size_t)length, format, list) >= (int)sizeof line - length)
        lab_mark_cut(line, sizeof line);
    lab_printable(line, "");
    if (follows) {
        snprintf(kept, sizeof kept, "%s", line);
        return;
    }
    fflush(stdout);
    fprintf(stderr, "%s\n", line);
}

void cli_follow(void) {
    follows = cli_quiet = true;
    if (freopen("/dev/null", "w", stdout) == NULL)
        fclose(stdout);
}

const char *cli_kept_line(void) {
    return *kept == '\0' ? "" : kept + sizeof "locus: " - 1;
}

void cli_speak(void) {
    if (*kept != '\0')
        fprintf(stderr, "%s\n", kept);
}

int cli_usage_error(const char *format, ...) {
    va_list list;
    va_start(list, format);
    print_line(format, list);
    va_end(list);
    return 2;
}

int cli_failure(const char *format, ...) {
    va_list list;
    va_start(list, format);
    print_line(format, list);
    va_end(list);
    return 1;
}

void cli_note(const char *format, ...) {
    if (!cli_quiet) {
        va_list list;
        va_start(list, format);
        print_line(format, list);
        va_end(list);
    }
}

#define UNKNOWN "there is no encoding '" /* how the library begins to say so */

int cli_error(const locus_error *error) {
    const char *message = error->message[0] ? error->message : locus_status_text(error->status);
    const bool unknown = error->status == LOCUS_ERROR_SPEC && strncmp(message, UNKNOWN, sizeof UNKNOWN - 1) == 0;
    cli_failure("%s%s", message, unknown ? "; if a plugin has it, load that: locus --plugin FILE.so …" : "");
    return error->status == LOCUS_ERROR_SPEC ? 2 : 1;
}

int cli_done(locus_status status) {
    return status == LOCUS_OK ? 0 : cli_error(&cli_fault);
}

int cli_refusal(const locus_error *error) {
    if (error->status != LOCUS_ERROR_ARGUMENT)
        return cli_error(error);
    return cli_usage_error("%s%s%s%s", *error->argument ? "--" : "", error->argument, *error->argument ? ": " : "",
                           error->message);
}

int cli_error_in(const char *text, const locus_error *error) {
    int status = cli_error(error);
    const bool fits = text && strlen(text) <= 1000 && lab_is_printable(text); /* into a terminal's line, as it is */
    if (!follows && error->offset >= 0 && fits && (size_t)error->offset <= strlen(text)) {
        char before[1024];
        snprintf(before, sizeof before, "%.*s", (int)error->offset, text);
        char place[1024];
        snprintf(place, sizeof place, "%.*s", (int)(error->length > 0 ? error->length : 1), text + error->offset);
        size_t marks = lab_text_width(place);
        fprintf(stderr, "  %s\n  %*s^", text, (int)lab_text_width(before), "");
        for (size_t i = 1; i < marks; i++)
            fputc('~', stderr);
        fputc('\n', stderr);
    }
    return status;
}

int cli_done_in(const char *text, locus_status status) {
    return status == LOCUS_OK ? 0 : cli_error_in(text, &cli_fault);
}

/* ---- tables ---- */

/* On a terminal, NO_COLOR unset, TERM not "dumb". */
static bool wants_colour(void) {
    const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fileno(stdout)) && !(none && none[0]) && !(term && strcmp(term, "dumb") == 0);
}

void cli_table_print(lab_table *table) {
    static bool another = false;
    locus_error error;
    if (cli_form != LAB_TABLE_TEXT && another)
        putchar('\n');
    another = true;
    if (lab_table_write(table, cli_form, wants_colour(), stdout, &error) != LOCUS_OK)
        exit(cli_error(&error));
    lab_table_free(table);
}

int cli_shown_print(lab_shown *shown) {
    const bool lines = cli_form == LAB_TABLE_TEXT;
    size_t said = 0;
    const int status = cli_done(lab_shown_end(shown, &cli_fault));
    for (size_t i = 0; status == 0 && i < shown->table_count; i++) {
        lab_shown_table *part = &shown->tables[i];
        if (lines)
            cli_write_bytes(stdout, shown->text + said, part->at - said);
        said = part->at;
        if (!lines || !part->apart) {
            cli_table_print(part->table);
            part->table = NULL;
        }
    }
    if (status == 0 && lines)
        cli_write_bytes(stdout, shown->text + said, shown->bytes - said);
    lab_shown_free(shown);
    return status;
}

void cli_say(const char *format, ...) {
    va_list list;
    va_start(list, format);
    if (cli_form == LAB_TABLE_TEXT)
        write_list(stdout, format, list);
    va_end(list);
}

/* ---- text ---- */

void cli_print_wrapped(const char *text, size_t column, size_t indent) {
    for (; column < indent; column++)
        putchar(' ');
    bool first = true;
    while (*text) {
        size_t length = strcspn(text, " \n");
        char word[256];
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        size_t width = lab_text_width(word);
        if (!first && column + 1 + width > 100) {
            printf("\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            putchar(' ');
            column++;
        }
        fputs(word, stdout);
        column += width;
        first = false;
        text += length;
        text += strspn(text, " \n");
    }
    putchar('\n');
}

/* ---- JSON ---- */

/* The code of a character that lab_printable_at found whole. */
static unsigned code_of(const char *text, size_t bytes) {
    const unsigned char *at = (const unsigned char *)text;
    unsigned code = bytes == 1 ? at[0] : at[0] & (0x7FU >> bytes);
    for (size_t i = 1; i < bytes; i++)
        code = code << 6 | (at[i] & 0x3FU);
    return code;
}

/* cJSON escapes the first control characters only; others stand in strings, where they can be escaped too. What is no
 * UTF-8 has no code: it becomes U+FFFD. */
static void put_json(const char *text) {
    const size_t end = strlen(text);
    for (size_t at = 0, length; at < end; at += length) {
        bool shown;
        length = lab_printable_at(text + at, end - at, &shown);
        const unsigned code = code_of(text + at, length);
        if (shown || text[at] == '\n' || text[at] == '\t')
            fwrite(text + at, 1, length, stdout);
        else
            printf("\\u%04x", length == 1 && code >= 0x80 ? 0xFFFDU : code);
    }
    putchar('\n');
}

int cli_json_print(cJSON *root) {
    char *text = root ? cJSON_Print(root) : NULL;
    cJSON_Delete(root);
    if (!text || lab_json_losses() > 0) { /* what could not be added is missing in silence */
        cJSON_free(text);
        return cli_failure("out of memory while writing JSON");
    }
    put_json(text);
    cJSON_free(text);
    return 0;
}

/* ---- progress ---- */

size_t cli_terminal_columns(void) {
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void cli_bar(char *text, double share, size_t columns) {
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    size_t filled = (size_t)(share * (double)columns * 8 + 0.5);
    char *at = text;
    for (size_t i = 0; i < columns; i++) {
        const char *cell = filled >= 8 * (i + 1) ? "█" : filled > 8 * i ? eighths[filled - 8 * i] : " ";
        size_t bytes = strlen(cell);
        memcpy(at, cell, bytes);
        at += bytes;
    }
    *at = '\0';
}

void cli_progress_show(cli_progress *progress, const lab_progress *now) {
    if (cli_quiet || !isatty(STDERR_FILENO))
        return;
    char bar[64], details[256], speed[32], left[32], line[512];
    double share = now->steps ? (double)now->step / (double)now->steps : 0;
    cli_bar(bar, share, 16);
    lab_count_text(speed, sizeof speed, now->tokens_per_second);
    lab_seconds_text(left, sizeof left, now->seconds_left);
    snprintf(details, sizeof details, "%s %" PRIu64 "/%" PRIu64, now->phase, now->step, now->steps);
    if (isfinite(now->loss)) { /* not before the first step */
        size_t used = strlen(details);
        snprintf(details + used, sizeof details - used, "  loss %.4f", now->loss);
    }
    snprintf(line, sizeof line, "%s%s▕%s▏ %s", progress->label ? progress->label : "", progress->label ? " " : "", bar,
             details);
    lab_printable(line, ""); /* the label names a spec; a character that was cut goes */
    size_t columns = cli_terminal_columns();
    char more[3][64];
    snprintf(more[0], sizeof more[0], "  %s tokens/s", speed);
    snprintf(more[1], sizeof more[1], "  %s left", left);
    snprintf(more[2], sizeof more[2], "  dev %.2f %%", 100 * now->dev_accuracy);
    const bool known[3] = {now->tokens_per_second > 0, now->seconds_left >= 0 && isfinite(now->seconds_left),
                           now->dev_accuracy > 0};
    for (size_t i = 0; i < 3; i++) {
        const size_t length = strlen(line);
        if (known[i] && lab_text_width(line) + lab_text_width(more[i]) < columns &&
            length + sizeof more[i] < sizeof line)
            snprintf(line + length, sizeof line - length, "%s", more[i]);
    }
    if (lab_text_width(line) < columns)
        fprintf(stderr, "\r%s\033[K", line);
    else
        fprintf(stderr, "\r%.*s\033[K", (int)(columns - 1 < strlen(details) ? columns - 1 : strlen(details)), details);
    fflush(stderr);
    progress->shown = true;
}

void cli_line_wipe(bool *shown) {
    if (*shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
        *shown = false;
    }
}

void cli_progress_end(cli_progress *progress) {
    cli_line_wipe(&progress->shown);
}
