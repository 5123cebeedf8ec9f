/* SPDX-License-Identifier: MIT */
/* See shown_number.h. */
#include "report/tables/shown_number.h"

#include <math.h>
#include <stdio.h>

char *lab_count_text(char *text, size_t size, double value) {
    const struct {
        double unit;
        const char *name;
    } units[] = {{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (value >= 0.9995 * units[i].unit) {
            double scaled = value / units[i].unit;
            snprintf(text, size, "%.*f%s", scaled < 9.995 ? 2 : scaled < 99.95 ? 1 : 0, scaled, units[i].name);
            return text;
        }
    }
    snprintf(text, size, "%.*f", value < 100 && value != floor(value) ? 1 : 0, value);
    return text;
}

char *lab_bytes_text(char *text, size_t size, double bytes) {
    const char *const names[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    while (bytes >= 1023.5 && unit + 1 < sizeof names / sizeof *names) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, size, "%.*f %s", unit > 0 && bytes < 9.95 ? 1 : 0, bytes, names[unit]);
    return text;
}

char *lab_seconds_text(char *text, size_t size, double seconds) {
    if (!(seconds < 1e9)) {
        snprintf(text, size, "?");
    } else if (seconds < 10) {
        snprintf(text, size, "%.1f s", seconds);
    } else if (seconds < 99.5) {
        snprintf(text, size, "%.0f s", seconds);
    } else if (seconds < 5970) {
        long whole = lround(seconds);
        snprintf(text, size, "%ld min %02ld s", whole / 60, whole % 60);
    } else {
        long minutes = lround(seconds / 60);
        snprintf(text, size, "%ld h %02ld min", minutes / 60, minutes % 60);
    }
    return text;
}
