/* SPDX-License-Identifier: MIT */
/* usage: faults allocations|calls|kills [--long] [--seed S] [--only CASE] [--samples N]
 *        faults one CASE allocation|call NUMBER [VARIANT] [lasting]     the same fault again, with what it printed
 * Environment: LOCUS, the program that prepares folders, and LOCUS_SOURCE. Exit status: 0 held, 1 found something,
 * 77 if this kernel can't do it. */
#include "faults.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct request {
    const char *mode, *only;
    bool full;
    long samples; /* for each case; 0: as the form says */
} request;

/* ---- chance ---- */

uint64_t fault_random_state;

uint64_t fault_random(uint64_t below) {
    uint64_t bits = fault_random_state += 0x9e3779b97f4a7c15u;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return below == 0 ? 0 : (bits ^ (bits >> 31)) % below;
}

/* ---- forms ---- */

/* How many allocations or calls a good run makes. */
static long count(const fault_case *which, fault_kind kind) {
    const fault never = {.kind = kind, .number = LONG_MAX, .library = which->library, .resizing = which->resizing};
    fault_run run;
    fault_folder_remove("work");
    fault_folder_copy("before", "work");
    fault_run_case(which, &never, &run);
    const long counted = run.counted;
    fault_run_free(&run);
    return counted;
}

/* Every n, or as many as asked for. */
static void try_allocations(const fault_reference *reference, long samples, fault_counts *counts) {
    const long total = count(reference->which, FAULT_ALLOCATION);
    const long tries = samples == 0 || samples > total ? total : samples;
    for (long i = 0; i < tries; i++) {
        const long number = tries == total ? i + 1 : 1 + (long)fault_random((uint64_t)total);
        const fault wanted = {.kind = FAULT_ALLOCATION,
                              .number = number,
                              .lasting = fault_random(4) == 0,
                              .library = reference->which->library,
                              .resizing = reference->which->resizing};
        fault_try(reference, &wanted, counts);
    }
    printf("  %-18s %ld of %ld allocations\n", reference->which->name, tries, total);
}

static void try_calls(const fault_reference *reference, long samples, fault_counts *counts) {
    const long total = count(reference->which, FAULT_CALL);
    for (long i = 0; i < samples; i++) {
        const fault wanted = {.kind = FAULT_CALL,
                              .number = 1 + (i < total && samples >= total ? i : (long)fault_random((uint64_t)total)),
                              .variant = fault_random(60),
                              .lasting = fault_random(4) == 0};
        fault_try(reference, &wanted, counts);
    }
    printf("  %-18s %ld of %ld calls\n", reference->which->name, samples, total);
}

static void try_kills(fault_reference *reference, long samples, fault_counts *counts) {
    reference->calls = count(reference->which, FAULT_CALL);
    long kills = 0, trainings = 0;
    for (; kills < samples; trainings++)
        kills += fault_kill_through(reference, samples - kills, counts);
    fault_try_pair(reference, counts);
    printf("  %-18s %ld kills in %ld trainings\n", reference->which->name, kills, trainings);
}

static long samples_of(const request *asked, const fault_case *which) {
    if (asked->samples > 0)
        return asked->samples;
    if (asked->mode[0] == 'a') {
        const long some = which->trains ? 12 : 250;
        return which->resizing || (asked->full && !which->trains) ? 0 : asked->full ? 2000 : some;
    }
    return asked->full ? asked->mode[0] == 'c' ? 300 : 143 : asked->mode[0] == 'c' ? 25 : 5;
}

static void try_case(const request *asked, const fault_case *which, fault_counts *counts) {
    fault_reference reference;
    if (asked->only != NULL ? strcmp(asked->only, which->name) != 0 : !asked->full && !which->in_short)
        return;
    fault_reference_make(&reference, which);
    const long samples = samples_of(asked, which);
    if (asked->mode[0] == 'a')
        try_allocations(&reference, samples, counts);
    else if (asked->mode[0] == 'c')
        try_calls(&reference, samples, counts);
    else
        try_kills(&reference, samples, counts);
    fflush(stdout);
    fault_reference_free(&reference);
}

