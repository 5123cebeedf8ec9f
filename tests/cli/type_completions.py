# SPDX-License-Identifier: MIT
"""Types `locus eval ` and the tabulator into an interactive shell, for runs with names that mean something to a shell.

    python3 tests/cli/type_completions.py bash|zsh|fish COMPLETIONS

In the place of the program stands a script that offers one name, and writes down what words it was called with. The word
must come back as it was offered, or nothing be completed; what it says is never run."""
import os
import pathlib
import pty
import select
import signal
import sys
import tempfile
import time

NAMES = ("plain-1.2_3+4", "a$(touch proof)", "a`touch proof`", "a;touch proof", "a&touch proof", "a|touch proof", "a\n;touch proof", "a b",
         "a'b", 'a"b', "'$(touch proof)", '"$(touch proof)', "a>proof", "a*", "a?[bc]", "a{b,c}", "~a", "a!b", "!!", "=ls", "#a",
         "%1", "^a^b", "(touch proof)", "a(touch proof)", "<(touch proof)", "$HOME", "a\\", "a\\b", "\\$(touch proof)", "--help", "-n", "a=$(touch proof)", "aé")
# What stands before the tabulator; for some names also a quote that is open.
BEGUN, QUOTES = ("", "a"), ("'a", '"a')
QUOTED = ("plain-1.2_3+4", "a$(touch proof)", "a`touch proof`", "a'b", 'a"b', "a';touch proof;'", 'a";touch proof;"', "a\\")
PROGRAM = r"""#!/bin/sh
if [ "$1" = completion ]; then printf 'words\n%s\tdone\n' "$(cat "$0.name")"; exit; fi
for word; do printf '%s\036' "$word"; done >"$0.part" && mv "$0.part" "$0.got"
"""
START = {"bash": (["bash", "--norc", "--noprofile", "-i"], "PS1='READY''> '; . '{}/locus.bash'\n"),
         "zsh": (["zsh", "-f", "-i"], "PS1='READY''> '; fpath=('{}' $fpath); autoload -U compinit; compinit -u -D\n"),
         "fish": (["fish", "--no-config", "-i"], "function fish_prompt; echo 'READY''> '; end; source '{}/locus.fish'\n")}
SECONDS, OPEN = 20, 0.1  # until a line must have ended; until one with an open quote is taken to stay open


class Shell:
    def __init__(self, name, completions, folder):
        words, begin = START[name]
        self.folder, self.seen = folder, b""
        environment = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "HOME": str(folder), "TERM": "dumb", "LC_ALL": "C.UTF-8",
                       "XDG_CONFIG_HOME": str(folder), "XDG_DATA_HOME": str(folder)}
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.execvpe(words[0], words, environment)
        time.sleep(0.3)
        self.write(begin.format(completions))
        self.until(lambda: b"READY> " in self.seen)

    def write(self, text):
        os.write(self.terminal, text.encode())

    def until(self, holds, seconds=SECONDS):
        """Reads what the shell prints until something holds; whether it came to that."""
        end = time.monotonic() + seconds
        while not holds() and time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.02)[0]:
                self.seen += os.read(self.terminal, 65536)
        return holds()

    def called(self, begun):
        """The words that the program is called with, or None where the line stays open."""
        got = self.folder / "locus.got"
        got.unlink(missing_ok=True)
        self.seen = b""
        self.write(f"locus eval {begun}\t\r")
        quoted = begun[:1] in ("'", '"')
        if not self.until(got.exists, OPEN if quoted else SECONDS):
            if not quoted:
                sys.exit(f"the line does not end: {self.seen!r}")
            self.write("\x03")
            time.sleep(0.05)
        self.write("echo SY''NC\r")
        if not self.until(lambda: b"SYNC" in self.seen):
            sys.exit(f"the shell does not answer: {self.seen!r}")
        return got.read_text().split("\x1e")[1:-1] if got.exists() else None

    def end(self):
        os.kill(self.process, signal.SIGHUP)
        os.close(self.terminal)
        os.waitpid(self.process, 0)


def main(shell, completions):
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "locus").write_text(PROGRAM)
        (folder / "locus").chmod(0o755)
        typed = Shell(shell, completions, folder)
        tried = offered = 0
        for run in [*NAMES, *QUOTED]:
            (folder / "locus.name").write_text(run)
            for begun in QUOTES if tried >= len(NAMES) * len(BEGUN) else BEGUN:
                words = typed.called(begun)
                tried += 1
                offered += words == [run]
                if (folder / "proof").exists() or words not in ([run], [begun.strip("'\"")], [""], [], None):
                    print(f"{shell}: 'locus eval {begun}' and {run!r}: {words}" + ("; it was run" if (folder / "proof").exists() else ""))
                    (folder / "proof").unlink(missing_ok=True)
                    failed += 1
        typed.end()
    print(f"{shell}: {tried} lines, {offered} completed, {failed} wrong")
    return 1 if failed or offered < len(NAMES) // 2 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
