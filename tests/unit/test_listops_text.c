/* SPDX-License-Identifier: MIT */
/* Expressions as text and as files: what is written is read back token by token, with or without round brackets, with
 * either line end; trees are as drawn by hand; and each way in which a line can be wrong is told with its number. */
#include "task/listops/listops.h"
#include "task/task_class.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "unit/scratch_folder.h"

static const lab_task *task(void) {
    return lab_task_find("listops");
}

static lab_dataset draw(size_t samples, lab_asked asked) {
    lab_dataset set;
    locus_error error = {0};
    lab_task_options options = lab_task_default(task());
    LAB_EXPRESSIONS(&options)->depth = 5;
    LAB_EXPRESSIONS(&options)->arguments = 6;
    LAB_EXPRESSIONS(&options)->shortest = 0;
    LAB_EXPRESSIONS(&options)->longest = 120;
    LAB_EXPRESSIONS(&options)->asked = asked;
    const lab_draw wanted = {task(), &options, LAB_SET_TRAIN, samples, 2};
    if (lab_dataset_generate(&set, &wanted, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    return set;
}

static char *text_of(const lab_dataset *set, size_t sample) {
    const size_t start = set->input_offsets[sample];
    char *text = lab_listops_string(set->input_offsets[sample + 1] - start, set->input + start,
                                    set->input_tree.parents + start, set->input_tree.branches + start);
    assert_non_null(text);
    return text;
}

/* ---- text ---- */

static void check_by_hand(const char *text, size_t n, const int32_t *tokens, const int32_t *parents,
                          const int32_t *branches, int32_t value) {
    lab_listops_reader reader = {0};
    locus_error error = {0};
    if (lab_listops_read(&reader, text, &error) != LOCUS_OK)
        fail_msg("%s: %s", text, error.message);
    assert_int_equal(reader.count, n);
    assert_memory_equal(reader.tokens, tokens, n * sizeof *tokens);
    assert_memory_equal(reader.parents, parents, n * sizeof *parents);
    assert_memory_equal(reader.branches, branches, n * sizeof *branches);
    assert_int_equal(reader.found.value, value);
    char *again = lab_listops_string(n, reader.tokens, reader.parents, reader.branches);
    if (strchr(text, '(') != NULL || n == 2)
        assert_string_equal(again, text);
    free(again);
    lab_listops_reader_destroy(&reader);
}

static void texts_are_as_by_hand(void **state) {
    (void)state;
    enum { X = LAB_LISTOPS_MAX, N = LAB_LISTOPS_MIN, D = LAB_LISTOPS_MED, M = LAB_LISTOPS_SM, E = LAB_LISTOPS_END };
    check_by_hand("7", 2, (int32_t[]){0, 8}, (int32_t[]){-1, 0}, (int32_t[]){0, 0}, 7);
    check_by_hand("( ( ( [MAX 2 ) 9 ) ] )", 5, (int32_t[]){0, X, 3, 10, E}, (int32_t[]){-1, 0, 1, 1, 1},
                  (int32_t[]){0, 0, 1, 2, 0}, 9);
    check_by_hand("( ( ( [MAX 2 ) ( ( ( [MIN 4 ) 7 ) ] ) ) ] )", 8, (int32_t[]){0, X, 3, N, 5, 8, E, E},
                  (int32_t[]){-1, 0, 1, 1, 3, 3, 3, 1}, (int32_t[]){0, 0, 1, 2, 1, 2, 0, 0}, 4);
    check_by_hand("( ( ( ( [SM ( ( ( [MED 4 ) 7 ) ] ) ) 9 ) 8 ) ] )", 9, (int32_t[]){0, M, D, 5, 8, E, 10, 9, E},
                  (int32_t[]){-1, 0, 1, 2, 2, 2, 1, 1, 1}, (int32_t[]){0, 0, 1, 1, 2, 0, 2, 3, 0}, 2);
    check_by_hand("[SM [MED 4 7 ] 9 8 ]", 9, (int32_t[]){0, M, D, 5, 8, E, 10, 9, E},
                  (int32_t[]){-1, 0, 1, 2, 2, 2, 1, 1, 1}, (int32_t[]){0, 0, 1, 1, 2, 0, 2, 3, 0}, 2);
    check_by_hand("  [MED   3 ] ", 4, (int32_t[]){0, D, 4, E}, (int32_t[]){-1, 0, 1, 1}, (int32_t[]){0, 0, 1, 0}, 3);
}

/* Hastings 2024, section 3.1, but [SUM_MOD there is [SM here. The second is printed with the value 8. */
static void printed_examples_have_their_values(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int32_t value;
    } printed[] = {{"[SM 2 5 3 9 ]", 9},
                   {"[MAX [MED 8 4 5 7 ] 3 1 0 ]", 6},
                   {"[MIN [SM 1 3 4 ] 2 0 [MAX 6 8 7 ] ]", 0},
                   {"[MED 3 8 1 4 9 2 5 ]", 4},
                   {"[MAX 1 [MIN 6 4 2 ] [SM 9 7 3 ] ]", 9}};
    lab_listops_reader reader = {0};
    for (size_t i = 0; i < sizeof printed / sizeof *printed; i++) {
        assert_int_equal(lab_listops_read(&reader, printed[i].text, NULL), LOCUS_OK);
        assert_int_equal(reader.found.value, printed[i].value);
    }
    lab_listops_reader_destroy(&reader);
}

static char *without_brackets(const char *text) {
    char *bare = malloc(strlen(text) + 1), *to = bare;
    for (; *text != '\0'; text++)
        if (*text != '(' && *text != ')')
            *to++ = *text;
    *to = '\0';
    return bare;
}

static void check_same(const lab_dataset *set, size_t sample, const char *text, lab_listops_reader *reader) {
    const size_t start = set->input_offsets[sample], n = set->input_offsets[sample + 1] - start;
    assert_int_equal(lab_listops_read(reader, text, NULL), LOCUS_OK);
    assert_int_equal(reader->count, n);
    assert_memory_equal(reader->tokens, set->input + start, n * sizeof *set->input);
    assert_memory_equal(reader->parents, set->input_tree.parents + start, n * sizeof *set->input);
    assert_memory_equal(reader->branches, set->input_tree.branches + start, n * sizeof *set->input);
    assert_int_equal(reader->found.value, set->labels[sample]);
}

static void texts_are_read_back(void **state) {
    (void)state;
    lab_dataset set = draw(2000, LAB_ASKED_DIGIT);
    lab_listops_reader reader = {0};
    for (size_t s = 0; s < set.samples; s++) {
        char *text = text_of(&set, s), *bare = without_brackets(text);
        check_same(&set, s, text, &reader);
        check_same(&set, s, bare, &reader);
        free(text);
        free(bare);
    }
    lab_listops_reader_destroy(&reader);
    lab_dataset_destroy(&set);
}

/* ---- what is no expression ---- */

static void wrong_texts_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *says;
        ptrdiff_t offset;
    } cases[] = {
        {"", "there is no expression", 0},
        {"( )", "there is no expression", 3},
        {"12", "'12' is no digit", 0},
        {"[FIRST 1 2 ]", "'[FIRST' is no digit, no operator", 0},
        {"[MAX 1 x ]", "character 8: 'x'", 7},
        {"[MA 1 ]", "'[MA'", 0},
        {"[MAXX 1 ]", "'[MAXX'", 0},
        {"[MAX 1 2", "not closed", 0},
        {"[MAX 1 [MIN 2 3 ]", "not closed", 0},
        {"[MAX 1 [MIN 2 3", "character 8: the operator that begins here is not closed", 7},
        {"]", "closes no operator", 0},
        {"[MAX 1 ] ]", "closes no operator", 9},
        {"[MAX ]", "no arguments", 5},
        {"[MAX 1 [SM ] 2 ]", "no arguments", 11},
        {"1 2", "the text goes on", 2},
        {"[MAX 1 2 ] 3", "the text goes on", 11},
        {"( ( ( [MAX 2 ) 9 ) ]", "expected ')'", 20},
        {"( ( [MAX 2 ) 9 ) ] )", "expected '('", 4},
        {"( ( ( [MAX 2 ) 9 ) ] ) )", "expected the end", 23},
        {"( ( ( [MAX 2 9 ) ) ] )", "expected ')'", 13},
        {"( 7 )", "expected '7'", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lab_listops_reader reader = {0};
        locus_error error = {0};
        assert_int_equal(lab_listops_read(&reader, cases[i].text, &error), LOCUS_ERROR_SPEC);
        if (strstr(error.message, cases[i].says) == NULL || error.offset != cases[i].offset)
            fail_msg("'%s': at %td '%s', not at %td '%s'", cases[i].text, error.offset, error.message, cases[i].offset,
                     cases[i].says);
        assert_true(error.length >= 1);
        lab_listops_reader_destroy(&reader);
    }
}

