/* SPDX-License-Identifier: MIT */
/* Plugins are opened by their path, never searched for. */
#include "plugins.h"
#include "output.h"

#include <dlfcn.h>
#include <locus/extension.h>
#include <stdlib.h>
#include <string.h>

#define OPTION "--plugin"

/* The linker looks in its own folders for a name without a slash. */
static char *path_of(const char *file) {
    const size_t bytes = strlen(file) + sizeof "./";
    char *path = malloc(bytes);
    if (path)
        snprintf(path, bytes, "%s%s", strchr(file, '/') ? "" : "./", file);
    return path;
}

static int register_plugin(const char *file, void *object) {
    const void *found = dlsym(object, LOCUS_PLUGIN_SYMBOL);
    if (!found) {
        return cli_usage_error("%s: '%s' is no plugin of locus: it has no %s (LOCUS_PLUGIN in <locus/extension.h>)",
                               OPTION, file, LOCUS_PLUGIN_SYMBOL);
    }
    if (locus_plugin_register(found, &cli_fault) != LOCUS_OK)
        return cli_usage_error("%s: '%s': %s", OPTION, file, cli_fault.message);
    return 0;
}

static int load(const char *file) {
    char *path = path_of(file);
    void *object = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    const char *why = path ? dlerror() : "out of memory";
    int status = 0;
    if (!object)
        status = cli_usage_error("%s: '%s' cannot be loaded: %s", OPTION, file, why ? why : "no reason is known");
    else
        status = register_plugin(file, object);
    if (object && status != 0)
        dlclose(object);
    free(path);
    return status;
}

int cli_plugins_load(int argc, char **argv, int *words) {
    const size_t length = strlen(OPTION);
    int at = 1, status = 0;
    while (status == 0 && at < argc && strncmp(argv[at], OPTION, length) == 0) {
        const bool joined = argv[at][length] == '=';
        if (!joined && argv[at][length] != '\0')
            break;
        const char *file = joined ? argv[at] + length + 1 : at + 1 < argc ? argv[at + 1] : "";
        at += joined ? 1 : 2;
        status = file[0] ? load(file) : cli_usage_error("%s: which file? %s FILE.so COMMAND …", OPTION, OPTION);
    }
    *words = at - 1;
    return status;
}
