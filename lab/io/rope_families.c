/* SPDX-License-Identifier: MIT */
/* What families of models leave unsaid in their configurations: facts of their published code, by model_type.
 * The order of pairs is that of the projections as checkpoints store them. */
#include "io/rope_source.h"

#include <string.h>

enum {
    INTERLEAVED = LAB_ROPE_INTERLEAVED,
    SECTIONS = LAB_ROPE_SECTIONS,
    SECTIONS_MIXED = LAB_ROPE_SECTIONS_MIXED,
    SLIDING_ONLY = LAB_ROPE_SLIDING_ONLY,
    FULL_SCALED = LAB_ROPE_FULL_SCALED,
    YARN_IS_LONGROPE = LAB_ROPE_YARN_IS_LONGROPE,
    OTHER_SECTIONS = LAB_ROPE_OTHER_SECTIONS,
    FIRST_FULL = LAB_ROPE_FIRST_FULL,
    BACKWARD = LAB_ROPE_BACKWARD,
    CHUNKED = LAB_ROPE_CHUNKED,
    TEMPERED = LAB_ROPE_TEMPERED,
    LOGN = LAB_ROPE_LOGN,
    WINDOW_ALL = LAB_ROPE_WINDOW_ALL,
    WINDOW_LATE = LAB_ROPE_WINDOW_LATE,
    BOTH_WAYS = LAB_ROPE_BOTH_WAYS,
    UNSCALED = LAB_ROPE_UNSCALED,
    UNCAPPED = LAB_ROPE_UNCAPPED,
    SINKS = LAB_ROPE_SINKS,
    ALIBI = LAB_ROPE_ALIBI,
    MAYBE_ALIBI = LAB_ROPE_MAYBE_ALIBI,
    MIXED = LAB_ROPE_SECTIONS | LAB_ROPE_SECTIONS_MIXED,
    BARE = LAB_ROPE_EVERY_FEW_BARE
};

