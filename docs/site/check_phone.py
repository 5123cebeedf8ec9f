# SPDX-License-Identifier: MIT
"""No page of the built site is wider than a telephone: each is opened in a headless Chromium, 360 px wide. What scrolls
in a box of its own may be wider. Without a browser nothing is checked, which is said.

    python3 docs/site/check_phone.py FOLDER"""
from __future__ import annotations

import pathlib
import sys
from typing import List

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests/pages"))

from browser import Browser, program  # noqa: E402

WIDTH = 360
# How wide a page is, and the innermost elements that stand out and are in no box that scrolls.
OUTSIDE = """[document.scrollingElement.scrollWidth, [...document.querySelectorAll("article *, footer *")].filter(e => {
    if (e.getBoundingClientRect().right <= innerWidth + 0.5) return false;
    for (let box = e; box && !["ARTICLE", "FOOTER"].includes(box.tagName); box = box.parentElement)
        if (["auto", "scroll"].includes(getComputedStyle(box).overflowX)) return false;
    return ![...e.children].some(own => own.getBoundingClientRect().right > innerWidth + 0.5);
}).slice(0, 3).map(e => e.outerHTML.slice(0, 120))]"""


def faults(folder: pathlib.Path) -> List[str]:
    said = []
    with Browser() as browser:
        browser.window(WIDTH)
        for path in sorted(folder.rglob("*.html")):
            browser.open(path)
            width, outside = browser.run(OUTSIDE)
            if width > WIDTH or outside:
                said.append(f"{path.relative_to(folder)}: {width} px wide; {outside}")
    return said


def main(words: List[str]) -> int:
    if len(words) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    if program() is None:
        print("there is no Chromium: no page was opened in a telephone's window")
        return 0
    said = faults(pathlib.Path(words[0]))
    print("\n".join(said))
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
