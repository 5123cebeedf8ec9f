# SPDX-License-Identifier: MIT
"""locus in models of the transformers library.

    import locus.huggingface
    locus.huggingface.use(model)                                                   # its own encoding, computed by locus
    locus.huggingface.use(model, "rope(scaling=yarn, factor=4, original=4096)")    # another one
    model.generate(**inputs, past_key_values=locus.huggingface.Cache(model))
    locus.huggingface.undo(model)

`undo` puts the model's own attention back."""
from .decoding import Cache
from .replacing import undo, use

__all__ = ["Cache", "undo", "use"]
