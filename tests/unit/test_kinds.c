/* SPDX-License-Identifier: MIT */
/* What kinds of tasks say and do themselves: the data of a configuration in words, tokens' names, sizes of further
 * sets, presets, sets as large as their files, words as one types them. */
#include "kinds/class_parts.h"
#include "task/images/picture_options.h"
#include "task/listops/listops.h"
#include "task/problem.h"
#include "task/task_class.h"
#include "task/text_task.h"
#include "task/tree_task.h"
#include "task/word_task.h"

#include <cjson/cJSON.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* ---- data in words ---- */

typedef struct said {
    const char *task, *config, *title, *data, *note, *variant;
    double mean;
    bool unpublished;
    uint64_t epoch_steps;
    double epochs;
} said;

static const said saids[] = {
    {"copy", "{\"length_mean\":0.5,\"symbols\":1,\"length_deviation\":2.5}", "",
     "words of length N(0.5, 2.5) over 1 symbols", "", NULL, .mean = 0.5},
    {"copy", "{\"length_mean\":0,\"symbols\":20}", "", "", "", NULL, .mean = 0},
    {"copy", "{\"length_mean\":9}", "", "", "", NULL, .mean = 0},
    {"tree-copy", "{\"depth_mean\":1,\"depth_deviation\":0,\"symbols\":20,\"arity\":2}", "tree-copy, breadth first",
     "binary trees of depth N(1, 0), 20 symbols", "read and written level by level", "breadth", .mean = 1},
    {"tree-copy", "{\"depth_mean\":0.5,\"symbols\":4,\"arity\":1,\"order\":\"depth\",\"tree_paths\":\"next\"}",
     "tree-copy, depth first",
     "trees with 1 children to a node, of depth N(0.5, 0), 4 symbols, paths of the next nodes",
     "read level by level, written depth first", "depth", .mean = 0.5, .unpublished = true},
    {"tree-ops", "{\"depth_mean\":2,\"symbols\":4,\"arity\":3,\"order\":\"breadth\",\"tree_paths\":\"code\"}",
     "tree-ops, breadth first",
     "trees with 3 children to a node, of depth N(2, 0), 4 symbols, paths as in the authors' code",
     "read and written level by level", "breadth", .mean = 2, .unpublished = true},
    {"tree-c3", "{}", "tree-c3, breadth first", "", "read and written level by level", "breadth", .mean = 0},
    {"substring-index", "{\"length_mean\":1,\"length_deviation\":0,\"symbols\":26,\"sequence\":9}", "",
     "strings of length N(1, 0) over 26 letters, sequences of 9 characters", "", NULL, .mean = 1},
    {"listops", "{\"longest\":1,\"shortest\":0,\"expression_depth\":1,\"arity\":2}", "listops, digit",
     "expressions of 1 to 0 tokens, at most 1 deep, with up to 2 arguments", "", NULL, .mean = 0},
    {"listops",
     "{\"longest\":41,\"shortest\":9,\"expression_depth\":4,\"arity\":4,\"asked\":\"parity\",\"sequence\":1}",
     "listops, parity, pretrained",
     "expressions of 10 to 40 tokens, at most 4 deep, with up to 4 arguments; read as word pieces by a pretrained "
     "encoder",
     "", NULL, .mean = 40},
    {"listops", "{\"longest\":0,\"sequence\":0}", "listops, digit", "", "", NULL, .mean = 0},
    {"text", "{\"symbols\":1,\"sequence\":2}", "", "a vocabulary of 1 tokens, windows of 2", "", NULL, .mean = 1},
    {"text", "{\"symbols\":0,\"sequence\":2}", "", "", "", NULL, .mean = 0},
    {"cifar10", "{\"train_samples\":1,\"batch\":1,\"epochs\":2}", "", "CIFAR-10, 1 training images", "", NULL,
     .mean = 32, .epoch_steps = 1, .epochs = 2},
    {"cifar10", "{\"train_samples\":50000,\"batch\":128,\"epochs\":2,\"steps\":782}", "",
     "CIFAR-10, 50,000 training images", "", NULL, .mean = 32, .epoch_steps = 391, .epochs = 2},
    {"cifar10", "{\"train_samples\":128,\"batch\":64,\"epochs\":7,\"steps\":1}", "", "CIFAR-10, 128 training images",
     "", NULL, .mean = 32, .epoch_steps = 2, .epochs = 0.5},
    {"cifar10", "{\"train_samples\":0,\"batch\":64,\"epochs\":7}", "", "", "", NULL, .mean = 32},
    {"cifar10", "{\"train_samples\":5,\"batch\":0,\"epochs\":7}", "", "CIFAR-10, 5 training images", "", NULL,
     .mean = 32},
    {"images", "{\"train_samples\":1,\"batch\":2,\"labels\":3,\"side\":16,\"steps\":4}", "",
     "1 training pictures of own data in 3 classes, side 16", "", NULL, .mean = 16, .unpublished = true,
     .epoch_steps = 1, .epochs = 4},
    {"images", "{\"train_samples\":0}", "", "", "", NULL, .unpublished = true},
    {"classify", "{\"train_samples\":5,\"labels\":1,\"symbols\":7}", "",
     "5 training samples of own data, 1 labels, a vocabulary of 7 (words)", "", NULL, .mean = 0},
    {"classify", "{\"train_samples\":5,\"labels\":2,\"symbols\":7,\"longest_input\":12,\"tokens\":\"bytes\"}", "",
     "5 training samples of own data, 2 labels, a vocabulary of 7 (bytes)", "", NULL, .mean = 12},
    {"classify", "{\"train_samples\":5,\"labels\":0,\"symbols\":7}", "", "", "", NULL, .mean = 0},
    {"pairs", "{\"train_samples\":5,\"symbols\":1}", "", "5 training pairs of own data, a vocabulary of 1 (words)", "",
     NULL, .unpublished = true},
    {"pairs", "{\"train_samples\":5,\"symbols\":0}", "", "", "", NULL, .unpublished = true},
    {"pairs", "{\"train_samples\":5,\"symbols\":9,\"arity\":1,\"tokens\":\"characters\"}", "pairs, breadth first",
     "5 training pairs of own trees, a vocabulary of 9 (characters)", "", "breadth", .unpublished = true},
    {"pairs", "{\"train_samples\":5,\"symbols\":9,\"arity\":2,\"longest_input\":9,\"order\":\"depth\"}",
     "pairs, depth first", "5 training pairs of own trees, a vocabulary of 9 (words)", "", "depth", .mean = 9,
     .unpublished = true},
};

