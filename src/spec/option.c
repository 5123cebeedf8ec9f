/* SPDX-License-Identifier: MIT */
/* Typed option values. Numbers are plain decimals whatever the process's locale. See option.h. */
#include "spec/option.h"

#include "algebra/group_access.h"
#include "core/error.h"

#include <locus/memory.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_TEXT_MAX 63
#define GROUP_TEXT_MAX 255
#define PROPORTIONAL "proportional:"
#define LEARNED "learned:"

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static size_t skip_digits(const char *text, size_t length, size_t at) {
    while (at < length && is_digit(text[at]))
        at++;
    return at;
}

/* [+-] digits [. digits] [e [+-] digits], with at least one digit before the exponent. */
static bool is_decimal(const char *text, size_t length) {
    size_t at = length > 0 && (text[0] == '-' || text[0] == '+');
    size_t whole = skip_digits(text, length, at), digits = whole - at;
    at = whole;
    if (at < length && text[at] == '.') {
        size_t end = skip_digits(text, length, at + 1);
        digits += end - at - 1;
        at = end;
    }
    if (digits == 0)
        return false;
    if (at < length && (text[at] == 'e' || text[at] == 'E')) {
        at++;
        at += at < length && (text[at] == '-' || text[at] == '+');
        size_t end = skip_digits(text, length, at);
        if (end == at)
            return false;
        at = end;
    }
    return at == length;
}

/* What this process's locale writes for the decimal point, without localeconv, which threads may not share. */
static void decimal_point(char point[8]) {
    char half[16];
    (void)snprintf(half, sizeof half, "%.1f", 0.5);
    (void)snprintf(point, 8, "%.*s", (int)strlen(half) - 2, half + 1); /* between 0 and 5 */
}

static bool read_number(locus_option_text text, double *number) {
    char buffer[NUMBER_TEXT_MAX + 8], point[8];
    if (text.length > NUMBER_TEXT_MAX || !is_decimal(text.text, text.length))
        return false;
    const char *dot = memchr(text.text, '.', text.length);
    decimal_point(point);
    size_t whole = dot ? (size_t)(dot - text.text) : text.length;
    (void)snprintf(buffer, sizeof buffer, "%.*s%s%.*s", (int)whole, text.text, dot ? point : "",
                   dot ? (int)(text.length - whole - 1) : 0, dot ? dot + 1 : "");
    *number = strtod(buffer, NULL);
    return isfinite(*number);
}

/* The shortest decimal that reads back as the number. */
static size_t print_number(double number, char *text, size_t size) {
    char buffer[NUMBER_TEXT_MAX + 1], point[8];
    decimal_point(point);
    if (number == floor(number) && fabs(number) < 1e15) /* %g would write 500 as 5e+02 */
        return (size_t)snprintf(text, size, "%.0f", number);
    for (int digits = 1; digits <= 17; digits++) {
        (void)snprintf(buffer, sizeof buffer, "%.*g", digits, number);
        char *place = strcmp(point, ".") == 0 ? NULL : strstr(buffer, point);
        if (place) {
            memmove(place + 1, place + strlen(point), strlen(place + strlen(point)) + 1);
            *place = '.';
        }
        double back = 0;
        if (read_number((locus_option_text){buffer, strlen(buffer), 0}, &back) && back == number)
            break;
    }
    return (size_t)snprintf(text, size, "%s", buffer);
}

static bool in_range(const locus_option_info *rule, double number) {
    return number <= rule->maximum && (rule->open ? number > rule->minimum : number >= rule->minimum);
}

/* ", at most …" of a number, where the registry's text does not say it. */
static void name_limit(const locus_option_info *rule, locus_option_text text, char *most, size_t size) {
    char limit[NUMBER_TEXT_MAX + 1];
    double number = 0;
    const bool digits = text.length > 0 && is_decimal(text.text, text.length);
    if (!digits || rule->maximum <= 0 || (read_number(text, &number) && number <= rule->maximum))
        return;
    (void)print_number(rule->maximum, limit, sizeof limit);
    if (!strstr(rule->values, limit))
        (void)snprintf(most, size, ", at most %s", limit);
}

