# SPDX-License-Identifier: MIT
"""Runs the commands of a compile_commands.json with -fsyntax-only, two at a time, and prints what those that fail say."""
import concurrent.futures
import json
import re
import subprocess
import sys


def read(entry):
    command = re.sub(r" -o \S+ -c ", " -fsyntax-only ", entry["command"])
    return subprocess.run(command, shell=True, cwd=entry["directory"], capture_output=True, text=True)


with open(sys.argv[1]) as file:
    entries = [entry for entry in json.load(file) if entry["file"].endswith(".c")]
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    failed = [result for result in pool.map(read, entries) if result.returncode != 0]
for result in failed:
    print(result.stderr, end="")
if not entries:
    print("there is no C file")
sys.exit(bool(failed) or not entries)
