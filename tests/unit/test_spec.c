/* SPDX-License-Identifier: MIT */
/* Specs: what is accepted, what its canonical text is, and for everything else the status, the place and the words. */
#include "../property/encoding_rig.h"

#include <locale.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void canonical(const char *spec, const char *want) {
    locus_encoding *encoding = NULL, *again = NULL;
    char text[256], back[256];
    locus_error failure = {0};
    if (locus_encoding_parse(spec, &encoding, &failure) != LOCUS_OK)
        fail_msg("'%s': %s", spec, failure.message);
    assert_int_equal(locus_encoding_text(encoding, text, sizeof text), strlen(want));
    assert_string_equal(text, want);
    rig_ok(locus_encoding_parse(text, &again, error));
    (void)locus_encoding_text(again, back, sizeof back);
    assert_string_equal(back, text);
    assert_int_equal(locus_encoding_sites(encoding), locus_encoding_sites(again));
    locus_encoding_destroy(&encoding);
    locus_encoding_destroy(&again);
    assert_null(again);
}

static void test_canonical(void **state) {
    (void)state;
    canonical("none", "none");
    canonical("rope", "rope");
    canonical("  rope  (  base = 10000 , pairs=half )  ", "rope(pairs=half)");
    canonical("rope(pairs=half,base=500)", "rope(pairs=half, base=500)");
    canonical("rope(base=5e2)", "rope(base=500)");
    canonical("rope(base=0.1)", "rope(base=0.1)");
    canonical("rope(base=1.0000000000000002)", "rope(base=1.0000000000000002)");
    canonical("rope(base=1e+20)", "rope(base=1e+20)");
    canonical("rope(base=.5e1)", "rope(base=5)");
    canonical("rope(rotate=32)", "rope(rotate=32)");
    canonical("rope(rotate=proportional:0.25)", "rope(rotate=proportional:0.25)");
    canonical("rope(rotate=proportional:1,pairs=half)", "rope(pairs=half, rotate=proportional:1)");
    canonical("rope(side=key, learned=on, values=off)", "rope(learned=on, side=key)");
    canonical("roper(learned=on)", "roper(learned=on)");
    canonical("algebraic(group=seq)", "algebraic");
    canonical("algebraic(group=((seq)))", "algebraic");
    canonical("algebraic(group=grid:1)", "algebraic");
    canonical("algebraic(decay=0.98, values=on)", "algebraic(values=on, decay=0.98)");
    canonical("algebraic(decay=off,generator=angles,init=identity,heads=shared)",
              "algebraic(generator=angles, init=identity, heads=shared)");
    canonical("relative(window=100)", "relative");
    canonical("relative(scaled=off,values=on,window=3)", "relative(window=3, values=on, scaled=off)");
    canonical("rope + alibi", "rope + alibi");
    canonical("rope+alibi(group=seq)+decay(rate=0.9)", "rope + alibi + decay(rate=0.9)");
    canonical("sinusoidal(layout=concatenated)", "sinusoidal(layout=concatenated)");
    canonical("learned(size=7) + sinusoidal\n", "learned(size=7) + sinusoidal");
    canonical("learned(deviation=1.0,size=512)", "learned(deviation=1)");
    canonical("learned(deviation=2e-2)", "learned(deviation=0.02)");
    canonical("rope(learned=off, base=10000)", "rope(learned=off)");
    canonical("alibi+alibi+alibi+alibi+alibi+alibi+alibi+alibi",
              "alibi + alibi + alibi + alibi + alibi + alibi + alibi + alibi");
}

/* A locale whose decimal point is `point`, as a file of glibc's: LC_NUMERIC of 6 entries. false: there is no such
 * thing here. */
