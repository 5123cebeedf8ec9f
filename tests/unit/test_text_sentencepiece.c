/* SPDX-License-Identifier: MIT */
/* SentencePiece vocabularies: decoding gives the text back byte for byte, whatever is in it; models made elsewhere,
 * damaged models and missing programs. Skipped where the programs are not installed. */
#include "io/fail.h"
#include "io/file.h"
#include "text/child.h"
#include "text/sentencepiece.h"
#include "text/text_folder.h"
#include "text/token_file.h"
#include "text/utf8.h"
#include "train/feed/train_data.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/scratch_folder.h"

static locus_error why; /* of what must not fail */
#define ok(call) \
    do { \
        if ((call) != LOCUS_OK) \
            fail_msg("%s: %s", #call, why.message); \
    } while (0)

static uint64_t drawn = 7;

static uint32_t draw(uint32_t bound) {
    drawn = drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(drawn >> 33) % bound;
}

static void expect_line(const locus_error *error, const char *part) {
    assert_null(strchr(error->message, '\n'));
    if (strstr(error->message, part) == NULL)
        fail_msg("expected '%s' in: %s", part, error->message);
}

/* Lines of words, as a language has them: the word's number is the smaller of two. */
static size_t make_text(char *text, size_t size) {
    static const char *const words[] = {"the",     "of",    "sentence", "and",    "a",      "piece",    "in",
                                        "bytes",   "house", "water",    "walked", "slowly", "mountain", "rivers",
                                        "quickly", "über",  "naïve",    "Straße", "12",     "1984"};
    size_t used = 0;
    while (used + 32 < size) {
        const uint32_t count = sizeof words / sizeof *words, a = draw(count), b = draw(count);
        used += (size_t)snprintf(text + used, size - used, "%s%s", words[a < b ? a : b],
                                 draw(9) == 0   ? ".\n"
                                 : draw(9) == 0 ? ", "
                                                : " ");
    }
    text[used++] = '\n';
    text[used] = '\0';
    return used;
}

static char model_path[1024];

/* A folder of token files whose model is trained on the whole corpus. */
static locus_status train(const char *corpus, const char *folder, size_t vocabulary, locus_error *error) {
    const lab_text_source source = {.texts = {corpus, corpus, corpus}, .vocabulary = vocabulary};
    lab_text_facts facts;
    return lab_text_make(folder, &source, NULL, &facts, error);
}

static int set_up(void **state) {
    static char text[20000];
    if (scratch_create(state) != 0)
        return -1;
    scratch_write("corpus", text, make_text(text, sizeof text));
    snprintf(model_path, sizeof model_path, "%s", scratch_path("made/tokenizer.model"));
    locus_error error;
    if (train(scratch_path("corpus"), scratch_path("made"), 420, &error) == LOCUS_OK)
        return 0;
    fprintf(stderr, "%s\n", error.message);
    return -1;
}

/* ---- round trips ---- */

/* Token by token, each time with room for what a token may need and no more. */
static char *decode(const lab_tokenizer *tokenizer, const int32_t *tokens, size_t count, size_t *bytes) {
    lab_detokenizer detokenizer = {.tokenizer = tokenizer};
    char *text = malloc(256 * (count + 1));
    assert_non_null(text);
    *bytes = 0;
    for (size_t i = 0; i <= count; i++) {
        char *room = malloc(256);
        assert_non_null(room);
        const size_t came = i < count ? lab_detokenizer_add(&detokenizer, tokens[i], room, 256)
                                      : lab_detokenizer_end(&detokenizer, room, 256);
        assert_int_equal(lab_utf8_check(room, came), came); /* characters come whole */
        memcpy(text + *bytes, room, came);
        *bytes += came;
        free(room);
    }
    return text;
}

static size_t round_trip(const lab_tokenizer *tokenizer, const char *text, size_t bytes) {
    int32_t *tokens;
    size_t count, used;
    ok(lab_tokenizer_encode(tokenizer, text, bytes, &tokens, &count, &why));
    char *back = decode(tokenizer, tokens, count, &used);
    assert_int_equal(used, bytes);
    assert_memory_equal(back, text, bytes);
    for (size_t i = 0; i < count; i++)
        assert_in_range(tokens[i], 0, lab_tokenizer_vocabulary(tokenizer) - 1);
    free(back);
    free(tokens);
    return count;
}

static void nasty_texts_come_back(void **state) {
    static const char nul[] = "a\0b\0\0c\n\0";
    static const char *const texts[] = {
        "",
        "\n",
        "\n\n\n",
        " ",
        "   ",
        "   \n    \n ",
        "no line end",
        "the sentence \n",
        "  two   three    four  ",
        "tab\tand\t\ttabs\t\n\t",
        "CR\rLF\r\nthe\r",
        "\v\f\x1c\x1d\x7f\x01",
        "mark \xE2\x96\x81 and \xE2\x96\x81\xE2\x96\x81x\xE2\x96\x81",
        "block \xE2\x96\x85 half \xE2\x96\x80",
        "<unk> <s> </s> <0x41><0x0A> <pad>",
        "emoji \xF0\x9F\x98\x80\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9 end",
        "e\xCC\x81 \xC3\xA9 \xEF\xAC\x81 \xE2\x84\xAB \xC2\xA0 \xE3\x80\x80 \xE2\x80\xA8 \xC2\x85|",
        "\xEF\xBB\xBF begins with a mark, \xEF\xBF\xBD \xEF\xBF\xBF \xF4\x8F\xBF\xBF",
        "\xE4\xB8\xAD\xE5\x9B\xBD\xE8\xAF\x9D \xED\x95\x9C\xEA\xB5\xAD",
        "-1 --model=x \"'\\ $(ls) ; | & %s %n",
    };
    lab_tokenizer *tokenizer;
    (void)state;
    ok(lab_tokenizer_open_sentencepiece(&tokenizer, model_path, &why));
    assert_int_equal(lab_tokenizer_get_kind(tokenizer), LAB_TOKENIZER_SENTENCEPIECE);
    assert_int_equal(lab_tokenizer_vocabulary(tokenizer), 420);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        round_trip(tokenizer, texts[i], strlen(texts[i]));
    round_trip(tokenizer, nul, sizeof nul - 1);
    lab_tokenizer_close(&tokenizer);
}

static void random_texts_come_back(void **state) {
    static const uint32_t bounds[] = {0x80, 0x100, 0x800, 0x3000, 0xD800, 0x110000};
    static const char *const parts[] = {" ", "  ", "\n", "\t", "\xE2\x96\x81", "the", " sentence", "\r\n"};
    lab_tokenizer *tokenizer;
    (void)state;
    ok(lab_tokenizer_open_sentencepiece(&tokenizer, model_path, &why));
    for (int trial = 0; trial < 30; trial++) {
        char text[4096];
        size_t used = 0;
        while (used < sizeof text - 16) {
            const uint32_t code = draw(bounds[draw(6)]);
            if (draw(3) == 0) {
                used += (size_t)snprintf(text + used, 16, "%s", parts[draw(8)]);
            } else if (code < 0x80) {
                text[used++] = (char)code;
            } else if (code < 0x800) {
                text[used++] = (char)(0xC0 | code >> 6), text[used++] = (char)(0x80 | (code & 63));
            } else if (code < 0x10000 && !(code >= 0xD800 && code < 0xE000)) {
                text[used++] = (char)(0xE0 | code >> 12), text[used++] = (char)(0x80 | (code >> 6 & 63));
                text[used++] = (char)(0x80 | (code & 63));
            } else if (code >= 0x10000) {
                text[used++] = (char)(0xF0 | code >> 18), text[used++] = (char)(0x80 | (code >> 12 & 63));
                text[used++] = (char)(0x80 | (code >> 6 & 63)), text[used++] = (char)(0x80 | (code & 63));
            }
        }
        assert_int_equal(lab_utf8_check(text, used), used);
        round_trip(tokenizer, text, used);
    }
    lab_tokenizer_close(&tokenizer);
}

/* Words that were trained on take fewer tokens than bytes; unknown ones never more than bytes. */
static void pieces_are_shorter_than_bytes(void **state) {
    static const char known[] = "the sentence and the piece of the house\n", other[] = "\xE4\xB8\xAD\xE5\x9B\xBD\n";
    lab_tokenizer *tokenizer;
    (void)state;
    ok(lab_tokenizer_open_sentencepiece(&tokenizer, model_path, &why));
    assert_true(round_trip(tokenizer, known, sizeof known - 1) <= 12);
    assert_int_equal(round_trip(tokenizer, other, sizeof other - 1), sizeof other - 1);
    lab_tokenizer_close(&tokenizer);
}

static void tokens_out_of_order_are_still_text(void **state) {
    lab_tokenizer *tokenizer;
    int32_t tokens[600];
    size_t used;
    (void)state;
    ok(lab_tokenizer_open_sentencepiece(&tokenizer, model_path, &why));
    for (int trial = 0; trial < 200; trial++) {
        for (size_t i = 0; i < 600; i++)
            tokens[i] = (int32_t)draw(440) - 10; /* some are none */
        free(decode(tokenizer, tokens, 600, &used));
    }
    lab_tokenizer_close(&tokenizer);
}

static void a_folder_keeps_its_tokenizer(void **state) {
    lab_tokenizer *tokenizer, *again;
    locus_error error = {0};
    int32_t *a, *b;
    size_t n, m;
    (void)state;
    ok(lab_directory_create(scratch_path("run"), &why));
    ok(lab_tokenizer_open_folder(&again, scratch_path("run"), &why));
    assert_int_equal(lab_tokenizer_get_kind(again), LAB_TOKENIZER_BYTES);
    ok(lab_tokenizer_copy(again, scratch_path("run"), &why));
    lab_tokenizer_close(&again);
    ok(lab_tokenizer_open_sentencepiece(&tokenizer, model_path, &why));
    ok(lab_tokenizer_copy(tokenizer, scratch_path("run"), &why));
    ok(lab_tokenizer_open_folder(&again, scratch_path("run"), &why));
    assert_int_equal(lab_tokenizer_get_kind(again), LAB_TOKENIZER_SENTENCEPIECE);
    ok(lab_tokenizer_encode(tokenizer, "the piece", 9, &a, &n, &why));
    ok(lab_tokenizer_encode(again, "the piece", 9, &b, &m, &why));
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n * sizeof *a);
    free(a);
    free(b);
    lab_tokenizer_close(&again);
    lab_tokenizer_close(&tokenizer);
    lab_tokenizer_close(&tokenizer);
    assert_int_equal(lab_tokenizer_open_folder(&again, scratch_path("nowhere"), &error), LOCUS_ERROR_IO);
    expect_line(&error, "No such file");
    assert_null(again);
}

