/* SPDX-License-Identifier: MIT */
/* The man page locus(1), in man macros, made from the commands' tables. Only ASCII goes out: other characters become
 * \[uXXXX], which every groff device knows how to show. */
#include "completion.h"

#include <locus/version.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* A character beyond ASCII at *text; moves *text to its last byte. */
static uint32_t decode(const unsigned char **text) {
    const unsigned char *c = *text;
    size_t more = c[0] >= 0xF0 ? 3 : c[0] >= 0xE0 ? 2 : 1;
    uint32_t code = c[0] & (0x3Fu >> more);
    for (size_t i = 1; i <= more && (c[i] & 0xC0) == 0x80; i++) {
        code = code << 6 | (c[i] & 0x3Fu);
        *text = c + i;
    }
    return code;
}

static void put_roff(const char *text, size_t length) {
    bool line_start = true;
    for (const unsigned char *c = (const unsigned char *)text; c < (const unsigned char *)text + length; c++) {
        if (line_start && (*c == '.' || *c == '\''))
            fputs("\\&", stdout);
        line_start = *c == '\n';
        if (*c == '\\')
            fputs("\\e", stdout);
        else if (*c == '-')
            fputs("\\-", stdout);
        else if (*c == '\'')
            fputs("\\(aq", stdout);
        else if (*c == '"')
            fputs("\\(dq", stdout);
        else if (*c >= 0x80)
            printf("\\[u%04X]", (unsigned)decode(&c));
        else
            putchar(*c);
    }
}

static void put_text(const char *text) {
    put_roff(text, strlen(text));
}

static void put_paragraphs(const char *text) {
    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t length = end ? (size_t)(end - text) : strlen(text);
        printf(".PP\n");
        put_roff(text, length);
        putchar('\n');
        text += length + (end ? 2 : 0);
    }
}

static void put_option(const cli_option *option) {
    printf(".TP\n");
    if (option->letter)
        printf("\\fB\\-%c\\fR, ", option->letter);
    printf("\\fB\\-\\-");
    put_text(option->name);
    printf("\\fR");
    if (option->kind != CLI_FLAG) {
        printf(" \\fI");
        put_text(option->value);
        printf("\\fR");
    }
    putchar('\n');
    put_text(option->help);
    if (option->initial) {
        printf(" (default: ");
        put_text(option->initial);
        putchar(')');
    }
    putchar('\n');
}

static void put_examples(const char *examples) {
    printf(".PP\n.nf\n.RS\n");
    for (const char *line = examples; *line;) {
        size_t length = strcspn(line, "\n");
        put_roff(line, length);
        putchar('\n');
        line += length + (line[length] == '\n');
    }
    printf(".RE\n.fi\n");
}

static void put_command(const cli_command *command) {
    const cli_option *option;
    printf(".SS locus %s", command->name);
    if (command->operands[0]) {
        putchar(' ');
        put_text(command->operands);
    }
    printf("\n");
    put_text(command->summary);
    printf(".\n");
    put_paragraphs(command->details);
    for (size_t i = 0; (option = cli_option_at(command, i)) != NULL; i++)
        put_option(option);
    put_examples(command->examples);
}

void cli_completion_man(const cli_command *const *commands) {
    printf(".\\\" SPDX-License-Identifier: MIT\n.\\\" Made by 'locus completion man'.\n"
           ".TH LOCUS 1 \"\" \"locus %s\" \"User Commands\"\n"
           ".SH NAME\nlocus \\- positional encodings for Transformers as group actions\n"
           ".SH SYNOPSIS\n.B locus\n.RB [ \\-\\-plugin\n.IR FILE.so ]\n.I command\n.RI [ options ]\n.br\n.B locus\n.I "
           "command\n.B \\-\\-help\n.br\n"
           ".B locus \\-\\-version\n"
           ".SH DESCRIPTION\n"
           "A position is an element of a group, and a positional encoding maps it to an operator.\n"
           ".B locus\nlists encodings, writes their tables and operators, computes attention with them, trains "
           "Transformers "
           "to compare them, and reports what was measured.\n.PP\n"
           "An encoding is written\n.IR name ( option = value ,\\ ...);\nseveral are joined with +, as in\n"
           ".BR \\(aqrope\\ +\\ alibi\\(aq .\n"
           "Arrays are NumPy .npy files, parameters and checkpoints .safetensors.\n.PP\n"
           "Positions are a range\n.B 0:100\n(without its end; ends may be negative), a list\n.BR 0,5,7 ,\n"
           "real numbers\n.BR 0.5,1.25 ,\na box of a grid\n.BR grid:4x6 ,\n"
           "a .npy, or a text file with one position to a line.\n.PP\n"
           "\\-\\- ends the options; a negative number is never taken for an option.\n.PP\n"
           ".BI \\-\\-plugin \" FILE.so\"\nloads encodings of one's own from a shared object, before the command and "
           "as often "
           "as there are some. It runs with all rights of the program.\n"
           ".SH COMMANDS\n",
           LOCUS_VERSION_TEXT);
    for (const cli_command *const *command = commands; *command; command++)
        put_command(*command);
    printf(
        ".SH EXIT STATUS\n.TP\n.B 0\ndone\n.TP\n.B 1\nfailed while running\n.TP\n.B 2\nbad usage\n.TP\n.B 75\n"
        "a scheduler stopped a training, which goes on with the same command\n.PP\n"
        "An error is one line on standard error that begins with\n.BR locus: .\n"
        ".SH ENVIRONMENT\n.TP\n.B LOCUS_THREADS\nnumber of threads, if \\-\\-threads does not say\n.TP\n.B LOCUS_ISA\n"
        "scalar, avx2, avx512, avx512bf16, amx or neon: the highest kernel level to use\n.TP\n.B LOCUS_MPI\nopenmpi, "
        "mpich, none or FILE.so: "
        "which MPI ranks are started by\n.TP\n.B NO_COLOR\nif set, no "
        "colours\n"
        ".SH FILES\n.TP\n.I runs/locus.db\nthe run store; checkpoints lie beside it\n");
}
