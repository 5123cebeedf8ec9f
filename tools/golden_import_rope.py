# SPDX-License-Identifier: MIT
"""Rotary frequencies of published model configurations, computed live by the transformers library, for
tests/golden/test_golden_import_rope.c.

    python tools/golden_import_rope.py            writes tests/golden/import_rope.safetensors
    python tools/golden_import_rope.py --configs  also writes the configurations, tests/cli/configs/*.json

A configuration holds the fields that say how positions act and the sizes they need: facts of published models, in the layout
of their checkpoints, and some in the layout that transformers writes now. Each case is one configuration, one length of
the text and one layer: the model's own rotary module is run at that length, and of it are kept

    inv_freq [pairs]   what each pair turns by for one step
    axis [pairs]       which of the position numbers it follows (M-RoPE), found by moving one number at a time
    scaling [1]        what cosines and sines are multiplied by
    pairs [pairs, 2]   which head dimensions are turned together, found by rotating unit vectors with the model's own function

A layer without positions has no arrays, but the text "none".
"""
import argparse
import importlib
import json
import pathlib

import numpy as np
import torch
import transformers

import golden_format

ROOT = pathlib.Path(__file__).resolve().parent.parent
CONFIGS, GOLDEN = ROOT / "tests/cli/configs", ROOT / "tests/golden/import_rope.safetensors"


def sizes(hidden, heads, layers, length, **more):
    return {"hidden_size": hidden, "num_attention_heads": heads, "num_hidden_layers": layers, "max_position_embeddings": length, **more}


def long_factors(pairs, low, high):
    """Lists of LongRoPE are some published numbers for each pair; these grow alike."""
    return [round(low * (high / low) ** (i / (pairs - 1)), 4) for i in range(pairs)]


