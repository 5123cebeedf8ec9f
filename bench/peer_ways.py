# SPDX-License-Identifier: MIT
"""The ways in which work is timed in PyTorch, so that the comparison is with the best of them: float32 and bfloat16, each as it
is written and compiled (torch.compile). Training steps have bfloat16 by autocast, single calls by tensors of bfloat16. On AMD
processors MKL takes its slow path unless told otherwise; run.sh then runs every peer once more with a preloaded object that tells
it, and rows say so ("mkl": "fast path").

What peers print is in peer_rows.py."""
import resource
import time

import torch

import peer_rows

WAYS = ("float32", "float32 compiled", "bf16", "bf16 compiled")
PYTORCH = f"PyTorch {torch.__version__}"


def add_ways(parser):
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--ways", type=peer_rows.list_of, default=list(WAYS), help=", ".join(WAYS))


def add_options(parser, cases, steps):
    """Of a training step."""
    add_ways(parser)
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--cases", type=peer_rows.list_of, default=peer_rows.list_of(cases))


def type_of(way):
    return torch.bfloat16 if way.startswith("bf16") else torch.float32


def is_compiled(way):
    return way.endswith("compiled")


def torch_product(dtype):
    a, b = (torch.randn(rows, peer_rows.DEPTH).to(dtype) for rows in (peer_rows.ROWS, peer_rows.COLUMNS))
    return lambda: torch.nn.functional.linear(a, b)


def begin(options):
    """Threads, and the row of products."""
    torch.set_num_threads(options.threads)
    products = {"float32": torch_product(torch.float32), "bf16": torch_product(torch.bfloat16)}
    peer_rows.say_products(PYTORCH, options.threads, products, {"mkl": peer_rows.MKL})


def row_of(case, way, work, measure, said=None):
    torch._dynamo.reset()
    return peer_rows.row_of(PYTORCH, case, way, work, measure, {"mkl": peer_rows.MKL, **(said or {})})


# ---- single calls ----

def measure_calls(case, work, make, options, repeats, seconds=30.0):
    """A row for each way of a call. `make(type)` gives the call on tensors of that type."""
    def measure(way):
        call = make(type_of(way))
        return peer_rows.fastest(torch.compile(call, dynamic=False) if is_compiled(way) else call, repeats, seconds)

    return [row_of(case, way, work, lambda: measure(way)) for way in options.ways]


# ---- training steps ----

def time_steps(way, steps, optimizer, batches, loss):
    """(seconds, count) of the steps, and the first loss. `batches()` gives a step's arguments of `loss`, and of what it has
    how many, untimed."""
    program, warm, times, first = (torch.compile(loss), 3, [], None) if is_compiled(way) else (loss, 1, [], None)
    for step in range(steps + warm):
        arguments, count = batches()
        start = time.perf_counter()
        with torch.autocast("cpu", torch.bfloat16, enabled=way.startswith("bf16")):
            value = program(*arguments)
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        if step >= warm:
            times.append((time.perf_counter() - start, count))
        first = value.item() if first is None else first
    return times, first


def measure_steps(case, work, options, subject):
    """A row for each way. `subject()` makes anew, with the same random numbers, optimizer, batches, loss and what is
    counted."""
    def measure(way):
        torch.manual_seed(0)
        optimizer, batches, loss, counted = subject()
        times, first = time_steps(way, options.steps, optimizer, batches, loss)
        seconds = sorted(second for second, _ in times)
        return {"first_loss": first, "best_s": seconds[0], "median_s": seconds[len(seconds) // 2],
                f"{counted}_per_s": max(count / second for second, count in times),
                "peak_GiB_so_far": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}

    return [row_of(case, way, work, lambda: measure(way)) for way in options.ways]
