/* SPDX-License-Identifier: MIT */
/* WordPiece against the transformers package (tools/golden_wordpiece.py): accents, CJK, punctuation, control
 * characters, emoji, words that are too long or unknown, special tokens within the text, ListOps lines, random
 * characters of many scripts. With LOCUS_WORDPIECE=FILE also on the vocabulary of bert-base-uncased. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "golden.h"
#include "io/digest.h"
#include "io/file.h"
#include "text/tokenizer.h"
#include "text/wordpiece.h"
#include "unit/scratch_folder.h"

/* Text n of the file; its bytes stand one to a number. */
static char *text_at(const golden_file *golden, size_t n, size_t *bytes) {
    const int64_t *ends = golden_array(golden, 0, "texts.ends")->data;
    const int32_t *all = golden_array(golden, 0, "texts")->data;
    const size_t start = n > 0 ? (size_t)ends[n - 1] : 0;
    *bytes = (size_t)ends[n] - start;
    char *text = malloc(*bytes > 0 ? *bytes : 1); /* exact, so that a sanitizer sees what is read past its end */
    assert_non_null(text);
    for (size_t i = 0; i < *bytes; i++)
        text[i] = (char)(unsigned char)all[start + i];
    return text;
}

static void compare(const lab_wordpiece *words, const char *key, size_t n, const int32_t *got, size_t count,
                    const int32_t *want, size_t wanted) {
    bool same = count == wanted && (count == 0 || memcmp(got, want, count * sizeof *got) == 0);
    char shown[4096] = "";
    for (size_t i = 0; !same && i < count && strlen(shown) < 1800; i++)
        strcat(strcat(shown, " "), lab_wordpiece_text(words, got[i]));
    strcat(shown, "\n  instead of");
    for (size_t i = 0; !same && i < wanted && strlen(shown) < 3600; i++)
        strcat(strcat(shown, " "), lab_wordpiece_text(words, want[i]));
    if (!same)
        fail_msg("%s, text %zu:%s", key, n, shown);
}

/* `most` 0: not framed. */
static void check_all(const golden_file *golden, const lab_wordpiece *words, const char *key, size_t most) {
    char name[64];
    snprintf(name, sizeof name, "%s.ends", key);
    const lab_array *all = golden_array(golden, 0, name);
    const int64_t *ends = all->data;
    const int32_t *want = golden_array(golden, 0, key)->data;
    const size_t texts = lab_array_count(all);
    assert_true(texts >= 200);
    for (size_t n = 0; n < texts; n++) {
        size_t bytes, count;
        int32_t *got;
        char *text = text_at(golden, n, &bytes);
        const size_t start = n > 0 ? (size_t)ends[n - 1] : 0;
        if (most > 0)
            golden_ok(lab_wordpiece_frame(words, text, bytes, most, &got, &count, error));
        else
            golden_ok(lab_wordpiece_encode(words, text, bytes, &got, &count, error));
        compare(words, key, n, got, count, want + start, (size_t)ends[n] - start);
        free(got);
        free(text);
    }
}

static void a_small_vocabulary(void **state) {
    golden_file golden;
    lab_wordpiece *words;
    (void)state;
    golden_open(&golden, "wordpiece");
    const char *entries = golden_text(&golden, 0, "vocabulary");
    scratch_write("vocab.txt", entries, strlen(entries));
    golden_ok(lab_wordpiece_open(&words, scratch_path("vocab.txt"), true, error));
    assert_true(lab_wordpiece_uncased(words));
    check_all(&golden, words, "uncased", 0);
    check_all(&golden, words, "framed", 12);
    lab_wordpiece_close(&words);
    golden_ok(lab_wordpiece_open(&words, scratch_path("vocab.txt"), false, error));
    check_all(&golden, words, "cased", 0);
    lab_wordpiece_close(&words);
    golden_close(&golden);
}

static void the_published_vocabulary(void **state) {
    const char *path = getenv("LOCUS_WORDPIECE");
    golden_file golden;
    lab_wordpiece *words;
    lab_digest sum;
    char *data, text[LAB_DIGEST_TEXT];
    size_t bytes;
    (void)state;
    if (path == NULL || path[0] == '\0')
        skip();
    golden_open(&golden, "wordpiece");
    golden_ok(lab_file_read(path, &data, &bytes, error));
    sum = lab_digest_begin(LAB_DIGEST_SHA256);
    lab_digest_add(&sum, data, bytes);
    golden_ok(lab_digest_close(&sum, text, error));
    assert_string_equal(text, golden_text(&golden, 0, "full.sha256"));
    free(data);
    golden_ok(lab_wordpiece_open(&words, path, true, error));
    assert_int_equal(lab_wordpiece_count(words), 30522);
    const lab_wordpiece_specials specials = lab_wordpiece_special(words);
    assert_int_equal(specials.pad, 0);
    assert_int_equal(specials.unknown, 100);
    assert_int_equal(specials.first, 101);
    assert_int_equal(specials.separator, 102);
    assert_int_equal(specials.mask, 103);
    check_all(&golden, words, "full", 0);
    lab_wordpiece_close(&words);
    golden_close(&golden);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_small_vocabulary),
                                       cmocka_unit_test(the_published_vocabulary)};
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
