/* SPDX-License-Identifier: MIT */
/* WordPiece vocabularies: what is read of a file, how words are cut, frames for classifiers, folders that have one, and
 * files that are none. What the words of a text are is compared in test_golden_wordpiece.c. */
#include "io/fail.h"
#include "io/file.h"
#include "text/tokenizer.h"
#include "text/wordpiece.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unit/scratch_folder.h"

static const char entries[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nun\n##aff\n##able\n##a\nthe\n,\nThe\nb\nbe\nbed\n##d\n##e\n";
enum { UNK = 1, CLS = 2, SEP = 3, UN = 4, AFF = 5, ABLE = 6, A = 7, THE = 8, COMMA = 9, CAPITAL = 10, BED = 13 };

static locus_error why;

static lab_wordpiece *open_words(const char *content, size_t bytes, bool uncased) {
    lab_wordpiece *words;
    scratch_write("vocab.txt", content, bytes);
    if (lab_wordpiece_open(&words, scratch_path("vocab.txt"), uncased, &why) != LOCUS_OK)
        fail_msg("%s", why.message);
    return words;
}

static void expect_tokens(const lab_wordpiece *words, const char *text, size_t count, const int32_t *want) {
    int32_t *got;
    size_t found;
    assert_int_equal(lab_wordpiece_encode(words, text, strlen(text), &got, &found, &why), LOCUS_OK);
    assert_int_equal(found, count);
    if (count > 0)
        assert_memory_equal(got, want, count * sizeof *got);
    free(got);
}

static void the_longest_entry_wins(void **state) {
    lab_wordpiece *words = open_words(entries, sizeof entries - 1, true);
    (void)state;
    assert_int_equal(lab_wordpiece_count(words), 16);
    expect_tokens(words, "", 0, NULL);
    expect_tokens(words, "unaffable", 3, (int32_t[]){UN, AFF, ABLE});
    expect_tokens(words, "unaa", 3, (int32_t[]){UN, A, A});
    expect_tokens(words, "bed The,bed", 4, (int32_t[]){BED, THE, COMMA, BED});
    /* Neither a word nor the end of one: NUL cannot stand in a text that ends there. */
    expect_tokens(words,
                  "una\xef\xbf\xbd"
                  "ff\x01"
                  "a\xe2\x80\x8d"
                  "ble",
                  3, (int32_t[]){UN, AFF, ABLE});
    expect_tokens(words, "unaffablex bed", 2, (int32_t[]){UNK, BED}); /* one step finds none: the whole word */
    expect_tokens(words, "un[SEP]un[PAD", 5, (int32_t[]){UN, SEP, UN, UNK, UNK}); /* "[" and "pad" are two words */
    lab_wordpiece_close(&words);
    lab_wordpiece_close(&words);
    words = open_words(entries, sizeof entries - 1, false);
    expect_tokens(words, "The the", 2, (int32_t[]){CAPITAL, THE});
    lab_wordpiece_close(&words);
}

/* A hundred characters are a word, one more is not, however many bytes they are. */
static void long_words_are_unknown(void **state) {
    lab_wordpiece *words = open_words(entries, sizeof entries - 1, true);
    char text[128] = "un";
    int32_t *tokens;
    size_t count;
    (void)state;
    memset(text + 2, 'a', 98);
    assert_int_equal(lab_wordpiece_encode(words, text, 100, &tokens, &count, &why), LOCUS_OK);
    assert_int_equal(count, 99);
    free(tokens);
    text[100] = 'a';
    expect_tokens(words, text, 1, (int32_t[]){UNK});
    lab_wordpiece_close(&words);
}

static void frames_are_cut(void **state) {
    static const int32_t whole[] = {CLS, UN, AFF, ABLE, THE, SEP};
    lab_wordpiece *words = open_words(entries, sizeof entries - 1, true);
    (void)state;
    for (size_t most = 0; most < 9; most++) {
        int32_t *tokens;
        size_t count;
        const size_t want = most < 2 ? 2 : most < 6 ? most : 6;
        assert_int_equal(lab_wordpiece_frame(words, "unaffable the", 13, most, &tokens, &count, &why), LOCUS_OK);
        assert_int_equal(count, want);
        assert_memory_equal(tokens, whole, (want - 1) * sizeof *whole);
        assert_int_equal(tokens[want - 1], SEP);
        free(tokens);
    }
    lab_wordpiece_close(&words);
}

static void files_are_read_as_lines(void **state) {
    static const char returns[] = "[UNK]\r\n[CLS]\r\n[SEP]\r\na\r\n\r\nb";
    lab_wordpiece *words = open_words(returns, sizeof returns - 1, true);
    (void)state;
    assert_int_equal(lab_wordpiece_count(words), 6);
    assert_string_equal(lab_wordpiece_text(words, 3), "a");
    assert_string_equal(lab_wordpiece_text(words, 4), "");
    assert_string_equal(lab_wordpiece_text(words, 5), "b");
    assert_string_equal(lab_wordpiece_text(words, 6), "");
    assert_string_equal(lab_wordpiece_text(words, -1), "");
    assert_int_equal(lab_wordpiece_find(words, "b", 1), 5);
    assert_int_equal(lab_wordpiece_find(words, "bb", 2), -1);
    const lab_wordpiece_specials specials = lab_wordpiece_special(words);
    assert_int_equal(specials.unknown, 0);
    assert_int_equal(specials.pad, -1);
    assert_int_equal(specials.mask, -1);
    expect_tokens(words, "a b [PAD]", 5, (int32_t[]){3, 5, 0, 0, 0});
    lab_wordpiece_close(&words);
    words = open_words("\n[UNK]\n[CLS]\n[SEP]\nc", 20, true); /* an empty line is an entry where it is the first, too */
    assert_int_equal(lab_wordpiece_count(words), 5);
    assert_int_equal(lab_wordpiece_find(words, "", 0), 0);
    assert_int_equal(lab_wordpiece_find(words, "c", 1), 4);
    lab_wordpiece_close(&words);
}

/* Eight lines in a table of sixteen places, as full as it may be: the hash of each is even, and so is that of half of
 * the letters that are asked for. */
static void a_full_table_is_searched_to_its_end(void **state) {
    (void)state;
    static const char even[] = "[UNK]\n[CLS]\n[SEP]\n[PAD]\n[MASK]\na\nc\ne\n";
    lab_wordpiece *words = open_words(even, sizeof even - 1, true);
    for (char letter = 'a'; letter <= 'z'; letter++) {
        const int32_t found = lab_wordpiece_find(words, &letter, 1);
        assert_int_equal(found, letter == 'a' ? 5 : letter == 'c' ? 6 : letter == 'e' ? 7 : -1);
    }
    expect_tokens(words, "e a g [MASK] c", 5, (int32_t[]){7, 5, 0, 4, 6});
    lab_wordpiece_close(&words);
}

static void refuse(const char *content, size_t bytes, const char *part) {
    lab_wordpiece *words;
    scratch_write("bad.txt", content, bytes);
    assert_int_equal(lab_wordpiece_open(&words, scratch_path("bad.txt"), true, &why), LOCUS_ERROR_IO);
    assert_null(words);
    assert_null(strchr(why.message, '\n'));
    if (strstr(why.message, part) == NULL)
        fail_msg("expected '%s' in: %s", part, why.message);
}

static void what_is_no_vocabulary_is_refused(void **state) {
    lab_wordpiece *words;
    (void)state;
    refuse("", 0, "it has no line [UNK]");
    refuse("[UNK]\n[SEP]\na\n", 14, "it has no line [CLS]");
    refuse("[UNK]\na\0b\n", 10, "it has a NUL");
    refuse("[UNK]\n\xFF\n", 8, "is no UTF-8: byte 0xff at offset 6, in line 2");
    assert_int_equal(lab_wordpiece_open(&words, scratch_path("nothing"), true, &why), LOCUS_ERROR_IO);
}

static void text_that_is_no_text_is_refused(void **state) {
    lab_wordpiece *words = open_words(entries, sizeof entries - 1, true);
    int32_t *tokens;
    size_t count;
    (void)state;
    assert_int_equal(lab_wordpiece_encode(words, "the\n\xE4\xB8", 6, &tokens, &count, &why), LOCUS_ERROR_IO);
    assert_string_equal(why.message, "the text is no UTF-8: byte 0xe4 at offset 4, in line 2");
    assert_null(tokens);
    assert_int_equal(lab_wordpiece_frame(words, "\x80", 1, 9, &tokens, &count, &why), LOCUS_ERROR_IO);
    assert_null(tokens);
    lab_wordpiece_close(&words);
}

/* A folder says whether its words are cased, and a copy says the same. */
static void folders_keep_their_words(void **state) {
    static const char *const configs[] = {NULL, "{}", "{\"do_lower_case\": true}", "{\"do_lower_case\": false}"};
    (void)state;
    for (size_t c = 0; c < sizeof configs / sizeof *configs; c++) {
        lab_tokenizer *tokenizer, *again;
        assert_int_equal(lab_directory_create(scratch_path("from"), NULL), LOCUS_OK);
        assert_int_equal(lab_directory_create(scratch_path("to"), NULL), LOCUS_OK);
        scratch_write("from/vocab.txt", entries, sizeof entries - 1);
        if (configs[c] != NULL)
            scratch_write("from/tokenizer_config.json", configs[c], strlen(configs[c]));
        assert_int_equal(lab_tokenizer_open_folder(&tokenizer, scratch_path("from"), &why), LOCUS_OK);
        assert_int_equal(lab_tokenizer_copy(tokenizer, scratch_path("to"), &why), LOCUS_OK);
        assert_int_equal(lab_tokenizer_open_folder(&again, scratch_path("to"), &why), LOCUS_OK);
        for (int i = 0; i < 2; i++) {
            int32_t *tokens;
            size_t count;
            lab_tokenizer *of = i == 0 ? tokenizer : again;
            assert_int_equal(lab_tokenizer_get_kind(of), LAB_TOKENIZER_WORDPIECE);
            assert_int_equal(lab_tokenizer_vocabulary(of), 16);
            assert_int_equal(lab_tokenizer_encode(of, "The", 3, &tokens, &count, &why), LOCUS_OK);
            assert_int_equal(count, 1);
            assert_int_equal(tokens[0], c == 3 ? CAPITAL : THE);
            free(tokens);
        }
        lab_detokenizer words = {.tokenizer = again};
        char text[256];
        size_t used = lab_detokenizer_add(&words, UN, text, 256);
        used += lab_detokenizer_add(&words, ABLE, text + used, 100);
        used += lab_detokenizer_add(&words, THE, text + used, 100);
        used += lab_detokenizer_end(&words, text + used, 100);
        assert_int_equal(used, 10);
        assert_memory_equal(text, "unable the", 10);
        lab_tokenizer_close(&tokenizer);
        lab_tokenizer_close(&again);
    }
    lab_tokenizer *tokenizer;
    scratch_write("from/tokenizer_config.json", "{", 1);
    assert_int_equal(lab_tokenizer_open_folder(&tokenizer, scratch_path("from"), &why), LOCUS_ERROR_IO);
    assert_non_null(strstr(why.message, "is no JSON object"));
}

/* Two signs before something join it to what stands before; a sign is a word like others. A text begins anew. */
static void words_and_pieces(void **state) {
    (void)state;
    static const char content[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n##a\n#a\na#\n##\n#\nb\n##bc\n";
    lab_tokenizer *tokenizer;
    scratch_write("vocab.txt", content, sizeof content - 1);
    assert_int_equal(lab_tokenizer_open_wordpiece(&tokenizer, scratch_path("vocab.txt"), false, &why), LOCUS_OK);
    assert_int_equal(lab_tokenizer_vocabulary(tokenizer), 12);
    lab_detokenizer detokenizer = {.tokenizer = tokenizer};
    for (size_t turn = 0; turn < 2; turn++) {
        static const char wanted[] = "[PAD] bbc #a a# ##a # ba \xef\xbf\xbd";
        static const int32_t tokens[] = {0, 10, 11, 6, 7, 8, 5, 9, 10, 5};
        char text[64];
        size_t used = 0;
        for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
            used += lab_detokenizer_add(&detokenizer, tokens[i], text + used, sizeof text - used);
        text[used++] = ' ';
        used += lab_detokenizer_add(&detokenizer, turn == 0 ? -1 : 12, text + used, sizeof text - used);
        used += lab_detokenizer_end(&detokenizer, text + used, sizeof text - used);
        assert_int_equal(used, sizeof wanted - 1);
        assert_memory_equal(text, wanted, used);
    }
    lab_tokenizer_close(&tokenizer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_and_pieces),
        cmocka_unit_test(the_longest_entry_wins),
        cmocka_unit_test(long_words_are_unknown),
        cmocka_unit_test(frames_are_cut),
        cmocka_unit_test(files_are_read_as_lines),
        cmocka_unit_test(a_full_table_is_searched_to_its_end),
        cmocka_unit_test(what_is_no_vocabulary_is_refused),
        cmocka_unit_test(text_that_is_no_text_is_refused),
        cmocka_unit_test(folders_keep_their_words),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
