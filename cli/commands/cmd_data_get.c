/* SPDX-License-Identifier: MIT */
/* locus data get: downloads a published data set, checks it, unpacks it; or takes it from an archive or a folder. */
#include "command.h"
#include "io/clock.h"
#include "io/published/published_set.h"
#include "output.h"
#include "stop.h"
#include "task/task_class.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- progress ---- */

#define REDRAW_SECONDS 0.1
#define LINE_SECONDS 10.0 /* where the line cannot be redrawn */

typedef struct meter {
    const char *name, *phase; /* the phase that `start` and `first` are of; NULL: none yet */
    double start, shown;      /* when it began, when it was last told about */
    uint64_t first;           /* bytes that were there when it began */
    bool open;                /* there is a line to wipe */
} meter;

/* "64 MiB of 162 MiB, 3.1 MiB/s, 31 s left" */
static void describe(char *text, size_t size, const meter *now, uint64_t done, uint64_t total) {
    char part[32], whole[48] = "", speed[48] = "", left[64] = "", number[32];
    double passed = lab_seconds() - now->start;
    double rate = passed > 1.0 ? (double)(done - now->first) / passed : 0;
    lab_bytes_text(part, sizeof part, (double)done);
    if (total > 0)
        snprintf(whole, sizeof whole, " of %s", lab_bytes_text(number, sizeof number, (double)total));
    if (rate > 0)
        snprintf(speed, sizeof speed, ", %s/s", lab_bytes_text(number, sizeof number, rate));
    if (rate > 0 && total > done) {
        lab_seconds_text(number, sizeof number, (double)(total - done) / rate);
        snprintf(left, sizeof left, ", %s left", number);
    }
    snprintf(text, size, "%s%s%s%s", part, whole, speed, left);
}

static void draw_bar(const meter *now, const char *text, uint64_t done, uint64_t total) {
    char bar[3 * 16 + 1];
    const size_t columns = cli_terminal_columns();
    cli_bar(bar, total > 0 ? (double)done / (double)total : 0, 16);
    char line[512];
    snprintf(line, sizeof line, "%s: %s ▕%s▏ %s", now->name, now->phase, bar, text);
    if (total == 0 || lab_text_width(line) >= columns)
        snprintf(line, sizeof line, "%s %s", now->phase, text);
    fprintf(stderr, "\r%.*s\033[K", lab_text_width(line) < columns ? (int)strlen(line) : (int)columns - 1, line);
    fflush(stderr);
}

static bool tell(void *context, const char *phase, uint64_t done, uint64_t total) {
    meter *now = context;
    double time = lab_seconds();
    bool terminal = isatty(STDERR_FILENO);
    if (now->phase == NULL || strcmp(now->phase, phase) != 0 || done < now->first)
        *now = (meter){now->name, phase, time, terminal ? 0 : time, done, now->open};
    if (!cli_quiet && time - now->shown >= (terminal ? REDRAW_SECONDS : LINE_SECONDS)) {
        char text[256];
        describe(text, sizeof text, now, done, total);
        if (terminal) {
            draw_bar(now, text, done, total);
            now->open = true;
        } else {
            cli_note("%s: %s %s", now->name, phase, text);
        }
        now->shown = time;
    }
    return !cli_stop_asked();
}

/* ---- get ---- */

typedef struct request {
    const lab_published_set *set;
    const char *from, *to;
    bool network; /* `from` is a URL */
} request;

