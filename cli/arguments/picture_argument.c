/* SPDX-License-Identifier: MIT */
/* See picture_argument.h. */
#include "picture_argument.h"

#include "command.h"
#include "figures/svg_file.h"
#include "output.h"

int cli_need_picture(const cli_arguments *arguments) {
    int status = cli_require(arguments, "output");
    const char *path = status == 0 ? cli_text(arguments, "output") : "";
    if (status == 0 && !lab_picture_named(path)) {
        status = cli_usage_error("%s: --output %s: must end in " LAB_PICTURE_ENDS ", its name is its format",
                                 arguments->command->name, path);
    }
    return status;
}
