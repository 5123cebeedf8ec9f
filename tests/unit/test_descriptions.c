/* SPDX-License-Identifier: MIT */
/* Descriptions of encodings from outside, at both sides of every limit: what is taken, and what the caller of a refused
 * one is told, to the letter. */
#include "extension/register.h"
#include "unit/told.h"

#include <stdio.h>

/* ---- descriptions of encodings ---- */

static locus_status some_values(const locus_extension_batch *batch, double *values, locus_error *error) {
    (void)batch, (void)values, (void)error;
    return LOCUS_OK;
}

static locus_status some_gradient(const locus_extension_batch *batch, const double *upstream, double *const *gradients,
                                  locus_error *error) {
    (void)batch, (void)upstream, (void)gradients, (void)error;
    return LOCUS_OK;
}

static locus_status some_initial(const locus_extension_batch *batch, size_t parameter, size_t elements, double *values,
                                 locus_error *error) {
    (void)batch, (void)parameter, (void)elements, (void)values, (void)error;
    return LOCUS_OK;
}

/* Everything that a test changes one thing of; options and parameters stand ready, as many as their counts say. */
typedef struct description {
    locus_encoding_description all;
    locus_option_info option[34];
    locus_extension_parameter parameter[18];
    char names[34][3];
} description;

static description begin(void) {
    return (description){.all = {.size = sizeof(locus_encoding_description),
                                 .name = "it",
                                 .summary = "a line",
                                 .kind = LOCUS_EXTENSION_ANGLES,
                                 .values = some_values,
                                 .gradient = some_gradient}};
}

static locus_status check(description *d) {
    locus_encoding_description read;
    for (size_t i = 0; i < 34; i++) {
        (void)snprintf(d->names[i], sizeof d->names[i], "%c%c", (char)('a' + i % 17), i < 17 ? 'x' : '9');
        if (!d->option[i].name)
            d->option[i] = (locus_option_info){d->names[i], "an integer", "1", "m", LOCUS_OPTION_INTEGER, 0, 9, false};
        if (i < 18 && !d->parameter[i].name)
            d->parameter[i] =
                (locus_extension_parameter){sizeof *d->parameter, d->names[i], 1, {1}, 0, 0, LOCUS_CONSTRAINT_NONE};
    }
    d->all.options = d->all.option_count > 0 ? d->option : NULL;
    d->all.parameters = d->all.parameter_count > 0 ? d->parameter : NULL;
    return locus_description_check(&d->all, &read, &told);
}

#define REFUSED(argument, message, ...) \
    do { \
        description d = begin(); \
        __VA_ARGS__; \
        TELLS(ARGUMENT, argument, message, check(&d)); \
    } while (0)
#define TAKEN(...) \
    do { \
        description d = begin(); \
        __VA_ARGS__; \
        TAKES(check(&d)); \
    } while (0)

#define LETTERS_15 "abcdefghijklmno"
#define LETTERS_31 LETTERS_15 LETTERS_15 "p"

static void names_of_descriptions(void **state) {
    static const char *const good[] = {"a", "z", "a0", "a9", "a-", "b-z", LETTERS_31};
    static const char *const bad[] = {"", "0a", "-a", "A", "aA", "a_", "a`", "a{", "a/", "a:", LETTERS_31 "q"};
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        TAKEN(d.all.name = good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char says[200];
        (void)snprintf(says, sizeof says,
                       "an encoding needs a name of 1 to 31 small letters, digits and '-' that begins with a letter, "
                       "not '%s'",
                       bad[i]);
        REFUSED("name", says, d.all.name = bad[i]);
    }
    REFUSED("name", "an encoding needs a name of 1 to 31 small letters, digits and '-' that begins with a letter",
            d.all.name = NULL);
    locus_encoding_description read;
    TELLS(ARGUMENT, "description", "description is NULL", locus_description_check(NULL, &read, &told));
}