/* ---- models made elsewhere ---- */

static void train_otherwise(const char *name, const char *size, const char *fallback) {
    char input[1100], prefix[1100];
    lab_child_folder folder;
    snprintf(input, sizeof input, "--input=%s", scratch_path("corpus"));
    snprintf(prefix, sizeof prefix, "--model_prefix=%s", scratch_path(name));
    const char *const words[] = {"spm_train", input, prefix, size, fallback, "--minloglevel=1", NULL};
    ok(lab_child_open(&folder, &why));
    ok(lab_child_run(&folder, words, "sentencepiece", &why));
    lab_child_close(&folder);
}

/* SentencePiece's own defaults: unigram, NFKC, a space before each line, unknown pieces. */
static void what_a_vocabulary_lacks_is_named(void **state) {
    static const char *const bad[][2] = {
        {"the house \xE2\x98\x83 the", "lacks the character '\xE2\x98\x83' (U+2603) of line 1"},
        {"\xF0\x9F\x98\x80", "lacks the character '\xF0\x9F\x98\x80' (U+1F600) of line 1"},
        {"the house\nof water", "lacks the line end of line 1"},
    };
    lab_tokenizer *tokenizer;
    locus_error error = {0};
    (void)state;
    train_otherwise("plain", "--vocab_size=50", "--byte_fallback=false");
    ok(lab_tokenizer_open_sentencepiece(&tokenizer, scratch_path("plain.model"), &why));
    assert_int_equal(lab_tokenizer_vocabulary(tokenizer), 50);
    round_trip(tokenizer, "the house of water", 18);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int32_t *tokens;
        size_t count;
        assert_int_equal(lab_tokenizer_encode(tokenizer, bad[i][0], strlen(bad[i][0]), &tokens, &count, &error),
                         LOCUS_ERROR_IO);
        expect_line(&error, bad[i][1]);
        assert_null(tokens);
    }
    lab_tokenizer_close(&tokenizer);
}

