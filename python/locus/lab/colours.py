# SPDX-License-Identifier: MIT
"""An encoding's colour, the one that it has on the program's pages and charts (lab/figures/encoding_colour.c;
tests/golden/encoding_colours.txt holds both to the same)."""
from __future__ import annotations

import re

# What it is called, what one of its options begins with, its hue, and its tone without options.
_FAMILIES = (
    ("none", "", 0, 0), ("rope", "values=on", 6, 0), ("rope", "", 1, 0), ("roper", "", 6, 0),
    ("algebraic", "group=tree", 5, 0), ("algebraic", "group=grid", 7, 0), ("algebraic", "", 2, 0),
    ("sinusoidal", "", 3, 0), ("relative", "", 4, 0), ("alibi", "", 8, 0), ("shiv-quirk", "", 9, 0),
    ("chebyshev", "", 11, 0), ("mixed", "", 10, 0), ("string", "", 8, 1), ("liere", "", 5, 1), ("t5", "", 9, 1),
    ("kerple", "", 11, 1), ("fire", "", 7, 1), ("cope", "", 10, 1), ("learned", "", 9, 2),
)
_TONES = 3

# Twelve hues in three tones, as in lab/page/page.css on light paper.
PALETTE = tuple("""
    #6f6f6f #8d8d8d #4a4a4a #236bcf #508de7 #14488f #bd3931 #da6458 #82241e #09853d #38a65a #065a27
    #976205 #c07d01 #674103 #864ebc #a373d6 #5b3382 #107c8b #0b9fb2 #03545f #b2397c #cf639a #7a2454
    #6d7601 #8c9701 #495005 #af4e03 #d56d2f #783302 #5f5dce #7d80e6 #3f3d8e #008171 #13a490 #01574c
""".split())


def _hash(text: str) -> int:
    """FNV-1a, 32 bits, folded."""
    value = 2166136261
    for byte in text.encode():
        value = (value ^ byte) * 16777619 & 0xffffffff
    return value ^ value >> 16


def colour_number(encoding: str) -> int:
    """The place in `PALETTE` of the colour of an encoding, given as its canonical text (`runs` has it). It depends on
    that text alone; sums and patterns over layers have one of all colours."""
    name = re.split("[( +;]", encoding, maxsplit=1)[0]
    alone = name == encoding or encoding[len(name)] == "(" and encoding.find(")") == len(encoding) - 1
    for family, option, hue, tone in _FAMILIES if alone else ():
        if family == name and option in encoding:
            options = encoding[len(family):]
            return hue * _TONES + (_hash(options) % _TONES if options else tone)
    return _hash(encoding) % len(PALETTE)


def encoding_colour(encoding: str) -> str:
    """The colour of an encoding as matplotlib takes it: "#236bcf"."""
    return PALETTE[colour_number(encoding)]