static const lab_rope_family families[] = {
    {.name = "apertus", .base = 12e6},
    {.name = "arcee"},
    {.name = "axk1", .rules = INTERLEAVED},
    {.name = "axk2", .rules = INTERLEAVED},
    {.name = "bailing_hybrid", .rules = INTERLEAVED},
    {.name = "bitnet", .base = 5e5},
    {.name = "bloom", .rules = ALIBI},
    {.name = "codegen", .rules = INTERLEAVED},
    {.name = "cohere", .rules = INTERLEAVED, .base = 5e5},
    {.name = "cohere2", .rules = INTERLEAVED | SLIDING_ONLY, .interval = 4},
    {.name = "deepseek_v2", .rules = INTERLEAVED},
    {.name = "deepseek_v3", .rules = INTERLEAVED},
    {.name = "deepseek_v32", .rules = INTERLEAVED},
    {.name = "dots1", .rules = WINDOW_LATE},
    {.name = "ernie4_5", .rules = INTERLEAVED, .base = 5e5},
    {.name = "ernie4_5_moe", .rules = INTERLEAVED, .base = 5e5},
    {.name = "ernie4_5_vl_moe", .rules = OTHER_SECTIONS},
    {.name = "exaone4", .rules = SLIDING_ONLY, .interval = 4},
    {.name = "falcon", .rules = MAYBE_ALIBI},
    {.name = "gemma"},
    {.name = "gemma2", .interval = 2},
    {.name = "gemma3", .rules = FULL_SCALED | UNCAPPED, .base = 1e6, .local = 1e4, .interval = 6},
    {.name = "gemma3n", .rules = FULL_SCALED | UNSCALED | UNCAPPED, .base = 1e6, .local = 1e4, .interval = 5},
    {.name = "glm", .rules = INTERLEAVED, .partial = 0.5},
    {.name = "glm4", .rules = INTERLEAVED, .partial = 0.5},
    {.name = "glm4_moe", .partial = 0.5},
    {.name = "glm4_moe_lite", .rules = INTERLEAVED},
    {.name = "glm_moe_dsa", .rules = INTERLEAVED},
    {.name = "gpt_neox", .partial = 0.25},
    {.name = "gpt_oss", .rules = SINKS, .base = 15e4, .interval = 2},
    {.name = "gptj", .rules = INTERLEAVED},
    {.name = "granite"},
    {.name = "granitemoe"},
    {.name = "helium", .rules = INTERLEAVED, .base = 1e5},
    {.name = "hunyuan_v1_dense"},
    {.name = "hunyuan_v1_moe"},
    {.name = "llama"},
    {.name = "llama4", .rules = INTERLEAVED | BARE | CHUNKED, .base = 5e5, .interval = 4},
    {.name = "longcat_flash", .rules = INTERLEAVED, .base = 1e7},
    {.name = "minimax_m2", .base = 5e6},
    {.name = "ministral", .rules = WINDOW_ALL},
    {.name = "ministral3", .rules = WINDOW_ALL | TEMPERED},
    {.name = "mistral", .rules = WINDOW_ALL},
    {.name = "mistral3", .rules = WINDOW_ALL},
    {.name = "mistral4", .rules = INTERLEAVED | TEMPERED},
    {.name = "mixtral", .rules = WINDOW_ALL, .base = 1e6},
    {.name = "modernbert", .rules = FIRST_FULL | BOTH_WAYS, .base = 16e4, .local = 1e4, .interval = 3},
    {.name = "modernbert-decoder", .rules = FIRST_FULL, .base = 16e4, .local = 1e4, .interval = 3},
    {.name = "moonshine", .rules = INTERLEAVED, .partial = 0.9},
    {.name = "moonshine_streaming", .rules = INTERLEAVED, .partial = 0.8},
    {.name = "nanochat", .rules = BACKWARD},
    {.name = "nemotron", .partial = 0.5},
    {.name = "olmo"},
    {.name = "olmo2"},
    {.name = "olmo3", .rules = FULL_SCALED, .base = 5e5, .interval = 4},
    {.name = "olmoe"},
    {.name = "persimmon", .partial = 0.5},
    {.name = "phi", .partial = 0.5},
    {.name = "phi3", .rules = YARN_IS_LONGROPE | WINDOW_ALL},
    {.name = "phi4_multimodal", .rules = YARN_IS_LONGROPE | WINDOW_ALL},
    {.name = "phimoe", .rules = WINDOW_ALL, .base = 1e6},
    {.name = "qwen", .rules = LOGN},
    {.name = "qwen2", .rules = WINDOW_LATE},
    {.name = "qwen2_5_omni", .rules = SECTIONS | WINDOW_LATE, .base = 1e6, .sections = {16, 24, 24}},
    {.name = "qwen2_5_vl", .rules = SECTIONS | WINDOW_LATE, .base = 1e6, .sections = {16, 24, 24}},
    {.name = "qwen2_moe"},
    {.name = "qwen2_vl", .rules = SECTIONS | WINDOW_LATE, .base = 1e6, .sections = {16, 24, 24}},
    {.name = "qwen3", .rules = WINDOW_LATE},
    {.name = "qwen3_5", .rules = MIXED, .partial = 0.25, .sections = {11, 11, 10}},
    {.name = "qwen3_5_moe", .rules = MIXED, .partial = 0.25, .sections = {11, 11, 10}},
    {.name = "qwen3_moe"},
    {.name = "qwen3_next", .partial = 0.25},
    {.name = "qwen3_omni_moe", .rules = MIXED | WINDOW_LATE, .base = 1e6, .sections = {24, 20, 20}},
    {.name = "qwen3_vl", .rules = MIXED, .base = 5e5, .sections = {24, 20, 20}},
    {.name = "qwen3_vl_moe", .rules = MIXED, .base = 5e5, .sections = {24, 20, 20}},
    {.name = "seed_oss"},
    {.name = "smollm3", .rules = BARE, .base = 2e6, .interval = 4},
    {.name = "stablelm", .partial = 0.25},
    {.name = "starcoder2", .rules = WINDOW_ALL},
    {.name = "vaultgemma", .interval = 2},
    {.name = "youtu", .rules = INTERLEAVED},
};

/* "gemma3_text" is the text model of "gemma3". */
const lab_rope_family *lab_rope_family_find(const char *model_type) {
    static const char suffix[] = "_text";
    size_t length = strlen(model_type), tail = sizeof suffix - 1;
    if (length > tail && strcmp(model_type + length - tail, suffix) == 0)
        length -= tail;
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strlen(families[i].name) == length && strncmp(families[i].name, model_type, length) == 0)
            return &families[i];
    return NULL;
}
