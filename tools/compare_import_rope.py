#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whole models of the transformers library against what `locus import-rope` says of their configurations.

    python3 tools/compare_import_rope.py --locus build/release/locus [--write docs/import-rope.md] [FAMILY…]

For each family a tiny model with random weights is made from its configuration class and read twice over the same tokens:

    reference   as transformers computes it (eager attention)
    imported    its rotary functions, temperatures and biases switched off, and every layer's attention computed by
                `locus attend` from the queries, keys and values as they are without positions, with the spec and layer that
                `locus import-rope --attention` prints for the model's own config.json

What is compared are the logits: max |difference| / max |logit|. Each configuration is imported as the library writes it in
full, and again with its sizes alone, so that defaults that only the code knows are read as well. Weights
are large enough for positions to matter: `without` is what the difference is if nothing turns and every key is seen.

A family agrees if both differences are below 1e-4: models compute in float32, `locus attend` too."""
import argparse
import importlib
import inspect
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import warnings

import numpy as np
import torch
import transformers
from transformers import AttentionInterface
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, eager_mask
from transformers.models.auto import configuration_auto, modeling_auto

warnings.filterwarnings("ignore")
transformers.logging.set_verbosity_error()
torch.set_num_threads(1)
ALLOWED = 1e-4
SECONDS = 90  # for one family
MOST_BYTES = 5 << 30
TOKENS = 41

# Small sizes by the field's name; only fields that a configuration has are set.
SIZES = {
    "hidden_size": 64, "n_embd": 64, "d_model": 64, "intermediate_size": 96, "ffn_dim": 96, "ffn_hidden_size": 96, "n_inner": 96, "num_hidden_layers": 6,
    "n_layer": 6, "n_layers": 6, "num_layers": 6, "num_attention_heads": 4, "n_head": 4, "n_heads": 4, "num_key_value_heads": 2, "num_kv_heads": 2, "head_dim": 16,
    "vocab_size": 99, "max_position_embeddings": 64, "n_positions": 64, "n_ctx": 64, "max_seq_len": 64, "max_sequence_length": 64, "rotary_dim": 8, "sliding_window": 7,
    "local_attention": 12, "attention_chunk_size": 8, "floor_scale": 5, "num_experts": 4, "num_local_experts": 4, "n_routed_experts": 4,
    "num_experts_per_tok": 2, "num_experts_per_token": 2, "moe_topk": 2, "moe_k": 2, "moe_top_k": 2, "moe_num_experts": 4, "moe_num_active_experts": 2, "top_k_experts": 2, "zero_expert_num": 2, "moe_intermediate_size": 32,
    "expert_ffn_hidden_size": 32, "shared_expert_intermediate_size": 32, "moe_shared_expert_intermediate_size": 32, "intermediate_size_mlp": 96, "q_lora_rank": 24, "kv_lora_rank": 16,
    "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 12, "n_group": 1, "topk_group": 1, "first_k_dense_replace": 1, "n_shared_experts": 1,
    "kv_channels": 16, "num_global_key_value_heads": 2, "global_head_dim": 16, "hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 99, "index_topk": 64, "index_head_dim": 16, "index_n_heads": 2,
    "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 8, "linear_value_head_dim": 8, "use_sliding_window": True, "max_window_layers": 2,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "attention_dropout": 0.0, "hidden_dropout": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0,
    "resid_pdrop": 0.0, "residual_dropout": 0.0, "embedding_dropout": 0.0, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "resid_dropout": 0.0, "attention_probs_dropout": 0.0,
    "encoder_num_hidden_layers": 6, "decoder_num_hidden_layers": 6, "encoder_num_attention_heads": 4, "decoder_num_attention_heads": 4, "encoder_num_key_value_heads": 4, "decoder_num_key_value_heads": 4,
    "indexer_n_heads": 2, "indexer_kv_heads": 1, "indexer_head_dim": 16, "indexer_budget": 64, "indexer_compress_ratio": 4, "hc_lowrank": 8,
    "use_cache": False, "mamba_n_heads": 8, "mamba_d_head": 16, "mamba_d_state": 8, "mamba_n_groups": 1, "lru_width": 64, "attention_window_size": 7, "use_mambapy": False, "use_mamba_kernels": False,
}
# What a family needs beside them.
ALSO = {
    "bamba": {"attn_layer_indices": [1, 3]}, "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1}, "gemma3n_text": {"num_kv_shared_layers": 0, "layer_types": None, "intermediate_size": 96, "activation_sparsity_pattern": None, "laurel_rank": 8},
    "gemma4_text": {"num_kv_shared_layers": 0}, "gptj": {"rotary_dim": 8}, "codegen": {"rotary_dim": 8}, "dbrx": {"attn_config": {"kv_n_heads": 2, "clip_qkv": 8.0}, "ffn_config": {"ffn_hidden_size": 96, "moe_num_experts": 4, "moe_top_k": 2}},
    "longcat_flash": {"num_layers": 3, "head_dim": 8}, "glm4v_text": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3]}}, "glm_ocr_text": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3]}}, "glm_image_text": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3]}}, "glm4v_moe_text": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 2], "partial_rotary_factor": 0.5}}, "cosmos3_edge_text": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [4, 2, 2]}}, "esmc": {"num_key_value_heads": 4}, "dots3_note_text": {"num_key_value_heads": 4}, "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 3}, "zamba2": {"layers_block_type": ["mamba", "hybrid"] * 3, "use_mem_rope": True, "n_mamba_heads": 8},
    "cohere_compass_text": {"layer_types": ["sliding_attention", "full_attention"] * 3, "rope_parameters": {kind: {"rope_type": "default", "rope_theta": 1e4} for kind in ("sliding_attention", "full_attention")}},
    "hunyuan_vl_text": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3]}},
    "phi4_multimodal": {"vision_config": {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 28, "crop_size": 28},
                        "audio_config": {"hidden_size": 32, "intermediate_size": 32, "num_blocks": 2, "num_attention_heads": 2, "ext_pw_out_channel": 32, "depthwise_separable_out_channel": 32, "nemo_conv_channels": 32}},
    "ernie4_5_vl_moe_text": {"moe_intermediate_size": [32, 32], "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [3, 3, 2]}},
    "moshi": {"num_key_value_heads": 4}, "moonshine_streaming": {"num_key_value_heads": 4, "encoder_config": {"hidden_size": 64}}, "mistral4": {"head_dim": 24},
    "qwen2_5_omni_text": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3]}},
    "qwen3_omni_moe_text": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [4, 2, 2], "mrope_interleaved": True}},
    "esm": {"position_embedding_type": "rotary"}, "falcon_h1": {"mamba_d_ssm": 128}, "minimax": {"sliding_window": None}, "mimo_v2_flash": {"head_dim": 24}, "embedding_gemma2_text": {}, "zaya": {"num_experts_per_tok": 1}, "granitemoehybrid": {"layer_types": ["mamba", "attention"] * 3, "position_embedding_type": "rope"}, "bloom": {"n_layer": 4}, "mpt": {"n_layers": 4},
    "qwen2_vl_text": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3]}},
    "qwen2_5_vl_text": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3]}},
    "qwen3_vl_text": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [4, 2, 2], "mrope_interleaved": True}},
    "qwen3_vl_moe_text": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [4, 2, 2], "mrope_interleaved": True}},
    "qwen3_5_text": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1], "mrope_interleaved": True, "partial_rotary_factor": 0.5}},
    "qwen3_5_moe_text": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1], "mrope_interleaved": True, "partial_rotary_factor": 0.5}},
}
# Scalings and settings that a family's default configuration does not show: name -> (family, fields).
VARIANTS = {
    "kimi-k2 (deepseek_v3)": ("deepseek_v3", {"rope_parameters": {"rope_type": "yarn", "rope_theta": 50000.0, "factor": 8.0, "original_max_position_embeddings": 16, "beta_fast": 1.0,
                                                                  "beta_slow": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0}}),
    "falcon-rw (falcon)": ("falcon", {"alibi": True, "new_decoder_architecture": False, "multi_query": False, "parallel_attn": False, "bias": True, "num_kv_heads": 4}),
    "falcon-7b (falcon)": ("falcon", {"alibi": False, "new_decoder_architecture": False, "multi_query": True, "parallel_attn": True, "bias": False}),
    "ministral-3 (ministral3)": ("ministral3", {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e6, "factor": 4.0, "original_max_position_embeddings": 16, "beta_fast": 32.0, "beta_slow": 1.0,
                                                                    "mscale": 1.0, "mscale_all_dim": 1.0, "llama_4_scaling_beta": 0.1}}),
    "llama-3.1 (llama)": ("llama", {"rope_parameters": {"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 16}}),
    "qwen2.5-yarn (qwen2)": ("qwen2", {"use_sliding_window": False, "rope_parameters": {"rope_type": "yarn", "rope_theta": 1e6, "factor": 4.0, "original_max_position_embeddings": 16}}),
    "phi-3-longrope (phi3)": ("phi3", {"rope_parameters": {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7],
                                                          "long_factor": [1.0, 1.3, 1.9, 2.4, 3.1, 3.9, 4.2, 5.0], "original_max_position_embeddings": 16}, "original_max_position_embeddings": 16}),
    "llama-dynamic (llama)": ("llama", {"max_position_embeddings": 24, "rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}}),
    "llama-4-moe-chunks (llama4_text)": ("llama4_text", {"no_rope_layers": [1, 0, 1, 0, 1, 1], "attn_scale": 0.4}),
    "mistral without a window (mistral)": ("mistral", {"sliding_window": None}),
}
# Text models that no automatic class names: family -> class beside the family's configuration.
CLASSES = {"ernie4_5_vl_moe_text": "Ernie4_5_VLMoeTextModel", "moonshine": "MoonshineDecoder", "moonshine_streaming": "MoonshineStreamingDecoder",
           "qwen2_5_omni_text": "Qwen2_5OmniThinkerTextModel", "qwen3_omni_moe_text": "Qwen3OmniMoeThinkerTextModel", "voxtral_realtime_text": "VoxtralRealtimeTextModel"}
# Families that the automatic classes for text don't have, or that have configurations of other parts beside their text's own.
BESIDE = {"esm", "mistral4", "moshi", "phi4_multimodal"}
# Families whose configurations are a text model's in a frame of their own: that text model.
FRAMES = {"mistral3": "mistral"}
# Families with which nothing can be compared, and why.
APART = {"deepseek_v4": "layers also attend to compressed groups of tokens, which stand beside the tokens' own keys: no spec can say that",
         "glm5_next_text": "its attention has no positions (qk_rope_head_dim is 0); only its vision model turns",
         "inkling2_text": "its positions are a learned relative bias; only its vision model turns",
         "jamba": "its attention has no positions: nothing calls the rotary function of its code",
         "nemotron_h": "its attention has no positions: nothing calls the rotary function of its code",
         "qwen": "its code is no part of the library: checkpoints bring it"}
PRESCALED = {"esm"}  # their queries come scaled
OWN_WAY = {"falcon": "sdpa"}  # its eager code adds ALiBi's biases twice
STOPPED = {"get_llama_4_attn_scale": lambda *a, **k: torch.ones(1)}


# ---- tiny models ----

def make_config(family, extra):
    kind = configuration_auto.CONFIG_MAPPING[family]
    fields = kind().to_dict()
    known = {**{k: v for k, v in SIZES.items() if k in fields or k in getattr(kind, "attribute_map", {})}, **ALSO.get(family, {}), **extra}
    if "layer_types" in fields:
        known.setdefault("layer_types", None)
    for name in ("mlp_layer_types", "no_rope_layers", "moe_layers"):
        if isinstance(fields.get(name), list):
            known.setdefault(name, None)
    if "qk_rope_head_dim" in fields and "head_dim" in fields and "head_dim" not in ALSO.get(family, {}):
        known["head_dim"] = known["qk_rope_head_dim"]
    if "qk_rope_head_dim" in fields and "num_key_value_heads" in fields:
        known["num_key_value_heads"] = 4
    mapped = getattr(kind, "attribute_map", {})
    known = {k: v for k, v in known.items() if not (k in mapped and mapped[k] in known)}
    config = kind(**known)
    config.asked = {k: v for k, v in known.items() if v is not None or k == "sliding_window"}
    return config


def make_model(config, family):
    if family in CLASSES:
        module = importlib.import_module(type(config).__module__.replace("configuration_", "modeling_"))
        return getattr(module, CLASSES[family])._from_config(config, attn_implementation="eager").eval()
    classes = [modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING, modeling_auto.MODEL_FOR_MASKED_LM_MAPPING, modeling_auto.MODEL_MAPPING]
    error = None
    for mapping in classes:
        if type(config) in mapping:
            made = mapping[type(config)]
            made = made[0] if isinstance(made, tuple) else made
            try:
                return made._from_config(config, attn_implementation=OWN_WAY.get(family, "eager")).eval()
            except Exception as failed:  # the next class may do
                error = failed
    raise error or ValueError("no model class")


def randomise(model):
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, p in model.named_parameters():
            drawn = torch.randn(p.shape, generator=generator)
            if "embed" in name or "wte" in name or "word" in name:
                p.copy_(drawn)
            elif p.dim() >= 2:
                p.copy_(drawn * 1.6 / p.shape[-1] ** 0.5)
            elif "A_log" in name or "dt_bias" in name:
                continue
            elif "bias" in name or "sink" in name:
                p.copy_(0.2 * drawn)
            else:
                p.copy_(p + 0.1 * drawn)


# ---- attention by the program ----

class Imported:
    """What import-rope says of one configuration."""

    def __init__(self, locus, fields, folder, name):
        path = pathlib.Path(folder) / "config.json"
        path.write_text(json.dumps(fields))
        done = subprocess.run([locus, "import-rope", str(path), "--json"], capture_output=True, text=True)
        if done.returncode != 0:
            raise ValueError(done.stderr.strip().replace(str(path), "config.json"))
        said = json.loads(done.stdout)
        self.locus, self.folder, self.spec, self.attention, self.notes = locus, pathlib.Path(folder), said["spec"], said["attention"], said["notes"]
        self.behind = [int(n.split()[1]) for n in self.notes if "stand behind the other" in n]
        self.axes = 3 if "axes=3" in self.spec else 1

    def attend(self, spec, layer, query, key, value, causal, positions, sinks):
        """query [heads, tokens, dim], as transformers has them."""
        last = self.behind and spec != "none"
        for name, x in (("q", query), ("k", key), ("v", value)):
            x = x.detach().float()
            if last and name != "v":
                x = torch.cat([x[..., -self.behind[0]:], x[..., :-self.behind[0]]], -1)
            np.save(self.folder / f"{name}.npy", np.ascontiguousarray(x.transpose(0, 1).numpy()))
        tokens = query.shape[1]
        (self.folder / "p.txt").write_text("".join(f"{','.join(map(str, p))}\n" if len(p) == 1 else f"({','.join(map(str, p))})\n" for p in positions))
        command = [self.locus, "attend", spec, "--query", "q.npy", "--key", "k.npy", "--value", "v.npy", "--positions", "p.txt", "--length", str(tokens), "-o", "o.npy",
                   "--mask", "causal" if causal else "full", "--layer", str(layer), "--threads", "1"]
        if sinks is not None:
            write_parameters(self.folder / "sinks.safetensors", spec, sinks)
            command += ["--params", "sinks.safetensors"]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise ValueError(done.stderr.strip())
        return torch.from_numpy(np.load(self.folder / "o.npy"))  # [tokens, heads, dim]


def write_parameters(path, spec, sinks):
    from safetensors.numpy import save_file
    item = spec.split(" / ")[0]
    terms = [t for t in item.split(" + ")]
    name = "sinks" if len(terms) == 1 else f"{[i for i, t in enumerate(terms) if t.startswith('scores')][0]}.sinks"
    save_file({name: sinks.detach().double().numpy()}, str(path))


class Replacement:
    """An attention function for transformers that asks the program."""

    def __init__(self, imported, spec, positions, prescaled=False):
        self.prescaled = prescaled
        self.imported, self.spec, self.positions, self.calls = imported, spec, positions, 0

    def layer_of(self, module):
        index = getattr(module, "layer_idx", None)
        return self.calls if index is None or index < 0 else index

    def __call__(self, module, query, key, value, attention_mask=None, scaling=None, dropout=0.0, s_aux=None, **kwargs):
        if query.shape[2] != key.shape[2]:  # attention to an encoder, which has no positions
            shared = query.shape[1] // key.shape[1]
            key, value = (x.repeat_interleave(shared, 1) for x in (key, value))
            return torch.nn.functional.scaled_dot_product_attention(query, key, value, scale=scaling).transpose(1, 2), None
        causal = getattr(module, "is_causal", True)
        layer = self.layer_of(module)
        self.calls += 1
        sinks = s_aux if s_aux is not None else getattr(module, "sinks", None)
        if self.prescaled:
            query = query * query.shape[-1] ** 0.5
        sinks = sinks if "sinks=on" in self.spec else None
        rows = [self.imported.attend(self.spec, layer, query[b], key[b], value[b], causal, self.positions, sinks) for b in range(query.shape[0])]
        return torch.stack(rows).to(query.dtype), None


def identity_like(function):
    names = list(inspect.signature(function).parameters)
    pair = len(names) > 1 and names[1] in ("k", "xk", "key", "key_states")
    turned = names[:3 if pair and len(names) > 2 and names[2] == "v" else 2 if pair else 1]

    def same(*given, **named):
        values = {**dict(zip(names, given)), **named}
        states = [values[name] for name in turned if values.get(name) is not None]
        return tuple(states) if len(states) > 1 else states[0]

    return same


class Switched:
    """Within it, a module's rotary functions do nothing."""

    def __init__(self, model, stops=True):
        self.modules = {sys.modules[m.__module__] for c in [type(x) for x in model.modules()] for m in c.__mro__ if m.__module__.startswith("transformers.models")}
        self.kept = []

    def __enter__(self):
        for module in self.modules:
            for name in dir(module):
                function = getattr(module, name)
                if name in STOPPED:
                    self.put(module, name, STOPPED[name])
                elif inspect.isfunction(function) and name.startswith(("apply_rotary", "apply_multimodal_rotary")):
                    self.put(module, name, identity_like(function))

    def put(self, module, name, value):
        self.kept.append((module, name, getattr(module, name)))
        setattr(module, name, value)

    def __exit__(self, *_):
        for module, name, value in self.kept:
            setattr(module, name, value)


