# SPDX-License-Identifier: MIT
"""Writes .safetensors files for tests/golden/: a dictionary of NumPy arrays and a flat dictionary of texts."""
import json
import struct

import numpy as np

NAMES = {"float32": "F32", "float64": "F64", "int32": "I32", "int64": "I64"}


def write(path, arrays, metadata):
    header, blocks, end = {"__metadata__": {k: str(v) for k, v in metadata.items()}}, [], 0
    for name in sorted(arrays):
        data = np.ascontiguousarray(arrays[name])
        raw = data.tobytes()
        header[name] = {"dtype": NAMES[str(data.dtype)], "shape": list(data.shape), "data_offsets": [end, end + len(raw)]}
        blocks.append(raw)
        end += len(raw)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blocks))
    print(f"{path}: {len(arrays)} arrays, {end} bytes")
