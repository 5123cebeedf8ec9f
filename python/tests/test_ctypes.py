# SPDX-License-Identifier: MIT
"""The library without C headers: structs filled in through ctypes as the headers describe them, zeros and a size where
nothing is said, give what the package gives, and its errors are read back."""
import ctypes
import os
from ctypes import POINTER, byref, c_bool, c_char, c_double, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

import numpy as np
import pytest

import locus

T, H, D = 7, 2, 8
LIBRARY = os.path.join(os.path.dirname(os.environ.get("LOCUS_PROGRAM", "")), "liblocus.so")


class Error(ctypes.Structure):
    _fields_ = [("status", c_int32), ("argument", c_char * 48), ("message", c_char * 464), ("offset", c_int64),
                ("length", c_int64)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("dtype", c_int32), ("device", c_int32), ("rank", c_size_t),
                ("shape", c_int64 * 4), ("stride", c_int64 * 4)]


class Shape(ctypes.Structure):
    _fields_ = [(name, c_size_t) for name in "size heads head_dim value_dim model_dim kv_heads".split()]


class Packing(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("sequences", c_size_t), ("offsets", POINTER(c_size_t)),
                ("lengths", POINTER(c_size_t))]


class Executor(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("run", c_void_p), ("concurrency", c_size_t), ("state", c_void_p)]


class Execution(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("data", c_void_p), ("bytes", c_size_t), ("threads", c_size_t),
                ("executor", POINTER(Executor)), ("cancelled", c_void_p), ("context", c_void_p)]


class Options(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("mask", c_int32), ("prefix", POINTER(c_size_t)), ("scale", c_double),
                ("cap", c_double), ("window", c_size_t), ("keep", c_size_t), ("query_documents", c_void_p),
                ("key_documents", c_void_p), ("turned", c_bool), ("kind", c_void_p), ("dropout", c_double),
                ("dropout_on", c_int32), ("seed", c_uint64), ("purpose", c_uint32), ("step", c_uint32),
                ("bias", POINTER(Tensor))]


class Tensors(ctypes.Structure):
    _fields_ = [("size", c_size_t)] + [(name, POINTER(Tensor)) for name in "query key value output sums".split()]


def tensor(array):
    made = Tensor(data=array.ctypes.data, dtype=1, rank=array.ndim)
    for axis in range(array.ndim):
        made.shape[axis], made.stride[axis] = array.shape[axis], array.strides[axis] // array.itemsize
    return made


def sized(kind, **fields):
    return kind(size=ctypes.sizeof(kind), **fields)


@pytest.fixture
def library():
    if not os.path.exists(LIBRARY):
        pytest.skip(f"there is no shared library beside the program: {LIBRARY}")
    opened = ctypes.CDLL(LIBRARY)
    opened.locus_attention_workspace.restype = c_size_t
    opened.locus_allocate.restype = c_void_p
    opened.locus_allocate.argtypes = [c_size_t]
    opened.locus_release.argtypes = [c_void_p, c_size_t]
    return opened


def test_attention(library, draw):
    error, offsets, positions = Error(), (c_size_t * 2)(0, T), (c_int64 * T)(*range(T))
    encoding, binding, places, plan = c_void_p(), c_void_p(), c_void_p(), c_void_p()
    shape, packing = sized(Shape, heads=H, head_dim=D), sized(Packing, sequences=1, offsets=offsets)
    calls = [
        lambda: library.locus_encoding_parse(b"rope + alibi", byref(encoding), byref(error)),
        lambda: library.locus_binding_create(byref(binding), encoding, byref(shape), None, c_size_t(0), byref(error)),
        lambda: library.locus_positions_create(byref(places), None, byref(packing), positions, byref(error)),
        lambda: library.locus_plan_create(byref(plan), binding, places, None, byref(error)),
    ]
    for call in calls:
        assert call() == 0, error.message
    q, k, v = (draw.standard_normal((T, H, D), np.float32) for _ in range(3))
    output, sums = np.empty_like(q), np.empty((T, H), np.float32)
    given = [tensor(array) for array in (q, k, v, output, sums)]
    tensors, options = Tensors(ctypes.sizeof(Tensors), *map(ctypes.pointer, given)), sized(Options, mask=1)
    run = sized(Execution, threads=1)
    run.bytes = library.locus_attention_workspace(plan, byref(options), 1, 0, byref(run))
    run.data = library.locus_allocate(run.bytes)
    assert library.locus_attention_forward(plan, byref(options), byref(tensors), byref(run), byref(error)) == 0, \
        error.message
    wanted, wanted_sums = locus.Encoding("rope + alibi").plan(T, H, D).attention(q, k, v, causal=True, return_lse=True)
    assert np.array_equal(output, wanted) and np.array_equal(sums, wanted_sums)
    given[1].device = 3
    assert library.locus_attention_forward(plan, byref(options), byref(tensors), byref(run), byref(error)) != 0
    assert error.argument == b"key" and b"on device 3" in error.message
    library.locus_release(run.data, run.bytes)
    for destroy, held in ((library.locus_plan_destroy, plan), (library.locus_positions_destroy, places),
                          (library.locus_binding_destroy, binding), (library.locus_encoding_destroy, encoding)):
        destroy(byref(held))
        assert not held


def test_errors_and_sizes(library):
    error, encoding, binding = Error(), c_void_p(), c_void_p()
    assert library.locus_encoding_parse(b"alibi + rop", byref(encoding), byref(error)) != 0
    assert error.offset == 8 and b"rope" in error.message and not encoding
    assert library.locus_encoding_parse(b"rope", byref(encoding), byref(error)) == 0
    shape = Shape(size=3, heads=H, head_dim=D)
    assert library.locus_binding_create(byref(binding), encoding, byref(shape), None, c_size_t(0), byref(error)) != 0
    assert b"size" in error.message and not binding
    library.locus_encoding_destroy(byref(encoding))
