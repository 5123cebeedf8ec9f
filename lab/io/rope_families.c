/* SPDX-License-Identifier: MIT */
/* What families of models leave unsaid in their configurations: facts of their published code, by model_type.
 * The order of pairs is that of the projections as checkpoints store them. */
#include "io/rope_source.h"

#include <string.h>

enum {
    INTERLEAVED = LAB_ROPE_INTERLEAVED,
    MIXED = LAB_ROPE_SECTIONS | LAB_ROPE_SECTIONS_MIXED,
    SECTIONS = LAB_ROPE_SECTIONS,
    SLIDING_ONLY = LAB_ROPE_SLIDING_ONLY,
    FULL_SCALED = LAB_ROPE_FULL_SCALED,
    BARE = LAB_ROPE_EVERY_FEW_BARE
};

static const lab_rope_family families[] = {
    {"apertus", 0, 12e6, 0, 0, 0, {0}},
    {"arcee", 0, 0, 0, 0, 0, {0}},
    {"bitnet", 0, 5e5, 0, 0, 0, {0}},
    {"codegen", INTERLEAVED, 0, 0, 0, 0, {0}},
    {"cohere", INTERLEAVED, 5e5, 0, 0, 0, {0}},
    {"cohere2", INTERLEAVED | SLIDING_ONLY, 0, 0, 0, 4, {0}},
    {"deepseek_v2", INTERLEAVED, 0, 0, 0, 0, {0}},
    {"deepseek_v3", INTERLEAVED, 0, 0, 0, 0, {0}},
    {"ernie4_5", INTERLEAVED, 5e5, 0, 0, 0, {0}},
    {"ernie4_5_moe", INTERLEAVED, 5e5, 0, 0, 0, {0}},
    {"ernie4_5_vl_moe", LAB_ROPE_OTHER_SECTIONS, 0, 0, 0, 0, {0}},
    {"exaone4", SLIDING_ONLY, 0, 0, 0, 4, {0}},
    {"falcon", 0, 0, 0, 0, 0, {0}},
    {"gemma", 0, 0, 0, 0, 0, {0}},
    {"gemma2", 0, 0, 0, 0, 0, {0}},
    {"gemma3", FULL_SCALED, 1e6, 1e4, 0, 6, {0}},
    {"gemma3n", FULL_SCALED, 1e6, 1e4, 0, 5, {0}},
    {"glm", INTERLEAVED, 0, 0, 0.5, 0, {0}},
    {"glm4", INTERLEAVED, 0, 0, 0.5, 0, {0}},
    {"glm4_moe", 0, 0, 0, 0.5, 0, {0}},
    {"gpt_neox", 0, 0, 0, 0.25, 0, {0}},
    {"gpt_oss", 0, 15e4, 0, 0, 0, {0}},
    {"gptj", INTERLEAVED, 0, 0, 0, 0, {0}},
    {"granite", 0, 0, 0, 0, 0, {0}},
    {"granitemoe", 0, 0, 0, 0, 0, {0}},
    {"helium", INTERLEAVED, 1e5, 0, 0, 0, {0}},
    {"hunyuan_v1_dense", 0, 0, 0, 0, 0, {0}},
    {"hunyuan_v1_moe", 0, 0, 0, 0, 0, {0}},
    {"llama", 0, 0, 0, 0, 0, {0}},
    {"llama4", INTERLEAVED | BARE, 5e5, 0, 0, 4, {0}},
    {"minimax_m2", 0, 5e6, 0, 0, 0, {0}},
    {"ministral", 0, 0, 0, 0, 0, {0}},
    {"mistral", 0, 0, 0, 0, 0, {0}},
    {"mistral3", 0, 0, 0, 0, 0, {0}},
    {"mixtral", 0, 1e6, 0, 0, 0, {0}},
    {"modernbert", LAB_ROPE_FIRST_FULL, 16e4, 1e4, 0, 3, {0}},
    {"nemotron", 0, 0, 0, 0.5, 0, {0}},
    {"olmo", 0, 0, 0, 0, 0, {0}},
    {"olmo2", 0, 0, 0, 0, 0, {0}},
    {"olmo3", FULL_SCALED, 5e5, 0, 0, 4, {0}},
    {"olmoe", 0, 0, 0, 0, 0, {0}},
    {"persimmon", 0, 0, 0, 0.5, 0, {0}},
    {"phi", 0, 0, 0, 0.5, 0, {0}},
    {"phi3", LAB_ROPE_YARN_IS_LONGROPE, 0, 0, 0, 0, {0}},
    {"phi4_multimodal", LAB_ROPE_YARN_IS_LONGROPE, 0, 0, 0, 0, {0}},
    {"phimoe", 0, 1e6, 0, 0, 0, {0}},
    {"qwen2", 0, 0, 0, 0, 0, {0}},
    {"qwen2_5_omni", SECTIONS, 1e6, 0, 0, 0, {16, 24, 24}},
    {"qwen2_5_vl", SECTIONS, 1e6, 0, 0, 0, {16, 24, 24}},
    {"qwen2_moe", 0, 0, 0, 0, 0, {0}},
    {"qwen2_vl", SECTIONS, 1e6, 0, 0, 0, {16, 24, 24}},
    {"qwen3", 0, 0, 0, 0, 0, {0}},
    {"qwen3_5", MIXED, 0, 0, 0.25, 0, {11, 11, 10}},
    {"qwen3_5_moe", MIXED, 0, 0, 0.25, 0, {11, 11, 10}},
    {"qwen3_moe", 0, 0, 0, 0, 0, {0}},
    {"qwen3_next", 0, 0, 0, 0.25, 0, {0}},
    {"qwen3_omni_moe", MIXED, 1e6, 0, 0, 0, {24, 20, 20}},
    {"qwen3_vl", MIXED, 5e5, 0, 0, 0, {24, 20, 20}},
    {"qwen3_vl_moe", MIXED, 5e5, 0, 0, 0, {24, 20, 20}},
    {"seed_oss", 0, 0, 0, 0, 0, {0}},
    {"smollm3", BARE, 2e6, 0, 0, 4, {0}},
    {"stablelm", 0, 0, 0, 0.25, 0, {0}},
    {"starcoder2", 0, 0, 0, 0, 0, {0}},
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
