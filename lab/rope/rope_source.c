/* SPDX-License-Identifier: MIT */
/* Fields of a model's configuration: found wherever a version of the format keeps them, compared where it keeps them
 * twice. A field that is null is not there. */
#include "rope/rope_source.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what goes wrong, what is noted ---- */

/* One line, whatever stood in the configuration. */
static void flatten(char *text) {
    for (char *at = text; *at; at++)
        if ((unsigned char)*at < 0x20 || *at == 0x7F)
            *at = '?';
}

locus_status lab_rope_fail(const lab_rope_source *source, const char *format, ...) {
    locus_error own = {.status = LOCUS_ERROR_ARGUMENT, .offset = -1};
    va_list values;
    va_start(values, format);
    if (vsnprintf(own.message, sizeof own.message, format, values) < 0)
        own.message[0] = '\0';
    va_end(values);
    flatten(own.message);
    *source->error = own;
    return own.status;
}

locus_status lab_rope_fail_memory(const lab_rope_source *source, const char *purpose) {
    lab_rope_fail(source, "out of memory for %s", purpose);
    return source->error->status = LOCUS_ERROR_MEMORY;
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
    flatten(note->text);
    for (size_t i = 0; i < config->note_count; i++)
        if (strcmp(config->notes[i].text, note->text) == 0)
            return; /* types of layers may share their settings */
    config->note_count++;
}

/* ---- members ---- */

static const lab_value *member(const lab_value *object, const char *key) {
    const lab_value *item = lab_value_member(object, key);
    return item && !lab_value_is_null(item) ? item : NULL;
}

const lab_value *lab_rope_member(const lab_rope_source *source, const char *key) {
    const lab_value *item = member(source->inner, key);
    return item ? item : member(source->outer, key);
}

bool lab_rope_says_null(const lab_rope_source *source, const char *key) {
    return !lab_rope_member(source, key) &&
           (lab_value_member(source->inner, key) || lab_value_member(source->outer, key));
}

/* ---- fields, compared where they are said twice ---- */

static bool same(const lab_value *a, const lab_value *b) {
    return lab_value_is_number(a) && lab_value_is_number(b) ? a->number == b->number : lab_value_same(a, b);
}

/* `object` may say it more than once, too: JSON forbids no key to come again. */
static locus_status take(const lab_rope_source *source, const lab_value *object, const char *prefix, const char *key,
                         lab_rope_found *found) {
    for (const lab_value *item = object ? object->child : NULL; item; item = item->next) {
        char name[sizeof found->name], one[LAB_VALUE_SHOWN], other[LAB_VALUE_SHOWN];
        if (!item->key || strcmp(item->key, key) != 0 || lab_value_is_null(item))
            continue;
        snprintf(name, sizeof name, "%s%s%s", prefix, prefix[0] ? "." : "", key);
        if (found->item && !same(found->item, item)) {
            lab_value_print(found->item, one);
            lab_value_print(item, other);
            return lab_rope_fail(source, "contradicts itself: %s is %s, but %s is %s", found->name, one, name, other);
        }
        if (!found->item) {
            found->item = item;
            memcpy(found->name, name, sizeof name);
        }
    }
    return LOCUS_OK;
}

locus_status lab_rope_size(const lab_rope_source *source, const char *key, size_t *value) {
    lab_rope_found found = {0};
    locus_status status = take(source, source->inner, "", key, &found);
    if (status == LOCUS_OK && !found.item)
        status = take(source, source->outer, "", key, &found);
    *value = 0;
    if (status != LOCUS_OK || !found.item)
        return status;
    const double number = lab_value_is_number(found.item) ? found.item->number : 0;
    if (number < 1 || number > 1e12 || floor(number) != number)
        return lab_rope_fail(source, "has a field %s that is no whole number above 0", key);
    *value = (size_t)number;
    return LOCUS_OK;
}

/* ---- settings ---- */

static locus_status add_place(lab_rope_settings *settings, const lab_value *object, const char *name,
                              const char *kind) {
    lab_rope_place *place = &settings->places[settings->count++];
    place->object = object;
    snprintf(place->name, sizeof place->name, "%s%s%s", name, kind[0] ? "." : "", kind);
    if (!lab_value_is_object(object))
        return lab_rope_fail(settings->source, "has a field %s that is no object", place->name);
    return LOCUS_OK;
}

/* One set for each type of layers: an object of objects. */
static bool is_nested(const lab_value *object) {
    for (const lab_value *item = object->child; item; item = item->next) {
        const size_t length = item->key ? strlen(item->key) : 0;
        const bool named = length > 10 && strcmp(item->key + length - 10, "_attention") == 0;
        if (lab_value_is_object(item) || (named && lab_value_is_null(item)))
            return true;
    }
    return false;
}

static locus_status open_nested(lab_rope_settings *settings, const lab_value *object, const char *name) {
    const lab_value *own = lab_value_member(object, settings->kind);
    if (own && lab_value_is_null(own))
        settings->bare = true;
    else if (own)
        return add_place(settings, own, name, settings->kind);
    else
        lab_rope_note_add(settings->source, false, "%s says nothing of layers of type '%s': the family's defaults",
                          name, settings->kind);
    return LOCUS_OK;
}

static locus_status open_in(lab_rope_settings *settings, const lab_value *holder, const char *name) {
    const lab_value *object = member(holder, name);
    const lab_rope_family *family = settings->source->family;
    if (!object)
        return LOCUS_OK;
    if (lab_value_is_object(object) && is_nested(object)) {
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

/* ---- a setting, wherever it stands ---- */

locus_status lab_rope_find(const lab_rope_settings *settings, const char *key, const char *outside,
                           lab_rope_found *found) {
    const lab_rope_source *source = settings->source;
    locus_status status = LOCUS_OK;
    *found = (lab_rope_found){0};
    for (size_t i = 0; i < settings->count && status == LOCUS_OK; i++)
        status = take(source, settings->places[i].object, settings->places[i].name, key, found);
    while (outside && *outside && status == LOCUS_OK) {
        char name[64];
        const size_t length = strcspn(outside, "|");
        snprintf(name, sizeof name, "%.*s", (int)length, outside);
        status = take(source, source->inner, "", name, found);
        if (status == LOCUS_OK && source->outer != source->inner)
            status = take(source, source->outer, "", name, found);
        outside += length + (outside[length] == '|');
    }
    return status;
}

locus_status lab_rope_number(const lab_rope_settings *settings, const char *key, const char *outside, double *value) {
    lab_rope_found found;
    locus_status status = lab_rope_find(settings, key, outside, &found);
    if (status != LOCUS_OK || !found.item)
        return status;
    if (!lab_value_is_number(found.item) || !isfinite(found.item->number) || found.item->number <= 0) {
        char text[LAB_VALUE_SHOWN];
        lab_value_print(found.item, text);
        return lab_rope_fail(settings->source, "has %s = %s: it must be a number above 0", found.name, text);
    }
    *value = found.item->number;
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
