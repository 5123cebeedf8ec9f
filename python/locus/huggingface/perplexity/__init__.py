# SPDX-License-Identifier: MIT
"""Perplexity against context length: how far a causal language model of transformers reads, under each way of slowing
its rotary frequencies.

    from locus.huggingface import perplexity
    frame = perplexity.measure(model, text, [512, 1024, 2048], ["none", "linear", "yarn"], tokenizer=tokenizer)
    perplexity.save(perplexity.plot(frame), "perplexity.svg")

    python -m locus.huggingface.perplexity MODEL --text FILE --lengths 512,1024,2048 --scalings none,linear,yarn

Frames need pandas and figures need matplotlib (`pip install locus-encodings[huggingface,lab]`)."""
from .drawing import plot, save
from .measuring import measure
from .scalings import NAMES

__all__ = ["NAMES", "measure", "plot", "save"]
