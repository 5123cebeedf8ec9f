# SPDX-License-Identifier: MIT
"""The dependency law, file by file: dependencies point downward only, and nothing goes in circles.

    liblocus    core ← algebra, linalg, kernels ← spec ← scores ← operators ← encodings, extension ← plan ← attention
    laboratory  rope ← io ← nn ← model ← train ← architectures ← kinds;  train ← figures, jobs;  io ← text ← task ← train;  io ← ranks ← train;  io ← bound ← check, fold, figures ← report ← page, samples ← kinds;  train, bound ← bench;
                sees liblocus through <locus/…> only
    program     everything of the laboratory

A file depends on those that it includes, and on those that define what it calls, which the objects in a build's archives
say (a header may declare what many files define). Either kind goes down the rooms and in no circle; of includes, X.c and
X.h are one. The registries alone name upward: they list encodings, architectures and kinds of tasks. Without --build includes
alone are read. Besides, no folder has more than 40 files, each of src/ has a head page that names files that are there, and each file of src/encodings/ is
an encoding.

usage: python3 tools/lint_includes.py [--build FOLDER] FILE…     names what breaks the law; status 1 if anything does"""
import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent

# Below each room; itself is understood.
LOW = "core algebra linalg kernels"
BELOW = {
    "core": "", "algebra": "core", "linalg": "core", "kernels": "core",
    "spec": LOW,
    "scores": LOW + " spec",
    "operators": LOW + " spec scores",
    "encodings": LOW + " spec scores operators",
    "extension": LOW + " spec scores operators",
    "plan": LOW + " spec scores operators",
    "attention": LOW + " spec scores operators plan",
    "rope": "", "io": "rope", "text": "io", "nn": "io", "model": "io nn", "task": "io text", "ranks": "io",
    "train": "io text nn model task ranks",
    "bound": "io", "check": "io bound", "fold": "io bound",
    "architectures": "io nn model task train",
    "kinds": "io text nn model task train architectures samples",
    "jobs": "io text nn model task train",
    "figures": "io text nn model task train bound",
    "report": "io text nn model task train bound figures",
    "page": "io text nn model task train bound figures report",
    "bench": "io text nn model task train bound",
    "samples": "io text nn model task train report",
    "cli": "rope io text nn model task ranks train bound check fold jobs bench figures report page samples",
}

# The room that each public header belongs to.
PUBLIC = {
    "core": "cpu execution memory parallel random status tensor version",
    "algebra": "group path positions",
    "spec": "encoding extension form pattern plan",
    "plan": "fold",
    "attention": "attention attention_kind cache locus",
}

# May name what stands above it: a table of names.
UPWARD = {("src/spec/registry.c", "encodings"), ("lab/task/task_registry.c", "kinds"),
          ("lab/model/architecture_registry.c", "architectures")}

FOLDER_MOST = 40  # files
LINES_MOST = {"cli": 10000, "lab/report": 8500}

ARCHIVES = {"src": "liblocus.a", "lab": "liblab.a", "cli": "liblocus_commands.a"}


def room_of(path):
    parts = path.split("/")
    return "cli" if parts[0] == "cli" else parts[1]


def allowed(room, other):
    return room == other or other in BELOW[room].split()


def target_of(path, header):
    """The file that an #include "…" names: from the product's root, of the program's also in its folders, or from the laboratory's."""
    product = path.split("/")[0]
    folders = [str(f.relative_to(SOURCE)) for f in (SOURCE / "cli").glob("*") if f.is_dir()]
    roots = {"src": ["src"], "lab": ["lab"], "cli": ["cli", *folders, "lab"]}[product]
    return next((f"{root}/{header}" for root in roots if (SOURCE / root / header).is_file()), None)


def read_includes(path, complain):
    """[(line number, target)] of one file; what breaks the rooms' law is said at once."""
    found = []
    product, room = path.split("/")[0], room_of(path) if not path.startswith("include/") else None
    owners = {header: owner for owner, headers in PUBLIC.items() for header in headers.split()}
    for number, line in enumerate((SOURCE / path).read_text().splitlines(), 1):
        match = re.match(r'#\s*include\s*(?:"([^"]+)"|<locus/([^>]+)\.h>)', line)
        if not match:
            continue
        header, public = match.groups()
        place = f"{path}:{number}"
        if product == "include":
            if header:
                complain(f'{place}: a public header includes an internal one: "{header}"')
        elif public:
            if product == "src" and public not in owners:
                complain(f"{place}: <locus/{public}.h> belongs to no room (tools/lint_includes.py)")
            elif product == "src" and not allowed(room, owners[public]):
                complain(f"{place}: room '{room}' includes <locus/{public}.h> of room '{owners[public]}'")
        elif "/" not in header and product != "cli":
            complain(f'{place}: "{header}" does not name its room')
        else:
            target = target_of(path, header)
            if not target:
                complain(f'{place}: there is no "{header}" for {product}/')
            elif not allowed(room, room_of(target)):
                complain(f"{place}: room '{room}' must not include \"{header}\"")
            else:
                found.append((number, target))
    return found