/* As deep as a file may be: nothing recurses. */
static void depth_has_no_limit(void **state) {
    (void)state;
    enum { DEPTH = 200000 };
    char *text = malloc((size_t)DEPTH * 7 + 8), *to = text;
    lab_listops_reader reader = {0};
    for (size_t i = 0; i < DEPTH; i++)
        to = strcpy(to, "[MIN ") + 5;
    to = strcpy(to, "3") + 1;
    for (size_t i = 0; i < DEPTH; i++)
        to = strcpy(to, " ]") + 2;
    assert_int_equal(lab_listops_read(&reader, text, NULL), LOCUS_OK);
    assert_int_equal(reader.found.value, 3);
    assert_int_equal(reader.found.depth, DEPTH);
    lab_listops_reader_destroy(&reader);
    free(text);
}

/* ---- files ---- */

static void write_set(const char *name, const lab_dataset *set) {
    FILE *stream = fopen(scratch_path(name), "wb");
    assert_non_null(stream);
    assert_int_equal(lab_listops_write(stream, set, NULL), LOCUS_OK);
    assert_int_equal(fclose(stream), 0);
}

static locus_status read_set(lab_dataset *set, const char *path, const lab_task_options *changed, lab_draw wanted,
                             locus_error *error) {
    lab_task_options options = changed != NULL ? *changed : lab_task_default(task());
    options.path = path;
    wanted.task = task();
    wanted.options = &options;
    return lab_dataset_generate(set, &wanted, error);
}

