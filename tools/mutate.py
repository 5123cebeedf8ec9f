# SPDX-License-Identifier: MIT
"""Mutation: changes one place of the source at random, builds, and runs the tests that reach it. A change that no test
notices is a hole in the suite, or changes nothing that matters.

    python3 tools/coverage.py                        first: which test reaches which line (build/coverage/map.json)
    python3 tools/mutate.py run --seed 1 --count 500 one line for each mutant; killed at any time, it goes on
    python3 tools/mutate.py report                   counts by room, survivors that nobody has accepted

A mutant is drawn from all places of src/, lab/ and cli/ that an operator below fits (comments, strings, preprocessor lines
and declarations apart), each as likely as any other. It runs in a copy of the committed tree (build/mutation/tree-K).
What does not compile, or compiles to the same objects, is no mutant. Then its tests run, the quickest first, in growing
groups; the first that fails kills it. What survives meets the same tests once more under the address and undefined-behaviour
sanitizers, as in ./dev test: leaks and reads past an end are seen only there.

    relation   < <=, > >=, == !=         logic     && ||; if (x), while (x): if (!(x)); true false
    arithmetic + -, * /, % *, += -=, ++ --   number    n: n + 1
    statement  a call or an assignment goes; break, continue go      result    return x: return 0; where it is nothing: 1

Survivors that are equivalent or change only speed are listed with a reason in tests/mutation/accepted.txt:
`file ¦ function ¦ line as it was ¦ as it is ¦ reason`. Exit status of report: 0 if at least --least percent of those that
matter were killed."""
import argparse
import contextlib
import hashlib
import json
import math
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

import coverage

SOURCE = coverage.SOURCE
FOLDER = SOURCE / "build" / "mutation"
ACCEPTED = SOURCE / "tests" / "mutation" / "accepted.txt"
TOKEN = re.compile(r"""(?P<space>\s+|\\\n)|(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<directive>(?:(?<=\n)|^)[ \t]*\#(?:[^\n\\]|\\.|\\\n)*)
    |(?P<string>(?:u8|L)?"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<number>\.?\d(?:[eEpP][+-]|[\w.])*)|(?P<word>[A-Za-z_]\w*)
    |(?P<sign><<=|>>=|\.\.\.|->|\+\+|--|&&|\|\||[-+*/%&|^<>=!]=|<<|>>|[^\s\w])""", re.S | re.X)
SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+", "*": "/", "/": "*",
         "%": "*", "+=": "-=", "-=": "+=", "*=": "/=", "++": "--", "--": "++", "true": "false", "false": "true"}
BINARY = {"+", "-", "*", "/", "%"}
TYPES = {"const", "static", "extern", "typedef", "struct", "enum", "union", "unsigned", "signed", "char", "short", "int", "long", "float",
         "double", "void", "bool", "return", "case", "goto", "else", "do", "default", "inline", "register", "volatile", "_Thread_local"}


# ---- places ----

def tokens_of(text):
    """[(kind, text, offset)] without space, comments and directives."""
    return [(m.lastgroup, m.group(), m.start()) for m in TOKEN.finditer(text) if m.lastgroup not in ("space", "comment", "directive")]


def closing(tokens, index):
    """The index of the bracket that closes the one at `index`."""
    depth = 0
    for at in range(index, len(tokens)):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(tokens[at][1], 0)
        if depth == 0:
            return at
    return None


def statement_end(tokens, index):
    """The index of the `;` that ends the statement begun at `index`, or None if it is no simple one."""
    depth = 0
    for at in range(index, len(tokens)):
        word = tokens[at][1]
        if word in ("{", "}"):
            return None
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(word, 0)
        if word == ";" and depth == 0:
            return at
    return None


def is_declaration(tokens, index):
    first, second = tokens[index], tokens[index + 1]
    third = tokens[index + 2] if index + 2 < len(tokens) else second
    return (first[1] in TYPES or first[1].endswith("_t") or second[0] == "word" or (second[1] == "*" and third[0] == "word"))


