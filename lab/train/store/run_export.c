/* SPDX-License-Identifier: MIT */
/* See run_export.h. */
#define _DEFAULT_SOURCE 1 /* timegm */
#include "train/store/run_export.h"

#include "io/csv.h"
#include "io/fail.h"
#include "io/file.h"
#include "io/printable.h"
#include "io/record.h"
#include "train/store/run_folder.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- every value of a run ---- */

/* Who takes them. Scores have no step. */
typedef struct taker {
    void (*take)(const struct taker *to, const char *set, const char *name, const uint64_t *step, double value);
    FILE *stream;
    const lab_run *run;
} taker;

static locus_status give_scores(const taker *to, lab_store *store, locus_error *error) {
    lab_final *finals;
    size_t count;
    const locus_status status = lab_store_finals(store, to->run->id, &finals, &count, error);
    for (size_t i = 0; i < count; i++)
        to->take(to, finals[i].set, finals[i].name, NULL, finals[i].value);
    free(finals);
    return status;
}

/* "dev.loss" is the loss of the set dev. */
static locus_status give_curve(const taker *to, lab_store *store, const char *curve, locus_error *error) {
    lab_metric *metrics;
    size_t count;
    const char *dot = strchr(curve, '.'), *name = dot != NULL ? dot + 1 : curve;
    char *set = strndup(curve, dot != NULL ? (size_t)(dot - curve) : 0);
    if (set == NULL)
        return lab_fail_memory(error, "a curve");
    const locus_status status = lab_store_metrics(store, to->run->id, curve, &metrics, &count, error);
    for (size_t i = 0; i < count; i++)
        to->take(to, set, name, &metrics[i].step, metrics[i].value);
    free(metrics);
    free(set);
    return status;
}

static locus_status give_run(const taker *to, lab_store *store, locus_error *error) {
    const char **names;
    size_t count;
    locus_status status = give_scores(to, store, error);
    if (status != LOCUS_OK)
        return status;
    status = lab_store_metric_names(store, to->run->id, &names, &count, error);
    for (size_t i = 0; status == LOCUS_OK && i < count; i++)
        status = give_curve(to, store, names[i], error);
    free(names);
    return status;
}

static locus_status finish(lab_output *output, locus_status status, locus_error *error) {
    status = status == LOCUS_OK ? lab_output_commit(output, error) : status;
    lab_output_discard(output);
    return status;
}

/* ---- comma-separated ---- */

static void take_line(const taker *to, const char *set, const char *name, const uint64_t *step, double value) {
    const lab_run *run = to->run;
    const char *const texts[] = {run->name,  run->task,           run->encoding, run->budget,
                                 run->setup, run->embedding_init, NULL};
    for (const char *const *text = texts; *text != NULL; text++) {
        lab_csv_text(to->stream, *text);
        fputc(',', to->stream);
    }
    fprintf(to->stream, "%" PRIu64 ",%s,", run->seed, step == NULL ? "score" : "curve");
    lab_csv_text(to->stream, set);
    fputc(',', to->stream);
    lab_csv_text(to->stream, name);
    fputc(',', to->stream);
    if (step != NULL)
        fprintf(to->stream, "%" PRIu64, *step);
    fputc(',', to->stream);
    lab_csv_number(to->stream, value);
    fputc('\n', to->stream);
}

locus_status lab_run_export_csv(lab_store *store, const lab_run *runs, size_t count, const char *path,
                                locus_error *error) {
    lab_output output;
    locus_status status = lab_output_open(&output, path, error);
    if (status != LOCUS_OK)
        return status;
    fputs("run,task,encoding,budget,setup,embedding_init,seed,kind,set,name,step,value\n", output.stream);
    for (size_t i = 0; status == LOCUS_OK && i < count; i++) {
        const taker to = {take_line, output.stream, &runs[i]};
        if (runs[i].state == LAB_RUN_DONE)
            status = give_run(&to, store, error);
    }
    return finish(&output, status, error);
}

/* ---- events ---- */

/* A message being written. The longest holds a tag of a set and a name, which are cut to TAG bytes. */
enum { TAG = 200, MESSAGE = TAG + 64 };
typedef struct message {
    unsigned char bytes[MESSAGE];
    size_t used;
} message;

