/* SPDX-License-Identifier: MIT */
/* What the program says, byte for byte: text of others, tables, JSON, error lines, and the progress bar on a terminal
 * of each width. */
#define _XOPEN_SOURCE 700 /* terminals of the test's own */
#include "encoding_argument.h"
#include "output.h"
#include "unit/captured.h"
#include "unit/child_exit.h"

#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define HOSTILE "\x1b[2J\x07\xc2\x9b|\x9b|\xe2\x80\xae|é"
#define SHOWN "?[2J??|?|?|é"

/* ---- text ---- */

static void text_of_others_is_shown(void **state) {
    (void)state;
    capture(STDOUT_FILENO);
    cli_print("%s\t%d\n", HOSTILE, 7);
    cli_write_bytes(stdout, "a\0b\x1b", 4);
    assert_string_equal(captured(), SHOWN "\t7\na?b?");
}

static void an_error_is_one_line(void **state) {
    (void)state;
    const locus_error error = {.status = LOCUS_ERROR_SPEC, .offset = 4, .length = 1, .message = "no such\nthing"};
    capture(STDERR_FILENO);
    assert_int_equal(cli_failure("'%s' is no\nfile", HOSTILE), 1);
    assert_int_equal(cli_error_in("abc\x1b"
                                  "c",
                                  &error),
                     2);
    assert_int_equal(cli_error_in("a–c", &error), 2);
    assert_string_equal(captured(), "locus: '" SHOWN "' is no?file\nlocus: no such?thing\nlocus: no such?thing\n"
                                    "  a–c\n    ^\n");
}

static void a_long_error_says_that_it_was_cut(void **state) {
    (void)state;
    char name[3000];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    capture(STDERR_FILENO);
    cli_failure("%s", name);
    const char *line = captured();
    assert_int_equal(strlen(line), 2048);
    assert_string_equal(line + 2048 - 5, "n…\n");
}

static void cells_are_single_lines(void **state) {
    static const char *const heads[] = {"name", ">n"};
    char long_cell[2000], *cut;
    (void)state;
    memset(long_cell, 'x', sizeof long_cell - 1);
    long_cell[sizeof long_cell - 1] = '\0';
    memcpy(long_cell + 1019, "é", 2); /* the cut falls into it */
    lab_table *table = lab_table_create(heads, 2);
    lab_table_cell(table, "a\nb%s", HOSTILE);
    lab_table_cell(table, "1");
    capture(STDOUT_FILENO);
    cli_table_print(table);
    assert_string_equal(captured(), "name             n\na?b" SHOWN "  1\n");
    table = lab_table_create(heads, 2);
    lab_table_cell(table, "%s", long_cell);
    lab_table_cell(table, "2");
    capture(STDOUT_FILENO);
    cli_table_print(table);
    assert_non_null(cut = strstr(captured(), "…  2\n"));
    assert_int_equal(cut[-1], 'x');
}

static void json_is_escaped(void **state) {
    (void)state;
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "t", HOSTILE "\x7f\n\"");
    capture(STDOUT_FILENO);
    assert_int_equal(cli_json_print(root), 0);
    assert_string_equal(captured(), "{\n\t\"t\":\t\"\\u001b[2J\\u0007\\u009b|\\ufffd|\\u202e|é\\u007f\\n\\\"\"\n}\n");
    capture(STDERR_FILENO);
    assert_int_equal(cli_json_print(NULL), 1);
    assert_string_equal(captured(), "locus: out of memory while writing JSON\n");
}

/* ---- what errors say, and their exit statuses ---- */

