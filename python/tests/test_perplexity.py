# SPDX-License-Identifier: MIT
"""Perplexity against context length: the numbers of plain transformers under every scaling, what goes on after a stop, and
the command."""
import json
import math
import os
import signal
import subprocess
import sys
import time

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pandas = pytest.importorskip("pandas")
pytest.importorskip("matplotlib")

from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM

import locus
from locus.huggingface import perplexity
from locus.huggingface.perplexity import __main__ as command
from locus.huggingface.perplexity.scalings import Names

TRAINED, BASE, HEAD, FACTOR = 32, 1e4, 16, 4.0
SIZES = dict(vocab_size=60, hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
             num_key_value_heads=2, max_position_embeddings=TRAINED, pad_token_id=0, bos_token_id=1, eos_token_id=None)
SHORT, LONG = [1 + i / 20 for i in range(8)], [1 + i / 2 for i in range(8)]
LENGTHS, STRIDE = [24, 64, 128], 8
ROPE = {"rope_theta": BASE, "rope_type": "default"}
SCALED = {**ROPE, "factor": FACTOR, "original_max_position_embeddings": TRAINED}
LONGROPE = {**ROPE, "rope_type": "longrope", "short_factor": SHORT, "long_factor": LONG, "factor": FACTOR,
            "original_max_position_embeddings": TRAINED}
