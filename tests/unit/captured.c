/* SPDX-License-Identifier: MIT */
/* See captured.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "captured.h"

static int saved, place;
static char text[20001];

void capture(int descriptor) {
    char path[] = "/tmp/locus-output-XXXXXX";
    fflush(NULL);
    place = descriptor;
    saved = dup(descriptor);
    const int file = mkstemp(path);
    assert_true(saved >= 0 && file >= 0 && dup2(file, descriptor) == descriptor);
    unlink(path);
    close(file);
}

char *captured(void) {
    fflush(NULL);
    const ssize_t bytes = pread(place, text, sizeof text - 1, 0);
    assert_true(bytes >= 0 && dup2(saved, place) == place);
    close(saved);
    text[bytes] = '\0';
    return text;
}
