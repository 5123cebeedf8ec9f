# SPDX-License-Identifier: MIT
"""The reference of the C headers: reads include/locus/*.h as they are, declarations with the comments before and behind
them, and writes a page of reStructuredText for each, in Sphinx's C domain.

What the headers keep to, and this reader relies on: a comment right above a declaration belongs to it, and to all that
follow without a blank line; one behind it on the same line belongs to it alone; one that is followed by a blank line
stands for itself, `---- words ----` as a heading. Lines of a comment that are indented are drawings or code. A
declaration that is not understood is an error, so that the reference lacks nothing."""
from __future__ import annotations

import dataclasses
import pathlib
import re
from typing import Dict, Iterator, List, Optional, Tuple

TOKEN = re.compile(r"/\*.*?\*/|#(?:/\*.*?\*/|\\\n|[^\n])*|[^\s]", re.S)
NAME = re.compile(r"\b(?:locus_[a-z0-9_]+|LOCUS_[A-Z0-9_]+)\b")
# `code`, names with their brackets, and what stands between.
WORDS = re.compile(rf"`[^`]+`|{NAME.pattern}(?:\(\))?|(?:(?!`[^`]+`|{NAME.pattern}).)+|.")


@dataclasses.dataclass
class Piece:
    """A comment, a directive of the preprocessor, or a declaration, with its first and last line."""

    kind: str
    text: str
    first: int
    last: int


@dataclasses.dataclass
class Entry:
    """What the reference says of one or several declarations that share their words."""

    kind: str  # function, struct, enum, type, macro, heading, words
    signatures: List[str]
    words: str = ""
    members: List["Entry"] = dataclasses.field(default_factory=list)


def pieces(text: str, line: int = 1, ends: str = ";") -> Iterator[Piece]:
    """Cuts a header, or what stands between the braces of a struct or an enum, into pieces."""
    start: Optional[int] = None
    position, depth = 0, 0

    def at(place: int) -> int:
        return line + text.count("\n", 0, place)

    while True:
        found = TOKEN.search(text, position)
        if not found:
            return
        token, position = found.group(), found.end()
        if start is None and token.startswith("/*"):
            yield Piece("comment", token, at(found.start()), at(found.end()))
        elif start is None and token.startswith("#"):
            yield Piece("directive", token, at(found.start()), at(found.end()))
        elif not token.startswith("/*"):
            start = found.start() if start is None else start
            depth += (token in "({[") - (token in ")}]")
            inline = token == "}" and depth == 0 and text[start:].startswith("static inline")
            if depth == 0 and (token in ends or inline):
                yield Piece("code", text[start:found.end()], at(start), at(found.end()))
                start = None
            elif token == "{" and depth == 1 and text[start:found.end()].strip() == 'extern "C" {':
                start, depth = None, 0
            elif token == "}" and depth == -1:
                start, depth = None, 0  # the end of extern "C"

def last_piece(text: str, line: int, ends: str) -> List[Piece]:
    """Pieces of a body whose last item has no mark at its end (enums)."""
    return list(pieces(text.rstrip() + ("," if ends == "," and not text.rstrip().endswith(",") else ""), line, ends))


# ---- words ----


def comment_lines(comment: str) -> List[str]:
    body = comment[2:-2]
    return [re.sub(r"^\s*\*( |$)", "", line).rstrip() if number else line.strip()
            for number, line in enumerate(body.split("\n"))]


def is_drawing(line: str) -> bool:
    return line.startswith("  ")


def escaped(text: str) -> str:
    return re.sub(r"([\\*`|])|(_)(?=\W|$)", lambda found: "\\" + found.group(), text)


def inline(text: str, roles: Dict[str, str]) -> str:
    """A line of words: names become links, `code` stays code. Markup must not touch a letter, so that `\\ ` parts them."""
    found = ""
    for part in WORDS.findall(text):
        name = part[:-2] if part.endswith("()") else part
        role, code = roles.get(name), NAME.fullmatch(name) or re.fullmatch(r"`[^`]+`", part)
        markup = f":c:{role}:`{name}`" if role else f"``{part.strip('`')}``" if code else ""
        if markup and found and not re.search(r"[\s(\[{<'\"/:-]$", found):
            found += "\\ "
        elif not markup and found.endswith("`") and not re.match(r"[\s)\]}>'\"/:.,;!?-]", part):
            found += "\\ "
        found += markup or escaped(part)
    return found