/* ", 45 MiB are kept in data/cifar10.part and the same command goes on from there", or nothing. */
static void describe_part(char *text, size_t size, const request *asked) {
    char part[1024], number[32];
    struct stat facts;
    text[0] = '\0';
    if (asked->network && snprintf(part, sizeof part, "%s.part", asked->to) < (int)sizeof part &&
        stat(part, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0) {
        snprintf(text, size, "; %s are kept in %s and the same command goes on from there",
                 lab_bytes_text(number, sizeof number, (double)facts.st_size), part);
    }
}

/* One line: what happened, what is kept, what to do. */
static int report(const request *asked, const locus_error *error) {
    char kept[1200];
    describe_part(kept, sizeof kept, asked);
    if (error->status == LOCUS_ERROR_INTERRUPTED)
        return cli_failure("%s: stopped%s", asked->set->name, kept[0] ? kept : ", nothing was changed");
    if (strcmp(error->argument, "url") != 0)
        return cli_failure("%s%s", error->message, kept);
    return cli_failure("%s%s; without a network, fetch it elsewhere and run 'locus data get %s --from FILE'",
                       error->message, kept, asked->set->name);
}

/* true: the set is at `to`, and right. Else says what is wrong with what is there, if something is. */
static bool is_there(const request *asked, const lab_watch *watch, locus_error *error) {
    char *folder;
    if (lab_published_locate(asked->set, asked->to, &folder, error) != LOCUS_OK)
        return false;
    bool right = folder != NULL && lab_published_check(asked->set, folder, watch, error) == LOCUS_OK;
    if (folder == NULL)
        error->status = LOCUS_OK;
    free(folder);
    return right;
}

static int get(const request *asked) {
    meter now = {.name = asked->set->name};
    const lab_watch watch = {tell, &now};
    bool there = is_there(asked, &watch, &cli_fault);
    cli_line_wipe(&now.open);
    if (there) {
        cli_print("%s: already in %s, all %zu files as published\n", asked->set->name, asked->to,
                  asked->set->file_count);
        return 0;
    }
    if (cli_fault.status == LOCUS_ERROR_INTERRUPTED)
        return report(asked, &cli_fault);
    if (cli_fault.status != LOCUS_OK)
        cli_note("%s; it is fetched again", cli_fault.message);
    locus_status status = asked->network ? lab_published_fetch(asked->set, asked->from, asked->to, &watch, &cli_fault)
                                         : lab_published_take(asked->set, asked->from, asked->to, &watch, &cli_fault);
    cli_line_wipe(&now.open);
    if (status != LOCUS_OK)
        return report(asked, &cli_fault);
    cli_print("%s: %zu files in %s, all as published\n", asked->set->name, asked->set->file_count, asked->to);
    return 0;
}

static int fail_unknown(const char *name) {
    char list[512] = "";
    for (size_t i = 0; i < lab_task_count(); i++) {
        size_t used = strlen(list);
        if (lab_task_at(i)->download != NULL)
            snprintf(list + used, sizeof list - used, "%s%s", used > 0 ? ", " : "", lab_task_at(i)->name);
    }
    return cli_usage_error("data get: there is no set '%s' to download; there is %s", name, list);
}

/* Without the slashes at its end, so that names can be made of it. */
static char *copy_folder(const char *path) {
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    return strndup(path, length);
}

static int run(cli_arguments *arguments) {
    const char *name = arguments->operands[0];
    const lab_task *task = lab_task_find(name);
    const lab_published_set *set = task != NULL ? task->download : NULL;
    if (set == NULL && task != NULL) {
        cli_print("%s: nothing to download, 'locus data make %s' %s\n", name, name,
                  task->open_sequences != NULL && task->class->read ? "makes token files of any UTF-8 text"
                                                                    : "draws its samples from a seed");
        return 0;
    }
    if (set == NULL)
        return fail_unknown(name);
    const char *from = cli_text(arguments, "from"), *to = cli_text(arguments, "to");
    if (to != NULL && to[0] == '\0')
        return cli_usage_error("--to: needs the name of a folder");
    from = from != NULL ? from : set->url;
    char *folder = copy_folder(to != NULL ? to : set->folder);
    if (folder == NULL)
        return cli_failure("out of memory");
    const request asked = {set, from, folder, strstr(from, "://") != NULL};
    signal(SIGPIPE, SIG_IGN); /* a connection that the other side closes is an error like others */
    cli_stop_catch();
    int status = get(&asked);
    cli_stop_release();
    free(folder);
    return status;
}

static const cli_option options[] = {
    CLI_ROW_TEXT("from", 0, "FILE", "a URL, an archive (.tar.gz, .tar.xz, .tar) or a folder instead"),
    CLI_ROW_TEXT("to", 0, "DIR", "folder to put it in (data/NAME)"),
};

const cli_command cli_command_data_get = {
    .name = "data get",
    .summary = "downloads a data set, checks it and unpacks it",
    .operands = "NAME",
    .details =
        "cifar10 comes from its author's page (162 MiB, 176 MiB unpacked). Every file is checked by its SHA-256, "
        "and\nnothing stands under its own name before it is whole and right. What was half downloaded stays in a "
        ".part and\nis continued by the same command. The other tasks need no download.",
    .examples = "locus data get cifar10\n"
                "locus data get cifar10 --from ~/cifar-10-binary.tar.gz --to /srv/cifar10\n",
    .shared = CLI_QUIET,
    CLI_OPTIONS(options),
    .run = run,
};