/* Control characters, characters of two to four bytes that are cut, begin wrong or go on wrong. */
static void lines_of_descriptions(void **state) {
    static const char *const good[] = {" ",
                                       "~",
                                       "\xC2\xA0",
                                       "\xC3\x80",
                                       "\xDF\xBF",
                                       "a\xE0\xA0\x80",
                                       "\xE2\x82\xAC",
                                       "\xEF\xBF\xBD",
                                       "\xF0\x9F\x98\x80",
                                       "\xF4\x80\x80\x80"};
    static const char *const bad[] = {"",
                                      "\x1F",
                                      "a\tb",
                                      "\x7F",
                                      "\x80",
                                      "\xC1\x80",
                                      "\xC2\x80",
                                      "\xC2\x9F",
                                      "\xC3",
                                      "\xC3"
                                      "a",
                                      "\xC3\xC3",
                                      "\xE2\x82",
                                      "\xE2\x82"
                                      "a",
                                      "\xE2"
                                      "a\x82",
                                      "\xF0\x9F\x98",
                                      "\xF0\x9F\x98"
                                      "a",
                                      "\xF5\x80\x80\x80"};
    char longest[202];
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        TAKEN(d.all.summary = good[i]);
        TAKEN(d.all.source = good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        REFUSED("summary", "summary of 'it' must be one line of 1 to 200 bytes", d.all.summary = bad[i]);
        if (*bad[i])
            REFUSED("source", "source of 'it' must be one line of 1 to 200 bytes", d.all.source = bad[i]);
    }
    memset(longest, 'l', 201);
    longest[201] = '\0';
    REFUSED("summary", "summary of 'it' must be one line of 1 to 200 bytes", d.all.summary = longest);
    longest[200] = '\0';
    TAKEN(d.all.summary = longest);
    TAKEN(d.all.source = "");
    REFUSED("summary", "summary of 'it' must be one line of 1 to 200 bytes", d.all.summary = NULL);
}

static void kinds_and_masks(void **state) {
    static const char flags[] = "the flags of 'it' have bits that its kind does not know";
    static const char traits[] = "the traits of 'it' have bits that its kind does not know";
    const unsigned alike = LOCUS_EXTENSION_HEADS_ALIKE, half = LOCUS_EXTENSION_HALF_PAIRS;
    const unsigned values = LOCUS_EXTENSION_VALUES;
    (void)state;
    REFUSED("kind", "'it' is of kind 0, which there is not", d.all.kind = (locus_extension_kind)0);
    REFUSED("kind", "'it' is of kind 5, which there is not", d.all.kind = (locus_extension_kind)5);
    REFUSED("values", "'it' has no callback for its values: give `values`", d.all.values = NULL);
    for (int kind = LOCUS_EXTENSION_BIAS; kind <= LOCUS_EXTENSION_MATRICES; kind++) {
        const bool turns = kind >= LOCUS_EXTENSION_ANGLES;
#define OF_KIND(...) d.all.kind = (locus_extension_kind)kind, d.all.laws = LOCUS_LAW_ORTHOGONAL, __VA_ARGS__
        TAKEN(OF_KIND(d.all.flags = alike));
        REFUSED("flags", flags, OF_KIND(d.all.flags = 8));
        if (kind == LOCUS_EXTENSION_ANGLES)
            TAKEN(OF_KIND(d.all.flags = alike | half | values));
        else
            REFUSED("flags", flags, OF_KIND(d.all.flags = half));
        if (turns)
            TAKEN(OF_KIND(d.all.flags = values | alike));
        else
            REFUSED("flags", flags, OF_KIND(d.all.flags = values));
    }
    REFUSED("laws",
            "'it' acts on values by matrices that do not promise to be orthogonal: outputs are turned back by the "
            "transpose",
            d.all.kind = LOCUS_EXTENSION_MATRICES, d.all.flags = values, d.all.laws = LOCUS_LAW_HOMOMORPHISM);
    TAKEN(d.all.kind = LOCUS_EXTENSION_MATRICES, d.all.laws = LOCUS_LAW_HOMOMORPHISM);
    TAKEN(d.all.flags = values);
    TAKEN(d.all.laws = LOCUS_LAWS_ALL, d.all.traits = LOCUS_TRAIT_REALS | LOCUS_TRAIT_LENGTH | LOCUS_TRAIT_CAUSAL);
    REFUSED("laws", "the laws of 'it' have bits that its kind does not know",
            d.all.laws = ~(unsigned)LOCUS_LAWS_ALL & (LOCUS_LAWS_ALL + 1));
    REFUSED("traits", traits, d.all.traits = LOCUS_TRAIT_LEARNS);
    REFUSED("traits", traits, d.all.traits = LOCUS_TRAIT_CACHED);
    REFUSED("traits", traits, d.all.traits = LOCUS_TRAIT_OWN);
}

