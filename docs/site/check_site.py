# SPDX-License-Identifier: MIT
"""Every link of the built site that stays inside leads to a page and to a place on it, and nothing that a page needs to
be shown comes from another host.

    python3 docs/site/check_site.py FOLDER"""
from __future__ import annotations

import os
import pathlib
import sys
import urllib.parse
from html.parser import HTMLParser
from typing import Dict, List, Set, Tuple

NEEDED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src", "video": "src", "audio": "src"}


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: Set[str] = {"", "top"}
        self.links: List[Tuple[str, str, int]] = []  # tag, target, line
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: List[Tuple[str, "str | None"]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.names.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a" and "href" in given:
            self.links.append((tag, given["href"], self.getpos()[0]))
        elif tag in NEEDED and NEEDED[tag] in given and given.get("rel") not in ("canonical", "next", "prev"):
            self.links.append((tag, given[NEEDED[tag]], self.getpos()[0]))


def faults(folder: pathlib.Path) -> Tuple[List[str], int]:
    # Pages of results are the program's own, made before, and whole in themselves.
    pages: Dict[pathlib.Path, Page] = {
        path.resolve(): Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    said, count = [], 0
    for path, page in pages.items():
        own = os.path.relpath(path, folder.resolve())
        for tag, link, line in page.links:
            count += 1
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                if tag != "a" and parts.scheme != "data":
                    said.append(f"{own}:{line}: <{tag}> comes from {parts.netloc or link}: pages must be whole without a network")
                continue
            target = (path.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                said.append(f"{own}:{line}: {link} leads to no file")
            elif parts.fragment and target in pages and urllib.parse.unquote(parts.fragment) not in pages[target].names:
                said.append(f"{own}:{line}: {link} leads to no place on its page")
    return said, count


def main(words: List[str]) -> int:
    if len(words) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    said, count = faults(pathlib.Path(words[0]))
    print("\n".join(said + [f"{count} links of the site"]))
    return 1 if said or not count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