def statement_places(tokens, index):
    """Changes of a whole statement that begins at token `index`."""
    kind, word, offset = tokens[index]
    end = statement_end(tokens, index)
    if end is None:
        return
    stop = tokens[end][2]
    if word in ("break", "continue"):
        yield "statement", offset, stop, ""
    elif word == "return" and end > index + 1:
        first = tokens[index + 1][2]
        value = [t[1] for t in tokens[index + 1:end]]
        nothing = {"0": "1", "false": "true", "LOCUS_OK": "1", "NULL": "(void *)1"}
        yield "result", first, stop, nothing.get("".join(value), "0")
    elif kind == "word" and not is_declaration(tokens, index) and any(t[1] in ("(", "=", "+=", "-=", "*=", "++", "--") for t in tokens[index:end]):
        yield "statement", offset, stop, ""


def token_places(tokens, index, text):
    """Changes of one token."""
    kind, word, offset = tokens[index]
    before, after = (tokens[index - 1] if index else ("", "", 0)), (tokens[index + 1] if index + 1 < len(tokens) else ("", "", 0))
    if kind == "number" and re.fullmatch(r"\d+[uUlL]*", word):
        digits = re.match(r"\d+", word).group()
        yield "number", offset, offset + len(word), str(int(digits, 8 if digits[0] == "0" and len(digits) > 1 and digits.isdigit() and "8" not in digits and "9" not in digits else 10) + 1) + word[len(digits):]
    elif kind == "number" and re.fullmatch(r"\d*\.\d+f?", word):
        yield "number", offset, offset + len(word), f"({word} + 1)"
    elif word in ("if", "while") and after[1] == "(":
        end = closing(tokens, index + 1)
        if end is not None:
            inside = after[2] + 1, tokens[end][2]
            yield "logic", inside[0], inside[1], f"!({text[inside[0]:inside[1]]})"
    elif word in BINARY:
        spaced = text[offset - 1:offset] in " \n" and text[offset + 1:offset + 2] in " \n"
        if spaced and (before[0] in ("number", "word") or before[1] in (")", "]")) and before[1] not in TYPES and after[1] not in (")", ",", "*"):
            yield "arithmetic", offset, offset + 1, SWAPS[word]
    elif word in SWAPS:
        family = "logic" if word in ("&&", "||", "true", "false") else "relation" if word in ("<", "<=", ">", ">=", "==", "!=") else "arithmetic"
        yield family, offset, offset + len(word), SWAPS[word]


def places_in(text):
    """[(operator, start, end, replacement)]: every change of one file that the operators know, inside braces only."""
    tokens, places, depth = tokens_of(text), [], 0
    for index, (_, word, _) in enumerate(tokens):
        depth += {"{": 1, "}": -1}.get(word, 0)
        if depth > 0:
            places.extend(token_places(tokens, index, text))
            if index and tokens[index - 1][1] in (";", "{", "}", ")", "else", ":") and index + 1 < len(tokens):
                places.extend(statement_places(tokens, index))
    return sorted(set(places), key=lambda place: place[1:])


def function_at(text, offset):
    """The name of the function that an offset lies in: the last line at column 0 that opens one."""
    names = re.findall(r"^[A-Za-z_][^;\n{}=]*?\b(\w+)\([^;{}]*\)\s*\{", text[:offset], re.M)
    return names[-1] if names else "-"


def all_places(reach):
    """Every place of every file with code, as (file, operator, start, end, replacement)."""
    files = subprocess.run(["git", "-C", str(SOURCE), "ls-files", "src/*.c", "src/*.h", "lab/*.c", "cli/*.c"], capture_output=True, text=True, check=True)
    found = []
    for path in sorted(set(files.stdout.split())):
        if path in reach["lines"]:
            text = (SOURCE / path).read_text()
            code = set(reach["lines"][path])
            for place in places_in(text):
                in_header = path.endswith(".h")
                if not in_header or text.count("\n", 0, place[1]) + 1 in code:
                    found.append((path, *place))
    return found


# ---- a tree of one's own ----

