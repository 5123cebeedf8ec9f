/* SPDX-License-Identifier: MIT */
/* Token files and the task made of them: what is written is read, every token but the first is predicted once, and no
 * damage of a file passes unseen. */
#include "io/digest.h"
#include "io/fail.h"
#include "io/file.h"
#include "io/temporary.h"
#include "model/architecture.h"
#include "task/task_class.h"
#include "task/text_task.h"
#include "text/text_folder.h"
#include "text/token_file.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/heard.h"
#include "unit/scratch_folder.h"

static uint64_t drawn = 1;

static uint32_t draw(void) {
    drawn = drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(drawn >> 33);
}

static int32_t *random_tokens(size_t count, size_t vocabulary) {
    int32_t *tokens = malloc((count + 1) * sizeof *tokens);
    assert_non_null(tokens);
    for (size_t i = 0; i < count; i++)
        tokens[i] = (int32_t)(draw() % vocabulary);
    if (count > 0)
        tokens[count / 2] = (int32_t)(vocabulary - 1);
    return tokens;
}

static void write_tokens(const char *name, const int32_t *tokens, size_t count, size_t vocabulary, uint64_t bytes) {
    const lab_token_file_content content = {vocabulary, count, tokens, bytes};
    locus_error error = {0};
    if (lab_token_file_write(scratch_path(name), &content, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
}

static void expect_line(const locus_error *error, const char *part) {
    assert_null(strchr(error->message, '\n'));
    if (strstr(error->message, part) == NULL)
        fail_msg("expected '%s' in: %s", part, error->message);
}

/* ---- files ---- */

static void what_is_written_is_read(void **state) {
    static const struct {
        size_t vocabulary, count, width;
    } cases[] = {{2, 7, 1},        {256, 5000, 1},  {257, 5000, 2},       {65536, 12345, 2},
                 {65537, 4096, 4}, {1000000, 1, 4}, {INT32_MAX, 4097, 4}, {300, 0, 2}};
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const size_t count = cases[c].count;
        int32_t *tokens = random_tokens(count, cases[c].vocabulary), got[100];
        lab_token_file file;
        locus_error error = {0};
        struct stat facts;
        write_tokens("a.tokens", tokens, count, cases[c].vocabulary, 3 * count);
        assert_int_equal(stat(scratch_path("a.tokens"), &facts), 0);
        assert_int_equal(facts.st_size, 48 + count * cases[c].width);
        if (lab_token_file_open(&file, scratch_path("a.tokens"), &error) != LOCUS_OK)
            fail_msg("%s", error.message);
        assert_int_equal(file.tokens, count);
        assert_int_equal(file.vocabulary, cases[c].vocabulary);
        assert_int_equal(file.token_bytes, cases[c].width);
        assert_int_equal(file.predicted_bytes, 3 * count);
        for (size_t first = 0; first < count; first += 97) {
            const size_t part = count - first < 97 ? count - first : 97;
            lab_token_file_read(&file, first, part, got);
            assert_memory_equal(got, tokens + first, part * sizeof *got);
        }
        lab_token_file_close(&file);
        lab_token_file_close(&file);
        free(tokens);
    }
}

/* Three tokens that end where memory that may be read does. */
static void nothing_is_read_behind_the_last(void **state) {
    static const struct {
        size_t width;
        int32_t tokens[3];
    } cases[] = {{1, {1, 2, 3}}, {2, {0x0201, 0x0403, 0x0605}}, {4, {0x04030201, 0x08070605, 0x0c0b0a09}}};
    (void)state;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = calloc(2, page);
    assert_non_null(pages);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const size_t bytes = 3 * cases[c].width;
        int32_t got[3];
        for (size_t i = 0; i < bytes; i++)
            pages[page - bytes + i] = (char)(i + 1);
        scratch_write("pages", pages, 2 * page);
        const int file = open(scratch_path("pages"), O_RDONLY);
        assert_true(file >= 0);
        char *map = mmap(NULL, 2 * page, PROT_READ, MAP_PRIVATE, file, 0);
        close(file);
        assert_true(map != MAP_FAILED && mprotect(map + page, page, PROT_NONE) == 0);
        const lab_token_file tokens = {.data = map + page - bytes - 48,
                                       .data_bytes = 48 + bytes,
                                       .token_bytes = cases[c].width,
                                       .vocabulary = INT32_MAX,
                                       .tokens = 3};
        lab_token_file_read(&tokens, 0, 3, got);
        assert_memory_equal(got, cases[c].tokens, sizeof got);
        assert_int_equal(munmap(map, 2 * page), 0);
    }
    free(pages);
}