static void spaces_before_lines_go_again(void **state) {
    lab_tokenizer *tokenizer;
    (void)state;
    train_otherwise("llama", "--vocab_size=305", "--byte_fallback=true");
    ok(lab_tokenizer_open_sentencepiece(&tokenizer, scratch_path("llama.model"), &why));
    round_trip(tokenizer, "the house\nof water\n\nand a \xE2\x98\x83 piece\n", 36);
    lab_tokenizer_close(&tokenizer);
}

/* ---- failures ---- */

static void a_damaged_model_is_refused_or_read(void **state) {
    char *data;
    size_t bytes;
    (void)state;
    ok(lab_file_read(model_path, &data, &bytes, &why));
    for (size_t trial = 0; trial < 600; trial++) {
        lab_sentencepiece_model model;
        locus_error error = {0};
        char *copy = malloc(bytes);
        assert_non_null(copy);
        memcpy(copy, data, bytes);
        const size_t length = trial < 300 ? draw((uint32_t)bytes) : bytes;
        if (trial >= 300)
            copy[draw((uint32_t)bytes)] = (char)draw(256);
        scratch_write("damaged.model", copy, length);
        free(copy);
        const locus_status status = lab_sentencepiece_read(&model, scratch_path("damaged.model"), &error);
        if (status == LOCUS_OK) {
            assert_true(model.count > 0);
            for (size_t p = 0; p < model.count; p++)
                assert_true(model.pieces[p].length <= LAB_PIECE_MOST_BYTES);
        } else {
            assert_int_equal(status, LOCUS_ERROR_IO);
            expect_line(&error, "damaged.model'");
            assert_null(model.pieces);
        }
        lab_sentencepiece_release(&model);
    }
    free(data);
}