class Tree:
    """A copy of the committed tree with a build folder: mutants are made here, never in the working copy."""

    def __init__(self, number, sanitize=""):
        self.root = FOLDER / f"tree-{number}{'-address' if sanitize else ''}"
        self.build = self.root / "build" / "mutation"
        self.address = bool(sanitize)
        head = subprocess.run(["git", "-C", str(SOURCE), "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        mark = self.root / ".commit"
        if not mark.exists() or mark.read_text() != head:
            shutil.rmtree(self.root, ignore_errors=True)
            self.root.mkdir(parents=True)
            archive = subprocess.run(["git", "-C", str(SOURCE), "archive", "HEAD"], capture_output=True, check=True).stdout
            subprocess.run(["tar", "x", "-C", str(self.root)], input=archive, check=True)
            quietly(["cmake", "-S", str(self.root), "-B", str(self.build), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Mutation",
                     "-DCMAKE_C_FLAGS_MUTATION=-O1", f"-DLOCUS_SANITIZE={sanitize}"])
            mark.write_text(head)
        quietly(["ninja", "-C", str(self.build), "address_tests" if sanitize else "all"])
        self.tests = {t["name"]: t for t in coverage.listed_tests(self.build) if not sanitize or "address" in t["labels"]}

    def objects(self):
        """Digests of everything compiled from src, lab and cli."""
        return {p: hashlib.sha256(p.read_bytes()).digest() for folder in ("locus_objects*.dir", "lab.dir", "locus_commands.dir")
                for p in (self.build / "CMakeFiles").glob(f"{folder}/**/*.o")}

    def make(self, *targets):
        return subprocess.run(["ninja", "-C", str(self.build), *targets], capture_output=True).returncode == 0

    def target(self, name):
        command = self.tests[name]["command"][0]
        return os.path.relpath(command, self.build) if str(self.build) in command else "locus"


def quietly(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout[-3000:] + done.stderr[-3000:])


def limits(address):
    os.setsid()
    if not address: # whose shadow takes terabytes of addresses
        resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 30, 4 << 30)) # cli.import_rope makes a file of 3 GiB, with a hole
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def passes(tree, name, seconds):
    """Whether a test passes (or is skipped) within a time."""
    test = tree.tests[name]
    command = ["setarch", os.uname().machine, "-R", *test["command"]] if tree.address else test["command"]
    child = subprocess.Popen(command, cwd=test["folder"], env=dict(os.environ, **test["environment"]), stdin=subprocess.DEVNULL,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=lambda: limits(tree.address))
    try:
        status = child.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        status = "timeout"
    finally:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        child.wait()
    return status in (0, 77)


# ---- one mutant ----

def baseline(tree, reach):
    """Seconds of each test that passes without a mutant; measured once for a tree."""
    store = tree.root / ".baseline.json"
    if store.exists():
        return json.loads(store.read_text())
    times = {}
    for name in tree.tests:
        if name in reach["tests"]:
            start = time.monotonic()
            if passes(tree, name, 600):
                times[name] = time.monotonic() - start
            else:
                print(f"mutate: {name} fails without a mutant and is left out", file=sys.stderr)
    store.write_text(json.dumps(times))
    return times


def tests_for(path, line, reach, times):
    """Tests that reach a line, or (tables, which no coverage counts) its file; quickest first, those with few files first among equals."""
    is_code = line in set(reach["lines"].get(path, ()))
    names = [name for name, entry in reach["tests"].items() if name in times and
             (line in entry["reached"].get(path, ()) if is_code else path in entry["reached"])]
    return sorted(names, key=lambda name: (round(times[name], 1), len(reach["tests"][name]["reached"])))


@contextlib.contextmanager
def mutated(tree, place):
    """The mutant stands in the tree for a while."""
    path, _, start, end, replacement = place
    original, target = (SOURCE / path).read_text(), tree.root / path
    target.write_text(original[:start] + replacement + original[end:])
    try:
        yield
    finally:
        target.write_text(original)


def killer(tree, names, times):
    """The first of the tests that fails, None if all pass, "" if they do not compile."""
    size, at = 3, 0
    names = [name for name in names if name in tree.tests]
    while at < len(names):
        group = names[at:at + size]
        if not tree.make(*sorted({tree.target(name) for name in group})):
            return ""
        for name in group:
            if not passes(tree, name, (40 if tree.address else 10) + (30 if tree.address else 6) * times[name]):
                return name
        at, size = at + size, size * 2
    return None


def judge(trees, place, reach, times, clean):
    """"no compile" | "same objects" | "not reached" | "killed by NAME" | "killed by NAME (address)" | "survived"."""
    line = (SOURCE / place[0]).read_text().count("\n", 0, place[2]) + 1
    names = tests_for(place[0], line, reach, times)
    for tree in trees:
        with mutated(tree, place):
            if not tree.address and not tree.make("liblocus.a", "liblab.a", "liblocus_commands.a"):
                return "no compile"
            if not tree.address and tree.objects() == clean:
                return "same objects"
            if not names:
                return "not reached"
            name = killer(tree, names, times)
            if name is not None:
                return f"killed by {name}{' (address)' if tree.address else ''}" if name else "no compile"
    return "survived"


