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

static const char FULL[] = "full_attention", SLIDING[] = "sliding_attention", NONE[] = "none";

/* Anew; without a layer where it fails. */
static void reserve(layer_list *list, size_t count) {
    free(list->kinds);
    free(list->bare);
    *list = (layer_list){.source = list->source};
    if (count > LAYERS_MOST) {
        lab_rope_fail(list->source, "has %zu layers: at most %d can be read", count, LAYERS_MOST);
        return;
    }
    list->kinds = calloc(count + 1, sizeof *list->kinds);
    list->bare = calloc(count + 1, sizeof *list->bare);
    if (list->kinds && list->bare)
        list->count = count;
    else
        lab_rope_fail_memory(list->source, "a pattern of layers");
}

static bool has_no_attention(const char *kind) {
    static const char *const without[] = {"linear_attention", "mamba", "conv", "recurrent"};
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (strcmp(kind, without[i]) == 0)
            return true;
    return false;
}

/* ---- types ---- */

static void read_types(layer_list *list, const lab_value *types, size_t said) {
    const size_t count = lab_value_is_list(types) ? lab_value_count(types) : 0;
    if (count == 0)
        lab_rope_fail(list->source, "has a field layer_types that is no list of types");
    if (said != 0 && said != count)
        lab_rope_fail(list->source, "contradicts itself: num_hidden_layers is %zu, layer_types is of length %zu", said,
                      count);
    reserve(list, count);
    const lab_value *item = types->child;
    for (size_t i = 0; i < list->count; i++, item = item->next) {
        const char *kind = lab_value_text(item);
        if (!kind)
            lab_rope_fail(list->source, "has an item in layer_types that is no text");
        list->kinds[i] = kind ? kind : "";
    }
}

/* "LLLG": local and global layers in turn. */
static void read_letters(layer_list *list, const char *letters, size_t said) {
    const size_t period = strlen(letters);
    if (period == 0 || strspn(letters, "LG") != period) {
        lab_rope_fail(list->source, "has sliding_window_pattern '%.40s': it is a number, or letters L and G", letters);
        return;
    }
    reserve(list, said ? said : period);
    for (size_t i = 0; i < list->count; i++)
        list->kinds[i] = letters[i % period] == 'L' ? SLIDING : FULL;
}

static void fill_interval(layer_list *list, size_t interval, size_t said) {
    const size_t from = list->source->family->first_full ? 0 : 1;
    reserve(list, said ? said : interval);
    for (size_t i = 0; i < list->count; i++)
        list->kinds[i] = (i + from) % interval == 0 ? FULL : SLIDING;
}

static bool is_zero(const lab_value *item) {
    return lab_value_is_number(item) && item->number == 0;
}

/* Which layers have a window, where layer_types is not there to say it. */
static bool has_window(const lab_rope_source *source, size_t layer, size_t first) {
    const lab_rope_family *family = source->family;
    const bool asked = lab_value_is_true(lab_rope_member(source, "use_sliding_window"));
    if (!lab_rope_member(source, "sliding_window"))
        return false;
    if (family->window_early)
        return asked && layer % 2 == 0 && layer < first;
    if (family->window_late)
        return (asked || family->window_all) && layer >= first;
    return family->window_all || (family->window_if && asked);
}

static void fill_alike(layer_list *list, size_t said) {
    const lab_rope_source *source = list->source;
    const bool split = source->family->window_late || source->family->window_early;
    reserve(list, said ? said : 1);
    const bool zero = is_zero(lab_rope_member(source, "max_window_layers"));
    const size_t first = split && !zero ? lab_rope_size(source, "max_window_layers") : 0;
    for (size_t i = 0; i < list->count; i++)
        list->kinds[i] = has_window(source, i, first) ? SLIDING : "";
}

static void read_kinds(layer_list *list) {
    const lab_rope_source *source = list->source;
    const lab_value *types = lab_rope_member(source, "layer_types");
    const lab_value *pattern = lab_rope_member(source, "sliding_window_pattern");
    const size_t said = lab_rope_either(source, "num_hidden_layers", "n_layer");
    if (types) {
        read_types(list, types, said);
    } else if (lab_value_text(pattern)) {
        read_letters(list, lab_value_text(pattern), said);
    } else {
        size_t interval = lab_rope_size(source, "sliding_window_pattern");
        const size_t every = lab_rope_size(source, "global_attn_every_n_layers");
        interval = interval ? interval : every ? every : source->family->interval;
        if (interval && !source->family->every_few_bare)
            fill_interval(list, interval, said);
        else
            fill_alike(list, said);
    }
}