/* A model of one piece, a byte: what of its text is not as in "<0x41>" is no byte. */
static void bytes_are_written_one_way(void **state) {
    static const struct {
        const char *text;
        bool is_byte;
    } cases[] = {{"<0x41>", true},   {"<0xFF>", true},  {"<0xff>", false}, {"<0x41", false},
                 {"<0x411>", false}, {"abc41>", false}, {"<0x41)", false}, {"<0X41>", false},
                 {"<0xG1>", false},  {"<0x1G>", false}, {"41>", false},    {"", false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t length = strlen(cases[i].text);
        char data[32] = {0x0A, (char)(length + 4), 0x0A, (char)length};
        memcpy(data + 4, cases[i].text, length);
        memcpy(data + 4 + length, "\x18\x06", 2); /* of type BYTE */
        scratch_write("byte.model", data, length + 6);
        lab_sentencepiece_model model;
        locus_error error = {0};
        const locus_status status = lab_sentencepiece_read(&model, scratch_path("byte.model"), &error);
        if ((status == LOCUS_OK) != cases[i].is_byte)
            fail_msg("'%s': %s", cases[i].text, error.message);
        if (status != LOCUS_OK)
            expect_line(&error, "is damaged: piece 0 should be a byte");
        lab_sentencepiece_release(&model);
    }
}

/* ---- the wire ---- */

static char wire[1024];
static size_t wired;

static void put_bytes(const char *bytes, size_t count) {
    memcpy(wire + wired, bytes, count);
    wired += count;
}
#define PUT(text) put_bytes(text, sizeof text - 1)

static void put_piece(const char *text, size_t length, char type) {
    const size_t whole = length + (length < 128 ? 2 : 3) + (type != 0 ? 2 : 0);
    const char head[] = {'\n', (char)(whole < 128 ? whole : 0x80 | (whole & 0x7F)), (char)(whole >> 7)};
    const char before[] = {'\n', (char)(length < 128 ? length : 0x80 | (length & 0x7F)), (char)(length >> 7)};
    put_bytes(head, whole < 128 ? 2 : 3);
    put_bytes(before, length < 128 ? 2 : 3);
    put_bytes(text, length);
    if (type != 0)
        put_bytes((const char[]){0x18, type}, 2);
}

/* `says` NULL: it is read. */
static void read_wire(lab_sentencepiece_model *model, const char *says) {
    locus_error error = {0};
    char wanted[1200];
    scratch_write("hand.model", wire, wired);
    snprintf(wanted, sizeof wanted, "'%s' %s", scratch_path("hand.model"), says == NULL ? "" : says);
    const locus_status status = lab_sentencepiece_read(model, scratch_path("hand.model"), &error);
    if ((status == LOCUS_OK) != (says == NULL))
        fail_msg("%s: %s", says == NULL ? "" : says, error.message);
    if (says != NULL) {
        assert_int_equal(status, LOCUS_ERROR_IO);
        assert_string_equal(error.message, wanted);
        assert_null(model->pieces);
    }
    wired = 0;
}

#define DAMAGED "is no SentencePiece model, or damaged"

/* A piece, then something else in the model: read, or damaged. */
static void expect_field(const char *bytes, size_t count, bool good) {
    lab_sentencepiece_model model;
    put_piece("a", 1, 0);
    put_bytes(bytes, count);
    read_wire(&model, good ? NULL : DAMAGED);
    if (good)
        assert_int_equal(model.count, 1);
    lab_sentencepiece_release(&model);
}

/* Fields of other numbers are passed over, whatever their type, to their last byte; a number has ten bytes at most. */
static void fields_are_passed_over(void **state) {
    (void)state;
    static const struct {
        const char *bytes;
        size_t whole; /* without the last byte it is cut */
    } fields[] = {{"\x10\x00", 2},
                  {"\x08\x01", 2},
                  {"\x10\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 11},
                  {"\x11"
                   "12345678",
                   9},
                  {"\x15"
                   "1234",
                   5},
                  {"\x12\x00", 2},
                  {"\x12\x03"
                   "abc",
                   5},
                  {"\x1A\x02\x18\x01", 4},
                  {"\xF8\xFF\xFF\xFF\x7F\x01", 6}};
    static const char *const bad[] = {"\x13",
                                      "\x14",
                                      "\x16",
                                      "\x17",
                                      "\x0B",
                                      "\xF8\xFF\xFF\xFF\xFF\x01\x01",
                                      "\x10\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        for (size_t cut = 0; cut < fields[i].whole; cut++)
            expect_field(fields[i].bytes, fields[i].whole - cut, cut == 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        expect_field(bad[i], strlen(bad[i]), false);
    lab_sentencepiece_model model;
    read_wire(&model, DAMAGED); /* nothing */
    PUT("\x10\x01");
    read_wire(&model, DAMAGED); /* no piece */
}

static void pieces_are_of_a_type(void **state) {
    (void)state;
    lab_sentencepiece_model model;
    char longest[242];
    memset(longest, 'x', sizeof longest);
    for (char type = 0; type <= 8; type++) {
        put_piece("<unk>", 5, 2);
        put_piece(type == 6 ? "<0x41>" : "a", type == 6 ? 6 : 1, type); /* 0: nothing is said of it */
        read_wire(&model, type <= 6 ? NULL : DAMAGED ": piece 1");
        if (type <= 6) {
            assert_int_equal(model.count, 2);
            assert_int_equal(model.pieces[1].type, type == 0 ? 1 : type);
            assert_int_equal(model.pieces[1].length, type != 2 && type != 3);
            assert_int_equal(model.unknown, type == 2);
            assert_int_equal(model.bytes['A'], type == 6 ? 1 : -1);
            assert_true(model.pieces[1].length == 0 || model.texts[model.pieces[1].start] == (type == 6 ? 'A' : 'a'));
        }
        lab_sentencepiece_release(&model);
    }
    put_piece("a", 1, 1);
    PUT("\n\x05\n\x01z\x18\x00"); /* a type of 0 that is said */
    read_wire(&model, DAMAGED ": piece 1");
    put_piece("a", 1, 1);
    put_piece("\xC3", 1, 1);
    read_wire(&model, DAMAGED ": piece 1");
    put_piece(longest, 240, 1);
    put_piece("", 0, 1);
    read_wire(&model, NULL);
    assert_true(model.pieces[0].length == 240 && model.pieces[1].length == 0 && model.unknown == -1);
    lab_sentencepiece_release(&model);
    put_piece("a", 1, 1);
    put_piece(longest, 241, 1);
    read_wire(&model, "has piece 1 of 241 bytes: at most 240 are read");
}

/* Marks are spaces, wherever they stand; nothing that begins like one is. */
static void marks_are_spaces(void **state) {
    (void)state;
    static const char text[] = "\xE2\x96\x81"
                               "a"
                               "\xE2\x96\x81\xE2\x96\x82"
                               "b"
                               "\xE2\x96\x81";
    lab_sentencepiece_model model;
    put_piece(text, sizeof text - 1, 1);
    put_piece("c", 1, 4);
    read_wire(&model, NULL);
    assert_int_equal(model.pieces[0].length, 8);
    assert_memory_equal(model.texts,
                        " a \xE2\x96\x82"
                        "b c",
                        9);
    assert_int_equal(model.pieces[1].start, 8);
    lab_sentencepiece_release(&model);
}

/* The piece of a line's end is one of that text, else the byte; the space before lines is there unless it is said not
 * to be. */
static void what_models_say_of_lines(void **state) {
    (void)state;
    static const struct {
        const char *piece;
        char type;
        bool byte;
        int32_t line_end;
    } cases[] = {{"\n", 1, true, 1},   {"\n", 4, true, 1}, {"\n", 1, false, 1}, {"\n", 3, true, 2},
                 {"\n", 3, false, -1}, {"a", 1, true, 2},  {"\na", 1, true, 2}, {"a\n", 1, false, -1}};
    static const struct {
        const char *bytes;
        size_t count;
        bool prefix;
    } prefixes[] = {{"", 0, true},
                    {"\x1A\x00", 2, true},
                    {"\x1A\x02\x18\x00", 4, false},
                    {"\x1A\x02\x18\x01", 4, true},
                    {"\x1A\x02\x10\x00", 4, true},
                    {"\x1A\x02\x1A\x00", 4, true},
                    {"\x18\x00", 2, true},
                    {"\x12\x02\x18\x00", 4, true}};
    lab_sentencepiece_model model;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_piece("z", 1, 1);
        put_piece(cases[i].piece, strlen(cases[i].piece), cases[i].type);
        if (cases[i].byte)
            put_piece("<0x0A>", 6, 6);
        put_piece("y", 1, 1);
        read_wire(&model, NULL);
        if (model.line_end != cases[i].line_end)
            fail_msg("case %zu: %d", i, (int)model.line_end);
        lab_sentencepiece_release(&model);
    }
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
        put_piece("z", 1, 1);
        put_bytes(prefixes[i].bytes, prefixes[i].count);
        read_wire(&model, NULL);
        assert_int_equal(model.dummy_prefix, prefixes[i].prefix);
        lab_sentencepiece_release(&model);
    }
}

/* ---- what the program answers ---- */

/* A model of bytes, and of pieces of two letters that are none. */
static void put_model(const char *const *bytes, size_t count) {
    char data[128];
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        const char type = strlen(bytes[i]) == 2 ? LAB_PIECE_BYTE : LAB_PIECE_NORMAL;
        used += (size_t)snprintf(data + used, sizeof data - used, "\n%c\n%c", type == LAB_PIECE_BYTE ? 10 : 7,
                                 type == LAB_PIECE_BYTE ? 6 : 3);
        used += (size_t)snprintf(data + used, sizeof data - used, type == LAB_PIECE_BYTE ? "<0x%s>" : "%s", bytes[i]);
        used += (size_t)snprintf(data + used, sizeof data - used, "\x18%c", type);
    }
    scratch_write("hand.model", data, used);
}

/* What a text becomes where spm_encode says `answer` of each line. */
static locus_status encode_by(const char *answer, const char *text, int32_t **tokens, size_t *count,
                              locus_error *error) {
    lab_sentencepiece_model model;
    char script[512], path[1024], search[4096];
    const int length = snprintf(script, sizeof script,
                                "#!/bin/sh\nPATH=/usr/bin:/bin\nfor word; do case $word in\n"
                                "--input=*) from=${word#--input=} ;;\n--output=*) to=${word#--output=} ;;\n"
                                "esac; done\nsed '%s' <\"$from\" >\"$to\"\n",
                                answer);
    scratch_write("spm_encode", script, (size_t)length);
    assert_int_equal(chmod(scratch_path("spm_encode"), 0755), 0);
    snprintf(path, sizeof path, "%s", scratch_path("hand.model"));
    snprintf(search, sizeof search, "%s", getenv("PATH"));
    ok(lab_sentencepiece_read(&model, path, &why));
    assert_int_equal(setenv("PATH", scratch_path(""), 1), 0);
    const locus_status status = lab_sentencepiece_encode(&model, path, text, strlen(text), tokens, count, error);
    assert_int_equal(setenv("PATH", search, 1), 0);
    assert_int_equal(unlink(scratch_path("spm_encode")), 0);
    lab_sentencepiece_release(&model);
    return status;
}

/* Bytes of separators are the model's, whichever of them is its first piece. Where one of the three of a mark is
 * missing, the mark is the program's affair. */
static void separators_are_bytes(void **state) {
    static const char *const bytes[] = {"E2", "96", "81", "0A"};
    const char *turned[4];
    int32_t *tokens;
    size_t count;
    locus_error error = {0};
    (void)state;
    for (size_t first = 0; first < 4; first++) {
        for (size_t i = 0; i < 4; i++)
            turned[(i + first) % 4] = bytes[i];
        put_model(turned, 4);
        ok(encode_by("s/.*/9/", "\xE2\x96\x81\n", &tokens, &count, &why));
        assert_int_equal(count, 4);
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(tokens[i], (i + first) % 4);
        free(tokens);
        for (size_t i = 0; i < 4; i++)
            turned[i] = i == first ? "abc" : bytes[i];
        put_model(turned, 4);
        const locus_status status = encode_by("s/.*/1/", "\xE2\x96\x81\n", &tokens, &count, &error);
        assert_int_equal(status, first < 3 ? LOCUS_OK : LOCUS_ERROR_IO);
        if (first == 3) {
            expect_line(&error, "hand.model' lacks the line end of line 1: take a model that has bytes for");
            continue;
        }
        assert_int_equal(count, 2);
        assert_true(tokens[0] == 1 && tokens[1] == 3);
        free(tokens);
    }
}

/* Numbers of pieces, and a line of them for each that was given. */
static void answers_are_held_against_the_model(void **state) {
    static const char *const bytes[] = {"abc", "0A", "abd"};
    static const struct {
        const char *answer;
        size_t count; /* of tokens, with two for the ends of lines */
        const char *says;
    } cases[] = {
        {"s/.*/0/", 4, NULL},
        {"s/.*/2 0 1/", 8, NULL},
        {"s/.*/0  2 /", 6, NULL},
        {"s/.*//", 2, NULL},
        {"s/.*/3/", 0, "spm_encode gave something else than tokens of '"},
        {"s/.*/0 3/", 0, "spm_encode gave something else than tokens of '"},
        {"s/.*/-1/", 0, "spm_encode gave something else than tokens of '"},
        {"s/.*/x/", 0, "spm_encode gave something else than tokens of '"},
        {"s/.*/0 x/", 0, "spm_encode gave something else than tokens of '"},
        {"d", 0, "spm_encode gave 0 lines for 2"},
        {"1d", 0, "spm_encode gave 1 lines for 2"},
        {"p", 0, "spm_encode gave 4 lines for 2"},
    };
    (void)state;
    put_model(bytes, 3);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int32_t *tokens = NULL;
        size_t count = 0;
        locus_error error = {0};
        const locus_status status = encode_by(cases[i].answer, "abc\nabd\n", &tokens, &count, &error);
        if ((status == LOCUS_OK) != (cases[i].says == NULL) || count != cases[i].count)
            fail_msg("case %zu: %zu, '%s'", i, count, error.message);
        if (status != LOCUS_OK)
            expect_line(&error, cases[i].says);
        free(tokens);
    }
}