def describe(place):
    path, operator, start, end, replacement = place
    text = (SOURCE / path).read_text()
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    squeeze = lambda words: " ".join(words.split())
    return {"file": path, "line": text.count("\n", 0, start) + 1, "function": function_at(text, start), "operator": operator,
            "was": squeeze(text[first:last]), "is": squeeze(text[first:start] + replacement + text[end:last])}


def run(options):
    reach = json.loads(coverage.MAP.read_text())
    places = all_places(reach)
    random.Random(options.seed).shuffle(places)
    results = FOLDER / f"seed-{options.seed}.jsonl"
    FOLDER.mkdir(parents=True, exist_ok=True)
    done = {json.loads(row)["number"] for row in results.read_text().splitlines()} if results.exists() else set()
    trees = [Tree(options.shard), Tree(options.shard, "address,undefined")]
    times, clean = baseline(trees[0], reach), None
    times = {name: seconds for name, seconds in times.items() if seconds <= options.longest}
    for number in range(options.shard, min(options.count, len(places)), options.shards):
        if number in done or (options.rooms and not re.search(options.rooms, places[number][0])):
            continue
        if clean is None:
            trees[0].make()
            clean = trees[0].objects()
        began = time.monotonic()
        verdict = judge(trees, places[number], reach, times, clean)
        row = {"number": number, "verdict": verdict, "seconds": round(time.monotonic() - began, 1), **describe(places[number])}
        with open(results, "a") as stream:
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
        print(f"{number:>5} {verdict:<28} {row['file']}:{row['line']} {row['is'][:90]}", flush=True)


# ---- what came out ----

def accepted():
    """{(file, function, was, is): reason} of tests/mutation/accepted.txt."""
    rows = {}
    for line in ACCEPTED.read_text().splitlines() if ACCEPTED.exists() else []:
        if line.strip() and not line.startswith("#"):
            *key, reason = [part.strip() for part in line.split(" ¦ ")]
            rows[tuple(key)] = reason
    return rows


def report(options):
    known, rooms, open_rows = accepted(), {}, []
    for path in sorted(FOLDER.glob("seed-*.jsonl") if options.seed is None else [FOLDER / f"seed-{options.seed}.jsonl"]):
        for row in map(json.loads, path.read_text().splitlines()):
            counts = rooms.setdefault(coverage.room_of(row["file"]), {"mutants": 0, "killed": 0, "accepted": 0, "survived": 0})
            if row["verdict"] in ("no compile", "same objects"):
                continue
            counts["mutants"] += 1
            if row["verdict"].startswith("killed"):
                counts["killed"] += 1
            elif (row["file"], row["function"], row["was"], row["is"]) in known:
                counts["accepted"] += 1
            else:
                counts["survived"] += 1
                open_rows.append(row)
    total = {key: sum(c[key] for c in rooms.values()) for key in ("mutants", "killed", "accepted", "survived")}
    print(f"{'room':<18}" + "".join(f"{key:>10}" for key in total) + "   of those that matter")
    for room, counts in [*sorted(rooms.items()), ("all", total)]:
        matter = counts["killed"] + counts["survived"]
        print(f"{room:<18}" + "".join(f"{n:>10}" for n in counts.values()) + (f"{100 * counts['killed'] / matter:>12.1f} %" if matter else ""))
    for row in open_rows:
        print(" ¦ ".join([row["file"], row["function"], row["was"], row["is"], f"({row['verdict']}, line {row['line']})"]))
    matter = total["killed"] + total["survived"]
    sys.exit(0 if matter and 100 * total["killed"] / matter >= options.least else 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("run")
    command.add_argument("--seed", type=int, required=True)
    command.add_argument("--count", type=int, default=500)
    command.add_argument("--shard", type=int, default=0, help="this process takes numbers SHARD, SHARD + SHARDS, …")
    command.add_argument("--shards", type=int, default=1)
    command.add_argument("--rooms", default="", help="only files that match")
    command.add_argument("--longest", type=float, default=math.inf, metavar="SECONDS",
                         help="leaves out tests that take longer: what they alone would kill then counts as survived")
    command = commands.add_parser("report")
    command.add_argument("--seed", type=int)
    command.add_argument("--least", type=float, default=96)
    options = parser.parse_args()
    {"run": run, "report": report}[options.command](options)


if __name__ == "__main__":
    main()
