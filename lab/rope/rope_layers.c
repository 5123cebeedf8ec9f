/* SPDX-License-Identifier: MIT */
/* Which layers share which rotary settings, as a pattern: layer i takes the spec of its type, or none. The pattern is
 * as short as it can be: the smallest period p with spec(i) = spec(i mod p) for all layers, runs of equal ones
 * counted. */
#include "rope/rope_source.h"

#include <stdlib.h>
#include <string.h>

#define LAYERS_MOST 100000
#define KINDS_MOST 16

typedef struct layer_list {
    const lab_rope_source *source;
    size_t count;
    const char **kinds; /* [count] */
    bool *bare;         /* [count]: without positions, whatever the type */
} layer_list;

static const char FULL[] = "full_attention", SLIDING[] = "sliding_attention";

static unsigned rules_of(const lab_rope_source *source) {
    return source->family ? source->family->rules : 0;
}

static locus_status reserve(layer_list *list, size_t count) {
    if (count > LAYERS_MOST)
        return lab_rope_fail(list->source, "has %zu layers: at most %d can be read", count, LAYERS_MOST);
    list->count = count;
    list->kinds = calloc(count + 1, sizeof *list->kinds);
    list->bare = calloc(count + 1, sizeof *list->bare);
    return list->kinds && list->bare ? LOCUS_OK : lab_rope_fail_memory(list->source, "a pattern of layers");
}

static bool has_no_attention(const char *kind) {
    static const char *const without[] = {"linear_attention", "mamba", "conv", "recurrent"};
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (strcmp(kind, without[i]) == 0)
            return true;
    return false;
}

/* ---- types ---- */

static locus_status read_types(layer_list *list, const lab_value *types, size_t said) {
    const size_t count = lab_value_is_list(types) ? lab_value_count(types) : 0;
    if (count == 0)
        return lab_rope_fail(list->source, "has a field layer_types that is no list of types");
    if (said != 0 && said != count)
        return lab_rope_fail(list->source, "contradicts itself: num_hidden_layers is %zu, layer_types is of length %zu",
                             said, count);
    locus_status status = reserve(list, count);
    const lab_value *item = types->child;
    for (size_t i = 0; i < count && status == LOCUS_OK; i++, item = item->next) {
        list->kinds[i] = lab_value_text(item);
        if (!list->kinds[i])
            status = lab_rope_fail(list->source, "has an item in layer_types that is no text");
    }
    return status;
}

/* "LLLG": local and global layers in turn. */
static locus_status read_letters(layer_list *list, const char *letters, size_t said) {
    const size_t period = strlen(letters);
    if (period == 0 || strspn(letters, "LG") != period)
        return lab_rope_fail(list->source, "has sliding_window_pattern '%.40s': it is a number, or letters L and G",
                             letters);
    locus_status status = reserve(list, said ? said : period);
    for (size_t i = 0; i < list->count && status == LOCUS_OK; i++)
        list->kinds[i] = letters[i % period] == 'L' ? SLIDING : FULL;
    return status;
}

static locus_status fill_interval(layer_list *list, size_t interval, size_t said) {
    const bool first = (rules_of(list->source) & LAB_ROPE_FIRST_FULL) != 0;
    locus_status status = reserve(list, said ? said : interval);
    for (size_t i = 0; i < list->count && status == LOCUS_OK; i++)
        list->kinds[i] = (first ? i : i + 1) % interval == 0 ? FULL : SLIDING;
    return status;
}

static bool is_zero(const lab_value *item) {
    return lab_value_is_number(item) && item->number == 0;
}