static void an_error_has_its_status(void **state) {
    (void)state;
    const locus_error unknown = {.status = LOCUS_ERROR_SPEC, .message = "there is no encoding 'x'"};
    /* A message that was taken back leaves its rest behind its end. */
    const locus_error silent = {.status = LOCUS_ERROR_MEMORY, .message = "\0rest"};
    const locus_error other = {.status = LOCUS_ERROR_IO, .message = "gone"};
    const locus_error asked = {.status = LOCUS_ERROR_ARGUMENT, .argument = "seed", .message = "too far"};
    const locus_error whole = {.status = LOCUS_ERROR_ARGUMENT, .message = "too little"};
    char line[200];
    capture(STDERR_FILENO);
    assert_int_equal(cli_error(&unknown), 2);
    assert_string_equal(captured(),
                        "locus: there is no encoding 'x'; if a plugin has it, load that: locus --plugin FILE.so …\n");
    capture(STDERR_FILENO);
    assert_int_equal(cli_error(&silent), 1);
    snprintf(line, sizeof line, "locus: %s\n", locus_status_text(LOCUS_ERROR_MEMORY));
    assert_string_equal(captured(), line);
    capture(STDERR_FILENO);
    assert_int_equal(cli_done(LOCUS_OK), 0);
    assert_int_equal(cli_refusal(&other), 1);
    assert_int_equal(cli_refusal(&asked), 2);
    assert_int_equal(cli_refusal(&whole), 2);
    cli_fault = other;
    assert_int_equal(cli_done(LOCUS_ERROR_IO), 1);
    cli_quiet = true;
    cli_note("unheard");
    cli_quiet = false;
    cli_note("%d of %d", 1, 2);
    assert_string_equal(captured(),
                        "locus: gone\nlocus: --seed: too far\nlocus: too little\nlocus: gone\nlocus: 1 of 2\n");
}

/* Marks stand below characters, not bytes; a text that is no line of a terminal, or is too short, has none. */
static void marks_stand_below_what_is_wrong(void **state) {
    char text[1003], wanted[2100];
    (void)state;
    locus_error error = {.status = LOCUS_ERROR_IO, .offset = 6, .length = 5, .message = "no"};
    capture(STDERR_FILENO);
    assert_int_equal(cli_error_in("é–xéé–yz", &error), 1); /* éé and a byte of what follows */
    error.offset = 1;
    error.length = 0;
    assert_int_equal(cli_error_in("abc", &error), 1);
    error.offset = 3;
    assert_int_equal(cli_error_in("abc", &error), 1);
    error.offset = 4;
    assert_int_equal(cli_error_in("abc", &error), 1);
    assert_int_equal(cli_error_in(NULL, &error), 1);
    error.offset = -1;
    assert_int_equal(cli_error_in("abc", &error), 1);
    assert_string_equal(captured(),
                        "locus: no\n  é–xéé–yz\n     ^~~\nlocus: no\n  abc\n   ^\nlocus: no\n  abc\n     ^\n"
                        "locus: no\nlocus: no\nlocus: no\n");
    memset(text, 'a', sizeof text - 1);
    text[1001] = '\0';
    error.offset = 0;
    error.length = 2;
    capture(STDERR_FILENO);
    assert_int_equal(cli_error_in(text, &error), 1);
    assert_int_equal(cli_error_in(text + 1, &error), 1);
    snprintf(wanted, sizeof wanted, "locus: no\nlocus: no\n  %s\n  ^~\n", text + 1);
    assert_string_equal(captured(), wanted);
}

/* Of two ranks one speaks: the other's lines are kept until they are asked for, and it prints nothing else. */
static void who_follows_is_silent(void **state) {
    (void)state;
    capture(STDERR_FILENO);
    const pid_t child = fork();
    if (child == 0) {
        const locus_error error = {.status = LOCUS_ERROR_SPEC, .offset = 1, .length = 1, .message = "no word"};
        bool good = *cli_kept_line() == '\0';
        cli_speak();
        cli_follow();
        good = good && cli_quiet && *cli_kept_line() == '\0' && cli_failure("lost") == 1;
        good = good && strcmp(cli_kept_line(), "lost") == 0 && cli_error_in("abc", &error) == 2;
        good = good && strcmp(cli_kept_line(), "no word") == 0;
        cli_print("not seen");
        cli_speak();
        fflush(NULL);
        child_exit(good ? 0 : 1);
    }
    int how = 0;
    assert_true(child > 0 && waitpid(child, &how, 0) == child);
    assert_string_equal(captured(), "locus: no word\n");
    assert_int_equal(how, 0);
}

