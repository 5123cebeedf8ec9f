# SPDX-License-Identifier: MIT
"""Recorded tables, the runs behind them, and what a link into such a file names, `table.json#digit/rope`:

  COLUMN/ROW                  the field's score, mean over seeds
  COLUMN/ROW,OTHER            what ROW's mean is above OTHER's: a row of that column, or FILE.json#COLUMN/ROW
  COLUMN/ROW,OTHER/interval/M half of Welch's interval of that difference, which misses with a probability of 0.05/M
  COLUMN/ROW/WHICH            of the score over seeds: mean, deviation, least, most; gain: by how much the development score
                              rose in the last third of the steps; or the score of that seed
  COLUMN/ROW/WHICH/SET/NAME   of another final score: test/exact, depth:3/accuracy
  COLUMN/ROW/SEED/CURVE@STEP  of a curve: dev.loss@700; CURVE:below:VALUE, CURVE:above:VALUE: the first step at which it is
  claim/ID, claim/ID/VARIANT  the verdict; /supported, /open, /contradicted behind it: how many of its comparisons are

Columns and rows have the names that --columns and --rows take. Shares are in per cent. The table that follows from the
runs is what `locus reproduce --from RUNS.json --json` says."""
import functools
import itertools
import json
import math
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile

VERDICTS = ("SUPPORTED", "CONTRADICTED", "OPEN")


class Lack(Exception):
    """Why a link names nothing."""


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

    def claim(self, identity, variant=None):
        found = [claim for claim in self.table["claims"]
                 if claim["id"] == identity and (variant is None or claim.get("embedding_init", "") == variant)]
        if len(found) != 1:
            raise Lack(f"the claim '{identity}' is judged for several variants" if found else f"there is no claim '{identity}'")
        return found[0]

    def column(self, name):
        if name not in self.columns:
            raise Lack(f"there is no column '{name}'")
        return self.columns[name]

    def find(self, path):
        """The number, or the verdict's name, that a path to no difference leads to."""
        first, *rest = path.split("/")
        if first == "claim" and rest and rest[-1].upper() in VERDICTS:
            *rest, counted = rest
        else:
            counted = None
        if len(rest) > 4 or (first == "claim" and len(rest) > 2):
            raise Lack("the path has too many parts")
        if not rest:
            raise Lack("the path names no row")
        if first == "claim":
            claim = self.claim(*rest)
            return [item["verdict"] for item in claim["comparisons"]].count(counted.upper()) if counted else claim["verdict"]
        column, (row, *rest) = self.column(first), rest
        which, *score = rest or ["mean"]
        if which == "gain" and not score:
            return self.gain(column, row)
        if which in ("mean", "deviation") and not score:  # the field's own may have left its worst seed out
            return self.score(column, row)[which]
        if which in ("mean", "deviation", "least", "most"):
            return self.of_seeds(column, row, which, score)
        return self.of_run(column, self.run_of(column, row, which), score)

    def field(self, column, row):
        if (column["name"], row) not in self.fields:
            raise Lack(f"the column '{column['name']}' has no row '{row}'")
        return self.fields[column["name"], row]

    def score(self, column, row):
        """A field's mean, deviation and number of seeds."""
        score = self.field(column, row)["score"]
        if score is None:
            raise Lack(f"'{column['name']}/{row}' has not been measured")
        scale = 100 if column["better"] == "higher" else 1
        return {"mean": score["mean"] * scale, "deviation": score["deviation"] * scale, "seeds": score["seeds"]}

    def gain(self, column, row):
        gain = self.field(column, row)["learning"]["gain"]
        if gain is None:
            raise Lack(f"'{column['name']}/{row}' has no curve of what is scored")
        return gain * (100 if column["better"] == "higher" else 1)

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


