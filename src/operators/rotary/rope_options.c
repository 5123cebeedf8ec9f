/* SPDX-License-Identifier: MIT */
/* See rope_options.h. A scaling refuses what it does not use: a number that changes nothing would be believed. Without
 * a scaling, and for axes and xpos, a default that is said aloud is no contradiction. */
#include "operators/rotary/rope_options.h"

#include "spec/option.h"

#define LARGEST 1e300
#define LONGEST 1099511627776.0 /* 2^40, of positions */

const locus_option_info locus_rope_option_infos[LOCUS_ROPE_OPTIONS] = {
    {"pairs", "interleaved|half", "interleaved", "pairs (2i, 2i + 1), or (i, i + r/2)", LOCUS_OPTION_CHOICE, 0, 0,
     false},
    {"base", "number > 0", "10000", "frequencies are base^(−2i/r)", LOCUS_OPTION_NUMBER, 0, LARGEST, true},
    {"rotate", "even integer ≥ 2, or proportional:f with 0 < f ≤ 1", "", "how many dimensions turn; all if not given",
     LOCUS_OPTION_ROTATE, 2, 65536, false},
    {"learned", "off|on", "off", "the frequencies are parameters", LOCUS_OPTION_CHOICE, 0, 0, false},
    {"side", "both|query|key", "both", "which side turns; one alone makes positions absolute", LOCUS_OPTION_CHOICE, 0,
     0, false},
    {"scaling", "none|linear|ntk|dynamic|yarn|llama3|longrope", "none", "how frequencies are slowed for longer texts",
     LOCUS_OPTION_CHOICE, 0, 0, false},
    {"factor", "number > 0", "", "s: how many times longer than the model was trained for", LOCUS_OPTION_NUMBER, 0,
     LARGEST, true},
    {"original", "integer ≥ 2", "", "L0: the length that the model was trained for", LOCUS_OPTION_INTEGER, 2, LONGEST,
     false},
    {"fast", "number > 0", "32", "yarn: pairs that turn as often within L0 keep their frequency", LOCUS_OPTION_NUMBER,
     0, LARGEST, true},
    {"slow", "number > 0", "1", "yarn: pairs that turn as rarely within L0 are slowed by s", LOCUS_OPTION_NUMBER, 0,
     LARGEST, true},
    {"attention", "number > 0", "", "yarn, longrope: cosines and sines are multiplied by it", LOCUS_OPTION_NUMBER, 0,
     LARGEST, true},
    {"mscale", "number > 0", "", "yarn: attention is m(s, mscale)/m(s, mscale_all), m(s, k) = 0.1·k·ln s + 1",
     LOCUS_OPTION_NUMBER, 0, LARGEST, true},
    {"mscale_all", "number > 0", "", "yarn: see mscale", LOCUS_OPTION_NUMBER, 0, LARGEST, true},
    {"truncate", "on|off", "on", "yarn: whole numbers bound the ramp between fast and slow", LOCUS_OPTION_CHOICE, 0, 0,
     false},
    {"low", "number > 0", "1", "llama3: wavelengths above L0/low are stretched by s", LOCUS_OPTION_NUMBER, 0, LARGEST,
     true},
    {"high", "number > 0", "4", "llama3: wavelengths below L0/high are kept", LOCUS_OPTION_NUMBER, 0, LARGEST, true},
    {"short", "a:b:…, a number > 0 for each pair", "", "longrope: what divides frequencies up to length L0",
     LOCUS_OPTION_NUMBERS, 0, LARGEST, true},
    {"long", "a:b:…, a number > 0 for each pair", "", "longrope: what divides them beyond", LOCUS_OPTION_NUMBERS, 0,
     LARGEST, true},
    {"axes", "integer from 1 to 32", "1", "numbers of a position, a grid's; each pair follows one",
     LOCUS_OPTION_INTEGER, 1, LOCUS_COORDINATES_MAX, false},
    {"frequencies", "axial|running", "", "begin afresh on each axis (axial, unless sections are given), or run on",
     LOCUS_OPTION_CHOICE, 0, 0, false},
    {"sections", "a:b:…, a number of pairs for each axis", "", "how many pairs follow each axis; equal if not given",
     LOCUS_OPTION_LIST, 1, LOCUS_LIST_MAX, false},
    {"order", "chunked|interleaved", "chunked", "sections one after another, or one pair of each axis in turn",
     LOCUS_OPTION_CHOICE, 0, 0, false},
    {"xpos", "off, or number > 0", "off",
     "scores also decay, over so many positions (xPos: 512); causal attention only", LOCUS_OPTION_OFF_OR_NUMBER, 0,
     LARGEST, true},
    {"gamma", "number > 0", "0.4", "xpos: how slowly the fastest pairs decay", LOCUS_OPTION_NUMBER, 0, LARGEST, true},
    {"centre", "number", "0", "xpos: the position where nothing is stretched", LOCUS_OPTION_NUMBER, -LONGEST, LONGEST,
     false},
    {"turn", "forward|backward", "forward", "backward: pairs turn the other way, by −p·ω", LOCUS_OPTION_CHOICE, 0, 0,
     false},
    {"values", "off|on", "off", "turns values, too, and the output back (RoPER)", LOCUS_OPTION_CHOICE, 0, 0, false},
};

