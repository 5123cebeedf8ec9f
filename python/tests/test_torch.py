# SPDX-License-Identifier: MIT
"""locus.torch: gradients by differences, operators by opcheck, compiled programs, both backends against each other."""
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import locus  # noqa: E402
import locus.torch  # noqa: E402
from locus.torch import kernels  # noqa: E402
from locus.torch.planning import number_of  # noqa: E402
from references import SPECS, places, rotated  # noqa: E402
from torch._dynamo.backends.registry import lookup_backend  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402
from torch.nn import functional as F  # noqa: E402

B, H, L, D = 2, 2, 5, 4
OFFSETS = torch.tensor([0, 2, 5])


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(3)
    torch.set_num_threads(1)  # small tensors: threads would only wait for one another
    locus.set_threads(1)


def drawn(*shape, dtype=torch.float64, count=3):
    return [torch.randn(shape or (B, H, L, D), dtype=dtype, requires_grad=True) for _ in range(count)]


def module_of(spec, head_dim=D, dtype=torch.float64, heads=H):
    """Attention with parameters away from where they begin."""
    own = locus.torch.Attention(spec, heads, head_dim, dtype=dtype)
    with torch.no_grad():
        for p in own.parameters():
            p.add_(0.1 * torch.rand_like(p))
    return own


def stand(spec, tokens=L, offsets=None):
    group = locus.Encoding(spec).group
    return None if group in (None, "seq") or group.startswith("cycle") else places(group, tokens, offsets)


def half_turned(x, base=10000.0):
    """Rotary embedding by halves, as models have it: (x1, x2) → (x1 cos − x2 sin, x2 cos + x1 sin)."""
    half = x.shape[-1] // 2
    angle = torch.arange(x.shape[-2], dtype=x.dtype)[:, None] * base ** (-torch.arange(half, dtype=x.dtype) / half)
    one, other = x[..., :half], x[..., half:]
    return torch.cat((one * angle.cos() - other * angle.sin(), other * angle.cos() + one * angle.sin()), -1)


@pytest.mark.parametrize("backend", ["locus", "forms"])
@pytest.mark.parametrize("causal", [False, True])
def test_against_scaled_dot_product_attention(backend, causal):
    own, theirs = drawn(2, 4, 16, 8), []
    theirs = [x.detach().clone().requires_grad_() for x in own]
    output = locus.torch.attention(*own, "rope(pairs=half)", is_causal=causal, backend=backend)
    wanted = F.scaled_dot_product_attention(half_turned(theirs[0]), half_turned(theirs[1]), theirs[2], is_causal=causal)
    torch.testing.assert_close(output, wanted, atol=1e-12, rtol=0)
    upstream = torch.randn_like(output)
    for mine, other in zip(torch.autograd.grad(output, own, upstream), torch.autograd.grad(wanted, theirs, upstream)):
        torch.testing.assert_close(mine, other, atol=1e-12, rtol=0)


