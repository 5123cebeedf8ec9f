# SPDX-License-Identifier: MIT
"""tools/check_written.py and recorded_runs.py: of what somebody writes on recorded pages, what the runs give passes, and not
one digit of it may be another.

Usage: python3 tests/docs/written.py"""
import json
import pathlib
import re
import statistics
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent / "tools"))
import check_written as written  # noqa: E402
import recorded_runs as recorded  # noqa: E402

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


def planted(name="x.json", generated=""):
    """Runs of two columns, three rows and three seeds, without a file."""
    runs = recorded.Runs.__new__(recorded.Runs)
    runs.name, runs.generated = name, generated
    runs.runs = {f"{c}-{r}-{seed}": planted_run(r, c, seed) for c in range(2) for r in range(3) for seed in SEEDS}
    fields = {(column, row): {"runs": [f"{c}-{r}-{seed}" for seed in SEEDS] + ["not trained"], "score": {
        "mean": statistics.fmean(accuracy(r, c, seed) for seed in SEEDS),
        "deviation": statistics.stdev(accuracy(r, c, seed) for seed in SEEDS), "seeds": len(SEEDS)},
        "learning": {"gain": 0.0139 if r else None}}
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
[87.3](x.json#copy-scaled/relative/4/dev.accuracy@300), above ninety (see [there](https://example.org/tasks.md)) from step
[400](x.json#copy-scaled/relative/4/dev.accuracy:above:90) on: [97 of 100](x.json#copy-scaled/relative/4).
A loss of [1.0](x.json#copy-scaled/relative/4/dev.loss@300), below two from step
[300](x.json#copy-scaled/relative/4/dev.loss:below:2) on. All 18 of the 18 trainings.
"""


class Planted(recorded.Pages):
    """A folder of two files of runs, the second better by ten points."""

    def __init__(self, folder="nowhere"):
        super().__init__("locus", pathlib.Path(folder))
        self.planted = {"x.json": planted(generated=GENERATED), "y.json": planted("y.json", GENERATED.replace("5.06", "15.06"))}
        for field in self.planted["y.json"].fields.values():
            if field["score"]:
                field["score"]["mean"] += 0.1

    def runs_of(self, name):
        return self.planted[name] if name in self.planted else super().runs_of(name)

    def has(self, name):
        return written.runs_beside(name) in self.planted


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
        self.pages = Planted()
        self.runs = self.pages.planted["x.json"]

    def told(self, own, name="x.json"):
        return [wrong for _, wrong in written.complaints(written.Page(self.pages, name), own)]

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
                    "rope, copy: 5.06, 5.0600 and [5.1](https://example.org/x.md)", "5.06 is what rope\nhas on\ncopy\n", "15.40 and 15.4 per cent",
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
            self.fails(f"that is **{name.lower()}**", "is not the verdict of every claim")
        self.fails("[so it is](x.json#claim/last)", "'so it is' is said of 'claim/last', whose verdict is OPEN")
        self.fails("[open, 4 of 6](x.json#claim/last)", "says a number of 'claim/last', which is a verdict")
        self.fails("[OPEN](x.json#claim/first)", "is judged for several variants")
        self.passes("OPENED, unsupported, `open`")
        for claim in self.runs.table["claims"]:
            claim["verdict"] = "OPEN"
        self.passes("OPEN")
        self.runs.table["claims"] = []
        self.fails("OPEN", "is not the verdict of every claim")

    def test_links(self):
        for own, says in (("[1](z.json#copy-scaled/rope)", "beside this page is no 'z.json'"),
                          ("[1](../x.json#copy-scaled/rope)", "beside this page is no '../x.json'"),
                          ("[1](x.json#copy)", "the path names no row"), ("[1](x.json#copy/rope)", "there is no column 'copy'"),
                          ("[1](x.json#copy-scaled/algebraic)", "has no row 'algebraic'"),
                          ("[1](x.json#copy-scaled/rope,algebraic)", "has no row 'algebraic'"),
                          ("[1](x.json#copy-scaled/rope,relative/4)", "a difference is of two means"),
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

    def test_other_pages(self):
        """A link to another file of runs or its page is held to that one."""
        self.passes("[5.06](x.json#copy-scaled/rope) and [15.06 ±0.06](y.json#copy-scaled/rope)", "[OPEN](y.json#claim/last)",
                    "rope, copy: [15.06](y.md), [33 %](y.md#any), [18 of 18](y.md) of [another page](y.md)",
                    "[10.00](y.json#copy-scaled/rope,x.json#copy-scaled/rope)", "[8.00](y.json#copy-scaled/sinusoidal,x.json#copy-scaled/rope)",
                    "[−10.0 ±0.14](x.json#copy-scaled/rope,y.json#copy-scaled/rope/interval/1)", "[y.json](y.json)")
        for own, says in (("rope, copy: [5.06](y.md)", "5.06 does not stand so"), ("rope: [15.06](y.md)", "15.06 does not stand so"),
                          ("[17 of 18](y.md)", "is no count"), ("[open](y.md)", "is not the verdict of every claim"),
                          ("[5.06](y.json#copy-scaled/rope)", "which is 15.06"), ("[15.06](y.json)", "leads to no value in 'y.json'"),
                          ("[10.01](y.json#copy-scaled/rope,x.json#copy-scaled/rope)", "which is 10"),
                          ("[10.0 ±0.15](y.json#copy-scaled/rope,x.json#copy-scaled/rope/interval/1)", "'±0.15' is said of"),
                          ("[15.06 ±0.07](y.json#copy-scaled/rope)", "'±0.07' is said of"),
                          ("[15.06, 15.07](y.json#copy-scaled/rope)", "says more than one number")):
            self.fails(own, says)
        self.pages.planted["y.json"].columns["copy-scaled"]["measure"] = "loss"
        self.fails("[10.00](y.json#copy-scaled/rope,x.json#copy-scaled/rope)", "of different measures")

    def test_intervals(self):
        """Student's quantiles of tables, and of numbers of degrees that are not whole; Welch's interval of two means."""
        for freedom, above, quantile in ((1, 0.025, 12.7062), (2, 0.025, 4.3027), (4, 0.0005, 8.6103), (10, 0.05, 1.8125), (30, 0.025, 2.0423)):
            self.assertAlmostEqual(recorded.student(freedom, above), quantile, 3)
        one, other = {"deviation": 0.25, "seeds": 3}, {"deviation": 0.27, "seeds": 3}
        self.assertAlmostEqual(recorded.half_width(one, other, "1"), 2.78299 * 0.212446, 4)  # 3.976 degrees
        self.assertEqual(recorded.half_width({"deviation": 0, "seeds": 3}, {"deviation": 0, "seeds": 3}, "1"), 0)
        for comparisons in ("0", "x", ""):
            with self.assertRaisesRegex(recorded.Lack, "is no number of comparisons"):
                recorded.half_width(one, other, comparisons)
        with self.assertRaisesRegex(recorded.Lack, "no interval"):
            recorded.half_width(one, {"deviation": 0, "seeds": 1}, "1")

    def test_gain(self):
        self.passes("[1.39](x.json#copy-scaled/rope/gain)")
        self.fails("[0.39](x.json#copy-scaled/rope/gain)", "which is 1.39")
        self.fails("[0.39](x.json#copy-scaled/sinusoidal/gain)", "has no curve")

    def test_counts_of_the_page(self):
        self.passes("two columns, all 2 columns, three claims, both of 3 other verdicts, six comparisons, four seeds, every column",
                    "[two are SUPPORTED](x.json#claim/last/supported), [Three](x.json#claim/last/open) other columns, "
                    "[1 of 6](x.json#claim/last/contradicted)", "two of 6, Three of the 6", "[2 of 3, open](https://example.org)")
        for own in ("three columns", "One column", "4 claims", "two claims", "five other comparisons", "7 comparisons"):
            self.fails(own, "the page has not")
        self.fails("four of 6", "4 of 6 is no count")
        for own, says in (("[three](x.json#claim/last/supported)", "which is 2"), ("[two are open](x.json#claim/last/supported)", "is said of"),
                          ("[2 of 7](x.json#claim/last/supported)", "is said of"), ("[3 of 6](x.json#claim/last/supported)", "is said of")):
            self.fails(own, says)

    def test_points(self):
        self.fails("22 points", "22 does not stand so")
        self.assertEqual(len(self.told("22 or 23 points")), 2)
        self.passes("22 pointers", "[2](x.json#copy-scaled/rope,sinusoidal) points or more")
        self.fails("[3](x.json#copy-scaled/rope,sinusoidal) points or more", "which is 2")

    def test_what_people_wrote_elsewhere(self):
        """A link to a file without runs finds its numbers there, and no verdict; one to a page of git's history may."""
        with tempfile.TemporaryDirectory() as folder:
            self.pages = Planted(folder)
            pathlib.Path(folder, "t.md").write_text("# One\n\n1.50 and 3 of 4, open\n\n## Two: [a `b`](c)\n\n2.5\n\n# Three\n\n3.5\n")
            pathlib.Path(folder, "README.md").write_text("## Old\n\nBy git show 1234567:x.md 90.27 ±0.44\n\n## New\n\n9.5 OPEN\n")
            self.passes("[1.5](t.md), [2.5](t.md#one), [3.5](t.md), [3 of 4](t.md), [2.5](t.md#two-a-b), [open 90.27](README.md#old)")
            for own, says in (("[1.6](t.md)", "1.6 does not stand in"), ("[1.5](t.md#two-a-b)", "1.5 does not stand in"), ("[4.5](t.md#one)", "4.5 does"),
                              ("[2 of 4](t.md)", "2 of 4 does not stand in"), ("[3 of 5](t.md)", "3 of 5 does not"), ("[3.5](t.md#one)", "3.5 does not"),
                              ("[open](t.md)", "is a verdict"), ("[OPEN](README.md#new)", "is a verdict"), ("[80.27](README.md#old)", "80.27 does not"),
                              ("[1.5](u.md)", "there is no file 'u.md'"), ("[1.5](t.md#four)", "has no heading 'four'")):
                self.fails(own, says)

            self.assertEqual(self.told("[90.27 ±0.44, open](#old), [5.06](x.json#copy-scaled/rope)", "README.md"), [])
            for own, says in (("90.27", "does not stand so"), ("4 of 6", "is no count"), ("2 columns", "the page has not"), ("open", "is not the verdict"),
                              ("[open](#new)", "is a verdict"), ("[6.06](x.json#copy-scaled/rope)", "which is 5.06"), ("33 %", "does not stand so")):
                told = self.told(own, "README.md")
                self.assertEqual(len(told), 1, own)
                self.assertIn(says, told[0])

    def test_nine_errors(self):
        """What once passed: verdicts in small letters, counts in words, whole points, and links to other pages."""
        with tempfile.TemporaryDirectory() as folder:
            self.pages = Planted(folder)
            pathlib.Path(folder, "README.md").write_text("## Replaced\n\n`git show 7d7e504:x.md`: 90.27 ±0.44\n")
            pathlib.Path(folder, "rules.md").write_text("## Rules\n\nThe last third.\n")
            pathlib.Path(folder, "budgets.md").write_text("It goes from 55.1 to 92.0 %.\n")
            difference = "x.json#copy-scaled/relative,y.json#copy-scaled/sinusoidal/interval/8"
            for true, planted_error in (
                    ("that it is nearly the best is **[open](x.json#claim/last)**", "that it is nearly the best is **supported**"),
                    ("it costs less is **[open](x.json#claim/first/scaled)**", "it costs less is **[contradicted](x.json#claim/first/scaled)**"),
                    ("it is [supported](x.json#claim/first/unit) in [two](x.json#claim/first/unit/supported) columns",
                     "it is [supported](x.json#claim/first/unit) in six columns"),
                    ("its mean is [94](x.json#copy-scaled/relative,sinusoidal) points or more above", "its mean is 84 points or more above"),
                    ("from [55.1 to 92.0 %](budgets.md)", "from [45.1 to 92.0 %](budgets.md)"),
                    ("[90.27 ±0.44](README.md#replaced)", "[80.27 ±0.44](README.md#replaced)"),
                    (f"[84.00 ±0.26]({difference})", f"[90.00 ±0.26]({difference})"),
                    ("rope has copy: [15.06 ±0.06](y.md)", "rope has copy: [16.06 ±0.06](y.md)"),
                    ("gained [1.39](x.json#copy-scaled/rope/gain) points", "gained [0.39](rules.md#rules) points")):
                self.passes(true)
                self.assertNotEqual(self.told(planted_error), [], planted_error)

    def test_runs_of_one_name(self):
        """Other bits of a score or a curve are told, unless README.md names the run; then they have to differ."""
        name, run = "copy-rope-quick-s0-1ff55459", {"scores": {"test": {"loss": 0.1}}, "curves": {"dev.loss": {"steps": [1], "values": [0.5]}}}
        others = ({**run, "scores": {"test": {"loss": 0.1 + 5e-18}}}, {**run, "scores": {"test": {"loss": 0.1, "exact": 1}, "dev": {}}},
                  {**run, "scores": {"test": {"loss": 0.10000000000000002}}}, {**run, "curves": {"dev.loss": {"steps": [1], "values": [0.25]}}})
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            for at, (other, differs) in enumerate(zip(others, (False, False, True, True))):
                for file, of_it in (("a.json", run), ("b.json", other)):
                    (folder / file).write_text(json.dumps({"runs": [{"name": name, **of_it}, {"name": file, **run}]}))
                told = list(recorded.disagreements(folder, "nobody"))
                self.assertEqual(told, [f"{folder / 'a.json'}: {name} has other scores or curves in b.json, and README.md does not name it"] * differs, at)
                told = list(recorded.disagreements(folder, f"here `{name}`"))
                self.assertEqual(told, [] if differs else [f"{folder / 'README.md'}: {name} is named, and differs nowhere"], at)

    def test_lines_of_a_page(self):
        """The part from "## Conditions" on is read; each complaint names file and line; without that part there is none."""
        with tempfile.TemporaryDirectory() as folder:
            page, pages = pathlib.Path(folder, "x.md"), Planted(folder)
            page.write_text("# T\n\n77.7 %\n\n## Conditions, and more\n\nfine\n41 %, fine,\n17 of 18\n")
            told = written.check(pages, page.with_suffix(".json"))
            self.assertEqual([line.partition(": ")[0] + line.partition(": ")[2][:9] for line in told], [f"{page}line 8: 4", f"{page}line 9: 1"])
            page.write_text("# T\n\n77.7 %\n")
            self.assertEqual(written.check(pages, page.with_suffix(".json")), [])
            readme = pathlib.Path(folder, "README.md")
            readme.write_text("77.7 %\n\n## Runs that two pages have\n\n41 %\n")
            self.assertEqual([line[:len(str(readme)) + 8] for line in written.check(pages, readme)], [f"{readme}: line 5"])

    def test_scores_of_other_measures(self):
        column = self.runs.columns["copy-scaled"]
        column.update(better="lower", measure="perplexity", score="loss")
        self.passes("[11.82](x.json#copy-scaled/relative/4)")  # exp(2.47)
        column.update(measure="loss")
        self.passes("[2.47](x.json#copy-scaled/relative/4)", "[0.97](x.json#copy-scaled/relative)")


if __name__ == "__main__":
    unittest.main()