static void data_are_described(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT(saids); i++) {
        const said *one = &saids[i];
        lab_data_facts facts = {0};
        cJSON *config = cJSON_Parse(one->config);
        assert_non_null(config);
        lab_task_find(one->task)->class->describe(config, one->task, &facts);
        cJSON_Delete(config);
        assert_string_equal(facts.title, one->title);
        assert_string_equal(facts.data, one->data);
        assert_string_equal(facts.note, one->note);
        assert_string_equal(facts.variant != NULL ? facts.variant : "-", one->variant != NULL ? one->variant : "-");
        assert_int_equal(facts.order == LAB_ORDER_DEPTH, one->variant != NULL && strcmp(one->variant, "depth") == 0);
        assert_true(facts.mean_size == one->mean);
        assert_int_equal(facts.unpublished, one->unpublished);
        assert_int_equal(facts.epoch_steps, one->epoch_steps);
        assert_true(facts.epochs == one->epochs);
    }
}

static void numbers_are_grouped(void **state) {
    (void)state;
    static const struct {
        double value;
        size_t room;
        const char *text;
    } cases[] = {
        {0, 48, "0"},          {999, 48, "999"},        {1000, 48, "1,000"},
        {12345, 48, "12,345"}, {999999, 48, "999,999"}, {1000000, 48, "1,000,000"},
        {1234567, 6, "1,23"},  {1234567, 7, "1,234"},   {12, 2, ""},
        {12, 3, "1"},          {12, 4, "12"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[49];
        memset(text, 'x', sizeof text);
        assert_ptr_equal(lab_grouped(cases[i].value, text, cases[i].room), text);
        assert_string_equal(text, cases[i].text);
        assert_int_equal(text[cases[i].room], 'x');
    }
}

/* ---- tokens ---- */

static void pieces_name_their_tokens(void **state) {
    (void)state;
    static const struct {
        const char *piece, *name;
    } cases[] = {
        {"", "·"},
        {" a b", "␣a␣b"},
        {"\n\t ", "↵⇥␣"},
        {"abcdefghijklmnop", "abcdefghijklmnop"},
        {"abcdefghijklmnopq", "abcdefghijklmnop…"},
        {"€€€€€€", "€€€€€€"},
        {"€€€€€€€", "€€€€€€…"},
        {"éééééééé", "éééééééé"},
        {"ééééééééé", "éééééééé…"},
        {"a😀😀😀😀", "a😀😀😀😀"},
        {"abc😀😀😀😀", "abc😀😀😀😀"},
        {"abcd😀😀😀😀", "abcd😀😀😀…"},
        {"      ", "␣␣␣␣␣␣"},
        {"       ", "␣␣␣␣␣␣…"},
        {"abcdefghijklmno😀", "abcdefghijklmno😀"},
        {"a\x80\x80\x80", "a\x80\x80\x80"},
        {"a\x80\x80\x80\x80z", "a\x80\x80\x80z"},
        {"a\xBF\xC0\xBF", "a\xBF\xC0\xBF"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        lab_token_name name;
        memset(&name, 'x', sizeof name);
        lab_token_name_put(&name, cases[i].piece, strlen(cases[i].piece));
        assert_string_equal(name.text, cases[i].name);
    }
    lab_token_name name;
    lab_token_name_put(&name, "é", 1); /* what follows isn't read */
    assert_string_equal(name.text, "\xC3");
}

static void kinds_name_their_tokens(void **state) {
    (void)state;
    lab_token_name names[4];
    const lab_task_options options = {0};
    const int32_t characters[] = {0, 1, 3, 12}, expression[] = {LAB_LISTOPS_START, LAB_LISTOPS_START + 1};
    const lab_task *addition = lab_task_find("addition"), *listops = lab_task_find("listops");
    assert_int_equal(addition->class->name_tokens(names, addition, &options, characters, 4, NULL), LOCUS_OK);
    assert_string_equal(names[0].text, "␣");
    assert_string_equal(names[1].text, "#");
    assert_string_equal(names[2].text, "0");
    assert_string_equal(names[3].text, "9");
    assert_int_equal(listops->class->name_tokens(names, listops, &options, expression, 2, NULL), LOCUS_OK);
    assert_string_equal(names[0].text, "start");
    assert_string_equal(names[1].text, lab_listops_texts[LAB_LISTOPS_START + 1]);
    /* As many as are asked for. */
    for (size_t count = 0; count < 4; count++) {
        memset(names, 'x', sizeof names);
        assert_int_equal(addition->class->name_tokens(names, addition, &options, characters, count, NULL), LOCUS_OK);
        assert_int_equal(names[count].text[0], 'x');
        assert_true(count == 0 || names[count - 1].text[0] != 'x');
    }
    for (size_t count = 0; count < 2; count++) {
        memset(names, 'x', sizeof names);
        assert_int_equal(listops->class->name_tokens(names, listops, &options, expression, count, NULL), LOCUS_OK);
        assert_int_equal(names[count].text[0], 'x');
        assert_true(count == 0 || names[count - 1].text[0] != 'x');
    }
}

/* ---- problems ---- */

static void problems_are_described(void **state) {
    (void)state;
    static const struct {
        const char *task, *config, *data;
        double size;
    } cases[] = {
        {"addition", "{}", "", 0},
        {"addition", "{\"sequence\":40}", "", 0},
        {"addition", "{\"digits\":1,\"sequence\":40}", "numbers of up to 1 digits, sequences of 40 characters", 1},
        {"substring-index", "{\"length_mean\":0.5,\"length_deviation\":2,\"symbols\":3,\"sequence\":9}",
         "strings of length N(0.5, 2) over 3 letters, sequences of 9 characters", 0.5},
        {"substring-search", "{\"length_mean\":7,\"length_deviation\":0,\"symbols\":4,\"sequence\":9}",
         "pieces of length N(7, 0) over 4 letters, sequences of 9 characters", 7},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        lab_data_facts facts = {.mean_size = -1};
        cJSON *config = cJSON_Parse(cases[i].config);
        lab_task_find(cases[i].task)->class->describe(config, cases[i].task, &facts);
        assert_string_equal(facts.data, cases[i].data);
        assert_true(facts.mean_size == cases[i].size);
        cJSON_Delete(config);
    }
}

static void problems_are_read(void **state) {
    (void)state;
    const lab_task *addition = lab_task_find("addition");
    const lab_task_options options = lab_task_with(addition, addition->published);
    for (size_t length = 1; length <= 4; length++) {
        char text[5] = "1+2=";
        lab_dataset set = {0};
        locus_error error = {0};
        text[length] = '\0';
        if (addition->class->read_input(&set, addition, &options, text, &error) != LOCUS_OK)
            fail_msg("%s", error.message);
        assert_true(set.samples == 1 && set.input_offsets[0] == 0 && set.input_offsets[1] == length);
        for (size_t i = 0; i < length; i++)
            assert_int_equal(addition->characters[set.input[i]], text[i]);
        lab_dataset_destroy(&set);
    }
}

/* ---- words as one types them ---- */

static void typed(const char *task, const char *text, size_t count, const int32_t *input, size_t targets,
                  const int32_t *target) {
    const lab_task *of = lab_task_find(task);
    const lab_task_options options = lab_task_with(lab_task_find("copy"), &(lab_word_options){.symbols = 12});
    lab_dataset set = {0};
    locus_error error = {0};
    assert_int_equal(of->class->read_input(&set, of, &options, text, &error), LOCUS_OK);
    assert_int_equal(set.samples, 1);
    assert_int_equal(set.input_offsets[1], count);
    assert_memory_equal(set.input, input, count * sizeof *input);
    assert_int_equal(set.target_offsets[1], targets);
    assert_memory_equal(set.target, target, targets * sizeof *target);
    lab_dataset_destroy(&set);
}

static void refused(const char *text, const char *says) {
    const lab_task *of = lab_task_find("copy");
    const lab_task_options options = lab_task_with(lab_task_find("copy"), &(lab_word_options){.symbols = 12});
    lab_dataset set = {0};
    locus_error error = {0};
    assert_int_equal(of->class->read_input(&set, of, &options, text, &error), LOCUS_ERROR_ARGUMENT);
    assert_string_equal(error.argument, "input");
    assert_string_equal(error.message, says);
    lab_dataset_destroy(&set);
}

static void words_are_typed(void **state) {
    (void)state;
    static const int32_t word[] = {1, 12, 3}, back[] = {3, 12, 1}, twice[] = {1, 12, 3, 1, 12, 3}, one[] = {7};
    typed("copy", "1 12 3", 3, word, 3, word);
    typed("reverse", " ,\t1,12\t 3 , ", 3, word, 3, back);
    typed("repeat", "1,12,3", 3, word, 6, twice);
    typed("copy", "7", 1, one, 1, one);
#define GIVE "give numbers from 1 to 12 between spaces"
    refused("", "the word is empty; " GIVE);
    refused(" , ", "the word is empty; " GIVE);
    refused("0", "'0' is no symbol: " GIVE);
    refused("1 13 2", "'13 2' is no symbol: " GIVE);
    refused("1 -1", "'-1' is no symbol: " GIVE);
    refused("2x", "'x' is no symbol: " GIVE);
    refused("1 99999999999999999999999", "'99999999999999999999' is no symbol: " GIVE);
    refused("-99999999999999999999999", "'-9999999999999999999' is no symbol: " GIVE);
}

/* ---- sets of other sizes ---- */

static void other_sizes(void **state) {
    (void)state;
    lab_task_options words = lab_task_with(lab_task_find("copy"),
                                           &(lab_word_options){.length_mean = 20, .length_deviation = 2, .symbols = 9});
    lab_task_find("copy")->class->lengths->set(&words, 50);
    assert_true(LAB_WORDS(&words)->length_mean == 50 && LAB_WORDS(&words)->length_deviation == 5 &&
                LAB_WORDS(&words)->symbols == 9);

    lab_task_options trees =
        lab_task_with(lab_task_find("tree-copy"),
                      &(lab_tree_options){.depth_mean = 7, .depth_deviation = 1, .symbols = 9, .arity = 2});
    lab_task_find("tree-copy")->class->lengths->set(&trees, 9);
    assert_true(LAB_TREES(&trees)->depth_mean == 9 && LAB_TREES(&trees)->depth_deviation == 1);

    const lab_length_axis *sums = lab_task_find("addition")->class->lengths;
    lab_task_options digits =
        lab_task_with(lab_task_find("addition"), &(lab_problem_options){.digits = 1, .sequence = 65});
    sums->set(&digits, 5);
    assert_true(LAB_PROBLEMS(&digits)->digits == 5 && LAB_PROBLEMS(&digits)->same_digits &&
                LAB_PROBLEMS(&digits)->length_mean == 0);
    lab_task_options strings =
        lab_task_with(lab_task_find("addition"),
                      &(lab_problem_options){.length_mean = 0.5, .length_deviation = 3, .symbols = 4, .sequence = 65});
    sums->set(&strings, 5);
    assert_true(LAB_PROBLEMS(&strings)->digits == 0 && !LAB_PROBLEMS(&strings)->same_digits &&
                LAB_PROBLEMS(&strings)->length_mean == 5);
    assert_true(LAB_PROBLEMS(&strings)->length_deviation == 0 && LAB_PROBLEMS(&strings)->symbols == 4);

    lab_task_options expressions = lab_task_with(
        lab_task_find("listops"), &(lab_expression_options){.depth = 4, .arguments = 4, .shortest = 9, .longest = 41});
    lab_task_find("listops")->class->lengths->set(&expressions, 61);
    assert_int_equal(LAB_EXPRESSIONS(&expressions)->shortest, 30);
    assert_int_equal(LAB_EXPRESSIONS(&expressions)->longest, 62);
    assert_int_equal(LAB_EXPRESSIONS(&expressions)->depth, 4);

    lab_task_options own = {.trained = 7}, pictures = lab_task_with(lab_task_find("images"),
                                                                    &(lab_picture_options){.side = 32, .classes = 3});
    lab_task_find("pairs")->class->lengths->set(&own, 12);
    assert_true(own.within == 12 && own.trained == 7);
    lab_task_find("images")->class->lengths->set(&pictures, 48);
    assert_true(LAB_PICTURES(&pictures)->side == 48 && LAB_PICTURES(&pictures)->classes == 3);
    for (size_t c = 0; c < lab_class_count(); c++) /* every kind has sizes */
        assert_non_null(lab_class_at(c)->lengths);
}

/* Windows of another length have as much of the text; the last one may be shorter. */
static void windows_of_as_much_text(void **state) {
    (void)state;
    const lab_length_axis *contexts = lab_task_find("text")->class->lengths;
    const lab_task_options trained = lab_task_with(lab_task_find("text"), &(lab_text_options){.sequence = 129});
    static const size_t cases[][3] = {{128, 10, 10}, {64, 10, 20}, {256, 10, 5}, {256, 9, 5}, {255, 2, 2},
                                      {1, 1, 128},   {127, 1, 2},  {129, 1, 1},  {128, 0, 0}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        lab_task_options other = trained;
        contexts->set(&other, cases[i][0]);
        assert_int_equal(LAB_TEXT(&other)->sequence, cases[i][0] + 1);
        assert_int_equal(contexts->samples(&trained, &other, cases[i][1]), cases[i][2]);
    }
}

/* ---- options and what follows from them ---- */

/* What a kind's rows name lies in its own struct, and what it publishes is that struct. */
static void own_options_have_room(void **state) {
    (void)state;
    const size_t first = offsetof(lab_train_config, data.of_kind);
    for (size_t c = 0; c < lab_class_count(); c++) {
        const lab_task_class *class = lab_class_at(c);
        assert_in_range(class->own_size, 1, LAB_KIND_ROOM);
        for (size_t i = 0; i < class->option_count; i++) {
            const lab_option *option = &class->options[i];
            const size_t size = option->type == LAB_OPTION_NAMED ? sizeof(unsigned) : sizeof(uint64_t);
            if (option->offset >= first && option->offset < first + LAB_KIND_ROOM)
                assert_true(option->offset + size <= first + class->own_size);
        }
        for (size_t i = 0; i < class->task_count; i++) {
            const lab_task *task = &class->tasks[i];
            const lab_task_options options = lab_task_default(task), none = {0};
            const void *expected = task->published != NULL ? task->published : none.of_kind;
            assert_memory_equal(options.of_kind, expected, class->own_size);
            assert_memory_equal(options.of_kind + class->own_size, none.of_kind, LAB_KIND_ROOM - class->own_size);
        }
    }
}

static void another_mean_keeps_the_share(void **state) {
    (void)state;
    lab_train_config config = {
        .data = lab_task_with(lab_task_find("copy"),
                              &(lab_word_options){.length_mean = 50, .length_deviation = 2, .symbols = 9})};
    const lab_task_options before =
        lab_task_with(lab_task_find("copy"), &(lab_word_options){.length_mean = 20, .length_deviation = 2});
    const lab_task_class *words = lab_task_find("copy")->class;
    assert_false(words->changed(&config, "symbols", "9", &before));
    assert_true(LAB_WORDS(&config.data)->length_deviation == 2);
    assert_false(words->changed(&config, "length", "50", &before));
    assert_true(LAB_WORDS(&config.data)->length_deviation == 5);
}

static void presets(void **state) {
    (void)state;
    const lab_task_class *expressions = lab_task_find("listops")->class;
    const lab_expression_options seed = {.depth = 7, .arguments = 7, .shortest = 250, .longest = 1000};
    lab_train_config config = {
        .budget = "paper", .train_samples = 5, .data = lab_task_with(lab_task_find("listops"), &seed)};
    lab_task_options before = config.data;
    assert_false(expressions->changed(&config, "arguments", "9", &before));
    assert_int_equal(config.train_samples, 5);
    assert_false(expressions->changed(&config, "preset", "seed", &before));
    assert_int_equal(config.train_samples, 56000);
    assert_true(expressions->changed(&config, "preset", "lra", &before));
    assert_int_equal(LAB_EXPRESSIONS(&config.data)->depth, 10);
    assert_int_equal(LAB_EXPRESSIONS(&config.data)->arguments, 10);
    assert_int_equal(LAB_EXPRESSIONS(&config.data)->shortest, 500);
    assert_int_equal(LAB_EXPRESSIONS(&config.data)->longest, 2000);
    assert_int_equal(config.train_samples, 96000);
    /* One size that was another one is enough. */
    size_t *const sizes[] = {&LAB_EXPRESSIONS(&before)->depth, &LAB_EXPRESSIONS(&before)->arguments,
                             &LAB_EXPRESSIONS(&before)->shortest, &LAB_EXPRESSIONS(&before)->longest};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        *LAB_EXPRESSIONS(&before) = seed;
        ++*sizes[i];
        *LAB_EXPRESSIONS(&config.data) = seed;
        assert_true(expressions->changed(&config, "preset", "seed", &before));
    }
    /* Samples are the preset's at budget paper, but for a pretrained encoder. */
    config.train_samples = 5;
    config.budget = "quick";
    expressions->changed(&config, "preset", "lra", &before);
    config.budget = NULL;
    expressions->changed(&config, "preset", "lra", &before);
    config.budget = "paper";
    config.pretrained = "an-encoder";
    expressions->changed(&config, "preset", "lra", &before);
    assert_int_equal(config.train_samples, 5);
}

static void what_tasks_have_a_use_for(void **state) {
    (void)state;
    static const char *const tasks[] = {"addition", "substring-index", "substring-search"};
    static const struct {
        const char *option;
        bool used[3];
    } cases[] = {
        {"digits", {true, false, false}},        {"symbols", {false, true, true}},
        {"length", {false, true, true}},         {"length-deviation", {false, true, true}},
        {"greedy-samples", {true, true, false}}, {"sequence", {true, true, true}},
    };
    static const size_t tokens[][3] = {{20, 45, 2}, {20, 45, 27}, {20, 45, 27}}, letters[] = {1, 26, 27};
    for (size_t t = 0; t < COUNT(tasks); t++) {
        const lab_task *task = lab_task_find(tasks[t]);
        for (size_t i = 0; i < COUNT(cases); i++)
            assert_int_equal(task->class->uses(task, cases[i].option), cases[i].used[t]);
        for (size_t i = 0; i < COUNT(letters); i++) {
            const lab_task_options options =
                lab_task_with(lab_task_find("addition"), &(lab_problem_options){.symbols = letters[i]});
            assert_int_equal(task->class->vocabulary(task, &options), tokens[i][t]);
        }
    }
}

/* ---- own data ---- */

static void sets_are_as_large_as_their_files(void **state) {
    (void)state;
    const size_t samples[3] = {100, 20, 10};
    lab_train_config config = {.train_samples = 0, .dev_samples = 20, .test_samples = 9};
    lab_own_cap(&config, samples);
    assert_int_equal(config.train_samples, 100);
    assert_int_equal(config.dev_samples, 20);
    assert_int_equal(config.test_samples, 9);
    config = (lab_train_config){.train_samples = 101, .dev_samples = 1, .test_samples = 1000};
    lab_own_cap(&config, samples);
    assert_int_equal(config.train_samples, 100);
    assert_int_equal(config.dev_samples, 1);
    assert_int_equal(config.test_samples, 10);
}

static void what_sets_share_is_told(void **state) {
    (void)state;
    const size_t samples[3] = {100, 20, 10}, none[3] = {5, 0, 0}, dev[3] = {0, 1, 0}, test[3] = {0, 0, 1};
    char text[160] = "as before";
    assert_false(lab_own_tell(samples, none, text, sizeof text));
    assert_string_equal(text, "as before");
    assert_true(lab_own_tell(samples, dev, text, sizeof text));
    assert_string_equal(text, "1 of 20 development and 0 of 10 test samples stand in the training set, too: their "
                              "scores say less");
    assert_true(lab_own_tell(samples, test, text, sizeof text));
    assert_string_equal(text, "0 of 20 development and 1 of 10 test samples stand in the training set, too: their "
                              "scores say less");
    assert_true(lab_own_tell(samples, test, text, 8));
    assert_string_equal(text, "0 of 20");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_are_described),
        cmocka_unit_test(numbers_are_grouped),
        cmocka_unit_test(pieces_name_their_tokens),
        cmocka_unit_test(kinds_name_their_tokens),
        cmocka_unit_test(problems_are_described),
        cmocka_unit_test(problems_are_read),
        cmocka_unit_test(words_are_typed),
        cmocka_unit_test(other_sizes),
        cmocka_unit_test(windows_of_as_much_text),
        cmocka_unit_test(own_options_have_room),
        cmocka_unit_test(another_mean_keeps_the_share),
        cmocka_unit_test(presets),
        cmocka_unit_test(what_tasks_have_a_use_for),
        cmocka_unit_test(sets_are_as_large_as_their_files),
        cmocka_unit_test(what_sets_share_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
