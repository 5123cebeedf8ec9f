/* SPDX-License-Identifier: MIT */
/* What families of models leave unsaid in their configurations: facts of their published code, by model_type; those
 * that leave the same unsaid stand together. The order of pairs is that of the projections as checkpoints store
 * them. */
#include "rope/rope_source.h"

#include <stdio.h>
#include <string.h>

static const lab_rope_family families[] = {
    {.names = "afmoe|exaone4|exaone_moe", .sliding_only = true, .interval = 4},
    {.names = "apertus", .scaled = true, .base = 12e6},
    {.names = "arcee|aria|diffllama|esmc|eurobert|gemma|glm_image|gpt_neox_japanese|hrm|hyperclovax|jais2|jetmoe|"
              "llama|minicpm3|molmo2|moshi|olmo|olmo2|olmo_hybrid|olmoe|seed_oss"},
    {.names = "axk1|axk2|codegen|deepseek_v2|deepseek_v3|deepseek_v32|glm4_moe_lite|glm4v|glm_moe_dsa|glm_ocr|"
              "gptj|youtu",
     .interleaved = true},
    {.names = "bailing_hybrid",
     .interleaved = true,
     .base = 6e6,
     .missing = {"which layers attend is read from layer_types alone, not from layer_group_size"}},
    {.names = "bamba|glm4_moe|glm4v_moe|nemotron|persimmon|phi", .partial = 0.5},
    {.names = "beam", .sliding_only = true, .interval = 6},
    {.names = "bitnet|flex_olmo|mellum", .base = 5e5},
    {.names = "bloom", .alibi = true},
    {.names = "cohere|ernie4_5|ernie4_5_moe", .interleaved = true, .base = 5e5},
    {.names = "cohere2|cohere2_moe", .interleaved = true, .sliding_only = true, .interval = 4},
    {.names = "cwm", .first_full = true, .scaled = true, .base = 1e6, .interval = 4},
    {.names = "doge", .missing = {"attention adds a learned mask that depends on the values: no spec can say that"}},
    {.names = "dots1", .window_late = true, .window_all = true},
    {.names = "embedding_gemma2",
     .full_scaled = true,
     .unscaled = true,
     .uncapped = true,
     .both_ways = true,
     .base = 1e6,
     .local = 1e4,
     .interval = 6},
    {.names = "ernie4_5_vl_moe", .other_sections = true},
    {.names = "esm", .if_said = true},
    {.names = "falcon", .maybe_alibi = true},
    {.names = "gemma2|vaultgemma", .interval = 2, .scalar = 256, .cap = 50},
    {.names = "gemma3", .full_scaled = true, .uncapped = true, .base = 1e6, .local = 1e4, .interval = 6, .scalar = 256},
    {.names = "gemma3n",
     .full_scaled = true,
     .unscaled = true,
     .uncapped = true,
     .base = 1e6,
     .local = 1e4,
     .interval = 5},
    {.names = "gemma4|gemma4_unified",
     .full_scaled = true,
     .unscaled = true,
     .uncapped = true,
     .scaled = true,
     .base = 1e6,
     .local = 1e4,
     .interval = 6},
    {.names = "glm|glm4", .interleaved = true, .partial = 0.5},
    {.names = "gpt_neox|qwen3_next|stablelm", .partial = 0.25},
    {.names = "gpt_oss", .sinks = true, .scaled = true, .base = 15e4, .interval = 2},
    {.names = "granite|granitemoe|granitemoeshared", .multiplier = 1},
    {.names = "granitemoehybrid", .if_said = true, .multiplier = 1},
    {.names = "gte", .base = 16e4},
    {.names = "helium", .interleaved = true, .base = 1e5},
    {.names = "hunyuan_v1_dense|hunyuan_v1_moe",
     .missing =
         {"queries and keys are normalised with weights after they have turned: no spec can say that, scores differ"}},
    {.names = "hy_v3", .base = 11158840},
    {.names = "jina_embeddings_v3", .base = 2e4},
    {.names = "kolibri1", .sliding_only = true, .interval = 5},
    {.names = "lfm2|lfm2_moe|minimax|solar_open", .base = 1e6},
    {.names = "llama4", .interleaved = true, .every_few_bare = true, .chunked = true, .base = 5e5, .interval = 4},
    {.names = "longcat_flash", .interleaved = true, .base = 1e7},
    {.names = "minimax_m2", .base = 5e6},
    {.names = "ministral|mistral|mistral3|starcoder2", .window_all = true},
    {.names = "ministral3", .window_all = true, .tempered = true, .scaled = true},
    {.names = "mistral4", .interleaved = true, .tempered = true, .scaled = true},
    {.names = "mixtral|phimoe", .window_all = true, .base = 1e6},
    {.names = "modernbert", .first_full = true, .both_ways = true, .base = 16e4, .local = 1e4, .interval = 3},
    {.names = "modernbert-decoder", .first_full = true, .base = 16e4, .local = 1e4, .interval = 3},
    {.names = "moonshine", .interleaved = true, .partial = 0.9},
    {.names = "moonshine_streaming", .interleaved = true, .partial = 0.8},
    {.names = "nanochat", .backward = true},
    {.names = "nomic_bert", .base = 1000},
    {.names = "olmo3", .full_scaled = true, .base = 5e5, .interval = 4},
    {.names = "phi3|phi4_multimodal", .yarn_is_longrope = true, .window_all = true},
    {.names = "qwen", .logn = true},
    {.names = "qwen2|qwen3", .window_late = true},
    {.names = "qwen2_5_omni|qwen2_5_vl|qwen2_vl", .window_late = true, .base = 1e6, .sections = {16, 24, 24}},
    {.names = "qwen2_moe", .window_early = true},
    {.names = "qwen3_5|qwen3_5_moe", .sections_mixed = true, .partial = 0.25, .sections = {11, 11, 10}},
    {.names = "qwen3_moe", .window_if = true},
    {.names = "qwen3_omni_moe", .sections_mixed = true, .window_late = true, .base = 1e6, .sections = {24, 20, 20}},
    {.names = "qwen3_vl|qwen3_vl_moe", .sections_mixed = true, .base = 5e5, .sections = {24, 20, 20}},
    {.names = "smollm3", .every_few_bare = true, .base = 2e6, .interval = 4},
};

/* "gemma3_text" is the text model of "gemma3". */
const lab_rope_family *lab_rope_family_find(const char *model_type, char name[LAB_ROPE_NAME]) {
    static const lab_rope_family unlisted = {.names = ""};
    static const char suffix[] = "_text";
    size_t length = strlen(model_type), tail = sizeof suffix - 1;
    if (length > tail && strcmp(model_type + length - tail, suffix) == 0)
        length -= tail;
    name[0] = '\0';
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (lab_rope_among(families[i].names, model_type, length)) {
            snprintf(name, LAB_ROPE_NAME, "%.*s", (int)length, model_type);
            return &families[i];
        }
    }
    return &unlisted;
}