def hook_own_attention(model, replacement):
    """Models whose attention is no function of the registry; returns what undoes it."""
    undo = []

    def put(owner, name, value):
        undo.append((owner, name, owner.__dict__.get(name)))
        setattr(owner, name, value)

    for module in model.modules():
        if hasattr(type(module), "_attn"):  # GPT-J, CodeGen, GPT-NeoX-Japanese
            put(module, "_attn", lambda q, k, v, *_, own=module: (replacement(own, q, k, v)[0].transpose(1, 2), None))
        elif hasattr(type(module), "_merge_heads") and hasattr(type(module), "_reshape"):  # BLOOM
            kept = {}

            def split(fused, own=module, kept=kept):
                kept["qkv"] = type(own)._reshape(own, fused)
                return kept["qkv"]

            put(module, "_reshape", split)
            put(module, "_merge_heads", lambda _, own=module, kept=kept: replacement(own, *kept["qkv"])[0].flatten(2))
    if model.config.model_type == "falcon":
        calls = torch.nn.functional
        put(calls, "scaled_dot_product_attention", lambda q, k, v, **_: replacement(None, q, *(x.expand(-1, q.shape[1], -1, -1) for x in (k, v)))[0].transpose(1, 2))

    def restore():
        for owner, name, value in undo:
            if value is None:
                delattr(owner, name)
            else:
                setattr(owner, name, value)

    return restore


