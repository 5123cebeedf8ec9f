# SPDX-License-Identifier: MIT
"""Holds what somebody wrote on recorded pages to their runs.

On the page beside a file of runs, from `## Conditions` on,

  a number with a decimal point, or whose unit is % or points (all of "52, 74 and 100 %"), must stand so in the generated
    part, with its sign if it has one; in a row of a scheme only if the passage names scheme and column;
  a count "18 of 20" or "one of 20" must stand so there, or be how a claim's comparisons are counted;
  columns, claims and comparisons that are counted, "four columns", must be as many as the page has;
  the words open, supported and contradicted must be the verdict of every claim of the page;

or be the text of a link, which is looked up. What one into a file of runs names (recorded_runs.py), as
`[50.3](table.json#digit/rope)`, must be the same when it is rounded to the digits written, and in "50.3 ±0.4" the
deviation, or the interval, too.

A link to the page of such a file must be true of that page's generated part; one to another file must find its numbers and
counts there, behind # in that section, and no verdict. What leads to another host is not looked at.

README.md beside the pages is read from `## Runs that two pages have` on, and has no generated part: all of this must be
links. What only a page of git's history has is linked to the section of README.md that tells its commit, "git show";
nothing holds it to that page. Runs of one name in two files beside README.md must have the same scores and curves, to the
last bit, or be named there; those that are named must differ.

Words in `code` are not looked at.

Usage: python3 tools/check_written.py LOCUS FILE...    RUNS.json or README.md; names what is not so, with status 1"""
import functools
import pathlib
import re
import subprocess
import sys

from recorded_runs import VERDICTS, Lack, Pages, disagreements, runs_beside

OWN = {".json": "## Conditions", ".md": "## Runs that two pages have"}
COUNTS = ("one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
          "nineteen twenty").split()
SPACE = "[ \n\u00a0\u202f]*"
DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?"
PERCENT = rf"{SPACE}(?:%|per cent)"
NO_NUMBER = rf"\d{{4}}-\d+(?:-\d+)*(?!\d|\.\d|{PERCENT})|\d+(?:\.\d+){{2,}}"  # dates, versions
JOINT = r"(?:, and |, | and | or | to |–|/| / )"
UNIT = rf"(?:{PERCENT}|{SPACE}points?\b)"
LISTED = re.compile(rf"(?:{JOINT}(?!{NO_NUMBER}){DIGITS})*{UNIT}")
COUNTED = re.compile(rf"{SPACE}of\b{SPACE}(?:(?:the|all) {SPACE})?(?!{NO_NUMBER})({DIGITS})(?!\d|[.,]\d|{PERCENT})")
THINGS = re.compile(rf"{SPACE}(?:other{SPACE})?(column|claim|verdict|comparison)s?\b")
NUMBER = re.compile(rf"(?<![\w.])(?:{NO_NUMBER}|(?P<number>{DIGITS}))")
TOKEN = re.compile(rf"`[^`]*`|\[(?P<text>[^\]\[]*)\]\((?P<target>[^) \n]*)\)|{NO_NUMBER}|(?P<number>{DIGITS})|(?P<word>\w+)")


# ---- numbers as people write them ----

class Number:
    """One at a match in a text: its digits without commas, decimals, sign ("-" of both forms, "+" or ""), whether it or
    the list that it begins is of per cent or points, and whether its own unit is that."""

    def __init__(self, text, match):
        self.begin, self.end = match.span()
        self.digits = match[0].replace(",", "")
        self.decimals = len(self.digits.partition(".")[2])
        self.sign = sign_before(text, self.begin)
        self.united = re.compile(UNIT).match(text, self.end) is not None
        self.listed = LISTED.match(text, self.end) is not None

    def __str__(self):
        return self.sign + self.digits

    def same(self, other):
        """100 and 100.00 are; 5 and −5 only if this one has no sign."""
        return shortened(self.digits) == shortened(other.digits) and self.sign in ("", other.sign)

    def of(self, text):
        """"18 of 20": the digits of 20, and where they end; or None."""
        return None if self.decimals else whole_behind(text, self.end)

    @property
    def measures(self):
        return self.decimals > 0 or self.listed

    def says(self, value):
        """Whether it is the value, rounded to as many digits."""
        rounded = f"{abs(value):.{self.decimals}f}"
        return rounded == self.digits and (float(rounded) == 0 or (value < 0) == (self.sign == "-"))


def whole_behind(text, end):
    found = COUNTED.match(text, end)
    return (found[1].replace(",", ""), found.end()) if found and "." not in found[1] else None


