# SPDX-License-Identifier: MIT
"""locus.torch on a CUDA device, where PyTorch's operations compute from forms, against the library's kernels in float64
on the CPU: every encoding × mask × packed or not × grouped heads, forward and backward, in three types; other arguments,
single sites, operators, compiled programs, a training step. Skipped where there is no such device;
LOCUS_TEST_DEVICE=cpu (or mps, …) runs the same there."""
import copy
import os

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import locus  # noqa: E402
import locus.torch  # noqa: E402
from locus.torch.planning import number_of  # noqa: E402
from references import SPECS, places  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

DEVICE = torch.device(os.environ.get("LOCUS_TEST_DEVICE", "cuda"))
if DEVICE.type == "cuda" and not torch.cuda.is_available():
    pytest.skip("PyTorch sees no CUDA device", allow_module_level=True)

BATCH, LENGTH, HEADS, DIM = 2, 9, 4, 16
OFFSETS = [0, 6, 6, 17]  # the second sequence is empty
# Of the largest number of a tensor, in bfloat16 of the norm: there queries and keys are rounded to 8 bits before they are
# multiplied, and gradients of parameters are sums over these.
ERRORS = {torch.float64: 1e-9, torch.float32: 1e-5, torch.bfloat16: 2.0 ** -6}


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(5)
    torch.set_num_threads(1)  # small tensors: threads would only wait for one another
    locus.set_threads(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False


def there(x, dtype=None):
    """A leaf on the device with the values of one on the CPU."""
    return None if x is None else x.detach().to(DEVICE, dtype).requires_grad_(x.requires_grad)


def leaf(*shape, dtype=torch.float64):
    """Double precision numbers that the type has, too."""
    return torch.randn(shape).to(dtype).double().requires_grad_()


def module_of(spec, dtype=torch.float64, kv_heads=HEADS):
    """The encoding with parameters away from where they begin, which the type has."""
    own = locus.torch.Attention(spec, HEADS, DIM, kv_heads=kv_heads, dtype=torch.float64)
    with torch.no_grad():
        for p in own.parameters():
            p.copy_((p + 0.1 * torch.rand_like(p)).to(dtype))
    return own


def stand(encoding, packed=False):
    """Where tokens stand; sequences apart that hold one sequence of positions stand alike."""
    if encoding.group is None or encoding.group == "seq":
        return None
    return places(encoding.group, OFFSETS[-1], OFFSETS) if packed else places(encoding.group, LENGTH)


def hidden(packed, dtype):
    """A bias with a gradient, that hides some keys, never all of a row."""
    length = int(max(np.diff(OFFSETS))) if packed else LENGTH
    bias = torch.randn(HEADS, length, length).to(dtype).double()
    bias[torch.rand(bias.shape) < 0.3] = -torch.inf
    bias[..., range(length), range(length)] = 0.5
    bias[..., 0] = 0.25
    return bias.requires_grad_()


def agree(made, wanted, error, dtype=None):
    """Tensors of the device and those of the library; None is zero."""
    assert len(made) == len(wanted)
    for mine, other in zip(made, wanted):
        if mine is None or other is None:
            assert not any(x is not None and x.abs().max() > error for x in (mine, other))
            continue
        assert mine.device.type == DEVICE.type and (dtype is None or mine.dtype == dtype)
        mine = mine.detach().cpu().double()
        assert torch.isfinite(mine).all()
        size = torch.linalg.vector_norm if dtype == torch.bfloat16 else (lambda x: x.abs().max())
        assert size(mine - other) <= error * max(1.0, size(other))


def both(call, inputs, dtype, error):
    """What `call(device, *inputs)` gives, and gradients of the inputs, by the library and on the device. In bfloat16 those
    of four upstream gradients, side by side: of one alone a parameter's sums may be small by chance, where what is rounded
    is not."""
    wanted = call("cpu", *inputs)
    upstream = [torch.randn(wanted.shape).to(dtype).double() for _ in range(4 if dtype == torch.bfloat16 else 1)]
    others = [there(x, dtype) for x in inputs]
    output = call(DEVICE, *others)
    learning = [(x, other) for x, other in zip(inputs, others) if x is not None and x.requires_grad]
    found = [[None if x[0] is None else torch.stack(x) for x in zip(*(
        torch.autograd.grad(own, [pair[i] for pair in learning], each.to(own.device, own.dtype), retain_graph=True,
                            allow_unused=True) for each in upstream))] for i, own in enumerate((wanted, output))]
    agree([output, *found[1]], [wanted.detach(), *found[0]], error, dtype)


def backend(device):
    """The library is the judge, also where the device under test is a CPU."""
    return "locus" if device == "cpu" else "forms"


@pytest.mark.parametrize("dtype", ERRORS, ids=["double", "single", "bfloat16"])
@pytest.mark.parametrize("grouped", [False, True], ids=["heads", "groups"])
@pytest.mark.parametrize("packed", [False, True], ids=["apart", "packed"])
@pytest.mark.parametrize("mask", ["full", "causal", "bias"])
@pytest.mark.parametrize("spec", SPECS)
def test_encodings(spec, mask, packed, grouped, dtype):
    encoding = locus.Encoding(spec)
    if encoding.causal and mask != "causal":
        pytest.skip("needs the causal mask")
    if dtype == torch.bfloat16 and (mask == "bias" or packed != grouped):
        pytest.skip("in bfloat16 half of the cases are looked at")
    kv_heads = HEADS // 2 if grouped else HEADS
    own = module_of(spec, dtype, kv_heads)
    names, positions = list(own.learned()), stand(encoding, packed)
    shapes = [(OFFSETS[-1], heads, DIM) if packed else (BATCH, heads, LENGTH, DIM)
              for heads in (HEADS, kv_heads, kv_heads)]
    bias = hidden(packed, dtype) if mask == "bias" else None
    offsets = torch.tensor(OFFSETS) if packed else None

    def call(device, q, k, v, bias, *parameters):
        return locus.torch.attention(
            q, k, v, encoding, positions, dict(zip(names, parameters)), mask == "causal", enable_gqa=grouped,
            offsets=None if offsets is None else offsets.to(device), backend=backend(device), bias=bias)

    both(call, [*(leaf(*shape, dtype=dtype) for shape in shapes), bias, *own.parameters()], dtype, ERRORS[dtype])


@pytest.mark.parametrize("spec", ["rope(pairs=half)", "rope(rotate=8)", "rope + alibi", "scores(window=5, keep=1)",
                                  "scores(chunk=4)", "algebraic(generator=cayley)",
                                  "algebraic(generator=householder)", "rope(base=500, values=on)"])
@pytest.mark.parametrize("dtype", ERRORS, ids=["double", "single", "bfloat16"])
def test_variants(spec, dtype):
    own = module_of(spec, dtype)
    names = list(own.learned())

    def call(device, q, k, v, *parameters):
        return locus.torch.attention(q, k, v, spec, parameters=dict(zip(names, parameters)), is_causal=True,
                                     scale=0.3, backend=backend(device))

    both(call, [*(leaf(BATCH, HEADS, 13, DIM, dtype=dtype) for _ in range(3)), *own.parameters()], dtype,
         ERRORS[dtype])


@pytest.mark.parametrize("dtype, error", [(torch.float32, 1e-5), (torch.bfloat16, 2.0 ** -6)])
@pytest.mark.parametrize("spec", ["rope", "alibi", "scores(window=100)", "relative", "t5"])
def test_lengths_of_models(spec, dtype, error):
    """Where PyTorch chooses kernels of another kind; tensors lie as behind a projection."""
    own = module_of(spec, dtype)
    names = list(own.learned())
    heads = [leaf(BATCH, 300, HEADS, 64, dtype=dtype) for _ in range(3)]
    sized = locus.torch.Attention(spec, HEADS, 64, dtype=torch.float64)
    parameters = [p.detach().to(dtype).double().requires_grad_() for p in sized.parameters()]

    def call(device, q, k, v, *parameters):
        return locus.torch.attention(*(x.transpose(1, 2) for x in (q, k, v)), spec,
                                     parameters=dict(zip(names, parameters)), is_causal=True, backend=backend(device))

    both(call, [*heads, *parameters], dtype, error)


def test_other_keys():
    """Queries of the last tokens of a cache, groups of heads, a value dimension of its own, positions on the device."""
    def call(device, q, k, v):
        queries, keys = torch.arange(7 - 3, 7, device=device), torch.arange(7, device=device)
        return locus.torch.attention(q, k, v, "rope + alibi", queries, key_positions=keys, enable_gqa=True,
                                     is_causal=True, backend=backend(device))

    both(call, [leaf(BATCH, HEADS, 3, DIM), leaf(BATCH, 2, 7, DIM), leaf(BATCH, 2, 7, 6)], torch.float64, 1e-10)


def test_positions_on_the_device():
    q, k, v = (there(leaf(BATCH, HEADS, LENGTH, DIM).detach()) for _ in range(3))
    grid = torch.stack([torch.arange(LENGTH) // 3, torch.arange(LENGTH) % 3], -1)
    for spec, own in (("rope", torch.arange(LENGTH) * 2), ("mixed", grid), ("rope", torch.arange(LENGTH) * 0.5),
                      ("alibi", torch.arange(LENGTH).expand(BATCH, LENGTH))):
        call = (lambda values: locus.torch.attention(q, k, v, spec, values, backend="forms"))
        wanted = locus.torch.attention(*(x.cpu() for x in (q, k, v)), spec, own, backend="locus")
        agree([call(own.to(DEVICE)), call(own)], [wanted, wanted], 1e-10)


@pytest.mark.parametrize("spec", ["rope", "algebraic(values=on)", "liere"])
def test_one_site(spec):
    own = locus.torch.Encoding(spec, HEADS, DIM, dtype=torch.float64)
    other, positions = copy.deepcopy(own).to(DEVICE), stand(locus.Encoding(spec))
    for role in ("query", "key", "value", "output"):
        def call(device, x, *_, role=role):
            module = own if device == "cpu" else other
            return module(x, positions, role, backend=backend(device))

        both(call, [leaf(BATCH, HEADS, LENGTH, DIM)], torch.float64, 1e-10)


@pytest.mark.parametrize("spec", ["learned", "sinusoidal", "shiv-quirk(depth=3)"])
def test_tokens(spec):
    own = locus.torch.Encoding(spec, HEADS, DIM, dtype=torch.float64)
    other, positions = copy.deepcopy(own).to(DEVICE), stand(locus.Encoding(spec))

    def call(device, x):
        return (own if device == "cpu" else other)(x, positions, "token", backend=backend(device))

    both(call, [leaf(BATCH, LENGTH, HEADS * DIM)], torch.float64, 1e-10)


@pytest.mark.parametrize("spec", SPECS)
def test_initial_values(spec):
    """Without parameters they are those of seed 0."""
    encoding = locus.Encoding(spec)

    def call(device, q, k, v):
        return locus.torch.attention(q, k, v, spec, stand(encoding), is_causal=True, backend=backend(device))

    both(call, [leaf(BATCH, HEADS, LENGTH, DIM) for _ in range(3)], torch.float64, 1e-9)


def test_inference_mode():
    """What a plan says on a device is kept for calls that need gradients."""
    q, k, v = (there(leaf(BATCH, HEADS, LENGTH, DIM)) for _ in range(3))
    for spec in ("rope(base=77)", "decay", "relative(window=3)"):
        locus.torch.forget()
        with torch.inference_mode():
            output = locus.torch.attention(q, k, v, spec, backend="forms")
        again = locus.torch.attention(q, k, v, spec, backend="forms")
        again.sum().backward()
        torch.testing.assert_close(output.clone(), again.detach())


def test_dropout():
    q, k, v = (there(leaf(1, 2, 64, DIM)) for _ in range(3))
    call = (lambda p: locus.torch.attention(q, k, v, "rope", dropout_p=p, backend="forms"))
    torch.manual_seed(3)
    first = call(0.25)
    torch.manual_seed(3)
    assert torch.equal(first, call(0.25)) and not torch.equal(first, call(0.25))
    mean = torch.stack([call(0.25).detach() for _ in range(400)]).mean(0)
    apart = (mean - call(0.0)).abs().mean()
    assert apart < 0.2 * (first - call(0.0)).abs().mean()


def test_autocast():
    """What autocast would round is rounded by the caller only: encodings compute in the type of q, k and v."""
    q, k, v = (there(leaf(BATCH, HEADS, LENGTH, DIM), torch.float32) for _ in range(3))
    for spec in ("rope", "t5", "algebraic", "cope", "relative(values=on)"):
        own = module_of(spec).to(DEVICE, torch.float32)
        wanted = own(q, k, v, is_causal=True, backend="forms")
        with torch.autocast(DEVICE.type, torch.bfloat16):
            output = own(q, k, v, is_causal=True, backend="forms")
            single = locus.torch.Encoding(spec, HEADS, DIM, device=DEVICE)(q, backend="forms")
        assert torch.equal(output, wanted) and output.dtype == torch.float32 and single.dtype == torch.float32
        for mine, other in zip(*(torch.autograd.grad(o.sum(), (q, k, v)) for o in (output, wanted))):
            torch.testing.assert_close(mine, other)


def test_operators():
    own = module_of("relative").to(DEVICE)
    q, k, v = (there(leaf(BATCH, HEADS, LENGTH, DIM)) for _ in range(3))
    rest = ("relative", ",".join(own.learned()), 0, 0, True, 0.0, 0.0, "forms")
    torch.library.opcheck(torch.ops.locus.attention.default,
                          (q, k, v, list(own.parameters()), None, None, None, None, None, *rest))
    packed = [there(leaf(OFFSETS[-1], HEADS, DIM).detach()) for _ in range(3)]
    rest = ("rope", "", 0, number_of(locus.positions(OFFSETS[-1], offsets=OFFSETS)), False, 0.0, 0.0, "forms")
    torch.library.opcheck(torch.ops.locus.attention.default, (
        *packed, [], torch.arange(OFFSETS[-1], device=DEVICE), None, torch.tensor(OFFSETS, device=DEVICE), None, None,
        *rest))


@pytest.mark.parametrize("compiler", ["aot_eager", "inductor"])
@pytest.mark.parametrize("spec", ["rope", "rope + alibi", "t5", "algebraic(group=tree:2)"])
def test_compiled(spec, compiler):
    own, positions = module_of(spec).to(DEVICE, torch.float32), stand(locus.Encoding(spec))
    if isinstance(positions, locus.positions) and tuple(map(int, torch.__version__.split(".")[:2])) < (2, 13):
        pytest.skip("torch.compile takes a locus.positions from PyTorch 2.13 on")
    q, k, v = (there(leaf(BATCH, HEADS, LENGTH, DIM), torch.float32) for _ in range(3))

    def step(q, k, v):
        output = own(q, k, v, positions, is_causal=True, backend="forms")
        # On a CPU inductor would need a C++ compiler for anything else.
        return output if DEVICE.type == "cpu" else output * 2 + q

    compiled, plain = torch.compile(step, fullgraph=True, backend=compiler)(q, k, v), step(q, k, v)
    torch.testing.assert_close(compiled, plain)
    inputs = (q, k, v, *own.parameters())
    for mine, other in zip(*(torch.autograd.grad(o.sum(), inputs, allow_unused=True) for o in (compiled, plain))):
        torch.testing.assert_close(torch.zeros(1) if mine is None else mine, torch.zeros(1) if other is None else other)


# ---- what lies beside ----


@pytest.mark.parametrize("batch", [1, 2])
@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("spec", ["rope", "none", "alibi"])
def test_upstream_layouts(batch, first, spec):
    """Gradients of outputs come in any layout, one after the other, also where PyTorch's attention was given another one
    for tensors that lie alike; and it is not given a wrong one because of that."""
    length = 512 + 64 * first  # what PyTorch keeps for a length has one layout, wherever this test begins
    inputs = [torch.randn(batch, length, 8, 64, device=DEVICE, dtype=torch.bfloat16).transpose(1, 2).requires_grad_()
              for _ in range(3)]
    upstream = torch.randn(batch, 8, length, 64, device=DEVICE, dtype=torch.bfloat16)
    layouts = upstream, upstream.transpose(1, 2).contiguous().transpose(1, 2), upstream
    ours = (lambda *x: locus.torch.attention(*x, spec, is_causal=True, backend="forms"))
    theirs = (lambda *x: F.scaled_dot_product_attention(*x, is_causal=True))

    def near(call, layouts):
        exact = [x.detach().double().requires_grad_() for x in inputs]
        wanted = torch.autograd.grad(call(*exact), exact, upstream.double())
        for own in layouts:
            for mine, other in zip(torch.autograd.grad(call(*inputs), inputs, own), wanted):
                assert float((mine.double() - other).abs().max()) < 2**-6 * float(other.abs().max())

    near(theirs, layouts[first:first + 1])
    near(ours, layouts)
    near(theirs, layouts[first:first + 1])


def test_default_device():
    """Sequences of one length are told apart on the CPU, whatever the default device is."""
    inputs = [torch.randn(2, 8, 64, 64, device=DEVICE) for _ in range(3)]
    wanted = locus.torch.attention(*inputs, "alibi", is_causal=True, backend="forms")
    with torch.device(DEVICE):
        found = locus.torch.attention(*inputs, "alibi", is_causal=True, backend="forms",
                                      positions=locus.positions(128, offsets=[0, 64, 128]))
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("batch, packed", [(1, False), (2, False), (3, True)])
@pytest.mark.parametrize("spec, causal", [
    ("alibi", True), ("alibi", False), ("rope + alibi", True), ("scores(window=40, keep=2)", True), ("kerple", True),
    ("scores(chunk=48)", True), ("decay(rate=0.9)", True), ("t5 + scores(cap=20, window=100)", True),
    ("alibi(group=grid:2)", False)])
def test_flex(monkeypatch, spec, causal, batch, packed):
    """What FlexAttention computes in half types is what float64 gives; it has no backward on a CPU."""
    flexed(monkeypatch, spec, causal, batch, packed, torch.bfloat16)


@pytest.mark.parametrize("spec", ["alibi", "scores(window=40, keep=2)"])
def test_flex_in_single(monkeypatch, spec):
    flexed(monkeypatch, spec, True, 2, False, torch.float32)


@pytest.mark.parametrize("spec", ["relative(window=30)", "t5", "kerple"])
def test_flex_that_learns(monkeypatch, spec):
    if DEVICE.type == "cpu":
        pytest.skip("FlexAttention has no backward on a CPU")
    flexed(monkeypatch, spec, True, 2, False, torch.bfloat16, True)


def flexed(monkeypatch, spec, causal, batch, packed, dtype, learning=False):
    from locus.torch import flex, programs
    locus.torch.forget()
    monkeypatch.setattr(programs, "FLEX_FROM", {"learning": 0, "half": 0, "single": 0})
    monkeypatch.setattr(flex, "DEVICES", {DEVICE.type})
    for name, value in (("_programs", {}), ("_failed", set())):
        monkeypatch.setattr(flex, name, value)
    calls, real = [], flex.attention
    monkeypatch.setattr(flex, "attention", lambda *rest: calls.append(1) or real(*rest))
    length, group = 160, locus.Encoding(spec).group
    offsets = [0, 130, 260, 480] if packed else [i * length for i in range(batch + 1)]
    shape = (offsets[-1], HEADS, DIM) if packed else (batch, HEADS, length, DIM)
    values = [[i // 7, i % 7 - 3] for i in range(offsets[-1])] if group == "grid:2" else None
    positions = locus.positions(values, group, offsets) if packed or values else None
    generator = torch.Generator().manual_seed(len(spec))
    learns = DEVICE.type != "cpu" and (dtype != torch.float32 or "scores" in spec)  # or it is none of its tasks
    inputs = [torch.randn(shape, generator=generator).to(DEVICE, dtype).requires_grad_(learns)
              for _ in range(3)]
    exact = [x.detach().double().requires_grad_() for x in inputs]
    upstream = torch.randn(shape, generator=generator).to(DEVICE, dtype)
    parameters = locus.torch.Attention(spec, HEADS, DIM).to(DEVICE, dtype).learned() if learning else {}
    wide = {name: x.detach().double().requires_grad_() for name, x in parameters.items()}
    rest = {"positions": positions, "is_causal": causal, "backend": "forms",
            "offsets": offsets if packed else None}
    found = locus.torch.attention(*inputs, spec, parameters=parameters, **rest)
    assert calls
    wanted = locus.torch.attention(*exact, spec, parameters=wide, **rest)
    pairs = [(found, wanted)]
    if learns:
        pairs += zip(torch.autograd.grad(found, [*inputs, *parameters.values()], upstream),
                     torch.autograd.grad(wanted, [*exact, *wide.values()], upstream.double()))
    assert not flex._failed
    for mine, other in pairs:
        assert float((mine.detach().double() - other).norm()) < ERRORS[dtype] * float(other.norm())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["single", "bfloat16"])
@pytest.mark.parametrize("grouped", [False, True], ids=["heads", "groups"])
@pytest.mark.parametrize("spec, causal", [
    ("alibi", True), ("rope + t5", True), ("scores(window=40)", True), ("alibi + scores(window=40)", False),
    ("kerple", True), ("relative(window=30)", True)])
def test_tiles(monkeypatch, spec, causal, grouped, dtype):
    """Queries in tiles of 64, of which the last is shorter: parameters given, and those of the plan."""
    from locus.torch import programs
    locus.torch.forget()
    monkeypatch.setattr(programs, "_TILE", 64)
    monkeypatch.setattr(programs, "_WORK", 1)
    monkeypatch.setattr(programs, "FLEX_FROM", dict.fromkeys(programs.FLEX_FROM, 1 << 30))
    kv_heads = HEADS // 2 if grouped else HEADS
    own = module_of(spec, dtype, kv_heads)
    names = list(own.learned())
    for given in (True, False):
        def call(device, q, k, v, *parameters):
            return locus.torch.attention(q, k, v, spec, parameters=dict(zip(names, parameters)) if given else None,
                                         is_causal=causal, enable_gqa=grouped, backend=backend(device))

        heads = [leaf(BATCH, n, 200, DIM, dtype=dtype) for n in (HEADS, kv_heads, kv_heads)]
        both(call, [*heads, *own.parameters()] if given else heads, dtype, ERRORS[dtype])
    locus.torch.forget()


@pytest.mark.parametrize("dtype", ERRORS, ids=["double", "single", "bfloat16"])
@pytest.mark.parametrize("dim", [24, 32])
@pytest.mark.parametrize("spec", ["rope", "rope(pairs=half)", "rope(rotate=8)", "rope(xpos=512)"])
def test_rotations(monkeypatch, spec, dim, dtype):
    """The kernel of rotations and PyTorch's operations, with sequences that stand apart and fewer keys' heads; on a CPU
    where Triton interprets (TRITON_INTERPRET=1). Of a dimension that is a power of two pairs are read at once."""
    from locus.torch import turning
    if turning.triton is None or DEVICE.type == "cpu" and os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("Triton is not installed, or does not interpret")
    inputs = [torch.randn(BATCH, 21, n, dim).to(DEVICE, dtype).transpose(1, 2).requires_grad_() for n in (6, 3, 3)]
    positions, found = torch.randint(1000, (BATCH, 21)), []
    for devices in (set(), {DEVICE.type}):
        monkeypatch.setattr(turning, "DEVICES", devices)
        locus.torch.forget()
        output = locus.torch.attention(*inputs, spec, positions, is_causal=True, enable_gqa=True, backend="forms")
        found.append([output, *torch.autograd.grad(output.square().sum(), inputs)])
    locus.torch.forget()
    agree(found[1], [x.detach().cpu().double() for x in found[0]], ERRORS[dtype], dtype)


@pytest.mark.parametrize("each", [False, True], ids=["shared", "each"])
@pytest.mark.parametrize("dim, how, pairs", [
    (2, "halves", "halves"), (4, "neighbours", "neighbours"), (32, "halves", "halves"), (32, "neighbours", "neighbours"),
    (24, "halves", "any"), (32, "mirrored", "any")])
def test_rotation_tables(dim, how, pairs, each):
    """Every way in which the kernel reads pairs, forth and back, with a gap behind each row of queries and without."""
    from locus.torch import turning
    if turning.triton is None or DEVICE.type == "cpu" and os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("Triton is not installed, or does not interpret")
    i = torch.arange(dim)
    partner = {"halves": (i + dim // 2) % dim, "neighbours": i ^ 1, "mirrored": dim - 1 - i}[how]
    angle = torch.randn(5, HEADS if each else 1, dim)
    angle = torch.where(i < partner, angle, angle[..., partner])
    both = torch.stack((angle.cos(), angle.sin() * torch.where(i < partner, -1, 1)), 2).to(DEVICE)
    table = turning.Table(both, partner.int().to(DEVICE), 0)
    assert table.pairs == pairs
    q, k = (torch.randn(BATCH, 5, HEADS, dim, device=DEVICE).transpose(1, 2).requires_grad_() for _ in range(2))
    for apart in (False, True):
        found = turning.turn(q, k, (table, table), True, apart)
        assert found[0].stride(2) == HEADS * dim + (64 if apart else 0) and found[1].stride(2) == HEADS * dim
        wanted = [turning.plain(x, both, table.partner) for x in (q, k)]
        both_ways = [(*x, *torch.autograd.grad(x[0].sin().sum() + x[1].cos().sum(), (q, k))) for x in (found, wanted)]
        for mine, other in zip(*both_ways):
            torch.testing.assert_close(mine, other)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["single", "bfloat16"])
def test_queries_laid_apart(monkeypatch, dtype):
    """What is done where cuDNN's kernel may be taken, on any device where the kernel of rotations runs: gradients of
    outputs in every layout; an output of which no gradient is wanted may be written over."""
    from locus.torch import programs, turning
    if turning.triton is None or DEVICE.type == "cpu" and os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("Triton is not installed, or does not interpret")
    rows, real = [], F.scaled_dot_product_attention
    monkeypatch.setattr(turning, "DEVICES", {DEVICE.type})
    monkeypatch.setattr(programs, "_risky", lambda *x: torch.is_grad_enabled())
    monkeypatch.setattr(programs, "_lays_apart", lambda *x: True)
    monkeypatch.setattr(F, "scaled_dot_product_attention",
                        lambda q, *x, **y: (rows.append(q.stride(2)), real(q, *x, **y))[1])
    locus.torch.forget()
    inputs = [torch.randn(BATCH, 21, HEADS, 32).to(DEVICE, dtype).transpose(1, 2).requires_grad_() for _ in range(3)]
    exact = [x.detach().cpu().double().requires_grad_() for x in inputs]
    upstream = torch.randn(BATCH, HEADS, 21, 32)
    for own in (upstream, upstream.transpose(1, 2).contiguous().transpose(1, 2), torch.ones(1).expand_as(upstream)):
        output = locus.torch.attention(*inputs, "rope", is_causal=True, backend="forms")
        wanted = locus.torch.attention(*exact, "rope", is_causal=True, backend="locus")
        agree([output, *torch.autograd.grad(output, inputs, own.to(DEVICE, dtype))],
              [wanted.detach(), *torch.autograd.grad(wanted, exact, own.to(dtype).double())], ERRORS[dtype], dtype)
    assert set(rows) == {HEADS * 32 + 64}
    locus.torch.attention(*inputs, "rope", is_causal=True, backend="forms").mul_(2)
    locus.torch.forget()


# ---- training ----


class Decoder(nn.Module):
    def __init__(self, spec, size=HEADS * DIM, words=11):
        super().__init__()
        self.embedding, self.last = nn.Embedding(words, size), nn.Linear(size, words)
        self.project, self.output = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.encoding = locus.torch.Attention(spec, HEADS, DIM)

    def forward(self, tokens, chosen):
        x = self.embedding(tokens)
        q, k, v = (y.unflatten(-1, (HEADS, DIM)).transpose(1, 2) for y in self.project(x).chunk(3, -1))
        return self.last(x + self.output(self.encoding(q, k, v, is_causal=True, backend=chosen).transpose(1, 2)
                                         .flatten(2)))


def trained(model, device, steps):
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.5), []
    for number in range(steps):
        tokens = torch.randint(11, (8, 33), generator=torch.Generator().manual_seed(number)).to(device)
        logits = model(tokens[:, :-1], backend(device)).flatten(0, 1)
        loss = F.cross_entropy(logits, (tokens[:, 1:] + tokens[:, :-1]).flatten() % 11)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("spec", ["rope", "t5", "algebraic", "rope(learned=on) + kerple", "relative(values=on)"])
def test_training(spec):
    """The same model in double precision by the library and on the device: losses and all parameters, step by step."""
    model = Decoder(spec).double()
    other = copy.deepcopy(model).to(DEVICE)
    wanted, losses = trained(model, "cpu", 6), trained(other, DEVICE, 6)
    assert wanted[-1] < wanted[0] and np.allclose(losses, wanted, rtol=1e-8)
    agree(list(other.parameters()), [p.detach() for p in model.parameters()], 1e-8)
    assert any(p.grad.abs().max() > 0 for p in other.encoding.parameters()) or not list(other.encoding.parameters())


# ---- bad input ----


def test_bad_input():
    q, k, v = (there(leaf(BATCH, HEADS, LENGTH, DIM).detach()) for _ in range(3))
    with pytest.raises(locus.ShapeError):
        locus.torch.attention(q, k[:, :, :4], v, "rope")
    with pytest.raises(locus.UnsupportedError):
        locus.torch.attention(q, k, v, "cope", backend="forms")
    if DEVICE.type == "cpu":
        return
    for bad in (dict(k=k.cpu()), dict(backend="locus"), dict(bias=torch.zeros(LENGTH, LENGTH))):
        with pytest.raises(locus.DtypeError):
            locus.torch.attention(**{**dict(q=q, k=k, v=v, encoding="rope"), **bad})
    assert locus.torch.attention(q, k, v, "rope").device == q.device
