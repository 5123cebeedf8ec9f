# SPDX-License-Identifier: MIT
"""Makes tests/golden/wordpiece.safetensors: what the transformers package's BertTokenizer (the one written in Python)
makes of texts that are hard for it.

    0.vocabulary                 a small vocabulary, lines
    texts, uncased, cased        [all bytes], [all tokens], and where text n ends: texts.ends, uncased.ends, cased.ends
    full, full.ends              the same of bert-base-uncased, if its vocabulary is given
    framed, framed.ends          [CLS] … [SEP] cut at 12 tokens, small vocabulary, uncased

Usage: python3 tools/golden_wordpiece.py [bert-base-uncased-vocab.txt] (needs transformers before version 5, numpy; the
file names their versions)."""
import hashlib
import pathlib
import random
import sys
import tempfile
import unicodedata

import numpy as np
import transformers
from transformers import BertTokenizer

import golden_format

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"

WORDS = """the quick brown fox una ##ffa ##ble ##aff want ##want ##ed wa un runn ##ing run ##n low
lowest ##est new ##er hello world cafe resume naive uber strasse max min med sm ##x ##ax x y z 中 国
##国 日 か ##か な ##な 한 ᄒ ##ᅡ ##ᆫ ι ##ς ##σ σ ς α ##α Hello World Café café É é ##é NASA ##A N ##ASA u
##u ##n ##c ##a ##b ß i ##i ı ı ##s s ff ﬁ fi ½ 1 ##1 2 ##2 3 9 0 ##0 ##9 привет при ##вет ##в ##ет
й и ##й عربى ا ##ل ##ه ! " # $ % & ' ( ) * + , - . / : ; < = > ? @ [ \\ ] ^ _ ` { | } ~ « » “ ” … –
・ 。 😀 ❤ ☃ © ™ a b c d e f g h o ##o ##l ##e ##r ##d""".split()

TEXTS = [
    "", " ", "\t\n\r", "unaffable", "UNwant\u00e9d,running", "Hello  World!", "hello\u00a0world\u3000the",
    "\u00c9\u00e9 Caf\u00e9 cafe\u0301 CAFE\u0301 r\u00e9sum\u00e9 na\u00efve \u00fcber Stra\u00dfe STRASSE",
    "\u4e2d\u56fd", "the\u4e2d\u56fdfox \u65e5\u304b\u306a \ud55c \u1112\u1161\u11ab",
    "\uf900\U0002f800\U00020000\u3400 \u3007",
    "a\u0000b\ufffdc\u200bd\u00ade\u200df\u0007g\u007f", "a\u2028b\u2029c\u0085d\u000be", "max(1,2)=3;x_y[0]^2$`~|",
    "\u00ab\u201cthe\u201d\u00bb\u2026\u2013\u30fb\u3002\uff01",
    "\U0001f600 \u2764\ufe0f \u2603 \u00a9 \u2122 \U0001f468\u200d\U0001f469",
    "\u00bd \ufb01 \ufb00 \u2460 \u212b \u212a \u2126", "\u0130\u0131 I\u0307 \u0130x",
    "\u03a3\u03a3 \u03b1\u03a3 \u03a3 \u03b9\u03a3, \u03b1\u03a3\u03b1 "
    "\u03b1\u03a3.\u03b1 \u03b1\u03a3' \u03b1\u03a3\u0301",
    "\u041f\u0440\u0438\u0432\u0435\u0442 \u0439\u0418\u0306",
    "\u0639\u0631\u0628\u0649 \u0627\u0644\u0644\u0647 \u064e\u0627", "x" * 100, "x" * 101,
    "a" + "\u0301" * 100, "e\u0301" * 60, "qqq zzz the qthe", "the[MASK]fox [CLS] [SEP][UNK] [mask] [PAD]",
    "[MA [MASK [[MASK]]",
    "##ffa un##able", "run ##n", "\u0301the \u0301", "e\u0323\u0302 e\u0302\u0323 \u1ec7", "\u0f71\u0f72 \u0958 \u2adc",
    "( ( ( [MAX 2 ) 9 ) ] )", "( ( ( ( ( [MIN 1 ) ( ( [MED 0 ) 9 ) ] ) ( ( [SM 3 ) ] ) 2 ) ] )", "1984 -3.14e-10 1,000",
    "\ue000\uf8ff\ufffe\U0010ffff x", "\u0378 \u0530 x", "it's don't O\u2019Neil", "e\u0301\u4e2de\u0301",
    "\u1e9e \u1e9eA", "\u01c4 \u01c5 \u01c8",
    "the " * 30,
]


