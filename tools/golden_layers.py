# SPDX-License-Identifier: MIT
"""Makes tests/golden/layers.safetensors: attention layers of published architectures as the transformers package computes
them, randomly initialised and small, with the weights they were given. One case holds

    x [tokens, D] → y [tokens, D],  weights and biases of query, key, value and output, [out, in], positions,
    and as texts: spec, mask, heads, kv_heads, architecture.

Usage: python3 tools/golden_layers.py (needs torch, transformers, numpy; the file names their versions)."""
import pathlib

import numpy as np
import torch
import transformers
from transformers.models.bloom import modeling_bloom
from transformers.models.gemma2 import modeling_gemma2
from transformers.models.gpt_neox import modeling_gpt_neox
from transformers.models.gpt_oss import modeling_gpt_oss
from transformers.models.llama import modeling_llama
from transformers.models.mistral import modeling_mistral
from transformers.models.phi3 import modeling_phi3
from transformers.models.qwen2_vl import modeling_qwen2_vl
from transformers.models.t5 import modeling_t5

import golden_format

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
TOKENS, DIM = 24, 32
arrays, metadata = {}, {"count": 0}


def causal(tokens, window=None):
    """Additive mask: 0 where query i sees key j."""
    i, j = np.indices((tokens, tokens))
    seen = (j <= i) if window is None else (j <= i) & (i - j < window)
    return torch.where(torch.tensor(seen), 0.0, -1e30)[None, None].double()


def randomise(module):
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, dtype=torch.float64) / parameter.shape[-1] ** 0.5)
    return module.double().eval()


def record(architecture, spec, mask, heads, kv_heads, x, y, projections, positions, parameters=None):
    index = metadata["count"]
    metadata["count"] += 1
    for key, value in {"architecture": architecture, "spec": spec, "mask": mask, "heads": heads, "kv_heads": kv_heads}.items():
        metadata[f"{index}.{key}"] = value
    arrays[f"{index}.x"], arrays[f"{index}.y"] = x[0].numpy(), y[0].detach().numpy()
    arrays[f"{index}.positions"] = np.asarray(positions, dtype=np.int64)
    for name, (weight, bias) in projections.items():
        arrays[f"{index}.{name}.weight"] = weight.detach().numpy()
        arrays[f"{index}.{name}.bias"] = (torch.zeros(weight.shape[0]) if bias is None else bias).detach().double().numpy()
    for name, value in (parameters or {}).items():
        arrays[f"{index}.parameter.{name}"] = value.detach().double().numpy()


def linears(**layers):
    return {name: (layer.weight, layer.bias) for name, layer in layers.items()}


def hidden():
    return torch.randn(1, TOKENS, DIM, dtype=torch.float64)


def with_rope(attention, rotary, config, positions=None, window=None):
    """An architecture whose attention takes (cos, sin) from a rotary module: the layer, x and y."""
    layer, x = randomise(attention(config, layer_idx=0)), hidden()
    cos, sin = rotary(config)(x, torch.arange(TOKENS)[None] if positions is None else positions)
    return layer, x, layer(x, position_embeddings=(cos.double(), sin.double()), attention_mask=causal(TOKENS, window))[0]


def llama():
    config = transformers.LlamaConfig(
        hidden_size=DIM, num_attention_heads=4, num_key_value_heads=2, head_dim=16, attn_implementation="eager",
        max_position_embeddings=131072,
        rope_parameters={"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
                         "high_freq_factor": 4.0, "original_max_position_embeddings": 16})
    layer, x, y = with_rope(modeling_llama.LlamaAttention, modeling_llama.LlamaRotaryEmbedding, config)
    record("Llama", "rope(pairs=half, base=500000, scaling=llama3, factor=8, original=16)", "causal", 4, 2, x, y,
           linears(query=layer.q_proj, key=layer.k_proj, value=layer.v_proj, output=layer.o_proj), np.arange(TOKENS))


