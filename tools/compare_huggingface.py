#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whole models of the transformers library with locus.huggingface in the place of their attention, against themselves.

    PYTHONPATH=build/python/python python3 tools/compare_huggingface.py [--write docs/huggingface-families.md] [FAMILY…]

For each family a tiny model with random weights is made from its configuration class (as tools/compare_import_rope.py
makes them) and computes the logits of the same tokens as it is, and after `locus.huggingface.use(model)`:

    whole      two texts at once, the second one padded on the left
    decoded    where the model takes a cache: the first text again, its last six tokens one by one with
               locus.huggingface.Cache, against the model's own logits, of the whole text or decoded with transformers'
               DynamicCache, whichever are nearer: some models' own decoding differs from their reading

What is compared is max |difference| / max |logit| over tokens that are no padding, both in float32. A family agrees if
both are at most 1e-5, or at most what the model's own logits of the first text in float32 differ from its own in float64
("rounding"): two float32 computations that sum in different orders cannot be asked for more."""
import argparse
import json
import pathlib
import resource
import signal
import sys

import compare_import_rope as tiny
import torch
import transformers

import locus
import locus.huggingface
from locus.errors import UnsupportedError

ALLOWED, SECONDS, TOKENS, ALONE, PADDED = 1e-5, 90, 24, 6, 5

PAGE = """# Families of transformers models with locus in place

`locus.huggingface.use(model)` puts locus in the place of a model's attention, with the model's own rotary settings.
This page says for which families of the transformers library (%(transformers)s, with PyTorch %(torch)s) the logits stay the same.
For each, `tools/compare_huggingface.py` makes a small model with random weights and reads the same tokens as it is and with locus.