/* How often a file is mapped into memory; 0 where the system does not tell. */
static size_t mappings(const char *name) {
    char line[4096];
    size_t count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        count += strstr(line, name) != NULL;
    if (maps != NULL)
        fclose(maps);
    return count;
}

/* A file that is closed, or was refused, is mapped no more. */
static void files_are_given_back(void **state) {
    const int32_t tokens[] = {1, 2, 3};
    lab_token_file file;
    (void)state;
    write_tokens("mapped.tokens", tokens, 3, 9, 2);
    assert_int_equal(lab_token_file_open(&file, scratch_path("mapped.tokens"), NULL), LOCUS_OK);
    const size_t told = mappings("/mapped.tokens");
    assert_true(told == 1 || access("/proc/self/maps", R_OK) != 0);
    lab_token_file_close(&file);
    assert_int_equal(mappings("/mapped.tokens"), 0);
    scratch_write("mapped.tokens", "no tokens, but long enough for a header of such a file", 54);
    assert_int_equal(lab_token_file_open(&file, scratch_path("mapped.tokens"), NULL), LOCUS_ERROR_IO);
    assert_int_equal(mappings("/mapped.tokens"), 0);
}

/* Header of a file of three tokens of one byte, by hand from the format's table: another program can write one. */
static void the_format_is_as_it_is_said(void **state) {
    static const unsigned char whole[] = {'L', 'O', 'C', 'U', 'S', 'T', 'O', 'K', 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0,
                                          0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0,
                                          /* SHA-256("abc") = ba7816bf 8f01cfea … (FIPS 180-2, B.1) */
                                          0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 'a', 'b', 'c'};
    const int32_t tokens[] = {'a', 'b', 'c'};
    char *data;
    size_t bytes;
    (void)state;
    write_tokens("abc.tokens", tokens, 3, 256, 2);
    assert_int_equal(lab_file_read(scratch_path("abc.tokens"), &data, &bytes, NULL), LOCUS_OK);
    assert_int_equal(bytes, sizeof whole);
    assert_memory_equal(data, whole, bytes);
    free(data);
}

static void refuse_open(const char *name, const char *part) {
    lab_token_file file;
    locus_error error = {0};
    assert_int_equal(lab_token_file_open(&file, scratch_path(name), &error), LOCUS_ERROR_IO);
    assert_null(file.data);
    expect_line(&error, part);
}

/* Every byte of a file changed, and every length that is too short: refused, but for the count of bytes, which is a
 * number like any other as long as it is possible. */
static void damage_is_seen(void **state) {
    int32_t *tokens = random_tokens(40, 300);
    char *data, copy[256];
    size_t bytes;
    (void)state;
    write_tokens("good.tokens", tokens, 40, 300, 90);
    free(tokens);
    assert_int_equal(lab_file_read(scratch_path("good.tokens"), &data, &bytes, NULL), LOCUS_OK);
    assert_true(bytes == 48 + 80);
    for (size_t at = 0; at < bytes; at++) {
        lab_token_file file;
        locus_error error = {0};
        memcpy(copy, data, bytes);
        copy[at] = (char)(copy[at] ^ 0x40);
        scratch_write("bad.tokens", copy, bytes);
        const locus_status status = lab_token_file_open(&file, scratch_path("bad.tokens"), &error);
        /* a larger vocabulary of the same width is another header, not damage that can be seen; so are fewer bytes */
        const bool header = at == 16 || at == 17 || at == 32 || at == 33;
        if (status == LOCUS_OK && !header)
            fail_msg("byte %zu was changed and nobody noticed", at);
        if (status != LOCUS_OK) {
            assert_int_equal(status, LOCUS_ERROR_IO);
            expect_line(&error, "bad.tokens'");
        }
        lab_token_file_close(&file);
    }
    for (size_t length = 0; length < bytes; length++) {
        scratch_write("bad.tokens", data, length);
        refuse_open("bad.tokens", length < 48 ? "is no token file" : "is cut or has grown");
    }
    memcpy(copy, data, bytes);
    copy[bytes] = 'x';
    scratch_write("bad.tokens", copy, bytes + 1);
    refuse_open("bad.tokens", "is cut or has grown");
    free(data);
}

