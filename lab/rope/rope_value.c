/* SPDX-License-Identifier: MIT */
/* Plain values: looked up, compared, and written for messages. */
#include "rope/rope_value.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_BYTES 40

const lab_value *lab_value_member(const lab_value *object, const char *key) {
    for (const lab_value *item = lab_value_is_object(object) ? object->child : NULL; item; item = item->next)
        if (item->key && strcmp(item->key, key) == 0)
            return item;
    return NULL;
}

size_t lab_value_count(const lab_value *value) {
    size_t count = 0;
    for (const lab_value *item = value ? value->child : NULL; item; item = item->next)
        count++;
    return count;
}

/* ---- the same ---- */

static bool same_items(const lab_value *a, const lab_value *b) {
    const lab_value *x = a->child, *y = b->child;
    while (x && y && lab_value_same(x, y)) {
        x = x->next;
        y = y->next;
    }
    return !x && !y;
}

static bool has_members_of(const lab_value *a, const lab_value *b) {
    for (const lab_value *item = b->child; item; item = item->next)
        if (!lab_value_same(item, lab_value_member(a, item->key ? item->key : "")))
            return false;
    return true;
}

bool lab_value_same(const lab_value *a, const lab_value *b) {
    if (!a || !b || a->kind != b->kind)
        return false;
    switch (a->kind) {
    case LAB_VALUE_NUMBER:
        return fabs(a->number - b->number) <= fmax(fabs(a->number), fabs(b->number)) * DBL_EPSILON;
    case LAB_VALUE_TEXT:
        return strcmp(a->text, b->text) == 0;
    case LAB_VALUE_LIST:
        return same_items(a, b);
    case LAB_VALUE_OBJECT:
        return has_members_of(a, b) && has_members_of(b, a);
    default:
        return true;
    }
}

/* ---- as text ---- */

typedef struct shown_text {
    char *text;
    size_t length;
    bool cut;
} shown_text;

/* Characters are whole or left out. */
static void put(shown_text *shown, const char *text) {
    while (*text && !shown->cut) {
        size_t bytes = 1;
        while (((unsigned char)text[bytes] & 0xC0) == 0x80)
            bytes++;
        shown->cut = shown->length + bytes > SHOWN_BYTES;
        if (!shown->cut)
            memcpy(shown->text + shown->length, text, bytes);
        shown->length += shown->cut ? 0 : bytes;
        text += bytes;
    }
}

static void put_number(shown_text *shown, double value) {
    char text[32];
    if (!isfinite(value)) {
        put(shown, "null");
        return;
    }
    snprintf(text, sizeof text, "%.15g", value);
    if (strtod(text, NULL) != value)
        snprintf(text, sizeof text, "%.17g", value);
    put(shown, text);
}

static void put_text(shown_text *shown, const char *text) {
    static const char plain[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
    put(shown, "\"");
    while (*text && !shown->cut) {
        char own[8];
        const char *escaped = strchr(plain, *text);
        size_t bytes = 1;
        if (escaped) {
            snprintf(own, sizeof own, "\\%c", letters[escaped - plain]);
        } else if ((unsigned char)*text < 0x20) {
            snprintf(own, sizeof own, "\\u%04x", (unsigned char)*text);
        } else {
            while (((unsigned char)text[bytes] & 0xC0) == 0x80 && bytes < 4)
                bytes++;
            snprintf(own, sizeof own, "%.*s", (int)bytes, text);
        }
        put(shown, own);
        text += bytes;
    }
    put(shown, "\"");
}

static void put_value(shown_text *shown, const lab_value *value) {
    static const char *const words[] = {"null", "false", "true"};
    const bool object = value->kind == LAB_VALUE_OBJECT;
    if (value->kind == LAB_VALUE_NUMBER) {
        put_number(shown, value->number);
    } else if (value->kind == LAB_VALUE_TEXT) {
        put_text(shown, value->text);
    } else if (!object && value->kind != LAB_VALUE_LIST) {
        put(shown, words[value->kind]);
    } else {
        put(shown, object ? "{" : "[");
        for (const lab_value *item = value->child; item && !shown->cut; item = item->next) {
            if (object) {
                put_text(shown, item->key ? item->key : "");
                put(shown, ":");
            }
            put_value(shown, item);
            put(shown, item->next ? "," : "");
        }
        put(shown, object ? "}" : "]");
    }
}

void lab_value_print(const lab_value *value, char text[LAB_VALUE_SHOWN]) {
    shown_text shown = {.text = text};
    put_value(&shown, value);
    memcpy(text + shown.length, shown.cut ? "…" : "", shown.cut ? sizeof "…" : 1);
}
