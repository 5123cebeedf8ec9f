# SPDX-License-Identifier: MIT
"""locus.jax under jit, scan and remat; positions of every kind; bias, dropout, single sites; bad input."""
import numpy as np
import pytest

pytest.importorskip("jax", reason="JAX is not installed")

from jax_cases import B, D, H, L, drawn, near, operands, parameters_of, same_trees, with_gradients  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

import locus  # noqa: E402
import locus.jax  # noqa: E402
from locus import _core  # noqa: E402
from references import tree_rows  # noqa: E402


@pytest.fixture(autouse=True)
def wide():
    jax.config.update("jax_enable_x64", True)
    locus.set_threads(1)
    yield
    jax.config.update("jax_enable_x64", True)


# ---- jit, scan, remat ----


@pytest.mark.parametrize("backend", ["locus", "forms"])
def test_scan_over_layers(backend, draw):
    """Layers whose parameters are stacked, each turned into weights of the next; also recomputed in the backward."""
    spec = "algebraic(decay=0.98) + t5" if backend == "locus" else "rope(learned=on) + t5"
    q, k, v, bias, gradient, p, said = operands(spec, draw)
    layers = jax.tree.map(lambda x: jnp.stack([x, 1.1 * x, x + 0.1]), p)

    def layer(x, p):
        return x + locus.jax.attention(x, x, x, spec, parameters=p, is_causal=True, backend=backend), None

    def unrolled(x, layers):
        for i in range(3):
            x = x + locus.jax.attention(x, x, x, spec, parameters=jax.tree.map(lambda y: y[i], layers), is_causal=True)
        return (x * gradient).sum()

    def scanned(x, layers, step=layer):
        return (jax.lax.scan(step, x, layers)[0] * gradient).sum()

    wanted = jax.jit(jax.value_and_grad(unrolled, (0, 1)))(q, layers)
    same_trees(jax.jit(jax.value_and_grad(scanned, (0, 1)))(q, layers), wanted, 1e-12)
    if backend == "forms":
        return
    recomputed = jax.value_and_grad(lambda *arrays: scanned(*arrays, step=jax.checkpoint(layer)), (0, 1))
    same_trees(jax.jit(recomputed)(q, layers), wanted, 1e-12)


def test_a_program_serves_all_positions_and_parameters(draw):
    """Traced positions, offsets and parameters: one program, and a plan for each of them only once."""
    q, k, v = drawn(draw, L, H, D)
    compiled = []

    @jax.jit
    def step(p, x, ends):
        compiled.append(1)
        output = locus.jax.attention(q, k, v, "rope + t5", x, p, True, offsets=ends)
        return (output ** 2).sum()

    both = jax.jit(jax.grad(step))
    locus.jax.forget()
    for seed in range(3):
        p = parameters_of("rope + t5", np.random.default_rng(seed))
        x, ends = jnp.arange(L) + seed, jnp.asarray([0, 2 + seed, 6])
        wanted = (locus.jax.attention(q, k, v, "rope + t5", np.asarray(x), p, True, offsets=np.asarray(ends),
                                      backend="forms") ** 2).sum()
        before = _core.xla_plans_made()
        near(step(p, x, ends), wanted, 1e-12)
        jax.block_until_ready(both(p, x, ends))
        assert _core.xla_plans_made() == before + 1
    assert len(compiled) == 1