# In the layout of the published checkpoints.
PUBLISHED = {
    "llama2": {"model_type": "llama", "architectures": ["LlamaForCausalLM"], **sizes(4096, 32, 32, 4096, num_key_value_heads=32), "rope_scaling": None},
    "llama3": {"model_type": "llama", "rope_theta": 500000.0, **sizes(4096, 32, 32, 8192, num_key_value_heads=8)},
    "llama31": {"model_type": "llama", "rope_theta": 500000.0, **sizes(4096, 32, 32, 131072, num_key_value_heads=8),
                "rope_scaling": {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                 "original_max_position_embeddings": 8192, "rope_type": "llama3"}},
    "llama32": {"model_type": "llama", "rope_theta": 500000.0, **sizes(2048, 32, 16, 131072, head_dim=64, num_key_value_heads=8),
                "rope_scaling": {"factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                 "original_max_position_embeddings": 8192, "rope_type": "llama3"}},
    "llama-linear": {"model_type": "llama", **sizes(4096, 32, 32, 16384), "rope_scaling": {"type": "linear", "factor": 4.0}},
    "llama-dynamic": {"model_type": "llama", **sizes(5120, 40, 40, 4096), "rope_scaling": {"type": "dynamic", "factor": 2.0}},
    "mistral": {"model_type": "mistral", "rope_theta": 10000.0, **sizes(4096, 32, 32, 32768, sliding_window=4096, num_key_value_heads=8)},
    "mistral-nemo": {"model_type": "mistral", "rope_theta": 1000000.0, **sizes(5120, 32, 40, 131072, head_dim=128, sliding_window=None)},
    "qwen2": {"model_type": "qwen2", "rope_theta": 1000000.0, **sizes(3584, 28, 28, 32768, use_sliding_window=False, sliding_window=131072)},
    "qwen25-yarn": {"model_type": "qwen2", "rope_theta": 1000000.0, **sizes(3584, 28, 28, 32768),
                    "rope_scaling": {"factor": 4.0, "original_max_position_embeddings": 32768, "type": "yarn"}},
    "qwen2-vl": {"model_type": "qwen2_vl", "rope_theta": 1000000.0, **sizes(3584, 28, 28, 32768),
                 "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}},
    "qwen25-vl": {"model_type": "qwen2_5_vl", "rope_theta": 1000000.0, **sizes(2048, 16, 36, 128000),
                  "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]}},
    "qwen3": {"model_type": "qwen3", "rope_theta": 1000000, **sizes(4096, 32, 36, 40960, head_dim=128), "rope_scaling": None},
    "qwen3-vl": {"model_type": "qwen3_vl",
                 "text_config": {"model_type": "qwen3_vl_text", "rope_theta": 5000000, **sizes(2560, 32, 36, 262144, head_dim=128),
                                 "rope_scaling": {"mrope_interleaved": True, "mrope_section": [24, 20, 20], "rope_type": "default"}}},
    "phi3-128k": {"model_type": "phi3", "rope_theta": 10000.0, **sizes(3072, 32, 32, 131072, original_max_position_embeddings=4096),
                  "rope_scaling": {"type": "longrope", "short_factor": long_factors(48, 1.05, 2.4), "long_factor": long_factors(48, 1.03, 64.1)}},
    "phi4-mini": {"model_type": "phi3", "rope_theta": 10000.0, "partial_rotary_factor": 0.75,
                  **sizes(3072, 24, 32, 131072, original_max_position_embeddings=4096),
                  "rope_scaling": {"type": "longrope", "short_factor": [1.0] * 48, "long_factor": long_factors(48, 1.0, 47.77)}},
    "phi2": {"model_type": "phi", "rope_theta": 10000.0, "partial_rotary_factor": 0.4, **sizes(2560, 32, 32, 2048)},
    "pythia": {"model_type": "gpt_neox", "rotary_pct": 0.25, "rotary_emb_base": 10000, **sizes(4096, 32, 32, 2048)},
    "gptj": {"model_type": "gptj", "rotary_dim": 64, "n_embd": 4096, "n_head": 16, "n_layer": 28, "n_positions": 2048},
    "deepseek-v2": {"model_type": "deepseek_v2", "rope_theta": 10000, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, **sizes(5120, 128, 60, 163840),
                    "rope_scaling": {"beta_fast": 32, "beta_slow": 1, "factor": 40, "mscale": 0.707, "mscale_all_dim": 0.707,
                                     "original_max_position_embeddings": 4096, "type": "yarn"}},
    "deepseek-v3": {"model_type": "deepseek_v3", "rope_theta": 10000, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, **sizes(7168, 128, 61, 163840),
                    "rope_scaling": {"beta_fast": 32, "beta_slow": 1, "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0,
                                     "original_max_position_embeddings": 4096, "type": "yarn"}},
    "gemma3-1b": {"model_type": "gemma3_text", "rope_theta": 1000000, "rope_local_base_freq": 10000, "sliding_window_pattern": 6, "sliding_window": 512,
                  "query_pre_attn_scalar": 256, **sizes(1152, 4, 26, 32768, head_dim=256), "rope_scaling": None},
    "gemma3-4b": {"model_type": "gemma3",
                  "text_config": {"model_type": "gemma3_text", "rope_theta": 1000000, "rope_local_base_freq": 10000, "sliding_window": 1024,
                                  **sizes(2560, 8, 34, 131072, head_dim=256), "rope_scaling": {"factor": 8.0, "rope_type": "linear"}}},
    "cohere2": {"model_type": "cohere2", "rope_theta": 50000, "sliding_window": 4096, "sliding_window_pattern": 4, **sizes(4096, 32, 32, 8192)},
    "smollm3": {"model_type": "smollm3", "rope_theta": 5000000.0, "no_rope_layers": [1, 1, 1, 0] * 9, **sizes(2048, 16, 36, 65536)},
    "gpt-oss": {"model_type": "gpt_oss", "rope_theta": 150000, "layer_types": ["sliding_attention", "full_attention"] * 12, "sliding_window": 128,
                **sizes(2880, 64, 24, 131072, head_dim=64),
                "rope_scaling": {"beta_fast": 32.0, "beta_slow": 1.0, "factor": 32.0, "original_max_position_embeddings": 4096,
                                 "rope_type": "yarn", "truncate": False}},
    "glm4": {"model_type": "glm4", "rope_theta": 10000.0, "partial_rotary_factor": 0.5, **sizes(4096, 32, 40, 32768, head_dim=128)},
    "stablelm": {"model_type": "stablelm", "rope_theta": 10000, "partial_rotary_factor": 0.25, **sizes(2560, 32, 32, 4096)},
    "kimi-k2": {"model_type": "deepseek_v3", "rope_theta": 50000.0, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, **sizes(7168, 64, 61, 131072),
                "rope_scaling": {"beta_fast": 1.0, "beta_slow": 1.0, "factor": 32.0, "mscale": 1.0, "mscale_all_dim": 1.0,
                                 "original_max_position_embeddings": 4096, "type": "yarn"}},
    "deepseek-v32": {"model_type": "deepseek_v32", "rope_theta": 10000, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, **sizes(7168, 128, 61, 163840),
                     "rope_scaling": {"beta_fast": 32, "beta_slow": 1, "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0,
                                      "original_max_position_embeddings": 4096, "type": "yarn"}},
    "longcat-flash": {"model_type": "longcat_flash", "rope_theta": 10000000.0, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "hidden_size": 6144,
                      "num_attention_heads": 64, "num_layers": 28, "max_position_embeddings": 131072},
    "glm47-flash": {"model_type": "glm4_moe_lite", "rope_theta": 1000000, "qk_nope_head_dim": 192, "qk_rope_head_dim": 64, **sizes(2048, 20, 47, 202752)},
    "moonshine": {"model_type": "moonshine", "rope_theta": 10000.0, "partial_rotary_factor": 0.9, "hidden_size": 288, "encoder_num_attention_heads": 8,
                  "decoder_num_attention_heads": 8, "max_position_embeddings": 194},
    "nanochat": {"model_type": "nanochat", **sizes(768, 6, 12, 2048)},
    "modernbert": {"model_type": "modernbert", "global_rope_theta": 160000.0, "local_rope_theta": 10000.0, "global_attn_every_n_layers": 3,
                   "local_attention": 128, **sizes(768, 12, 22, 8192)},
    "ettin-decoder": {"model_type": "modernbert-decoder", "global_rope_theta": 160000.0, "local_rope_theta": 160000.0, "global_attn_every_n_layers": 3,
                      "local_attention": 128, **sizes(768, 12, 22, 7999)},
    "llama4-scout": {"model_type": "llama4",
                     "text_config": {"model_type": "llama4_text", "rope_theta": 500000.0, **sizes(5120, 40, 48, 10485760, head_dim=128), "attention_chunk_size": 8192,
                                     "attn_temperature_tuning": True, "floor_scale": 8192, "attn_scale": 0.1, "no_rope_layers": [],
                                     "rope_scaling": {"factor": 16.0, "high_freq_factor": 1.0, "low_freq_factor": 1.0,
                                                      "original_max_position_embeddings": 8192, "rope_type": "llama3"}}},
    "ministral3": {"model_type": "ministral3", **sizes(3072, 32, 26, 262144, head_dim=128, sliding_window=None),
                   "rope_parameters": {"beta_fast": 32.0, "beta_slow": 1.0, "factor": 16.0, "llama_4_scaling_beta": 0.1, "mscale": 1.0, "mscale_all_dim": 1.0,
                                       "original_max_position_embeddings": 16384, "rope_theta": 1000000.0, "rope_type": "yarn", "type": "yarn"}},
    "yarn-attention": {"model_type": "llama", "rope_theta": 10000.0, **sizes(4096, 32, 32, 65536),
                       "rope_scaling": {"rope_type": "yarn", "factor": 16.0, "original_max_position_embeddings": 4096,
                                        "attention_factor": 1.1, "beta_fast": 48, "beta_slow": 2}},
}
# Written again by transformers, in its own layout.
REWRITTEN = ("llama31", "qwen25-vl", "qwen3-vl", "phi3-128k", "deepseek-v3", "gemma3-4b", "pythia", "gpt-oss")
KEPT = ("model_type", "architectures", "hidden_size", "num_attention_heads", "num_key_value_heads", "num_hidden_layers", "head_dim",
        "max_position_embeddings", "original_max_position_embeddings", "rope_theta", "rope_scaling", "rope_parameters", "layer_types",
        "partial_rotary_factor", "rotary_pct", "qk_rope_head_dim", "qk_nope_head_dim", "rope_interleave", "sliding_window",
        "use_sliding_window", "query_pre_attn_scalar")
LENGTHS = {"llama-dynamic": (1024, 8192, 12345), "phi3-128k": (4096, 4097), "phi3-128k-new": (4096, 4097), "phi4-mini": (100, 131072)}


def load(config):
    kind = transformers.models.auto.configuration_auto.CONFIG_MAPPING[config["model_type"]]
    return kind.from_dict(json.loads(json.dumps(config)))


def rewrite(config):
    made = load(config).to_dict()
    keep = lambda whole: {key: whole[key] for key in KEPT if key in whole}
    text = made.get("text_config")
    return {**keep({"model_type": made["model_type"]}), "text_config": keep(text)} if text else keep(made)


def all_configs():
    yield from PUBLISHED.items()
    for name in REWRITTEN:
        yield f"{name}-new", rewrite(PUBLISHED[name])


# ---- the models' own modules ----


def module_of(config):
    name = type(config).__module__.replace("configuration", "modeling")
    return importlib.import_module(name)


def rotary_class(module):
    names = [name for name in dir(module) if name.endswith("RotaryEmbedding") and "Vision" not in name]
    text = [name for name in names if "Text" in name]
    return getattr(module, (text or names)[0])


def angles(rotary, layer_type, positions):
    """cos and sin for each pair; positions [axes, length]. Modules give them twice, side by side or one after another."""
    ids = torch.tensor(positions)[:, None, :]
    extra = () if layer_type is None else (layer_type,)
    out = rotary(torch.zeros(1, 1, 1), ids if ids.shape[0] > 1 else ids[0], *extra)
    if torch.is_tensor(out):  # DeepSeek-V2, Llama 4: complex numbers
        return out.real[0], out.imag[0]
    cos, sin = out[0][0], out[1][0]
    pairs = cos.shape[-1] // 2
    if torch.equal(sin[..., :pairs], sin[..., pairs:]):
        return cos[..., :pairs], sin[..., :pairs]
    return (cos[..., ::2], sin[..., ::2]) if torch.equal(sin[..., ::2], sin[..., 1::2]) else (cos, sin)


def turned_pairs(module, config, rotated):
    """Which dimension of the rotary part goes into which: e_i turned by a quarter is its partner."""
    always = not hasattr(module, "apply_rotary_pos_emb") or config.model_type == "deepseek_v32"  # the other function is its indexer's
    interleaved = getattr(config, "rope_interleave", always and hasattr(module, "apply_rotary_pos_emb_interleave"))
    if config.model_type in ("deepseek_v2", "llama4_text"):
        turn = lambda x: module.apply_rotary_emb(x, x, torch.full((1, 1, rotated // 2), 1j))[0]
    else:
        function = getattr(module, "apply_rotary_pos_emb_interleave" if interleaved else "apply_rotary_pos_emb")
        if config.model_type == "gptj":
            turn = lambda x: function(x.transpose(1, 2), torch.ones(1, 1, rotated // 2), torch.zeros(1, 1, rotated // 2)).transpose(1, 2)
        else:
            flat, one = torch.zeros(1, 1, rotated), torch.ones(1, 1, rotated)
            if module.__name__.endswith("gpt_oss"):
                flat, one = flat[..., : rotated // 2], one[..., : rotated // 2]
            turn = lambda x: function(x, x, flat, one)[0]
    quarter = turn(torch.eye(rotated)[None, None])[0, 0]  # row i: e_i turned
    if interleaved:  # the result is de-interleaved: query and key alike
        back = torch.empty_like(quarter)
        back[:, 0::2], back[:, 1::2] = quarter[:, : rotated // 2], quarter[:, rotated // 2 :]
        quarter = back
    pairs = sorted((int(i), int(row.argmax())) for i, row in enumerate(quarter) if row.max() > 0.5)
    assert len(pairs) == rotated // 2 and all(row.abs().sum() == 1 for row in quarter)
    return pairs


def layer_type_of(config, rotary, layer):
    if not getattr(config, "layer_types", None) or not isinstance(getattr(rotary, "rope_type", None), dict):
        return None
    return config.layer_types[layer]


def is_bare(config, layer):
    """Does the model's code leave this layer without positions?"""
    if config.model_type == "cohere2":
        return config.layer_types[layer] == "full_attention"
    return bool(getattr(config, "no_rope_layers", None)) and not config.no_rope_layers[layer]


def measure(config, layer, length):
    config = config.get_text_config()
    module = module_of(config)
    if config.model_type == "gptj":  # tables of sines, not a module
        rotated = config.rotary_dim
        inv_freq, scaling, axis = 1.0 / (10000 ** (torch.arange(0, rotated, 2, dtype=torch.int64) / rotated)), 1.0, torch.zeros(rotated // 2)
        table = module.create_sinusoidal_positions(16, rotated)
        assert torch.allclose(table[5, : rotated // 2], torch.sin(5 * inv_freq), atol=1e-6)
    else:
        rotary = rotary_class(module)(config)
        kind = layer_type_of(config, rotary, layer)
        sections = getattr(rotary, "mrope_section", None)
        axes = 3 if sections else 1
        cos, sin = angles(rotary, kind, [[length - 1]] * axes)
        prefix = f"{kind}_" if kind else ""
        inv_freq = getattr(rotary, f"{prefix}inv_freq").double()
        scaling = getattr(rotary, f"{prefix}attention_scaling")
        pairs = len(inv_freq)
        # What is kept must be what the module turns by: at position length − 1, to float32's angle.
        want = torch.cos(inv_freq.float() * (length - 1)) * scaling
        assert axes > 1 or torch.allclose(cos[0].float(), want, atol=1e-5), config.model_type
        axis = torch.zeros(pairs)
        for a in range(1, axes):
            moved = [[0]] * axes
            moved[a] = [1]
            axis[angles(rotary, kind, moved)[1][0] > 0] = a
        rotated = 2 * pairs
    return {"inv_freq": inv_freq.double().numpy(), "axis": axis.to(torch.int32).numpy(), "scaling": np.array([scaling], dtype=np.float64),
            "pairs": np.array(turned_pairs(module, config, rotated), dtype=np.int32)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--configs", action="store_true", help="write tests/cli/configs/*.json, too")
    if parser.parse_args().configs:
        CONFIGS.mkdir(exist_ok=True)
        for name, config in all_configs():
            (CONFIGS / f"{name}.json").write_text(json.dumps(config, indent=1) + "\n")
    arrays, metadata, count = {}, {}, 0
    for path in sorted(CONFIGS.glob("*.json")):
        config = load(json.loads(path.read_text()))
        text = config.get_text_config()
        seen = set()
        for layer in range(8):  # more than any pattern here
            for length in LENGTHS.get(path.stem, (1000,)):
                case = {"none": np.zeros(0)} if is_bare(text, layer) else measure(config, layer, length)
                key = (length, *(value.tobytes() for value in case.values()))
                if key in seen:
                    continue
                seen.add(key)
                metadata.update({f"{count}.config": path.stem, f"{count}.layer": layer, f"{count}.length": length})
                metadata[f"{count}.none"] = "yes" if "none" in case else "no"
                arrays.update({f"{count}.{name}": value for name, value in case.items() if name != "none"})
                count += 1
    metadata.update({"count": count, "made_by": f"transformers {transformers.__version__}, torch {torch.__version__}"})
    golden_format.write(GOLDEN, arrays, metadata)


if __name__ == "__main__":
    main()
