/* SPDX-License-Identifier: MIT */
/* oneDNN is C++, and its exceptions cannot pass through C: where `new` finds no memory they end in abort(), or are
 * caught and answered with slower kernels, whose results have other bits. A handler of the C++ runtime comes before
 * both. The function is looked up by name, since nothing else here needs that runtime. */
#include "out_of_memory.h"

#include "io/json.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

typedef void new_handler(void);
typedef new_handler *set_new_handler(new_handler *);

/* May run in any thread, and nothing can be allocated. */
static void give_up(void) {
    static const char line[] = "locus: out of memory in a library (oneDNN)\n";
    if (write(STDERR_FILENO, line, sizeof line - 1) < 0)
        _exit(1); /* nobody listens */
    _exit(1);
}

void cli_memory_watch(void) {
    void *program = dlopen(NULL, RTLD_NOW),
         *found = program == NULL ? NULL : dlsym(program, "_ZSt15set_new_handlerPFvvE");
    set_new_handler *set = NULL;
    if (found != NULL) {
        memcpy(&set, &found, sizeof set);
        set(give_up);
    }
    if (program != NULL)
        dlclose(program);
    (void)lab_json_losses(); /* trees of JSON that are built from here on are watched */
}