def paragraphs(comment: str, roles: Dict[str, str]) -> str:
    """A comment as reStructuredText: paragraphs, and what is indented as it is drawn."""
    found: List[str] = []
    lines = comment_lines(comment)
    while lines:
        if not lines[0]:
            lines.pop(0)
        elif is_drawing(lines[0]):
            drawn = []
            while lines and (not lines[0] or is_drawing(lines[0])):
                drawn.append(lines.pop(0))
            while not drawn[-1]:
                drawn.pop()
            margin = min(len(line) - len(line.lstrip()) for line in drawn if line)
            found.append("::\n\n" + "\n".join("    " + line[margin:] if line else "" for line in drawn))
        else:
            words = []
            while lines and lines[0] and not is_drawing(lines[0]):
                words.append(lines.pop(0).strip())
            found.append(inline(" ".join(words), roles))
    return "\n\n".join(found)


# ---- declarations ----


def plain(code: str) -> str:
    """A declaration on one line, without what is no part of its type."""
    code = re.sub(r"/\*.*?\*/", " ", code, flags=re.S)
    code = re.sub(r"\b(LOCUS_API|LOCUS_MUST_USE|static inline|extern)\b", " ", code)
    code = re.sub(r"\s+", " ", code).strip().rstrip(";").strip()
    return re.sub(r"\( ", "(", re.sub(r" \)", ")", code))


def declarators(code: str) -> List[str]:
    """`const T *a, *b` as two declarations; what has brackets stays whole."""
    if "(" in code or "," not in code:
        return [code]
    parts = [part.strip() for part in code.split(",")]
    base = re.match(r"(.*?)([*\s]*)(\w+(?:\[[^\]]*\])*)$", parts[0])
    assert base, code
    return [f"{base.group(1).strip()} {part}" for part in [base.group(2).strip() + base.group(3)] + parts[1:]]


def members(body: str, line: int, ends: str, kind: str) -> List[Entry]:
    found: List[Entry] = []
    before, last = "", -1
    for piece in last_piece(body, line, ends):
        if piece.kind == "comment":
            if found and piece.first == last:
                found[-1].words += piece.text
            else:
                before = piece.text
        elif piece.kind == "code":
            code = plain(piece.text).rstrip(",").strip()
            signatures = [code.split("=")[0].strip()] if kind == "enumerator" else declarators(code)
            value = code.partition("=")[2].strip()
            found.append(Entry(kind, signatures, before, [Entry("value", [value])] if value else []))
            before, last = "", piece.last
        else:
            raise ValueError(f"a directive inside of braces, line {piece.first}")
    return found


def entry(piece: Piece) -> Entry:
    code = piece.text
    body = re.match(r"typedef (struct|enum) (\w+) \{(.*)\}\s*(\w+)\s*;$", code, re.S)
    if body:
        line = piece.first + code.count("\n", 0, code.index("{"))
        ends, kind = (";", "member") if body.group(1) == "struct" else (",", "enumerator")
        return Entry(body.group(1), [body.group(4)], "", members(body.group(3), line, ends, kind))
    line = plain(re.sub(r"\{.*\}", "", code, flags=re.S) if code.startswith("static inline") else code)
    opaque = re.fullmatch(r"typedef struct (\w+) (\w+)", line)
    if opaque:
        return Entry("struct", [opaque.group(2)])
    if line.startswith("typedef "):
        return Entry("type", [line[len("typedef "):]])
    if line.startswith("struct ") and "(" not in line:
        return Entry("skip", [])  # a name in advance
    if re.search(r"\b\w+\(.*\)$", line):
        return Entry("function", [line])
    raise ValueError(f"line {piece.first}: a declaration that the reference does not understand: {line}")


def macro(piece: Piece) -> Optional[Entry]:
    found = re.match(r"#\s*define\s+(LOCUS_\w+)(\([^)]*\))?[ \t]*(.*)", piece.text, re.S)
    if not found or found.group(1).endswith("_H") or found.group(1) in ("LOCUS_API", "LOCUS_MUST_USE"):
        return None
    value, _, behind = found.group(3).partition("/*")
    words = "/*" + behind if behind else ""
    value = value.strip()
    return Entry("macro", [found.group(1) + (found.group(2) or "")], words,
                 [Entry("value", [value])] if value and "\n" not in value else [])


