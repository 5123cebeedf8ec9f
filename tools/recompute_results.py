# SPDX-License-Identifier: MIT
"""Computes anew what recorded pages say whose trainings were not kept: docs/results/*.md without a JSON file of runs.

Of such a page there are means, deviations and numbers of seeds. Seeds that have exactly these are written as a file of
runs, without curves, and `locus reproduce --from` judges them by the rules of today: the rules are the program's, none
is told here. Taken over are the sections "What the measured table says" and "What it
does not tell apart", and which numbers are bold; where the program prints another number than the page, nothing is
written.

Usage: python3 tools/recompute_results.py LOCUS PAGE... rewrites pages in place
       python3 tools/recompute_results.py --check LOCUS PAGE... says which pages differ, with status 1"""
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"
SAYS, NEXT = "## What the measured table says\n", "## What differs from "  # between them what is computed
FINALS = {"solved": "greedy_exact", "loss": "loss"}  # by the word behind a column's comma; else accuracy
OWN = ("--store", "--jobs", "--threads", "--data", "--pretrained")


def fail(text):
    raise SystemExit(f"recompute_results.py: {text}")


# ---- the page ----

def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def number_of(cell):
    """Mean and deviation (None: one seed) of "**99.65 ±0.02** (99.06 ±0.1)", or None for an empty cell."""
    found = re.match(r"\**(-?[\d.]+)(?: ±([\d.]+))?", cell)
    return (float(found[1]), float(found[2]) if found[2] else None) if found else None


def read_page(text):
    """The command's words, heads of the columns, {scheme: cells}."""
    command = re.search(r"^\| command \| `locus reproduce (.*)` \|$", text, re.M)
    lines = text.split("\n")
    first = next((i for i, line in enumerate(lines) if line.startswith("| scheme")), None)
    if not command or first is None:
        fail("no command of 'locus reproduce' with a table of schemes")
    rows = {}
    for line in lines[first + 2:]:
        if not line.startswith("|") or line.startswith("| *"):  # majority and chance need no training
            break
        rows[cells(line)[0]] = cells(line)[1:]
    return shlex.split(command[1].replace("\\|", "|")), cells(lines[first])[1:], rows


def seeds_of(text):
    found = re.search(r"trainings \| .*?(\d+) seeds? from (\d+)(.*dropped)?", text)
    return int(found[1]), int(found[2]), bool(found[3])


# ---- seeds with that mean and deviation ----

def spread(count):
    """Values with mean 0 and deviation 1, the same distance apart."""
    middle = (count - 1) / 2
    values = [i - middle for i in range(count)]
    deviation = (sum(x * x for x in values) / (count - 1)) ** 0.5 if count > 1 else 1
    return [x / deviation for x in values]


def plant_values(mean, deviation, seeds, dropped, lower_is_better, scale):
    """The dropped seed is worse than all that are kept."""
    kept = [(mean + (deviation or 0) * x) / scale for x in spread(seeds - dropped)]
    worst = max(kept) + 1 if lower_is_better else min(kept) - 1
    return kept + [worst] * dropped


# ---- what the command needs ----