def unit_of(path):
    return re.sub(r"\.[ch]$", "", path)


def read_uses(build, product, files, complain):
    """{(user, definer): {symbol}} of a product's C files, from the archive that its objects lie in."""
    archive = pathlib.Path(build) / ARCHIVES[product]
    by_name = {os.path.basename(f): f for f in files if f.startswith(product + "/") and f.endswith(".c")}
    listing = subprocess.run(["nm", "-A", "-P", "-g", str(archive)], capture_output=True, text=True, check=True).stdout
    wanted, defined = collections.defaultdict(set), {}
    for line in listing.splitlines():
        match = re.match(r".*\[(.+\.c)\.o\]: (\S+) (\S)", line)
        if match and match[1] in by_name:
            file, symbol, kind = by_name[match[1]], match[2], match[3]
            if kind in "Uu":
                wanted[file].add(symbol)
            else:
                defined[symbol] = file
    if not defined:
        sys.exit(f"lint_includes: nm says nothing of {archive}")
    uses = collections.defaultdict(set)
    for file, symbols in wanted.items():
        for symbol in symbols & defined.keys():
            uses[file, defined[symbol]].add(symbol)
    for (file, other), symbols in sorted(uses.items()):
        if not allowed(room_of(file), room_of(other)) and (file, room_of(other)) not in UPWARD:
            complain(f"{file}: room '{room_of(file)}' must not use {', '.join(sorted(symbols))} of {other}")
    return uses


def circles(edges):
    """Sets of nodes that reach one another (Tarjan 1972), of more than one node."""
    index, low, stack, found = {}, {}, [], []
    follow = collections.defaultdict(list)
    for source, target in edges:
        follow[source].append(target)

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in follow.get(node, ()):
            if other not in index:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == index[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(frozenset(stack[at:]))
            del stack[at:]

    sys.setrecursionlimit(10000)
    for node in list(follow):
        if node not in index:
            visit(node)
    return found


def check_circles(kind, edges, complain):
    """`edges`: {(from, to): why}."""
    for circle in sorted(circles(edges), key=sorted):
        complain(f"a circle by {kind}: {' '.join(sorted(circle))}")
        for (source, target), why in sorted(edges.items()):
            if source in circle and target in circle:
                complain(f"    {source} → {target}: {why}")


def check_folders(files, complain):
    for folder, count in collections.Counter(os.path.dirname(f) for f in files if not f.startswith("include/")).items():
        if count > FOLDER_MOST:
            complain(f"{folder}: {count} files, {FOLDER_MOST} at most: a room that big has folders")
    for room, most in LINES_MOST.items():
        lines = sum((SOURCE / f).read_text().count("\n") for f in files if f.startswith(room + "/"))
        if lines > most:
            complain(f"{room}: {lines} lines, {most} at most: it has other rooms")
    sources = [f for f in files if f.startswith("src/")]
    for folder in {os.path.dirname(f) for f in sources}:
        page = SOURCE / folder / "README.md"
        named = re.findall(r"`([a-z0-9][a-z0-9_]*\.[ch])`", page.read_text()) if page.is_file() else []
        if not page.is_file():
            complain(f"{folder}: no head page (README.md)")
        for name in named:
            if name not in {os.path.basename(f) for f in files}:
                complain(f"{folder}/README.md: there is no {name}")
    for path in sources:
        name = os.path.splitext(os.path.basename(path))[0]
        if path.startswith("src/encodings/") and f"locus_{name}_class = {{" not in (SOURCE / path).read_text():
            complain(f"{path}: not an encoding: it defines no locus_{name}_class")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", help="a build whose archives are read, too")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    faults = []
    includes = {}
    for path in options.files:
        if not path.startswith("include/") and room_of(path) not in BELOW:
            faults.append(f"{path}: room '{room_of(path)}' is not in the dependency law (tools/lint_includes.py)")
            continue
        for number, target in read_includes(path, faults.append):
            if unit_of(path) != unit_of(target):
                includes[unit_of(path), unit_of(target)] = f"{path}:{number}"
    check_folders(options.files, faults.append)
    check_circles("include", includes, faults.append)
    if options.build:
        uses = {}
        for product in ARCHIVES:
            # A build of the library alone has no other archive.
            if product == "src" or (pathlib.Path(options.build) / ARCHIVES[product]).is_file():
                found = read_uses(options.build, product, options.files, faults.append)
                uses.update({(unit_of(a), unit_of(b)): ", ".join(sorted(symbols)) for (a, b), symbols in found.items() if a != b})
        check_circles("use", uses, faults.append)
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
