/* SPDX-License-Identifier: MIT */
/* See picture_argument.h. */
#include "picture_argument.h"

#include "command.h"
#include "output.h"

#include <string.h>

int cli_need_picture(const cli_arguments *arguments) {
    int status = cli_require(arguments, "output");
    const char *path = status == 0 ? cli_text(arguments, "output") : "";
    const char *end = strrchr(path, '.');
    if (status == 0 && strncmp(path, "/dev/", 5) != 0 &&
        (!end || (strcmp(end, ".svg") != 0 && strcmp(end, ".png") != 0))) {
        status = cli_usage_error("%s: --output %s: must end in .svg or .png, its name is its format",
                                 arguments->command->name, path);
    }
    return status;
}
