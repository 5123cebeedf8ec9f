# SPDX-License-Identifier: MIT
"""Makes tests/golden/onnx.safetensors: the onnx package's reference Attention (opset 24) on small random inputs, with
grouped heads, causal masks, scales, soft caps, value dimensions of their own and a bias. One case holds

    query [T, H, d], key [N, K, d], value [N, K, v], output [T, H, v], and as texts spec, mask, scale, cap.

Usage: python3 tools/golden_onnx.py (needs onnx, numpy; the file names the version)."""
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import golden_format

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
RANDOM = np.random.default_rng(20261121)
#         heads, kv, d, v, queries, keys, causal, scale, cap, alibi
CASES = [(4, 4, 8, 8, 9, 9, 0, 0.0, 0.0, False), (4, 2, 8, 8, 9, 9, 1, 0.0, 0.0, False),
         (6, 2, 16, 4, 17, 17, 1, 0.5, 0.0, False), (4, 1, 8, 8, 12, 12, 0, 1.0, 3.0, False),
         (4, 2, 8, 12, 33, 33, 1, 0.0, 1.5, False), (8, 8, 4, 4, 20, 20, 1, 0.0, 0.0, True),
         (2, 1, 64, 64, 40, 40, 1, 0.0, 20.0, False), (4, 4, 8, 8, 7, 21, 0, 0.3, 0.0, False)]


def evaluate(query, key, value, bias, causal, scale, cap):
    names = ["Q", "K", "V"] + (["M"] if bias is not None else [])
    attributes = {"is_causal": causal, "softcap": cap}
    if scale > 0:
        attributes["scale"] = scale
    node = helper.make_node("Attention", names, ["Y"], **attributes)
    inputs = [helper.make_tensor_value_info(name, TensorProto.DOUBLE, None) for name in names]
    graph = helper.make_graph([node], "attention", inputs, [helper.make_tensor_value_info("Y", TensorProto.DOUBLE, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)])
    feeds = dict(zip(names, [query, key, value] + ([bias] if bias is not None else [])))
    return ReferenceEvaluator(model).run(None, feeds)[0]


def main():
    arrays, metadata = {}, {"count": len(CASES), "made_with": f"onnx {onnx.__version__}"}
    for index, (heads, kv, dim, wide, queries, keys, causal, scale, cap, alibi) in enumerate(CASES):
        query, key = RANDOM.standard_normal((1, heads, queries, dim)), RANDOM.standard_normal((1, kv, keys, dim))
        value, bias = RANDOM.standard_normal((1, kv, keys, wide)), None
        if alibi:  # heads is a power of two
            slopes = 2.0 ** (-8.0 * np.arange(1, heads + 1) / heads)
            bias = -slopes[None, :, None, None] * np.abs(np.subtract.outer(np.arange(queries), np.arange(keys)))
        output = evaluate(query, key, value, bias, causal, scale, cap)
        for name, array in {"query": query, "key": key, "value": value, "output": output}.items():
            arrays[f"{index}.{name}"] = array[0].transpose(1, 0, 2)
        metadata |= {f"{index}.spec": "alibi" if alibi else "none", f"{index}.mask": "causal" if causal else "full",
                     f"{index}.scale": scale, f"{index}.cap": cap}
    golden_format.write(GOLDEN / "onnx.safetensors", arrays, metadata)


if __name__ == "__main__":
    main()