/* ---- scalings ---- */

#define LINEAR (1u << LOCUS_SCALING_LINEAR)
#define NTK (1u << LOCUS_SCALING_NTK)
#define DYNAMIC (1u << LOCUS_SCALING_DYNAMIC)
#define YARN (1u << LOCUS_SCALING_YARN)
#define LLAMA3 (1u << LOCUS_SCALING_LLAMA3)
#define LONGROPE (1u << LOCUS_SCALING_LONGROPE)

typedef struct locus_scaling_use {
    size_t option;
    unsigned scalings;
    const char *stray; /* given to another scaling */
} locus_scaling_use;

static const locus_scaling_use uses[] = {
    {LOCUS_ROPE_FACTOR, LINEAR | NTK | DYNAMIC | YARN | LLAMA3 | LONGROPE,
     "'factor' is a scaling's: say which with scaling=linear, ntk, dynamic, yarn, llama3 or longrope"},
    {LOCUS_ROPE_ORIGINAL, DYNAMIC | YARN | LLAMA3 | LONGROPE,
     "'original' is for scaling=dynamic, yarn, llama3 or longrope: the others do not depend on it"},
    {LOCUS_ROPE_FAST, YARN, "'fast' is for scaling=yarn"},
    {LOCUS_ROPE_SLOW, YARN, "'slow' is for scaling=yarn"},
    {LOCUS_ROPE_ATTENTION, YARN | LONGROPE, "'attention' is for scaling=yarn or longrope"},
    {LOCUS_ROPE_MSCALE, YARN, "'mscale' is for scaling=yarn"},
    {LOCUS_ROPE_MSCALE_ALL, YARN, "'mscale_all' is for scaling=yarn"},
    {LOCUS_ROPE_TRUNCATE, YARN, "'truncate' is for scaling=yarn"},
    {LOCUS_ROPE_LOW, LLAMA3, "'low' is for scaling=llama3"},
    {LOCUS_ROPE_HIGH, LLAMA3, "'high' is for scaling=llama3"},
    {LOCUS_ROPE_SHORT, LONGROPE, "'short' is for scaling=longrope"},
    {LOCUS_ROPE_LONG, LONGROPE, "'long' is for scaling=longrope"},
};

static bool given(const locus_term *term, size_t option) {
    return term->options[option].given;
}

/* Given, and not what it is anyway. */
static bool chosen(const locus_term *term, size_t option) {
    return given(term, option) && !locus_term_is_initial(term, option);
}

