# SPDX-License-Identifier: MIT
"""Configurations of models: what the program says of each, this says too, and needs no program for it."""
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

import locus

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CONFIGS = sorted((SOURCE / "tests/cli/configs").glob("*.json"))
CORPUS = sorted((SOURCE / "tests/fuzz/corpus/import_rope").iterdir())
SMALL = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
         "max_position_embeddings": 8192}

# Fields that are added to those of a small Llama: what is read, what is noted, what is refused.
FIELDS = [
    '"rope_scaling": {"rope_type": "linear", "factor": 2, "beta_fast": 32, "colour": "red"}',
    '"rope_scaling": {"rope_type": "stretch", "factor": 2}', '"rope_scaling": {"rope_type": "st\\nr\\u0001", "factor": 2}',
    '"rope_scaling": {"rope_type": "linear", "factor": -2}', '"rope_scaling": {"type": "linear", "factor": "tw\\"o"}',
    '"rope_scaling": {"type": "linear", "factor": [1, {"a": 0.1, "b": null, "c": true}, "ü much longer than shown"]}',
    '"rope_scaling": {"type": "linear", "factor": 1e300}', '"rope_scaling": {"type": "linear", "factor": 1e400}',
    '"rope_scaling": {"type": "linear"}', '"rope_scaling": {"factor": 2}', '"rope_scaling": [1]', '"alibi": true',
    '"rope_theta": 500000, "rope_parameters": {"rope_theta": 10000}', '"rope_theta": 10000, "rope_theta": 20000',
    '"rope_theta": 1e4, "rope_parameters": {"rope_theta": 10000, "type": "mrope", "factor": null}', '"head_dim": 2.5',
    '"head_dim": 123456789012345678901234567890', '"layer_types": ["a", "b", "c"]', '"no_rope_layers": [1, 0, 1]',
    '"rope_parameters": {"full_attention": {"rope_theta": 1}, "sliding_attention": {"rope_theta": 2}}',
    '"rope_parameters": {"sliding_attention": {"rope_theta": 1e4}, "full_attention": null},'
    ' "layer_types": ["sliding_attention", "full_attention"]',
    '"rope_scaling": {"type": "mrope", "mrope_section": [2, 2, 3]}', '"partial_rotary_factor": 0.2, "rotary_dim": 8',
    '"rope_scaling": {"type": "longrope", "short_factor": [1, 2], "long_factor": [1, 2],'
    ' "original_max_position_embeddings": 4096}', '"text_config": {"model_type": "qwen3", "head_dim": 32}',
    '"rope_scaling": {"rope_type": "yarn", "factor": 8, "original_max_position_embeddings": 4096, "mscale": 0.7}',
]


@pytest.fixture
def program():
    found = os.environ.get("LOCUS_PROGRAM")
    if not found:
        pytest.skip("LOCUS_PROGRAM does not name the program")
    return found


def told(program, path):
    """What the program prints of a file, or its line of failure."""
    done = subprocess.run([program, "import-rope", "--json", "--quiet", path], capture_output=True, check=False)
    if done.returncode == 0:
        return json.loads(done.stdout.decode(errors="replace"))
    return done.stderr.decode(errors="replace").strip().removeprefix("locus: ")


def read(config):
    try:
        found = locus.import_rope(config)
    except ValueError as error:
        return str(error)
    return {"spec": found.spec, "attention": found.attention, "model_type": found.model_type,
            "head_dim": found.head_dim, "length": found.length, "notes": list(found.notes)}


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_published_configurations(program, path):
    wanted = told(program, path)
    assert isinstance(wanted, dict) and read(path) == wanted
    assert read(json.loads(path.read_text())) == wanted


@pytest.mark.parametrize("fields", FIELDS)
def test_made_configurations(program, fields, tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(SMALL)[:-1] + ", " + fields + "}")
    wanted = told(program, path)
    assert read(path) == wanted and read(tmp_path) == wanted
    values = json.loads(path.read_text())
    if fields.count('"rope_theta"') < 2 or "rope_parameters" in fields:  # a dict says each key once
        from_fields = read(values)
        assert from_fields == (wanted if isinstance(wanted, dict) else wanted.replace(f"'{path}'", "the configuration"))


def test_what_fuzzing_found(program):
    """Texts that are JSON are read alike. Of those that are not both say so, perhaps of another line."""
    alike = 0
    for path in CORPUS:
        wanted, own = told(program, path), read(path)
        if isinstance(wanted, str) and "is not JSON" in wanted:
            assert isinstance(own, str) and "is not JSON" in own, path
        else:
            assert own == wanted, path
            alike += 1
    assert alike > 20


def test_without_the_program(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("LOCUS_PROGRAM", raising=False)
    found = locus.import_rope({**SMALL, "rope_theta": np.float32(500000), "head_dim": np.int64(16)})
    assert found.spec == "rope(pairs=half, base=500000)" and found.head_dim == 16 and found.length == 8192


@pytest.mark.parametrize("text, words", [
    ('{"model_type": "llama",\n "rope_theta": }\n', "is not JSON: it cannot be read from line 2 on"),
    ('{"rope_theta": 1} and more', "is not JSON"), ("", "is not JSON"), ("[1, 2]", "holds no JSON object"),
    ('{"rope_theta": NaN}', "NaN is not JSON"), ("[" * 100000, "is not JSON")])
def test_no_configuration(tmp_path, text, words):
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(ValueError) as caught:
        locus.import_rope(path)
    assert words in str(caught.value) and str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_refusals(tmp_path):
    with pytest.raises(FileNotFoundError):
        locus.import_rope("/nowhere/config.json")
    with pytest.raises(TypeError, match="rope_scaling.factor"):
        locus.import_rope({**SMALL, "rope_scaling": {"factor": object()}})
    large = tmp_path / "model.safetensors"
    with open(large, "wb") as file:
        file.truncate(3 << 30)
    with pytest.raises(ValueError, match="3072 MiB"):
        locus.import_rope(large)