def mistral():
    config = transformers.MistralConfig(hidden_size=DIM, num_attention_heads=4, num_key_value_heads=1, head_dim=8,
                                        attn_implementation="eager", sliding_window=7)
    layer, x, y = with_rope(modeling_mistral.MistralAttention, modeling_mistral.MistralRotaryEmbedding, config, window=7)
    record("Mistral", "rope(pairs=half) + scores(window=7)", "causal", 4, 1, x, y,
           linears(query=layer.q_proj, key=layer.k_proj, value=layer.v_proj, output=layer.o_proj), np.arange(TOKENS))


def fused(weight, bias, heads, dim):
    """GPT-NeoX and BLOOM interleave query, key and value within each head."""
    weight, bias = weight.view(heads, 3, dim, -1), bias.view(heads, 3, dim)
    return {name: (weight[:, i].reshape(heads * dim, -1), bias[:, i].reshape(-1)) for i, name in enumerate(("query", "key", "value"))}


def gpt_neox():
    config = transformers.GPTNeoXConfig(
        hidden_size=DIM, num_attention_heads=2, attn_implementation="eager", attention_dropout=0.0,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25})
    layer, x, y = with_rope(modeling_gpt_neox.GPTNeoXAttention, modeling_gpt_neox.GPTNeoXRotaryEmbedding, config)
    record("GPT-NeoX", "rope(pairs=half, rotate=4)", "causal", 2, 2, x, y,
           fused(layer.query_key_value.weight, layer.query_key_value.bias, 2, 16) | linears(output=layer.dense), np.arange(TOKENS))


def qwen2_vl():
    config = transformers.models.qwen2_vl.configuration_qwen2_vl.Qwen2VLTextConfig(
        hidden_size=DIM, num_attention_heads=2, num_key_value_heads=1, attn_implementation="eager", attention_dropout=0.0,
        use_sliding_window=False,
        rope_parameters={"rope_type": "default", "rope_theta": 1000000.0, "mrope_section": [2, 3, 3]})
    at = np.zeros((TOKENS, 3), dtype=np.int64)
    at[:4] = np.arange(4)[:, None]
    rows, columns = np.indices((4, 4))
    at[4:20] = np.stack([np.full(16, 4), 4 + rows.ravel(), 4 + columns.ravel()], axis=1)
    at[20:] = 8 + np.arange(4)[:, None]
    layer, x, y = with_rope(modeling_qwen2_vl.Qwen2VLAttention, modeling_qwen2_vl.Qwen2VLRotaryEmbedding, config,
                            positions=torch.tensor(at.T)[:, None])
    record("Qwen2-VL", "rope(pairs=half, base=1000000, axes=3, frequencies=running, sections=2:3:3)", "causal", 2, 1, x, y,
           linears(query=layer.q_proj, key=layer.k_proj, value=layer.v_proj, output=layer.o_proj), at)


def bloom():
    config = transformers.BloomConfig(hidden_size=48, n_head=6, attention_dropout=0.0, hidden_dropout=0.0)
    layer = randomise(modeling_bloom.BloomAttention(config, layer_idx=0))
    x = torch.randn(1, TOKENS, 48, dtype=torch.float64)
    alibi = modeling_bloom.build_alibi_tensor(torch.ones(1, TOKENS), 6, torch.float64)
    y = layer(x, torch.zeros_like(x), alibi=alibi, attention_mask=causal(TOKENS))[0]
    record("BLOOM", "alibi", "causal", 6, 6, x, y,
           fused(layer.query_key_value.weight, layer.query_key_value.bias, 6, 8) | linears(output=layer.dense), np.arange(TOKENS))


