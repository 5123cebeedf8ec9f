# SPDX-License-Identifier: MIT
"""Holds what somebody wrote below a recorded page's generated part to the page's runs.

In it, from `## Conditions` on,

  a number with a decimal point or a per cent sign (all of "52, 74 and 100 %") must stand so in the generated part, with
    its sign if it has one; in a row of a scheme only if the passage names scheme and column;
  a count "18 of 20" must stand so there, or be how a claim's comparisons are counted;
  a verdict in capitals must be that of every claim of the page;

or be the text of a link: to elsewhere, or into the page's own runs, `[50.3](table.json#digit/rope)`, which is looked up
and must give the same when it is rounded to the digits written:

  COLUMN/ROW                  the field's score, mean over seeds
  COLUMN/ROW,OTHER            what ROW's mean is above OTHER's
  COLUMN/ROW/WHICH            of the score over seeds: mean, deviation, least, most; or the score of that seed
  COLUMN/ROW/WHICH/SET/NAME   of another final score: test/exact, depth:3/accuracy
  COLUMN/ROW/SEED/CURVE@STEP  of a curve: dev.loss@700; CURVE:below:VALUE, CURVE:above:VALUE: the first step at which it is
  claim/ID, claim/ID/VARIANT  the verdict

Columns and rows have the names that --columns and --rows take. Shares are in per cent. Words in `code` are not looked
at. The table that follows from the runs is what `locus reproduce --from RUNS.json --json` says.

Usage: python3 tools/check_written.py LOCUS RUNS.json...    names what is not so, line by line, with status 1"""
import json
import math
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

OWN = "## Conditions"
VERDICTS = ("SUPPORTED", "CONTRADICTED", "OPEN")
SPACE = "[ \n\u00a0\u202f]*"
DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?"
PERCENT = rf"{SPACE}(?:%|per cent)"
NO_NUMBER = rf"\d{{4}}-\d+(?:-\d+)*(?!\d|\.\d|{PERCENT})|\d+(?:\.\d+){{2,}}"  # dates, versions
JOINT = r"(?:, and |, | and | or | to |–|/| / )"
LISTED = re.compile(rf"(?:{JOINT}(?!{NO_NUMBER}){DIGITS})*{PERCENT}")
COUNTED = re.compile(rf"{SPACE}of\b{SPACE}(?:(?:the|all) {SPACE})?(?!{NO_NUMBER})({DIGITS})(?!\d|[.,]\d|{PERCENT})")
NUMBER = re.compile(rf"(?<![\w.])(?:{NO_NUMBER}|(?P<number>{DIGITS}))")
TOKEN = re.compile(rf"`[^`]*`|\[(?P<text>[^\]\[]*)\]\((?P<target>[^) \n]*)\)|{NO_NUMBER}|(?P<number>{DIGITS})|(?P<word>\w+)")


class Lack(Exception):
    """Why a link names nothing."""


# ---- numbers as people write them ----

class Number:
    """One at a match in a text: its digits without commas, decimals, sign ("-" of both forms, "+" or ""), whether it or
    the list that it begins is of per cent, and whether its own unit is that."""

    def __init__(self, text, match):
        self.begin, self.end = match.span()
        self.digits = match[0].replace(",", "")
        self.decimals = len(self.digits.partition(".")[2])
        self.sign = sign_before(text, self.begin)
        self.percent = re.compile(PERCENT).match(text, self.end) is not None
        self.listed = LISTED.match(text, self.end) is not None

    def __str__(self):
        return self.sign + self.digits

    def same(self, other):
        """100 and 100.00 are; 5 and −5 only if this one has no sign."""
        return shortened(self.digits) == shortened(other.digits) and self.sign in ("", other.sign)

    def of(self, text):
        """"18 of 20": the digits of 20, and where they end; or None."""
        found = None if self.decimals else COUNTED.match(text, self.end)
        return (found[1].replace(",", ""), found.end()) if found and "." not in found[1] else None

    def says(self, value):
        """Whether it is the value, rounded to as many digits."""
        rounded = f"{abs(value):.{self.decimals}f}"
        return rounded == self.digits and (float(rounded) == 0 or (value < 0) == (self.sign == "-"))


def shortened(digits):
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def sign_before(text, begin):
    sign = text[begin - 1:begin].replace("−", "-")
    return sign if sign in ("-", "+") and (begin == 1 or text[begin - 2] in " \n(|*[=") else ""