class Pages:
    """Recorded pages of a folder, each looked at when something leads there."""

    def __init__(self, locus, folder):
        self.locus, self.folder = locus, folder
        self.runs = functools.lru_cache(None)(self.runs_of)

    def runs_of(self, name):
        if "/" in name or not (self.folder / name).exists():
            raise Lack(f"beside this page is no '{name}'")
        return Runs(self.locus, self.folder / name)

    def has(self, name):
        """Whether it is a page beside a file of runs."""
        return "/" not in name and name.endswith(".md") and (self.folder / runs_beside(name)).exists()

    def section(self, name, anchor):
        """A text file, or what stands there below a heading."""
        if not (self.folder / name).is_file():
            raise Lack(f"there is no file '{name}'")
        lines = (self.folder / name).read_text(errors="replace").split("\n")
        heads = [(at, len(line) - len(line.lstrip("#")), slug(line)) for at, line in enumerate(lines) if line.startswith("#")]
        for at, depth, names in heads if anchor else []:
            if names == anchor:
                end = next((other for other, level, _ in heads if other > at and level <= depth), len(lines))
                return "\n".join(lines[at:end])
        if anchor:
            raise Lack(f"'{name}' has no heading '{anchor}'")
        return "\n".join(lines)

    def find(self, target):
        """The number, or the verdict's name, that a link into a file of runs leads to."""
        name, _, path = target.partition("#")
        one, comma, other = path.partition(",")
        if not comma:
            return self.runs(name).find(path)
        column, _, row = one.partition("/")
        far, elsewhere, other = other.rpartition("#")
        other, *rest = (other if elsewhere else f"{column}/{other}").split("/interval/")
        there = self.score(far if elsewhere else name, other)
        here = self.score(name, one)
        if here.pop("measure") != there.pop("measure"):
            raise Lack("the two are of different measures")
        return half_width(here, there, rest[0]) if rest else here["mean"] - there["mean"]

    def score(self, name, path):
        column, *row = path.split("/")
        if len(row) != 1:
            raise Lack("a difference is of two means")
        runs = self.runs(name)
        column = runs.column(column)
        return {"measure": column["measure"], **runs.score(column, row[0])}


def runs_beside(name):
    return name[:-len(".md")] + ".json"


def slug(heading):
    """A heading's anchor, as GitHub makes it."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.lstrip("#").strip()).lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def half_width(one, other, comparisons):
    """Half of Welch's interval, which misses with a probability of 0.05 / comparisons."""
    if not re.fullmatch(r"[1-9]\d*", comparisons):
        raise Lack(f"'{comparisons}' is no number of comparisons")
    if min(one["seeds"], other["seeds"]) < 2:
        raise Lack("with one seed there is no interval")
    shares = [(side["deviation"] ** 2 / side["seeds"], side["seeds"] - 1) for side in (one, other)]
    variance = sum(share for share, _ in shares)
    freedom = variance ** 2 / sum(share ** 2 / free for share, free in shares) if variance else 1
    return student(freedom, 0.025 / int(comparisons)) * math.sqrt(variance)


def student(freedom, above):
    """What Student's t exceeds with that probability: tan θ √ν, where cos^(ν − 1) has that half share of its integral
    between θ and π/2. By Simpson's rule and halving."""
    def integral(begin, panels=1000):
        step = (math.pi / 2 - begin) / panels
        return step / 3 * sum((1 if at in (0, panels) else 2 + 2 * (at % 2)) * max(math.cos(begin + at * step), 0) ** (freedom - 1)
                              for at in range(panels + 1))
    low, high, wanted = 0, math.pi / 2, 2 * above * integral(0)
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if integral(middle) > wanted else (low, middle)
    return math.tan(low) * math.sqrt(freedom)


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


# ---- runs that two files have ----

def agree(one, other):
    """Whether two runs have the same in every score and curve that both have."""
    scores = all(mine[name] == other["scores"][kind][name]
                 for kind, mine in one["scores"].items() if kind in other["scores"]
                 for name in mine.keys() & other["scores"][kind].keys())
    return scores and all(one["curves"][name] == other["curves"][name] for name in one["curves"].keys() & other["curves"].keys())


def disagreements(folder, readme):
    """Lines that say which runs of one name differ between files and are not named, or are named and do not."""
    files = {path.name: {run["name"]: run for run in json.loads(path.read_text())["runs"]}
             for path in sorted(folder.glob("*.json"))}
    named, differ = set(re.findall(r"`([^` ]+-s\d+-[0-9a-f]{8})`", readme)), set()
    for (one, runs), (other, others) in itertools.combinations(files.items(), 2):
        for name in sorted(runs.keys() & others.keys()):
            if not agree(runs[name], others[name]):
                differ.add(name)
                if name not in named:
                    yield f"{folder / one}: {name} has other scores or curves in {other}, and README.md does not name it"
    for name in sorted(named - differ):
        yield f"{folder / 'README.md'}: {name} is named, and differs nowhere"
