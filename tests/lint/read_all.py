# SPDX-License-Identifier: MIT
"""Has clang read the files of a compile_commands.json, -fsyntax-only, two at a time, and prints what it says of those that fail.

Files with the same flags are read by one process, as far as they go into a batch: to start takes clang longer than to read
most of them. Its driver would start one for each; so the command that the driver makes of the flags (-###) is run itself."""
import collections
import concurrent.futures
import json
import shlex
import subprocess
import sys

BATCH = 24


def compiler(flags, file, directory):
    """What the driver would run, up to the file's name."""
    said = subprocess.run([*flags, "-fsyntax-only", "-###", file], cwd=directory, capture_output=True, text=True).stderr
    words = shlex.split(said.splitlines()[-1])
    if "-cc1" not in words or words[-1] != file:
        sys.exit(f"not what a compiler is started with: {said}")
    return words[:-1]


def batches(entries):
    alike = collections.defaultdict(list)
    for entry in entries:
        words = shlex.split(entry["command"])
        flags = words[: words.index("-o")] + words[words.index("-o") + 2 : words.index("-c")]
        alike[tuple(flags), entry["directory"]].append(entry["file"])
    for (flags, directory), files in alike.items():
        command = compiler(flags, files[0], directory)
        for first in range(0, len(files), BATCH):
            yield command + files[first : first + BATCH], directory


def read(batch):
    command, directory = batch
    return subprocess.run(command, cwd=directory, capture_output=True, text=True)


with open(sys.argv[1]) as file:
    entries = [entry for entry in json.load(file) if entry["file"].endswith(".c")]
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    failed = [result for result in pool.map(read, batches(entries)) if result.returncode != 0 or result.stderr]
for result in failed:
    print(result.stderr, end="")
if not entries:
    print("there is no C file")
sys.exit(bool(failed) or not entries)