def test_training_lowers_a_loss(draw):
    """Adam, written here, on what an encoding learns and on projections: queries that must find a key two behind."""
    spec, key = "algebraic + t5", jax.random.key(0)
    model = {"encoding": locus.jax.initialise(spec, 2, D), "in": jax.random.normal(key, (16, 3 * 2 * D)) * 0.2,
             "out": jax.random.normal(key, (2 * D, 16)) * 0.2}
    x = jnp.asarray(draw.standard_normal((8, 12, 16)))

    def loss(model):
        q, k, v = jnp.moveaxis((x @ model["in"]).reshape(8, 12, 3, 2, D), (2, 3), (0, 2))
        y = locus.jax.attention(q, k, v, spec, parameters=model["encoding"], is_causal=True)
        found = jnp.moveaxis(y, 1, 2).reshape(8, 12, -1) @ model["out"]
        return jnp.mean((found[:, 2:] - x[:, :-2]) ** 2)

    @jax.jit
    def step(model, first, second, t):
        value, slope = jax.value_and_grad(loss)(model)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, slope)
        second = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, second, slope)
        model = jax.tree.map(lambda w, m, s: w - 0.02 * m / (1 - 0.9 ** t) / (jnp.sqrt(s / (1 - 0.99 ** t)) + 1e-8),
                             model, first, second)
        return model, first, second, value

    nothing = jax.tree.map(jnp.zeros_like, model)
    state, values, before = (model, nothing, nothing), [], model["encoding"]
    for t in range(1, 61):
        *state, value = step(*state, t)
        values.append(float(value))
    assert values[-1] < 0.7 * values[0]
    assert all(not np.allclose(before[name], x) for name, x in state[0]["encoding"].items())


def test_only_what_is_asked_for_is_computed(draw):
    q, k, v, bias, gradient, p, said = operands("t5", draw)

    def value(q, k, v, bias, p):
        return (locus.jax.attention(q, k, v, "t5", parameters=p, bias=bias) * gradient).sum()

    for number, letters in ((0, "q"), (2, "v"), (3, "b"), (4, "p"), ((1, 4), "kp")):
        assert f"results={letters}\n" in str(jax.make_jaxpr(jax.grad(value, number))(q, k, v, bias, p)).replace(
            "\\n", "\n")
        near(jax.tree.leaves(jax.grad(value, number)(q, k, v, bias, p))[0],
             jax.tree.leaves(jax.grad(lambda *x: value(*x) * 1.0, number)(q, k, v, bias, p))[0], 0)


def test_either_backend_by_platform(draw, monkeypatch):
    """Where another platform is the default, the one that a program is compiled for decides: here the CPU."""
    q, k, v, bias, gradient, p, said = operands("rope + t5", draw)
    function = with_gradients("rope + t5", gradient, is_causal=True)
    wanted = jax.jit(function)(q, k, v, bias, p)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    lowered = jax.jit(lambda *arrays: function(*arrays)).lower(q, k, v, bias, p)
    assert "locus_call" in lowered.as_text()
    same_trees(lowered.compile()(q, k, v, bias, p), wanted, 1e-13)
    elsewhere = jax.jit(lambda *arrays: function(*arrays)).trace(q, k, v, bias, p).lower(lowering_platforms=("cuda",))
    assert "locus_call" not in elsewhere.as_text()


# ---- positions ----