static const fault_case *cases_of(const char *mode) {
    return strcmp(mode, "allocations") == 0 ? fault_allocation_cases
           : strcmp(mode, "calls") == 0     ? fault_call_cases
           : strcmp(mode, "kills") == 0     ? fault_kill_cases
                                            : NULL;
}

/* ---- one again ---- */

static int try_one(int argc, char **argv) {
    static const fault_case *const lists[] = {fault_allocation_cases, fault_call_cases};
    fault wanted = {.kind = argc > 3 && argv[3][0] == 'c' ? FAULT_CALL : FAULT_ALLOCATION,
                    .number = argc > 4 ? atol(argv[4]) : 1,
                    .variant = argc > 5 ? (size_t)atol(argv[5]) : 0,
                    .lasting = argc > 6};
    for (size_t i = 0; i < 2; i++) {
        for (const fault_case *which = lists[i]; argc > 2 && which->name != NULL; which++) {
            if (strcmp(which->name, argv[2]) == 0) {
                fault_reference reference;
                fault_counts counts = {0};
                wanted.library = which->library;
                wanted.resizing = which->resizing;
                fault_reference_make(&reference, which);
                fault_try(&reference, &wanted, &counts);
                fault_reference_free(&reference);
                return counts.crashes + counts.wrong + counts.silent + counts.left > 0;
            }
        }
    }
    return 2;
}

/* ---- the program ---- */

static char scratch[512];

static void remove_scratch(void) {
    if (chdir("/") == 0)
        fault_folder_remove(scratch);
}

/* In memory, if there is such a place: what is tested is the order of calls, not the disk. */
static void make_scratch(void) {
    const char *base = getenv("TMPDIR");
    base = base != NULL ? base : access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(scratch, sizeof scratch, "%.400s/locus-faults-XXXXXX", base);
    char temporary[600];
    if (mkdtemp(scratch) == NULL || chdir(scratch) != 0) {
        perror(scratch);
        exit(1);
    }
    snprintf(temporary, sizeof temporary, "%s/tmp", scratch);
    setenv("TMPDIR", temporary, 1);
    mkdir(temporary, 0777);
}

static bool parse(request *asked, int argc, char **argv) {
    *asked = (request){.mode = argv[1]};
    for (int i = 2; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(argv[i], "--long") == 0) {
            asked->full = true;
            continue;
        }
        if (strcmp(argv[i], "--seed") == 0)
            fault_random_state = strtoull(value, NULL, 10);
        else if (strcmp(argv[i], "--only") == 0)
            asked->only = value;
        else if (strcmp(argv[i], "--samples") == 0)
            asked->samples = atol(value);
        else
            return false;
        i++;
    }
    return cases_of(asked->mode) != NULL;
}

int main(int argc, char **argv) {
    request asked = {0};
    fault_counts counts = {0};
    fault_random_state = (uint64_t)time(NULL);
    const bool one = argc > 1 && strcmp(argv[1], "one") == 0;
    if (argc < 2 || getenv("LOCUS") == NULL || (!one && !parse(&asked, argc, argv))) {
        fprintf(stderr, "usage: LOCUS=… LOCUS_SOURCE=… faults allocations|calls|kills [--long] [--seed S] [--only CASE]"
                        " [--samples N]\n");
        return 2;
    }
    fault_shared = mmap(NULL, sizeof *fault_shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    make_scratch();
    if (one) {
        const int status = try_one(argc, argv);
        remove_scratch();
        return status;
    }
    if (asked.mode[0] != 'a' && !fault_calls_possible()) {
        printf("skipped: this kernel does not let a process answer another one's system calls\n");
        remove_scratch();
        return 77;
    }
    const uint64_t seed = fault_random_state;
    for (const fault_case *which = cases_of(asked.mode); which->name != NULL; which++)
        try_case(&asked, which, &counts);
    remove_scratch();
    fault_judge_tell_inside();
    printf("%s: %ld faults, %ld told, %ld without effect; %ld crashes, %ld wrong results, %ld files left, "
           "%ld wrong messages, %ld failures inside libraries (seed %llu)\n",
           asked.mode, counts.fired, counts.told, counts.harmless, counts.crashes, counts.wrong, counts.left,
           counts.silent, counts.inside, (unsigned long long)seed);
    return counts.fired == 0 || counts.crashes + counts.wrong + counts.left + counts.silent > 0;
}