def make_data(folder, locus, words):
    """Words for data and encoder that are not kept either: their contents take no part in what is judged."""
    made = [word for word in words]
    for name in OWN:
        while name in made:
            at = made.index(name)
            del made[at:at + 2]
    if words[0] == "table3":
        (folder / "images").mkdir()
        for name in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]:
            with open(folder / "images" / f"{name}.bin", "wb") as file:
                file.truncate(30730000)
        made += ["--data", "images"]
    if words[0] == "roper" and "text" in " ".join(words):
        (folder / "text.txt").write_text("some text\n" * 500, encoding="utf-8")
        files = [word for name in ("train", "dev", "test") for word in (f"--{name}-text", "text.txt")]
        run(folder, locus, ["data", "make", "text", *files, "-o", "text", "--quiet"])
        made += ["--data", "text"]
    if "--pretrained" in words:
        (folder / "encoder").mkdir()
        for name, other in (("model.safetensors", "bert_plain.safetensors"), ("config.json", "bert_plain.json")):
            (folder / "encoder" / name).write_bytes((GOLDEN / other).read_bytes())
        pieces = "[PAD] [UNK] [CLS] [SEP] [MASK] 0 1 2 3 4 5 6 7 8 9 [ ] ( ) min max med sm".split()
        (folder / "encoder" / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
        made += ["--pretrained", "encoder"]
    return ["reproduce", *made]


def run(folder, locus, words, status=(0,)):
    made = subprocess.run([locus, *words], cwd=folder, capture_output=True, text=True)
    if made.returncode not in status:
        fail(f"{shlex.join([locus, *words])}: {made.stderr.strip()}")
    return made.stdout


# ---- planting ----

def list_trainings(folder, locus, words):
    """(column's head or task, scheme, number of the seed, run's record) of every training."""
    lines = run(folder, locus, [*words, "--list"]).splitlines()[1:]
    runs = json.loads(run(folder, locus, [*words, "--list", "--json"]))["trainings"]
    for line, one in zip(lines, runs):
        head, scheme, seed = re.match(r" *\d+ +(.*?) · (.*?) · seed (\d+) ", line).groups()
        yield head, scheme, int(seed), one


def columns_of(head, heads):
    """A training fills the column of its head, or several: "cifar10" those of "cifar10 @2" and "cifar10 @5"."""
    own = [i for i, name in enumerate(heads) if name == head or name.split(",")[0] == head or name.startswith(f"{head} @")]
    return [i for i in own if not heads[i].endswith("perplexity")]


def final_of(heads, i):
    half = heads[i].startswith("cifar10 @") and i == 0
    return "accuracy_half" if half else FINALS.get(heads[i].split(", ")[-1], "accuracy")


def record(one, finals):
    """A finished training as a file of runs has it."""
    config = one["config"]
    made = {key: one[key] for key in ("name", "task", "encoding", "seed", "config")}
    made |= {key: config[key] for key in ("setup", "embedding_init", "budget")}
    made |= dict.fromkeys(("command", "version", "machine", "message", "started", "ended"), "")
    made |= dict.fromkeys(("steps_total", "steps_done", "tokens_seen", "wall_seconds", "tokens_per_second", "peak_bytes",
                           "parameters"), 0)
    return made | {"data_seed": int(config["data_seed"]), "scores": {"test": finals}, "curves": {}}


def plant(folder, locus, words, text):
    """Writes planted.json. Trainings that the page has no numbers of are left out."""
    _, heads, rows = read_page(text)
    seeds, first, dropped = seeds_of(text)
    runs = []
    for head, scheme, seed, one in list_trainings(folder, locus, words):
        finals = {}
        for i in columns_of(head, heads):
            found = number_of(rows.get(scheme, [""] * len(heads))[i])
            if found:
                name = final_of(heads, i)
                values = plant_values(*found, seeds, dropped, name == "loss", 1 if name == "loss" else 100)
                finals[name] = values[seed - first]
        if finals:
            runs.append(record(one, finals))
    head = {"arguments": options_of(words[1:]), "command": f"locus {shlex.join(words)}", "page_by": ""}
    made = {"format": "locus-runs", "version": 1, "table": head, "runs": runs}
    (folder / "planted.json").write_text(json.dumps(made), encoding="utf-8")


def options_of(words):
    """--name value as --name=value."""
    made = []
    for word in words:
        if made and made[-1].startswith("--") and "=" not in made[-1] and not word.startswith("--"):
            made[-1] += f"={word}"
        else:
            made.append(word)
    return made


# ---- taking over ----

def computed(text):
    return text[text.index(SAYS):text.index(NEXT)]


def bold_as(text, made):
    """The page with its numbers as bold as in the made one, which must have the same."""
    heads, new = read_page(made)[1:]
    if heads != read_page(text)[1]:
        fail(f"other columns: {heads}")
    for scheme, old in read_page(text)[2].items():
        line = re.search(rf"^\| {re.escape(scheme)} \|.*$", text[text.index("| scheme"):], re.M)[0]
        parts = line.split("|")
        for i, cell in enumerate(old):
            now = new[scheme][i] if scheme in new else cell
            if scheme in new and not heads[i].endswith("perplexity") and number_of(cell) != number_of(now):
                fail(f"{scheme}, {heads[i]}: {cell} is planted, {now} is made")
            if scheme in new and number_of(cell):
                plain = cell.replace("**", "")
                measured = re.match(r"[\d.]+(?: ±[\d.]+)?", plain)[0]
                parts[i + 2] = f" {'**' + measured + '**' if now.startswith('**') else measured}{plain[len(measured):]} "
        text = text.replace(line, "|".join(parts), 1)
    return text


def recompute(locus, text):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        words = make_data(folder, locus, read_page(text)[0])
        plant(folder, locus, words, text)
        run(folder, locus, ["reproduce", "--from", "planted.json", "--quiet"])
        made = (folder / "planted.md").read_text(encoding="utf-8")
    text = bold_as(text, made)
    return text.replace(computed(text), computed(made))


def main():
    words = sys.argv[1:]
    check = words[:1] == ["--check"]
    if len(words) < 2 + check:
        raise SystemExit(__doc__)
    locus, pages = str(pathlib.Path(words[check]).resolve()), [pathlib.Path(word) for word in words[check + 1:]]
    differ = 0
    for page in pages:
        text = page.read_text(encoding="utf-8")
        made = recompute(locus, text)
        if made != text and not check:
            page.write_text(made, encoding="utf-8")
        if made != text:
            differ += 1
            print(f"{page}: {'is not what follows from its numbers' if check else 'written'}")
    return check and differ > 0


if __name__ == "__main__":
    sys.exit(main())
