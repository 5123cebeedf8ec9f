# SPDX-License-Identifier: MIT
"""locus.torch from forms on a device (CUDA) beside PyTorch at its best there: attention forward, and forward with
backward, causal, in bfloat16 and float32.

  rope       beside scaled_dot_product_attention with rotate-half, eager and compiled
  alibi      beside a mask that is made before the time is taken, and FlexAttention compiled
  window     a sliding window of 512 keys, beside the same two
  relative   Shaw's vectors of keys: beside a mask that is made of queries in the time, and FlexAttention, which reads
             products of queries and vectors made in the time
  t5         a learned bias for each bucket of distances: beside a mask that is made of the bias in the time, and
             FlexAttention, which looks it up
  calls      what one call of rope costs the processor, in µs, and how many kernels it starts
  step       a training step of a Llama-like decoder, 6 layers of 512, autocast to bfloat16, beside rotate-half

Answers are compared before anything is timed; a program that fails is left out, with its reason. Times are medians of
--repeats, each of as many calls as take 20 ms, with the device waited for at both ends. Rows go to OUT/torch_device.jsonl
as they come; after --seconds no further row is begun. Usage: PYTHONPATH=WHEREVER python3 bench/torch_device.py --out OUT
[--device cuda] [--cases rope,…] [--dtypes bfloat16,float32] [--lengths 2048,…] [--tokens 8192] [--seconds 150]
[--ways masks,flex]: also each of the ways to make scores (locus/torch/programs.py), whichever is chosen; --kernels: also
what a call costs the processor, and the kernels that it starts, with their microseconds"""
import argparse
import functools
import json
import os
import statistics
import time

import torch
from torch.nn import functional as F

import locus
import locus.torch
from locus.torch import flex, forms, programs
from torch_attention import (DIM, HEADS, WINDOW, Model, angles, answer, causal_mask, distances, numbers, slopes,
                             t5_rows, turn)

# Of the largest number of a tensor.
ERRORS = {torch.float32: 2e-4, torch.bfloat16: 4e-2}