def t5(decoder):
    config = transformers.T5Config(d_model=DIM, d_kv=8, num_heads=4, dropout_rate=0.0, is_decoder=decoder,
                                   relative_attention_num_buckets=16, relative_attention_max_distance=20)
    layer = randomise(modeling_t5.T5Attention(config, has_relative_attention_bias=True, layer_idx=0))
    x = hidden()
    mask = causal(TOKENS) if decoder else torch.zeros(1, 1, TOKENS, TOKENS, dtype=torch.float64)
    y = layer(x, mask=mask)[0]
    spec = f"t5(buckets=16, max=20{', direction=causal' if decoder else ''}) + scores(scale=1)"
    record("T5 decoder" if decoder else "T5 encoder", spec, "causal" if decoder else "full", 4, 4, x, y,
           linears(query=layer.q, key=layer.k, value=layer.v, output=layer.o), np.arange(TOKENS),
           {"0.bias": layer.relative_attention_bias.weight})


def gemma2():
    config = transformers.Gemma2Config(hidden_size=DIM, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
                                       attn_implementation="eager", attn_logit_softcapping=2.0, query_pre_attn_scalar=24,
                                       sliding_window=5, num_hidden_layers=2)
    layer, x, y = with_rope(modeling_gemma2.Gemma2Attention, modeling_gemma2.Gemma2RotaryEmbedding, config, window=5)
    assert layer.sliding_window == 5
    record("Gemma 2", f"rope(pairs=half) + scores(scale={24 ** -0.5!r}, cap=2, window=5)", "causal", 4, 2, x, y,
           linears(query=layer.q_proj, key=layer.k_proj, value=layer.v_proj, output=layer.o_proj), np.arange(TOKENS))


def gpt_oss():
    config = transformers.GptOssConfig(
        hidden_size=DIM, num_attention_heads=4, num_key_value_heads=2, head_dim=16, attn_implementation="eager",
        layer_types=["full_attention"], num_hidden_layers=1, attention_dropout=0.0,
        rope_parameters={"rope_type": "yarn", "rope_theta": 150000.0, "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0,
                         "truncate": False, "original_max_position_embeddings": 256})
    layer, x, y = with_rope(modeling_gpt_oss.GptOssAttention, modeling_gpt_oss.GptOssRotaryEmbedding, config)
    record("gpt-oss", "rope(pairs=half, base=150000, scaling=yarn, factor=32, original=256, truncate=off) + scores(sinks=on)",
           "causal", 4, 2, x, y,
           linears(query=layer.q_proj, key=layer.k_proj, value=layer.v_proj, output=layer.o_proj), np.arange(TOKENS),
           {"1.sinks": layer.sinks})


def phi3():
    short, long = [1.0, 1.5, 2.0, 3.0], [1.25, 2.5, 5.0, 11.0]
    config = transformers.Phi3Config(
        hidden_size=DIM, num_attention_heads=4, num_key_value_heads=2, pad_token_id=0, attn_implementation="eager", attention_dropout=0.0,
        max_position_embeddings=64, original_max_position_embeddings=16,
        rope_parameters={"rope_type": "longrope", "rope_theta": 10000.0, "short_factor": short, "long_factor": long,
                         "original_max_position_embeddings": 16})
    layer, x, y = with_rope(modeling_phi3.Phi3Attention, modeling_phi3.Phi3RotaryEmbedding, config)
    weight = layer.qkv_proj.weight
    text = lambda values: ":".join(f"{v:g}" for v in values)
    record("Phi-3", f"rope(pairs=half, scaling=longrope, short={text(short)}, long={text(long)}, factor=4, original=16)",
           "causal", 4, 2, x, y,
           {"query": (weight[:32], None), "key": (weight[32:48], None), "value": (weight[48:], None)} | linears(output=layer.o_proj),
           np.arange(TOKENS))


def main():
    torch.manual_seed(20261121)
    for make in (llama, mistral, gpt_neox, qwen2_vl, bloom, lambda: t5(False), lambda: t5(True), gemma2, gpt_oss, phi3):
        make()
    metadata["made_with"] = f"transformers {transformers.__version__}, torch {torch.__version__}"
    golden_format.write(GOLDEN / "layers.safetensors", arrays, metadata)


if __name__ == "__main__":
    main()
