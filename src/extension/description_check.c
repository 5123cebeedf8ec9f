/* SPDX-License-Identifier: MIT */
/* What can be wrong with a description. Texts end up in lists, man pages and JSON: each is one line of UTF-8. */
#include "extension/register.h"

#include "algebra/group_access.h"
#include "core/error.h"
#include "core/sized.h"

#include <math.h>
#include <string.h>

#define NAME_MAX_BYTES 31
#define OPTION_NAME_BYTES 15 /* of so many options a message lists all */
#define TEXT_MAX_BYTES 200

/* ---- texts ---- */

static bool is_small(char c) {
    return c >= 'a' && c <= 'z';
}

static bool is_word(const char *name, size_t most, const char *others) {
    const size_t length = name ? strlen(name) : 0;
    bool word = length > 0 && length <= most && (is_small(name[0]) || strchr(others, 'A'));
    for (size_t i = 0; i < length && word; i++) {
        const char c = name[i];
        const bool letter = is_small(c) || (c >= 'A' && c <= 'Z' && strchr(others, 'A'));
        word = letter || (i > 0 && ((c >= '0' && c <= '9') || (c != 'A' && strchr(others, c))));
    }
    return word;
}

/* Bytes of the character that `text` begins with; 0 for a control character, and what is no UTF-8. */
static size_t character(const unsigned char *text) {
    if (text[0] < 0x80)
        return text[0] >= ' ' && text[0] != 0x7F;
    const size_t length = text[0] >= 0xF0 ? 4 : text[0] >= 0xE0 ? 3 : text[0] >= 0xC2 ? 2 : 0;
    for (size_t i = 1; i < length; i++)
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    return text[0] > 0xF4 || (length == 2 && text[0] == 0xC2 && text[1] < 0xA0) ? 0 : length;
}

/* One line that is not empty. */
static bool is_line(const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    size_t step = 1, length = 0;
    for (; at && *at && step > 0 && length <= TEXT_MAX_BYTES; at += step, length += step)
        step = character(at);
    return at && step > 0 && length > 0 && length <= TEXT_MAX_BYTES;
}

static locus_status fail_line(const char *name, const char *what, locus_error *error) {
    return locus_fail(error, LOCUS_ERROR_ARGUMENT, what, "%s of '%s' must be one line of 1 to %d bytes", what, name,
                      TEXT_MAX_BYTES);
}

/* ---- options ---- */

static bool has_range(locus_option_kind kind) {
    return kind != LOCUS_OPTION_CHOICE && kind != LOCUS_OPTION_GROUP;
}

static bool is_kind(locus_option_kind kind) {
    return kind >= LOCUS_OPTION_CHOICE && kind <= LOCUS_OPTION_OFF_OR_INTEGER && kind != LOCUS_OPTION_ROTATE &&
           kind != LOCUS_OPTION_DECAY;
}

/* A default has to be a value of the option. */
static locus_status check_initial(const locus_encoding_description *own, size_t index, locus_error *error) {
    const locus_option_info *option = &own->options[index];
    const locus_signature signature = {own->name, own->options, own->option_count, 0, false};
    const locus_option_text text = {option->initial, strlen(option->initial), 0};
    locus_option_value value = {.given = false};
    locus_error reason;
    if (text.length == 0 && option->kind != LOCUS_OPTION_GROUP)
        return LOCUS_OK;
    const locus_status status = locus_option_parse(&signature, index, text, &value, &reason);
    locus_option_release(&value);
    if (status == LOCUS_ERROR_MEMORY)
        return locus_fail(error, status, "options", "%s", reason.message);
    return status == LOCUS_OK ? status
                              : locus_fail(error, LOCUS_ERROR_ARGUMENT, option->name, "the default of option '%s': %s",
                                           option->name, reason.message);
}

static locus_status check_option(const locus_encoding_description *own, size_t index, locus_error *error) {
    const locus_option_info *option = &own->options[index];
    if (!is_word(option->name, OPTION_NAME_BYTES, "A_-"))
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "options",
                          "option %zu of '%s' needs a name of 1 to %d letters, digits, '_' and '-' that begins with a "
                          "letter",
                          index, own->name, OPTION_NAME_BYTES);
    for (size_t other = 0; other < index; other++)
        if (strcmp(own->options[other].name, option->name) == 0)
            return locus_fail(error, LOCUS_ERROR_ARGUMENT, "options", "'%s' has two options '%s'", own->name,
                              option->name);
    if (!is_kind(option->kind))
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, option->name,
                          "option '%s' of '%s' is of kind %d, which registered encodings cannot have", option->name,
                          own->name, (int)option->kind);
    if (!is_line(option->values) || !is_line(option->meaning) || !option->initial)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, option->name,
                          "option '%s' of '%s' needs values and meaning of one line each, and an initial text, which "
                          "may be empty",
                          option->name, own->name);
    if (has_range(option->kind) && !(option->minimum <= option->maximum))
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, option->name, "option '%s' of '%s' has no number from %g to %g",
                          option->name, own->name, option->minimum, option->maximum);
    return check_initial(own, index, error);
}