static void each_refusal_says_what_is_wrong(void **state) {
    const int32_t tokens[] = {1, 2, 299};
    char *data;
    size_t bytes;
    (void)state;
    write_tokens("g.tokens", tokens, 3, 300, 5);
    assert_int_equal(lab_file_read(scratch_path("g.tokens"), &data, &bytes, NULL), LOCUS_OK);
    data[8] = 2;
    scratch_write("h.tokens", data, bytes);
    refuse_open("h.tokens", "version 2");
    data[8] = 1, data[12] = 3;
    scratch_write("h.tokens", data, bytes);
    refuse_open("h.tokens", "tokens of 3 bytes");
    data[12] = 1;
    scratch_write("h.tokens", data, bytes);
    refuse_open("h.tokens", "cannot number");
    data[12] = 2, data[16] = 43; /* 299 = 256 + 43 */
    scratch_write("h.tokens", data, bytes);
    refuse_open("h.tokens", "token 299 at 2, and a vocabulary of 299");
    data[49] = 1; /* the first, of 256 + 1 */
    data[16] = 0;
    scratch_write("h.tokens", data, bytes);
    refuse_open("h.tokens", "token 257 at 0, and a vocabulary of 256");
    data[49] = 0, data[16] = 43;
    data[16] = 44, data[48] = 7;
    scratch_write("h.tokens", data, bytes);
    refuse_open("h.tokens", "is damaged");
    data[48] = 1, data[40] = (char)(data[40] + 1);
    scratch_write("h.tokens", data, bytes);
    refuse_open("h.tokens", "is damaged");
    data[0] = 'l';
    scratch_write("h.tokens", data, bytes);
    refuse_open("h.tokens", "does not begin with");
    free(data);
    refuse_open("nothing.tokens", "No such file");
    refuse_open("", "is no file");
}

/* A file without tokens, or with `tokens` zeros of a byte each; the digest is that of nothing, or of two zeros. */
static void write_header(uint64_t version, uint64_t width, uint64_t vocabulary, uint64_t tokens, uint64_t bytes,
                         size_t body) {
    const uint64_t numbers[] = {version | width << 32, vocabulary, tokens, bytes};
    static const unsigned char nothing[] = {0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14},
                               zeros[] = {0x96, 0xa2, 0x96, 0xd2, 0x24, 0xf2, 0x85, 0xc6};
    unsigned char file[64] = "LOCUSTOK";
    for (size_t i = 0; i < 32; i++)
        file[8 + i] = (unsigned char)(numbers[i / 8] >> 8 * (i % 8));
    memcpy(file + 40, body == 2 ? zeros : nothing, 8);
    scratch_write("k.tokens", (const char *)file, 48 + body);
}

