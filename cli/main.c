/* SPDX-License-Identifier: MIT */
/* The program `locus`: finds the command, parses its options, runs it, and makes sure that its output arrived.
 * Exit status: 0 done, 1 failed while running, 2 bad usage, 75 stopped by a scheduler and to be queued again. */
#include "command.h"
#include "io/clock.h"
#include "job_ranks.h"
#include "out_of_memory.h"
#include "output.h"
#include "plugins.h"
#include "stop.h"
#include "task/images/picture_pixels.h"
#include "train/machine.h"

#include <errno.h>
#include <locus/cpu.h>
#include <locus/encoding.h>
#include <locus/parallel.h>
#include <locus/version.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Words of `name` that argv begins with: all of them (1 or 2), or 0. */
static int match(const char *name, int argc, char **argv) {
    const char *space = strchr(name, ' ');
    size_t length = space ? (size_t)(space - name) : strlen(name);
    if (argc < 1 || strlen(argv[0]) != length || strncmp(argv[0], name, length) != 0)
        return 0;
    if (!space)
        return 1;
    return argc > 1 && strcmp(argv[1], space + 1) == 0 ? 2 : 0;
}

/* Lists the commands, or those whose name begins with `word` ("data"). */
static void list_commands(const char *word) {
    const size_t length = word ? strlen(word) : 0;
    for (const cli_command *const *command = cli_commands; *command; command++) {
        const char *name = (*command)->name;
        if (!word || (strncmp(name, word, length) == 0 && name[length] == ' '))
            printf("  %-15s %s\n", name, (*command)->summary);
    }
}

static bool is_family(const char *word) {
    size_t length = strlen(word);
    for (const cli_command *const *command = cli_commands; *command; command++)
        if (strncmp((*command)->name, word, length) == 0 && (*command)->name[length] == ' ')
            return true;
    return false;
}

static int help(const char *family) {
    printf("locus %s: positional encodings for Transformers as group actions\n\nusage: locus %s%s%sCOMMAND "
           "[options]\n\ncommands:\n",
           locus_version(), family ? "" : "[--plugin FILE.so] ", family ? family : "", family ? " " : "");
    list_commands(family);
    if (!family)
        printf("\n--plugin FILE.so, once or more before a command, loads encodings of one's own.\n");
    printf("\n'locus COMMAND --help' explains a command and shows an example. Exit status: 0 done, 1 failed while\n"
           "running, 2 bad usage, 75 stopped by SIGTERM: queue it again. Set NO_COLOR for plain output,\n"
           "LOCUS_ISA=scalar|avx2|avx512|avx512bf16|amx|neon to limit the kernels.\n");
    return 0;
}

/* The version and the commit it was made of, where that is known; then what this machine gets of it. */
static void print_version(void) {
    char version[80];
    lab_version_text(version, sizeof version);
    printf("locus %s\nkernels: %s, of", version, locus_isa_name(locus_cpu_isa()));
    for (unsigned level = LOCUS_ISA_SCALAR; level <= LOCUS_ISA_AMX; level *= 2)
        if (level == LOCUS_ISA_SCALAR || (locus_cpu_isas() & level))
            printf(" %s", locus_isa_name((locus_isa)level));
    printf("\nthreads: %zu\ninterface: %d\nencodings: %zu\n", locus_threads(), (int)locus_abi_version(),
           locus_encoding_registry_size());
}

static int unknown_command(int argc, char **argv) {
    const char *names[64];
    size_t count = 0;
    char word[128];
    bool family = is_family(argv[0]);
    for (; cli_commands[count] && count < 64; count++)
        names[count] = cli_commands[count]->name;
    if (family && argc < 2)
        return cli_usage_error("%s: which one? 'locus %s --help' lists what it can do", argv[0], argv[0]);
    snprintf(word, sizeof word, "%s%s%s", argv[0], family ? " " : "", family ? argv[1] : "");
    const char *near = cli_nearest(word, names, count);
    if (near)
        return cli_usage_error("unknown command '%s'; did you mean '%s'?", word, near);
    return cli_usage_error("unknown command '%s'; 'locus --help' lists the commands", word);
}

/* The command line as one would type it: words that a shell would take apart stand in single quotes. */
static char *quote_line(int argc, char **argv) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%";
    size_t bytes = 16;
    for (int i = 1; i < argc; i++)
        bytes += 4 * strlen(argv[i]) + 3;
    char *line = malloc(bytes), *at = line;
    if (!line)
        exit(cli_failure("out of memory while reading the command line"));
    at += sprintf(at, "locus");
    for (int i = 1; i < argc; i++) {
        *at++ = ' ';
        if (argv[i][0] && argv[i][strspn(argv[i], plain)] == '\0') {
            at += sprintf(at, "%s", argv[i]);
            continue;
        }
        *at++ = '\'';
        for (const char *c = argv[i]; *c; c++)
            at += *c == '\'' ? sprintf(at, "'\\''") : sprintf(at, "%c", *c);
        *at++ = '\'';
    }
    *at = '\0';
    return line;
}