static void assert_same_sets(const lab_dataset *a, const lab_dataset *b) {
    assert_int_equal(a->samples, b->samples);
    const size_t tokens = a->input_offsets[a->samples];
    assert_memory_equal(a->input_offsets, b->input_offsets, (a->samples + 1) * sizeof *a->input_offsets);
    assert_memory_equal(a->input, b->input, tokens * sizeof *a->input);
    assert_memory_equal(a->input_tree.parents, b->input_tree.parents, tokens * sizeof *a->input);
    assert_memory_equal(a->input_tree.branches, b->input_tree.branches, tokens * sizeof *a->input);
    assert_memory_equal(a->labels, b->labels, a->samples * sizeof *a->labels);
}

static char *content_of(const char *name, size_t *bytes) {
    FILE *stream = fopen(scratch_path(name), "rb");
    assert_non_null(stream);
    char *content = malloc(1 << 20);
    *bytes = fread(content, 1, (1 << 20) - 1, stream);
    content[*bytes] = '\0';
    fclose(stream);
    return content;
}

static void files_are_read_back(void **state) {
    (void)state;
    lab_dataset set = draw(300, LAB_ASKED_DIGIT), read;
    size_t bytes, kept = 0, lines = 0;
    write_set("set.tsv", &set);
    char *content = content_of("set.tsv", &bytes);
    assert_int_equal(strncmp(content, "Source\tTarget\r\n", 15), 0);
    assert_int_equal(read_set(&read, scratch_path("set.tsv"), NULL, (lab_draw){0}, NULL), LOCUS_OK);
    assert_same_sets(&set, &read);
    lab_dataset_destroy(&read);
    for (size_t i = 0; i < bytes; i++) {
        if (content[i] == '\n')
            assert_int_equal(content[i - 1], '\r');
        lines += content[i] == '\n';
        if (content[i] != '\r')
            content[kept++] = content[i];
    }
    assert_int_equal(lines, 301);
    scratch_write("lf.tsv", content, kept - 1); /* without the last line end */
    assert_int_equal(read_set(&read, scratch_path("lf.tsv"), NULL, (lab_draw){0}, NULL), LOCUS_OK);
    assert_same_sets(&set, &read);
    lab_dataset_destroy(&read);
    free(content);
    lab_dataset_destroy(&set);
}

