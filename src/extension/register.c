/* SPDX-License-Identifier: MIT */
/* Registration: descriptions are checked, copied, and become classes of the registry. See <locus/extension.h>. */
#include "extension/register.h"

#include "core/error.h"

#include <stdio.h>
#include <string.h>

/* ---- copies ---- */

static locus_status copy_text(const char **text, locus_owned *memory, locus_error *error) {
    const size_t bytes = (*text ? strlen(*text) : 0) + 1;
    char *copy = locus_owned_get(memory, bytes, 1);
    if (!copy)
        return locus_owned_fail(error);
    if (*text)
        memcpy(copy, *text, bytes);
    *text = copy;
    return LOCUS_OK;
}

static locus_status copy_options(locus_extension *own, locus_error *error) {
    const size_t count = own->description.option_count;
    locus_option_info *options = locus_owned_get(&own->memory, count, sizeof *options);
    if (!options)
        return locus_owned_fail(error);
    locus_status status = LOCUS_OK;
    for (size_t i = 0; i < count && status == LOCUS_OK; i++) {
        options[i] = own->description.options[i];
        const char **texts[] = {&options[i].name, &options[i].values, &options[i].initial, &options[i].meaning};
        for (size_t t = 0; t < sizeof texts / sizeof *texts && status == LOCUS_OK; t++)
            status = copy_text(texts[t], &own->memory, error);
    }
    own->description.options = options;
    return status;
}

/* Also lists their names, as the registry says what is learned. */
static locus_status copy_parameters(locus_extension *own, locus_error *error) {
    const size_t count = own->description.parameter_count, bytes = count * 34 + 1;
    char *learned = locus_owned_get(&own->memory, bytes, 1);
    locus_status status = learned ? LOCUS_OK : locus_owned_fail(error);
    for (size_t p = 0, at = 0; p < count && status == LOCUS_OK; p++) {
        status = locus_description_parameter(&own->description, p, &own->parameters[p], error);
        if (status == LOCUS_OK)
            status = copy_text(&own->parameters[p].name, &own->memory, error);
        if (status == LOCUS_OK)
            at += (size_t)snprintf(learned + at, bytes - at, "%s%s", p ? ", " : "", own->parameters[p].name);
    }
    own->description.parameters = own->parameters;
    own->class.info.learned = learned;
    return status;
}

static locus_status copy_texts(locus_extension *own, locus_error *error) {
    locus_status status = copy_text(&own->description.name, &own->memory, error);
    if (status == LOCUS_OK)
        status = copy_text(&own->description.summary, &own->memory, error);
    if (status == LOCUS_OK)
        status = copy_text(&own->description.source, &own->memory, error);
    if (status == LOCUS_OK && own->description.group)
        status = copy_text(&own->description.group, &own->memory, error);
    return status;
}

/* ---- classes ---- */

static void release(locus_extension *own) {
    if (!own)
        return;
    locus_owned_release(&own->memory);
    locus_release(own, sizeof *own);
}

static locus_status create(const locus_encoding_description *given, locus_extension **extension, locus_error *error) {
    locus_encoding_description description;
    locus_status status = locus_description_check(given, &description, error);
    if (status != LOCUS_OK)
        return status;
    locus_extension *own = *extension = locus_allocate(sizeof *own);
    if (!own)
        return locus_fail_memory(error, sizeof *own);
    *own = (locus_extension){.description = description};
    status = copy_texts(own, error);
    if (status == LOCUS_OK)
        status = copy_options(own, error);
    if (status == LOCUS_OK)
        status = copy_parameters(own, error);
    own->class.info.name = own->description.name;
    own->class.info.summary = own->description.summary;
    own->class.info.source = own->description.source;
    own->class.info.options = own->description.options;
    own->class.info.option_count = own->description.option_count;
    locus_extension_class_fill(own);
    return status;
}

/* What is registered stays where it is. */
static locus_status register_all(const locus_encoding_description *const *given, size_t count, locus_error *error) {
    locus_owned passing = {0};
    locus_extension **made = locus_owned_get(&passing, count, sizeof *made);
    const locus_encoding_class **classes = locus_owned_get(&passing, count, sizeof *classes);
    locus_status status = made && classes ? LOCUS_OK : locus_owned_fail(error);
    for (size_t i = 0; i < count && status == LOCUS_OK; i++) {
        status = create(given[i], &made[i], error);
        classes[i] = made[i] ? &made[i]->class : NULL;
    }
    if (status == LOCUS_OK)
        status = locus_class_register(classes, count, error);
    for (size_t i = 0; i < count && made && status != LOCUS_OK; i++)
        release(made[i]);
    locus_owned_release(&passing);
    return status;
}

locus_status locus_encoding_register(const locus_encoding_description *description, locus_error *error) {
    return register_all(&description, 1, error);
}

locus_status locus_plugin_register(const locus_plugin *plugin, locus_error *error) {
    if (!plugin)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "plugin", "plugin is NULL");
    if (plugin->abi != LOCUS_ABI_VERSION)
        return locus_fail(error, LOCUS_ERROR_UNSUPPORTED, "plugin",
                          "the plugin was built for binary interface %d of locus, this is %d: build it again",
                          (int)plugin->abi, LOCUS_ABI_VERSION);
    if (plugin->count < 1 || !plugin->encodings)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "plugin", "the plugin has no encodings");
    return register_all(plugin->encodings, (size_t)plugin->count, error);
}
