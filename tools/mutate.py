# SPDX-License-Identifier: MIT
"""Mutation: changes places of the source at random and runs the tests that reach them. A change that no test notices is a
hole in the suite, or changes nothing that matters.

    python3 tools/mutate.py run --seed 1 --count 500 one line for each mutant; killed at any time, it goes on
    python3 tools/mutate.py run --seed 1 --again     what survived in the one build, once more with other limits, the tests
                                                     backwards: those come first that a limit had left out
    python3 tools/mutate.py run --seed 1 --address   what survived, once more under sanitizers
    python3 tools/mutate.py run --seed 1 --rooms lab/model   the same, drawn from these files only
    python3 tools/mutate.py report                   counts by room, survivors that nobody has accepted

A mutant is drawn from all places of src/, lab/ and cli/ that an operator below fits (comments, strings, preprocessor lines
and declarations apart), each as likely as any other. All mutants of a seed stand in one build of the committed tree
(build/mutation/tree-S): `a < b` becomes `(MUTANT(17) ? (a <= b) : (a < b))`, and the variable LOCUS_MUTANT of the environment
chooses one, so that a mutant costs its tests and nothing else. The build also writes down which mutants a test reaches; each
test runs once to learn that, and whether it passes without a mutant.

Where the source wants a constant (tables, sizes of arrays with values), a mutant cannot be chosen when the program runs: it
is built alone, in the same tree, after the others. What does not compile is no mutant. Nor is what compiles to the same
object, which is asked of survivors.

Tests that are quick and reach few mutants run first; the first that fails kills the mutant. Limits are of processor time, so
that a busy machine kills none. With --address survivors meet the same tests under the address and undefined-behaviour
sanitizers, as in ./dev test: leaks and reads past an end are seen only there.

    relation   < <=, > >=, == !=         logic     && ||; if (x), while (x): if (!(x)); true false
    arithmetic + -, * /, % *, += -=, ++ --   number    n: n + 1
    statement  a call or an assignment goes; break, continue go      result    return x: return 0; where it is nothing: 1

Survivors that are equivalent or change only speed are listed with a reason in tests/mutation/accepted.txt:
`file ¦ function ¦ line as it was ¦ as it is ¦ reason`. Exit status of report: 0 if at least --least percent of those that
matter were killed."""
import argparse
import bisect
import concurrent.futures
import contextlib
import json
import math
import os
import pathlib
import random
import re
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


def bodies(tokens):
    """[(start, end)]: offsets of the bodies of functions, not of tables and structs."""
    found, depth, outer = [], 0, 0
    for at, (_, word, _) in enumerate(tokens):
        if word == "{":
            outer = at if depth == 0 else outer
            depth += 1
        elif word == "}":
            depth -= 1
            if depth == 0 and outer > 0 and tokens[outer - 1][1] == ")":
                found.append((tokens[outer][2], tokens[at][2]))
    return found


def all_places():
    """Every place of every file with code, as (file, operator, start, end, replacement); of headers what lies in functions."""
    files = subprocess.run(["git", "-C", str(SOURCE), "ls-files", "src/*.c", "src/*.h", "lab/*.c", "cli/*.c"], capture_output=True, text=True, check=True)
    found = []
    for path in sorted(set(files.stdout.split())):
        text = (SOURCE / path).read_text()
        inside = bodies(tokens_of(text)) if path.endswith(".h") else [(0, len(text))]
        found.extend((path, *place) for place in places_in(text) if any(start <= place[1] < end for start, end in inside))
    return found


# ---- all mutants in one source ----

