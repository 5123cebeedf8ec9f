# SPDX-License-Identifier: MIT
"""How calls of locus.jax run: threads, Ctrl-C, memory."""
import gc
import subprocess
import sys
import threading

import numpy as np
import pytest

pytest.importorskip("jax", reason="JAX is not installed")

from jax_cases import D, L, drawn, operands, with_gradients  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

import locus  # noqa: E402
import locus.jax  # noqa: E402
from test_running import resident  # noqa: E402


@pytest.fixture(autouse=True)
def wide():
    jax.config.update("jax_enable_x64", True)
    locus.set_threads(1)


def test_threads(draw):
    """Compiled functions of several threads at once, with parameters of their own."""
    q, k, v, bias, gradient, p, said = operands("rope + t5", draw)
    step = jax.jit(with_gradients("rope + t5", gradient, is_causal=True))
    values = [jax.tree.map(lambda x: x * scale, p) for scale in (0.5, 1.0, 1.5, 2.0)]
    wanted = [jax.tree.map(np.asarray, step(q, k, v, bias, own)) for own in values]
    wrong = []

    def work(number):
        for turn in range(40):
            own = (number + turn) % 4
            found = jax.tree.map(np.asarray, step(q, k, v, bias, values[own]))
            if not all(np.array_equal(x, y) for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(wanted[own]))):
                wrong.append(turn)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for worker in workers:
        worker.start()
    for turn in range(10):
        locus.jax.forget()
    for worker in workers:
        worker.join()
    assert not wrong


INTERRUPTED = """
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
import jax, jax.numpy as jnp, locus.jax
attend = jax.jit(lambda q: locus.jax.attention(q, q, q, "rope"))
q = jnp.ones((1, 4, 60000, 64), jnp.float32)
attend.lower(q).compile()
sent = []
def send():
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(0.5, send).start()
try:
    jax.block_until_ready(attend(q))
except KeyboardInterrupt:
    late = time.monotonic() - sent[0]
    assert bool(jnp.isfinite(attend(q[:, :, :9])).all())
    print("interrupted", late)
    sys.exit(0 if late < 2 else 3)
print("not interrupted")
sys.exit(4)
"""


def test_interrupt():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_nothing_leaks(draw):
    q, k, v, bias, gradient, p, said = operands("rope + t5", draw)
    step = jax.jit(with_gradients("rope + t5", gradient, is_causal=True))

    def once(turn):
        own = jax.tree.map(lambda x: x + 1e-6 * turn, p)
        jax.block_until_ready(step(q, k, v, bias, own))
        jax.block_until_ready(locus.jax.attention(q, k, v, "rope", locus.positions(np.arange(L) + turn % 90)))

    for turn in range(200):
        once(turn)
    gc.collect()
    before = resident()
    for turn in range(200, 1000):
        once(turn)
    gc.collect()
    assert resident() - before < 8 << 20


def test_plans_are_let_go_of(draw):
    q, k, v = drawn(draw, 1, 1, 512, D)
    step = jax.jit(lambda x: locus.jax.attention(q, k, v, "rope + alibi", x))
    for shift in range(80):
        step(jnp.arange(512) * 3 + shift)
    gc.collect()
    before = resident()
    for shift in range(80, 400):
        step(jnp.arange(512) * 3 + shift).block_until_ready()
    assert resident() - before < 8 << 20