static bool enter_locale(const char *point) {
    static const char *const names[] = {"", "one", "two"}; /* by bytes of the point: glibc reads a name once */
    const char *name = names[strlen(point)];
    char folder[] = "/tmp/locus-spec-XXXXXX", language[64], file[96], shown[16];
    uint32_t words[14] = {0x20031114, 6, 32, (uint32_t)(33 + strlen(point)), 36, 40, 44, 48, 0, 0, ',', '.'};
    memcpy((char *)words + 32, point, strlen(point));
    memcpy((char *)words + 48, "UTF-8", 5);
    assert_non_null(mkdtemp(folder));
    (void)snprintf(language, sizeof language, "%s/%s", folder, name);
    (void)snprintf(file, sizeof file, "%s/LC_NUMERIC", language);
    assert_int_equal(mkdir(language, 0700), 0);
    FILE *stream = fopen(file, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(words, 1, sizeof words, stream), sizeof words);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(setenv("LOCPATH", folder, 1), 0);
    const bool entered = setlocale(LC_NUMERIC, name) != NULL;
    assert_true(unlink(file) == 0 && rmdir(language) == 0 && rmdir(folder) == 0);
    assert_int_equal(unsetenv("LOCPATH"), 0);
    (void)snprintf(shown, sizeof shown, "%.1f", 2.5);
    return entered && strlen(shown) == 2 + strlen(point) && strstr(shown, point) == shown + 1;
}

/* Numbers have a point, whatever the program around writes. */
static void check_locale(const char *point) {
    locus_encoding *encoding = NULL;
    if (!enter_locale(point)) {
        (void)setlocale(LC_NUMERIC, "C");
        skip();
    }
    canonical("rope(base=0.1)", "rope(base=0.1)");
    canonical("rope(base=.5e1)", "rope(base=5)");
    canonical("rope(base=1.0000000000000002)", "rope(base=1.0000000000000002)");
    canonical("rope(base=12345678.901234)", "rope(base=12345678.901234)");
    canonical("rope(base=1.25e+20)", "rope(base=1.25e+20)");
    canonical("rope(base=1e+20)", "rope(base=1e+20)");
    canonical("rope(base=2.)", "rope(base=2)");
    canonical("rope(rotate=proportional:0.25)", "rope(rotate=proportional:0.25)");
    canonical("algebraic(decay=learned:0.98)", "algebraic(decay=learned:0.98)");
    canonical("rope(scaling=longrope, factor=4, original=8, short=1.5:2.25, long=1:3e-05)",
              "rope(scaling=longrope, factor=4, original=8, short=1.5:2.25, long=1:3e-05)");
    assert_int_equal(locus_encoding_parse("decay(rate=0,9)", &encoding, NULL), LOCUS_ERROR_SPEC);
    (void)setlocale(LC_NUMERIC, "C");
}

static void test_comma(void **state) {
    (void)state;
    check_locale(",");
}

static void test_point_of_two_bytes(void **state) {
    (void)state;
    check_locale("\xd9\xab");
}

static void bad(const char *spec, locus_status status, int offset, int length, const char *words) {
    locus_encoding *encoding = (locus_encoding *)1;
    locus_error error = {0};
    locus_status got = locus_encoding_parse(spec, &encoding, &error);
    assert_null(encoding);
    if (got != status || error.status != status)
        fail_msg("'%s' gave %d: %s", spec, (int)got, error.message);
    if (error.offset != offset || error.length != length || !strstr(error.message, words))
        fail_msg("'%s' points to %d+%d: %s", spec, (int)error.offset, (int)error.length, error.message);
    assert_null(strchr(error.message, '\n'));
    assert_int_equal(locus_encoding_parse(spec, &encoding, NULL), status);
}

