#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rotary-embedding-torch and x-transformers beside locus, where their conventions coincide: what
python/tests/library_cases.py computes, as a table.

    PYTHONPATH=build/python/python python3 tools/compare_libraries.py [--write docs/libraries.md]

With --write the tables of that page are replaced, what is written around them stays."""
import argparse
import importlib.metadata
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "python/tests"))

import library_cases as cases  # noqa: E402

PLACES = (100, 10_000, 100_000, 1_000_000)


def shown(difference):
    return f"{difference:.0e}" if difference else "0"


def tables():
    """Agreement, a table for each library, and the angles far away, by the headings that they stand below."""
    found = {}
    for library in (cases.ROTARY, cases.X):
        rows = ["| of the library | of locus | float64 | float32 |", "|---|---|---|---|"]
        for case in cases.CASES:
            if case.library == library:
                both = " | ".join(shown(case.difference(dtype)) for dtype in cases.ALLOWED)
                spec = f"`{case.spec}`" if "," not in case.spec or "(" in case.spec.split(",")[0] else case.spec
                rows.append(f"| {case.name} | {spec} | {both} |")
        found[f"{library} {importlib.metadata.version(library)}"] = rows
    rows = ["| position | rotary-embedding-torch | locus |", "|---|---|---|"]
    for place in PLACES:
        rows.append(f"| {place:,} | {' | '.join(map(shown, cases.far(place)))} |")
    found["Far positions"] = rows
    return found


def placed(page, found):
    """The page with these tables below their headings; versions in headings are brought up to date."""
    for heading, rows in found.items():
        name = heading.split(" ")[0] if " " in heading and heading[-1].isdigit() else heading
        pattern = rf"(## ){re.escape(name)}[^\n]*(\n(?:(?!\|).*\n)*)(?:\|.*\n)+"
        page, count = re.subn(pattern, lambda own: own[1] + heading + own[2] + "\n".join(rows) + "\n", page, count=1)
        if not count:
            sys.exit(f"compare_libraries: the page has no table below '## {name}'")
    return page


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--write", metavar="PAGE")
    said = parser.parse_args()
    found = tables()
    if said.write:
        path = pathlib.Path(said.write)
        path.write_text(placed(path.read_text(encoding="utf-8"), found), encoding="utf-8")
        return
    for heading, rows in found.items():
        print(f"## {heading}\n\n" + "\n".join(rows) + "\n")
    print(f"xPos, rotate_queries_with_cached_keys against rotate_queries_and_keys: {shown(cases.xpos_with_cached_keys())}")


if __name__ == "__main__":
    main()
