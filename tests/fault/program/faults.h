/* SPDX-License-Identifier: MIT */
/* The program `faults` runs locus itself, libraries and all, again and again in children of its own, and lets something
 * fail in each: one allocation, one system call, or the whole process by SIGKILL. Afterwards it looks whether anything
 * was lost, wrong or left behind. A child is a fork that stands just before locus's main(), so that a thousand of them
 * cost seconds. */
#ifndef TESTS_FAULTS_H
#define TESTS_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* locus's own main(), compiled under another name. */
int locus_main(int argc, char **argv);

/* ---- cases ---- */

enum { CASE_WORDS = 48 };

typedef struct fault_case {
    const char *name;
    const char *prepare;           /* shell commands that make the folder it starts in; $LOCUS is the program */
    const char *words[CASE_WORDS]; /* the command line without "locus", ends with NULL */
    bool trains;                   /* keeps a store: after a fault the same command goes on, to the same bits */
    bool jobs;                     /* trains in processes of its own, which may outlive it */
    bool in_short;       /* a training that calls fail in, or anything that is killed, in the short form, too */
    const char *library; /* only allocations that this library's own code asks for; NULL: all */
} fault_case;

extern const fault_case fault_allocation_cases[], fault_call_cases[], fault_kill_cases[]; /* end with a name of NULL */

/* ---- what fails ---- */

typedef enum fault_kind {
    FAULT_NONE,
    FAULT_ALLOCATION, /* the n-th allocation; with `lasting` all after it too */
    FAULT_CALL,       /* the n-th system call; with `lasting` all of its kind after it too */
    FAULT_KILL_CALL,  /* SIGKILL instead of the n-th system call */
    FAULT_KILL_TIME,  /* SIGKILL after so many seconds */
} fault_kind;

typedef struct fault {
    fault_kind kind;
    long number;    /* from 1 */
    size_t variant; /* which of the errors that fit the call */
    double seconds;
    bool lasting;
    bool orphans;        /* only the process itself is killed, not those that it started */
    const char *library; /* NULL: all allocations count; otherwise those that code of this library asks for */
    int callers;         /* by which places in the code are told apart, the innermost ones; 0: none is noted */
} fault;

enum { TRACE_DEPTH = 24, PLACE_COUNT = 1 << 17 };

/* What the child and its own children tell: memory that all of them share. */
typedef struct fault_page {
    _Atomic long counted; /* allocations or calls so far */
    _Atomic int fired;    /* faults so far */
    char what[80];        /* the call that failed, and how */
    bool may_leave;       /* it was a removal, so that its file stays */
    int depth, crash_depth;
    void *trace[TRACE_DEPTH]; /* where the allocation was asked for */
    void *crash[TRACE_DEPTH]; /* where a signal ended the process */
} fault_page;

extern fault_page *fault_shared;

/* Shared like it: which code makes each of the first allocations or calls, a hash; of a run in which none fails. */
extern uint64_t *fault_places;

/* The first so many of the addresses that lie in the program's own code, as a hash. */
uint64_t fault_place_of(void *const *addresses, size_t count, int callers);

/* In a child: from here on allocations are counted, and the one that is asked for fails. */
void fault_allocator_arm(const fault *wanted);

/* In a child: from here on the file system's calls wait for the parent's word. The descriptor to listen on, or -1. */
int fault_calls_filter(void);

/* Whether this kernel lets a process do that. */
bool fault_calls_possible(void);

/* In the parent: answers the calls of a child until all of its processes have ended or `seconds` are over (false). */
bool fault_calls_answer(int listener, pid_t child, const fault *wanted, double seconds);

/* ---- a run ---- */

typedef struct fault_run {
    int state; /* as waitpid gives it */
    bool fired, hung;
    long counted;
    char *out, *err; /* what it printed; free() */
} fault_run;

/* Runs the command in the folder `work` of the scratch folder. */
void fault_run_case(const fault_case *which, const fault *wanted, fault_run *run);
void fault_run_free(fault_run *run);

double fault_seconds_now(void);

/* ---- folders ---- */

typedef struct fault_file {
    char *path, *data; /* a store's data are what it holds, as text, without times */
    size_t bytes;
    bool folder;
    bool varies; /* differs from one good run to the next: pages with times */
} fault_file;

typedef struct fault_tree {
    fault_file *files; /* ordered by path */
    size_t count;
} fault_tree;

void fault_tree_list(fault_tree *tree, const char *folder); /* names only */
void fault_tree_read(fault_tree *tree, const char *folder);
void fault_tree_free(fault_tree *tree);
const fault_file *fault_tree_find(const fault_tree *tree, const char *path);
bool fault_file_same(const fault_file *a, const fault_file *b);

/* Content of the store as text: what must be the same after every way to the end. free() */
char *fault_store_text(const char *path);

void fault_folder_copy(const char *from, const char *to);
void fault_folder_remove(const char *path);
char *fault_file_read(const char *path, size_t *bytes);

/* ---- judging ---- */

/* What a good run of the case gives. */
typedef struct fault_reference {
    const fault_case *which;
    fault_tree before, after;
    char *out, *err;
    bool out_varies;
    long allocations, calls;
    double seconds;
    uint64_t followed; /* after one of so many faults, by chance, the run after it is looked at */
} fault_reference;

typedef struct fault_counts {
    long tried, fired, told, harmless; /* told: it failed and said so; harmless: it ended well with equal bytes */
    long crashes, wrong, left, silent; /* silent: failed without the one line that it owes */
    long inside;                       /* crashes of a library's own that are known and can't be mended here */
} fault_counts;

void fault_reference_make(fault_reference *reference, const fault_case *which);
void fault_reference_free(fault_reference *reference);

/* Tries one fault from a fresh folder, and says on standard output what is amiss. True: the fault took place. */
bool fault_try(const fault_reference *reference, const fault *wanted, fault_counts *counts);

/* Where libraries crashed of their own, and how often. */
void fault_judge_tell_inside(void);

/* Kills a training again and again until it is through, at most `most` times, and compares. Returns the kills. */
long fault_kill_through(const fault_reference *reference, long most, fault_counts *counts);

/* Two processes on one store at once. */
void fault_try_pair(const fault_reference *reference, fault_counts *counts);

/* ---- chance ---- */

extern uint64_t fault_random_state;
uint64_t fault_random(uint64_t below);

#endif