static void test_grammar_errors(void **state) {
    (void)state;
    bad("", LOCUS_ERROR_SPEC, 0, 1, "the name of an encoding");
    bad("   ", LOCUS_ERROR_SPEC, 3, 1, "the name of an encoding");
    bad("+rope", LOCUS_ERROR_SPEC, 0, 1, "the name of an encoding");
    bad("rope +", LOCUS_ERROR_SPEC, 6, 1, "the name of an encoding");
    bad("rope + + alibi", LOCUS_ERROR_SPEC, 7, 1, "the name of an encoding");
    bad("rope alibi", LOCUS_ERROR_SPEC, 5, 1, "'(', '+' or the end");
    bad("rope(base=1) x", LOCUS_ERROR_SPEC, 13, 1, "'+' and another term, or the end");
    bad("rope)", LOCUS_ERROR_SPEC, 4, 1, "'+'");
    bad("rope(", LOCUS_ERROR_SPEC, 5, 1, "the name of an option");
    bad("rope()", LOCUS_ERROR_SPEC, 5, 1, "the name of an option");
    bad("rope(base", LOCUS_ERROR_SPEC, 9, 1, "'='");
    bad("rope(base)", LOCUS_ERROR_SPEC, 9, 1, "'='");
    bad("rope(base=", LOCUS_ERROR_SPEC, 10, 1, "a value");
    bad("rope(base=)", LOCUS_ERROR_SPEC, 10, 1, "a value");
    bad("rope(base= ,pairs=half)", LOCUS_ERROR_SPEC, 11, 1, "a value");
    bad("rope(base=5", LOCUS_ERROR_SPEC, 4, 1, "not closed");
    bad("rope(base=5,", LOCUS_ERROR_SPEC, 12, 1, "the name of an option");
    bad("rope(base=5,)", LOCUS_ERROR_SPEC, 12, 1, "the name of an option");
    bad("algebraic(group=(seq)", LOCUS_ERROR_SPEC, 9, 1, "not closed");
    bad("algebraic(group=(seq", LOCUS_ERROR_SPEC, 16, 1, "not closed");
    bad("r\xC3\xB6pe", LOCUS_ERROR_SPEC, 0, 1, "no encoding 'r'");
    bad("\xC3\xB6", LOCUS_ERROR_SPEC, 0, 2, "not '\xC3\xB6'");
    bad("alibi+alibi+alibi+alibi+alibi+alibi+alibi+alibi+alibi", LOCUS_ERROR_SPEC, 48, 1, "at most 8 terms");
}

static void test_name_errors(void **state) {
    (void)state;
    bad("rop", LOCUS_ERROR_SPEC, 0, 3, "did you mean 'rope'?");
    bad("alibi + Rope", LOCUS_ERROR_SPEC, 8, 4, "did you mean 'rope'?");
    bad("sinusodial", LOCUS_ERROR_SPEC, 0, 10, "did you mean 'sinusoidal'?");
    bad("xyzzyplugh", LOCUS_ERROR_SPEC, 0, 10, "expected one of none sinusoidal");
    bad("kerpel", LOCUS_ERROR_SPEC, 0, 6, "did you mean 'kerple'?");
    bad("rope + shiv-quirk(depth=3)", LOCUS_ERROR_SPEC, 7, 10, "acts on 'tree:2', the terms before it on 'seq'");
    bad("rope(bas=3)", LOCUS_ERROR_SPEC, 5, 3, "did you mean 'base'?");
    bad("rope(base=3, qqqq=4)", LOCUS_ERROR_SPEC, 13, 4, "expected one of pairs base rotate");
    bad("rope(scaling=yarn, factor=4)", LOCUS_ERROR_SPEC, 5, 12, "needs original=");
    bad("rope(base=3, base=3)", LOCUS_ERROR_SPEC, 13, 4, "given twice");
    bad("none(size=3)", LOCUS_ERROR_SPEC, 5, 4, "has no options");
    bad("roper(values=on)", LOCUS_ERROR_SPEC, 6, 6, "'roper' has no option 'values'");
}