- **whole**: two texts of %(tokens)d tokens, one of them padded on the left; max |difference of logits| / max |logit|, float32.
- **decoded**: the last %(alone)d tokens one by one with `locus.huggingface.Cache`, against the model's own logits, of the whole text or decoded with transformers' `DynamicCache`, whichever are nearer (some models' own decoding differs from their reading); – where it takes no cache.
- **rounding**: the same measure of the model's own logits of the first text, in float32 against float64.
- A family agrees if neither of the first two exceeds 1e-5, or neither exceeds its rounding.
- Pairs in a spec are those of what a model hands to locus: some models put pairs into halves before they turn, so that [import-rope.md](import-rope.md) says otherwise.

```shell
# a model of every family: ten minutes; needs transformers and PyTorch, and the package on PYTHONPATH
python3 tools/compare_huggingface.py --write docs/huggingface-families.md
```

"""


def difference(one, other, kept):
    one, other = one[kept].double(), other[kept].double()
    return float((one - other).abs().max() / one.abs().max())


def logits(model, **inputs):
    with torch.no_grad():
        out = model(**inputs)
    return out[0] if getattr(out, "logits", None) is None else out.logits


def inputs_of(model):
    generator = torch.Generator().manual_seed(5)
    inputs = {"input_ids": torch.randint(5, 90, (2, TOKENS), generator=generator),
              "attention_mask": torch.ones(2, TOKENS, dtype=torch.long)}
    inputs["attention_mask"][1, :PADDED] = 0
    return inputs


def rounding(model, tokens, wanted):
    try:
        return difference(logits(model.double(), input_ids=tokens), wanted, everything(wanted))
    except (RuntimeError, TypeError, ValueError):
        return None  # a model that fixes types in its code
    finally:
        model.float()


def everything(values):
    return torch.ones(values.shape[:2], dtype=torch.bool)


def decoded(model, tokens, cache):
    parts = [logits(model, input_ids=tokens[:, :-ALONE], past_key_values=cache, use_cache=True)]
    for t in range(TOKENS - ALONE, TOKENS):
        parts.append(logits(model, input_ids=tokens[:, t:t + 1], past_key_values=cache, use_cache=True))
    return torch.cat(parts, 1)


def compare(name):
    family, extra = tiny.VARIANTS.get(name, (name, {}))
    model = tiny.make_model(tiny.make_config(family, extra), family)
    del model.config.asked
    tiny.randomise(model)
    inputs = inputs_of(model)
    text, kept = inputs["input_ids"][:1], inputs["attention_mask"].bool()
    wanted, alone = logits(model, **inputs), logits(model, input_ids=text)
    own = rounding(model, text, alone)
    attends = locus.huggingface.watching.is_decoder(model)
    steps = decoded(model, text, transformers.DynamicCache(config=model.config)) if attends else None
    locus.huggingface.use(model)
    result = {"whole": difference(wanted, logits(model, **inputs), kept), "rounding": own, "decoded": None,
              "spec": model.locus_used.sites[0].spec}
    if attends and all(getattr(module, "is_causal", True) for module in model.locus_used.modules):
        found = decoded(model, text, locus.huggingface.Cache(model))
        result["decoded"] = min(difference(steps, found, everything(steps)), difference(alone, found, everything(steps)))
    return result


def agrees(result):
    allowed = max(ALLOWED, result["rounding"] or 0)
    return result["whole"] <= allowed and (result["decoded"] or 0) <= allowed


def number(value):
    return "–" if value is None else f"{value:.0e}"


def rows(results):
    for name, r in sorted(results.items()):
        yield (f"| {name} | {number(r['whole'])} | {number(r['decoded'])} | {number(r['rounding'])} | "
               f"`{tiny.short(r['spec'])}` |\n")


def write_page(path, results):
    text = PAGE % {"transformers": transformers.__version__, "torch": torch.__version__.split("+")[0], "tokens": TOKENS,
                   "alone": ALONE}
    made = {name: r for name, r in results.items() if "failed" not in r}
    head = "| family | whole | decoded | rounding | spec of the first layer |\n|---|---|---|---|---|\n"
    for title, group in (("Agree", {n: r for n, r in made.items() if agrees(r)}),
                         ("Differ by more", {n: r for n, r in made.items() if not agrees(r)})):
        text += f"## {title}: {len(group)}\n\n{head}{''.join(rows(group))}\n" if group else ""
    refused = {n: r["failed"] for n, r in results.items() if r.get("refused")}
    other = {n: r["failed"] for n, r in results.items() if "failed" in r and not r.get("refused")}
    for title, group in (("Refused by `use`, which left the model as it was", refused), ("Not compared", other)):
        lines = "".join(f"| {name} | {tiny.short(why, 160)} |\n" for name, why in sorted(group.items()))
        text += f"## {title}: {len(group)}\n\n| family | why |\n|---|---|\n{lines}\n" if group else ""
    pathlib.Path(path).write_text(text.rstrip("\n") + "\n", encoding="utf-8")


def result_of(name):
    try:
        signal.alarm(SECONDS)
        return compare(name)
    except Exception as error:  # every failure is a line of the page
        said = f"{type(error).__name__}: {error}".replace("\n", " ")[:300]
        return {"failed": str(error) if isinstance(error, UnsupportedError) else said,
                "refused": isinstance(error, UnsupportedError)}
    finally:
        signal.alarm(0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", help="write the page here")
    parser.add_argument("--json", help="write the results here")
    parser.add_argument("families", nargs="*")
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (tiny.MOST_BYTES, tiny.MOST_BYTES))
    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError(f"longer than {SECONDS} s")))
    torch.set_num_threads(1)
    results = {}
    for name in given.families or [*tiny.rotary_families(), *tiny.VARIANTS]:
        r = results[name] = result_of(name)
        print(f"{name:36} " + (r["failed"] if "failed" in r else f"{'agrees' if agrees(r) else 'DIFFERS':8}"
                               f"{number(r['whole'])} {number(r['decoded'])} {number(r['rounding'])}"), flush=True)
    if given.json:
        pathlib.Path(given.json).write_text(json.dumps(results, indent=1))
    if given.write:
        write_page(given.write, results)
    count = sum("failed" not in r and agrees(r) for r in results.values())
    print(f"{count} of {len(results)} agree")
    sys.exit(0 if all("failed" not in r and agrees(r) for r in results.values()) else 1)


if __name__ == "__main__":
    main()