static void headers_have_bounds(void **state) {
    (void)state;
    static const struct {
        uint64_t version, width, vocabulary, tokens, bytes;
        size_t body;
        const char *says;
    } cases[] = {
        {1, 1, 1, 0, 0, 0, NULL},
        {1, 1, 256, 0, 0, 0, NULL},
        {1, 1, 257, 0, 0, 0, "has a vocabulary of 257, which tokens of 1 bytes cannot number"},
        {1, 2, 65536, 0, 0, 0, NULL},
        {1, 2, 65537, 0, 0, 0, "has a vocabulary of 65537, which tokens of 2 bytes cannot number"},
        {1, 4, INT32_MAX, 0, 0, 0, NULL},
        {1, 4, UINT64_C(1) << 31, 0, 0, 0, "has a vocabulary of 2147483648, which tokens of 4 bytes cannot number"},
        {1, 1, 0, 0, 0, 0, "has a vocabulary of 0, which tokens of 1 bytes cannot number"},
        {1, 0, 1, 0, 0, 0, "has tokens of 0 bytes: there are 1, 2 and 4"},
        {1, 3, 1, 0, 0, 0, "has tokens of 3 bytes: there are 1, 2 and 4"},
        {1, 5, 1, 0, 0, 0, "has tokens of 5 bytes: there are 1, 2 and 4"},
        {1, 8, 1, 0, 0, 0, "has tokens of 8 bytes: there are 1, 2 and 4"},
        {0, 1, 1, 0, 0, 0, "is a token file of version 0, and this program reads version 1"},
        {2, 1, 1, 0, 0, 0, "is a token file of version 2, and this program reads version 1"},
        {1, 1, 1, 2, 2048, 2, NULL},
        {1, 1, 1, 2, 2049, 2, "says that 2 tokens stand for 2049 bytes, which is too many"},
        {1, 1, 1, 0, 1, 0, "says that 0 tokens stand for 1 bytes, which is too many"},
        {1, 2, 1, 1, 0, 2, NULL},
        {1, 1, 1, 1, 0, 2, "is cut or has grown: 1 tokens of 1 bytes are promised in 2 bytes"},
        {1, 2, 1, 1, 0, 3, "is cut or has grown: 1 tokens of 2 bytes are promised in 3 bytes"},
        {1, 4, 1, 1, 0, 2, "is cut or has grown: 1 tokens of 4 bytes are promised in 2 bytes"},
        {1, 1, 1, 3, 0, 3, "is damaged: its tokens do not have the digest that it says"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lab_token_file file;
        locus_error error = {0};
        char says[1200] = "";
        write_header(cases[i].version, cases[i].width, cases[i].vocabulary, cases[i].tokens, cases[i].bytes,
                     cases[i].body);
        const locus_status status = lab_token_file_open(&file, scratch_path("k.tokens"), &error);
        if (cases[i].says != NULL)
            snprintf(says, sizeof says, "'%s' %s", scratch_path("k.tokens"), cases[i].says);
        assert_string_equal(error.message, says);
        assert_int_equal(status, cases[i].says != NULL ? LOCUS_ERROR_IO : LOCUS_OK);
        lab_token_file_close(&file);
    }
    static const char short_one[47] = "LOCUSTOK";
    char says[1200];
    locus_error error = {0};
    lab_token_file file;
    scratch_write("k.tokens", short_one, sizeof short_one);
    assert_int_equal(lab_token_file_open(&file, scratch_path("k.tokens"), &error), LOCUS_ERROR_IO);
    snprintf(says, sizeof says, "'%s' is no token file: it has 47 bytes, less than a header", scratch_path("k.tokens"));
    assert_string_equal(error.message, says);
}

/* Tokens are looked at in blocks of 4096; each is in one. */
static void each_token_is_looked_at(void **state) {
    (void)state;
    static const size_t places[] = {0, 1, 4095, 4096, 8191, 8192, 8193};
    static unsigned char tokens[8194];
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char says[64];
        static unsigned char file[48 + sizeof tokens] = "LOCUSTOK\1\0\0\0\1\0\0\0\2\0\0\0\0\0\0\0\2\x20";
        memset(file + 48, 1, sizeof tokens);
        file[48 + places[i]] = 2;
        scratch_write("k.tokens", (const char *)file, sizeof file);
        snprintf(says, sizeof says, "has token 2 at %zu, and a vocabulary of 2", places[i]);
        refuse_open("k.tokens", says);
    }
}

static void wrong_content_is_not_written(void **state) {
    const int32_t tokens[] = {1, -1, 3}, large[] = {1, 5, 3};
    locus_error error = {0};
    (void)state;
    lab_token_file_content content = {5, 3, tokens, 2};
    const size_t before = scratch_count();
    assert_int_equal(lab_token_file_write(scratch_path("w.tokens"), &content, &error), LOCUS_ERROR_ARGUMENT);
    expect_line(&error, "token -1 at 1");
    content.tokens = large;
    assert_int_equal(lab_token_file_write(scratch_path("w.tokens"), &content, &error), LOCUS_ERROR_ARGUMENT);
    expect_line(&error, "token 5 at 1 is not in the vocabulary of 5");
    content.vocabulary = 0;
    assert_int_equal(lab_token_file_write(scratch_path("w.tokens"), &content, &error), LOCUS_ERROR_ARGUMENT);
    assert_int_equal(scratch_count(), before);
}

