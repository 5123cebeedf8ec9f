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

void lab_rope_fail(const lab_rope_source *source, const char *format, ...) {
    locus_error own = {.status = LOCUS_ERROR_ARGUMENT, .offset = -1};
    va_list values;
    if (lab_rope_failed(source))
        return;
    va_start(values, format);
    if (vsnprintf(own.message, sizeof own.message, format, values) < 0)
        own.message[0] = '\0';
    va_end(values);
    flatten(own.message);
    *source->error = own;
}

void lab_rope_fail_memory(const lab_rope_source *source, const char *purpose) {
    if (lab_rope_failed(source))
        return;
    lab_rope_fail(source, "out of memory for %s", purpose);
    source->error->status = LOCUS_ERROR_MEMORY;
}

bool lab_rope_failed(const lab_rope_source *source) {
    return source->error->status != LOCUS_OK;
}

void lab_rope_note_add(const lab_rope_source *source, bool minor, const char *format, ...) {
    lab_rope_config *config = source->config;
    if (lab_rope_failed(source) || config->note_count == LAB_ROPE_NOTES_MAX)
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
static void take(const lab_rope_source *source, const lab_value *object, const char *prefix, const char *key,
                 lab_rope_found *found) {
    for (const lab_value *item = object ? object->child : NULL; item; item = item->next) {
        char name[sizeof found->name], one[LAB_VALUE_SHOWN], other[LAB_VALUE_SHOWN];
        if (!item->key || strcmp(item->key, key) != 0 || lab_value_is_null(item))
            continue;
        snprintf(name, sizeof name, "%s%s%s", prefix, prefix[0] ? "." : "", key);
        if (!found->item) {
            found->item = item;
            memcpy(found->name, name, sizeof name);
        } else if (!same(found->item, item)) {
            lab_value_print(found->item, one);
            lab_value_print(item, other);
            lab_rope_fail(source, "contradicts itself: %s is %s, but %s is %s", found->name, one, name, other);
        }
    }
}

size_t lab_rope_size(const lab_rope_source *source, const char *key) {
    lab_rope_found found = {0};
    take(source, source->inner, "", key, &found);
    if (!found.item)
        take(source, source->outer, "", key, &found);
    if (!found.item)
        return 0;
    const double number = lab_value_is_number(found.item) ? found.item->number : 0;
    const bool whole = number >= 1 && number <= 1e12 && floor(number) == number;
    if (!whole)
        lab_rope_fail(source, "has a field %s that is no whole number above 0", key);
    return whole ? (size_t)number : 0;
}

size_t lab_rope_either(const lab_rope_source *source, const char *key, const char *other) {
    const size_t value = lab_rope_size(source, key);
    return value ? value : lab_rope_size(source, other);
}

bool lab_rope_among(const char *words, const char *word, size_t bytes) {
    for (const char *at = words; *at; at += strcspn(at, "|"), at += *at == '|')
        if (strcspn(at, "|") == bytes && strncmp(at, word, bytes) == 0)
            return true;
    return false;
}

/* ---- settings ---- */

static void add_place(lab_rope_settings *settings, const lab_value *object, const char *name, const char *kind) {
    lab_rope_place *place = &settings->places[settings->count++];
    place->object = object;
    snprintf(place->name, sizeof place->name, "%s%s%s", name, kind[0] ? "." : "", kind);
    if (!lab_value_is_object(object))
        lab_rope_fail(settings->source, "has a field %s that is no object", place->name);
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

static void open_nested(lab_rope_settings *settings, const lab_value *object, const char *name) {
    const lab_value *own = lab_value_member(object, settings->kind);
    if (lab_value_is_null(own))
        settings->bare = true;
    else if (own)
        add_place(settings, own, name, settings->kind);
    else
        lab_rope_note_add(settings->source, false, "%s says nothing of layers of type '%s': the family's defaults",
                          name, settings->kind);
}

static void open_in(lab_rope_settings *settings, const lab_value *holder, const char *name) {
    const lab_value *object = member(holder, name);
    if (!object)
        return;
    const bool nested = lab_value_is_object(object) && is_nested(object);
    if (nested && settings->kind[0] == '\0') {
        lab_rope_fail(settings->source,
                      "has settings for each type of layers in %s, but no layer_types that say which layer is of "
                      "which type",
                      name);
    } else if (nested) {
        open_nested(settings, object, name);
    } else if (!settings->source->family->full_scaled || strcmp(settings->kind, "sliding_attention") != 0) {
        add_place(settings, object, name, "");
    }
}

lab_rope_settings lab_rope_settings_open(const lab_rope_source *source, const char *kind) {
    static const char *const names[] = {"rope_parameters", "rope_scaling"};
    lab_rope_settings settings = {.source = source, .kind = kind};
    for (size_t i = 0; i < 2; i++) {
        open_in(&settings, source->inner, names[i]);
        if (source->outer != source->inner)
            open_in(&settings, source->outer, names[i]);
    }
    return settings;
}

/* ---- a setting, wherever it stands ---- */

lab_rope_found lab_rope_find(const lab_rope_settings *settings, const char *key, const char *outside) {
    const lab_rope_source *source = settings->source;
    lab_rope_found found = {0};
    for (size_t i = 0; i < settings->count; i++)
        take(source, settings->places[i].object, settings->places[i].name, key, &found);
    for (const char *at = outside; *at; at += strcspn(at, "|"), at += *at == '|') {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "|"), at);
        take(source, source->inner, "", name, &found);
        if (source->outer != source->inner)
            take(source, source->outer, "", name, &found);
    }
    return found;
}

double lab_rope_number(const lab_rope_settings *settings, const char *key, const char *outside, double usual) {
    const lab_rope_found found = lab_rope_find(settings, key, outside);
    if (!found.item)
        return usual;
    if (lab_value_is_number(found.item) && isfinite(found.item->number) && found.item->number > 0)
        return found.item->number;
    char text[LAB_VALUE_SHOWN];
    lab_value_print(found.item, text);
    lab_rope_fail(settings->source, "has %s = %s: it must be a number above 0", found.name, text);
    return usual;
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
        if (!data)
            lab_rope_fail_memory(text->source, "a spec");
        text->size = data ? 2 * size : text->size;
        text->data = data ? data : text->data;
    }
    if (needed > 0 && size <= text->size && !lab_rope_failed(text->source)) {
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
