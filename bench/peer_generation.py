# SPDX-License-Identifier: MIT
"""Greedy decoding with a preallocated key-value cache in PyTorch, for docs/performance.md: the model of peer_decoder_step.py, with
the parameters that `bench_generation --write FILE` has written, if they are given: then its first 40 tokens must be the same before
anything is timed. One step writes a key and a value into the cache of each layer and attends to the part that is filled with
scaled_dot_product_attention. In each way of peer_ways.py; with bfloat16 parameters and cache are of that type, and its tokens need not
be the same.

Usage: python3 bench/peer_generation.py [--threads 2] [--ways float32,bf16,…] [--lengths 128,256,512,1024,2048,4096] [--batches 1,32] [--tokens 32]
[--model FILE.safetensors]; prints JSON lines."""
import argparse
import copy
import json
import struct
import time

import torch
from torch.nn import functional as F

import peer_decoder_step as decoder
import peer_rows
import peer_ways


class Cache:
    """Keys and values of all layers, [layers, batch, heads, room, head], and the rotary table."""

    def __init__(self, batch, room, dtype=torch.float32):
        shape = (decoder.LAYERS, batch, decoder.HEADS, room, decoder.HEAD)
        self.keys, self.values, self.filled = torch.zeros(shape, dtype=dtype), torch.zeros(shape, dtype=dtype), 0
        self.cos, self.sin = (table.to(dtype) for table in decoder.angles(room))


def read(model, cache, tokens):
    """Reads tokens [batch, n] behind what is kept; the likeliest next ones, [batch, 1]."""
    first, end = cache.filled, cache.filled + tokens.shape[1]
    cos, sin = cache.cos[first:end], cache.sin[first:end]
    x = model.embedding[tokens] * decoder.DIM**0.5
    for i, layer in enumerate(model.layers):
        q, k, v = layer.heads(x, model.case, cos, sin)
        cache.keys[i, :, :, first:end], cache.values[i, :, :, first:end] = k, v
        keys, values = cache.keys[i, :, :, :end], cache.values[i, :, :, :end]
        out = F.scaled_dot_product_attention(q, keys, values, is_causal=tokens.shape[1] > 1)
        x = layer.finish(x, out, model.case, cos, sin)
    cache.filled = end
    return model.last(x[:, -1:]).argmax(-1)


def load(path):
    """A .safetensors file as a dictionary."""
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        header, data = json.loads(file.read(size)), bytearray(file.read())
    types = {"F32": torch.float32, "I32": torch.int32}
    return {name: torch.frombuffer(data, dtype=types[entry["dtype"]], offset=entry["data_offsets"][0],
                                   count=max(1, (entry["data_offsets"][1] - entry["data_offsets"][0]) // 4)
                                   ).view(entry["shape"])
            for name, entry in header.items() if name != "__metadata__"}


def pairs_to_halves(weight):
    """Rows of a projection, so that pairs (2i, 2i + 1) of a head stand at (i, i + HEAD / 2), as rotate-half wants them."""
    rows = weight.view(decoder.HEADS, decoder.HEAD // 2, 2, -1)
    return rows.transpose(1, 2).reshape(weight.shape)


def take_parameters(model, tensors):
    model.embedding.copy_(tensors["embedding.weight"])
    model.last.weight.copy_(tensors["output.weight"])
    for i, layer in enumerate(model.layers):
        own = lambda name: tensors[f"decoder.{i}.{name}"]
        parts = [[own(f"self_attention.{role}.{kind}") for role in ("query", "key", "value")] for kind in ("weight", "bias")]
        for target, (q, k, v) in zip((layer.project.weight, layer.project.bias), parts):
            target.copy_(torch.cat([pairs_to_halves(q), pairs_to_halves(k), v]))
        for module, name in ((layer.output, "self_attention.output"), (layer.up, "feed_forward.up"),
                             (layer.down, "feed_forward.down"), (layer.norm1, "norm1"), (layer.norm2, "norm2")):
            module.weight.copy_(own(f"{name}.weight"))
            module.bias.copy_(own(f"{name}.bias"))


def check(model, tensors):
    prompt, answer = tensors["prompt"].long()[None], tensors["answer"].tolist()
    cache = Cache(1, prompt.shape[1] + len(answer))
    token, got = read(model, cache, prompt), []
    for _ in answer:
        got.append(token.item())
        token = read(model, cache, token) if cache.filled < prompt.shape[1] + len(answer) else token
    if got != answer:
        raise SystemExit(f"peer_generation: {got} instead of {answer}")


def time_tokens(model, batch, length, way, options):
    generator, times = torch.Generator().manual_seed(3), []
    cache = Cache(batch, length + options.tokens, peer_ways.type_of(way))
    prompt = torch.randint(len(model.embedding), (batch, length), generator=generator)
    step = torch.compile(read, dynamic=True) if peer_ways.is_compiled(way) else read
    start = time.perf_counter()
    token = read(model, cache, prompt)
    prefill = time.perf_counter() - start
    for _ in range(options.tokens):
        start = time.perf_counter()
        token = step(model, cache, token)
        times.append(time.perf_counter() - start)
    times.sort()
    return {"prefill_s": prefill, "best_s": times[0], "median_s": times[len(times) // 2], "tokens_per_s": batch / times[0]}


def measure(models, batch, length, options):
    work = {"encoding": "rope", "batch": batch, "length": length}
    for way in options.ways:
        model = models[peer_ways.type_of(way)]
        peer_ways.row_of("static cache", way, work, lambda way=way: time_tokens(model, batch, length, way, options))


@torch.inference_mode()
def main():
    parser = argparse.ArgumentParser()
    peer_ways.add_ways(parser)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--lengths", type=peer_rows.numbers_of, default=[128, 256, 512, 1024, 2048, 4096])
    parser.add_argument("--batches", type=peer_rows.numbers_of, default=[1, 32])
    parser.add_argument("--model")
    options = parser.parse_args()
    peer_ways.begin(options)
    tensors = load(options.model) if options.model else None
    model = decoder.Model("rope", len(tensors["embedding.weight"]) if tensors else 20)
    if tensors:
        take_parameters(model, tensors)
        check(model, tensors)
    models = {torch.float32: model, torch.bfloat16: copy.deepcopy(model).bfloat16()}
    for batch in options.batches:
        for length in options.lengths:
            measure(models, batch, length, options)


if __name__ == "__main__":
    main()