/* A folder where a file belongs, or none where it shall lie. */
static void what_cannot_be_written_is_told(void **state) {
    const int32_t tokens[] = {1, 2};
    const lab_token_file_content content = {5, 2, tokens, 2};
    locus_error error = {0};
    char says[1200];
    (void)state;
    assert_int_equal(lab_token_file_write(scratch_path("nowhere/w.tokens"), &content, &error), LOCUS_ERROR_IO);
    snprintf(says, sizeof says, "cannot write '%s': No such file or directory", scratch_path("nowhere/w.tokens"));
    assert_string_equal(error.message, says);
    assert_int_equal(mkdir(scratch_path("w.tokens"), 0777), 0);
    assert_int_equal(lab_token_file_write(scratch_path("w.tokens"), &content, &error), LOCUS_ERROR_IO);
    snprintf(says, sizeof says, "cannot write '%s': Is a directory", scratch_path("w.tokens"));
    assert_string_equal(error.message, says);
    assert_int_equal(rmdir(scratch_path("w.tokens")), 0); /* nothing was left in it, nor beside it */
    scratch_write("source.txt", "one\ntwo\n", 8);
    char path[1024];
    snprintf(path, sizeof path, "%s", scratch_path("source.txt"));
    const lab_text_source source = {.texts = {path, path, path}};
    lab_text_facts facts;
    assert_int_equal(mkdir(scratch_path("made"), 0777) | mkdir(scratch_path("made/dev.tokens"), 0777), 0);
    assert_int_equal(lab_text_make(scratch_path("made"), &source, NULL, &facts, &error), LOCUS_ERROR_IO);
    snprintf(says, sizeof says, "cannot write '%s': Is a directory", scratch_path("made/dev.tokens"));
    assert_string_equal(error.message, says);
    assert_int_equal(rmdir(scratch_path("made/dev.tokens")) | unlink(scratch_path("made/train.tokens")), 0);
    assert_int_equal(rmdir(scratch_path("made")), 0); /* nothing else is in it */
    assert_int_equal(lab_text_make(scratch_path("source.txt/made"), &source, NULL, &facts, &error), LOCUS_ERROR_IO);
    snprintf(says, sizeof says, "cannot create the folder '%s': Not a directory", path);
    assert_string_equal(error.message, says);
}

/* Lines as long as is asked for, the first of so many bytes, others of so many. */
static size_t write_lines(char *text, size_t bytes, size_t first, size_t other) {
    memset(text, 'a', bytes);
    for (size_t at = first; at <= bytes; at += other)
        text[at - 1] = '\n';
    return bytes;
}

/* Sets without a text of their own get the training text's end: from the first line behind the place that leaves them a
 * twentieth of the whole, to the byte. */
static void sets_from_the_end(void **state) {
    (void)state;
    static const struct {
        size_t bytes, first, other, wanted[3];
    } cases[] = {
        {400, 4, 4, {360, 20, 20}}, /* lines begin there */
        {400, 4, 3, {364, 18, 18}}, /* a line ends two bytes before */
        {418, 4, 3, {382, 18, 18}}, /* 20.9 are 20 */
        {40, 20, 2, {36, 2, 2}},    /* the least of two tokens */
        {400, 320, 20, {360, 20, 20}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512], path[1024];
        lab_text_facts facts;
        locus_error error = {0};
        scratch_write("whole.txt", text, write_lines(text, cases[i].bytes, cases[i].first, cases[i].other));
        snprintf(path, sizeof path, "%s", scratch_path("whole.txt"));
        const lab_text_source source = {.texts = {path}};
        if (lab_text_make(scratch_path("parted"), &source, NULL, &facts, &error) != LOCUS_OK)
            fail_msg("case %zu: %s", i, error.message);
        for (size_t s = 0; s < 3; s++) {
            assert_int_equal(facts.bytes[s], cases[i].wanted[s]);
            assert_int_equal(facts.tokens[s], cases[i].wanted[s]);
            assert_int_equal(facts.predicted_bytes[s], cases[i].wanted[s] - 1);
        }
        assert_int_equal(facts.vocabulary, 256);
        lab_text_facts seen;
        assert_int_equal(lab_text_look(scratch_path("parted"), &seen, NULL), LOCUS_OK);
        assert_true(seen.kind == facts.kind && seen.vocabulary == facts.vocabulary);
        assert_memory_equal(seen.tokens, facts.tokens, sizeof seen.tokens);
        assert_memory_equal(seen.bytes, facts.bytes, sizeof seen.bytes);
        assert_memory_equal(seen.predicted_bytes, facts.predicted_bytes, sizeof seen.predicted_bytes);
    }
    static const struct {
        const char *text, *says;
    } few[] = {
        {"a\nb\nc\nd\ne\nf\ng\nh\n\n\n\n\n",
         "dev set: 1 tokens are too few: one to read and one to predict are needed; give a "
         "longer text"},
        {"a\nb\nc\nd\ne\nf\n", "has too few lines to take the test set from its end: give a text for it"},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", "has too few lines to take the test set from its end"},
    };
    for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
        char path[1024];
        lab_text_facts facts;
        locus_error error = {0};
        scratch_write("whole.txt", few[i].text, strlen(few[i].text));
        snprintf(path, sizeof path, "%s", scratch_path("whole.txt"));
        const lab_text_source source = {.texts = {path}};
        assert_int_equal(lab_text_make(scratch_path("none"), &source, NULL, &facts, &error), LOCUS_ERROR_IO);
        if (strstr(error.message, few[i].says) == NULL)
            fail_msg("case %zu: %s", i, error.message);
    }
}

