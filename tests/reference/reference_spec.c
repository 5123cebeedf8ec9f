/* SPDX-License-Identifier: MIT */
/* What a parsed spec says, read option by option; and which encodings and options the reference has been taught. */
#include "reference/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 512 };

void *reference_zeros(size_t count, size_t size) {
    void *memory = calloc(count + 1, size);
    if (!memory) {
        (void)fputs("the reference is out of memory\n", stderr);
        abort();
    }
    return memory;
}

double reference_most(double a, double b) {
    return isfinite(b) && b > a ? b : a;
}

/* ---- what it has been taught ---- */

static const char *const taught[] = {
    "none",
    "sinusoidal base layout",
    "learned size deviation",
    "chebyshev size site",
    "shiv-quirk k depth",
    "rope pairs base rotate learned side scaling factor original fast slow attention mscale mscale_all truncate low "
    "high short long axes frequencies sections order xpos gamma centre turn values",
    "roper pairs base rotate learned side scaling factor original fast slow attention mscale mscale_all truncate low "
    "high short long axes frequencies sections order xpos gamma centre turn",
    "algebraic group generator init heads side values decay split",
    "mixed group heads side values decay base",
    "string group heads side values decay base",
    "liere group heads side values decay",
    "relative window values scaled",
    "alibi scaled group",
    "t5 buckets max direction group",
    "kerple group",
    "fire hidden c L",
    "cope max gate",
    "decay rate learned group",
    "temperature growth length beta least first",
    "scores scale cap window keep chunk sinks",
};

/* Whether `word` is one of the words of `line`, from word number `from` on. */
static bool has_word(const char *line, const char *word, bool first) {
    const size_t length = strlen(word);
    for (const char *at = line; at; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, word, length) == 0 && (at[length] == ' ' || at[length] == '\0') && first == (at == line))
            return true;
    }
    return false;
}

bool reference_taught(const char *encoding, const char *option) {
    for (size_t i = 0; i < sizeof taught / sizeof taught[0]; i++)
        if (has_word(taught[i], encoding, true))
            return !option || has_word(taught[i], option, false);
    return false;
}

const char *reference_untaught(void) {
    static char text[128];
    for (size_t i = 0; i < locus_encoding_registry_size(); i++) {
        const locus_encoding_info *info = locus_encoding_registry_at(i);
        bool known = reference_taught(info->name, NULL);
        (void)snprintf(text, sizeof text, "%s", info->name);
        for (size_t o = 0; o < info->option_count && known; o++) {
            known = reference_taught(info->name, info->options[o].name);
            (void)snprintf(text, sizeof text, "%s.%s", info->name, info->options[o].name);
        }
        if (!known)
            return text;
    }
    return NULL;
}

/* ---- terms and options ---- */

size_t reference_terms(const reference_model *model) {
    return locus_encoding_term_count(model->encoding);
}

bool reference_term_is(const reference_model *model, size_t term, const char *name) {
    return strcmp(locus_encoding_term(model->encoding, term)->name, name) == 0;
}

static bool read_option(const reference_model *model, size_t term, const char *name, char text[TEXT]) {
    text[0] = '\0';
    return locus_encoding_option(model->encoding, term, name, text, TEXT) != SIZE_MAX;
}

bool reference_says(const reference_model *model, size_t term, const char *name, const char *text) {
    char said[TEXT];
    return read_option(model, term, name, said) && strcmp(said, text) == 0;
}

bool reference_given(const reference_model *model, size_t term, const char *name) {
    char said[TEXT];
    return read_option(model, term, name, said) && said[0] != '\0' && strcmp(said, "off") != 0;
}

/* The number, or what stands behind a word ("learned:0.9", "proportional:0.5"); NaN if there is none. */
double reference_number(const reference_model *model, size_t term, const char *name) {
    char said[TEXT];
    if (!read_option(model, term, name, said) || said[0] == '\0')
        return NAN;
    const char *colon = strchr(said, ':');
    return strtod(colon ? colon + 1 : said, NULL);
}

size_t reference_list(const reference_model *model, size_t term, const char *name, double *list, size_t most) {
    char said[TEXT], *at = said;
    size_t count = 0;
    if (!read_option(model, term, name, said) || said[0] == '\0')
        return 0;
    while (count < most) {
        list[count++] = strtod(at, &at);
        if (*at != ':')
            break;
        at++;
    }
    return count;
}

const double *reference_values(const reference_model *model, size_t term, const char *name) {
    char wanted[128];
    if (reference_terms(model) == 1)
        (void)snprintf(wanted, sizeof wanted, "%s", name);
    else
        (void)snprintf(wanted, sizeof wanted, "%zu.%s", term, name);
    for (size_t i = 0; i < model->tensor_count; i++)
        if (strcmp(model->info[i].name, wanted) == 0)
            return model->values[i];
    return NULL;
}

static double furthest(const reference_model *model, const reference_tokens *tokens) {
    double most = 0;
    for (size_t s = 0; s < tokens->sequences; s++)
        for (size_t t = tokens->first[s]; t < tokens->first[s] + tokens->count[s]; t++)
            for (size_t c = 0; c < locus_group_coordinates(model->group); c++)
                if (locus_group_coordinate(model->group, c).kind == LOCUS_COORDINATE_AXIS)
                    most = fmax(most, tokens->at[t].value[c]);
    return most;
}

double reference_length(const reference_model *model) {
    if (model->length > 0)
        return (double)model->length;
    return floor(fmax(furthest(model, model->queries), furthest(model, model->keys))) + 1;
}