static void complaints_are_one_line(void **state) {
    lab_tokenizer *tokenizer;
    locus_error error = {0};
    int32_t *tokens;
    size_t count;
    (void)state;
    assert_int_equal(train(scratch_path("corpus"), scratch_path("x"), 100000, &error), LOCUS_ERROR_IO);
    expect_line(&error, "spm_train failed: Vocabulary size too high (100000)");
    assert_int_equal(train(scratch_path("corpus"), scratch_path("x"), 260, &error), LOCUS_ERROR_IO);
    expect_line(&error, "Vocabulary size is smaller than required_chars");
    assert_int_equal(train(scratch_path("nothing"), scratch_path("x"), 300, &error), LOCUS_ERROR_IO);
    expect_line(&error, "No such file");
    scratch_write("ends", "\n\n\n", 3);
    assert_int_equal(train(scratch_path("ends"), scratch_path("x"), 300, &error), LOCUS_ERROR_IO);
    expect_line(&error, "the text is empty");
    scratch_write("latin", "\nb\nc\xE9t\xE9\n", 8);
    assert_int_equal(train(scratch_path("latin"), scratch_path("x"), 300, &error), LOCUS_ERROR_IO);
    expect_line(&error, "is no UTF-8: byte 0xe9 at offset 4, in line 3");
    assert_int_equal(access(scratch_path("x"), F_OK), -1);
    assert_int_equal(lab_tokenizer_open_sentencepiece(&tokenizer, scratch_path("corpus"), &error), LOCUS_ERROR_IO);
    expect_line(&error, "is no SentencePiece model");
    assert_null(tokenizer);

    char *path = strdup(getenv("PATH"));
    ok(lab_tokenizer_open_sentencepiece(&tokenizer, model_path, &why));
    assert_int_equal(setenv("PATH", scratch_path(""), 1), 0);
    assert_int_equal(lab_tokenizer_encode(tokenizer, "abc", 3, &tokens, &count, &error), LOCUS_ERROR_UNSUPPORTED);
    expect_line(&error, "spm_encode is not on the PATH: install it (Debian: sentencepiece)");
    assert_int_equal(setenv("PATH", path, 1), 0);
    lab_tokenizer_close(&tokenizer);
    free(path);
}

