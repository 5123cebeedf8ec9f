/* SPDX-License-Identifier: MIT */
#include "io/text_stream.h"

#include <stdlib.h>

bool lab_text_close(FILE *stream, char **text) {
    const bool written = stream != NULL && ferror(stream) == 0;
    const bool whole = stream != NULL && fclose(stream) == 0 && written && *text != NULL;
    if (whole)
        return true;
    free(*text);
    *text = NULL;
    return false;
}