/* ---- lines ---- */

/* 100 columns are filled, the next word goes below the first; blanks of any number are one. */
static void text_is_wrapped(void **state) {
    char text[400], wanted[400], letters[4][96];
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        memset(letters[i], "xyzw"[i], 95);
        letters[i][95] = '\0';
    }
    /* 4 + 46 + 1 + 4 + 1 + 44 columns, 4 + 1 + 1 + 94, and 4 + 1 + 1 + 95 that are too many */
    snprintf(text, sizeof text, "%.46s  éééé\n%.44s a\n %.94s b %s", letters[0], letters[1], letters[2], letters[3]);
    snprintf(wanted, sizeof wanted, "   %.46s éééé %.44s\n    a %.94s\n    b\n    %s\n", letters[0], letters[1],
             letters[2], letters[3]);
    capture(STDOUT_FILENO);
    cli_print_wrapped(text, 1, 4);
    assert_string_equal(captured(), wanted);
}

/* ---- progress ---- */

/* Every eighth of a cell has its sign; between two the nearer. */
static void bars_have_eighths(void **state) {
    static const char *const parts[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    (void)state;
    for (size_t n = 0; n <= 24; n++) {
        char wanted[40] = "", got[40];
        for (size_t cell = 0; cell < 3; cell++)
            strcat(wanted, n / 8 > cell ? "█" : n / 8 == cell ? parts[n % 8] : " ");
        for (int side = -1; side <= 1; side++) {
            cli_bar(got, ((double)n + 0.49 * side) / 24, 3);
            assert_string_equal(got, wanted);
        }
    }
}

/* What a terminal of so many columns is sent, without the codes around it. */
static const char *bar_line(const lab_progress *now, const char *label, unsigned short columns) {
    static char text[1000];
    cli_progress bar = {.label = label};
    struct winsize size = {.ws_row = 24, .ws_col = columns};
    const int master = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    const int terminal = open(ptsname(master), O_RDWR | O_NOCTTY), old = dup(STDERR_FILENO);
    assert_true(terminal >= 0 && ioctl(terminal, TIOCSWINSZ, &size) == 0);
    assert_int_equal(dup2(terminal, STDERR_FILENO), STDERR_FILENO);
    cli_progress_show(&bar, now);
    assert_int_equal(dup2(old, STDERR_FILENO), STDERR_FILENO);
    const ssize_t bytes = read(master, text, sizeof text - 1);
    assert_true(bytes > 4 && bar.shown);
    text[bytes] = '\0';
    close(old);
    close(terminal);
    close(master);
    assert_int_equal(text[0], '\r');
    assert_string_equal(text + bytes - 3, "\033[K");
    text[bytes - 3] = '\0';
    return text + 1;
}

static void the_bar_says_what_there_is_room_for(void **state) {
    static const char bar[] = "copy ▕████████        ▏ train 50/100  loss 1.2500";
    char line[200];
    lab_progress now = {.phase = "train",
                        .step = 50,
                        .steps = 100,
                        .loss = 1.25,
                        .tokens_per_second = 2000,
                        .seconds_left = 30,
                        .dev_accuracy = 0.5};
    (void)state;
    const size_t width = lab_text_width(bar);
    assert_string_equal(bar_line(&now, "copy", 60), bar);
    snprintf(line, sizeof line, "%s  2.00 k tokens/s  30 s left  dev 50.00 %%", bar);
    assert_string_equal(bar_line(&now, "copy", 120), line);
    assert_string_equal(bar_line(&now, "copy", (unsigned short)(lab_text_width(line) + 1)), line);
    *strstr(line, "  dev") = '\0'; /* one column too few */
    assert_string_equal(
        bar_line(&now, "copy", (unsigned short)(lab_text_width(line) + lab_text_width("  dev 50.00 %"))), line);
    now.tokens_per_second = 0;
    now.seconds_left = (double)NAN;
    snprintf(line, sizeof line, "%s  dev 50.00 %%", bar);
    assert_string_equal(bar_line(&now, "copy", 120), line);
    now.dev_accuracy = 0;
    assert_string_equal(bar_line(&now, "copy", 120), bar);
    assert_string_equal(bar_line(&now, "copy", (unsigned short)(width + 1)), bar);
    assert_string_equal(bar_line(&now, "copy", (unsigned short)width), "train 50/100  loss 1.2500");
    assert_string_equal(bar_line(&now, "copy", 10), "train 50/");
    now.loss = (double)NAN;
    assert_string_equal(bar_line(&now, NULL, 120), "▕████████        ▏ train 50/100");
    assert_string_equal(bar_line(&now, "a\x1b[31m", 120), "a?[31m ▕████████        ▏ train 50/100");
}

/* On a terminal of any width a line has 511 bytes: what may not fit is left out, and a label is cut. */
static void a_long_bar_is_cut(void **state) {
    const lab_progress now = {.phase = "p", .step = 1, .steps = 1, .loss = 0, .dev_accuracy = 0.5};
    char label[600], bar[100], line[700];
    (void)state;
    snprintf(bar, sizeof bar, "%s", bar_line(&(lab_progress){.phase = "p", .step = 1, .steps = 1}, NULL, 600));
    memset(label, 'x', sizeof label);
    const size_t rest = strlen(bar) + 1;
    for (size_t length = 447; length <= 448; length++) {
        label[length - rest] = '\0';
        snprintf(line, sizeof line, "%s %s%s", label, bar, length == 447 ? "  dev 50.00 %" : "");
        assert_string_equal(bar_line(&now, label, 600), line);
        label[length - rest] = 'x';
    }
    label[512] = '\0';
    memcpy(line, label, 511);
    line[511] = '\0';
    assert_string_equal(bar_line(&now, label, 600), line);
}

/* Every element is looked at and none behind the last, in float32 and in float64. */
static void results_are_looked_at(void **state) {
    (void)state;
    float narrow[7] = {0, -1, FLT_MAX, -FLT_MAX, 1e-40f, 5, NAN};
    double wide[7] = {0, -1, (double)FLT_MAX, -(double)FLT_MAX, 1e-310, 5, (double)NAN};
    lab_array arrays[2] = {{.dtype = LAB_F32, .rank = 2, .shape = {2, 3}, .data = narrow},
                           {.dtype = LAB_F64, .rank = 2, .shape = {2, 3}, .data = wide}};
    capture(STDERR_FILENO);
    const int good[2] = {cli_array_check(&arrays[0], "x.npy"), cli_array_check(&arrays[1], "x.npy")};
    narrow[5] = NAN;
    wide[0] = 2 * (double)FLT_MAX;
    const int bad[2] = {cli_array_check(&arrays[0], "x.npy"), cli_array_check(&arrays[1], "y.npy")};
    const char *text = captured();
    assert_true(good[0] == 0 && good[1] == 0 && bad[0] == 1 && bad[1] == 1);
    assert_memory_equal(text, "locus: x.npy is not written: element ", 37);
    assert_non_null(strstr(text, "1, 2"));
    assert_non_null(strstr(text, " is NaN; "));
    assert_non_null(strstr(text, "\nlocus: y.npy is not written: element "));
    assert_non_null(strstr(text, "0, 0"));
    assert_non_null(strstr(text, " is beyond float32; "));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_of_others_is_shown),
        cmocka_unit_test(an_error_is_one_line),
        cmocka_unit_test(a_long_error_says_that_it_was_cut),
        cmocka_unit_test(cells_are_single_lines),
        cmocka_unit_test(json_is_escaped),
        cmocka_unit_test(an_error_has_its_status),
        cmocka_unit_test(marks_stand_below_what_is_wrong),
        cmocka_unit_test(who_follows_is_silent),
        cmocka_unit_test(text_is_wrapped),
        cmocka_unit_test(bars_have_eighths),
        cmocka_unit_test(the_bar_says_what_there_is_room_for),
        cmocka_unit_test(a_long_bar_is_cut),
        cmocka_unit_test(results_are_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