static void groups_of_descriptions(void **state) {
    static const char twice[] = "'it' says more than once which group it acts on: by `group`, or by one option";
    char longest[62] = "cycle:";
    (void)state;
    memset(longest + 6, '0', 54);
    longest[59] = '7';
    TAKEN(d.all.group = longest);
    longest[60] = '7';
    REFUSED("group", "the group of 'it' is longer than 60 bytes", d.all.group = longest);
    {
        description d = begin();
        d.all.group = "tree:0";
        TELLS(SPEC, "group", "the group of 'it': 'tree:0' has no elements: use a number from 1", check(&d));
    }
#define GROUP(i) \
    d.option[i] = (locus_option_info){"g" #i, "group", "seq", "m", LOCUS_OPTION_GROUP, 1, 0, false}, \
    d.all.option_count = 3
    TAKEN(GROUP(2));
    REFUSED("group", twice, GROUP(2), GROUP(0));
    REFUSED("group", twice, GROUP(1), d.all.group = "seq");
    REFUSED("g1",
            "the default of option 'g1': option 'g1' of 'it': the group ends too early: expected seq, cycle:n, tree:k, "
            "grid:r or '('",
            GROUP(1), d.option[1].initial = "");
}

static void options_of_descriptions(void **state) {
    static const char name[] =
        "option 1 of 'it' needs a name of 1 to 15 letters, digits, '_' and '-' that begins with a letter";
    static const char texts[] =
        "option 'o' of 'it' needs values and meaning of one line each, and an initial text, which may be empty";
    static const char *const good[] = {"A", "Z", "aA", "aZ", "a_", "a-", "a5", LETTERS_15};
    static const char *const bad[] = {"", "_a", "-a", "1", "a@", "a[", "a b", LETTERS_15 "p"};
    (void)state;
#define OPTION(...) \
    d.all.option_count = 2, \
    d.option[1] = (locus_option_info){"o", "an integer", "1", "m", LOCUS_OPTION_INTEGER, 0, 9, false}, __VA_ARGS__
    TAKEN(d.all.option_count = 32);
    REFUSED("options", "'it' says it has 33 options: give 0 to 32 of them", d.all.option_count = 33);
    description none = begin();
    locus_encoding_description read;
    none.all.option_count = 2;
    TELLS(ARGUMENT, "options", "'it' says it has 2 options: give 0 to 32 of them",
          locus_description_check(&none.all, &read, &told));
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        TAKEN(OPTION(d.option[1].name = good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        REFUSED("options", name, OPTION(d.option[1].name = bad[i]));
    REFUSED("options", "'it' has two options 'bx'", d.all.option_count = 4,
            d.option[3] = (locus_option_info){"bx", "v", "", "m", LOCUS_OPTION_INTEGER, 0, 9, false});
    TAKEN(OPTION(d.option[1].kind = LOCUS_OPTION_CHOICE, d.option[1].values = "x|y", d.option[1].initial = "y",
                 d.option[1].minimum = 10));
    TAKEN(OPTION(d.option[1].kind = LOCUS_OPTION_OFF_OR_INTEGER, d.option[1].initial = "off"));
    const int kinds[] = {0, LOCUS_OPTION_ROTATE, LOCUS_OPTION_DECAY, LOCUS_OPTION_OFF_OR_INTEGER + 1};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char says[100];
        (void)snprintf(says, sizeof says, "option 'o' of 'it' is of kind %d, which registered encodings cannot have",
                       kinds[i]);
        REFUSED("o", says, OPTION(d.option[1].kind = (locus_option_kind)kinds[i]));
    }
    REFUSED("o", texts, OPTION(d.option[1].values = NULL));
    REFUSED("o", texts, OPTION(d.option[1].values = ""));
    REFUSED("o", texts, OPTION(d.option[1].meaning = NULL));
    REFUSED("o", texts, OPTION(d.option[1].meaning = "a\nb"));
    REFUSED("o", texts, OPTION(d.option[1].initial = NULL));
    TAKEN(OPTION(d.option[1].initial = ""));
    TAKEN(OPTION(d.option[1].minimum = 1, d.option[1].maximum = 1));
    REFUSED("o", "option 'o' of 'it' has no number from 3 to 2",
            OPTION(d.option[1].minimum = 3, d.option[1].maximum = 2));
    REFUSED("o", "option 'o' of 'it' has no number from 0 to nan", OPTION(d.option[1].maximum = fabs(NAN)));
    REFUSED("o", "the default of option 'o': option 'o' of 'it' cannot be '10': expected an integer, at most 9",
            OPTION(d.option[1].initial = "10"));
}

static void parameters_of_descriptions(void **state) {
    static const char name[] =
        "parameter 1 of 'it' needs a name of 1 to 31 letters, digits and '_' that begins with a letter";
    static const char shape[] =
        "the parameter 'w' of 'it' has no shape: give 1 to 4 sizes, each at least 1 or a LOCUS_EXTENT, options being "
        "integers";
    static const char *const good[] = {"A", "z_9", "aZ", LETTERS_31};
    static const char *const bad[] = {"", "_a", "9a", "a-", "a[", LETTERS_31 "q"};
    (void)state;
#define PARAMETER(...) \
    d.all.parameter_count = 2, \
    d.parameter[1] = (locus_extension_parameter){sizeof *d.parameter, "w", 2, {1, 1}, 0, 0, LOCUS_CONSTRAINT_NONE}, \
    __VA_ARGS__
#define W d.parameter[1]
    TAKEN(d.all.parameter_count = 16);
    REFUSED("parameters", "'it' says it has 17 parameters: give 0 to 16 of them", d.all.parameter_count = 17);
    description none = begin();
    locus_encoding_description read;
    none.all.parameter_count = 1;
    TELLS(ARGUMENT, "parameters", "'it' says it has 1 parameters: give 0 to 16 of them",
          locus_description_check(&none.all, &read, &told));
    TAKEN(d.all.gradient = NULL);
    REFUSED("gradient", "'it' has parameters, but no callback for their gradient: give `gradient`",
            PARAMETER(d.all.gradient = NULL));
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        TAKEN(PARAMETER(W.name = good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        REFUSED("parameters", name, PARAMETER(W.name = bad[i]));
    REFUSED("parameters", "'it' has two parameters 'w'", PARAMETER(d.parameter[3] = W, d.all.parameter_count = 4));
    REFUSED("w", shape, PARAMETER(W.rank = 0));
    REFUSED("w", shape, PARAMETER(W.rank = 5));
    TAKEN(PARAMETER(W.rank = 4, W.shape[2] = 7, W.shape[3] = 1));
    REFUSED("w", shape, PARAMETER(W.shape[1] = 0));
    REFUSED("w", shape, PARAMETER(W.shape[0] = 0));
    TAKEN(PARAMETER(W.shape[0] = LOCUS_EXTENT_HEADS, W.shape[1] = LOCUS_EXTENT_HEAD_DIM));
    TAKEN(PARAMETER(W.shape[0] = LOCUS_EXTENT_PAIRS));
    REFUSED("w", shape, PARAMETER(W.shape[1] = -4));
    REFUSED("w", shape, PARAMETER(W.shape[1] = -15, d.all.option_count = 2));
    REFUSED("w", shape, PARAMETER(W.shape[1] = LOCUS_EXTENT_OPTION(0)));
    TAKEN(PARAMETER(W.shape[1] = LOCUS_EXTENT_OPTION(1), d.all.option_count = 2));
    REFUSED("w", shape, PARAMETER(W.shape[1] = LOCUS_EXTENT_OPTION(2), d.all.option_count = 2));
    REFUSED("w", shape,
            PARAMETER(W.shape[1] = LOCUS_EXTENT_OPTION(1),
                      OPTION(d.option[1].kind = LOCUS_OPTION_OFF_OR_INTEGER, d.all.option_count = 2)));
    const struct {
        locus_constraint constraint;
        double initial, deviation;
        bool good, made; /* made: by a callback */
    } starts[] = {
        {LOCUS_CONSTRAINT_NONE, -1, 0, true, false},         {LOCUS_CONSTRAINT_NONE, 0, 2, true, false},
        {LOCUS_CONSTRAINT_NONE, 0, -1, false, false},        {LOCUS_CONSTRAINT_NONE, INFINITY, 0, false, false},
        {LOCUS_CONSTRAINT_NONE, 0, INFINITY, false, true},   {LOCUS_CONSTRAINT_NONE, -INFINITY, 0, false, true},
        {LOCUS_CONSTRAINT_POSITIVE, 1e-300, 0, true, false}, {LOCUS_CONSTRAINT_POSITIVE, 0, 0, false, false},
        {LOCUS_CONSTRAINT_POSITIVE, -1, 0, false, false},    {LOCUS_CONSTRAINT_POSITIVE, 0, 0, true, true},
        {LOCUS_CONSTRAINT_NONZERO, -1, 0, true, false},      {LOCUS_CONSTRAINT_NONZERO, 0, 1, false, false},
        {LOCUS_CONSTRAINT_NONZERO, 0, 1, true, true},        {(locus_constraint)77, 1, 1, false, false}};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        char says[160];
        (void)snprintf(says, sizeof says,
                       "the parameter 'w' of 'it' begins with %g and deviation %g, which its constraint does not allow",
                       starts[i].initial, starts[i].deviation);
#define STARTS \
    PARAMETER(W.constraint = starts[i].constraint, W.initial = starts[i].initial, W.deviation = starts[i].deviation, \
              d.all.initialise = starts[i].made ? some_initial : NULL)
        if (starts[i].good)
            TAKEN(STARTS);
        else
            REFUSED("w", says, STARTS);
    }
}

/* ---- the registry ---- */

enum { REGISTERED = 1024 };

/* Names are one for all: of what is there, and of what comes together. What is refused leaves nothing. */
static void names_are_taken_once(void **state) {
    description one = begin(), two = begin();
    const locus_encoding_description *both[] = {&one.all, &two.all};
    locus_plugin plugin = {LOCUS_ABI_VERSION, 2, both};
    const size_t before = locus_encoding_registry_size();
    (void)state;
    one.all.name = "rope";
    TELLS(ARGUMENT, "name", "there is an encoding 'rope' already: choose another name",
          locus_encoding_register(&one.all, &told));
    one.all.name = two.all.name = "twice";
    TELLS(ARGUMENT, "name", "there is an encoding 'twice' already: choose another name",
          locus_plugin_register(&plugin, &told));
    one.all.name = "once", two.all.name = "rope";
    TELLS(ARGUMENT, "name", "there is an encoding 'rope' already: choose another name",
          locus_plugin_register(&plugin, &told));
    assert_int_equal(locus_encoding_registry_size(), before);
    TELLS(ARGUMENT, "plugin", "plugin is NULL", locus_plugin_register(NULL, &told));
    plugin.count = 0;
    TELLS(ARGUMENT, "plugin", "the plugin has no encodings", locus_plugin_register(&plugin, &told));
    plugin = (locus_plugin){LOCUS_ABI_VERSION, 2, NULL};
    TELLS(ARGUMENT, "plugin", "the plugin has no encodings", locus_plugin_register(&plugin, &told));
    char says[120];
    plugin = (locus_plugin){LOCUS_ABI_VERSION + 1, 2, both};
    (void)snprintf(says, sizeof says,
                   "the plugin was built for binary interface %d of locus, this is %d: build it again",
                   LOCUS_ABI_VERSION + 1, LOCUS_ABI_VERSION);
    TELLS(UNSUPPORTED, "plugin", says, locus_plugin_register(&plugin, &told));
}

/* To the last. */
static void registry_has_an_end(void **state) {
    static locus_encoding_description all[REGISTERED];
    static const locus_encoding_description *list[REGISTERED];
    static char names[REGISTERED][12];
    const size_t before = locus_encoding_registry_size();
    locus_encoding *encoding = NULL;
    (void)state;
    for (size_t i = 0; i < REGISTERED; i++) {
        all[i] = begin().all;
        all[i].name = names[i];
        (void)snprintf(names[i], sizeof names[i], "own-%zu", i);
        list[i] = &all[i];
    }
    TAKES(locus_encoding_register(&all[0], &told));
    const locus_plugin most = {LOCUS_ABI_VERSION, REGISTERED - 1, list + 1};
    description more = begin();
    more.all.name = "one-more";
    list[0] = &more.all;
    const locus_plugin beyond = {LOCUS_ABI_VERSION, REGISTERED, list};
    TELLS(UNSUPPORTED, "name", "more than 1024 encodings are registered", locus_plugin_register(&beyond, &told));
    assert_int_equal(locus_encoding_registry_size(), before + 1);
    TAKES(locus_plugin_register(&most, &told));
    assert_int_equal(locus_encoding_registry_size(), before + REGISTERED);
    TELLS(UNSUPPORTED, "name", "more than 1024 encodings are registered", locus_encoding_register(&more.all, &told));
    assert_string_equal(locus_encoding_registry_at(before + REGISTERED - 1)->name, "own-1023");
    assert_null(locus_encoding_registry_at(before + REGISTERED));
    TAKES(locus_encoding_parse("own-1023", &encoding, &told));
    locus_encoding_destroy(&encoding);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_descriptions),   cmocka_unit_test(lines_of_descriptions),
        cmocka_unit_test(kinds_and_masks),         cmocka_unit_test(groups_of_descriptions),
        cmocka_unit_test(options_of_descriptions), cmocka_unit_test(parameters_of_descriptions),
        cmocka_unit_test(names_are_taken_once),    cmocka_unit_test(registry_has_an_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