static void some_or_too_many_are_asked_for(void **state) {
    (void)state;
    lab_dataset set = draw(50, LAB_ASKED_DIGIT), read;
    locus_error error = {0};
    write_set("fifty.tsv", &set);
    assert_int_equal(read_set(&read, scratch_path("fifty.tsv"), NULL, (lab_draw){.samples = 20}, NULL), LOCUS_OK);
    assert_int_equal(read.samples, 20);
    assert_memory_equal(read.input, set.input, set.input_offsets[20] * sizeof *set.input);
    lab_dataset_destroy(&read);
    assert_int_equal(read_set(&read, scratch_path("fifty.tsv"), NULL, (lab_draw){.samples = 51}, &error),
                     LOCUS_ERROR_IO);
    assert_non_null(strstr(error.message, "51 expressions are asked for, and it has 50"));
    lab_dataset_destroy(&set);
}

/* Files of parities are good where parity is asked for, and so are files of values. */
static void parities_are_read(void **state) {
    (void)state;
    lab_dataset digits = draw(100, LAB_ASKED_DIGIT), parities = draw(100, LAB_ASKED_PARITY), read;
    lab_task_options options = lab_task_default(task());
    locus_error error = {0};
    write_set("digits.tsv", &digits);
    write_set("parities.tsv", &parities);
    LAB_EXPRESSIONS(&options)->asked = LAB_ASKED_PARITY;
    assert_int_equal(read_set(&read, scratch_path("digits.tsv"), &options, (lab_draw){0}, NULL), LOCUS_OK);
    assert_same_sets(&parities, &read);
    lab_dataset_destroy(&read);
    assert_int_equal(read_set(&read, scratch_path("parities.tsv"), &options, (lab_draw){0}, NULL), LOCUS_OK);
    assert_same_sets(&parities, &read);
    lab_dataset_destroy(&read);
    assert_int_equal(read_set(&read, scratch_path("parities.tsv"), NULL, (lab_draw){0}, &error), LOCUS_ERROR_IO);
    assert_non_null(strstr(error.message, "parities need --target parity"));
    lab_dataset_destroy(&digits);
    lab_dataset_destroy(&parities);
}

static void folders_have_three_files(void **state) {
    (void)state;
    static const char *const names[] = {"lra/basic_train.tsv", "lra/basic_val.tsv", "lra/basic_test.tsv"};
    static const char *const lines[] = {"1\t1\r\n", "[MAX 1 2 ]\t2\r\n", "[MIN 4 3 ]\t3\n"};
    uint64_t whole, again, file;
    lab_task_options options = lab_task_default(task());
    locus_error error = {0};
    lab_dataset read;
    assert_int_equal(mkdir(scratch_path("lra"), 0777), 0);
    for (size_t set = 0; set < 3; set++) {
        char content[64];
        snprintf(content, sizeof content, "%sSource\tTarget\n%s", set == 1 ? "\xef\xbb\xbf" : "", lines[set]);
        scratch_write(names[set], content, strlen(content));
    }
    for (size_t set = 0; set < 3; set++) {
        const lab_draw wanted = {.which = (lab_set)set};
        assert_int_equal(read_set(&read, scratch_path("lra"), NULL, wanted, NULL), LOCUS_OK);
        assert_int_equal(read.samples, 1);
        assert_int_equal(read.labels[0], set + 1);
        lab_dataset_destroy(&read);
    }
    assert_int_equal(lab_listops_digest(scratch_path("lra"), &whole, NULL), LOCUS_OK);
    assert_int_equal(lab_listops_digest(scratch_path("lra"), &again, NULL), LOCUS_OK);
    assert_int_equal(lab_listops_digest(scratch_path(names[0]), &file, NULL), LOCUS_OK);
    assert_true(whole == again && whole != file && whole != 0);
    options.digest = whole;
    assert_int_equal(read_set(&read, scratch_path("lra"), &options, (lab_draw){0}, NULL), LOCUS_OK);
    lab_dataset_destroy(&read);
    scratch_write(names[2], "Source\tTarget\n5\t5\n", 18);
    assert_int_equal(read_set(&read, scratch_path("lra"), &options, (lab_draw){0}, &error), LOCUS_ERROR_IO);
    assert_non_null(strstr(error.message, "holds other expressions than the run was made for"));
    assert_int_equal(remove(scratch_path(names[1])), 0);
    assert_int_equal(lab_listops_digest(scratch_path("lra"), &again, &error), LOCUS_ERROR_IO);
    assert_non_null(strstr(error.message, "basic_val.tsv"));
    assert_int_equal(remove(scratch_path(names[0])) | remove(scratch_path(names[2])), 0);
    assert_int_equal(remove(scratch_path("lra")), 0);
}