/* A set of another vocabulary than the folder's, a smaller or a larger one. */
static void sets_of_other_vocabularies(void **state) {
    (void)state;
    static const int32_t tokens[] = {1, 2};
    static const size_t others[] = {5, 300};
    char path[1024], says[1200];
    lab_text_facts facts;
    scratch_write("source.txt", "one\ntwo\n", 8);
    snprintf(path, sizeof path, "%s", scratch_path("source.txt"));
    const lab_text_source source = {.texts = {path, path, path}};
    assert_int_equal(lab_text_make(scratch_path("mixed"), &source, NULL, &facts, NULL), LOCUS_OK);
    for (size_t i = 0; i < 2; i++) {
        locus_error error = {0};
        write_tokens("mixed/dev.tokens", tokens, 2, others[i], 1);
        snprintf(says, sizeof says, "'%s' has a vocabulary of %zu, and the folder's tokenizer one of 256",
                 scratch_path("mixed/dev.tokens"), others[i]);
        assert_int_equal(lab_text_look(scratch_path("mixed"), &facts, &error), LOCUS_ERROR_IO);
        assert_string_equal(error.message, says);
    }
}

/* What a killed process left in a folder goes with the next text, with its files and theirs that were not whole; what
 * another still fills stays. */
static void what_was_left_goes(void **state) {
    (void)state;
    char path[1024], *held_name = NULL, inside[1100];
    lab_text_facts facts;
    scratch_write("source.txt", "one\ntwo\n", 8);
    snprintf(path, sizeof path, "%s", scratch_path("source.txt"));
    const lab_text_source source = {.texts = {path, path, path}};
    assert_int_equal(mkdir(scratch_path("shared"), 0777), 0);
    const int held = lab_temporary_folder(scratch_path("shared/.making"), &held_name);
    assert_true(held >= 0);
    for (int turn = 0; turn < 2; turn++) {
        static const char *const left[] = {"train.tokens", ".dev.tokens.tmp-0123456789abcdef", "tokenizer.model"};
        assert_int_equal(mkdir(scratch_path("shared/.making.tmp-0123456789abcdef"), 0777), 0);
        for (size_t i = 0; i < 3; i++) {
            snprintf(inside, sizeof inside, "shared/.making.tmp-0123456789abcdef/%s", left[i]);
            scratch_write(inside, "x", 1);
        }
        snprintf(inside, sizeof inside, "%s/train.tokens", held_name);
        FILE *mine = fopen(inside, "wb");
        assert_non_null(mine);
        fclose(mine);
        assert_int_equal(lab_text_make(scratch_path("shared"), &source, NULL, &facts, NULL), LOCUS_OK);
        assert_int_not_equal(access(scratch_path("shared/.making.tmp-0123456789abcdef"), F_OK), 0);
        assert_int_equal(access(inside, F_OK), 0);
    }
    close(held);
    assert_int_equal(lab_text_make(scratch_path("shared"), &source, NULL, &facts, NULL), LOCUS_OK);
    assert_int_not_equal(access(held_name, F_OK), 0);
    free(held_name);
}

/* What is told on the way: bytes of the text before the vocabulary, sets before their tokens. */
static void making_is_told(void **state) {
    (void)state;
    char path[1024];
    heard all = {""};
    const lab_watch watch = {hear, &all};
    lab_text_facts facts;
    scratch_write("source.txt", "one\ntwo\n", 8);
    snprintf(path, sizeof path, "%s", scratch_path("source.txt"));
    const lab_text_source source = {.texts = {path, path, path}};
    assert_int_equal(lab_text_make(scratch_path("told"), &source, &watch, &facts, NULL), LOCUS_OK);
    assert_string_equal(all.text,
                        "opening a vocabulary 0/8\nmaking tokens 0/3\nmaking tokens 1/3\nmaking tokens 2/3\n");
}

/* ---- the task ---- */

static const lab_task *text_task(void) {
    const lab_task *task = lab_task_find("text");
    assert_non_null(task);
    assert_ptr_equal(task->class->architecture, &lab_decoder);
    return task;
}

/* train has `count` tokens, dev and test few. */
static void write_folder(const char *name, const int32_t *tokens, size_t count) {
    char path[64];
    assert_int_equal(lab_directory_create(scratch_path(name), NULL), LOCUS_OK);
    snprintf(path, sizeof path, "%s/train.tokens", name);
    write_tokens(path, tokens, count, 300, 2 * (count - 1));
    snprintf(path, sizeof path, "%s/dev.tokens", name);
    write_tokens(path, tokens, 5, 300, 8);
    snprintf(path, sizeof path, "%s/test.tokens", name);
    write_tokens(path, tokens, 2, 300, 3);
}

