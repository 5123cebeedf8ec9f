/* SPDX-License-Identifier: MIT */
/* locus encodings: what the registry holds, all of it or one entry with its options. */
#include "command.h"
#include "io/json.h"
#include "output.h"

#include <locus/encoding.h>
#include <string.h>

static const struct {
    locus_site site;
    const char *name;
} sites[] = {{LOCUS_SITE_EMBEDDING, "embedding"},
             {LOCUS_SITE_QUERY_KEY, "query-key"},
             {LOCUS_SITE_VALUE, "value"},
             {LOCUS_SITE_SCORE, "score"},
             {LOCUS_SITE_ENCODED, "encoded"}};

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

/* For programs: what kind of values an option takes, which words, which range. */
static void add_kind(cJSON *object, const locus_option_info *option) {
    static const char *const kinds[] = {[LOCUS_OPTION_CHOICE] = "choice",
                                        [LOCUS_OPTION_NUMBER] = "number",
                                        [LOCUS_OPTION_INTEGER] = "integer",
                                        [LOCUS_OPTION_OFF_OR_NUMBER] = "off or number",
                                        [LOCUS_OPTION_ROTATE] = "even integer or proportional",
                                        [LOCUS_OPTION_GROUP] = "group",
                                        [LOCUS_OPTION_LIST] = "integers",
                                        [LOCUS_OPTION_NUMBERS] = "numbers",
                                        [LOCUS_OPTION_DECAY] = "off, number or learned",
                                        [LOCUS_OPTION_OFF_OR_INTEGER] = "off or integer"};
    cJSON_AddStringToObject(object, "kind", kinds[option->kind]);
    if (option->kind == LOCUS_OPTION_CHOICE) {
        cJSON *choices = cJSON_AddArrayToObject(object, "choices");
        for (const char *word = option->values; *word != '\0'; word += *word == '|') {
            char choice[64];
            const size_t length = strcspn(word, "|");
            snprintf(choice, sizeof choice, "%.*s", (int)length, word);
            lab_json_put(choices, NULL, cJSON_CreateString(choice));
            word += length;
        }
    } else if (option->kind != LOCUS_OPTION_GROUP) {
        cJSON_AddNumberToObject(object, "minimum", option->minimum);
        cJSON_AddNumberToObject(object, "maximum", option->maximum);
        cJSON_AddBoolToObject(object, "open", option->open);
    }
}

static cJSON *entry_json(const locus_encoding_info *info) {
    cJSON *entry = cJSON_CreateObject(), *places = cJSON_AddArrayToObject(entry, "sites");
    cJSON_AddStringToObject(entry, "name", info->name);
    cJSON_AddStringToObject(entry, "summary", info->summary);
    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++)
        if (info->sites & (unsigned)sites[i].site)
            lab_json_put(places, NULL, cJSON_CreateString(sites[i].name));
    cJSON_AddStringToObject(entry, "learned", info->learned);
    cJSON_AddStringToObject(entry, "source", info->source);
    cJSON *options = cJSON_AddArrayToObject(entry, "options");
    for (size_t i = 0; i < info->option_count; i++) {
        cJSON *option = cJSON_CreateObject();
        cJSON_AddStringToObject(option, "name", info->options[i].name);
        cJSON_AddStringToObject(option, "values", info->options[i].values);
        cJSON_AddStringToObject(option, "default", info->options[i].initial);
        cJSON_AddStringToObject(option, "meaning", info->options[i].meaning);
        add_kind(option, &info->options[i]);
        lab_json_put(options, NULL, option);
    }
    return entry;
}

/* A line of an entry's head, "  learned  …". */
static void print_line(const char *head, const char *text) {
    enum { INDENT = 11 };
    cli_print("  %-9s", head);
    cli_print_wrapped(text, INDENT, INDENT);
}

/* Values and meaning share a column, since either may be long: "half|all — what is turned". */
static void print_options(const locus_encoding_info *info) {
    size_t names = sizeof "option" - 1, defaults = sizeof "default" - 1;
    for (size_t i = 0; i < info->option_count; i++) {
        const size_t name = lab_text_width(info->options[i].name), initial = lab_text_width(info->options[i].initial);
        names = name > names ? name : names;
        defaults = initial > defaults ? initial : defaults;
    }
    const size_t indent = 2 + names + 2 + defaults + 2;
    cli_print("  %-*s  %-*s  %s\n", (int)names, "option", (int)defaults, "default", "values — meaning");
    for (size_t i = 0; i < info->option_count; i++) {
        const locus_option_info *option = &info->options[i];
        const char *initial = option->initial[0] ? option->initial : "—";
        char text[512];
        snprintf(text, sizeof text, "%s — %s", option->values, option->meaning);
        cli_print("  %-*s  %s", (int)names, option->name, initial);
        cli_print_wrapped(text, 4 + names + lab_text_width(initial), indent);
    }
}

static void print_entry(const locus_encoding_info *info) {
    char text[128];
    cli_print("%s: ", info->name);
    cli_print_wrapped(info->summary, strlen(info->name) + 2, strlen(info->name) + 2);
    print_line("acts on", site_list(info->sites, text, sizeof text));
    print_line("learned", info->learned[0] ? info->learned : "nothing");
    print_line("source", info->source[0] ? info->source : "—");
    if (info->option_count > 0)
        print_options(info);
}

/* Of all encodings a row for each, of one its options. */
static void print_table(const char *name) {
    static const char *const of_all[] = {"encoding", "acts on", "learned", "source", "summary"};
    static const char *const of_one[] = {"option", "default", "values", "meaning"};
    lab_table *table = name ? lab_table_create(of_one, 4) : lab_table_create(of_all, 5);
    const locus_encoding_info *info;
    char text[128];
    for (size_t i = 0; (info = locus_encoding_registry_at(i)) != NULL; i++) {
        for (size_t k = 0; name && strcmp(name, info->name) == 0 && k < info->option_count; k++) {
            lab_table_cell(table, "%s", info->options[k].name);
            lab_table_cell(table, "%s", info->options[k].initial);
            lab_table_cell(table, "%s", info->options[k].values);
            lab_table_cell(table, "%s", info->options[k].meaning);
        }
        if (!name) {
            lab_table_cell(table, "%s", info->name);
            lab_table_cell(table, "%s", site_list(info->sites, text, sizeof text));
            lab_table_cell(table, "%s", info->learned[0] ? info->learned : "nothing");
            lab_table_cell(table, "%s", info->source);
            lab_table_cell(table, "%s", info->summary);
        }
    }
    cli_table_print(table);
}

static int unknown(const char *name) {
    const char *names[128];
    size_t count = 0;
    for (const locus_encoding_info *info; count < 128 && (info = locus_encoding_registry_at(count)) != NULL; count++)
        names[count] = info->name;
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
        if (name && strcmp(name, info->name) != 0)
            continue;
        if (json) {
            lab_json_put(list, NULL, entry_json(info));
        } else if (cli_form == LAB_TABLE_TEXT) {
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
    if (!json && cli_form != LAB_TABLE_TEXT)
        print_table(name);
    return json ? cli_json_print(list) : 0;
}

const cli_command cli_command_encodings = {
    .name = "encodings",
    .summary = "lists the encodings with their options, sites, sources",
    .operands = "[NAME]",
    .details =
        "An encoding is written name(option=value, …); several are joined with +, as in 'rope + alibi'. Models whose "
        "layers differ take a pattern: '3*rope / none' is three layers of one, one of the other, and again.",
    .examples = "locus encodings rope\n",
    .shared = CLI_JSON | CLI_FORMAT,
    .run = run,
};