static locus_status check_options(const locus_encoding_description *own, locus_error *error) {
    size_t groups = 0;
    if (own->option_count > LOCUS_OPTIONS_MAX || (own->option_count > 0 && !own->options))
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "options", "'%s' says it has %zu options: give 0 to %d of them",
                          own->name, own->option_count, LOCUS_OPTIONS_MAX);
    for (size_t i = 0; i < own->option_count; i++) {
        const locus_status status = check_option(own, i, error);
        if (status != LOCUS_OK)
            return status;
        groups += own->options[i].kind == LOCUS_OPTION_GROUP;
    }
    if (groups + (own->group != NULL) > 1)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "group",
                          "'%s' says more than once which group it acts on: by `group`, or by one option", own->name);
    return LOCUS_OK;
}

/* ---- parameters ---- */

static bool is_extent(const locus_encoding_description *own, int64_t extent) {
    if (extent >= LOCUS_EXTENT_PAIRS)
        return extent != 0;
    const int64_t option = LOCUS_EXTENT_OPTION(extent); /* its own inverse */
    return option >= 0 && (size_t)option < own->option_count && own->options[option].kind == LOCUS_OPTION_INTEGER;
}

static bool keeps_constraint(const locus_extension_parameter *parameter) {
    switch (parameter->constraint) {
    case LOCUS_CONSTRAINT_NONE:
        return true;
    case LOCUS_CONSTRAINT_POSITIVE:
        return parameter->initial > 0;
    case LOCUS_CONSTRAINT_NONZERO:
        return parameter->initial != 0;
    }
    return false;
}

locus_status locus_description_parameter(const locus_encoding_description *own, size_t index,
                                         locus_extension_parameter *parameter, locus_error *error) {
    static const locus_sized kind = {sizeof *parameter, sizeof *parameter, "parameters"};
    *parameter = (locus_extension_parameter){.size = sizeof *parameter};
    return locus_sized_read_item(parameter, &kind, own->parameters, index, error);
}

static locus_status check_parameter(const locus_encoding_description *own, size_t index, locus_error *error) {
    locus_extension_parameter parameter, other;
    locus_status status = locus_description_parameter(own, index, &parameter, error);
    if (status != LOCUS_OK)
        return status;
    if (!is_word(parameter.name, NAME_MAX_BYTES, "A_"))
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "parameters",
                          "parameter %zu of '%s' needs a name of 1 to %d letters, digits and '_' that begins with a "
                          "letter",
                          index, own->name, NAME_MAX_BYTES);
    for (size_t i = 0; i < index && status == LOCUS_OK; i++) {
        status = locus_description_parameter(own, i, &other, error);
        if (status == LOCUS_OK && strcmp(other.name, parameter.name) == 0)
            status = locus_fail(error, LOCUS_ERROR_ARGUMENT, "parameters", "'%s' has two parameters '%s'", own->name,
                                parameter.name);
    }
    bool shaped = parameter.rank >= 1 && parameter.rank <= LOCUS_MAX_RANK;
    for (size_t i = 0; shaped && i < parameter.rank; i++)
        shaped = is_extent(own, parameter.shape[i]);
    if (status == LOCUS_OK && !shaped)
        status = locus_fail(error, LOCUS_ERROR_ARGUMENT, parameter.name,
                            "the parameter '%s' of '%s' has no shape: give 1 to %d sizes, each at least 1 or a "
                            "LOCUS_EXTENT, options being integers",
                            parameter.name, own->name, LOCUS_MAX_RANK);
    const bool begins = isfinite(parameter.initial) && parameter.deviation >= 0 && isfinite(parameter.deviation) &&
                        (own->initialise || keeps_constraint(&parameter));
    if (status == LOCUS_OK && !begins)
        status = locus_fail(error, LOCUS_ERROR_ARGUMENT, parameter.name,
                            "the parameter '%s' of '%s' begins with %g and deviation %g, which its constraint does not "
                            "allow",
                            parameter.name, own->name, parameter.initial, parameter.deviation);
    return status;
}