def waited(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


# ---- programs: functions of q, k, v, and of what is learned ----


def flexible(length, score=None, mask=None):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention
    own = create_block_mask(mask, None, None, length, length, device=torch.get_default_device())
    compiled = torch.compile(flex_attention, dynamic=False)
    return lambda q, k, v: compiled(q, k, v, score_mod=score, block_mask=own)


def of_rope(length, dtype):
    cos, sin = (x.to(dtype) for x in angles(length))
    compiled = torch.compile(turn)

    def turned(by):
        return lambda q, k, v: F.scaled_dot_product_attention(by(q, cos, sin), by(k, cos, sin), v, is_causal=True)

    return "rope(pairs=half)", {"rotate-half": lambda: turned(turn), "rotate-half compiled": lambda: turned(compiled)}


def of_alibi(length, dtype):
    own = slopes()

    def masked():
        mask = causal_mask(-own[:, None, None] * distances(length).abs())[None].to(dtype)
        return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    return "alibi", {"mask": masked, "flex": lambda: flexible(
        length, lambda score, b, h, i, j: score - own[h] * (i - j), lambda b, h, i, j: i >= j)}


def of_window(length, dtype):
    def masked():
        mask = (distances(length) >= 0) & (distances(length) < WINDOW)
        return lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    return f"scores(window={WINDOW})", {"mask": masked, "flex": lambda: flexible(
        length, None, lambda b, h, i, j: (i >= j) & (i - j < WINDOW))}


def of_relative(length, dtype):
    form = next(each for each in locus.Encoding("relative").plan(length, HEADS, DIM).forms() if each.kind == "content")
    window, factor = int(form.arrays["window"]), DIM ** -0.5 if form.arrays["scaled"] else 1.0

    def rows_of(q, table):
        return factor * (q @ table.to(q.dtype).T)

    def masked():
        rows = torch.clamp(-distances(length), -window, window) + window
        hidden = causal_mask(torch.zeros(length, length, dtype=dtype))

        def program(q, k, v, table):
            own = torch.gather(rows_of(q, table), -1, rows.expand(*q.shape[:2], -1, -1)) + hidden
            return F.scaled_dot_product_attention(q, k, v, attn_mask=own)

        return program

    def fused():
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
        own = create_block_mask(lambda b, h, i, j: i >= j, None, None, length, length,
                                device=torch.get_default_device())

        def program(q, k, v, table):
            products = rows_of(q, table)
            return flex_attention(q, k, v, lambda score, b, h, i, j: score + products[
                b, h, i, torch.clamp(j - i, -window, window) + window], own)

        return torch.compile(program, dynamic=False)

    return "relative", {"mask": masked, "flex": fused}


def of_t5(length, dtype):
    rows = t5_rows(length).to(torch.get_default_device())
    hidden = causal_mask(torch.zeros(length, length, dtype=dtype))

    def masked():
        def program(q, k, v, bias):
            mask = F.embedding(rows, bias.to(dtype)).movedim(-1, 0) + hidden
            return F.scaled_dot_product_attention(q, k, v, attn_mask=mask[None].contiguous())

        return program

    def fused():
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention
        own = create_block_mask(lambda b, h, i, j: i >= j, None, None, length, length,
                                device=torch.get_default_device())
        buckets = rows[-1].flip(0)  # of distances 0 …

        def program(q, k, v, bias):
            values = bias[buckets].T.contiguous()
            return flex_attention(q, k, v, lambda score, b, h, i, j: score + values[h, torch.clamp(i - j, min=0)], own,
                                  kernel_options={"num_stages": 2})  # with more, too little memory on an H100

        return torch.compile(program, dynamic=False)

    return "t5(direction=causal)", {"mask": masked, "flex": fused}


CASES = {"t5": of_t5, "rope": of_rope, "alibi": of_alibi, "window": of_window, "relative": of_relative}


# ---- time ----
# Tensors are made under a default device, which is left before anything is timed: under it PyTorch asks a mode written in
# Python whenever a tensor is asked for its size or its type, which is a good part of a short call.


def call_of(program, inputs, upstream):
    def forward():
        with torch.no_grad():
            program(*inputs)

    def both():
        torch.autograd.grad(program(*inputs), inputs, upstream)

    return forward if upstream is None else both


def timed(call, count, device):
    waited(device)
    start = time.perf_counter()
    for _ in range(count):
        call()
    waited(device)
    return (time.perf_counter() - start) / count


def medians(calls, options):
    """Milliseconds by name; programs take turns."""
    counts = {}
    for name, call in calls.items():
        timed(call, 2, options.device)
        counts[name] = max(1, int(0.02 / timed(call, 1, options.device)))
    times = {name: [] for name in calls}
    for _ in range(options.repeats):
        for name, call in calls.items():
            times[name].append(timed(call, counts[name], options.device))
    return {name: round(statistics.median(own) * 1e3, 4) for name, own in times.items()}


def attempt(said, make):
    """What `make` gives, or None and its failure written down."""
    try:
        return make()
    except Exception as error:  # what a peer cannot do is no fault of this program
        said["left_out"] = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        return None


def checked(programs, inputs, upstream, error, options):
    """Those that give locus's answer, by name; why others were left out."""
    wanted, kept, left_out = answer(programs["locus"](), inputs, upstream), {}, {}
    for name, make in programs.items():
        said = {}
        with options.device:
            program = attempt(said, make)
        found = None if program is None else attempt(said, lambda: answer(program, inputs, upstream))
        if found is None:
            left_out[name] = said["left_out"]
            continue
        apart = max(float((a.float() - b.float()).abs().max() / max(1.0, float(b.float().abs().max())))
                    for a, b in zip(wanted, found))
        if len(found) == len(wanted) and apart < error:
            kept[name] = program
        else:
            left_out[name] = f"its answer is {apart:.2g} apart"
    return kept, left_out


def peak(call, device):
    if device.type != "cuda":
        return None
    torch.cuda.reset_peak_memory_stats(device)
    call()
    return round(torch.cuda.max_memory_allocated(device) / 2**20)


WAYS = {"masks": ("alibi", "window", "relative", "t5"), "flex": ("alibi", "window", "relative", "t5")}


def run_case(name, length, dtype, options):
    with options.device:
        torch.manual_seed(length)
        batch, (spec, peers) = max(1, options.tokens // length), CASES[name](length, dtype)
        inputs = [torch.randn(batch, length, HEADS, DIM, dtype=dtype).transpose(1, 2).requires_grad_()
                  for _ in range(3)]
        initial = locus.Encoding(spec).initialise(HEADS, DIM, seed=1)
        learned = [torch.as_tensor(x, device=options.device).float().requires_grad_() for x in initial.values()]
        inputs += learned

        def program(q, k, v, *parameters):
            return locus.torch.attention(q, k, v, spec, parameters=dict(zip(initial, parameters)), is_causal=True,
                                         backend="forms")

        def by(way):
            q, k, v = inputs[:3]
            plan = locus.Encoding(spec).plan(locus.positions(None, offsets=[i * length for i in range(batch + 1)]),
                                             HEADS, DIM)
            with torch.no_grad():
                own = programs.program(forms._prepared(plan, q.device), q, k, v, True, 0.0, tuple(initial), way)
            return lambda q, k, v, *parameters: own(q, k, v, dict(zip(initial, parameters)))

        upstream = torch.randn(batch, HEADS, length, DIM, dtype=dtype)
        peers = {**peers,
                 **{f"locus by {way}": functools.partial(by, way) for way in options.ways if name in WAYS[way]}}
        wanted = {each: own for each, own in peers.items()
                  if not {each, f"{name}.{str(dtype)[6:]}.{each}"} & set(options.without)}
    kept, left_out = checked({"locus": lambda: program, **wanted}, inputs, upstream, ERRORS[dtype], options)
    for way in ("forward", "both"):
        calls = {each: call_of(own, inputs, upstream if way == "both" else None) for each, own in kept.items()}
        row = {"case": name, "dtype": str(dtype)[6:], "batch": batch, "length": length, "pass": way}
        for call in calls.values():  # what compiles for another mode does it now
            call()
        if options.kernels:
            row["kernels"] = {each: attempt({}, lambda call=call: started(call, options))
                              for each, call in calls.items()}
            row["microseconds"] = {each: round(of_processor(call, options, 20), 1) for each, call in calls.items()}
        report(row, medians(calls, options), {each: peak(call, options.device) for each, call in calls.items()},
               left_out, options)


def run_step(length, options):
    with options.device:
        (_, peers), batch = of_rope(length, torch.bfloat16), max(1, options.tokens // length)
        attends = {"locus": lambda q, k, v: locus.torch.attention(q, k, v, "rope(pairs=half)", is_causal=True,
                                                                  backend="forms"),
                   **{name: make() for name, make in peers.items() if name not in options.without}}
        generator = torch.Generator(options.device).manual_seed(1)
        tokens, calls, losses = torch.randint(8000, (batch, length + 1), generator=generator), {}, {}
    for name, attend in attends.items():
        torch.manual_seed(0)
        with options.device:
            model = Model(attend)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

        def call(model=model, optimizer=optimizer):
            with torch.autocast(options.device.type, torch.bfloat16):
                logits = model(tokens[:, :-1])
            loss = F.cross_entropy(logits.float().flatten(0, 1), tokens[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss

        calls[name], losses[name] = call, float(call().detach())
    if max(losses.values()) - min(losses.values()) > 1e-2:
        raise SystemExit(f"torch_device: losses differ: {losses}")
    row = {"case": "step", "dtype": "autocast", "batch": batch, "length": length, "pass": "step"}
    report(row, medians(calls, options), {}, {}, options)


def of_processor(call, options, count=200):
    """Microseconds of one call, of the thread that makes it, with the device's queue empty at the start."""
    for _ in range(3):
        call()
    waited(options.device)
    start = time.perf_counter()
    for _ in range(count):
        call()
    spent = time.perf_counter() - start
    waited(options.device)
    return spent / count * 1e6


def started(call, options):
    """The kernels that a call starts, in order: names, and microseconds of the device."""
    from torch.profiler import ProfilerActivity, profile
    kind = ProfilerActivity.CUDA if options.device.type == "cuda" else ProfilerActivity.CPU
    call()
    waited(options.device)
    with profile(activities=[kind]) as found:
        call()
        waited(options.device)
    return [(event.name[:100], round(event.time_range.elapsed_us(), 1)) for event in found.events()
            if options.device.type == "cpu" or "CUDA" in str(event.device_type)]


def run_calls(dtype, options):
    with options.device:
        (spec, peers), length = of_rope(128, dtype), 128
        inputs = [torch.randn(1, length, HEADS, DIM, dtype=dtype).transpose(1, 2).requires_grad_() for _ in range(3)]
        upstream, kernels = torch.randn(1, HEADS, length, DIM, dtype=dtype), {}
        all_of = {"locus": lambda q, k, v: locus.torch.attention(q, k, v, spec, is_causal=True, backend="forms"),
                  **{name: make() for name, make in peers.items() if name not in options.without}}
    for way in ("forward", "both"):
        calls = {name: call_of(program, inputs, upstream if way == "both" else None)
                 for name, program in all_of.items()}
        times = {name: round(of_processor(call, options), 1) for name, call in calls.items()}
        said = {}
        kernels = {name: attempt(said, lambda call=call: started(call, options)) for name, call in calls.items()}
        row = {"case": "calls", "dtype": str(dtype)[6:], "length": length, "pass": way,
               "kernels": {name: own and len(own) for name, own in kernels.items()},
               "of_locus": kernels["locus"] and [name for name, _ in kernels["locus"]]}
        report({**row, "microseconds": times}, {}, {}, said, options)


def report(row, times, memory, left_out, options):
    peer = min((name for name in times if not name.startswith("locus")), key=times.get, default=None)
    name = torch.cuda.get_device_name(options.device) if options.device.type == "cuda" else "cpu"
    row = {**row, "device": name, "torch": torch.__version__, "locus": locus.__version__, "median_ms": times,
           "peer": peer, "ratio": round(times[peer] / times["locus"], 3) if peer and "locus" in times else None,
           "peak_mib": memory}
    text = json.dumps({**row, **({"left_out": left_out} if left_out else {})})
    print(text, flush=True)
    with open(os.path.join(options.out, "torch_device.jsonl"), "a", encoding="utf-8") as file:
        file.write(text + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True, help="a folder, made if it is not there")
    parser.add_argument("--device", type=torch.device, default=torch.device("cuda"))
    parser.add_argument("--cases", default="calls,rope,step,alibi,window,relative,t5")
    parser.add_argument("--dtypes", default="bfloat16,float32")
    parser.add_argument("--lengths", type=numbers, default=[8192, 512, 2048, 4096, 1024])
    for name, value in (("tokens", 8192), ("repeats", 5), ("seconds", 150)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--without", default="", help="peers that are left out, as flex, which takes long to compile, "
                        "or alibi.float32.flex")
    parser.add_argument("--ways", default="", help="masks, flex: also these, whichever is chosen")
    parser.add_argument("--kernels", action="store_true", help="also what the processor and each kernel take")
    options = parser.parse_args()
    words = (lambda text: [word for word in text.split(",") if word])
    options.without, options.ways = words(options.without), words(options.ways)
    os.makedirs(options.out, exist_ok=True)
    torch._dynamo.config.recompile_limit = flex.MOST = 64
    cases, until = options.cases.split(","), time.monotonic() + options.seconds
    types = [getattr(torch, own) for own in options.dtypes.split(",")]
    rows = [functools.partial(run_calls, types[0], options)] if "calls" in cases else []
    for length in options.lengths:
        for name in cases:
            rows += [functools.partial(run_step, length, options)] if name == "step" and length != 4096 else []
            rows += [functools.partial(run_case, name, length, own, options) for own in types if name in CASES]
    for number, row in enumerate(rows):
        if time.monotonic() > until:
            print(f"torch_device: {len(rows) - number} of {len(rows)} rows were not begun within {options.seconds} s")
            break
        said = {}
        if attempt(said, lambda: (row(), True)[1]) is None:
            report({"failed": [str(x) for x in row.args[:-1]]}, {}, {}, said, options)


if __name__ == "__main__":
    main()