static void open_windows(lab_dataset *set, const char *folder, size_t sequence, lab_set which) {
    lab_task_options options = lab_task_default(text_task());
    locus_error error = {0};
    assert_int_equal(LAB_TEXT(&options)->sequence, 513);
    if (lab_text_describe(folder, &options, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(lab_task_vocabulary(text_task(), &options), 300);
    LAB_TEXT(&options)->sequence = sequence;
    const lab_draw draw_all = {text_task(), &options, which, 0, 0};
    if (lab_dataset_sequences(set, &draw_all, &error) != LOCUS_OK)
        fail_msg("%s", error.message);
}

static void every_token_but_the_first_is_predicted_once(void **state) {
    const size_t counts[] = {5, 6, 50, 1000, 1025}, sequences[] = {2, 3, 7, 512, 513, 2000};
    (void)state;
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        int32_t *tokens = random_tokens(counts[c], 300), got[2000];
        write_folder("set", tokens, counts[c]);
        for (size_t s = 0; s < sizeof sequences / sizeof *sequences; s++) {
            lab_dataset set;
            size_t at = 0;
            open_windows(&set, scratch_path("set"), sequences[s], LAB_SET_TRAIN);
            assert_int_equal(set.samples, set.sequences.count);
            assert_int_equal(set.sequences.length, sequences[s]);
            assert_true(set.sequences.bytes_per_token == 2.0);
            for (uint64_t i = 0; i < set.sequences.count; i++) {
                const size_t n = set.sequences.read(&set.sequences, i, got);
                assert_true(n >= 2 && n <= sequences[s]);
                assert_true(n == sequences[s] || i + 1 == set.sequences.count);
                assert_memory_equal(got, tokens + at, n * sizeof *got); /* its first is the last one's last */
                at += n - 1;
            }
            assert_int_equal(at, counts[c] - 1);
            lab_dataset_destroy(&set);
        }
        free(tokens);
    }
}

static void sets_and_samples_are_chosen(void **state) {
    int32_t *tokens = random_tokens(100, 300), got[10];
    lab_dataset set;
    locus_error error = {0};
    (void)state;
    write_folder("chosen", tokens, 100);
    open_windows(&set, scratch_path("chosen"), 10, LAB_SET_TEST);
    assert_int_equal(set.sequences.count, 1);
    assert_int_equal(set.sequences.read(&set.sequences, 0, got), 2);
    assert_true(set.sequences.bytes_per_token == 3.0);
    lab_dataset_destroy(&set);

    lab_task_options options = lab_task_default(text_task());
    options.path = scratch_path("chosen");
    LAB_TEXT(&options)->sequence = 10;
    lab_draw draw_some = {text_task(), &options, LAB_SET_TRAIN, 4, 0};
    assert_int_equal(lab_dataset_sequences(&set, &draw_some, &error), LOCUS_OK);
    assert_int_equal(set.sequences.count, 4);
    assert_int_equal(set.samples, 4);
    assert_true(lab_dataset_chance(&set, 300) == 0.0);
    lab_dataset_destroy(&set);
    draw_some.samples = 12;
    assert_int_equal(lab_dataset_sequences(&set, &draw_some, &error), LOCUS_ERROR_ARGUMENT);
    expect_line(&error, "12 sequences of 10 tokens: the train set in");
    assert_string_equal(error.argument, "n");
    draw_some.samples = 0, LAB_TEXT(&options)->sequence = 1;
    assert_int_equal(lab_dataset_sequences(&set, &draw_some, &error), LOCUS_ERROR_ARGUMENT);
    assert_string_equal(error.argument, "sequence");
    LAB_TEXT(&options)->sequence = 10;
    assert_int_equal(lab_dataset_generate(&set, &draw_some, &error), LOCUS_ERROR_UNSUPPORTED);
    free(tokens);
}

/* Of the digests of a folder's token files and its vocabulary, a line each. */
static uint64_t joined_digest(const char *const paths[3]) {
    lab_digest sum;
    uint64_t joined, vocabulary = 0;
    char line[24];
    sum = lab_digest_begin(LAB_DIGEST_SHA256);
    for (size_t i = 0; i < 3; i++) {
        lab_token_file file;
        assert_int_equal(lab_token_file_open(&file, scratch_path(paths[i]), NULL), LOCUS_OK);
        snprintf(line, sizeof line, "%llu\n", (unsigned long long)file.digest);
        lab_digest_add(&sum, line, strlen(line));
        vocabulary = file.vocabulary;
        lab_token_file_close(&file);
    }
    snprintf(line, sizeof line, "%llu\n", (unsigned long long)vocabulary);
    lab_digest_add(&sum, line, strlen(line));
    assert_int_equal(lab_digest_close_number(&sum, &joined, NULL), LOCUS_OK);
    return joined;
}

static void another_text_is_another_task(void **state) {
    int32_t *tokens = random_tokens(100, 300);
    lab_task_options options = lab_task_default(text_task()), same = options, other = options;
    lab_dataset set;
    locus_error error = {0};
    (void)state;
    write_folder("one", tokens, 100);
    write_folder("two", tokens, 100);
    char path[1024];
    snprintf(path, sizeof path, "%s", scratch_path("one"));
    assert_int_equal(lab_text_describe(path, &options, &error), LOCUS_OK);
    assert_ptr_equal(options.path, path);
    assert_true(options.digest ==
                joined_digest((const char *[3]){"one/train.tokens", "one/dev.tokens", "one/test.tokens"}));
    assert_int_equal(LAB_TEXT(&options)->symbols, 300);
    assert_int_equal(lab_text_describe(scratch_path("two"), &same, &error), LOCUS_OK);
    assert_true(options.digest == same.digest);
    tokens[4] = (tokens[4] + 1) % 300; /* of the dev set */
    write_folder("two", tokens, 100);
    assert_int_equal(lab_text_describe(scratch_path("two"), &other, &error), LOCUS_OK);
    assert_true(options.digest != other.digest);
    options.path = scratch_path("two");
    const lab_draw draw_all = {text_task(), &options, LAB_SET_TRAIN, 0, 0};
    assert_int_equal(lab_dataset_sequences(&set, &draw_all, &error), LOCUS_ERROR_ARGUMENT);
    expect_line(&error, "another text");
    free(tokens);
}

static void a_folder_without_text_says_how_to_make_it(void **state) {
    int32_t *tokens = random_tokens(100, 300);
    lab_task_options options = lab_task_default(text_task());
    locus_error error = {0};
    (void)state;
    assert_int_equal(lab_text_describe(scratch_path("no-such-folder"), &options, &error), LOCUS_ERROR_IO);
    expect_line(&error, "locus data make text --train-text FILE");
    write_folder("part", tokens, 100);
    assert_int_equal(unlink(scratch_path("part/dev.tokens")), 0);
    assert_int_equal(lab_text_describe(scratch_path("part"), &options, &error), LOCUS_ERROR_IO);
    expect_line(&error, "has no dev.tokens");
    write_tokens("part/dev.tokens", tokens, 5, 301, 8);
    assert_int_equal(lab_text_describe(scratch_path("part"), &options, &error), LOCUS_ERROR_IO);
    expect_line(&error, "token files of 300 and of 301");
    write_tokens("part/dev.tokens", tokens, 1, 300, 0);
    assert_int_equal(lab_text_describe(scratch_path("part"), &options, &error), LOCUS_ERROR_IO);
    expect_line(&error, "has 1 tokens");
    assert_int_equal(options.digest, 0);
    free(tokens);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(nothing_is_read_behind_the_last),
        cmocka_unit_test(files_are_given_back),
        cmocka_unit_test(the_format_is_as_it_is_said),
        cmocka_unit_test(damage_is_seen),
        cmocka_unit_test(each_refusal_says_what_is_wrong),
        cmocka_unit_test(headers_have_bounds),
        cmocka_unit_test(each_token_is_looked_at),
        cmocka_unit_test(wrong_content_is_not_written),
        cmocka_unit_test(sets_from_the_end),
        cmocka_unit_test(making_is_told),
        cmocka_unit_test(sets_of_other_vocabularies),
        cmocka_unit_test(what_was_left_goes),
        cmocka_unit_test(what_cannot_be_written_is_told),
        cmocka_unit_test(every_token_but_the_first_is_predicted_once),
        cmocka_unit_test(sets_and_samples_are_chosen),
        cmocka_unit_test(another_text_is_another_task),
        cmocka_unit_test(a_folder_without_text_says_how_to_make_it),
    };
    return cmocka_run_group_tests(tests, scratch_create, scratch_remove);
}
