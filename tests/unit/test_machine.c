/* SPDX-License-Identifier: MIT */
/* What is recorded of the machine: its processor, threads and instructions; the version; the peak of memory. */
#include "train/machine.h"

#include <locus/cpu.h>
#include <locus/parallel.h>
#include <locus/version.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include <cmocka.h>

/* "model name : …" of the first processor, where the system says so; else the architecture. */
static void processor(char *text, size_t size) {
    char file[8192];
    FILE *stream = fopen("/proc/cpuinfo", "r");
    struct utsname system;
    assert_int_equal(uname(&system), 0);
    snprintf(text, size, "%s", system.machine);
    if (stream == NULL)
        return;
    file[fread(file, 1, sizeof file - 1, stream)] = '\0';
    fclose(stream);
    const char *at = strncmp(file, "model name", 10) == 0 ? file : strstr(file, "\nmodel name");
    at = at != NULL ? strchr(at, ':') : NULL;
    if (at != NULL)
        snprintf(text, size, "%.*s", (int)strcspn(at + 2, "\n"), at + 2);
}

static void machines(void **state) {
    (void)state;
    char name[160], expected[256], text[256];
    processor(name, sizeof name);
    for (size_t threads = 1; threads <= 2; threads++) {
        assert_int_equal(locus_threads_set(threads), LOCUS_OK);
        snprintf(expected, sizeof expected, "%s, %s, %s", name, threads == 1 ? "1 thread" : "2 threads",
                 locus_isa_name(locus_cpu_isa()));
        lab_machine_text(text, sizeof text);
        assert_string_equal(text, expected);
        lab_machine_text(text, 4); /* what does not fit is left out */
        expected[3] = '\0';
        assert_string_equal(text, expected);
    }
}

static void versions(void **state) {
    (void)state;
    char text[128];
    const char *version = locus_version();
    lab_version_text(text, sizeof text);
    assert_memory_equal(text, version, strlen(version));
    assert_true(text[strlen(version)] == '\0' || strncmp(text + strlen(version), " (", 2) == 0);
}

static void peaks(void **state) {
    (void)state;
    struct rusage before, after;
    assert_int_equal(getrusage(RUSAGE_SELF, &before), 0);
    const int64_t peak = lab_peak_bytes();
    assert_int_equal(getrusage(RUSAGE_SELF, &after), 0);
    assert_int_equal(peak % 1024, 0);
    assert_true(peak / 1024 >= before.ru_maxrss && peak / 1024 <= after.ru_maxrss);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machines),
        cmocka_unit_test(versions),
        cmocka_unit_test(peaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