#define HEAD "Source\tTarget\r\n[MAX 1 2 ]\t2\r\n"

static void wrong_lines_are_numbered(void **state) {
    (void)state;
    static const struct {
        const char *content, *says;
    } cases[] = {
        {"", "there is no expression in it"},
        {"Source\tTarget\r\n", "there is no expression in it"},
        {"[MAX 1 2 ]\t2\r\n", "line 1: the header"},
        {"Source,Target\n1,1\n", "line 1: the header"},
        {HEAD "[MAX 1 2 ]\r\n", "line 3: there is no tab"},
        {HEAD "[MAX 1 2 ]\t\r\n", "line 3: the Target '' is no class"},
        {HEAD "[MAX 1 2 ]\t10\r\n", "line 3: the Target '10' is no class from 0 to 9"},
        {HEAD "[MAX 1 2 ]\t-1\r\n", "line 3: the Target '-1' is no class"},
        {HEAD "[MAX 1 2 ]\t2\t2\r\n", "line 3: the Target '2?2' is no class"},
        {HEAD "1\t1\r\n[MAX 1 2 ]\t3\r\n", "line 4: the Target is 3, but the expression's value is 2"},
        {HEAD "1\t1\r\n\r\n[SM 9 9 ]\t0\r\n", "line 5: the Target is 0, but the expression's value is 8 (parities"},
        {HEAD "[AVG 1 2 ]\t1\r\n", "line 3: character 1: '[AVG' is no digit"},
        {HEAD "[MAX 1 2\t2\r\n", "line 3: character 1: the operator that begins here is not closed"},
        {HEAD "( ( ( [MAX 1 ) 2 ) ]\t2\r\n", "line 3: character 21: unbalanced round brackets"},
        {HEAD "[MAX 1 2 ] )\t2\r\n", "line 3: character 1: unbalanced round brackets"},
        {HEAD "[MAX ]\t2\r\n", "line 3: character 6: the operator that is closed here has no arguments"},
        {HEAD "\t2\r\n", "line 3: character 1: there is no expression"},
        {HEAD "[MAX 1 2 3 4 5 6 7 8 ]\t8\r\n", "line 3: an operator has 8 arguments, the most expected is 7"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lab_dataset set;
        locus_error error = {0};
        scratch_write("bad.tsv", cases[i].content, strlen(cases[i].content));
        assert_int_equal(read_set(&set, scratch_path("bad.tsv"), NULL, (lab_draw){0}, &error), LOCUS_ERROR_IO);
        if (strstr(error.message, cases[i].says) == NULL || strstr(error.message, "bad.tsv") == NULL)
            fail_msg("'%s': '%s', not '%s'", cases[i].content, error.message, cases[i].says);
        assert_null(set.input);
    }
}

static void other_files_are_refused(void **state) {
    (void)state;
    static const char zero[] = "Source\tTarget\n1\t1\n2\0\t2\n";
    lab_dataset set;
    locus_error error = {0};
    scratch_write("zero.tsv", zero, sizeof zero - 1);
    assert_int_equal(read_set(&set, scratch_path("zero.tsv"), NULL, (lab_draw){0}, &error), LOCUS_ERROR_IO);
    assert_non_null(strstr(error.message, "line 3: this is no text"));
    assert_int_equal(read_set(&set, scratch_path("none.tsv"), NULL, (lab_draw){0}, &error), LOCUS_ERROR_IO);
    assert_non_null(strstr(error.message, "none.tsv"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_as_by_hand),
        cmocka_unit_test(printed_examples_have_their_values),
        cmocka_unit_test(texts_are_read_back),
        cmocka_unit_test(wrong_texts_are_refused),
        cmocka_unit_test(depth_has_no_limit),
        cmocka_unit_test(files_are_read_back),
        cmocka_unit_test(some_or_too_many_are_asked_for),
        cmocka_unit_test(parities_are_read),
        cmocka_unit_test(folders_have_three_files),
        cmocka_unit_test(wrong_lines_are_numbered),
        cmocka_unit_test(other_files_are_refused),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
