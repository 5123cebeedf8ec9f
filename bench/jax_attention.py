# SPDX-License-Identifier: MIT
"""Times locus.jax.attention beside jax.nn.dot_product_attention, both with rotary embeddings and compiled, on the CPU,
and prints one JSON object to a line.
Usage: python3 bench/jax_attention.py [--threads 2] [--lengths 512,2048] [--tokens 4096] [--repeats 10]

JAX's own side turns queries and keys by halves (rotate-half) inside of the compiled function and is given its tensors
[batch, length, heads, dim], as it wants them; locus is given [batch, heads, length, dim]. Values and gradients are
compared before anything is timed. The two are timed in turns, so that a busy moment meets both; `ratio` is JAX's best
time by locus's. `call`: microseconds of a call with next to nothing to compute, from Python and inside of a program,
where it is one of a chain."""
import argparse
import functools
import json
import time

import jax
import jax.numpy as jnp
import numpy as np

import locus
import locus.jax

import peer_rows

HEADS, DIM = 8, 64


def turned(x):
    """Rotate-half of [batch, length, heads, dim] at 0, 1, 2, …"""
    half = DIM // 2
    angle = np.arange(x.shape[1])[:, None] * 10000.0 ** (-np.arange(half) / half)
    cosine, sine = (jnp.asarray(f(angle), x.dtype)[None, :, None] for f in (np.cos, np.sin))
    one, other = x[..., :half], x[..., half:]
    return jnp.concatenate((one * cosine - other * sine, other * cosine + one * sine), -1)


def theirs(q, k, v, causal):
    return jax.nn.dot_product_attention(turned(q), turned(k), v, is_causal=causal)


def ours(q, k, v, causal):
    return locus.jax.attention(q, k, v, "rope(pairs=half)", is_causal=causal)


def with_gradients(attend, causal, gradient):
    return jax.jit(jax.value_and_grad(lambda q, k, v: (attend(q, k, v, causal) * gradient).sum(), (0, 1, 2)))


def timed(calls, repeats):
    """Best and median seconds of each call, one after the other and again."""
    times = [[] for _ in calls]
    for _ in range(repeats):
        for own, call in zip(times, calls):
            start = time.perf_counter()
            jax.block_until_ready(call())
            own.append(time.perf_counter() - start)
    return [(min(own), float(np.median(own))) for own in times]


def agree(one, other, error):
    for x, y in zip(jax.tree.leaves(one), jax.tree.leaves(other)):
        apart = float(jnp.abs(x - y).max() / jnp.maximum(1, jnp.abs(y).max()))
        assert apart <= error, f"results are {apart} apart"


def moved(x):
    return jnp.swapaxes(x, 1, 2)


def measure(batch, length, causal, repeats):
    q, k, v, gradient = jax.random.normal(jax.random.key(0), (4, batch, HEADS, length, DIM))
    own, other = (q, k, v), tuple(map(moved, (q, k, v)))
    forward = [jax.jit(functools.partial(attend, causal=causal)) for attend in (ours, theirs)]
    both = [with_gradients(ours, causal, gradient), with_gradients(theirs, causal, moved(gradient))]
    agree(forward[0](*own), moved(forward[1](*other)), 1e-5)
    agree(both[0](*own)[1], tuple(map(moved, both[1](*other)[1])), 1e-4)
    result = {"batch": batch, "length": length, "causal": causal}
    for name, (mine, their) in (("forward", forward), ("both", both)):
        times = timed((lambda: mine(*own), lambda: their(*other)), repeats)
        result[name] = {"locus_ms": times[0][0] * 1e3, "jax_ms": times[1][0] * 1e3,
                        "ratio": times[1][0] / times[0][0],
                        "ratio_of_medians": times[1][1] / times[0][1]}
    return result


def overhead(repeats, chain=50):
    """One head of 4 tokens of 8 dimensions."""
    q = jax.random.normal(jax.random.key(0), (1, 1, 4, 8))
    plain = jax.nn.dot_product_attention
    call = {}
    for name, attend in (("locus", lambda x: locus.jax.attention(x, x, x, "rope")), ("jax", lambda x: plain(x, x, x))):
        once, many = jax.jit(attend), jax.jit(lambda x: functools.reduce(lambda y, _: attend(y), range(chain), x))
        jax.block_until_ready((attend(q), once(q), many(q)))

        def loop(function):
            for _ in range(200):
                found = function(q)
            return found

        times = timed((lambda: loop(attend), lambda: loop(once), lambda: many(q)), repeats)
        call[name] = {"from_python_us": times[0][0] / 200 * 1e6, "compiled_us": times[1][0] / 200 * 1e6,
                      "in_a_program_us": times[2][0] / chain * 1e6}
    return {"call": call}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=0, help="locus's; JAX has one for each processor")
    parser.add_argument("--lengths", default="512,2048")
    parser.add_argument("--tokens", type=int, default=4096, help="of a batch")
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args()
    locus.set_threads(options.threads)
    print(json.dumps({"jax": jax.__version__, "locus": locus.__version__, "threads": locus.threads(), "heads": HEADS,
                      "dim": DIM}), flush=True)
    a, b = (jax.random.normal(jax.random.key(n), (rows, peer_rows.DEPTH)) for n, rows in enumerate((peer_rows.ROWS, peer_rows.COLUMNS)))
    product = jax.jit(lambda a, b: a @ b.T)
    peer_rows.say_products(f"JAX {jax.__version__}", "all", {"float32": lambda: jax.block_until_ready(product(a, b))})
    for length in [int(text) for text in options.lengths.split(",")]:
        for causal in (False, True):
            print(json.dumps(measure(max(1, options.tokens // length), length, causal, options.repeats)), flush=True)
    print(json.dumps(overhead(options.repeats)), flush=True)


main()
