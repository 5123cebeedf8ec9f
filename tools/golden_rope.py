#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Golden values for rope's scalings, sections and layouts.

    python3 tools/golden_rope.py tests/golden/rope.safetensors

frequency cases: the inverse frequencies (float32) and the attention factor that transformers computes for a real
configuration (ROPE_INIT_FUNCTIONS, or the model's own default), and the frequencies of the same published formulas
evaluated here in float64. Apply cases: x and y of a model's own rotary module (M-RoPE of Qwen2-VL, Qwen2.5-VL and
Qwen3-VL, the vision towers of Qwen2-VL and Gemma 4, GPT-NeoX), and of the onnx package's reference RotaryEmbedding with
tables in float64.
"""
import math
import sys

import numpy as np
import onnx
import onnx.reference.ops.op_rotary_embedding as onnx_rotary
import torch
import transformers
from transformers import GPTNeoXConfig, LlamaConfig
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.gemma4 import modeling_gemma4 as gemma4
from transformers.models.gpt_neox import modeling_gpt_neox as gpt_neox
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
from transformers.models.qwen2_5_vl import modeling_qwen2_5_vl as qwen2_5_vl
from transformers.models.qwen2_vl import modeling_qwen2_vl as qwen2_vl
from transformers.models.qwen3_vl import modeling_qwen3_vl as qwen3_vl

import golden_format

HEADS = 2


# ---- the formulas, in float64 ----

def plain(base, r):
    return base ** (-np.arange(0, r, 2, dtype=np.float64) / r)


def formula(kind, base, r, length, p):
    s, original = p.get("factor"), p.get("original_max_position_embeddings")
    omega = plain(base, r)
    if kind == "default":
        return omega
    if kind == "linear":
        return omega / s
    if kind == "dynamic":
        grown = max(length, original) / original
        return plain(base * (s * grown - (s - 1)) ** (r / (r - 2)), r)
    if kind == "yarn":
        c = [r * math.log(original / (2 * math.pi * turns)) / (2 * math.log(base))
             for turns in (p.get("beta_fast", 32), p.get("beta_slow", 1))]
        if p.get("truncate", True):
            c = [math.floor(c[0]), math.ceil(c[1])]
        lo, hi = max(c[0], 0), min(c[1], r - 1)
        gamma = np.clip((np.arange(r // 2) - lo) / ((hi if hi != lo else hi + 0.001) - lo), 0, 1)
        return omega * (1 - gamma) + omega / s * gamma
    if kind == "llama3":
        low, high = p["low_freq_factor"], p["high_freq_factor"]
        out = []
        for w in omega:
            wavelength = 2 * math.pi / w
            t = (original / wavelength - low) / (high - low)
            out.append(w if wavelength < original / high else w / s if wavelength > original / low
                       else (1 - t) * w / s + t * w)
        return np.array(out)
    divisors = p["long_factor"] if length > original else p["short_factor"]
    return omega / np.array(divisors)


NAMES = {"factor": "factor", "original_max_position_embeddings": "original", "beta_fast": "fast", "beta_slow": "slow",
         "attention_factor": "attention", "mscale": "mscale", "mscale_all_dim": "mscale_all", "truncate": "truncate",
         "low_freq_factor": "low", "high_freq_factor": "high", "short_factor": "short", "long_factor": "long"}


def spec_of(kind, base, rotated, p):
    def value(v):
        if isinstance(v, bool):
            return "on" if v else "off"
        return ":".join(map(repr, v)) if isinstance(v, list) else repr(v)
    parts = ["pairs=half", f"base={base!r}"]
    parts += [f"rotate={rotated}"] if rotated else []
    parts += [] if kind == "default" else [f"scaling={kind}"]
    parts += [f"{NAMES[k]}={value(v)}" for k, v in p.items()]
    return "rope(" + ", ".join(parts) + ")"


def frequency_case(kind, base, dim, length, p, partial=1.0):
    original = p.get("original_max_position_embeddings", 4096)
    config = LlamaConfig(head_dim=dim, hidden_size=dim * 4, num_attention_heads=4, max_position_embeddings=original,
                         rope_parameters={"rope_type": kind, "rope_theta": base, "partial_rotary_factor": partial, **p})
    if kind == "longrope":  # transformers takes the ratio of both lengths for the factor
        config.max_position_embeddings = int(original * p["factor"])
        config.original_max_position_embeddings = original
    if kind == "default":
        theta, attention = LlamaRotaryEmbedding.compute_default_rope_parameters(config)
    else:
        theta, attention = ROPE_INIT_FUNCTIONS[kind](config, "cpu", seq_len=length)
    rotated = int(dim * partial)
    spec = spec_of(kind, base, rotated if partial < 1 else 0, p)
    return {"kind": "frequency", "spec": spec, "dim": dim, "length": length}, {
        "theta": formula(kind, base, rotated, length, p), "theirs": theta.numpy().astype(np.float32),
        "attention": np.array([float(attention)])}


def divisors(pairs, seed, most):
    rng = np.random.default_rng(seed)
    return [round(float(v), 4) for v in np.sort(rng.uniform(1, most, pairs))]


def frequency_cases():
    yield frequency_case("default", 10000.0, 2, 100, {})
    for base, dim in ((10000.0, 64), (500000.0, 128), (1000000.0, 96)):
        yield frequency_case("default", base, dim, 100, {})
        yield frequency_case("linear", base, dim, 100, {"factor": 8.0})
        for length in (1, 4096, 4097, 8192, 131072):
            p = {"factor": 4.0, "original_max_position_embeddings": 4096}
            yield frequency_case("dynamic", base, dim, length, p)
    yield frequency_case("linear", 10000.0, 80, 100, {"factor": 2.0}, partial=0.4)
    yarn = {"factor": 16.0, "original_max_position_embeddings": 4096}
    for extra in ({}, {"truncate": False}, {"attention_factor": 1.25}, {"mscale": 1.0, "mscale_all_dim": 1.0},
                  {"mscale": 0.707, "mscale_all_dim": 1.4}, {"beta_fast": 64.0, "beta_slow": 2.0},
                  {"beta_fast": 32.5, "beta_slow": 1.5, "truncate": False}):
        for base, dim in ((10000.0, 64), (1000000.0, 128)):
            yield frequency_case("yarn", base, dim, 5000, {**yarn, **extra})
    yield frequency_case("yarn", 10000.0, 64, 5000, {"factor": 40.0, "original_max_position_embeddings": 4096,
                                                     "beta_fast": 32.0, "beta_slow": 1.0, "mscale": 1.0,
                                                     "mscale_all_dim": 1.0})  # DeepSeek-V3
    yield frequency_case("yarn", 10000.0, 64, 5000, {"factor": 40.0, "original_max_position_embeddings": 4096,
                                                     "mscale": 0.707, "mscale_all_dim": 0.707})  # DeepSeek-V2
    yield frequency_case("yarn", 150000.0, 64, 5000, {"factor": 32.0, "original_max_position_embeddings": 4096,
                                                      "truncate": False})  # gpt-oss
    yield frequency_case("yarn", 1000000.0, 128, 5000, {"factor": 4.0, "original_max_position_embeddings": 32768})
    yield frequency_case("yarn", 10000.0, 64, 50, {"factor": 0.5, "original_max_position_embeddings": 64})
    yield frequency_case("yarn", 10000.0, 64, 50, {"factor": 4.0, "original_max_position_embeddings": 2})
    yield frequency_case("yarn", 10000.0, 80, 50, {"factor": 4.0, "original_max_position_embeddings": 2048},
                         partial=0.5)
    for base, dim, s, low, high in ((500000.0, 128, 8.0, 1.0, 4.0), (500000.0, 64, 32.0, 1.0, 4.0),
                                    (10000.0, 64, 8.0, 0.5, 16.0)):
        yield frequency_case("llama3", base, dim, 100, {"factor": s, "low_freq_factor": low, "high_freq_factor": high,
                                                        "original_max_position_embeddings": 8192})
    for dim, s, extra in ((96, 32.0, {}), (128, 1.0, {}), (64, 4.0, {"attention_factor": 1.19})):
        p = {"factor": s, "short_factor": divisors(dim // 2, dim, 2.0),
             "long_factor": divisors(dim // 2, dim + 1, 60.0), "original_max_position_embeddings": 4096, **extra}
        for length in (1, 4096, 4097, 100000):
            yield frequency_case("longrope", 10000.0, dim, length, p)


# ---- applied ----

def turn(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), dim=-1) * sin


def apply_case(spec, positions, x, y):
    return {"kind": "apply", "spec": spec}, {"x": x.numpy(), "y": y.numpy(), "positions": positions.numpy()}


def mrope_case(module, config, spec):
    positions = torch.randint(0, 60, (9, 3))
    x = torch.randn(9, HEADS, config.head_dim)
    cos, sin = module(config)(x, positions.T[:, None, :])
    return apply_case(spec, positions, x, turn(x, cos[0, :, None], sin[0, :, None]))


def text_config(make, sections, **extra):
    parameters = {"rope_type": "default", "rope_theta": 1000000.0, "mrope_section": sections, **extra}
    config = make(hidden_size=256, num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=4096,
                  rope_parameters=parameters)
    config.head_dim = 128
    return config


def apply_cases():
    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
    base, options = "pairs=half, base=1000000", "sections=16:24:24"
    yield mrope_case(qwen2_vl.Qwen2VLRotaryEmbedding, text_config(qwen2_vl.Qwen2VLTextConfig, [16, 24, 24]),
                     f"rope({base}, {options})")
    yield mrope_case(qwen2_5_vl.Qwen2_5_VLRotaryEmbedding, text_config(qwen2_5_vl.Qwen2_5_VLTextConfig, [16, 24, 24]),
                     f"rope({base}, axes=3, frequencies=running, {options}, order=chunked)")
    yield mrope_case(qwen2_5_vl.Qwen2_5_VLRotaryEmbedding,
                     text_config(qwen2_5_vl.Qwen2_5_VLTextConfig, [16, 24, 24], **yarn),
                     f"rope({base}, scaling=yarn, factor=4, original=32768, {options})")
    for sections in ([24, 20, 20], [22, 21, 21], [40, 4, 20]):
        text = ":".join(map(str, sections))
        yield mrope_case(qwen3_vl.Qwen3VLTextRotaryEmbedding, text_config(qwen3_vl.Qwen3VLTextConfig, sections),
                         f"rope({base}, axes=3, sections={text}, order=interleaved)")
    positions, x = torch.randint(0, 40, (11, 2)), torch.randn(11, HEADS, 80)
    config = qwen2_vl.Qwen2VLVisionConfig(embed_dim=160, num_heads=2)
    config.head_dim = 80
    cos, sin = qwen2_vl.Qwen2VLVisionRotaryEmbedding(config)(x, positions)
    yield apply_case("rope(pairs=half, frequencies=axial, sections=20:20)", positions, x,
                     qwen2_vl.apply_rotary_pos_emb_vision(x, x, cos, sin)[0])
    config = gemma4.Gemma4VisionConfig(hidden_size=160, num_attention_heads=2, head_dim=80)
    cos, sin = gemma4.Gemma4VisionRotaryEmbedding(config)(x[None], positions[None])
    y = gemma4.apply_multidimensional_rope(x[None], cos, sin, positions[None])[0]
    theta = config.rope_parameters["rope_theta"]
    yield apply_case(f"rope(pairs=half, base={theta:g}, axes=2)", positions, x, y)
    positions, x = torch.randint(0, 60, (9,)), torch.randn(9, HEADS, 80)
    config = GPTNeoXConfig(hidden_size=160, num_attention_heads=2,
                           rope_parameters={"rope_type": "default", "rope_theta": 10000.0,
                                            "partial_rotary_factor": 0.4})
    cos, sin = gpt_neox.GPTNeoXRotaryEmbedding(config)(x, positions[None])
    y = gpt_neox.apply_rotary_pos_emb(x[None], x[None], cos, sin, unsqueeze_dim=2)[0][0]
    yield apply_case("rope(pairs=half, rotate=32)", positions, x, y)
    for interleaved in (0, 1):
        for dim, rotated in ((64, 0), (80, 32), (6, 0), (130, 70)):
            positions, x = np.array([0, 1, 7, 100, 4095, 1048575]), torch.randn(6, HEADS, dim, dtype=torch.float64)
            angles = np.arange(1048576)[positions][:, None] * plain(10000.0, rotated or dim)
            y = onnx_rotary.rotary_embedding(x.numpy().reshape(1, 6, -1), np.cos(angles), np.sin(angles),
                                             np.arange(6)[None], interleaved=interleaved,
                                             rotary_embedding_dim=rotated, num_heads=HEADS)
            pairs, rotate = "interleaved" if interleaved else "half", f", rotate={rotated}" if rotated else ""
            spec = f"rope(pairs={pairs}{rotate})"
            yield apply_case(spec, torch.tensor(positions), x, torch.tensor(y.reshape(6, HEADS, dim)))


def main(path):
    transformers.logging.set_verbosity_error()
    torch.manual_seed(4)
    arrays, index = {}, 0
    texts = {"transformers": transformers.__version__, "torch": torch.__version__, "onnx": onnx.__version__,
             "numpy": np.__version__}
    for case, values in [*frequency_cases(), *apply_cases()]:
        texts.update({f"{index}.{k}": v for k, v in case.items()})
        arrays.update({f"{index}.{k}": v for k, v in values.items()})
        index += 1
    golden_format.write(path, arrays, {"count": index, **texts})


if __name__ == "__main__":
    main(sys.argv[1])