def shortened(digits):
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def sign_before(text, begin):
    sign = text[begin - 1:begin].replace("−", "-")
    return sign if sign in ("-", "+") and (begin == 1 or text[begin - 2] in " \n(|*[=") else ""


def numbers(text):
    return [Number(text, match) for match in NUMBER.finditer(text) if match["number"]]


def in_digits(text):
    """A text that begins with a number in words, or has none in digits, with all of these in digits."""
    words = re.compile(rf"\b(?:{'|'.join(COUNTS)})\b", re.I)
    return words.sub(lambda word: str(count_of(word[0])), text) if words.match(text) or not numbers(text) else text


def count_of(word):
    return COUNTS.index(word.lower()) + 1 if word.lower() in COUNTS else None


def names(passage, word):
    """Whether a word or several stand there, in capitals or not, and not as a part of others."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", passage, re.I) is not None


# ---- the generated part ----

class Generated:
    """Its numbers with a decimal point or a unit, each with the scheme and column that it is of, if any; its counts."""

    def __init__(self, text):
        self.numbers, self.counts, head = [], set(), None
        for line in text.split("\n"):
            head = cells(line) if line.startswith("| scheme") else head if line.startswith("|") else None
            row = cells(line)
            scheme = row[1] if head and len(row) > 1 and not row[1].startswith("*") else None
            for number in numbers(line):
                if number.decimals or number.united:
                    column = head[len(cells(line[:number.begin])) - 1] if scheme else None
                    self.numbers.append((number, scheme, column and re.split("[ ,@]", column)[0]))
        for number in numbers(text):
            if number.of(text):
                self.counts.add((number.digits, number.of(text)[0]))

    def has(self, wanted, passage):
        return any(wanted.same(number) and (scheme is None or (names(passage, scheme) and names(passage, column)))
                   for number, scheme, column in self.numbers)


def cells(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)]


# ---- the part written by hand ----

class Page:
    """One that people write on: the file of runs beside it, or README.md, which has none."""

    def __init__(self, pages, name):
        self.pages, self.name = pages, name
        self.runs = pages.runs(name) if name.endswith(".json") else None
        self.generated = Generated(self.runs.generated) if self.runs else None


@functools.lru_cache(None)
def page_of(pages, name):
    return Page(pages, name)


def complaints(page, own, passage=None):
    """(place, what is not so) of each; the passage is what words may be around a link's own."""
    at = 0
    while token := TOKEN.search(own, at):
        at = token.end()
        if token["target"] is not None:
            wrong = of_link(page, token["text"], token["target"], passage_of(own, token.start()))
        elif token["number"] or count_of(token["word"] or ""):
            at, wrong = of_amount(page, own, token, passage or passage_of(own, token.start()))
        else:
            wrong = of_word(page, token["word"])
        if wrong:
            yield token.start(), wrong


def of_amount(page, own, token, passage):
    """Where a number, in digits or a word, and what belongs to it end, and what is not so."""
    number = Number(own, token) if token["number"] else None
    digits = number.digits if number else str(count_of(token["word"]))
    count = number.of(own) if number else whole_behind(own, token.end())
    if count:
        return count[1], of_count(page, digits, count[0])
    things = THINGS.match(own, token.end())
    if things and "." not in digits:
        return things.end(), of_things(page, digits, things[1])
    return token.end(), of_number(page, number, passage) if number else None


def of_link(page, text, target, passage):
    name, _, anchor = target.partition("#")
    if re.match(r"\w+:", target):
        return None
    try:
        if name.endswith(".json"):
            return of_value(page.pages, text, target)
        if page.pages.has(name):
            said = page_of(page.pages, runs_beside(name))
            return next((wrong for _, wrong in complaints(said, text, passage)), None)
        return of_section(page.pages.section(name or page.name, anchor), text, target, not name or name == "README.md")
    except Lack as why:
        return f"'{target}': {why}"


def of_section(section, text, target, may_tell):
    """Text that leads to what somebody wrote elsewhere; where that tells of a page in git's history, to that page."""
    history = may_tell and "git show" in section
    there = numbers(section)
    for number in numbers(text):
        count = number.of(text)
        if count and (number.digits, count[0]) not in [(other.digits, (other.of(section) or [None])[0]) for other in there]:
            return f"{number.digits} of {count[0]} does not stand in '{target}'"
        if number.measures and not any(number.same(other) for other in there):
            return f"{number} does not stand in '{target}'"
    said = re.search(rf"\b({'|'.join(VERDICTS)})\b", text, re.I)
    return f"'{said[0]}' is a verdict, of which '{target}' is no proof" if said and not history else None