/* Which layers have a window, where layer_types is not there to say it. */
static bool has_window(const lab_rope_source *source, size_t layer, size_t first) {
    const unsigned rules = rules_of(source);
    const bool asked = lab_value_is_true(lab_rope_member(source, "use_sliding_window"));
    if (!lab_rope_member(source, "sliding_window"))
        return false;
    if (rules & LAB_ROPE_WINDOW_EARLY)
        return asked && layer % 2 == 0 && layer < first;
    if (rules & LAB_ROPE_WINDOW_LATE)
        return (asked || (rules & LAB_ROPE_WINDOW_ALL)) && layer >= first;
    return (rules & LAB_ROPE_WINDOW_ALL) || ((rules & LAB_ROPE_WINDOW_IF) && asked);
}

static locus_status fill_alike(layer_list *list, size_t said) {
    const lab_rope_source *source = list->source;
    const unsigned split = LAB_ROPE_WINDOW_LATE | LAB_ROPE_WINDOW_EARLY;
    size_t first = 0;
    locus_status status = reserve(list, said ? said : 1);
    if (status == LOCUS_OK && (rules_of(source) & split) && !is_zero(lab_rope_member(source, "max_window_layers")))
        status = lab_rope_size(source, "max_window_layers", &first);
    for (size_t i = 0; i < list->count && status == LOCUS_OK; i++)
        list->kinds[i] = has_window(source, i, first) ? SLIDING : "";
    return status;
}

static locus_status read_kinds(layer_list *list) {
    const lab_rope_source *source = list->source;
    const lab_value *types = lab_rope_member(source, "layer_types");
    const lab_value *pattern = lab_rope_member(source, "sliding_window_pattern");
    size_t said, interval, every = 0;
    locus_status status = lab_rope_size(source, "num_hidden_layers", &said);
    if (status == LOCUS_OK && said == 0)
        status = lab_rope_size(source, "n_layer", &said);
    if (status != LOCUS_OK || types)
        return status == LOCUS_OK ? read_types(list, types, said) : status;
    if (lab_value_text(pattern))
        return read_letters(list, lab_value_text(pattern), said);
    status = lab_rope_size(source, "sliding_window_pattern", &interval);
    if (status == LOCUS_OK)
        status = lab_rope_size(source, "global_attn_every_n_layers", &every);
    interval = interval ? interval : every;
    interval = interval == 0 && source->family ? source->family->interval : interval;
    if (status == LOCUS_OK && interval && !(rules_of(source) & LAB_ROPE_EVERY_FEW_BARE))
        return fill_interval(list, interval, said);
    return status == LOCUS_OK ? fill_alike(list, said) : status;
}

/* ---- layers without positions ---- */

/* Llama 4, SmolLM3: 1 for a layer that turns, 0 for one without positions. */
static locus_status read_bare_list(layer_list *list, const lab_value *flags) {
    const size_t count = lab_value_count(flags);
    if (count != list->count)
        return lab_rope_fail(list->source, "contradicts itself: no_rope_layers is of length %zu, with %zu layers",
                             count, list->count);
    const lab_value *item = flags->child;
    for (size_t i = 0; i < count; i++, item = item->next)
        list->bare[i] = lab_value_is_false(item) || (lab_value_is_number(item) && item->number == 0);
    return LOCUS_OK;
}

static locus_status fill_bare_interval(layer_list *list) {
    const lab_rope_source *source = list->source;
    size_t said, interval;
    locus_status status = lab_rope_size(source, "num_hidden_layers", &said);
    if (status == LOCUS_OK)
        status = lab_rope_size(source, "no_rope_layer_interval", &interval);
    if (status != LOCUS_OK)
        return status;
    interval = interval ? interval : source->family->interval;
    if (said == 0 && list->count == 1) { /* one turn of the pattern stands for all */
        free(list->kinds);
        free(list->bare);
        *list = (layer_list){.source = source};
        status = reserve(list, interval);
        for (size_t i = 0; i < list->count && status == LOCUS_OK; i++)
            list->kinds[i] = "";
    }
    for (size_t i = 0; i < list->count && status == LOCUS_OK; i++)
        list->bare[i] = (i + 1) % interval == 0;
    return status;
}