def entries(text: str) -> Tuple[str, List[Entry]]:
    """What the head of a header says, and its entries in their order."""
    found: List[Entry] = []
    head, comment, last, code_last = "", None, -1, -1
    for piece in pieces(text):
        if piece.kind == "comment":
            if "SPDX" in piece.text:
                continue
            if not head and not found:
                head = piece.text
            elif found and piece.first == code_last:
                found[-1].words += piece.text
                code_last = piece.last
            else:
                if comment:
                    found.append(Entry("words", [], comment.text))
                comment = piece
            continue
        made = macro(piece) if piece.kind == "directive" else entry(piece)
        if comment and (made is None or piece.first > comment.last + 1):
            found.append(Entry("words", [], comment.text))
            comment = None
        if made is None or made.kind == "skip":
            continue
        if made.kind == "macro" and any(one.signatures == made.signatures for one in found):
            comment = None  # defined for C++ and for C: once is enough
            continue
        follows = found and piece.first == code_last + 1 and not comment
        if follows and made.kind == found[-1].kind == "function" and found[-1].words:
            found[-1].signatures += made.signatures
        else:
            if comment:
                made.words = comment.text + made.words
            found.append(made)
        comment, code_last = None, piece.last
    return head, found


# ---- pages ----

ROLES = {"function": "func", "struct": "struct", "enum": "enum", "type": "type", "macro": "macro", "enumerator": "enumerator"}


def name_of(kind: str, signature: str) -> str:
    if kind in ("function", "type"):
        found = re.search(r"(\w+)\(", signature) or re.search(r"(\w+)$", signature)
        assert found, signature
        return found.group(1)
    return re.split(r"[\s(]", signature)[0]


def roles_of(all_entries: List[Entry]) -> Dict[str, str]:
    found: Dict[str, str] = {}
    for one in all_entries:
        for signature in one.signatures:
            if one.kind in ROLES:
                found[name_of(one.kind, signature)] = ROLES[one.kind]
        if one.kind == "enum":
            found.update({member.signatures[0]: "enumerator" for member in one.members})
    return found


def words_of(words: str, roles: Dict[str, str]) -> str:
    return "\n\n".join(paragraphs(comment, roles) for comment in re.findall(r"/\*.*?\*/", words, re.S))


def indented(text: str, margin: str) -> str:
    return "\n".join(margin + line if line else "" for line in text.split("\n"))


def directive(one: Entry, roles: Dict[str, str], margin: str = "") -> str:
    first = f".. c:{one.kind}:: "
    lines = [first + one.signatures[0]] + [" " * len(first) + signature for signature in one.signatures[1:]]
    inner = []
    value = [member.signatures[0] for member in one.members if member.kind == "value"]
    said = words_of(one.words, roles)
    if value:
        said = f"``{value[0]}``" + (": " + said if said else "")
    if said:
        inner.append(indented(said, "   "))
    inner += [directive(member, roles, "   ") for member in one.members if member.kind != "value"]
    return indented("\n".join(lines) + "\n\n" + "\n\n".join(inner), margin)


def page(name: str, head: str, own: List[Entry], roles: Dict[str, str]) -> str:
    title = name
    found = [f"{title}\n{'=' * len(title)}", f"``#include <locus/{name}>``", words_of(head, roles)]
    for one in own:
        heading = re.fullmatch(r"/\*\s*-{2,}\s*(.*?)\s*-{2,}\s*\*/", one.words, re.S) if one.kind == "words" else None
        if heading:
            text = heading.group(1)[:1].upper() + re.sub(r"\s+", " ", heading.group(1)[1:])
            found.append(f"{escaped(text)}\n{'-' * len(escaped(text))}")
        elif one.kind == "words":
            found.append(words_of(one.words, roles))
        else:
            found.append(directive(one, roles))
    return "\n\n".join(part for part in found if part) + "\n"


def write(headers: pathlib.Path, folder: pathlib.Path) -> List[str]:
    """Writes a page for each header; the names of the pages."""
    read = {path.name: entries(path.read_text(encoding="utf-8")) for path in sorted(headers.glob("*.h"))}
    roles = roles_of([one for _, own in read.values() for one in own])
    for path in headers.glob("*.h"):
        for name in re.findall(r"^LOCUS_API\b[^;(]*?\b(locus_\w+)\(", path.read_text(encoding="utf-8"), re.M):
            if name not in roles:
                raise ValueError(f"{path.name}: the reference lacks {name}")
    folder.mkdir(parents=True, exist_ok=True)
    for name, (head, own) in read.items():
        (folder / f"{name[:-2]}.rst").write_text(page(name, head, own, roles), encoding="utf-8")
    return [name[:-2] for name in read]