/* ---- layers without positions ---- */

/* Llama 4, SmolLM3: 1 for a layer that turns, 0 for one without positions. */
static void read_bare_list(layer_list *list, const lab_value *flags) {
    const size_t count = lab_value_count(flags);
    const lab_value *item = flags->child;
    if (count != list->count)
        lab_rope_fail(list->source, "contradicts itself: no_rope_layers is of length %zu, with %zu layers", count,
                      list->count);
    for (size_t i = 0; i < list->count && item; i++, item = item->next)
        list->bare[i] = lab_value_is_false(item) || is_zero(item);
}

static void fill_bare_interval(layer_list *list) {
    const lab_rope_source *source = list->source;
    const size_t said = lab_rope_size(source, "num_hidden_layers");
    size_t interval = lab_rope_size(source, "no_rope_layer_interval");
    interval = interval ? interval : source->family->interval;
    if (said == 0 && list->count == 1) { /* one turn of the pattern stands for all */
        reserve(list, interval);
        for (size_t i = 0; i < list->count; i++)
            list->kinds[i] = "";
    }
    for (size_t i = 0; i < list->count; i++)
        list->bare[i] = (i + 1) % interval == 0;
}

static void read_bare(layer_list *list) {
    const lab_rope_source *source = list->source;
    const lab_value *flags = lab_rope_member(source, "no_rope_layers");
    const bool every_few = source->family->every_few_bare;
    if (lab_value_is_list(flags) && lab_value_count(flags) > 0)
        read_bare_list(list, flags);
    else if (every_few)
        fill_bare_interval(list);
    const bool windows = lab_rope_member(source, "sliding_window") != NULL;
    const bool bare_windows = /* SmolLM3 */
        windows && every_few && lab_value_is_true(lab_rope_member(source, "use_sliding_window"));
    for (size_t i = 0; i < list->count; i++) {
        if (source->family->sliding_only && windows && strcmp(list->kinds[i], FULL) == 0)
            list->bare[i] = true;
        if (bare_windows && list->bare[i] && list->kinds[i][0] == '\0')
            list->kinds[i] = SLIDING;
        if (has_no_attention(list->kinds[i])) {
            list->bare[i] = true;
            lab_rope_note_add(source, true, "layers of type '%.40s' have no attention: none", list->kinds[i]);
        }
    }
}

/* ---- specs ---- */

typedef struct kind_specs {
    size_t count;
    const char *kinds[KINDS_MOST];
    bool bare[KINDS_MOST];
    lab_rope_text texts[KINDS_MOST];
} kind_specs;

static const char *spec_of(kind_specs *specs, const lab_rope_source *source, const char *kind, bool bare) {
    size_t i = 0;
    while (i < specs->count && (strcmp(specs->kinds[i], kind) != 0 || specs->bare[i] != bare))
        i++;
    if (i == KINDS_MOST)
        lab_rope_fail(source, "has more than %d types in layer_types", KINDS_MOST);
    if (lab_rope_failed(source))
        return NONE;
    if (i == specs->count) {
        specs->bare[i] = bare;
        specs->texts[i].source = source;
        specs->kinds[specs->count++] = kind;
        lab_rope_put_spec(source, kind, bare, &specs->texts[i]);
    }
    return lab_rope_failed(source) ? NONE : specs->texts[i].data;
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

void lab_rope_put_pattern(const lab_rope_source *source, lab_rope_text *text) {
    layer_list list = {.source = source};
    kind_specs specs = {0};
    read_kinds(&list);
    read_bare(&list);
    for (size_t i = 0; i < list.count; i++) /* from here on: what it acts by */
        list.kinds[i] = has_no_attention(list.kinds[i]) ? NONE : spec_of(&specs, source, list.kinds[i], list.bare[i]);
    put_runs(list.kinds, smallest_period(list.kinds, list.count), text);
    for (size_t i = 0; i < specs.count; i++)
        free(specs.texts[i].data);
    free(list.kinds);
    free(list.bare);
}