static locus_status fail_value(const locus_signature *own, size_t option, locus_option_text text, locus_error *error) {
    const locus_option_info *info = &own->options[option];
    locus_option_text nearest =
        locus_choice_nearest(info->kind == LOCUS_OPTION_CHOICE ? info->values : NULL, text.text, text.length);
    if (nearest.length)
        return locus_fail_at(error, LOCUS_ERROR_SPEC, info->name, text.offset, (ptrdiff_t)text.length,
                             "option '%s' of '%s' cannot be '%.*s': expected %s (did you mean '%.*s'?)", info->name,
                             own->name, (int)text.length, text.text, info->values, (int)nearest.length, nearest.text);
    char most[NUMBER_TEXT_MAX + 16] = "";
    name_limit(info, text, most, sizeof most);
    return locus_fail_at(error, LOCUS_ERROR_SPEC, info->name, text.offset, (ptrdiff_t)text.length,
                         "option '%s' of '%s' cannot be '%.*s': expected %s%s", info->name, own->name,
                         (int)(text.length < 64 ? text.length : 64), text.text, info->values, most);
}

static bool parse_number(const locus_option_info *rule, locus_option_text text, bool whole, double *number) {
    double value = 0;
    if (!read_number(text, &value) || !in_range(rule, value) || (whole && value != floor(value)))
        return false;
    *number = value == 0 ? 0 : value; /* no negative zero */
    return true;
}

static bool parse_rotate(const locus_option_info *rule, locus_option_text text, locus_option_value *value) {
    const size_t prefix = strlen(PROPORTIONAL);
    if (text.length > prefix && memcmp(text.text, PROPORTIONAL, prefix) == 0) {
        const locus_option_info share = {.kind = LOCUS_OPTION_NUMBER, .maximum = 1, .open = true};
        value->choice = 2;
        return parse_number(&share, (locus_option_text){text.text + prefix, text.length - prefix, 0}, false,
                            &value->number);
    }
    value->choice = 1;
    return parse_number(rule, text, true, &value->number) && fmod(value->number, 2) == 0;
}

static locus_status parse_group(const locus_signature *own, size_t option, locus_option_text text, locus_group **parsed,
                                locus_error *error) {
    char copy[GROUP_TEXT_MAX + 1];
    const char *name = own->options[option].name;
    if (text.length > GROUP_TEXT_MAX)
        return locus_fail_at(error, LOCUS_ERROR_SPEC, name, text.offset, (ptrdiff_t)text.length,
                             "option '%s' of '%s': a group's text is at most %d bytes long", name, own->name,
                             GROUP_TEXT_MAX);
    memcpy(copy, text.text, text.length);
    copy[text.length] = '\0';
    locus_group *group = NULL;
    locus_error inner = {0};
    locus_status status = locus_group_parse(copy, &group, &inner);
    if (status == LOCUS_ERROR_MEMORY) {
        if (error)
            *error = inner;
        return status;
    }
    if (status != LOCUS_OK)
        return locus_fail_at(error, status, name, text.offset + (inner.offset > 0 ? inner.offset : 0),
                             inner.length > 0 ? inner.length : 1, "option '%s' of '%s': %s", name, own->name,
                             inner.message);
    const bool grid = locus_group_factor_count(group) == 1 && locus_group_factor_at(group, 0).kind == LOCUS_FACTOR_GRID;
    const size_t coordinates = locus_group_coordinates(group);
    if ((!own->grids_only || grid) && coordinates <= LOCUS_COORDINATES_MAX) {
        *parsed = group;
        return LOCUS_OK;
    }
    locus_group_destroy(&group);
    if (coordinates > LOCUS_COORDINATES_MAX)
        return locus_fail_at(error, LOCUS_ERROR_UNSUPPORTED, name, text.offset, (ptrdiff_t)text.length,
                             "option '%s' of '%s': the group '%s' has more than %d axes, cycles and trees", name,
                             own->name, copy, LOCUS_COORDINATES_MAX);
    return locus_fail_at(error, LOCUS_ERROR_SPEC, name, text.offset, (ptrdiff_t)text.length,
                         "option '%s' of '%s' cannot be '%s': expected seq or grid:r", name, own->name, copy);
}

