# SPDX-License-Identifier: MIT
"""locus.jax: values and gradients, of kernels against plans in NumPy and against forms, which JAX differentiates.

LOCUS_LONG_TESTS=1 compares them for every mask, layout and grouping of every encoding, in float64 and in float32."""
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest

pytest.importorskip("jax", reason="JAX is not installed")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import locus  # noqa: E402
import locus.jax  # noqa: E402
from jax_cases import B, D, H, L, OFFSETS, drawn, masks, near, operands, same_trees, with_gradients  # noqa: E402
from references import SPECS, attended, rotated  # noqa: E402

LONG = bool(os.environ.get("LOCUS_LONG_TESTS"))


def layouts(spec):
    """Masks, whether packed, heads of keys: half of what there is, so that each pair of two is in it; or all."""
    return [(causal, packed, heads) for causal in masks(spec) for packed in (False, True) for heads in (H, 2)
            if LONG or (causal + packed + (heads == H)) % 2 == 0]


@pytest.fixture(autouse=True)
def wide():
    jax.config.update("jax_enable_x64", True)
    locus.set_threads(1)  # small tensors: threads would only wait for one another


# ---- the interface of XLA ----

LAYOUT = """
#include <cstddef>
#include <xla/ffi/api/c_api.h>
#include "xla_frame.hpp"
#define SAME(mine, theirs, ...) static_assert(sizeof(xla::mine) __VA_ARGS__ == sizeof(theirs), #mine);
#define AT(mine, field, theirs, other) static_assert(offsetof(xla::mine, field) == offsetof(theirs, other) && \\
    sizeof(xla::mine::field) == sizeof(theirs::other), #mine "." #field);
#define NUMBER(mine, theirs) static_assert(static_cast<int>(xla::mine) == static_cast<int>(theirs), #mine);
SAME(Extension, XLA_FFI_Extension_Base) SAME(Version, XLA_FFI_Api_Version) SAME(Buffer, XLA_FFI_Buffer)
SAME(Text, XLA_FFI_ByteSpan) SAME(Buffers, XLA_FFI_Args) SAME(Buffers, XLA_FFI_Rets)
SAME(Attributes, XLA_FFI_Attrs) SAME(ErrorWanted, XLA_FFI_Error_Create_Args)
SAME(MetadataWanted, XLA_FFI_Metadata_Extension)
static_assert(sizeof(xla::Frame) <= sizeof(XLA_FFI_CallFrame) && sizeof(xla::Metadata) <= sizeof(XLA_FFI_Metadata), "");
AT(Extension, type, XLA_FFI_Extension_Base, type) AT(Extension, next, XLA_FFI_Extension_Base, next)
AT(Version, major, XLA_FFI_Api_Version, major_version) AT(Version, minor, XLA_FFI_Api_Version, minor_version)
AT(Buffer, element, XLA_FFI_Buffer, dtype) AT(Buffer, data, XLA_FFI_Buffer, data)
AT(Buffer, rank, XLA_FFI_Buffer, rank) AT(Buffer, shape, XLA_FFI_Buffer, dims)
AT(Text, data, XLA_FFI_ByteSpan, ptr) AT(Text, length, XLA_FFI_ByteSpan, len)
AT(Buffers, count, XLA_FFI_Args, size) AT(Buffers, types, XLA_FFI_Args, types) AT(Buffers, items, XLA_FFI_Args, args)
AT(Buffers, count, XLA_FFI_Rets, size) AT(Buffers, types, XLA_FFI_Rets, types) AT(Buffers, items, XLA_FFI_Rets, rets)
AT(Attributes, count, XLA_FFI_Attrs, size) AT(Attributes, types, XLA_FFI_Attrs, types)
AT(Attributes, names, XLA_FFI_Attrs, names) AT(Attributes, items, XLA_FFI_Attrs, attrs)
AT(ErrorWanted, message, XLA_FFI_Error_Create_Args, message) AT(ErrorWanted, code, XLA_FFI_Error_Create_Args, errc)
AT(Api, version, XLA_FFI_Api, api_version) AT(Api, error_create, XLA_FFI_Api, XLA_FFI_Error_Create)
AT(Frame, extensions, XLA_FFI_CallFrame, extension_start) AT(Frame, api, XLA_FFI_CallFrame, api)
AT(Frame, stage, XLA_FFI_CallFrame, stage) AT(Frame, arguments, XLA_FFI_CallFrame, args)
AT(Frame, results, XLA_FFI_CallFrame, rets) AT(Frame, attributes, XLA_FFI_CallFrame, attrs)
AT(Metadata, version, XLA_FFI_Metadata, api_version) AT(Metadata, traits, XLA_FFI_Metadata, traits)
AT(MetadataWanted, metadata, XLA_FFI_Metadata_Extension, metadata)
NUMBER(EXTENSION_METADATA, XLA_FFI_Extension_Metadata) NUMBER(ARGUMENT_BUFFER, XLA_FFI_ArgType_BUFFER)
NUMBER(ARGUMENT_BUFFER, XLA_FFI_RetType_BUFFER) NUMBER(ATTRIBUTE_STRING, XLA_FFI_AttrType_STRING)
NUMBER(STAGE_EXECUTE, XLA_FFI_ExecutionStage_EXECUTE)
NUMBER(S32, XLA_FFI_DataType_S32) NUMBER(S64, XLA_FFI_DataType_S64) NUMBER(U8, XLA_FFI_DataType_U8)
NUMBER(U32, XLA_FFI_DataType_U32) NUMBER(F16, XLA_FFI_DataType_F16) NUMBER(F32, XLA_FFI_DataType_F32)
NUMBER(F64, XLA_FFI_DataType_F64) NUMBER(BF16, XLA_FFI_DataType_BF16)
NUMBER(CANCELLED, XLA_FFI_Error_Code_CANCELLED) NUMBER(INVALID_ARGUMENT, XLA_FFI_Error_Code_INVALID_ARGUMENT)
NUMBER(RESOURCE_EXHAUSTED, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED)
NUMBER(FAILED_PRECONDITION, XLA_FFI_Error_Code_FAILED_PRECONDITION)
NUMBER(OUT_OF_RANGE, XLA_FFI_Error_Code_OUT_OF_RANGE) NUMBER(UNIMPLEMENTED, XLA_FFI_Error_Code_UNIMPLEMENTED)
"""