static void no_temporary_folder_is_left(void **state) {
    char *old = getenv("TMPDIR") != NULL ? strdup(getenv("TMPDIR")) : NULL;
    lab_tokenizer *tokenizer;
    (void)state;
    ok(lab_directory_create(scratch_path("temporary"), &why));
    assert_int_equal(setenv("TMPDIR", scratch_path("temporary"), 1), 0);
    ok(lab_tokenizer_open_sentencepiece(&tokenizer, model_path, &why));
    round_trip(tokenizer, "the piece\n", 10);
    assert_int_equal(train(scratch_path("corpus"), scratch_path("x"), 260, NULL), LOCUS_ERROR_IO);
    lab_tokenizer_close(&tokenizer);
    assert_int_equal(rmdir(scratch_path("temporary")), 0); /* it is empty */
    assert_int_equal(old != NULL ? setenv("TMPDIR", old, 1) : unsetenv("TMPDIR"), 0);
    free(old);
}

/* ---- folders ---- */

static void expect_set(const char *folder, const char *set, const char *text, size_t bytes) {
    lab_tokenizer *tokenizer;
    lab_token_file file;
    size_t used;
    char *path = lab_token_file_path(folder, set);
    ok(lab_tokenizer_open_folder(&tokenizer, folder, &why));
    ok(lab_token_file_open(&file, path, &why));
    assert_int_equal(file.vocabulary, lab_tokenizer_vocabulary(tokenizer));
    int32_t *tokens = malloc(file.tokens * sizeof *tokens);
    lab_token_file_read(&file, 0, file.tokens, tokens);
    char *back = decode(tokenizer, tokens, file.tokens, &used), first[256];
    assert_int_equal(used, bytes);
    assert_memory_equal(back, text, bytes);
    lab_detokenizer one = {.tokenizer = tokenizer};
    assert_int_equal(file.predicted_bytes, bytes - lab_detokenizer_add(&one, tokens[0], first, sizeof first));
    lab_token_file_close(&file);
    lab_tokenizer_close(&tokenizer);
    free(back);
    free(tokens);
    free(path);
}

