# SPDX-License-Identifier: MIT
"""Makes what tests/golden/test_golden_bert.c compares with: small random encoders as the transformers package writes them, bert_*.json (its
config.json) and bert_*.safetensors (its model.safetensors), and in bert.safetensors what the package computes with each of them, in
float64 and one sequence at a time. With a folder that holds a pretrained encoder and its vocabulary also minilm.safetensors: token ids of a
few sentences and what the package makes of them, and the first 8 bytes of the weights' SHA-256.
Usage: python3 tools/golden_bert.py [FOLDER] (needs torch, transformers, safetensors, numpy)."""
import hashlib
import pathlib
import sys
import tempfile

import numpy as np
import safetensors.torch
import torch
import transformers

import golden_format

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
GENERATOR = torch.Generator().manual_seed(31)
LENGTHS = [9, 1, 14, 5]
# name, what differs from the base, what becomes of the saved weights
BASE = dict(vocab_size=37, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, max_position_embeddings=16,
            hidden_act="gelu", layer_norm_eps=1e-12, type_vocab_size=2)
CASES = [
    ("plain", {}, "as they are"),
    ("prefixed", dict(hidden_size=24, num_attention_heads=2, intermediate_size=40, num_hidden_layers=3, hidden_act="relu", layer_norm_eps=1e-5, type_vocab_size=1), "with heads, old names"),
    ("half", dict(num_attention_heads=8, type_vocab_size=3, layer_norm_eps=1e-3), "float16"),
    ("bfloat", dict(hidden_size=48, num_attention_heads=3, num_hidden_layers=1), "bfloat16"),
]
SENTENCES = [
    "A position is an element of a group.",
    "The quick brown fox jumps over the lazy dog, and the dog does not mind.",
    "Attention reads every token at once; without positions it could not tell a sentence from its words in another order, so that "
    "encodings add, rotate or bias what the layers compare, and what they compare decides what the model can learn from a text.",
    "Yes",
]


def shake(model):
    """Random weights that make every tensor matter: the package's own are near zero, its biases 0, its gains 1."""
    with torch.no_grad():
        for name, value in model.named_parameters():
            scale = 0.1 if value.dim() == 1 or "LayerNorm" in name else 0.5 if "embeddings" in name else value.shape[-1] ** -0.5
            value.copy_(scale * torch.randn(value.shape, generator=GENERATOR) + (1 if name.endswith("LayerNorm.weight") else 0))


def old_names(folder, model):
    """As checkpoints of 2018 have them: gamma and beta, and a buffer of positions."""
    path = folder / "model.safetensors"
    tensors = safetensors.torch.load_file(path)
    renamed = {name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): value for name, value in tensors.items()}
    renamed["bert.embeddings.position_ids"] = torch.arange(model.config.max_position_embeddings)[None]
    safetensors.torch.save_file(renamed, path)


def save(name, model, form, folder):
    model.save_pretrained(folder)
    if form == "with heads, old names":
        old_names(folder, model)
    for kind in ("json", "safetensors"):
        source = folder / ("config.json" if kind == "json" else "model.safetensors")
        (GOLDEN / f"bert_{name}.{kind}").write_bytes(source.read_bytes())


def outputs(arrays, prefix, model, sequences, types):
    model = model.double().eval()
    hidden, pooled = [], []
    with torch.no_grad():
        for ids, kinds in zip(sequences, types):
            out = model(input_ids=ids[None], token_type_ids=kinds[None])
            hidden.append(out.last_hidden_state[0])
            pooled.append(out.pooler_output[0])
    arrays[f"{prefix}ids"] = torch.cat(sequences).int().numpy()
    arrays[f"{prefix}types"] = torch.cat(types).int().numpy()
    arrays[f"{prefix}offsets"] = np.cumsum([0] + [len(s) for s in sequences]).astype(np.int64)
    arrays[f"{prefix}hidden"] = torch.cat(hidden).numpy().astype(np.float32)
    arrays[f"{prefix}pooled"] = torch.stack(pooled).numpy().astype(np.float32)


def small_models():
    arrays, metadata = {}, {"count": len(CASES), "torch": torch.__version__, "transformers": transformers.__version__}
    for number, (name, changes, form) in enumerate(CASES):
        config = transformers.BertConfig(**(BASE | changes))
        whole = transformers.BertForPreTraining(config) if form == "with heads, old names" else transformers.BertModel(config)
        shake(whole)
        half = {"float16": torch.float16, "bfloat16": torch.bfloat16}.get(form)
        whole = whole.to(half) if half else whole
        with tempfile.TemporaryDirectory() as folder:
            save(name, whole, form, pathlib.Path(folder))
        draw = lambda high: [torch.randint(0, high, (n,), generator=GENERATOR) for n in LENGTHS]
        outputs(arrays, f"{number}.", getattr(whole, "bert", whole), draw(config.vocab_size), draw(config.type_vocab_size))
        metadata |= {f"{number}.name": name, f"{number}.form": form}
    golden_format.write(GOLDEN / "bert.safetensors", arrays, metadata)


def real_model(folder):
    model = transformers.BertModel.from_pretrained(folder)
    tokenizer = transformers.BertTokenizerFast.from_pretrained(folder)
    sequences = [torch.tensor(tokenizer(text)["input_ids"]) for text in SENTENCES]
    arrays = {}
    outputs(arrays, "0.", model, sequences, [torch.zeros_like(s) for s in sequences])
    digest = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()[:16]
    golden_format.write(GOLDEN / "minilm.safetensors", arrays, {"count": 1, "digest": digest, "torch": torch.__version__, "transformers": transformers.__version__}
                        | {f"sentence.{i}": text for i, text in enumerate(SENTENCES)})


if __name__ == "__main__":
    small_models()
    if len(sys.argv) > 1:
        real_model(pathlib.Path(sys.argv[1]))
