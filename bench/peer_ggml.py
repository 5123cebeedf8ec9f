# SPDX-License-Identifier: MIT
"""Rotary attention of one sequence in ggml, llama.cpp's library, beside bench_attention --encodings rope --mask causal: rope_ext on
queries and keys, then

  flash_attn_ext  keys and values as float16, as llama.cpp keeps them (they are rounded in the time), or float32
  soft_max_ext    scores as a whole: mul_mat, soft_max_ext with the causal mask, mul_mat

8 heads of 64, queries and outputs float32, forward only. The output is compared with NumPy's before anything is timed, at a length
that is short.

Usage: python3 bench/peer_ggml.py [--threads 2] [--lengths 512,4096] [--repeats 10]; prints JSON lines. The package is ggml-python
(pip install ggml-python==0.0.45, which compiles ggml 0.15 for this machine in a few minutes)."""
import argparse
import ctypes

import ggml
import ggml.utils
import numpy as np

import peer_rows

HEADS, DIM, BASE = 8, 64, 10000.0
CHECKED = 96
PEER = f"ggml {ggml.ggml_version().decode()}"
TYPES = {"float32": ggml.GGML_TYPE_F32, "float16": ggml.GGML_TYPE_F16, "bf16": ggml.GGML_TYPE_BF16}
ERROR = {"float32": 1e-4, "float16": 1e-2}


class Program:
    """A graph with its memory, and that of its work."""

    def __init__(self, threads, size):
        self.context = ggml.ggml_init(ggml.ggml_init_params(mem_size=size, mem_buffer=None, no_alloc=False))
        self.threads = threads

    def tensor(self, array):
        return ggml.utils.from_numpy(array, self.context)

    def finish(self, output):
        self.output, self.graph = output, ggml.ggml_new_graph(self.context)
        ggml.ggml_build_forward_expand(self.graph, output)
        self.plan = ggml.ggml_graph_plan(self.graph, self.threads, None)
        self.work = (ctypes.c_uint8 * max(1, self.plan.work_size))()
        self.plan.work_data = ctypes.cast(self.work, ctypes.POINTER(ctypes.c_uint8))
        return self

    def run(self):
        if ggml.ggml_graph_compute(self.graph, ctypes.byref(self.plan)) != 0:
            raise RuntimeError("ggml_graph_compute failed")

    def close(self):
        ggml.ggml_free(self.context)


def rope(program, x, positions):
    """Neighbours are pairs, as locus's `rope` has them."""
    return ggml.ggml_rope_ext(program.context, x, positions, None, DIM, ggml.GGML_ROPE_TYPE_NORMAL, 0, BASE, 1.0, 0.0, 1.0, 32.0, 1.0)


def attention(case, kind, arrays, threads):
    """A program whose output is [length, HEADS, DIM] in memory; arrays: q, k, v of that shape."""
    length = len(arrays[0])
    scores = HEADS * length * length * 4 if case == "soft_max_ext" else 0
    program = Program(threads, scores + 16 * length * HEADS * DIM * 4 + 8 * length * length + (64 << 20))
    c = program.context
    positions = program.tensor(np.arange(length, dtype=np.int32))
    q, k, v = map(program.tensor, arrays)
    q, k = rope(program, q, positions), rope(program, k, positions)
    q, k, v = (ggml.ggml_permute(c, x, 0, 2, 1, 3) for x in (q, k, v))  # [DIM, length, HEADS] in ggml's order
    hidden = np.triu(np.full((length, length), -np.inf, dtype=np.float32), 1)
    if case == "flash_attn_ext":
        mask = program.tensor(hidden.astype(np.float16))
        k, v = (ggml.ggml_cast(c, x, TYPES[kind]) if kind != "float32" else ggml.ggml_cont(c, x) for x in (k, v))
        return program.finish(ggml.ggml_flash_attn_ext(c, q, k, v, mask, DIM**-0.5, 0.0, 0.0))
    mask = program.tensor(hidden)
    weights = ggml.ggml_soft_max_ext_inplace(c, ggml.ggml_mul_mat(c, k, q), mask, DIM**-0.5, 0.0)
    sides = ggml.ggml_cont(c, ggml.ggml_permute(c, v, 1, 0, 2, 3))  # [length, DIM, HEADS]
    output = ggml.ggml_mul_mat(c, sides, weights)  # [DIM, length, HEADS]
    return program.finish(ggml.ggml_cont(c, ggml.ggml_permute(c, output, 0, 2, 1, 3)))


def by_numpy(q, k, v):
    length = len(q)
    angle = np.outer(np.arange(length), BASE ** (-np.arange(0, DIM, 2) / DIM))[:, None]

    def turned(x):
        pairs = x[..., ::2] + 1j * x[..., 1::2]
        pairs = pairs * np.exp(1j * angle)
        return np.stack([pairs.real, pairs.imag], -1).reshape(x.shape)

    scores = np.einsum("qhd,khd->hqk", turned(q.astype(np.float64)), turned(k.astype(np.float64))) / DIM**0.5
    scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hqk,khd->qhd", weights / weights.sum(-1, keepdims=True), v)


def arrays_of(length):
    return np.random.default_rng(1).standard_normal((3, length, HEADS, DIM), dtype=np.float32)


def check(case, kind, options):
    arrays = arrays_of(CHECKED)
    program = attention(case, kind, arrays, options.threads)
    program.run()
    found = np.ctypeslib.as_array(ctypes.cast(ggml.ggml_get_data(program.output), ctypes.POINTER(ctypes.c_float)),
                                  (CHECKED, HEADS, DIM))
    apart = np.abs(found - by_numpy(*arrays)).max()
    program.close()
    if not apart < ERROR[kind]:
        raise SystemExit(f"peer_ggml: {case}, {kind}: the output is off by {apart:.2g}")


def product(kind, threads):
    """A call of mul_mat whose first operand is of that type; the second one is float32, as ggml wants it."""
    random = np.random.default_rng(1)
    program = Program(threads, 4 * (peer_rows.COLUMNS * peer_rows.DEPTH + peer_rows.ROWS * (peer_rows.DEPTH + peer_rows.COLUMNS)) * 2
                      + (64 << 20))
    a = ggml.ggml_new_tensor_2d(program.context, TYPES[kind], peer_rows.DEPTH, peer_rows.COLUMNS)
    ctypes.memset(ggml.ggml_get_data(a), 0, ggml.ggml_nbytes(a))
    b = program.tensor(random.standard_normal((peer_rows.ROWS, peer_rows.DEPTH), dtype=np.float32))
    return program.finish(ggml.ggml_mul_mat(program.context, a, b)).run


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--lengths", type=peer_rows.numbers_of, default=[512, 4096])
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args()
    peer_rows.say_products(PEER, options.threads, {kind: product(kind, options.threads) for kind in TYPES})
    cases = (("flash_attn_ext", "float16"), ("flash_attn_ext", "float32"), ("soft_max_ext", "float32"))
    for case, kind in cases:
        check(case, kind, options)
    for length in options.lengths:
        work = {"encoding": "rope", "batch": 1, "length": length, "ragged": False, "causal": True, "pass": "forward"}
        for case, kind in cases:
            def timed():
                program = attention(case, kind, arrays_of(length), options.threads)
                times = peer_rows.fastest(program.run, options.repeats)
                program.close()
                return times

            peer_rows.row_of(PEER, case, kind, work, timed)


main()
