# SPDX-License-Identifier: MIT
"""locus.torch beside PyTorch at its best: attention forward, and forward with backward, causal, on tensors of float32 and of
bfloat16; a step in bfloat16 by autocast.

  rope       beside scaled_dot_product_attention(is_causal=True) with rotate-half, eager and compiled
  alibi      beside a mask that is made before the time is taken, and FlexAttention compiled
  window     a sliding window of 512 keys, beside the same two
  t5         a learned bias for each bucket of distances: forward beside a mask that is made before; with backward the
             mask is made of the bias in the time, as gradients need it
  relative   Shaw's vectors of keys, causal: beside a mask that is made of the queries in the time
  packed     sequences of different lengths: locus packs them, PyTorch pads them with a mask that is made before, or
             takes them one after the other
  step       a training step of a Llama-like decoder, 6 layers of 512, beside itself with rotate-half

A mask that is made before is not compiled: nothing is left but scaled_dot_product_attention.
Every answer is compared with the peer's before anything is timed. Programs take turns within a run; peer_best.py makes
ratios of what is printed. Usage: PYTHONPATH=build/python/python python3 bench/torch_attention.py
[--cases rope,alibi,…] [--types float32,bf16] [--lengths 512,…] [--steps 256,…] [--threads 2] [--tokens 8192]
[--repeats 5] [--without flex,…]; JSON lines."""
import argparse
import contextlib
import json
import statistics
import time

import torch
from torch import nn
from torch.nn import functional as F

import locus
import locus.torch

import peer_rows
import peer_ways

HEADS, DIM, WINDOW = 8, 64, 512
RAGGED = [173, 512, 64, 301, 128, 480, 33, 256, 399, 77, 210, 350, 145, 500, 92, 288]
ERROR = {"float32": 2e-4, "bf16": 5e-2}  # of answers; bfloat16 has 8 bits
LOSS_ERROR = {"float32": 1e-3, "bf16": 5e-2}


# ---- what both compute ----


def angles(length, dtype, dim=DIM):
    """cos and sin, [length, dim], of rotate-half."""
    angle = torch.arange(length)[:, None] * 10000.0 ** (-torch.arange(0, dim, 2) / dim)
    return tuple(torch.cat([f(angle), f(angle)], -1).to(dtype) for f in (torch.cos, torch.sin))


def turn(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat([-b, a], -1) * sin


def distances(length):
    return torch.arange(length)[:, None] - torch.arange(length)


def causal_mask(bias):
    return torch.where(distances(bias.shape[-1]) >= 0, bias, -torch.inf)


def slopes():
    return 2.0 ** (-8 / HEADS * torch.arange(1, HEADS + 1))


def t5_rows(length):
    """The bucket of each pair of the causal T5 bias, 32 of them up to a distance of 128, by the library's own forms."""
    forms = locus.Encoding("t5(direction=causal)").plan(length, HEADS, DIM).forms()
    form = next(each for each in forms if "bucket" in each.arrays)
    cell = torch.from_numpy((form.arrays["query_cell"][:, None] + form.arrays["key_cell"]).astype("int64"))
    return torch.from_numpy(form.arrays["bucket"].astype("int64"))[cell % 2**32]


# ---- programs: functions of q, k, v [batch, heads, length, dim], and of what is learned ----


def flex(score=None, mask=None, length=None):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    own = create_block_mask(mask, None, None, length, length, device="cpu")
    compiled = torch.compile(flex_attention, dynamic=False)

    def program(*inputs):
        q, k, v = inputs[:3] if torch.is_grad_enabled() else (x.detach() for x in inputs[:3])
        return compiled(q, k, v, score_mod=score, block_mask=own)

    return program


def sdpa(mask):
    return lambda q, k, v, *_: F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def of_rope(length, dtype):
    cos, sin = angles(length, dtype)
    compiled = torch.compile(turn)

    def turned(by):
        return lambda q, k, v: F.scaled_dot_product_attention(by(q, cos, sin), by(k, cos, sin), v, is_causal=True)

    return "rope(pairs=half)", {"rotate-half": turned(turn), "rotate-half compiled": turned(compiled)}


def of_alibi(length, dtype):
    own = slopes()
    mask = causal_mask(-own[:, None, None] * distances(length).abs())[None].to(dtype)
    return "alibi", {"mask": sdpa(mask), "flex": lambda: flex(
        lambda score, b, h, i, j: score - own[h] * (i - j), lambda b, h, i, j: i >= j, length)}


def of_window(length, dtype):
    apart = distances(length)
    mask = (apart >= 0) & (apart < WINDOW)
    return f"scores(window={WINDOW})", {"mask": sdpa(mask), "flex": lambda: flex(
        None, lambda b, h, i, j: (i >= j) & (i - j < WINDOW), length)}


def of_t5(length, dtype):
    rows = t5_rows(length)
    before = {}

    def program(q, k, v, table):
        if torch.is_grad_enabled() or "mask" not in before:
            before["mask"] = causal_mask(table[rows].permute(2, 0, 1))[None].to(dtype)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=before["mask"])

    return "t5(direction=causal)", {"mask": program, "mask compiled": torch.compile(program)}