def logits(model, tokens, positions):
    more = {}
    if positions is not None:
        more["position_ids"] = torch.tensor(positions).T[:, None, :]
    if type(model).__name__.endswith("Decoder"):
        more["encoder_hidden_states"] = torch.randn(1, TOKENS - 12, model.config.hidden_size, generator=torch.Generator().manual_seed(5))
    if "Voxtral" in type(model).__name__:  # what its layers know of the time
        more["t_cond"] = torch.randn(1, 1, model.config.hidden_size, generator=torch.Generator().manual_seed(5))
    with torch.no_grad():
        out = model(input_ids=tokens, **more)
    return out.logits if getattr(out, "logits", None) is not None else out[0]


def difference(a, b):
    return float((a - b).abs().max() / a.abs().max())


def run_with(model, replacement, tokens, positions):
    AttentionInterface._global_mapping["locus"] = replacement
    ALL_MASK_ATTENTION_FUNCTIONS._global_mapping["locus"] = eager_mask
    changed = [(m, m.attn_temperature_tuning) for m in model.modules() if hasattr(m, "attn_temperature_tuning")]
    configs = {id(m.config): m.config for m in model.modules() if hasattr(m, "config")}.values()
    restore = hook_own_attention(model, replacement)
    try:
        for m, _ in changed:
            m.attn_temperature_tuning = False
        for config in configs:
            config._attn_implementation = OWN_WAY.get(config.model_type, "locus")
        with Switched(model):
            return logits(model, tokens, positions)
    finally:
        restore()
        for m, value in changed:
            m.attn_temperature_tuning = value
        for config in configs:
            config._attn_implementation = OWN_WAY.get(config.model_type, "eager")


