/* SPDX-License-Identifier: MIT */
/* What a run must hold to after a fault:
 *
 *   ended well      the same output and the same files as without the fault
 *   failed          exit status 1 or 2, one line "locus: …" (which says memory if memory failed); every file is as it
 *                   was or as it should have become; nothing else lies there
 *   after either    the same command, left alone, ends well */
#include "faults.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const fault no_fault = {.kind = FAULT_NONE};

/* ---- the reference ---- */

static void start_fresh(void) {
    fault_folder_remove("work");
    fault_folder_remove("tmp");
    fault_folder_copy("before", "work");
    mkdir("tmp", 0777);
}

static void prepare(const fault_case *which) {
    fault_folder_remove("before");
    mkdir("before", 0777);
    char command[4096];
    snprintf(command, sizeof command, "cd before && { %s\n}", which->prepare);
    if (which->prepare != NULL && system(command) != 0) {
        fprintf(stderr, "faults: '%s' cannot be prepared\n", which->name);
        exit(1);
    }
}

static void run_well(const fault_case *which, fault_run *run) {
    start_fresh();
    fault_run_case(which, &no_fault, run);
    if (run->state != 0 || run->hung) {
        fprintf(stderr, "faults: '%s' fails without a fault: %s\n", which->name, run->err);
        exit(1);
    }
}

static void mark_what_varies(fault_tree *tree, const fault_tree *other) {
    for (size_t i = 0; i < tree->count; i++) {
        const fault_file *again = fault_tree_find(other, tree->files[i].path);
        tree->files[i].varies = again != NULL && !fault_file_same(&tree->files[i], again);
        if (tree->files[i].varies &&
            (fnmatch("*.db", again->path, 0) == 0 || fnmatch("*.safetensors", again->path, 0) == 0)) {
            fprintf(stderr, "faults: %s differs between two good runs\n", again->path);
            exit(1);
        }
    }
}

/* Two good runs, more than a second apart where times may show: what differs between them is not compared. */
void fault_reference_make(fault_reference *reference, const fault_case *which) {
    fault_run run, again;
    fault_tree other;
    *reference = (fault_reference){.which = which};
    prepare(which);
    fault_tree_read(&reference->before, "before");
    const double began = fault_seconds_now();
    run_well(which, &run);
    reference->seconds = fault_seconds_now() - began;
    fault_tree_read(&reference->after, "work");
    if (which->trains && reference->seconds < 1.1)
        usleep(1100000);
    run_well(which, &again);
    fault_tree_read(&other, "work");
    mark_what_varies(&reference->after, &other);
    reference->out_varies = strcmp(run.out, again.out) != 0;
    reference->out = strdup(run.out);
    reference->err = strdup(run.err);
    fault_tree_free(&other);
    fault_run_free(&run);
    fault_run_free(&again);
}

void fault_reference_free(fault_reference *reference) {
    fault_tree_free(&reference->before);
    fault_tree_free(&reference->after);
    free(reference->out);
    free(reference->err);
}

/* ---- telling ---- */

static void tell(const fault_reference *reference, const fault *wanted, const char *what, const char *more) {
    static const char *const kinds[] = {"none", "allocation", "call", "kill-call", "kill-time"};
    printf("FOUND %s %s %ld %zu%s: %s%s%s [%s]\n", reference->which->name, kinds[wanted->kind], wanted->number,
           wanted->variant, wanted->lasting ? " lasting" : "", what, *more == '\0' ? "" : ": ", more,
           fault_shared->what);
    if (wanted->kind == FAULT_ALLOCATION && fault_shared->depth > 0) {
        fflush(stdout);
        backtrace_symbols_fd(fault_shared->trace + 2, fault_shared->depth - 2, STDOUT_FILENO);
    }
    if (fault_shared->crash_depth > 1) {
        printf("  crashed at\n");
        fflush(stdout);
        backtrace_symbols_fd(fault_shared->crash + 1, fault_shared->crash_depth - 1, STDOUT_FILENO);
    }
}

/* ---- what lies in the folder ---- */

/* What a training that goes on later may keep: its checkpoint and lock, the store's log. And a store's journal where
 * nothing can be read any more, not even to take back what was begun: whoever opens the store next does it. */
static bool may_be_kept(const fault_case *which, const fault *wanted, const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
    if (wanted->kind == FAULT_CALL && wanted->lasting && strcmp(name, "locus.db-journal") == 0)
        return true;
    return which->trains && name[0] != '.' && strstr(name, ".tmp") == NULL;
}