static locus_status read_bare(layer_list *list) {
    const lab_rope_source *source = list->source;
    const lab_value *flags = lab_rope_member(source, "no_rope_layers");
    const unsigned rules = rules_of(source);
    locus_status status = LOCUS_OK;
    if (lab_value_is_list(flags) && lab_value_count(flags) > 0)
        status = read_bare_list(list, flags);
    else if (rules & LAB_ROPE_EVERY_FEW_BARE)
        status = fill_bare_interval(list);
    const bool windows = lab_rope_member(source, "sliding_window") != NULL;
    const bool bare_windows = /* SmolLM3 */
        windows && (rules & LAB_ROPE_EVERY_FEW_BARE) &&
        lab_value_is_true(lab_rope_member(source, "use_sliding_window"));
    for (size_t i = 0; i < list->count && status == LOCUS_OK; i++) {
        if ((rules & LAB_ROPE_SLIDING_ONLY) && windows && strcmp(list->kinds[i], FULL) == 0)
            list->bare[i] = true;
        if (bare_windows && list->bare[i] && list->kinds[i][0] == '\0')
            list->kinds[i] = SLIDING;
        if (has_no_attention(list->kinds[i])) {
            list->bare[i] = true;
            lab_rope_note_add(source, true, "layers of type '%.40s' have no attention: none", list->kinds[i]);
        }
    }
    return status;
}

/* ---- specs ---- */

typedef struct kind_specs {
    size_t count;
    const char *kinds[KINDS_MOST];
    bool bare[KINDS_MOST];
    lab_rope_text texts[KINDS_MOST];
} kind_specs;

static locus_status spec_of(kind_specs *specs, const lab_rope_source *source, const char *kind, bool bare,
                            const char **text) {
    size_t i = 0;
    while (i < specs->count && (strcmp(specs->kinds[i], kind) != 0 || specs->bare[i] != bare))
        i++;
    if (i == specs->count) {
        if (i == KINDS_MOST)
            return lab_rope_fail(source, "has more than %d types in layer_types", KINDS_MOST);
        specs->bare[i] = bare;
        specs->kinds[specs->count++] = kind;
        locus_status status = lab_rope_put_spec(source, kind, bare, &specs->texts[i]);
        if (status != LOCUS_OK)
            return status;
        if (specs->texts[i].failed)
            return lab_rope_fail_memory(source, "a spec");
    }
    *text = specs->texts[i].data;
    return LOCUS_OK;
}

static size_t smallest_period(const char *const *specs, size_t count) {
    for (size_t period = 1; period < count; period++) {
        size_t i = period;
        while (i < count && strcmp(specs[i], specs[i - period]) == 0)
            i++;
        if (i == count)
            return period;
    }
    return count;
}

static void put_runs(const char *const *specs, size_t period, lab_rope_text *text) {
    for (size_t i = 0, run; i < period; i += run) {
        run = 1;
        while (i + run < period && strcmp(specs[i], specs[i + run]) == 0)
            run++;
        lab_rope_put(text, "%s", i ? " / " : "");
        if (run > 1 && period > run)
            lab_rope_put(text, "%zu*", run);
        lab_rope_put(text, "%s", specs[i]);
    }
}

locus_status lab_rope_put_pattern(const lab_rope_source *source, lab_rope_text *text) {
    layer_list list = {.source = source};
    kind_specs specs = {0};
    locus_status status = read_kinds(&list);
    if (status == LOCUS_OK)
        status = read_bare(&list);
    for (size_t i = 0; i < list.count && status == LOCUS_OK; i++) {
        const char *spec = "none";
        if (!has_no_attention(list.kinds[i]))
            status = spec_of(&specs, source, list.kinds[i], list.bare[i], &spec);
        list.kinds[i] = spec; /* from here on: what it acts by */
    }
    if (status == LOCUS_OK)
        put_runs(list.kinds, smallest_period(list.kinds, list.count), text);
    for (size_t i = 0; i < specs.count; i++)
        free(specs.texts[i].data);
    free(list.kinds);
    free(list.bare);
    return status;
}