/* A run keeps its text's tokenizer, byte for byte; of bytes there is none. */
static void expect_kept(const char *folder, bool has_model) {
    const lab_train_config config = {.task = lab_task_find("text"), .data.path = folder};
    char *made = NULL, *kept = NULL, path[1100];
    size_t made_bytes, kept_bytes;
    ok(lab_train_keep(&config, scratch_path("."), &why));
    assert_int_equal(access(scratch_path("tokenizer.model"), F_OK), has_model ? 0 : -1);
    if (!has_model)
        return;
    snprintf(path, sizeof path, "%s/tokenizer.model", folder);
    ok(lab_file_read(path, &made, &made_bytes, &why));
    ok(lab_file_read(scratch_path("tokenizer.model"), &kept, &kept_bytes, &why));
    assert_int_equal(kept_bytes, made_bytes);
    assert_memory_equal(kept, made, made_bytes);
    assert_int_equal(unlink(scratch_path("tokenizer.model")), 0);
    free(made);
    free(kept);
}

static void a_text_is_parted_at_line_ends(void **state) {
    char *text;
    size_t bytes;
    lab_text_facts facts, seen;
    (void)state;
    ok(lab_file_read(scratch_path("corpus"), &text, &bytes, &why));
    char corpus[1024], folder[1024], spaced[1024];
    snprintf(corpus, sizeof corpus, "%s", scratch_path("corpus"));
    snprintf(folder, sizeof folder, "%s", scratch_path("made-text"));
    snprintf(spaced, sizeof spaced, "%s", scratch_path("spaced.model"));
    train_otherwise("spaced", "--vocab_size=305", "--byte_fallback=true");
    for (int kind = 0; kind < 3; kind++) { /* of bytes, of a model of its own, of one that puts a space before lines */
        const size_t vocabulary = kind == 1 ? 400 : 0;
        const lab_text_source source = {
            .texts = {corpus, NULL, NULL}, .vocabulary = vocabulary, .model = kind == 2 ? spaced : NULL};
        ok(lab_text_make(folder, &source, NULL, &facts, &why));
        if (kind < 2)
            assert_int_equal(facts.vocabulary, vocabulary > 0 ? vocabulary : 256);
        assert_int_equal(facts.bytes[0] + facts.bytes[1] + facts.bytes[2], bytes);
        for (int s = 1; s < LAB_TEXT_SETS; s++)
            assert_true(20 * facts.bytes[s] <= bytes + 20 * 200 && 20 * facts.bytes[s] + 20 * 200 >= bytes);
        size_t at = 0;
        for (int s = 0; s < LAB_TEXT_SETS; s++) {
            assert_true(at == 0 || text[at - 1] == '\n');
            if (kind < 2 || s == 0) /* its defaults leave spaces at the ends of lines out */
                expect_set(folder, lab_text_set_names[s], text + at, facts.bytes[s]);
            at += facts.bytes[s];
        }
        expect_kept(folder, kind > 0);
        ok(lab_text_look(folder, &seen, &why));
        assert_int_equal(seen.vocabulary, facts.vocabulary);
        assert_int_equal(seen.kind, facts.kind);
        assert_memory_equal(seen.tokens, facts.tokens, sizeof seen.tokens);
        assert_memory_equal(seen.bytes, facts.bytes, sizeof seen.bytes);
        assert_memory_equal(seen.predicted_bytes, facts.predicted_bytes, sizeof seen.predicted_bytes);
    }
    /* Back to bytes: the model of before is none of this text. */
    const lab_text_source bytes_source = {.texts = {corpus, corpus, NULL}};
    ok(lab_text_make(folder, &bytes_source, NULL, &facts, &why));
    assert_int_equal(facts.bytes[1], bytes);
    assert_int_equal(facts.bytes[0] + facts.bytes[2], bytes);
    assert_int_equal(access(scratch_path("made-text/tokenizer.model"), F_OK), -1);
    expect_set(folder, "dev", text, bytes);
    free(text);
}