DECLARATIONS = "extern int locus_mutant; extern unsigned char *locus_mutants_reached; "
STORAGE = r"""#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static unsigned char nowhere[MUTANTS];
int locus_mutant = -1;
unsigned char *locus_mutants_reached = nowhere;
__attribute__((constructor)) static void choose_mutant(void) {
    const char *chosen = getenv("LOCUS_MUTANT"), *path = getenv("LOCUS_MUTANTS_REACHED");
    if (chosen) locus_mutant = atoi(chosen);
    const int file = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
    if (file < 0) return;
    void *map = ftruncate(file, MUTANTS) ? MAP_FAILED : mmap(NULL, MUTANTS, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) locus_mutants_reached = map;
    close(file);
}
"""
ASSIGNMENTS = {"=", "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "<<=", ">>="}


def opening(tokens, index):
    """The index of the bracket that the one at `index` closes, or 0."""
    depth = 0
    for at in range(index, -1, -1):
        depth += {")": 1, "]": 1, "}": 1, "(": -1, "[": -1, "{": -1}.get(tokens[at][1], 0)
        if depth == 0:
            return at
    return 0


def expression_around(tokens, index):
    """(start, end): offsets of the largest expression around a token that stands between brackets, commas, assignments, `;`."""
    assigns = tokens[index][1] in ASSIGNMENTS or tokens[index][1] in ("++", "--")
    first = index
    while first > 0:
        word = tokens[first - 1][1]
        if word == ")" or word == "]":
            opened = opening(tokens, first - 1)
            if opened and tokens[opened - 1][1] in ("if", "while", "for", "switch"):
                break
            first = opened
        elif word in ("case", "default"): # a label is before the expression
            while tokens[first - 1][1] != ":":
                first += 1
            break
        elif word in ("(", "[", "{", "}", ",", ";", "return", "else", "do") or (word in ASSIGNMENTS and not assigns):
            break
        else:
            first -= 1
    last = index
    while tokens[last][1] not in (")", "]", "}", ",", ";"):
        last = closing(tokens, last) + 1 if tokens[last][1] in ("(", "[", "{") else last + 1
    return tokens[first][2], tokens[last][2]


def site_of(text, tokens, starts, place):
    """(start, end, is a statement) of what is written twice for one mutant."""
    operator, start, end, replacement = place
    if operator == "statement":
        return start, end + 1, True
    if operator == "result" or replacement.startswith("!("):
        return start, end, False
    return *expression_around(tokens, bisect.bisect_left(starts, start)), False


def chooser(number):
    return f"(locus_mutants_reached[{number}] = 1, locus_mutant == {number})"


def with_mutants(text, places):
    """The text with all places in it, {number: place}, and which lines of it each stands in: {number: (first, last)}."""
    tokens = tokens_of(text)
    starts = [offset for _, _, offset in tokens]
    sites = sorted(((*site_of(text, tokens, starts, place), number) for number, place in places.items()), key=lambda s: (s[0], -s[1], not s[2]))
    groups = []
    for start, end, is_statement, number in sites: # what lies in another site is written with it
        if groups and start < groups[-1][1]:
            groups[-1][1] = max(end, groups[-1][1])
            groups[-1][3].append(number)
        else:
            groups.append([start, end, is_statement, [number]])
    pieces, at, lines = [DECLARATIONS], 0, {}
    for start, end, is_statement, numbers in groups:
        pieces.append(text[at:start])
        first, site = "".join(pieces).count("\n") + 1, text[start:end]
        changed = [(number, text[start:places[number][1]] + places[number][3] + text[places[number][2]:end]) for number in numbers]
        if is_statement:
            pieces.append("{ " + "".join(f"if ({chooser(number)}) {{ {other} }} else " for number, other in changed) + f"{{ {site} }} }}")
        else:
            pieces.append("(" + "".join(f"{chooser(number)} ? ({other}) : " for number, other in changed) + f"({site}))")
        lines.update({number: (first, "".join(pieces).count("\n") + 1) for number in numbers})
        at = end
    return "".join(pieces) + text[at:], lines


# ---- a tree of one's own ----

class Tree:
    """A copy of the committed tree that all mutants of a seed are built in, never in the working copy."""

    def __init__(self, draw, places, sanitize=""):
        self.places, self.address = places, bool(sanitize)
        self.root = FOLDER / f"tree-{draw}{'-address' if sanitize else ''}"
        self.build = self.root / "build" / "mutation"
        self.alone = set()
        head = subprocess.run(["git", "-C", str(SOURCE), "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        mark = self.root / ".mutants"
        if not mark.exists():
            shutil.rmtree(self.root, ignore_errors=True)
            self.root.mkdir(parents=True)
            archive = subprocess.run(["git", "-C", str(SOURCE), "archive", "HEAD"], capture_output=True, check=True).stdout
            subprocess.run(["tar", "x", "-C", str(self.root)], input=archive, check=True)
            self.write_all()
            quietly(["cmake", "-S", str(self.root), "-B", str(self.build), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Mutation",
                     "-DCMAKE_C_FLAGS_MUTATION=-O1", f"-DLOCUS_SANITIZE={sanitize}"])
            self.compile_all()
            mark.write_text(json.dumps({"commit": head, "alone": sorted(self.alone), "count": len(places)}))
        state = json.loads(mark.read_text())
        if state["commit"] != head or state["count"] != len(places):
            sys.exit(f"mutate: {self.root} is of commit {state['commit'][:12]} and {state['count']} mutants (--count); remove it with its "
                     "results, or choose another seed")
        self.alone = set(state["alone"])
        self.write_all() # a run that was killed may have left a mutant that is built alone
        done = self.ninja(*self.targets())
        if done.returncode:
            sys.exit(done.stdout[-3000:])
        self.tests = {t["name"]: t for t in coverage.listed_tests(self.build) if self.suits(t)}

    def suits(self, test):
        return "address" in test["labels"] if self.address else not set(test["labels"]) & {"lint", "install", "cluster"}

    def write_all(self):
        """Writes what has changed of every file that mutants are of; returns {file: {number: (first, last line)}}."""
        lines, by_file = {}, {}
        for number, (path, *place) in enumerate(self.places):
            by_file.setdefault(path, {})[number] = tuple(place)
        for path, places in by_file.items():
            text, lines[path] = with_mutants((SOURCE / path).read_text(), {n: p for n, p in places.items() if n not in self.alone})
            if (self.root / path).read_text() != text:
                (self.root / path).write_text(text)
        (self.root / "src" / "core" / "mutants.c").write_text(STORAGE.replace("MUTANTS]", f"{len(self.places)}]").replace("MUTANTS)", f"{len(self.places)})")
                                                              .replace("MUTANTS,", f"{len(self.places)},"))
        return lines

    def compile_all(self):
        """Builds; what the compiler refuses is put aside, to be built alone."""
        while True:
            done = self.ninja("-k", "0", *self.targets())
            if done.returncode == 0:
                return
            lines, before = self.write_all(), len(self.alone)
            for path, line in set(re.findall(r"^(?:\S*/)?((?:src|lab|cli)/\S+?):(\d+):(?:\d+:)? [Ee]rror:", done.stdout, re.M)):
                sites = lines.get(path, {})
                hit = [n for n, (first, last) in sites.items() if first <= int(line) <= last]
                self.alone.update(hit or sites)
            if len(self.alone) == before:
                sys.exit(done.stdout[-3000:])
            self.write_all()

    def targets(self):
        """Programs that tests are or run."""
        listed = self.ninja("-t", "targets", "all").stdout
        programs = re.findall(r"^(\S+): C_EXECUTABLE_LINKER", listed, re.M)
        wanted = [p for p in programs if not p.startswith("bench") and (not self.address or p.startswith("tests/test_"))]
        return wanted if self.address else [*wanted, *re.findall(r"^(\S+): C_(?:SHARED|MODULE)_LIBRARY_LINKER", listed, re.M)]

    def ninja(self, *arguments):
        return subprocess.run(["ninja", "-C", str(self.build), *arguments], capture_output=True, text=True)


def quietly(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout[-3000:] + done.stderr[-3000:])


def limits(address, seconds):
    """Words of a command before a test's own: what one process of it may take."""
    room = [] if address else [f"--as={6 << 30}"] # a sanitizer's shadow takes terabytes of addresses
    # cli.import_rope makes a file of 3 GiB, with a hole
    words = ["prlimit", f"--cpu={math.ceil(seconds)}:{math.ceil(seconds) + 2}", f"--fsize={4 << 30}", "--core=0", *room]
    return [*words, "setarch", os.uname().machine, "-R"] if address else words


def is_idle(session):
    """Whether no process of a session computes, waits for a disk or is stopped: on a busy machine one that wants to run may not."""
    states = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split() # state, parent, group, session
            states += [fields[0]] if int(fields[3]) == session else []
    return all(state in "SZ" for state in states)


def run_process(command, folder, environment, patience):
    """(exit status, or "timeout" after it was idle for `patience` seconds; processor time with that of children). Nothing of
    its session stays."""
    child = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, start_new_session=True)
    begin, idle, pid = time.monotonic(), 0, 0
    while pid == 0 and idle < patience:
        young = time.monotonic() - begin < 5
        time.sleep(0.02 if young else 1)
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        idle = idle + 1 if pid == 0 and not young and is_idle(child.pid) else 0
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    if pid == 0:
        _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return "timeout" if pid == 0 else child.returncode, usage.ru_utime + usage.ru_stime


def passes(tree, name, seconds, **variables):
    """Whether a test passes (or is skipped), each process of it within so much processor time; and what it took."""
    test = tree.tests[name]
    command = [*limits(tree.address, seconds), *test["command"]]
    status, took = run_process(command, test["folder"], dict(os.environ, **test["environment"], **variables), 120)
    return status in (0, 77), took


# ---- which test reaches which mutant ----

def reach_of_test(tree, name, longest):
    touched = tree.root / f".reached.{name}"
    touched.unlink(missing_ok=True)
    passed, took = passes(tree, name, longest, LOCUS_MUTANTS_REACHED=str(touched))
    reached = [n for n, byte in enumerate(touched.read_bytes()) if byte] if touched.exists() else []
    touched.unlink(missing_ok=True)
    return {"name": name, "passed": passed, "seconds": round(took, 2), "reached": reached}


def reach_of(tree, options):
    """{test: {"seconds": processor time, "reached": [number, …]}} of the tests that pass without a mutant, kept beside the tree."""
    store = tree.root / ".reach.jsonl"
    rows = list(map(json.loads, store.read_text().splitlines())) if store.exists() else []
    known = {row["name"]: row for row in rows if row["passed"] or not options.again}
    names = [name for name in sorted(tree.tests) if name not in known and not re.search(options.without, name)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for row in pool.map(lambda name: reach_of_test(tree, name, options.longest), names):
            known[row["name"]] = row
            with open(store, "a") as stream:
                stream.write(json.dumps(row) + "\n")
            if not row["passed"]:
                print(f"mutate: {row['name']} fails without a mutant, or takes too long, and is left out", file=sys.stderr, flush=True)
    return {name: row for name, row in known.items() if row["passed"] and name in tree.tests and not re.search(options.without, name)}


def tests_for(number, place, tree, reach):
    """Tests that reach a mutant. One that reaches few is likelier to be of this one: the quicker and the more special, the
    earlier. Of a mutant that is built alone nobody knows: those that reach others of its file, then all."""
    names = [name for name, row in reach.items() if number in row["reached"]]
    order = lambda name: (0.05 + reach[name]["seconds"]) * len(reach[name]["reached"])
    if number in tree.alone:
        beside = {n for n, other in enumerate(tree.places) if other[0] == place[0]}
        return sorted(reach, key=lambda name: (not beside & set(reach[name]["reached"]), order(name)))
    return sorted(names, key=order)


# ---- one mutant ----

def killer(tree, number, names, reach, most):
    """The first of the tests that fails; None if all pass, or those that `most` seconds are enough for."""
    spent = 0.0
    for name in names:
        if spent > most:
            return None
        passed, took = passes(tree, name, (40 if tree.address else 5) + 4 * reach[name]["seconds"], LOCUS_MUTANT=str(number))
        spent += took
        if not passed:
            return name
    return None


def judge(tree, number, reach, most, backwards=False):
    """"no compile" | "same object" | "not reached" | "killed by NAME" | "killed by NAME (address)" | "survived" | "survived (address)"."""
    place, kind = tree.places[number], " (address)" if tree.address else ""
    names = tests_for(number, place, tree, reach)[::-1 if backwards else 1]
    if number not in tree.alone:
        name = killer(tree, number, names, reach, most)
    else:
        original = (tree.root / place[0]).read_text()
        (tree.root / place[0]).write_text(changed_text(place))
        try:
            if tree.ninja(*tree.targets()).returncode:
                return "no compile"
            name = killer(tree, number, names, reach, most)
        finally:
            (tree.root / place[0]).write_text(original)
            tree.ninja(*tree.targets())
    if name:
        return f"killed by {name}{kind}"
    if not tree.address and same_object(tree, place):
        return "same object"
    return f"survived{kind}" if names else "not reached"


def changed_text(place):
    path, _, start, end, replacement = place
    text = (SOURCE / path).read_text()
    return text[:start] + replacement + text[end:]


def same_object(tree, place):
    """Whether a file compiles to the same with and without its mutant; of headers nobody knows."""
    digests = []
    for entry in json.loads((tree.build / "compile_commands.json").read_text()):
        if entry["file"] == str(tree.root / place[0]):
            for text in ((SOURCE / place[0]).read_text(), changed_text(place)):
                command = entry["command"].replace(entry["file"], "-").replace(" -c -", f" -I{(SOURCE / place[0]).parent} -c -x c -")
                command = re.sub(r" -o \S+", " -o -", command).replace(" -c ", " -S ").replace(" -g ", " ")
                done = subprocess.run(command, shell=True, cwd=entry["directory"], input=text, capture_output=True, text=True)
                digests.append(done.stdout if done.returncode == 0 else None)
    return bool(digests) and None not in digests and all(a == b for a, b in zip(digests[::2], digests[1::2]))


def describe(place):
    path, operator, start, end, replacement = place
    text = (SOURCE / path).read_text()
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    squeeze = lambda words: " ".join(words.split())
    return {"file": path, "line": text.count("\n", 0, start) + 1, "function": function_at(text, start), "operator": operator,
            "was": squeeze(text[first:last]), "is": squeeze(text[first:start] + replacement + text[end:last])}


def rows_of(results):
    """What a file of results says of each mutant: its last word."""
    rows = map(json.loads, results.read_text().splitlines() if results.exists() else [])
    return {row["number"]: row for row in rows}


def draw_of(options):
    """What a draw is called: its seed, and the files that it is from if these are not all."""
    return f"{options.seed}-{re.sub('[^A-Za-z0-9]+', '-', options.rooms).strip('-')}".rstrip("-")


def drawn(options):
    """The first places of a draw, remembered, because finding all takes a minute."""
    head = subprocess.run(["git", "-C", str(SOURCE), "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    store = FOLDER / f"places-{draw_of(options)}-{head}.json"
    if not store.exists():
        places = [place for place in all_places() if re.search(options.rooms, place[0])]
        random.Random(options.seed).shuffle(places)
        store.write_text(json.dumps(places[:max(options.count, 2000)]))
    return [tuple(place) for place in json.loads(store.read_text())[:options.count]]


def count_of(options):
    """How many mutants a draw has that was begun: what is built knows no others."""
    mark = FOLDER / f"tree-{draw_of(options)}" / ".mutants"
    return json.loads(mark.read_text())["count"] if mark.exists() else 500


def run(options):
    if subprocess.run(["git", "-C", str(SOURCE), "diff", "--quiet", "HEAD", "--", "src", "lab", "cli"]).returncode:
        sys.exit("mutate: src, lab or cli differ from the last commit, whose places mutants are")
    FOLDER.mkdir(parents=True, exist_ok=True)
    results = FOLDER / f"seed-{draw_of(options)}.jsonl"
    options.count = options.count or count_of(options)
    places = drawn(options)
    tree = Tree(draw_of(options), places, "address,undefined" if options.address else "")
    reach, done = reach_of(tree, options), rows_of(results)
    numbers = range(len(places))
    if options.address or options.again:
        numbers = [n for n in numbers if done.get(n, {"verdict": ""})["verdict"] == "survived" and n not in tree.alone]
    else:
        numbers = [n for n in numbers if n not in done]

    def one(number):
        began = time.monotonic()
        verdict = judge(tree, number, reach, options.most, options.again)
        return {"number": number, "verdict": verdict, "seconds": round(time.monotonic() - began, 1), **describe(places[number])}

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        rows = [pool.submit(one, number) for number in numbers if number not in tree.alone]
        for row in concurrent.futures.as_completed(rows):
            note(results, row.result())
    for number in numbers: # each needs the tree for itself
        if number in tree.alone:
            note(results, one(number))


def note(results, row):
    with open(results, "a") as stream:
        stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(f"{row['number']:>5} {row['verdict']:<28} {row['file']}:{row['line']} {row['is'][:90]}", flush=True)


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
    for path in sorted(FOLDER.glob("seed-*.jsonl") if options.seed is None else [FOLDER / f"seed-{draw_of(options)}.jsonl"]):
        for row in rows_of(path).values():
            counts = rooms.setdefault(coverage.room_of(row["file"]), {"mutants": 0, "killed": 0, "accepted": 0, "survived": 0})
            if row["verdict"] in ("no compile", "same object"):
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
    command.add_argument("--count", type=int, help="500, or as many as the seed was begun with")
    command.add_argument("--jobs", type=int, default=os.cpu_count())
    command.add_argument("--rooms", default="", metavar="PATTERN", help="draws from files that match only")
    command.add_argument("--longest", type=float, default=3600, metavar="SECONDS",
                         help="leaves out tests of which a process takes longer: what they alone would kill then counts as survived")
    command.add_argument("--without", default="$^", help="leaves out tests whose name matches")
    command.add_argument("--most", type=float, default=math.inf, metavar="SECONDS",
                         help="no further test of a mutant once its tests have taken so much processor time: it counts as survived")
    command.add_argument("--again", action="store_true", help="takes up what survived in the one build, before --address, by all tests that the options now let run")
    command.add_argument("--address", action="store_true", help="takes up what survived, under sanitizers")
    command = commands.add_parser("report")
    command.add_argument("--seed", type=int)
    command.add_argument("--rooms", default="", metavar="PATTERN", help="of this draw")
    command.add_argument("--least", type=float, default=96)
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler) # a shell's background ignores it, and tests of it would fail
    {"run": run, "report": report}[options.command](options)


if __name__ == "__main__":
    main()
