#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One sentence to a line in Markdown, so that a change of one sentence is a change of one line.

    python3 tools/sentences.py FILE…            rewrites files
    python3 tools/sentences.py --check FILE…    names each line that holds two sentences, or a part of one
    python3 tools/sentences.py --check N FILE…  also each that has more than N words
    python3 tools/sentences.py --words OLD NEW  whether two files have the same words in the same order

Paragraphs and list items are cut; code, tables, headings and pictures stay as they are. A sentence ends with a full
stop, a question or an exclamation mark before white space, outside of brackets and of `code`; a full stop behind an
abbreviation ends none. A head in bold stays with the sentence after it."""
import re
import sys

ABBREVIATIONS = ("al", "e.g", "i.e", "cf", "vs", "etc", "Fig", "Sect", "Eq", "No", "approx", "resp", "ca", "Mr", "Dr")
MARKER = re.compile(r"(\s*)([-*+]|\d+\.)(\s+)")
FENCE = re.compile(r"\s*(```|~~~)")
CODE = re.compile(r"`+[^`]*`+")
END = re.compile(r"[.?!][)\]\"'”*_`]*\s+")


def masked(text):
    """The text with letters that mean nothing in place of code and of what links lead to."""
    text = CODE.sub(lambda found: "x" * len(found.group()), text)
    return re.sub(r"\]\([^)]*\)", lambda found: "]" + "x" * (len(found.group()) - 1), text)


def ends_here(plain, found, start):
    """Whether a sentence that begins at `start` ends with the mark that was found."""
    before, after = plain[start:found.end()].rstrip(), plain[found.end():]
    word = re.split(r"[\s(\[*]", plain[start:found.start()])[-1]
    if plain[found.start()] == "." and (word in ABBREVIATIONS or re.fullmatch(r"[A-Z]|\d+", word) and before == word + "."):
        return False
    if any(before.count(left) > before.count(right) for left, right in ("()", "[]")):
        return False
    if re.fullmatch(r"(\*\*[^*]+\*\*|\*[^*]+\*)", before) or before.count("**") % 2:
        return False  # a head in bold, or the middle of one
    if MARKER.match(after) or re.match(r"[#>|]", after):
        return False  # Markdown would take it for something else
    return bool(after)


def sentences(text):
    """The text, one string for each sentence."""
    plain, start, cut = masked(text), 0, []
    for found in END.finditer(plain):
        if ends_here(plain, found, start):
            cut.append(text[start:found.end()].rstrip())
            start = found.end()
    return cut + [text[start:]]


def kept(line):
    """Lines that are no prose."""
    return not line.strip() or re.match(r"\s*(\||#{1,6} |!\[|<|---|:::|\$\$|\[[^\]]+\]: )", line)


def paragraphs(lines):
    """(prefix, following prefix, text) of each paragraph and item, (None, None, line) of everything else."""
    inside, code, found = None, False, []
    for line in lines:
        if inside is not None:
            found.append((None, None, line))
            if line.strip() == inside:
                inside = None
            code = False
            continue
        if FENCE.match(line):
            inside = FENCE.match(line).group(1)
            found.append((None, None, line))
            continue
        indented = line.startswith("    ") and (code or not found or not found[-1][2].strip())
        code = indented or (code and not line.strip())
        marker = MARKER.match(line)
        if kept(line) or indented:
            found.append((None, None, line))
        elif marker:
            found.append((marker.group(), " " * len(marker.group()), line[marker.end():].strip()))
        elif found and found[-1][0] is not None:
            first, rest, text = found[-1]
            found[-1] = (first, rest, text + " " + line.strip())
        else:
            space = re.match(r"\s*", line).group()
            found.append((space, space, line.strip()))
    return found


def rewritten(text):
    lines = []
    for first, rest, content in paragraphs(text.split("\n")):
        if first is None:
            lines.append(content)
        else:
            cut = sentences(content)
            lines.append(first + cut[0])
            lines.extend(rest + sentence for sentence in cut[1:])
    return "\n".join(lines)


def read(name):
    with open(name, encoding="utf-8") as file:
        return file.read()


def check(name, most):
    old, new = read(name).split("\n"), rewritten(read(name)).split("\n")
    for number, (one, other) in enumerate(zip(old, new), 1):
        if one != other:
            print(f"{name}:{number}: not one sentence to a line; python3 tools/sentences.py {name} mends it")
            return False
    long = [sentence for first, _, text in paragraphs(old) if first is not None
            for sentence in sentences(text) if len(sentence.split()) > most]
    for sentence in long:
        print(f"{name}: a sentence of {len(sentence.split())} words, {most} may be: {sentence[:60]}…")
    return not long


def main(words):
    if words[:1] == ["--words"] and len(words) == 3:
        return 0 if read(words[1]).split() == read(words[2]).split() else 1
    if words[:1] == ["--check"] and len(words) > 1:
        most = int(words.pop(1)) if words[1].isdigit() else float("inf")
        return 0 if all([check(name, most) for name in words[1:]]) else 1
    if not words or words[0].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    for name in words:
        text = rewritten(read(name))
        if text.split() != read(name).split():
            print(f"{name}: words would change", file=sys.stderr)
            return 1
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
