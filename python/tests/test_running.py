# SPDX-License-Identifier: MIT
"""How calls run: lifetimes, threads, memory, Ctrl-C, fork."""
import gc
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import locus

H, D = 2, 8


@pytest.mark.parametrize("name, value, told", [("LOCUS_ISA", "garbage", True), ("LOCUS_THREADS", "-1", True),
                                               ("LOCUS_THREADS", "2", False), ("LOCUS_ISA", "scalar", False)])
def test_an_environment_that_cannot_be_read_is_told(name, value, told):
    code = "import locus; print(locus.threads())"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, name: value}, capture_output=True, text=True)
    assert done.returncode == 0 and int(done.stdout) >= 1
    assert (f"RuntimeWarning: {name}" in done.stderr and repr(value) in done.stderr) == told, done.stderr
    assert told or done.stderr == ""


def test_arrays_may_die_before_the_plan(draw):
    def make():
        e = locus.Encoding("algebraic(group=tree:2)")
        p = e.initialise(H, D, seed=4)
        return e.plan(locus.positions(np.array([[0, 1], [1, -1], [-1, -1]]), "tree:2"), H, D, p), p["generators"].copy()

    plan, generators = make()
    forms = plan.forms()
    gc.collect()
    x = draw.standard_normal((3, H, D))
    wanted = locus.Encoding("algebraic(group=tree:2)").plan(
        locus.positions(["1+2", "2", "0"], "tree:2"), H, D, {"generators": generators}).apply(x)
    assert np.allclose(plan.apply(x), wanted, atol=1e-14)
    del plan
    gc.collect()
    assert all(np.isfinite(array).all() for form in forms for array in form.arrays.values())


def test_refresh_leaves_the_old_plan(draw):
    e = locus.Encoding("t5")
    p, other = e.initialise(H, D, seed=1), e.initialise(H, D, seed=2)
    plan = e.plan(5, H, D, p)
    before, fresh = plan.scores(), plan.refresh(other)
    assert np.array_equal(plan.scores(), before)
    assert np.array_equal(fresh.scores(), e.plan(5, H, D, other).scores())


@pytest.mark.parametrize("arguments, error, words", [
    (dict(shape=(4, H, D)), locus.ShapeError, "5"), (dict(shape=(5, H)), locus.ShapeError, ""),
    (dict(shape=(5, H, D), dtype=np.int64), locus.DtypeError, "q has elements of format"),
    (dict(shape=(5, H, D), dtype=np.complex128), locus.DtypeError, "q has elements"),
    (dict(shape=(5, H, D), dtype=">f8"), locus.DtypeError, "q has elements"),
    (dict(shape=(5, H, D), dtype=np.float32), locus.DtypeError, ""),
    (dict(shape=(1, 1, 5, H, D)), locus.ShapeError, "5 dimensions"),
])
def test_bad_arrays(arguments, error, words):
    plan = locus.Encoding("rope").plan(5, H, D)
    good = np.zeros((5, H, D))
    with pytest.raises(error) as caught:
        plan.attention(np.zeros(**arguments), good, good)
    assert words in str(caught.value) and "\n" not in str(caught.value)
    for nothing in (object(), None, "text", good.astype(object)):
        with pytest.raises(locus.DtypeError):
            plan.attention(nothing, good, good)


@pytest.mark.parametrize("call", [
    lambda plan, x: locus.Encoding(3), lambda plan, x: locus.Encoding("ro\0pe"), lambda plan, x: locus.path(3, "1"),
    lambda plan, x: locus.positions("abc"), lambda plan, x: locus.positions(-1),
    lambda plan, x: plan.encoding.plan(5, 2.0, 8), lambda plan, x: plan.encoding.plan(5, -2, 8),
    lambda plan, x: plan.encoding.initialise(2, 8, seed=-1),
    lambda plan, x: plan.attention(x, x, x, dropout=0.1, seed=-1),
    lambda plan, x: plan.attention(x, x, x, window=-1), lambda plan, x: plan.attention(x, x, x, scale="x"),
    lambda plan, x: plan.attention(x, x, x, scale=0), lambda plan, x: plan.attention(x, x, x, kind=3),
    lambda plan, x: plan.apply(x, "queries"), lambda plan, x: locus.Cache("rope", 2, 8, capacity=-1),
    lambda plan, x: locus.set_threads(1.5), lambda plan, x: locus.positions.parents([-1], [0], arity=0),
])
def test_bad_arguments(call):
    plan = locus.Encoding("rope").plan(5, H, D)
    with pytest.raises((TypeError, ValueError)) as caught:
        call(plan, np.zeros((5, H, D)))
    assert str(caught.value) and "\n" not in str(caught.value)