/* Whether a file lies where it should not: it is neither one of the beginning nor one of the end, or, when all is done
 * (`wanted` is NULL), not one of the end. */
static bool is_left(const fault_reference *reference, const fault *wanted, const char *path) {
    const bool old = fault_tree_find(&reference->before, path) != NULL;
    if (fault_tree_find(&reference->after, path) != NULL)
        return false;
    return wanted == NULL || (!old && !may_be_kept(reference->which, wanted, path));
}

/* The first such file. */
static const char *find_left(const fault_reference *reference, const fault *wanted) {
    static char found[1024];
    fault_tree now, temporary;
    fault_tree_list(&now, "work");
    fault_tree_list(&temporary, "tmp");
    found[0] = '\0';
    for (size_t i = 0; i < now.count && found[0] == '\0'; i++)
        if (is_left(reference, wanted, now.files[i].path))
            snprintf(found, sizeof found, "%s", now.files[i].path);
    if (found[0] == '\0' && temporary.count > 0)
        snprintf(found, sizeof found, "TMPDIR/%s", temporary.files[0].path);
    fault_tree_free(&now);
    fault_tree_free(&temporary);
    return found[0] == '\0' ? NULL : found;
}

/* First file that is not as after a good run; missing ones too. */
static const char *find_other(const fault_reference *reference) {
    static char found[1024];
    fault_tree now;
    fault_tree_read(&now, "work");
    found[0] = '\0';
    for (size_t i = 0; i < reference->after.count && found[0] == '\0'; i++) {
        const fault_file *good = &reference->after.files[i], *file = fault_tree_find(&now, good->path);
        if (file == NULL || (!good->varies && !fault_file_same(file, good)))
            snprintf(found, sizeof found, "%s%s", good->path, file == NULL ? " is missing" : " differs");
    }
    fault_tree_free(&now);
    return found[0] == '\0' ? NULL : found;
}

/* First file of a failed run that is neither as before nor as it should have become. */
static const char *find_damaged(const fault_reference *reference) {
    static char found[1024];
    fault_tree now;
    fault_tree_read(&now, "work");
    found[0] = '\0';
    for (size_t i = 0; i < now.count && found[0] == '\0'; i++) {
        const fault_file *file = &now.files[i], *old = fault_tree_find(&reference->before, file->path),
                         *good = fault_tree_find(&reference->after, file->path);
        const bool whole = (old != NULL && fault_file_same(file, old)) ||
                           (good != NULL && (good->varies || fault_file_same(file, good)));
        if (!whole && (old != NULL || good != NULL))
            snprintf(found, sizeof found, "%s is neither old nor new", file->path);
    }
    for (size_t i = 0; i < reference->before.count && found[0] == '\0'; i++)
        if (fault_tree_find(&now, reference->before.files[i].path) == NULL)
            snprintf(found, sizeof found, "%s is gone", reference->before.files[i].path);
    fault_tree_free(&now);
    return found[0] == '\0' ? NULL : found;
}

/* ---- lines ---- */

/* Lines "locus: …" other than those a good run prints (notes, progress); lines of a spec and its caret don't count. */
static size_t count_lines(const fault_reference *reference, const char *text, const char **last) {
    size_t count = 0;
    for (const char *at = text; *at != '\0'; at += strcspn(at, "\n"), at += *at == '\n') {
        char line[2100];
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        if (strncmp(at, "  ", 2) != 0 && strstr(reference->err, line) == NULL &&
            strncmp(at, "locus: note: ", 13) != 0) {
            count++;
            *last = at;
        }
    }
    return count;
}

/* ---- crashes inside libraries ---- */

enum { INSIDE = 64 };

static struct {
    char where[200];
    long times;
} inside[INSIDE];
static size_t inside_count;

static void remember(const Dl_info *facts, const void *address) {
    char where[sizeof inside->where];
    const char *slash = strrchr(facts->dli_fname, '/');
    snprintf(where, sizeof where, "%s+0x%zx, %s%s", slash == NULL ? facts->dli_fname : slash + 1,
             (size_t)((const char *)address - (const char *)facts->dli_fbase),
             facts->dli_sname == NULL ? "a function without a name" : "in or after ",
             facts->dli_sname == NULL ? "" : facts->dli_sname);
    for (size_t i = 0; i <= inside_count && i < INSIDE; i++) {
        if (i == inside_count)
            snprintf(inside[inside_count++].where, sizeof where, "%s", where);
        if (strcmp(inside[i].where, where) == 0) {
            inside[i].times++;
            return;
        }
    }
}

