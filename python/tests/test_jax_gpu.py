# SPDX-License-Identifier: MIT
"""locus.jax on a GPU, where it computes from forms, against the library's kernels on the CPU: every encoding × mask ×
packed or not × grouped heads, outputs and all gradients, in two types. Skipped where JAX has no such device;
LOCUS_TEST_DEVICE=cpu compares forms with kernels there."""
import os

import pytest

pytest.importorskip("jax", reason="JAX is not installed")

# Tests of other processes share the device.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import jax  # noqa: E402
import locus  # noqa: E402
import locus.jax  # noqa: E402
from jax_cases import H, masks, operands, same_trees, with_gradients  # noqa: E402
from references import SPECS  # noqa: E402

try:
    DEVICE = jax.devices(os.environ.get("LOCUS_TEST_DEVICE", "gpu"))[0]
except RuntimeError:
    pytest.skip("JAX sees no GPU", allow_module_level=True)

CPU = jax.devices("cpu")[0]
# A platform's own choice of the program: what `backend="auto"` leaves to it, or what the CPU is told.
BACKEND = "forms" if DEVICE.platform == "cpu" else "auto"
ERRORS = {"float64": 1e-10, "float32": 1e-5}


@pytest.fixture(autouse=True)
def wide():
    jax.config.update("jax_enable_x64", True)
    locus.set_threads(1)  # small arrays: threads would only wait for one another


@pytest.mark.parametrize("dtype", ERRORS)
@pytest.mark.parametrize("kv_heads", [H, 2], ids=["heads", "groups"])
@pytest.mark.parametrize("packed", [False, True], ids=["apart", "packed"])
@pytest.mark.parametrize("causal", [False, True], ids=["full", "causal"])
@pytest.mark.parametrize("spec", SPECS)
def test_forms_are_the_kernels(spec, causal, packed, kv_heads, dtype, draw):
    if causal not in masks(spec):
        pytest.skip("needs the causal mask")
    with jax.default_device(CPU):
        q, k, v, bias, gradient, p, said = operands(spec, draw, packed, kv_heads, dtype)
        wanted = with_gradients(spec, gradient, is_causal=causal, backend="locus", **said)(q, k, v, bias, p)
    arrays = jax.device_put((q, k, v, bias, p, gradient), DEVICE)
    call = lambda *x: with_gradients(spec, x[5], is_causal=causal, backend=BACKEND, **said)(*x[:5])  # noqa: E731
    with jax.default_matmul_precision("highest"):  # float32's own, of which JAX takes a part on GPUs
        found = jax.jit(call)(*arrays)
    assert all(x.dtype == dtype and x.devices() == {DEVICE} for x in jax.tree.leaves(found))
    same_trees(jax.device_put(found, CPU), jax.device_put(wanted, CPU), ERRORS[dtype])


def test_one_program_serves_both_platforms(draw):
    """What is compiled for the CPU calls the library, for the GPU it does not."""
    q, k, v, bias, gradient, p, said = operands("rope + t5", draw)
    call = jax.jit(with_gradients("rope + t5", gradient, is_causal=True, backend=BACKEND, **said))
    for device, calls in ((CPU, DEVICE is not CPU), (DEVICE, False)):
        text = call.lower(*jax.device_put((q, k, v, bias, p), device)).as_text()
        assert ("locus_call" in text) == calls
