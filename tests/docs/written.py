# SPDX-License-Identifier: MIT
"""tools/check_written.py: of what somebody writes below a page's generated part, what the runs give passes, and not one
digit of it may be another.

Usage: python3 tests/docs/written.py"""
import pathlib
import re
import statistics
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools"))
import check_written as written  # noqa: E402

SEEDS = (4, 5, 6)
ROWS = ("sinusoidal", "rope", "relative")
COLUMNS = ("copy-scaled", "reverse-scaled")
VERDICTS = {("first", "unit"): "SUPPORTED", ("first", "scaled"): "OPEN", ("last", ""): "OPEN"}


def accuracy(row, column, seed):
    """Relative learns copy, the others stay at chance; nobody is like another."""
    level = 0.97 if (row, column) == (2, 0) else 0.03 + 0.01 * (2 * row) if row < 2 else 0.06
    return level + 0.0134 * column + 0.0006 * (seed - SEEDS[0])


def planted_run(row, column, seed):
    score = accuracy(row, column, seed)
    steps = range(100, 1600, 100)
    return {"seed": seed, "scores": {"test": {"accuracy": score, "loss": 1.5 + score, "exact": score / 2, "lost": None}},
            "curves": {"dev.accuracy": {"steps": list(steps), "values": [(0.9 if step < 400 else 1) * score for step in steps]},
                       "dev.loss": {"steps": [100, 200, 300], "values": [None, 2.0, 1.0]}}}


def planted():
    """Runs of two columns, three rows and three seeds, without a file."""
    runs = written.Runs.__new__(written.Runs)
    runs.name = "x.json"
    runs.runs = {f"{c}-{r}-{seed}": planted_run(r, c, seed) for c in range(2) for r in range(3) for seed in SEEDS}
    fields = {(column, row): {"runs": [f"{c}-{r}-{seed}" for seed in SEEDS] + ["not trained"], "score": {
        "mean": statistics.fmean(accuracy(r, c, seed) for seed in SEEDS),
        "deviation": statistics.stdev(accuracy(r, c, seed) for seed in SEEDS)}}
        for c, column in enumerate(COLUMNS) for r, row in enumerate(ROWS)}
    fields["reverse-scaled", "relative"] = {"runs": [], "score": None}
    runs.fields = fields
    runs.columns = {name: {"name": name, "better": "higher", "score": "accuracy", "measure": "accuracy"} for name in COLUMNS}
    items = [{"verdict": verdict} for verdict in ("SUPPORTED", "SUPPORTED", "OPEN", "OPEN", "OPEN", "CONTRADICTED")]
    runs.table = {"claims": [{"id": identity, "verdict": verdict, "comparisons": items, **({"embedding_init": variant} if variant else {})}
                             for (identity, variant), verdict in VERDICTS.items()]}
    return runs


GENERATED = """| scheme: measured (published) | copy, scaled | reverse @2 |
|---|---|---|
| *chance* | 15.40 | 9.75 |
| sinusoidal | 3.06 ±0.06 | 4.40 |
| rope | 5.06 ±0.06 | 6.40 |
| relative, no decay | **97.06** (13.80 ±3.5) | 7.4 |

18 of 18 trainings; -2.5 nats, 33 %.

| rope | 11.50 |
"""

TRUE = """Rope has 5.06 ±0.06 % of copy, sinusoidal 3.06 %, relative, no decay, 97.06 % (published: 13.80 ±3.5); at chance is below
15.40. By seed relative has [97.00](x.json#copy-scaled/relative/4), [97.06](x.json#copy-scaled/relative/5) and
[97.1 %](x.json#copy-scaled/relative/6), from [97.0](x.json#copy-scaled/relative/least) to
[97.12](x.json#copy-scaled/relative/most), [0.060](x.json#copy-scaled/relative/deviation) apart;
[48.50](x.json#copy-scaled/relative/4/test/exact) whole, a mean of [48.53](x.json#copy-scaled/relative/mean/test/exact),
[0.03](x.json#copy-scaled/relative/deviation/test/exact) apart, a loss of [2.4700](x.json#copy-scaled/relative/4/test/loss).
Rope is [2.00](x.json#copy-scaled/rope,sinusoidal) above sinusoidal, which is
[−94.0](x.json#copy-scaled/sinusoidal,relative) above relative. After its third evaluation it had
[87.3](x.json#copy-scaled/relative/4/dev.accuracy@300), above ninety (see [there](../tasks.md)) from step
[400](x.json#copy-scaled/relative/4/dev.accuracy:above:90) on: [97 of 100](x.json#copy-scaled/relative/4).
A loss of [1.0](x.json#copy-scaled/relative/4/dev.loss@300), below two from step
[300](x.json#copy-scaled/relative/4/dev.loss:below:2) on. All 18 of the 18 trainings.
"""