def numbers(text):
    return [Number(text, match) for match in NUMBER.finditer(text) if match["number"]]


def names(passage, word):
    """Whether a word or several stand there, in capitals or not, and not as a part of others."""
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", passage, re.I) is not None


# ---- the generated part ----

class Generated:
    """Its numbers with a decimal point or a per cent sign, each with the scheme and column that it is of, if any; its
    counts."""

    def __init__(self, text):
        self.numbers, self.counts, head = [], set(), None
        for line in text.split("\n"):
            head = cells(line) if line.startswith("| scheme") else head if line.startswith("|") else None
            row = cells(line)
            scheme = row[1] if head and len(row) > 1 and not row[1].startswith("*") else None
            for number in numbers(line):
                if number.decimals or number.percent:
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


# ---- what links name ----

class Runs:
    """A recorded table and the runs behind it."""

    def __init__(self, locus, path):
        self.name = path.name
        self.runs = {run["name"]: run for run in json.loads(path.read_text())["runs"]}
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder, path.name)
            shutil.copy(path, copy)
            made = subprocess.run([locus, "reproduce", "--from", copy, "--json", "--quiet"], stdout=subprocess.PIPE, check=True)
            self.table = json.loads(made.stdout)
            self.generated = copy.with_suffix(".md").read_text()
        self.columns = {column["name"]: column for column in self.table["columns"]}
        self.fields = {(field["column"], row["name"]): field for row in self.table["rows"] for field in row["fields"]}

    def verdict(self, identity, variant=None):
        found = [claim for claim in self.table["claims"]
                 if claim["id"] == identity and (variant is None or claim.get("embedding_init", "") == variant)]
        if len(found) != 1:
            raise Lack(f"the claim '{identity}' is judged for several variants" if found else f"there is no claim '{identity}'")
        return found[0]["verdict"]

    def find(self, path):
        """The number, or the verdict's name, that a path leads to."""
        first, *rest = path.split("/")
        if len(rest) > 4 or (first == "claim" and len(rest) > 2):
            raise Lack("the path has too many parts")
        if not rest:
            raise Lack("the path names no row")
        if first == "claim":
            return self.verdict(*rest)
        if first not in self.columns:
            raise Lack(f"there is no column '{first}'")
        column, (row, *rest) = self.columns[first], rest
        if "," in row:
            if rest:
                raise Lack("a difference has only a mean")
            one, other = (self.of_field(column, name, "mean") for name in row.split(",", 1))
            return one - other
        which, *score = rest or ["mean"]
        if which in ("mean", "deviation") and not score:  # the field's own may have left its worst seed out
            return self.of_field(column, row, which)
        if which in ("mean", "deviation", "least", "most"):
            return self.of_seeds(column, row, which, score)
        return self.of_run(column, self.run_of(column, row, which), score)

    def field(self, column, row):
        if (column["name"], row) not in self.fields:
            raise Lack(f"the column '{column['name']}' has no row '{row}'")
        return self.fields[column["name"], row]

    def of_field(self, column, row, which):
        score = self.field(column, row)["score"]
        if score is None:
            raise Lack(f"'{column['name']}/{row}' has not been measured")
        return score[which] * (100 if column["better"] == "higher" else 1)

    def done(self, column, row):
        return [self.runs[name] for name in self.field(column, row)["runs"] if name in self.runs]

    def run_of(self, column, row, seed):
        if not re.fullmatch(r"\d+", seed):
            raise Lack(f"'{seed}' is no seed, nor mean, deviation, least or most")
        found = [run for run in self.done(column, row) if run["seed"] == int(seed)]
        if not found:
            raise Lack(f"there is no run of seed {seed}")
        return found[0]

    def of_seeds(self, column, row, which, score):
        values = [self.of_run(column, run, score) for run in self.done(column, row)]
        if not values:
            raise Lack(f"'{column['name']}/{row}' has not been measured")
        if which == "deviation":
            return statistics.stdev(values) if len(values) > 1 else 0
        return {"mean": statistics.fmean, "least": min, "most": max}[which](values)

    @staticmethod
    def of_run(column, run, score):
        """As it is printed: the column's score, SET and NAME of another, or a point of a curve."""
        if len(score) == 1:
            return point_of(run, score[0])
        kind, name = score or ("test", column["score"])
        value = run["scores"].get(kind, {}).get(name)
        if value is None:
            raise Lack(f"there is no score '{kind}/{name}'")
        return math.exp(value) if not score and column["measure"] == "perplexity" else scale_of(name) * value


