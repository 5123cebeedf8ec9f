/* SPDX-License-Identifier: MIT */
/* Fields of a model's configuration: found wherever a version of the format keeps them, compared where it keeps them
 * twice. A field that is null is not there. */
#include "io/rope_source.h"

#include "io/fail.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what goes wrong, what is noted ---- */

locus_status lab_rope_fail(const lab_rope_source *source, const char *format, ...) {
    char text[400];
    va_list values;
    va_start(values, format);
    if (vsnprintf(text, sizeof text, format, values) < 0)
        text[0] = '\0';
    va_end(values);
    return lab_fail_file(source->error, source->path, "%s", text);
}

void lab_rope_note_add(const lab_rope_source *source, bool minor, const char *format, ...) {
    lab_rope_config *config = source->config;
    if (config->note_count == LAB_ROPE_NOTES_MAX)
        return;
    lab_rope_note *note = &config->notes[config->note_count];
    va_list values;
    va_start(values, format);
    if (vsnprintf(note->text, sizeof note->text, format, values) < 0)
        note->text[0] = '\0';
    va_end(values);
    note->minor = minor;
    for (char *at = note->text; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7F)
            *at = '?';
    for (size_t i = 0; i < config->note_count; i++)
        if (strcmp(config->notes[i].text, note->text) == 0)
            return; /* types of layers may share their settings */
    config->note_count++;
}

/* ---- members ---- */

static const cJSON *member(const cJSON *object, const char *key) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return item && !cJSON_IsNull(item) ? item : NULL;
}

const cJSON *lab_rope_member(const lab_rope_source *source, const char *key) {
    const cJSON *item = member(source->inner, key);
    return item ? item : member(source->outer, key);
}

bool lab_rope_says_null(const lab_rope_source *source, const char *key) {
    return !lab_rope_member(source, key) && (cJSON_GetObjectItemCaseSensitive(source->inner, key) ||
                                             cJSON_GetObjectItemCaseSensitive(source->outer, key));
}

locus_status lab_rope_size(const lab_rope_source *source, const char *key, size_t *value) {
    const cJSON *item = lab_rope_member(source, key);
    *value = 0;
    if (!item)
        return LOCUS_OK;
    if (!cJSON_IsNumber(item) || item->valuedouble < 1 || item->valuedouble > 1e12 ||
        floor(item->valuedouble) != item->valuedouble)
        return lab_rope_fail(source, "has a field %s that is no whole number above 0", key);
    *value = (size_t)item->valuedouble;
    return LOCUS_OK;
}

/* ---- settings ---- */

static locus_status add_place(lab_rope_settings *settings, const cJSON *object, const char *name, const char *kind) {
    lab_rope_place *place = &settings->places[settings->count++];
    place->object = object;
    snprintf(place->name, sizeof place->name, "%s%s%s", name, kind[0] ? "." : "", kind);
    if (!cJSON_IsObject(object))
        return lab_rope_fail(settings->source, "has a field %s that is no object", place->name);
    return LOCUS_OK;
}

/* One set for each type of layers: an object of objects. */
static bool is_nested(const cJSON *object) {
    for (const cJSON *item = object->child; item; item = item->next) {
        const size_t length = item->string ? strlen(item->string) : 0;
        const bool named = length > 10 && strcmp(item->string + length - 10, "_attention") == 0;
        if (cJSON_IsObject(item) || (named && cJSON_IsNull(item)))
            return true;
    }
    return false;
}

static locus_status open_nested(lab_rope_settings *settings, const cJSON *object, const char *name) {
    const cJSON *own = cJSON_GetObjectItemCaseSensitive(object, settings->kind);
    if (own && cJSON_IsNull(own))
        settings->bare = true;
    else if (own)
        return add_place(settings, own, name, settings->kind);
    else
        lab_rope_note_add(settings->source, false, "%s says nothing of layers of type '%s': the family's defaults",
                          name, settings->kind);
    return LOCUS_OK;
}

static locus_status open_in(lab_rope_settings *settings, const cJSON *holder, const char *name) {
    const cJSON *object = member(holder, name);
    const lab_rope_family *family = settings->source->family;
    if (!object)
        return LOCUS_OK;
    if (cJSON_IsObject(object) && is_nested(object)) {
        if (settings->kind[0] == '\0')
            return lab_rope_fail(settings->source,
                                 "has settings for each type of layers in %s, but no layer_types that say which layer "
                                 "is of which type",
                                 name);
        return open_nested(settings, object, name);
    }
    if (family && (family->rules & LAB_ROPE_FULL_SCALED) && strcmp(settings->kind, "sliding_attention") == 0)
        return LOCUS_OK;
    return add_place(settings, object, name, "");
}