static const char *find_stray(const locus_term *term, size_t *option) {
    const size_t choice = term->options[LOCUS_ROPE_SCALING].choice;
    for (size_t i = 0; i < sizeof uses / sizeof uses[0]; i++)
        if ((choice == LOCUS_SCALING_NONE ? chosen : given)(term, uses[i].option) &&
            !(uses[i].scalings & 1u << choice)) {
            *option = uses[i].option;
            return uses[i].stray;
        }
    return NULL;
}

static const char *find_missing(const locus_term *term, size_t *option) {
    const unsigned scaling = 1u << term->options[LOCUS_ROPE_SCALING].choice;
    *option = LOCUS_ROPE_SCALING;
    if ((scaling & LONGROPE) && (!given(term, LOCUS_ROPE_SHORT) || !given(term, LOCUS_ROPE_LONG)))
        return "scaling=longrope needs short= and long=, lists with a number for each pair";
    if ((scaling & (DYNAMIC | YARN | LLAMA3 | LONGROPE)) && !given(term, LOCUS_ROPE_ORIGINAL))
        return "this scaling needs original=, the length that the model was trained for";
    if ((scaling & LONGROPE) && !given(term, LOCUS_ROPE_FACTOR) && !given(term, LOCUS_ROPE_ATTENTION))
        return "scaling=longrope needs factor=, which its attention factor follows from, or attention= itself";
    if ((scaling & (LINEAR | NTK | DYNAMIC | YARN | LLAMA3)) && !given(term, LOCUS_ROPE_FACTOR))
        return "this scaling needs factor=, how many times longer the text may be";
    return NULL;
}

static const char *find_yarn(const locus_term *term, size_t *option) {
    const locus_option_value *options = term->options;
    const bool one = given(term, LOCUS_ROPE_MSCALE), all = given(term, LOCUS_ROPE_MSCALE_ALL);
    *option = given(term, LOCUS_ROPE_FAST) ? LOCUS_ROPE_FAST : LOCUS_ROPE_SLOW;
    if (options[LOCUS_ROPE_FAST].number < options[LOCUS_ROPE_SLOW].number)
        return "fast must not be below slow (they are 32 and 1 if not given)";
    *option = LOCUS_ROPE_BASE;
    if (options[LOCUS_ROPE_BASE].number <= 1)
        return "scaling=yarn needs a base above 1";
    *option = LOCUS_ROPE_ATTENTION;
    if (given(term, LOCUS_ROPE_ATTENTION) && (one || all))
        return "attention= is the factor itself: leave out mscale and mscale_all, or attention";
    *option = one ? LOCUS_ROPE_MSCALE : LOCUS_ROPE_MSCALE_ALL;
    return one != all ? "mscale and mscale_all go together: give both or neither" : NULL;
}

static const char *find_scaling(const locus_term *term, size_t *option) {
    const locus_option_value *options = term->options;
    const size_t scaling = options[LOCUS_ROPE_SCALING].choice;
    const char *found = find_stray(term, option);
    found = found ? found : find_missing(term, option);
    if (!found && scaling == LOCUS_SCALING_YARN)
        found = find_yarn(term, option);
    if (found)
        return found;
    *option = given(term, LOCUS_ROPE_LOW) ? LOCUS_ROPE_LOW : LOCUS_ROPE_HIGH;
    if (scaling == LOCUS_SCALING_LLAMA3 && options[LOCUS_ROPE_LOW].number > options[LOCUS_ROPE_HIGH].number)
        return "low must not be above high (they are 1 and 4 if not given)";
    *option = LOCUS_ROPE_LONG;
    if (scaling == LOCUS_SCALING_LONGROPE && options[LOCUS_ROPE_SHORT].count != options[LOCUS_ROPE_LONG].count)
        return "short and long must be of the same length, a number for each pair";
    *option = LOCUS_ROPE_LEARNED;
    if (options[LOCUS_ROPE_LEARNED].choice == 1 &&
        (scaling == LOCUS_SCALING_DYNAMIC || scaling == LOCUS_SCALING_LONGROPE))
        return "learned frequencies cannot depend on the length: leave out learned=on, or this scaling";
    return NULL;
}

