/* SPDX-License-Identifier: MIT */
/* Labelled sequences of one's own: tokens by hand in all three cuts and as ids, sets that part the file and are the
 * same for the same seed, files for each set, samples that sets share, a vocabulary that is kept and recalled, and
 * each way in which a line can be wrong, told with its number. */
#include "task/own/labelled.h"
#include "task/own/own_sets.h"
#include "task/task_class.h"
#include "train/configuration/budgets.h"
#include "train/configuration/config.h"

#include <locus/random.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/scratch_folder.h"

static void put(const char *name, const char *text) {
    scratch_write(name, text, strlen(text));
}

static lab_task_options options_of(const char *data, const char *dev, const char *test) {
    return (lab_task_options){.path = data, .dev = dev, .test = test};
}

static locus_status draw(lab_dataset *set, const lab_task_options *options, lab_set which, uint64_t seed,
                         locus_error *error) {
    const lab_draw wanted = {lab_task_find("classify"), options, which, 0, seed};
    return lab_dataset_generate(set, &wanted, error);
}

static lab_dataset drawn(const lab_task_options *options, lab_set which, uint64_t seed) {
    lab_dataset set;
    locus_error error = {0};
    if (draw(&set, options, which, seed, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    return set;
}

static void expect_sample(const lab_dataset *set, size_t sample, size_t count, const int32_t *tokens, int32_t label) {
    assert_int_equal(set->input_offsets[sample + 1] - set->input_offsets[sample], count);
    assert_memory_equal(set->input + set->input_offsets[sample], tokens, count * sizeof *tokens);
    assert_int_equal(set->labels[sample], label);
}

/* ---- tokens ---- */

static void test_words(void **state) {
    (void)state;
    put("train.tsv", " good  good\xc3\xa9 film\tyes\r\n\nbad film\tno\n");
    put("dev.tsv", "film bad new\tno\n");
    put("test.tsv", "\tyes\n");
    const lab_task_options options =
        options_of(scratch_path("train.tsv"), scratch_path("dev.tsv"), scratch_path("test.tsv"));
    lab_dataset train = drawn(&options, LAB_SET_TRAIN, 0), dev = drawn(&options, LAB_SET_DEV, 0);
    lab_dataset test = drawn(&options, LAB_SET_TEST, 0);
    assert_int_equal(train.samples, 2);
    expect_sample(&train, 0, 4, (const int32_t[]){0, 2, 3, 4}, 0);
    expect_sample(&train, 1, 3, (const int32_t[]){0, 5, 4}, 1);
    expect_sample(&dev, 0, 4, (const int32_t[]){0, 4, 5, 1}, 1); /* "new" is in no training sample */
    expect_sample(&test, 0, 1, (const int32_t[]){0}, 0);         /* an empty text */
    lab_dataset_destroy(&train);
    lab_dataset_destroy(&dev);
    lab_dataset_destroy(&test);
    lab_class_facts facts;
    assert_int_equal(lab_labelled_look(&options, 0, &facts, NULL), LOCUS_OK);
    assert_int_equal(facts.vocabulary, 6);
    assert_int_equal(facts.classes.count, 2);
    assert_string_equal(facts.classes.words[1], "no");
    assert_int_equal(facts.of_class[LAB_SET_DEV][1], 1);
    assert_true(facts.shortest == 0 && facts.longest == 3 && facts.digest != 0);
    lab_class_facts_free(&facts);
}

static void test_cuts(void **state) {
    (void)state;
    put("train.tsv", "a \xc3\xa9\tx\n\xff"
                     "a\ty\n");
    lab_task_options options =
        options_of(scratch_path("train.tsv"), scratch_path("train.tsv"), scratch_path("train.tsv"));
    LAB_LABELLED(&options)->tokens = LAB_TOKENS_CHARACTERS;
    lab_dataset set = drawn(&options, LAB_SET_TRAIN, 0);
    expect_sample(&set, 0, 4, (const int32_t[]){0, 2, 3, 4}, 0);
    expect_sample(&set, 1, 3, (const int32_t[]){0, 5, 2}, 1); /* what is no UTF-8 stands for itself */
    lab_dataset_destroy(&set);
    LAB_LABELLED(&options)->tokens = LAB_TOKENS_BYTES;
    set = drawn(&options, LAB_SET_DEV, 0);
    expect_sample(&set, 0, 5, (const int32_t[]){0, 2 + 'a', 2 + ' ', 2 + 0xc3, 2 + 0xa9}, 0);
    lab_dataset_destroy(&set);
}

/* Of a file that is sorted by its labels, a part has both; the whole stands as it is written. */
static void test_parts(void **state) {
    (void)state;
    enum { ROWS = 40, PART = 12 };
    char text[ROWS * 16] = "";
    for (int i = 0; i < ROWS; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "w%d\t%s\n", i, i < ROWS / 2 ? "yes" : "no");
    put("sorted.tsv", text);
    const lab_task_options options =
        options_of(scratch_path("sorted.tsv"), scratch_path("sorted.tsv"), scratch_path("sorted.tsv"));
    lab_dataset whole = drawn(&options, LAB_SET_TEST, 0), parts[3];
    assert_int_equal(whole.samples, ROWS);
    for (size_t i = 0; i < ROWS; i++)
        expect_sample(&whole, i, 2, (const int32_t[]){0, 2 + (int32_t)i}, i >= ROWS / 2);
    for (size_t i = 0; i < 3; i++) {
        const lab_draw wanted = {lab_task_find("classify"), &options, LAB_SET_TEST, PART, i == 2};
        assert_int_equal(lab_dataset_generate(&parts[i], &wanted, NULL), LOCUS_OK);
        assert_int_equal(parts[i].samples, PART);
        size_t later = 0;
        for (size_t s = 0; s < PART; s++) {
            later += parts[i].labels[s] == 1;
            assert_true(s == 0 || parts[i].input[2 * s + 1] > parts[i].input[2 * s - 1]); /* in their order, once */
        }
        assert_in_range(later, 1, PART - 1);
    }
    assert_memory_equal(parts[0].input, parts[1].input, 2 * PART * sizeof(int32_t));
    assert_memory_not_equal(parts[0].input, parts[2].input, 2 * PART * sizeof(int32_t)); /* another seed */
    for (size_t i = 0; i < 3; i++)
        lab_dataset_destroy(&parts[i]);
    lab_dataset_destroy(&whole);
}

static void test_mark(void **state) {
    (void)state;
    put("marked.tsv", "\xef\xbb\xbfgood\tyes\nbad\tno\n");
    put("plain.tsv", "good\tyes\nbad\tno\n");
    const lab_task_options options =
        options_of(scratch_path("marked.tsv"), scratch_path("plain.tsv"), scratch_path("plain.tsv"));
    lab_dataset marked = drawn(&options, LAB_SET_TRAIN, 0), plain = drawn(&options, LAB_SET_DEV, 0);
    expect_sample(&marked, 0, 2, (const int32_t[]){0, 2}, 0);
    expect_sample(&plain, 0, 2, (const int32_t[]){0, 2}, 0); /* the same word */
    lab_dataset_destroy(&marked);
    lab_dataset_destroy(&plain);
}

static void test_json(void **state) {
    (void)state;
    put("text.jsonl", "{\"input_text\": \"a b\", \"label\": \"x\"}\n{\"label\": 3, \"input_text\": \"b\"}\n");
    lab_task_options options =
        options_of(scratch_path("text.jsonl"), scratch_path("text.jsonl"), scratch_path("text.jsonl"));
    lab_dataset set = drawn(&options, LAB_SET_TEST, 0);
    expect_sample(&set, 0, 3, (const int32_t[]){0, 2, 3}, 0);
    expect_sample(&set, 1, 2, (const int32_t[]){0, 3}, 1);
    lab_dataset_destroy(&set);
    put("ids.jsonl", "{\"input\": [4, 0], \"label\": 7}\n{\"input\": [1], \"label\": 8}\n");
    options = options_of(scratch_path("ids.jsonl"), scratch_path("ids.jsonl"), scratch_path("ids.jsonl"));
    set = drawn(&options, LAB_SET_TRAIN, 0);
    expect_sample(&set, 0, 3, (const int32_t[]){0, 6, 2}, 0);
    lab_dataset_destroy(&set);
    lab_class_facts facts;
    assert_int_equal(lab_labelled_look(&options, 0, &facts, NULL), LOCUS_OK);
    assert_int_equal(facts.vocabulary, 7);
    lab_class_facts_free(&facts);
}

/* ---- sets ---- */

static void many(const char *name, size_t count) {
    char text[4096];
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "word%zu\t%s\n", i, i % 3 == 0 ? "third" : "other");
    put(name, text);
}

/* Each sample is in one set; the same seed parts alike, another one otherwise. */
static void test_split(void **state) {
    (void)state;
    many("many.tsv", 40);
    const lab_task_options options = options_of(scratch_path("many.tsv"), NULL, NULL);
    static const size_t sizes[] = {32, 4, 4};
    bool differs = false;
    for (int s = 0; s < 3; s++) {
        lab_dataset set = drawn(&options, (lab_set)s, 5), again = drawn(&options, (lab_set)s, 5);
        lab_dataset other = drawn(&options, (lab_set)s, 6);
        assert_int_equal(set.samples, sizes[s]);
        assert_memory_equal(set.labels, again.labels, sizes[s] * sizeof *set.labels);
        assert_memory_equal(set.input, again.input, set.input_offsets[sizes[s]] * sizeof *set.input);
        differs = differs || memcmp(set.labels, other.labels, sizes[s] * sizeof *set.labels) != 0;
        for (size_t i = 0; s > 0 && i < set.samples; i++)
            assert_int_equal(set.input[set.input_offsets[i] + 1], 1); /* its word is in no other sample */
        lab_dataset_destroy(&set);
        lab_dataset_destroy(&again);
        lab_dataset_destroy(&other);
    }
    assert_true(differs);
}

static void test_shared(void **state) {
    (void)state;
    put("train.tsv", "a\tx\nb\ty\nc\tx\n");
    put("dev.tsv", "b\ty\nd\tx\nb\tx\n");
    put("test.tsv", "e\ty\n");
    const lab_task_options options =
        options_of(scratch_path("train.tsv"), scratch_path("dev.tsv"), scratch_path("test.tsv"));
    lab_class_facts facts;
    assert_int_equal(lab_labelled_look(&options, 0, &facts, NULL), LOCUS_OK);
    assert_int_equal(facts.shared[LAB_SET_DEV], 2);
    assert_int_equal(facts.shared[LAB_SET_TEST], 0);
    lab_class_facts_free(&facts);
}

/* What is read by a vocabulary that was kept is what it would be beside the training set. */
static void test_kept(void **state) {
    (void)state;
    many("many.tsv", 30);
    put("new.tsv", "word3 word29 never\tthird\nword1\tother\n");
    const lab_task_options options = options_of(scratch_path("many.tsv"), NULL, scratch_path("new.tsv"));
    lab_task_options kept = options_of(NULL, NULL, scratch_path("new.tsv"));
    char folder[512];
    snprintf(folder, sizeof folder, "%s", scratch_path("."));
    kept.kept = folder;
    assert_int_equal(lab_labelled_keep(&options, 1, folder, NULL), LOCUS_OK);
    lab_dataset beside = drawn(&options, LAB_SET_TEST, 1), alone = drawn(&kept, LAB_SET_TEST, 1);
    assert_int_equal(alone.samples, 2);
    assert_memory_equal(beside.input, alone.input, alone.input_offsets[2] * sizeof *alone.input);
    assert_memory_equal(beside.labels, alone.labels, 2 * sizeof *alone.labels);
    lab_dataset_destroy(&beside);
    lab_dataset_destroy(&alone);
    lab_dataset none;
    locus_error error = {0};
    assert_int_equal(draw(&none, &kept, LAB_SET_TRAIN, 1, &error), LOCUS_ERROR_ARGUMENT); /* that set is not there */
    put("vocabulary.json", "{\"words\": [1]}");
    assert_int_equal(draw(&none, &kept, LAB_SET_TEST, 1, &error), LOCUS_ERROR_IO);
    assert_non_null(strstr(error.message, "is no vocabulary"));
}

static void expect_names(const lab_task_options *options, const int32_t *tokens, size_t count,
                         const char *const *names) {
    lab_token_name got[8];
    assert_true(count <= 8);
    assert_int_equal(lab_labelled_names(got, lab_task_find("classify"), options, tokens, count, NULL), LOCUS_OK);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(got[i].text, names[i]);
}

/* Tokens are called what stands in the file: words, what a byte prints as, ids. */
static void test_names(void **state) {
    (void)state;
    put("words.tsv", "good film\tyes\nabcdefghijklmnopqrstuvwxyz\tno\n");
    put("zero.jsonl", "{\"input\": [0, 0], \"label\": 7}\n{\"input\": [0], \"label\": 8}\n"); /* one id, 0 */
    char folder[512];
    snprintf(folder, sizeof folder, "%s", scratch_path("."));
    const lab_task_options words =
        options_of(scratch_path("words.tsv"), scratch_path("words.tsv"), scratch_path("words.tsv"));
    lab_task_options kept = {.kept = folder};
    assert_int_equal(lab_labelled_keep(&words, 1, folder, NULL), LOCUS_OK);
    expect_names(&kept, (const int32_t[]){0, 1, 2, 3, 4}, 5,
                 (const char *const[]){"start", "unknown", "good", "film", "abcdefghijklmnopqrstuvw"});
    lab_task_options bytes = words;
    LAB_LABELLED(&bytes)->tokens = LAB_LABELLED(&kept)->tokens = LAB_TOKENS_BYTES;
    assert_int_equal(lab_labelled_keep(&bytes, 1, folder, NULL), LOCUS_OK);
    expect_names(&kept, (const int32_t[]){2 + 'a', 2 + '~', 2 + ' ', 2 + '!', 2 + 0x7f, 2, 2 + 0xe9}, 7,
                 (const char *const[]){"a", "~", "x20", "!", "x7F", "x00", "xE9"});
    const lab_task_options ids =
        options_of(scratch_path("zero.jsonl"), scratch_path("zero.jsonl"), scratch_path("zero.jsonl"));
    LAB_LABELLED(&kept)->tokens = LAB_LABELLED(&ids)->tokens;
    assert_int_equal(lab_labelled_keep(&ids, 1, folder, NULL), LOCUS_OK);
    expect_names(&kept, (const int32_t[]){2, 0}, 2, (const char *const[]){"0", "start"});
}

static void expect_typed(const lab_task_options *kept, const char *text, const char *says, size_t count,
                         const int32_t *tokens) {
    lab_dataset set = {0};
    locus_error error = {0};
    const locus_status status = lab_labelled_sample(&set, lab_task_find("classify"), kept, text, &error);
    if (says != NULL) {
        assert_int_equal(status, LOCUS_ERROR_ARGUMENT);
        assert_string_equal(error.argument, "input");
        assert_string_equal(error.message, says);
    } else {
        if (status != LOCUS_OK)
            fail_msg("'%s': %s", text, error.message);
        assert_int_equal(set.samples, 1);
        expect_sample(&set, 0, count, tokens, 0);
    }
    lab_dataset_destroy(&set);
}

/* One sample, as it is typed: ids from 0 to the greatest that was trained with, or words. */
static void test_typed(void **state) {
    (void)state;
    char folder[512];
    snprintf(folder, sizeof folder, "%s", scratch_path("."));
    lab_task_options kept = {.kept = folder};
    put("ids.jsonl", "{\"input\": [4, 0], \"label\": 7}\n{\"input\": [1], \"label\": 8}\n");
    lab_task_options options =
        options_of(scratch_path("ids.jsonl"), scratch_path("ids.jsonl"), scratch_path("ids.jsonl"));
    assert_int_equal(lab_labelled_keep(&options, 1, folder, NULL), LOCUS_OK);
    LAB_LABELLED(&kept)->tokens = LAB_LABELLED(&options)->tokens;
    expect_typed(&kept, "0 4", NULL, 3, (const int32_t[]){0, 2, 6});
    expect_typed(&kept, " 3,0\t1 \n", NULL, 4, (const int32_t[]){0, 5, 2, 3});
    expect_typed(&kept, "1 5", "'5' is no id: give numbers from 0 to 4 between spaces", 0, NULL);
    expect_typed(&kept, "-1 0", "'-1 0' is no id: give numbers from 0 to 4 between spaces", 0, NULL);
    expect_typed(&kept, "0x", "'x' is no id: give numbers from 0 to 4 between spaces", 0, NULL);
    expect_typed(&kept, " ", "the text has no tokens", 0, NULL);
    put("words.tsv", "good film\tyes\nbad\tno\n");
    options = options_of(scratch_path("words.tsv"), scratch_path("words.tsv"), scratch_path("words.tsv"));
    assert_int_equal(lab_labelled_keep(&options, 1, folder, NULL), LOCUS_OK);
    expect_typed(&kept, "film new good", NULL, 4, (const int32_t[]){0, 3, 1, 2});
    expect_typed(&kept, "", "the text has no tokens", 0, NULL);
}

/* ---- what is wrong ---- */

static void test_lines(void **state) {
    (void)state;
    static const struct {
        const char *name, *text, *says;
    } bad[] = {
        {"bad.tsv", "a\tx\nb y\n", "line 2: there is no tab"},
        {"bad.tsv", "a\tx\n\nb\ty\tz\n", "line 3: there is more than one tab"},
        {"bad.tsv", "a\t\n", "line 1: behind its tab stands no label"},
        {"bad.tsv", "\n\n", "has no sample in it"},
        {"bad.tsv", "a\tx\nb\tx\n", "all training samples have one label"},
        {"bad.jsonl", "{\"input_text\": \"a\", \"label\": 1}\n{\"input_text\":\n", "line 2: this is no JSON object"},
        {"bad.jsonl", "{\"input_text\": \"a\", \"label\": 1} {\"input_text\": \"b\", \"label\": 2}\n",
         "line 1: something stands behind the JSON object"},
        {"bad.jsonl", "{\"input_text\": \"a\\\\u0000\\u0000b\", \"label\": 1}\n", "line 1: there is a zero byte"},
        {"bad.jsonl", "{\"input_text\": \"a\"}\n", "line 1: \"label\" is missing"},
        {"bad.jsonl", "{\"input_text\": \"a\", \"label\": 1.5}\n", "line 1: \"label\" is missing"},
        {"bad.jsonl", "{\"label\": 1}\n", "line 1: it needs \"input_text\""},
        {"bad.jsonl", "{\"input\": [], \"label\": 1}\n", "line 1: it needs \"input_text\""},
        {"bad.jsonl", "{\"input\": [-1], \"label\": 1}\n", "line 1: \"input\" needs whole numbers"},
        {"bad.jsonl", "{\"input\": [2], \"label\": 1}\n{\"input_text\": \"a\", \"label\": 2}\n",
         "line 2: texts and ids don't go together"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        lab_dataset set;
        locus_error error = {0};
        put(bad[i].name, bad[i].text);
        const lab_task_options options =
            options_of(scratch_path(bad[i].name), scratch_path(bad[i].name), scratch_path(bad[i].name));
        assert_int_equal(draw(&set, &options, LAB_SET_TRAIN, 0, &error), LOCUS_ERROR_IO);
        if (strstr(error.message, bad[i].says) == NULL)
            fail_msg("'%s' does not say '%s'", error.message, bad[i].says);
    }
}

/* What a kept vocabulary does not know: texts or ids, whichever it was not made of, an id, a label. */
static void test_strangers(void **state) {
    static const char *const trained[] = {
        "{\"input\": [1], \"label\": 1}\n{\"input\": [2], \"label\": 2}\n",
        "{\"input_text\": \"a\", \"label\": 1}\n{\"input_text\": \"b\", \"label\": 2}\n"};
    static const struct {
        size_t trained;
        const char *line, *says;
    } cases[] = {
        {0, "{\"input_text\": \"a\", \"label\": 1}", "the training set has ids, not texts"},
        {1, "{\"input\": [1], \"label\": 1}", "the training set has texts, not ids"},
        {0, "{\"input\": [3], \"label\": 1}", "id 3 is beyond the vocabulary: the training set has ids 0 to 2"},
        {1, "{\"input_text\": \"c\", \"label\": 3}", "no training sample has the label '3'"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char folder[128], line[256];
        put("trained.jsonl", trained[cases[i].trained]);
        put("new.jsonl", cases[i].line);
        snprintf(folder, sizeof folder, "%s", scratch_path("."));
        const lab_task_options options =
            options_of(scratch_path("trained.jsonl"), scratch_path("trained.jsonl"), scratch_path("trained.jsonl"));
        assert_int_equal(lab_labelled_keep(&options, 1, folder, NULL), LOCUS_OK);
        lab_task_options kept = options_of(NULL, NULL, scratch_path("new.jsonl"));
        kept.kept = folder;
        lab_dataset set;
        locus_error error = {0};
        assert_int_equal(draw(&set, &kept, LAB_SET_TEST, 0, &error), LOCUS_ERROR_IO);
        snprintf(line, sizeof line, "'%s', line 1: %s", scratch_path("new.jsonl"), cases[i].says);
        assert_string_equal(error.message, line);
    }
}

/* Labels of 200 bytes and ids of 2^24 may be, one more may not; numbers are labels as long as they are whole. */
static void test_edges(void **state) {
    (void)state;
    char label[202], line[512];
    memset(label, 'l', 201);
    label[201] = '\0';
    for (size_t more = 0; more < 2; more++) {
        static const char *const names[] = {"edge.tsv", "edge.jsonl"};
        const int length = 200 + (int)more;
        for (size_t i = 0; i < 2; i++) {
            lab_dataset set;
            locus_error error = {0};
            snprintf(line, sizeof line,
                     i == 0 ? "a\t%.*s\nb\ty\n"
                            : "{\"input_text\": \"a\", \"label\": \"%.*s\"}\n{\"input_text\": \"b\", \"label\": 1}\n",
                     length, label);
            put(names[i], line);
            const char *path = scratch_path(names[i]);
            const lab_task_options options = options_of(path, path, path);
            const locus_status status = draw(&set, &options, LAB_SET_TRAIN, 0, &error);
            assert_int_equal(status, more == 0 ? LOCUS_OK : LOCUS_ERROR_IO);
            snprintf(line, sizeof line, "'%s', line 1: %s", path,
                     i == 0 ? "behind its tab stands no label of 1 to 200 bytes"
                            : "\"label\" is missing: a text of 1 to 200 bytes, or a whole number");
            assert_string_equal(error.message, more == 0 ? "" : line);
            if (status == LOCUS_OK)
                lab_dataset_destroy(&set);
        }
    }
    static const struct {
        const char *id, *label;
        bool good;
    } cases[] = {{"16777216", "-7", true},
                 {"16777217", "1", false},
                 {"0", "999999999999999", true},
                 {"0", "1000000000000000", false},
                 {"0", "-1000000000000000", false},
                 {"0.5", "1", false},
                 {"0", "\"\"", false},
                 {"\"0\"", "1", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lab_dataset set;
        locus_error error = {0};
        snprintf(line, sizeof line, "{\"input\": [%s], \"label\": %s}\n{\"input\": [0], \"label\": 2}\n", cases[i].id,
                 cases[i].label);
        put("edge.jsonl", line);
        const char *path = scratch_path("edge.jsonl");
        const lab_task_options options = options_of(path, path, path);
        assert_int_equal(draw(&set, &options, LAB_SET_TRAIN, 0, &error), cases[i].good ? LOCUS_OK : LOCUS_ERROR_IO);
        if (cases[i].good)
            lab_dataset_destroy(&set);
    }
}

/* The training set may have as many labels as there may be classes. */
static void test_most_labels(void **state) {
    (void)state;
    enum { MOST = LAB_OWN_MOST_CLASSES };
    char *text = calloc(MOST + 2, 32);
    size_t used = 0;
    assert_non_null(text);
    for (size_t more = 0; more < 2; more++) {
        lab_dataset set;
        locus_error error = {0};
        char says[1200];
        for (size_t i = more == 0 ? 0 : MOST; i < MOST + more; i++)
            used += (size_t)snprintf(text + used, 32, "a\tlabel-%zu\n", i);
        put("many.tsv", text);
        const char *path = scratch_path("many.tsv");
        const lab_task_options options = options_of(path, path, path);
        const locus_status status = draw(&set, &options, LAB_SET_TRAIN, 0, &error);
        snprintf(says, sizeof says, "'%s', line %d: the training set has more than %d labels", path, MOST + 1, MOST);
        assert_string_equal(error.message, more == 0 ? "" : says);
        assert_int_equal(status, more == 0 ? LOCUS_OK : LOCUS_ERROR_IO);
        if (status == LOCUS_OK) {
            assert_int_equal(set.labels[MOST - 1], MOST - 1);
            lab_dataset_destroy(&set);
        }
    }
    free(text);
}

/* How many samples there must be, and how many a set without a file gets: a tenth, or one. */
static void test_shares(void **state) {
    (void)state;
    many("two.tsv", 2);
    static const struct {
        size_t count, dev, test;
    } cases[] = {{4, 1, 1}, {19, 1, 1}, {20, 2, 2}, {29, 2, 2}, {39, 3, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lab_class_facts facts;
        many("many.tsv", cases[i].count);
        const lab_task_options options = options_of(scratch_path("many.tsv"), NULL, NULL);
        if (lab_labelled_look(&options, 2, &facts, NULL) != LOCUS_OK)
            continue; /* a label may be in no training sample */
        assert_int_equal(facts.samples[LAB_SET_DEV], cases[i].dev);
        assert_int_equal(facts.samples[LAB_SET_TEST], cases[i].test);
        assert_int_equal(facts.samples[LAB_SET_TRAIN], cases[i].count - cases[i].dev - cases[i].test);
        lab_class_facts_free(&facts);
    }
    lab_dataset set;
    locus_error error = {0};
    char says[1200];
    const lab_task_options one = options_of(scratch_path("two.tsv"), scratch_path("two.tsv"), NULL);
    assert_int_equal(draw(&set, &one, LAB_SET_TEST, 0, &error), LOCUS_ERROR_IO); /* which leaves one label */
    assert_non_null(strstr(error.message, "all training samples have one label"));
    const lab_task_options none = options_of(scratch_path("two.tsv"), NULL, NULL);
    assert_int_equal(draw(&set, &none, LAB_SET_TEST, 0, &error), LOCUS_ERROR_ARGUMENT);
    snprintf(says, sizeof says,
             "'%s' has 2 samples: too few for a training, a development and a test set: give --dev and --test",
             none.path);
    assert_string_equal(error.message, says);
    /* Sets have the first samples that are asked for, up to all. */
    many("many.tsv", 9);
    const lab_task_options all =
        options_of(scratch_path("many.tsv"), scratch_path("many.tsv"), scratch_path("many.tsv"));
    for (size_t asked = 8; asked <= 10; asked++) {
        const lab_draw wanted = {lab_task_find("classify"), &all, LAB_SET_DEV, asked, 0};
        error = (locus_error){0};
        const locus_status status = lab_dataset_generate(&set, &wanted, &error);
        assert_int_equal(status, asked <= 9 ? LOCUS_OK : LOCUS_ERROR_ARGUMENT);
        if (status == LOCUS_OK)
            assert_int_equal(set.samples, asked);
        assert_string_equal(error.message, asked <= 9 ? "" : "10 samples are asked for, the set has 9");
        lab_dataset_destroy(&set);
    }
}

/* A plain shuffle (Fisher and Yates): its first tenth is the test set, if there is none, the next the development
 * set. */
static const char *split_of(uint64_t seed, size_t count, bool both) {
    static char sets[64];
    size_t order[64], share = count / 10 > 0 ? count / 10 : 1;
    const locus_random random = {seed, LAB_PURPOSE_DATA + 0x100, 0};
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t left = count; left >= 2; left--) {
        const size_t j = (size_t)locus_random_below(&random, left, left), last = order[left - 1];
        order[left - 1] = order[j];
        order[j] = last;
    }
    memset(sets, '-', count);
    sets[count] = '\0';
    for (size_t i = 0; i < share * (both ? 2 : 1); i++)
        sets[order[i]] = both && i < share ? 't' : 'd';
    return sets;
}

/* Runs are gone on with whose samples fell to these sets: the numbers stay what they are. */
static void test_split_stays(void **state) {
    (void)state;
    lab_set sets[12];
    const lab_task_options options = options_of("all", NULL, NULL), tested = options_of("all", NULL, "test");
    char found[13] = "";
    assert_int_equal(lab_own_split(&options, 5, 12, sets, NULL), LOCUS_OK);
    for (size_t i = 0; i < 12; i++)
        found[i] = "-dt"[sets[i]];
    assert_string_equal(found, split_of(5, 12, true));
    assert_int_equal(lab_own_split(&tested, 5, 12, sets, NULL), LOCUS_OK);
    for (size_t i = 0; i < 12; i++)
        found[i] = "-dt"[sets[i]];
    assert_string_equal(found, split_of(5, 12, false));
}

/* The files, one after the other, and which of the three they are: SHA-256's first eight bytes. */
static void test_digest(void **state) {
    (void)state;
    put("a", "abc");
    put("b", "d");
    static const struct {
        const char *dev, *test;
        uint64_t digest;
    } cases[] = {{NULL, NULL, 0xd0fad36fd2ee0e68}, {"b", NULL, 0x2c784284acc1802e}, {NULL, "b", 0xaee97531dcdf20b1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const lab_task_options options = options_of(scratch_path("a"), cases[i].dev ? scratch_path("b") : NULL,
                                                    cases[i].test ? scratch_path("b") : NULL);
        uint64_t digest = 0;
        assert_int_equal(lab_own_digest(&options, &digest, NULL), LOCUS_OK);
        assert_true(digest == cases[i].digest);
    }
}

static void test_other_sets(void **state) {
    (void)state;
    lab_dataset set;
    locus_error error = {0};
    put("train.tsv", "a\tx\nb\ty\n");
    put("label.tsv", "a\tx\na\tz\n");
    lab_task_options options =
        options_of(scratch_path("train.tsv"), scratch_path("label.tsv"), scratch_path("train.tsv"));
    assert_int_equal(draw(&set, &options, LAB_SET_TRAIN, 0, &error), LOCUS_ERROR_IO);
    assert_non_null(strstr(error.message, "line 2: no training sample has the label 'z'"));
    put("ids.jsonl", "{\"input\": [2], \"label\": 1}\n{\"input\": [0], \"label\": 2}\n");
    put("beyond.jsonl", "{\"input\": [0, 3], \"label\": 2}\n");
    options = options_of(scratch_path("ids.jsonl"), scratch_path("beyond.jsonl"), scratch_path("ids.jsonl"));
    assert_int_equal(draw(&set, &options, LAB_SET_TRAIN, 0, &error), LOCUS_ERROR_IO);
    assert_non_null(strstr(error.message, "line 1: id 3 is beyond the vocabulary: the training set has ids 0 to 2"));
    options = options_of(scratch_path("train.tsv"), NULL, NULL);
    assert_int_equal(draw(&set, &options, LAB_SET_TRAIN, 0, &error), LOCUS_ERROR_ARGUMENT);
    assert_non_null(strstr(error.message, "has 2 samples: too few"));
    options = options_of(NULL, NULL, NULL);
    assert_int_equal(draw(&set, &options, LAB_SET_TRAIN, 0, &error), LOCUS_ERROR_ARGUMENT);
    options = options_of(scratch_path("train.tsv"), scratch_path("train.tsv"), scratch_path("train.tsv"));
    options.digest = 7;
    assert_int_equal(draw(&set, &options, LAB_SET_TRAIN, 0, &error), LOCUS_ERROR_IO);
    assert_non_null(strstr(error.message, "holds other samples than the run was made for"));
}

/* Nothing is told of data that are not there. */
static void test_untold(void **state) {
    (void)state;
    static const char *const kinds[] = {"classify", "pairs", "images"};
    static const char *const paths[] = {NULL, "nowhere"};
    for (size_t i = 0; i < 6; i++) {
        char text[300] = "as it was";
        lab_train_config config;
        assert_int_equal(lab_train_config_budget(&config, lab_task_find(kinds[i / 2]), "smoke", LAB_SETUP_PAPER, NULL),
                         LOCUS_OK);
        config.data.path = paths[i % 2];
        assert_false(config.task->class->tell(&config, text, sizeof text));
        assert_string_equal(text, "as it was");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_untold),      cmocka_unit_test(test_words),     cmocka_unit_test(test_cuts),
        cmocka_unit_test(test_parts),       cmocka_unit_test(test_mark),      cmocka_unit_test(test_json),
        cmocka_unit_test(test_split),       cmocka_unit_test(test_shared),    cmocka_unit_test(test_kept),
        cmocka_unit_test(test_names),       cmocka_unit_test(test_typed),     cmocka_unit_test(test_lines),
        cmocka_unit_test(test_other_sets),  cmocka_unit_test(test_strangers), cmocka_unit_test(test_edges),
        cmocka_unit_test(test_most_labels), cmocka_unit_test(test_shares),    cmocka_unit_test(test_split_stays),
        cmocka_unit_test(test_digest),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