def written(config, full):
    """A configuration as its file says it in full, or only what its sizes were asked to be."""
    fields = json.loads(config.to_json_string(use_diff=False))
    fields.pop("asked", None)
    return {**fields, "model_type": config.model_type} if full else {"model_type": config.model_type, **config.asked}


def compare(name, locus, folder):
    if name in APART:
        raise ValueError(APART[name])
    family, extra = VARIANTS.get(name, (FRAMES.get(name, name), {}))
    config = make_config(family, extra)
    torch.manual_seed(0)
    model = make_model(config, family)
    randomise(model)
    tokens = torch.randint(3, 90, (1, TOKENS), generator=torch.Generator().manual_seed(3))
    framed = (lambda fields: {"model_type": name, "text_config": fields}) if name in FRAMES else dict
    says = [Imported(locus, framed(written(config, True)), folder, name)]
    try:
        says.append(Imported(locus, framed(written(config, False)), folder, name))
    except ValueError as refused:  # a family that is not listed
        plain = str(refused)
    grid = np.stack([np.arange(TOKENS), np.arange(TOKENS) * 3 // 2, np.arange(TOKENS) // 2], 1)
    positions = grid.tolist() if says[0].axes == 3 else [[i] for i in range(TOKENS)]
    given = positions if says[0].axes == 3 else None
    reference = logits(model, tokens, given)
    result = {"spec": says[0].attention, "plain": says[1].attention if len(says) > 1 else plain, "notes": says[-1].notes, "differences": []}
    for said in says:
        if said is not says[0] and said.attention == says[0].attention:
            result["differences"].append(result["differences"][0])
            continue
        replacement = Replacement(said, said.attention, positions, family in PRESCALED)
        result["differences"].append(difference(reference, run_with(model, replacement, tokens, given)))
        if replacement.calls == 0:
            raise ValueError("its attention is its own code: nothing could be put in its place")
    result["without"] = difference(reference, run_with(model, Replacement(says[0], "none", [[i] for i in range(TOKENS)]), tokens, given))
    return result


def rotary_families():
    names = set(modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES) | set(modeling_auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES)
    names |= {n for n in modeling_auto.MODEL_MAPPING_NAMES if n.endswith("_text")}
    found = []
    for name in sorted(names):
        kind = configuration_auto.CONFIG_MAPPING[name]
        if getattr(kind, "sub_configs", None):
            continue  # its text model is a family of its own
        path = pathlib.Path(inspect.getfile(kind))
        code = path.with_name(path.name.replace("configuration_", "modeling_"))
        if code.exists() and any(sign in code.read_text().lower() for sign in ("rotary", "alibi")):
            found.append(name)
    return found


def families():
    """Those that the automatic classes have, and those named above."""
    return sorted({*rotary_families(), *CLASSES, *BESIDE, *FRAMES, *APART})


# ---- the page ----

PAGE = """# Imported models against their own code

`locus import-rope` reads configurations; this page says how closely the specs that it prints agree with the models' own code.
It covers every name that locus knows, and the causal and masked language models of the transformers library (%(transformers)s, with PyTorch %(torch)s) that have rotary or ALiBi positions.
Of models that also see or hear it is the text model, of Moonshine, which transcribes speech, the decoder.
What was not compared stands at the end, with the reason.
For each, `tools/compare_import_rope.py` makes a model with random weights and reads %(tokens)d tokens twice.
The first time the library computes; the second time its rotary functions, temperatures, biases and masks are switched off, and `locus attend` computes each layer's attention with the spec that `locus import-rope --attention` prints for the model's configuration.

- **in full**: max |difference of logits| / max |logit|, the configuration as the library writes it; **by sizes**: only its sizes are in the file, so that locus must know the family's defaults (it does not know scalings of a family's own; a note says so).
  Both computations are float32.
- **blind**: the same difference with `none` in place of the spec: how much there was to get wrong.
- A family agrees below %(allowed)g.
  The library's attention is its eager one; Falcon's is SDPA, since its eager code adds ALiBi's biases twice.

```shell
# a model of every family: long; needs transformers and PyTorch
python3 tools/compare_import_rope.py --locus build/release/locus --write docs/import-rope.md
```

"""


def number(value):
    return f"{value:.0e}" if value < ALLOWED else f"**{value:.2f}**"


def short(text, most=150):
    text = text.replace("|", "\\|").split(" neither in ")[0]
    return text if len(text) <= most else text[: most - 1] + "…"


def is_guess(result):
    return any("so this is a guess" in note for note in result["notes"]) or "has no rotary settings" in result["plain"]


def rows_of(results, agree):
    for name, r in results.items():
        if (r["differences"][0] < ALLOWED) != agree:
            continue
        plain = number(r["differences"][1]) if len(r["differences"]) > 1 else "refused"
        said = [n for n in r["notes"] if not n.startswith(("layers with a window see 7", "scores are", "the 8 dimensions", "heads have", "no original"))]
        missing = "; ".join(said) or "–"
        yield f"| {name} | {number(r['differences'][0])} | {plain} | {r['without']:.2f} | `{short(r['attention'] if 'attention' in r else r['spec'])}` | {short(missing, 200)} |\n"


def write_page(path, results):
    made = {n: r for n, r in results.items() if "failed" not in r}
    known = {n: r for n, r in made.items() if not is_guess(r)}
    guessed = {n: r for n, r in made.items() if is_guess(r)}
    head = "| family | in full | by sizes | blind | spec, in full | notes |\n|---|---|---|---|---|---|\n"
    text = PAGE % {"transformers": transformers.__version__, "torch": torch.__version__.split("+")[0], "tokens": TOKENS, "allowed": ALLOWED}
    for title, group, agree in (("Known by name, and agree", known, True), ("Known by name, and differ: a note says what is missing", known, False),
                                ("Not known by name, and agree all the same (a note says that it is a guess)", guessed, True),
                                ("Not known by name, and differ (a note says that it is a guess)", guessed, False)):
        rows = list(rows_of(group, agree))
        text += f"## {title}: {len(rows)}\n\n{head}{''.join(rows)}\n" if rows else ""
    failed = {n: r["failed"] for n, r in results.items() if "failed" in r}
    text += f"## Not compared: {len(failed)}\n\n| family | why |\n|---|---|\n" + "".join(f"| {n} | {short(why, 160)} |\n" for n, why in failed.items())
    pathlib.Path(path).write_text(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--locus", default="build/release/locus")
    parser.add_argument("--json", help="write the results here")
    parser.add_argument("--write", help="write the page, docs/import-rope.md, here")
    parser.add_argument("--from", dest="source", help="take the results from here in place of computing them")
    parser.add_argument("--part", default="0/1", help="i/n: every n-th family from the i-th on")
    parser.add_argument("families", nargs="*")
    given = parser.parse_args()
    locus = str(pathlib.Path(given.locus).resolve())
    # A family whose sizes have names of their own is not made at its full size.
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError(f"longer than {SECONDS} s")))
    results = {}
    if given.source:
        write_page(given.write, json.loads(pathlib.Path(given.source).read_text()))
        return
    part, parts = map(int, given.part.split("/"))
    for name in (given.families or [*families(), *VARIANTS])[part::parts]:
        with tempfile.TemporaryDirectory() as folder:
            try:
                signal.alarm(SECONDS)
                results[name] = compare(name, locus, folder)
                r = results[name]
                print(f"{name:36} {r['differences'][0]:9.2e} {r['differences'][-1]:9.2e} without {r['without']:8.2e}  {r['spec']}" + ("" if r["spec"] == r["plain"] else f"   PLAIN {r['plain']}"), flush=True)
            except Exception as failed:
                kind = "" if isinstance(failed, ValueError) else f"{type(failed).__name__}: "  # what was refused says why
                text = f"{kind}{failed}".replace("\n", " ")[:300]
                results[name] = {"failed": text}
                print(f"{name:36} FAILED {text}", flush=True)
                if os.environ.get("TRACE"):
                    import traceback
                    traceback.print_exc()
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(results, indent=1))
    if given.write:
        write_page(given.write, results)


if __name__ == "__main__":
    main()