static void test_value_errors(void **state) {
    (void)state;
    bad("rope(base=abc)", LOCUS_ERROR_SPEC, 10, 3, "number > 0");
    bad("rope(base=0)", LOCUS_ERROR_SPEC, 10, 1, "number > 0");
    bad("rope(base=-3)", LOCUS_ERROR_SPEC, 10, 2, "number > 0");
    bad("rope(base=nan)", LOCUS_ERROR_SPEC, 10, 3, "number > 0");
    bad("rope(base=inf)", LOCUS_ERROR_SPEC, 10, 3, "number > 0");
    bad("rope(base=1e999)", LOCUS_ERROR_SPEC, 10, 5, "number > 0");
    bad("rope(base=0x10)", LOCUS_ERROR_SPEC, 10, 4, "number > 0");
    bad("rope(base=1,5)", LOCUS_ERROR_SPEC, 12, 1, "has no option '5'");
    bad("rope(pairs=haf)", LOCUS_ERROR_SPEC, 11, 3, "did you mean 'half'?");
    bad("rope(pairs=both)", LOCUS_ERROR_SPEC, 11, 4, "interleaved|half");
    bad("rope(learned=yes)", LOCUS_ERROR_SPEC, 13, 3, "off|on");
    bad("rope(rotate=3)", LOCUS_ERROR_SPEC, 12, 1, "even integer");
    bad("rope(rotate=0)", LOCUS_ERROR_SPEC, 12, 1, "even integer");
    bad("rope(rotate=proportional:1.5)", LOCUS_ERROR_SPEC, 12, 16, "proportional:f");
    bad("rope(rotate=proportional:)", LOCUS_ERROR_SPEC, 12, 13, "proportional:f");
    bad("rope(pairs=interleaved, rotate=proportional:0.5)", LOCUS_ERROR_SPEC, 5, 17, "leave out pairs=interleaved");
    bad("learned(size=0)", LOCUS_ERROR_SPEC, 13, 1, "integer");
    bad("learned(deviation=-1)", LOCUS_ERROR_SPEC, 18, 2, "≥ 0");
    bad("learned(size=2.5)", LOCUS_ERROR_SPEC, 13, 3, "integer");
    bad("learned(size=99999999999)", LOCUS_ERROR_SPEC, 13, 11, "integer");
    bad("decay(rate=1.01)", LOCUS_ERROR_SPEC, 11, 4, "0 < rate");
    bad("algebraic(decay=on)", LOCUS_ERROR_SPEC, 16, 2, "expected off, number with 0 < c ≤ 1, or learned:c");
    bad("algebraic(decay=0)", LOCUS_ERROR_SPEC, 16, 1, "learned:c");
    bad("algebraic(decay=learned:)", LOCUS_ERROR_SPEC, 16, 8, "learned:c");
    bad("algebraic(decay=learned:1.5)", LOCUS_ERROR_SPEC, 16, 11, "learned:c");
    bad("algebraic(group=grid:2, split=4:)", LOCUS_ERROR_SPEC, 30, 2, "a:b:");
    bad("algebraic(group=grid:2, split=4:0)", LOCUS_ERROR_SPEC, 30, 3, "a:b:");
    bad("algebraic(group=grid:99)", LOCUS_ERROR_UNSUPPORTED, 16, 7, "more than 32 axes, cycles and trees");
    bad("mixed(group=tree:2)", LOCUS_ERROR_SPEC, 12, 6, "expected seq or grid:r");
    bad("algebraic(group=tree:2) + alibi", LOCUS_ERROR_SPEC, 26, 5, "a sum needs one group, say group=tree:2");
    bad("rope + decay(group=cycle:3)", LOCUS_ERROR_SPEC, 7, 5, "'decay' acts on 'cycle:3'");
    bad("algebraic(group=tree:2) + sinusoidal", LOCUS_ERROR_SPEC, 26, 10, "'sinusoidal' acts on 'seq'");
}