def one(text, at=0):
    return written.Number(text, written.NUMBER.match(text, at))


class Numbers(unittest.TestCase):
    def test_dates_and_versions_are_none(self):
        for text, is_number in (("2026-11-21", False), ("202-11", True), ("20265-11", True), ("2026-11 %", True), ("1000-1234.5", True), ("2026-x", True),
                                ("1.2.3", False), ("7-8", True), ("2026 %-1", True)):
            self.assertEqual(written.NUMBER.match(text)["number"] is not None, is_number, text)

    def test_which_come_next(self):
        self.assertEqual([number.digits for number in written.numbers("a1 .2 _3 v4x 1.2.3 5x, 6 on 2026-11-21, 7")], ["5", "6", "7"])

    def test_same(self):
        for wanted, found, same in (("100", "100.00", True), ("0.50", "0.5", True), ("1,000", "1000.0", True), ("1", "10", False),
                                    ("0.5", "0.05", False), ("0.10", "0.101", False), (" 5", "-5", True), ("01.93", "1.93", False), ("-5", " 5", False),
                                    ("-5", "-5.0", True), ("+5", "-5", False), (" 5", "+5", True)):
            numbers = [one(text, 1 if text[0] in " +-" else 0) for text in (wanted, found)]
            self.assertEqual(numbers[0].same(numbers[1]), same, (wanted, found))

    def test_signs(self):
        for text, sign in (("-5", "-"), ("+5", "+"), (" -5", "-"), ("(-5", "-"), ("|-5", "-"), ("*+5", "+"), ("[-5", "-"), ("=-5", "-"),
                           ("\n-5", "-"), ("−5", "-"), (" −5", "-"), ("5", ""), (" 5", ""), ("a+5", ""), (")-5", ""), ("--5", ""),
                           ("4−5", ""), ("4–5", ""), ("4-5", "")):
            self.assertEqual(one(text, len(text) - 1).sign, sign, text)

    def test_groups(self):
        for text, digits, decimals in (("1,234,567", "1234567", 0), ("1,23", "1", 0), ("1,2345", "1", 0), ("12,345.67", "12345.67", 2),
                                       ("0.123,456", "0.123", 3), ("7.", "7", 0), ("7.x", "7", 0), ("1,23a", "1", 0), ("3.140", "3.140", 3)):
            number = one(text)
            self.assertEqual((number.digits, number.decimals), (digits, decimals), text)

    def test_per_cent_is_that_of_a_list(self):
        for text, listed in (("5 %", True), ("5", False), ("5%", True), ("5 per cent", True), ("5 per day", False), ("5\u00a0%", True),
                             ("5\u202f%", True), ("5\n%", True), ("5, 6 and 7 %", True), ("5, 6 and 7", False), ("5, and 7 %", True),
                             ("5 or 7 %", True), ("5 to 7 %", True), ("5–7 %", True), ("5/7 %", True), ("5 / 7 %", True),
                             ("5, x 7 %", False), ("5 and a 7 %", False), ("5; 7 %", False), ("5, 6, 7, 8, 9 %", True),
                             ("5 to 2026-11 of 7 %", False)):
            self.assertEqual(one(text).listed, listed, text)

    def test_shares(self):
        for text, of in (("18 of 20", "20"), ("18 of the 20", "20"), ("18 of all 1,020", "1020"), ("18\nof  20", "20"), ("18 of\u00a020", "20"),
                         ("18.0 of 20", None), ("18 of 20.5", None), ("18 of 20 %", None), ("18 of 1,020 %", None), ("18 off 20", None), ("18 of them", None),
                         ("18 of all", None), ("18 to 20", None), ("18 of a 20", None), ("18", None), ("18 of their 20", None)):
            found = one(text).of(text)
            self.assertEqual(found and found[0], of, text)