/* a:b:…, counted first. MEMORY, or OK with `good` set. */
static locus_status parse_list(const locus_option_info *rule, locus_option_text text, locus_option_value *value,
                               bool *good, locus_error *error) {
    size_t count = 1;
    for (size_t i = 0; i < text.length; i++)
        count += text.text[i] == ':';
    *good = false;
    if (count > LOCUS_LIST_MAX)
        return LOCUS_OK;
    double *list = locus_allocate(count * sizeof *list);
    if (!list)
        return locus_fail_memory(error, count * sizeof *list);
    *good = true;
    for (size_t i = 0, at = 0; i < count && *good; i++) {
        const char *colon = memchr(text.text + at, ':', text.length - at);
        const size_t end = colon ? (size_t)(colon - text.text) : text.length;
        const locus_option_text item = {text.text + at, end - at, 0};
        *good = parse_number(rule, item, rule->kind == LOCUS_OPTION_LIST, &list[i]);
        at = end + 1;
    }
    if (*good)
        *value = (locus_option_value){.given = true, .choice = 1, .count = count, .list = list};
    else
        locus_release(list, count * sizeof *list);
    return LOCUS_OK;
}

static size_t print_list(const locus_option_value *value, char *text, size_t size) {
    size_t length = 0;
    for (size_t i = 0; i < value->count; i++) {
        char item[NUMBER_TEXT_MAX + 2] = ":";
        (void)print_number(value->list[i], item + 1, sizeof item - 1);
        for (const char *c = item + (i == 0); *c; c++, length++)
            if (length + 1 < size)
                text[length] = *c;
    }
    if (size > 0)
        text[length < size ? length : size - 1] = '\0';
    return length;
}

void locus_option_release(locus_option_value *value) {
    locus_group_destroy(&value->group);
    locus_release(value->list, value->count * sizeof *value->list);
    value->list = NULL;
    value->count = 0;
}

static bool parse_decay(const locus_option_info *rule, locus_option_text text, locus_option_value *value) {
    const size_t prefix = strlen(LEARNED);
    if (text.length == 3 && memcmp(text.text, "off", 3) == 0)
        return true;
    if (text.length <= prefix || memcmp(text.text, LEARNED, prefix) != 0) {
        value->choice = 1;
        return parse_number(rule, text, false, &value->number);
    }
    value->choice = 2;
    return parse_number(rule, (locus_option_text){text.text + prefix, text.length - prefix, 0}, false, &value->number);
}

