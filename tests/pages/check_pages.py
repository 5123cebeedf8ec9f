# SPDX-License-Identifier: MIT
"""Pages in a headless Chromium: nothing is wider than the window, the console stays silent, and what the script adds does
what it says, by pointer and by keyboard. Without a browser the test is skipped.

    python3 tests/pages/check_pages.py PAGE_CASES        LOCUS names the program"""
from __future__ import annotations

import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import Any, Callable, Dict, List

from browser import Browser, Failure, program

ROOT = pathlib.Path(os.environ.get("LOCUS_SOURCE") or pathlib.Path(__file__).resolve().parents[2])
MOST_BYTES = 2_000_000  # of a page of 100 runs with curves of 1,000 points
SIZES = [(width, dark) for width in (360, 800, 1400) for dark in (False, True)]
# What stands out of the window, but for what scrolls in its own box.
OUTSIDE = """[...document.querySelectorAll("body *")].filter(e => !e.closest(".wide, pre, .off") &&
    (e.getBoundingClientRect().right > innerWidth + 0.5 || e.getBoundingClientRect().left < -0.5))
    .map(e => e.outerHTML.slice(0, 120))"""

faults: List[str] = []
checks = 0


def expect(holds: object, what: str) -> None:
    global checks
    checks += 1
    if not holds:
        faults.append(what)


def same(found: object, wanted: object, what: str) -> None:
    expect(found == wanted, f"{what}: {found!r}, not {wanted!r}")


def number(text: str) -> float:
    found = re.match(r"[-0-9.]+", text)
    return float(found.group()) if found else float("-inf")


class Page:
    def __init__(self, path: pathlib.Path) -> None:
        self.path, self.html = path, path.read_text(encoding="utf-8")
        self.data: Dict[str, Any] = json.loads(self.block(' id="data"')[0])
        self.charts: List[Dict[str, Any]] = [json.loads(text) for text in self.block(' class="data"')]
        for chart in self.charts:
            for i, series in enumerate(chart["series"]):
                series.setdefault("x", chart["series"][i - 1].get("x"))

    def block(self, attribute: str) -> List[str]:
        return re.findall(rf'<script type="application/json"{attribute}>(.*?)</script>', self.html, re.S)

    def colours(self) -> Dict[str, set]:
        """Colours that each encoding has in the charts."""
        found: Dict[str, set] = {}
        for chart in self.charts:
            for series in chart["series"]:
                if "mark" in series and not series["name"].startswith("head "):
                    found.setdefault(series["name"], set()).add(series["colour"])
        return found


# ---- what needs no browser ----

def check_source(page: Page) -> None:
    name, html = page.path.name, page.html
    shown = re.sub(r"<(script|style)\b[^>]*>.*?</\1>", "", html, flags=re.S)
    expect("default-src 'none'" in html and "unsafe" not in html.split("</head>")[0], f"{name}: the policy is not strict")
    same(len(re.findall(r"<script>", html)), 1, f"{name}: scripts that run")
    expect(not re.search(r"<[^>]*\s(on\w+|style)=", shown), f"{name}: code or style in an attribute")
    expect(not re.search(r"<(?:link|img|a|iframe|use)\b[^>]*(?:href|src)=\"(?!#|data:,)", shown), f"{name}: it fetches something")
    expect(all(" scope=" in head for head in re.findall(r"<th\b[^>]*>", shown)), f"{name}: a head without scope")
    expect(all("aria-label" in tag for tag in re.findall(r"<table\b[^>]*>|<svg class=\"chart\"[^>]*>", shown)),
           f"{name}: a table or chart without name")
    levels = [int(level) for level in re.findall(r"<h(\d)", shown)]
    expect(all(after <= before + 1 or (before, after) == (2, 4) for before, after in zip(levels, levels[1:])),
           f"{name}: a heading's level is left out")


def check_looks(pages: List[Page]) -> None:
    """An encoding has one colour everywhere; of the lines of a chart no two have dash and markers alike."""
    all_colours: Dict[str, set] = {}
    for page in pages:
        for encoding, colours in page.colours().items():
            all_colours.setdefault(encoding, set()).update(colours)
        for chart in page.charts:
            marks = [series["mark"] % 35 for series in chart["series"] if "mark" in series]
            expect(len(set(marks)) == len(marks) or len(marks) > 35, f"{page.path.name}, {chart['id']}: lines look alike")
    for encoding, colours in all_colours.items():
        same(len(colours), 1, f"colours of {encoding}")
    expect({"rope", "sinusoidal"} <= all_colours.keys(), "the pages do not share encodings")


