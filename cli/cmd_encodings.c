/* SPDX-License-Identifier: MIT */
/* locus encodings: what the registry holds, all of it or one entry with its options. */
#include "command.h"
#include "output.h"

#include <locus/encoding.h>
#include <string.h>

static const struct {
    locus_site site;
    const char *name;
} sites[] = {{LOCUS_SITE_EMBEDDING, "embedding"},
             {LOCUS_SITE_QUERY_KEY, "query-key"},
             {LOCUS_SITE_VALUE, "value"},
             {LOCUS_SITE_SCORE, "score"}};

static const char *site_list(unsigned mask, char *text, size_t size) {
    text[0] = '\0';
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        if (mask & (unsigned)sites[i].site) {
            size_t used = strlen(text);
            snprintf(text + used, size - used, "%s%s", used ? ", " : "", sites[i].name);
        }
    }
    return text[0] ? text : "nowhere";
}

static cJSON *entry_json(const locus_encoding_info *info) {
    cJSON *entry = cJSON_CreateObject(), *places = cJSON_AddArrayToObject(entry, "sites");
    cJSON_AddStringToObject(entry, "name", info->name);
    cJSON_AddStringToObject(entry, "summary", info->summary);
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        if (info->sites & (unsigned)sites[i].site) {
            cJSON_AddItemToArray(places, cJSON_CreateString(sites[i].name));
        }
    }
    cJSON_AddStringToObject(entry, "learned", info->learned);
    cJSON_AddStringToObject(entry, "source", info->source);
    cJSON *options = cJSON_AddArrayToObject(entry, "options");
    for (size_t i = 0; i < info->option_count; i++) {
        cJSON *option = cJSON_CreateObject();
        cJSON_AddStringToObject(option, "name", info->options[i].name);
        cJSON_AddStringToObject(option, "values", info->options[i].values);
        cJSON_AddStringToObject(option, "default", info->options[i].initial);
        cJSON_AddStringToObject(option, "meaning", info->options[i].meaning);
        cJSON_AddItemToArray(options, option);
    }
    return entry;
}

static void print_entry(const locus_encoding_info *info) {
    static const char *const heads[] = {"  option", "values", "default", "meaning"};
    char text[96];
    printf("%s: %s\n  acts on  %s\n  learned  %s\n  source   %s\n", info->name, info->summary,
           site_list(info->sites, text, sizeof text), info->learned[0] ? info->learned : "nothing",
           info->source[0] ? info->source : "—");
    if (info->option_count > 0) {
        cli_table *table = cli_table_create(heads, 4);
        for (size_t i = 0; i < info->option_count; i++) {
            const locus_option_info *option = &info->options[i];
            cli_table_cell(table, "  %s", option->name);
            cli_table_cell(table, "%s", option->values);
            cli_table_cell(table, "%s", option->initial[0] ? option->initial : "—");
            cli_table_cell(table, "%s", option->meaning);
        }
        cli_table_print(table, stdout);
        cli_table_free(table);
    }
}

static int unknown(const char *name) {
    const char *names[128];
    size_t count = 0;
    for (const locus_encoding_info *info; count < 128 && (info = locus_encoding_registry_at(count)) != NULL; count++) {
        names[count] = info->name;
    }
    const char *near = cli_nearest(name, names, count);
    return cli_usage_error("encodings: there is no encoding '%s'%s%s%s", name,
                           near ? "; did you mean '" : "; 'locus encodings' lists them", near ? near : "",
                           near ? "'?" : "");
}

static int run(cli_arguments *arguments) {
    const char *name = arguments->operand_count ? arguments->operands[0] : NULL;
    bool json = cli_flag(arguments, "json");
    cJSON *list = json ? cJSON_CreateArray() : NULL;
    size_t found = 0;
    const locus_encoding_info *info;
    for (size_t i = 0; (info = locus_encoding_registry_at(i)) != NULL; i++) {
        if (name && strcmp(name, info->name) != 0) {
            continue;
        }
        if (json) {
            cJSON_AddItemToArray(list, entry_json(info));
        } else {
            fputs(found ? "\n" : "", stdout);
            print_entry(info);
        }
        found++;
    }
    if (!found) {
        cJSON_Delete(list);
        return unknown(name ? name : "");
    }
    if (json && name) { /* one name: the object itself */
        cJSON *only = cJSON_DetachItemFromArray(list, 0);
        cJSON_Delete(list);
        list = only;
    }
    return json ? cli_json_print(list) : 0;
}

const cli_command cli_command_encodings = {
    .name = "encodings",
    .summary = "lists the encodings with their options, sites, sources",
    .operands = "[NAME]",
    .details = "An encoding is written name(option=value, …); several are joined with +, as in 'rope + alibi'.",
    .examples = "locus encodings rope\n",
    .shared = CLI_JSON,
    .run = run,
};
