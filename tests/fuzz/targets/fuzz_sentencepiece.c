/* SPDX-License-Identifier: MIT */
/* SentencePiece models: pieces lie within the model's texts, byte pieces and the others are of the type that they are
 * listed as; whatever tokens come, the detokenizer gives whole UTF-8. A failure is one line that names the file. */
#include "fuzz.h"

#include "text/sentencepiece.h"
#include "text/tokenizer.h"
#include "text/utf8.h"

#include <string.h>

static void check_pieces(const lab_sentencepiece_model *model, size_t size) {
    FUZZ_REQUIRE(model->count > 0);
    for (size_t i = 0; i < model->count; i++) {
        const lab_piece *piece = &model->pieces[i];
        FUZZ_REQUIRE(piece->type >= LAB_PIECE_NORMAL && piece->type <= LAB_PIECE_BYTE);
        FUZZ_REQUIRE(piece->length <= LAB_PIECE_MOST_BYTES && piece->start + piece->length <= size);
        FUZZ_REQUIRE(piece->type == LAB_PIECE_BYTE ||
                     lab_utf8_check(model->texts + piece->start, piece->length) == piece->length);
    }
    for (int b = 0; b < 256; b++) {
        const int32_t number = model->bytes[b];
        FUZZ_REQUIRE(number < 0 || ((size_t)number < model->count && model->pieces[number].type == LAB_PIECE_BYTE));
        FUZZ_REQUIRE(number < 0 || (unsigned char)model->texts[model->pieces[number].start] == b);
    }
    FUZZ_REQUIRE(model->unknown < (int64_t)model->count && model->line_end < (int64_t)model->count);
    FUZZ_REQUIRE(model->unknown < 0 || model->pieces[model->unknown].type == LAB_PIECE_UNKNOWN);
}

static void check_text(const char *path) {
    lab_tokenizer *tokenizer = NULL;
    char text[256];
    FUZZ_REQUIRE(lab_tokenizer_open_sentencepiece(&tokenizer, path, NULL) == LOCUS_OK);
    lab_detokenizer detokenizer = {.tokenizer = tokenizer};
    const size_t count = lab_tokenizer_vocabulary(tokenizer);
    for (size_t i = 0; i <= count; i++) {
        const size_t came = i < count ? lab_detokenizer_add(&detokenizer, (int32_t)i, text, sizeof text)
                                      : lab_detokenizer_end(&detokenizer, text, sizeof text);
        FUZZ_REQUIRE(came <= sizeof text && lab_utf8_check(text, came) == came);
    }
    lab_tokenizer_close(&tokenizer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *path = fuzz_file("input.model", data, size);
    lab_sentencepiece_model model;
    locus_error error = {0};
    const locus_status status = lab_sentencepiece_read(&model, path, &error);
    if (status == LOCUS_OK) {
        check_pieces(&model, size);
        check_text(path);
        lab_sentencepiece_release(&model);
    } else {
        FUZZ_REQUIRE_SAYING(status == LOCUS_ERROR_IO && strstr(error.message, "input.model'") != NULL, error.message);
        fuzz_check_failure(status, &error);
    }
    return 0;
}