@pytest.mark.parametrize("spec", ["rope", "algebraic(decay=0.98)", "rope + alibi", "t5", "cope", "relative(values=on)",
                                  "algebraic(group=tree:2, decay=0.98)", "fire"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("backend", ["locus", "forms"])
def test_gradients(spec, causal, packed, backend):
    if locus.Encoding(spec).causal and not causal:
        pytest.skip("needs the causal mask")
    own = module_of(spec)
    offsets = OFFSETS if packed else None
    positions = stand(spec, L, None if offsets is None else offsets.tolist())

    def output(q, k, v, *parameters):
        learned = dict(zip(own.learned(), parameters))
        return locus.torch.attention(q, k, v, spec, positions, learned, causal, offsets=offsets, backend=backend)

    inputs = drawn(L, H, D) if packed else drawn()
    assert torch.autograd.gradcheck(output, (*inputs, *own.parameters()), fast_mode=True, atol=1e-6)


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("dtype, error", [(torch.float64, 1e-10), (torch.float32, 1e-5)])
def test_backends_agree(spec, dtype, error):
    own = module_of(spec, 8, dtype)
    q, k, v = drawn(B, H, 7, 8, dtype=dtype)
    upstream = torch.randn_like(q)
    for causal in {locus.Encoding(spec).causal, True}:
        both = []
        for backend in ("locus", "forms"):
            output = own(q, k, v, stand(spec, 7), is_causal=causal, backend=backend)
            inputs = (q, k, v, *own.parameters())
            both.append([output, *torch.autograd.grad(output, inputs, upstream, allow_unused=True)])
        for mine, other in zip(*both):
            other = torch.zeros_like(mine) if other is None else other
            assert (mine - other).abs().max() <= error * max(1.0, mine.abs().max())


def test_grouped_heads_other_keys_and_padding():
    q, k, v = torch.randn(B, 4, L, D), torch.randn(B, 2, 7, D), torch.randn(B, 2, 7, 6)
    with pytest.raises(locus.ShapeError):
        locus.torch.attention(q, k, v, "rope")
    places_of_queries, places_of_keys = torch.arange(2, 2 + L), torch.arange(7)
    both = [locus.torch.attention(q, k, v, "rope + alibi", places_of_queries, key_positions=places_of_keys,
                                  enable_gqa=True, is_causal=True, backend=backend) for backend in ("locus", "forms")]
    assert both[0].shape == (B, 4, L, 6) and torch.allclose(*both, atol=1e-5)
    padded = locus.positions(7, offsets=[0, 3, 7])
    q = torch.randn(2, H, 4, D)
    both = [locus.torch.attention(q, q, q, "rope", padded, backend=backend)[0, :, :3] for backend in ("locus", "forms")]
    assert torch.allclose(*both, atol=1e-5)
    assert torch.allclose(both[0], locus.torch.attention(*[q[:1, :, :3]] * 3, "rope"), atol=1e-6)


def test_what_is_made_lies_as_what_is_given():
    """In the order of a model's heads behind a projection; the same numbers in any order, also with rows that do not lie
    together, of which a copy is read."""
    base = [torch.randn(2, 5, 3, 8, generator=torch.Generator().manual_seed(i)) for i in range(3)]

    def computed(inputs):
        inputs = [x.detach().requires_grad_() for x in inputs]
        output = locus.torch.attention(*inputs, "rope", is_causal=True)
        output.square().sum().backward()
        return [output.detach(), *(x.grad for x in inputs)]

    behind = [x.transpose(1, 2) for x in base]
    wanted = computed(behind)
    assert all(made.stride() == behind[0].stride() for made in wanted)
    columns = [x.mT.contiguous().mT for x in behind]
    assert columns[0].stride(-1) != 1
    for other in ([x.contiguous() for x in behind], columns):
        assert all(torch.equal(a, b) for a, b in zip(computed(other), wanted))


def test_positions_of_every_form():
    q, k, v = (x.detach() for x in drawn())
    wanted = locus.torch.attention(q, k, v, "rope")
    for positions in (torch.arange(L), torch.arange(L).expand(B, L), np.arange(L), list(range(L)), locus.positions(L),
                      torch.arange(L, dtype=torch.float64)):
        assert torch.equal(locus.torch.attention(q, k, v, "rope", positions), wanted)
    shifted = locus.torch.attention(q, k, v, "rope", torch.tensor([[0, 1, 2, 3, 4], [10, 11, 12, 13, 14]]))
    assert torch.allclose(shifted, wanted, atol=1e-12)
    grid = torch.stack([torch.arange(L) // 3, torch.arange(L) % 3], -1)
    by_tensor = locus.torch.attention(q, k, v, "mixed", grid)
    assert torch.equal(by_tensor, locus.torch.attention(q, k, v, "mixed", grid.expand(B, L, 2)))
    with pytest.raises(locus.ShapeError):
        locus.torch.attention(q, k, v, "rope", torch.arange(L + 1))


def test_plans_follow_parameters():
    own, other = module_of("t5"), module_of("t5")
    q, k, v = (x.detach() for x in drawn())
    first = own(q, k, v)
    with torch.no_grad():
        own.bias.data.add_(torch.randn_like(own.bias))  # past the version counter
    assert not torch.allclose(first, own(q, k, v))
    assert torch.allclose(own(q, k, v), own(q, k, v, backend="forms"), atol=1e-12)
    other.load_state_dict(own.state_dict())
    assert torch.equal(other(q, k, v), own(q, k, v))


@pytest.mark.parametrize("dtype, error", [(torch.bfloat16, 4e-2), (torch.float16, 5e-3)])
@pytest.mark.parametrize("backend", ["locus", "forms"])
def test_half_types(dtype, error, backend):
    own = [x.detach().to(dtype).requires_grad_() for x in drawn()]
    output = locus.torch.attention(*own, "rope + alibi", is_causal=True, backend=backend)
    exact = locus.torch.attention(*(x.double() for x in own), "rope + alibi", is_causal=True)
    assert output.dtype == dtype and (output.double() - exact).abs().max() <= error
    assert all(x.dtype == dtype for x in torch.autograd.grad(output.sum(), own))


@pytest.mark.parametrize("backend", ["locus", "forms"])
def test_operators(backend):
    own, (q, k, v) = module_of("relative"), drawn()
    operator = torch.ops.locus.attention.default
    rest = ("relative", ",".join(own.learned()), 0, 0, True, 0.0, 0.0, backend)
    torch.library.opcheck(operator, (q, k, v, list(own.parameters()), None, None, None, None, None, *rest))
    packed = [x.detach() for x in drawn(L, H, D)]
    rest = ("rope", "", 0, number_of(locus.positions(L, offsets=OFFSETS)), False, 0.0, 0.0, backend)
    torch.library.opcheck(operator, (*packed, [], torch.arange(L), None, OFFSETS, None, None, *rest))
    rest = ("rope(learned=on)", "frequencies", 0, [H, D, H, D, 0], "query", backend)
    learned = module_of("rope(learned=on)")
    assert list(learned.learned()) == ["frequencies"]
    torch.library.opcheck(torch.ops.locus.apply.default, (q, list(learned.parameters()), None, None, *rest))


@pytest.mark.parametrize("backend", ["locus", "forms"])
def test_operators_are_what_calls_do(backend):
    """Calls that nothing traces go around the dispatcher; what is traced has the operator in it."""
    own, (q, k, v) = module_of("t5"), drawn()
    rest = (None, None, None, None, None, "t5", ",".join(own.learned()), 0, 0, True, 0.0, 0.0, backend)
    wanted = own(q, k, v, is_causal=True, backend=backend)
    output, _ = torch.ops.locus.attention(q, k, v, list(own.parameters()), *rest)
    torch.testing.assert_close(output, wanted, atol=1e-12, rtol=0)
    inputs = (q, k, v, *own.parameters())
    for mine, other in zip(torch.autograd.grad(output.sum(), inputs), torch.autograd.grad(wanted.sum(), inputs)):
        torch.testing.assert_close(mine, other, atol=1e-12, rtol=0)
    traced = make_fx(lambda q: locus.torch.attention(q, k.detach(), v.detach(), "rope", backend=backend))(q.detach())
    assert any("locus.attention" in str(node.target) for node in traced.graph.nodes)


def test_tangents_are_refused_or_come_out():
    q, k, v = (x.detach() for x in drawn())
    tangent = torch.randn_like(q)
    locus.torch.attention(q, k, v, "rope", backend="locus")  # the calls below are like one before
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(q, tangent)
        with pytest.raises(locus.UnsupportedError, match='backend="forms"'):
            locus.torch.attention(dual, k, v, "rope", backend="locus")
        with pytest.raises(locus.UnsupportedError, match='backend="forms"'):
            locus.torch.Encoding("rope", H, D)(dual, backend="locus")
        assert torch.equal(locus.torch.attention(q, k, v, "rope"), locus.torch.attention(q, k, v, "rope"))
        output = locus.torch.attention(dual, k, v, "rope + scores(cap=2)", backend="forms")
        found = torch.autograd.forward_ad.unpack_dual(output).tangent
    step = 1e-6
    up, down = (locus.torch.attention(q + sign * step * tangent, k, v, "rope + scores(cap=2)") for sign in (1, -1))
    torch.testing.assert_close(found, (up - down) / (2 * step), atol=1e-8, rtol=0)


def test_gradients_of_gradients_are_refused():
    inputs = drawn()
    output = locus.torch.attention(*inputs, "rope", backend="locus")
    first, = torch.autograd.grad(output.sum(), inputs[:1], create_graph=True)
    with pytest.raises(RuntimeError):
        first.sum().backward()


def test_positions_are_let_go_of():
    from locus.torch import planning
    q, k, v = (x.detach() for x in drawn())
    before = len(planning._numbered)
    turn = locus.torch.Encoding("rope", H, D)
    for shift in range(100):
        locus.torch.attention(q, k, v, "rope", locus.positions(np.arange(L) + shift))
        turn(q, locus.positions(np.arange(L) + shift))
    assert len(planning._numbered) == before and len(planning._by_place._found) <= 64


@pytest.mark.parametrize("spec, compiler", [("rope + alibi", "aot_eager"), ("t5", "aot_eager"), ("t5", "inductor")])
@pytest.mark.parametrize("backend", ["locus", "forms"])
def test_compiled(spec, compiler, backend):
    own, positions = module_of(spec), torch.arange(L) * 3
    q, k, v = drawn()

    def step(q, k, v, positions):
        output = own(q, k, v, positions, is_causal=True, backend=backend)
        return output if compiler == "inductor" else output * 2  # nothing that a C++ compiler would be needed for

    output = torch.compile(step, fullgraph=True, backend=compiler)(q, k, v, positions)
    wanted = step(q, k, v, positions)
    torch.testing.assert_close(output, wanted, atol=1e-12, rtol=0)
    inputs = (q, k, v, *own.parameters())
    for mine, other in zip(torch.autograd.grad(output.sum(), inputs), torch.autograd.grad(wanted.sum(), inputs)):
        torch.testing.assert_close(mine, other, atol=1e-12, rtol=0)


def test_compiled_as_a_function():
    """Positions of the package, encodings and dicts of parameters inside of a compiled function."""
    spec = "algebraic(group=tree:2)"
    own, positions, encoding = module_of(spec), stand(spec), locus.Encoding(spec)
    q, k, v = drawn()

    def step(q, k, v):
        return locus.torch.attention(q, k, v, encoding, positions, own.learned(), enable_gqa=True)

    torch.testing.assert_close(torch.compile(step, fullgraph=True, backend="aot_eager")(q, k, v), step(q, k, v))


def test_tables_of_compiled_turns():
    """The operator that compiled programs have where positions only turn."""
    for dtype, more in ((torch.float64, {}), (torch.bfloat16, {"test_utils": "test_faketensor"})):
        q, k = (x.detach() for x in drawn(dtype=dtype, count=2))
        torch.library.opcheck(torch.ops.locus.turn_tables.default, (q, k[:, :, :3], "rope(pairs=half)"), **more)


@pytest.mark.parametrize("spec, compiler, dtype, error", [
    ("rope", "aot_eager", torch.float64, 1e-12), ("rope(pairs=half)", "aot_eager", torch.float32, 1e-6),
    ("rope(rotate=2)", "aot_eager", torch.bfloat16, 2e-2)])
@pytest.mark.parametrize("kv_heads", [1, 2])
def test_compiled_turns(spec, compiler, dtype, error, kv_heads):
    """Where positions only turn, PyTorch's own attention stands in the program, and no operator but the tables'."""
    q, k, v = (x[:, :heads].detach().requires_grad_()
               for x, heads in zip(drawn(dtype=dtype), (H, kv_heads, kv_heads)))
    seen = []

    def step(q, k, v):
        return locus.torch.attention(q, k, v, spec, is_causal=True, enable_gqa=True, backend="forms") * 2

    def looked_at(graph, inputs):
        seen.extend(str(node.target) for node in graph.graph.nodes)
        return lookup_backend(compiler)(graph, inputs)

    output, wanted = torch.compile(step, fullgraph=True, backend=looked_at)(q, k, v), step(q, k, v)
    assert any("turn_tables" in own for own in seen) and not any("locus.attention" in own for own in seen)
    upstream = torch.randn_like(wanted)
    both = [[o, *torch.autograd.grad(o, (q, k, v), upstream)] for o in (output, wanted)]
    for mine, other in zip(*both):
        assert mine.dtype == dtype and (mine - other).abs().max() <= error * max(1.0, other.abs().max())


@pytest.mark.parametrize("backend", ["locus", "forms"])
def test_registered(backend):
    """Functions of Python: one of distance that learns, with its gradient, which forms refuse; one of two positions."""
    if "torch-slope" not in locus.encodings():
        locus.register("torch-slope", score=lambda distance, slope, head: -slope[head] * distance,
                       parameters={"slope": {"shape": ["heads"], "initial": 0.5}},
                       gradient=lambda upstream, distance, slope, head: np.where(
                           np.arange(len(slope)) == head, -(upstream * distance).sum(), 0))
        locus.register("torch-ahead", score=lambda query, key: 0.3 * np.minimum(query - key, 2)[:, 0])
    apart = torch.arange(L)[:, None] - torch.arange(L)
    slope = torch.tensor([0.2, 0.7], dtype=torch.float64, requires_grad=True)

    def agree(spec, parameters, bias):
        inputs = [*drawn(), *parameters.values()]
        output = locus.torch.attention(*inputs[:3], spec, parameters=parameters, is_causal=True, backend=backend)
        wanted = F.scaled_dot_product_attention(*inputs[:3], torch.where(apart >= 0, bias, -torch.inf))
        upstream = torch.randn_like(output)
        both = [[o, *torch.autograd.grad(o, inputs, upstream)] for o in (output, wanted)]
        for mine, other in zip(*both):
            torch.testing.assert_close(mine, other, atol=1e-12, rtol=0)

    agree("torch-ahead", {}, 0.3 * apart.clamp(max=2).double())
    if backend == "locus":
        agree("torch-slope", {"slope": slope}, -slope[:, None, None] * apart.abs())
    else:
        with pytest.raises(locus.UnsupportedError, match='backend="locus"'):
            agree("torch-slope", {"slope": slope}, -slope[:, None, None] * apart.abs())


@pytest.mark.parametrize("backend", ["locus", "forms"])
def test_dropout(backend):
    q, k, v = drawn()
    one, other = (locus.torch.attention(q, k, v, "rope", dropout_p=0.5, backend=backend) for _ in range(2))
    assert not torch.equal(one, other)
    torch.manual_seed(3)
    first = locus.torch.attention(q, k, v, "rope", dropout_p=0.5, backend=backend)
    torch.manual_seed(3)
    assert torch.equal(first, locus.torch.attention(q, k, v, "rope", dropout_p=0.5, backend=backend))

    def fixed(q):
        torch.manual_seed(3)
        return locus.torch.attention(q, k, v, "rope", dropout_p=0.5, backend=backend)

    assert torch.autograd.gradcheck(fixed, (q,), fast_mode=True, atol=1e-6)


@pytest.mark.parametrize("backend", ["locus", "forms"])
def test_one_site(backend):
    turn = locus.torch.Encoding("rope", H, D)
    x = drawn(B, H, L, D)[0]
    y = turn(x, backend=backend)
    wanted = rotated(x.detach().numpy().transpose(2, 0, 1, 3).reshape(L, B * H, D)).reshape(L, B, H, D)
    assert np.allclose(y.detach().numpy(), wanted.transpose(1, 2, 0, 3), atol=1e-12)
    both = locus.torch.Encoding("algebraic(values=on)", H, D, dtype=torch.float64)
    assert torch.allclose(both(both(x, role="value", backend=backend), role="output", backend=backend), x, atol=1e-12)
    for spec in ("learned", "shiv-quirk(depth=3)", "chebyshev"):
        own = locus.torch.Encoding(spec, H, D, dtype=torch.float64)
        tokens = drawn(B, L, H * D)[0]

        def added(tokens, *_, own=own, spec=spec):
            return own(tokens, stand(spec), "token", backend=backend)

        assert torch.autograd.gradcheck(added, (tokens, *own.parameters()), fast_mode=True, atol=1e-6)


@pytest.mark.parametrize("spec", ["rope + alibi", "t5", "scores(cap=2)", "cope"])
@pytest.mark.parametrize("sizes", [(B, H, L, L), (1, 1, L, L), (B, 1, 1, L), (H, L, L), (L, L)])
def test_bias(spec, sizes):
    """What a caller adds to scores: both backends, its gradient by differences, keys that it hides."""
    own, (q, k, v) = module_of(spec), drawn()
    bias = torch.randn(sizes, dtype=torch.float64, requires_grad=True)

    def call(backend):
        return lambda q, k, v, bias: own(q, k, v, is_causal=True, backend=backend, bias=bias)

    assert torch.autograd.gradcheck(call("locus"), (q, k, v, bias), fast_mode=True, atol=1e-6)
    outputs = [call(backend)(q, k, v, bias) for backend in ("locus", "forms")]
    torch.testing.assert_close(*outputs, atol=1e-12, rtol=0)
    upstream = torch.randn_like(outputs[0])
    for mine, other in zip(*(torch.autograd.grad(o, (q, k, v, bias), upstream) for o in outputs)):
        torch.testing.assert_close(mine, other, atol=1e-11, rtol=0)


@pytest.mark.parametrize("backend", ["locus", "forms"])
def test_bias_hides_keys(backend):
    q, k, v = (x.detach() for x in drawn())
    hidden = torch.zeros(B, 1, L, L, dtype=torch.float64)
    hidden[0, :, :, :2] = -torch.inf  # left padding of the first sequence
    output = locus.torch.attention(q, k, v, "rope", is_causal=True, backend=backend, bias=hidden)
    alone = locus.torch.attention(*(x[:1, :, 2:] for x in (q, k, v)), "rope", is_causal=True)
    assert torch.allclose(output[:1, :, 2:], alone, atol=1e-12) and not output[0, :, :2].any()
    assert torch.allclose(output[1:], locus.torch.attention(*(x[1:] for x in (q, k, v)), "rope", is_causal=True))
    packed = [x.transpose(1, 2).reshape(-1, H, D) for x in (q, k, v)]
    longest = locus.torch.attention(*packed, "rope", offsets=[0, 4, 2 * L], backend=backend,
                                    bias=torch.zeros(2, H, 6, 6, dtype=torch.float64))
    assert torch.allclose(longest, locus.torch.attention(*packed, "rope", offsets=[0, 4, 2 * L]), atol=1e-12)


def test_hidden_keys_count_for_nobody():
    q, k, v = drawn(1, H, L, D)
    own = module_of("cope")
    hidden = torch.zeros(L, L, dtype=torch.float64)
    hidden[:, 1::2] = -torch.inf
    found = [own(q, k, v, is_causal=True, backend=backend, bias=hidden) for backend in ("locus", "forms")]
    torch.testing.assert_close(*found, atol=1e-12, rtol=0)
    inputs = (q, k, v, *own.parameters())
    upstream = torch.randn_like(found[0])
    for mine, other in zip(*(torch.autograd.grad(o, inputs, upstream) for o in found)):
        torch.testing.assert_close(mine, other, atol=1e-11, rtol=0)


@pytest.mark.parametrize("backend", ["locus", "forms"])
def test_bias_in_operators(backend):
    q, k, v = drawn()
    bias = torch.randn(1, H, L, L, dtype=torch.float64, requires_grad=True)
    rest = ("rope", "", 0, 0, True, 0.0, 0.0, backend)
    torch.library.opcheck(torch.ops.locus.attention.default, (q, k, v, [], None, None, None, None, bias, *rest))
    torch.library.opcheck(torch.ops.locus.attention.default, (q, k, v, [], None, None, None, None, bias.detach(),
                                                              *rest))

    def step(q, bias):
        return 2 * locus.torch.attention(q, k, v, "rope", backend=backend, bias=bias)

    compiled, plain = torch.compile(step, fullgraph=True, backend="aot_eager")(q, bias), step(q, bias)
    torch.testing.assert_close(compiled, plain, atol=1e-12, rtol=0)
    for mine, other in zip(*(torch.autograd.grad(o.sum(), (q, bias)) for o in (compiled, plain))):
        torch.testing.assert_close(mine, other, atol=1e-12, rtol=0)


def test_bias_that_does_not_fit():
    q, k, v = drawn()
    for bad in (torch.zeros(L), torch.zeros(B, 3, L, L), torch.zeros(L, L - 1), torch.zeros(1, 1, 1, 1, L)):
        with pytest.raises(locus.ShapeError):
            locus.torch.attention(q, k, v, "rope", bias=bad)
    with pytest.raises(locus.DtypeError):
        locus.torch.attention(q, k, v, "rope", bias=torch.ones(L, L, dtype=torch.bool))


def test_places_that_do_not_fit_or_repeat():
    packed = [x.detach() for x in drawn(L, H, D)]
    with pytest.raises(locus.ShapeError, match=r"packed by \[0, 5\], tensors by \[0, 2, 5\]"):
        locus.torch.attention(*packed, "rope", locus.positions(L), offsets=OFFSETS)
    own = locus.positions(np.arange(L), offsets=OFFSETS.numpy())
    assert torch.equal(locus.torch.attention(*packed, "rope", own, offsets=OFFSETS),
                       locus.torch.attention(*packed, "rope", torch.arange(L), offsets=OFFSETS))
    q, k, v = (x.detach() for x in drawn())
    real = torch.arange(L) + 0.5
    assert torch.equal(locus.torch.attention(q, k, v, "rope", locus.positions(real.numpy())),
                       locus.torch.attention(q, k, v, "rope", real))
    rows = torch.stack((torch.arange(L), torch.arange(L) * 3), -1)
    turning = locus.torch.Attention("algebraic(group=cycle:12*seq)", H, D, dtype=torch.float64)
    assert torch.equal(turning(q, k, v, rows), turning(q, k, v, locus.positions(rows.numpy(), "cycle:12*seq")))
    for dropout in (1.0, -0.1):
        for backend in ("locus", "forms"):
            with pytest.raises(ValueError, match="dropout_p is"):
                locus.torch.attention(q, k, v, "rope", dropout_p=dropout, backend=backend)


def test_bad_input():
    q, k, v = drawn()
    with pytest.raises(locus.SpecError):
        locus.torch.attention(q, k, v, "ropee")
    with pytest.raises(locus.DtypeError):
        locus.torch.attention(q, k.float(), v, "rope")
    with pytest.raises(locus.ShapeError):
        locus.torch.attention(q[0], k[0], v[0], "rope")
    with pytest.raises(locus.ShapeError):
        locus.torch.attention(q, k, v, "t5", parameters={"bia": torch.zeros(3)})
    with pytest.raises(ValueError):
        locus.torch.attention(q, k, v, "rope", backend="cuda")
    with pytest.raises(locus.DtypeError):
        locus.torch.attention(*[x.to("meta") for x in (q, k, v)], "rope", backend="locus")


def test_calls_again_are_calls():
    """A call that says what one before said finds its plan without being checked anew: whatever is different is seen."""
    locus.torch.forget()
    q, k, v = (x.detach() for x in drawn())
    wanted = locus.torch.attention(q, k, v, "rope", is_causal=True)
    assert torch.equal(locus.torch.attention(q, k, v, "rope", is_causal=True), wanted)
    assert not torch.allclose(locus.torch.attention(q, k, v, "rope"), wanted)
    assert not torch.allclose(locus.torch.attention(q, k, v, "rope", is_causal=True, scale=2.0), wanted)
    assert not torch.allclose(locus.torch.attention(q, k, v, "alibi", is_causal=True), wanted)
    assert not torch.allclose(locus.torch.attention(q, k, v, "rope", locus.positions(np.arange(L) ** 2),
                                                    is_causal=True), wanted)
    for bad, error in ((dict(k=k.float()), locus.DtypeError), (dict(backend="cuda"), ValueError),
                       (dict(v=v.to(torch.int64)), locus.DtypeError), (dict(scale=0), ValueError),
                       (dict(q=q.to("meta"), k=k.to("meta"), v=v.to("meta"), backend="locus"), locus.DtypeError)):
        with pytest.raises(error):
            locus.torch.attention(**{**dict(q=q, k=k, v=v, encoding="rope", is_causal=True), **bad})
    halves = [x.to(torch.bfloat16) for x in (q, k, v)]
    assert locus.torch.attention(*halves, "rope", is_causal=True).dtype == torch.bfloat16
    turned = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v)]
    torch.testing.assert_close(locus.torch.attention(*turned, "rope", is_causal=True), wanted)
    apart = torch.stack([k, k], -1)[..., 0]
    assert apart.stride(-1) == 2  # read through a copy
    torch.testing.assert_close(locus.torch.attention(q, apart, v, "rope", is_causal=True), wanted)
    with pytest.raises(locus.ShapeError):  # groups that nobody allowed, after a call that did
        grouped = torch.randn(B, 2 * H, L, D, dtype=torch.float64)
        locus.torch.attention(grouped, k, v, "rope", enable_gqa=True)
        locus.torch.attention(grouped, k, v, "rope")


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("exchanges", [True, False])
def test_plain_calls(dtype, exchanges, monkeypatch):
    """Calls that the extension module reads by itself, and those that it must leave to others, give the same as those
    that go through operators; also where PyTorch lends no table to read by."""
    if exchanges and not kernels.EXCHANGES:
        pytest.skip("this PyTorch lends no table")
    monkeypatch.setattr(kernels, "EXCHANGES", exchanges)
    locus.torch.forget()
    q, k, v = drawn(B, L, H, D, dtype=dtype)
    rest = ([], None, None, None, None, None, "rope", "", 0, 0, True, 0.0, 0.0, "locus")
    behind = (lambda x: x.transpose(1, 2))
    layouts = [behind, lambda x: behind(x).contiguous(), lambda x: behind(x).mT.contiguous().mT]
    upstream = torch.randn(B, L, H, D, dtype=dtype)
    gradients = [behind(upstream), behind(upstream).contiguous(), behind(upstream[:, :1]).expand(B, H, L, D),
                 behind(upstream).mT.contiguous().mT]
    for lay in layouts:
        for gradient in gradients:
            for wanted in ((q, k, v), (q, v), (k,)):
                own = [lay(x if x in set(wanted) else x.detach()) for x in (q, k, v)]
                output, _ = torch.ops.locus.attention(*own, *rest)
                exact = [output, *torch.autograd.grad(output, wanted, gradient)]
                for _ in range(2):
                    output = locus.torch.attention(*own, "rope", is_causal=True)
                    for mine, other in zip([output, *torch.autograd.grad(output, wanted, gradient)], exact):
                        assert mine.dtype == dtype and torch.equal(mine, other)
        with torch.no_grad():
            assert torch.equal(locus.torch.attention(*(lay(x) for x in (q, k, v)), "rope", is_causal=True), exact[0])


def test_plain_calls_that_are_wrong():
    """What was said before of tensors of these shapes does not hold for all."""
    inputs = drawn()
    for _ in range(2):
        output = locus.torch.attention(*inputs, "rope")
    first, = torch.autograd.grad(output.sum(), inputs[:1], create_graph=True)
    with pytest.raises(RuntimeError):
        first.sum().backward()
    q, k, v = drawn()
    output = locus.torch.attention(q, k, v, "rope")
    with torch.no_grad():
        k.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        output.sum().backward()
    for bad in ([q, k.float().detach().requires_grad_(), v], [x.detach().to("meta").requires_grad_() for x in inputs]):
        with pytest.raises(locus.DtypeError):
            locus.torch.attention(*bad, "rope", backend="locus")


def test_checkpointed_calls():
    """What is recomputed saves what was saved before, whether or not the first call knew its plan."""
    from torch.utils.checkpoint import checkpoint
    q, k, v = drawn()
    for _ in range(2):
        locus.torch.forget()
        output = checkpoint(lambda *x: locus.torch.attention(*x, "rope", is_causal=True), q, k, v, use_reentrant=False)
        locus.torch.forget()
        found = torch.autograd.grad(output.sum(), (q, k, v))
        exact = torch.autograd.grad(locus.torch.attention(q, k, v, "rope", is_causal=True).sum(), (q, k, v))
        assert all(torch.equal(mine, other) for mine, other in zip(found, exact))


def test_no_tokens():
    inputs = [torch.zeros(2, 4, 0, 8, requires_grad=True) for _ in range(3)]
    for _ in range(2):
        output = locus.torch.attention(*inputs, "rope")
        assert all(x.shape == (2, 4, 0, 8) for x in torch.autograd.grad(output.sum(), inputs))


@pytest.mark.parametrize("backend", ["locus", "forms"])
def test_negative_bits(backend):
    """Tensors whose memory has the opposite signs: imaginary parts of conjugates, also as bias and as an output's
    gradient."""
    def negated(*shape):
        own = torch.randn(*shape, 2, dtype=torch.float64).requires_grad_()
        return own, torch.view_as_complex(own).conj().imag

    (leaf_q, q), (leaf_k, k), (leaf_v, v), (leaf_bias, bias) = (
        negated(*shape) for shape in ((2, 4, 6, 8),) * 3 + ((4, 6, 6),))
    _, upstream = negated(2, 4, 6, 8)
    leaves, upstream = (leaf_q, leaf_k, leaf_v, leaf_bias), upstream.detach()
    assert q.is_neg() and bias.is_neg() and upstream.is_neg()
    for own in (None, bias):
        found, wanted = (locus.torch.attention(*(f(x) for x in (q, k, v)), "rope", is_causal=True, backend=backend,
                                               bias=own if own is None else f(own))
                         for f in (lambda x: x, lambda x: -(-x).resolve_neg()))
        torch.testing.assert_close(found, wanted)
        for mine, other in zip(torch.autograd.grad(found, leaves, upstream, allow_unused=True),
                               torch.autograd.grad(wanted, leaves, upstream.resolve_neg(), allow_unused=True)):
            assert (mine is None) == (other is None)
            assert mine is None or torch.allclose(mine, other)


def test_forms_of_meta_tensors():
    inputs = [torch.zeros(2, 4, 6, 8, device="meta") for _ in range(3)]
    assert locus.torch.attention(*inputs, "rope", is_causal=True).shape == (2, 4, 6, 8)


def test_gradients_that_nobody_wants_are_not_there():
    q, k, v = drawn()
    output = locus.torch.attention(q, k.detach(), v, "rope")
    assert len(torch.autograd.grad(output.sum(), (q, v))) == 2
    only = locus.torch.Attention("t5", H, D, dtype=torch.float64)
    locus.torch.attention(q.detach(), k.detach(), v.detach(), "t5", parameters=only).sum().backward()
    assert only.bias.grad is not None and q.grad is None