locus_status locus_option_parse(const locus_signature *own, size_t option, locus_option_text text,
                                locus_option_value *value, locus_error *error) {
    const locus_option_info *rule = &own->options[option];
    locus_option_value fresh = {.given = true, .choice = 0, .number = 0};
    bool good = false;
    switch (rule->kind) {
    case LOCUS_OPTION_CHOICE:
        fresh.choice = locus_choice_find(own->options[option].values, text.text, text.length);
        good = fresh.choice != SIZE_MAX;
        break;
    case LOCUS_OPTION_NUMBER:
        good = parse_number(rule, text, false, &fresh.number);
        break;
    case LOCUS_OPTION_INTEGER:
        good = parse_number(rule, text, true, &fresh.number);
        break;
    case LOCUS_OPTION_OFF_OR_NUMBER:
    case LOCUS_OPTION_OFF_OR_INTEGER:
        fresh.choice = !(text.length == 3 && memcmp(text.text, "off", 3) == 0);
        good = fresh.choice == 0 || parse_number(rule, text, rule->kind == LOCUS_OPTION_OFF_OR_INTEGER, &fresh.number);
        break;
    case LOCUS_OPTION_ROTATE:
        good = parse_rotate(rule, text, &fresh);
        break;
    case LOCUS_OPTION_GROUP: {
        locus_status status = parse_group(own, option, text, &fresh.group, error);
        if (status != LOCUS_OK)
            return status;
        good = true;
        break;
    }
    case LOCUS_OPTION_LIST:
    case LOCUS_OPTION_NUMBERS: {
        locus_status status = parse_list(rule, text, &fresh, &good, error);
        if (status != LOCUS_OK)
            return status;
        break;
    }
    case LOCUS_OPTION_DECAY:
        good = parse_decay(rule, text, &fresh);
        break;
    }
    if (!good)
        return fail_value(own, option, text, error);
    *value = fresh;
    return LOCUS_OK;
}

locus_option_value locus_option_initial(const locus_signature *own, size_t option) {
    locus_option_value value = {0};
    const char *initial = own->options[option].initial;
    /* A group's default is NULL, which spec.c resolves: parsing a group would allocate. A list is the caller's. */
    if (*initial && own->options[option].kind != LOCUS_OPTION_GROUP)
        (void)(locus_option_parse(own, option, (locus_option_text){initial, strlen(initial), 0}, &value, NULL) ==
               LOCUS_OK);
    value.given = false;
    return value;
}

bool locus_option_is_initial(const locus_signature *own, size_t option, const locus_option_value *value) {
    char text[GROUP_TEXT_MAX + 1];
    if (value->group) {
        (void)locus_group_text(value->group, text, sizeof text);
        return strcmp(text, own->options[option].initial) == 0;
    }
    if (!*own->options[option].initial)
        return !value->given;
    locus_option_value initial = locus_option_initial(own, option);
    bool same = value->choice == initial.choice && value->number == initial.number && value->count == initial.count;
    for (size_t i = 0; same && i < initial.count; i++)
        same = value->list[i] == initial.list[i];
    locus_option_release(&initial);
    return same;
}

size_t locus_option_print(const locus_signature *own, size_t option, const locus_option_value *value, char *text,
                          size_t size) {
    switch (own->options[option].kind) {
    case LOCUS_OPTION_CHOICE: {
        locus_option_text word = locus_choice_at(own->options[option].values, value->choice);
        return (size_t)snprintf(text, size, "%.*s", (int)word.length, word.text);
    }
    case LOCUS_OPTION_OFF_OR_NUMBER:
    case LOCUS_OPTION_OFF_OR_INTEGER:
        if (value->choice == 0)
            return (size_t)snprintf(text, size, "off");
        return print_number(value->number, text, size);
    case LOCUS_OPTION_ROTATE: {
        size_t prefix = value->choice == 2 ? (size_t)snprintf(text, size, PROPORTIONAL) : 0;
        return prefix + print_number(value->number, text + prefix, size - prefix);
    }
    case LOCUS_OPTION_GROUP:
        return value->group ? locus_group_text(value->group, text, size)
                            : (size_t)snprintf(text, size, "%s", own->options[option].initial);
    case LOCUS_OPTION_LIST:
    case LOCUS_OPTION_NUMBERS:
        return print_list(value, text, size);
    case LOCUS_OPTION_DECAY: {
        if (value->choice == 0)
            return (size_t)snprintf(text, size, "off");
        size_t prefix = value->choice == 2 ? (size_t)snprintf(text, size, LEARNED) : 0;
        return prefix + print_number(value->number, text + prefix, size - prefix);
    }
    case LOCUS_OPTION_NUMBER:
    case LOCUS_OPTION_INTEGER:
        break;
    }
    return print_number(value->number, text, size);
}