/* A full disk or a closed pipe shows only when the buffer is written: a result that did not arrive is a failure. */
static int close_output(int status) {
    if (fflush(stdout) != 0 || ferror(stdout)) {
        int reason = errno;
        return status ? status : cli_failure("cannot write to standard output: %s", strerror(reason));
    }
    return status;
}

/* Shows how many pictures of one's own are decoded, five times a second, and asks whether to stop; never from two
 * threads at once. */
static bool tell_pictures(void *context, const char *phase, uint64_t done, uint64_t total) {
    static double shown;
    cli_progress *line = context;
    const double now = lab_seconds();
    const lab_progress progress = {.phase = phase,
                                   .step = done,
                                   .steps = total,
                                   .loss = (double)NAN,
                                   .dev_accuracy = (double)NAN,
                                   .seconds_left = (double)NAN};
    if (done == total) {
        cli_progress_end(line);
    } else if (now - shown > 0.2) {
        cli_progress_show(line, &progress);
        shown = now;
    }
    return !cli_stop_asked();
}

static int run(const cli_command *command, const char *line, int argc, char **argv) {
    cli_arguments arguments;
    const bool shares = (command->shared & CLI_RANKS) != 0;
    if (cli_ranks_follow() && !shares)
        return 0;
    int status = shares ? cli_ranks_open() : 0;
    if (status != 0)
        return status;
    status = cli_arguments_parse(&arguments, command, argc, argv);
    if (status == 0 && cli_flag(&arguments, "help")) {
        cli_usage(command);
    } else if (status == 0) {
        arguments.command_line = line;
        arguments.commands = cli_commands;
        cli_quiet = cli_ranks_follow() || ((command->shared & CLI_QUIET) && cli_flag(&arguments, "quiet"));
        if (cli_ranks_count() > 1 && !shares)
            cli_note("%s has nothing to share: the first of %zu ranks does it alone", command->name, cli_ranks_count());
        if ((command->shared & CLI_THREADS) && cli_given_by_user(&arguments, "threads") &&
            locus_threads_set((size_t)cli_integer(&arguments, "threads")) != LOCUS_OK)
            status = cli_failure("cannot start %s threads", cli_text(&arguments, "threads"));
        else
            status = command->run(&arguments);
    }
    cli_arguments_free(&arguments);
    return shares ? cli_ranks_close(status) : status;
}

int main(int argc, char **argv) {
    static cli_progress pictures;
    static const lab_watch watch = {tell_pictures, &pictures};
    cli_memory_watch();
    cli_ranks_look();
    lab_picture_pixels_listen(&watch);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of the write, which then cleans up */
    if (locus_environment_check(&cli_fault) != LOCUS_OK)
        return cli_usage_error("%s", cli_fault.message);
    const int given = argc;
    char **const words_given = argv;
    int plugin_words = 0;
    const int loaded = cli_plugins_load(argc, argv, &plugin_words);
    if (loaded != 0)
        return loaded;
    argc -= plugin_words;
    argv += plugin_words;
    if (argc < 2)
        return cli_usage_error("a command is missing; 'locus --help' lists the commands");
    if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "version")) {
        print_version();
        return close_output(0);
    }
    bool wants_help = !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help");
    if (wants_help && argc == 2)
        return close_output(help(NULL));
    if (is_family(argv[1]) && argc == 3 && (!strcmp(argv[2], "--help") || !strcmp(argv[2], "-h")))
        return close_output(help(argv[1]));
    int shift = !strcmp(argv[1], "help") ? 2 : 1; /* "locus help train" */
    for (const cli_command *const *command = cli_commands; *command; command++) {
        int words = match((*command)->name, argc - shift, argv + shift);
        if (words && shift == 2) {
            cli_usage(*command);
            return close_output(0);
        }
        if (words) {
            char *line = quote_line(given, words_given);
            int status = run(*command, line, argc - shift - words, argv + shift + words);
            free(line);
            return close_output(status);
        }
    }
    if (argv[1][0] == '-')
        return cli_usage_error("'%s' stands before any command; 'locus --help' lists the commands", argv[1]);
    return unknown_command(argc - shift, argv + shift);
}
