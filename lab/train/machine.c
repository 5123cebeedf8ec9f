/* SPDX-License-Identifier: MIT */
/* Asks the system for its processor, and the library for its threads, instruction set and version. */
#include "train/machine.h"

#include <locus/cpu.h>
#include <locus/parallel.h>
#include <locus/version.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

/* Linux on x86 names the processor in /proc/cpuinfo; elsewhere the architecture has to do. */
static void processor(char *text, size_t size) {
    char line[256];
    struct utsname system;
    snprintf(text, size, "%s", uname(&system) == 0 ? system.machine : "unknown processor");
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            colon += strspn(colon, ": \t");
            colon[strcspn(colon, "\n")] = '\0';
            snprintf(text, size, "%s", colon);
            break;
        }
    }
    if (file != NULL)
        fclose(file);
}

void lab_machine_text(char *text, size_t size) {
    char name[160];
    processor(name, sizeof name);
    size_t threads = locus_threads();
    snprintf(text, size, "%s, %zu %s, %s", name, threads, threads == 1 ? "thread" : "threads",
             locus_isa_name(locus_cpu_isa()));
}

void lab_version_text(char *text, size_t size) {
#ifdef LOCUS_COMMIT
    snprintf(text, size, "%s (%s)", locus_version(), LOCUS_COMMIT);
#else
    snprintf(text, size, "%s", locus_version());
#endif
}

int64_t lab_peak_bytes(void) {
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (int64_t)usage.ru_maxrss * 1024 : 0;
}