static void refuse_text(const lab_text_source *source, const char *part) {
    lab_text_facts facts;
    locus_error error = {0};
    const size_t before = scratch_count();
    assert_int_equal(lab_text_make(scratch_path("refused"), source, NULL, &facts, &error), LOCUS_ERROR_IO);
    expect_line(&error, part);
    assert_int_equal(scratch_count(), before);
}

static bool stop_at_once(void *context, const char *phase, uint64_t done, uint64_t total) {
    (void)context, (void)phase, (void)done, (void)total;
    return false;
}

static void bad_texts_leave_nothing(void **state) {
    char corpus[1024], empty[1024], latin[1024], line[1024], snow[1024], model[1024];
    (void)state;
    scratch_write("empty", "", 0);
    scratch_write("latin", "ab\nc\xE9t\xE9\n", 8);
    scratch_write("line", "all in one line, with no end", 28);
    scratch_write("snow", "the house\n\xE2\x98\x83\n", 14);
    snprintf(corpus, sizeof corpus, "%s", scratch_path("corpus"));
    snprintf(empty, sizeof empty, "%s", scratch_path("empty"));
    snprintf(latin, sizeof latin, "%s", scratch_path("latin"));
    snprintf(line, sizeof line, "%s", scratch_path("line"));
    snprintf(snow, sizeof snow, "%s", scratch_path("snow"));
    snprintf(model, sizeof model, "%s", scratch_path("plain.model"));
    refuse_text(&(lab_text_source){.texts = {empty}}, "empty' is empty");
    refuse_text(&(lab_text_source){.texts = {corpus, empty}}, "empty' is empty");
    refuse_text(&(lab_text_source){.texts = {corpus, NULL, latin}}, "latin' is no UTF-8: byte 0xe9 at offset 4");
    refuse_text(&(lab_text_source){.texts = {line}}, "too few lines to take the test set from its end");
    refuse_text(&(lab_text_source){.texts = {corpus}, .vocabulary = 99999}, "Vocabulary size too high (99999)");
    refuse_text(&(lab_text_source){.texts = {snow, line, line}, .model = model}, "train set: the vocabulary of");
    refuse_text(&(lab_text_source){.texts = {corpus}, .model = empty}, "is no SentencePiece model");

    lab_text_facts facts;
    locus_error error = {0};
    const lab_watch watch = {stop_at_once, NULL};
    const lab_text_source source = {.texts = {corpus}};
    assert_int_equal(lab_text_make(scratch_path("refused"), &source, &watch, &facts, &error), LOCUS_ERROR_INTERRUPTED);
    /* A place that cannot be a folder. */
    assert_int_equal(lab_text_make(corpus, &source, NULL, &facts, &error), LOCUS_ERROR_IO);
    expect_line(&error, "Not a directory");
}

static bool on_path(const char *program) {
    const char *path = getenv("PATH");
    while (path != NULL && *path != '\0') {
        char file[1200];
        const size_t length = strcspn(path, ":");
        snprintf(file, sizeof file, "%.*s/%s", (int)length, path, program);
        if (access(file, X_OK) == 0)
            return true;
        path += length + (path[length] == ':');
    }
    return false;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nasty_texts_come_back),
        cmocka_unit_test(random_texts_come_back),
        cmocka_unit_test(pieces_are_shorter_than_bytes),
        cmocka_unit_test(tokens_out_of_order_are_still_text),
        cmocka_unit_test(a_folder_keeps_its_tokenizer),
        cmocka_unit_test(what_a_vocabulary_lacks_is_named),
        cmocka_unit_test(spaces_before_lines_go_again),
        cmocka_unit_test(a_damaged_model_is_refused_or_read),
        cmocka_unit_test(bytes_are_written_one_way),
        cmocka_unit_test(fields_are_passed_over),
        cmocka_unit_test(pieces_are_of_a_type),
        cmocka_unit_test(marks_are_spaces),
        cmocka_unit_test(what_models_say_of_lines),
        cmocka_unit_test(separators_are_bytes),
        cmocka_unit_test(answers_are_held_against_the_model),
        cmocka_unit_test(complaints_are_one_line),
        cmocka_unit_test(no_temporary_folder_is_left),
        cmocka_unit_test(a_text_is_parted_at_line_ends),
        cmocka_unit_test(bad_texts_leave_nothing),
    };
    if (!on_path("spm_train") || !on_path("spm_encode")) {
        printf("spm_train and spm_encode are not on the PATH\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, set_up, scratch_remove);
}
