/* SPDX-License-Identifier: MIT */
/* locus import-rope: the rotary settings of a model's configuration as a spec. */
#include "command.h"
#include "io/json.h"
#include "io/rope_file.h"
#include "output.h"

static const cli_option options[] = {
    CLI_ROW_FLAG("attention", "says in the spec whatever attention needs: scale, cap, window, sinks"),
};

static int print_json(const lab_rope_config *config) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "spec", config->spec);
    cJSON_AddStringToObject(root, "attention", config->attention);
    cJSON_AddStringToObject(root, "model_type", config->model_type);
    lab_json_put(root, "head_dim",
                 config->head_dim ? cJSON_CreateNumber((double)config->head_dim) : cJSON_CreateNull());
    lab_json_put(root, "length", config->length ? cJSON_CreateNumber((double)config->length) : cJSON_CreateNull());
    cJSON *notes = cJSON_AddArrayToObject(root, "notes");
    for (size_t i = 0; i < config->note_count; i++)
        lab_json_put(notes, NULL, cJSON_CreateString(config->notes[i].text));
    return cli_json_print(root);
}

static int run(cli_arguments *arguments) {
    const char *path = arguments->operands[0];
    lab_rope_config config;
    int status = cli_done(lab_rope_file_read(&config, path, &cli_fault));
    for (size_t i = 0; i < config.note_count && status == 0; i++)
        if (!config.notes[i].minor)
            cli_note("note: %s: %s", path, config.notes[i].text);
    if (status == 0 && cli_flag(arguments, "json"))
        status = print_json(&config);
    else if (status == 0)
        cli_print("%s\n", cli_flag(arguments, "attention") ? config.attention : config.spec);
    lab_rope_config_free(&config);
    return status;
}

const cli_command cli_command_import_rope = {
    .name = "import-rope",
    .summary = "prints the rotary settings of a model's config.json as a spec",
    .operands = "CONFIG.json",
    .details =
        "Reads the configuration of a Hugging Face checkpoint as the transformers library does: rope_theta, "
        "rope_scaling and rope_parameters (for all layers, or for each type in layer_types), partial_rotary_factor, "
        "rotary_pct, rotary_dim, head_dim, qk_rope_head_dim, mrope_section, rope_local_base_freq, "
        "sliding_window_pattern, no_rope_layers, max_position_embeddings, and a nested text_config. Rope types: "
        "default, linear, dynamic, yarn, llama3, longrope (su), proportional, mrope.\n\n"
        "Layers that differ become a pattern: '5*rope(…) / rope(…)' is five layers with one base, then one with "
        "another, and again. What the type of model leaves unsaid (its order of pairs, its usual base) is known for "
        "the common families; for others half pairs are taken, and a note says that this is a guess. Notes, on "
        "standard error, also name fields that mean nothing to the rope type, and what else attention needs: a scale, "
        "where in a head the dimensions stand that turn. With --json all of them are in the result, windows and caps, "
        "too. --attention says in the spec itself what attention needs: terms scores(…) with scale, cap, window and "
        "sinks. Fields that contradict each other, that are missing, or an unknown rope type are errors (exit status "
        "1).\n\n"
        "Spec and length serve 'locus apply', 'encode', 'fold', 'attend' and 'train'; --length says how long the text "
        "is where frequencies depend on it (dynamic, longrope).",
    .examples = "locus import-rope config.json\n"
                "locus import-rope config.json --json\n"
                "locus apply \"$(locus import-rope config.json)\" -i q.npy --positions 0:100 -o turned.npy\n",
    .shared = CLI_JSON | CLI_QUIET,
    CLI_OPTIONS(options),
    .run = run,
};