def of_relative(length, dtype):
    form = next(each for each in locus.Encoding("relative").plan(length, HEADS, DIM).forms() if each.kind == "content")
    window, factor = int(form.arrays["window"]), DIM ** -0.5 if form.arrays["scaled"] else 1.0
    rows = torch.clamp(-distances(length), -window, window) + window
    hidden = causal_mask(torch.zeros(length, length, dtype=dtype))

    def program(q, k, v, table):
        by_row = factor * (q @ table.T.to(dtype))
        mask = torch.gather(by_row, -1, rows.expand(*q.shape[:2], -1, -1)) + hidden
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    return "relative", {"mask": program, "mask compiled": torch.compile(program)}


CASES = {"rope": of_rope, "alibi": of_alibi, "window": of_window, "t5": of_t5, "relative": of_relative}


# ---- time ----


def once(program, inputs, upstream):
    """Seconds of a forward pass, or of both."""
    for x in inputs:
        x.grad = None
    start = time.perf_counter()
    if upstream is None:
        with torch.no_grad():
            program(*inputs)
    else:
        torch.autograd.backward(program(*inputs), upstream)
    return time.perf_counter() - start


def answer(program, inputs, upstream):
    for x in inputs:
        x.grad = None
    with torch.no_grad() if upstream is None else contextlib.nullcontext():
        output = program(*inputs)
    if upstream is not None:
        torch.autograd.backward(output, upstream)
    return [output.detach(), *(x.grad.clone() for x in inputs if x.grad is not None)]


def checked(programs, inputs, upstream, error):
    """Those that give locus's answer; why others were left out."""
    wanted, kept, left_out = answer(programs["locus"], inputs, upstream), {"locus": programs["locus"]}, {}
    for name, program in programs.items():
        if name == "locus":
            continue
        try:
            own = program() if name == "flex" else program
            found = answer(own, inputs, upstream)
        except Exception as failure:  # what a peer cannot do is no fault of this program
            left_out[name] = f"{type(failure).__name__}: {failure}".splitlines()[0][:120]
            continue
        apart = max(float((a - b).abs().max() / max(1.0, float(b.abs().max()))) for a, b in zip(wanted, found))
        if len(found) != len(wanted) or not apart < error:
            raise SystemExit(f"torch_attention: '{name}' and locus differ by {apart:.2g}")
        kept[name] = own
    return kept, left_out


def measure(said, plain, programs, inputs, upstream, options):
    kept, left_out = checked({name: own for name, own in programs.items() if name not in options.without}, inputs,
                             upstream, ERROR[plain])
    times = {name: [] for name in kept}
    for _ in range(options.repeats):
        for name, program in kept.items():
            times[name].append(once(program, inputs, upstream))
    report(said, plain, times, left_out)


