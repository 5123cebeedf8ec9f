# SPDX-License-Identifier: MIT
"""How calls of locus.torch run: memory, threads of Python and of PyTorch, fork, DataLoader's workers, other Pythons,
Ctrl-C."""
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import locus  # noqa: E402
import locus.torch  # noqa: E402

H, L, D = 2, 16, 8


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads(), locus.threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before[0])
    locus.set_threads(before[1])


def tensors(seed, length=L):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(1, H, length, D, generator=generator) for _ in range(3)]


def answer(seed, length=L):
    """Attention and the gradient of queries, as one tensor."""
    q, k, v = tensors(seed, length)
    q.requires_grad_()
    output = locus.torch.attention(q, k, v, "rope + alibi", is_causal=True)
    gradient, = torch.autograd.grad(output.square().sum(), q)
    return torch.stack([output.detach(), gradient])


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")
def test_nothing_leaks():
    """10⁵ calls, a tenth of them with a gradient, some refused, some with positions that come once."""
    q, k, v = tensors(1)
    learns = locus.torch.Attention("t5", H, D)

    def calls(count):
        for number in range(count):
            locus.torch.attention(q, k, v, "rope", is_causal=True)
            if number % 10 == 0:
                answer(number % 7)
            if number % 100 == 0:
                learns(q, k, v, locus.positions([number + i for i in range(L)])).sum().backward()
                with pytest.raises(locus.ShapeError):
                    locus.torch.attention(q[0], k, v, "rope")

    locus.set_threads(1)
    calls(10000)
    gc.collect()
    before = resident()
    calls(90000)
    gc.collect()
    assert resident() - before < 8 << 20


def test_threads_of_python():
    wanted = [answer(seed, 64) for seed in range(4)]
    wrong = []

    def work(seed):
        for _ in range(30):
            if not torch.equal(answer(seed, 64), wanted[seed]):
                wrong.append(seed)

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for number in range(20):  # plans are let go of and made anew meanwhile
        locus.torch.forget()
        locus.set_threads(1 + number % 2)
    for worker in workers:
        worker.join()
    assert not wrong


def test_torch_changes_its_threads():
    wanted = answer(3, 256)
    for count in (2, 1, 3, 1):
        torch.set_num_threads(count)
        torch.randn(300, 300) @ torch.randn(300, 300)  # its threads are at work between ours
        assert torch.equal(answer(3, 256), wanted)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_fork():
    locus.set_threads(2)
    wanted = answer(4, 256)
    child = os.fork()
    if child == 0:
        signal.alarm(100)
        same = torch.equal(answer(4, 256), wanted)
        locus.torch.forget()
        os._exit(0 if same and torch.equal(answer(4, 256), wanted) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert torch.equal(answer(4, 256), wanted)


class Answers(torch.utils.data.Dataset):
    """Each item is computed by a worker."""

    def __len__(self):
        return 12

    def __getitem__(self, seed):
        return answer(seed)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_workers_of_a_loader():
    wanted = torch.stack([answer(seed) for seed in range(12)])
    for _ in range(2):
        loader = torch.utils.data.DataLoader(Answers(), batch_size=4, num_workers=2)
        assert torch.equal(torch.cat(list(loader)), wanted)
        assert torch.equal(answer(5), wanted[5])  # here, between workers


def test_other_pythons():
    """Two that are started anew, and this one, at once."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        theirs = pool.map_async(answer, range(6))
        own = [answer(seed) for seed in range(6)]
        assert all(torch.equal(a, b) for a, b in zip(theirs.get(timeout=200), own))


INTERRUPTED = """
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
import torch, locus.torch
q, k, v = (torch.randn(1, 4, 40000, 64, requires_grad=True) for _ in range(3))
backward = sys.argv[1] == "backward"
short = [x[:, :, :8].detach() for x in (q, k, v)]
wanted = locus.torch.attention(*short, "rope", is_causal=True)
sent = []
def send():
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
class Longer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()
    @staticmethod
    def backward(ctx, gradient):
        threading.Timer(0.5, send).start()
        return gradient
try:
    if backward:
        x = [y[:, :, :20000] for y in (q, k, v)]
        Longer.apply(locus.torch.attention(*x, "rope", is_causal=True)).sum().backward()
    else:
        threading.Timer(0.5, send).start()
        with torch.no_grad():
            locus.torch.attention(q, k, v, "rope")
except KeyboardInterrupt:
    late = time.monotonic() - sent[0]
    assert torch.equal(locus.torch.attention(*short, "rope", is_causal=True), wanted)
    print("interrupted", late)
    sys.exit(0 if late < 3 else 3)
print("not interrupted")
sys.exit(4)
"""


@pytest.mark.parametrize("which", ["forward", "backward"])
def test_interrupt(which):
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, which], capture_output=True, text=True, timeout=200,
                          check=False)
    assert done.returncode == 0, done.stdout + done.stderr