def test_frames_are_laid_out_as_xla_has_them(tmp_path):
    compiler = shutil.which("c++") or shutil.which("g++")
    include = pathlib.Path(jax.ffi.include_dir())
    if compiler is None or not (include / "xla/ffi/api/c_api.h").exists():
        pytest.skip("there is no C++ compiler, or jaxlib has no headers")
    (tmp_path / "layout.cpp").write_text(LAYOUT)
    source = pathlib.Path(__file__).resolve().parent.parent / "src"
    done = subprocess.run([compiler, "-std=c++17", "-fsyntax-only", f"-I{include}", f"-I{source}",
                           str(tmp_path / "layout.cpp")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


# ---- values and gradients ----


@pytest.mark.parametrize("backend", ["locus", "forms"])
@pytest.mark.parametrize("causal", [False, True])
def test_rotary_by_hand(draw, backend, causal):
    q, k, v = drawn(draw, 1, H, L, D)
    packed = [np.asarray(x[0].transpose(1, 0, 2)) for x in (q, k, v)]
    wanted, _, _ = attended(rotated(packed[0]), rotated(packed[1]), packed[2], causal)
    output = locus.jax.attention(q, k, v, "rope", is_causal=causal, backend=backend)
    near(output[0].transpose(1, 0, 2), wanted, 1e-13)
    near(locus.jax.attention(*packed, "rope", is_causal=causal, offsets=[0, L], backend=backend), wanted, 1e-13)


def plan_of(spec, p, said, kv_heads):
    """The plan in NumPy of what attention is told."""
    e = locus.Encoding(spec)
    sizes = {"model_dim": H * D} if {"embedding", "encoded"} & set(e.sites) else {}
    packed = said["offsets"] is not None
    offsets = OFFSETS if packed else np.arange(B + 1) * L
    place = said["positions"]
    if place is None:
        place = locus.positions(None, e.group, offsets)
    elif not packed:
        place = locus.positions([place.path(i) for i in range(L)] * B, place.group, offsets)
    return e.plan(place, H, D, p, kv_heads=kv_heads, **sizes)


@pytest.mark.parametrize("spec", SPECS)
def test_kernels_are_those_of_plans(spec, draw):
    """Against plans in NumPy, which differences hold to be right."""
    for causal, packed, kv_heads in layouts(spec):
        q, k, v, bias, gradient, p, said = operands(spec, draw, packed, kv_heads)
        (_, output), found = with_gradients(spec, gradient, is_causal=causal, backend="locus", **said)(q, k, v, bias, p)
        plan, own, others = plan_of(spec, p, said, kv_heads), list(map(np.asarray, (q, k, v))), np.asarray(bias)
        near(output, plan.attention(*own, causal=causal, bias=others), 1e-13)
        *wanted, of_parameters, of_bias = plan.attention_backward(
            *own, np.asarray(gradient), causal=causal, bias=others, bias_gradient=True)
        for one, other in zip(found, (*wanted, of_bias)):
            near(one, other, 1e-12)
        assert set(found[4]) == set(of_parameters)
        for name in of_parameters:
            near(found[4][name], of_parameters[name], 1e-12)


def agree(spec, draw, causal, packed, kv_heads, dtype, error):
    q, k, v, bias, gradient, p, said = operands(spec, draw, packed, kv_heads, dtype)
    both = [jax.jit(with_gradients(spec, gradient, is_causal=causal, backend=backend, **said))(q, k, v, bias, p)
            for backend in ("locus", "forms")]
    assert all(x.dtype == dtype for x in jax.tree.leaves(both))
    same_trees(*both, error)


# What forms do in ways of their own.
DIFFERENT = [spec for spec in SPECS if LONG or spec not in (
    "none", "temperature", "scores(cap=5)", "relative", "sinusoidal", "learned", "chebyshev", "rope + alibi")]


@pytest.mark.parametrize("spec", DIFFERENT)
def test_backends_agree(spec, draw):
    """The library's gradients against JAX's of the forms; masks, layouts and groupings take turns."""
    turns = layouts(spec) if LONG else [layouts(spec)[SPECS.index(spec) % len(layouts(spec))]]
    for causal, packed, kv_heads in turns:
        agree(spec, draw, causal, packed, kv_heads, "float64", 1e-10)


@pytest.mark.parametrize("spec", SPECS if LONG else ["algebraic(decay=0.98) + t5", "fire"])
def test_backends_agree_without_double(spec, draw):
    jax.config.update("jax_enable_x64", False)
    agree(spec, draw, True, False, 2, "float32", 1e-5)


def test_positions_with_and_without_double(draw):
    place = locus.positions(np.array([0.1, 1.7, 40000.3]))
    q = jnp.array(draw.standard_normal((1, 1, 3, 8)), jnp.float32)
    found = []
    for wide in (True, False, True):
        jax.config.update("jax_enable_x64", wide)
        found.append(np.asarray(jax.jit(lambda x: locus.jax.attention(x, x, x, "rope", place))(q)))
    assert np.array_equal(found[0], found[2]) and np.allclose(found[0], found[1], atol=1e-6)


def test_positions_of_other_shapes_are_others(draw):
    """The same bytes: words of two letters for eight tokens, or of four for the four of one sequence."""
    x = jnp.array(draw.standard_normal((2, 1, 4, 8)))
    words = np.array([[1, 0, -1, -1]] * 4)
    plans = []
    for places in (words, words.reshape(2, 4, 2)):
        own = locus.jax.attention(x, x, x, "algebraic(group=tree:2)", jnp.array(places), parameters=None)
        alone = locus.positions(np.broadcast_to(places, (2, *places.shape[-2:])).reshape(8, -1), "tree:2", [0, 4, 8])
        plan = locus.Encoding("algebraic(group=tree:2)").plan(alone, 1, 8, parameters=locus.jax.initialise(
            "algebraic(group=tree:2)", heads=1, head_dim=8))
        plans.append(plan.attention(np.asarray(x), np.asarray(x), np.asarray(x)))
        near(own, plans[-1], 1e-6)
    assert not np.allclose(*plans)