static locus_status check_parameters(const locus_encoding_description *own, locus_error *error) {
    if (own->parameter_count > LOCUS_EXTENSION_PARAMETERS_MAX || (own->parameter_count > 0 && !own->parameters))
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "parameters",
                          "'%s' says it has %zu parameters: give 0 to %d of them", own->name, own->parameter_count,
                          LOCUS_EXTENSION_PARAMETERS_MAX);
    if (own->parameter_count > 0 && !own->gradient)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "gradient",
                          "'%s' has parameters, but no callback for their gradient: give `gradient`", own->name);
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < own->parameter_count && status == LOCUS_OK; i++)
        status = check_parameter(own, i, error);
    return status;
}

/* ---- all of it ---- */

static locus_status check_group(const locus_encoding_description *own, locus_error *error) {
    locus_group *group = NULL;
    locus_error reason;
    if (!own->group)
        return LOCUS_OK;
    const locus_status status = locus_group_parse(own->group, &group, &reason);
    locus_group_destroy(&group);
    if (status == LOCUS_OK && strlen(own->group) > 60)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "group", "the group of '%s' is longer than 60 bytes", own->name);
    return status == LOCUS_OK ? status
                              : locus_fail(error, status, "group", "the group of '%s': %s", own->name, reason.message);
}

static locus_status check_masks(const locus_encoding_description *own, locus_error *error) {
    const unsigned flags = LOCUS_EXTENSION_HEADS_ALIKE |
                           (own->kind == LOCUS_EXTENSION_ANGLES ? (unsigned)LOCUS_EXTENSION_HALF_PAIRS : 0u) |
                           (own->kind > LOCUS_EXTENSION_FACTOR ? (unsigned)LOCUS_EXTENSION_VALUES : 0u);
    const unsigned traits = LOCUS_TRAIT_REALS | LOCUS_TRAIT_LENGTH | LOCUS_TRAIT_CAUSAL;
    const char *wrong = (own->flags & ~flags) != 0                     ? "flags"
                        : (own->laws & ~(unsigned)LOCUS_LAWS_ALL) != 0 ? "laws"
                        : (own->traits & ~traits) != 0                 ? "traits"
                                                                       : NULL;
    if (!wrong && own->kind == LOCUS_EXTENSION_MATRICES && (own->flags & LOCUS_EXTENSION_VALUES) != 0 &&
        (own->laws & LOCUS_LAW_ORTHOGONAL) == 0)
        return locus_fail(
            error, LOCUS_ERROR_ARGUMENT, "laws",
            "'%s' acts on values by matrices that do not promise to be orthogonal: outputs are turned back by "
            "the transpose",
            own->name);
    if (!wrong)
        return LOCUS_OK;
    return locus_fail(error, LOCUS_ERROR_ARGUMENT, wrong, "the %s of '%s' have bits that its kind does not know", wrong,
                      own->name);
}

locus_status locus_description_check(const locus_encoding_description *given, locus_encoding_description *own,
                                     locus_error *error) {
    static const locus_sized kind = {sizeof *own, sizeof *own, "description"};
    *own = (locus_encoding_description){.size = sizeof *own};
    if (!given)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "description", "description is NULL");
    locus_status status = locus_sized_read(own, &kind, given, error);
    if (status != LOCUS_OK)
        return status;
    if (!is_word(own->name, NAME_MAX_BYTES, "-"))
        return locus_fail(
            error, LOCUS_ERROR_ARGUMENT, "name",
            "an encoding needs a name of 1 to %d small letters, digits and '-' that begins with a letter%s%s%s",
            NAME_MAX_BYTES, own->name ? ", not '" : "", own->name ? own->name : "", own->name ? "'" : "");
    if (!is_line(own->summary))
        return fail_line(own->name, "summary", error);
    if (own->source && own->source[0] && !is_line(own->source))
        return fail_line(own->name, "source", error);
    if (own->kind < LOCUS_EXTENSION_BIAS || own->kind > LOCUS_EXTENSION_MATRICES)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "kind", "'%s' is of kind %d, which there is not", own->name,
                          (int)own->kind);
    if (!own->values)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "values", "'%s' has no callback for its values: give `values`",
                          own->name);
    status = check_masks(own, error);
    if (status == LOCUS_OK)
        status = check_group(own, error);
    if (status == LOCUS_OK)
        status = check_options(own, error);
    return status == LOCUS_OK ? check_parameters(own, error) : status;
}