def of_value(pages, text, target):
    name, mark, path = target.partition("#")
    if not mark:
        return f"'{text}' leads to no value in '{name}'" if any(number.measures for number in numbers(text)) else None
    value = pages.find(target)
    said = re.search(rf"\b({'|'.join(VERDICTS)})\b", text, re.I)
    if isinstance(value, str):
        if any(number.measures or number.of(text) for number in numbers(text)):
            return f"'{text}' says a number of '{path}', which is a verdict"
        return None if said and said[1].upper() == value else f"'{text}' is said of '{path}', whose verdict is {value}"
    if said and said[1].lower() != path.rpartition("/")[2]:
        return f"'{text}' is said of '{path}'"
    text = in_digits(text)
    written = numbers(text)
    if not written:
        return f"'{text}' says no number of '{path}', which is {value:g}"
    count = written[0].of(text)
    if count:
        so, values = abs(value / 100 * int(count[0]) - int(written[0].digits)) < 0.5, 2
        if path.startswith("claim/"):
            claim = pages.runs(name).claim(*path.split("/")[1:-1])
            so = (value, len(claim["comparisons"])) == (int(written[0].digits), int(count[0]))
    elif len(written) == 2 and text[written[0].end:written[1].begin].strip() == "±":
        mean, between, comparisons = target.partition("/interval/")
        value, apart = pages.find(mean), pages.find(f"{mean}{between}{comparisons}" if between else f"{mean}/deviation")
        if not written[1].says(apart):
            return f"'±{written[1]}' is said of '{path}', where it is {apart:.10g}"
        so, values = written[0].says(value), 2
    else:
        so, values = written[0].says(value), 1
    if len(written) > values:
        return f"'{text}' says more than one number of '{path}'"
    return None if so else f"'{text}' is said of '{path}', which is {value:.10g}"


def of_count(page, part, whole):
    for claim in page.runs.table["claims"] if page.runs else []:
        verdicts = [item["verdict"] for item in claim["comparisons"]]
        if len(verdicts) == int(whole) and int(part) in [verdicts.count(verdict) for verdict in VERDICTS]:
            return None
    return None if page.generated and (part, whole) in page.generated.counts else \
        f"{part} of {whole} is no count of the generated part, and links to no run"


def of_things(page, digits, thing):
    """Columns, claims and their verdicts are as many as the page has, comparisons as many as one of its claims has."""
    claims = page.runs.table["claims"] if page.runs else []
    there = {"column": {len(page.runs.columns) if page.runs else 0}, "comparison": {len(claim["comparisons"]) for claim in claims}}
    return None if page.runs and int(digits) in there.get(thing, {len(claims)}) else \
        f"the page has not {digits} {thing}s, and no link says which"


def passage_of(own, at):
    """The paragraph, item of a list or row of a table that it stands in."""
    begin = max(own.rfind(start, 0, at) for start in ("\n\n", "\n-", "\n|"))
    ends = [end for end in (own.find(start, at) for start in ("\n\n", "\n-", "\n|")) if end >= 0]
    return own[max(begin, 0):min(ends, default=len(own))]


def of_number(page, number, passage):
    if not number.measures or (page.generated and page.generated.has(number, passage)):
        return None
    return f"{number} does not stand so in the generated part, of a scheme and column that are named here, and links to no run"


def of_word(page, word):
    claims = page.runs.table["claims"] if page.runs else []
    if not word or word.upper() not in VERDICTS or (claims and all(claim["verdict"] == word.upper() for claim in claims)):
        return None
    return f"{word} is not the verdict of every claim: link it to the one that is meant"


def check(pages, path):
    """Lines that say what is not so on the page beside a file of runs, or in README.md."""
    page, written = page_of(pages, path.name), path.with_suffix(".md")
    text = written.read_text()
    start = text.find("\n" + OWN[path.suffix]) + 1 or len(text)
    return [f"{written}: line {text.count(chr(10), 0, start + at) + 1}: {wrong}" for at, wrong in complaints(page, text[start:])]


def faults(locus, path):
    pages = pages_of(locus, path.parent)
    yield from check(pages, path)
    if path.suffix == ".md":
        yield from disagreements(path.parent, path.read_text())


@functools.lru_cache(None)
def pages_of(locus, folder):
    return Pages(locus, folder)


def main():
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    try:
        wrong = [line for path in sys.argv[2:] for line in faults(sys.argv[1], pathlib.Path(path))]
    except (OSError, subprocess.CalledProcessError) as why:
        raise SystemExit(f"check_written.py: {why}") from None
    for line in wrong:
        print(line, file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