void fault_judge_tell_inside(void) {
    for (size_t i = 0; i < inside_count; i++)
        printf("  crashed inside a library, %ld times: %s\n", inside[i].times, inside[i].where);
}

/* Libraries that use what they were not given (seen: OpenSSL 3.0, oneDNN 2.6). Nothing here can mend that; what was
 * computed and written before must still be there, and is looked at. An exception that nobody caught is none of these:
 * locus ends before it is thrown. */
static bool crashed_inside(void) {
    static const char *const theirs[] = {"libcrypto", "libdnnl"}, *const between[] = {"libc.so", "libgcc_s", "libgomp"};
    for (int i = 1; i < fault_shared->crash_depth; i++) {
        Dl_info facts;
        const char *name = dladdr(fault_shared->crash[i], &facts) != 0 ? facts.dli_fname : NULL;
        bool passes = name == NULL; /* code made at run time */
        for (size_t k = 0; name != NULL && k < sizeof between / sizeof *between; k++)
            passes = passes || strstr(name, between[k]) != NULL;
        for (size_t k = 0; name != NULL && k < sizeof theirs / sizeof *theirs; k++) {
            if (strstr(name, theirs[k]) != NULL) {
                remember(&facts, fault_shared->crash[i]);
                return true;
            }
        }
        if (!passes)
            return false;
    }
    return false;
}

/* oneDNN 2.6's product of matrices goes on without memory that it was not given, and says that all went well. The
 * training sees that its loss is not finite, ends with that line and loses nothing; that it was for want of memory it
 * cannot know. */
static bool computed_without_memory(const fault *wanted, const fault_run *run) {
    if (wanted->kind != FAULT_ALLOCATION || strstr(run->err, "the loss is not finite") == NULL)
        return false;
    for (int i = 0; i < fault_shared->depth; i++) {
        Dl_info facts;
        if (dladdr(fault_shared->trace[i], &facts) != 0 && strstr(facts.dli_fname, "libdnnl") != NULL)
            return true;
    }
    return false;
}

/* ---- judging ---- */

static void judge_message(const fault_reference *reference, const fault *wanted, const fault_run *run,
                          fault_counts *counts) {
    const char *line = "";
    const size_t lines = count_lines(reference, run->err, &line);
    const char *flaw = NULL;
    if (reference->which->jobs && strstr(run->err, "ended by signal") != NULL && crashed_inside()) {
        counts->inside++;
        return;
    }
    /* For want of what OpenMP's threads need, the library ends the process, with a line of its own. */
    const bool ended = wanted->kind == FAULT_ALLOCATION && strncmp(run->err, "\nlibgomp: Out of memory", 23) == 0;
    if (ended || computed_without_memory(wanted, run)) {
        counts->inside++;
        return;
    }
    if (strncmp(line, "locus: ", 7) != 0 || (lines != 1 && !reference->which->jobs))
        flaw = "not one line 'locus: …'";
    else if (wanted->kind == FAULT_ALLOCATION && strcasestr(run->err, "memory") == NULL)
        flaw = "the message does not say memory";
    if (flaw != NULL) {
        counts->silent++;
        tell(reference, wanted, flaw, run->err);
    }
}

static void judge_end(const fault_reference *reference, const fault *wanted, const fault_run *run,
                      fault_counts *counts) {
    const bool exited = !run->hung && WIFEXITED(run->state);
    if (!run->hung && WIFSIGNALED(run->state) && crashed_inside()) {
        counts->inside++;
    } else if (!exited || WEXITSTATUS(run->state) > 2) {
        char how[64];
        snprintf(how, sizeof how,
                 run->hung ? "hangs"
                 : exited  ? "exit status %d"
                           : "ended by signal %d",
                 exited ? WEXITSTATUS(run->state) : WTERMSIG(run->state));
        counts->crashes++;
        tell(reference, wanted, how, run->err);
    } else if (WEXITSTATUS(run->state) == 0) {
        const char *other = find_other(reference);
        counts->harmless++;
        if (other != NULL || (!reference->out_varies && strcmp(run->out, reference->out) != 0)) {
            counts->wrong++;
            tell(reference, wanted, "exit 0 with another result", other != NULL ? other : run->out);
        }
    } else {
        counts->told++;
        judge_message(reference, wanted, run, counts);
        const char *damaged = reference->which->trains ? NULL : find_damaged(reference);
        if (damaged != NULL) {
            counts->wrong++;
            tell(reference, wanted, "lost", damaged);
        }
    }
}

