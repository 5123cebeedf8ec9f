/* SPDX-License-Identifier: MIT */
/* Writes 300 letters, which follow a rule, into each of three token files. */
#include "unit/small_text.h"

#include "text/token_file.h"
#include "unit/scratch_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 300, BYTES = 256 };

int small_text_create(char *path, size_t size) {
    static const char *const sets[] = {"train", "dev", "test"};
    const char *name = scratch_path("");
    int32_t tokens[TOKENS];
    snprintf(path, size, "%.*s", (int)(strlen(name) - 1), name);
    for (int s = 0; s < 3; s++) {
        for (int i = 0; i < TOKENS; i++)
            tokens[i] = 'a' + (i * (s + 1) + i / 7) % 26;
        const lab_token_file_content content = {BYTES, TOKENS, tokens, TOKENS - 1};
        char *file = lab_token_file_path(path, sets[s]);
        const locus_status status = file ? lab_token_file_write(file, &content, NULL) : LOCUS_ERROR_MEMORY;
        free(file);
        if (status != LOCUS_OK)
            return 1;
    }
    return 0;
}
