# SPDX-License-Identifier: MIT
"""Trains a small Llama on the bytes of a text and writes it as a checkpoint of transformers, with a tokenizer of bytes:
something to try locus.huggingface on (docs/huggingface.md) where nothing can be downloaded.

    python examples/small_llama.py TEXT FOLDER [STEPS]

The last tenth of the text is not trained on; it is written beside the checkpoint, FOLDER/held-out.txt."""
import pathlib
import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import locus.huggingface

LENGTH, BATCH, RATE, WARM_UP = 256, 8, 3e-3, 100


def byte_tokenizer():
    """Token i is the i-th byte of the byte-level alphabet, and nothing is merged."""
    alphabet = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    own = Tokenizer(models.BPE(alphabet, []))
    own.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    own.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=own)


def small_llama():
    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=256, hidden_size=128, intermediate_size=384, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=LENGTH, tie_word_embeddings=True, bos_token_id=None, eos_token_id=None,
        pad_token_id=None))


def train(model, tokens, steps):
    optimiser = torch.optim.AdamW(model.parameters(), RATE, betas=(0.9, 0.95), weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.SequentialLR(optimiser, [
        torch.optim.lr_scheduler.LinearLR(optimiser, 1 / WARM_UP, total_iters=WARM_UP),
        torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, max(steps - WARM_UP, 1), RATE / 20)], [WARM_UP])
    for step in range(1, steps + 1):
        first = torch.randint(len(tokens) - LENGTH, (BATCH, 1))
        batch = tokens[first + torch.arange(LENGTH)]
        loss = model(batch, labels=batch, use_cache=False).loss
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if step % 50 == 0 or step == steps:
            print(f"step {step} of {steps}: {loss.item():.3f} nats a byte", flush=True)


def main(text, folder, steps=2000):
    content = pathlib.Path(text).read_text(encoding="utf-8")
    cut = len(content) * 9 // 10
    tokenizer = byte_tokenizer()
    tokens = torch.tensor(tokenizer(content[:cut], verbose=False)["input_ids"])
    model = locus.huggingface.use(small_llama())
    train(model, tokens, int(steps))
    locus.huggingface.undo(model).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    pathlib.Path(folder, "held-out.txt").write_text(content[cut:], encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: python examples/small_llama.py TEXT FOLDER [STEPS]")
    main(*sys.argv[1:])