def random_text(draw):
    ranges = [(0x20, 0x7F), (0x20, 0x7F), (0xA0, 0x250), (0x300, 0x370), (0x370, 0x530), (0x590, 0x700), (0x900, 0xE00),
              (0x1E00, 0x2070), (0x2070, 0x2C00), (0x3000, 0x3200),
              (0x4E00, 0x4F00), (0xAC00, 0xAD00), (0xF900, 0xFB50),
              (0xFE00, 0x10000), (0x1D400, 0x1D500), (0x1F300, 0x1F700), (0, 0x20)]
    text = ""
    while len(text) < 40:
        low, high = draw.choice(ranges)
        for _ in range(draw.randint(1, 4)):
            text += chr(draw.randrange(low, high))
        text += draw.choice(["", "", " ", "the", "un"])
    # What Python's tables don't know is left out: utf8proc's may be of a newer Unicode.
    return "".join(c for c in text if unicodedata.category(c) not in ("Cn", "Cs"))


def tokens_of(tokenizer, texts):
    rows = [tokenizer.convert_tokens_to_ids(tokenizer.tokenize(text)) for text in texts]
    return np.array(sum(rows, []), np.int32), np.cumsum([len(row) for row in rows]).astype(np.int64)


def main():
    draw = random.Random(20261121)
    texts = TEXTS + [random_text(draw) for _ in range(200)]
    arrays, metadata = {}, {}
    entries = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + list(dict.fromkeys(WORDS))
    encoded = [text.encode() for text in texts]
    arrays["0.texts"] = np.frombuffer(b"".join(encoded), np.uint8).astype(np.int32)
    arrays["0.texts.ends"] = np.cumsum([len(text) for text in encoded]).astype(np.int64)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "vocab.txt"
        path.write_text("\n".join(entries) + "\n", encoding="utf-8")
        uncased = BertTokenizer(str(path), do_lower_case=True)
        cased = BertTokenizer(str(path), do_lower_case=False)
        arrays["0.uncased"], arrays["0.uncased.ends"] = tokens_of(uncased, texts)
        arrays["0.cased"], arrays["0.cased.ends"] = tokens_of(cased, texts)
        framed = [uncased(text, truncation=True, max_length=12)["input_ids"] for text in texts]
        arrays["0.framed"] = np.array(sum(framed, []), np.int32)
        arrays["0.framed.ends"] = np.cumsum([len(row) for row in framed]).astype(np.int64)
    metadata["0.vocabulary"] = "\n".join(entries) + "\n"
    if len(sys.argv) > 1:
        full = BertTokenizer(sys.argv[1], do_lower_case=True)
        arrays["0.full"], arrays["0.full.ends"] = tokens_of(full, texts)
        metadata["0.full.sha256"] = hashlib.sha256(pathlib.Path(sys.argv[1]).read_bytes()).hexdigest()
    metadata["count"] = 1
    metadata["made_with"] = (f"transformers {transformers.__version__}, numpy {np.__version__}, "
                             f"Unicode {unicodedata.unidata_version}")
    golden_format.write(GOLDEN / "wordpiece.safetensors", arrays, metadata)


if __name__ == "__main__":
    main()