/* ---- everything else ---- */

static const char *find_proportional(const locus_term *term, size_t *option) {
    const locus_option_value *options = term->options;
    if (options[LOCUS_ROPE_ROTATE].choice != LOCUS_ROTATE_PROPORTIONAL)
        return NULL;
    *option = LOCUS_ROPE_PAIRS;
    if (given(term, LOCUS_ROPE_PAIRS) && options[LOCUS_ROPE_PAIRS].choice == 0)
        return "rotate=proportional turns pairs (i, i + d/2): leave out pairs=interleaved";
    *option = LOCUS_ROPE_SCALING;
    if (options[LOCUS_ROPE_SCALING].choice > LOCUS_SCALING_LINEAR)
        return "rotate=proportional goes with scaling=linear alone";
    *option = given(term, LOCUS_ROPE_AXES) ? LOCUS_ROPE_AXES : LOCUS_ROPE_SECTIONS;
    if (options[LOCUS_ROPE_AXES].number > 1 || given(term, LOCUS_ROPE_SECTIONS))
        return "rotate=proportional goes with one axis: say rotate=r for several";
    return NULL;
}

static const char *find_axes(const locus_term *term, size_t *option) {
    const locus_option_value *options = term->options;
    const size_t sections = options[LOCUS_ROPE_SECTIONS].count;
    const bool several = options[LOCUS_ROPE_AXES].number > 1 || sections > 1;
    *option = LOCUS_ROPE_SECTIONS;
    if (sections > LOCUS_COORDINATES_MAX)
        return "sections are those of at most 32 axes";
    if (sections > 0 && given(term, LOCUS_ROPE_AXES) && options[LOCUS_ROPE_AXES].number != (double)sections)
        return "there must be one section for each of the axes";
    *option = LOCUS_ROPE_FREQUENCIES;
    if (given(term, LOCUS_ROPE_FREQUENCIES) && !several)
        return "'frequencies' is for several axes: give axes=2 or more";
    *option = LOCUS_ROPE_ORDER;
    if (chosen(term, LOCUS_ROPE_ORDER) && !several)
        return "'order' is for several axes: give axes=2 or more";
    const bool axial = given(term, LOCUS_ROPE_FREQUENCIES)
                           ? options[LOCUS_ROPE_FREQUENCIES].choice == LOCUS_FREQUENCIES_AXIAL
                           : sections == 0;
    if (options[LOCUS_ROPE_ORDER].choice == LOCUS_ORDER_INTERLEAVED && axial)
        return "order=interleaved is for frequencies that run on: give sections, or frequencies=running";
    return NULL;
}

static const char *find_xpos(const locus_term *term, size_t *option) {
    const locus_option_value *options = term->options;
    const bool off = options[LOCUS_ROPE_XPOS].choice == 0;
    *option = chosen(term, LOCUS_ROPE_GAMMA) ? LOCUS_ROPE_GAMMA : LOCUS_ROPE_CENTRE;
    if (off && (chosen(term, LOCUS_ROPE_GAMMA) || chosen(term, LOCUS_ROPE_CENTRE)))
        return "'gamma' and 'centre' are for xpos: give xpos=512";
    if (off)
        return NULL;
    *option = LOCUS_ROPE_XPOS;
    if (locus_rope_acts_on_values(term))
        return "xpos stretches queries against keys, values have no such partner: leave out xpos, or turn no values";
    if (options[LOCUS_ROPE_SIDE].choice != 0)
        return "xpos stretches queries against keys: it needs side=both";
    if (options[LOCUS_ROPE_AXES].number > 1 || options[LOCUS_ROPE_SECTIONS].count > 1)
        return "xpos is for one axis";
    return NULL;
}

const char *locus_rope_conflict(const locus_term *term, size_t *option) {
    const char *found = find_proportional(term, option);
    found = found ? found : find_scaling(term, option);
    found = found ? found : find_axes(term, option);
    return found ? found : find_xpos(term, option);
}