def test_nothing_to_do():
    empty = np.zeros((0, H, D))
    assert locus.Encoding("rope").plan(0, H, D).attention(empty, empty, empty).shape == empty.shape


def test_threads(draw):
    plan = locus.Encoding("rope + alibi").plan(256, H, D)
    q, k, v = draw.standard_normal((3, 256, H, D))
    wanted = plan.attention(q, k, v, causal=True)
    before = locus.threads()
    wrong = []

    def work():
        for _ in range(50):
            if not np.array_equal(plan.attention(q, k, v, causal=True), wanted):
                wrong.append(1)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for count in (1, 2, 3):
        locus.set_threads(count)
        assert locus.threads() == count
    for worker in workers:
        worker.join()
    assert not wrong
    locus.set_threads(before)
    with pytest.raises(ValueError):
        locus.set_threads(-1)


def test_other_threads_run_meanwhile(draw):
    """Another thread runs in each quarter of a call's time."""
    plan = locus.Encoding("rope").plan(6000, 4, 32)
    q = draw.standard_normal((6000, 4, 32)).astype(np.float32)
    done, seen = threading.Event(), []

    def look():
        while not done.is_set():
            seen.append(time.monotonic())
            time.sleep(0.001)

    other = threading.Thread(target=look)
    other.start()
    began = time.monotonic()
    plan.attention(q, q, q)
    took = time.monotonic() - began
    done.set()
    other.join()
    assert {int(4 * (at - began) / took) for at in seen if at > began} >= {0, 1, 2, 3}


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")
def test_nothing_leaks(draw):
    """10⁵ calls and more, most of them attention of a plan, or of a cache with what keeps it; some make plans and read
    them, some are refused, some run functions of Python."""
    locus.register("py-leaky", score=lambda distance, slope: -slope[0] * distance, parameters={"slope": [1]},
                   gradient=lambda upstream, distance: np.array([-(upstream * distance).sum()]))
    e, own = locus.Encoding("rope + t5"), locus.Encoding("py-leaky")
    p, slope = e.initialise(H, D), {"slope": np.ones(1)}
    q = draw.standard_normal((4, H, D))
    plan, key = e.plan(4, H, D, p), q[:1].astype(np.float32)
    caches = [locus.Cache("rope", H, D, capacity=16) for _ in range(2)]
    caches[1].append(key, key)

    def bad():
        for call in (lambda: plan.apply(q[:3]), lambda: locus.Encoding("rop"), lambda: plan.apply(q.astype(int))):
            with pytest.raises((ValueError, TypeError)):
                call()

    def rounds(count):
        for number in range(count):
            output, lse = plan.attention(q, q, q, return_lse=True)
            plan.attention(q, q, q, causal=True)
            caches[0].append(key, key)
            caches[0].attend(key)
            if number % 8 == 7:
                caches[0].insert(caches[1], 0, 1, shift=2)
                caches[0].evict(0, 2, shift=-2)
                caches[0].truncate(0)
            if number % 10 == 0:
                plan.attention_backward(q, q, q, output, output, lse)
                plan.refresh(p).forms()
                bad()
            if number % 100 == 0:
                e.plan(4 + number % 3, H, D, p).scores()
                own.plan(4, H, D, slope).attention_backward(q, q, q, output)
                caches[1] = locus.Cache("rope", H, D, capacity=16)
                caches[1].append(key, key)

    rounds(2400)
    gc.collect()
    before = resident()
    rounds(25600)
    gc.collect()
    assert resident() - before < 16 * 4 * 25600


INTERRUPTED = """
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
import numpy as np, locus
sent = []
def send():
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
def later():
    sent.clear()
    threading.Timer(0.3, send).start()
def whole(call):
    try:
        call()
    except KeyboardInterrupt:
        return time.monotonic() - sent[0] < 2
    return False
plan = locus.Encoding("rope").plan(60000, 4, 64)
q = np.ones((60000, 4, 64), np.float32)
later()
attention = whole(lambda: plan.attention(q, q, q))
locus.set_threads(1)
wide = locus.Encoding("algebraic(group=tree:3000, init=random)")
later()
values = whole(lambda: wide.initialise(1, 64))
narrow = locus.Encoding("rope").plan(3, 1, 8)
assert np.isfinite(narrow.apply(np.ones((3, 1, 8)))).all()
print(attention, values)
sys.exit(0 if attention and values else 3)
"""


def test_interrupt():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_fork(draw):
    plan = locus.Encoding("rope").plan(512, H, D)
    q = draw.standard_normal((512, H, D))
    wanted = plan.attention(q, q, q)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if np.array_equal(plan.attention(q, q, q), wanted) else 1)
    assert os.waitpid(child, 0)[1] == 0