locus_status lab_rope_settings_open(lab_rope_settings *settings, const lab_rope_source *source, const char *kind) {
    static const char *const names[] = {"rope_parameters", "rope_scaling"};
    *settings = (lab_rope_settings){.source = source, .kind = kind};
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < 2 && status == LOCUS_OK; i++) {
        status = open_in(settings, source->inner, names[i]);
        if (status == LOCUS_OK && source->outer != source->inner)
            status = open_in(settings, source->outer, names[i]);
    }
    return status;
}

/* ---- looking, and comparing what is said twice ---- */

static void print_value(const cJSON *item, char text[48]) {
    char *whole = cJSON_PrintUnformatted(item);
    snprintf(text, 48, "%.40s%s", whole ? whole : "?", whole && strlen(whole) > 40 ? "…" : "");
    cJSON_free(whole);
}

static bool same(const cJSON *a, const cJSON *b) {
    return cJSON_IsNumber(a) && cJSON_IsNumber(b) ? a->valuedouble == b->valuedouble : cJSON_Compare(a, b, true);
}

/* `object` may say it more than once, too: JSON forbids no key to come again. */
static locus_status take(const lab_rope_settings *settings, const cJSON *object, const char *prefix, const char *key,
                         lab_rope_found *found) {
    for (const cJSON *item = object ? object->child : NULL; item; item = item->next) {
        char name[sizeof found->name], one[48], other[48];
        if (!item->string || strcmp(item->string, key) != 0 || cJSON_IsNull(item))
            continue;
        snprintf(name, sizeof name, "%s%s%s", prefix, prefix[0] ? "." : "", key);
        if (found->item && !same(found->item, item)) {
            print_value(found->item, one);
            print_value(item, other);
            return lab_rope_fail(settings->source, "contradicts itself: %s is %s, but %s is %s", found->name, one, name,
                                 other);
        }
        if (!found->item) {
            found->item = item;
            memcpy(found->name, name, sizeof name);
        }
    }
    return LOCUS_OK;
}

locus_status lab_rope_find(const lab_rope_settings *settings, const char *key, const char *outside,
                           lab_rope_found *found) {
    const lab_rope_source *source = settings->source;
    locus_status status = LOCUS_OK;
    *found = (lab_rope_found){0};
    for (size_t i = 0; i < settings->count && status == LOCUS_OK; i++)
        status = take(settings, settings->places[i].object, settings->places[i].name, key, found);
    while (outside && *outside && status == LOCUS_OK) {
        char name[64];
        const size_t length = strcspn(outside, "|");
        snprintf(name, sizeof name, "%.*s", (int)length, outside);
        status = take(settings, source->inner, "", name, found);
        if (status == LOCUS_OK && source->outer != source->inner)
            status = take(settings, source->outer, "", name, found);
        outside += length + (outside[length] == '|');
    }
    return status;
}

locus_status lab_rope_number(const lab_rope_settings *settings, const char *key, const char *outside, double *value) {
    lab_rope_found found;
    locus_status status = lab_rope_find(settings, key, outside, &found);
    if (status != LOCUS_OK || !found.item)
        return status;
    if (!cJSON_IsNumber(found.item) || !isfinite(found.item->valuedouble) || found.item->valuedouble <= 0) {
        char text[48];
        print_value(found.item, text);
        return lab_rope_fail(settings->source, "has %s = %s: it must be a number above 0", found.name, text);
    }
    *value = found.item->valuedouble;
    return LOCUS_OK;
}

/* ---- texts that grow ---- */

void lab_rope_put(lab_rope_text *text, const char *format, ...) {
    va_list values, again;
    va_start(values, format);
    va_copy(again, values);
    const int needed = vsnprintf(NULL, 0, format, values);
    va_end(values);
    const size_t size = text->length + (needed > 0 ? (size_t)needed : 0) + 1;
    if (size > text->size) {
        char *data = realloc(text->data, 2 * size);
        text->failed = text->failed || !data;
        text->size = data ? 2 * size : text->size;
        text->data = data ? data : text->data;
    }
    if (!text->failed && needed > 0) {
        vsnprintf(text->data + text->length, text->size - text->length, format, again);
        text->length += (size_t)needed;
    }
    va_end(again);
}

void lab_rope_put_number(lab_rope_text *text, const char *before, double value) {
    char number[40];
    int digits = 6;
    do
        snprintf(number, sizeof number, "%.*g", digits, value);
    while (strtod(number, NULL) != value && digits++ < 17);
    lab_rope_put(text, "%s%s", before, number);
}