@pytest.mark.parametrize("backend", ["locus", "forms"])
def test_positions_of_every_form(backend, draw):
    q, k, v = drawn(draw)
    own = lambda spec, x, **said: locus.jax.attention(q, k, v, spec, x, backend=backend, **said)  # noqa: E731
    wanted = own("rope", None)
    for x in (np.arange(L), list(range(L)), jnp.arange(L), jnp.arange(L, dtype=jnp.int32), locus.positions(L),
              np.arange(L, dtype=np.uint8), np.arange(L)[:, None], np.broadcast_to(np.arange(L), (B, L)),
              jnp.arange(L, dtype=jnp.float32), locus.positions(np.arange(L) / 1.0), np.arange(L, dtype=np.float16),
              locus.positions(np.tile(np.arange(L), B), offsets=np.arange(B + 1) * L)):
        near(own("rope", x), wanted, 1e-14)
    near(own("rope", np.stack([np.arange(L), np.arange(L) + 10])), wanted, 1e-12)
    real = np.arange(L) * 0.3 + 0.1
    near(own("rope", locus.positions(real)), own("rope", real), 0)
    grid = np.stack([np.arange(L) // 3, np.arange(L) % 3], -1)
    p = locus.jax.initialise("mixed", H, D)
    for x in (np.broadcast_to(grid, (B, L, 2)), locus.positions(grid, "grid:2"), jnp.asarray(grid), grid * 1.0):
        near(own("mixed", x, parameters=p), own("mixed", grid, parameters=p), 1e-14)
    rows = tree_rows(L)
    p = locus.jax.initialise("algebraic(group=tree:2)", H, D)
    for x in (locus.positions(rows, "tree:2"), jnp.asarray(rows), np.stack([rows] * B),
              [locus.positions(rows, "tree:2").path(i).text for i in range(L)]):
        near(own("algebraic(group=tree:2)", x, parameters=p), own("algebraic(group=tree:2)", rows, parameters=p), 1e-14)


@pytest.mark.parametrize("backend", ["locus", "forms"])
def test_positions_keep_their_bits_without_x64(backend, draw):
    """Positions beyond 32 bits, and real ones that float32 would round."""
    q, k, v = drawn(draw, dtype="float32")
    far, fine = np.arange(L) + (1 << 36), 1e6 + np.arange(L) * 0.001
    wanted = [locus.jax.attention(q, k, v, "rope", x) for x in (far, fine)]
    jax.config.update("jax_enable_x64", False)
    for x, other in zip((far, fine), wanted):
        near(locus.jax.attention(q, k, v, "rope", x, backend=backend), other, 1e-6)
        near(locus.jax.attention(q, k, v, "rope", locus.positions(x), backend=backend), other, 1e-6)


@pytest.mark.parametrize("backend", ["locus", "forms"])
def test_other_keys_and_padding(backend, draw):
    q, (k, v) = drawn(draw, B, H, 3, D, count=1)[0], drawn(draw, B, 2, 7, D, count=2)
    plan = locus.Encoding("rope + alibi").plan(
        locus.positions(np.tile(np.arange(4, 7), B), offsets=[0, 3, 6]), H, D,
        keys=locus.positions(None, offsets=[0, 7, 14]), kv_heads=2)
    found = locus.jax.attention(q, k, v, "rope + alibi", np.arange(4, 7), key_positions=np.arange(7), enable_gqa=True,
                                is_causal=True, backend=backend)
    near(found, plan.attention(*map(np.asarray, (q, k, v)), causal=True), 1e-13)
    padded = locus.positions(L + 2, offsets=[0, 2, L + 2])
    q, k, v = drawn(draw)
    found = locus.jax.attention(q, k, v, "rope", padded, is_causal=True, backend=backend)
    near(found[:1, :, :2], locus.jax.attention(q[:1, :, :2], k[:1, :, :2], v[:1, :, :2], "rope", is_causal=True), 1e-13)
    assert (found[0, :, 2:] == 0).all()
    of_keys = jax.grad(lambda k: (locus.jax.attention(q, k, v, "rope", padded, backend=backend) ** 2).sum())(k)
    assert (of_keys[0, :, 2:] == 0).all() and (of_keys[1] != 0).any()


@pytest.mark.parametrize("backend", ["locus", "forms"])
def test_packed_tokens_behind_the_last_sequence(backend, draw):
    """A buffer of one size with batches of another: what is behind the end is 0, and touches nothing."""
    q, k, v = (x.at[5:].set(jnp.nan) for x in drawn(draw, 8, H, D))

    def attend(q, k, v, ends):
        return locus.jax.attention(q, k, v, "rope + alibi", offsets=ends, is_causal=True, backend=backend)

    found = attend(q, k, v, [0, 2, 5])
    near(found[:5], attend(q[:5], k[:5], v[:5], [0, 2, 5]), 1e-14)
    assert (found[5:] == 0).all()
    for slope in jax.jit(jax.grad(lambda *x: (attend(*x, [0, 2, 5]) ** 2).sum(), (0, 1, 2)))(q, k, v):
        assert (slope[5:] == 0).all() and jnp.isfinite(slope).all()


def test_packed_queries_and_keys_of_their_own(draw):
    q, (k, v) = drawn(draw, 5, H, D, count=1)[0], drawn(draw, 7, H, D, count=2)
    keys = locus.positions(7, offsets=[0, 4, 7])
    both = [locus.jax.attention(q, k, v, "rope", offsets=[0, 2, 5], key_positions=keys, backend=backend)
            for backend in ("locus", "forms")]
    near(*both, 1e-13)
    first = locus.jax.attention(q[:2], k[:4], v[:4], "rope", offsets=[0, 2], key_positions=locus.positions(4))
    near(both[0][:2], first, 1e-13)


# ---- bias, dropout, types, one site ----


@pytest.mark.parametrize("shape, backend", [
    ((L, L), "locus"), ((H, L, L), "locus"), ((1, 1, L), "locus"), ((B, H, L, L), "locus"), ((B, 1, 1, L), "locus"),
    ((1, H, L, 1), "locus"), ((L, L), "forms"), ((B, 1, 1, L), "forms")])
def test_bias(shape, backend, draw):
    q, k, v = drawn(draw)
    bias = drawn(draw, *shape, count=1)[0]
    function = lambda bias: locus.jax.attention(q, k, v, "rope", bias=bias, backend=backend)  # noqa: E731
    whole = jnp.broadcast_to(bias, (B, H, L, L))
    near(function(bias), function(whole), 1e-14)
    slope = jax.jit(jax.grad(lambda bias: jnp.sin(function(bias)).sum()))
    wanted = slope(whole)
    added = tuple(range(4 - len(shape)))
    wanted = wanted.sum(added) if added else wanted
    wanted = wanted.sum([i for i, size in enumerate(shape) if size == 1], keepdims=True)
    near(slope(bias), wanted.reshape(shape), 1e-12)
    hidden = bias.at[..., -1].set(-jnp.inf) if shape[-1] == L else bias
    unseen = locus.jax.attention(q, k.at[:, :, -1].set(jnp.nan), v.at[:, :, -1].set(1e30), "rope", bias=hidden,
                                 backend="locus") if shape[-1] == L else function(hidden)
    near(function(hidden), unseen, 1e-13)


@pytest.mark.parametrize("backend", ["locus", "forms"])
def test_dropout(backend, draw):
    q, k, v = drawn(draw)

    def attend(q, v, key, p=0.5):
        return locus.jax.attention(q, k, v, "rope", dropout_p=p, dropout_key=key, backend=backend)

    one, same, other = (attend(q, v, jax.random.key(seed)) for seed in (1, 1, 2))
    assert (one == same).all() and (one != other).any()
    near(attend(q, v, 1), one, 0)
    many = jax.jit(jax.vmap(lambda key: attend(q, v, key, 0.3)))(jax.random.split(jax.random.key(0), 400))
    near(many.mean(0), locus.jax.attention(q, k, v, "rope"), 0.15)
    key, along = jax.random.key(5), drawn(draw, count=1)[0]
    value = jax.jit(jax.value_and_grad(lambda q: jnp.sin(attend(q, v, key)).sum()))
    difference = (value(q + 1e-5 * along)[0] - value(q - 1e-5 * along)[0]) / 2e-5
    near(difference, (value(q)[1] * along).sum(), 1e-7)


@pytest.mark.parametrize("dtype, error, backend", [("bfloat16", 4e-2, "locus"), ("float16", 5e-3, "locus"),
                                                   ("float32", 1e-5, "locus"), ("bfloat16", 4e-2, "forms")])
def test_element_types(dtype, error, backend, draw):
    q, k, v, bias, gradient, p, said = operands("rope + t5", draw)
    exact = with_gradients("rope + t5", gradient, is_causal=True)(q, k, v, bias, p)
    function = jax.jit(with_gradients("rope + t5", gradient, is_causal=True, backend=backend))
    found = function(*(x.astype(dtype) for x in (q, k, v, bias)), p)
    assert found[0][1].dtype == dtype and all(x.dtype == dtype for x in found[1][:4])
    assert found[1][4]["1.bias"].dtype == jnp.float64
    for one, other in zip(jax.tree.leaves((found[0][1], found[1][:4])), jax.tree.leaves((exact[0][1], exact[1][:4]))):
        near(one, other, error)


@pytest.mark.parametrize("spec, role", [
    ("rope", "query"), ("rope(xpos=512)", "key"), ("algebraic(values=on)", "value"), ("algebraic(values=on)", "output"),
    ("algebraic(group=tree:2)", "query"), ("liere", "key"), ("shiv-quirk(depth=3)", "token"), ("alibi", "query")])
def test_one_site(spec, role, draw):
    e = locus.Encoding(spec)
    group = e.group or "seq"
    place = {"tree:2": tree_rows(L), "grid:2": np.stack([np.arange(L) // 3, np.arange(L) % 3], -1)}.get(
        group, np.arange(L))
    vectors = role == "token"
    x = drawn(draw, *((B, L, H * D) if vectors else (B, H, L, D)), count=1)[0]
    sizes = {"model_dim": H * D} if vectors else {}
    p = parameters_of(spec, draw, **sizes)
    plan = e.plan(locus.positions(np.concatenate([place] * B), group, np.arange(B + 1) * L), H, D, p, **sizes)

    def applied(x, p, backend, inverse=False):
        return locus.jax.apply(x, spec, place, role=role, inverse=inverse, parameters=p, heads=H, head_dim=D,
                               backend=backend)

    @jax.jit
    def both(x, p):
        return [(applied(x, p, own, True), jax.value_and_grad(
            lambda x, p, own=own: jnp.sin(applied(x, p, own)).sum(), (0, 1))(x, p)) for own in ("locus", "forms")]

    near(applied(x, p, "locus"), plan.apply(np.asarray(x), role), 1e-14)
    near(applied(x, p, "locus", True), plan.apply(np.asarray(x), role, True), 1e-14)
    same_trees(*both(x, p), 1e-11)
    rows = x.reshape(B * L, -1) if vectors else x.transpose(0, 2, 1, 3).reshape(B * L, H, D)
    packed = locus.jax.apply(rows, spec, np.concatenate([place] * B), role=role, parameters=p, heads=H, head_dim=D,
                             offsets=np.arange(B + 1) * L)
    near(packed.reshape(B, L, -1), plan.apply(np.asarray(rows), role).reshape(B, L, -1), 1e-14)


# ---- higher derivatives ----


def test_gradients_of_gradients(draw):
    """Refused by the kernels, but where only the value is asked for; forms have them, and go forwards as well."""
    q, k, v = drawn(draw)

    def value(q, backend):
        return jnp.sin(locus.jax.attention(q, k, v, "rope", backend=backend)).sum()

    def first(q, backend):
        return jax.value_and_grad(value)(q, backend)

    near(jax.grad(lambda q: first(q, "locus")[0])(q), jax.grad(value)(q, "locus"), 1e-14)
    with pytest.raises(locus.UnsupportedError):
        jax.grad(lambda q: first(q, "locus")[1].sum())(q)
    along = drawn(draw, count=1)[0]
    _, slope = jax.jit(lambda q: jax.jvp(lambda q: first(q, "forms")[1], (q,), (along,)))(q)
    near((first(q + 1e-5 * along, "locus")[1] - first(q - 1e-5 * along, "locus")[1]) / 2e-5, slope, 1e-8)


def test_gradient_of_the_log_sum_exp(draw):
    """What merges attentions of parts of the keys, hence of one over all of them."""
    from locus.jax import xla
    q, k, v = drawn(draw)
    sizes = (H, D, H, D, 0, "seq", "whole", "whole")

    def attend(q, k, v, first):
        site = xla.Site("forward", xla.PlanSite("rope", *sizes), "qkvxy", "ol", False)
        places = np.arange(L, dtype=np.int32)[:, None], first + np.arange(k.shape[2], dtype=np.int32)[:, None]
        return xla.attending(site)(q, k, v, None, (), places)

    def merged(q, k, v):
        (one, sums), (other, more) = attend(q, k[:, :, :2], v[:, :, :2], 0), attend(q, k[:, :, 2:], v[:, :, 2:], 2)
        part = jax.nn.sigmoid(sums - more)[..., None]
        return jnp.sin(part * one + (1 - part) * other).sum()

    wanted = jax.value_and_grad(lambda *x: jnp.sin(locus.jax.attention(*x, "rope")).sum(), (0, 1, 2))(q, k, v)
    same_trees(jax.jit(jax.value_and_grad(merged, (0, 1, 2)))(q, k, v), wanted, 1e-12)


# ---- bad input ----


@pytest.mark.parametrize("error, call", [
    (locus.SpecError, lambda q, p: locus.jax.attention(q, q, q, "ropee")),
    (locus.DtypeError, lambda q, p: locus.jax.attention(q, q.astype("float32"), q, "rope")),
    (locus.DtypeError, lambda q, p: locus.jax.attention(*[q.astype("int32")] * 3, "rope")),
    (locus.DtypeError, lambda q, p: locus.jax.attention(q, q, q, "rope", bias=np.zeros((L, L), int))),
    (locus.ShapeError, lambda q, p: locus.jax.attention(q[0], q[0], q[0], "rope")),
    (locus.ShapeError, lambda q, p: locus.jax.attention(q, q[:, :2], q[:, :2], "rope")),
    (locus.ShapeError, lambda q, p: locus.jax.attention(q, q[:, :3], q[:, :3], "rope", enable_gqa=True)),
    (locus.ShapeError, lambda q, p: locus.jax.attention(q, q[:, :, :3], q[:, :, :3], "rope", is_causal=True)),
    (locus.ShapeError, lambda q, p: locus.jax.attention(q, q, q, "rope", bias=np.zeros((L, L + 1)))),
    (locus.ShapeError, lambda q, p: locus.jax.attention(q, q, q, "rope", np.arange(L + 1))),
    (locus.ShapeError, lambda q, p: locus.jax.attention(q, q, q, "mixed", np.arange(L))),
    (locus.ShapeError, lambda q, p: locus.jax.attention(q, q, q, "t5", parameters={"bia": np.zeros(3)})),
    (locus.ShapeError, lambda q, p: locus.jax.attention(q, q, q, "t5", parameters={"bias": np.zeros(3)})),
    (locus.ShapeError, lambda q, p: locus.jax.attention(q[0], q[0], q[0], "rope", offsets=[1, H])),
    (locus.ShapeError, lambda q, p: locus.jax.attention(q[0], q[0], q[0], "rope", offsets=[0, H + 1])),
    (locus.ShapeError, lambda q, p: locus.jax.attention(q, q, q, "rope", locus.positions(9, offsets=[0, 8, 9]))),
    (locus.PositionError, lambda q, p: locus.jax.attention(q, q, q, "rope", locus.positions(["1"] * L, "tree:2"))),
    (locus.UnsupportedError, lambda q, p: locus.jax.attention(q, q, q, "cope")),
    (locus.UnsupportedError, lambda q, p: jax.jit(
        lambda x: locus.jax.attention(q, q, q, "rope", x, backend="forms"))(jnp.arange(L))),
    (ValueError, lambda q, p: locus.jax.attention(q, q, q, "rope", backend="cuda")),
    (ValueError, lambda q, p: locus.jax.attention(q, q, q, "rope", scale=0)),
    (ValueError, lambda q, p: locus.jax.attention(q, q, q, "rope", dropout_p=0.5)),
    (ValueError, lambda q, p: locus.jax.attention(q, q, q, "rope", dropout_p=1.5, dropout_key=1)),
    (ValueError, lambda q, p: locus.jax.apply(q, "rope", role="queries")),
    (TypeError, lambda q, p: locus.jax.attention(q, q, q, "rope", np.zeros(L, bool))),
    (locus.ShapeError, lambda q, p: locus.jax.apply(q[0, 0], "rope")),
])
def test_bad_input(error, call, draw):
    with pytest.raises(error) as caught:
        call(drawn(draw, count=1)[0], {})
    assert len(str(caught.value).splitlines()) == (3 if error is locus.SpecError else 1)


@pytest.mark.parametrize("words, call", [
    ("above 0", lambda q, bad: locus.jax.attention(q, q, q, "kerple", parameters={
        "a": jnp.ones(H), "b": jnp.full(H, -1.0) * bad})),
    ("2^40", lambda q, bad: locus.jax.attention(q, q, q, "rope", jnp.arange(L) + bad.astype(int) * (1 << 41))),
    ("branch 7", lambda q, bad: locus.jax.attention(q, q, q, "algebraic(group=tree:2)", jnp.full(
        (L, 2), 7) * bad.astype(int))),
    ("decrease", lambda q, bad: locus.jax.attention(q[0], q[0], q[0], "rope", offsets=jnp.asarray(
        [0, 3, 1]) * bad.astype(int))),
    ("there are 4 tokens", lambda q, bad: locus.jax.attention(q[0], q[0], q[0], "rope", offsets=jnp.asarray(
        [0, 9]) * bad.astype(int))),
])
def test_what_only_a_call_can_see(words, call, draw):
    """Numbers of traced arrays: the library's line becomes XLA's error, and the process goes on."""
    q = drawn(draw, count=1)[0]
    with pytest.raises(jax.errors.JaxRuntimeError) as caught:
        jax.block_until_ready(jax.jit(call)(q, jnp.asarray(1.0)))
    assert words in str(caught.value) and len(str(caught.value).splitlines()) == 1
    near(locus.jax.attention(q, q, q, "rope"), locus.jax.attention(q, q, q, "rope", backend="forms"), 1e-13)


def test_functions_of_python(draw):
    """Encodings registered from Python, whose callbacks XLA's threads run; what they raise is not lost."""
    calls = []

    def score(distance, width, slope):
        calls.append(1)
        if width > 100:
            raise ZeroDivisionError("too wide")
        return -slope[0] * distance / width

    locus.register("jaxish", score=score, options={"width": 2.0}, parameters={"slope": {"shape": (1,), "initial": 0.5}},
                   gradient=lambda upstream, distance, width: np.array([-(upstream * distance).sum() / width]))
    q, k, v = drawn(draw)
    p = {"slope": jnp.asarray([0.25])}
    bias = -0.125 * np.abs(np.arange(L)[:, None] - np.arange(L))
    step = jax.jit(lambda p: locus.jax.attention(q, k, v, "jaxish", parameters=p))
    near(step(p), locus.jax.attention(q, k, v, "none", bias=bias), 1e-13)
    slope = jax.grad(lambda a: jnp.sin(step({"slope": a})).sum())(p["slope"])
    wanted = jax.grad(lambda a: jnp.sin(locus.jax.attention(q, k, v, "none", bias=bias * a / 0.25)).sum())(0.25)
    near(slope[0], wanted, 1e-12)
    assert calls
    with pytest.raises(jax.errors.JaxRuntimeError, match="too wide"):
        jax.block_until_ready(locus.jax.attention(q, k, v, "jaxish(width=200)", parameters=p))
    with pytest.raises(locus.UnsupportedError):
        locus.jax.attention(q, k, v, "jaxish", parameters=p, backend="forms")