def report(said, plain, times, left_out):
    """A row for each program, as peers print them."""
    for name in [*times, *left_out]:
        compiled = " compiled" if name == "flex" or name.endswith(" compiled") else ""
        row = {"peer": "locus" if name == "locus" else peer_ways.PYTORCH, "case": name.removesuffix(" compiled"),
               "way": plain + compiled, "mkl": peer_rows.MKL, "work": said}
        if name in times:
            row.update(best_s=min(times[name]), median_s=statistics.median(times[name]))
        else:
            row["left_out"] = left_out[name]
        print(json.dumps(row), flush=True)


# ---- cases ----


def leaves(dtype, *shape):
    """As after a projection: [batch, length, heads, dim], seen as [batch, heads, length, dim]."""
    return [torch.randn(shape[0], shape[2], shape[1], shape[3]).to(dtype).transpose(1, 2).requires_grad_() for _ in range(3)]


def run_case(name, length, plain, options):
    dtype = peer_ways.type_of(plain)
    batch = max(1, options.tokens // length)
    spec, peers = CASES[name](length, dtype)
    inputs, initial = leaves(dtype, batch, HEADS, length, DIM), locus.Encoding(spec).initialise(HEADS, DIM, seed=1)
    learned = {key: torch.tensor(value, dtype=torch.float32).requires_grad_() for key, value in initial.items()}
    names = list(learned)

    def program(q, k, v, *parameters):
        return locus.torch.attention(q, k, v, spec, parameters=dict(zip(names, parameters)), is_causal=True)

    inputs += list(learned.values())
    for both in (False, True):
        upstream = torch.randn(batch, HEADS, length, DIM).to(dtype) if both else None
        measure({"case": name, "batch": batch, "length": length, "pass": "both" if both else "forward"}, plain,
                {"locus": program, **peers}, inputs, upstream, options)


def padded_peer(lengths, dtype):
    length, counts = max(lengths), torch.tensor(lengths)
    index = torch.arange(length)
    inside = index[None] < counts[:, None]
    mask = inside[:, None, None, :] & (index[None, :] <= index[:, None])
    mask = mask | (index[:, None] == 0)[None, None] & (index[None, :] == 0)[None, None]
    rows = torch.arange(sum(lengths))
    of = torch.repeat_interleave(torch.arange(len(lengths)), counts)
    within = rows - (torch.cumsum(counts, 0) - counts)[of]
    cos, sin = angles(length, dtype)

    def program(q, k, v):
        wide = [x.new_zeros(len(lengths), length, HEADS, DIM).index_put((of, within), x).transpose(1, 2)
                for x in (q, k, v)]
        output = F.scaled_dot_product_attention(turn(wide[0], cos, sin), turn(wide[1], cos, sin), wide[2],
                                                attn_mask=mask)
        return output.transpose(1, 2)[of, within]

    return program


def one_by_one_peer(lengths, dtype):
    cos, sin = angles(max(lengths), dtype)

    def program(q, k, v):
        parts = []
        for a, b, c in zip(*(x.split(lengths) for x in (q, k, v))):
            a, b, c = (x.transpose(0, 1)[None] for x in (a, b, c))
            n = a.shape[2]
            parts.append(F.scaled_dot_product_attention(turn(a, cos[:n], sin[:n]), turn(b, cos[:n], sin[:n]), c,
                                                        is_causal=True)[0].transpose(0, 1))
        return torch.cat(parts)

    return program


def run_packed(plain, options):
    dtype = peer_ways.type_of(plain)
    offsets = torch.tensor([0, *torch.cumsum(torch.tensor(RAGGED), 0).tolist()])
    inputs = [torch.randn(sum(RAGGED), HEADS, DIM).to(dtype).requires_grad_() for _ in range(3)]

    def program(q, k, v):
        return locus.torch.attention(q, k, v, "rope(pairs=half)", is_causal=True, offsets=offsets)

    programs = {"locus": program, "padded": padded_peer(RAGGED, dtype), "one by one": one_by_one_peer(RAGGED, dtype)}
    for both in (False, True):
        upstream = torch.randn(sum(RAGGED), HEADS, DIM).to(dtype) if both else None
        measure({"case": "packed", "sequences": len(RAGGED), "tokens": sum(RAGGED),
                 "pass": "both" if both else "forward"}, plain, programs, inputs, upstream, options)


# ---- a training step ----


class Layer(nn.Module):
    def __init__(self, dim, hidden, attend):
        super().__init__()
        self.attend = attend
        self.project, self.output = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.up, self.down = nn.Linear(dim, 2 * hidden, bias=False), nn.Linear(hidden, dim, bias=False)
        self.norm1, self.norm2 = nn.RMSNorm(dim), nn.RMSNorm(dim)

    def forward(self, x):
        q, k, v = (y.unflatten(-1, (HEADS, DIM)).transpose(1, 2) for y in self.project(self.norm1(x)).chunk(3, -1))
        x = x + self.output(self.attend(q, k, v).transpose(1, 2).flatten(2))
        gate, up = self.up(self.norm2(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Model(nn.Module):
    def __init__(self, attend, dim=HEADS * DIM, layers=6, vocabulary=8000):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dim)
        self.layers = nn.ModuleList(Layer(dim, 1376, attend) for _ in range(layers))
        self.norm, self.last = nn.RMSNorm(dim), nn.Linear(dim, vocabulary, bias=False)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.last(self.norm(x))


def stepper(model, plain):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def step(batch):
        start = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=plain == "bf16"):
            loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return time.perf_counter() - start, float(loss.detach())

    return step


def run_step(length, plain, options):
    _, peers = of_rope(length, peer_ways.type_of(plain))
    attends = {"locus": lambda q, k, v: locus.torch.attention(q, k, v, "rope(pairs=half)", is_causal=True),
               **{name: peer for name, peer in peers.items() if name not in options.without}}
    batch = max(1, options.step_tokens // length)
    generator, steps = torch.Generator().manual_seed(1), {}
    for name, attend in attends.items():
        torch.manual_seed(0)
        steps[name] = stepper(Model(attend), plain)
    times = {name: [] for name in steps}
    for number in range(options.repeats + 1):
        tokens, losses = torch.randint(8000, (batch, length + 1), generator=generator), {}
        for name, step in steps.items():
            seconds, losses[name] = step(tokens)
            if number:
                times[name].append(seconds)
        if max(losses.values()) - min(losses.values()) > LOSS_ERROR[plain]:
            raise SystemExit(f"torch_attention: losses of step {number} differ: {losses}")
    report({"case": "step", "batch": batch, "length": length, "pass": "step"}, plain, times, {})


def run(case, plain, options):
    if case == "packed":
        run_packed(plain, options)
    elif case == "step":
        for length in options.steps:
            run_step(length, plain, options)
    else:
        for length in options.lengths:
            run_case(case, length, plain, options)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=peer_rows.list_of, default=[*CASES, "packed", "step"])
    parser.add_argument("--types", type=peer_rows.list_of, default=list(ERROR))
    parser.add_argument("--lengths", type=peer_rows.numbers_of, default=[512, 1024, 2048, 4096, 8192])
    parser.add_argument("--steps", type=peer_rows.numbers_of, default=[256, 512, 1024, 2048], help="lengths of training steps")
    for name, value in (("threads", 2), ("tokens", 8192), ("step-tokens", 2048), ("repeats", 5)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--without", type=peer_rows.list_of, default=[],
                        help="peers that are left out, as flex, which takes long to compile")
    options = parser.parse_args()
    peer_ways.begin(options)
    locus.set_threads(options.threads)
    for case in options.cases:
        for plain in options.types:
            run(case, plain, options)


if __name__ == "__main__":
    main()