class Pages(unittest.TestCase):
    def setUp(self):
        self.runs = planted()
        self.generated = written.Generated(GENERATED)

    def told(self, own):
        return [wrong for _, wrong in written.complaints(self.runs, self.generated, own)]

    def passes(self, *texts):
        for own in texts:
            self.assertEqual(self.told(own), [], own)

    def fails(self, own, says):
        told = self.told(own)
        self.assertEqual(len(told), 1, own)
        self.assertIn(says, told[0])

    def test_every_digit(self):
        """What is true passes; every digit that stands for a result, changed by one, is noticed; where a link leads is its
        own text."""
        self.passes(TRUE)
        targets = [match.span() for match in re.finditer(r"\(x\.json#[^)]*\)", TRUE)]
        changed = 0
        for match in re.finditer(r"\d", TRUE):
            at = match.start()
            if not any(begin < at < end for begin, end in targets):
                other = TRUE[:at] + str((int(TRUE[at]) + 1) % 10) + TRUE[at + 1:]
                self.assertNotEqual(self.told(other), [], TRUE[at - 20:at + 20])
                changed += 1
        self.assertGreater(changed, 60)

    def test_numbers(self):
        self.passes("5,000 steps of 32, 2026-11-21, locus 0.1.0, `0.123` and N(0, 1), 2 to 3 seeds, 100 steps",
                    "rope, copy: 5.06, 5.0600 and [5.1](elsewhere.md)", "5.06 is what rope\nhas on\ncopy\n", "15.40 and 15.4 per cent",
                    "33 % and 33", "9.75 and 11.5", "-2.5, 2.5", "reverse of rope: 6.4, of relative, no decay: 7.40")
        self.fails("2026-1.5 nats", "1.5 does not stand so")
        for own in ("rope: 5.06", "copy: 5.06, by Europe", "rope, copy: 5.05", "41 %", "41\u00a0%", "rope, copy: 6.40",
                    "rope, copy: −5.06", "rope, copy: +5.06", "+2.5", "5.06 is what rope has\n\non copy", "5.06 is what rope has\n- on copy",
                    "5.06 is what rope has\n| on copy", "- copy\n- rope: 5.06", "relative on copy: 97.06", "33.5", "1,234.5"):
            self.fails(own, "does not stand so in the generated part")
        self.assertEqual(len(self.told("41, 42 and 43 %")), 3)
        self.assertEqual(len(self.told("41 to 43 %, 5 steps")), 2)
        self.fails("1,234.5", "1234.5 does not")
        self.fails("rope, copy: −5.06", "-5.06 does not")

    def test_counts(self):
        self.passes("18 of 18 trainings", "2 of 6, 3 of the 6, 1 of all 6")
        for own in ("17 of 18", "18 of 19", "4 of 6", "2 of 5"):
            self.fails(own, "is no count of the generated part")
        self.passes("[97 of 100](x.json#copy-scaled/relative/4)")
        self.fails("[90 of 100](x.json#copy-scaled/relative/4)", "'90 of 100' is said of")

    def test_verdicts(self):
        for (identity, variant), verdict in VERDICTS.items():
            path = f"x.json#claim/{identity}" + (f"/{variant}" if variant else "")
            for name in written.VERDICTS:
                told = self.told(f"**[{name}]({path})**") + self.told(f"[so it is {name.lower()}, they say]({path})")
                self.assertEqual(len(told), 0 if name == verdict else 2)
        for name in written.VERDICTS:
            self.fails(name, "is not the verdict of every claim")
        self.fails("[so it is](x.json#claim/last)", "'so it is' is said of 'claim/last', whose verdict is OPEN")
        self.fails("[OPEN](x.json#claim/first)", "is judged for several variants")
        self.passes("an open question, OPENED, UNSUPPORTED")
        for claim in self.runs.table["claims"]:
            claim["verdict"] = "OPEN"
        self.passes("OPEN")
        self.runs.table["claims"] = []
        self.fails("OPEN", "is not the verdict of every claim")

    def test_links(self):
        for own, says in (("[1](y.json#copy-scaled/rope)", "'y.json#copy-scaled/rope' is not of this page's runs, 'x.json'"),
                          ("[1](x.json#copy)", "the path names no row"), ("[1](x.json#copy/rope)", "there is no column 'copy'"),
                          ("[1](x.json#copy-scaled/algebraic)", "has no row 'algebraic'"),
                          ("[1](x.json#copy-scaled/rope,algebraic)", "has no row 'algebraic'"),
                          ("[1](x.json#copy-scaled/rope,relative/4)", "a difference has only a mean"),
                          ("[1](x.json#reverse-scaled/relative)", "'reverse-scaled/relative' has not been measured"),
                          ("[1](x.json#reverse-scaled/relative/least)", "'reverse-scaled/relative' has not been measured"),
                          ("[1](x.json#copy-scaled/rope/7)", "there is no run of seed 7"),
                          ("[1](x.json#copy-scaled/rope/four)", "'four' is no seed"),
                          ("[1](x.json#copy-scaled/rope/4/test/length)", "there is no score 'test/length'"),
                          ("[1](x.json#copy-scaled/rope/4/test/lost)", "there is no score 'test/lost'"),
                          ("[1](x.json#copy-scaled/rope/4/dev.accuracy@150)", "no point of the curves is 'dev.accuracy@150'"),
                          ("[1](x.json#copy-scaled/rope/4/dev.loss@100)", "no point of the curves is 'dev.loss@100'"),
                          ("[1](x.json#copy-scaled/rope/4/dev.accuracy:above:90)", "no point of the curves"),
                          ("[1](x.json#copy-scaled/rope/4/dev.accuracy:above:x)", "'x' is no number"),
                          ("[1](x.json#copy-scaled/rope/4/a/b/c)", "too many parts"), ("[1](x.json#claim/a/b/c)", "too many parts"),
                          ("[1](x.json#claim/none)", "there is no claim 'none'"), ("[much](x.json#copy-scaled/rope)", "'much' says no number of"),
                          ("[+2.00](x.json#copy-scaled/sinusoidal,rope)", "which is -2"), ("[2.0](x.json#copy-scaled/sinusoidal,rope)", "which is -2")):
            self.fails(own, says)
        for which in ("mean", "deviation", "least", "most"):
            self.fails(f"[0](x.json#copy-scaled/rope/{which}/test/length)", "there is no score 'test/length'")
        self.passes("[anything, 99.99 %](https://example.org/) and [1] and [x](", "[0](x.json#copy-scaled/rope,rope)")

    def test_lines_of_a_page(self):
        """The part from "## Conditions" on is read; each complaint names file and line; without that part there is none."""
        self.runs.generated = GENERATED
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(written, "Runs", lambda locus, path: self.runs):
            page = pathlib.Path(folder, "x.md")
            page.write_text("# T\n\n77.7 %\n\n## Conditions, and more\n\nfine\n41 %, fine,\n17 of 18\n")
            told = written.check("locus", page.with_suffix(".json"))
            self.assertEqual([line.partition(": ")[0] + line.partition(": ")[2][:9] for line in told], [f"{page}line 8: 4", f"{page}line 9: 1"])
            page.write_text("# T\n\n77.7 %\n")
            self.assertEqual(written.check("locus", page.with_suffix(".json")), [])

    def test_scores_of_other_measures(self):
        column = self.runs.columns["copy-scaled"]
        column.update(better="lower", measure="perplexity", score="loss")
        self.passes("[11.82](x.json#copy-scaled/relative/4)")  # exp(2.47)
        column.update(measure="loss")
        self.passes("[2.47](x.json#copy-scaled/relative/4)", "[0.97](x.json#copy-scaled/relative)")


if __name__ == "__main__":
    unittest.main()
