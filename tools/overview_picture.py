#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The picture at the head of README.md: four kinds of positions, and a path on each, cut from pictures of docs/algebra.md.

    python3 tools/overview_picture.py            writes docs/pictures/overview.svg
    python3 tools/overview_picture.py --check    whether it is what the four pictures make"""
import pathlib
import re
import sys

PICTURES = pathlib.Path(__file__).resolve().parents[1] / "docs" / "pictures"
WIDTH, HEIGHT, TOP = 240, 200, 34
# picture, what is cut out of it (x, y, width, height), what it is, how to go from a to b
PANELS = (
    ("sentence", (92, 70, 396, 170), "a sentence", "four words on"),
    ("image", (60, 42, 440, 420), "an image", "two rows up, three columns on"),
    ("tree", (165, 55, 240, 240), "a syntax tree", "up two, down three"),
    ("benzene", (175, 30, 210, 210), "a ring", "two steps round"),
)


def panel(number, name, box, title, way):
    drawn = (PICTURES / f"{name}.svg").read_text(encoding="utf-8")
    body = re.sub(r"^<svg[^>]*>\s*<rect[^>]*/>|</svg>\s*$", "", drawn.strip())
    shapes = [line for line in body.split("\n") if line.strip()]
    shapes = shapes[1:-2]  # without its own title and its two lines of text
    x, middle = number * WIDTH, number * WIDTH + WIDTH / 2
    return "\n".join([
        f'<text x="{middle:g}" y="22" font-size="15" fill="#22262b" text-anchor="middle" font-weight="bold">{title}</text>',
        f'<svg x="{x + 10}" y="{TOP}" width="{WIDTH - 20}" height="{HEIGHT}" viewBox="{box[0]} {box[1]} {box[2]} {box[3]}">',
        *shapes, "</svg>",
        f'<text x="{middle:g}" y="{TOP + HEIGHT + 20}" font-size="13" fill="#c2410c" text-anchor="middle">{way}</text>'])


def overview():
    height = TOP + HEIGHT + 34
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{4 * WIDTH}" height="{height}" viewBox="0 0 {4 * WIDTH} {height}" '
            "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" stroke-linejoin=\"round\">\n"
            '<rect width="100%" height="100%" fill="#ffffff"/>\n')
    return head + "\n".join(panel(number, *what) for number, what in enumerate(PANELS)) + "\n</svg>\n"


def main(words):
    path = PICTURES / "overview.svg"
    if words == ["--check"]:
        same = path.exists() and path.read_text(encoding="utf-8") == overview()
        print("" if same else "docs/pictures/overview.svg is not what tools/overview_picture.py makes: run it", end="")
        return 0 if same else 1
    path.write_text(overview(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
