# SPDX-License-Identifier: MIT
"""The ways in which a training step is timed in PyTorch, so that the comparison is with the best of them: float32 and autocast
bfloat16, each as it is written and compiled (torch.compile). On AMD processors MKL takes its slow path unless told otherwise;
run.sh then runs every peer once more with a preloaded object that tells it, and rows say so ("mkl": "fast path").

Every peer prints first what its own matrix products reach in this process, in both precisions, and then a row for each case and
way; what a way cannot do is a row that says why."""
import json
import os
import resource
import time

import torch

WAYS = ("float32", "float32 compiled", "bf16", "bf16 compiled")
MKL = os.environ.get("LOCUS_PEER_MKL", "as installed")
ROWS, COLUMNS, DEPTH = 6400, 2048, 512  # the largest product of the published step


def list_of(text):
    return [word for word in text.split(",") if word]


def add_options(parser, cases, steps):
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=steps)
    parser.add_argument("--cases", type=list_of, default=list_of(cases))
    parser.add_argument("--ways", type=list_of, default=list(WAYS), help=", ".join(WAYS))


def product_gflops(dtype):
    """The best of several runs of one product, operands of that type."""
    a, b = (torch.randn(rows, DEPTH).to(dtype) for rows in (ROWS, COLUMNS))
    best = 0.0
    for _ in range(12):
        start = time.perf_counter()
        torch.nn.functional.linear(a, b)
        best = max(best, 2e-9 * ROWS * COLUMNS * DEPTH / (time.perf_counter() - start))
    return round(best, 1)


def begin(options):
    """Threads, and the row of products."""
    torch.set_num_threads(options.threads)
    peaks = {"float32": product_gflops(torch.float32), "bf16": product_gflops(torch.bfloat16)}
    print(json.dumps({"peer": f"PyTorch {torch.__version__}", "mkl": MKL, "threads": options.threads,
                      "product_gflops": peaks}), flush=True)


def time_steps(way, steps, optimizer, batches, loss):
    """(seconds, count) of the steps, and the first loss. `batches()` gives a step's arguments of `loss`, and of what it has
    how many, untimed."""
    is_compiled = way.endswith("compiled")
    program, warm, times, first = torch.compile(loss) if is_compiled else loss, 3 if is_compiled else 1, [], None
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


def measure(case, options, subject, **said):
    """A row for each way. `subject()` makes anew, with the same random numbers, optimizer, batches, loss and what is
    counted."""
    rows = []
    for way in options.ways:
        torch.manual_seed(0)
        torch._dynamo.reset()
        row = {"peer": f"PyTorch {torch.__version__}", "case": case, "way": way, "mkl": MKL, **said}
        try:
            optimizer, batches, loss, counted = subject()
            times, row["first_loss"] = time_steps(way, options.steps, optimizer, batches, loss)
            seconds = sorted(second for second, _ in times)
            row.update(best_s=seconds[0], median_s=seconds[len(seconds) // 2])
            row[f"{counted}_per_s"] = max(count / second for second, count in times)
            row["peak_GiB_so_far"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        except Exception as error:  # a way that a peer cannot go is no fault of this program
            row["left_out"] = f"{type(error).__name__}: {error}".splitlines()[0][:160]
        print(json.dumps(row), flush=True)
        rows.append(row)
    return rows
