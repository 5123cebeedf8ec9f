# SPDX-License-Identifier: MIT
"""Lines that the tests reach, room by room.

Runs every test of build/coverage (which ./dev coverage builds, with clang's source-based coverage) once with profiles of
its own, reads them with llvm-profdata and llvm-cov, and prints a table by room and the files with most lines missing.

Usage: python3 tools/coverage.py [--jobs N] [--missing N] [--only REGEX]   (./dev coverage; Python's own library alone)"""
import argparse
import collections
import concurrent.futures
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent
BUILD = SOURCE / "build" / "coverage"


def llvm_tool(name):
    """A tool of clang's own version: profiles of one version are not read by another."""
    version = subprocess.run(["clang", "-dumpversion"], capture_output=True, text=True, check=True).stdout.split(".")[0]
    for candidate in (f"{name}-{version}", name):
        if shutil.which(candidate):
            return candidate
    sys.exit(f"coverage: {name} is missing: install the package llvm")


def listed_tests(build):
    """[{name, command, environment, labels, folder, timeout}] of a build folder, as ctest lists them."""
    text = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"], capture_output=True, text=True, check=True).stdout
    tests = []
    for test in json.loads(text)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        if test.get("command"):
            tests.append({"name": test["name"], "command": test["command"], "labels": properties.get("LABELS", []),
                          "environment": dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", [])),
                          "folder": properties.get("WORKING_DIRECTORY", str(build)), "timeout": properties.get("TIMEOUT", 120)})
    return tests


def program_of(test):
    """The binary whose coverage a test shows: the test itself, or what a script is given, otherwise the program `locus`."""
    built = [word for word in test["command"] if word.startswith(str(BUILD)) and os.access(word, os.X_OK) and os.path.isfile(word)]
    return built[0] if built else str(BUILD / "locus")


def run_test(test, profiles):
    folder = profiles / test["name"]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    environment = dict(os.environ, **test["environment"], LLVM_PROFILE_FILE=str(folder / "%2m.profraw"))
    try:
        done = subprocess.run(test["command"], cwd=test["folder"], env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=6 * float(test["timeout"]))
        return done.returncode, done.stdout[-2000:] + done.stderr[-2000:]
    except subprocess.TimeoutExpired:
        return "timeout", b""


def read_lines(binary, profiles, merged):
    """{file: {line: count}} of one binary with the profiles of one test; files of src, lab, cli and include only."""
    raw = glob.glob(str(profiles / "*.profraw"))
    if not raw:
        return {}
    subprocess.run([llvm_tool("llvm-profdata"), "merge", "-sparse", "-failure-mode=all", "-o", str(merged), *raw], check=True, capture_output=True)
    text = subprocess.run([llvm_tool("llvm-cov"), "export", "-format=lcov", "-skip-expansions", "-skip-functions", f"-instr-profile={merged}", binary],
                          capture_output=True, text=True, check=True).stdout
    files, lines = {}, None
    for line in text.splitlines():
        if line.startswith("SF:"):
            path = os.path.relpath(line[3:], SOURCE)
            lines = files.setdefault(path, {}) if path.split("/")[0] in ("src", "lab", "cli", "include") else None
        elif line.startswith("DA:") and lines is not None:
            number, count = line[3:].split(",")[:2]
            lines[int(number)] = max(lines.get(int(number), 0), int(count))
    return files


def measure(test):
    """Runs one test; returns what it reached and every line of code that its binary holds."""
    profiles = BUILD / "profiles"
    status, output = run_test(test, profiles)
    files = read_lines(program_of(test), profiles / test["name"], profiles / f"{test['name']}.profdata")
    shutil.rmtree(profiles / test["name"], ignore_errors=True)
    (profiles / f"{test['name']}.profdata").unlink(missing_ok=True)
    return status, output, files


def room_of(path):
    parts = path.split("/")
    return "cli" if parts[0] == "cli" else "/".join(parts[:2]) if len(parts) > 2 else parts[0]


def print_tables(lines, reached, missing):
    rooms = collections.defaultdict(lambda: [0, 0])
    for path, all_lines in lines.items():
        for room in {room_of(path), path.split("/")[0] + "/"}:
            rooms[room][0] += len(reached.get(path, ()))
            rooms[room][1] += len(all_lines)
    print(f"{'room':<20} {'reached':>8} {'lines':>8} {'':>8}")
    for room, (hit, total) in sorted(rooms.items()):
        print(f"{room:<20} {hit:>8} {total:>8} {100 * hit / total:>7.1f}%")
    rest = sorted(((len(all_lines) - len(reached.get(path, ())), path) for path, all_lines in lines.items()), reverse=True)
    for count, path in rest[:missing]:
        if count:
            print(f"{path}: {count} lines not reached: {ranges(sorted(lines[path] - reached.get(path, set())))}")


def ranges(numbers):
    """[3, 4, 5, 9] as "3-5 9"."""
    runs = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--missing", type=int, default=20, help="files to list with their lines not reached")
    parser.add_argument("--only", default="", help="tests whose name matches (the table is then of these)")
    options = parser.parse_args()
    tests = [t for t in listed_tests(BUILD) if not set(t["labels"]) & {"lint", "install"} and re.search(options.only, t["name"])]
    if not tests:
        sys.exit("coverage: no test of this name")
    lines, reached, failures = collections.defaultdict(set), collections.defaultdict(set), 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for number, (test, (status, output, files)) in enumerate(zip(tests, pool.map(measure, tests)), 1):
            # Where allocations and calls are made to fail, the profile's own do, and say so.
            if status not in (0, 77) and "faults" not in test["labels"]:
                failures += 1
                print(f"coverage: {test['name']} ended with {status}\n{output.decode(errors='replace')}", file=sys.stderr)
            for path, numbers in files.items():
                lines[path] |= set(numbers)
                reached[path] |= {n for n, count in numbers.items() if count}
            if sys.stderr.isatty():
                print(f"\r\033[K{number}/{len(tests)} {test['name']}", end="", file=sys.stderr)
    print_tables(lines, reached, options.missing)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