# ---- in the browser ----

def check_fit(browser: Browser, page: Page) -> None:
    for width, dark in SIZES:
        browser.window(width, dark)
        if (width, dark) == SIZES[0]:
            browser.open(page.path)
        where = f"{page.path.name} at {width}, {'dark' if dark else 'light'}"
        expect(browser.run("document.documentElement.scrollWidth <= innerWidth"), f"{where}: it is wider than the window")
        same(browser.run(OUTSIDE), [], f"{where}: outside of the window")
        paper = browser.run("getComputedStyle(document.body).backgroundColor")
        expect((sum(map(int, re.findall(r"\d+", paper))) < 300) == dark, f"{where}: paper is {paper}")
    same(browser.messages, [], f"{page.path.name}: console")


def check_without_script(browser: Browser, page: Page) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(page.path)
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    same(browser.run("document.querySelectorAll('button, input').length"), 0, "buttons without a script")
    expect(browser.run("document.querySelectorAll('.chart .series').length > 10 && document.querySelectorAll('td').length > 100"),
           "without a script something is missing")


def expected_readout(page: Page, chart: Dict[str, Any], place: float) -> Dict[str, float]:
    return {series["name"]: series["y"][series["x"].index(place)] for series in chart["series"] if place in series["x"]}


def check_pointer(browser: Browser, page: Page) -> None:
    chart = page.charts[0]
    places = sorted({x for series in chart["series"] for x in series["x"]})
    left, _, right, _ = chart["frame"]
    low, high = chart["range"][:2]
    at = places[len(places) // 2]
    share = (left + (at - low) / (high - low) * (right - left)) / 460
    browser.run("document.querySelector('.chart').scrollIntoView({block: 'center'})")
    box = browser.run("(({left, top, width, height}) => ({left, top, width, height}))("
                      "document.querySelector('.chart').getBoundingClientRect())")
    browser.point(box["left"] + share * box["width"], box["top"] + box["height"] / 2)
    said = browser.run("[...document.querySelectorAll('.readout:not(.off) tr')].map(row => [row.cells[0].innerText, "
                       "row.cells[1].firstChild.textContent])")
    wanted = expected_readout(page, chart, at)
    same(sorted(name for name, _ in said), sorted(wanted), "encodings under the pointer")
    expect(all(abs(number(text) - wanted[name]) <= 5.1e-4 * abs(wanted[name]) for name, text in said), f"values: {said}, {wanted}")
    expect(browser.run("document.querySelector('.readout b').textContent").startswith(f"{at:g} "), "the pointer's place")
    top, bottom, beside = browser.run(
        "(() => { const box = document.querySelector('.readout:not(.off)').getBoundingClientRect(); "
        "const chart = document.querySelector('.chart').getBoundingClientRect(); "
        "const x = [...document.querySelectorAll('.chart')][0].querySelector('.cursor').getBoundingClientRect().left; "
        "return [box.top - chart.top, box.top - chart.bottom, box.left >= x || box.right <= x]; })()")
    expect(bottom >= -1 or (top > 0 and beside), f"the readout lies on what it says: {top}, {bottom}, {beside}")
    browser.point(2, 2)
    same(browser.run("document.querySelectorAll('.readout:not(.off)').length"), 0, "readouts that stay")


def check_switches(browser: Browser) -> None:
    def shown() -> List[int]:
        return browser.run("[...document.querySelector('figure[data-save=charts]').querySelectorAll('.chart')].map(chart => "
                           "[...chart.querySelectorAll('.series')].filter(s => getComputedStyle(s).display !== 'none').length)")

    before = shown()
    browser.run("document.querySelector('.legend button').focus()")
    browser.key("Enter", 13)
    same(shown(), [count - 1 for count in before], "series after one is switched off")
    same(browser.run("document.querySelector('.legend button').getAttribute('aria-pressed')"), "false", "its button")
    browser.key("Enter", 13)
    same(shown(), before, "series after it is switched on again")


def check_keyboard(browser: Browser) -> None:
    browser.run("document.querySelector('.scrub').focus()")
    first = browser.run("document.activeElement.getAttribute('aria-valuetext')")
    browser.key("ArrowRight", 39)
    second = browser.run("document.activeElement.getAttribute('aria-valuetext')")
    expect(first and second and first != second, f"the slider says '{first}', then '{second}'")
    expect(browser.run("document.querySelector('.readout b').textContent") in second, "what is shown is not what is said")
    browser.key("Escape", 27)
    same(browser.run("document.querySelectorAll('.readout:not(.off)').length"), 0, "readouts after Escape")
    browser.run("document.querySelector('nav a').focus()")
    reached = set()
    for _ in range(14):
        browser.key("Tab", 9)
        reached.add(browser.run("document.activeElement.localName"))
    expect({"a", "button"} <= reached, f"Tab reaches {reached}")
    nameless = [node["role"]["value"] for node in browser.call("Accessibility.getFullAXTree")["nodes"]
                if not node["ignored"] and node["role"]["value"] in ("button", "slider", "image", "img", "region", "table")
                and not node.get("name", {}).get("value")]
    same(nameless, [], "what has no name for a screen reader")


def check_sorting(browser: Browser) -> None:
    column = "[...document.querySelector('table.sortable').tBodies[0].rows].map(row => row.cells[1].textContent)"
    head = "document.querySelectorAll('table.sortable thead th')[1]"
    original = browser.run(column)
    for order, wanted in (("descending", sorted(original, key=number, reverse=True)),
                          ("ascending", sorted(original, key=number)), (None, original)):
        browser.run(f"{head}.querySelector('button').click()")
        same(browser.run(column), wanted, f"rows sorted {order}")
        same(browser.run(f"{head}.getAttribute('aria-sort')"), order, "aria-sort")
    # What is no number stays below, whichever way.
    browser.run("""document.querySelectorAll('table.sortable').forEach(table => { const head = [...table.tHead.rows[0].cells]
        .find(cell => cell.textContent.startsWith('steps')); head?.querySelector('button').click(); })""")
    wrong = browser.run("""[...document.querySelectorAll('table.sortable')].flatMap(table => {
        const at = [...table.tHead.rows[0].cells].findIndex(cell => cell.textContent.startsWith('steps'));
        const texts = at < 0 ? [] : [...table.tBodies[0].rows].map(row => row.cells[at].textContent);
        return texts.filter((text, i) => i > 0 && /^\\d/.test(text) && !/^\\d/.test(texts[i - 1])); })""")
    same(wrong, [], "numbers below what is none")


def button(selector: str, form: str) -> str:
    return (f"[...document.querySelector({selector!r}).querySelectorAll('.tools button')]"
            f".find(button => button.textContent === '{form}').click()")


def check_saving(browser: Browser, page: Page) -> None:
    section = page.data["sections"][0]
    name, text = browser.download(button("figure[data-save=scores]", "CSV"))
    rows = list(csv.DictReader(io.StringIO(text)))
    same(name, "scores-1.csv", "name of the scores")
    same([row["encoding"] for row in rows], [row["encoding"] for row in section["rows"]], "encodings of the CSV")
    same([float(row["accuracy.mean"]) for row in rows], [row["accuracy"]["mean"] for row in section["rows"]], "its accuracies")
    _, text = browser.download(button("figure[data-save=scores]", "JSON"))
    same(json.loads(text), section, "scores as JSON")
    name, text = browser.download(button("figure[data-save=charts]", "CSV"))
    rows = list(csv.DictReader(io.StringIO(text)))
    first = page.charts[0]["series"][0]
    drawn = [row for row in rows if row["chart"] == page.charts[0]["title"] and row["series"] == first["name"]]
    same(name, "figure1.csv", "name of the figure")
    same([(float(row["x"]), float(row["y"])) for row in drawn], list(zip(map(float, first["x"]), map(float, first["y"]))),
         "points of the CSV")
    _, text = browser.download(button("details[data-save=runs]", "CSV"))
    rows = list(csv.DictReader(io.StringIO(text)))
    own = [run for run in page.data["runs"] if run["section"] == 1]
    same([(row["name"], int(row["seed"])) for row in rows], [(run["name"], run["seed"]) for run in own], "runs of the CSV")
    same([row["scores.test.accuracy"] for row in rows if row["scores.test.accuracy"]],
         [str(run["scores"]["test.accuracy"]) for run in own if "test.accuracy" in run["scores"]], "their scores")
    _, text = browser.download(button("footer", "JSON"))
    saved = json.loads(text)
    same((saved["sections"], saved["runs"], len(saved["charts"])), (page.data["sections"], page.data["runs"], len(page.charts)),
         "the whole page as JSON")


def check_paper(browser: Browser) -> None:
    closed = browser.run("document.querySelectorAll('details:not([open])').length")
    pdf = browser.pdf()
    expect(pdf.startswith(b"%PDF") and len(pdf) > 20_000, f"a PDF of {len(pdf)} bytes")
    same(browser.run("document.querySelectorAll('details:not([open])').length"), closed, "closed parts after printing")
    browser.call("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    same(browser.run("[getComputedStyle(document.querySelector('.tools')).display, "
                     "getComputedStyle(document.documentElement).getPropertyValue('--page').trim()]"), ["none", "#fffefb"],
         "buttons and paper in print")


def check_hostile(browser: Browser, page: Page) -> None:
    browser.open(page.path)
    text = page.data["runs"][0]["machine"]
    expect("</script>" in text and "<img" in text and "\\u0041" in text, f"the text of the store is {text}")
    same(browser.run("document.querySelectorAll('script:not([type]), img').length"), 1, "scripts and pictures that came in")
    expect(browser.run("document.title") != "taken", "a text of the store ran as a script")
    _, saved = browser.download(button("details[data-save=runs]", "CSV"))
    rows = list(csv.DictReader(io.StringIO(saved)))
    same(rows[1]["encoding"], text, "a text in the CSV")
    same(rows[2]["encoding"], "'=1+1", "a formula in the CSV")


def check_large(browser: Browser, page: Page) -> None:
    browser.window(1400)
    browser.open(page.path)
    size = page.path.stat().st_size
    expect(size < MOST_BYTES, f"{page.path.name} has {size} bytes")
    first = browser.run("new Promise(seen => new PerformanceObserver(list => seen(Math.round(list.getEntries().find("
                        "entry => entry.name === 'first-contentful-paint').startTime))).observe({type: 'paint', buffered: true}))")
    print(f"{page.path.name}: {size} bytes, first contentful paint after {first} ms")


def check(folder: pathlib.Path, cases: str) -> None:
    subprocess.run([cases, str(folder)], check=True)
    recorded = folder / "recorded.html"
    subprocess.run([os.environ["LOCUS"], "reproduce", "--quiet", "--from", str(ROOT / "docs/results/table2-paths-quick.json"), "-o",
                    str(recorded)], check=True)
    planted, hostile, large, recorded_page = (
        Page(folder / f"{name}.html") for name in ("planted", "hostile", "large", "recorded"))
    for page in (planted, hostile, recorded_page):
        check_source(page)
    check_looks([planted, hostile, large, recorded_page])
    with Browser() as browser:
        for page in (planted, hostile, recorded_page):
            check_fit(browser, page)
        check_without_script(browser, planted)
        browser.window(1400)
        browser.open(planted.path)
        steps: List[Callable[[], None]] = [
            lambda: check_pointer(browser, planted), lambda: check_switches(browser), lambda: check_keyboard(browser),
            lambda: check_sorting(browser), lambda: check_saving(browser, planted), lambda: check_paper(browser),
            lambda: check_hostile(browser, hostile), lambda: check_large(browser, large)]
        for step in steps:
            step()
        same(browser.messages, [], "console, after all")


def main() -> int:
    if program() is None:
        print("no Chromium: install it (Debian: chromium), or name it by LOCUS_CHROMIUM")
        return 77
    with tempfile.TemporaryDirectory(prefix="locus-pages-") as folder:
        try:
            check(pathlib.Path(folder), sys.argv[1])
        except Failure as failure:
            faults.append(str(failure))
    print("\n".join([*(f"FAILED: {fault}" for fault in faults), f"{checks} checks"]))
    return 1 if faults or not checks else 0


if __name__ == "__main__":
    sys.exit(main())