/* What is wrong inside a group is pointed at inside the group. */
static void test_group_errors(void **state) {
    (void)state;
    const struct {
        const char *spec;
        ptrdiff_t offset, length;
    } cases[] = {{"algebraic(group=seq*)", 20, 1},
                 {"algebraic(group=tre:2)", 16, 3},
                 {"algebraic(group=*seq)", 16, 1},
                 {"algebraic(values=on, group=seq*tree:x)", 36, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        locus_encoding *encoding = NULL;
        locus_error error = {0};
        assert_int_equal(locus_encoding_parse(cases[i].spec, &encoding, &error), LOCUS_ERROR_SPEC);
        if (error.offset != cases[i].offset || error.length != cases[i].length)
            fail_msg("%s: %td, %td", cases[i].spec, error.offset, error.length);
        assert_string_equal(error.argument, "group");
    }
}

/* The most that a number may be is told where a number was given, and only if it is beyond. */
static void test_limits(void **state) {
    (void)state;
    static const struct {
        const char *spec, *says;
    } cases[] = {
        {"rope(base=x)", "option 'base' of 'rope' cannot be 'x': expected number > 0"},
        {"rope(base=0)", "option 'base' of 'rope' cannot be '0': expected number > 0"},
        {"rope(base=1e400)", "option 'base' of 'rope' cannot be '1e400': expected number > 0, at most 1e+300"},
        {"fire(L=9e99)", "option 'L' of 'fire' cannot be '9e99': expected number > 0, at most 1000000000000"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        locus_encoding *encoding = NULL;
        locus_error error;
        assert_int_equal(locus_encoding_parse(cases[i].spec, &encoding, &error), LOCUS_ERROR_SPEC);
        assert_string_equal(error.message, cases[i].says);
    }
}

static void test_sums(void **state) {
    (void)state;
    bad("rope + algebraic", LOCUS_ERROR_SPEC, 7, 9, "both put an operator on queries and keys");
    bad("alibi + rope + decay + roper", LOCUS_ERROR_SPEC, 23, 5, "'rope' and 'roper' both");
    bad("relative + relative(window=3)", LOCUS_ERROR_SPEC, 11, 8, "both bring a table");
    canonical("relative(values=on) + roper", "relative(values=on) + roper");
    canonical("none + none + rope", "none + none + rope");
}

static void test_sites(void **state) {
    (void)state;
    const struct {
        const char *spec;
        unsigned sites;
    } cases[] = {{"none", 0},
                 {"sinusoidal", LOCUS_SITE_EMBEDDING},
                 {"rope", LOCUS_SITE_QUERY_KEY},
                 {"roper", LOCUS_SITE_QUERY_KEY | LOCUS_SITE_VALUE},
                 {"rope(values=on) + alibi", LOCUS_SITE_QUERY_KEY | LOCUS_SITE_VALUE | LOCUS_SITE_SCORE},
                 {"algebraic(decay=0.5)", LOCUS_SITE_QUERY_KEY | LOCUS_SITE_SCORE},
                 {"relative + learned(size=3)", LOCUS_SITE_SCORE | LOCUS_SITE_EMBEDDING}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        locus_encoding *encoding = NULL;
        rig_ok(locus_encoding_parse(cases[i].spec, &encoding, error));
        assert_int_equal(locus_encoding_sites(encoding), cases[i].sites);
        locus_encoding_destroy(&encoding);
    }
}

static void test_laws(void **state) {
    (void)state;
    const unsigned operators = LOCUS_LAW_HOMOMORPHISM | LOCUS_LAW_ORTHOGONAL, all = operators | LOCUS_LAW_RELATIVITY;
    const struct {
        const char *spec;
        unsigned laws;
    } cases[] = {{"none", all},
                 {"rope + alibi", all},
                 {"algebraic(group=tree:2, decay=0.9)", all},
                 {"string(side=key)", operators},
                 {"liere", LOCUS_LAW_ORTHOGONAL},
                 {"liere(side=query)", LOCUS_LAW_ORTHOGONAL},
                 {"decay(group=cycle:4)", all},
                 {"sinusoidal", operators},
                 {"learned(size=9) + roper", operators}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        locus_encoding *encoding = NULL;
        rig_ok(locus_encoding_parse(cases[i].spec, &encoding, error));
        assert_int_equal(locus_encoding_laws(encoding), cases[i].laws);
        locus_encoding_destroy(&encoding);
    }
}

/* Cut texts: always ended, never written past, full length returned. */
static void test_text_is_cut(void **state) {
    (void)state;
    locus_encoding *encoding = NULL;
    rig_ok(locus_encoding_parse("rope(base=500) + alibi", &encoding, error));
    for (size_t size = 0; size < 30; size++) {
        char text[32];
        memset(text, '#', sizeof text);
        assert_int_equal(locus_encoding_text(encoding, text, size), 22);
        for (size_t i = size; i < sizeof text; i++)
            assert_int_equal(text[i], '#');
        if (size > 0)
            assert_int_equal(strlen(text), size - 1 < 22 ? size - 1 : 22);
    }
    assert_int_equal(locus_encoding_text(encoding, NULL, 0), 22);
    locus_encoding_destroy(&encoding);
}

/* What some choices cannot be without. */
static const char *companions(const locus_option_info *option, const char *choice) {
    static const char *const pairs[][2] = {
        {"linear", ", factor=2"},
        {"ntk", ", factor=2"},
        {"dynamic", ", factor=2, original=64"},
        {"yarn", ", factor=2, original=64"},
        {"llama3", ", factor=2, original=64"},
        {"longrope", ", factor=2, original=64, short=1:1, long=1:2"},
        {"axial", ", axes=2"},
        {"running", ", axes=2"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (strcspn(choice, "|") == strlen(pairs[i][0]) && strncmp(choice, pairs[i][0], strlen(pairs[i][0])) == 0)
            return pairs[i][1];
    if (strcmp(option->name, "truncate") == 0)
        return strncmp(choice, "off", 3) == 0 ? ", scaling=yarn, factor=2, original=64" : "";
    return strcmp(option->name, "order") == 0 && strncmp(choice, "interleaved", 11) == 0 ? ", sections=1:1" : "";
}

/* Every default in the registry parses to what the option is without being given; every listed choice is accepted. */
static void test_registry(void **state) {
    (void)state;
    assert_null(locus_encoding_registry_at(locus_encoding_registry_size()));
    for (size_t i = 0; i < locus_encoding_registry_size(); i++) {
        const locus_encoding_info *info = locus_encoding_registry_at(i);
        assert_true(strlen(info->name) > 0 && strlen(info->summary) > 0 && info->learned && info->source);
        canonical(info->name, info->name);
        for (size_t j = 0; j < info->option_count; j++) {
            const locus_option_info *option = &info->options[j];
            char spec[128];
            assert_true(strlen(option->meaning) > 0 && strlen(option->values) > 0);
            if (strlen(option->initial) > 0) {
                (void)snprintf(spec, sizeof spec, "%s(%s=%s)", info->name, option->name, option->initial);
                const bool kept = strcmp(option->name, "deviation") == 0 ||
                                  (strncmp(info->name, "rope", 4) == 0 && strcmp(option->name, "learned") == 0);
                canonical(spec, kept ? spec : info->name);
            }
            if (!strchr(option->values, '|'))
                continue;
            for (const char *choice = option->values; choice;
                 choice = strchr(choice, '|') ? strchr(choice, '|') + 1 : NULL) {
                locus_encoding *encoding = NULL;
                (void)snprintf(spec, sizeof spec, "%s(%s=%.*s%s)", info->name, option->name, (int)strcspn(choice, "|"),
                               choice, companions(option, choice));
                rig_ok(locus_encoding_parse(spec, &encoding, error));
                locus_encoding_destroy(&encoding);
            }
        }
    }
}

static void assert_option(const locus_encoding *encoding, size_t term, const char *name, const char *want) {
    char text[128] = "";
    assert_int_equal(locus_encoding_option(encoding, term, name, text, sizeof text), strlen(want));
    assert_string_equal(text, want);
}

/* A parsed spec tells its terms and their options, given or not. */
static void test_taken_apart(void **state) {
    (void)state;
    locus_encoding *encoding = NULL;
    rig_ok(locus_encoding_parse("rope(base=5e5, pairs=half, scaling=longrope, factor=2, original=64, short=1:1.5, "
                                "long=2:4) + alibi + scores(window=16)",
                                &encoding, error));
    assert_int_equal(locus_encoding_term_count(encoding), 3);
    const char *const names[] = {"rope", "alibi", "scores"};
    for (size_t t = 0; t < 3; t++)
        assert_string_equal(locus_encoding_term(encoding, t)->name, names[t]);
    assert_null(locus_encoding_term(encoding, 3));
    assert_option(encoding, 0, "base", "500000");
    assert_option(encoding, 0, "pairs", "half");
    assert_option(encoding, 0, "values", "off");
    assert_option(encoding, 0, "short", "1:1.5");
    assert_option(encoding, 0, "rotate", "");
    assert_option(encoding, 0, "sections", "");
    assert_option(encoding, 2, "window", "16");
    char text[4] = "###";
    assert_int_equal(locus_encoding_option(encoding, 0, "base", text, 3), 6);
    assert_string_equal(text, "50");
    assert_int_equal(locus_encoding_option(encoding, 0, "base", NULL, 0), 6);
    assert_true(locus_encoding_option(encoding, 0, "window", text, 3) == SIZE_MAX);
    assert_true(locus_encoding_option(encoding, 3, "base", text, 3) == SIZE_MAX);
    assert_true(locus_encoding_option(encoding, 0, NULL, text, 3) == SIZE_MAX);
    assert_string_equal(text, "50");
    locus_encoding_destroy(&encoding);
    assert_int_equal(locus_encoding_term_count(NULL), 0);
    rig_ok(locus_encoding_parse("algebraic(group=seq*tree:2, decay=learned:0.98)", &encoding, error));
    assert_option(encoding, 0, "group", "seq*tree:2");
    assert_option(encoding, 0, "decay", "learned:0.98");
    locus_encoding_destroy(&encoding);
}

/* Of every encoding and option the default that the registry names. */
static void test_defaults_told(void **state) {
    (void)state;
    const locus_encoding_info *info;
    size_t told = 0;
    for (size_t i = 0; (info = locus_encoding_registry_at(i)) != NULL; i++) {
        locus_encoding *encoding = NULL;
        if (locus_encoding_parse(info->name, &encoding, NULL) != LOCUS_OK)
            continue; /* it needs an option that has no default */
        for (size_t o = 0; o < info->option_count; o++, told++)
            assert_option(encoding, 0, info->options[o].name, info->options[o].initial);
        locus_encoding_destroy(&encoding);
    }
    assert_true(told > 100);
}

/* As many axes as there may be. */
static void test_axes_are_a_grid(void **state) {
    static const char *const specs[][2] = {
        {"rope(axes=2)", "grid:2"}, {"rope(axes=31)", "grid:31"}, {"rope(axes=32)", "grid:32"}};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        locus_encoding *encoding = NULL;
        char text[16];
        rig_ok(locus_encoding_parse(specs[i][0], &encoding, error));
        assert_int_equal(locus_group_text(locus_encoding_group(encoding), text, sizeof text), strlen(specs[i][1]));
        assert_string_equal(text, specs[i][1]);
        locus_encoding_destroy(&encoding);
    }
}

static void test_null(void **state) {
    (void)state;
    locus_encoding *encoding = NULL;
    assert_int_equal(locus_encoding_parse(NULL, &encoding, NULL), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(locus_encoding_parse("rope", NULL, NULL), LOCUS_ERROR_ARGUMENT);
    locus_encoding_destroy(NULL);
    locus_encoding_destroy(&encoding);
    assert_int_equal(locus_encoding_sites(NULL), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_canonical),
        cmocka_unit_test(test_grammar_errors),
        cmocka_unit_test(test_name_errors),
        cmocka_unit_test(test_value_errors),
        cmocka_unit_test(test_group_errors),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_sites),
        cmocka_unit_test(test_laws),
        cmocka_unit_test(test_text_is_cut),
        cmocka_unit_test(test_registry),
        cmocka_unit_test(test_null),
        cmocka_unit_test(test_taken_apart),
        cmocka_unit_test(test_defaults_told),
        cmocka_unit_test(test_axes_are_a_grid),
        cmocka_unit_test(test_comma),
        cmocka_unit_test(test_point_of_two_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
