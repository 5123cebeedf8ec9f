# SPDX-License-Identifier: MIT
"""How calls of locus.torch run: memory, what is kept, threads of Python and of PyTorch, fork, DataLoader's workers, other
Pythons, Ctrl-C."""
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
    assert resident() - before < 16 * 90000


# ---- what forms keep ----


def from_forms(spec, length=L, **rest):
    q, k, v = tensors(7, length)
    return locus.torch.attention(q, k, v, spec, is_causal=True, backend="forms", **rest)


def held_programs():
    """All that plans have, by plan."""
    from locus.torch import forms
    return [[own for own, in prepared.programs._found.values()] for _, by_device in list(forms._read.values())
            for prepared in by_device.values()]


def test_programs_are_few():
    """A scale that is never the same leaves no program, and no mask, behind for each, but for the last calls."""
    from locus.torch import forms, planning, programs
    locus.torch.forget()
    wanted = from_forms("alibi", scale=0.5)
    kept = len(programs._masks)
    for step in range(40):
        from_forms("alibi", scale=0.5 + 0.01 * step)
    assert max(map(len, held_programs())) == forms._MOST_PROGRAMS
    planning._alike.clear()
    assert len(programs._masks) < kept + forms._MOST_PROGRAMS
    assert torch.equal(from_forms("alibi", scale=0.5), wanted)


def test_masks_are_kept_in_threads(monkeypatch):
    """One that is too large by itself leaves the others where they are; those used last stay."""
    from locus.torch import programs

    class Owner:
        pass

    monkeypatch.setattr(programs, "_masks", type(programs._masks)())
    monkeypatch.setattr(programs, "_MOST_BYTES", 4000)
    owners = [Owner() for _ in range(4)]
    made = [programs._kept(owner, lambda: torch.zeros(300)) for owner in owners[:3]]
    assert programs._kept(owners[0], lambda: None) is made[0]
    programs._kept(owners[3], lambda: torch.zeros(2000))
    assert [key() for key in programs._masks] == [owners[1], owners[2], owners[0]]
    programs._kept(owners[3], lambda: torch.zeros(500))
    assert [key() for key in programs._masks] == [owners[0], owners[3]]
    wrong = []

    def work():
        for step in range(300):
            own = owners[step % 4]
            if programs._kept(own, lambda: torch.full((400,), float(step % 4)))[0] not in (0, step % 4):
                wrong.append(step)
            programs._kept(Owner(), lambda: torch.zeros(200))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    owners.clear()
    assert not wrong and not programs._masks


@pytest.mark.parametrize("spec", ["rope + alibi", "relative(window=4)"])
def test_captured(monkeypatch, spec):
    """While a graph is captured nothing that it makes is kept, and what it reads outlives the plan."""
    from locus.torch import operations, programs
    locus.torch.forget()
    monkeypatch.setattr(programs, "_masks", type(programs._masks)())
    monkeypatch.setattr(programs, "_captured", {})
    wanted = from_forms(spec)
    assert not programs._captured
    rows = [own.scores for programs_of in held_programs() for own in programs_of
            if own is not None and isinstance(own.scores, programs._Shaw)]
    assert bool(rows) == ("relative" in spec)
    for own in rows:
        own.masks.clear()
    programs._masks.clear()
    for module in (operations, programs):
        monkeypatch.setattr(module, "capturing", lambda: True)
    assert torch.equal(from_forms(spec), wanted)
    assert not programs._masks and not any(own.masks for own in rows)
    assert [type(own) for own in programs._captured.values()] == [programs.Program]
    monkeypatch.setattr(programs, "capturing", lambda: False)
    from_forms(spec)
    monkeypatch.setattr(programs, "capturing", lambda: True)
    from_forms(spec)
    assert len(programs._captured) == 1 + len(programs._masks)
    assert all(any(own is mask for own in programs._captured.values()) for mask in programs._masks.values())


def test_tables_hold_one_sequence():
    """Sequences that stand alike share the rows of one, and nothing keeps those of all."""
    q, k, v = torch.randn(3, 8, H, L, D).unbind()
    locus.torch.forget()
    output = locus.torch.attention(q, k, v, "rope", is_causal=True, backend="forms")
    held = [own.tables for programs_of in held_programs() for own in programs_of if own is not None]
    assert any(tables for tables in held)
    for tables in held:
        for table in tables or ():
            assert table.step == 0 and table.both.untyped_storage().nbytes() == L * 2 * D * 4
    alone = locus.torch.attention(q[3:4], k[3:4], v[3:4], "rope", is_causal=True, backend="forms")
    torch.testing.assert_close(output[3:4], alone)