enum { VARINT = 0, EIGHT_BYTES = 1, COUNTED = 2, FOUR_BYTES = 5 }; /* wire types */

static void put_varint(message *m, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        m->bytes[m->used++] = (unsigned char)(value | 0x80);
    m->bytes[m->used++] = (unsigned char)value;
}

static void put_key(message *m, unsigned field, unsigned type) {
    put_varint(m, field << 3 | type);
}

static void put_little(message *m, uint64_t bits, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        m->bytes[m->used++] = (unsigned char)(bits >> 8 * i);
}

static void put_counted(message *m, unsigned field, const void *data, size_t bytes) {
    put_key(m, field, COUNTED);
    put_varint(m, bytes);
    memcpy(m->bytes + m->used, data, bytes);
    m->used += bytes;
}

/* Seconds since 1970 of "2026-11-24T16:40:49Z"; 0 of another text. */
static double seconds_of(const char *text) {
    struct tm parts = {0};
    int read = 0;
    // NOLINTNEXTLINE(cert-err34-c): no field is long enough for a number that is too large
    const int fields = sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2dZ%n", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
                              &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &read);
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
    return fields == 6 && text[read] == '\0' && read > 0 ? (double)timegm(&parts) : 0.0;
}

static message begin_event(const lab_run *run, uint64_t step) {
    message event = {.used = 0};
    const double time = seconds_of(run->started);
    uint64_t bits;
    memcpy(&bits, &time, sizeof bits);
    put_key(&event, 1, EIGHT_BYTES);
    put_little(&event, bits, sizeof bits);
    put_key(&event, 2, VARINT);
    put_varint(&event, step);
    return event;
}

static void take_event(const taker *to, const char *set, const char *name, const uint64_t *step, double value) {
    message event = begin_event(to->run, step != NULL ? *step : to->run->steps_done);
    message summary = {.used = 0}, scalar = {.used = 0};
    char tag[TAG];
    const float narrow = (float)value;
    uint32_t bits;
    snprintf(tag, sizeof tag, "%s%.90s%s%.90s", step == NULL ? "final/" : "", set, set[0] == '\0' ? "" : "/", name);
    lab_printable(tag, ""); /* a character that was cut is none */
    memcpy(&bits, &narrow, sizeof bits);
    put_counted(&scalar, 1, tag, strlen(tag));
    put_key(&scalar, 2, FOUR_BYTES);
    put_little(&scalar, bits, sizeof bits);
    put_counted(&summary, 1, scalar.bytes, scalar.used);
    put_counted(&event, 5, summary.bytes, summary.used);
    lab_record_write(to->stream, event.bytes, event.used);
}

/* Opens folder/name/events…, and makes the folders. */
static locus_status open_events(lab_output *output, const char *folder, const char *name, locus_error *error) {
    locus_status status = lab_run_name_check(name, error);
    if (status != LOCUS_OK)
        return status;
    char *own = lab_run_path(folder, name, NULL), *path = lab_run_path(folder, name, "events.out.tfevents.0.locus");
    status = own != NULL && path != NULL ? lab_directory_create(own, error) : lab_fail_memory(error, "a path");
    status = status == LOCUS_OK ? lab_output_open(output, path, error) : status;
    free(own);
    free(path);
    return status;
}

static locus_status export_events(lab_store *store, const lab_run *run, const char *folder, locus_error *error) {
    static const char version[] = "brain.Event:2";
    lab_output output;
    const locus_status status = open_events(&output, folder, run->name, error);
    if (status != LOCUS_OK)
        return status;
    message first = begin_event(run, 0);
    put_counted(&first, 3, version, sizeof version - 1);
    lab_record_write(output.stream, first.bytes, first.used);
    const taker to = {take_event, output.stream, run};
    return finish(&output, give_run(&to, store, error), error);
}

locus_status lab_run_export_events(lab_store *store, const lab_run *runs, size_t count, const char *folder,
                                   locus_error *error) {
    locus_status status = LOCUS_OK;
    for (size_t i = 0; status == LOCUS_OK && i < count; i++)
        if (runs[i].state == LAB_RUN_DONE)
            status = export_events(store, &runs[i], folder, error);
    return status;
}