/* The same command, left alone. */
static void judge_after(const fault_reference *reference, const fault *wanted, fault_counts *counts) {
    const fault_page first = *fault_shared;
    fault_run run;
    fault_run_case(reference->which, &no_fault, &run);
    *fault_shared = first;
    const char *other = run.state == 0 && !run.hung ? find_other(reference) : run.err;
    if (other == NULL && !reference->which->trains && !reference->out_varies && strcmp(run.out, reference->out) != 0)
        other = run.out;
    if (other != NULL) {
        counts->wrong++;
        tell(reference, wanted, "the run after it", other);
    }
    const char *left = first.may_leave ? NULL : find_left(reference, NULL);
    if (left != NULL) {
        counts->left++;
        tell(reference, wanted, "left behind after the run after it", left);
    }
    fault_run_free(&run);
}

bool fault_try(const fault_reference *reference, const fault *wanted, fault_counts *counts) {
    fault_run run;
    start_fresh();
    fault_run_case(reference->which, wanted, &run);
    const bool fired = run.fired;
    counts->tried++;
    counts->fired += fired;
    judge_end(reference, wanted, &run, counts);
    const bool killed = WIFSIGNALED(run.state);
    const char *left = fault_shared->may_leave || killed ? NULL : find_left(reference, wanted);
    if (left != NULL) {
        counts->left++;
        tell(reference, wanted, "left behind", left);
    }
    const bool follows = reference->which->trains || killed || wanted->kind != FAULT_ALLOCATION;
    if (fired && follows && fault_random(reference->followed) == 0)
        judge_after(reference, wanted, counts);
    fault_run_free(&run);
    return fired;
}

/* ---- kills ---- */

/* One kill: at a time that lets several of them fall into a run, or at a call. The training goes on from what the last
 * one left. */
static bool kill_once(const fault_reference *reference, fault_run *run) {
    const bool by_time = fault_random(2) == 0;
    const fault wanted = {
        .kind = by_time ? FAULT_KILL_TIME : FAULT_KILL_CALL,
        .seconds = (0.02 + reference->seconds) * (double)fault_random(1000) / 1000,
        .number = 1 + (long)fault_random((uint64_t)reference->calls),
        .orphans = reference->which->jobs && fault_random(2) == 0,
    };
    fault_run_case(reference->which, &wanted, run);
    return run->fired && WIFSIGNALED(run->state) && WTERMSIG(run->state) == SIGKILL;
}

long fault_kill_through(const fault_reference *reference, long most, fault_counts *counts) {
    static const fault none = {.kind = FAULT_KILL_CALL};
    long kills = 0;
    start_fresh();
    for (bool through = false; !through && kills < most;) {
        fault_run run;
        if (kill_once(reference, &run)) {
            kills++;
        } else {
            through = true;
            if (run.state != 0 || run.hung) {
                counts->crashes++;
                tell(reference, &none, "ends otherwise", run.err);
            }
        }
        fault_run_free(&run);
    }
    counts->fired += kills;
    judge_after(reference, &none, counts);
    return kills;
}

/* ---- two at once ---- */

/* Well, or refused because another one trains the run. */
static bool ended_beside(const fault_run *run) {
    const bool refused = WIFEXITED(run->state) && WEXITSTATUS(run->state) == 1 && strncmp(run->err, "locus: ", 7) == 0;
    return !run->hung && (run->state == 0 || refused);
}

/* Either may be refused, because the other one trains the run, or find it done. */
void fault_try_pair(const fault_reference *reference, fault_counts *counts) {
    const fault wanted = {.kind = FAULT_NONE};
    start_fresh();
    counts->tried++;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        fault_run run;
        /* Its output and temporary files are its own. */
        if (mkdir("beside", 0777) != 0 || chdir("beside") != 0 || symlink("../work", "work") != 0)
            _exit(99);
        fault_run_case(reference->which, &wanted, &run);
        _exit(ended_beside(&run) ? 0 : 1);
    }
    fault_run run;
    usleep((useconds_t)fault_random(1 + (uint64_t)(5e5 * reference->seconds)));
    int state = 0;
    fault_run_case(reference->which, &wanted, &run);
    waitpid(child, &state, 0);
    fault_folder_remove("beside");
    if (state != 0 || !ended_beside(&run)) {
        counts->crashes++;
        tell(reference, &wanted, "two at once", state != 0 ? "the other one ended otherwise" : run.err);
    }
    fault_run_free(&run);
    judge_after(reference, &wanted, counts);
}