# What transformers calls each scaling: the fields of its configuration.
THEIRS = {
    "none": ROPE,
    "linear": {**ROPE, "rope_type": "linear", "factor": FACTOR},
    "linear:2": {**ROPE, "rope_type": "linear", "factor": 2.0},
    "ntk": {**ROPE, "rope_theta": BASE * FACTOR ** (HEAD / (HEAD - 2))},
    "dynamic": {**ROPE, "rope_type": "dynamic", "factor": FACTOR},
    "yarn": {**SCALED, "rope_type": "yarn"},
    "llama3": {**SCALED, "rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    "rope(scaling=yarn, factor=4, original=32, slow=2)": {**SCALED, "rope_type": "yarn", "beta_slow": 2},
}


def llama(rope=None, kind=LlamaForCausalLM, config=LlamaConfig, **more):
    """The same numbers in every tensor, whatever its positions are."""
    torch.manual_seed(0)
    model = kind._from_config(config(**SIZES, **more, rope_parameters=dict(rope or ROPE)), attn_implementation="eager")
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:  # so large that positions matter
                parameter.normal_(0, 1.5 / parameter.shape[-1] ** 0.5)
    return model.eval()


def numbers(count=400):
    return torch.randint(3, 60, (count,), generator=torch.Generator().manual_seed(5))


def plain(model, length, ids, start=None, count=3, **more):
    """Its nats for each token, by the model alone: `count` runs of STRIDE tokens, window by window, all logits."""
    there = 1 + (len(ids) - max(LENGTHS)) // STRIDE
    losses = []
    for run in range(count):
        end = max(LENGTHS) + STRIDE * (run * there // count)
        window = ids[end - length:end].clone()
        if start is not None:
            window[0] = start
        with torch.no_grad():
            logits = model(window[None], use_cache=False, **more).logits[0].double()
        chances = logits.log_softmax(-1)
        losses += [-chances[t - 1, window[t]].item() for t in range(length - STRIDE, length)]
    return math.fsum(losses) / len(losses)


def measured(model, scalings, **more):
    frame = perplexity.measure(model, numbers(), LENGTHS, scalings, stride=STRIDE, tokens=3 * STRIDE, **more)
    assert (frame["tokens"] == 3 * STRIDE).all() and not hasattr(model, "locus_used")
    return frame


def compare(frame, scaling, model, **more):
    rows = frame[frame["scaling"] == scaling]
    assert rows["length"].tolist() == LENGTHS
    for length, nats, found in zip(LENGTHS, rows["nats"], rows["perplexity"]):
        given = more["mask"](length) if "mask" in more else None
        wanted = plain(model, length, numbers(), **({} if given is None else {"attention_mask": given}))
        assert abs(found / math.exp(wanted) - 1) < 1e-5 and abs(nats - wanted) < 1e-5, (scaling, length)


def test_the_numbers_of_transformers():
    frame = measured(llama(), ["own", *THEIRS])
    for scaling, rope in THEIRS.items():
        compare(frame, scaling, llama(rope))
    compare(frame, "own", llama())
    far = frame[frame["length"] == 128].set_index("scaling")["nats"]
    assert far["own"] == far["none"] and len(set(far.round(4))) == len(THEIRS)
    assert (frame["original"] == TRAINED).all()


def test_factors_in_the_configuration():
    """longrope; the model's own scaling is not taken over by the others, its length is."""
    frame = measured(llama(LONGROPE), ["own", "longrope", "none", "yarn"])
    compare(frame, "own", llama(LONGROPE))
    compare(frame, "longrope", llama(LONGROPE))
    compare(frame, "none", llama())
    compare(frame, "yarn", llama(THEIRS["yarn"]))
    assert set(frame["original"]) == {TRAINED}


def test_windows_and_first_keys():
    def seen(length):
        t = torch.arange(length)
        near = (t[:, None] - t < TRAINED) & (t[:, None] >= t)
        return (near | (t < 4) & (t[:, None] >= t))[None, None]

    frame = measured(llama(), ["window", "sinks"])
    compare(frame, "window", llama(kind=MistralForCausalLM, config=MistralConfig, sliding_window=TRAINED))
    compare(frame, "sinks", llama(), mask=lambda length: torch.where(seen(length), 0.0, torch.finfo().min))


def test_the_same_tokens_at_every_length():
    """A model that sees nothing but its newest token: lengths do not matter, nor do scalings."""
    frame = perplexity.measure(llama(), numbers(), [16, 40, 128], ["rope + scores(window=1)", "none"], stride=8, tokens=64)
    own = frame[frame["scaling"] != "none"]["nats"]
    assert own.max() - own.min() < 1e-6
    assert frame[frame["scaling"] == "none"]["nats"].std() > 1e-3
    assert (frame["tokens"] == 64).all() and (frame["error"] > 0).all()


# ---- going on ----


def test_what_is_measured_is_not_measured_again(tmp_path):
    file, seen = tmp_path / "record.json", []
    model = llama()

    def stop(scaling, length, done, windows):
        seen.append((scaling, length, done))
        if (scaling, length, done) == ("linear", 64, 2):
            raise KeyboardInterrupt

    said = dict(scalings=["none", "linear"], record=file)
    with pytest.raises(KeyboardInterrupt):
        measured(model, progress=stop, **said)
    assert not hasattr(model, "locus_used")
    seen.clear()
    frame = measured(model, progress=lambda *told: seen.append(told[:3]), **said)
    assert [told for told in seen if told[2] < 3] == [("linear", 64, 2), ("linear", 128, 0), ("linear", 128, 1),
                                                     ("linear", 128, 2)]
    pandas.testing.assert_frame_equal(frame, measured(model, scalings=["none", "linear"]))
    with torch.no_grad():
        model.model.layers[0].mlp.up_proj.weight *= 1.01
    seen.clear()
    assert measured(model, progress=lambda *told: seen.append(told[:3]), **said)["nats"].iloc[0] != frame["nats"].iloc[0]
    assert seen[0] == ("none", 24, 0)


def test_a_record_of_something_else_is_left(tmp_path):
    file = tmp_path / "record.json"
    for text in ("{}", "[1, 2", '{"format": "locus-perplexity", "version": 1, "cells": [{"of": {}, "sums": ["?"]}]}'):
        file.write_text(text)
        with pytest.raises(ValueError, match="record.json' is no record of perplexities"):
            measured(llama(), ["none"], record=file)
        assert file.read_text() == text


# ---- what is refused ----


REFUSED = {
    "scaling": (dict(scalings=["yarm"]), "'yarm' is neither a scaling .own, none, linear"),
    "factor": (dict(scalings=["yarn:much"]), "'yarn:much': expected a number behind the colon"),
    "bare factor": (dict(scalings=["window:4"]), "a factor stands behind one of linear, ntk"),
    "longrope": (dict(scalings=["longrope"]), "needs a model that has lists of factors"),
    "negative": (dict(factor=-1.0, scalings=["linear"]), "factor is -1; expected a number above 0"),
    "short": (dict(text=[5, 6, 7]), "the text has 3 tokens, but a window 128"),
    "untokenized": (dict(text="a text"), "a text needs the model's tokenizer"),
    "real": (dict(text=[0.5] * 400), "expected a list of whole numbers"),
    "strange": (dict(text=[60] * 400), "has the token 60, the model knows 0 to 59"),
    "lengths": (dict(lengths=[]), "expected whole numbers of at least 2"),
    "stride": (dict(stride=24), "stride is 24; expected 1 to 23"),
    "tokens": (dict(tokens=0), "tokens is 0; expected at least 1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    said, message = REFUSED[name]
    said = {"text": numbers(), "lengths": LENGTHS, "scalings": ["none"], **said}
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        perplexity.measure(llama(), **said)
    assert "\n" not in str(caught.value)


def test_models_that_are_refused():
    small = dict(vocab_size=60, n_embd=32, n_layer=1, n_head=2, bos_token_id=1, eos_token_id=2)
    gpt2 = transformers.GPT2LMHeadModel(transformers.GPT2Config(**small, n_positions=256)).eval()
    with pytest.raises(locus.UnsupportedError, match="no rotary settings .*: of the names of scalings only 'own' is for it"):
        measured(gpt2, ["linear"])
    frame = measured(gpt2, ["own", "alibi"])
    compare(frame, "own", gpt2)
    assert set(frame["spec"]) == {"as it is", "alibi"} and frame["perplexity"].nunique() == 6
    with pytest.raises(TypeError, match="expected a causal language model of transformers, not LlamaModel"):
        perplexity.measure(llama().model, numbers(), LENGTHS)
    with pytest.raises(ValueError, match="'dynamic' needs the length that the model was trained for"):
        Names(llama().config, None, 2.0).read("dynamic")


# ---- the command ----


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A checkpoint with a tokenizer of words that begins a text with a token, and a text."""
    path = tmp_path_factory.mktemp("checkpoint")
    llama().save_pretrained(path)
    words = {"<s>": 1, "<unk>": 2, **{f"w{i}": i for i in range(3, 60)}, "<pad>": 0}
    own = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    own.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    own.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 1)])
    transformers.PreTrainedTokenizerFast(tokenizer_object=own, bos_token="<s>", unk_token="<unk>",
                                         pad_token="<pad>").save_pretrained(path)
    (path / "text.txt").write_text(" ".join(f"w{i}" for i in numbers().tolist()))
    return path


def words_of(folder, tmp_path, *more):
    return [str(folder), "--text", str(folder / "text.txt"), "--lengths", "24,64,128", "--stride", str(STRIDE), "--tokens",
            str(3 * STRIDE), "--scalings", "none,linear,rope(scaling=ntk, factor=2)", "-o", str(tmp_path / "plot.svg"),
            *more]


def test_the_command(folder, tmp_path, capsys):
    assert command.main(words_of(folder, tmp_path)) == 0
    shown = capsys.readouterr()
    assert shown.err == ""  # no terminal, no progress
    lines = shown.out.splitlines()
    assert lines[0].split() == ["perplexity", "24", "64", "128"]
    assert [line.split()[0] for line in lines[1:3]] == ["none", "linear"]
    wanted = math.exp(plain(llama(), 64, numbers(), start=1))
    assert lines[1].split()[2] == f"{wanted:.3f}"
    assert "rope(pairs=half, scaling=linear, factor=4)" in shown.out and "24 tokens scored at each length" in shown.out
    plot = (tmp_path / "plot.svg").read_bytes()
    assert plot.startswith(b"<?xml") and b"perplexity" not in plot[:100] and len(plot) > 5000

    assert command.main(words_of(folder, tmp_path, "--format", "json")) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(rows) == 9 and abs(rows[1]["perplexity"] / wanted - 1) < 1e-5
    assert rows[8]["scaling"] == "rope(scaling=ntk, factor=2)" and rows[8]["original"] == TRAINED
    assert (tmp_path / "plot.svg").read_bytes() == plot
    assert command.main(words_of(folder, tmp_path, "--format", "csv", "-o", str(tmp_path / "plot.png"))) == 0
    assert capsys.readouterr().out.splitlines()[0] == "scaling,length,perplexity,nats,error,tokens,spec,original"
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG") and (tmp_path / "plot.json").exists()


WRONG = {
    "no text": (lambda folder: ["--text", str(folder / "nothing.txt")], 1, "nothing.txt': No such file"),
    "bytes": (lambda folder: ["--text", str(folder / "model.safetensors")], 1, "is not UTF-8"),
    "lengths": (lambda folder: ["--lengths", "24,many"], 2, "'24,many' is no list of whole numbers"),
    "plot": (lambda folder: ["-o", "plot.bmp"], 2, "plot.bmp: expected a name that ends in .svg, .png, .pdf"),
    "option": (lambda folder: ["--lenghts", "24"], 2, "unrecognized arguments: --lenghts"),
    "format": (lambda folder: ["--format", "xml"], 2, "invalid choice: 'xml'"),
    "dtype": (lambda folder: ["--dtype", "int7"], 2, "--dtype int7: expected auto, float32"),
    "scaling": (lambda folder: ["--scalings", "linear,yarm"], 1, "is neither a scaling"),
    "spec": (lambda folder: ["--scalings", "rope(bas=3)"], 1, ", in 'rope(bas=3)'"),
    "device": (lambda folder: ["--device", "toaster"], 1, "toaster"),
    "record": (lambda folder: ["--record", str(folder / "config.json")], 1, "config.json' is no record of perplexities"),
    "place": (lambda folder: ["-o", str(folder / "nowhere/plot.svg")], 1, "nowhere"),
}


@pytest.mark.parametrize("name", WRONG)
def test_bad_usage_is_one_line(name, folder, tmp_path, capsys):
    more, status, message = WRONG[name]
    assert command.main(words_of(folder, tmp_path, *more(folder))) == status
    shown = capsys.readouterr()
    assert shown.out == "" and message in shown.err
    assert shown.err.count("\n") == 1 and shown.err.startswith("locus.huggingface.perplexity: ")


def test_a_folder_without_a_checkpoint(folder, tmp_path, capsys):
    for place, message in ((tmp_path, "config.json"), (tmp_path / "none", "there is no folder"),
                           ("./none", "there is no folder './none'")):
        words = [str(place), *words_of(folder, tmp_path)[1:]]
        assert command.main(words) == 1
        shown = capsys.readouterr().err
        assert message in shown and shown.count("\n") == 1
    # What a hub may have is no folder.
    assert [command._is_folder(name) for name in ("somebody/a-model", "gpt2", "~/a", "a/b/c", "../a", "/a")] == [
        False, False, True, True, True, True]


def test_a_killed_command_goes_on(folder, tmp_path):
    words = [sys.executable, "-m", "locus.huggingface.perplexity", *words_of(folder, tmp_path, "--tokens", "200"),
             "--lengths", "128", "--stride", "2"]
    record = tmp_path / "plot.json"
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not record.exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=120)[1]
    assert record.exists(), said
    cells = json.loads(record.read_text())["cells"]
    kept = sum(len(cell["sums"]) for cell in cells)
    if process.returncode == 1:  # else it was done before the signal came
        assert said == (f"locus.huggingface.perplexity: stopped; what is measured is in '{record}', and the same command "
                        "goes on from there\n")
        assert 0 <= kept < 300
    else:
        assert (process.returncode, kept) == (0, 300)
    assert command.main(words[3:]) == 0
    after = json.loads(record.read_text())["cells"]
    assert sum(len(cell["sums"]) for cell in after) == 300
    for before, cell in zip(cells, after):
        assert cell["sums"][:len(before["sums"])] == before["sums"]
