/* SPDX-License-Identifier: MIT */
/* All kinds of attention, one line for each, and texts of them. */
#include "attention/kind_class.h"

#include "core/error.h"
#include "spec/reader.h"

#include <assert.h>
#include <locus/memory.h>
#include <string.h>

/* Their order is that of listings; the first is what NULL stands for. */
/* clang-format off */
#define KINDS(_) \
    _(softmax) \
    _(linear) \
    _(soft) \
    _(clustered)
/* clang-format on */

#define DECLARED(name) extern const attention_kind_class locus_attention_##name##_class;
#define LISTED(name) &locus_attention_##name##_class,
KINDS(DECLARED)

static const attention_kind_class *const classes[] = {KINDS(LISTED)};

#define CLASS_COUNT (sizeof classes / sizeof classes[0])

/* ---- the registry ---- */

const attention_kind_class *locus_attention_kind_class(const locus_attention_kind *kind) {
    return kind ? kind->class : classes[0];
}

const locus_attention_kind_info *locus_attention_kind_entry(const locus_attention_kind *kind) {
    return locus_attention_kind_class(kind)->info;
}

size_t locus_attention_registry_size(void) {
    return CLASS_COUNT;
}

const locus_attention_kind_info *locus_attention_registry_at(size_t index) {
    return index < CLASS_COUNT ? classes[index]->info : NULL;
}

static locus_signature signature_of(const attention_kind_class *class) {
    assert(class->info->option_count <= ATTENTION_KIND_OPTIONS_MAX);
    const locus_signature signature = {class->info->name, class->info->options, class->info->option_count, 0, false};
    return signature;
}

static locus_signature signature_at(size_t index) {
    return index < CLASS_COUNT ? signature_of(classes[index]) : (locus_signature){0};
}

/* ---- text ---- */

static locus_status read_kind(locus_spec_reader *reader, locus_attention_kind *kind) {
    size_t index = 0;
    locus_option_text name;
    locus_status status = locus_spec_name(reader, &index, &name);
    if (status != LOCUS_OK)
        return status;
    kind->class = classes[index];
    const locus_signature signature = signature_of(kind->class);
    status = locus_spec_options(reader, &signature, kind->values);
    const bool closed = reader->at > 0 && reader->text[reader->at - 1] == ')';
    if (status == LOCUS_OK && locus_spec_peek(reader) != '\0')
        status = locus_spec_expected(reader, closed ? "the end" : "'(' or the end");
    return status;
}

locus_status locus_attention_kind_parse(const char *text, locus_attention_kind **kind, locus_error *error) {
    static const locus_name_table kinds = {"kind of attention", "a", signature_at};
    if (!kind)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "kind", "kind is NULL: give a place for the result");
    *kind = NULL;
    if (!text)
        return locus_fail(error, LOCUS_ERROR_ARGUMENT, "text", "text is NULL: give a text such as \"linear\"");
    locus_attention_kind *fresh = locus_allocate(sizeof *fresh);
    if (!fresh)
        return locus_fail_memory(error, sizeof *fresh);
    memset(fresh, 0, sizeof *fresh);
    atomic_init(&fresh->owners, 1);
    locus_spec_reader reader = {.text = text, .error = error, .table = &kinds};
    const locus_status status = read_kind(&reader, fresh);
    if (status != LOCUS_OK)
        locus_attention_kind_destroy(&fresh);
    *kind = fresh;
    return status;
}

size_t locus_attention_kind_text(const locus_attention_kind *kind, char *text, size_t size) {
    locus_spec_writer writer = {text, text ? size : 0, 0};
    const locus_signature signature = signature_of(locus_attention_kind_class(kind));
    if (kind)
        locus_spec_write_entry(&writer, &signature, kind->values);
    else
        locus_spec_write(&writer, signature.name);
    return locus_spec_write_end(&writer);
}

/* ---- owners ---- */

/* The count of owners is the one thing about a kind that changes. */
locus_attention_kind *locus_attention_kind_retain(const locus_attention_kind *kind) {
    locus_attention_kind *shared = (locus_attention_kind *)(uintptr_t)kind;
    if (shared)
        atomic_fetch_add(&shared->owners, 1);
    return shared;
}

void locus_attention_kind_destroy(locus_attention_kind **kind) {
    if (!kind || !*kind)
        return;
    locus_attention_kind *gone = *kind;
    *kind = NULL;
    if (atomic_fetch_sub(&gone->owners, 1) != 1)
        return;
    for (size_t i = 0; i < ATTENTION_KIND_OPTIONS_MAX; i++)
        locus_option_release(&gone->values[i]);
    locus_release(gone, sizeof *gone);
}