def test_positions_are_read_for_each_use():
    """A tensor that two readers ask for gives each its own."""
    from locus.torch import planning

    class Elsewhere(torch.Tensor):
        is_cpu = False

    values = torch.arange(3).as_subclass(Elsewhere)
    first, second = (lambda x: "first"), (lambda x: "second")
    for _ in range(2):
        assert planning.read_once(values, first) == "first" and planning.read_once(values, second) == "second"
    held = len(planning._read)
    del values
    assert len(planning._read) == held - 2


def test_masks_of_blocks_wait(monkeypatch):
    """FlexAttention's mask is made only where FlexAttention is taken."""
    from locus.torch import flex, programs
    monkeypatch.setattr(flex, "attention", lambda q, k, v, modified, mask, *rest: mask)
    sizes = type("Sizes", (), {"dtype": torch.float32, "n": 8, "heads": H, "scale": 1.0})()
    calls = []
    own = programs._Flex(sizes, lambda raw, parameters: None, lambda: calls.append(1) or "mask", None,
                         lambda q, k, v, raw, parameters: "other", False)
    q = torch.zeros(1, H, 8, D)
    assert own(q, q, q, q, {}) == "other" and not calls
    own.always = True
    assert own(q, q, q, q, {}) == own(q, q, q, q, {}) == "mask" and len(calls) == 1


# ---- the kernel of rotations: where it is not taken ----


def tables():
    from locus.torch import turning
    both, partner = torch.randn(5, 1, 2, D), torch.arange(D, dtype=torch.int32).flip(0)
    return (turning.Table(both, partner, 0),) * 2


def test_kernels_of_a_type(monkeypatch):
    """A type that Triton cannot compile is told apart from others; too little memory says nothing."""
    from locus.torch import turning
    raised = []

    def launched(q, k, tables, back, apart=False):
        raised.append(q.dtype)
        if q.dtype == torch.bfloat16:
            raise RuntimeError("ptxas: not supported")
        if q.dtype == torch.float16:
            raise torch.cuda.OutOfMemoryError("no memory")
        return q, k

    for name, value in (("_launched", launched), ("triton", torch), ("DEVICES", {"cpu"}), ("_known", {})):
        monkeypatch.setattr(turning, name, value)  # its `triton` says that there is one
    serves = (lambda dtype: turning.serves(tables(), dtype, torch.device("cpu")))
    assert serves(torch.float32) and serves(torch.float64)
    with pytest.warns(UserWarning, match="bfloat16 here"):
        assert not serves(torch.bfloat16)
    assert not serves(torch.bfloat16) and raised.count(torch.bfloat16) == 1
    for _ in range(2):
        with pytest.raises(torch.cuda.OutOfMemoryError):
            serves(torch.float16)


def test_tangents_and_many_sequences(monkeypatch):
    from locus.torch import turning
    from torch.autograd import forward_ad
    own, x, tangent = tables(), torch.randn(3, H, 5, D), torch.randn(3, H, 5, D)
    monkeypatch.setattr(turning, "_launched", lambda *rest: pytest.fail("the kernel was taken"))
    wanted = turning.plain(x, own[0].both, own[0].partner)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, tangent)
        found = forward_ad.unpack_dual(turning.turn(dual, dual, own, True)[0])
        assert torch.equal(found.primal, wanted)
        torch.testing.assert_close(found.tangent, turning.plain(tangent, own[0].both, own[0].partner))
    monkeypatch.setattr(turning, "_MOST_SEQUENCES", 2)
    assert torch.equal(turning.turn(x, x, own, True)[1], wanted)


def test_gradients_of_rotations(monkeypatch):
    """Of any order: each is a rotation."""
    from locus.torch import turning

    def launched(q, k, tables, back, apart=False):
        def one(x, table):
            c, s = (own.transpose(0, 1) for own in table.both.unbind(2))
            other = table.partner.long()
            return x * c + x[..., other] * (s[..., other] if back else s)
        return one(q, tables[0]), one(k, tables[1])

    monkeypatch.setattr(turning, "_launched", launched)
    both, partner = torch.randn(5, 1, 2, D, dtype=torch.float64), torch.arange(D, dtype=torch.int32).flip(0)
    own = (turning.Table(both, partner, 0), turning.Table(both + 1, partner, 0))
    q, k = (torch.randn(1, H, 5, D, dtype=torch.float64, requires_grad=True) for _ in range(2))
    call = (lambda q, k: turning.turn(q.tanh(), k.tanh(), own, True))
    assert torch.autograd.gradcheck(call, (q, k)) and torch.autograd.gradgradcheck(call, (q, k))


def test_compilers_that_choose_no_kernels(monkeypatch):
    """On CUDA an older PyTorch's compiler is given the operator instead."""
    from locus.torch import compiled
    assert compiled.serves("rope", True) and compiled.serves("rope", False) and not compiled.serves("alibi", True)
    monkeypatch.setattr(compiled, "_CHOOSES", False)
    assert not compiled.serves("rope", True) and compiled.serves("rope", False)


# ---- threads, processes ----


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
