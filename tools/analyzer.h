/* SPDX-License-Identifier: MIT */
/* What clang's analyzer is told and cannot see, one file at a time: the functions that report a failure never return
 * success. tools/analyze.sh includes it before every file but those that define them; no build does. */
#ifndef TOOLS_ANALYZER_H
#define TOOLS_ANALYZER_H

static inline int analyzer_failed(int status) {
    if (status == 0)
        __builtin_unreachable();
    return status;
}

#if __has_include("io/fail.h")
#include "io/fail.h"
#define lab_fail(...) ((locus_status)analyzer_failed(lab_fail(__VA_ARGS__)))
#define lab_fail_system(...) ((locus_status)analyzer_failed(lab_fail_system(__VA_ARGS__)))
#define lab_fail_file(...) ((locus_status)analyzer_failed(lab_fail_file(__VA_ARGS__)))
#define lab_fail_memory(...) ((locus_status)analyzer_failed(lab_fail_memory(__VA_ARGS__)))
#endif

#if __has_include("core/error.h")
#include "core/error.h"
#define locus_fail(...) ((locus_status)analyzer_failed(locus_fail(__VA_ARGS__)))
#define locus_fail_at(...) ((locus_status)analyzer_failed(locus_fail_at(__VA_ARGS__)))
#define locus_fail_memory(...) ((locus_status)analyzer_failed(locus_fail_memory(__VA_ARGS__)))
#endif

#if __has_include("spec/owned.h")
#include "spec/owned.h"
#define locus_owned_fail(...) ((locus_status)analyzer_failed(locus_owned_fail(__VA_ARGS__)))
#endif

#if __has_include("output.h")
#include "output.h"
#define cli_usage_error(...) analyzer_failed(cli_usage_error(__VA_ARGS__))
#define cli_failure(...) analyzer_failed(cli_failure(__VA_ARGS__))
#define cli_error(...) analyzer_failed(cli_error(__VA_ARGS__))
#define cli_error_in(...) analyzer_failed(cli_error_in(__VA_ARGS__))
#endif

/* Nothing is no value of any kind. */
#if __has_include(<cjson/cJSON.h>)
#include <cjson/cJSON.h>
#define cJSON_IsNumber(item) ((item) != NULL && cJSON_IsNumber(item))
#define cJSON_IsString(item) ((item) != NULL && cJSON_IsString(item))
#define cJSON_IsObject(item) ((item) != NULL && cJSON_IsObject(item))
#define cJSON_IsArray(item) ((item) != NULL && cJSON_IsArray(item))
#endif

#endif