def scale_of(name):
    return 100 if "accuracy" in name or "exact" in name else 1


def number_of(text):
    try:
        return float(text)
    except ValueError:
        raise Lack(f"'{text}' is no number") from None


def point_of(run, asked):
    name = re.split("[@:]", asked)[0]
    curve = run["curves"].get(name, {"steps": [], "values": []})
    rest, scale = asked[len(name):], scale_of(name)
    for step, value in zip(curve["steps"], curve["values"]):
        if value is not None and rest == f"@{step}":
            return scale * value
        for word, beyond in ((":below:", lambda limit: value < limit), (":above:", lambda limit: value > limit)):
            if value is not None and rest.startswith(word) and beyond(number_of(rest[len(word):]) / scale):
                return step
    raise Lack(f"no point of the curves is '{asked}'")


# ---- the part written by hand ----

def complaints(runs, generated, own):
    """(place, what is not so) of each."""
    at = 0
    while token := TOKEN.search(own, at):
        at = token.end()
        if token["target"] is not None:
            wrong = of_link(runs, token["text"], token["target"])
        elif token["number"]:
            number = Number(own, token)
            count = None if number.percent else number.of(own)
            at = count[1] if count else at
            wrong = of_count(runs, generated, number.digits, count[0]) if count else of_number(generated, own, number)
        else:
            wrong = of_word(runs, token["word"])
        if wrong:
            yield token.start(), wrong


def of_link(runs, text, target):
    name, mark, path = target.partition("#")
    if not mark or not name.endswith(".json"):
        return None  # from elsewhere, and it says where
    if name != runs.name:
        return f"'{target}' is not of this page's runs, '{runs.name}'"
    try:
        value = runs.find(path)
    except Lack as why:
        return f"'{path}': {why}"
    if isinstance(value, str):
        said = re.search(rf"({'|'.join(VERDICTS)})(?!\w)", text, re.I)
        return None if said and said[1].upper() == value else f"'{text}' is said of '{path}', whose verdict is {value}"
    written = numbers(text)
    if not written:
        return f"'{text}' says no number of '{path}', which is {value:g}"
    count = written[0].of(text)
    if abs(value / 100 * int(count[0]) - int(written[0].digits)) < 0.5 if count else written[0].says(value):
        return None
    return f"'{text}' is said of '{path}', which is {value:.10g}"


def of_count(runs, generated, part, whole):
    for claim in runs.table["claims"]:
        verdicts = [item["verdict"] for item in claim["comparisons"]]
        if len(verdicts) == int(whole) and int(part) in [verdicts.count(verdict) for verdict in VERDICTS]:
            return None
    return None if (part, whole) in generated.counts else \
        f"{part} of {whole} is no count of the generated part, and links to no run"


def passage_of(own, at):
    """The paragraph, item of a list or row of a table that it stands in."""
    begin = max(own.rfind(start, 0, at) for start in ("\n\n", "\n-", "\n|"))
    ends = [end for end in (own.find(start, at) for start in ("\n\n", "\n-", "\n|")) if end >= 0]
    return own[max(begin, 0):min(ends, default=len(own))]


def of_number(generated, own, number):
    if not (number.decimals or number.listed) or generated.has(number, passage_of(own, number.begin)):
        return None
    return f"{number} does not stand so in the generated part, of a scheme and column that are named here, and links to no run"


def of_word(runs, word):
    if word not in VERDICTS or (runs.table["claims"] and all(claim["verdict"] == word for claim in runs.table["claims"])):
        return None
    return f"{word} is not the verdict of every claim: link it to the one that is meant"


def check(locus, path):
    """Lines that say what is not so on the page beside a file of runs."""
    runs, page = Runs(locus, path), path.with_suffix(".md")
    text = page.read_text()
    start = text.find("\n" + OWN) + 1 or len(text)
    generated = Generated(runs.generated)
    return [f"{page}: line {text.count(chr(10), 0, start + at) + 1}: {wrong}"
            for at, wrong in complaints(runs, generated, text[start:])]


def main():
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    try:
        wrong = [line for path in sys.argv[2:] for line in check(sys.argv[1], pathlib.Path(path))]
    except (OSError, subprocess.CalledProcessError) as why:
        raise SystemExit(f"check_written.py: {why}") from None
    for line in wrong:
        print(line, file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
