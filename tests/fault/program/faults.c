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

enum { FEW_CALLERS = 4, MANY_CALLERS = 10 }; /* that tell places apart, in the short form and in the long one */

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

static long samples_of(const request *asked, const fault_case *which) {
    if (asked->samples > 0)
        return asked->samples;
    if (asked->mode[0] == 'a') {
        const long some = which->trains ? 2 : 12;
        return asked->full && !which->trains ? 0 : asked->full ? 2000 : some;
    }
    return asked->full ? asked->mode[0] == 'c' ? 300 : 143 : asked->mode[0] == 'c' ? 2 : 5;
}

/* How many allocations or calls a good run makes, and by that many callers which code asks for the allocations. */
static long count(const fault_case *which, fault_kind kind, int callers) {
    const fault never = {.kind = kind, .number = LONG_MAX, .library = which->library, .callers = callers};
    fault_run run;
    fault_folder_remove("work");
    fault_folder_copy("before", "work");
    fault_run_case(which, &never, &run);
    const long counted = run.counted;
    fault_run_free(&run);
    return counted;
}

static void try_allocation(const fault_reference *reference, long number, fault_counts *counts) {
    const fault wanted = {.kind = FAULT_ALLOCATION,
                          .number = number,
                          .lasting = fault_random(4) == 0,
                          .library = reference->which->library};
    fault_try(reference, &wanted, counts);
}

extern const char __executable_start[], etext[]; /* as linkers name the ends of a program's code */

uint64_t *fault_places;

uint64_t fault_place_of(void *const *addresses, size_t count, int callers) {
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < count && callers > 0; i++) {
        if ((uintptr_t)addresses[i] >= (uintptr_t)__executable_start && (uintptr_t)addresses[i] < (uintptr_t)etext) {
            hash = (hash ^ (uintptr_t)addresses[i]) * 1099511628211u;
            callers--;
        }
    }
    return hash;
}

/* Whether no case before has been there. The table is a hundred times as large as a program has places. */
static bool is_new(uint64_t place) {
    static uint64_t seen[1 << 20];
    const size_t last = sizeof seen / sizeof *seen - 1;
    size_t at = (size_t)place & last;
    while (seen[at] != 0 && seen[at] != place)
        at = (at + 1) & last;
    const bool new = seen[at] == 0;
    seen[at] = place;
    return new;
}

typedef void try_function(const fault_reference *reference, long number, fault_counts *counts);

/* The first allocation or call of each place that no case before has met. */
static long try_places(const fault_reference *reference, long total, try_function *try, fault_counts *counts) {
    long tries = 0;
    for (long i = 0; i < total && i < PLACE_COUNT; i++) {
        if (is_new(fault_places[i])) {
            try(reference, i + 1, counts);
            tries++;
        }
    }
    return tries;
}

/* Every n, or one of each place and as many as asked for by chance. */
static void try_allocations(const fault_reference *reference, const request *asked, fault_counts *counts) {
    const long total = count(reference->which, FAULT_ALLOCATION, asked->full ? MANY_CALLERS : FEW_CALLERS);
    const long samples = samples_of(asked, reference->which), tries = samples == 0 || samples > total ? total : samples;
    const long places = tries == total ? 0 : try_places(reference, total, try_allocation, counts);
    for (long i = 0; i < tries; i++)
        try_allocation(reference, tries == total ? i + 1 : 1 + (long)fault_random((uint64_t)total), counts);
    printf("  %-18s %ld faults, of %ld allocations\n", reference->which->name, places + tries, total);
}

static void try_call(const fault_reference *reference, long number, fault_counts *counts) {
    const fault wanted = {
        .kind = FAULT_CALL, .number = number, .variant = fault_random(60), .lasting = fault_random(4) == 0};
    fault_try(reference, &wanted, counts);
}

static void try_calls(const fault_reference *reference, const request *asked, fault_counts *counts) {
    const long total = count(reference->which, FAULT_CALL, asked->full ? MANY_CALLERS : FEW_CALLERS);
    const long samples = samples_of(asked, reference->which), places = try_places(reference, total, try_call, counts);
    for (long i = 0; i < samples; i++)
        try_call(reference, 1 + (i < total && samples >= total ? i : (long)fault_random((uint64_t)total)), counts);
    printf("  %-18s %ld faults, of %ld calls\n", reference->which->name, places + samples, total);
}

static void try_kills(fault_reference *reference, long samples, fault_counts *counts) {
    reference->calls = count(reference->which, FAULT_CALL, 0);
    long kills = 0, trainings = 0;
    for (; kills < samples; trainings++)
        kills += fault_kill_through(reference, samples - kills, counts);
    fault_try_pair(reference, counts);
    printf("  %-18s %ld kills in %ld trainings\n", reference->which->name, kills, trainings);
}

static void try_case(const request *asked, const fault_case *which, fault_counts *counts) {
    fault_reference reference;
    const char mode = asked->mode[0];
    const bool fits = asked->full || which->in_short || mode == 'a' || (mode == 'c' && !which->trains);
    if (asked->only != NULL ? strcmp(asked->only, which->name) != 0 : !fits)
        return;
    fault_reference_make(&reference, which);
    reference.followed = asked->full || mode != 'a' ? 1 : 4;
    if (mode == 'a')
        try_allocations(&reference, asked, counts);
    else if (mode == 'c')
        try_calls(&reference, asked, counts);
    else
        try_kills(&reference, samples_of(asked, which), counts);
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
                fault_reference_make(&reference, which);
                reference.followed = 1;
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
    fault_places =
        mmap(NULL, PLACE_COUNT * sizeof *fault_places, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
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
